//! Devices outside the simulation that share its radio channel by ZEP: frames received at a
//! position leave as datagrams, and frames in incoming datagrams are sent from there.
//!
//! Both sides are acknowledged on behalf of the other, because neither can wait for it. The sender
//! of a datagram waits less than a millisecond of wall clock, and [`Air`] acknowledges. A simulated
//! sender waits as little of virtual time, and [`Beyond`] acknowledges for devices known from
//! datagrams. A frame acknowledged like this is retransmitted up to three times on the other
//! side, as by any MAC, and then lost. Acknowledgements of simulated nodes are not forwarded.

use crate::GatewayError;
use kinglet::wire::ieee802154::{Address, Frame, FrameType, Repr, Version};
use kinglet_radio::{
    ACK_PSDU, Access, Ack, Channel, Command, CsmaParams, Event, FCS_LEN, Start, TURNAROUND,
    air_time,
};
use kinglet_sim::Device;
use kinglet_time::{Duration, Instant};
use kinglet_zep::air::{Air, Ears, Ends, Heard, Identity};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use tokio::sync::Notify;

/// Frames that may wait for the simulated air; more are lost.
const BACKLOG: usize = 64;
/// Number of external devices that are stored; the one silent for longest is evicted.
const PEERS: usize = 64;
/// macMaxFrameRetries (IEEE 802.15.4-2015, table 8-94).
const RETRIES: u8 = 3;
/// External devices acknowledge in software, within this time; `kinglet node` waits as long.
const ACK_WAIT: Duration = Duration::from_millis(5);
/// Preamble and SFD (IEEE 802.15.4-2015, 12.1).
const SYNCHRONISATION: Duration = Duration::from_micros(5 * 32);

/// The simulated network, and its radio parameters.
pub(crate) struct Shared {
    pub(crate) pan_id: u16,
    pub(crate) channel: Channel,
    pub(crate) power_dbm: i8,
    /// Link addresses of all nodes that are simulated.
    pub(crate) members: Arc<[Address]>,
    /// Notified when a frame, an acknowledgement or an error has arrived.
    pub(crate) news: Arc<Notify>,
}

/// The present transmission in the simulation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    Nothing,
    Frame,
    Ack,
}

/// A frame that was sent as a datagram and is not acknowledged yet.
struct Unacknowledged {
    frame: Vec<u8>,
    sequence: u8,
    tries: u8,
    /// Time of the next retransmission.
    at: Instant,
}

/// The radio at one position.
pub(crate) struct Beyond {
    air: Air,
    heard: Receiver<Heard>,
    channel: Channel,
    power_dbm: i8,
    /// External devices, the most recently received at the end.
    peers: VecDeque<Address>,
    waiting: VecDeque<Vec<u8>>,
    tries: u8,
    unacknowledged: VecDeque<Unacknowledged>,
    /// An acknowledgement to be sent, and the required end of its SFD.
    owed: Option<(Instant, Vec<u8>)>,
    sending: Sending,
    frame: Vec<u8>,
    listens: bool,
}

impl Beyond {
    /// Opens this ZEP link.
    pub(crate) fn open(ends: Ends, shared: &Shared) -> Result<Self, GatewayError> {
        let (sender, heard) = channel();
        let news = Arc::clone(&shared.news);
        let hear = move |heard| {
            let wanted = sender.send(heard).is_ok();
            news.notify_one();
            wanted
        };
        let (pan_id, members) = (shared.pan_id, Arc::clone(&shared.members));
        let identity = Identity::Network { pan_id, members };
        let ears = Ears { identity, channel: Some(shared.channel) };
        let failed = |error: io::Error| GatewayError::Zep(format!("the ZEP link: {error}"));
        let air = Air::open(ends.local, ends.remote, ears, hear).map_err(failed)?;
        air.greet().map_err(failed)?;
        Ok(Beyond {
            air,
            heard,
            channel: shared.channel,
            power_dbm: shared.power_dbm,
            peers: VecDeque::new(),
            waiting: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            tries: 0,
            owed: None,
            sending: Sending::Nothing,
            frame: Vec::new(),
            listens: false,
        })
    }

