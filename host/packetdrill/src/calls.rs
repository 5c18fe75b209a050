//! System calls: converts C's arguments to requests, and copies responses back to C's buffers.

use crate::clock::instance;
use crate::shared::Shared;
use kinglet_testkit::socket::{Answer, Control, Errno, Output, Patience, Request};
use libc::{
    AF_INET6, c_char, c_int, c_long, c_uint, c_ulong, c_void, cmsghdr, epoll_event, iovec, msghdr,
    nfds_t, pollfd, size_t, sockaddr, sockaddr_in6, socklen_t, ssize_t,
};
use std::net::{Ipv6Addr, SocketAddrV6};

/// The result as in C: -1 and `errno` for an error.
fn result(result: Result<i64, Errno>) -> ssize_t {
    match result {
        Ok(value) => ssize_t::try_from(value).unwrap_or(ssize_t::MAX),
        Err(errno) => {
            // SAFETY: libc's pointer to this thread's `errno`.
            unsafe { *libc::__errno_location() = errno.0 };
            -1
        }
    }
}

fn int(value: Result<i64, Errno>) -> c_int {
    c_int::try_from(result(value)).unwrap_or(c_int::MAX)
}

/// A call without output other than its result.
///
/// # Safety
/// As of [`instance`].
unsafe fn simple(userdata: *mut c_void, request: Request) -> c_int {
    // SAFETY: the caller's promise.
    int(unsafe { instance(userdata) }.call(request).result)
}

/// # Safety
/// `address` is null or points to `len` octets.
unsafe fn address(address: *const sockaddr, len: socklen_t) -> Result<SocketAddrV6, Errno> {
    if address.is_null() || (len as usize) < size_of::<sockaddr_in6>() {
        return Err(Errno::EINVAL);
    }
    // SAFETY: there are enough octets; they may be unaligned.
    let inner = unsafe { address.cast::<sockaddr_in6>().read_unaligned() };
    if c_int::from(inner.sin6_family) != AF_INET6 {
        return Err(Errno::EAFNOSUPPORT);
    }
    let ip = Ipv6Addr::from(inner.sin6_addr.s6_addr);
    Ok(SocketAddrV6::new(ip, u16::from_be(inner.sin6_port), 0, inner.sin6_scope_id))
}

/// # Safety
/// `out` is null or points to as many octets as the value at `len` says.
unsafe fn put_address(address: SocketAddrV6, out: *mut sockaddr, len: *mut socklen_t) {
    if out.is_null() || len.is_null() {
        return;
    }
    // SAFETY: all zeros is a valid value of this structure.
    let mut inner: sockaddr_in6 = unsafe { std::mem::zeroed() };
    inner.sin6_family = AF_INET6.unsigned_abs().try_into().unwrap_or(0);
    inner.sin6_port = address.port().to_be();
    inner.sin6_addr.s6_addr = address.ip().octets();
    // SAFETY: at most as many as there is room for.
    unsafe {
        let count = (*len as usize).min(size_of::<sockaddr_in6>());
        std::ptr::copy_nonoverlapping((&raw const inner).cast::<u8>(), out.cast(), count);
        len.write(socklen_t::try_from(size_of::<sockaddr_in6>()).unwrap_or(0));
    }
}

pub(crate) unsafe extern "C" fn socket(
    userdata: *mut c_void,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
) -> c_int {
    // SAFETY: packetdrill's promise.
    unsafe { simple(userdata, Request::Socket { domain, kind, protocol }) }
}

pub(crate) unsafe extern "C" fn bind(
    userdata: *mut c_void,
    fd: c_int,
    to: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: packetdrill's promises.
    unsafe {
        match address(to, len) {
            Ok(address) => simple(userdata, Request::Bind { fd, address }),
            Err(errno) => int(Err(errno)),
        }
    }
}

pub(crate) unsafe extern "C" fn listen(userdata: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: packetdrill's promise.
    unsafe { simple(userdata, Request::Listen { fd, backlog }) }
}

pub(crate) unsafe extern "C" fn accept(
    userdata: *mut c_void,
    fd: c_int,
    out: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: packetdrill's promises.
    unsafe {
        let answer = instance(userdata).call(Request::Accept { fd, flags: 0 });
        if let Output::Address(address) = answer.output {
            put_address(address, out, len);
        }
        int(answer.result)
    }
}

