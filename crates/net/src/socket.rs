//! UDP sockets (RFC 768): state and datagrams.

use crate::pool::PacketHandle;
use crate::queue::Queue;
use core::net::Ipv6Addr;
use kinglet_mem::Empty;

/// Datagrams that a socket holds until they are read.
const BACKLOG: usize = 4;
/// A socket, by its index in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHandle(pub(crate) u8);

/// A whole packet, with the addresses of the datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) packet: PacketHandle,
    /// Offset of its UDP header.
    pub(crate) start: u16,
}

/// Options for the transmission of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Source address: a unicast one of this node. `None`: the one that suits the destination
    /// ([`Net::source_for`](crate::Net::source_for)).
    pub src: Option<Ipv6Addr>,
    /// Hop limit; `None`: that of [`NetConfig`](crate::NetConfig).
    pub hop_limit: Option<u8>,
    /// Traffic Class: DSCP and ECN.
    pub traffic_class: u8,
}

/// An entry of the socket table.
#[derive(Debug)]
pub struct UdpSocket {
    /// 0 if the entry is free.
    pub(crate) port: u16,
    /// True if [`Net::poll_ready`](crate::Net::poll_ready) has reported the waiting datagrams.
    pub(crate) reported: bool,
    /// True if its reader has room for datagrams of packets that are longer than 1280 octets.
    pub(crate) long: bool,
    pub(crate) queue: Queue<[Option<Received>; BACKLOG], Received>,
}

impl Empty for UdpSocket {
    const EMPTY: Self = UdpSocket { port: 0, reported: false, long: false, queue: Queue::new() };
}

impl UdpSocket {
    pub(crate) fn is_bound_to(&self, port: u16) -> bool {
        self.port == port && port != 0
    }
}

/// Metadata of a datagram that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpDatagram {
    /// Source address.
    pub src: Ipv6Addr,
    /// Source port.
    pub src_port: u16,
    /// Destination: an own address, or a multicast one.
    pub dst: Ipv6Addr,
    /// Hop limit on arrival: 255 only from a neighbour (RFC 5082).
    pub hop_limit: u8,
    /// Octets of data, at the start of the buffer.
    pub len: usize,
}

/// Reason for a failure of [`Net::udp_bind`](crate::Net::udp_bind).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindError {
    /// Another socket has this port, or no ephemeral port is free.
    PortInUse,
    /// No free entry in the table.
    TableFull,
}

/// Reason for a failure of [`Net::udp_recv`](crate::Net::udp_recv).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpError {
    /// The handle does not name a bound socket.
    NotBound,
    /// The datagram has this length; it stays in the queue.
    BufferTooShort(usize),
}
