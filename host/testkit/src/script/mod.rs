//! Segment scripts in packetdrill's notation, run against [`kinglet_tcp::Endpoint`] in virtual
//! time.
//!
//! A script is a sequence of lines: calls of the application, segments from the peer (`<`) and
//! segments that the stack must send (`>`), each with its time.
//!
//! ```
//! use kinglet_testkit::script::{Variation, run};
//! let script = "
//!     0  socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//!     +0 bind(3, ..., ...) = 0
//!     +0 listen(3, 1) = 0
//!     +0 < S 0:0(0) win 1000 <mss 1000>
//!     +0 > S. 0:0(0) ack 1 <mss 1440>
//! ";
//! run("handshake.pkt", script, Variation::PLAIN).unwrap();
//! ```
//!
//! * Times: `0.1`, `+.1`, `*`, `0.1~0.3`, `+0~+.01`, and `0.1...0.3` for a call that blocks.
//! * Calls: socket, bind, listen, accept, accept4, connect, fcntl, ioctl, read, readv, recv,
//!   recvfrom, recvmsg, write, writev, send, sendto, sendmsg, close, shutdown, setsockopt,
//!   getsockopt, poll, epoll_create, epoll_ctl, epoll_wait; arguments are C's arithmetic over
//!   numbers and Linux's names, strings, `[lists]` and `{structures}`.
//! * Segments: flags `S F R P U E W A .`, or `-` for none; `seq:end(len)`, `ack`, `win`, `urg`;
//!   options mss, sackOK, sack, TS, wscale, nop, eol, FO, FOEXP, or `<...>` for any; before them
//!   `[noecn]`, `[ect0]`, `[ect1]`, `[ect01]` or `[ce]`. A segment that is larger than the MSS
//!   stands for several. As in packetdrill, the script pads options to a multiple of four octets,
//!   and a segment of the peer has its `win`.
//! * ICMP: `< icmp unreachable host_unreachable [1:101(100)]`, `packet_too_big mtu 1280`,
//!   `time_exceeded`.
//! * `%{ assert … }%`: arithmetic and comparisons over the `tcpi_…` and `SK_MEMINFO_…` names of
//!   [`crate::socket::info_field`].
//! * `` `…` ``: `sysctl` and `initcwnd` as far as [`crate::socket::Settings`] has them; other
//!   commands are reported as ignored.
//!
//! Unsupported text fails the script with its line and column.
//!
//! Sequence numbers count from the script's own initial ones; a timestamp echo stands for the value
//! for which the script gave it. Options are compared with their order and padding. The octets of
//! every segment and every read are checked too: each has a value that follows from its position in
//! the stream. A segment that no line expects fails the script at its end.
//!
//! [`run`] drives the stack in this process, [`run_on`] any other stack with an [`Interface`].

mod asserts;
mod compare;
mod cursor;
mod expression;
mod local;
mod machine;
mod packet;
mod parse;
mod request;
mod segment;
mod time;

pub use local::Interface;

use crate::socket::Settings;
use kinglet_time::{Duration, Instant};
use local::Local;
use machine::{Machine, Setup};
use std::fmt;

/// Numbers on which a script must not depend. Every script should pass under all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variation {
    /// Key of the endpoint's initial sequence numbers and timestamp offsets.
    pub secret: [u8; 16],
    /// The endpoint's clock at the start of the script; whole milliseconds.
    pub start: Instant,
    /// Added to the peer's sequence numbers.
    pub remote_offset: u32,
    /// Added to the peer's timestamps.
    pub timestamp_offset: u32,
    /// For scripts that were written for Linux: MSS and window scale of the stack's SYN are
    /// compared by presence only, PSH, padding and the order of options not at all; the stack's MSS
    /// is 1460, its initial window ten segments, its receive buffer 128 KiB, and it acknowledges
    /// every segment at once.
    pub lenient: bool,
}

impl Variation {
    /// The peer's numbers are the script's.
    pub const PLAIN: Variation = Variation {
        secret: [1; 16],
        start: Instant::from_secs(10),
        remote_offset: 0,
        timestamp_offset: 0,
        lenient: false,
    };

    /// The peer's sequence numbers and timestamps wrap within a few segments.
    pub const WRAPPING: Variation = Variation {
        secret: [2; 16],
        start: Instant::from_secs(5000),
        remote_offset: u32::MAX - 700,
        timestamp_offset: u32::MAX - 150,
        lenient: false,
    };

    /// Returns it as names and values of [`Settings`].
    fn settings(&self) -> Vec<(String, String)> {
        let secret = u128::from_be_bytes(self.secret);
        let mut out = vec![
            ("secret".to_owned(), format!("{secret:x}")),
            ("start".to_owned(), self.start.as_micros().to_string()),
        ];
        if self.lenient {
            // Values of Linux, on which scripts for it rely.
            out.push(("initcwnd".to_owned(), "10".to_owned()));
            out.push(("mss".to_owned(), "1460".to_owned()));
            // Linux acknowledges the first segments of a connection at once.
            out.push(("tcp_delack_max_us".to_owned(), "0".to_owned()));
            out.push(("tcp_rmem".to_owned(), "131072".to_owned()));
        }
        out
    }
}

/// Result of a script that passed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Unsupported requests that were ignored, as `file:line: what`.
    pub warnings: Vec<String>,
    /// Segments of the stack that were compared.
    pub compared: usize,
}

/// Reason and position of a script's failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The script's name, as passed to [`run`].
    pub file: String,
    /// Line of the event, from 1.
    pub line: usize,
    /// Column of the error, from 1.
    pub column: usize,
    /// Time since the start of the script; `None` if it could not be parsed and so never ran.
    pub time: Option<Duration>,
    /// The error; more than one line if segments are compared.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if let Some(time) = self.time {
            write!(f, "at {}: ", time::seconds(time))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Runs one script.
