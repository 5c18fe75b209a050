//! The oracle: what a radio must, may and must not do, from what it was given and what is on the
//! air.

use crate::bench::{Answer, Sent, Setup};
use crate::frame::Frame;
use crate::rules::{Rule, Violation};
use kinglet_radio::{
    ACK_NOTICED, ACK_PSDU, ACK_WAIT, Access, Ack, CCA, Channel, Event, Filter, MAX_PSDU, OCTET,
    SHR_PHR, SIFS, SYMBOL, Start, TURNAROUND, air_time, time_limit,
};
use kinglet_time::{Duration, Instant};

/// Time from a command to its effect on reception: a chip may have to wake. For each of some calls
/// a host that is late needs more.
const SETTLE: Duration = Duration::from_millis(3);
/// Time from the event of a transmission to reception; the same.
const RETURN: Duration = Duration::from_millis(1);
/// Time from the end of a frame until its report, and that of its acknowledgement, are due.
const DUE: Duration = Duration::from_millis(4);
/// Octets after which a radio has filtered a frame.
const FILTERED: u32 = 24;
/// Time after the end of a frame in which a filter in software may decide on it.
const FILTER_TIME: Duration = Duration::from_micros(150);
/// Shortest time between two frames if a radio with a single buffer is to receive both.
const APART: Duration = Duration::from_micros(1_500);
/// Delay of an acknowledgement that still ends within macAckWaitDuration, with a margin.
const LATEST: Duration = Duration::from_micros(
    ACK_WAIT.as_micros() - TURNAROUND.as_micros() - air_time(ACK_PSDU).as_micros() - 20,
);
/// Accuracy of the turnaround of acknowledgements: a symbol (IEEE 802.15.4-2015, 6.2.4: 12
/// symbols).
const ACK_ACCURACY: Duration = Duration::from_micros(16);
/// Accuracy of the signal strength in dB (AT86RF231, 8.3: 5 dB).
const STRENGTH_DB: i16 = 6;
/// Power that every channel assessment finds, in dBm: 10 dB above the sensitivity of the standard
/// is -75.
const LOUD_DBM: i8 = -70;

/// Mode of the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Off,
    Receive(Channel),
}

/// Expectation of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// Not known before its end.
    Open,
    /// It must be received, by this rule.
    Must(Rule),
    May,
}

/// A frame that the other end puts on the air.
#[derive(Clone, Copy)]
pub(crate) struct Heard {
    pub(crate) sfd: Instant,
    pub(crate) channel: Channel,
    pub(crate) frame: Frame,
    pub(crate) intact: bool,
    pub(crate) rssi_dbm: i8,
    expect: Expect,
    /// It passes the filter that the radio had at its end.
    passes: bool,
    /// The radio has reported it, and how: as acknowledged or not.
    reported: Option<bool>,
    acked: bool,
}

impl Heard {
    pub(crate) fn new(
        sfd: Instant,
        channel: Channel,
        frame: Frame,
        intact: bool,
        rssi_dbm: i8,
    ) -> Heard {
        Heard {
            sfd,
            channel,
            frame,
            intact,
            rssi_dbm,
            expect: Expect::Open,
            passes: false,
            reported: None,
            acked: false,
        }
    }

    fn preamble(&self) -> Instant {
        self.sfd + OCTET - SHR_PHR
    }

    pub(crate) fn end(&self) -> Instant {
        end_of(self.sfd, &self.frame)
    }
}

fn end_of(sfd: Instant, frame: &Frame) -> Instant {
    sfd + OCTET + OCTET * frame.psdu_len() as u32
}

/// The outstanding transmission.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) at: Instant,
    pub(crate) start: Start,
    pub(crate) access: Access,
    pub(crate) channel: Channel,
    pub(crate) power_dbm: i8,
    pub(crate) ack: bool,
    pub(crate) frame: Frame,
    pub(crate) answer: Option<Answer>,
    sent: Option<Sent>,
}

