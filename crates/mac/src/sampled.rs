//! A leaf that samples the channel in addition to polling: the leaf's end of coordinated sampled
//! listening (see `csl.rs`).
//!
//! Frames received at samples show the rate of the parent's clock. The leaf then listens at their
//! measured times, and no longer for the whole range by which both clocks could differ. A leaf
//! without incoming frames has no such reference: it relies on the specified accuracy of the
//! clocks, and synchronises so often that it need not listen long.

use crate::air::PREAMBLE_SFD;
use crate::config::MacConfig;
use crate::csl::{AHEAD, Csl, UNIT_US};
use crate::listening::{
    DataRequestOutcome, FromParent, Listening, Mode, OwnFrameOutcome, Situation,
};
use crate::polled::Polled;
use crate::queue::{Delivery, Kind};
use crate::rhythm::next_after;
use kinglet_radio::{Capabilities, SYMBOL};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::{self, Address};

/// Uncertainty of both ends right after synchronisation: a symbol each.
const UNCERTAINTY: Duration = Duration::from_micros(2 * SYMBOL.as_micros());
/// Accuracy of a measured drift in parts per million: one is for rounding, and one for the duration
/// of the measurement.
const STEADY_PPM: u32 = 2;
/// Time in which its error may grow by one more: 12 in an hour, which a tuning fork for 32 kHz does
/// 20 degrees from room temperature (0.034 ppm per square degree) when it warms by nine.
const AGEING_US: u64 = 300_000_000;
/// A drift that is known this accurately need not be measured.
const EXACT_PPM: u32 = 10;
/// Largest guard time on either side, in addition to [`UNCERTAINTY`]: the leaf synchronises before
/// it would need more. Guards that grow to that within 10 s (40 ppm) take 0.4 ms on average in each
/// period of a second, and a synchronisation takes some 3 ms in all of that time.
const MAX_GUARD: Duration = Duration::from_micros(400);
/// Delay between a failed synchronisation and the next attempt.
const RETRY: Duration = Duration::from_secs(1);

/// One, in parts per million.
const ONE: u32 = 1_000_000;

/// Drift of the parent's clock: it is slower than this one by `ppm` parts per million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Drift {
    ppm: i32,
    /// Its error at the measurement, and the largest error that it can reach.
    doubt: u32,
    most: u32,
    measured: Instant,
}

impl Drift {
    const NONE: Drift = Drift { ppm: 0, doubt: 0, most: 0, measured: Instant::ZERO };

    /// The drift before any measurement.
    const fn unknown(csl: &Csl) -> Self {
        let most = csl.drift_ppm as u32;
        Drift { ppm: 0, doubt: most, most, measured: Instant::ZERO }
    }

    /// Returns the drift that a frame shows which arrived `late_us` microseconds late, `age` after
    /// the synchronisation.
    fn measured(csl: &Csl, came: Instant, late_us: i32, age: Duration) -> Option<Self> {
        let age = micros(age);
        let ppm = scaled(late_us, ONE, age)?;
        let doubt = through(micros(UNCERTAINTY), ONE, 0, age)?.saturating_add(STEADY_PPM);
        // From the measured drift to the other end of the clocks' specified range.
        let most = u32::from(csl.drift_ppm).saturating_add(ppm.unsigned_abs());
        Some(Drift { ppm, doubt, most, measured: came })
    }

    /// Returns its largest error at an instant.
    fn doubt_at(self, at: Instant) -> u32 {
        let aged = (at - self.measured).as_micros() / AGEING_US;
        let aged = u32::try_from(aged).unwrap_or(u32::MAX);
        self.doubt.saturating_add(aged).min(self.most)
    }

    /// Returns `new` if it is at least as exact as `self`, otherwise `self`; or `unknown` if one of
    /// both must be wrong: a frame that was not sent for a sample arrived near one by chance, as
    /// the late response to a data request does. A leaf that accepted such a frame would listen at
    /// the wrong time, and never receive a better one.
    fn or(self, new: Self, unknown: Self) -> Self {
        let doubt = self.doubt_at(new.measured);
        match self.ppm.abs_diff(new.ppm) > doubt.saturating_add(new.doubt) {
            true => unknown,
            false if new.doubt <= doubt => new,
            false => self,
        }
    }

