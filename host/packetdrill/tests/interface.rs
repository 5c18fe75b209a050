//! The C interface itself: functions that scripts do not use.

#![cfg(target_os = "linux")]
#![deny(clippy::undocumented_unsafe_blocks)]

mod player;

use kinglet_testkit::script::{Interface, Variation, run_on};
use kinglet_testkit::socket::{self, Errno, Patience, Request};
use kinglet_time::Duration;
use libc::{c_int, c_void};
use player::{GetSockOpt, Player, symbol, time};
use std::process::Command;

fn socket(player: &mut Player) -> i32 {
    let request = Request::Socket { domain: 10, kind: 1, protocol: 6 };
    let answer = player.call(request).expect("never waits");
    i32::try_from(answer.result.expect("succeeds")).expect("a descriptor")
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().expect("from the system")
}

#[test]
fn the_numbers_are_those_of_libc() {
    for (name, ours, libc) in [
        ("SOCK_NONBLOCK", socket::SOCK_NONBLOCK, libc::SOCK_NONBLOCK),
        ("O_NONBLOCK", socket::O_NONBLOCK, libc::O_NONBLOCK),
        ("F_SETFL", socket::F_SETFL, libc::F_SETFL),
        ("MSG_PEEK", socket::MSG_PEEK, libc::MSG_PEEK),
        ("MSG_DONTWAIT", socket::MSG_DONTWAIT, libc::MSG_DONTWAIT),
        ("MSG_WAITALL", socket::MSG_WAITALL, libc::MSG_WAITALL),
        ("MSG_ERRQUEUE", socket::MSG_ERRQUEUE, libc::MSG_ERRQUEUE),
        ("MSG_FASTOPEN", socket::MSG_FASTOPEN, libc::MSG_FASTOPEN),
        ("MSG_EOR", socket::MSG_EOR, libc::MSG_EOR),
        ("MSG_MORE", socket::MSG_MORE, libc::MSG_MORE),
        ("MSG_ZEROCOPY", socket::MSG_ZEROCOPY, libc::MSG_ZEROCOPY),
        ("SO_MEMINFO", socket::SO_MEMINFO, libc::SO_MEMINFO),
        ("SO_ZEROCOPY", socket::SO_ZEROCOPY, libc::SO_ZEROCOPY),
        ("TCP_CONGESTION", socket::TCP_CONGESTION, libc::TCP_CONGESTION),
        ("TCP_CORK", socket::TCP_CORK, libc::TCP_CORK),
        ("TCP_INQ", socket::TCP_INQ, libc::TCP_INQ),
        ("TCP_NOTSENT_LOWAT", socket::TCP_NOTSENT_LOWAT, libc::TCP_NOTSENT_LOWAT),
        ("IPV6_RECVERR", socket::IPV6_RECVERR, libc::IPV6_RECVERR),
        ("SO_ERROR", socket::SO_ERROR, libc::SO_ERROR),
        ("SO_LINGER", socket::SO_LINGER, libc::SO_LINGER),
        ("SO_KEEPALIVE", socket::SO_KEEPALIVE, libc::SO_KEEPALIVE),
        ("SO_RCVBUF", socket::SO_RCVBUF, libc::SO_RCVBUF),
        ("SO_SNDBUF", socket::SO_SNDBUF, libc::SO_SNDBUF),
        ("TCP_NODELAY", socket::TCP_NODELAY, libc::TCP_NODELAY),
        ("TCP_MAXSEG", socket::TCP_MAXSEG, libc::TCP_MAXSEG),
        ("TCP_INFO", socket::TCP_INFO, libc::TCP_INFO),
        ("TCP_CC_INFO", socket::TCP_CC_INFO, libc::TCP_CC_INFO),
        ("TCP_QUICKACK", socket::TCP_QUICKACK, libc::TCP_QUICKACK),
        ("TCP_USER_TIMEOUT", socket::TCP_USER_TIMEOUT, libc::TCP_USER_TIMEOUT),
        ("TCP_LINGER2", socket::TCP_LINGER2, libc::TCP_LINGER2),
        ("TCP_KEEPINTVL", socket::TCP_KEEPINTVL, libc::TCP_KEEPINTVL),
        ("EPOLLET", socket::EPOLLET, libc::EPOLLET),
        ("EPOLLONESHOT", socket::EPOLLONESHOT, libc::EPOLLONESHOT),
        ("EPOLLRDHUP", socket::EPOLLRDHUP, libc::EPOLLRDHUP),
        ("POLLRDHUP", socket::POLLRDHUP, libc::POLLRDHUP.into()),
        ("POLLWRNORM", socket::POLLWRNORM, libc::POLLWRNORM.into()),
        ("EAGAIN", Errno::EAGAIN.0, libc::EAGAIN),
        ("EPIPE", Errno::EPIPE.0, libc::EPIPE),
        ("ENOSYS", Errno::ENOSYS.0, libc::ENOSYS),
        ("ENOPROTOOPT", Errno::ENOPROTOOPT.0, libc::ENOPROTOOPT),
        ("EADDRINUSE", Errno::EADDRINUSE.0, libc::EADDRINUSE),
        ("ECONNABORTED", Errno::ECONNABORTED.0, libc::ECONNABORTED),
        ("ECONNRESET", Errno::ECONNRESET.0, libc::ECONNRESET),
        ("EISCONN", Errno::EISCONN.0, libc::EISCONN),
        ("ENOTCONN", Errno::ENOTCONN.0, libc::ENOTCONN),
        ("ETIMEDOUT", Errno::ETIMEDOUT.0, libc::ETIMEDOUT),
        ("ECONNREFUSED", Errno::ECONNREFUSED.0, libc::ECONNREFUSED),
        ("EHOSTUNREACH", Errno::EHOSTUNREACH.0, libc::EHOSTUNREACH),
        ("EALREADY", Errno::EALREADY.0, libc::EALREADY),
        ("EINPROGRESS", Errno::EINPROGRESS.0, libc::EINPROGRESS),
    ] {
        assert_eq!(ours, libc, "{name}");
    }
}

