//! The descriptors: their objects and settings.

use super::held::{Held, Lent};
use super::{Algorithm, Answer, Errno, Settings};
use kinglet_tcp::{ConnectionConfig, Handle, KeepAlive};
use kinglet_time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV6;

/// Object of a descriptor.
pub(super) enum Kind {
    Fresh,
    /// Connections that `poll` has taken from the endpoint's queue wait for `accept` here.
    Listening(VecDeque<Handle>),
    Connection(Handle),
    Epoll(Epoll),
}

/// An epoll descriptor: the watched descriptors.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoll(pub(super) BTreeMap<i32, Watch>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) events: u32,
    pub(super) data: u64,
    /// The readiness that was last reported, for edges.
    pub(super) reported: i32,
    /// Number of octets received by then.
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
    /// Backlog of `listen`.
    pub(super) backlog: u8,
    /// SO_LINGER.
    pub(super) linger: Option<Duration>,
    pub(super) nonblocking: bool,
    pub(super) local: Option<SocketAddrV6>,
    /// TCP_FASTOPEN: largest number of early connections of a listener.
    pub(super) fast_open: u8,
    /// Destination of a `connect` with TCP_FASTOPEN_CONNECT, until there is data.
    pub(super) deferred: Option<SocketAddrV6>,
    /// True if `connect` has not yet reported success.
    pub(super) connecting: bool,
    /// True if the application has shut down reading.
    pub(super) deaf: bool,
    /// True if the error has been reported: like SO_ERROR, only once.
    pub(super) reported: bool,
    /// Number of octets of a waiting write that are done.
    pub(super) partial: usize,
    /// Octets written, modulo 2^32.
    pub(super) written: u32,
    pub(super) held: Held,
    pub(super) lent: Lent,
    /// TCP_NOTSENT_LOWAT.
    pub(super) notsent_lowat: u32,
    /// TCP_INQ.
    pub(super) inquires: bool,
    /// True if a write has found too little space, and new space has not been reported yet.
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
            reported: false,
            partial: 0,
            written: 0,
            held: Held::default(),
            lent: Lent::default(),
            notsent_lowat: settings.notsent_lowat,
            inquires: false,
            starved: false,
        }
    }

    /// Returns the socket of an accepted connection: it inherits the settings.
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

    /// Returns the settings for the endpoint: its send buffer always has full size, because the
    /// application may increase it at any time.
    pub(super) fn ring_config(&self) -> ConnectionConfig {
        ConnectionConfig { send_buffer: 0, ..self.config }
    }
}

/// All descriptors.
pub(super) struct Table {
    pub(super) sockets: BTreeMap<i32, Socket>,
    descriptors: Descriptors,
}

/// Source of new descriptors.
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
