//! packetdrill's side of the interface, with the library loaded from its file: its calls, its
//! clock, its second thread.

use kinglet_testkit::script::Interface;
use kinglet_testkit::socket::{
    Answer, Control, Emitted, Errno, Output, Patience, Request, SO_MEMINFO, SOCK_NONBLOCK,
    SOL_SOCKET, SOL_TCP, TCP_CC_INFO, TCP_INFO, TCP_INFO_LEN,
};
use kinglet_time::Instant;
use libc::{
    AF_INET6, c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_void, epoll_event, iovec,
    msghdr, nfds_t, pollfd, size_t, sockaddr, sockaddr_in6, socklen_t, ssize_t, timeval,
};
use std::ffi::CString;
use std::net::SocketAddrV6;
use std::sync::mpsc::{Receiver, Sender, channel};

type Data = *mut c_void;

/// packetdrill's structure, transcribed from its header, not shared with the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Table {
    pub(crate) userdata: Data,
    pub(crate) free: unsafe extern "C" fn(Data),
    pub(crate) socket: unsafe extern "C" fn(Data, c_int, c_int, c_int) -> c_int,
    pub(crate) bind: unsafe extern "C" fn(Data, c_int, *const sockaddr, socklen_t) -> c_int,
    pub(crate) listen: unsafe extern "C" fn(Data, c_int, c_int) -> c_int,
    pub(crate) accept: unsafe extern "C" fn(Data, c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    pub(crate) connect: unsafe extern "C" fn(Data, c_int, *const sockaddr, socklen_t) -> c_int,
    pub(crate) read: unsafe extern "C" fn(Data, c_int, *mut c_void, size_t) -> ssize_t,
    pub(crate) readv: unsafe extern "C" fn(Data, c_int, *const iovec, c_int) -> ssize_t,
    pub(crate) recv: unsafe extern "C" fn(Data, c_int, *mut c_void, size_t, c_int) -> ssize_t,
    pub(crate) recvfrom: unsafe extern "C" fn(
        Data,
        c_int,
        *mut c_void,
        size_t,
        c_int,
        *mut sockaddr,
        *mut socklen_t,
    ) -> ssize_t,
    pub(crate) recvmsg: unsafe extern "C" fn(Data, c_int, *mut msghdr, c_int) -> ssize_t,
    pub(crate) write: unsafe extern "C" fn(Data, c_int, *const c_void, size_t) -> ssize_t,
    pub(crate) writev: unsafe extern "C" fn(Data, c_int, *const iovec, c_int) -> ssize_t,
    pub(crate) send: unsafe extern "C" fn(Data, c_int, *const c_void, size_t, c_int) -> ssize_t,
    pub(crate) sendto: unsafe extern "C" fn(
        Data,
        c_int,
        *const c_void,
        size_t,
        c_int,
        *const sockaddr,
        socklen_t,
    ) -> ssize_t,
    pub(crate) sendmsg: unsafe extern "C" fn(Data, c_int, *const msghdr, c_int) -> ssize_t,
    pub(crate) fcntl: unsafe extern "C" fn(Data, c_int, c_int, ...) -> c_int,
    pub(crate) ioctl: unsafe extern "C" fn(Data, c_int, c_ulong, ...) -> c_int,
    pub(crate) close: unsafe extern "C" fn(Data, c_int) -> c_int,
    pub(crate) shutdown: unsafe extern "C" fn(Data, c_int, c_int) -> c_int,
    pub(crate) getsockopt:
        unsafe extern "C" fn(Data, c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int,
    pub(crate) setsockopt:
        unsafe extern "C" fn(Data, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int,
    pub(crate) poll: unsafe extern "C" fn(Data, *mut pollfd, nfds_t, c_int) -> c_int,
    pub(crate) netdev_send: unsafe extern "C" fn(Data, *const c_void, size_t) -> c_int,
    pub(crate) netdev_receive:
        unsafe extern "C" fn(Data, *mut c_void, *mut size_t, *mut c_longlong) -> c_int,
    pub(crate) usleep: unsafe extern "C" fn(Data, c_uint) -> c_int,
    pub(crate) gettimeofday: unsafe extern "C" fn(Data, *mut timeval, *mut c_void) -> c_int,
    pub(crate) epoll_create: unsafe extern "C" fn(Data, c_int) -> c_int,
    pub(crate) epoll_ctl:
        unsafe extern "C" fn(Data, c_int, c_int, c_int, *mut epoll_event) -> c_int,
    pub(crate) epoll_wait:
        unsafe extern "C" fn(Data, c_int, *mut epoll_event, c_int, c_int) -> c_int,
    pub(crate) pipe: unsafe extern "C" fn(Data, *mut c_int) -> c_int,
    pub(crate) splice: unsafe extern "C" fn(
        Data,
        c_int,
        *mut c_longlong,
        c_int,
        *mut c_longlong,
        size_t,
        c_uint,
    ) -> ssize_t,
}

// SAFETY: the library supports calls from two threads.
unsafe impl Send for Table {}

type Init = unsafe extern "C" fn(*const c_char, *mut Table);
pub(crate) type GetSockOpt =
    unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int;

/// Time before an event for which packetdrill does not sleep but polls the clock.
const SPIN: u64 = 20;

/// The library, while it plays one script.
pub(crate) struct Player {
    pub(crate) table: Table,
    calls: Sender<Request>,
    answers: Receiver<(Instant, Answer)>,
    /// The second thread's number, to check whether it sleeps.
    thread: c_long,
    busy: bool,
    finished: Option<(Instant, Answer)>,
    /// Descriptors that are open.
    open: Vec<i32>,
    /// The last delivered packet with an ACK.
    last: Option<Vec<u8>>,
}

/// The address of a symbol of the library.
pub(crate) fn symbol(name: &str) -> *mut c_void {
    let exe = std::env::current_exe().expect("a path");
    let file = exe.with_file_name("libkinglet_packetdrill.so");
    let path = CString::new(file.to_str().expect("text")).expect("no zero");
    let name = CString::new(name).expect("no zero");
    // SAFETY: both are C strings.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!library.is_null(), "{} cannot be loaded", file.display());
        let found = libc::dlsym(library, name.as_ptr());
        assert!(!found.is_null(), "the library lacks a symbol");
        found
    }
}

impl Player {
    pub(crate) fn new(flags: &str) -> Player {
        let flags = CString::new(flags).expect("no zero");
        // SAFETY: the symbol is packetdrill's entry point, and fills the whole table.
        let table = unsafe {
            let init: Init = std::mem::transmute(symbol("packetdrill_interface_init"));
            let mut table = std::mem::MaybeUninit::<Table>::zeroed();
            init(flags.as_ptr(), table.as_mut_ptr());
            table.assume_init()
        };
        let (calls, requests) = channel::<Request>();
        let (replies, answers) = channel();
        let (names, name) = channel();
        std::thread::spawn(move || {
            // The closure captures the whole table, not its fields.
            let table = table;
            // SAFETY: the call takes nothing.
            names.send(unsafe { libc::syscall(libc::SYS_gettid) }).expect("somebody listens");
            for request in requests {
                let answer = make(&table, &request);
                if replies.send((time(&table), answer)).is_err() {
                    return;
                }
            }
        });
        let thread = name.recv().expect("the thread starts");
        Player {
            table,
            calls,
            answers,
            thread,
            busy: false,
            finished: None,
            open: Vec::new(),
            last: None,
        }
    }

    /// Waits until the second thread sleeps or is done, as packetdrill does after it has passed a
    /// call to it.
    fn await_thread(&mut self) {
        while self.busy {
            if let Ok(answer) = self.answers.try_recv() {
                self.finished = Some(answer);
                self.busy = false;
            } else if self.sleeps() {
                return;
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// Gives a blocking call a second of real time, without reading the clock, as packetdrill does
    /// before a script ends or makes its next call.
    pub(crate) fn await_answer(&mut self) -> Option<(Instant, Answer)> {
        let answer = self.answers.recv_timeout(std::time::Duration::from_secs(1)).ok()?;
        self.busy = false;
        Some(answer)
    }

    fn note(&mut self, request: &Request, answer: &Answer) {
        let fd = answer.result.ok().and_then(|fd| i32::try_from(fd).ok());
        match request {
            Request::Socket { .. } | Request::Accept { .. } => self.open.extend(fd),
            Request::Close { fd: closed } if fd.is_some() => self.open.retain(|fd| fd != closed),
            _ => {}
        }
    }

    fn sleeps(&self) -> bool {
        let path = format!("/proc/self/task/{}/stat", self.thread);
        let stat = std::fs::read_to_string(path).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
    }
}

impl Drop for Player {
    /// Ends as packetdrill does: gives a blocking call a second of real time, closes all
    /// descriptors, and resets the connection.
    fn drop(&mut self) {
        if self.busy && self.await_answer().is_none() {
            // A script that failed may leave a blocking call behind; its instance then stays.
            return;
        }
        for fd in std::mem::take(&mut self.open) {
            make(&self.table, &Request::Close { fd });
            if let Some(reset) = self.last.as_deref().map(reset_after) {
                let octets = reset.as_ptr().cast();
                // SAFETY: the library's table and a packet.
                unsafe { (self.table.netdev_send)(self.table.userdata, octets, reset.len()) };
            }
        }
        // SAFETY: no thread calls the table after this.
        unsafe { (self.table.free)(self.table.userdata) };
    }
}

/// The reset with which packetdrill ends a connection: its sequence number is the end of the last
/// segment that it has delivered, and it has the same acknowledgement number.
fn reset_after(packet: &[u8]) -> Vec<u8> {
    let mut reset = packet[..60].to_vec();
    let word = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().expect("four octets"));
    let payload = packet.len() - 40 - usize::from(packet[52] >> 4) * 4;
    let marks = u32::from(packet[53] & 1) + u32::from(packet[53] >> 1 & 1);
    let seq = word(44).wrapping_add(u32::try_from(payload).expect("a packet")).wrapping_add(marks);
    reset[4..6].copy_from_slice(&20_u16.to_be_bytes());
    reset[44..48].copy_from_slice(&seq.to_be_bytes());
    // A header of five words, RST and ACK, no checksum yet, no urgent pointer.
    reset[52..54].copy_from_slice(&[5 << 4, 0x14]);
    reset[56..60].fill(0);
    // RFC 9293 §3.1: over addresses, protocol, length and segment.
    let words = reset[8..].chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let mut sum = words.sum::<u32>() + 6 + 20;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    let checksum = !u16::try_from(sum).expect("folded");
    reset[56..58].copy_from_slice(&checksum.to_be_bytes());
    reset
}

/// `gettimeofday` of the library.
pub(crate) fn time(table: &Table) -> Instant {
    let mut out = timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: the library's table and a structure to fill.
    unsafe { (table.gettimeofday)(table.userdata, &raw mut out, std::ptr::null_mut()) };
    let micros = out.tv_sec * 1_000_000 + out.tv_usec;
    Instant::from_micros(micros.cast_unsigned())
}

impl Interface for Player {
    fn now(&mut self) -> Instant {
        time(&self.table)
    }

    fn sleep(&mut self, until: Instant) {
        loop {
            let left = until.checked_since(time(&self.table)).map_or(0, |left| left.as_micros());
            self.await_thread();
            if left == 0 {
                return;
            }
            if left > SPIN {
                let micros = c_uint::try_from(left - SPIN).unwrap_or(c_uint::MAX);
                // SAFETY: the library's table.
                unsafe { (self.table.usleep)(self.table.userdata, micros) };
                self.await_thread();
            }
        }
    }

    fn deliver(&mut self, packet: &[u8]) {
        let octets = packet.as_ptr().cast();
        // SAFETY: the library's table and a packet.
        let sent = unsafe { (self.table.netdev_send)(self.table.userdata, octets, packet.len()) };
        assert_eq!(sent, 0, "netdev_send never fails");
        // Protocol 6 and the flag ACK.
        if packet[6] == 6 && packet[53] & 0x10 != 0 {
            self.last = Some(packet.to_vec());
        }
        self.await_thread();
    }

    fn receive(&mut self, _: Instant) -> Option<Emitted> {
        let (mut octets, mut micros) = (vec![0_u8; 70_000], 0);
        let mut len = octets.len();
        let out = octets.as_mut_ptr().cast();
        // SAFETY: the library's table, and room for `len` octets.
        let received = unsafe {
            (self.table.netdev_receive)(self.table.userdata, out, &raw mut len, &raw mut micros)
        };
        assert_eq!(received, 0, "netdev_receive never fails");
        octets.truncate(len);
        self.await_thread();
        Some(Emitted { at: Instant::from_micros(micros.cast_unsigned()), octets })
    }

    fn call(&mut self, request: Request) -> Option<Answer> {
        let answer = make(&self.table, &request);
        self.await_thread();
        self.note(&request, &answer);
        Some(answer)
    }

    fn begin(&mut self, request: Request) {
        self.calls.send(request).expect("the thread lives");
        self.busy = true;
        self.await_thread();
    }

    fn finished(&mut self) -> Option<(Instant, Answer)> {
        self.await_thread();
        self.finished.take()
    }

    fn set(&mut self, _: &str, _: &str) -> bool {
        false
    }

    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Makes a call of the table from a request.
fn make(table: &Table, request: &Request) -> Answer {
    // SAFETY: the library's table, and arguments as of the system calls.
    unsafe { make_unchecked(table, request) }
}

/// # Safety
/// `table` is the library's.
#[allow(clippy::too_many_lines, reason = "one arm for each call")]
unsafe fn make_unchecked(table: &Table, request: &Request) -> Answer {
    let user = table.userdata;
    let mut room = vec![0_u8; 0];
    // SAFETY: the caller's promise; every pointer is to a live local value.
    unsafe {
        let result = match request {
            Request::Socket { kind, protocol, .. } => {
                (table.socket)(user, AF_INET6, *kind, *protocol) as ssize_t
            }
            Request::Bind { fd, address } => {
                let (address, len) = sockaddr(address);
                (table.bind)(user, *fd, (&raw const address).cast(), len) as ssize_t
            }
            Request::Connect { fd, to } => {
                let (address, len) = sockaddr(to);
                (table.connect)(user, *fd, (&raw const address).cast(), len) as ssize_t
            }
            Request::Listen { fd, backlog } => (table.listen)(user, *fd, *backlog) as ssize_t,
            Request::Accept { fd, flags } => {
                assert_eq!(flags & SOCK_NONBLOCK, 0, "the interface has no accept4");
                let (mut from, mut len) = sockaddr(&SocketAddrV6::new([0; 16].into(), 0, 0, 0));
                let from = (&raw mut from).cast();
                (table.accept)(user, *fd, from, &raw mut len) as ssize_t
            }
            Request::Receive { fd, len, flags } => {
                room.resize(*len, 0);
                receive(table, *fd, &mut room, *flags)
            }
            Request::ReceiveMessage { fd, len, flags } => {
                return receive_message(table, *fd, *len, *flags);
            }
            Request::Send { fd, data, flags, to } => send(table, *fd, data, *flags, *to),
            Request::Fcntl { fd, command, argument } => {
                (table.fcntl)(user, *fd, *command, *argument) as ssize_t
            }
            Request::Ioctl { fd, request } => {
                room.resize(4, 0);
                let out: *mut c_int = room.as_mut_ptr().cast();
                (table.ioctl)(user, *fd, c_ulong::from(request.cast_unsigned()), out) as ssize_t
            }
            Request::Close { fd } => (table.close)(user, *fd) as ssize_t,
            Request::Shutdown { fd, how } => (table.shutdown)(user, *fd, *how) as ssize_t,
            Request::GetOption { fd, level, name } => {
                room.resize(TCP_INFO_LEN, 0);
                get_option(table, *fd, *level, *name, &mut room)
            }
            Request::SetOption { fd, level, name, value } => {
                let len = socklen_t::try_from(value.len()).expect("short");
                let value = value.as_ptr().cast();
                (table.setsockopt)(user, *fd, *level, *name, value, len) as ssize_t
            }
            Request::EpollCreate => (table.epoll_create)(user, 1) as ssize_t,
            Request::EpollControl { epoll, operation, fd, events, data } => {
                let mut event = epoll_event { events: *events, u64: *data };
                (table.epoll_ctl)(user, *epoll, *operation, *fd, &raw mut event) as ssize_t
            }
            Request::Poll { wanted, patience } => return poll(table, wanted, *patience),
            Request::EpollWait { epoll, most, patience } => {
                return epoll_wait(table, *epoll, *most, *patience);
            }
        };
        answer(result, room)
    }
}

/// The result with `errno`; octets only if the call succeeded.
fn answer(result: ssize_t, room: Vec<u8>) -> Answer {
    if result < 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().expect("from the system");
        return Answer::error(Errno(errno));
    }
    let output = if room.is_empty() { Output::None } else { Output::Octets(room) };
    Answer { result: Ok(result as i64), output }
}

fn sockaddr(address: &SocketAddrV6) -> (sockaddr_in6, socklen_t) {
    // SAFETY: all zeros is a valid value of this structure.
    let mut out: sockaddr_in6 = unsafe { std::mem::zeroed() };
    out.sin6_family = libc::sa_family_t::try_from(AF_INET6).expect("small");
    out.sin6_port = address.port().to_be();
    out.sin6_addr.s6_addr = address.ip().octets();
    (out, socklen_t::try_from(size_of::<sockaddr_in6>()).expect("small"))
}

/// Reads with control data.
unsafe fn receive_message(table: &Table, fd: c_int, len: usize, flags: c_int) -> Answer {
    let (mut room, mut space) = (vec![0_u8; len], [0_usize; 16]);
    let (first, second) = (len / 2, len - len / 2);
    // SAFETY: the library's table; the parts are those of `room`.
    let (got, flags, used) = unsafe {
        let out = room.as_mut_ptr().cast::<c_void>();
        let mut parts = [
            iovec { iov_base: out, iov_len: first },
            iovec { iov_base: out.byte_add(first), iov_len: second },
        ];
        let mut message: msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), 2);
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&space);
        let got = (table.recvmsg)(table.userdata, fd, &raw mut message, flags);
        (got, message.msg_flags, message.msg_controllen)
    };
    let Ok(count) = usize::try_from(got) else { return answer(got, Vec::new()) };
    room.truncate(count);
    let octets: Vec<u8> = space.into_iter().flat_map(usize::to_ne_bytes).take(used).collect();
    let control = controls(&octets);
    Answer { result: Ok(got as i64), output: Output::Message { octets: room, flags, control } }
}

