//! System calls on descriptors.

use super::descriptors::{Epoll, Kind, Socket};
use super::stack::Flow;
use super::{
    Answer, Control, DONE, Errno, F_GETFL, F_SETFL, FIONREAD, IPV6_RECVERR, MSG_DONTWAIT,
    MSG_ERRQUEUE, MSG_OOB, MSG_PEEK, MSG_WAITALL, O_NONBLOCK, O_RDWR, Outcome, Output, Request,
    SHUT_RD, SHUT_RDWR, SHUT_WR, SIOCOUTQ, SO_EE_CODE_ZEROCOPY_COPIED, SO_EE_ORIGIN_ZEROCOPY,
    SOCK_NONBLOCK, SOCK_STREAM, SOL_IPV6, SOL_TCP, Stack, TCP_INQ, done,
};
use kinglet_tcp::{
    ConnectError, ConnectionConfig, ConnectionError, Handle, ListenConfig, ListenError, RecvError,
    State,
};
use std::collections::VecDeque;
use std::net::{Ipv6Addr, SocketAddrV6};

impl Stack {
    /// Executes a call. `None`: it has to wait, and is to be tried again with the rest of `request`
    /// when something has happened.
    pub fn call(&mut self, request: &mut Request) -> Option<Answer> {
        let answer = self.dispatch(request).unwrap_or_else(|errno| Some(Answer::error(errno)));
        self.drain();
        answer
    }

    fn dispatch(&mut self, request: &mut Request) -> Outcome {
        match request {
            Request::Socket { kind, .. } => self.socket(*kind),
            Request::Bind { fd, address } => self.bind(*fd, *address),
            Request::Listen { fd, backlog } => self.listen(*fd, *backlog),
            Request::Accept { fd, flags } => self.accept(*fd, *flags),
            Request::Connect { fd, to } => self.connect(*fd, *to),
            Request::Receive { fd, len, flags } => self.receive(*fd, *len, *flags),
            Request::ReceiveMessage { fd, len, flags } => self.receive_message(*fd, *len, *flags),
            Request::Send { fd, data, flags, to } => self.send(*fd, data, *flags, *to),
            Request::Fcntl { fd, command, argument } => self.fcntl(*fd, *command, *argument),
            Request::Ioctl { fd, request } => self.ioctl(*fd, *request),
            Request::Close { fd } => self.close(*fd),
            Request::Shutdown { fd, how } => self.shutdown(*fd, *how),
            Request::GetOption { fd, level, name } => self.get_option(*fd, *level, *name),
            Request::SetOption { fd, level, name, value } => {
                self.set_option(*fd, *level, *name, value)
            }
            Request::Poll { wanted, patience } => self.poll(wanted, patience),
            Request::EpollCreate => Ok(Some(self.new_descriptor(Kind::Epoll(Epoll::default())))),
            Request::EpollControl { epoll, operation, fd, events, data } => {
                self.epoll_control(*epoll, *operation, *fd, *events, *data)
            }
            Request::EpollWait { epoll, most, patience } => {
                self.epoll_wait(*epoll, *most, patience)
            }
        }
    }

    fn new_descriptor(&mut self, kind: Kind) -> Answer {
        let socket = Socket::new(kind, &self.settings);
        self.table.add(socket)
    }

    fn socket(&mut self, kind: i32) -> Outcome {
        if kind & 0xf != SOCK_STREAM {
            return Err(Errno::EAFNOSUPPORT);
        }
        let answer = self.new_descriptor(Kind::Fresh);
        self.set_nonblocking(&answer, kind & SOCK_NONBLOCK != 0);
        Ok(Some(answer))
    }

    fn set_nonblocking(&mut self, created: &Answer, nonblocking: bool) {
        let fd = created.result.ok().and_then(|fd| i32::try_from(fd).ok());
        if let Some(socket) = fd.and_then(|fd| self.table.sockets.get_mut(&fd)) {
            socket.nonblocking = nonblocking;
        }
    }

    fn bind(&mut self, fd: i32, address: SocketAddrV6) -> Outcome {
        let socket = self.table.entry(fd)?;
        if !matches!(socket.kind, Kind::Fresh) || socket.local.is_some() {
            return Err(Errno::EINVAL);
        }
        socket.local = Some(address);
        DONE
    }

