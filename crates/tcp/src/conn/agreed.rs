//! What the options and flags of both SYNs agree upon: the one place for both ways to open.

use super::ecn::{agrees, is_setup};
use super::{DEFAULT_PEER_MSS, Params};
use crate::features::Features;
use kinglet_wire::tcp::{AckRate, Header};

/// What both sides' SYNs have agreed upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// MSS of the peer.
    pub(crate) peer_mss: u16,
    /// The peer's shift, if both sides scale.
    pub(crate) scale: Option<u8>,
    pub(crate) sack: bool,
    /// The peer's TSval, if both sides use timestamps.
    pub(crate) timestamp: Option<u32>,
    /// Both sides can take marks (RFC 3168).
    pub(crate) ecn: bool,
    /// Both sides know ACK Rate Request.
    pub(crate) ack_rate: bool,
}

impl Agreed {
    /// What a SYN or SYN-ACK and the settings of this side agree upon; it has `asked` if it opens.
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

    /// The peer has sent its SYN again, perhaps with less: it may have given up asking for what the
    /// path seems to drop (RFC 3168 §6.1.1.1; FreeBSD can leave RFC 7323's options out, too).
    //= rfc3168#6.1.1-5
    pub(crate) fn repeat(&mut self, syn: &Header) {
        let options = &syn.options;
        // What is echoed must be the SYN that is answered, or it would measure back-off.
        self.timestamp = self.timestamp.and(options.timestamps.map(|ts| ts.val));
        self.scale = self.scale.and(options.window_scale);
        self.sack &= options.sack_permitted;
        self.ecn &= is_setup(syn.flags);
        self.ack_rate &= options.ack_rate == Some(AckRate::Supported);
    }
}
