//! The phases of loss recovery and what belongs to each.
//!
//! ```text
//!           duplicates, RACK            all up to `point` acknowledged, or needless
//!   Open ------------------> Fast ------------------------------------------------> Open
//!     \                       |  the timer
//!      \ the timer             v
//!       +----------------> Timeout ----------------------------------------------> Open
//! ```
//!
//! SND.NXT never goes back. Whatever is to be sent again is marked in the scoreboard, by RACK
//! (RFC 8985) if the peer sends SACK, by duplicate acknowledgments (RFC 6582) if not, by the timer
//! (RFC 6298 §5) or by the link; sending it again is the same for all.

use super::prr::{Progress, Prr, Rate};
use super::rack::{Probe, Rack};
use super::undo::{FrtoState, Undo};
use crate::seq::SeqNum;

/// DupThresh (RFC 5681 §3.2), for peers without SACK.
pub(crate) const DUP_THRESH: u8 = 3;

/// What is remembered beside the scoreboard, if anything is: the answers of `()` are known to the
/// compiler, so that what depends on them is not linked.
pub trait LossDetection: Copy {
    /// Whether SACK is heeded.
    const SELECTIVE: bool;
    /// Whether duplicate acknowledgments show losses; else the timer alone does.
    const DUPLICATES: bool;
    /// How much may leave during fast recovery.
    type Rate: Rate;
    /// Nothing has been heard yet of what is sent from `una` on.
    fn new(una: SeqNum) -> Self;
    /// All of it.
    fn get(&self) -> Option<&Selective>;
    /// All of it.
    fn get_mut(&mut self) -> Option<&mut Selective>;
}

/// What goes with records of segments.
//= rfc9937#5-1
#[derive(Clone, Copy, Debug)]
#[repr(C)] // See `Connection`.
pub struct Selective {
    rack: Rack,
    /// Of the last loss, until it is taken back: a D-SACK may come when recovery is over.
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

/// The timer alone finds losses, and everything in flight is sent again after it, in slow start:
/// RFC 793 with the window of RFC 5681.
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

/// What a sender thinks of what is in flight, and what it knows only for as long as it does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase<R> {
    /// Nothing is taken for lost but what the link has told of.
    Open {
        /// Duplicate acknowledgments since SND.UNA last moved, without SACK.
        dup_acks: u8,
        /// Octets that limited transmit (RFC 3042) has let out since then.
        limited: u32,
    },
    /// Fast recovery (RFC 5681 §3.2, RFC 6582): duplicates or RACK have found something lost, and
    /// what was then outstanding is not yet acknowledged.
    Fast {
        /// Segments that have left the network since SND.UNA last moved, without SACK.
        dup_acks: u8,
        /// How much may leave.
        rate: R,
    },
    /// The timer has expired, and what was then outstanding is not yet acknowledged. Duplicates
    /// mean nothing here.
    Timeout {
        /// How far F-RTO has come. Only what [`Undo`] remembers can be tried.
        frto: FrtoState,
    },
}

impl<R> Phase<R> {
    /// Nothing has been heard since SND.UNA moved.
    const OPEN: Self = Phase::Open { dup_acks: 0, limited: 0 };
}

#[derive(Clone, Copy, Debug)]
#[repr(C)] // See `Connection`.
pub(crate) struct Recovery<A: LossDetection> {
    phase: Phase<A::Rate>,
    /// RecoveryPoint of RFC 6675, `recover` + 1 of RFC 6582: it outlasts the phase, so that what a
    /// recovery has sent twice begins no other.
    point: SeqNum,
    detection: A,
}

impl<A: LossDetection> Recovery<A> {
    pub(crate) fn new(una: SeqNum) -> Self {
        Recovery { phase: Phase::OPEN, point: una, detection: A::new(una) }
    }

    /// Starts over from `una` with what the SYN has measured of the path. The first loss is
    /// repaired fast, as `iss` lies before it.
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

    /// What takes the loss back that is about to be reported.
    pub(crate) fn remember(&mut self, undo: Undo) {
        if let Some(detection) = self.detection.get_mut() {
            detection.undo = Some(undo);
        }
    }

    /// The last loss is not to be taken back any more, as it is now or for good.
    pub(crate) fn take_undo(&mut self) -> Option<Undo> {
        if let Phase::Timeout { frto } = &mut self.phase {
            *frto = FrtoState::Off;
        }
        self.detection.get_mut().and_then(|detection| detection.undo.take())
    }