impl Job {
    pub(crate) fn new(
        at: Instant,
        (start, access): (Start, Access),
        (channel, power_dbm): (Channel, i8),
        (frame, ack): (Frame, bool),
        answer: Option<Answer>,
    ) -> Job {
        Job { at, start, access, channel, power_dbm, ack, frame, answer, sent: None }
    }

    fn limit(&self) -> Instant {
        let from = match self.start {
            Start::Asap => self.at,
            Start::At(at) => at.max(self.at),
        };
        from + time_limit(self.access)
    }
}

/// Energy on a channel.
#[derive(Clone, Copy)]
pub(crate) struct Noise {
    pub(crate) channel: Channel,
    pub(crate) from: Instant,
    pub(crate) until: Instant,
    pub(crate) dbm: i8,
    /// It is an acknowledgement of the other end.
    pub(crate) is_answer: bool,
}

/// Frames of the other end that are remembered.
const FRAMES: usize = 24;

/// Disturbances that are remembered.
const NOISES: usize = 16;

/// The oracle.
pub(crate) struct Oracle {
    pub(crate) violation: Option<Violation>,
    pub(crate) filter: Filter,
    /// Filter before the last change, and the time of that.
    former_filter: Filter,
    filter_at: Instant,
    /// Until then, several changes follow each other.
    filters_until: Instant,
    pending: bool,
    pending_at: Instant,
    pub(crate) mode: Mode,
    /// Time at which the mode becomes `Off` by itself.
    window_end: Option<Instant>,
    /// Time at which the mode begins, if the radio keeps schedules.
    window_begin: Instant,
    /// Time from which the mode certainly has its effect, unless a transmission is outstanding.
    settled: Instant,
    pub(crate) job: Option<Job>,
    heard: [Option<Heard>; FRAMES],
    noises: [Option<Noise>; NOISES],
    /// End of the last acknowledgement of the radio.
    acked_until: Instant,
    reset_at: Instant,
    /// Until then, effects of a fault are excused.
    excused_until: Instant,
    /// Delay between an interrupt and the next call.
    pub(crate) lag: Duration,
    /// The radio filters, and acknowledges.
    pub(crate) auto_ack: bool,
    setup: Setup,
}

impl Oracle {
    pub(crate) fn new(auto_ack: bool, setup: Setup, lag: Duration) -> Oracle {
        let filter = Filter { pan_id: 0xffff, short: 0xffff, extended: [0; 8] };
        Oracle {
            violation: None,
            filter,
            former_filter: filter,
            filter_at: Instant::ZERO,
            filters_until: Instant::ZERO,
            pending: false,
            pending_at: Instant::ZERO,
            mode: Mode::Off,
            window_end: None,
            window_begin: Instant::ZERO,
            settled: Instant::ZERO,
            job: None,
            heard: [None; FRAMES],
            noises: [None; NOISES],
            acked_until: Instant::ZERO,
            reset_at: Instant::ZERO,
            excused_until: Instant::ZERO,
            lag,
            auto_ack,
            setup,
        }
    }

    /// Notes a broken rule, unless one was noted before.
    pub(crate) fn fail(&mut self, rule: Rule, at: Instant, detail: &'static str) {
        self.violation.get_or_insert(Violation { rule, at, detail });
    }

    /// Returns whether effects of a fault are excused at that time.
    pub(crate) fn is_excused(&self, at: Instant) -> bool {
        at < self.excused_until
    }

    /// Notes a fault, whose effects last until `until`.
    pub(crate) fn excuse(&mut self, now: Instant, until: Instant) {
        self.freeze(now);
        for heard in self.heard.iter_mut().flatten() {
            heard.expect = Expect::May;
        }
        self.excused_until = self.excused_until.max(until);
        self.settled = self.settled.max(until);
    }

    /// Sets the end of the time in which effects of a fault are excused.
    pub(crate) fn end_excuse(&mut self, until: Instant) {
        (self.excused_until, self.settled) = (until, until);
    }