    fn listen(&mut self, fd: i32, backlog: i32) -> Outcome {
        let socket = self.table.entry(fd)?;
        let port = socket.local.map_or(0, |address| address.port());
        // With a backlog of n Linux accepts n + 1; the endpoint counts exactly.
        let backlog = u8::try_from(backlog.clamp(1, 255)).unwrap_or(1);
        socket.backlog = backlog;
        let connection = socket.ring_config();
        socket.announced = connection.mss;
        let config = ListenConfig { backlog, fast_open: socket.fast_open, connection };
        match socket.kind {
            Kind::Fresh => {}
            Kind::Listening(_) => return DONE,
            _ => return Err(Errno::EINVAL),
        }
        match self.endpoint.listen(port, config) {
            Ok(()) => {
                self.table.entry(fd)?.kind = Kind::Listening(VecDeque::new());
                DONE
            }
            Err(ListenError::InUse | ListenError::NoSlot | ListenError::BadPort) => {
                Err(Errno::EADDRINUSE)
            }
        }
    }

    /// Listens again with other settings. Handshakes in progress are lost.
    pub(super) fn listen_again(&mut self, fd: i32) -> Outcome {
        let socket = self.table.entry(fd)?;
        let port = socket.local.map_or(0, |address| address.port());
        let backlog = i32::from(socket.backlog);
        let Kind::Listening(waiting) = &mut socket.kind else { return Err(Errno::EINVAL) };
        waiting.extend(std::iter::from_fn(|| self.endpoint.accept(port)));
        let waiting = std::mem::take(waiting);
        socket.kind = Kind::Fresh;
        self.endpoint.unlisten(port);
        let outcome = self.listen(fd, backlog);
        if let Kind::Listening(queue) = &mut self.table.entry(fd)?.kind {
            *queue = waiting;
        }
        outcome
    }

    /// Returns whether there is a connection to accept; it then waits in the socket.
    pub(super) fn has_connection(&mut self, fd: i32) -> bool {
        let Some(socket) = self.table.sockets.get_mut(&fd) else { return false };
        let port = socket.local.map_or(0, |address| address.port());
        let Kind::Listening(waiting) = &mut socket.kind else { return false };
        if waiting.is_empty() {
            waiting.extend(self.endpoint.accept(port));
        }
        !waiting.is_empty()
    }

    fn accept(&mut self, fd: i32, flags: i32) -> Outcome {
        let available = self.has_connection(fd);
        let socket = self.table.entry(fd)?;
        let Kind::Listening(waiting) = &mut socket.kind else { return Err(Errno::EINVAL) };
        let Some(handle) = waiting.pop_front().filter(|_| available) else {
            return if socket.nonblocking { Err(Errno::EAGAIN) } else { Ok(None) };
        };
        let heir = Socket {
            nonblocking: flags & SOCK_NONBLOCK != 0,
            ..socket.heir(Kind::Connection(handle), &self.settings)
        };
        let mut answer = self.table.add(heir);
        let fd = answer.result.ok().and_then(|fd| i32::try_from(fd).ok()).ok_or(Errno::ENOMEM)?;
        self.choose_congestion(fd);
        self.current = Some(handle);
        if let Some((flow, _, port)) = self.endpoint.name(handle) {
            answer.output = Output::Address(SocketAddrV6::new(flow.remote, port, 0, 0));
        }
        Ok(Some(answer))
    }

    fn connect(&mut self, fd: i32, to: SocketAddrV6) -> Outcome {
        let socket = self.table.entry(fd)?;
        let handle = match socket.kind {
            Kind::Fresh => {
                let nonblocking = socket.nonblocking;
                if socket.config.fast_open && self.has_cookie(fd, to)? {
                    self.table.entry(fd)?.deferred = Some(to);
                    return DONE;
                }
                self.begin(fd, to)?;
                return if nonblocking { Err(Errno::EINPROGRESS) } else { Ok(None) };
            }
            Kind::Connection(handle) => handle,
            _ => return Err(Errno::EISCONN),
        };
        if let Some(errno) = self.take_error(fd, handle) {
            return Err(errno);
        }
        let socket = self.table.entry(fd)?;
        match self.endpoint.state(handle) {
            Some(State::SynSent | State::SynReceived) if socket.nonblocking => Err(Errno::EALREADY),
            Some(State::SynSent | State::SynReceived) => Ok(None),
            _ if socket.connecting => {
                socket.connecting = false;
                DONE
            }
            _ => Err(Errno::EISCONN),
        }
    }

    /// Returns the addresses and the local port with which a fresh socket connects.
    fn flow_to(&mut self, fd: i32, to: SocketAddrV6) -> Result<(Flow, u16), Errno> {
        let default = self.settings.local;
        let local = self.table.entry(fd)?.local.unwrap_or(SocketAddrV6::new(default, 0, 0, 0));
        let here = if local.ip().is_unspecified() { default } else { *local.ip() };
        Ok((Flow { local: here, remote: *to.ip() }, local.port()))
    }

