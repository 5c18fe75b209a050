//! When segments were sent, and what one acknowledgment tells of those that have arrived.

use crate::rtt::micros_u32;
use crate::seq::SeqNum;
use crate::timer::{HORIZON, low_half};
use kinglet_time::Instant;

/// When a segment was sent: units of 4 µs in steps of eight, modulo 2^32, so that the flags of a
/// record fit beside it. The step is that of [`Tick`](crate::timer::Tick), the range an eighth: two
/// instants compare rightly while they are less than 2.4 hours apart, and what is older than
/// [`HORIZON`] is made just that old.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stamp(u32);

impl Stamp {
    /// Bits that no stamp has.
    pub(super) const SPARE: u32 = 7;

    /// That beside which a record has its flags.
    pub(super) fn of_word(word: u32) -> Stamp {
        Stamp(word & !Self::SPARE)
    }

    pub(super) fn word(self) -> u32 {
        self.0
    }

    #[inline(never)]
    pub(crate) fn of(now: Instant) -> Stamp {
        Stamp(low_half(now.as_micros() >> 2) & !Self::SPARE)
    }

    /// Microseconds from `earlier` to here; zero if `earlier` is in fact later.
    pub(crate) fn since(self, earlier: Stamp) -> u32 {
        // The same arithmetic as that of sequence numbers.
        SeqNum::new(self.0).since(SeqNum::new(earlier.0)).saturating_mul(4)
    }

    /// The oldest instant that is told apart at `self`.
    pub(super) fn oldest(self) -> Stamp {
        Stamp(self.0.wrapping_sub(micros_u32(HORIZON) >> 2) & !Self::SPARE)
    }

    /// Whether this is neither in the future of `now` nor beyond the horizon.
    pub(crate) fn is_recent(self, now: Stamp) -> bool {
        self.since(now) == 0 && now.since(self) <= micros_u32(HORIZON)
    }

    pub(crate) fn later(self, other: Stamp) -> Stamp {
        Stamp(SeqNum::new(self.0).later(SeqNum::new(other.0)).value())
    }

    /// RACK_sent_after (RFC 8985 §6.2): ties are broken by the sequence number.
    pub(crate) fn sent_after(self, end: SeqNum, other: Stamp, other_end: SeqNum) -> bool {
        self.since(other) > 0 || (self == other && end.after(other_end))
    }
}

/// What one acknowledgment newly tells, gathered record by record (RFC 8985 §6.2 steps 2 and 3).
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub(crate) now: Stamp,
    /// How long ago the echoed timestamp was sent, in ticks of its clock.
    pub(crate) echo_age: Option<u32>,
    pub(crate) min_rtt_us: u32,
    /// RACK.fack before this acknowledgment.
    pub(crate) fack: SeqNum,
    /// Octets that have arrived.
    pub(crate) octets: u32,
    /// Which of the segments that have arrived was sent last, and where it ends.
    pub(crate) newest: Option<(Stamp, SeqNum)>,
    /// The round trip of the first of them, in microseconds, unless it is ambiguous.
    pub(crate) rtt_us: Option<u32>,
    /// How long ago one of them was sent last, in microseconds: no round trip is shorter.
    pub(crate) last_us: u32,
    /// One that was sent once came after one that was sent later.
    pub(crate) reordered: bool,
    /// One that was sent again has arrived.
    pub(crate) retransmitted: bool,
    /// It has, and the echo is older than its last transmission.
    pub(crate) echo_is_old: bool,
}
