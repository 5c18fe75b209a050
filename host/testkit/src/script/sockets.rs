//! Sockets over the endpoint: what calls of a script do.

use super::call::{Call, MSG_PEEK, O_NONBLOCK};
use super::compare::{is_pattern, pattern};
use kinglet_mem::Array;
use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::{
    Config, ConnectError, ConnectionConfig, ConnectionError, Endpoint, HalfOpen, Handle, KeepAlive,
    ListenConfig, ListenError, Listener, Peer, Piece, RecvError, SendError, Sizes, Slot, State,
    TimeWait,
};
use kinglet_time::{Duration, Instant};
use std::collections::BTreeMap;
use std::hash::Hasher;

/// The one peer of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remote;

impl Peer for Remote {
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16 {
        // The protocol number, and two addresses whose sum is zero.
        u16::try_from(tcp_len).unwrap_or(0).wrapping_add(6)
    }

    fn hash_into<H: Hasher>(&self, state: &mut H) {
        state.write(&[1, 2]);
    }
}

/// Enough for every script; windows above 65,535 octets need `SO_RCVBUF`.
pub(super) struct Plan;

impl Sizes for Plan {
    type Congestion = NewReno;
    type SendBuffer = [u8; 65_536];
    type Pieces = [Piece; 0];
    type ReceiveBuffer = [u8; 131_072];
    type ReceiveMap = [u8; 16_384];
    type Connections<K: Peer> = [Slot<K, Self>; 2];
    type Listeners = [Option<Listener>; 1];
    type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 2];
    type TimeWait<K: Peer> = [Option<TimeWait<K>>; 1];
}

/// The stack's port and the peer's.
pub(super) const LOCAL_PORT: u16 = 8080;
pub(super) const REMOTE_PORT: u16 = 40_000;

/// Calls that take a descriptor.
const CALLS: [&str; 14] = [
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "fcntl",
    "read",
    "recv",
    "write",
    "send",
    "shutdown",
    "close",
    "setsockopt",
    "getsockopt",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fresh,
    Listening,
    Connection(Handle),
}

#[derive(Clone, Copy, Debug)]
struct Socket {
    kind: Kind,
    config: ConnectionConfig,
    keepalive: KeepAlive,
    keepalive_on: bool,
    /// SO_LINGER.
    linger: Option<Duration>,
    nonblocking: bool,
    /// Octets written and read, for their pattern.
    written: u32,
    read: u32,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Value(i64),
    Error(&'static str),
    /// It has to wait.
    Block,
    /// It was ignored, and this is why it should be told.
    Ignored(String),
}

/// The endpoint and its sockets.
pub(super) struct Sockets {
    pub(super) endpoint: Box<Endpoint<Remote, Plan>>,
    table: BTreeMap<i64, Socket>,
    base: ConnectionConfig,
    /// The connection that assertions are about.
    current: Option<Handle>,
    /// Octets of a blocking write that are done.
    progress: i64,
    /// Octets that were read with a wrong value.
    pub(super) corrupted: bool,
}

impl Sockets {
    pub(super) fn new(secret: [u8; 16]) -> Sockets {
        // Its buffers are too large for a stack that is not asked for.
        let receive = <<Plan as Sizes>::ReceiveBuffer as Array<u8>>::LEN / 2 - 1;
        Sockets {
            endpoint: Box::new(Endpoint::new(Config::new(secret))),
            table: BTreeMap::new(),
            base: ConnectionConfig {
                mss: 1440,
                receive_buffer: receive,
                ..ConnectionConfig::DEFAULT
            },
            current: None,
            progress: 0,
            corrupted: false,
        }
    }

    pub(super) fn base(&mut self) -> &mut ConnectionConfig {
        &mut self.base
    }

    pub(super) fn current(&self) -> Option<Handle> {
        self.current
    }

    pub(super) fn state(&self) -> Option<State> {
        self.current.and_then(|handle| self.endpoint.state(handle))
    }

