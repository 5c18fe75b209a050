//! Floods in progress: their best copies, and the times at which they are passed on or answered.

use crate::due::Due;
use crate::metric::RouteQuality;
use kinglet_time::Instant;
use kinglet_wire::aodv::Rreq;

/// A flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its request, as received over the best route so far.
    pub(crate) rreq: Rreq,
    /// Worth of that route, the last hop included.
    pub(crate) quality: RouteQuality,
    /// Time at which it is passed on, or answered by its destination.
    pub(crate) due: Due,
    /// Number of times that it was passed on or answered.
    pub(crate) sent: u8,
    /// Time until which it is remembered.
    pub(crate) forgotten: Instant,
}

impl Request {
    pub(crate) fn is_of(&self, rreq: &Rreq) -> bool {
        (self.rreq.originator, self.rreq.id) == (rreq.originator, rreq.id)
    }

    /// Returns whether it was passed on, so that a reply may arrive.
    pub(crate) const fn awaits(&self, originator: u16, destination: u16) -> bool {
        self.sent > 0 && self.rreq.originator == originator && self.rreq.destination == destination
    }
}