    /// Returns whether data may be sent to this server in a SYN.
    pub(super) fn has_cookie(&mut self, fd: i32, to: SocketAddrV6) -> Result<bool, Errno> {
        let (flow, _) = self.flow_to(fd, to)?;
        Ok(self.endpoint.has_fast_open_cookie(self.now, &flow, to.port()))
    }

    /// Opens a connection for a fresh socket.
    pub(super) fn begin(&mut self, fd: i32, to: SocketAddrV6) -> Result<Handle, Errno> {
        let (flow, port) = self.flow_to(fd, to)?;
        let config = self.table.entry(fd)?.ring_config();
        let handle = self.open(flow, port, to.port(), config)?;
        let socket = self.table.entry(fd)?;
        socket.kind = Kind::Connection(handle);
        socket.announced = config.mss;
        socket.connecting = true;
        self.choose_congestion(fd);
        self.current = Some(handle);
        Ok(handle)
    }

    fn open(
        &mut self,
        flow: Flow,
        local: u16,
        remote: u16,
        config: ConnectionConfig,
    ) -> Result<Handle, Errno> {
        let opened = if local == 0 {
            self.endpoint.connect(self.now, flow, remote, config)
        } else {
            self.endpoint.connect_from(self.now, flow, local, remote, config)
        };
        opened.map_err(|error| match error {
            ConnectError::NoPort | ConnectError::NoSlot => Errno::EADDRNOTAVAIL,
            ConnectError::BadAddress => Errno::EINVAL,
        })
    }

    /// Returns the error of an ended connection, unless it has been reported.
    pub(super) fn take_error(&mut self, fd: i32, handle: Handle) -> Option<Errno> {
        let error = self.endpoint.info(handle)?.error?;
        let socket = self.table.sockets.get_mut(&fd)?;
        (!std::mem::replace(&mut socket.reported, true)).then(|| errno(error))
    }

    fn receive(&mut self, fd: i32, len: usize, flags: i32) -> Outcome {
        let socket = self.table.entry(fd)?;
        let waits = !socket.nonblocking && flags & MSG_DONTWAIT == 0;
        let deaf = socket.deaf;
        let Kind::Connection(handle) = socket.kind else { return Err(Errno::ENOTCONN) };
        if flags & MSG_OOB != 0 {
            return Err(Errno::EINVAL);
        }
        if flags & MSG_ERRQUEUE != 0 {
            return self.receive_error(fd);
        }
        let all = flags & MSG_WAITALL != 0 && waits && flags & MSG_PEEK == 0;
        if all && self.endpoint.can_recv(handle) < len && !self.is_at_end(handle) {
            return Ok(None);
        }
        let mut out = vec![0; len];
        let got = if flags & MSG_PEEK != 0 {
            self.endpoint.peek(handle, &mut out)
        } else {
            self.endpoint.recv(handle, &mut out)
        };
        match got {
            Ok(count) => {
                out.truncate(count);
                let result = Ok(i64::try_from(count).unwrap_or(i64::MAX));
                Ok(Some(Answer { result, output: Output::Octets(out) }))
            }
            Err(RecvError::WouldBlock) if deaf => done(0),
            Err(RecvError::WouldBlock) if waits => Ok(None),
            Err(RecvError::WouldBlock) => Err(Errno::EAGAIN),
            Err(RecvError::InvalidHandle) => Err(Errno::ENOTCONN),
            Err(RecvError::Ended(_)) => self.take_error(fd, handle).map_or(done(0), Err),
        }
    }

    /// As `receive`, with control data (`recvmsg`).
    fn receive_message(&mut self, fd: i32, len: usize, flags: i32) -> Outcome {
        let Some(answer) = self.receive(fd, len, flags)? else { return Ok(None) };
        let Output::Octets(octets) = answer.output else { return Ok(Some(answer)) };
        let socket = self.table.entry(fd)?;
        let mut control = Vec::new();
        if let (true, Kind::Connection(handle)) = (socket.inquires, &socket.kind) {
            let left = u32::try_from(self.endpoint.can_recv(*handle)).unwrap_or(u32::MAX);
            control.push(Control::of(SOL_TCP, TCP_INQ, &[left]));
        }
        let output = Output::Message { octets, flags: 0, control };
        Ok(Some(Answer { output, ..answer }))
    }