    /// Does what a call says; `waits` tells that it may block. `Err`: it is not understood.
    pub(super) fn call(&mut self, now: Instant, call: &Call, waits: bool) -> Result<Reply, String> {
        if call.name == "socket" {
            return self.socket(call);
        }
        if !CALLS.contains(&call.name.as_str()) {
            return Err(format!("the call {} is not understood", call.name));
        }
        let fd = call.number(0)?;
        let Some(socket) = self.table.get(&fd).copied() else { return Ok(Reply::Error("EBADF")) };
        let reply = match call.name.as_str() {
            "bind" => Ok(Reply::Value(0)),
            "listen" => self.listen(fd, socket, call),
            "accept" | "accept4" => Ok(self.accept(socket, call)),
            "connect" => Ok(self.connect(now, fd, socket)),
            "fcntl" => self.fcntl(fd, call),
            "read" | "recv" => self.receive(fd, socket, call),
            "write" | "send" => self.send(fd, socket, call, waits),
            "shutdown" => self.shutdown(socket, call),
            "close" => Ok(self.close(now, fd, socket)),
            "setsockopt" => self.setsockopt(now, fd, call),
            _ => self.getsockopt(socket, call),
        };
        if reply != Ok(Reply::Block) {
            self.progress = 0;
        }
        reply
    }

    fn socket(&mut self, call: &Call) -> Result<Reply, String> {
        let fd = call.result.ok_or("a socket needs its descriptor as the result")?;
        // The default of an application that turns keep-alive on (Linux, and RFC 9293 §3.8.4 for
        // the two hours).
        let keepalive = KeepAlive {
            idle: Duration::from_secs(7200),
            interval: Duration::from_secs(75),
            probes: 9,
        };
        let nonblocking = call.number(1)? & O_NONBLOCK != 0;
        let socket = Socket {
            kind: Kind::Fresh,
            config: self.base,
            keepalive,
            keepalive_on: false,
            linger: None,
            nonblocking,
            written: 0,
            read: 0,
        };
        self.table.insert(fd, socket);
        Ok(Reply::Value(fd))
    }

    fn listen(&mut self, fd: i64, socket: Socket, call: &Call) -> Result<Reply, String> {
        let backlog = u8::try_from(call.number(1)?.clamp(1, 255)).unwrap_or(1);
        let config = ListenConfig { backlog, connection: socket.config };
        Ok(match self.endpoint.listen(LOCAL_PORT, config) {
            Ok(()) => {
                self.table.insert(fd, Socket { kind: Kind::Listening, ..socket });
                Reply::Value(0)
            }
            Err(ListenError::InUse | ListenError::NoSlot | ListenError::BadPort) => {
                Reply::Error("EADDRINUSE")
            }
        })
    }

    fn accept(&mut self, socket: Socket, call: &Call) -> Reply {
        if socket.kind != Kind::Listening {
            return Reply::Error("EINVAL");
        }
        let Some(handle) = self.endpoint.accept(LOCAL_PORT) else { return Reply::Block };
        self.current = Some(handle);
        let Some(fd) = call.result.filter(|fd| *fd >= 0) else { return Reply::Value(0) };
        let connection = Socket { kind: Kind::Connection(handle), written: 0, read: 0, ..socket };
        self.table.insert(fd, connection);
        Reply::Value(fd)
    }

    fn connect(&mut self, now: Instant, fd: i64, socket: Socket) -> Reply {
        let Kind::Connection(handle) = socket.kind else {
            let opened =
                self.endpoint.connect_from(now, Remote, REMOTE_PORT, LOCAL_PORT, socket.config);
            return match opened {
                Ok(handle) => {
                    self.current = Some(handle);
                    let kind = Kind::Connection(handle);
                    self.table.insert(fd, Socket { kind, ..socket });
                    if socket.nonblocking { Reply::Error("EINPROGRESS") } else { Reply::Block }
                }
                Err(ConnectError::NoPort | ConnectError::NoSlot) => Reply::Error("EADDRNOTAVAIL"),
                Err(ConnectError::BadAddress) => Reply::Error("EINVAL"),
            };
        };
        match (self.endpoint.state(handle), self.ended(handle)) {
            (_, Some(error)) => Reply::Error(error),
            (Some(State::SynSent | State::SynReceived), _) if socket.nonblocking => {
                Reply::Error("EALREADY")
            }
            (Some(State::SynSent | State::SynReceived), _) => Reply::Block,
            _ => Reply::Value(0),
        }
    }

