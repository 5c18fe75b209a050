//! The run: time, events, and the conditions that are checked at each of them.

use super::app::{App, Stream};
use super::course::{Course, MSS, Opening};
use super::link::OneWayLink;
use super::source::Source;
use super::{End, Host, Report, SLOTS, Side};
use kinglet_tcp::congestion::Controller;
use kinglet_tcp::{ConnectError, Endpoint, Handle, Info, ListenConfig, State, TcpConfig};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::tcp::Segment;

const PORT: u16 = 7;
/// Largest number of segments that an end may send in one instant: a buffer of single octets for
/// each connection.
const DRAIN: usize = 8_000;
/// Largest number of events of a run: the longest regular one in 100,000 has about a tenth.
const EVENTS: u64 = 1_000_000;
/// Longest virtual time of a run.
const PATIENCE: Duration = Duration::from_secs(48 * 3600);

/// A requested connection, and its applications.
struct Record {
    opening: Opening,
    port: u16,
    client: App,
    /// More than one if the port was used again, or if a SYN with data arrived twice (RFC 7413
    /// §6.1).
    servers: Vec<App>,
}

impl Record {
    fn apps(&mut self) -> impl Iterator<Item = &mut App> {
        std::iter::once(&mut self.client).chain(&mut self.servers)
    }
}

pub(super) struct World<'a, C: Controller> {
    source: &'a mut dyn Source,
    trace: bool,
    course: Course,
    now: Instant,
    ends: [Box<End<C>>; 2],
    links: [OneWayLink; 2],
    /// Number of openings and reboots that have happened.
    opened: usize,
    records: Vec<Record>,
    reboots_left: Vec<(Instant, Side)>,
    report: Report,
}

fn end<C: Controller>(source: &mut dyn Source, course: &Course, side: Side) -> Box<End<C>> {
    let secret = core::array::from_fn(|_| source.below(256) as u8);
    let mut end = Box::new(Endpoint::new(TcpConfig::new(secret)));
    let connection = course.configs[side];
    let listen = ListenConfig { backlog: 4, fast_open: course.fast_open, connection };
    end.listen(PORT, listen).expect("a free listener");
    end
}

impl<'a, C: Controller> World<'a, C> {
    pub(super) fn new(source: &'a mut dyn Source, trace: bool) -> Self {
        let course = Course::draw(source);
        if trace {
            eprintln!("{course:#?}");
        }
        let ends = [end(source, &course, 0), end(source, &course, 1)];
        let mut reboots_left = course.reboots.clone();
        reboots_left.sort();
        World {
            source,
            trace,
            now: Instant::ZERO,
            ends,
            links: course.faults.map(OneWayLink::new),
            opened: 0,
            records: Vec::new(),
            reboots_left,
            report: Report::default(),
            course,
        }
    }

    pub(super) fn run(mut self) -> Report {
        let mut events = 0;
        loop {
            self.applications();
            (0..2).for_each(|side| self.drain(side));
            let Some(next) = self.next() else { break };
            assert!(next >= self.now, "{next:?} is in the past at {:?}", self.now);
            // A program may be late.
            let late = if self.source.chance(8) { self.source.below(100) } else { 0 };
            self.now = next + Duration::from_millis(u64::from(late));
            events += 1;
            assert!(events < EVENTS, "a livelock at {:?}: {}", self.now, self.status());
            assert!(self.now < Instant::ZERO + PATIENCE, "no end: {}", self.status());
            self.reboot();
            self.resize();
            (0..2).for_each(|side| self.deliver(side));
            (0..2).for_each(|side| self.timers(side));
        }
        self.judge();
        self.report.connections = self.records.len() as u64;
        self.report.virtual_ms = self.now.as_millis();
        self.report
    }

    /// Returns the time of the next event.
    fn next(&self) -> Option<Instant> {
        let opening = self.course.openings.get(self.opened).map(|opening| opening.at);
        let mut next = earliest(opening, self.reboots_left.first().map(|&(at, _)| at));
        for (end, link) in self.ends.iter().zip(&self.links) {
            next = earliest(next, end.deadline());
            next = earliest(next, link.flying.front().map(|f| f.at));
            next = earliest(next, Some(link.busy_until).filter(|&at| at > self.now));
        }
        self.apps().fold(next, |next, app| earliest(next, app.deadline(self.now)))
    }

    fn apps(&self) -> impl Iterator<Item = &App> {
        self.records
            .iter()
            .flat_map(|record| std::iter::once(&record.client).chain(&record.servers))
    }

    fn applications(&mut self) {
        while let Some(opening) = self.course.openings.get(self.opened).copied()
            && opening.at <= self.now
        {
            self.opened += 1;
            self.open(opening);
        }
        for side in 0..2 {
            while let Some(handle) = self.ends[side].accept(PORT) {
                self.accepted(side, handle);
            }
        }
        for record in &mut self.records {
            record.client.run(self.now, &mut self.ends[record.client.side]);
            for server in &mut record.servers {
                server.run(self.now, &mut self.ends[server.side]);
            }
        }
        self.check_amounts();
    }