    /// Processes everything that has been received, without waiting.
    pub(crate) fn exchange(&mut self) -> io::Result<()> {
        loop {
            match self.heard.try_recv() {
                Ok(Heard::Frame { frame, .. }) => self.take(frame),
                Ok(Heard::Ack { sequence, .. }) => self.acknowledged(sequence),
                Ok(Heard::Deaf(kind)) => return Err(kind.into()),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Handles an acknowledgement of an external device: the oldest frame with this number was
    /// received.
    fn acknowledged(&mut self, sequence: u8) {
        let frames = &mut self.unacknowledged;
        if let Some(place) = frames.iter().position(|it| it.sequence == sequence) {
            frames.remove(place);
        }
    }

    fn take(&mut self, frame: Vec<u8>) {
        let Ok(parsed) = Frame::parse(&frame) else { return };
        let from = parsed.src();
        if from != Address::None {
            self.peers.retain(|peer| *peer != from);
            self.peers.push_back(from);
            if self.peers.len() > PEERS {
                self.peers.pop_front();
            }
        }
        if self.waiting.len() < BACKLOG {
            self.waiting.push_back(frame);
        }
    }

    /// Handles a frame received at this position.
    fn pass(&mut self, now: Instant, sfd: Instant, octets: &[u8]) {
        let Ok(frame) = Frame::parse(octets) else { return };
        // Acknowledgements, and frames of external devices, are not forwarded.
        if frame.frame_type() == FrameType::Ack || self.peers.contains(&frame.src()) {
            return;
        }
        // A datagram that the system refuses is lost, like a frame that no device receives.
        let _ = self.air.send(self.channel, octets);
        let asked = frame.ack_request() && frame.version() != Version::V2015;
        let mut ack = vec![0; ACK_PSDU - FCS_LEN];
        if let Some(sequence) = frame.sequence().filter(|_| asked)
            && self.peers.contains(&frame.dst())
            && Repr::ack(sequence, false).emit(&mut ack).is_ok()
        {
            // From the SFD on: the length octet, and the PSDU (IEEE 802.15.4-2015, 12.1).
            if self.unacknowledged.len() < BACKLOG {
                let (frame, at) = (octets.to_vec(), now + ACK_WAIT);
                self.unacknowledged.push_back(Unacknowledged { frame, sequence, tries: 0, at });
            }
            let ended = sfd + (air_time(octets.len() + FCS_LEN) - SYNCHRONISATION);
            self.owed = Some((ended + TURNAROUND + SYNCHRONISATION, ack));
        }
    }

    /// Handles the end of the present transmission.
    fn sent(&mut self, arrived: bool) {
        if core::mem::replace(&mut self.sending, Sending::Nothing) != Sending::Frame {
            return;
        }
        if arrived || self.tries >= RETRIES {
            self.waiting.pop_front();
            self.tries = 0;
        } else {
            self.tries += 1;
        }
    }

    fn transmit(&mut self, start: Start, access: Access, ack: bool) -> Command {
        let (channel, power_dbm) = (self.channel, self.power_dbm);
        Command::Transmit { start, access, channel, power_dbm, ack }
    }
}

impl Device for Beyond {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        match event {
            Event::Received { sfd, .. } => self.pass(now, sfd, frame),
            Event::Transmitted { ack, .. } => self.sent(ack != Ack::Missing),
            _ => self.sent(false),
        }
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        if !self.listens {
            self.listens = true;
            let channel = self.channel;
            return Some((Command::Receive { start: Start::Asap, until: None, channel }, &[]));
        }
        if self.sending != Sending::Nothing {
            // It is too late for an acknowledgement then.
            self.owed = None;
            return None;
        }
        if let Some((at, ack)) = self.owed.take().filter(|(at, _)| *at > now) {
            (self.sending, self.frame) = (Sending::Ack, ack);
            let command = self.transmit(Start::At(at), Access::Immediate, false);
            return Some((command, &self.frame));
        }
        self.frame.clone_from(self.waiting.front()?);
        self.sending = Sending::Frame;
        let frame = Frame::parse(&self.frame);
        let ack = frame.is_ok_and(|it| it.ack_request() && !it.dst().is_broadcast());
        let access = Access::Csma(CsmaParams::default());
        let command = self.transmit(Start::Asap, access, ack);
        Some((command, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        self.unacknowledged.iter().map(|it| it.at).min()
    }

    fn handle_deadline(&mut self, now: Instant) {
        let (air, channel) = (&self.air, self.channel);
        self.unacknowledged.retain_mut(|it| {
            let (due, last) = (it.at <= now, it.tries >= RETRIES);
            if due && !last {
                let _ = air.send(channel, &it.frame);
                (it.tries, it.at) = (it.tries + 1, now + ACK_WAIT);
            }
            !(due && last)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet::wire::ieee802154::PanId;
    use std::net::UdpSocket;

    const PAN: u16 = 0x23;
    const HERE: Address = Address::Extended([2, 0, 0, 0xff, 0xfe, 0, 0, 1]);
    const BEYOND: Address = Address::Extended([2, 0, 0, 0xff, 0xfe, 0, 0, 9]);
    const SEQUENCE: u8 = 77;

    /// Returns the radio, and the socket of an external device.
    fn opened() -> (Beyond, UdpSocket) {
        let peer = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        peer.set_nonblocking(true).expect("a socket");
        let local = UdpSocket::bind("127.0.0.1:0").expect("loopback").local_addr();
        let ends = Ends {
            local: Some(local.expect("it was bound")),
            remote: peer.local_addr().expect("it is bound"),
        };
        let shared = Shared {
            pan_id: PAN,
            channel: Channel::default(),
            power_dbm: 0,
            members: Arc::new([HERE]),
            news: Arc::new(Notify::new()),
        };
        let mut beyond = Beyond::open(ends, &shared).expect("the port is free");
        beyond.peers.push_back(BEYOND);
        (beyond, peer)
    }

    fn data() -> Vec<u8> {
        let header = Repr {
            frame_type: FrameType::Data,
            ack_request: true,
            pan_id: PanId(PAN),
            dst: BEYOND,
            src: HERE,
            ..Repr::ack(SEQUENCE, false)
        };
        let mut octets = vec![0; 100];
        let len = header.emit(&mut octets).expect("room");
        octets.truncate(len + 20);
        octets
    }

    /// Returns the number of received datagrams with the frame.
    fn come(peer: &UdpSocket, frame: &[u8]) -> usize {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut octets = [0; 300];
        let mut count = 0;
        while let Ok(len) = peer.recv(&mut octets) {
            count += usize::from(octets[..len].windows(frame.len()).any(|it| it == frame));
        }
        count
    }

    #[test]
    fn a_frame_is_sent_again_until_a_device_beyond_acknowledges_it() {
        let (mut beyond, peer) = opened();
        let frame = data();
        for acknowledged_after in [0, 2, 9] {
            beyond.pass(Instant::ZERO, Instant::ZERO, &frame);
            let mut sent = 1;
            while let Some(at) = beyond.deadline() {
                if sent > acknowledged_after {
                    beyond.acknowledged(SEQUENCE);
                    break;
                }
                beyond.handle_deadline(at);
                sent += 1;
            }
            assert_eq!(beyond.deadline(), None);
            let expected = (acknowledged_after + 1).min(1 + usize::from(RETRIES));
            assert_eq!(come(&peer, &frame), expected, "{acknowledged_after}");
        }
    }
}
