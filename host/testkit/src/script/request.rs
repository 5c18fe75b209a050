//! System calls in scripts, and their requests to the sockets.

use super::cursor::{Cursor, Wrong};
use super::expression::{self, Expression, Kind};
use crate::socket::{
    Answer, Control, Errno, F_GETFL, MSG_FASTOPEN, Output, Patience, Request, SO_LINGER,
    SO_MEMINFO, SOL_SOCKET, SOL_TCP, TCP_CC_INFO, TCP_CONGESTION, TCP_FASTOPEN_KEY, TCP_INFO,
};
use std::net::{Ipv6Addr, SocketAddrV6};

/// The port of the script's server, at either end.
pub(super) const SERVER_PORT: u16 = 8080;

/// A call, its required result, and its required output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    /// The request with the script's descriptors and without the octets to send.
    pub(super) request: Request,
    /// Number of octets to send.
    pub(super) sends: usize,
    /// `None`: any.
    pub(super) result: Option<i64>,
    pub(super) errno: Option<Errno>,
    /// Required number of an option or a request; `None`: any.
    number: Option<i32>,
    /// Required flags of `recvmsg`; `None`: any.
    flags: Option<i32>,
    control: Option<Vec<Control>>,
    /// Required events; `None`: any.
    events: Option<Vec<(u32, Option<u64>)>>,
}

/// The arguments of a call.
struct Arguments {
    /// Offset of the call.
    at: usize,
    list: Vec<Expression>,
}

impl Arguments {
    fn get(&self, index: usize) -> Result<&Expression, Wrong> {
        let missing = || format!("argument {} of this call is missing", index + 1);
        self.list.get(index).ok_or_else(|| Wrong { at: self.at, what: missing() })
    }

    fn int(&self, index: usize) -> Result<i32, Wrong> {
        self.get(index)?.int(0)
    }

    /// Returns a number of octets or of items.
    fn count(&self, index: usize) -> Result<usize, Wrong> {
        size(self.get(index)?)
    }
}

fn size(expression: &Expression) -> Result<usize, Wrong> {
    let number = expression.number()?.unwrap_or(0);
    usize::try_from(number).map_err(|_| expression.wrong("a size is wanted here"))
}

impl Call {
    /// `name(arguments) = result ERRNO (words)`
    pub(super) fn parse(cursor: &mut Cursor) -> Result<Call, Wrong> {
        let mut start = cursor.clone();
        let name = cursor.word();
        if name.is_empty() || !cursor.eat("(") {
            return Err(start.wrong("not understood as an event"));
        }
        let arguments = Arguments { at: start.at(), list: expression::list(cursor, ")")? };
        let mut call = Call {
            name: name.to_owned(),
            request: Request::EpollCreate,
            sends: 0,
            result: None,
            errno: None,
            number: None,
            flags: None,
            control: None,
            events: None,
        };
        call.compile(&arguments, &mut start)?;
        cursor.expect("=")?;
        let any = cursor.eat("?") || cursor.eat("...");
        // The next event may begin with a sign.
        call.result = if any { None } else { Some(expression::atom(cursor)?) };
        let mut place = cursor.clone();
        let mut ahead = cursor.clone();
        let error = ahead.word();
        if error.starts_with('E') {
            let known = Errno::ALL.iter().find(|(name, _)| *name == error);
            let (_, errno) = known.ok_or_else(|| place.wrong("not known as an error"))?;
            call.errno = Some(*errno);
            *cursor = ahead;
        }
        if cursor.eat("(") {
            cursor.until(")")?;
        }
        cursor.eat(";");
        Ok(call)
    }