pub(crate) unsafe extern "C" fn connect(
    userdata: *mut c_void,
    fd: c_int,
    to: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: packetdrill's promises.
    unsafe {
        match address(to, len) {
            Ok(to) => simple(userdata, Request::Connect { fd, to }),
            Err(errno) => int(Err(errno)),
        }
    }
}

/// The parts of a vector. A null pointer is a fault.
///
/// # Safety
/// `parts` is null or points to `count` parts.
unsafe fn vector(parts: *const iovec, count: size_t) -> Result<Vec<iovec>, Errno> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if parts.is_null() {
        return Err(Errno::EFAULT);
    }
    // SAFETY: there are `count` parts.
    let parts = unsafe { std::slice::from_raw_parts(parts, count) };
    if parts.iter().any(|part| part.iov_base.is_null() && part.iov_len > 0) {
        return Err(Errno::EFAULT);
    }
    Ok(parts.to_vec())
}

/// # Safety
/// As of [`vector`], with room for the length of each part.
unsafe fn receive_into(
    userdata: *mut c_void,
    fd: c_int,
    parts: *const iovec,
    count: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promises.
    let (shared, parts) = match unsafe { (instance(userdata), vector(parts, count)) } {
        (shared, Ok(parts)) => (shared, parts),
        (_, Err(errno)) => return result(Err(errno)),
    };
    let len = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.iov_len));
    let answer = shared.call(Request::Receive { fd, len, flags });
    if let Output::Octets(octets) = &answer.output {
        // SAFETY: the caller's promise.
        unsafe { scatter(octets, &parts) };
    }
    result(answer.result)
}

/// # Safety
/// Each part has room for its length.
unsafe fn scatter(octets: &[u8], parts: &[iovec]) {
    let mut rest = octets;
    for part in parts {
        let (now, later) = rest.split_at(part.iov_len.min(rest.len()));
        // SAFETY: at most as many as the part has room for.
        unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), part.iov_base.cast(), now.len()) };
        rest = later;
    }
}

/// # Safety
/// As of [`vector`], with as many octets as the length of each part.
unsafe fn send_from(
    userdata: *mut c_void,
    fd: c_int,
    parts: *const iovec,
    count: size_t,
    (flags, to): (c_int, Option<SocketAddrV6>),
) -> ssize_t {
    // SAFETY: the caller's promises.
    let (shared, parts) = match unsafe { (instance(userdata), vector(parts, count)) } {
        (shared, Ok(parts)) => (shared, parts),
        (_, Err(errno)) => return result(Err(errno)),
    };
    let mut data = Vec::new();
    for part in parts.iter().filter(|part| part.iov_len > 0) {
        // SAFETY: the part has this many octets.
        data.extend_from_slice(unsafe {
            std::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len)
        });
    }
    result(shared.call(Request::Send { fd, data, flags, to }).result)
}

pub(crate) unsafe extern "C" fn read(
    userdata: *mut c_void,
    fd: c_int,
    out: *mut c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: packetdrill's promises.
    unsafe { recv(userdata, fd, out, len, 0) }
}

pub(crate) unsafe extern "C" fn readv(
    userdata: *mut c_void,
    fd: c_int,
    parts: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: packetdrill's promises.
    unsafe { receive_into(userdata, fd, parts, usize::try_from(count).unwrap_or(0), 0) }
}

pub(crate) unsafe extern "C" fn recv(
    userdata: *mut c_void,
    fd: c_int,
    out: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    let part = iovec { iov_base: out, iov_len: len };
    // SAFETY: packetdrill's promises.
    unsafe { receive_into(userdata, fd, &raw const part, 1, flags) }
}

pub(crate) unsafe extern "C" fn recvfrom(
    userdata: *mut c_void,
    fd: c_int,
    out: *mut c_void,
    len: size_t,
    flags: c_int,
    _: *mut sockaddr,
    _: *mut socklen_t,
) -> ssize_t {
    // SAFETY: packetdrill's promises. A stream gives no address.
    unsafe { recv(userdata, fd, out, len, flags) }
}

pub(crate) unsafe extern "C" fn recvmsg(
    userdata: *mut c_void,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    if message.is_null() {
        return result(Err(Errno::EFAULT));
    }
    // SAFETY: packetdrill's promises.
    unsafe {
        let message = &mut *message;
        let parts = match vector(message.msg_iov, message.msg_iovlen) {
            Ok(parts) => parts,
            Err(errno) => return result(Err(errno)),
        };
        let len = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.iov_len));
        let answer = instance(userdata).call(Request::ReceiveMessage { fd, len, flags });
        message.msg_namelen = 0;
        if let Output::Message { octets, flags, control } = &answer.output {
            scatter(octets, &parts);
            message.msg_flags = *flags;
            put_control(message, control);
        }
        result(answer.result)
    }
}

