//! A reference model of the unslotted CSMA-CA of IEEE 802.15.4 (6.2.5.1) at 2.4 GHz O-QPSK.
//!
//! Some saturated senders send acknowledged frames to one sink. All stations are in range of each
//! other, and there is no noise. The author wrote the model from the standard without having seen
//! the simulator. It shares no code with the simulator and must not: it knows intervals on the air
//! and the rules of the standard, but no radios or queues.
//!
//! All times are whole microseconds. Intervals are half open: a frame that begins in the instant in
//! which another ends does not overlap it, and the order of simultaneous events does not matter.

/// One octet at 250 kb/s.
pub(super) const OCTET_US: u64 = 32;
/// Preamble, start of frame delimiter and PHY header, which precede every PSDU.
pub(super) const HEADER_US: u64 = 192;
/// aUnitBackoffPeriod, 20 symbols.
pub(super) const BACKOFF_US: u64 = 320;
/// The window of a clear channel assessment, 8 symbols.
pub(super) const ASSESSMENT_US: u64 = 128;
/// From the last symbol of a frame to the first of its ACK, 12 symbols.
pub(super) const ACK_TURNAROUND_US: u64 = 192;
/// An ACK on the air: the header and 5 octets.
pub(super) const ACK_US: u64 = HEADER_US + 5 * OCTET_US;
/// macAckWaitDuration, 54 symbols from the last symbol of the frame.
pub(super) const ACK_WAIT_US: u64 = 864;
/// The interframe spacing after frames of up to `SIFS_OCTETS` and after longer ones.
pub(super) const SIFS_US: u64 = 192;
pub(super) const LIFS_US: u64 = 640;
/// aMaxSIFSFrameSize.
pub(super) const SIFS_OCTETS: u32 = 18;
/// Senders begin at a uniform instant below this, so that their symbols are not aligned.
pub(super) const PHASE_US: u64 = 10_000;

/// Parameters of the model. `min_be` and `max_be` are at most 8, as in the standard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AirConfig {
    pub(super) senders: usize,
    /// Octets of the PSDU, with the FCS.
    pub(super) psdu: u32,
    pub(super) min_be: u8,
    pub(super) max_be: u8,
    pub(super) max_backoffs: u8,
    /// Retries of a frame after an attempt that failed for either reason.
    pub(super) max_frame_retries: u8,
    /// Time from the end of a backoff until the radio begins the assessment.
    pub(super) prepare_us: u64,
    /// Time from the end of a clear assessment to the first symbol of the frame.
    pub(super) turnaround_us: u64,
    /// An assessment is busy if its window holds more signal than this: a signal 20 dB above the
    /// threshold raises the average over it within a hundredth of the window (1.28 us).
    pub(super) unheard_us: u64,
    pub(super) seconds: u64,
    pub(super) seed: u64,
}

impl Default for AirConfig {
    fn default() -> Self {
        AirConfig {
            senders: 1,
            psdu: 60,
            min_be: 3,
            max_be: 5,
            max_backoffs: 4,
            max_frame_retries: 3,
            prepare_us: 0,
            turnaround_us: 192,
            unheard_us: 1,
            seconds: 600,
            seed: 1,
        }
    }
}

impl AirConfig {
    /// Time for which a data frame is on the air.
    pub(super) fn frame_us(&self) -> u64 {
        HEADER_US + OCTET_US * u64::from(self.psdu)
    }

    /// Spacing between the last symbol of an ACK and the sender's next CSMA-CA.
    pub(super) fn spacing_us(&self) -> u64 {
        if self.psdu > SIFS_OCTETS { LIFS_US } else { SIFS_US }
    }
}

/// Counts from time 0, without warm-up, to the end of the run. Each sender can have one attempt
/// in progress at the end, so sums agree to within the number of senders.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Frames that were acknowledged.
    pub(super) delivered: u64,
    /// Frames that were given up after the last retry.
    pub(super) dropped: u64,
    /// Runs of CSMA-CA from NB = 0, counted at their start.
    pub(super) attempts: u64,
    /// Frames sent, counted at the end of the clear assessment.
    pub(super) transmissions: u64,
    /// Transmissions without an ACK, counted at the end of the wait.
    pub(super) unacknowledged: u64,
    /// Runs of CSMA-CA that ended with a channel access failure.
    pub(super) access_failures: u64,
    /// Senders * run time / (delivered + dropped): the time of a frame including all spacing.
    pub(super) mean_cycle_us: f64,
}

