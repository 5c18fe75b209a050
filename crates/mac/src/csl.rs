//! Coordinated sampled listening (IEEE 802.15.4-2015, 6.12.2), as Thread uses it: a leaf listens
//! for an instant in every period, and its parent, which knows when, sends at one of these
//! instants. No data request is needed; the leaf only tells the time again, before the clocks have
//! drifted too far apart, by an empty frame with a CSL IE.
//!
//! A *sample* is the instant of the first symbol of a frame that the leaf would hear.
//!
//! Frames that come at samples show how fast the parent's clock goes. The leaf then listens where
//! they come, and no longer for as long as its own and any parent's clock could differ. To a leaf
//! for which nothing comes nobody tells the time: it goes by what the clocks are specified for, and
//! synchronises so often that it need not listen long.

use crate::acknowledge::PREAMBLE_SFD;
use crate::data_request::DataRequest;
use crate::indirect::Sleepers;
use crate::mac::{Mac, Sizes, TxState};
use crate::queue::{Delivery, Kind, Token};
use crate::receive::Heard;
use kinglet_mem::Array;
use kinglet_radio::{Capabilities, SYMBOL};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::{self, Address, FrameType, Repr, Version};

/// The unit of phase and period: ten symbols.
const UNIT_US: u64 = 10 * SYMBOL.as_micros();
/// How long before a sample, or before a frame that names one, the radio gets the frame.
/// OpenThread's request-ahead time (`config/mac.h`).
const AHEAD: Duration = Duration::from_millis(2);
/// How exact both ends are right after they have synchronised: a symbol each.
const UNCERTAINTY: Duration = Duration::from_micros(2 * SYMBOL.as_micros());
/// Without a word for so long, a leaf does not sample any more (OpenThread's CSL timeout,
/// `mac.hpp`).
const TIMEOUT: Duration = Duration::from_secs(100);
/// A drift that was measured is right to so many parts per million: one is for rounding, and one
/// for what the measurement takes.
const STEADY_PPM: u64 = 2;
/// In this time it may become wrong by one more: 12 in an hour, which a tuning fork for 32 kHz does
/// 20 degrees from room temperature (0.034 ppm per square degree) when it warms by nine.
const AGEING_US: u64 = 300_000_000;
/// A drift that is known so well need not be learnt.
const EXACT_PPM: u64 = 10;
/// By how much earlier and later than [`UNCERTAINTY`] the leaf listens at the most: before it
/// would have to, it synchronises. Guards that grow to that within 10 s (40 ppm) take 0.4 ms in
/// each period of a second in the mean, and a synchronisation some 3 ms in all of that time.
const MAX_GUARD: Duration = Duration::from_micros(400);
/// How long after a failed synchronisation the next one is tried.
const RETRY: Duration = Duration::from_secs(1);

/// How a leaf samples the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csl {
    /// From one sample to the next, 10 ms to 10 s; used in multiples of 160 us.
    pub period: Duration,
    /// How far both clocks may drift apart, in parts per million: the sum of what their crystals
    /// are specified for. Decides how much earlier and longer than needed the leaf listens until
    /// it has measured how far they do.
    pub drift_ppm: u16,
    /// After what time the leaf synchronises again at the latest, 1 to 50 s; earlier if the clocks
    /// may be 0.4 ms apart by then for all that is known, but not more than once in a period.
    pub sync_interval: Duration,
}

impl Csl {
    /// The nearest possible one.
    pub(crate) const fn clamped(self) -> Self {
        let units = in_range(self.period.as_micros() / UNIT_US, 63, 62_500);
        let sync = in_range(self.sync_interval.as_micros(), 1_000_000, 50_000_000);
        Csl {
            period: Duration::from_micros(units.saturating_mul(UNIT_US)),
            drift_ppm: self.drift_ppm,
            sync_interval: Duration::from_micros(sync),
        }
    }
}

const fn in_range(value: u64, low: u64, high: u64) -> u64 {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

/// By how much the parent's clock is slower than this one, in parts per million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Drift {
    ppm: i64,
    /// How wrong that was when it was measured, and how wrong it can become.
    doubt: u64,
    most: u64,
    measured: Instant,
}

impl Drift {
    const NONE: Drift = Drift { ppm: 0, doubt: 0, most: 0, measured: Instant::ZERO };