/// Linux's layout: length including the header in a `size_t`, level and type in an `int` each,
/// data, and padding to the next `size_t`.
fn controls(mut octets: &[u8]) -> Vec<Control> {
    const WORD: usize = size_of::<usize>();
    let mut out = Vec::new();
    while let Some((len, rest)) = octets.split_first_chunk::<WORD>() {
        let len = usize::from_ne_bytes(*len);
        let word = |at: usize| i32::from_ne_bytes(rest[at..at + 4].try_into().expect("four"));
        let data = rest[8..len - WORD].to_vec();
        out.push(Control { level: word(0), kind: word(4), data });
        octets = &octets[len.next_multiple_of(WORD).min(octets.len())..];
    }
    out
}

/// Reads by one of the four other read calls, selected by the length.
unsafe fn receive(table: &Table, fd: c_int, room: &mut Vec<u8>, flags: c_int) -> ssize_t {
    let (user, out, len) = (table.userdata, room.as_mut_ptr().cast::<c_void>(), room.len());
    let (first, second) = (len / 2, len - len / 2);
    // SAFETY: the library's table; the parts are those of `room`.
    unsafe {
        let parts = [
            iovec { iov_base: out, iov_len: first },
            iovec { iov_base: out.byte_add(first), iov_len: second },
        ];
        let got = match len % 4 {
            0 if flags == 0 => (table.read)(user, fd, out, len),
            1 if flags == 0 => (table.readv)(user, fd, parts.as_ptr(), 2),
            2 | 3 => {
                let none = std::ptr::null_mut();
                (table.recvfrom)(user, fd, out, len, flags, none, std::ptr::null_mut())
            }
            _ => (table.recv)(user, fd, out, len, flags),
        };
        room.truncate(usize::try_from(got).unwrap_or(0));
        got
    }
}