/// SplitMix64. Each sender has its own, so draws do not depend on the order of events.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    pub(super) fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..bound: exactly so for powers of two, to within 2^-50 for the phases.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }
}

/// Next event of a sender.
#[derive(Clone, Copy, Debug)]
enum Event {
    Assessed,
    FrameSent,
    AckOver,
    WaitOver,
}

/// A sender always has exactly one pending event, so no queue is needed.
#[derive(Clone, Debug)]
struct Sender {
    at: u64,
    event: Event,
    backoffs: u8,
    exponent: u8,
    retries: u8,
    random: Random,
}

/// One interval of signal. The source may be the sink, whose number equals the number of senders.
#[derive(Clone, Copy, Debug)]
struct Signal {
    source: usize,
    begin: u64,
    end: u64,
}

struct Model<'a> {
    config: &'a AirConfig,
    senders: Vec<Sender>,
    /// Future, present and recent signals.
    air: Vec<Signal>,
    /// End of the sink's last ACK. The sink is deaf from the end of a frame until then.
    deaf_until: u64,
    outcome: Outcome,
}

/// Runs the model, including events at the very end.
pub(super) fn run(config: &AirConfig) -> Outcome {
    let run_us = config.seconds * 1_000_000;
    let mut model = Model::new(config);
    while let Some(who) = model.first() {
        let now = model.senders[who].at;
        if now > run_us {
            break;
        }
        match model.senders[who].event {
            Event::Assessed => model.assessment_end(who, now),
            Event::FrameSent => model.frame_end(who, now),
            Event::AckOver => model.ack_end(who, now),
            Event::WaitOver => model.wait_end(who, now),
        }
    }
    let mut outcome = model.outcome;
    let frames = outcome.delivered + outcome.dropped;
    if frames > 0 {
        outcome.mean_cycle_us = config.senders as f64 * run_us as f64 / frames as f64;
    }
    outcome
}

impl<'a> Model<'a> {
    fn new(config: &'a AirConfig) -> Self {
        let mut model = Model {
            config,
            senders: Vec::with_capacity(config.senders),
            air: Vec::new(),
            deaf_until: 0,
            outcome: Outcome::default(),
        };
        let mut seeds = Random::new(config.seed);
        for who in 0..config.senders {
            let mut random = Random::new(seeds.draw());
            let phase = random.below(PHASE_US);
            model.senders.push(Sender {
                at: phase,
                event: Event::Assessed,
                backoffs: 0,
                exponent: 0,
                retries: 0,
                random,
            });
            model.begin_frame(who, phase);
        }
        model
    }

    /// Sender with the earliest event. For some twenty senders a scan is faster than a heap.
    fn first(&self) -> Option<usize> {
        let numbered = self.senders.iter().enumerate();
        numbered.min_by_key(|(_, sender)| sender.at).map(|(who, _)| who)
    }

    fn plan(&mut self, who: usize, at: u64, event: Event) {
        self.senders[who].at = at;
        self.senders[who].event = event;
    }

    fn begin_frame(&mut self, who: usize, at: u64) {
        self.senders[who].retries = 0;
        self.begin_attempt(who, at);
    }

    fn begin_attempt(&mut self, who: usize, at: u64) {
        self.outcome.attempts += 1;
        self.senders[who].backoffs = 0;
        self.senders[who].exponent = self.config.min_be;
        self.back_off(who, at);
    }

    fn back_off(&mut self, who: usize, at: u64) {
        let sender = &mut self.senders[who];
        let periods = sender.random.below(1 << sender.exponent);
        let begin = at + periods * BACKOFF_US + self.config.prepare_us;
        self.plan(who, begin + ASSESSMENT_US, Event::Assessed);
    }

