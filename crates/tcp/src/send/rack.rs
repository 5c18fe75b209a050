//! State of RACK-TLP in addition to the segments (RFC 8985 §5.3, §5.4).

use super::arrival::{Arrival, Stamp};
use crate::seq::SeqNum;

/// State of a loss probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    None,
    /// Its timer has expired.
    Due,
    /// It was sent and is new data.
    New,
    /// It was sent and repeats the last segment (TLP.is_retrans).
    Retransmission,
}

impl Probe {
    pub(crate) const fn is_sent(self) -> bool {
        matches!(self, Probe::New | Probe::Retransmission)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq, if RACK.rtt is known.
    newest: (Stamp, SeqNum),
    /// RACK.rtt; [`UNKNOWN`] until something has been delivered.
    rtt_us: u32,
    /// RACK.min_RTT: the least of the last [`SAMPLES`] to twice as many samples. An average of any
    /// kind would include the delays of the pacing that depends on it.
    pub(crate) min_rtt_us: u32,
    /// Least of the samples since the window was last moved, and the number of these samples.
    next_min_us: u32,
    samples: u8,
    /// RACK.dsack_round: until SND.UNA reaches it, further D-SACKs are ignored.
    dsack_round: SeqNum,
    /// TLP.end_seq, if a probe was sent.
    pub(crate) probe_end: SeqNum,
    /// RACK.reo_wnd_mult; 0 as long as no reordering has been seen.
    multiple: u8,
    /// RACK.reo_wnd_persist
    persist: u8,
    pub(crate) probe: Probe,
}

/// Longer than any round trip: 71 minutes.
const UNKNOWN: u32 = u32::MAX;

/// About eight windows of four segments, as for the share of retransmissions. A changed route is
/// noticed after twice as many.
const SAMPLES: u8 = 32;

/// RACK.reo_wnd_persist: recoveries that an enlarged reordering window outlasts.
const PERSIST: u8 = 16;

impl Rack {
    pub(crate) fn new(una: SeqNum) -> Rack {
        Rack {
            newest: (Stamp::default(), una),
            rtt_us: UNKNOWN,
            min_rtt_us: 0,
            next_min_us: UNKNOWN,
            samples: 0,
            dsack_round: una,
            probe_end: una,
            multiple: 0,
            persist: 0,
            probe: Probe::None,
        }
    }

    /// §6.2 steps 1 to 3.
    pub(crate) fn update(&mut self, arrival: &Arrival) {
        if arrival.reordered && self.multiple == 0 {
            self.multiple = 1;
        }
        let Some((at, end)) = arrival.newest else { return };
        let known = self.newest();
        self.rtt_us = arrival.now.since(at);
        self.note_rtt(known.is_none());
        if known.is_none_or(|(known, known_end)| at.sent_after(end, known, known_end)) {
            self.newest = (at, end);
        }
    }

    //= rfc8985#6.2-1
    fn note_rtt(&mut self, first: bool) {
        if first {
            (self.min_rtt_us, self.next_min_us, self.samples) = (UNKNOWN, UNKNOWN, 0);
        }
        self.min_rtt_us = self.min_rtt_us.min(self.rtt_us);
        self.next_min_us = self.next_min_us.min(self.rtt_us);
        self.samples = self.samples.saturating_add(1);
        if self.samples >= SAMPLES {
            self.min_rtt_us = core::mem::replace(&mut self.next_min_us, UNKNOWN);
            self.samples = 0;
        }
    }

    /// Invalidates a send time beyond the horizon of time stamps.
    pub(crate) fn age(&mut self, now: Stamp) {
        if !self.newest.0.is_recent(now) {
            self.rtt_us = UNKNOWN;
        }
    }

    /// §6.2 step 4: a D-SACK has arrived. As long as no reordering was seen, it more likely means a
    /// lost acknowledgment, and the window stays.
    //= rfc8985#3.3.2-4 rfc8985#4-4
    pub(crate) fn on_dsack(&mut self, una: SeqNum, nxt: SeqNum) {
        if self.dsack_round.at_or_before(una) {
            self.dsack_round = nxt;
            if self.multiple > 0 {
                self.multiple = self.multiple.saturating_add(1);
            }
            self.persist = PERSIST;
        }
    }

    /// §6.2 step 4: a recovery has ended.
    pub(crate) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiple = self.multiple.min(1);
        }
    }

    /// Returns send time and end of the segment that was sent last, of those that have arrived.
    pub(crate) fn newest(&self) -> Option<(Stamp, SeqNum)> {
        (self.rtt_us != UNKNOWN).then_some(self.newest)
    }

    /// Notes that SND.UNA has moved: keeps the round's end within half the sequence space of it.
    pub(crate) fn advance(&mut self, una: SeqNum) {
        self.dsack_round = self.dsack_round.later(una);
    }

    /// Returns RACK.rtt + RACK.reo_wnd, in microseconds. If `sure`, reo_wnd is zero as long as no
    /// reordering has been seen (§6.2 step 4).
    //= rfc8985#3.3.2-3 rfc8985#3.3.2-5
    pub(crate) fn wait_us(&self, srtt_us: u32, sure: bool) -> u32 {
        let multiple = if sure { self.multiple } else { self.multiple.max(1) };
        let window = match (multiple, self.min_rtt_us / 4) {
            // Usually it is one of these, which cannot overflow.
            (0, _) => 0,
            (1, quarter) => quarter,
            (multiple, quarter) => quarter.saturating_mul(u32::from(multiple)),
        };
        let window = window.min(srtt_us);
        let rtt = if self.rtt_us == UNKNOWN { 0 } else { self.rtt_us };
        rtt.saturating_add(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc8985#3.3.2-4 rfc8985#3.3.2-5 type=test
    #[test]
    fn the_window_grows_with_each_round_of_d_sack_up_to_srtt() {
        let seq = SeqNum::new;
        let mut rack = Rack { multiple: 1, min_rtt_us: 100, rtt_us: 100, ..Rack::new(seq(0)) };
        let window = |rack: &Rack| rack.wait_us(180, true) - 100;
        for (round, want) in [25, 50, 75, 100, 125, 150, 175, 180, 180].into_iter().enumerate() {
            assert_eq!(window(&rack), want);
            let una = u32::try_from(round).unwrap() * 10;
            // The second D-SACK of a round is ignored.
            rack.on_dsack(seq(una), seq(una + 10));
            rack.on_dsack(seq(una + 5), seq(una + 10));
        }
        for left in (0..PERSIST).rev() {
            assert_eq!(window(&rack), 180, "{left}");
            rack.on_recovered();
        }
        assert_eq!(window(&rack), 25);
    }
}
