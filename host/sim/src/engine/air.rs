//! Start and end of frames at the sender and at all receivers in range.

use super::Core;
use super::synchronise::survives;
use crate::ber::{PERFECT, ln_success, mw_from_dbm};
use crate::energy::RadioState;
use crate::interference::Interference;
use crate::medium::{Link, Overlap};
use crate::radio::{Lock, OnAir, Phase, Radio, Signal};
use crate::stats::Fate;
use kinglet_radio::{Channel, OCTET, air_time};

/// Bits per microsecond at 250 kb/s.
const BITS_PER_US: f64 = 0.25;

/// A frame at its start, without the state of any receiver.
#[derive(Clone, Copy)]
struct Begin {
    from: u32,
    on_air: OnAir,
    power_dbm: f32,
    /// Factor for the gain that corresponds to the output power.
    power: f64,
}

impl Core {
    /// `node` starts sending its frame, or its acknowledgement.
    pub(super) fn start_air(&mut self, node: usize, is_ack: bool) {
        let now = self.now;
        let radio = &mut self.radios[node];
        let channel = radio.channel;
        let on_air = OnAir { start: now, channel, is_ack, active: true };
        radio.air = on_air;
        let power_dbm = if self.links.power_matters { radio.power_dbm } else { 0 };
        let power = if power_dbm == 0 { 1.0 } else { mw_from_dbm(f64::from(power_dbm)) };
        let psdu = radio.sending();
        let octets = psdu.psdu_len();
        let end = now + air_time(octets).as_micros();
        self.observer.started(now, end, node, is_ack, channel, radio.power_dbm, psdu);
        self.counters[node].octets_sent += octets as u64;
        self.channel_slot(channel).0 += 1;
        let phase = if is_ack { Phase::AckAir } else { Phase::Air };
        self.enter(node, phase, end, RadioState::Transmit);
        let begin = Begin { from: node as u32, on_air, power_dbm: f32::from(power_dbm), power };
        self.links.refresh(node, now);
        for index in self.links.range(node) {
            let link = *self.links.at(index);
            if !link.cut {
                self.arrive(begin, &link);
            }
        }
    }

    /// The frame of `node` ends, whole or `truncated`.
    pub(super) fn end_air(&mut self, node: usize, truncated: bool) {
        let now = self.now;
        let radio = &mut self.radios[node];
        radio.air.active = false;
        let channel = radio.air.channel;
        let slot = self.channel_slot(channel);
        slot.0 = slot.0.saturating_sub(1);
        slot.1 = now;
        for index in self.links.range(node) {
            let to = self.links.at(index).to as usize;
            self.depart(node as u32, to, truncated);
        }
    }

    /// A frame begins at a receiver.
    fn arrive(&mut self, begin: Begin, link: &Link) {
        let node = link.to as usize;
        let from = begin.from;
        let (mw, dbm) = (link.gain_mw * begin.power, link.gain_dbm + begin.power_dbm);
        let channel = begin.on_air.channel;
        let now = self.now;
        self.before_change(node);
        let (sender, radio) = pair(&mut self.radios, from as usize, node);
        let receivable = !link.interference_only && dbm >= radio.weakest_dbm;
        let carrier = !link.interference_only && dbm >= radio.sensitivity_dbm;
        let same_channel = channel == radio.channel;
        let header = &sender.sending().header;
        let mine = receivable && header.accepted_by(&radio.filter).0;
        if same_channel {
            for lock in [&mut radio.lock, &mut radio.rival].into_iter().flatten() {
                lock.interfered = true;
                if lock.undisturbed {
                    lock.synchronised = lock.is_found(now);
                    lock.undisturbed = false;
                    lock.segment = now;
                }
            }
        }
        let overlapping = same_channel && radio.signals.iter().any(|s| s.channel == channel);
        let unnoticed = link.interference_only;
        radio.signals.push(Signal { mw, dbm, from, channel, unnoticed, carrier });
        let unheard = deafness(radio.phase, now, radio.ready_at, radio.sense_at)
            .or((!same_channel).then_some(Fate::OtherChannel));
        let fate = if unheard.is_some() {
            unheard
        } else {
            let signal_mw = mw * radio.demodulated;
            let quiet = !overlapping && !self.interference.exists();
            let others_mw = if overlapping {
                Radio::strength_of_others(&radio.signals, channel, from).1
            } else {
                0.0
            };
            let new = Lock {
                from,
                begin: now,
                synchronised: false,
                mw: signal_mw,
                dbm,
                others_mw: others_mw as f32,
                loss: link.loss,
                interfered: overlapping,
                undisturbed: quiet && signal_mw >= PERFECT * self.noise_mw,
                corrupted: false,
                mine,
                source_filter: radio.mode.source_filter(),
                ln_success: 0.0,
                segment: now,
            };
            self.contend(node, new, receivable)
        };
        self.inform_chip(node);
        if receivable {
            self.counters[node].arrived += 1;
            if let Some(fate) = fate {
                self.fate(node, from, fate, mine);
            }
        }
    }

    /// Accounts for the signals at `node` until now, before they change.
    #[inline]
    fn before_change(&mut self, node: usize) {
        self.synchronise(node);
        self.measure(node);
        self.account(node, self.now);
    }

    /// Accounts for the interval until `until` at `node`, for the frame under reception and its
    /// rival.
    #[inline]
    pub(super) fn account(&mut self, node: usize, until: u64) {
        if let Some(Lock { undisturbed: false, .. }) = self.radios[node].lock
            && self.overlap == Overlap::SinrBer
        {
            self.account_disturbance(node, until);
        }
    }

