//! The descriptors: what each of them stands for, and what has been set.

use super::held::{Held, Lent};
use super::{Algorithm, Answer, Errno, Settings};
use kinglet_tcp::{ConnectionConfig, Handle, KeepAlive};
use kinglet_time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV6;

/// What a descriptor stands for.
pub(super) enum Kind {
    Fresh,
    /// Connections that `poll` has taken off the endpoint's queue wait for `accept` here.
    Listening(VecDeque<Handle>),
    Connection(Handle),
    Epoll(Epoll),
}

/// An epoll descriptor: what is watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoll(pub(super) BTreeMap<i32, Watch>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) events: u32,
    pub(super) data: u64,
    /// What was ready when it was last told, for edges.
    pub(super) told: i32,
    /// Octets that had been received then.
    pub(super) received: u32,
}

/// A descriptor with its settings.
pub(super) struct Socket {
    pub(super) kind: Kind,
    pub(super) config: ConnectionConfig,
    pub(super) congestion: Algorithm,
    /// The MSS in the SYN of its connections.
    pub(super) announced: u16,
    pub(super) keepalive: KeepAlive,
    pub(super) keepalive_on: bool,
    /// Of `listen`.
    pub(super) backlog: u8,
    /// SO_LINGER.
    pub(super) linger: Option<Duration>,
    pub(super) nonblocking: bool,
    pub(super) local: Option<SocketAddrV6>,
    /// TCP_FASTOPEN: how many connections of a listener may be early.
    pub(super) fast_open: u8,
    /// Where a `connect` with TCP_FASTOPEN_CONNECT leads to, once there is data.
    pub(super) deferred: Option<SocketAddrV6>,
    /// `connect` has not yet reported success.
    pub(super) connecting: bool,
    /// The application has shut down reading.
    pub(super) deaf: bool,
    /// The error has been reported: like SO_ERROR, only once.
    pub(super) told: bool,
    /// Octets of a waiting write that are done.
    pub(super) partial: usize,
    /// Octets written, modulo 2^32.
    pub(super) written: u32,
    pub(super) held: Held,
    pub(super) lent: Lent,
    /// TCP_NOTSENT_LOWAT.
    pub(super) notsent_lowat: u32,
    /// TCP_INQ.
    pub(super) inquires: bool,
    /// A write has found too little room, and nobody has been told that there is some again.
    pub(super) starved: bool,
}

impl Socket {
    pub(super) fn new(kind: Kind, settings: &Settings) -> Socket {
        Socket {
            kind,
            config: settings.connection,
            congestion: settings.congestion,
            announced: settings.connection.mss,
            keepalive: settings.keepalive,
            keepalive_on: false,
            backlog: 1,
            linger: None,
            nonblocking: false,
            local: None,
            fast_open: 0,
            deferred: None,
            connecting: false,
            deaf: false,
            told: false,
            partial: 0,
            written: 0,
            held: Held::default(),
            lent: Lent::default(),
            notsent_lowat: settings.notsent_lowat,
            inquires: false,
            starved: false,
        }
    }

    /// The socket of a connection that this one has listened for: what was set stays set.
    pub(super) fn heir(&self, kind: Kind, settings: &Settings) -> Socket {
        Socket {
            config: self.config,
            congestion: self.congestion,
            announced: self.announced,
            keepalive: self.keepalive,
            keepalive_on: self.keepalive_on,
            linger: self.linger,
            held: self.held.clone(),
            lent: self.lent.clone(),
            notsent_lowat: self.notsent_lowat,
            inquires: self.inquires,
            ..Socket::new(kind, settings)
        }
    }

    /// Settings for the endpoint: its send ring is always whole, because the socket may be given
    /// more of it at any time.
    pub(super) fn ring_config(&self) -> ConnectionConfig {
        ConnectionConfig { send_buffer: 0, ..self.config }
    }
}

/// All descriptors.
pub(super) struct Table {
    pub(super) sockets: BTreeMap<i32, Socket>,
    descriptors: Descriptors,
}

/// Where new descriptors come from.
type Descriptors = Box<dyn FnMut() -> Option<i32> + Send>;

impl Table {
    pub(super) fn new(descriptors: Descriptors) -> Table {
        Table { sockets: BTreeMap::new(), descriptors }
    }

    pub(super) fn add(&mut self, socket: Socket) -> Answer {
        let Some(fd) = (self.descriptors)() else { return Answer::error(Errno::ENOMEM) };
        self.sockets.insert(fd, socket);
        Answer::value(i64::from(fd))
    }

    pub(super) fn handle(&self, fd: i32) -> Option<Handle> {
        match self.sockets.get(&fd)?.kind {
            Kind::Connection(handle) => Some(handle),
            _ => None,
        }
    }

    pub(super) fn entry(&mut self, fd: i32) -> Result<&mut Socket, Errno> {
        self.sockets.get_mut(&fd).ok_or(Errno::EBADF)
    }
}
