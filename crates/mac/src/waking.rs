//! A device that samples the channel several times a second: the receiving end of ContikiMAC (see
//! `wake.rs`).
//!
//! A wake-up is two samples. A busy channel may be a frame for this device, one for another, or
//! noise: the radio stays on until a frame is received, or until it is clear that none will be,
//! because the channel is silent for longer than a strobe ever is, or busy for longer than a frame
//! can be. After a frame with the frame-pending bit it is off until the next one of the burst is
//! due.

use crate::air::PREAMBLE_SFD;
use crate::config::MacConfig;
use crate::listening::{
    DataRequestOutcome, FromParent, Listening, Mode, OwnFrameOutcome, Situation,
};
use crate::rhythm::next_after;
use crate::stats::{WakeStats, count};
use crate::wake::{ANSWER, Admission, CHECK, LONGEST, SAMPLES, Wake, WakeUp, repetition};
use kinglet_radio::{
    ACK_NOTICED, CCA, Capabilities, Channel, LINGER, MAX_FRAME, STROBE_GAP, STROBE_LEAST, SYMBOL,
    SourceFilter,
};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::{Address, Csl};

/// Largest delay of a wake-up. A later one is skipped: the device was sending, and a neighbour that
/// knows its wake-up phase uses the next one.
const LATE: Duration = Duration::from_millis(1);
/// Interval between samples of a listening radio: the shortest silence of a strobe, that of a radio
/// that turns around at once, contains a whole sample at any offset.
const LOOK: Duration =
    Duration::from_micros(ACK_NOTICED.as_micros() + SYMBOL.as_micros() - CCA.as_micros());
/// Number of samples without a frame that span more than one silence of a strobe. A frame just
/// above the threshold is noticed only by a sample that lies within it.
const SILENT_LOOKS: u8 = 4;
/// The shortest frame of a strobe contains two whole samples: a single busy one is noise, a frame
/// of Wi-Fi for instance.
const _: () = assert!(2 * LOOK.as_micros() + CCA.as_micros() <= STROBE_LEAST.as_micros());
const _: () = assert!(
    (SILENT_LOOKS as u64 - 1) * LOOK.as_micros() > STROBE_GAP.as_micros() + CCA.as_micros()
);
/// A channel that is busy for longer than this carries noise, and no frame that can be received. An
/// oven is on for half a period of the mains, 10 ms of 50 Hz, and silent for the other half.
const NOISE: Duration = Duration::from_micros(10_000 + 2 * LONGEST.as_micros() + LOOK.as_micros());
const _: () = assert!(NOISE.as_micros() > LONGEST.as_micros() + LOOK.as_micros());
/// Lead with which the radio listens for the next frame of a burst, before its expected time: the
/// duration of preamble and SFD.
const EARLY: Duration = PREAMBLE_SFD;

/// Wakes as [`Mac::set_wake`](crate::Mac::set_wake) configures. Before that is called, `L` applies.
pub struct Waking<L> {
    inner: L,
    wake: Option<Wake>,
    stats: WakeStats,
    state: State,
    /// The next wake-up.
    next: Instant,
    /// The senders whose frames are admitted.
    admits: Admission,
    /// True if the present burst answers a burst of this device.
    is_answer: bool,
    /// True if the last frame ended a burst of several frames that is not an answer.
    may_answer: bool,
    /// In the present burst, time from the end of a frame's exchange to the next frame, if it is
    /// known.
    gap: Option<Duration>,
    /// Latest time until which frames keep it awake; `None` before the first one.
    awake_until: Option<Instant>,
    /// With channel hopping, the channel to listen on: that of the last wake-up, or that of an
    /// awaited answer.
    channel: Channel,
    /// The channel of the next wake-up, with channel hopping.
    next_channel: Channel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has not begun, or is not duty-cycled.
    Off,
    /// Off until the next wake-up.
    Asleep,
    /// The samples of a wake-up that was due at this time are to be taken.
    Due(Instant),
    /// The samples are being taken.
    Sampling,
    /// The samples have found the channel busy.
    Roused(Roused),
    /// A burst continues: the next frame is awaited from `from` until `until`.
    Burst { since: Instant, from: Instant, until: Instant },
    /// A burst has been sent to the neighbour with this short address, and it may answer, from
    /// `since` to `until`. Frames of others are ignored: an acknowledgement would suggest a wake-up
    /// at that time.
    Answered { neighbour: u16, since: Instant, until: Instant },
    /// The last frame has been received. The radio listens for its repetition by itself, in the
    /// mode set for the frame, until this time.
    Ended { reported: Mode, until: Instant },
}