#[test]
fn the_clock_creeps_and_sleeps() {
    let mut player = Player::new("start=5000000");
    let first = time(&player.table);
    assert_eq!(first.as_micros(), 5_000_001);
    assert_eq!(time(&player.table) - first, Duration::from_micros(1));
    player.sleep(first + Duration::from_secs(9000));
    let late = time(&player.table) - first;
    assert!(late >= Duration::from_secs(9000) && late < Duration::from_secs(9001));
}

#[test]
fn a_call_ends_in_real_time_while_nothing_else_happens() {
    let mut player = Player::new("");
    let fd = socket(&mut player);
    let address = "[fd3d:a0b:17d6::1]:8080".parse().expect("an address");
    player.call(Request::Bind { fd, address });
    player.call(Request::Listen { fd, backlog: 1 });
    let wanted = vec![(fd, socket::POLLIN)];
    let begun = time(&player.table);
    player.begin(Request::Poll { wanted, patience: Patience::Timeout(300) });
    let (ended, answer) = player.await_answer().expect("within a second");
    assert_eq!(answer.result, Ok(0));
    let lasted = ended - begun;
    assert!(lasted.as_millis() == 300, "{} us", lasted.as_micros());
}

#[test]
fn no_time_passes_until_who_has_waited_knows_when_it_ended() {
    let mut player = Player::new("");
    let fd = socket(&mut player);
    let address = "[fd3d:a0b:17d6::1]:8080".parse().expect("an address");
    player.call(Request::Bind { fd, address });
    player.call(Request::Listen { fd, backlog: 1 });
    for _ in 0..100 {
        let begun = time(&player.table);
        let wanted = vec![(fd, socket::POLLIN)];
        player.begin(Request::Poll { wanted, patience: Patience::Timeout(10) });
        // SAFETY: the library's table.
        unsafe { (player.table.usleep)(player.table.userdata, 50_000_000) };
        let (ended, _) = player.await_answer().expect("within a second");
        let lasted = ended - begun;
        assert!(lasted.as_millis() == 10, "{} us", lasted.as_micros());
    }
}

#[test]
fn descriptors_are_real() {
    let mut player = Player::new("");
    let (kept, closed) = (socket(&mut player), socket(&mut player));
    assert_eq!(player.call(Request::Close { fd: closed }).expect("never waits").result, Ok(0));
    // SAFETY: the first is open and has no other owner, the second is closed.
    unsafe {
        assert_eq!((libc::close(kept), libc::close(closed)), (0, -1));
    }
    assert_eq!(errno(), libc::EBADF);
}