/// Writes control data if there is room for them.
///
/// # Safety
/// `msg_control` is null or points to `msg_controllen` octets.
unsafe fn put_control(message: &mut msghdr, control: &[Control]) {
    let room = if message.msg_control.is_null() { 0 } else { message.msg_controllen };
    let mut used = 0;
    for part in control {
        let header = size_of::<cmsghdr>();
        let len = header + part.data.len();
        if used + len > room {
            message.msg_flags |= libc::MSG_CTRUNC;
            break;
        }
        let head = cmsghdr { cmsg_len: len, cmsg_level: part.level, cmsg_type: part.kind };
        // SAFETY: there is room for `len` octets from `used` on.
        unsafe {
            let at = message.msg_control.byte_add(used);
            at.cast::<cmsghdr>().write_unaligned(head);
            let data = part.data.as_ptr();
            std::ptr::copy_nonoverlapping(data, at.byte_add(header).cast(), part.data.len());
        }
        used = room.min(used + len.next_multiple_of(size_of::<usize>()));
    }
    message.msg_controllen = used;
}

pub(crate) unsafe extern "C" fn write(
    userdata: *mut c_void,
    fd: c_int,
    octets: *const c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: packetdrill's promises.
    unsafe { send(userdata, fd, octets, len, 0) }
}

pub(crate) unsafe extern "C" fn writev(
    userdata: *mut c_void,
    fd: c_int,
    parts: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: packetdrill's promises.
    unsafe { send_from(userdata, fd, parts, usize::try_from(count).unwrap_or(0), (0, None)) }
}

pub(crate) unsafe extern "C" fn send(
    userdata: *mut c_void,
    fd: c_int,
    octets: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: packetdrill's promises.
    unsafe { sendto(userdata, fd, octets, len, flags, std::ptr::null(), 0) }
}

pub(crate) unsafe extern "C" fn sendto(
    userdata: *mut c_void,
    fd: c_int,
    octets: *const c_void,
    len: size_t,
    flags: c_int,
    to: *const sockaddr,
    to_len: socklen_t,
) -> ssize_t {
    let part = iovec { iov_base: octets.cast_mut(), iov_len: len };
    // SAFETY: packetdrill's promises.
    unsafe { send_from(userdata, fd, &raw const part, 1, (flags, address(to, to_len).ok())) }
}

pub(crate) unsafe extern "C" fn sendmsg(
    userdata: *mut c_void,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    if message.is_null() {
        return result(Err(Errno::EFAULT));
    }
    // SAFETY: packetdrill's promises.
    unsafe {
        let message = &*message;
        let to = address(message.msg_name.cast(), message.msg_namelen).ok();
        send_from(userdata, fd, message.msg_iov, message.msg_iovlen, (flags, to))
    }
}

pub(crate) unsafe extern "C" fn fcntl(
    userdata: *mut c_void,
    fd: c_int,
    command: c_int,
    argument: c_long,
) -> c_int {
    // File flags are few; an argument that C did not pass has an undefined value.
    let argument = i32::try_from(argument & 0x7fff_ffff).unwrap_or(0);
    // SAFETY: packetdrill's promise.
    unsafe { simple(userdata, Request::Fcntl { fd, command, argument }) }
}

pub(crate) unsafe extern "C" fn ioctl(
    userdata: *mut c_void,
    fd: c_int,
    request: c_ulong,
    out: *mut c_int,
) -> c_int {
    let Ok(request) = i32::try_from(request) else { return int(Err(Errno::EINVAL)) };
    // SAFETY: packetdrill's promise.
    let answer = unsafe { instance(userdata) }.call(Request::Ioctl { fd, request });
    if let Output::Octets(octets) = &answer.output
        && let Some(value) = octets.first_chunk()
    {
        // SAFETY: every request with output returns an `int`, for which C has room.
        unsafe { out.write(i32::from_ne_bytes(*value)) };
    }
    int(answer.result)
}

pub(crate) unsafe extern "C" fn close(userdata: *mut c_void, fd: c_int) -> c_int {
    // SAFETY: packetdrill's promise.
    let closed = unsafe { instance(userdata) }.close(fd);
    let closed = int(closed.result);
    if closed == 0 {
        // SAFETY: the descriptor was made for this socket, which is gone.
        unsafe { libc::close(fd) };
    }
    closed
}