    fn account_disturbance(&mut self, node: usize, until: u64) {
        let Core { radios, interference, noise_mw, .. } = self;
        let Radio { lock, rival, signals, channel, .. } = &mut radios[node];
        for lock in [lock, rival].into_iter().flatten() {
            let others = Radio::strength_of_others(signals, *channel, lock.from).1;
            integrate(lock, (node, *channel), until, *noise_mw + others, interference);
        }
    }

    /// Decides whether `new`, whose receiver is listening, is received (`None`) or already lost,
    /// and the effect on the frame under reception.
    fn contend(&mut self, node: usize, new: Lock, receivable: bool) -> Option<Fate> {
        let now = self.now;
        let radio = &mut self.radios[node];
        let Some(old) = radio.lock else {
            let blocked = match self.overlap {
                Overlap::Strict => new.interfered,
                Overlap::SinrBer => false,
                Overlap::Capture { threshold_db, .. } => {
                    new.dbm < radio.interference(new.from).0 + threshold_db as f32
                }
            };
            if blocked || !receivable {
                return Some(Fate::Collision);
            }
            radio.lock = Some(new);
            self.set_state(node, self.now, RadioState::Receive);
            return None;
        };
        match self.overlap {
            Overlap::Strict => radio.lock = Some(Lock { corrupted: true, ..old }),
            Overlap::SinrBer if receivable => return self.compete(node, old, new),
            Overlap::SinrBer => {}
            Overlap::Capture { threshold_db, relock } => {
                let threshold = threshold_db as f32;
                let strongest = radio.interference(new.from).0;
                // A chip stays with the frame whose SFD it has found.
                let relock = relock && !(radio.socket.is_some() && old.is_found(now));
                if relock && receivable && new.dbm >= strongest + threshold {
                    radio.lock = Some(new);
                    self.fate(node, old.from, Fate::Collision, old.mine);
                    return None;
                }
                let corrupted = old.corrupted || old.dbm < new.dbm + threshold;
                radio.lock = Some(Lock { corrupted, ..old });
            }
        }
        Some(Fate::Collision)
    }

    /// A frame ends at a receiver in range.
    fn depart(&mut self, from: u32, node: usize, truncated: bool) {
        let now = self.now;
        let here = |signal: &Signal| signal.from == from;
        let Some(index) = self.radios[node].signals.iter().position(here) else { return };
        self.before_change(node);
        let radio = &mut self.radios[node];
        let signal = radio.signals.swap_remove(index);
        if signal.carrier && signal.channel == radio.channel {
            radio.last_carrier = now;
        }
        if let Some(rival) = radio.rival.take_if(|rival| rival.from == from) {
            self.fate(node, from, Fate::Truncated, rival.mine);
            return;
        }
        let Some(lock) = radio.lock.filter(|lock| lock.from == from) else { return };
        radio.lock = None;
        self.set_state(node, now, RadioState::Listen);
        let random = &mut self.radios[node].reception_random;
        let lost = if truncated {
            Some(Fate::Truncated)
        } else if lock.corrupted {
            Some(Fate::Collision)
        } else if !survives(&lock, random) {
            Some(lock.cause_of_loss())
        } else if lock.loss > 0 && (random.bits() < lock.loss || lock.loss == u32::MAX) {
            Some(Fate::Loss)
        } else {
            None
        };
        match lost {
            Some(fate) => {
                self.fate(node, from, fate, lock.mine);
                self.resume(node);
            }
            None => self.receive(node, lock),
        }
    }
}

/// Two different radios, both mutable.
pub(super) fn pair<T>(radios: &mut [T], a: usize, b: usize) -> (&mut T, &mut T) {
    let [a, b] = radios.get_disjoint_mut([a, b]).expect("a link never leads to its own node");
    (a, b)
}

/// Reason why a radio in `phase` cannot receive a frame that begins now; `None` if it can.
fn deafness(phase: Phase, now: u64, ready_at: u64, sense_at: u64) -> Option<Fate> {
    match phase {
        Phase::Listen | Phase::AckWait => None,
        Phase::Off | Phase::Waking => Some(Fate::Asleep),
        Phase::Access if now < ready_at => Some(Fate::Loading),
        Phase::Access if now < sense_at => Some(Fate::Backoff),
        Phase::Access => Some(Fate::Sensing),
        Phase::Turnaround => Some(Fate::Turnaround),
        Phase::Air => Some(Fate::Transmitting),
        Phase::AckTurnaround | Phase::AckAir => Some(Fate::Acknowledging),
        Phase::Readout => Some(Fate::Readout),
    }
}

/// Accounts for the interval from `lock.segment` to `now` at `node` on `channel`, with
/// `disturbance_mw` of noise and frames and the power of other sources.
fn integrate(
    lock: &mut Lock,
    (node, channel): (usize, Channel),
    now: u64,
    disturbance_mw: f64,
    others: &mut Interference,
) {
    let signal_mw = lock.mw;
    let mut account = |from: u64, to: u64, others_mw: f64| {
        let disturbance_mw = disturbance_mw + others_mw;
        // Avoids the division and the table, which are slower than this comparison.
        if signal_mw < PERFECT * disturbance_mw {
            let bits = (to - from) as f64 * BITS_PER_US;
            lock.ln_success += ln_success(signal_mw / disturbance_mw, bits);
        }
    };
    if others.exists() {
        others.stretches(node, channel, lock.segment..now, account);
    } else {
        account(lock.segment, now, 0.0);
    }
    lock.segment = now;
}

// 32 us carry one octet.
const _: () = assert!(OCTET.as_micros() == 32);