    /// Before anything is measured.
    const fn unknown(csl: &Csl) -> Self {
        let most = csl.drift_ppm as u64;
        Drift { ppm: 0, doubt: most, most, measured: Instant::ZERO }
    }

    /// A frame came so many microseconds late, `age` after the synchronisation.
    fn measured(csl: &Csl, came: Instant, late_us: i64, age: Duration) -> Option<Self> {
        let age = i64::try_from(age.as_micros()).ok()?;
        let ppm = late_us.saturating_mul(1_000_000).checked_div(age)?;
        let spread = UNCERTAINTY.as_micros().saturating_mul(1_000_000);
        let doubt = spread.checked_div(age.unsigned_abs())?.saturating_add(STEADY_PPM);
        // From there to the other end of what the clocks are specified for.
        let most = u64::from(csl.drift_ppm).saturating_add(ppm.unsigned_abs());
        Some(Drift { ppm, doubt, most, measured: came })
    }

    /// How wrong it may be at an instant.
    fn doubt_at(self, at: Instant) -> u64 {
        let aged = (at - self.measured).as_micros() / AGEING_US;
        self.doubt.saturating_add(aged).min(self.most)
    }

    /// This, or `new` if that is at least as exact, or `unknown` if one of both must be wrong: a
    /// frame that was not sent for a sample came near one by chance, as the late answer to a data
    /// request does. Whoever believed such a frame would listen where nothing comes, and never hear
    /// better.
    fn or(self, new: Self, unknown: Self) -> Self {
        let doubt = self.doubt_at(new.measured);
        match self.ppm.abs_diff(new.ppm) > doubt.saturating_add(new.doubt) {
            true => unknown,
            false if new.doubt <= doubt => new,
            false => self,
        }
    }

    /// By how much later than its clock says what the parent does comes at an instant, `age` after
    /// the synchronisation, and how much earlier or later still.
    fn after(self, age: Duration, at: Instant) -> (i64, Duration) {
        let age = age.as_micros();
        let late = self.ppm.saturating_mul(i64::try_from(age).unwrap_or(i64::MAX));
        let guard = age.saturating_mul(self.doubt_at(at)).div_ceil(1_000_000);
        (late.checked_div(1_000_000).unwrap_or(0), UNCERTAINTY + Duration::from_micros(guard))
    }

    /// How long after a synchronisation the guard is [`MAX_GUARD`].
    fn good_for(self, now: Instant) -> Duration {
        let guard = MAX_GUARD.as_micros().saturating_mul(1_000_000);
        guard.checked_div(self.doubt_at(now)).map_or(Duration::MAX, Duration::from_micros)
    }
}

/// `at`, so many microseconds later.
fn shifted(at: Instant, late_us: i64) -> Instant {
    let by = Duration::from_micros(late_us.unsigned_abs());
    if late_us < 0 { at - by } else { at + by }
}

/// A leaf's samples.
pub(crate) struct Sampling {
    /// Who knows them.
    parent: Address,
    /// The next one, or the last one before the first synchronisation.
    sample: Instant,
    /// When the parent last acknowledged.
    synced: Option<Instant>,
    /// When to synchronise; `None` while that is going on.
    sync_at: Option<Instant>,
    drift: Drift,
}

impl Sampling {
    pub(crate) const NONE: Sampling = Sampling {
        parent: Address::None,
        sample: Instant::ZERO,
        synced: None,
        sync_at: None,
        drift: Drift::NONE,
    };
}

/// The instant at or after `not_before` that is whole periods after `from`.
fn next_after(from: Instant, period: Duration, not_before: Instant) -> Instant {
    let late = (not_before - from).as_micros();
    match late.checked_rem(period.as_micros()) {
        Some(0) | None => from.max(not_before),
        Some(rest) => not_before + (period - Duration::from_micros(rest)),
    }
}

impl<S: Sizes> Mac<S> {
    /// Starts to sample the channel for `parent`, or for a new one, as soon as it knows of it.
    /// False if that is not configured or the radio cannot do anything at a given time.
    pub fn start_sampling(&mut self, now: Instant, parent: Address) -> bool {
        let able = self.capabilities.contains(Capabilities::SCHEDULED) && parent.is_unicast();
        let Some(csl) = self.config.csl.filter(|_| able) else { return false };
        if self.sampling.parent != parent {
            let (sync_at, drift) = (Some(now), Drift::unknown(&csl));
            self.sampling = Sampling { parent, sample: now, synced: None, sync_at, drift };
            self.handle_sync_deadline(now);
        }
        true
    }

