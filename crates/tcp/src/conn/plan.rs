//! The part of a connection that a memory plan determines, and its use by code that is independent
//! of the plan.

use super::{Connection, Established, Setup};
use crate::congestion::Controller;
use crate::features::Features;
use crate::send::flight::{Flight, SegmentRecord};
use crate::send::recovery::{ByTimeout, LossDetection, Selective};
use crate::send::scoreboard::{Plain, Scoreboard};
use crate::seq::SeqNum;
use core::ops::{Deref, DerefMut};
use kinglet_time::Instant;

/// Detection and repair of losses in a plan ([`crate::Sizes::Segments`]).
///
/// * `[SegmentRecord; N]`: every segment in flight has a record. Losses are detected by RACK-TLP
///   (RFC 8985) from the peer's SACK and repaired with PRR (RFC 9937), and recoveries that turn out
///   to be needless are undone (RFC 2883, 3522, 4015, 5682). With a peer without SACK, losses are
///   detected as in New Reno.
/// * `()`: nothing is recorded, and losses are detected as in New Reno (RFC 6582), whatever the
///   peer sends: by three duplicates, or by the timer, after which everything in flight is sent
///   again unless it is acknowledged meanwhile. SACK is sent all the same. One segment a round trip
///   is timed (RFC 6298 §3).
/// * [`ByTimeout`]: as `()`, but duplicates are ignored: only the timer detects losses.
//= rfc5681#4.3-6
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not recover losses",
    note = "the `recovery` of a plan is `()` or `tcp::ByTimeout`; `segments` records otherwise"
)]
pub trait LossRecovery {
    /// State of the data in flight.
    #[doc(hidden)]
    type Board: Board;
    /// State of loss detection in addition to that.
    #[doc(hidden)]
    type LossDetection: LossDetection;
}

impl<const N: usize> LossRecovery for [SegmentRecord; N] {
    type Board = Flight<Self>;
    type LossDetection = Selective;
}

impl LossRecovery for () {
    type Board = Plain;
    type LossDetection = ();
}

impl LossRecovery for ByTimeout {
    type Board = Plain;
    type LossDetection = ByTimeout;
}

/// A connection with the memory of a plan. It dereferences to a connection that does not depend on
/// the amount.
pub(crate) struct Planned<C, R: LossRecovery, F: Features>(
    Connection<C, R::LossDetection, F, R::Board>,
);

impl<C: Controller, R: LossRecovery, F: Features> Planned<C, R, F> {
    /// See [`Connection::connect`].
    pub(crate) fn connect(now: Instant, setup: &Setup, iss: SeqNum, ts_offset: u32) -> Self {
        Planned(Connection::connect(now, setup, iss, ts_offset))
    }

    /// See [`Connection::accept_from`].
    pub(crate) fn accept(now: Instant, setup: &Setup, from: &Established) -> Self {
        let mut conn = Self::connect(now, setup, from.iss, from.ts_offset);
        conn.accept_from(now, from);
        conn
    }
}

impl<C, R: LossRecovery, F: Features> Deref for Planned<C, R, F> {
    type Target = Connection<C, R::LossDetection, F, <R::Board as Board>::Open>;

    fn deref(&self) -> &Self::Target {
        R::Board::open(&self.0)
    }
}

impl<C, R: LossRecovery, F: Features> DerefMut for Planned<C, R, F> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        R::Board::open_mut(&mut self.0)
    }
}

/// A scoreboard with the amount of memory that a plan sets.
pub trait Board: Sized {
    /// The same scoreboard, independent of that amount. The code of connections is written for it,
    /// so that an image contains it once, however many plans it has.
    type Open: Scoreboard + ?Sized;

    /// Creates a scoreboard with nothing in flight.
    fn new(una: SeqNum) -> Self;
    /// Returns the connection as one that does not depend on the amount.
    fn open<C, A: LossDetection, F: Features>(
        conn: &Connection<C, A, F, Self>,
    ) -> &Connection<C, A, F, Self::Open>;
    /// Returns the connection as one that does not depend on the amount.
    fn open_mut<C, A: LossDetection, F: Features>(
        conn: &mut Connection<C, A, F, Self>,
    ) -> &mut Connection<C, A, F, Self::Open>;
}

impl<const N: usize> Board for Flight<[SegmentRecord; N]> {
    type Open = Flight<[SegmentRecord]>;

    fn new(una: SeqNum) -> Self {
        Flight::new(una)
    }

    fn open<C, A: LossDetection, F: Features>(
        conn: &Connection<C, A, F, Self>,
    ) -> &Connection<C, A, F, Self::Open> {
        conn
    }

    fn open_mut<C, A: LossDetection, F: Features>(
        conn: &mut Connection<C, A, F, Self>,
    ) -> &mut Connection<C, A, F, Self::Open> {
        conn
    }
}

impl Board for Plain {
    type Open = Plain;

    fn new(una: SeqNum) -> Self {
        Plain::new(una)
    }

    fn open<C, A: LossDetection, F: Features>(
        conn: &Connection<C, A, F, Self>,
    ) -> &Connection<C, A, F, Plain> {
        conn
    }

    fn open_mut<C, A: LossDetection, F: Features>(
        conn: &mut Connection<C, A, F, Self>,
    ) -> &mut Connection<C, A, F, Plain> {
        conn
    }
}