    /// Checks that no application reads more than was written. A client that soon uses the same
    /// port again may be mistaken for the previous one, if that connection is accepted late: their
    /// streams have the same octets, so only the larger number counts.
    fn check_amounts(&self) {
        for record in &self.records {
            let namesakes = || {
                let same = |r: &&Record| r.port == record.port;
                self.records.iter().filter(same).filter(|r| r.client.side == record.client.side)
            };
            let sent = namesakes().map(|r| r.client.sent).max().unwrap_or(0);
            assert!(record.servers.iter().all(|s| s.got <= sent), "more read than written");
            // The client communicates with one of them; others are the result of a SYN with data.
            let sent = namesakes().flat_map(|r| &r.servers).map(|server| server.sent).max();
            assert!(record.client.got <= sent.unwrap_or(0), "more read than written");
        }
    }

    fn open(&mut self, opening: Opening) {
        let (side, config) = (opening.client, self.course.configs[opening.client]);
        let end = &mut self.ends[side];
        let peer = Host::seen_from(side);
        let before = self.records.iter().rev().find(|r| r.opening.client == side);
        let handle = match before.filter(|_| opening.same_port) {
            None => end.connect(self.now, peer, PORT, config),
            Some(before) => match end.connect_from(self.now, peer, before.port, PORT, config) {
                Err(ConnectError::NoPort) => end.connect(self.now, peer, PORT, config),
                other => other,
            },
        };
        let handle = handle.expect("a slot and a port");
        let (_, port, _) = end.name(handle).expect("a valid handle");
        let stream = Stream { client: side, port, from_client: false };
        let client = App::new(self.now, side, handle, opening.apps[0], stream);
        self.say(|| format!("end {side} connects from port {port}"));
        self.records.push(Record { opening, port, client, servers: Vec::new() });
    }

    fn accepted(&mut self, side: Side, handle: Handle) {
        let (_, _, port) = self.ends[side].name(handle).expect("a valid handle");
        self.say(|| format!("end {side} accepts from port {port}"));
        let known = |r: &&mut Record| r.opening.client != side && r.port == port;
        let record = self.records.iter_mut().rev().find(known).expect("a client that connected");
        let stream = Stream { client: record.opening.client, port, from_client: true };
        let app = App::new(self.now, side, handle, record.opening.apps[1], stream);
        record.servers.push(app);
    }

    fn reboot(&mut self) {
        while let Some(&(at, side)) = self.reboots_left.first()
            && at <= self.now
        {
            self.reboots_left.remove(0);
            self.count_end(side);
            self.ends[side] = end(self.source, &self.course, side);
            self.report.reboots += 1;
            self.say(|| format!("end {side} reboots"));
            // Its applications are treated as if they had never waited for anything.
            for app in self.records.iter_mut().flat_map(Record::apps).filter(|a| a.side == side) {
                app.aborted = true;
            }
        }
    }

    /// Occasionally changes the segment size of a connection.
    fn resize(&mut self) {
        if !self.source.chance(2) {
            return;
        }
        let mss = 64 + self.source.below(u32::from(MSS) - 63) as u16;
        for app in self.records.iter_mut().flat_map(Record::apps) {
            // The handle of a connection that has ended may be stale.
            let _ = self.ends[app.side].set_mss(app.handle, mss);
        }
    }

    fn drain(&mut self, side: Side) {
        let mut count = 0;
        // A busy link is like a radio without a free buffer: nothing is polled.
        while self.links[side].busy_until <= self.now {
            let end = &mut self.ends[side];
            let packet = end.poll_packet(self.now);
            assert_eq!(end.check(), Ok(()));
            let Some(packet) = packet else {
                let next = end.deadline();
                assert!(next.is_none_or(|at| at > self.now), "{next:?} is due after all is sent");
                return;
            };
            count += 1;
            assert!(count < DRAIN, "draining does not end: {}", self.status());
            let mut octets = packet.header.to_vec();
            let header = octets.len();
            octets.resize(header + usize::from(packet.payload.len), 0);
            if packet.payload.len > 0 {
                let read = end.read_payload(packet.payload, 0, &mut octets[header..]);
                read.expect("a fresh segment has its payload");
            }
            self.report.segments += 1;
            let opens = octets[13] & 0x02 != 0 && octets.len() > header;
            self.report.fast_opens += u64::from(opens);
            let fate = match self.course.outage {
                Some((from, to)) if (from..to).contains(&self.now) => "in the outage",
                _ => self.links[side].launch(self.now, side, packet.ecn, &octets, self.source),
            };
            let reports = self.links[side].faults.reports;
            let reports = if fate == "lost" { reports } else { reports / 16 };
            if packet.payload.len > 0 && self.source.chance(reports) {
                self.ends[side].notify_lost(self.now, packet.payload);
            }
            let arrives = matches!(fate, "" | "doubled" | "marked" | "held back");
            self.report.lost += u64::from(!arrives);
            self.say(|| {
                let segment = Segment::parse(&octets).expect("a segment sent can be read");
                let (h, len) = (segment.header, octets.len() - header);
                format!(
                    "{side}: {}>{} {:?} seq {} len {len} ack {} win {} {:?} {fate}",
                    h.src_port, h.dst_port, h.flags, h.seq, h.ack, h.window, h.options
                )
            });
        }
    }