    /// Returns the delay of the parent's actions on this clock at an instant, `age` after the
    /// synchronisation, and the uncertainty of this delay.
    fn after(self, age: Duration, at: Instant) -> (i32, Duration) {
        let age = micros(age);
        let late_us = scaled(self.ppm, age, ONE).unwrap_or(0);
        let guard = through(age, self.doubt_at(at), ONE.saturating_sub(1), ONE).unwrap_or(0);
        (late_us, UNCERTAINTY + Duration::from_micros(guard.into()))
    }

    /// Returns the time after a synchronisation at which the guard is [`MAX_GUARD`].
    fn good_for(self, now: Instant) -> Duration {
        let good = through(micros(MAX_GUARD), ONE, 0, self.doubt_at(now));
        good.map_or(Duration::MAX, |us| Duration::from_micros(us.into()))
    }
}

/// Converts to 32 bits: a synchronisation is always less than 71 minutes ago.
fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// Returns `value` times `by`, plus `plus`, divided by `through`.
#[inline(never)]
fn through(value: u32, by: u32, plus: u32, through: u32) -> Option<u32> {
    // Less than 2^64.
    let product = u64::from(value).wrapping_mul(by.into()).wrapping_add(plus.into());
    Some(u32::try_from(product.checked_div(through.into())?).unwrap_or(u32::MAX))
}

/// Returns `value` times `by` divided by `through`, rounded towards zero.
fn scaled(value: i32, by: u32, through: u32) -> Option<i32> {
    let size = self::through(value.unsigned_abs(), by, 0, through)?;
    let size = i32::try_from(size).unwrap_or(i32::MAX);
    Some(if value < 0 { size.saturating_neg() } else { size })
}

/// Returns the instant `late_us` microseconds after `at`.
fn shifted(at: Instant, late_us: i32) -> Instant {
    let by = Duration::from_micros(late_us.unsigned_abs().into());
    if late_us < 0 { at - by } else { at + by }
}

/// The radio is on for an instant in every period of [`MacConfig::csl`] and for responses to data
/// requests; always if [`MacConfig::rx_on_when_idle`] is set. A device that decides at run time
/// uses this type, too: without a period it is [`Polled`].
pub struct Sampled {
    polled: Polled,
    sampling: Sampling,
}

/// Sampling schedule of a leaf.
struct Sampling {
    /// The device that knows the schedule.
    parent: Address,
    /// The next one, or the last one before the first synchronisation.
    sample: Instant,
    /// Time of the parent's last acknowledgement.
    synced: Option<Instant>,
    /// Time of the next synchronisation; `None` while one is in progress.
    sync_at: Option<Instant>,
    drift: Drift,
    /// Start and end of listening for the next sample, if the parent knows of it: computed from the
    /// other fields when they change.
    window: Option<(Instant, Instant)>,
}

impl Listening for Sampled {
    const NEW: Self = Sampled { polled: Polled::NEW, sampling: Sampling::NONE };
    const SLEEPS: bool = true;

    fn mode(&self, situation: &Situation<'_>) -> Mode {
        match (self.polled.mode(situation), self.sampling.window) {
            (Mode::Off, Some((from, until))) => Mode::Sample(from, until),
            (mode, _) => mode,
        }
    }

    fn is_idle(&self) -> bool {
        self.polled.is_idle()
    }

    fn awaits_frame(&self) -> bool {
        self.polled.awaits_frame()
    }

    fn may_ask(&self) -> bool {
        self.polled.may_ask()
    }

    fn asked(&mut self) {
        self.polled.asked();
    }

    fn poll_outcome(&mut self) -> Option<DataRequestOutcome> {
        self.polled.poll_outcome()
    }

    fn set_parent(
        &mut self,
        now: Instant,
        config: &MacConfig<()>,
        radio: Capabilities,
        parent: Option<Address>,
    ) -> bool {
        let Some(parent) = parent else {
            self.sampling = Sampling::NONE;
            return false;
        };
        let able = radio.contains(Capabilities::SCHEDULED) && parent.is_unicast();
        let Some(csl) = config.csl.filter(|_| able) else { return false };
        if self.sampling.parent != parent {
            let (sync_at, drift) = (Some(now), Drift::unknown(&csl));
            self.sampling = Sampling { parent, sample: now, sync_at, drift, ..Sampling::NONE };
        }
        true
    }

