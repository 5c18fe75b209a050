//! Two saturated senders that do not receive each other, and a sink in range of both.
//!
//! The senders follow the rules of `model`, except that they sense only the ACKs of the sink. The
//! sink receives by the ratio of signal to interference and noise. Like `model`, this file shares
//! no code with any simulator. ACKs are never lost: their addressee waits, and the only other
//! signal comes from a station out of its range.

use super::model::{
    ACK_TURNAROUND_US, ACK_US, ACK_WAIT_US, ASSESSMENT_US, AirConfig, BACKOFF_US, PHASE_US, Random,
};

/// Preamble and start of frame delimiter, on which the sink synchronises.
const SYNC_US: u64 = 160;
/// 250 kb/s.
const BITS_PER_US: f64 = 0.25;
/// Bit errors count as zero from this ratio on (6 dB): their rate is below 1e-16.
const ERROR_FREE: f64 = 4.0;

/// Parameters of the model; the fields that `AirConfig` also has mean the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) psdu: u32,
    pub(super) prepare_us: u64,
    pub(super) turnaround_us: u64,
    pub(super) unheard_us: u64,
    /// Power of each sender at the sink.
    pub(super) dbm: [f64; 2],
    pub(super) noise_dbm: f64,
    /// Implementation loss: difference of the sink from the ideal receiver.
    pub(super) loss_db: f64,
    pub(super) seconds: u64,
    pub(super) seed: u64,
}

impl Default for Pair {
    fn default() -> Self {
        let config = AirConfig::default();
        Pair {
            psdu: 120,
            prepare_us: config.prepare_us,
            turnaround_us: config.turnaround_us,
            unheard_us: config.unheard_us,
            dbm: [-60.0; 2],
            noise_dbm: -105.0,
            loss_db: 0.0,
            seconds: 120,
            seed: 1,
        }
    }
}

/// IEEE 802.15.4-2006, annex E, for O-QPSK at 2.4 GHz. `sinr` is a plain ratio.
fn bit_error_rate(sinr: f64) -> f64 {
    if sinr >= ERROR_FREE {
        return 0.0;
    }
    // C(16, k) follows from C(16, k - 1), here with its sign, beginning at C(16, 1).
    let mut choose = -16.0;
    let mut sum = 0.0;
    for k in 2..=16 {
        let k = f64::from(k);
        choose *= -(17.0 - k) / k;
        sum += choose * (20.0 * sinr * (1.0 / k - 1.0)).exp();
    }
    (8.0 / 15.0 / 16.0 * sum).clamp(0.0, 0.5)
}

fn ratio(db: f64) -> f64 {
    10f64.powf(db / 10.0)
}

/// Next event of a sender. Simultaneous events are handled in this order. The order matters only
/// for `FrameBegun`: whatever ends in that instant is over, and the sink is idle or deaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Assessed,
    SyncOver,
    FrameSent,
    AckOver,
    WaitOver,
    FrameBegun,
}

#[derive(Clone, Debug)]
struct Sender {
    at: u64,
    event: Event,
    backoffs: u8,
    exponent: u8,
    retries: u8,
    /// First symbol of the last frame; it may be in the future.
    begin: u64,
    /// Probability that a bit is correct while the other sender is silent, and while it sends.
    right: [f64; 2],
    random: Random,
}

/// State of the sink; at most one of `candidate` and `held` is set.
#[derive(Clone, Debug)]
struct Sink {
    /// Sender of the preamble that the sink follows.
    candidate: Option<usize>,
    /// Sender of a frame that began meanwhile.
    rival: Option<usize>,
    /// Sender of the frame that the sink receives after a correct start of frame delimiter.
    held: Option<usize>,
    /// The last ACK. One is enough: a window in which the ACK before it was on the air ended before
    /// the frame that this one acknowledges.
    ack_begin: u64,
    ack_end: u64,
    random: Random,
}

struct Model {
    config: AirConfig,
    senders: [Sender; 2],
    sink: Sink,
    /// Source and first symbol of recent frames and of those already decided on.
    air: Vec<(usize, u64)>,
    delivered: [u64; 2],
}

/// Frames of each sender that were acknowledged in `pair.seconds`, without any warm-up.
pub(super) fn run_pair(pair: &Pair) -> [u64; 2] {
    let run_us = pair.seconds * 1_000_000;
    let mut model = Model::new(pair);
    loop {
        let [a, b] = &model.senders;
        let who = usize::from((b.at, b.event) < (a.at, a.event));
        let (now, event) = (model.senders[who].at, model.senders[who].event);
        if now > run_us {
            break;
        }
        match event {
            Event::Assessed => model.assessment_end(who, now),
            Event::FrameBegun => model.frame_begin(who, now),
            Event::SyncOver => model.sync_end(who, now),
            Event::FrameSent => model.frame_end(who, now),
            Event::AckOver => model.ack_end(who, now),
            Event::WaitOver => model.attempt_failed(who, now),
        }
    }
    model.delivered
}

impl Model {
    fn new(pair: &Pair) -> Self {
        let config = AirConfig {
            senders: 2,
            psdu: pair.psdu,
            prepare_us: pair.prepare_us,
            turnaround_us: pair.turnaround_us,
            unheard_us: pair.unheard_us,
            ..AirConfig::default()
        };
        let mut seeds = Random::new(pair.seed);
        let senders = [0, 1].map(|who| {
            let noise = ratio(pair.noise_dbm);
            let right = [0.0, ratio(pair.dbm[1 - who])].map(|interference| {
                let sinr = ratio(pair.dbm[who] - pair.loss_db) / (interference + noise);
                1.0 - bit_error_rate(sinr)
            });
            let mut random = Random::new(seeds.draw());
            let at = random.below(PHASE_US);
            let event = Event::Assessed;
            Sender { at, event, backoffs: 0, exponent: 0, retries: 0, begin: 0, right, random }
        });
        let random = Random::new(seeds.draw());
        let sink =
            Sink { candidate: None, rival: None, held: None, ack_begin: 0, ack_end: 0, random };
        let mut model = Model { config, senders, sink, air: Vec::new(), delivered: [0; 2] };
        for who in 0..2 {
            model.begin_attempt(who, model.senders[who].at);
        }
        model
    }