#[test]
fn absent_calls_pointers_and_descriptors_give_an_error() {
    let player = Player::new("");
    let (table, user) = (player.table, player.table.userdata);
    let null = std::ptr::null_mut::<c_void>();
    // SAFETY: the library's table; it must not follow a null pointer.
    unsafe {
        assert_eq!(((table.pipe)(user, null.cast()), errno()), (-1, libc::ENOSYS));
        let spliced = (table.splice)(user, 3, null.cast(), 4, null.cast(), 1, 0);
        assert_eq!((spliced, errno()), (-1, libc::ENOSYS));
        assert_eq!(((table.read)(user, 3, null, 1), errno()), (-1, libc::EFAULT));
        assert_eq!(((table.write)(user, 3, null, 1), errno()), (-1, libc::EFAULT));
        assert_eq!(((table.sendmsg)(user, 3, null.cast(), 0), errno()), (-1, libc::EFAULT));
        assert_eq!(((table.bind)(user, 3, null.cast(), 0), errno()), (-1, libc::EINVAL));
        assert_eq!(((table.socket)(user, 10, 2, 0), errno()), (-1, libc::EAFNOSUPPORT));
        assert_eq!(((table.listen)(user, 9999, 1), errno()), (-1, libc::EBADF));
    }
}

#[test]
fn other_descriptors_are_the_systems() {
    let _player = Player::new("");
    // SAFETY: system calls with room for their output; the symbol is the library's.
    unsafe {
        let fd = libc::socket(libc::AF_INET6, libc::SOCK_STREAM, 0);
        assert!(fd >= 0);
        let get: GetSockOpt = std::mem::transmute(symbol("getsockopt"));
        let (mut kind, mut len): (c_int, _) = (0, 4);
        let out = (&raw mut kind).cast();
        assert_eq!(get(fd, libc::SOL_SOCKET, libc::SO_TYPE, out, &raw mut len), 0);
        assert_eq!((kind, len), (libc::SOCK_STREAM, 4));
        libc::close(fd);
    }
}

/// Child processes by name, each with the expected words of its error.
const ENDS: [(&str, &str); 4] = [
    ("receive", "no timer runs that could send one"),
    ("leftover", "not expected by the script"),
    ("flags", "`tcp_odd=1` is not understood"),
    ("wait", "waits for an event that cannot occur"),
];

#[test]
fn a_call_that_would_never_end_ends_the_process() {
    for (what, words) in ENDS {
        let exe = std::env::current_exe().expect("a path");
        let mut command = Command::new(exe);
        command.args(["--exact", "child", "--nocapture"]).env("KINGLET_CHILD", what);
        let output = command.output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{what} succeeds");
        assert!(stderr.contains(words), "{what}: {stderr}");
    }
}

#[test]
fn the_answers_to_a_clean_up_are_no_complaint() {
    let exe = std::env::current_exe().expect("a path");
    let mut command = Command::new(exe);
    command.args(["--exact", "child", "--nocapture"]).env("KINGLET_CHILD", "clean-up");
    let output = command.output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("not expected"), "{stderr}");
}

/// Two connections; the script leaves the first one open: closing sends a FIN, and the reset
/// does not match because of the text that has arrived out of order.
const LEFT_OPEN: &str = "
    0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0   bind(3, ..., ...) = 0
    +0   listen(3, 1) = 0
    +0   < S 0:0(0) win 1000 <mss 1000>
    +0   > S. 0:0(0) ack 1 <mss 1440>
    +.1  < . 1:1(0) ack 1 win 1000
    +0   accept(3, ..., ...) = 4
    +.1  < . 11:21(10) ack 1 win 1000
    +0   > . 1:1(0) ack 1
";

/// The part of the tests above that runs in a separate process; does nothing in the tests' process.
#[test]
fn child() {
    let Ok(what) = std::env::var("KINGLET_CHILD") else { return };
    if what == "clean-up" {
        let build = |_: &[(String, String)]| Player::new("tcp_timestamps=0,strict=1");
        run_on("left-open", LEFT_OPEN, Variation::PLAIN, build).expect("the script passes");
        return;
    }
    let mut player = Player::new(if what == "flags" { "tcp_odd=1" } else { "strict=1" });
    let fd = socket(&mut player);
    let address = "[fd3d:a0b:17d6::1]:8080".parse().expect("an address");
    match what.as_str() {
        "receive" => drop(player.receive(time(&player.table))),
        "leftover" => {
            let nonblocking = Request::Fcntl { fd, command: 4, argument: libc::O_NONBLOCK };
            player.call(nonblocking);
            player.call(Request::Connect { fd, to: address });
        }
        _ => {
            player.call(Request::Bind { fd, address });
            player.call(Request::Listen { fd, backlog: 1 });
            player.call(Request::Accept { fd, flags: 0 });
        }
    }
}
