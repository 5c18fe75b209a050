//! Floods that go on: what was heard of each, and when it is passed on or answered.

use crate::due::Due;
use crate::metric::Worth;
use kinglet_time::Instant;
use kinglet_wire::aodv::Rreq;

/// A flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it says, as it came on the best way so far.
    pub(crate) rreq: Rreq,
    /// Of that way, the last hop included.
    pub(crate) worth: Worth,
    /// When it is passed on, or answered by its destination.
    pub(crate) due: Due,
    /// How often that has been done.
    pub(crate) told: u8,
    /// Until when it is known.
    pub(crate) forgotten: Instant,
}

impl Request {
    pub(crate) fn is_of(&self, rreq: &Rreq) -> bool {
        (self.rreq.originator, self.rreq.id) == (rreq.originator, rreq.id)
    }

    /// Whether it was passed on, so that a reply may come.
    pub(crate) const fn awaits(&self, originator: u16, destination: u16) -> bool {
        self.told > 0 && self.rreq.originator == originator && self.rreq.destination == destination
    }
}
