//! Counters of an endpoint.

use crate::error::Discard;

kinglet_mem::counters! {
    /// Counters of an endpoint.
    pub struct Stats {
        /// Segments handed in.
        received,
        /// Segments handed out.
        sent,
        /// RSTs handed out.
        resets_sent,
        /// Connections opened, actively or passively.
        established,
        /// Challenge acknowledgments sent (RFC 5961).
        challenge_acks,
        /// SYNs answered with a cookie, because the table of half-open connections was full.
        syn_cookies_sent,
        /// Connections that a SYN cookie has opened.
        syn_cookies_received,
        /// Connections that took the data of a SYN before the handshake was over (RFC 7413).
        fast_opens,
    }
    reasons {
        /// Challenge acknowledgments withheld by the rate limit (RFC 5961 §7).
        challenge_acks_limited,
    }
    discards Discard
}
