//! Texts for what has failed: what, where, and what would be right.

use crate::console::EndReason;
use crate::profile::Process;
use core::net::Ipv6Addr;
use kinglet::Node;
use kinglet::StreamConnectError;
use kinglet::net::SendError;
use kinglet::tcp::{ConnectionError, SoftError};
use kinglet::wire::icmpv6::{Kind, unreachable};

/// Returns the reason for which no connection to `to` can be opened now, before TCP is asked.
pub(crate) fn obstacle(node: &Node<Process>, to: (Ipv6Addr, u16)) -> Option<String> {
    let (address, port) = to;
    if address.is_multicast() || address.is_unspecified() || port == 0 {
        let right = "give the unicast address of a node, and a port from 1 to 65535";
        return Some(format!("[{address}]:{port} is no end of a connection; {right}"));
    }
    no_route(node, address)
}

/// Returns the reason for which a packet to this address cannot be sent, if there is no route.
pub(crate) fn no_route(node: &Node<Process>, to: Ipv6Addr) -> Option<String> {
    if node.net().source_for(to).is_none() {
        let right = "give it one in `addresses`, or a role in `discovery` or `rpl` and wait for \
                     a router";
        return Some(format!("no address of this node can reach {to}; {right}"));
    }
    (!node.net().has_route(to)).then(|| {
        let right = "give it a `route`, or a role in `discovery` or `rpl` and wait for a router";
        format!("this node has no route to {to}; {right}")
    })
}

/// Returns the reason for which TCP has refused to open a connection that nothing obstructs.
pub(crate) fn refused(error: StreamConnectError, to: (Ipv6Addr, u16)) -> String {
    let (address, port) = to;
    let right = "every connection of this node is in use; wait until one has ended";
    format!("[{address}]:{port}: {error}: {right}")
}

/// Returns the reason for which a packet to this address was not sent.
pub(crate) fn unsent(node: &Node<Process>, to: Ipv6Addr, error: SendError) -> String {
    match error {
        SendError::NoRoute => {
            no_route(node, to).unwrap_or_else(|| format!("this node has no route to {to}"))
        }
        SendError::TooLong => format!("the packet to {to} is too long; 1280 octets are possible"),
        SendError::Busy | SendError::NoBuffer | SendError::QueueFull => {
            format!("the queue of this node is full, and the packet to {to} was not sent")
        }
        SendError::NotBound => format!("no socket of this node can send to {to}"),
    }
}

/// Returns the reason for the early end of a connection; `opened` says if the peer has accepted it.
pub(crate) const fn ended(error: ConnectionError, opened: bool) -> EndReason {
    match error {
        ConnectionError::Refused => EndReason::Refused,
        ConnectionError::Unreachable => EndReason::Unreachable,
        ConnectionError::Reset => EndReason::Reset,
        ConnectionError::Aborted => EndReason::Aborted,
        ConnectionError::TimedOut if opened => EndReason::TimedOut,
        ConnectionError::TimedOut => EndReason::NoResponse,
    }
}

/// Returns what the network reports about a connection that still waits.
pub(crate) const fn trouble(error: SoftError) -> &'static str {
    match error {
        SoftError::Unreachable => "a router reports that it has no route to the peer",
        SoftError::TimeExceeded => "a router reports that a limit is exceeded",
        SoftError::ParameterProblem => "a node reports a header that it does not understand",
        SoftError::LinkDown => "the next hop acknowledges no frames",
    }
}

/// Returns what an ICMPv6 error says about a packet of this node.
pub(crate) fn undelivered(kind: Kind) -> String {
    match kind {
        Kind::DestinationUnreachable { code } => match code {
            unreachable::NO_ROUTE => "no route".to_owned(),
            1 => "administratively prohibited".to_owned(),
            unreachable::BEYOND_SCOPE => "beyond the scope of the source address".to_owned(),
            unreachable::ADDRESS => "address unreachable".to_owned(),
            unreachable::PORT => "port unreachable".to_owned(),
            unreachable::SOURCE_ROUTE => "the source route is broken".to_owned(),
            code => format!("destination unreachable, code {code}"),
        },
        Kind::PacketTooBig { mtu } => format!("packet too big, the MTU is {mtu} octets"),
        Kind::TimeExceeded { code: 0 } => "hop limit exceeded".to_owned(),
        Kind::TimeExceeded { .. } => "reassembly time exceeded".to_owned(),
        Kind::ParameterProblem { code, pointer } => {
            format!("a header is not understood, code {code}, at octet {pointer}")
        }
        Kind::EchoRequest { .. } | Kind::EchoReply { .. } | Kind::Other { .. } => {
            "no error".to_owned()
        }
    }
}
