//! The socket, and the listening thread.
//!
//! That thread acknowledges a frame that requests it before it does anything else: its sender is
//! another process, which waits 864 µs of wall clock.

use crate::datagram::{Datagram, MAX, PORT};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;
use kinglet_radio::{Channel, FCS_LEN, Filter};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{Address, Frame, FrameType, PanId, Version, fcs, fcs_is_right};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

/// Period with which the listening thread checks if it is still needed.
const LOOK: std::time::Duration = std::time::Duration::from_millis(200);
/// Link quality of every frame: ZEP has no signal strength, and every received frame has a correct
/// FCS.
const BEST: u8 = u8::MAX;
/// Frame control of an immediate acknowledgement (IEEE 802.15.4-2015, 7.3.3).
const ACK_CONTROL: [u8; 2] = [0x02, 0x00];

/// The addresses of a ZEP link: `[LOCAL,]REMOTE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Local address; `None` is any free port.
    pub local: Option<SocketAddr>,
    /// Remote address: a dispatcher, or another node.
    pub remote: SocketAddr,
}

impl FromStr for Ends {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (local, remote) = match text.split_once(',') {
            Some((local, remote)) => (Some(end(local)?), end(remote)?),
            None => (None, end(text)?),
        };
        Ok(Ends { local, remote })
    }
}

fn end(text: &str) -> Result<SocketAddr, String> {
    let with_port = || text.parse().ok();
    let without = || {
        let host = text.trim_start_matches('[').trim_end_matches(']');
        host.parse::<IpAddr>().ok().map(|host| SocketAddr::new(host, PORT))
    };
    with_port().or_else(without).ok_or_else(|| {
        format!("\"{text}\" is not an address such as 127.0.0.1:17754 or [::1]:17754")
    })
}

/// A received item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A frame that has passed the filter.
    Frame {
        /// Time of its arrival.
        at: Instant,
        /// Its octets without FCS.
        frame: Vec<u8>,
        /// Link quality, 0 to 255.
        lqi: u8,
        /// True if it has been acknowledged.
        acked: bool,
    },
    /// An immediate acknowledgement.
    Ack {
        /// The sequence number that it acknowledges.
        sequence: u8,
        /// Its frame-pending bit.
        frame_pending: bool,
    },
    /// The socket does not receive any more.
    Deaf(ErrorKind),
}

/// Settings of the listening thread; the radio's owner changes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ears {
    /// Recipients of frames.
    pub identity: Identity,
    /// The channel; `None` = the radio is off.
    pub channel: Option<Channel>,
}

/// Recipients of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// One device: frames for other devices are ignored.
    Device(Filter),
    /// The devices of a network that is reached through this one. All frames are received; frames
    /// for one of its devices are acknowledged on its behalf.
    Network {
        /// Its PAN.
        pan_id: u16,
        /// The link addresses in it.
        members: Arc<[Address]>,
    },
}

/// The ZEP channel, as one device uses it.
#[derive(Clone)]
pub struct Air(Arc<Shared>);

struct Shared {
    socket: UdpSocket,
    ears: Mutex<Ears>,
    sequence: AtomicU32,
    device: u16,
    begin: std::time::Instant,
}

impl Air {
    /// Sends to `remote` from `local`, or from any free port, and passes frames from there to
    /// `hear`, on a thread. The thread ends when `hear` returns false or no other copy of the `Air`
    /// exists any more.
    ///
    /// # Errors
    /// The error of the socket, with the address.
    pub fn open(
        local: Option<SocketAddr>,
        remote: SocketAddr,
        ears: Ears,
        hear: impl FnMut(Heard) -> bool + Send + 'static,
    ) -> io::Result<Air> {
        let socket = bind(local, remote)?;
        socket.connect(remote).map_err(|error| with(error, "send to", remote))?;
        socket.set_read_timeout(Some(LOOK))?;
        let device = match &ears.identity {
            Identity::Device(Filter { extended: [.., high, low], .. }) => {
                u16::from_be_bytes([*high, *low])
            }
            Identity::Network { pan_id, .. } => *pan_id,
        };
        let begin = std::time::Instant::now();
        let ears = Mutex::new(ears);
        let sequence = AtomicU32::new(0);
        let air = Air(Arc::new(Shared { socket, ears, sequence, device, begin }));
        let ear = Air(air.0.clone());
        thread::Builder::new().name("zep".to_owned()).spawn(move || ear.listen(hear))?;
        Ok(air)
    }

