//! Configuration: transmission parameters as values, table lengths as types.

use crate::exchange::{PeerEstimate, Reset, Slot};
use crate::rto::Rto;
use kinglet_mem::Array;
use kinglet_time::Duration;

/// Transmission parameters (RFC 7252 §4.8). Times below a millisecond count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoapConfig {
    /// Seed of message IDs, tokens and dithering. Tokens protect against off-path attackers only if
    /// the seed comes from a source of entropy.
    pub seed: u64,
    /// Choice of the retransmission timeout.
    pub rto: Rto,
    /// ACK_TIMEOUT: shortest time to the first retransmission, unless CoCoA chooses it; 2 s.
    pub ack_timeout: Duration,
    /// MAX_RETRANSMIT: number of retransmissions of a message; 4.
    pub max_retransmit: u8,
    /// NSTART: number of outstanding confirmable messages to one peer; others are queued. 1.
    pub nstart: u8,
    /// Time that the application has for its response before the request is acknowledged without
    /// one; the response is then a separate message. Less than the shortest RTO of a client: 500
    /// ms.
    pub ack_delay: Duration,
    /// Time to wait for a response after the request was acknowledged, or was non-confirmable:
    /// MAX_TRANSMIT_WAIT, 93 s.
    pub response_timeout: Duration,
    /// EXCHANGE_LIFETIME, NON_LIFETIME: time for which a message is stored to detect duplicates:
    /// 247 s, 145 s. Less if the slot is needed for another message.
    pub lifetimes: (Duration, Duration),
}

impl CoapConfig {
    /// Returns the default parameters of RFC 7252.
    pub const fn new(seed: u64) -> Self {
        CoapConfig {
            seed,
            rto: Rto::Plain,
            ack_timeout: Duration::from_secs(2),
            max_retransmit: 4,
            nstart: 1,
            ack_delay: Duration::from_millis(500),
            response_timeout: Duration::from_secs(93),
            lifetimes: (Duration::from_secs(247), Duration::from_secs(145)),
        }
    }

    /// Returns the nearest parameters with which time passes between two deadlines.
    pub(crate) const fn clamped(self) -> Self {
        let (exchange, non) = self.lifetimes;
        CoapConfig {
            ack_timeout: at_least_a_millisecond(self.ack_timeout),
            ack_delay: at_least_a_millisecond(self.ack_delay),
            response_timeout: at_least_a_millisecond(self.response_timeout),
            lifetimes: (at_least_a_millisecond(exchange), at_least_a_millisecond(non)),
            ..self
        }
    }
}

const fn at_least_a_millisecond(time: Duration) -> Duration {
    if time.as_micros() < 1_000 { Duration::from_millis(1) } else { time }
}

/// Number and size of all tables: a memory plan (see `kinglet_mem`).
pub trait Sizes {
    /// Buffer for the longest message that is sent; it is kept for retransmissions. Header, token
    /// and a short path take some 30 octets, so 1056 for blocks of 1024.
    type Message: Array<u8>;
    /// Outstanding requests; at most 255.
    type Requests<K: Copy + Eq>: Array<Slot<K, Self::Message>>;
    /// Requests being answered, and responses that are kept for repeated requests; at most 255. A
    /// new request evicts the oldest response or, if there is none, the oldest non-confirmable
    /// request.
    type Served<K: Copy + Eq>: Array<Slot<K, Self::Message>>;
    /// Peers with a round-trip estimate; may be empty.
    type Peers<K: Copy + Eq>: Array<Option<PeerEstimate<K>>>;
    /// Resets that wait to be sent; if none is free, a message is ignored instead of reset.
    type Resets<K: Copy + Eq>: Array<Option<Reset<K>>>;
}
