//! Fairness between several neighbours that keep a relay busy with frames.
//!
//! A relay receives the sender that comes first at a wake-up, and then receives no other. A node
//! that starts its repetitions earlier than the others, because it estimates the relay's wake-up
//! phase less well or has failed before, comes first again and again. So the relay counts frames; a
//! node that is far ahead waits until the others have caught up, or prove to have less to send.

use kinglet_mem::{Claim, slot_for_new};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;

/// Neighbours that are compared. The one that has been silent for longest is evicted.
const SENDERS: usize = 4;
/// Recent frames from which on a neighbour counts as saturated: it sends as much as it can.
const MANY: u8 = 50;
/// Recent frames of one neighbour at which all counts are halved. So a neighbour that sends at most
/// a fourth as much, single datagrams or TCP acknowledgements, is never waited for.
const OF_LATE: u8 = 200;
/// Lead in frames from which on a neighbour waits: a burst of 0.4 s, on the paper's hardware.
const LEAD: u16 = 60;
/// Lead in frames at which the wait ends. If it were one frame less than [`LEAD`], the node ahead
/// would get no more than the slowest of the others.
const CAUGHT_UP: u16 = 20;
/// Time without frames after which a neighbour is silent: several times as long as a relay needs to
/// fetch another burst and to be found.
const SILENCE: Duration = Duration::from_secs(3);
/// Longest wait for the other neighbours.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
struct Sender {
    address: Address,
    last: Instant,
    /// Recent frames, since the neighbour was silent, or since a wait for it timed out.
    frames: u8,
    /// Lead over the saturated neighbour that has sent the fewest recent frames.
    ahead: u16,
}

impl Sender {
    const NONE: Sender =
        Sender { address: Address::None, last: Instant::ZERO, frames: 0, ahead: 0 };

    fn is_silent(&self, now: Instant) -> bool {
        self.address == Address::None || now >= self.last + SILENCE
    }

    fn wants_more(&self, now: Instant) -> bool {
        self.frames >= MANY && !self.is_silent(now)
    }
}

/// Frame counts of the neighbours.
#[derive(Debug)]
pub(crate) struct FairShare {
    senders: [Sender; SENDERS],
    /// Start of the wait of the neighbour that is ahead.
    since: Option<Instant>,
}

impl FairShare {
    pub(crate) const NEW: FairShare = FairShare { senders: [Sender::NONE; SENDERS], since: None };

    /// Counts a frame from a neighbour.
    pub(crate) fn received(&mut self, now: Instant, address: Address) {
        if address == Address::None {
            return;
        }
        self.end_of_patience(now);
        let Some(place) = self.place(now, address) else { return };
        place.last = now;
        place.frames = place.frames.saturating_add(1);
        place.ahead = place.ahead.saturating_add(1);
        if place.frames >= OF_LATE {
            self.senders.iter_mut().for_each(|it| it.frames /= 2);
        }
        let wanting = || self.senders.iter().filter(|it| it.wants_more(now));
        let least = wanting().map(|it| it.ahead).min().unwrap_or(0);
        let most = wanting().map(|it| it.ahead.saturating_sub(least)).max().unwrap_or(0);
        for sender in self.senders.iter_mut().filter(|it| it.wants_more(now)) {
            sender.ahead = sender.ahead.saturating_sub(least);
        }
        self.since = match self.since {
            Some(since) if most > CAUGHT_UP => Some(since),
            None if most > LEAD => Some(now),
            _ => None,
        };
    }

    /// Returns the neighbour that is so far ahead that it has to wait.
    pub(crate) fn ahead(&self, now: Instant) -> Option<Address> {
        self.since.filter(|since| now < *since + PATIENCE)?;
        let wanting = || self.senders.iter().filter(|it| it.wants_more(now));
        // The neighbours that it was ahead of may have become silent.
        let others = wanting().any(|it| it.ahead <= CAUGHT_UP);
        let first = wanting().max_by_key(|it| it.ahead).filter(|_| others)?;
        (first.ahead > CAUGHT_UP).then_some(first.address)
    }

    /// Ends a wait that timed out: the others have less to send, and the leads are cleared.
    fn end_of_patience(&mut self, now: Instant) {
        if self.since.is_none_or(|since| now < since + PATIENCE) {
            return;
        }
        self.since = None;
        for sender in &mut self.senders {
            if sender.ahead <= CAUGHT_UP {
                sender.frames = 0;
            }
            sender.ahead = 0;
        }
    }