    fn compile(&mut self, args: &Arguments, start: &mut Cursor) -> Result<(), Wrong> {
        let fd = || args.int(0);
        self.request = match self.name.as_str() {
            "socket" => Request::Socket { domain: 10, kind: args.int(1)?, protocol: args.int(2)? },
            "bind" => Request::Bind { fd: fd()?, address: address(SERVER_PORT) },
            "listen" => Request::Listen { fd: fd()?, backlog: args.int(1)? },
            "accept" => Request::Accept { fd: fd()?, flags: 0 },
            "accept4" => Request::Accept { fd: fd()?, flags: args.int(3)? },
            "connect" => Request::Connect { fd: fd()?, to: address(SERVER_PORT) },
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => self.receive(args)?,
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.send(args)?,
            "fcntl" => self.fcntl(args)?,
            "ioctl" => {
                self.number = optional(args.list.get(2))?;
                Request::Ioctl { fd: fd()?, request: args.int(1)? }
            }
            "close" => Request::Close { fd: fd()? },
            "shutdown" => Request::Shutdown { fd: fd()?, how: args.int(1)? },
            "getsockopt" => self.get_option(args)?,
            "setsockopt" => {
                let (level, name) = (args.int(1)?, args.int(2)?);
                let value = option_value(args.get(3)?, level, name)?;
                Request::SetOption { fd: fd()?, level, name, value }
            }
            "poll" => self.poll(args)?,
            "epoll_create" | "epoll_create1" => Request::EpollCreate,
            "epoll_ctl" => {
                let event = args.list.get(3).map(watch).transpose()?;
                let (events, data) = event.unwrap_or_default();
                let (operation, fd) = (args.int(1)?, args.int(2)?);
                let data = data.unwrap_or_default();
                Request::EpollControl { epoll: args.int(0)?, operation, fd, events, data }
            }
            "epoll_wait" => self.epoll_wait(args)?,
            _ => return Err(start.wrong("this call is not understood")),
        };
        Ok(())
    }

    fn receive(&mut self, args: &Arguments) -> Result<Request, Wrong> {
        if self.name == "recvmsg" {
            let message = args.get(1)?;
            self.flags = message.field("msg_flags").map(|flags| flags.int(0)).transpose()?;
            self.control = message.field("msg_control").map(control_data).transpose()?;
            let (fd, len, flags) = (args.int(0)?, message_len(message)?, args.int(2)?);
            return Ok(Request::ReceiveMessage { fd, len, flags });
        }
        let (len, flags) = match self.name.as_str() {
            "readv" => (vector(args.get(1)?)?, 0),
            "read" => (args.count(2)?, 0),
            _ => (args.count(2)?, args.int(3)?),
        };
        Ok(Request::Receive { fd: args.int(0)?, len, flags })
    }

    fn send(&mut self, args: &Arguments) -> Result<Request, Wrong> {
        let mut to = None;
        let (len, flags) = match self.name.as_str() {
            "writev" => (vector(args.get(1)?)?, 0),
            "sendmsg" => (message(args)?, args.int(2)?),
            "write" => (args.count(2)?, 0),
            _ => (args.count(2)?, args.int(3)?),
        };
        // Only these calls have a destination; a connection has its peer.
        if flags & MSG_FASTOPEN != 0 && matches!(self.name.as_str(), "sendto" | "sendmsg") {
            to = Some(address(SERVER_PORT));
        }
        self.sends = len;
        Ok(Request::Send { fd: args.int(0)?, data: Vec::new(), flags, to })
    }

    fn fcntl(&mut self, args: &Arguments) -> Result<Request, Wrong> {
        let command = args.int(1)?;
        let argument = if command == F_GETFL { 0 } else { args.int(2)? };
        Ok(Request::Fcntl { fd: args.int(0)?, command, argument })
    }

    fn get_option(&mut self, args: &Arguments) -> Result<Request, Wrong> {
        let (level, name) = (args.int(1)?, args.int(2)?);
        let opaque = match level {
            SOL_TCP => [TCP_INFO, TCP_CC_INFO, TCP_CONGESTION, TCP_FASTOPEN_KEY].contains(&name),
            SOL_SOCKET => [SO_LINGER, SO_MEMINFO].contains(&name),
            _ => false,
        };
        self.number = if opaque { None } else { optional(args.list.get(3))? };
        Ok(Request::GetOption { fd: args.int(0)?, level, name })
    }

    fn poll(&mut self, args: &Arguments) -> Result<Request, Wrong> {
        let mut wanted = Vec::new();
        let mut ready = Vec::new();
        for part in args.get(0)?.parts() {
            let field = |name: &str| part.field(name).map_or(Ok(0), |value| value.int(0));
            wanted.push((field("fd")?, field("events")?));
            ready.push((field("revents")?.cast_unsigned(), None));
        }
        self.events = Some(ready);
        Ok(Request::Poll { wanted, patience: Patience::Timeout(args.int(2)?) })
    }

