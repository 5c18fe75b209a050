//! The run of a script: its events in order, and the segments of the stack between them.

use super::compare::{Numbers, differences, is_pattern, pattern};
use super::cursor::place;
use super::local::Interface;
use super::packet::{self, Ends};
use super::parse::{Body, Event, Script};
use super::request::{Call, descriptors};
use super::segment::{Opt, SegmentText};
use super::time::{Kind, When, seconds};
use super::{Failure, Outcome, Variation, asserts};
use crate::socket::{
    Answer, Emitted, MSG_FASTOPEN, MSG_PEEK, Output, Request, SO_MEMINFO, SOL_SOCKET, SOL_TCP,
    Settings, TCP_CC_INFO, TCP_INFO, info_field,
};
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::Flags;
use std::collections::BTreeMap;

/// Largest deviation of a segment from its time: packetdrill's default.
const TOLERANCE: Duration = Duration::from_micros(4000);
/// Longest time that `*` waits: longer than two hours of keep-alive.
const PATIENCE: Duration = Duration::from_secs(3 * 3600);
/// Payload of a segment to a peer that has not announced its MSS (RFC 9293 §3.7.1).
const DEFAULT_MSS: u32 = 1220;

/// A blocked call.
struct Blocked {
    at: usize,
    call: Call,
    until: Instant,
}

/// A descriptor of the script.
#[derive(Clone, Copy, Default)]
struct Descriptor {
    live: i32,
    /// Octets written and read, for their pattern.
    written: u32,
    read: u32,
}

pub(super) struct Machine<'a, I> {
    file: &'a str,
    text: &'a str,
    variation: Variation,
    interface: I,
    /// Start of the script.
    start: Instant,
    /// Time of the last event.
    last: Instant,
    numbers: Numbers,
    ends: Ends,
    table: BTreeMap<i32, Descriptor>,
    /// Descriptor of the last opened or accepted connection.
    current: Option<i32>,
    blocked: Option<Blocked>,
    /// True after a SYN from the peer, until there is a connection whose state can be queried.
    opening: bool,
    peer_mss: u32,
    tolerance: Duration,
    at: usize,
    outcome: Outcome,
}

type StepResult = Result<(), String>;

impl<'a, I: Interface> Machine<'a, I> {
    pub(super) fn new(
        file: &'a str,
        text: &'a str,
        setup: Setup,
        variation: Variation,
        mut interface: I,
    ) -> Self {
        let start = interface.now();
        Machine {
            file,
            text,
            variation,
            interface,
            start,
            last: start,
            numbers: Numbers::new(variation),
            ends: Ends::default(),
            table: BTreeMap::new(),
            current: None,
            blocked: None,
            opening: false,
            peer_mss: DEFAULT_MSS,
            tolerance: setup.tolerance,
            at: 0,
            outcome: setup.outcome,
        }
    }

    pub(super) fn run(mut self, script: &Script) -> Result<Outcome, Failure> {
        for event in &script.events {
            self.at = event.at;
            let step_result = self.event(event);
            self.step_result(step_result)?;
        }
        let step_result = self.end();
        self.step_result(step_result)?;
        Ok(self.outcome)
    }

    fn step_result(&mut self, step_result: StepResult) -> Result<(), Failure> {
        for note in self.interface.notes() {
            self.warn(&note);
        }
        let now = self.interface.now();
        step_result.map_err(|message| {
            let (line, column) = place(self.text, self.at);
            let time = Some(now - self.start);
            Failure { file: self.file.to_owned(), line, column, time, message }
        })
    }

    fn warn(&mut self, what: &str) {
        let (line, _) = place(self.text, self.at);
        self.outcome.warnings.push(format!("{}:{line}: ignored: {what}", self.file));
    }

    /// Returns the earliest and latest time of an event.
    fn span(&self, when: When) -> (Instant, Instant) {
        let base = if when.relative { self.last } else { self.start };
        match when.kind {
            Kind::Any => (base, base + PATIENCE),
            Kind::At(at) => (base + at, base + at),
            Kind::Range(from, to) | Kind::Blocks(from, to) => (base + from, base + to),
        }
    }

