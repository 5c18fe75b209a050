//! State to undo a congestion response that turns out to be spurious: Eifel detection by timestamps
//! (RFC 3522), D-SACK (RFC 3708 §2) or F-RTO (RFC 5682); the response is that of RFC 4015.

use super::arrival::{Arrival, Stamp};
use crate::paws::is_older;

/// State of F-RTO (RFC 5682 §2.1, §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrtoState {
    Off,
    /// The timer has expired and the first segment is sent again.
    Retransmitted,
    /// That was acknowledged, and new data is sent before lost data.
    Forward,
}

impl FrtoState {
    /// Takes steps 2 and 3 of F-RTO: an acknowledgment has `advanced` SND.UNA, or is a `duplicate`;
    /// `whole` if nothing that was sent again is outstanding, and `within` if it reports nothing
    /// that was sent after the timeout. Returns whether the timeout was spurious: the data that
    /// arrives was sent before it, and not again.
    //= rfc5682#2.1-2 rfc5682#2.1-5 rfc5682#2.1-8 rfc5682#3.1-3 rfc5682#3.1-7
    pub(crate) fn is_needless(
        &mut self,
        arrival: &Arrival,
        advanced: bool,
        duplicate: bool,
        whole: bool,
        within: bool,
    ) -> bool {
        let fresh = arrival.octets > 0;
        let before = *self;
        *self = match before {
            FrtoState::Retransmitted if advanced && whole => FrtoState::Forward,
            FrtoState::Retransmitted if advanced => FrtoState::Off,
            // With SACK the trial waits for the first segment.
            FrtoState::Retransmitted if duplicate && !fresh => FrtoState::Off,
            FrtoState::Forward if advanced || duplicate => FrtoState::Off,
            _ => before,
        };
        before == FrtoState::Forward
            && *self == FrtoState::Off
            && fresh
            && within
            && !arrival.retransmitted
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// cwnd and ssthresh from before, in octets.
    pub(crate) window: u32,
    pub(crate) threshold: u32,
    /// Time of the first retransmission.
    first: Stamp,
    /// Octets sent again that the peer has not reported as duplicates; too many to be counted stay
    /// unproven.
    unproven: u16,
    any: bool,
}

impl Undo {
    pub(crate) fn new(window: u32, threshold: u32) -> Undo {
        Undo { window, threshold, first: Stamp::default(), unproven: 0, any: false }
    }

    /// Notes a retransmission with `octets` that had been sent before.
    pub(crate) fn note_sent(&mut self, at: Stamp, octets: u32) {
        if !self.any {
            self.first = at;
        }
        self.any = true;
        let octets = u16::try_from(octets).unwrap_or(u16::MAX);
        self.unproven = self.unproven.saturating_add(octets);
    }

    /// Keeps an old instant from looking recent: then timestamps prove nothing any more.
    pub(crate) fn age(&mut self, now: Stamp) {
        self.any &= self.first.is_recent(now);
    }

    /// Notes a D-SACK for `octets`. Returns whether now all retransmissions are known to have been
    /// spurious. Data that arrives in part has been lost in part.
    pub(crate) fn note_duplicate(&mut self, octets: u32) -> bool {
        let before = self.unproven;
        if before == u16::MAX {
            return false;
        }
        self.unproven = before.saturating_sub(u16::try_from(octets).unwrap_or(u16::MAX));
        before > 0 && self.unproven == 0
    }

    /// Returns whether a timestamp of this age, in ticks, is from before anything was sent again.
    pub(crate) fn is_before(&self, age: u32, now: Stamp) -> bool {
        self.any && is_older(age, now.since(self.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seq::SeqNum;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn arrival(octets: u32, retransmitted: bool) -> Arrival {
        Arrival {
            now: Stamp::default(),
            echo_age: None,
            min_rtt_us: 0,
            fack: SeqNum::new(0),
            octets,
            newest: None,
            rtt_us: None,
            last_us: u32::MAX,
            reordered: false,
            retransmitted,
            echo_is_old: false,
        }
    }

    #[test]
    fn old_retransmissions_are_no_longer_distinguished() {
        let at = |s| Stamp::of(kinglet_time::Instant::from_secs(s));
        let mut undo = Undo::new(1, 1);
        undo.note_sent(at(10), 100);
        undo.age(at(20));
        assert!(undo.is_before(11_000, at(20)) && !undo.is_before(9_000, at(20)));
        undo.age(at(4_000));
        assert!(!undo.is_before(4_000_000, at(4_000)));
    }

    proptest! {
        /// With any acknowledgments, at most one undoes a timeout: the first after the one that has
        /// advanced SND.UNA over all retransmissions, if it reports only data that was sent once
        /// and before the timeout.
        #[test]
        fn the_second_acknowledgment_decides(
            acks in proptest::collection::vec((any::<[bool; 5]>(), 0_u32..2), 1..12),
        ) {
            let mut frto = FrtoState::Retransmitted;
            // Those that the trial does not ignore.
            let counted: Vec<_> = acks.iter().filter(|a| a.0[0] || a.0[1]).collect();
            let first = counted.iter().position(|a| a.0[0] || a.1 == 0);
            let second = first
                .filter(|&i| counted[i].0[0] && counted[i].0[4])
                .and_then(|i| counted.get(i + 1));
            let want = second.is_some_and(|(b, octets)| *octets > 0 && b[2] && !b[3]);
            let taken = acks.iter().filter(|(is, octets)| {
                let [advanced, duplicate, within, twice, whole] = *is;
                frto.is_needless(&arrival(*octets, twice), advanced, duplicate, whole, within)
            });
            prop_assert_eq!(taken.count(), usize::from(want));
        }
    }
}
