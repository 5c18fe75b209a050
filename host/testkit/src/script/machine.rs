//! The run of a script: events in their order, virtual time, and what the stack sends between.

use super::call::Call;
use super::compare::{Numbers, differences};
use super::parse::{Body, Event, Script};
use super::segment::SegmentText;
use super::sockets::{LOCAL_PORT, REMOTE_PORT, Remote, Reply, Sockets};
use super::time::{Kind, When, seconds};
use super::{Failure, Outcome, Variation, asserts};
use kinglet_tcp::{Peer, State};
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::Flags;
use std::collections::VecDeque;

/// How far a segment may be from its time: packetdrill's default.
const TOLERANCE: Duration = Duration::from_micros(4000);
/// How long `*` waits: longer than two hours of keep-alive.
const PATIENCE: Duration = Duration::from_secs(3 * 3600);
/// Steps between two events; more are a stack that spins.
const STEPS: usize = 100_000;

/// A segment that the stack has sent and no line has accounted for.
struct Sent {
    at: Instant,
    octets: Vec<u8>,
}

/// A call that waits.
struct Blocked {
    line: usize,
    call: Call,
    from: Instant,
    until: Instant,
}

pub(super) struct Machine {
    file: String,
    variation: Variation,
    now: Instant,
    sockets: Sockets,
    numbers: Numbers,
    sent: VecDeque<Sent>,
    blocked: Option<Blocked>,
    /// A SYN has been let in for which there is no connection to ask yet.
    opening: bool,
    /// The script has called `connect`: the stack's port is the other one.
    active: bool,
    tolerance: Duration,
    line: usize,
    outcome: Outcome,
}

type Told = Result<(), String>;

impl Machine {
    pub(super) fn new(file: &str, script: &Script, variation: Variation) -> Machine {
        let mut machine = Machine {
            file: file.to_owned(),
            variation,
            now: variation.start,
            sockets: Sockets::new(variation.secret),
            numbers: Numbers::new(variation),
            sent: VecDeque::new(),
            blocked: None,
            opening: false,
            active: false,
            tolerance: TOLERANCE,
            line: 0,
            outcome: Outcome::default(),
        };
        if variation.lenient {
            // What Linux has, and scripts for it count on.
            machine.sockets.base().initial_window = 10;
            machine.sockets.base().mss = 1460;
        }
        for (line, what) in &script.ignored {
            machine.line = *line;
            machine.warn(what);
        }
        for (line, option) in &script.options {
            machine.line = *line;
            machine.option(option);
        }
        for (line, shell) in &script.setup {
            machine.line = *line;
            machine.shell(shell);
        }
        machine
    }

    pub(super) fn run(mut self, script: &Script) -> Result<Outcome, Failure> {
        for event in &script.events {
            self.line = event.line;
            let told = self.event(event);
            self.told(told)?;
        }
        let told = self.end();
        self.told(told)?;
        Ok(self.outcome)
    }

    fn told(&self, told: Told) -> Result<(), Failure> {
        told.map_err(|message| Failure {
            file: self.file.clone(),
            line: self.line,
            time: Some(self.now - self.variation.start),
            message,
        })
    }

    fn warn(&mut self, what: &str) {
        self.outcome.warnings.push(format!("{}:{}: ignored: {what}", self.file, self.line));
    }