    fn assessment_end(&mut self, who: usize, now: u64) {
        if self.heard(who, now - ASSESSMENT_US, now) <= self.config.unheard_us {
            self.outcome.transmissions += 1;
            let begin = now + self.config.turnaround_us;
            let end = begin + self.config.frame_us();
            self.emit(Signal { source: who, begin, end }, now);
            self.plan(who, end, Event::FrameSent);
            return;
        }
        let sender = &mut self.senders[who];
        if sender.backoffs >= self.config.max_backoffs {
            self.outcome.access_failures += 1;
            self.attempt_failed(who, now);
        } else {
            sender.backoffs += 1;
            sender.exponent = (sender.exponent + 1).min(self.config.max_be);
            self.back_off(who, now);
        }
    }

    /// Decides whether the sink received the frame. All signals that overlap it are known, because
    /// a signal is recorded at its first symbol at the latest.
    fn frame_end(&mut self, who: usize, now: u64) {
        let begin = now - self.config.frame_us();
        if begin < self.deaf_until || self.heard(who, begin, now) > 0 {
            self.plan(who, now + ACK_WAIT_US, Event::WaitOver);
            return;
        }
        let begin = now + ACK_TURNAROUND_US;
        let end = begin + ACK_US;
        self.emit(Signal { source: self.sink(), begin, end }, now);
        // A received frame began after the previous ACK, so one bound is enough for all ACKs.
        self.deaf_until = end;
        self.plan(who, end, Event::AckOver);
    }

    fn ack_end(&mut self, who: usize, now: u64) {
        if self.heard(self.sink(), now - ACK_US, now) > 0 {
            let frame_end = now - ACK_US - ACK_TURNAROUND_US;
            self.plan(who, frame_end + ACK_WAIT_US, Event::WaitOver);
            return;
        }
        self.outcome.delivered += 1;
        self.begin_frame(who, now + self.config.spacing_us());
    }

    /// The wait was longer than any spacing, so the next attempt begins at once.
    fn wait_end(&mut self, who: usize, now: u64) {
        self.outcome.unacknowledged += 1;
        self.attempt_failed(who, now);
    }

    fn attempt_failed(&mut self, who: usize, now: u64) {
        let sender = &mut self.senders[who];
        if sender.retries < self.config.max_frame_retries {
            sender.retries += 1;
            self.begin_attempt(who, now);
        } else {
            self.outcome.dropped += 1;
            self.begin_frame(who, now);
        }
    }

    fn sink(&self) -> usize {
        self.config.senders
    }

    /// Records a signal and drops those that ended before any window that can still be evaluated.
    fn emit(&mut self, signal: Signal, now: u64) {
        let longest = self.config.frame_us().max(ACK_US).max(ASSESSMENT_US);
        self.air.retain(|old| old.end + longest > now);
        self.air.push(signal);
    }

    /// Signal in a window from all sources except `who`, summed because energies add.
    fn heard(&self, who: usize, begin: u64, end: u64) -> u64 {
        let others = self.air.iter().filter(|signal| signal.source != who);
        others.map(|signal| signal.end.min(end).saturating_sub(signal.begin.max(begin))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sender_takes_what_the_parts_sum_to() {
        for (psdu, prepare_us, turnaround_us) in [(60, 0, 192), (120, 0, 40), (18, 79, 192)] {
            let config = AirConfig { psdu, prepare_us, turnaround_us, ..AirConfig::default() };
            let on_air = config.frame_us() + ACK_TURNAROUND_US + ACK_US;
            let pauses = config.spacing_us() + 7 * BACKOFF_US / 2 + prepare_us + ASSESSMENT_US;
            let expected = (pauses + turnaround_us + on_air) as f64;
            let mean = run(&config).mean_cycle_us;
            // Three standard deviations of 100,000 backoffs: 733 us / sqrt(100,000) * 3.
            assert!((mean - expected).abs() < 8.0, "{psdu}: {mean} {expected}");
        }
    }

    #[test]
    fn every_transmission_is_delivered_or_not_acknowledged() {
        for senders in [2, 5, 20] {
            let config = AirConfig { senders, seconds: 60, ..AirConfig::default() };
            let outcome = run(&config);
            assert_eq!(outcome, run(&config));
            let under_way = outcome.transmissions - outcome.delivered - outcome.unacknowledged;
            assert!(under_way <= senders as u64, "{outcome:?}");
            let decided = outcome.transmissions + outcome.access_failures;
            assert!(outcome.attempts - decided <= senders as u64, "{outcome:?}");
        }
    }
}