    fn event(&mut self, event: &Event) -> StepResult {
        let (from, to) = self.span(event.when);
        if let Body::Outbound(expected) = &event.body {
            let from = if event.when.kind == Kind::Any { Instant::ZERO } else { from };
            return self.expect(expected, from, to);
        }
        let now = self.interface.now();
        if from + self.tolerance < now {
            let late = seconds(from - self.start);
            return Err(format!("the event's time, {late}, is past"));
        }
        self.interface.sleep(from.max(now));
        self.unblock()?;
        self.last = from.max(self.last);
        match &event.body {
            Body::Shell(text) => self.shell(text),
            Body::Code(code) => asserts::check(code, self.facts()?.as_deref())?,
            Body::Inbound(segment) => {
                self.ask_for_cookies(segment)?;
                self.inbound(segment);
            }
            Body::Icmp(kind, seq) => {
                let seq = self.numbers.local_live(*seq);
                self.interface.deliver(&packet::icmp(&self.ends, *kind, seq));
            }
            Body::Call(call) => self.call(call, event.when.kind, to)?,
            Body::Outbound(_) => {}
        }
        self.unblock()
    }

    fn shell(&mut self, text: &str) {
        let (set, odd) = settings(text);
        for (name, value) in set {
            if !self.interface.set(&name, &value) {
                self.warn(&format!("{name}={value}"));
            }
        }
        odd.iter().for_each(|what| self.warn(what));
    }

    /// Returns the `tcp_info` of the last opened or accepted connection.
    fn info(&mut self) -> Option<Vec<u8>> {
        self.option(SOL_TCP, TCP_INFO)
    }

    fn option(&mut self, level: i32, name: i32) -> Option<Vec<u8>> {
        let fd = self.table.get(&self.current?)?.live;
        match self.interface.call(Request::GetOption { fd, level, name })?.output {
            Output::Octets(octets) => Some(octets),
            _ => None,
        }
    }

    /// Returns the data for assertions: everything that packetdrill requires.
    fn facts(&mut self) -> Result<Option<Vec<u8>>, String> {
        let Some(mut facts) = self.info() else { return Ok(None) };
        self.option(SOL_TCP, TCP_CC_INFO).ok_or("the stack has no TCP_CC_INFO")?;
        facts.extend(self.option(SOL_SOCKET, SO_MEMINFO).ok_or("the stack has no SO_MEMINFO")?);
        Ok(Some(facts))
    }

    /// Obtains from the stack the cookie that the script's peer uses without having received it:
    /// with a SYN from another port, which is then reset.
    fn ask_for_cookies(&mut self, segment: &SegmentText) -> StepResult {
        for option in segment.options.iter().flatten() {
            let Opt::NamedCookie(name) = option else { continue };
            if !self.numbers.lacks_cookie(name) {
                continue;
            }
            let mut ends = self.ends.elsewhere();
            let options = Some(vec![Opt::Nop, Opt::Nop, Opt::Cookie(Vec::new())]);
            let syn =
                SegmentText { flags: Flags::SYN, win: Some(0), options, ..SegmentText::EMPTY };
            self.interface.deliver(&packet::inbound(&ends, &syn, &[]));
            let now = self.interface.now();
            let Some(answer) = self.interface.receive(now) else { continue };
            let (answer, _) = packet::outbound(&answer.octets, &mut ends)?;
            let reset = SegmentText { flags: Flags::RST, seq: 1, ..SegmentText::EMPTY };
            self.interface.deliver(&packet::inbound(&ends, &reset, &[]));
            for option in answer.options.iter().flatten() {
                if let Opt::Cookie(cookie) = option {
                    self.numbers.learn_cookie(name, cookie);
                }
            }
        }
        Ok(())
    }

    fn inbound(&mut self, segment: &SegmentText) {
        let state = self.info().and_then(|info| info_field(&info, "tcpi_state"));
        let (syn_sent, over) = (state == Some(2), matches!(state, Some(6 | 7)));
        let fresh = over || (state.is_none() && !self.opening);
        if segment.flags.contains(Flags::SYN) {
            if syn_sent {
                self.numbers.set_remote(segment.seq);
            } else if fresh && !segment.flags.contains(Flags::ACK) {
                self.numbers.set_remote(segment.seq);
                self.numbers.expect_new_local();
                self.opening = true;
            }
            let mss = segment.options.iter().flatten().find_map(|option| match option {
                Opt::Mss(mss) => Some(u32::from(*mss)),
                _ => None,
            });
            self.peer_mss = mss.unwrap_or(DEFAULT_MSS);
        }
        if segment.flags.contains(Flags::RST) {
            self.opening = false;
        }
        let (live, payload) = self.numbers.inbound(segment);
        self.interface.deliver(&packet::inbound(&self.ends, &live, &payload));
    }

