//! Loss detection and recovery: RFC 6675 with SACK, RFC 6582 without, RFC 6298 §5 for timeouts.
//!
//! SND.NXT never goes back. What has to be sent again is everything below `lost_edge`, and what
//! RFC 6675's IsLost says, from `high_rxt` on; so a timeout and a SACK recovery share one path.

use super::scoreboard::Scoreboard;
use crate::seq::SeqNum;

/// DupThresh (RFC 6675 §2).
pub(crate) const DUP_THRESH: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    /// Fast recovery.
    Fast,
    /// The timer expired, and what was then outstanding is not yet acknowledged.
    Timeout,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    pub(crate) board: Scoreboard,
    pub(crate) phase: Phase,
    /// RecoveryPoint of RFC 6675, `recover` + 1 of RFC 6582.
    pub(crate) point: SeqNum,
    /// HighRxt + 1: retransmission goes on here.
    pub(crate) high_rxt: SeqNum,
    /// All that the peer does not hold below this is lost, whatever IsLost says.
    pub(crate) lost_edge: SeqNum,
    /// The rescue retransmission of RFC 6675 §4 rule 4 was used in this recovery.
    pub(crate) rescued: bool,
    /// The segment at SND.UNA is to be sent again now, whatever cwnd says.
    pub(crate) pending: bool,
    pub(crate) dup_acks: u8,
    /// Octets that limited transmit has let out since SND.UNA last moved.
    pub(crate) limited: u32,
    /// Window inflation of RFC 6582, for peers without SACK.
    pub(crate) inflation: u32,
}

impl Recovery {
    pub(crate) fn new(una: SeqNum) -> Self {
        Recovery {
            board: Scoreboard::default(),
            phase: Phase::Open,
            point: una,
            high_rxt: una,
            lost_edge: una,
            rescued: false,
            pending: false,
            dup_acks: 0,
            limited: 0,
            inflation: 0,
        }
    }

    /// SND.UNA has moved to `una`.
    pub(crate) fn advance(&mut self, una: SeqNum) {
        self.board.advance(una);
        self.high_rxt = self.high_rxt.later(una);
        self.lost_edge = self.lost_edge.later(una);
        self.dup_acks = 0;
        self.limited = 0;
        self.pending = false;
        if self.phase == Phase::Open {
            // Keeps `point` within half the sequence space of SND.UNA.
            self.point = self.point.later(una.minus(1));
        }
    }

    /// IsLost (RFC 6675 §4) for the gap that begins at `seq`.
    fn is_lost(&self, seq: SeqNum, mss: u32) -> bool {
        if seq.before(self.lost_edge) {
            return true;
        }
        let (octets, ranges) = self.board.above(seq);
        ranges >= usize::from(DUP_THRESH)
            || octets > mss.saturating_mul(u32::from(DUP_THRESH).saturating_sub(1))
    }

    /// RFC 6675 §5 steps 1 and 2: whether the segment at `una` is to be taken for lost.
    pub(crate) fn seems_lost(&self, una: SeqNum, mss: u32) -> bool {
        self.dup_acks >= DUP_THRESH || self.is_lost(una, mss)
    }

    /// SetPipe (RFC 6675 §4): octets in the network.
    pub(crate) fn pipe(&self, una: SeqNum, nxt: SeqNum, mss: u32) -> u32 {
        let mut pipe: u32 = 0;
        let mut from = una;
        // At most one gap more than there are ranges.
        while let Some((start, end)) = self.board.gap(from, nxt) {
            // The part below lost_edge is lost; the rest as IsLost says.
            let lost = if self.is_lost(start.later(self.lost_edge).earlier(end), mss)
                && start.later(self.lost_edge).before(end)
            {
                end.since(start)
            } else {
                self.lost_edge.earlier(end).since(start)
            };
            pipe = pipe.saturating_add(end.since(start).saturating_sub(lost));
            pipe = pipe.saturating_add(self.high_rxt.earlier(end).since(start));
            from = end;
        }
        pipe
    }

    /// NextSeg rule 1 (RFC 6675 §4): the next lost gap not yet sent again.
    pub(crate) fn next_lost(&self, nxt: SeqNum, mss: u32) -> Option<(SeqNum, SeqNum)> {
        let (start, end) = self.board.gap(self.high_rxt, nxt)?;
        if start.before(self.lost_edge) {
            Some((start, end.earlier(self.lost_edge)))
        } else if self.phase == Phase::Fast && self.is_lost(start, mss) {
            Some((start, end))
        } else {
            None
        }
    }

    /// NextSeg rule 3: a gap below the highest octet the peer holds, though not yet deemed lost.
    pub(crate) fn next_hole(&self) -> Option<(SeqNum, SeqNum)> {
        if self.phase != Phase::Fast {
            return None;
        }
        self.board.gap(self.high_rxt, self.board.highest()?)
    }

    pub(crate) fn enter_fast(&mut self, una: SeqNum, nxt: SeqNum) {
        self.phase = Phase::Fast;
        self.point = nxt;
        self.high_rxt = una;
        self.lost_edge = una;
        self.rescued = false;
        self.pending = true;
    }

    /// RFC 6298 §5.4 and RFC 6675 §5.1. On the second timeout in a row what SACK said is
    /// forgotten, in case the peer has taken it back (RFC 2018 §8).
    pub(crate) fn enter_timeout(&mut self, una: SeqNum, nxt: SeqNum, again: bool) {
        if again {
            self.board.clear();
        }
        self.phase = Phase::Timeout;
        self.point = nxt;
        self.high_rxt = una;
        self.lost_edge = nxt;
        self.pending = true;
        self.dup_acks = 0;
        self.inflation = 0;
    }

    pub(crate) fn leave(&mut self, una: SeqNum) {
        self.phase = Phase::Open;
        self.high_rxt = una;
        self.lost_edge = una;
        self.inflation = 0;
        self.dup_acks = 0;
        self.pending = false;
    }
}