    fn ended(&self, handle: Handle) -> Option<&'static str> {
        self.endpoint.info(handle)?.error.map(errno)
    }

    fn fcntl(&mut self, fd: i64, call: &Call) -> Result<Reply, String> {
        match (call.text(1), self.table.get_mut(&fd)) {
            ("F_GETFL", _) => Ok(Reply::Value(call.result.unwrap_or(0))),
            ("F_SETFL", Some(socket)) => {
                socket.nonblocking = call.number(2)? & O_NONBLOCK != 0;
                Ok(Reply::Value(0))
            }
            (other, _) => Err(format!("fcntl {other} is not understood")),
        }
    }

    fn receive(&mut self, fd: i64, socket: Socket, call: &Call) -> Result<Reply, String> {
        let Kind::Connection(handle) = socket.kind else { return Ok(Reply::Error("ENOTCONN")) };
        let len = usize::try_from(call.number(2)?).unwrap_or(0);
        let peek = call.name == "recv" && call.number(3)? & MSG_PEEK != 0;
        let mut out = vec![0; len];
        let got = if peek {
            self.endpoint.peek(handle, &mut out)
        } else {
            self.endpoint.recv(handle, &mut out)
        };
        Ok(match got {
            Ok(count) => {
                let octets = out.get(..count).unwrap_or(&[]);
                self.corrupted |= !is_pattern(socket.read, octets);
                if let Some(socket) = self.table.get_mut(&fd).filter(|_| !peek) {
                    socket.read = socket.read.wrapping_add(u32::try_from(count).unwrap_or(0));
                }
                Reply::Value(i64::try_from(count).unwrap_or(i64::MAX))
            }
            Err(RecvError::WouldBlock) => Reply::Block,
            Err(RecvError::InvalidHandle) => Reply::Error("EBADF"),
            Err(RecvError::Ended(error)) => Reply::Error(errno(error)),
        })
    }

    fn send(&mut self, fd: i64, socket: Socket, call: &Call, waits: bool) -> Result<Reply, String> {
        let Kind::Connection(handle) = socket.kind else { return Ok(Reply::Error("EPIPE")) };
        let total = call.number(2)?;
        let len = u32::try_from(total - self.progress).unwrap_or(0);
        let data: Vec<u8> = (0..len).map(|i| pattern(socket.written.wrapping_add(i))).collect();
        let count = match self.endpoint.send(handle, &data) {
            Ok(count) => count,
            Err(SendError::Closed) => return Ok(Reply::Error("EPIPE")),
            Err(SendError::InvalidHandle) => return Ok(Reply::Error("EBADF")),
            Err(SendError::Ended(error)) => return Ok(Reply::Error(errno(error))),
        };
        if let Some(socket) = self.table.get_mut(&fd) {
            socket.written = socket.written.wrapping_add(u32::try_from(count).unwrap_or(0));
        }
        self.progress += i64::try_from(count).unwrap_or(0);
        let incomplete = self.progress < total;
        if (incomplete && waits) || (self.progress == 0 && total > 0) {
            return Ok(Reply::Block);
        }
        Ok(Reply::Value(self.progress))
    }

    fn shutdown(&mut self, socket: Socket, call: &Call) -> Result<Reply, String> {
        let Kind::Connection(handle) = socket.kind else { return Ok(Reply::Error("ENOTCONN")) };
        if call.number(1)? == 0 {
            return Err("this stack has no SHUT_RD".to_owned());
        }
        Ok(match self.endpoint.close(handle) {
            Ok(()) => Reply::Value(0),
            Err(_) => Reply::Error("ENOTCONN"),
        })
    }

    fn close(&mut self, now: Instant, fd: i64, socket: Socket) -> Reply {
        self.table.remove(&fd);
        match socket.kind {
            Kind::Fresh => {}
            Kind::Listening => self.endpoint.unlisten(LOCAL_PORT),
            Kind::Connection(handle) => {
                // A connection that is gone already leaves nothing to close.
                let _ = self.endpoint.release(now, handle, socket.linger);
            }
        }
        Reply::Value(0)
    }

