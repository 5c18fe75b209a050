//! The table of functions, in packetdrill's order.

use crate::{calls, clock};
use libc::{
    c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_void, epoll_event, iovec, msghdr, nfds_t,
    pollfd, size_t, sockaddr, socklen_t, ssize_t, timeval,
};

macro_rules! interface {
    ($($name:ident: $function:path as fn($($argument:ty),*) $(-> $result:ty)?,)+) => {
        /// packetdrill's structure. Each function takes `userdata` first.
        #[repr(C)]
        pub struct Interface {
            userdata: *mut c_void,
            $($name: unsafe extern "C" fn(*mut c_void $(, $argument)*) $(-> $result)?,)+
        }

        impl Interface {
            /// The functions of this library for the instance `userdata`.
            pub(crate) fn new(userdata: *mut c_void) -> Interface {
                Interface { userdata, $($name: $function,)+ }
            }
        }
    };
}

interface! {
    free: clock::free as fn(),
    socket: calls::socket as fn(c_int, c_int, c_int) -> c_int,
    bind: calls::bind as fn(c_int, *const sockaddr, socklen_t) -> c_int,
    listen: calls::listen as fn(c_int, c_int) -> c_int,
    accept: calls::accept as fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    connect: calls::connect as fn(c_int, *const sockaddr, socklen_t) -> c_int,
    read: calls::read as fn(c_int, *mut c_void, size_t) -> ssize_t,
    readv: calls::readv as fn(c_int, *const iovec, c_int) -> ssize_t,
    recv: calls::recv as fn(c_int, *mut c_void, size_t, c_int) -> ssize_t,
    recvfrom: calls::recvfrom
        as fn(c_int, *mut c_void, size_t, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t,
    recvmsg: calls::recvmsg as fn(c_int, *mut msghdr, c_int) -> ssize_t,
    write: calls::write as fn(c_int, *const c_void, size_t) -> ssize_t,
    writev: calls::writev as fn(c_int, *const iovec, c_int) -> ssize_t,
    send: calls::send as fn(c_int, *const c_void, size_t, c_int) -> ssize_t,
    sendto: calls::sendto
        as fn(c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t,
    sendmsg: calls::sendmsg as fn(c_int, *const msghdr, c_int) -> ssize_t,
    // In C the last argument of these two is optional.
    fcntl: calls::fcntl as fn(c_int, c_int, c_long) -> c_int,
    ioctl: calls::ioctl as fn(c_int, c_ulong, *mut c_int) -> c_int,
    close: calls::close as fn(c_int) -> c_int,
    shutdown: calls::shutdown as fn(c_int, c_int) -> c_int,
    getsockopt: calls::getsockopt
        as fn(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int,
    setsockopt: calls::setsockopt as fn(c_int, c_int, c_int, *const c_void, socklen_t) -> c_int,
    poll: calls::poll as fn(*mut pollfd, nfds_t, c_int) -> c_int,
    netdev_send: clock::netdev_send as fn(*const c_void, size_t) -> c_int,
    netdev_receive: clock::netdev_receive
        as fn(*mut c_void, *mut size_t, *mut c_longlong) -> c_int,
    usleep: clock::usleep as fn(c_uint) -> c_int,
    gettimeofday: clock::gettimeofday as fn(*mut timeval, *mut c_void) -> c_int,
    epoll_create: calls::epoll_create as fn(c_int) -> c_int,
    epoll_ctl: calls::epoll_ctl as fn(c_int, c_int, c_int, *mut epoll_event) -> c_int,
    epoll_wait: calls::epoll_wait as fn(c_int, *mut epoll_event, c_int, c_int) -> c_int,
    pipe: calls::pipe as fn(*mut c_int) -> c_int,
    splice: calls::splice
        as fn(c_int, *mut c_char, c_int, *mut c_char, size_t, c_uint) -> ssize_t,
}
