//! Linux's numbers and their names in scripts.

/// An error number of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Errno(pub i32);

macro_rules! errnos {
    ($($name:ident = $number:literal,)+) => {
        impl Errno {
            $(#[doc = concat!("Linux's ", stringify!($name), ".")]
            pub const $name: Errno = Errno($number);)+

            /// Names and numbers of all known errors.
            pub const ALL: &[(&str, Errno)] = &[$((stringify!($name), Errno::$name)),+];
        }
    };
}

errnos! {
    EINTR = 4, EBADF = 9, EAGAIN = 11, ENOMEM = 12, EFAULT = 14, EEXIST = 17, EINVAL = 22,
    EPIPE = 32, ENOSYS = 38, EPROTO = 71, ENOTSOCK = 88, EDESTADDRREQ = 89, EMSGSIZE = 90,
    ENOPROTOOPT = 92, EOPNOTSUPP = 95, EAFNOSUPPORT = 97, EADDRINUSE = 98, EADDRNOTAVAIL = 99,
    ENETUNREACH = 101, ECONNABORTED = 103, ECONNRESET = 104, ENOBUFS = 105, EISCONN = 106,
    ENOTCONN = 107, ETIMEDOUT = 110, ECONNREFUSED = 111, EHOSTUNREACH = 113, EALREADY = 114,
    EINPROGRESS = 115, ENOENT = 2,
}

impl Errno {
    /// Returns its name; `E?` if it is unknown.
    pub fn name(self) -> &'static str {
        Errno::ALL.iter().find(|(_, number)| *number == self).map_or("E?", |(name, _)| name)
    }
}

macro_rules! symbols {
    ($($name:ident = $number:literal,)+) => {
        $(#[doc = concat!("Linux's ", stringify!($name), ".")]
        pub const $name: i32 = $number;)+

        /// Names and numbers of all constants but error numbers.
        pub const SYMBOLS: &[(&str, i32)] = &[$((stringify!($name), $name)),+];
    };
}

symbols! {
    AF_INET = 2, PF_INET = 2, AF_INET6 = 10, PF_INET6 = 10,
    SOCK_STREAM = 1, SOCK_DGRAM = 2, SOCK_NONBLOCK = 0x800, SOCK_CLOEXEC = 0x8_0000,
    IPPROTO_IP = 0, IPPROTO_TCP = 6, IPPROTO_IPV6 = 41,
    SOL_IP = 0, SOL_SOCKET = 1, SOL_TCP = 6, SOL_IPV6 = 41,
    O_RDONLY = 0, O_WRONLY = 1, O_RDWR = 2, O_NONBLOCK = 0x800,
    F_GETFD = 1, F_SETFD = 2, F_GETFL = 3, F_SETFL = 4,
    SHUT_RD = 0, SHUT_WR = 1, SHUT_RDWR = 2,
    MSG_OOB = 1, MSG_PEEK = 2, MSG_TRUNC = 0x20, MSG_DONTWAIT = 0x40, MSG_EOR = 0x80,
    MSG_WAITALL = 0x100, MSG_ERRQUEUE = 0x2000, MSG_NOSIGNAL = 0x4000, MSG_MORE = 0x8000,
    MSG_ZEROCOPY = 0x400_0000, MSG_FASTOPEN = 0x2000_0000,
    SO_REUSEADDR = 2, SO_ERROR = 4, SO_DONTROUTE = 5, SO_SNDBUF = 7, SO_RCVBUF = 8,
    SO_KEEPALIVE = 9, SO_PRIORITY = 12, SO_LINGER = 13, SO_REUSEPORT = 15, SO_RCVLOWAT = 18,
    SO_ACCEPTCONN = 30, SO_MARK = 36, SO_BUSY_POLL = 46, SO_MEMINFO = 55, SO_ZEROCOPY = 60,
    TCP_NODELAY = 1, TCP_MAXSEG = 2, TCP_CORK = 3, TCP_KEEPIDLE = 4, TCP_KEEPINTVL = 5,
    TCP_KEEPCNT = 6, TCP_SYNCNT = 7, TCP_LINGER2 = 8, TCP_DEFER_ACCEPT = 9,
    TCP_WINDOW_CLAMP = 10, TCP_INFO = 11, TCP_QUICKACK = 12, TCP_CONGESTION = 13,
    TCP_USER_TIMEOUT = 18, TCP_FASTOPEN = 23, TCP_NOTSENT_LOWAT = 25, TCP_CC_INFO = 26,
    TCP_FASTOPEN_CONNECT = 30, TCP_FASTOPEN_KEY = 33, TCP_FASTOPEN_NO_COOKIE = 34, TCP_INQ = 36,
    TCP_RTO_MAX_MS = 44, TCP_RTO_MIN_US = 45, TCP_DELACK_MAX_US = 46,
    IP_TOS = 1, IP_MTU_DISCOVER = 10, IP_FREEBIND = 15, IP_PMTUDISC_DONT = 0,
    IPV6_RECVERR = 25, IPV6_TCLASS = 67, IPV6_V6ONLY = 26,
    TCP_CM_INQ = 36, SO_EE_ORIGIN_ZEROCOPY = 5, SO_EE_CODE_ZEROCOPY_COPIED = 1,
    FIONREAD = 0x541B, SIOCINQ = 0x541B, FIONBIO = 0x5421, TIOCOUTQ = 0x5411, SIOCOUTQ = 0x5411,
    POLLIN = 1, POLLPRI = 2, POLLOUT = 4, POLLERR = 8, POLLHUP = 0x10, POLLNVAL = 0x20,
    POLLRDNORM = 0x40, POLLWRNORM = 0x100, POLLRDHUP = 0x2000,
    EPOLLIN = 1, EPOLLPRI = 2, EPOLLOUT = 4, EPOLLERR = 8, EPOLLHUP = 0x10,
    EPOLLRDNORM = 0x40, EPOLLWRNORM = 0x100, EPOLLRDHUP = 0x2000,
    EPOLLEXCLUSIVE = 0x1000_0000, EPOLLONESHOT = 0x4000_0000,
    EPOLL_CTL_ADD = 1, EPOLL_CTL_DEL = 2, EPOLL_CTL_MOD = 3,
}

/// Edge-triggered notification, the topmost bit.
pub const EPOLLET: i32 = i32::MIN;

/// Returns the number of a name, error numbers included.
pub fn symbol(name: &str) -> Option<i64> {
    let found = SYMBOLS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let errno = || Errno::ALL.iter().find(|(known, _)| *known == name).map(|(_, errno)| errno.0);
    match name {
        "EPOLLET" => Some(1 << 31),
        "NULL" => Some(0),
        // Names in scripts for both versions of IP.
        "CMSG_LEVEL_IP" => Some(SOL_IPV6.into()),
        "CMSG_TYPE_RECVERR" => Some(IPV6_RECVERR.into()),
        _ => found.or_else(errno).map(i64::from),
    }
}