    /// How far a loss probe has come.
    pub(crate) fn probe(&self) -> Probe {
        self.rack().map_or(Probe::None, |rack| rack.probe)
    }

    pub(crate) fn set_probe(&mut self, probe: Probe) {
        if let Some(rack) = self.rack_mut() {
            rack.probe = probe;
        }
    }

    /// SND.UNA has moved to `una`.
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

    /// `octets` leave, `fresh` of them for the first time; `doubt` if the peer holds something
    /// beyond a gap, as duplicates show where it does not say so.
    pub(crate) fn note_sent(&mut self, octets: u32, fresh: u32, doubt: impl FnOnce() -> bool) {
        match &mut self.phase {
            Phase::Open { dup_acks, limited } if *dup_acks > 0 || doubt() => {
                *limited = limited.saturating_add(fresh);
            }
            Phase::Fast { rate, .. } => rate.note_sent(octets),
            Phase::Open { .. } | Phase::Timeout { .. } => {}
        }
    }

    /// A duplicate acknowledgment, from a peer without SACK. Answers how many there are, if they
    /// can show a loss.
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

    /// RFC 6582 §3.2 step 3, partial acknowledgment of so many segments: the duplicates counted
    /// those, but for the one that was lost.
    //= rfc6582#3.2-7
    pub(crate) fn deflate(&mut self, segments: u32) {
        if let Phase::Fast { dup_acks, .. } = &mut self.phase {
            let arrived = u8::try_from(segments.saturating_sub(1)).unwrap_or(u8::MAX);
            *dup_acks = dup_acks.saturating_sub(arrived);
        }
    }

    /// Octets in flight that limited transmit has let out, which a reduction leaves out.
    //= rfc5681#3.2-8
    pub(crate) fn limited(&self) -> u32 {
        if let Phase::Open { limited, .. } = self.phase { limited } else { 0 }
    }

    /// inflight (RFC 9937 §6.2): octets in the network. Without SACK every duplicate tells of a
    /// segment that has left it, which is limited transmit (RFC 3042) for the first two and New
    /// Reno's window inflation (RFC 6582) from the third on.
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

    /// An acknowledgment has arrived: in fast recovery it says how much may leave.
    pub(crate) fn reduce(&mut self, progress: Progress) {
        if let Phase::Fast { rate, .. } = &mut self.phase {
            rate.on_ack(progress);
        }
    }

    /// Fast recovery begins. `recover_fs` is RFC 9937's.
    //= rfc6582#3.2-2
    //= rfc9937#6.1-1
    pub(crate) fn enter_fast(&mut self, nxt: SeqNum, recover_fs: u32) {
        let dup_acks = if let Phase::Open { dup_acks, .. } = self.phase { dup_acks } else { 0 };
        self.phase = Phase::Fast { dup_acks, rate: A::Rate::new(recover_fs) };
        self.point = nxt;
        self.set_probe(Probe::None);
    }

    /// RFC 6298 §5.4 and RFC 8985 §6.3; with F-RTO, if this is the first sign of loss, or the same
    /// again before anything was acknowledged.
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

    /// New data goes before what is lost (RFC 5682).
    //= rfc5682#2.1-3 rfc5682#3.1-5
    pub(crate) fn tries_forward(&self) -> bool {
        A::SELECTIVE && matches!(self.phase, Phase::Timeout { frto: FrtoState::Forward })
    }

    /// What was sent is to be sent again, whatever F-RTO would find out: the window has closed over
    /// it, or has opened.
    pub(crate) fn stop_trying_forward(&mut self) {
        if let Some(frto @ FrtoState::Forward) = self.frto_mut() {
            *frto = FrtoState::Off;
        }
    }

    /// F-RTO, if it is under way: see [`FrtoState::is_needless`].
    pub(crate) fn frto_mut(&mut self) -> Option<&mut FrtoState> {
        match &mut self.phase {
            Phase::Timeout { frto } if A::SELECTIVE => Some(frto),
            _ => None,
        }
    }

    /// Nothing was lost: duplicates of what follows `una` may begin a recovery (RFC 5682 §2.1 step
    /// 3b).
    //= rfc5682#2.1-5 rfc4015#4-1
    pub(crate) fn withdraw(&mut self, una: SeqNum) {
        self.point = una.minus(1);
        self.leave();
    }

    /// All that was outstanding is acknowledged, or nothing was lost.
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

    /// What the second episode lets out does not depend on the first.
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
