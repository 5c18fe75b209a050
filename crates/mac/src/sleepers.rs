//! The parent's side of indirect transmission (IEEE 802.15.4-2015, 6.7.3). It signals to sleepy
//! neighbours if a frame is pending, and sends it before all other frames when they poll or listen.

use crate::air::PREAMBLE_SFD;
use crate::delivery_method::{DeliveryMethod, SendTiming, TableFull};
use crate::queue::{Delivery, Token};
use kinglet_mem::Empty;
use kinglet_radio::{Capabilities, Command};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{Address, Csl};

/// The known listening times of a neighbour: [`Samples`](crate::Samples), or none, `()`.
pub trait Schedule: Copy {
    /// Before the neighbour has announced its schedule.
    const UNKNOWN: Self;

    /// True for a type that can hold a schedule.
    const ANY: bool;

    /// Returns whether the neighbour has announced its schedule.
    fn is_known(&self) -> bool;

    /// Records a schedule announced at `now`: the channel is sampled at `sample`, then every
    /// `period`.
    fn learn(&mut self, now: Instant, sample: Instant, period: Duration);

    /// Returns the next sample.
    fn next(&self) -> Option<Instant>;

    /// Handles the result of a frame that was sent at a sample.
    fn note_sent(&mut self, answered: bool);

    /// Returns whether a frame has to be requested from the user now: true once for each sample.
    fn take_due(&mut self) -> bool;

    /// Returns the time for [`Schedule::handle_deadline`] if a frame is pending.
    fn deadline(&self) -> Option<Instant>;

    /// Advances to the next sample, and discards a schedule that is too old.
    fn handle_deadline(&mut self, now: Instant, pending: bool);
}

impl Schedule for () {
    const UNKNOWN: Self = ();
    const ANY: bool = false;

    fn is_known(&self) -> bool {
        false
    }

    fn learn(&mut self, _now: Instant, _sample: Instant, _period: Duration) {}

    fn next(&self) -> Option<Instant> {
        None
    }

    fn note_sent(&mut self, _answered: bool) {}

    fn take_due(&mut self) -> bool {
        false
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _now: Instant, _pending: bool) {}
}

/// A neighbour that may have a pending frame.
#[derive(Clone, Copy, Debug)]
pub struct Sleeper<W = ()> {
    short: u16,
    pending: bool,
    /// True if a radio with a table of its own has an entry for it.
    reported: bool,
    /// True if it listens because of a data request, not at its next sample.
    asks: bool,
    /// The frame for it whose transmission has failed: the low octet of its token, and its sequence
    /// number. A frame that is mistaken for it has another payload, by which the neighbour
    /// recognises it.
    failed: Option<(u8, u8)>,
    /// Its sampling schedule, if it has one.
    samples: W,
}

impl<W: Schedule> Sleeper<W> {
    fn in_use(&self) -> bool {
        self.pending || self.reported || self.samples.is_known()
    }
}

impl<W: Schedule> Empty for Sleeper<W> {
    const EMPTY: Self = Sleeper {
        short: 0,
        pending: false,
        reported: false,
        asks: false,
        failed: None,
        samples: W::UNKNOWN,
    };
}

/// The neighbours with pending frames, and the radio's knowledge of them: an array of [`Sleeper`],
/// one for each neighbour that may have a pending frame at the same time.
pub struct Sleepers<A> {
    table: A,
    /// The frame-pending bit of a radio without a table.
    bit: bool,
}

impl<W: Schedule, const N: usize> DeliveryMethod for Sleepers<[Sleeper<W>; N]> {
    const NEW: Self = Sleepers { table: [const { Sleeper::EMPTY }; N], bit: false };
    const ANY: bool = N > 0;

    fn set_pending(&mut self, short: u16, pending: bool) -> Result<(), TableFull> {
        match entry(&mut self.table, short) {
            Some(entry) => entry.pending = pending,
            None if pending => return Err(TableFull),
            None => {}
        }
        Ok(())
    }

    fn is_pending(&self, src: Address) -> bool {
        let Address::Short(short) = src else { return false };
        self.table.iter().any(|entry| entry.pending && entry.short == short)
    }

    fn poll_command(&mut self, radio: Capabilities) -> Option<Command> {
        if !Self::ANY || !radio.contains(Capabilities::AUTO_ACK) {
            return None;
        }
        if radio.contains(Capabilities::SOURCE_MATCH) {
            let entry = self.table.iter_mut().find(|entry| entry.pending != entry.reported)?;
            entry.reported = entry.pending;
            return Some(Command::Pending { short: entry.short, pending: entry.pending });
        }
        let first = self.table.iter().find(|entry| entry.pending);
        let pending = first.is_some();
        if pending == self.bit {
            return None;
        }
        self.bit = pending;
        Some(Command::Pending { short: first.map_or(0, |entry| entry.short), pending })
    }

    fn invalidate_pending_table(&mut self) {
        self.bit = false;
        self.table.iter_mut().for_each(|entry| entry.reported = false);
    }

    fn handle_request(&mut self, radio: Capabilities, src: Address) -> bool {
        if let Address::Short(short) = src {
            listens_now(&mut self.table, short);
        }
        let has = |capability| radio.contains(capability);
        let for_all = has(Capabilities::AUTO_ACK) && !has(Capabilities::SOURCE_MATCH);
        for_all && self.bit && !self.is_pending(src)
    }

