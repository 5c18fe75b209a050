//! Send times of segments, and the report of one acknowledgment on those that have arrived.

use crate::rtt::micros_u32;
use crate::seq::SeqNum;
use crate::timer::{HORIZON, low_half};
use kinglet_time::Instant;

/// Send time of a segment: units of 4 µs in steps of eight, modulo 2^32, so that the flags of a
/// record fit into the same word. The step is that of [`Tick`](crate::timer::Tick), the range an
/// eighth: two instants compare rightly while they are less than 2.4 hours apart, and an instant
/// older than [`HORIZON`] is made just that old.
//= rfc8985#4-3
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stamp(u32);

impl Stamp {
    /// Bits that no stamp has.
    pub(super) const SPARE: u32 = 7;

    /// Returns the stamp in a record's word, without the flags.
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

    /// Returns the microseconds from `earlier` to here; zero if `earlier` is in fact later.
    pub(crate) fn since(self, earlier: Stamp) -> u32 {
        // The same arithmetic as that of sequence numbers.
        SeqNum::new(self.0).since(SeqNum::new(earlier.0)).saturating_mul(4)
    }

    /// Returns the oldest instant that is distinguishable at `self`.
    pub(super) fn oldest(self) -> Stamp {
        Stamp(self.0.wrapping_sub(micros_u32(HORIZON) >> 2) & !Self::SPARE)
    }

    /// Returns whether this is neither in the future of `now` nor beyond the horizon.
    pub(crate) fn is_recent(self, now: Stamp) -> bool {
        self.since(now) == 0 && now.since(self) <= micros_u32(HORIZON)
    }

    pub(crate) fn later(self, other: Stamp) -> Stamp {
        Stamp(SeqNum::new(self.0).later(SeqNum::new(other.0)).value())
    }

    /// Returns RACK_sent_after (RFC 8985 §6.2): ties are broken by the sequence number.
    pub(crate) fn sent_after(self, end: SeqNum, other: Stamp, other_end: SeqNum) -> bool {
        self.since(other) > 0 || (self == other && end.after(other_end))
    }
}

/// New information of one acknowledgment, gathered record by record (RFC 8985 §6.2 steps 2 and 3).
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub(crate) now: Stamp,
    /// Age of the echoed timestamp, in ticks of its clock.
    pub(crate) echo_age: Option<u32>,
    pub(crate) min_rtt_us: u32,
    /// RACK.fack before this acknowledgment.
    pub(crate) fack: SeqNum,
    /// Octets that have arrived.
    pub(crate) octets: u32,
    /// Send time and end of the segment that was sent last, of those that have arrived.
    pub(crate) newest: Option<(Stamp, SeqNum)>,
    /// The round trip of the first of them, in microseconds, unless it is ambiguous.
    pub(crate) rtt_us: Option<u32>,
    /// Time since one of them was sent last, in microseconds: no round trip is shorter.
    pub(crate) last_us: u32,
    /// A segment that was sent once came after one that was sent later.
    pub(crate) reordered: bool,
    /// A retransmission has arrived.
    pub(crate) retransmitted: bool,
    /// A retransmitted segment has arrived, and the echo is older than its last transmission.
    pub(crate) echo_is_old: bool,
}