/// Writes by one of the five write calls, selected by the length.
unsafe fn send(
    table: &Table,
    fd: c_int,
    data: &[u8],
    flags: c_int,
    to: Option<SocketAddrV6>,
) -> ssize_t {
    let (user, octets, len) = (table.userdata, data.as_ptr().cast::<c_void>(), data.len());
    let first = len / 2;
    // SAFETY: the library's table; the parts are those of `data`.
    unsafe {
        let mut parts = [
            iovec { iov_base: octets.cast_mut(), iov_len: first },
            iovec { iov_base: octets.byte_add(first).cast_mut(), iov_len: len - first },
        ];
        if let Some(to) = to {
            let (address, address_len) = sockaddr(&to);
            let address = (&raw const address).cast();
            return (table.sendto)(user, fd, octets, len, flags, address, address_len);
        }
        match len % 3 {
            0 if flags == 0 => (table.write)(user, fd, octets, len),
            1 if flags == 0 => (table.writev)(user, fd, parts.as_ptr(), 2),
            2 => {
                let mut message: msghdr = std::mem::zeroed();
                (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), 2);
                (table.sendmsg)(user, fd, &raw const message, flags)
            }
            _ => (table.send)(user, fd, octets, len, flags),
        }
    }
}

/// Calls libc's function for assertions, as packetdrill does; the library interposes it.
unsafe fn get_option(
    table: &Table,
    fd: c_int,
    level: c_int,
    name: c_int,
    room: &mut Vec<u8>,
) -> ssize_t {
    let mut len = socklen_t::try_from(room.len()).expect("small");
    let value = room.as_mut_ptr().cast();
    // SAFETY: the library's functions, and room for `len` octets.
    let result = unsafe {
        if matches!((level, name), (SOL_TCP, TCP_INFO | TCP_CC_INFO) | (SOL_SOCKET, SO_MEMINFO)) {
            let get: GetSockOpt = std::mem::transmute(symbol("getsockopt"));
            get(fd, level, name, value, &raw mut len)
        } else {
            (table.getsockopt)(table.userdata, fd, level, name, value, &raw mut len)
        }
    };
    room.truncate(len as usize);
    result as ssize_t
}