    /// Ends that.
    pub fn stop_sampling(&mut self) {
        self.sampling = Sampling::NONE;
    }

    /// Whether the parent knows when this device listens.
    pub const fn is_sampling(&self) -> bool {
        self.sampling.synced.is_some()
    }

    /// Whether a frame that waits should be left to the next sample, not asked for, because its
    /// time of arrival teaches how far the clocks drift apart. That is so at the beginning only:
    /// who asks and later waits for samples again has answers that come late for TCP.
    pub const fn is_learning_drift(&self) -> bool {
        self.is_sampling() && self.sampling.drift.doubt > EXACT_PPM
    }

    /// From when to when the radio listens for the next sample.
    pub(crate) fn sample_window(&self) -> Option<(Instant, Instant)> {
        let Sampling { sample, synced, drift, .. } = self.sampling;
        let (late_us, guard) = drift.after(sample - synced?, sample);
        let sample = shifted(sample, late_us);
        Some((sample - guard, sample + PREAMBLE_SFD + guard))
    }

    /// A frame of `src` came without having been asked for. Its distance from the nearest sample is
    /// what the clocks have drifted apart since the synchronisation.
    pub(crate) fn learn_drift(&mut self, sfd: Instant, src: Address) {
        if src == self.sampling.parent
            && self.data_request == DataRequest::Idle
            && let Some(csl) = self.config.csl
            && let Some(measured) = self.drift_shown_by(&csl, sfd - PREAMBLE_SFD)
        {
            self.sampling.drift = self.sampling.drift.or(measured, Drift::unknown(&csl));
        }
    }

    fn drift_shown_by(&self, csl: &Csl, came: Instant) -> Option<Drift> {
        let synced = self.sampling.synced?;
        let signed = |us: u64| i64::try_from(us).ok();
        let period = signed(csl.period.as_micros())?;
        let half = period.checked_div(2)?;
        let after = signed(came.as_micros())?
            .checked_sub(signed(self.sampling.sample.as_micros())?)?
            .checked_add(half)?;
        let late_us = after.checked_rem_euclid(period)?.checked_sub(half)?;
        let age = came.checked_since(synced)?;
        // Farther from it than clocks can be, it was not sent for a sample.
        let (_, most) = Drift::unknown(csl).after(age, came);
        if late_us.unsigned_abs() > most.as_micros() {
            return None;
        }
        Drift::measured(csl, came, late_us, age)
    }

    /// A sample has passed.
    fn handle_sample_deadline(&mut self, now: Instant) {
        let (Some(csl), Some((_, until))) = (self.config.csl, self.sample_window()) else { return };
        let Sampling { sample, synced: Some(synced), drift, .. } = self.sampling else { return };
        if now >= until {
            // With a parent whose clock is fast that is before the sample itself, and so is what
            // follows: the next one must be as far ahead as that.
            let (late_us, _) = drift.after(now - synced, now);
            let ahead = Duration::from_micros(late_us.min(0).unsigned_abs());
            let later = (now + ahead).max(sample) + Duration::from_micros(1);
            self.sampling.sample = next_after(sample, csl.period, later);
        }
    }

    fn handle_sync_deadline(&mut self, now: Instant) {
        let parent = self.sampling.parent;
        if self.sampling.sync_at.is_none_or(|at| now < at) {
            return;
        }
        let header = self.sync_header(0);
        self.sampling.sync_at = match self.write_slot(Kind::Sync, Token(0), &header, |_| 0) {
            Ok(_) if parent.is_unicast() => {
                self.push_slot(now);
                None
            }
            _ => Some(now + RETRY),
        };
    }

    fn sync_header(&self, phase: u16) -> Repr {
        let period = self.config.csl.map_or(0, |csl| csl.period.as_micros() / UNIT_US);
        let period = u16::try_from(period).unwrap_or(u16::MAX);
        let csl = Some(ieee802154::Csl { phase, period });
        let header = self.header(FrameType::Data, self.sampling.parent, true);
        Repr { version: Version::V2015, filling: 0, csl, ..header }
    }

