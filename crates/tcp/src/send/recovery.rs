//! The phases of loss recovery and what belongs to each.
//!
//! SND.NXT never goes back. Whatever is to be sent again is marked in the scoreboard, by RACK
//! (RFC 8985) if the peer sends SACK, by duplicate acknowledgments (RFC 6582) if not, by the timer
//! (RFC 6298 §5) or by the link; sending it again is the same for all.

use super::prr::Prr;
use super::rack::{Probe, Rack};
use super::undo::{Trial, Undo};
use crate::seq::SeqNum;

/// DupThresh (RFC 5681 §3.2), for peers without SACK.
pub(crate) const DUP_THRESH: u8 = 3;

/// What is remembered beside the scoreboard, if anything is: the answers of `()` are known to the
/// compiler, so that what depends on them is not linked.
pub trait Aids: Copy {
    /// Whether SACK is heeded.
    const SELECTIVE: bool;
    /// Nothing has been heard yet of what is sent from `una` on.
    fn new(una: SeqNum) -> Self;
    /// All of it.
    fn get(&self) -> Option<&Selective>;
    /// All of it.
    fn get_mut(&mut self) -> Option<&mut Selective>;
}

/// What goes with records of segments.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // See `Connection`.
pub struct Selective {
    rack: Rack,
    prr: Prr,
    /// Of the last loss, until it is taken back.
    undo: Option<Undo>,
}

impl Aids for Selective {
    const SELECTIVE: bool = true;

    fn new(una: SeqNum) -> Self {
        Selective { rack: Rack::new(una), prr: Prr::default(), undo: None }
    }

    fn get(&self) -> Option<&Selective> {
        Some(self)
    }

    fn get_mut(&mut self) -> Option<&mut Selective> {
        Some(self)
    }
}

impl Aids for () {
    const SELECTIVE: bool = false;

    fn new(_: SeqNum) -> Self {}

    fn get(&self) -> Option<&Selective> {
        None
    }

    fn get_mut(&mut self) -> Option<&mut Selective> {
        None
    }
}

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
pub(crate) struct Recovery<A> {
    pub(crate) phase: Phase,
    /// What is lost first is to be sent again now, whatever cwnd says.
    pub(crate) pending: bool,
    pub(crate) dup_acks: u8,
    /// Losses that the link has told of since there was progress.
    pub(crate) told: u8,
    /// RecoveryPoint of RFC 6675, `recover` + 1 of RFC 6582.
    pub(crate) point: SeqNum,
    /// Octets sent: in fast recovery prr_out (RFC 9937 §5), else those that limited transmit has
    /// let out since SND.UNA last moved.
    pub(crate) out: u32,
    aids: A,
}

impl<A: Aids> Recovery<A> {
    pub(crate) fn new(una: SeqNum) -> Self {
        Recovery {
            aids: A::new(una),
            phase: Phase::Open,
            point: una,
            pending: false,
            dup_acks: 0,
            told: 0,
            out: 0,
        }
    }

    /// A SYN is to be sent.
    pub(crate) fn opening(iss: SeqNum) -> Self {
        let mut recovery = Recovery::new(iss);
        recovery.pending = true;
        recovery
    }

    /// Starts over from `una` with what the SYN has measured of the path.
    pub(crate) fn restart(&mut self, una: SeqNum) {
        let before = core::mem::replace(self, Recovery::new(una));
        if let (Some(rack), Some(before)) = (self.rack_mut(), before.rack()) {
            *rack = *before;
        }
    }

    pub(crate) fn rack(&self) -> Option<&Rack> {
        self.aids.get().map(|aids| &aids.rack)
    }

    pub(crate) fn rack_mut(&mut self) -> Option<&mut Rack> {
        self.aids.get_mut().map(|aids| &mut aids.rack)
    }

    pub(crate) fn prr(&self) -> Option<&Prr> {
        self.aids.get().map(|aids| &aids.prr)
    }

    pub(crate) fn prr_mut(&mut self) -> Option<&mut Prr> {
        self.aids.get_mut().map(|aids| &mut aids.prr)
    }

    pub(crate) fn undo_mut(&mut self) -> Option<&mut Undo> {
        self.aids.get_mut().and_then(|aids| aids.undo.as_mut())
    }

    /// What is kept to take the last loss back; `None`: it is not to be.
    pub(crate) fn set_undo(&mut self, undo: Option<Undo>) {
        if let Some(aids) = self.aids.get_mut() {
            aids.undo = undo;
        }
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
        if self.phase != Phase::Fast {
            self.out = 0;
        }
        self.pending = false;
        if let Some(rack) = self.rack_mut() {
            rack.advance(una);
        }
        if self.phase == Phase::Open {
            // Keeps `point` within half the sequence space of SND.UNA.
            self.point = self.point.later(una.minus(1));
        }
    }

    pub(crate) fn note_out(&mut self, octets: u32) {
        self.out = self.out.saturating_add(octets);
    }

    /// inflight (RFC 9937 §6.2): octets in the network. Without SACK every duplicate tells of a
    /// segment that has left it, which is limited transmit (RFC 3042) for the first two and New
    /// Reno's window inflation (RFC 6582) from the third on.
    pub(crate) fn inflight(&self, flight: u32, gone: u32, mss: u32) -> u32 {
        let duplicates = if self.phase == Phase::Timeout { 0 } else { self.dup_acks };
        flight.saturating_sub(gone).saturating_sub(mss.saturating_mul(u32::from(duplicates)))
    }

    pub(crate) fn enter_fast(&mut self, nxt: SeqNum, recover_fs: u32) {
        self.phase = Phase::Fast;
        self.point = nxt;
        self.out = 0;
        if let Some(prr) = self.prr_mut() {
            *prr = Prr::new(recover_fs);
        }
        self.set_probe(Probe::None);
    }

    /// RFC 6298 §5.4 and RFC 8985 §6.3; with F-RTO, if this is the first sign of loss.
    pub(crate) fn enter_timeout(&mut self, nxt: SeqNum, forward: bool) {
        let first = self.phase == Phase::Open;
        if let Some(undo) = self.undo_mut() {
            undo.trial = if first && forward { Trial::Resent } else { Trial::Off };
        }
        self.phase = Phase::Timeout;
        self.point = nxt;
        self.pending = true;
        self.dup_acks = 0;
        self.told = 0;
        self.set_probe(Probe::None);
    }

    /// New data goes before what is lost (RFC 5682).
    pub(crate) fn tries_forward(&self) -> bool {
        let undo = self.aids.get().and_then(|aids| aids.undo.as_ref());
        self.phase == Phase::Timeout && undo.is_some_and(|u| u.trial == Trial::Forward)
    }

    pub(crate) fn leave(&mut self) {
        if self.phase == Phase::Fast {
            self.out = 0;
        }
        self.phase = Phase::Open;
        self.dup_acks = 0;
        self.pending = false;
        if let Some(rack) = self.rack_mut() {
            rack.on_recovered();
        }
    }
}