fn timeout(patience: Patience) -> c_int {
    match patience {
        Patience::Timeout(timeout) => timeout,
        Patience::Until(_) => panic!("only the stack knows until when it waits"),
    }
}

unsafe fn poll(table: &Table, wanted: &[(i32, i32)], patience: Patience) -> Answer {
    let mut fds: Vec<pollfd> = Vec::new();
    for (fd, events) in wanted {
        let events = i16::try_from(*events).expect("all events of poll");
        fds.push(pollfd { fd: *fd, events, revents: 0 });
    }
    let (count, timeout) = (fds.len() as nfds_t, timeout(patience));
    // SAFETY: the library's table, and `count` descriptors.
    let result = unsafe { (table.poll)(table.userdata, fds.as_mut_ptr(), count, timeout) };
    let events = fds.iter().map(|fd| (u32::from(fd.revents.cast_unsigned()), 0)).collect();
    Answer { output: Output::Events(events), ..answer(result as ssize_t, Vec::new()) }
}

unsafe fn epoll_wait(table: &Table, epoll: c_int, most: usize, patience: Patience) -> Answer {
    let mut events = vec![epoll_event { events: 0, u64: 0 }; most];
    let (most, timeout) = (c_int::try_from(most).expect("few"), timeout(patience));
    let out = events.as_mut_ptr();
    // SAFETY: the library's table, and room for `most` events.
    let result = unsafe { (table.epoll_wait)(table.userdata, epoll, out, most, timeout) };
    events.truncate(usize::try_from(result).unwrap_or(0));
    let events = events.iter().map(|event| (event.events, event.u64)).collect();
    Answer { output: Output::Events(events), ..answer(result as ssize_t, Vec::new()) }
}