    fn is_sampling(&self) -> bool {
        self.sampling.synced.is_some()
    }

    fn is_learning_drift(&self) -> bool {
        self.is_sampling() && self.sampling.drift.doubt > EXACT_PPM
    }

    fn takes_again(&mut self, src: Address, sequence: u8, payload: &[u8]) -> bool {
        self.polled.takes_again(src, sequence, payload)
    }

    fn handle_frame(&mut self, now: Instant, config: &MacConfig<()>, frame: &FromParent) -> bool {
        let unasked = self.polled.is_idle() && frame.src == self.sampling.parent;
        if unasked
            && !frame.copied
            && let Some(csl) = &config.csl
        {
            self.sampling.learn_drift(csl, frame.sfd - PREAMBLE_SFD);
        }
        // More frames follow, as after a data request.
        if unasked && frame.more && self.is_sampling() && frame.may_send {
            self.polled.go_on(now, config, frame.src, frame.more);
        }
        !unasked && self.polled.handle_frame(now, config, frame)
    }

    fn handle_sent(&mut self, now: Instant, config: &MacConfig<()>, frame: &OwnFrameOutcome) {
        match frame.kind {
            Kind::Sync => self.sampling.synchronised(now, config, frame),
            _ => self.polled.handle_sent(now, config, frame),
        }
    }

    fn poll_sync(&mut self, now: Instant) -> Option<Address> {
        let is_due = self.sampling.sync_at.is_some_and(|at| now >= at);
        is_due.then_some(self.sampling.parent)
    }

    fn sync_queued(&mut self, now: Instant, queued: bool) {
        self.sampling.sync_at = if queued { None } else { Some(now + RETRY) };
    }

    fn sync(&self, now: Instant, config: &MacConfig<()>) -> Option<(ieee802154::Csl, Instant)> {
        let csl = config.csl?;
        let begin = now + AHEAD;
        let sample = next_after(self.sampling.sample, csl.period, begin);
        let units = |time: Duration| u16::try_from(time.as_micros() / UNIT_US).ok();
        let (phase, period) = (units(sample - begin)?, units(csl.period)?);
        let first_symbol = sample - Duration::from_micros(u64::from(phase).saturating_mul(UNIT_US));
        Some((ieee802154::Csl { phase, period }, first_symbol + PREAMBLE_SFD))
    }

    fn is_parent(&self, dst: Address) -> bool {
        self.sampling.parent == dst
    }

    fn deadline(&self) -> Option<Instant> {
        let sample = self.sampling.window.map(|(_, until)| until);
        earliest(earliest(sample, self.sampling.sync_at), self.polled.deadline())
    }

    fn handle_deadline(&mut self, now: Instant, config: &MacConfig<()>) -> bool {
        self.sampling.handle_deadline(now, config);
        self.polled.handle_deadline(now, config)
    }
}

impl Sampling {
    const NONE: Sampling = Sampling {
        parent: Address::None,
        sample: Instant::ZERO,
        synced: None,
        sync_at: None,
        drift: Drift::NONE,
        window: None,
    };

    /// Computes the listening window for the next sample.
    fn find_window(&mut self) {
        let Sampling { sample, synced, drift, .. } = *self;
        self.window = synced.map(|synced| {
            let (late_us, guard) = drift.after(sample - synced, sample);
            let sample = shifted(sample, late_us);
            (sample - guard, sample + PREAMBLE_SFD + guard)
        });
    }

    /// Updates the drift from a frame of the parent that arrived without a data request. Its
    /// distance from the nearest sample is the drift of the clocks since the synchronisation.
    fn learn_drift(&mut self, csl: &Csl, came: Instant) {
        if let Some(measured) = self.drift_shown_by(csl, came) {
            self.drift = self.drift.or(measured, Drift::unknown(csl));
            self.find_window();
        }
    }

