//! smoltcp as it is published, on a radio with one frame buffer for each direction.

use crate::station::{Frame, Reader, Role, Setup, Station, Writer};
use std::collections::VecDeque;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{Ieee802154Address, Ieee802154Pan, IpAddress, IpCidr};

const PORT: u16 = 1;
/// Octets of the headers of IPv6 and TCP: smoltcp derives its MSS from the MTU.
const HEADERS: usize = 40 + 20;

/// The radio: a received frame, and frames to be sent. smoltcp needs room for a response with every
/// frame that it receives. Without it the frame would be lost, while another stack would receive
/// it. Responses may therefore queue behind the one frame of the buffer.
struct Radio {
    incoming: Option<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
    mtu: usize,
}

struct Received(Vec<u8>);
struct Free<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Free<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Radio {
    type RxToken<'a> = Received;
    type TxToken<'a> = Free<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Free<'_>)> {
        let frame = self.incoming.take()?;
        Some((Received(frame), Free(&mut self.outgoing)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Free<'_>> {
        self.outgoing.is_empty().then_some(Free(&mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ieee802154;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

struct SmoltcpStation {
    interface: Interface,
    radio: Radio,
    sockets: SocketSet<'static>,
    tcp: SocketHandle,
    role: Role,
    writer: Writer,
    reader: Reader,
    /// True if an event has occurred since the last poll.
    stale: bool,
    /// Last result of `poll_at`.
    due_at: Option<u64>,
}

fn time(now: u64) -> Instant {
    Instant::from_micros(now as i64)
}

fn number(role: Role) -> u8 {
    match role {
        Role::Source => 1,
        Role::Sink => 2,
    }
}

fn address(role: Role) -> IpAddress {
    IpAddress::v6(0xfe80, 0, 0, 0, 0, 0, 0, u16::from(number(role)))
}

/// A station with 64-bit addresses: with 16-bit ones smoltcp's neighbour discovery does not work.
pub fn station(role: Role, setup: Setup, seed: u64) -> Box<dyn Station> {
    assert!(!setup.short, "smoltcp works with 64-bit addresses only");
    let mtu = usize::from(setup.mss) + HEADERS;
    let mut radio = Radio { incoming: None, outgoing: VecDeque::new(), mtu };
    let link = Ieee802154Address::Extended([2, 0, 0, 0, 0, 0, 0, number(role)]);
    let mut config = Config::new(link.into());
    config.random_seed = seed << 8 | u64::from(number(role));
    config.pan_id = Some(Ieee802154Pan(0xabcd));
    let mut interface = Interface::new(config, &mut radio, time(0));
    interface.update_ip_addrs(|addresses| {
        addresses.push(IpCidr::new(address(role), 64)).expect("room for an address");
    });
    if setup.quick_reassembly {
        interface.set_reassembly_timeout(Duration::from_millis(300));
    }
    let buffer = || SocketBuffer::new(vec![0; setup.buffer]);
    let mut sockets = SocketSet::new(vec![]);
    let tcp = sockets.add(Socket::new(buffer(), buffer()));
    if role == Role::Sink {
        sockets.get_mut::<Socket>(tcp).listen(PORT).expect("a free port");
    }
    let (writer, reader) = (Writer::new(&setup), Reader::new(&setup));
    Box::new(SmoltcpStation {
        interface,
        radio,
        sockets,
        tcp,
        role,
        writer,
        reader,
        stale: true,
        due_at: None,
    })
}

impl SmoltcpStation {
    /// Polls if an event has occurred or a deadline has passed, so that smoltcp is not charged for
    /// idle rounds of the model.
    fn poll(&mut self, now: u64) {
        if !core::mem::take(&mut self.stale) && self.due_at.is_none_or(|at| at > now) {
            return;
        }
        self.interface.poll(time(now), &mut self.radio, &mut self.sockets);
    }
}

impl Station for SmoltcpStation {
    fn start(&mut self, _now: u64) {
        if self.role == Role::Source {
            let socket = self.sockets.get_mut::<Socket>(self.tcp);
            let to = (address(Role::Sink), PORT);
            socket.connect(self.interface.context(), to, 50_000).expect("a free socket");
            self.stale = true;
        }
    }

    fn deadline(&mut self, now: u64) -> Option<u64> {
        // With its one buffer full it could do nothing, but would request an immediate call.
        self.due_at = None;
        if !self.radio.outgoing.is_empty() {
            return None;
        }
        let at = self.interface.poll_at(time(now), &self.sockets);
        self.due_at = at.map(|at| at.total_micros().max(0) as u64);
        self.due_at
    }

    fn run(&mut self, now: u64) {
        self.poll(now);
        let socket = self.sockets.get_mut::<Socket>(self.tcp);
        let (writer, reader) = (&mut self.writer, &mut self.reader);
        match self.role {
            Role::Source => {
                while socket.can_send() {
                    let count = socket.send(|room| {
                        writer.peek(room);
                        (room.len(), room.len())
                    });
                    writer.took(count.expect("an open connection"));
                    self.stale = true;
                }
            }
            Role::Sink => {
                let mut data = [0; 512];
                while socket.can_recv() {
                    let count = socket.recv_slice(&mut data).expect("an open connection");
                    reader.check(&data[..count]);
                    self.stale = true;
                }
            }
        }
    }

    fn poll_frame(&mut self, now: u64, out: &mut Frame) -> bool {
        if self.radio.outgoing.is_empty() {
            self.poll(now);
        }
        // It occupies the buffer until `sent`.
        let Some(frame) = self.radio.outgoing.front() else { return false };
        out.set(frame);
        true
    }

    fn sent(&mut self, _now: u64, _delivered: bool) {
        self.radio.outgoing.pop_front();
        self.stale = true;
    }

    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.radio.incoming = Some(frame.to_vec());
        self.stale = true;
        self.poll(now);
    }

    fn received(&self) -> u64 {
        self.reader.offset
    }

    fn state(&mut self) -> String {
        let socket = self.sockets.get::<Socket>(self.tcp);
        format!("{} queued {}", socket.state(), socket.send_queue())
    }
}
