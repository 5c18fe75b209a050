//! SYN cookies (RFC 4987 §3.6): where there is no room for another half-open connection, the SYN is
//! answered and forgotten. The state that would have been stored comes back in the acknowledgment.
//!
//! The ISS is a hash of all that; its three low bits index a table of segment sizes. The other
//! options (window scale, SACK, ECN) travel in the low bits of TSval, which the peer echoes;
//! without timestamps they are not agreed upon. The hash covers them, both ends, the peer's ISN and
//! the time, so that only a peer that has received the SYN-ACK can return a valid cookie.
//!
//! Such an ISS does not follow the clock of RFC 9293 §3.4.1, and a SYN-ACK or first segment that is
//! lost is not sent again by this side: cookies are for floods only.

use super::{Endpoint, HalfOpen, Listener, Peer, Sizes};
use crate::conn::{Agreed, syn_flags};
use crate::endpoint::isn::Purpose;
use crate::error::Discard;
use crate::features::Features;
use crate::seq::SeqNum;
use crate::timer::low_half;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::tcp::{Flags, Header, Options, Segment, Timestamps};

/// Segment sizes that a cookie can encode; the peer's is rounded down. Up to 448 they stand for one
/// to five frames of 802.15.4, the last two for 1280 and 1500 octets of IPv6.
const SIZES: [u16; 8] = [64, 160, 256, 352, 448, 536, 1220, 1440];

/// Bits of a period of 2^26 µs, or 67 s. Cookies are valid in their period and in the next one.
const PERIOD_BITS: u32 = 26;

/// Bits of TSval that carry the agreed options: four of the shift (15: none), SACK and ECN.
const MARK: u32 = 0x3f;
const ECN: u32 = 0x20;
const SACK: u32 = 0x10;
const NO_SCALE: u32 = 0x0f;

fn period(now: Instant) -> u64 {
    now.as_micros() >> PERIOD_BITS
}

impl Agreed {
    /// Returns the options that TSval carries.
    fn mark(&self) -> u32 {
        let scale = self.scale.map_or(NO_SCALE, |shift| u32::from(shift.min(14)));
        scale | if self.sack { SACK } else { 0 } | if self.ecn { ECN } else { 0 }
    }
}

/// Returns the latest TSval up to `val` that carries `mark`.
fn marked(val: u32, mark: u32) -> u32 {
    val.wrapping_sub(val.wrapping_sub(mark) & MARK)
}

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Makes a cookie of a half-open connection that there is no room for, to be sent once.
    pub(super) fn forget_half_open(
        &mut self,
        now: Instant,
        mut record: HalfOpen<K>,
    ) -> Result<(), Discard> {
        let mss = record.agreed.peer_mss;
        // A cookie has no size for a peer whose MSS is below the least (RFC 9293 MUST-16).
        let flags = SIZES.first().is_some_and(|least| *least <= mss);
        if !flags || !self.forgotten.as_slice().iter().any(Option::is_none) {
            return Err(Discard::BacklogFull);
        }
        record.wants_cookie = false;
        let agreed = &mut record.agreed;
        agreed.ack_rate = false;
        if agreed.timestamp.is_none() {
            agreed.scale = None;
            agreed.sack = false;
            agreed.ecn = false;
        }
        let size = SIZES.iter().skip(1).filter(|size| **size <= mss).count();
        let index = u32::try_from(size).unwrap_or(0);
        record.iss = self.syn_cookie(&record, period(now), index);
        self.last_cookie = Some(now);
        if let Some(place) = self.forgotten.as_mut_slice().iter_mut().find(|place| place.is_none())
        {
            *place = Some(record);
        }
        self.stats.syn_cookies_sent = self.stats.syn_cookies_sent.wrapping_add(1);
        Ok(())
    }

    pub(super) fn poll_forgotten(&mut self, now: Instant, header: &mut Header) -> Option<K> {
        let mut record = self.forgotten.as_mut_slice().iter_mut().find_map(Option::take)?;
        let peer = record.poll(now, self.listeners.as_slice(), header)?;
        if let Some(timestamps) = &mut header.options.timestamps {
            timestamps.val = marked(timestamps.val, record.agreed.mark());
        }
        Some(peer)
    }

    /// Presence of a place for a SYN that is answered so; without one an image has no code for
    /// cookies.
    const HAS_SYN_COOKIES: bool =
        <<S::Features as Features>::SynCookies<HalfOpen<K>> as Array<Option<HalfOpen<K>>>>::LEN > 0;

    /// Returns whether a cookie that was sent may still be valid.
    pub(super) fn awaits_cookies(&self, now: Instant) -> bool {
        Self::HAS_SYN_COOKIES
            && self.last_cookie.is_some_and(|sent| period(now).saturating_sub(period(sent)) <= 1)
    }

    /// Returns the half-open connection that this acknowledgment completes, if it brings a valid
    /// cookie back. No cookie is valid if none was sent recently, so there is nothing to guess
    /// while there is no flood.
    pub(super) fn remember_half_open(
        &self,
        now: Instant,
        peer: K,
        listener: &Listener,
        segment: &Segment<'_>,
    ) -> Option<HalfOpen<K>> {
        let header = &segment.header;
        if !self.awaits_cookies(now) || header.flags.intersects(Flags::SYN | Flags::RST) {
            return None;
        }
        let now_period = period(now);
        let cookie = SeqNum::new(header.ack).minus(1);
        let index = cookie.value() & 7;
        let ts = header.options.timestamps;
        let mark = ts.map_or(NO_SCALE, |ts| ts.ecr & MARK);
        let scale = u8::try_from(mark & NO_SCALE).ok().filter(|shift| *shift < 15);
        let options = Options {
            mss: SIZES.get(index as usize).copied(),
            window_scale: scale,
            sack_permitted: mark & SACK != 0,
            timestamps: ts.map(|ts| Timestamps { val: ts.val, ecr: 0 }),
            ..Options::NONE
        };
        // The SYN as far as it matters.
        let flags = syn_flags(mark & ECN != 0);
        let syn = Header { seq: header.seq.wrapping_sub(1), flags, options, ..*header };
        let syn = Segment { header: syn, payload: &[] };
        let mut record = self.half_open_for(now, peer, listener, &syn);
        let valid = |period| self.syn_cookie(&record, period, index) == cookie;
        if !valid(now_period) && !now_period.checked_sub(1).is_some_and(valid) {
            return None;
        }
        record.iss = cookie;
        Some(record)
    }

    fn syn_cookie(&self, record: &HalfOpen<K>, period: u64, index: u32) -> SeqNum {
        let [a, b, c, d] = record.irs.value().to_be_bytes();
        let [.., e, f] = (record.agreed.mark() << 3 | index).to_be_bytes();
        let timestamps = u8::from(record.agreed.timestamp.is_some());
        let [.., g, h, i, j] = period.to_be_bytes();
        let (peer, local, remote) = record.name();
        let known = [a, b, c, d, e, f, timestamps, g, h, i, j];
        let hash = self.keyed_hash(Purpose::SynCookie, &peer, local, remote, &known);
        SeqNum::new(low_half(hash) << 3 | index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_timestamp_is_not_later_and_hardly_earlier() {
        for val in [0, 1, 63, 64, 1000, u32::MAX] {
            for mark in 0..=MARK {
                let marked = marked(val, mark);
                assert_eq!(marked & MARK, mark);
                assert!(val.wrapping_sub(marked) <= MARK);
            }
        }
    }
}