    fn handle_samples(
        &mut self,
        now: Instant,
        radio: Capabilities,
        src: Address,
        sfd: Instant,
        csl: Csl,
    ) {
        let able = W::ANY && csl.period > 0 && radio.contains(Capabilities::SCHEDULED);
        if let Address::Short(short) = src
            && able
            && let Some(entry) = entry(&mut self.table, short)
        {
            let units =
                |n: u16| Duration::from_micros(u64::from(n).saturating_mul(crate::csl::UNIT_US));
            let sample = sfd - PREAMBLE_SFD + units(csl.phase);
            entry.samples.learn(now, sample, units(csl.period));
        }
    }

    fn repeated(&mut self, dst: Address, token: Token) -> Option<u8> {
        let Address::Short(short) = dst else { return None };
        let (failed, sequence) = known(&mut self.table, short)?.failed?;
        (failed == low(token)).then_some(sequence)
    }

    fn note_sent(&mut self, dst: Address, token: Token, sequence: u8, result: Delivery) {
        if let Address::Short(short) = dst
            && let Some(entry) = known(&mut self.table, short)
        {
            let delivered = result == Delivery::Delivered;
            // A frame that was not sent in time is no evidence about the schedule.
            if !entry.asks && (delivered || result == Delivery::NoAck) {
                entry.samples.note_sent(delivered);
            }
            entry.failed = (!delivered).then_some((low(token), sequence));
        }
    }

    fn handle_burst(&mut self, dst: Address) {
        if let Address::Short(short) = dst {
            listens_now(&mut self.table, short);
        }
    }

    fn timing(&self, dst: Address) -> SendTiming {
        let Address::Short(short) = dst else { return SendTiming::Soon };
        let known = self.table.iter().find(|entry| entry.in_use() && entry.short == short);
        let sample = known.filter(|entry| !entry.asks).and_then(|entry| entry.samples.next());
        sample.map_or(SendTiming::Soon, |sample| SendTiming::At(sample + PREAMBLE_SFD))
    }

    fn poll_listener(&mut self) -> Option<u16> {
        for entry in self.table.iter_mut().filter(|entry| entry.pending) {
            if entry.samples.take_due() {
                entry.asks = false;
                return Some(entry.short);
            }
        }
        None
    }

    fn deadline(&self) -> Option<Instant> {
        let pending = self.table.iter().filter(|entry| entry.pending);
        pending.filter_map(|entry| entry.samples.deadline()).min()
    }

    fn handle_deadline(&mut self, now: Instant) {
        for entry in &mut self.table {
            entry.samples.handle_deadline(now, entry.pending);
        }
    }
}

const fn low(token: Token) -> u8 {
    let [low, ..] = token.0.to_le_bytes();
    low
}

/// Returns the entry of the neighbour with this address.
fn known<W: Schedule>(table: &mut [Sleeper<W>], short: u16) -> Option<&mut Sleeper<W>> {
    table.iter_mut().find(|entry| entry.in_use() && entry.short == short)
}

/// Returns the entry of the neighbour with this address, or a free one for it.
fn entry<W: Schedule>(table: &mut [Sleeper<W>], short: u16) -> Option<&mut Sleeper<W>> {
    let known = table.iter().position(|entry| entry.in_use() && entry.short == short);
    if let Some(index) = known {
        return table.get_mut(index);
    }
    let free = table.iter_mut().find(|entry| !entry.in_use())?;
    *free = Sleeper { short, ..Sleeper::EMPTY };
    Some(free)
}

/// Handles that the neighbour has sent a data request, or has received a frame that announces
/// another one.
fn listens_now<W: Schedule>(table: &mut [Sleeper<W>], short: u16) {
    if let Some(entry) = known(table, short) {
        entry.asks = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Samples;

    const LEAF: Address = Address::Short(7);
    const NOW: Instant = Instant::from_secs(100);

    fn parent() -> Sleepers<[Sleeper<Samples>; 1]> {
        let mut parent = Sleepers::NEW;
        let csl = Csl { phase: 100, period: 6_250 };
        parent.handle_samples(NOW, Capabilities::SCHEDULED, LEAF, NOW, csl);
        assert_eq!(parent.set_pending(7, true), Ok(()));
        parent
    }

    #[test]
    fn only_frames_at_samples_count_against_the_schedule() {
        let relies = |asks: bool, result: Delivery| {
            let mut parent = parent();
            if asks {
                assert!(!parent.handle_request(Capabilities::SCHEDULED, LEAF));
            }
            (0..100).for_each(|_| parent.note_sent(LEAF, Token(0), 0, result));
            parent.deadline().is_some()
        };
        assert!(!relies(false, Delivery::NoAck));
        assert!(relies(true, Delivery::NoAck), "it was sent after a data request");
        for result in [Delivery::Missed, Delivery::ChannelAccessFailure] {
            assert!(relies(false, result), "{result:?}: it was not on the air");
        }
    }

    #[test]
    fn a_schedule_that_is_not_relied_on_asks_for_no_frame() {
        for (failed, asked) in [(0, Some(7)), (100, None)] {
            let mut parent = parent();
            (0..failed).for_each(|_| parent.note_sent(LEAF, Token(0), 0, Delivery::NoAck));
            (0..1_016).for_each(|ms| parent.handle_deadline(NOW + Duration::from_millis(ms)));
            assert_eq!(parent.poll_listener(), asked);
        }
    }
}