    fn call(&mut self, call: &Call, kind: Kind, until: Instant) -> StepResult {
        if let Some(blocked) = &self.blocked {
            let (line, _) = place(self.text, blocked.at);
            return Err(format!("the call of line {line} has not returned"));
        }
        let request = self.live(call);
        match &request {
            Request::Connect { .. } => self.opens(call),
            Request::Send { flags, .. } if flags & MSG_FASTOPEN != 0 => self.opens(call),
            Request::Listen { .. } => self.ends = Ends::default(),
            _ => {}
        }
        if matches!(kind, Kind::Blocks(..)) {
            self.interface.begin(request);
            self.blocked = Some(Blocked { at: self.at, call: call.clone(), until });
            return Ok(());
        }
        match self.interface.call(request) {
            Some(answer) => self.answered(call, &answer),
            None => Err(format!("{} blocks: give it O_NONBLOCK or a time with `...`", call.name)),
        }
    }

    /// Handles a call that opens a connection, or queries its progress.
    fn opens(&mut self, call: &Call) {
        if !self.ends.active || self.current != call_fd(call) {
            self.ends = Ends::ACTIVE;
        }
        self.current = call_fd(call);
        self.numbers.expect_new_local();
    }

    /// Returns the request with live descriptors and octets.
    fn live(&self, call: &Call) -> Request {
        let mut request = call.request.clone();
        for fd in descriptors(&mut request) {
            // A descriptor that is not open is used unchanged; live ones are larger.
            *fd = self.table.get(fd).map_or(*fd, |descriptor| descriptor.live);
        }
        match &mut request {
            Request::Send { data, to, .. } => {
                if let Some(to) = to {
                    to.set_ip(packet::REMOTE);
                }
                let written = self.descriptor(call).written;
                let places = (0..u32::try_from(call.sends).unwrap_or(u32::MAX))
                    .map(|i| pattern(written.wrapping_add(i)));
                data.extend(places);
            }
            Request::Connect { to, .. } => to.set_ip(packet::REMOTE),
            Request::Bind { address, .. } => address.set_ip(packet::LOCAL),
            _ => {}
        }
        request
    }

    fn descriptor(&self, call: &Call) -> Descriptor {
        call_fd(call).and_then(|fd| self.table.get(&fd)).copied().unwrap_or_default()
    }