    pub(crate) fn note_filter(&mut self, now: Instant, filter: Filter) {
        self.freeze(now);
        // A frame that is being received, or has just ended, may be judged by either.
        for heard in self.heard.iter_mut().flatten() {
            if heard.preamble() < now && now < heard.end() + FILTER_TIME {
                heard.expect = Expect::May;
            }
        }
        if now < self.filter_at + self.settle() * 3 {
            self.filters_until = now + self.settle();
        }
        (self.former_filter, self.filter, self.filter_at) = (self.filter, filter, now);
        self.settle_from(now);
    }

    pub(crate) fn note_pending(&mut self, now: Instant, pending: bool) {
        (self.pending, self.pending_at) = (pending, now);
    }

    pub(crate) fn note_mode(&mut self, now: Instant, mode: Mode) {
        (self.window_end, self.window_begin) = (None, Instant::ZERO);
        if mode != self.mode {
            self.freeze(now);
            self.settle_from(now);
            self.mode = mode;
        }
    }

    /// Notes that the mode lasts from `from`, on time if the radio keeps schedules, to `until`.
    pub(crate) fn note_window(&mut self, from: Instant, until: Instant, is_scheduled: bool) {
        self.window_end = Some(until);
        self.window_begin = if is_scheduled { from } else { Instant::ZERO };
        self.settled = if is_scheduled { from } else { from + self.settle() };
    }

    pub(crate) fn note_job(&mut self, now: Instant, job: Job) {
        self.freeze(now);
        self.job = Some(job);
    }

    pub(crate) fn note_reset(&mut self, now: Instant) {
        self.freeze(now);
        for heard in self.heard.iter_mut().flatten() {
            heard.expect = Expect::May;
            // It may be lost in the chip.
            heard.acked = false;
        }
        self.note_pending(now, false);
        (self.job, self.mode, self.reset_at) = (None, Mode::Off, now);
        self.settled = now + self.settle();
    }

    pub(crate) fn note_noise(&mut self, noise: Noise) {
        let overlaps = |heard: &Heard| {
            heard.channel == noise.channel
                && heard.preamble() < noise.until
                && heard.end() + ACK_WAIT > noise.from
        };
        for heard in self.heard.iter_mut().flatten().filter(|heard| overlaps(heard)) {
            heard.expect = Expect::May;
        }
        // The one that has ended first is forgotten.
        let oldest = self.noises.iter_mut().min_by_key(|noise| noise.map(|noise| noise.until));
        if let Some(oldest) = oldest {
            *oldest = Some(noise);
        }
    }