///
/// # Errors
/// The first line that could not be parsed, or at which the stack did not do what the script
/// requires.
pub fn run(name: &str, text: &str, variation: Variation) -> Result<Outcome, Failure> {
    run_on(name, text, variation, |wanted| {
        let mut settings = Settings::default();
        for (name, value) in wanted {
            settings.set(name, value);
        }
        Local::new(settings)
    })
}

/// Runs one script on a stack that `build` makes from names and values of [`Settings`].
///
/// # Errors
/// As [`run`].
pub fn run_on<I: Interface>(
    name: &str,
    text: &str,
    variation: Variation,
    build: impl FnOnce(&[(String, String)]) -> I,
) -> Result<Outcome, Failure> {
    let script = parse::parse(text).map_err(|wrong| {
        let (line, column) = cursor::place(text, wrong.at);
        Failure { file: name.to_owned(), line, column, time: None, message: wrong.what }
    })?;
    let setup = Setup::new(name, text, &script, variation);
    let interface = build(&setup.settings);
    Machine::new(name, text, setup, variation, interface).run(&script)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTENING: &str = "
        0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
        +0 bind(3, ..., ...) = 0
        +0 listen(3, 1) = 0
        +0 < S 0:0(0) win 1000 <mss 1000>
    ";
    const ACCEPTED: &str = "
        +0 > S. 0:0(0) ack 1 <mss 1440>
        +.1 < . 1:1(0) ack 1 win 1000
        +0 accept(3, ..., ...) = 4
    ";

    /// Returns the failure of a script with these lines and a last one; it has to fail.
    fn failure(before: &[&str], last: &str) -> Failure {
        let text = format!("{}\n{last}", before.concat());
        run("a.pkt", &text, Variation::WRAPPING).expect_err(last)
    }

    #[test]
    fn every_field_of_a_segment_is_compared() {
        for (wrong, field) in [
            ("> . 0:0(0) ack 1 <mss 1440>", "flags"),
            ("> S. 0:0(0) ack 2 <mss 1440>", "ack"),
            ("> S. 0:0(0) ack 1 win 7 <mss 1440>", "win"),
            ("> S. 0:0(0) ack 1 <mss 1441>", "options"),
            ("> S. 0:0(0) ack 1", "options"),
            ("> S. 0:5(5) ack 1 <mss 1440>", "length"),
        ] {
            let error = failure(&[LISTENING], &format!("+0 {wrong}"));
            assert!(error.to_string().contains(field), "{error}");
            assert_eq!((error.line, error.time), (7, Some(Duration::ZERO)));
        }
        let error =
            failure(&[LISTENING, ACCEPTED], "+0 write(4, ..., 5) = 5\n+0 > P. 2:7(5) ack 1");
        assert!(error.message.contains("sequence number"), "{error}");
        assert!(error.message.contains("> P. 1:6(5) ack 1"), "{error}");
    }

    #[test]
    fn a_segment_too_early_too_late_or_missing_is_found() {
        let write = "+0 write(4, ..., 5) = 5\n";
        let error = failure(&[LISTENING, ACCEPTED, write], "+.1 > P. 1:6(5) ack 1");
        assert!(error.message.contains("differs in time"), "{error}");
        let again = "+0 > P. 1:6(5) ack 1\n+.2 > P. 1:6(5) ack 1";
        let error = failure(&[LISTENING, ACCEPTED, write], again);
        assert!(error.message.contains("nothing; the next timer is at 0.400000"), "{error}");
    }

    #[test]
    fn a_segment_that_no_line_mentions_is_found_at_the_end() {
        let error = failure(&[LISTENING], "+.1 %{ }%");
        assert!(error.message.contains("> S. 0:0(0) ack 1"), "{error}");
    }

    #[test]
    fn results_of_calls_are_compared() {
        for (call, error) in [
            ("+0 recv(4, ..., 5, MSG_DONTWAIT) = 5", "returns -1 EAGAIN"),
            ("+0 write(9, ..., 5) = 5", "returns -1 EBADF"),
            ("+0 write(4, ..., 5) = 4", "returns 5"),
            ("+0...0.2 read(4, ..., 5) = 5", "has not returned"),
            ("+0 read(4, ..., 5) = -1 EAGAIN (Again)", "read blocks"),
            ("0 read(4, ..., 5) = 5", "is past"),
            ("+0 %{ assert tcpi_state == TCP_CLOSE }%", "tcpi_state is 1"),
        ] {
            let found = failure(&[LISTENING, ACCEPTED], call);
            assert!(found.message.contains(error), "{found}");
        }
    }

    #[test]
    fn ignored_text_is_reported_with_its_line() {
        let text = "`tc qdisc add`\n--odd=1\n0 `sysctl -w net.ipv4.tcp_odd=1`\n";
        let outcome = run("a.pkt", text, Variation::PLAIN).expect("nothing can fail");
        let lines: Vec<_> = outcome.warnings.iter().map(|w| w.split(": ").next()).collect();
        assert_eq!(lines, [Some("a.pkt:1"), Some("a.pkt:2"), Some("a.pkt:3")]);
    }

    #[test]
    fn an_odd_script_is_an_error_and_no_panic() {
        for text in
            ["+", "+0", "+0 <", "+0 > S", "+0 > S 0:0(", "0~ x", "%{", "`", "+0 f(", "=", "é"]
        {
            assert!(run("a.pkt", text, Variation::PLAIN).is_err(), "{text}");
        }
    }
}
