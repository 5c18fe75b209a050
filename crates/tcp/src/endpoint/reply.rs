//! Replies to segments that belong to no connection, and the rate limit of challenge ACKs.

use super::Peer;
use crate::stats::Stats;
use kinglet_time::Instant;
use kinglet_wire::tcp::{Flags, Header, Segment, Timestamps};

/// Replies that may wait; more are dropped, which bounds the replies to a scan.
const REPLIES: usize = 4;

/// Challenge ACKs of a connection in a period of 2^22 µs, or 4.2 s (RFC 5961 §7: 10 in 5 s).
const CHALLENGES: u8 = 10;
const PERIOD_BITS: u32 = 22;

/// A segment without text and with no option but timestamps: a header has room for more, and takes
/// more to fill in.
#[derive(Clone, Copy)]
pub(super) struct Reply<K> {
    pub(super) peer: K,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: Flags,
    pub(super) window: u16,
    pub(super) timestamps: Option<Timestamps>,
}

impl<K> Reply<K> {
    pub(super) fn fill(&self, header: &mut Header) {
        header.src_port = self.local_port;
        header.dst_port = self.remote_port;
        header.seq = self.seq;
        header.ack = self.ack;
        header.flags = self.flags;
        header.window = self.window;
        header.options.timestamps = self.timestamps;
    }
}

/// A short queue of replies.
pub(super) struct Replies<K> {
    slots: [Option<Reply<K>>; REPLIES],
}

impl<K: Peer> Replies<K> {
    pub(super) const EMPTY: Self = Replies { slots: [const { None }; REPLIES] };

    pub(super) fn pop(&mut self) -> Option<Reply<K>> {
        self.slots.iter_mut().find_map(Option::take)
    }

    pub(super) fn push(&mut self, reply: Reply<K>) {
        if let Some(slot) = self.slots.iter_mut().find(|s| s.is_none()) {
            *slot = Some(reply);
        }
    }

    /// Queues the RST of RFC 9293 §3.10.7.1, numbered as the connection that the peer means.
    //= rfc7323#5.2-2 rfc7323#5.2-3 rfc7323#5.2-4
    pub(super) fn reset(&mut self, peer: K, segment: &Segment<'_>) {
        let from = &segment.header;
        let (seq, ack, flags) = if from.flags.contains(Flags::ACK) {
            (from.ack, 0, Flags::RST)
        } else {
            (0, from.seq.wrapping_add(segment.seq_len()), Flags::RST | Flags::ACK)
        };
        self.push(Reply {
            peer,
            local_port: from.dst_port,
            remote_port: from.src_port,
            seq,
            ack,
            flags,
            window: 0,
            // RFC 7323 §5.2: a peer with PAWS needs it to judge the age of the RST.
            timestamps: from.options.timestamps.map(|ts| Timestamps { val: 0, ecr: ts.val }),
        });
    }
}

/// Number of challenge ACKs that a connection has sent recently, in one octet: a period's number
/// modulo 16 and the count in it.
///
/// Each connection has its own limit. With a shared limit an attacker could find out, from
/// the remaining count of its own connection, whether a forged segment has hit another one
/// (CVE-2016-5696).
#[derive(Clone, Copy, Debug)]
pub(super) struct Challenges(u8);

impl Challenges {
    pub(super) const NONE: Self = Challenges(0);

    //= rfc5961#7-2
    #[inline(never)]
    pub(super) fn allow(&mut self, now: Instant, stats: &mut Stats) -> bool {
        let [.., octet] = (now.as_micros() >> PERIOD_BITS).to_be_bytes();
        let (period, used) = (octet & 0x0f, self.0 & 0x0f);
        let used = if self.0 >> 4 == period { used } else { 0 };
        if used >= CHALLENGES {
            stats.challenge_acks_limited = stats.challenge_acks_limited.wrapping_add(1);
            return false;
        }
        self.0 = period << 4 | used.saturating_add(1);
        stats.challenge_acks = stats.challenge_acks.wrapping_add(1);
        true
    }
}