    /// Notes a frame of the other end. One that is too near to another is not certain.
    pub(crate) fn note_heard(&mut self, mut new: Heard) {
        let apart = APART + self.lag;
        for other in self.heard.iter_mut().flatten().filter(|o| o.channel == new.channel) {
            let overlap = new.preamble() < other.end() && other.preamble() < new.end();
            if new.preamble() < other.end() + apart && other.preamble() <= new.preamble() || overlap
            {
                new.expect = Expect::May;
            }
            if other.preamble() < new.end() + apart && new.preamble() <= other.preamble() || overlap
            {
                other.expect = Expect::May;
            }
        }
        let disturbs = |noise: &Noise| new.preamble() < noise.until && new.end() > noise.from;
        if self.noises_on(new.channel).any(disturbs) {
            new.expect = Expect::May;
        }
        if let Some(free) = self.heard.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(new);
        }
    }

    /// Notes that a change has its effect some time after now, or after the end of a reception,
    /// with its acknowledgement, that may have begun.
    fn settle_from(&mut self, now: Instant) {
        let begun = self.heard.iter().flatten().filter(|heard| heard.preamble() < now);
        let end = begun.map(|heard| heard.end() + ACK_WAIT).max();
        self.settled = self.settled.max(now.max(end.unwrap_or(now)) + self.settle());
    }

    fn settle(&self) -> Duration {
        SETTLE + self.setup.latency + self.lag * 12
    }

    fn noises_on(&self, channel: Channel) -> impl Iterator<Item = &Noise> {
        self.noises.iter().flatten().filter(move |noise| noise.channel == channel)
    }

    /// Returns whether another frame can be noted.
    pub(crate) fn has_room(&self) -> bool {
        self.heard.iter().any(Option::is_none)
    }

    /// Decides what is expected of the frames so far, before something changes.
    fn freeze(&mut self, now: Instant) {
        self.judge(now);
        let (mode, settled, busy) = (self.mode, self.settled, self.job.is_some());
        for heard in self.heard.iter_mut().flatten() {
            let begun = heard.sfd + OCTET * FILTERED <= now;
            let listens = mode == Mode::Receive(heard.channel) && settled <= heard.preamble();
            if heard.expect == Expect::Open && heard.preamble() < now {
                let rule = Rule::ReceptionFirst;
                let must = begun && listens && !busy;
                heard.passes = heard.frame.passes(&self.filter);
                heard.expect = if must { Expect::Must(rule) } else { Expect::May };
            }
        }
    }

    /// Judges everything up to `now`; a window that has ended meanwhile is followed by `Off`.
    pub(crate) fn advance(&mut self, now: Instant) {
        if let Some(end) = self.window_end.take_if(|end| now >= *end) {
            self.note_mode(end, Mode::Off);
        }
        self.judge(now);
    }

    fn judge(&mut self, now: Instant) {
        if self.job.is_some_and(|job| now > job.limit()) {
            self.fail(Rule::TimeLimit, now, "no event");
        }
        let (mode, settled, busy) = (self.mode, self.settled, self.job.is_some());
        for heard in self.heard.iter_mut().flatten() {
            if heard.expect == Expect::Open && heard.end() <= now {
                let listens = mode == Mode::Receive(heard.channel) && settled <= heard.preamble();
                let must = listens && !busy;
                heard.passes = heard.frame.passes(&self.filter);
                heard.expect = if must { Expect::Must(Rule::Reception) } else { Expect::May };
            }
        }
        for index in 0..FRAMES {
            let Some(slot) = self.heard.get_mut(index) else { continue };
            // After a fault a report may be late.
            let late = if now < self.excused_until { DUE * 100 } else { DUE + self.setup.latency };
            let due = |heard: &Heard| heard.end() + late + self.lag * 2 <= now;
            if let Some(heard) = slot.take_if(|heard| due(heard)) {
                self.judge_heard(now, &heard);
            }
        }
    }

    fn judge_heard(&mut self, now: Instant, heard: &Heard) {
        if self.is_excused(heard.end()) {
            return;
        }
        let passes = heard.intact && (!self.auto_ack || heard.passes);
        let requests = self.auto_ack && heard.frame.requests_ack();
        match heard.expect {
            Expect::Must(rule) if passes && heard.reported.is_none() => {
                self.fail(rule, now, "a frame was not reported");
            }
            Expect::Must(_) if passes && requests && !heard.acked => {
                self.fail(Rule::Acknowledgement, now, "a frame was not acknowledged");
            }
            _ => {}
        }
        match heard.reported {
            None if heard.acked => {
                self.fail(Rule::AckedIsReported, now, "a frame was acknowledged and lost");
            }
            Some(acked) if acked != heard.acked && heard.end() > self.reset_at => {
                self.fail(Rule::AckedIsReported, now, "the report says otherwise");
            }
            _ => {}
        }
    }

    /// Returns whether the frame passes the filter, or passed a former one until recently.
    fn may_pass(&self, heard: &Heard) -> bool {
        let recently = heard.preamble() < self.filter_at + self.settle();
        let passes = |filter: &Filter| heard.frame.passes(filter);
        !self.auto_ack
            || passes(&self.filter)
            || recently && passes(&self.former_filter)
            || heard.preamble() < self.filters_until
    }

    /// Handles a frame that the radio has put on the air.
    pub(crate) fn handle_sent(&mut self, now: Instant, sent: Sent, frame: &Frame) {
        let preamble = sent.sfd + OCTET - SHR_PHR;
        if preamble <= self.reset_at {
            return;
        }
        if frame.is_ack() {
            return self.handle_sent_ack(now, sent, frame);
        }
        // The reset reaches the radio later.
        let is_new = self.job.is_some_and(|job| frame.octets() == job.frame.octets());
        if !is_new && preamble <= self.reset_at + self.setup.latency {
            return;
        }
        let excused = self.is_excused(now);
        let space = self.acked_until + SIFS;
        let Some(job) = &mut self.job else {
            if !excused {
                self.fail(Rule::Truth, now, "a frame on the air that nothing had submitted");
            }
            return;
        };
        let submitted = *job;
        if job.sent.replace(sent).is_some() && !excused {
            self.fail(Rule::Truth, now, "the frame was on the air twice");
        }
        if !sent.whole && !excused {
            self.fail(Rule::Truth, now, "the frame was cut off");
        } else if frame.octets() != submitted.frame.octets() {
            self.fail(Rule::Truth, now, "another frame was on the air");
        }
        if sent.channel != submitted.channel {
            self.fail(Rule::ChannelAndPower, now, "the channel is wrong");
        }
        if !is_nearest(self.setup.power_steps_dbm, submitted.power_dbm, sent.power_dbm) {
            self.fail(Rule::ChannelAndPower, now, "the power is not the nearest");
        }
        if preamble < space && preamble + SIFS > self.acked_until {
            self.fail(Rule::Spacing, now, "a frame followed too soon");
        }
        if let Start::At(at) = submitted.start
            && far(at, sent.sfd, SYMBOL)
        {
            self.fail(Rule::Schedule, now, "the frame was not on time");
        }
        self.judge_access(now, &submitted, preamble);
        if let Some(answer) = submitted.answer.filter(|_| frame.requests_ack()) {
            let from = end_of(sent.sfd, frame) + TURNAROUND + answer.late;
            let until = from + air_time(ACK_PSDU);
            let (channel, dbm) = (sent.channel, i8::MIN);
            self.note_noise(Noise { channel, from, until, dbm, is_answer: true });
        }
    }

    fn judge_access(&mut self, now: Instant, job: &Job, preamble: Instant) {
        if job.access == Access::Immediate {
            return;
        }
        let covers = |n: &Noise| n.dbm >= LOUD_DBM && n.from <= job.at && preamble <= n.until;
        if self.noises_on(job.channel).any(covers) {
            self.fail(Rule::Access, now, "the frame was sent although the channel was busy");
        }
        if preamble < job.at + CCA {
            self.fail(Rule::Access, now, "the channel was not assessed");
        }
    }

    fn handle_sent_ack(&mut self, now: Instant, sent: Sent, frame: &Frame) {
        if self.is_excused(now) {
            return;
        }
        self.acked_until = end_of(sent.sfd, frame);
        let filter = self.filter;
        let due = |heard: &Heard| heard.end() + ACK_NOTICED;
        let near = |heard: &Heard| {
            due(heard) <= sent.sfd + ACK_ACCURACY && sent.sfd <= due(heard) + ACK_ACCURACY
        };
        let of = |heard: &Heard| {
            near(heard)
                && sent.channel == heard.channel
                && heard.frame.sequence() == frame.sequence()
        };
        // Of two frames that end together, one may not be acknowledged.
        let is_foreign = |heard: &&mut Heard| {
            !(heard.intact && heard.frame.requests_ack() && heard.frame.passes(&filter))
        };
        let candidates = self.heard.iter_mut().flatten().filter(|heard| of(heard));
        let Some(heard) = candidates.min_by_key(is_foreign) else {
            let detail = "an acknowledgement of no frame, or at a wrong time";
            return self.fail(Rule::Acknowledgement, now, detail);
        };
        heard.acked = true;
        let heard = *heard;
        if !heard.frame.requests_ack() || !heard.intact || !self.may_pass(&heard) {
            self.fail(Rule::Acknowledgement, now, "a frame that must not be acknowledged was");
        }
        if self.is_off(heard.preamble()) {
            self.fail(Rule::NothingElse, now, "a frame was acknowledged while the radio is off");
        }
        let request = heard.frame.is_data_request(self.setup.reads_secured);
        // It changes at once; the chip decides up to 12 symbols before the acknowledgement.
        let recently = sent.sfd < self.pending_at + ACK_NOTICED * 2 + self.setup.latency;
        if frame.pending() != (request && self.pending) && !(request && recently) {
            self.fail(Rule::FramePending, now, "the frame-pending bit is wrong");
        }
    }

    /// Returns whether the radio must be off at that time.
    fn is_off(&self, at: Instant) -> bool {
        self.mode == Mode::Off && self.job.is_none() && self.settled <= at
    }

    /// Returns whether the radio must draw its lowest current.
    pub(crate) fn must_sleep(&self, now: Instant) -> bool {
        // A reception that had begun is finished first.
        self.is_off(now) && self.settled + air_time(MAX_PSDU) * 2 < now && !self.is_excused(now)
    }

    /// Handles an event of the radio.
    pub(crate) fn handle_event(&mut self, now: Instant, event: Event, frame: &[u8]) {
        match event {
            Event::Received { sfd, len, rssi_dbm, lqi: _, acked } => {
                let octets = frame.get(..len.into()).unwrap_or_default();
                self.handle_received(now, sfd, octets, rssi_dbm, acked);
            }
            Event::Transmitted { sfd, ack } => {
                let Some(job) = self.end_job(now) else { return };
                match job.sent {
                    None if !self.is_excused(now) => {
                        self.fail(Rule::Truth, now, "the frame was not on the air");
                    }
                    // A radio may derive the time from that of the acknowledgement.
                    Some(sent)
                        if far(sent.sfd, sfd, self.setup.accuracy)
                            && !self.is_excused(now)
                            && job.answer.is_none_or(|answer| answer.late == Duration::ZERO) =>
                    {
                        self.fail(Rule::TimeOfSent, now, "the time of the SFD is wrong");
                    }
                    _ => {}
                }
                self.judge_ack(now, &job, ack);
            }
            Event::ChannelBusy => {
                let Some(job) = self.end_job(now) else { return };
                self.judge_busy(now, &job);
            }
            Event::Missed => {
                let Some(job) = self.end_job(now) else { return };
                self.judge_not_sent(now, &job);
                if job.start == Start::Asap {
                    self.fail(Rule::Schedule, now, "a frame without schedule was missed");
                }
            }
            _ => self.fail(Rule::OneEvent, now, "an event that no command asked for"),
        }
    }

    fn end_job(&mut self, now: Instant) -> Option<Job> {
        self.advance(now);
        let job = self.job.take();
        if job.is_none() {
            self.fail(Rule::OneEvent, now, "an event without a transmission");
        }
        let back = if self.mode == Mode::Off {
            self.settle()
        } else {
            RETURN + self.setup.latency + self.lag * 4
        };
        self.settled = self.settled.max(now + back);
        job
    }

    fn judge_not_sent(&mut self, now: Instant, job: &Job) {
        if job.sent.is_some() && !self.is_excused(now) {
            self.fail(Rule::Truth, now, "the frame was on the air");
        }
    }

    fn judge_busy(&mut self, now: Instant, job: &Job) {
        self.judge_not_sent(now, job);
        let Access::Csma(params) = job.access else {
            if job.access == Access::Immediate {
                self.fail(Rule::Access, now, "the channel was assessed although it should not");
            }
            return self.judge_loud(now, job);
        };
        let assessments = u32::from(params.max_backoffs).saturating_add(1);
        if now < job.at + CCA * assessments {
            self.fail(Rule::Access, now, "CSMA-CA gave up too early");
        }
        self.judge_loud(now, job);
    }

    /// Something must have been on the channel.
    fn judge_loud(&mut self, now: Instant, job: &Job) {
        let loud = self.noises_on(job.channel).any(|noise| noise.until > job.at);
        let frames = self.heard.iter().flatten();
        let others = frames.filter(|h| h.channel == job.channel && h.end() > job.at).count();
        if !loud && others == 0 && !self.is_excused(now) {
            self.fail(Rule::Access, now, "the channel was reported busy although it was clear");
        }
    }

    fn judge_ack(&mut self, now: Instant, job: &Job, ack: Ack) {
        let near = |heard: &Heard| heard.channel == job.channel && heard.end() > job.at;
        // Its own acknowledgement does not disturb, but that of an earlier frame may.
        let sent = job.sent.map_or(Instant::ZERO, |sent| sent.sfd);
        let disturbs =
            |noise: &Noise| noise.until > job.at && !(noise.is_answer && noise.from > sent);
        let disturbed =
            self.heard.iter().flatten().any(near) || self.noises_on(job.channel).any(disturbs);
        let expected = match job.answer {
            _ if !job.ack => Ack::NotAwaited,
            Some(Answer { pending, late, is_strange: false, intact: true, .. })
                if late < LATEST =>
            {
                Ack::Received { frame_pending: pending }
            }
            _ => Ack::Missing,
        };
        let unclear = disturbed || self.is_excused(now);
        if ack != expected && !(unclear && job.ack && ack == Ack::Missing) {
            self.fail(Rule::AckResult, now, "the result of the wait is wrong");
        }
    }

    fn handle_received(
        &mut self,
        now: Instant,
        sfd: Instant,
        octets: &[u8],
        rssi_dbm: i8,
        acked: bool,
    ) {
        let same = |heard: &Heard| heard.frame.octets() == octets && heard.sfd <= now;
        let fresh = |heard: &&mut Heard| same(heard) && heard.reported.is_none();
        // Short frames may be equal.
        let distance = |heard: &&mut Heard| {
            let apart = heard.sfd.as_micros().abs_diff(sfd.as_micros());
            (apart, heard.sfd)
        };
        let nearest = self.heard.iter_mut().flatten().filter(fresh).min_by_key(distance);
        let Some(heard) = nearest else {
            let twice = self.heard.iter().flatten().any(same);
            let detail =
                if twice { "a frame was reported twice" } else { "there was no such frame" };
            return self.fail(Rule::NothingElse, now, detail);
        };
        heard.reported = Some(acked);
        let heard = *heard;
        let elsewhere = match self.mode {
            Mode::Off => self.is_off(heard.preamble()),
            Mode::Receive(channel) => {
                channel != heard.channel && self.settled <= heard.preamble() && self.job.is_none()
            }
        };
        if !heard.intact || elsewhere || !self.may_pass(&heard) {
            self.fail(Rule::NothingElse, now, "a frame that must not be reported was");
        }
        if heard.sfd < self.window_begin {
            self.fail(Rule::Schedule, now, "a frame was received before its window");
        }
        if far(heard.sfd, sfd, self.setup.accuracy) && !self.is_excused(now) {
            self.fail(Rule::TimeOfReceived, now, "the time of the SFD is wrong");
        }
        if i16::from(rssi_dbm).abs_diff(i16::from(heard.rssi_dbm)) > STRENGTH_DB.unsigned_abs() {
            self.fail(Rule::Strength, now, "the signal strength is wrong");
        }
    }
}

/// Returns whether the times differ by more than their accuracy.
fn far(a: Instant, b: Instant, accuracy: Duration) -> bool {
    a > b + accuracy || b > a + accuracy
}

/// Returns whether no step is nearer to the requested power than the used one.
fn is_nearest(steps_dbm: &[i8], requested: i8, used: i8) -> bool {
    let distance = |dbm: i8| i16::from(dbm).abs_diff(i16::from(requested));
    steps_dbm.iter().all(|step| distance(*step) >= distance(used))
}