    fn plan(&mut self, who: usize, at: u64, event: Event) {
        (self.senders[who].at, self.senders[who].event) = (at, event);
    }

    fn begin_attempt(&mut self, who: usize, at: u64) {
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
        let begin = self.sink.ack_begin.max(now - ASSESSMENT_US);
        if self.sink.ack_end.min(now).saturating_sub(begin) <= self.config.unheard_us {
            let begin = now + self.config.turnaround_us;
            // A frame is kept as long as one that it overlapped is undecided.
            let longest = 2 * self.config.frame_us();
            self.air.retain(|&(_, old)| old + longest > now);
            self.air.push((who, begin));
            self.senders[who].begin = begin;
            self.plan(who, begin, Event::FrameBegun);
            return;
        }
        let sender = &mut self.senders[who];
        if sender.backoffs >= self.config.max_backoffs {
            self.attempt_failed(who, now);
        } else {
            sender.backoffs += 1;
            sender.exponent = (sender.exponent + 1).min(self.config.max_be);
            self.back_off(who, now);
        }
    }

    /// Follows the preamble if the sink is free. A preamble missed now is never found.
    fn frame_begin(&mut self, who: usize, now: u64) {
        self.plan(who, now + SYNC_US, Event::SyncOver);
        let sink = &mut self.sink;
        if now < sink.ack_end || sink.held.is_some() {
            return;
        }
        match sink.candidate {
            None => sink.candidate = Some(who),
            // Of two that begin at the same instant, one is drawn at random.
            Some(first) if self.senders[first].begin == now && sink.random.below(2) == 1 => {
                (sink.candidate, sink.rival) = (Some(who), Some(first));
            }
            Some(_) => sink.rival = Some(who),
        }
    }

    fn sync_end(&mut self, who: usize, now: u64) {
        let begin = self.senders[who].begin;
        self.plan(who, begin + self.config.frame_us(), Event::FrameSent);
        if self.sink.candidate != Some(who) {
            return;
        }
        let rival = self.sink.rival.take();
        self.sink.candidate = None;
        if self.survives(who, begin, now) {
            self.sink.held = Some(who);
            return;
        }
        self.sink.candidate = rival;
        // A rival that began in the same instant has its own event now or has already had it.
        if let Some(next) = rival.filter(|&next| self.senders[next].begin == begin) {
            self.sync_end(next, now);
        }
    }

    fn frame_end(&mut self, who: usize, now: u64) {
        let held = self.sink.held.take_if(|held| *held == who).is_some();
        if !held || !self.survives(who, self.senders[who].begin + SYNC_US, now) {
            self.plan(who, now + ACK_WAIT_US, Event::WaitOver);
            return;
        }
        self.sink.ack_begin = now + ACK_TURNAROUND_US;
        self.sink.ack_end = self.sink.ack_begin + ACK_US;
        self.plan(who, self.sink.ack_end, Event::AckOver);
    }

    fn ack_end(&mut self, who: usize, now: u64) {
        self.delivered[who] += 1;
        self.senders[who].retries = 0;
        self.begin_attempt(who, now + self.config.spacing_us());
    }

    fn attempt_failed(&mut self, who: usize, now: u64) {
        let sender = &mut self.senders[who];
        if sender.retries < self.config.max_frame_retries {
            sender.retries += 1;
        } else {
            sender.retries = 0;
        }
        self.begin_attempt(who, now);
    }

    /// Draws whether all bits of a window are correct. There is one interferer, of constant power,
    /// so only the disturbed share of the window matters, not its position.
    fn survives(&mut self, who: usize, begin: u64, end: u64) -> bool {
        let frame_us = self.config.frame_us();
        let others = self.air.iter().filter(|(source, _)| *source != who);
        let disturbed: u64 =
            others.map(|(_, b)| (b + frame_us).min(end).saturating_sub(begin.max(*b))).sum();
        let [alone, both] = self.senders[who].right;
        let bits = |us: u64| us as f64 * BITS_PER_US;
        let chance = alone.powf(bits(end - begin - disturbed)) * both.powf(bits(disturbed));
        // A float in 0..1 holds 53 bits.
        let draw = (self.sink.random.draw() >> 11) as f64 / (1u64 << 53) as f64;
        draw < chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_it_is_as_fast_as_the_other_model() {
        let dbm = [-60.0, -200.0];
        let [first, second] = run_pair(&Pair { dbm, ..Pair::default() });
        let config = AirConfig { psdu: 120, seconds: 120, ..AirConfig::default() };
        let alone = super::super::model::run(&config).delivered;
        // The sink does not follow the other sender's frames, so it never acknowledges them.
        assert!(first.abs_diff(alone) < 120 && second == 0, "{first} {alone} {second}");
    }

    #[test]
    fn equal_signals_share_and_a_real_receiver_gets_neither() {
        let [first, second] = run_pair(&Pair::default());
        assert!(first.abs_diff(second) < first / 10, "{first} {second}");
        let [first, second] = run_pair(&Pair { loss_db: 3.5, ..Pair::default() });
        assert!(first + second < 60, "{first} {second}");
    }
}