    /// Returns the entry of a neighbour; it starts from zero after a silence.
    fn place(&mut self, now: Instant, address: Address) -> Option<&mut Sender> {
        let known = self.senders.iter().position(|it| it.address == address);
        let index = match known {
            Some(index) => index,
            None => slot_for_new(&self.senders, |it| match it.address.is_empty() {
                true => Claim::Free,
                false => Claim::Idle(it.last),
            })?,
        };
        let place = self.senders.get_mut(index)?;
        if known.is_none() || place.is_silent(now) {
            *place = Sender { address, ..Sender::NONE };
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::Short(1);
    const B: Address = Address::Short(2);

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Counts frames of `address`, 8 ms apart, from then on. Returns the time of the last one.
    fn bring(fair_share: &mut FairShare, from: u64, address: Address, frames: u64) -> u64 {
        (0..frames).for_each(|at| fair_share.received(ms(from + 8 * at), address));
        from + 8 * frames.saturating_sub(1)
    }

    /// Both are saturated, with equal counts.
    fn both() -> (FairShare, u64) {
        let mut fair_share = FairShare::NEW;
        let now = bring(&mut fair_share, 1_000, A, MANY.into());
        let now = bring(&mut fair_share, now, B, MANY.into());
        assert_eq!(fair_share.ahead(ms(now)), None);
        (fair_share, now)
    }

    #[test]
    fn a_neighbour_far_ahead_waits_until_the_other_has_caught_up() {
        let (mut fair_share, now) = both();
        let mut now = bring(&mut fair_share, now, A, LEAD.into());
        while fair_share.ahead(ms(now)).is_none() {
            now = bring(&mut fair_share, now + 8, A, 1);
            assert!(now < 4_000, "it never has to wait");
        }
        assert_eq!(fair_share.ahead(ms(now)), Some(A));
        let now = bring(&mut fair_share, now + 8, B, (LEAD - CAUGHT_UP).into());
        assert_eq!(fair_share.ahead(ms(now)), Some(A));
        let now = bring(&mut fair_share, now + 8, B, 1);
        assert_eq!(fair_share.ahead(ms(now)), None);
        let now = bring(&mut fair_share, now, B, 3 * u64::from(LEAD));
        assert_eq!(fair_share.ahead(ms(now)), Some(B), "and the other way round");
    }

    #[test]
    fn a_neighbour_that_is_alone_or_among_slow_senders_never_waits() {
        let mut fair_share = FairShare::NEW;
        let mut now = 1_000;
        for _ in 0..200 {
            now = bring(&mut fair_share, now, A, 53) + 400;
            assert_eq!(fair_share.ahead(ms(now)), None);
            // Two frames in each silence, and more than any silence allows between.
            bring(&mut fair_share, now, B, 1);
            now += 3_000 - 53 * 8;
        }
    }

    #[test]
    fn those_who_do_not_catch_up_are_waited_for_once() {
        let (mut fair_share, now) = both();
        let mut now = bring(&mut fair_share, now, A, 2 * u64::from(LEAD));
        assert_eq!(fair_share.ahead(ms(now)), Some(A));
        // The other one continues at ten frames a second.
        let mut waited = 0;
        for _ in 0..40 {
            now += 100;
            waited += u64::from(fair_share.ahead(ms(now)).is_some());
            fair_share.received(ms(now), B);
            if fair_share.ahead(ms(now)).is_none() {
                bring(&mut fair_share, now, A, 12);
            }
        }
        assert!((15..=20).contains(&waited), "{waited} of 40");
    }

    #[test]
    fn after_a_wait_in_vain_the_leads_count_from_zero() {
        let (mut fair_share, now) = both();
        // More of the other one, which is saturated even when the counts are halved.
        let (many, lead) = (2 * u64::from(MANY), u64::from(LEAD));
        let now = bring(&mut fair_share, now, B, MANY.into());
        let now = bring(&mut fair_share, now, A, many + lead + 1);
        assert_eq!(fair_share.ahead(ms(now)), Some(A));
        let end = now + PATIENCE.as_millis();
        bring(&mut fair_share, now + 1_000, B, 1);
        let ahead = [end - 1, end].map(|at| fair_share.ahead(ms(at)));
        assert_eq!(ahead, [Some(A), None]);
        let now = bring(&mut fair_share, end, B, many);
        let now = bring(&mut fair_share, now, A, many + lead);
        assert_eq!(fair_share.ahead(ms(now)), None, "it is ahead by as much as is allowed");
        let now = bring(&mut fair_share, now, A, 1);
        assert_eq!(fair_share.ahead(ms(now)), Some(A));
    }

    #[test]
    fn a_neighbour_that_sends_a_tenth_as_much_is_not_waited_for() {
        let mut fair_share = FairShare::NEW;
        // A traffic pattern of TCP segments and acknowledgements.
        for tick in 0..50 * 120 {
            let now = 1_000 + 20 * tick;
            fair_share.received(ms(now), A);
            if tick % 10 == 0 {
                fair_share.received(ms(now), B);
            }
            assert_eq!(fair_share.ahead(ms(now)), None);
        }
    }

    #[test]
    fn a_silent_neighbour_is_not_waited_for() {
        let (mut fair_share, now) = both();
        let now = bring(&mut fair_share, now, A, 2 * u64::from(LEAD));
        assert_eq!(fair_share.ahead(ms(now)), Some(A));
        assert_eq!(fair_share.ahead(ms(now) + PATIENCE), None);
        // The other one comes back later, and catches up with the first.
        let later = now + 10_000;
        let later = bring(&mut fair_share, later, A, 53);
        bring(&mut fair_share, later, B, MANY.into());
        assert_eq!(fair_share.ahead(ms(later)), None);
    }

    #[test]
    fn a_fifth_neighbour_takes_the_place_of_the_one_that_was_silent_for_longest() {
        let (mut fair_share, now) = both();
        for short in 3..6 {
            fair_share.received(ms(now + u64::from(short)), Address::Short(short));
        }
        let known = |address| fair_share.senders.iter().any(|it| it.address == address);
        assert!(!known(A) && known(B) && known(Address::Short(5)));
    }

    #[test]
    fn frames_without_a_sender_are_not_counted() {
        let mut fair_share = FairShare::NEW;
        bring(&mut fair_share, 1_000, Address::None, 500);
        assert!(fair_share.senders.iter().all(|it| it.frames == 0));
    }
}