/// State of the channel since the samples were busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Roused {
    since: Instant,
    /// Time of the last silent sample, or else of the wake-up.
    silent_at: Instant,
    /// Samples since the last one of a frame.
    silent: u8,
    /// True if the last sample was busy.
    busy: bool,
    /// Time of the next sample; `None` from that time on until it is taken.
    look_at: Option<Instant>,
    /// True if it is to be taken now.
    look_due: bool,
    /// Latest time of a frame.
    until: Instant,
}

impl<L> Waking<L> {
    fn wakes(&self) -> Option<Wake> {
        self.wake.filter(|wake| wake.sleeps)
    }

    /// Sets the next wake-up to the first one at or after this time.
    fn wait(&mut self, wake: Wake, not_before: Instant) {
        let wake_up = WakeUp { at: self.next, channel: self.next_channel };
        self.next = next_after(self.next, wake.period, not_before);
        if wake.channels != 0 {
            self.next_channel = wake_up.moved_to(&wake, self.next).channel;
        }
    }

    /// Sleeps until the next wake-up; those that have passed are skipped.
    fn sleep(&mut self, now: Instant, wake: Wake) {
        self.state = State::Asleep;
        (self.gap, self.awake_until) = (None, None);
        self.is_answer = false;
        self.wait(wake, now + Duration::from_micros(1));
    }

    /// Returns whether no frame is awaited.
    const fn is_asleep(&self) -> bool {
        matches!(self.state, State::Off | State::Asleep | State::Due(_) | State::Sampling)
    }

    /// Handles a frame with the frame-pending bit that began at `began`, and whose exchange ended
    /// at `ended`. Returns whether the wait is over nevertheless.
    fn follow(&mut self, now: Instant, wake: Wake, began: Instant, ended: Instant) -> bool {
        if let State::Burst { since, .. } = self.state {
            self.learn_gap(began - since);
        }
        let from = match self.gap.filter(|_| wake.sleeps_in_gaps) {
            Some(gap) => ended + (gap - EARLY),
            None => ended,
        };
        let until = self.not_longer(wake, ended, from + wake.burst_wait());
        if until <= from {
            count(&mut self.stats.endless);
            self.sleep(now, wake);
            return true;
        }
        self.state = State::Burst { since: ended, from, until };
        false
    }

    /// Returns `until`, or earlier if a frame whose exchange ended at `ended` has kept it awake for
    /// as long as a burst can last: any device can send an endless burst, or repeat a frame without
    /// end.
    fn not_longer(&mut self, wake: Wake, ended: Instant, until: Instant) -> Instant {
        until.min(*self.awake_until.get_or_insert(ended + longest_burst(wake)))
    }

    /// Records the time from the previous exchange to the last frame. If it is a repetition longer
    /// than expected, the radio may have been switched on too late for the first copy.
    fn learn_gap(&mut self, gap: Duration) {
        self.gap = Some(match self.gap {
            Some(expected) if gap > expected + STROBE_GAP + STROBE_LEAST => expected - expected / 4,
            _ => gap,
        });
    }

    fn handle_due(&mut self, now: Instant, wake: Wake) -> bool {
        if let State::Roused(roused) = &mut self.state
            && roused.look_at.is_some_and(|at| now >= at)
        {
            roused.look_at = None;
            roused.look_due = true;
        }
        match self.state {
            State::Asleep if now >= self.next => {
                if wake.sleeps {
                    self.state = State::Due(self.next);
                }
                self.channel = self.next_channel;
                self.wait(wake, now + Duration::from_micros(1));
                !wake.sleeps
            }
            State::Roused(Roused { until, .. }) if now >= until => {
                count(&mut self.stats.too_long);
                self.sleep(now, wake);
                true
            }
            State::Burst { until, .. } if now >= until => {
                count(&mut self.stats.bursts_broken);
                self.sleep(now, wake);
                true
            }
            State::Ended { until, .. } | State::Answered { until, .. } if now >= until => {
                self.sleep(now, wake);
                true
            }
            _ => false,
        }
    }
}

impl Roused {
    fn at(now: Instant, wake: Wake) -> Self {
        // The rest of the noticed frame, and as many copies as may follow.
        let until = now + repetition(MAX_FRAME) * u32::from(wake.repeats) + LONGEST;
        Roused {
            since: now,
            silent_at: now,
            silent: 0,
            busy: true,
            look_at: Some(now + LOOK),
            look_due: false,
            until,
        }
    }

    /// Handles the result of a sample; `None` if no frame can be expected any more.
    fn looked(mut self, now: Instant, busy: bool, stats: &mut WakeStats) -> Option<Self> {
        let in_frame = busy && self.busy;
        self.silent = if in_frame { 0 } else { self.silent.saturating_add(1) };
        self.busy = busy;
        if busy {
            if now - self.silent_at > NOISE {
                count(&mut stats.by_noise);
                return None;
            }
        } else {
            self.silent_at = now;
            if self.silent >= SILENT_LOOKS {
                count(&mut stats.in_vain);
                return None;
            }
        }
        self.look_at = Some(now + LOOK);
        Some(self)
    }
}

