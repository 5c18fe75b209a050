//! Selection of TCP extensions in a plan: those that are not selected cost neither code nor memory.

use core::fmt::Debug;
use core::marker::PhantomData;
use kinglet_mem::Array;

/// Extensions that the connections of a plan can use. An extension that is `false` here is off; the
/// others are subject to the settings of each connection. [`Full`] has all that improve TCP,
/// [`Small`] none and [`Usual`] those that need no preparation; a plan may make its own selection.
/// The policies of simpler TCPs ([`WithPolicies`]) are `false` by default.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no choice of TCP extensions",
    note = "`features` are `tcp::Full`, `tcp::Usual`, `tcp::Small` or `tcp::WithPolicies`"
)]
pub trait Features {
    /// Fast Open (RFC 7413): the server's side, and the client's if there is room for servers
    /// ([`crate::Sizes::Servers`]). Without it the peers' cookies are ignored.
    const FAST_OPEN: bool;
    /// ECN (RFC 3168). Without it, ECN is neither requested nor accepted.
    const ECN: bool;
    /// Gaps between the segments of a window ([`crate::ConnectionConfig::pacing`]).
    const PACING: bool;
    /// Segment sizes that adapt to losses
    /// ([`adaptive_mss`](crate::ConnectionConfig::adaptive_mss)). Without it,
    /// [`segment_loss`](crate::Endpoint::segment_loss) returns `None`.
    const ADAPTIVE_MSS: bool;
    /// ACK Rate Request (draft-ietf-tcpm-ack-rate-request-11): requests of the peer are honoured,
    /// and a connection that may have less than two segments in flight requests an acknowledgment
    /// of each. Without it, the option is neither sent nor read.
    const ACK_RATE: bool;
    /// One acknowledgment for each segment ([`crate::ConnectionConfig::positive_acks`]).
    const POSITIVE_ACKS: bool = false;
    /// Retransmission timeouts by another rule ([`crate::ConnectionConfig::rto`]).
    const RTO_RULES: bool = false;
    /// A limit of the congestion window in segments ([`crate::ConnectionConfig::window_limit`]).
    const WINDOW_LIMIT: bool = false;
    /// Loss detection by the timer alone, if a connection is configured so
    /// ([`crate::ConnectionConfig::fast_recovery`]). A plan that has no other loss detection uses
    /// [`ByTimeout`](crate::ByTimeout) in place of its records.
    const SLOW_RECOVERY: bool = false;
    /// Place for a SYN that is to be answered with a cookie (RFC 4987 §3.6) because the table of
    /// half-open connections is full: one or none. Without it there are no cookies, and such a SYN
    /// is dropped; its sender tries again. `T` is the stored record, [`HalfOpen`](crate::HalfOpen).
    type SynCookies<T>: Array<Option<T>>;
    /// Place for an acknowledgment that waits while an earlier one has not left the layers below,
    /// so that it covers all that has arrived until it can leave
    /// ([`Endpoint::hold_acks`](crate::Endpoint::hold_acks)): one or none; `T` is its state.
    /// Without it each acknowledgment leaves as soon as it is due. The place makes a difference
    /// only if each segment is acknowledged over a busy channel, not if acknowledgments are
    /// delayed.
    type LateAcks<T>: Array<Option<T>>;
    /// Integer type of positions and lengths in a ring.
    type Place: Place;
}

/// Integer type that is large enough for the rings of a plan: `u16`, or `u32` if one has more than
/// 65,535 octets.
pub trait Place: Copy + Debug {
    /// The largest ring, in octets.
    const MAX: usize;
    /// Returns `place`, or the largest possible place if it is beyond that.
    fn of(place: u32) -> Self;
    /// Returns the place as an integer to compute with.
    fn get(self) -> u32;
}

impl Place for u16 {
    const MAX: usize = u16::MAX as usize;

    fn of(place: u32) -> u16 {
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    fn get(self) -> u32 {
        u32::from(self)
    }
}

impl Place for u32 {
    const MAX: usize = 1 << 30;

    fn of(place: u32) -> u32 {
        place
    }

    fn get(self) -> u32 {
        self
    }
}

/// All extensions. `P` is the [`Features::Place`].
#[derive(Clone, Copy, Debug)]
pub struct Full<P = u16>(PhantomData<P>);

impl<P: Place> Features for Full<P> {
    const FAST_OPEN: bool = true;
    const ECN: bool = true;
    const PACING: bool = true;
    const ADAPTIVE_MSS: bool = true;
    const ACK_RATE: bool = true;
    type SynCookies<T> = [Option<T>; 1];
    type LateAcks<T> = [Option<T>; 0];
    type Place = P;
}

/// Extensions that serve each connection without being requested: all but Fast Open, ACK Rate
/// Request and SYN cookies.
#[derive(Clone, Copy, Debug)]
pub struct Usual<P = u16>(PhantomData<P>);

impl<P: Place> Features for Usual<P> {
    const FAST_OPEN: bool = false;
    const ECN: bool = true;
    const PACING: bool = true;
    const ADAPTIVE_MSS: bool = true;
    const ACK_RATE: bool = false;
    type SynCookies<T> = [Option<T>; 0];
    type LateAcks<T> = [Option<T>; 0];
    type Place = P;
}

/// No extension: what RFC 9293 and RFC 5681 require, with the options of RFC 7323 and RFC 2018. For
/// microcontrollers with 16 KiB of RAM, together with `()` for [`crate::Sizes::Segments`].
#[derive(Clone, Copy, Debug)]
pub struct Small<P = u16>(PhantomData<P>);

impl<P: Place> Features for Small<P> {
    const FAST_OPEN: bool = false;
    const ECN: bool = false;
    const PACING: bool = false;
    const ADAPTIVE_MSS: bool = false;
    const ACK_RATE: bool = false;
    type SynCookies<T> = [Option<T>; 0];
    type LateAcks<T> = [Option<T>; 0];
    type Place = P;
}

/// `F`, late acknowledgments, and the policies of simpler TCPs, which each connection can select:
/// positive acknowledgments, other timeouts, a limited window, loss detection by the timer alone.
/// For studies of their cost.
#[derive(Clone, Copy, Debug)]
pub struct WithPolicies<F = Full>(PhantomData<F>);

impl<F: Features> Features for WithPolicies<F> {
    const FAST_OPEN: bool = F::FAST_OPEN;
    const ECN: bool = F::ECN;
    const PACING: bool = F::PACING;
    const ADAPTIVE_MSS: bool = F::ADAPTIVE_MSS;
    const ACK_RATE: bool = F::ACK_RATE;
    const POSITIVE_ACKS: bool = true;
    const RTO_RULES: bool = true;
    const WINDOW_LIMIT: bool = true;
    const SLOW_RECOVERY: bool = true;
    type SynCookies<T> = F::SynCookies<T>;
    type LateAcks<T> = [Option<T>; 1];
    type Place = F::Place;
}