    fn epoll_wait(&mut self, args: &Arguments) -> Result<Request, Wrong> {
        let wanted = args.get(1)?;
        if wanted.number().is_err() || !matches!(wanted.kind, Kind::Any) {
            let events: Result<Vec<_>, Wrong> = wanted.parts().iter().map(watch).collect();
            self.events = Some(events?);
        }
        let patience = Patience::Timeout(args.int(3)?);
        Ok(Request::EpollWait { epoll: args.int(0)?, most: args.count(2)?, patience })
    }

    /// Returns the difference between a result and the script, if there is one.
    pub(super) fn mismatch(&self, answer: &Answer) -> Option<String> {
        let (value, error) = match answer.result {
            Ok(value) => (value, None),
            Err(errno) => (-1, Some(errno)),
        };
        // The script has descriptors of its own.
        let same = |want: i64| want == value || (want >= 0 && value >= 0 && self.creates());
        let right =
            self.result.is_none_or(same) && self.errno.is_none_or(|want| Some(want) == error);
        if !right {
            let shown = |value: String, errno: Option<Errno>| {
                format!("{value} {}", errno.map_or("", Errno::name)).trim().to_owned()
            };
            let want = self.result.map_or("...".to_owned(), |value| value.to_string());
            let (have, want) = (shown(value.to_string(), error), shown(want, self.errno));
            return Some(format!("{} returns {have}, expected {want}", self.name));
        }
        match &answer.output {
            Output::Octets(octets) => {
                let have = octets.first_chunk().map_or(0, |o| i32::from_ne_bytes(*o));
                let want = self.number.filter(|want| *want != have)?;
                let name = |n: i32| match Errno::ALL.iter().find(|(_, errno)| errno.0 == n) {
                    Some((name, _)) => format!("{n} ({name})"),
                    None => n.to_string(),
                };
                Some(format!("{} gives {}, expected {}", self.name, name(have), name(want)))
            }
            Output::Message { flags, control, .. } => {
                let right = self.flags.is_none_or(|want| want == *flags)
                    && self.control.as_ref().is_none_or(|want| want == control);
                let want = (self.flags, &self.control);
                (!right).then(|| format!("recvmsg gives {flags:x} {control:?}, expected {want:?}"))
            }
            Output::Events(have) => {
                let want = self.events.as_ref()?;
                let same =
                    |((events, data), (want, wanted)): (&(u32, u64), &(u32, Option<u64>))| {
                        events == want && wanted.is_none_or(|wanted| wanted == *data)
                    };
                let right = have.iter().zip(want).all(same);
                (!right).then(|| format!("{} gives {have:x?}, expected {want:x?}", self.name))
            }
            _ => None,
        }
    }

    /// Returns whether its result is a new descriptor.
    pub(super) fn creates(&self) -> bool {
        matches!(
            self.request,
            Request::Socket { .. } | Request::Accept { .. } | Request::EpollCreate
        )
    }
}

fn address(port: u16) -> SocketAddrV6 {
    SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0)
}

fn optional(expression: Option<&Expression>) -> Result<Option<i32>, Wrong> {
    match expression {
        Some(expression) if expression.number()?.is_some() => Ok(Some(expression.int(0)?)),
        _ => Ok(None),
    }
}

/// Returns the number of octets of an I/O vector: `[{..., 10}, {..., 20}]`.
fn vector(expression: &Expression) -> Result<usize, Wrong> {
    let mut total: usize = 0;
    for part in expression.parts() {
        let Kind::Structure(fields) = &part.kind else {
            return Err(part.wrong("`{..., octets}` is wanted here"));
        };
        let last = fields.last().map(|(_, value)| value);
        let len = size(last.ok_or_else(|| part.wrong("`{..., octets}` is wanted here"))?)?;
        total = total.saturating_add(len);
    }
    Ok(total)
}