    /// Returns the time since the `Air` was opened.
    pub fn now(&self) -> Instant {
        let since = self.0.begin.elapsed().as_micros();
        Instant::ZERO + Duration::from_micros(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// Returns the local address.
    ///
    /// # Errors
    /// The error of the system.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.0.socket.local_addr()
    }

    /// Returns the remote address.
    ///
    /// # Errors
    /// The error of the system.
    pub fn remote(&self) -> io::Result<SocketAddr> {
        self.0.socket.peer_addr()
    }

    /// Sets the settings of the listening thread.
    pub fn set_ears(&self, ears: Ears) {
        *self.0.ears.lock().unwrap_or_else(PoisonError::into_inner) = ears;
    }

    /// Returns the settings of the listening thread.
    pub fn ears(&self) -> Ears {
        self.0.ears.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a frame, whose FCS is added.
    ///
    /// # Errors
    /// The error of the system. A closed port at the other end is no error, because a radio cannot
    /// detect that either.
    pub fn send(&self, channel: Channel, frame: &[u8]) -> io::Result<()> {
        let psdu = [frame, &fcs(frame).to_le_bytes()].concat();
        let sequence = self.0.sequence.fetch_add(1, Ordering::Relaxed);
        let datagram = Datagram { channel, lqi: BEST, psdu: &psdu };
        let octets = datagram.octets(self.0.device, sequence, SystemTime::now());
        match self.0.socket.send(&octets) {
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => Err(error),
            _ => Ok(()),
        }
    }

    /// Announces the device to a dispatcher, which learns of a device by its first datagram. This
    /// one is an acknowledgement that is not awaited.
    ///
    /// # Errors
    /// As [`Air::send`].
    pub fn greet(&self) -> io::Result<()> {
        let [low, high] = ACK_CONTROL;
        self.send(self.ears().channel.unwrap_or_default(), &[low, high, 0])
    }

    fn listen(self, mut hear: impl FnMut(Heard) -> bool) {
        let mut octets = [0; MAX + 1];
        while Arc::strong_count(&self.0) > 1 {
            let heard = match self.0.socket.recv(&mut octets) {
                Ok(len) => octets.get(..len).and_then(|octets| self.heard(octets)),
                Err(error) => match error.kind() {
                    // The other end is absent for now; or it is time for a check.
                    ErrorKind::ConnectionRefused
                    | ErrorKind::WouldBlock
                    | ErrorKind::TimedOut
                    | ErrorKind::Interrupted => None,
                    other => {
                        hear(Heard::Deaf(other));
                        return;
                    }
                },
            };
            if heard.is_some_and(|heard| !hear(heard)) {
                return;
            }
        }
    }

    /// Returns the item in a datagram for this device. A frame that requests it is acknowledged.
    fn heard(&self, octets: &[u8]) -> Option<Heard> {
        let Datagram { channel, lqi, psdu } = Datagram::parse(octets).ok()?;
        let ears = self.ears();
        if ears.channel != Some(channel) || !fcs_is_right(psdu) {
            return None;
        }
        let octets = psdu.get(..psdu.len().checked_sub(FCS_LEN)?)?;
        let frame = Frame::parse(octets).ok()?;
        if frame.frame_type() == FrameType::Ack {
            let sequence = frame.sequence()?;
            let frame_pending = frame.frame_pending();
            return Some(Heard::Ack { sequence, frame_pending });
        }
        let mine = match &ears.identity {
            Identity::Device(filter) if !takes(filter, &frame) => return None,
            Identity::Device(_) => true,
            Identity::Network { pan_id, members } => {
                frame.dst_pan() == Some(PanId(*pan_id)) && members.contains(&frame.dst())
            }
        };
        // Frames of version 2 get another kind of acknowledgement, which needs a radio that secures
        // it; no ZEP device requests it.
        let acked = mine
            && frame.ack_request()
            && frame.version() != Version::V2015
            && !frame.dst().is_broadcast()
            && frame.sequence().is_some_and(|sequence| self.acknowledge(channel, sequence));
        Some(Heard::Frame { at: self.now(), frame: octets.to_vec(), lqi, acked })
    }

    fn acknowledge(&self, channel: Channel, sequence: u8) -> bool {
        let [low, high] = ACK_CONTROL;
        self.send(channel, &[low, high, sequence]).is_ok()
    }
}

/// Returns a socket at `local`, or at any free port from which `remote` can be reached.
fn bind(local: Option<SocketAddr>, remote: SocketAddr) -> io::Result<UdpSocket> {
    match local {
        Some(local) => UdpSocket::bind(local).map_err(|error| with(error, "use", local)),
        None if remote.is_ipv4() => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)),
        None => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)),
    }
}

/// Returns the error with what was tried.
fn with(error: io::Error, what: &str, address: SocketAddr) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} the UDP address {address}: {error}"))
}

/// The third level of filtering of IEEE 802.15.4-2015, 6.7.2, for a device that is no coordinator.
fn takes(filter: &Filter, frame: &Frame<'_>) -> bool {
    let pan = frame.dst_pan();
    let is_ours = pan == Some(PanId(filter.pan_id)) || pan == Some(PanId::BROADCAST);
    let is_mine = match frame.dst() {
        Address::Short(short) => {
            short == 0xffff || (short == filter.short && frame.dst().is_unicast())
        }
        Address::Extended(extended) => extended == filter.extended,
        Address::None => false,
    };
    is_ours && is_mine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_addresses_with_or_without_ports() {
        let ends = |text: &str| text.parse::<Ends>();
        let both = ends("127.0.0.1:1,127.0.0.1").unwrap();
        assert_eq!((both.local.unwrap().port(), both.remote.port()), (1, PORT));
        let six = ends("[::1]:7").unwrap();
        assert_eq!((six.local, six.remote.port()), (None, 7));
        assert_eq!(ends("::1").unwrap().remote.port(), PORT);
        for wrong in ["", "here:17754", "127.0.0.1:17754,", "127.0.0.1:70000"] {
            assert!(ends(wrong).is_err(), "{wrong}");
        }
    }
}