/// Returns the longest time from the end of a burst's first frame to its last one, if its sender
/// has the same settings. The sender may have needed a whole strobe until it received an
/// acknowledgement of the first frame, from which its time counts. At the end of that time it may
/// repeat a frame that announces one more, and then that one.
fn longest_burst(wake: Wake) -> Duration {
    let strobe = wake.period + CHECK + repetition(MAX_FRAME) * u32::from(wake.repeats);
    strobe + wake.burst + wake.burst_wait() * 2
}

/// Returns the first wake-up. Neighbours that were switched on together wake at different times,
/// because their addresses differ: the golden ratio spreads consecutive addresses.
fn first(now: Instant, wake: Wake, config: &MacConfig<()>) -> Instant {
    let [.., a, b, c] = config.extended;
    // The short address may be a part of the extended one: a sum of both still differs.
    let name = u32::from_be_bytes([0, a, b, c]).wrapping_add(config.short.into());
    let spread = u64::from(name.wrapping_mul(0x9e37_79b9));
    let offset = wake.period.as_micros().saturating_mul(spread) >> 32;
    now + Duration::from_micros(offset.saturating_add(1))
}

impl<L: Listening> Listening for Waking<L> {
    const NEW: Self = Waking {
        inner: L::NEW,
        wake: None,
        stats: WakeStats::ZERO,
        state: State::Off,
        next: Instant::ZERO,
        admits: Admission::All,
        is_answer: false,
        may_answer: false,
        gap: None,
        awake_until: None,
        channel: <MacConfig>::DEFAULT.channel,
        next_channel: <MacConfig>::DEFAULT.channel,
    };
    const SLEEPS: bool = L::SLEEPS;
    const WAKES: bool = true;

    fn mode(&self, situation: &Situation<'_>) -> Mode {
        if self.wakes().is_none() {
            return self.inner.mode(situation);
        }
        match self.state {
            _ if situation.acknowledging => Mode::Listen,
            State::Roused(Roused { since, until, .. }) => Mode::Await(since, until),
            State::Burst { from, until, .. } | State::Answered { since: from, until, .. } => {
                Mode::Await(from, until)
            }
            State::Ended { reported, .. } => reported,
            State::Off | State::Asleep | State::Due(_) | State::Sampling => Mode::Off,
        }
    }

    fn is_idle(&self) -> bool {
        self.inner.is_idle()
    }

    fn awaits_frame(&self) -> bool {
        !self.is_asleep() || self.inner.awaits_frame()
    }

    fn may_ask(&self) -> bool {
        self.wake.is_none() && self.inner.may_ask()
    }

    fn asked(&mut self) {
        self.inner.asked();
    }

    fn poll_outcome(&mut self) -> Option<DataRequestOutcome> {
        self.inner.poll_outcome()
    }

    fn set_parent(
        &mut self,
        now: Instant,
        config: &MacConfig<()>,
        radio: Capabilities,
        parent: Option<Address>,
    ) -> bool {
        self.wake.is_none() && self.inner.set_parent(now, config, radio, parent)
    }

    fn is_sampling(&self) -> bool {
        self.inner.is_sampling()
    }

    fn is_learning_drift(&self) -> bool {
        self.inner.is_learning_drift()
    }

    fn takes_again(&mut self, src: Address, sequence: u8, payload: &[u8]) -> bool {
        self.inner.takes_again(src, sequence, payload)
    }

    fn handle_frame(&mut self, now: Instant, config: &MacConfig<()>, frame: &FromParent) -> bool {
        let Some(wake) = self.wakes() else {
            if let Some(wake) = self.wake.filter(|_| frame.more) {
                // It stays on its channel while the burst continues.
                self.wait(wake, frame.ended() + wake.burst_wait());
            }
            return self.inner.handle_frame(now, config, frame);
        };
        self.is_answer |= matches!(self.state, State::Answered { .. });
        let in_burst = matches!(self.state, State::Burst { .. });
        self.may_answer = in_burst && !frame.more && !self.is_answer;
        if frame.more {
            return self.follow(now, wake, frame.sfd - PREAMBLE_SFD, frame.ended());
        }
        let reported = match self.state {
            State::Roused(Roused { since, until, .. }) => Mode::Await(since, until),
            State::Burst { from, until, .. } | State::Answered { since: from, until, .. } => {
                Mode::Await(from, until)
            }
            State::Ended { reported, .. } => reported,
            _ => Mode::Off,
        };
        let until = self.not_longer(wake, frame.ended(), frame.ended() + LINGER);
        if reported == Mode::Off || now >= until {
            self.sleep(now, wake);
            return true;
        }
        self.state = State::Ended { reported, until };
        false
    }