/// Returns the number of octets of a message without control data.
fn message(args: &Arguments) -> Result<usize, Wrong> {
    let message = args.get(1)?;
    if let Some(control) = message.field("msg_control").filter(|c| !c.parts().is_empty()) {
        return Err(control.wrong("control messages to be sent are not understood"));
    }
    message_len(message)
}

fn message_len(message: &Expression) -> Result<usize, Wrong> {
    let missing = || message.wrong("`msg_iov` is missing");
    vector(message.field("msg_iov").ok_or_else(missing)?)
}

/// `[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=5}]`, or with the fields of
/// `struct sock_extended_err` as data.
fn control_data(list: &Expression) -> Result<Vec<Control>, Wrong> {
    list.parts().iter().map(control).collect()
}

fn control(part: &Expression) -> Result<Control, Wrong> {
    let field = |of: &Expression, name: &str| {
        of.field(name).ok_or_else(|| of.wrong(&format!("`{name}` is missing")))?.int(0)
    };
    let missing = || part.wrong("`cmsg_data` is missing");
    let data = part.field("cmsg_data").ok_or_else(missing)?;
    let words = if let Kind::Structure(_) = data.kind {
        let octet = |name: &str| {
            let value = field(data, name)?;
            u8::try_from(value).map_err(|_| data.wrong(&format!("`{name}` is out of range")))
        };
        let kinds = [octet("ee_origin")?, octet("ee_type")?, octet("ee_code")?, 0];
        let word = |name: &str| field(data, name).map(i32::cast_unsigned);
        let (errno, info, last) = (word("ee_errno")?, word("ee_info")?, word("ee_data")?);
        vec![errno, u32::from_ne_bytes(kinds), info, last]
    } else {
        vec![data.int(0)?.cast_unsigned()]
    };
    Ok(Control::of(field(part, "cmsg_level")?, field(part, "cmsg_type")?, &words))
}

/// `{events=EPOLLIN, fd=4}`
fn watch(expression: &Expression) -> Result<(u32, Option<u64>), Wrong> {
    let events = expression.field("events").map_or(Ok(0), |events| events.int(0))?;
    let data = ["fd", "u32", "u64", "ptr"].iter().find_map(|name| expression.field(name));
    let data = data.map(Expression::number).transpose()?.flatten();
    Ok((events.cast_unsigned(), data.map(i64::cast_unsigned)))
}

/// Returns an option's value as octets.
fn option_value(expression: &Expression, level: i32, name: i32) -> Result<Vec<u8>, Wrong> {
    if (level, name) == (SOL_SOCKET, SO_LINGER) {
        let field = |name: &str| {
            let value = expression.field(name).or(expression.field(&format!("l_{name}")));
            value.ok_or_else(|| expression.wrong("`{onoff=…, linger=…}` is wanted here"))?.int(0)
        };
        return Ok([field("onoff")?.to_ne_bytes(), field("linger")?.to_ne_bytes()].concat());
    }
    match &expression.kind {
        Kind::Text(text) => Ok(text.clone().into_bytes()),
        _ => {
            let octets = expression.parts().iter().map(|part| part.int(0).map(i32::to_ne_bytes));
            Ok(octets.collect::<Result<Vec<_>, Wrong>>()?.concat())
        }
    }
}