pub(crate) unsafe extern "C" fn shutdown(userdata: *mut c_void, fd: c_int, how: c_int) -> c_int {
    // SAFETY: packetdrill's promise.
    unsafe { simple(userdata, Request::Shutdown { fd, how }) }
}

pub(crate) unsafe extern "C" fn getsockopt(
    userdata: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: packetdrill's promises.
    unsafe { get_option(instance(userdata), fd, level, name, value, len) }
}

/// # Safety
/// `value` points to as many octets as the value at `len` says.
pub(crate) unsafe fn get_option(
    shared: &Shared,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    let answer = shared.call(Request::GetOption { fd, level, name });
    if let Output::Octets(octets) = &answer.output {
        if value.is_null() || len.is_null() {
            return int(Err(Errno::EFAULT));
        }
        // SAFETY: at most as many as there is room for.
        unsafe {
            let count = octets.len().min(*len as usize);
            std::ptr::copy_nonoverlapping(octets.as_ptr(), value.cast(), count);
            len.write(socklen_t::try_from(count).unwrap_or(0));
        }
    }
    int(answer.result)
}

pub(crate) unsafe extern "C" fn setsockopt(
    userdata: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    let mut octets = Vec::new();
    if len > 0 {
        if value.is_null() {
            return int(Err(Errno::EFAULT));
        }
        // SAFETY: there are `len` octets.
        let slice = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), len as usize) };
        octets.extend_from_slice(slice);
    }
    // SAFETY: packetdrill's promise.
    unsafe { simple(userdata, Request::SetOption { fd, level, name, value: octets }) }
}

pub(crate) unsafe extern "C" fn poll(
    userdata: *mut c_void,
    fds: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    let fds = if count == 0 {
        &mut [][..]
    } else {
        // SAFETY: packetdrill has `count` of them.
        unsafe { std::slice::from_raw_parts_mut(fds, count) }
    };
    let wanted = fds.iter().map(|fd| (fd.fd, i32::from(fd.events))).collect();
    let patience = Patience::Timeout(timeout);
    // SAFETY: packetdrill's promise.
    let answer = unsafe { instance(userdata) }.call(Request::Poll { wanted, patience });
    if let Output::Events(ready) = &answer.output {
        for (fd, (events, _)) in fds.iter_mut().zip(ready) {
            fd.revents = i16::try_from(*events).unwrap_or(0);
        }
    }
    int(answer.result)
}

pub(crate) unsafe extern "C" fn epoll_create(userdata: *mut c_void, size: c_int) -> c_int {
    if size <= 0 {
        return int(Err(Errno::EINVAL));
    }
    // SAFETY: packetdrill's promise.
    unsafe { simple(userdata, Request::EpollCreate) }
}

pub(crate) unsafe extern "C" fn epoll_ctl(
    userdata: *mut c_void,
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    let (events, data) = if event.is_null() {
        (0, 0)
    } else {
        // SAFETY: packetdrill's structure, which C may pack.
        let event = unsafe { event.read_unaligned() };
        (event.events, event.u64)
    };
    let request = Request::EpollControl { epoll, operation, fd, events, data };
    // SAFETY: packetdrill's promise.
    unsafe { simple(userdata, request) }
}

pub(crate) unsafe extern "C" fn epoll_wait(
    userdata: *mut c_void,
    epoll: c_int,
    out: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let most = usize::try_from(most).unwrap_or(0);
    let patience = Patience::Timeout(timeout);
    // SAFETY: packetdrill's promise.
    let answer: Answer =
        unsafe { instance(userdata) }.call(Request::EpollWait { epoll, most, patience });
    if let Output::Events(ready) = &answer.output {
        for (at, (events, data)) in ready.iter().enumerate() {
            let event = epoll_event { events: *events, u64: *data };
            // SAFETY: there is room for `most`, and there are at most as many.
            unsafe { out.add(at).write_unaligned(event) };
        }
    }
    int(answer.result)
}

pub(crate) unsafe extern "C" fn pipe(_: *mut c_void, _: *mut c_int) -> c_int {
    int(Err(Errno::ENOSYS))
}

pub(crate) unsafe extern "C" fn splice(
    _: *mut c_void,
    _: c_int,
    _: *mut c_char,
    _: c_int,
    _: *mut c_char,
    _: size_t,
    _: c_uint,
) -> ssize_t {
    result(Err(Errno::ENOSYS))
}