    fn handle_broadcast(&mut self, now: Instant) -> bool {
        let roused = matches!(self.state, State::Roused(_));
        let Some(wake) = self.wakes().filter(|_| roused) else { return false };
        self.sleep(now, wake);
        true
    }

    fn handle_sent(&mut self, now: Instant, config: &MacConfig<()>, frame: &OwnFrameOutcome) {
        self.inner.handle_sent(now, config, frame);
    }

    fn poll_sync(&mut self, now: Instant) -> Option<Address> {
        self.inner.poll_sync(now)
    }

    fn sync_queued(&mut self, now: Instant, queued: bool) {
        self.inner.sync_queued(now, queued);
    }

    fn sync(&self, now: Instant, config: &MacConfig<()>) -> Option<(Csl, Instant)> {
        self.inner.sync(now, config)
    }

    fn is_parent(&self, dst: Address) -> bool {
        self.inner.is_parent(dst)
    }

    fn set_wake(&mut self, wake: Option<Wake>) {
        self.wake = wake;
        self.state = State::Off;
        (self.is_answer, self.may_answer) = (false, false);
        (self.gap, self.awake_until) = (None, None);
    }

    fn admit(&mut self, now: Instant, neighbour: Admission) -> bool {
        let before = core::mem::replace(&mut self.admits, neighbour);
        let listens = !self.is_asleep();
        // The sender of the present burst is not known here: an admitted one tries again.
        let refuses = before != neighbour && neighbour != Admission::All;
        match self.wakes().filter(|_| refuses && listens) {
            Some(wake) => {
                count(&mut self.stats.refused);
                self.sleep(now, wake);
                true
            }
            None => false,
        }
    }

    fn source_filter(&self) -> SourceFilter {
        match self.state {
            State::Answered { neighbour, .. } => SourceFilter::Only(neighbour),
            _ => self.admits.source_filter(),
        }
    }

    fn channel(&self) -> Option<Channel> {
        let goes_round = self.state != State::Off && self.wake?.channels != 0;
        goes_round.then_some(self.channel)
    }

    fn await_answer(&mut self, now: Instant, neighbour: u16, channel: Option<Channel>) {
        let admitted =
            self.admits != Admission::None && self.admits.source_filter().accepts(Some(neighbour));
        if self.wakes().is_some() && admitted && self.is_asleep() {
            self.state = State::Answered { neighbour, since: now, until: now + ANSWER };
            self.channel = channel.unwrap_or(self.channel);
        }
    }

    fn may_answer(&self) -> bool {
        self.may_answer
    }

    fn wake_stats(&self) -> Option<&WakeStats> {
        Some(&self.stats)
    }

    fn poll_sense(&mut self, now: Instant, config: &MacConfig<()>) -> Option<u8> {
        let wake = self.wake.filter(|wake| wake.sleeps || wake.channels != 0)?;
        match &mut self.state {
            State::Off => {
                self.next = first(now, wake, config);
                self.state = State::Asleep;
                (self.channel, self.next_channel) = (config.channel, config.channel);
                None
            }
            State::Due(at) if now > *at + LATE || self.admits == Admission::None => {
                self.sleep(now, wake);
                None
            }
            State::Due(_) => {
                count(&mut self.stats.wake_ups);
                self.state = State::Sampling;
                Some(SAMPLES)
            }
            State::Roused(roused) if roused.look_due => {
                roused.look_due = false;
                Some(1)
            }
            _ => None,
        }
    }

    fn handle_sensed(&mut self, now: Instant, busy: bool) -> bool {
        let Some(wake) = self.wakes() else { return false };
        match self.state {
            State::Sampling if busy => {
                count(&mut self.stats.roused);
                self.state = State::Roused(Roused::at(now, wake));
                false
            }
            State::Sampling => {
                self.sleep(now, wake);
                true
            }
            State::Roused(roused) => match roused.looked(now, busy, &mut self.stats) {
                Some(roused) => {
                    self.state = State::Roused(roused);
                    false
                }
                None => {
                    self.sleep(now, wake);
                    true
                }
            },
            _ => false,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let own = match self.state {
            State::Asleep => Some(self.next),
            State::Off | State::Due(_) | State::Sampling => None,
            State::Roused(Roused { look_at, until, .. }) => earliest(look_at, Some(until)),
            State::Burst { until, .. }
            | State::Answered { until, .. }
            | State::Ended { until, .. } => Some(until),
        };
        earliest(own, self.inner.deadline())
    }

    fn handle_deadline(&mut self, now: Instant, config: &MacConfig<()>) -> bool {
        let ended = self.wake.is_some_and(|wake| self.handle_due(now, wake));
        self.inner.handle_deadline(now, config) || ended
    }
}