/// Returns the descriptors in a request.
pub(super) fn descriptors(request: &mut Request) -> Vec<&mut i32> {
    match request {
        Request::Socket { .. } | Request::EpollCreate => Vec::new(),
        Request::Poll { wanted, .. } => wanted.iter_mut().map(|(fd, _)| fd).collect(),
        Request::EpollControl { epoll, fd, .. } => vec![epoll, fd],
        Request::EpollWait { epoll, .. } => vec![epoll],
        Request::Bind { fd, .. }
        | Request::Listen { fd, .. }
        | Request::Accept { fd, .. }
        | Request::Connect { fd, .. }
        | Request::Receive { fd, .. }
        | Request::ReceiveMessage { fd, .. }
        | Request::Send { fd, .. }
        | Request::Fcntl { fd, .. }
        | Request::Ioctl { fd, .. }
        | Request::Close { fd }
        | Request::Shutdown { fd, .. }
        | Request::GetOption { fd, .. }
        | Request::SetOption { fd, .. } => vec![fd],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Call {
        Call::parse(&mut Cursor::new(text)).expect(text)
    }

    #[test]
    fn calls_become_requests() {
        let receive = |len, flags| Request::Receive { fd: 4, len, flags };
        for (text, request) in [
            ("read(4, ..., 9) = 9", receive(9, 0)),
            ("recv(4, ..., 9, MSG_PEEK) = 9", receive(9, 2)),
            ("recvfrom(4, ..., 9, 0, ..., ...) = 9", receive(9, 0)),
            ("readv(4, [{..., 5}, {..., 6}], 2) = 11", receive(11, 0)),
            (
                "recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{...,7}]}, MSG_WAITALL) = 7",
                Request::ReceiveMessage { fd: 4, len: 7, flags: 0x100 },
            ),
            (
                "fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0",
                Request::Fcntl { fd: 4, command: 4, argument: 0x802 },
            ),
            (
                "setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=2}, 8) = 0",
                Request::SetOption {
                    fd: 4,
                    level: 1,
                    name: 13,
                    value: [1_i32.to_ne_bytes(), 2_i32.to_ne_bytes()].concat(),
                },
            ),
            (
                "poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 100) = 1",
                Request::Poll { wanted: vec![(4, 1)], patience: Patience::Timeout(100) },
            ),
            (
                "epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, fd=4}) = 0",
                Request::EpollControl {
                    epoll: 5,
                    operation: 1,
                    fd: 4,
                    events: 1 << 31 | 1,
                    data: 4,
                },
            ),
            ("ioctl(4, SIOCINQ, [10]) = 0", Request::Ioctl { fd: 4, request: 0x541B }),
        ] {
            assert_eq!(parse(text).request, request, "{text}");
        }
        let sends = "sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 0}, {..., 6}]}, 0) = 6";
        assert_eq!(parse(sends).sends, 6);
        assert_eq!(parse("writev(4, [{..., 5}, {..., 6}], 2) = 11").sends, 11);
    }

    #[test]
    fn answers_are_compared() {
        let octets = |n: i32| Output::Octets(n.to_ne_bytes().to_vec());
        let events = |events| Output::Events(vec![events]);
        let poll = "poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0) = 1";
        let wait = "epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0) = 1";
        for (text, result, output, expected) in [
            ("close(3) = -1 EBADF (Bad)", Ok(0), Output::None, "returns 0, expected -1 EBADF"),
            ("close(3) = 0", Err(Errno::EBADF), Output::None, "returns -1 EBADF, expected 0"),
            ("ioctl(4, SIOCINQ, [10]) = 0", Ok(0), octets(9), "gives 9 (EBADF), expected 10"),
            ("getsockopt(4, SOL_SOCKET, SO_ERROR, [ETIMEDOUT], [4]) = 0", Ok(0), octets(0), "110"),
            (poll, Ok(1), events((4, 0)), "expected"),
            (wait, Ok(1), events((1, 5)), "expected"),
        ] {
            let actual = parse(text).mismatch(&Answer { result, output }).expect(text);
            assert!(actual.contains(expected), "{actual}");
        }
        for (text, output) in [(poll, events((1, 0))), (wait, events((1, 4)))] {
            assert_eq!(parse(text).mismatch(&Answer { result: Ok(1), output }), None);
        }
        let any = parse("fcntl(4, F_GETFL) = ... (flags O_RDWR)");
        assert_eq!(any.mismatch(&Answer::value(2)), None);
    }

    #[test]
    fn errors_of_a_call_have_their_position() {
        for (text, at) in [
            ("read(4) = 0", 0),
            ("ioctl(4, ODD, [0]) = 0", 9),
            ("close(4) = -1 ENOSUCH (x)", 14),
            ("recvmsg(4, {msg_iov(1)=[{...,7}], msg_control=[{a=1}]}, 0) = 7", 47),
            ("sendmsg(4, {msg_iov(1)=[{...,7}], msg_control=[{a=1}]}, 0) = 7", 46),
            ("splice(4, NULL, 6, NULL, 1, 0) = 0", 0),
        ] {
            let wrong = Call::parse(&mut Cursor::new(text)).expect_err(text);
            assert_eq!(wrong.at, at, "{text}: {}", wrong.what);
        }
    }
}
