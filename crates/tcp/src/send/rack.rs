//! What RACK-TLP remembers beside the segments (RFC 8985 §5.3, §5.4).

use super::flight::{Arrival, Stamp};
use crate::seq::SeqNum;

/// A loss probe that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    None,
    /// New data.
    New(SeqNum),
    /// The last segment once more. The number is TLP.end_seq.
    Again(SeqNum),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq, once anything has been delivered.
    newest: Option<(Stamp, SeqNum)>,
    /// RACK.rtt
    rtt_us: u32,
    /// RACK.min_RTT: rises by 1/16 of the distance with each sample, so that a path that has become
    /// longer is noticed without a window of samples.
    pub(crate) min_rtt_us: u32,
    /// RACK.dsack_round
    dsack_round: Option<SeqNum>,
    /// RACK.reo_wnd_mult; 0 as long as no reordering has been seen.
    multiple: u8,
    /// RACK.reo_wnd_persist
    persist: u8,
    pub(crate) probe: Probe,
    /// The probe timer has expired.
    pub(crate) probe_due: bool,
    /// An RTT sample was taken since the last probe.
    pub(crate) sampled: bool,
}

/// RACK.reo_wnd_persist: recoveries that an enlarged reordering window outlasts.
const PERSIST: u8 = 16;

impl Rack {
    pub(crate) const NEW: Rack = Rack {
        newest: None,
        rtt_us: 0,
        min_rtt_us: 0,
        dsack_round: None,
        multiple: 0,
        persist: 0,
        probe: Probe::None,
        probe_due: false,
        sampled: false,
    };

    /// §6.2 steps 1 to 3.
    pub(crate) fn update(&mut self, arrival: &Arrival) {
        if arrival.reordered && self.multiple == 0 {
            self.multiple = 1;
        }
        let Some((at, end)) = arrival.newest else { return };
        self.rtt_us = arrival.now.since(at);
        if self.newest.is_none() || self.rtt_us < self.min_rtt_us {
            self.min_rtt_us = self.rtt_us;
        } else {
            let above = self.rtt_us.saturating_sub(self.min_rtt_us);
            self.min_rtt_us = self.min_rtt_us.saturating_add(above / 16);
        }
        if self.newest.is_none_or(|(known, known_end)| at.sent_after(end, known, known_end)) {
            self.newest = Some((at, end));
        }
    }

    /// Forgets what is older than the horizon of time stamps.
    pub(crate) fn age(&mut self, now: Stamp) {
        self.newest = self.newest.filter(|(at, _)| at.is_recent(now));
    }

    /// §6.2 step 4: a D-SACK has arrived. As long as no reordering was seen it more likely tells of
    /// a lost acknowledgment, and the window stays.
    pub(crate) fn on_dsack(&mut self, una: SeqNum, nxt: SeqNum) {
        if self.dsack_round.is_none_or(|round| round.at_or_before(una)) {
            self.dsack_round = Some(nxt);
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

    /// What was sent last among what has arrived.
    pub(crate) fn newest(&self) -> Option<(Stamp, SeqNum)> {
        self.newest
    }

    /// RACK.rtt + RACK.reo_wnd, in microseconds. `sure` if nothing is waited for as long as no
    /// reordering has been seen (§6.2 step 4).
    pub(crate) fn wait_us(&self, srtt_us: u32, sure: bool) -> u32 {
        let multiple = if sure { self.multiple } else { self.multiple.max(1) };
        let window = (self.min_rtt_us / 4).saturating_mul(u32::from(multiple)).min(srtt_us);
        self.rtt_us.saturating_add(window)
    }
}