    /// Compares a result with the script, and stores its values.
    fn answered(&mut self, call: &Call, answer: &Answer) -> StepResult {
        if let Some(wrong) = call.mismatch(answer) {
            return Err(wrong);
        }
        let (Ok(live), Some(fd)) = (answer.result, call_fd(call)) else { return Ok(()) };
        let count = u32::try_from(live).unwrap_or(0);
        if call.creates() {
            let script = call.result.map_or(fd, |fd| i32::try_from(fd).unwrap_or(-1));
            let live = i32::try_from(live).unwrap_or(-1);
            self.table.insert(script, Descriptor { live, ..Descriptor::default() });
            if matches!(call.request, Request::Accept { .. }) {
                self.current = Some(script);
            }
            return Ok(());
        }
        let Some(descriptor) = self.table.get_mut(&fd) else { return Ok(()) };
        match (&call.request, &answer.output) {
            (Request::Send { .. }, _) => {
                descriptor.written = descriptor.written.wrapping_add(count);
            }
            (
                Request::Receive { flags, .. } | Request::ReceiveMessage { flags, .. },
                Output::Octets(octets) | Output::Message { octets, .. },
            ) => {
                if !is_pattern(descriptor.read, octets) {
                    return Err("octets read are not those sent".to_owned());
                }
                let kept = flags & MSG_PEEK != 0;
                descriptor.read = descriptor.read.wrapping_add(if kept { 0 } else { count });
            }
            (Request::Close { .. }, _) => {
                self.table.remove(&fd);
                self.opening &= self.current != Some(fd);
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles the result of the blocked call, if there is one.
    fn unblock(&mut self) -> StepResult {
        let Some((when, answer)) = self.interface.finished() else { return Ok(()) };
        let Some(blocked) = self.blocked.take() else { return Ok(()) };
        let at = std::mem::replace(&mut self.at, blocked.at);
        self.answered(&blocked.call, &answer)?;
        if when + self.tolerance < blocked.until || blocked.until + self.tolerance < when {
            let (want, have) = (seconds(blocked.until - self.start), seconds(when - self.start));
            return Err(format!("{} returns at {have}, expected at {want}", blocked.call.name));
        }
        self.at = at;
        Ok(())
    }

    /// Checks a segment that the stack must send according to the script.
    fn expect(&mut self, expected: &SegmentText, from: Instant, to: Instant) -> StepResult {
        let mut expected = expected.clone();
        // A segment larger than the MSS stands for several, as in packetdrill.
        loop {
            let Some(sent) = self.interface.receive(to + self.tolerance) else {
                self.interface.sleep(to);
                let next = self.interface.next_timer().map_or("no timer runs".to_owned(), |at| {
                    format!("the next timer is at {}", seconds(at - self.start))
                });
                return Err(format!(
                    "\n  expected  > {expected}  at {}\n  actual    nothing; {next}",
                    self.describe(from, to)
                ));
            };
            self.unblock()?;
            let (mut live, payload) = packet::outbound(&sent.octets, &mut self.ends)?;
            // A mark that the script does not state is not compared.
            live.ecn = live.ecn.filter(|_| expected.ecn.is_some());
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
            if !self.numbers.payload_is_right(&live, &payload) {
                wrong.push("payload");
            }
            if wrong.is_empty() {
                self.outcome.compared += 1;
                self.last = sent.at.max(self.last);
                return Ok(());
            }
            return Err(format!(
                "\n  expected  > {expected}  at {}\n  actual    > {actual}  at {}\n  differs in \
                 {}",
                self.describe(from, to),
                seconds(sent.at - self.start),
                wrong.join(", ")
            ));
        }
    }

    fn describe(&self, from: Instant, to: Instant) -> String {
        if from < self.start {
            return "any time".to_owned();
        }
        let (from, to) = (from - self.start, to - self.start);
        if from == to { seconds(from) } else { format!("{} to {}", seconds(from), seconds(to)) }
    }

    fn is_part(&self, expected: &SegmentText, actual: &SegmentText) -> bool {
        expected.len > self.peer_mss
            && actual.len > 0
            && actual.len < expected.len
            && actual.seq == expected.seq
            && actual.ack == expected.ack
    }

    /// Checks the end: only resets may be left over.
    fn end(&mut self) -> StepResult {
        if let Some(until) = self.blocked.as_ref().map(|blocked| blocked.until) {
            self.interface.sleep(until + self.tolerance);
            self.unblock()?;
        }
        if let Some(blocked) = &self.blocked {
            self.at = blocked.at;
            return Err(format!("{} has not returned", blocked.call.name));
        }
        for Emitted { at, octets } in self.interface.leftovers() {
            let (live, _) = packet::outbound(&octets, &mut self.ends)?;
            let live = SegmentText { ecn: None, ..live };
            // packetdrill does not check left-over segments.
            if !live.flags.contains(Flags::RST) && !self.variation.lenient {
                let expected = SegmentText { flags: Flags::SYN, ..SegmentText::EMPTY };
                let actual = self.numbers.clone().outbound(&live, &expected);
                let at = seconds(at - self.start);
                return Err(format!(
                    "the script ends, but there is\n  actual    > {actual}  at {at}"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the script's descriptor in a call.
fn call_fd(call: &Call) -> Option<i32> {
    match &call.request {
        Request::Socket { .. } | Request::EpollCreate => Some(-1),
        request => descriptors(&mut request.clone()).first().map(|fd| **fd),
    }
}

/// Settings that a script requests before its first event.
pub(super) struct Setup {
    tolerance: Duration,
    outcome: Outcome,
    /// Settings by name, in order.
    pub(super) settings: Vec<(String, String)>,
}

impl Setup {
    pub(super) fn new(file: &str, text: &str, script: &Script, variation: Variation) -> Setup {
        let mut setup = Setup {
            tolerance: TOLERANCE,
            outcome: Outcome::default(),
            settings: variation.settings(),
        };
        let mut ignored = Vec::new();
        for (at, option) in &script.options {
            if !setup.option(option) {
                ignored.push((*at, option.clone()));
            }
        }
        for (at, shell) in &script.setup {
            let (set, odd) = settings(shell);
            setup.settings.extend(set);
            ignored.extend(odd.into_iter().map(|what| (*at, what)));
        }
        let mut probe = Settings::default();
        setup.settings.retain(|(name, value)| {
            let known = probe.set(name, value);
            if !known {
                ignored.push((0, format!("{name}={value}")));
            }
            known
        });
        ignored.sort_by_key(|(at, _)| *at);
        let warnings = ignored
            .into_iter()
            .map(|(at, what)| format!("{file}:{}: ignored: {what}", place(text, at).0));
        setup.outcome.warnings = warnings.collect();
        setup
    }

    fn option(&mut self, option: &str) -> bool {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number: Option<u64> = value.parse().ok();
        match (name, number) {
            ("--tolerance_usecs", Some(micros)) => self.tolerance = Duration::from_micros(micros),
            // IPv6 and TCP headers.
            ("--mtu", Some(mtu)) => {
                self.settings.push(("mss".to_owned(), mtu.saturating_sub(60).to_string()));
            }
            ("--ip_version", _) => return value == "ipv6",
            _ => return false,
        }
        true
    }
}

/// Returns the settings of Linux in a shell command, and its other commands.
fn settings(shell: &str) -> (Vec<(String, String)>, Vec<String>) {
    let (mut set, mut odd) = (Vec::new(), Vec::new());
    let joined = shell.replace("\\\n", " ");
    for command in joined.split(['\n', ';']).map(str::trim).filter(|c| !c.is_empty()) {
        let words: Vec<&str> = command.split_whitespace().collect();
        let program = words.first().copied().unwrap_or_default();
        if program.ends_with("defaults.sh") || program.starts_with('#') {
            continue;
        }
        if let Some(at) = words.iter().position(|word| *word == "initcwnd") {
            let segments = words.get(at + 1).copied().unwrap_or_default();
            set.push(("initcwnd".to_owned(), segments.to_owned()));
            continue;
        }
        if program != "sysctl" && !program.ends_with("set_sysctls.py") {
            odd.push(command.to_owned());
            continue;
        }
        for (name, value) in assignments(&command.replace(" = ", "=")) {
            if !Settings::is_harmless(&name) {
                set.push((name, value));
            }
        }
    }
    (set, odd)
}

/// Parses `name=value`, also `name="least default most"`, where the default counts.
fn assignments(command: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.split_whitespace().next_back().unwrap_or_default();
        let (value, later) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
        };
        let words: Vec<&str> = value.split_whitespace().collect();
        let value = words.get(1).or(words.first()).copied().unwrap_or_default();
        out.push((name.to_owned(), value.to_owned()));
        rest = later;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_in_shell_commands() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let (set, odd) = settings(
            "./defaults.sh\nsysctl -q net.ipv4.tcp_sack=0 tcp_frto=1 ; tc qdisc add\n\
             ./set_sysctls.py /proc/sys/net/ipv4/tcp_a=1 \\\n /proc/sys/net/ipv4/tcp_b=2\n\
             sysctl -q net.ipv4.tcp_rmem=\"4096 7000 $((32*1024))\"; ip route x initcwnd 3",
        );
        let wanted = [
            pair("net.ipv4.tcp_sack", "0"),
            pair("/proc/sys/net/ipv4/tcp_a", "1"),
            pair("/proc/sys/net/ipv4/tcp_b", "2"),
            pair("net.ipv4.tcp_rmem", "7000"),
            pair("initcwnd", "3"),
        ];
        assert_eq!(set, wanted);
        assert_eq!(odd, ["tc qdisc add"]);
    }
}
