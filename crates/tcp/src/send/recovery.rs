//! Phases of loss recovery, and the state of each.
//!
//! ```text
//!           duplicates, RACK            all up to `point` acknowledged, or needless
//!   Open ------------------> Fast ------------------------------------------------> Open
//!     \                       |  the timer
//!      \ the timer             v
//!       +----------------> Timeout ----------------------------------------------> Open
//! ```
//!
//! SND.NXT never goes back. Data to be sent again is marked in the scoreboard: after RACK (RFC
//! 8985) if the peer sends SACK, or after duplicate acknowledgments (RFC 6582) if not; after the
//! timer (RFC 6298 §5); or after a loss report of the link. The retransmission is the same for all.

use super::prr::{Progress, Prr, Rate};
use super::rack::{Probe, Rack};
use super::undo::{FrtoState, Undo};
use crate::seq::SeqNum;

/// DupThresh (RFC 5681 §3.2), for peers without SACK.
pub(crate) const DUP_THRESH: u8 = 3;

/// State in addition to the scoreboard, if any: the compiler knows the results of `()`, so that
/// code that depends on them is not linked.
pub trait LossDetection: Copy {
    /// True if SACK is processed.
    const SELECTIVE: bool;
    /// True if duplicate acknowledgments reveal losses; otherwise only the timer does.
    const DUPLICATES: bool;
    /// Bound on the octets sent during fast recovery.
    type Rate: Rate;
    /// Creates the state when nothing sent from `una` on was acknowledged.
    fn new(una: SeqNum) -> Self;
    /// Returns the state, if there is any.
    fn get(&self) -> Option<&Selective>;
    /// Returns the state, if there is any.
    fn get_mut(&mut self) -> Option<&mut Selective>;
}

/// State that goes with records of segments.
//= rfc9937#5-1
#[derive(Clone, Copy, Debug)]
#[repr(C)] // See `Connection`.
pub struct Selective {
    rack: Rack,
    /// State to undo the response to the last loss. It outlasts recovery, as a D-SACK may come
    /// later.
    undo: Option<Undo>,
}

impl LossDetection for Selective {
    const SELECTIVE: bool = true;
    const DUPLICATES: bool = true;
    type Rate = Prr;

    fn new(una: SeqNum) -> Self {
        Selective { rack: Rack::new(una), undo: None }
    }

    fn get(&self) -> Option<&Selective> {
        Some(self)
    }

    fn get_mut(&mut self) -> Option<&mut Selective> {
        Some(self)
    }
}

/// Loss detection by the timer alone; after a timeout everything in flight is sent again, in slow
/// start: RFC 793 with the window of RFC 5681.
#[derive(Clone, Copy, Debug)]
pub struct ByTimeout;

impl LossDetection for ByTimeout {
    const SELECTIVE: bool = false;
    const DUPLICATES: bool = false;
    type Rate = ();

    fn new(_: SeqNum) -> Self {
        ByTimeout
    }

    fn get(&self) -> Option<&Selective> {
        None
    }

    fn get_mut(&mut self) -> Option<&mut Selective> {
        None
    }
}

impl LossDetection for () {
    const SELECTIVE: bool = false;
    const DUPLICATES: bool = true;
    type Rate = ();

    fn new(_: SeqNum) -> Self {}

    fn get(&self) -> Option<&Selective> {
        None
    }

    fn get_mut(&mut self) -> Option<&mut Selective> {
        None
    }
}

/// Phase of loss recovery, with the state that exists only during the phase.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase<R> {
    /// Nothing is considered lost except what the link has reported.
    Open {
        /// Duplicate acknowledgments since SND.UNA last moved, without SACK.
        dup_acks: u8,
        /// Octets that limited transmit (RFC 3042) has sent since then.
        limited: u32,
    },
    /// Fast recovery (RFC 5681 §3.2, RFC 6582): duplicates or RACK have revealed a loss, and the
    /// data then outstanding is not yet acknowledged.
    Fast {
        /// Segments that have left the network since SND.UNA last moved, without SACK.
        dup_acks: u8,
        /// Bound on the octets sent.
        rate: R,
    },
    /// The timer has expired, and the data then outstanding is not yet acknowledged. Duplicates are
    /// ignored.
    Timeout {
        /// State of F-RTO, which needs an [`Undo`].
        frto: FrtoState,
    },
}

impl<R> Phase<R> {
    /// The phase when SND.UNA has just moved.
    const OPEN: Self = Phase::Open { dup_acks: 0, limited: 0 };
}

#[derive(Clone, Copy, Debug)]
#[repr(C)] // See `Connection`.
pub(crate) struct Recovery<A: LossDetection> {
    phase: Phase<A::Rate>,
    /// RecoveryPoint of RFC 6675, `recover` + 1 of RFC 6582: it outlasts the phase, so that the
    /// retransmissions of a recovery begin no other.
    point: SeqNum,
    detection: A,
}

impl<A: LossDetection> Recovery<A> {
    pub(crate) fn new(una: SeqNum) -> Self {
        Recovery { phase: Phase::OPEN, point: una, detection: A::new(una) }
    }

