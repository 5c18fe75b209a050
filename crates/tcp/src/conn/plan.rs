//! What a memory plan says of a connection, and how its program does without.

use super::{Connection, Established, Setup};
use crate::congestion::Controller;
use crate::features::Features;
use crate::send::flight::{Flight, SegmentRecord};
use crate::send::recovery::{ByTimeout, LossDetection, Selective};
use crate::send::scoreboard::{Plain, Scoreboard};
use crate::seq::SeqNum;
use core::ops::{Deref, DerefMut};
use kinglet_time::Instant;

/// How a plan finds and repairs losses ([`crate::Sizes::Segments`]).
///
/// * `[SegmentRecord; N]`: every segment in flight has a record. RACK-TLP (RFC 8985) by the peer's
///   SACK, PRR (RFC 9937), and recoveries that turn out to be needless are taken back (RFC 2883,
///   3522, 4015, 5682). Of a peer without SACK losses are found as New Reno does.
/// * `()`: nothing is recorded, and losses are found as New Reno does (RFC 6582) whatever the peer
///   sends: three duplicates, or the timer, after which all that was in flight goes again but for
///   what is acknowledged meanwhile. SACK is sent all the same. One segment a round trip is timed
///   (RFC 6298 §3).
/// * [`ByTimeout`]: as `()`, but duplicates tell nothing: the timer alone finds losses.
//= rfc5681#4.3-6
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not recover losses",
    note = "the `recovery` of a plan is `()` or `tcp::ByTimeout`; `segments` records otherwise"
)]
pub trait LossRecovery {
    /// What is known of what is in flight.
    #[doc(hidden)]
    type Board: Board;
    /// What is remembered beside.
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

/// A connection with the memory that a plan gives it; used as one that does not know how much.
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

/// A scoreboard with as much memory as a plan says.
pub trait Board: Sized {
    /// The same if it does not matter how much that is. What connections do is written for this,
    /// so that an image has it once, however many plans it has.
    type Open: Scoreboard + ?Sized;

    /// Nothing is in flight.
    fn new(una: SeqNum) -> Self;
    /// The connection whose this is.
    fn open<C, A: LossDetection, F: Features>(
        conn: &Connection<C, A, F, Self>,
    ) -> &Connection<C, A, F, Self::Open>;
    /// The connection whose this is.
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