    fn option(&mut self, option: &str) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number: Option<u64> = value.parse().ok();
        match (name, number) {
            ("--tolerance_usecs", Some(micros)) => self.tolerance = Duration::from_micros(micros),
            // IPv6 and TCP headers.
            ("--mtu", Some(mtu)) => {
                self.sockets.base().mss = u16::try_from(mtu.saturating_sub(60)).unwrap_or(1440);
            }
            ("--ip_version", _) if value == "ipv6" => {}
            _ => self.warn(option),
        }
    }

    /// Settings of Linux that this stack has too; everything else is named.
    fn shell(&mut self, text: &str) {
        for command in text.split(['\n', ';']).map(str::trim).filter(|c| !c.is_empty()) {
            let words: Vec<&str> = command.split_whitespace().collect();
            if command.contains("defaults.sh") || command.starts_with('#') {
                continue;
            }
            if let Some(at) = words.iter().position(|word| *word == "initcwnd") {
                let segments = words.get(at + 1).and_then(|n| n.parse().ok());
                self.sockets.base().initial_window = segments.unwrap_or(0);
                continue;
            }
            if words.first().copied() != Some("sysctl") {
                self.warn(command);
                continue;
            }
            let settings = command.trim_start_matches("sysctl").replace(" = ", "=");
            for setting in settings.split_whitespace().filter(|s| s.contains('=')) {
                if !self.sysctl(setting) {
                    self.warn(setting);
                }
            }
        }
    }

    fn sysctl(&mut self, setting: &str) -> bool {
        let Some((name, value)) = setting.split_once('=') else { return false };
        let Ok(value) = value.trim_matches('"').parse::<u8>() else { return false };
        let base = self.sockets.base();
        match name.trim_start_matches("net.ipv4.").trim_start_matches("net/ipv4/") {
            "tcp_sack" => base.sack = value != 0,
            "tcp_timestamps" => base.timestamps = value != 0,
            "tcp_syn_retries" | "tcp_synack_retries" => base.syn_retries = value,
            "tcp_retries2" => base.max_retransmits = value,
            _ => return false,
        }
        true
    }

    /// The instants between which an event has to happen.
    fn span(&self, when: When) -> (Instant, Instant) {
        let base = if when.relative { self.now } else { self.variation.start };
        match when.kind {
            Kind::Any => (base, base + PATIENCE),
            Kind::At(at) => (base + at, base + at),
            Kind::Range(from, to) | Kind::Blocks(from, to) => (base + from, base + to),
        }
    }

    fn event(&mut self, event: &Event) -> Told {
        let (from, to) = self.span(event.when);
        if let Body::Outbound(expected) = &event.body {
            let from = if event.when.kind == Kind::Any { Instant::ZERO } else { from };
            return self.expect(expected, from, to);
        }
        if from + self.tolerance < self.now {
            let late = seconds(from - self.variation.start);
            return Err(format!("the event's time, {late}, is past"));
        }
        self.advance(from)?;
        match &event.body {
            Body::Shell(text) => self.shell(text),
            Body::Code(code) => {
                let info = self.sockets.current().and_then(|h| self.sockets.endpoint.info(h));
                asserts::check(code, info.as_ref())?;
            }
            Body::Inbound(segment) => self.inbound(segment),
            Body::Unreachable(seq) => {
                let seq = self.numbers.local_live(*seq);
                let (local, remote) = self.ports();
                self.sockets.endpoint.notify_unreachable(&Remote, local, remote, seq);
            }
            Body::Call(call) => self.call(call, event.when.kind, from, to)?,
            Body::Outbound(_) => {}
        }
        self.drain()
    }

    /// The stack's port and the peer's.
    fn ports(&self) -> (u16, u16) {
        if self.active { (REMOTE_PORT, LOCAL_PORT) } else { (LOCAL_PORT, REMOTE_PORT) }
    }

    fn inbound(&mut self, segment: &SegmentText) {
        let state = self.sockets.state();
        let over = matches!(state, Some(State::Closed | State::TimeWait));
        let fresh = over || (state.is_none() && !self.opening);
        if segment.flags.contains(Flags::SYN) {
            if state == Some(State::SynSent) {
                self.numbers.set_remote(segment.seq);
            } else if fresh && !segment.flags.contains(Flags::ACK) {
                self.numbers.set_remote(segment.seq);
                self.numbers.expect_new_local();
                self.opening = true;
            }
        }
        if segment.flags.contains(Flags::RST) {
            self.opening = false;
        }
        let (live, payload) = self.numbers.inbound(segment);
        let (local, remote) = self.ports();
        let bare = live.encode((remote, local), &payload, 0).len();
        let octets = live.encode((remote, local), &payload, Remote.pseudo_header_sum(bare));
        // Why a segment is dropped is the stack's affair; what it answers is the script's.
        let _ = self.sockets.endpoint.handle_packet(self.now, Remote, &octets);
    }

    fn call(&mut self, call: &Call, kind: Kind, from: Instant, until: Instant) -> Told {
        if let Some(blocked) = &self.blocked {
            return Err(format!("the call of line {} has not returned", blocked.line));
        }
        let waits = matches!(kind, Kind::Blocks(..));
        if call.name == "connect" {
            self.active = true;
            self.numbers.expect_new_local();
        }
        match self.sockets.call(self.now, call, waits)? {
            Reply::Block if waits => {
                let line = self.line;
                self.blocked = Some(Blocked { line, call: call.clone(), from, until });
                Ok(())
            }
            Reply::Block => Self::answered(call, &Reply::Error("EAGAIN")),
            Reply::Ignored(what) => {
                self.warn(&what);
                Ok(())
            }
            reply => {
                self.corrupted()?;
                Self::answered(call, &reply)
            }
        }
    }

    fn corrupted(&self) -> Told {
        if self.sockets.corrupted {
            Err("octets read are not those sent".to_owned())
        } else {
            Ok(())
        }
    }

    fn answered(call: &Call, reply: &Reply) -> Told {
        let (value, error) = match reply {
            Reply::Value(value) => (*value, None),
            Reply::Error(error) => (-1, Some(*error)),
            Reply::Block | Reply::Ignored(_) => return Ok(()),
        };
        let right = call.result.is_none_or(|want| want == value)
            && (call.errno.is_none() || call.errno.as_deref() == error);
        if right {
            return Ok(());
        }
        let want = call.result.map_or("...".to_owned(), |value| value.to_string());
        let want = format!("{want} {}", call.errno.as_deref().unwrap_or_default());
        let have = format!("{value} {}", error.unwrap_or_default());
        Err(format!("{} returns {}, expected {}", call.name, have.trim(), want.trim()))
    }

    /// Tries the call that waits once more.
    fn unblock(&mut self) -> Told {
        let Some(blocked) = self.blocked.take() else { return Ok(()) };
        let reply = self.sockets.call(self.now, &blocked.call, true)?;
        if reply == Reply::Block {
            self.blocked = Some(blocked);
            return Ok(());
        }
        self.line = blocked.line;
        self.corrupted()?;
        Self::answered(&blocked.call, &reply)?;
        if self.now + self.tolerance < blocked.until || blocked.until + self.tolerance < self.now {
            let want = seconds(blocked.until - self.variation.start);
            let began = seconds(blocked.from - self.variation.start);
            return Err(format!(
                "{} since {began} returns now, expected at {want}",
                blocked.call.name
            ));
        }
        Ok(())
    }

    /// Collects what the stack has to send at this instant, and lets a waiting call go on.
    fn drain(&mut self) -> Told {
        for _ in 0..STEPS {
            let Some(packet) = self.sockets.endpoint.poll_packet(self.now) else {
                let waiting = self.blocked.is_some();
                self.unblock()?;
                if waiting && self.blocked.is_none() {
                    continue;
                }
                return Ok(());
            };
            let mut octets = packet.header.to_vec();
            let mut payload = vec![0; usize::from(packet.payload.len)];
            if !payload.is_empty() {
                let read = self.sockets.endpoint.read_payload(packet.payload, 0, &mut payload);
                read.map_err(|_| "the payload of a segment just sent is gone")?;
            }
            octets.extend_from_slice(&payload);
            let sum = packet.peer.pseudo_header_sum(octets.len());
            if !kinglet_wire::tcp::verify_checksum(&octets, sum) {
                return Err("the stack sends a wrong checksum".to_owned());
            }
            self.sent.push_back(Sent { at: self.now, octets });
        }
        Err("the stack sends without end".to_owned())
    }

    /// Runs every timer up to `until`, each at its own time.
    fn advance(&mut self, until: Instant) -> Told {
        for _ in 0..STEPS {
            self.drain()?;
            match self.sockets.endpoint.deadline() {
                Some(deadline) if deadline <= until => {
                    self.now = self.now.max(deadline);
                    self.sockets.endpoint.handle_deadline(self.now);
                }
                _ => {
                    self.now = self.now.max(until);
                    return Ok(());
                }
            }
        }
        Err("timers run without end".to_owned())
    }

    /// Lets time pass until the stack sends, but not beyond `limit`.
    fn wait(&mut self, limit: Instant) -> Told {
        for _ in 0..STEPS {
            self.drain()?;
            if !self.sent.is_empty() {
                return Ok(());
            }
            match self.sockets.endpoint.deadline() {
                Some(deadline) if deadline <= limit => self.advance(deadline)?,
                _ => return Ok(()),
            }
        }
        Err("timers run without end".to_owned())
    }

    /// The script says that the stack sends a segment.
    fn expect(&mut self, expected: &SegmentText, from: Instant, to: Instant) -> Told {
        let mut expected = expected.clone();
        // A segment larger than the MSS stands for several, as packetdrill has it.
        loop {
            self.wait(to + self.tolerance)?;
            let Some(sent) = self.sent.pop_front() else {
                let next = self.sockets.endpoint.deadline();
                let next = next.map_or("no timer runs".to_owned(), |at| {
                    format!("the next timer is at {}", seconds(at - self.variation.start))
                });
                return Err(format!(
                    "\n  expected  > {expected}  at {}\n  actual    nothing; {next}",
                    self.describe(from, to)
                ));
            };
            let (live, payload) = SegmentText::decode(&sent.octets).ok_or("a malformed segment")?;
            let actual = self.numbers.outbound(&live, &expected);
            if self.is_part(&expected, &actual) {
                expected.seq = actual.end();
                expected.len -= actual.len;
                continue;
            }
            let mut wrong = differences(&expected, &actual, self.variation.lenient);
            if sent.at + self.tolerance < from || to + self.tolerance < sent.at {
                wrong.push("time");
            }
            if !self.numbers.payload_is_right(&live, payload) {
                wrong.push("payload");
            }
            if wrong.is_empty() {
                self.outcome.compared += 1;
                return Ok(());
            }
            return Err(format!(
                "\n  expected  > {expected}  at {}\n  actual    > {actual}  at {}\n  differs in \
                 {}",
                self.describe(from, to),
                seconds(sent.at - self.variation.start),
                wrong.join(", ")
            ));
        }
    }

    fn describe(&self, from: Instant, to: Instant) -> String {
        let (from, to) = (from - self.variation.start, to - self.variation.start);
        if from == to { seconds(from) } else { format!("{} to {}", seconds(from), seconds(to)) }
    }

    fn is_part(&self, expected: &SegmentText, actual: &SegmentText) -> bool {
        let info = self.sockets.current().and_then(|h| self.sockets.endpoint.info(h));
        let mss = info.map_or(u32::MAX, |info| info.mss);
        expected.len > mss
            && actual.len > 0
            && actual.len < expected.len
            && actual.seq == expected.seq
            && actual.ack == expected.ack
    }

    /// Nothing may be left over but resets.
    fn end(&mut self) -> Told {
        if let Some(until) = self.blocked.as_ref().map(|blocked| blocked.until) {
            self.advance(until + self.tolerance)?;
        }
        if let Some(blocked) = &self.blocked {
            self.line = blocked.line;
            return Err(format!("{} has not returned", blocked.call.name));
        }
        let nothing = SegmentText::parse("S 0:0(0) <...>")?;
        for sent in &self.sent {
            let Some((live, _)) = SegmentText::decode(&sent.octets) else { continue };
            if !live.flags.contains(Flags::RST) {
                let actual = self.numbers.clone().outbound(&live, &nothing);
                let at = seconds(sent.at - self.variation.start);
                return Err(format!(
                    "the script ends, but there is\n  actual    > {actual}  at {at}"
                ));
            }
        }
        Ok(())
    }
}
