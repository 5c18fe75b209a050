//! Sockets over [`kinglet_tcp::Endpoint`] in virtual time: IPv6 packets on one side, the system
//! calls of Linux, with its error numbers, on the other.
//!
//! The segment scripts run on it, and so does packetdrill through `kinglet-packetdrill`. Nothing
//! here blocks: [`Stack::call`] returns `None` for a call that has to wait, and is called again
//! later.
//!
//! Differences from Linux: a write before the connection is established is queued, according to RFC
//! 9293 §3.10.2, and does not fail; `SO_SNDBUF` and `SO_RCVBUF` are octets, not doubled, and
//! `SO_RCVBUF` is effective only before the handshake.

mod calls;
mod descriptors;
mod held;
mod info;
mod options;
mod outgoing;
mod ready;
mod settings;
mod sizes;
mod stack;
mod symbols;

pub use info::{TCP_INFO_LEN, field as info_field};
pub use settings::Settings;
pub use sizes::Algorithm;
pub(crate) use stack::in_ipv6;
pub use stack::{Emitted, Stack};
pub use symbols::*;

use kinglet_time::Instant;
use std::net::SocketAddrV6;

/// A system call. Descriptors are the stack's own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the calls and their arguments are Linux's")]
pub enum Request {
    Socket { domain: i32, kind: i32, protocol: i32 },
    Bind { fd: i32, address: SocketAddrV6 },
    Listen { fd: i32, backlog: i32 },
    Accept { fd: i32, flags: i32 },
    Connect { fd: i32, to: SocketAddrV6 },
    Receive { fd: i32, len: usize, flags: i32 },
    ReceiveMessage { fd: i32, len: usize, flags: i32 },
    Send { fd: i32, data: Vec<u8>, flags: i32, to: Option<SocketAddrV6> },
    Fcntl { fd: i32, command: i32, argument: i32 },
    Ioctl { fd: i32, request: i32 },
    Close { fd: i32 },
    Shutdown { fd: i32, how: i32 },
    GetOption { fd: i32, level: i32, name: i32 },
    SetOption { fd: i32, level: i32, name: i32, value: Vec<u8> },
    Poll { wanted: Vec<(i32, i32)>, patience: Patience },
    EpollCreate,
    EpollControl { epoll: i32, operation: i32, fd: i32, events: u32, data: u64 },
    EpollWait { epoll: i32, most: usize, patience: Patience },
}

/// Time for which `poll` or `epoll_wait` waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As in the call: milliseconds, or without end if negative.
    Timeout(i32),
    /// It waits already, until this time.
    Until(Instant),
}

impl Request {
    /// Returns the time at which a waiting call times out, if it does.
    pub fn patience(&self) -> Option<Instant> {
        match self {
            Request::Poll { patience: Patience::Until(until), .. }
            | Request::EpollWait { patience: Patience::Until(until), .. } => Some(*until),
            _ => None,
        }
    }
}

/// Output of a call in addition to its result.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Output {
    /// Nothing.
    #[default]
    None,
    /// Received octets, or the value of an option.
    Octets(Vec<u8>),
    /// Output of `recvmsg`: octets, flags and control data.
    Message {
        /// Received octets.
        octets: Vec<u8>,
        /// `msg_flags`.
        flags: i32,
        /// `msg_control`, in order.
        control: Vec<Control>,
    },
    /// The other end of a connection.
    Address(SocketAddrV6),
    /// `poll`: the events of each descriptor; `epoll_wait`: events and data.
    Events(Vec<(u32, u64)>),
}

/// Control data of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// `cmsg_level`.
    pub level: i32,
    /// `cmsg_type`.
    pub kind: i32,
    /// `cmsg_data`, in this machine's order.
    pub data: Vec<u8>,
}

impl Control {
    /// Creates control data from words.
    pub fn of(level: i32, kind: i32, words: &[u32]) -> Control {
        let data = words.iter().copied().flat_map(u32::to_ne_bytes).collect();
        Control { level, kind, data }
    }
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Result of the system call.
    pub result: Result<i64, Errno>,
    /// Additional output.
    pub output: Output,
}

impl Answer {
    const DONE: Answer = Answer { result: Ok(0), output: Output::None };

    /// A result without additional output.
    pub const fn value(result: i64) -> Answer {
        Answer { result: Ok(result), output: Output::None }
    }

    /// A call that failed.
    pub const fn error(errno: Errno) -> Answer {
        Answer { result: Err(errno), output: Output::None }
    }
}

/// Outcome of a call so far; `Ok(None)`: it has to wait.
type Outcome = Result<Option<Answer>, Errno>;

fn done(result: usize) -> Outcome {
    Ok(Some(Answer::value(i64::try_from(result).unwrap_or(i64::MAX))))
}

const DONE: Outcome = Ok(Some(Answer::DONE));