    /// Handles MSG_ERRQUEUE: returns Linux's `struct sock_extended_err` with the numbers of the
    /// first and the last completed write. Here the octets have been copied.
    fn receive_error(&mut self, fd: i32) -> Outcome {
        let news = self.table.entry(fd)?.lent.take_news();
        let (first, last) = news.ok_or(Errno::EAGAIN)?;
        let octet = |n: i32| u8::try_from(n).unwrap_or(0);
        let (origin, code) = (octet(SO_EE_ORIGIN_ZEROCOPY), octet(SO_EE_CODE_ZEROCOPY_COPIED));
        let kinds = u32::from_ne_bytes([origin, 0, code, 0]);
        let control = Control::of(SOL_IPV6, IPV6_RECVERR, &[0, kinds, first, last]);
        let (octets, control) = (Vec::new(), vec![control]);
        let output = Output::Message { octets, flags: MSG_ERRQUEUE, control };
        Ok(Some(Answer { output, ..Answer::DONE }))
    }

    /// Returns whether nothing more will arrive: the peer has closed, or the connection has ended.
    pub(super) fn is_at_end(&self, handle: Handle) -> bool {
        self.endpoint.can_recv(handle) == 0
            && self.endpoint.peek(handle, &mut [0]) != Err(RecvError::WouldBlock)
    }

    fn fcntl(&mut self, fd: i32, command: i32, argument: i32) -> Outcome {
        let socket = self.table.entry(fd)?;
        match command {
            F_GETFL => {
                let flags = O_RDWR | if socket.nonblocking { O_NONBLOCK } else { 0 };
                Ok(Some(Answer::value(i64::from(flags))))
            }
            F_SETFL => {
                socket.nonblocking = argument & O_NONBLOCK != 0;
                DONE
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn ioctl(&mut self, fd: i32, request: i32) -> Outcome {
        let handle = match self.table.entry(fd)?.kind {
            Kind::Connection(handle) => handle,
            _ => return Err(Errno::EINVAL),
        };
        let count = match request {
            FIONREAD => self.endpoint.can_recv(handle),
            SIOCOUTQ => {
                let held = self.table.entry(fd)?.held.len();
                held + self.endpoint.info(handle).map_or(0, |info| info.bytes_queued as usize)
            }
            _ => return Err(Errno::EINVAL),
        };
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        Ok(Some(Answer { output: Output::Octets(count.to_ne_bytes().to_vec()), ..Answer::DONE }))
    }

    fn shutdown(&mut self, fd: i32, how: i32) -> Outcome {
        let socket = self.table.entry(fd)?;
        let Kind::Connection(handle) = socket.kind else { return Err(Errno::ENOTCONN) };
        if !matches!(how, SHUT_RD | SHUT_WR | SHUT_RDWR) {
            return Err(Errno::EINVAL);
        }
        socket.deaf |= how != SHUT_WR;
        if self.endpoint.state(handle).is_none_or(|state| state == State::Closed) {
            return Err(Errno::ENOTCONN);
        }
        if how != SHUT_RD {
            let mut held = std::mem::take(&mut socket.held);
            self.flush(handle, &mut held);
            self.endpoint.close(handle).map_err(|_| Errno::ENOTCONN)?;
        }
        DONE
    }

    fn close(&mut self, fd: i32) -> Outcome {
        let mut socket = self.table.sockets.remove(&fd).ok_or(Errno::EBADF)?;
        match socket.kind {
            Kind::Fresh | Kind::Epoll(_) => {}
            Kind::Listening(waiting) => {
                for handle in waiting {
                    // If the connection does not exist any more, there is nothing to abort.
                    let _ = self.endpoint.abort(handle);
                }
                self.endpoint.unlisten(socket.local.map_or(0, |address| address.port()));
            }
            Kind::Connection(handle) => {
                self.flush(handle, &mut socket.held);
                // If the connection does not exist any more, there is nothing to close.
                let _ = self.endpoint.release(self.now, handle, socket.linger);
            }
        }
        DONE
    }

    /// Returns the local address of a bound socket.
    pub fn local_address(&self, fd: i32) -> Option<SocketAddrV6> {
        let socket = self.table.sockets.get(&fd)?;
        if let Kind::Connection(handle) = socket.kind {
            let (flow, port, _) = self.endpoint.name(handle)?;
            return Some(SocketAddrV6::new(flow.local, port, 0, 0));
        }
        socket.local.or(Some(SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0)))
    }
}

pub(super) fn errno(error: ConnectionError) -> Errno {
    match error {
        ConnectionError::Reset => Errno::ECONNRESET,
        ConnectionError::Refused => Errno::ECONNREFUSED,
        ConnectionError::TimedOut => Errno::ETIMEDOUT,
        ConnectionError::Aborted => Errno::ECONNABORTED,
        ConnectionError::Unreachable => Errno::EHOSTUNREACH,
    }
}
