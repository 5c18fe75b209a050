//! UDP sockets (RFC 768): what is kept of one, and what goes through it.

use crate::pool::PacketHandle;
use crate::queue::Queue;
use core::net::Ipv6Addr;
use kinglet_mem::Empty;

/// Datagrams that a socket holds until they are read.
const BACKLOG: usize = 4;
/// A socket, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHandle(pub(crate) u8);

/// A whole packet, which says who sent it to whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) packet: PacketHandle,
    /// Where its UDP header is.
    pub(crate) start: u16,
}

/// How a datagram is sent, as far as that is not left to the network layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Source address: a unicast one of this node. `None`: the one that suits the destination
    /// ([`Net::source_for`](crate::Net::source_for)).
    pub src: Option<Ipv6Addr>,
    /// Hop limit; `None`: that of [`Config`](crate::Config).
    pub hop_limit: Option<u8>,
    /// Traffic Class: DSCP and ECN.
    pub traffic_class: u8,
}

/// A place in the socket table.
#[derive(Debug)]
pub struct UdpSocket {
    /// 0 if the place is free.
    pub(crate) port: u16,
    /// [`Net::poll_ready`](crate::Net::poll_ready) has told of what waits.
    pub(crate) told: bool,
    /// Its reader has room for datagrams of packets that are longer than 1280 octets.
    pub(crate) long: bool,
    pub(crate) queue: Queue<[Option<Received>; BACKLOG], Received>,
}

impl Empty for UdpSocket {
    const EMPTY: Self = UdpSocket { port: 0, told: false, long: false, queue: Queue::new() };
}

impl UdpSocket {
    pub(crate) fn is_bound_to(&self, port: u16) -> bool {
        self.port == port && port != 0
    }
}

/// A datagram that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpDatagram {
    /// Who sent it.
    pub src: Ipv6Addr,
    /// From which port.
    pub src_port: u16,
    /// Which of our addresses (or a multicast one) it was sent to.
    pub dst: Ipv6Addr,
    /// Hop limit it arrived with: 255 can only be a neighbour's (RFC 5082).
    pub hop_limit: u8,
    /// Octets of data, at the start of the buffer.
    pub len: usize,
}

/// Why [`Net::udp_bind`](crate::Net::udp_bind) failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindError {
    /// A socket has this port already, or no ephemeral port is left.
    PortInUse,
    /// No free place in the table.
    TableFull,
}

/// Why [`Net::udp_recv`](crate::Net::udp_recv) failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpError {
    /// The handle is of no bound socket.
    NotBound,
    /// The datagram is this long; it stays.
    BufferTooShort(usize),
}
