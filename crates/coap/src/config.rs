//! What can be chosen: transmission parameters as values, table lengths as types.

use crate::exchange::{PeerEstimate, Reset, Slot};
use crate::rto::Rto;
use kinglet_mem::Array;
use kinglet_time::Duration;

/// Transmission parameters (RFC 7252 §4.8). Times below a millisecond count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Seed of message IDs, tokens and dithering. Tokens keep off whoever cannot read the traffic
    /// only if it comes from a source of entropy.
    pub seed: u64,
    /// How the retransmission timeout is chosen.
    pub rto: Rto,
    /// ACK_TIMEOUT: the least time to the first retransmission, unless CoCoA chooses it; 2 s.
    pub ack_timeout: Duration,
    /// MAX_RETRANSMIT: how often a message is sent again before it is given up; 4.
    pub max_retransmit: u8,
    /// NSTART: confirmable messages under way to one peer; others wait their turn. 1.
    pub nstart: u8,
    /// How long the application may take until a request is acknowledged without its response; the
    /// response then goes in a message of its own. Less than the least RTO of a client: 500 ms.
    pub ack_delay: Duration,
    /// How long a response is waited for after the request has been acknowledged, or was not
    /// confirmable: MAX_TRANSMIT_WAIT, 93 s.
    pub response_timeout: Duration,
    /// EXCHANGE_LIFETIME, NON_LIFETIME: how long a message is remembered so that its repetition is
    /// recognised: 247 s, 145 s. Less if the place is needed for another.
    pub lifetimes: (Duration, Duration),
}

impl Config {
    /// The default parameters of RFC 7252.
    pub const fn new(seed: u64) -> Self {
        Config {
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

    /// The nearest with which time passes between a deadline and the next.
    pub(crate) const fn clamped(self) -> Self {
        let (exchange, non) = self.lifetimes;
        Config {
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

/// How many of everything, and how large: a memory plan (see `kinglet_mem`).
pub trait Sizes {
    /// The longest message that is sent; it is kept to be sent again. Header, token and a short
    /// path take some 30 octets, so 1056 for blocks of 1024.
    type Message: Array<u8>;
    /// Requests under way; at most 255.
    type Requests<K: Copy + Eq>: Array<Slot<K, Self::Message>>;
    /// Requests being answered, and answers that are kept for repeated requests; at most 255. A new
    /// request takes the place of the oldest answer or, if there is none, of the oldest request
    /// that is not confirmable.
    type Served<K: Copy + Eq>: Array<Slot<K, Self::Message>>;
    /// Peers whose round-trip times are known; may be empty.
    type Peers<K: Copy + Eq>: Array<Option<PeerEstimate<K>>>;
    /// Resets that wait to be sent; with none free, a message is ignored instead of reset.
    type Resets<K: Copy + Eq>: Array<Option<Reset<K>>>;
}