    /// Starts over from `una`, but keeps the measurements of the SYN. The first loss can begin fast
    /// recovery, as `iss` lies before it.
    //= rfc6582#3.2-1
    pub(crate) fn restart(&mut self, una: SeqNum, iss: SeqNum) {
        let before = core::mem::replace(self, Recovery::new(una));
        if let (Some(rack), Some(before)) = (self.rack_mut(), before.rack()) {
            *rack = *before;
        }
        self.point = iss;
    }

    pub(crate) fn phase(&self) -> &Phase<A::Rate> {
        &self.phase
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self.phase, Phase::Timeout { .. })
    }

    pub(crate) fn point(&self) -> SeqNum {
        self.point
    }

    pub(crate) fn rack(&self) -> Option<&Rack> {
        self.detection.get().map(|detection| &detection.rack)
    }

    pub(crate) fn rack_mut(&mut self) -> Option<&mut Rack> {
        self.detection.get_mut().map(|detection| &mut detection.rack)
    }

    pub(crate) fn undo_mut(&mut self) -> Option<&mut Undo> {
        self.detection.get_mut().and_then(|detection| detection.undo.as_mut())
    }

    /// Stores the state to undo the response to the loss that is about to be reported.
    pub(crate) fn remember(&mut self, undo: Undo) {
        if let Some(detection) = self.detection.get_mut() {
            detection.undo = Some(undo);
        }
    }

    /// Returns the state to undo the response to the last loss, and removes it: the response is
    /// undone now or never.
    pub(crate) fn take_undo(&mut self) -> Option<Undo> {
        if let Phase::Timeout { frto } = &mut self.phase {
            *frto = FrtoState::Off;
        }
        self.detection.get_mut().and_then(|detection| detection.undo.take())
    }

    /// Returns the state of the loss probe.
    pub(crate) fn probe(&self) -> Probe {
        self.rack().map_or(Probe::None, |rack| rack.probe)
    }

    pub(crate) fn set_probe(&mut self, probe: Probe) {
        if let Some(rack) = self.rack_mut() {
            rack.probe = probe;
        }
    }

    /// Notes that SND.UNA has moved to `una`.
    pub(crate) fn advance(&mut self, una: SeqNum) {
        if let Some(rack) = self.rack_mut() {
            rack.advance(una);
        }
        if self.is_open() {
            self.phase = Phase::OPEN;
            // Keeps `point` within half the sequence space of SND.UNA.
            self.point = self.point.later(una.minus(1));
        }
    }

    /// Notes that `octets` are sent, `fresh` of them for the first time. `doubt` returns whether
    /// the peer holds data beyond a gap; without SACK, duplicates show that.
    pub(crate) fn note_sent(&mut self, octets: u32, fresh: u32, doubt: impl FnOnce() -> bool) {
        match &mut self.phase {
            Phase::Open { dup_acks, limited } if *dup_acks > 0 || doubt() => {
                *limited = limited.saturating_add(fresh);
            }
            Phase::Fast { rate, .. } => rate.note_sent(octets),
            Phase::Open { .. } | Phase::Timeout { .. } => {}
        }
    }

    /// Counts a duplicate acknowledgment of a peer without SACK. Returns the count, if it can
    /// reveal a loss.
    //= rfc5681#3.2-11
    pub(crate) fn count_duplicate(&mut self) -> Option<u8> {
        match &mut self.phase {
            Phase::Open { dup_acks, .. } => {
                *dup_acks = dup_acks.saturating_add(1);
                Some(*dup_acks)
            }
            Phase::Fast { dup_acks, .. } => {
                *dup_acks = dup_acks.saturating_add(1);
                None
            }
            Phase::Timeout { .. } => None,
        }
    }

    /// Handles a partial acknowledgment of `segments` segments (RFC 6582 §3.2 step 3): the
    /// duplicates have counted these, except the one that was lost.
    //= rfc6582#3.2-7
    pub(crate) fn deflate(&mut self, segments: u32) {
        if let Phase::Fast { dup_acks, .. } = &mut self.phase {
            let arrived = u8::try_from(segments.saturating_sub(1)).unwrap_or(u8::MAX);
            *dup_acks = dup_acks.saturating_sub(arrived);
        }
    }

    /// Returns the octets in flight that limited transmit has sent, which a reduction leaves out.
    //= rfc5681#3.2-8
    pub(crate) fn limited(&self) -> u32 {
        if let Phase::Open { limited, .. } = self.phase { limited } else { 0 }
    }

    /// Returns inflight (RFC 9937 §6.2): the octets in the network. Without SACK every duplicate
    /// reports a segment that has left it, which is limited transmit (RFC 3042) for the first two
    /// and New Reno's window inflation (RFC 6582) from the third on.
    //= rfc5681#3.2-4 rfc5681#3.2-5 rfc5681#3.2-10 rfc3042#2-1 rfc3042#2-3 rfc3042#2-4
    //= rfc9937#6.2-1 rfc9937#6.2-2
    pub(crate) fn inflight(&self, flight: u32, gone: u32, mss: u32) -> u32 {
        let duplicated = |count: u8| mss.saturating_mul(u32::from(count));
        let left = match self.phase {
            Phase::Open { dup_acks, .. } => duplicated(dup_acks),
            Phase::Fast { dup_acks, rate } => rate.believe(duplicated(dup_acks)),
            Phase::Timeout { .. } => 0,
        };
        flight.saturating_sub(gone).saturating_sub(left)
    }

    /// Handles an acknowledgment, which in fast recovery determines how much may be sent.
    pub(crate) fn reduce(&mut self, progress: Progress) {
        if let Phase::Fast { rate, .. } = &mut self.phase {
            rate.on_ack(progress);
        }
    }

    /// Begins fast recovery. `recover_fs` is RecoverFS of RFC 9937.
    //= rfc6582#3.2-2
    //= rfc9937#6.1-1
    pub(crate) fn enter_fast(&mut self, nxt: SeqNum, recover_fs: u32) {
        let dup_acks = if let Phase::Open { dup_acks, .. } = self.phase { dup_acks } else { 0 };
        self.phase = Phase::Fast { dup_acks, rate: A::Rate::new(recover_fs) };
        self.point = nxt;
        self.set_probe(Probe::None);
    }

    /// Begins the phase after a timeout (RFC 6298 §5.4, RFC 8985 §6.3), with F-RTO if this is the
    /// first sign of loss, or a further timeout before anything was acknowledged.
    //= rfc6582#3.2-10 rfc6675#5.1-3 rfc6675#5.1-4 rfc5682#2.1-1 rfc5682#2.1-6 rfc5682#2.1-7
    //= rfc5682#3.1-1 rfc5682#3.1-8 rfc5682#3.1-9
    pub(crate) fn enter_timeout(&mut self, nxt: SeqNum, forward: bool) {
        let again = self.frto_mut().is_some_and(|frto| *frto == FrtoState::Retransmitted);
        let tried = forward && (self.is_open() || again) && self.undo_mut().is_some();
        let frto = if tried { FrtoState::Retransmitted } else { FrtoState::Off };
        self.phase = Phase::Timeout { frto };
        self.point = nxt;
        self.set_probe(Probe::None);
    }

    /// Returns whether new data is sent before lost data (RFC 5682).
    //= rfc5682#2.1-3 rfc5682#3.1-5
    pub(crate) fn tries_forward(&self) -> bool {
        A::SELECTIVE && matches!(self.phase, Phase::Timeout { frto: FrtoState::Forward })
    }

    /// Ends F-RTO before its decision: the window has closed over the data in flight, or has
    /// opened, and the data is to be sent again.
    pub(crate) fn stop_trying_forward(&mut self) {
        if let Some(frto @ FrtoState::Forward) = self.frto_mut() {
            *frto = FrtoState::Off;
        }
    }

    /// Returns the state of F-RTO after a timeout: see [`FrtoState::is_needless`].
    pub(crate) fn frto_mut(&mut self) -> Option<&mut FrtoState> {
        match &mut self.phase {
            Phase::Timeout { frto } if A::SELECTIVE => Some(frto),
            _ => None,
        }
    }

    /// Ends a recovery in which nothing was lost: duplicates of data after `una` may begin a
    /// recovery (RFC 5682 §2.1 step 3b).
    //= rfc5682#2.1-5 rfc4015#4-1
    pub(crate) fn withdraw(&mut self, una: SeqNum) {
        self.point = una.minus(1);
        self.leave();
    }

    /// Ends a recovery: all data then outstanding is acknowledged, or nothing was lost.
    //= rfc6675#5-6
    pub(crate) fn leave(&mut self) {
        self.phase = Phase::OPEN;
        if let Some(rack) = self.rack_mut() {
            rack.on_recovered();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The octets sent in the second episode do not depend on the first.
    //= rfc9937#6.1-1 type=test
    #[test]
    fn each_fast_recovery_begins_with_a_rate_of_its_own() {
        let progress = Progress {
            delivered: 1_000,
            safe: false,
            inflight: 9_000,
            ssthresh: 5_000,
            mss: 1_000,
        };
        let window = |recovery: &Recovery<Selective>| match recovery.phase() {
            Phase::Fast { rate, .. } => rate.window(),
            Phase::Open { .. } | Phase::Timeout { .. } => None,
        };
        let mut recovery = Recovery::<Selective>::new(SeqNum::new(0));
        recovery.enter_fast(SeqNum::new(10_000), 10_000);
        recovery.reduce(progress);
        let first = window(&recovery);
        assert_eq!(first, Some(9_500), "half a segment for one that has arrived");
        for _ in 0..4 {
            recovery.note_sent(1_000, 0, || true);
            recovery.reduce(progress);
        }
        assert_ne!(window(&recovery), first);
        recovery.leave();
        recovery.enter_fast(SeqNum::new(20_000), 10_000);
        recovery.reduce(progress);
        assert_eq!(window(&recovery), first);
    }
}
