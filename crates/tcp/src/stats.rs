//! What an endpoint counts.

use crate::error::Discard;

/// Counters of an endpoint; they wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Segments handed in.
    pub received: u32,
    /// Segments handed out.
    pub sent: u32,
    /// RSTs handed out.
    pub resets_sent: u32,
    /// Connections opened, actively or passively.
    pub established: u32,
    /// Challenge acknowledgments sent (RFC 5961).
    pub challenge_acks: u32,
    /// Challenge acknowledgments withheld by the rate limit (RFC 5961 §7).
    pub challenge_acks_limited: u32,
    /// SYNs answered with a cookie, because the table of half-open connections was full.
    pub syn_cookies_sent: u32,
    /// Connections that a SYN cookie has opened.
    pub syn_cookies_received: u32,
    /// Connections that took the data of a SYN before the handshake was over (RFC 7413).
    pub fast_opens: u32,
    discards: [u32; Discard::COUNT],
}

impl Stats {
    pub(crate) const ZERO: Stats = Stats {
        received: 0,
        sent: 0,
        resets_sent: 0,
        established: 0,
        challenge_acks: 0,
        challenge_acks_limited: 0,
        syn_cookies_sent: 0,
        syn_cookies_received: 0,
        fast_opens: 0,
        discards: [0; Discard::COUNT],
    };

    /// How many segments were dropped for this reason.
    pub fn discards(&self, reason: Discard) -> u32 {
        self.discards.get(reason as usize).copied().unwrap_or(0)
    }

    pub(crate) fn count(&mut self, reason: Discard) {
        if let Some(counter) = self.discards.get_mut(reason as usize) {
            *counter = counter.wrapping_add(1);
        }
    }
}
