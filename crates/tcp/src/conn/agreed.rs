//! Options and flags that both SYNs agree upon, for active and passive opens.

use super::ecn::{agrees, is_setup};
use super::{DEFAULT_PEER_MSS, Params};
use crate::features::Features;
use kinglet_wire::tcp::{AckRate, Header};

/// Result of the negotiation in both SYNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// MSS of the peer.
    pub(crate) peer_mss: u16,
    /// The peer's shift, if both sides scale.
    pub(crate) scale: Option<u8>,
    pub(crate) sack: bool,
    /// The peer's TSval, if both sides use timestamps.
    pub(crate) timestamp: Option<u32>,
    /// Both sides use ECN (RFC 3168).
    pub(crate) ecn: bool,
    /// Both sides use ACK Rate Request.
    pub(crate) ack_rate: bool,
}

impl Agreed {
    /// Returns the result for the peer's SYN or SYN-ACK and the settings of this side, which has
    /// `asked` if it opens actively.
    //= rfc9293#MUST-15
    //= rfc7323#2.2-2 rfc7323#2.2-3
    pub(crate) fn of<F: Features>(syn: &Header, params: &Params, asked: bool) -> Agreed {
        let options = &syn.options;
        let timestamps = options.timestamps.filter(|_| params.has(Params::TIMESTAMPS));
        Agreed {
            peer_mss: options.mss.unwrap_or(DEFAULT_PEER_MSS),
            scale: options.window_scale,
            sack: options.sack_permitted && params.has(Params::SACK),
            timestamp: timestamps.map(|timestamps| timestamps.val),
            ecn: agrees::<F>(syn.flags, params, asked),
            ack_rate: F::ACK_RATE
                && options.ack_rate == Some(AckRate::Supported)
                && (!asked || params.has(Params::ACK_RATE)),
        }
    }

    /// Handles a retransmission of the peer's SYN, perhaps with fewer options: the peer may leave
    /// out requests that the path seems to drop (RFC 3168 §6.1.1.1; FreeBSD can leave RFC 7323's
    /// options out, too).
    //= rfc3168#6.1.1-5
    pub(crate) fn repeat(&mut self, syn: &Header) {
        let options = &syn.options;
        // The echo must be of the SYN that is answered, or it would measure back-off.
        self.timestamp = self.timestamp.and(options.timestamps.map(|ts| ts.val));
        self.scale = self.scale.and(options.window_scale);
        self.sack &= options.sack_permitted;
        self.ecn &= is_setup(syn.flags);
        self.ack_rate &= options.ack_rate == Some(AckRate::Supported);
    }
}
