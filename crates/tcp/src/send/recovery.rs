//! The phases of loss recovery and what belongs to each.
//!
//! SND.NXT never goes back. Whatever is to be sent again is marked in the table of segments, by
//! RACK (RFC 8985) if the peer sends SACK, by duplicate acknowledgments (RFC 6582) if not, by the
//! timer (RFC 6298 §5) or by the link; sending it again is the same for all.

use super::flight::{Flight, SegmentRecord};
use super::prr::Prr;
use super::rack::{Probe, Rack};
use super::undo::{Trial, Undo};
use crate::seq::SeqNum;
use kinglet_mem::Array;

/// DupThresh (RFC 5681 §3.2), for peers without SACK.
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
#[repr(C)] // See `Connection`.
pub(crate) struct Recovery<R> {
    pub(crate) phase: Phase,
    /// What is lost first is to be sent again now, whatever cwnd says.
    pub(crate) pending: bool,
    pub(crate) dup_acks: u8,
    /// Losses that the link has told of since there was progress.
    pub(crate) told: u8,
    pub(crate) rack: Rack,
    pub(crate) prr: Prr,
    /// Of the last loss, until it is taken back.
    pub(crate) undo: Option<Undo>,
    /// RecoveryPoint of RFC 6675, `recover` + 1 of RFC 6582.
    pub(crate) point: SeqNum,
    /// Octets that limited transmit has let out since SND.UNA last moved.
    pub(crate) limited: u32,
    pub(crate) flight: Flight<R>,
}

impl<R: Array<SegmentRecord>> Recovery<R> {
    pub(crate) fn new(una: SeqNum) -> Self {
        Recovery {
            flight: Flight::new(una),
            rack: Rack::new(una),
            prr: Prr::default(),
            phase: Phase::Open,
            undo: None,
            point: una,
            pending: false,
            dup_acks: 0,
            told: 0,
            limited: 0,
        }
    }

    /// SND.UNA has moved to `una`.
    pub(crate) fn advance(&mut self, una: SeqNum) {
        self.limited = 0;
        self.pending = false;
        self.rack.advance(una);
        if self.phase == Phase::Open {
            // Keeps `point` within half the sequence space of SND.UNA.
            self.point = self.point.later(una.minus(1));
        }
    }

    /// inflight (RFC 9937 §6.2): octets in the network. Without SACK every duplicate tells of a
    /// segment that has left it, which is limited transmit (RFC 3042) for the first two and New
    /// Reno's window inflation (RFC 6582) from the third on.
    pub(crate) fn inflight(&self, flight: u32, mss: u32) -> u32 {
        let duplicates = if self.phase == Phase::Timeout { 0 } else { self.dup_acks };
        flight
            .saturating_sub(self.flight.gone())
            .saturating_sub(mss.saturating_mul(u32::from(duplicates)))
    }

    pub(crate) fn enter_fast(&mut self, nxt: SeqNum, recover_fs: u32) {
        self.phase = Phase::Fast;
        self.point = nxt;
        self.prr = Prr::new(recover_fs);
        self.rack.probe = Probe::None;
    }

    /// RFC 6298 §5.4 and RFC 8985 §6.3; with F-RTO, if this is the first sign of loss.
    pub(crate) fn enter_timeout(&mut self, nxt: SeqNum, forward: bool) {
        let first = self.phase == Phase::Open;
        if let Some(undo) = &mut self.undo {
            undo.trial = if first && forward { Trial::Resent } else { Trial::Off };
        }
        self.phase = Phase::Timeout;
        self.point = nxt;
        self.pending = true;
        self.dup_acks = 0;
        self.told = 0;
        self.rack.probe = Probe::None;
    }

    /// New data goes before what is lost (RFC 5682).
    pub(crate) fn tries_forward(&self) -> bool {
        self.phase == Phase::Timeout && self.undo.is_some_and(|u| u.trial == Trial::Forward)
    }

    pub(crate) fn leave(&mut self) {
        self.phase = Phase::Open;
        self.dup_acks = 0;
        self.pending = false;
        self.rack.on_recovered();
    }
}