    fn deliver(&mut self, from: Side) {
        while let Some(flying) = self.links[from].arrived(self.now) {
            let to = 1 - from;
            let peer = Host::seen_from(to);
            let result = self.ends[to].handle_packet(self.now, peer, flying.ecn, &flying.octets);
            assert!(!flying.damaged || result.is_err(), "a damaged segment was accepted");
            assert_eq!(self.ends[to].check(), Ok(()));
        }
    }

    fn timers(&mut self, side: Side) {
        let end = &mut self.ends[side];
        let due = end.deadline().is_some_and(|at| at <= self.now);
        if !due && self.source.chance(4) {
            let before = self.snapshot(side);
            self.ends[side].handle_deadline(self.now);
            assert_eq!(self.snapshot(side), before, "a call before the deadline does nothing");
        } else if due {
            end.handle_deadline(self.now);
            let next = end.deadline();
            assert!(next.is_none_or(|at| at > self.now), "{next:?} stays at {:?}", self.now);
            assert_eq!(end.check(), Ok(()));
        }
    }

    fn snapshot(&self, side: Side) -> (Option<Instant>, Vec<Option<Info>>, kinglet_tcp::Stats) {
        let end = &self.ends[side];
        let apps = self.apps().filter(|app| app.side == side);
        let info = |app: &App| {
            let info = end.info(app.handle)?;
            // A connection remembers at most half an hour.
            Some(Info { last_sent: Instant::ZERO, last_progress: Instant::ZERO, ..info })
        };
        (end.deadline(), apps.map(info).collect(), *end.stats())
    }

    /// Checks the final state, after which no event follows.
    fn judge(&mut self) {
        (0..2).for_each(|side| self.count_end(side));
        assert!(self.links.iter().all(|link| link.flying.is_empty()));
        self.end_phantoms();
        for app in self.apps() {
            assert!(app.is_over(), "never ends: {}", self.status());
            let state = self.ends[app.side].state(app.handle);
            let ended = matches!(state, None | Some(State::Closed | State::TimeWait));
            assert!(ended || app.aborted, "{state:?} in the end: {}", self.status());
        }
        let octets: usize = self.apps().map(|app| app.got).sum();
        let errors = self.apps().filter(|app| app.error.is_some()).count();
        (self.report.octets, self.report.errors) = (octets as u64, errors as u64);
        // Cookies are for floods: if the first segment with one is lost, the next is answered with
        // RST.
        let spared = self.ends.iter().all(|end| end.stats().syn_cookies_sent == 0);
        for record in &self.records {
            let client = &record.client;
            let ended = |app: &App| app.eof && app.closed;
            let whole = record.servers.iter().any(|server| {
                let both = ended(client) && ended(server);
                both && server.got == client.sent && client.got == server.sent
            });
            let must_be = spared && self.course.spares(&record.opening);
            assert!(whole || !must_be, "not whole: {}", self.status());
            self.report.whole += u64::from(whole);
        }
        for side in 0..2 {
            let (end, peer) = (&mut self.ends[side], Host::seen_from(side));
            for port in 1..=SLOTS as u16 {
                let config = self.course.configs[side];
                end.connect_from(self.now, peer, port, PORT, config).expect("every slot is free");
            }
        }
    }

    /// Ends connections that only one end has. An end that answers with SYN cookies stores no
    /// handshake: a late segment of an ended connection opens it once more, and that connection
    /// waits for an absent peer until its application times out (RFC 4987 §3.6 describes this cost
    /// of cookies). The applications here have no timeout.
    fn end_phantoms(&mut self) {
        for record in self.records.iter_mut().filter(|record| record.servers.len() > 1) {
            for server in record.servers.iter_mut().filter(|server| !server.is_over()) {
                let end = &mut self.ends[server.side];
                if end.stats().syn_cookies_sent > 0 && end.abort(server.handle).is_ok() {
                    server.aborted = true;
                }
            }
        }
        (0..2).for_each(|side| self.drain(side));
        self.links.iter_mut().for_each(|link| link.flying.clear());
    }

    /// Adds up the counters of an end that is not used any more.
    fn count_end(&mut self, side: Side) {
        let (_, infos, _) = self.snapshot(side);
        let timeouts = infos.iter().flatten().map(|info| u64::from(info.counters.timeouts));
        self.report.timeouts += timeouts.sum::<u64>();
    }

    fn status(&self) -> String {
        let lines = self.apps().map(|app| {
            let end = &self.ends[app.side];
            format!("\n{app:?}\n    {:?}", end.info(app.handle))
        });
        let deadlines = self.ends.each_ref().map(|end| end.deadline());
        format!("deadlines {deadlines:?}, at {:?}{}", self.now, lines.collect::<String>())
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{:>12.6} {}", self.now.as_micros() as f64 / 1e6, what());
        }
    }
}