    /// If the head tells when this device listens: writes that for a transmission as soon as
    /// possible, and says when its SFD has to end.
    pub(crate) fn write_sync(&mut self, now: Instant) -> Option<Instant> {
        let csl = self.config.csl?;
        let begin = now + AHEAD;
        let sample = next_after(self.sampling.sample, csl.period, begin);
        let units = u16::try_from((sample - begin).as_micros() / UNIT_US).ok()?;
        let header = self.sync_header(units);
        let slot = self.queue.head_mut().filter(|slot| slot.kind == Kind::Sync)?;
        let header = Repr { sequence: slot.sequence, dst: slot.dst, ..header };
        header.emit(&mut slot.frame).ok()?;
        // It has another content than the attempt before, so it needs another counter.
        slot.secured = false;
        let first_symbol = sample - Duration::from_micros(u64::from(units).saturating_mul(UNIT_US));
        Some(first_symbol + PREAMBLE_SFD)
    }

    /// Whether the head tells somebody when this device listens who is not its parent any more.
    pub(crate) fn head_is_for_nobody(&self) -> bool {
        let parent = self.sampling.parent;
        self.queue.head().is_some_and(|slot| slot.kind == Kind::Sync && slot.dst != parent)
    }

    /// The parent has heard when this device listens, or not.
    pub(crate) fn synchronised(&mut self, now: Instant, parent: Address, result: Delivery) {
        let Some(csl) = self.config.csl.filter(|_| parent == self.sampling.parent) else { return };
        let heard = result == Delivery::Delivered;
        self.sampling.synced = heard.then_some(now);
        let after = match heard {
            false => RETRY,
            true => self.sampling.drift.good_for(now).max(csl.period).min(csl.sync_interval),
        };
        self.sampling.sync_at = Some(now + after);
        // The next one that can still be prepared.
        self.sampling.sample = next_after(self.sampling.sample, csl.period, now + AHEAD);
    }

    /// A frame of the parent came without having been asked for, and there is more: as if it had.
    pub(crate) fn promise_while_sampling(&mut self, now: Instant, src: Address, more: bool) {
        let unasked = self.data_request == DataRequest::Idle && src == self.sampling.parent;
        if more && unasked && self.is_sampling() && self.tx == TxState::Idle {
            self.data_request = self.after_answer(now, src, more);
        }
    }

    /// An indirect frame has been delivered. If it said that more is pending, and that keeps the
    /// recipient listening, the next one need not wait for a sample.
    pub(crate) fn delivered_to_sleeper(&mut self, dst: Address, more: bool) {
        if let (Address::Short(short), true) = (dst, more && self.config.indirect.burst) {
            self.sleepers.has_asked(short);
        }
    }

    /// A neighbour says when it listens.
    pub(crate) fn learn_samples(&mut self, now: Instant, sfd: Instant, frame: &Heard) {
        let (Address::Short(short), Some(csl)) = (frame.src, frame.csl) else { return };
        if csl.period > 0 && self.capabilities.contains(Capabilities::SCHEDULED) {
            let units = |n: u16| Duration::from_micros(u64::from(n).saturating_mul(UNIT_US));
            let sample = sfd - PREAMBLE_SFD + units(csl.phase);
            self.sleepers.learn(short, Samples::new(now, sample, units(csl.period)));
        }
    }

    /// A neighbour that will listen soon, and for which something is pending: send it, as
    /// [`Class::Indirect`](crate::Class::Indirect), as if it had asked.
    pub fn poll_listener(&mut self, _now: Instant) -> Option<u16> {
        self.sleepers.take_listener()
    }

    /// Whether the radio would hold a frame for this SFD for so long that others had to wait.
    pub(crate) fn is_far(now: Instant, sfd: Instant) -> bool {
        sfd > now + AHEAD * 2
    }

    /// When the SFD of a frame to `dst` has to end for `dst` to hear it, if it has not asked.
    pub(crate) fn sfd_for(&self, dst: Address) -> Option<Instant> {
        let Address::Short(short) = dst else { return None };
        Some(self.sleepers.next_sample(short)? + PREAMBLE_SFD)
    }

    /// Whether the head has to be at a certain time on the air.
    pub(crate) fn head_is_timed(&self) -> bool {
        let timed = |dst| self.sfd_for(dst).is_some();
        self.queue.head().is_some_and(|slot| slot.kind.is_indirect() && timed(slot.dst))
    }

    pub(crate) fn csl_deadline(&self) -> Option<Instant> {
        let sample = self.sample_window().map(|(_, until)| until);
        earliest(earliest(sample, self.sampling.sync_at), self.sleepers.deadline())
    }