    fn getsockopt(&mut self, socket: Socket, call: &Call) -> Result<Reply, String> {
        let (Kind::Connection(handle), "SO_ERROR") = (socket.kind, call.text(2)) else {
            return Err(format!("getsockopt {} is not understood", call.text(2)));
        };
        let want = call.text(3).trim_matches(|c| c == '[' || c == ']');
        let have = self.ended(handle).unwrap_or("0");
        if want != have && want != "..." {
            return Err(format!("SO_ERROR is {have}, not {want}"));
        }
        Ok(Reply::Value(0))
    }

    fn setsockopt(&mut self, now: Instant, fd: i64, call: &Call) -> Result<Reply, String> {
        let name = call.text(2).to_owned();
        if matches!(name.as_str(), "SO_REUSEADDR" | "SO_REUSEPORT") {
            return Ok(Reply::Value(0));
        }
        let Some(socket) = self.table.get_mut(&fd) else { return Ok(Reply::Error("EBADF")) };
        if name == "SO_LINGER" {
            let value: String = call.text(3).chars().filter(|c| !c.is_whitespace()).collect();
            let (_, seconds) =
                value.trim_end_matches('}').split_once("linger=").unwrap_or_default();
            let seconds = seconds.parse().map_err(|_| format!("no time in {value}"))?;
            socket.linger = value.contains("onoff=1").then(|| Duration::from_secs(seconds));
            return Ok(Reply::Value(0));
        }
        let value = call.number(3)?;
        if socket.kind != Kind::Fresh && matches!(name.as_str(), "SO_SNDBUF" | "SO_RCVBUF") {
            return Ok(Reply::Ignored(format!("{name} is set too late: a connection has begun")));
        }
        if !socket.set(&name, value) {
            return Ok(Reply::Ignored(format!("the option {name}")));
        }
        if let Kind::Connection(handle) = socket.kind {
            // A connection that is gone already has no settings.
            let _ = match name.as_str() {
                "TCP_MAXSEG" => self.endpoint.set_mss(handle, socket.config.mss),
                _ => self.endpoint.configure(now, handle, &socket.config),
            };
        }
        Ok(Reply::Value(0))
    }
}

impl Socket {
    /// Sets an option; `false` if this stack does not have it.
    fn set(&mut self, name: &str, value: i64) -> bool {
        let count = u8::try_from(value.clamp(0, 255)).unwrap_or(0);
        let amount = u64::try_from(value).unwrap_or(0);
        let size = usize::try_from(value).unwrap_or(0);
        let config = &mut self.config;
        match name {
            "TCP_NODELAY" => config.nagle = value == 0,
            "TCP_MAXSEG" => config.mss = u16::try_from(value).unwrap_or(u16::MAX),
            "TCP_QUICKACK" => {
                config.delayed_ack =
                    if value == 0 { ConnectionConfig::DEFAULT.delayed_ack } else { Duration::ZERO };
            }
            "TCP_USER_TIMEOUT" => {
                config.user_timeout = (value > 0).then(|| Duration::from_millis(amount));
            }
            "TCP_SYNCNT" => config.syn_retries = count,
            "TCP_LINGER2" => config.fin_wait_2 = Duration::from_secs(amount),
            "TCP_DELACK_MAX_US" => config.delayed_ack = Duration::from_micros(amount),
            "TCP_RTO_MIN_US" => config.rto_min = Duration::from_micros(amount),
            "TCP_RTO_MAX_MS" => config.rto_max = Duration::from_millis(amount),
            "SO_SNDBUF" => config.send_buffer = size,
            "SO_RCVBUF" => config.receive_buffer = size,
            "SO_KEEPALIVE" => self.keepalive_on = value != 0,
            "TCP_KEEPIDLE" => self.keepalive.idle = Duration::from_secs(amount),
            "TCP_KEEPINTVL" => self.keepalive.interval = Duration::from_secs(amount),
            "TCP_KEEPCNT" => self.keepalive.probes = count,
            _ => return false,
        }
        self.config.keepalive = self.keepalive_on.then_some(self.keepalive);
        true
    }
}

fn errno(error: ConnectionError) -> &'static str {
    match error {
        ConnectionError::Reset => "ECONNRESET",
        ConnectionError::Refused => "ECONNREFUSED",
        ConnectionError::TimedOut => "ETIMEDOUT",
        ConnectionError::Aborted => "ECONNABORTED",
        ConnectionError::Unreachable => "EHOSTUNREACH",
    }
}