    fn drift_shown_by(&self, csl: &Csl, came: Instant) -> Option<Drift> {
        let synced = self.synced?;
        // Half a period later it would have arrived `rest` after a sample.
        let (period, half) = (csl.period.as_micros(), csl.period / 2);
        let shifted = came + half;
        let rest = match shifted.checked_since(self.sample) {
            Some(after) => after.as_micros().checked_rem(period)?,
            None => match (self.sample - shifted).as_micros().checked_rem(period)? {
                0 => 0,
                before => period.saturating_sub(before),
            },
        };
        let late_us = i32::try_from(rest).ok()?.checked_sub_unsigned(micros(half))?;
        let age = came.checked_since(synced)?;
        // If it is farther from the sample than clocks can drift, it was not sent for one.
        let (_, most) = Drift::unknown(csl).after(age, came);
        if late_us.unsigned_abs() > micros(most) {
            return None;
        }
        Drift::measured(csl, came, late_us, age)
    }

    /// Handles the result of a synchronisation: the parent has received this device's schedule, or
    /// not.
    fn synchronised(&mut self, now: Instant, config: &MacConfig<()>, frame: &OwnFrameOutcome) {
        let Some(csl) = config.csl.filter(|_| frame.dst == self.parent) else { return };
        let heard = frame.result == Delivery::Delivered;
        self.synced = heard.then_some(now);
        let after = match heard {
            false => RETRY,
            true => self.drift.good_for(now).max(csl.period).min(csl.sync_interval),
        };
        self.sync_at = Some(now + after);
        // The next one that can still be prepared.
        self.sample = next_after(self.sample, csl.period, now + AHEAD);
        self.find_window();
    }

    /// Advances to the next sample when one has passed.
    fn handle_deadline(&mut self, now: Instant, config: &MacConfig<()>) {
        let (Some(csl), Some((_, until))) = (config.csl, self.window) else { return };
        let Sampling { sample, synced: Some(synced), drift, .. } = *self else { return };
        if now >= until {
            // With a parent whose clock is fast that is before the sample itself, and so are the
            // following ones: the next one must be as far ahead as that.
            let (late_us, _) = drift.after(now - synced, now);
            let ahead = Duration::from_micros(late_us.min(0).unsigned_abs().into());
            let later = (now + ahead).max(sample) + Duration::from_micros(1);
            self.sample = next_after(sample, csl.period, later);
            self.find_window();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_late_or_early_for_the_nearest_sample() {
        let (period, sync_interval) = (Duration::from_millis(100), Duration::from_secs(50));
        let csl = Csl { period, drift_ppm: 80, sync_interval };
        let synced = Instant::from_secs(10);
        let sampling = |sample| Sampling { sample, synced: Some(synced), ..Sampling::NONE };
        // After 10 s clocks are at most 0.8 ms apart.
        let came = synced + Duration::from_secs(10);
        for late_us in [-700_i32, -1, 0, 1, 700] {
            for periods in [-3, -1, 0, 1, 3] {
                let by = late_us + periods * 100_000;
                let drift = sampling(shifted(came, -by)).drift_shown_by(&csl, came);
                assert_eq!(drift.map(|drift| drift.ppm), Some(late_us / 10), "{by}");
            }
        }
        let far = sampling(shifted(came, -50_000)).drift_shown_by(&csl, came);
        assert_eq!(far, None);
    }

    #[test]
    fn however_late_the_next_sample_is_still_to_come() {
        let (period, sync_interval) = (Duration::from_millis(100), Duration::from_secs(50));
        let csl = Some(Csl { period, drift_ppm: 80, sync_interval });
        let config = MacConfig { csl, ..MacConfig::DEFAULT }.unsecured();
        let (synced, hour) = (Instant::from_secs(10), Duration::from_secs(3_600));
        // With a fast clock, frames after an hour arrive 2.9 periods before their samples.
        for ppm in [-80, 0, 80] {
            let mut sampling = Sampling {
                parent: Address::Short(2),
                sample: synced + period,
                synced: Some(synced),
                sync_at: None,
                drift: Drift { ppm, doubt: 3, most: 3, measured: synced },
                window: None,
            };
            sampling.find_window();
            for now in [sampling.window.unwrap().1, synced + hour] {
                sampling.handle_deadline(now, &config);
                let (_, until) = sampling.window.unwrap();
                assert!(until > now, "{ppm}: until {until:?} at {now:?}");
            }
        }
    }
}