    pub(crate) fn handle_csl_deadline(&mut self, now: Instant) {
        self.handle_sample_deadline(now);
        self.handle_sync_deadline(now);
        self.sleepers.handle_deadline(now);
    }
}

/// When a neighbour listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples {
    /// When it said so.
    heard: Instant,
    /// The next one.
    sample: Instant,
    period: Duration,
    /// For the next one the user has been asked for a frame.
    asked: bool,
    /// And has to be told so yet.
    due: bool,
}

impl Samples {
    fn new(heard: Instant, sample: Instant, period: Duration) -> Self {
        Samples { heard, sample, period, asked: false, due: false }
    }

    fn deadline(&self) -> Instant {
        if self.asked { self.sample } else { self.sample - AHEAD }
    }

    /// Goes on to the sample after `now`, and asks for a frame in time.
    fn handle_deadline(&mut self, now: Instant) {
        if now >= self.sample {
            self.sample = next_after(self.sample, self.period, now + Duration::from_micros(1));
            self.asked = false;
            self.due = false;
        }
        if !self.asked && now >= self.sample - AHEAD {
            self.asked = true;
            self.due = true;
        }
    }
}

impl<A: Array<crate::Sleeper>> Sleepers<A> {
    /// Those for whom something is pending and who say when they listen.
    fn listeners(&self) -> impl Iterator<Item = &Samples> {
        let pending = self.table().iter().filter(|entry| entry.pending);
        pending.filter_map(|entry| entry.samples.as_ref())
    }

    fn learn(&mut self, short: u16, samples: Samples) {
        if let Some(entry) = self.entry(short) {
            entry.samples = Some(samples);
        }
    }

    fn take_listener(&mut self) -> Option<u16> {
        let due = |entry: &&mut crate::Sleeper| entry.samples.is_some_and(|samples| samples.due);
        let entry = self.table_mut().iter_mut().filter(|entry| entry.pending).find(due)?;
        entry.samples.as_mut()?.due = false;
        entry.asks = false;
        Some(entry.short)
    }

    /// The neighbour has sent a data request, and listens now.
    pub(crate) fn has_asked(&mut self, short: u16) {
        let known = self.table_mut().iter_mut().find(|entry| entry.short == short);
        if let Some(entry) = known.filter(|entry| entry.in_use()) {
            entry.asks = true;
        }
    }

    fn next_sample(&self, short: u16) -> Option<Instant> {
        let fits = |entry: &&crate::Sleeper| entry.in_use() && entry.short == short;
        let entry = self.table().iter().find(fits)?;
        entry.samples.filter(|_| !entry.asks).map(|samples| samples.sample)
    }

    fn deadline(&self) -> Option<Instant> {
        self.listeners().map(Samples::deadline).min()
    }

    fn handle_deadline(&mut self, now: Instant) {
        for entry in self.table_mut() {
            if entry.samples.is_some_and(|samples| now - samples.heard > TIMEOUT) {
                entry.samples = None;
            }
            if let (Some(samples), true) = (&mut entry.samples, entry.pending) {
                samples.handle_deadline(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::tests::Plan;

    #[test]
    fn however_late_the_next_sample_is_still_to_come() {
        let (period, sync_interval) = (Duration::from_millis(100), Duration::from_secs(50));
        let csl = Some(Csl { period, drift_ppm: 80, sync_interval });
        let config = Config { short: 1, rx_on_when_idle: false, csl, ..Config::DEFAULT };
        let (synced, hour) = (Instant::from_secs(10), Duration::from_secs(3_600));
        // With a fast clock, frames after an hour come 2.9 periods before their samples.
        for ppm in [-80, 0, 80] {
            let mut mac: Mac<Plan> = Mac::new(config, Capabilities::SCHEDULED, 1);
            mac.sampling = Sampling {
                parent: Address::Short(2),
                sample: synced + period,
                synced: Some(synced),
                sync_at: None,
                drift: Drift { ppm, doubt: 3, most: 3, measured: synced },
            };
            for now in [mac.deadline().unwrap(), synced + hour] {
                mac.handle_deadline(now);
                let (_, until) = mac.sample_window().unwrap();
                assert!(until > now, "{ppm}: until {until:?} at {now:?}");
            }
        }
    }
}
