//! What a plan leaves out: extensions that are not chosen cost neither code nor memory.

use core::fmt::Debug;
use core::marker::PhantomData;
use kinglet_mem::Array;

/// The extensions that connections of a plan can use, each still subject to the settings of the
/// connection: what is `false` here is off whatever they say. [`Full`] has all that make TCP
/// better, [`Small`] none and [`Usual`] those that need no preparation; a plan may have its own
/// choice. Policies of simpler TCPs ([`WithPolicies`]) are `false` unless it says otherwise.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no choice of TCP extensions",
    note = "`features` are `tcp::Full`, `tcp::Usual`, `tcp::Small` or `tcp::WithPolicies`"
)]
pub trait Features {
    /// Fast Open (RFC 7413): the server's side, and the client's if there is room for servers
    /// ([`crate::Sizes::Servers`]). Cookies of others are ignored without.
    const FAST_OPEN: bool;
    /// ECN (RFC 3168). Without, it is neither asked for nor agreed to.
    const ECN: bool;
    /// Gaps between the segments of a window ([`crate::ConnectionConfig::pacing`]).
    const PACING: bool;
    /// Segment sizes that follow from what is lost
    /// ([`adaptive_mss`](crate::ConnectionConfig::adaptive_mss)). Without,
    /// [`segment_loss`](crate::Endpoint::segment_loss) tells nothing.
    const ADAPTIVE_MSS: bool;
    /// ACK Rate Request (draft-ietf-tcpm-ack-rate-request-11): requests of the peer are honoured,
    /// and a connection that may have less than two segments in flight requests an acknowledgment
    /// of each. Without, the option is neither sent nor read.
    const ACK_RATE: bool;
    /// One acknowledgment for each segment ([`crate::ConnectionConfig::positive_acks`]).
    const POSITIVE_ACKS: bool = false;
    /// Retransmission timeouts by another rule ([`crate::ConnectionConfig::rto`]).
    const RTO_RULES: bool = false;
    /// A limit of the congestion window in segments ([`crate::ConnectionConfig::window_limit`]).
    const WINDOW_LIMIT: bool = false;
    /// Losses found by the timer alone, if a connection is set so
    /// ([`crate::ConnectionConfig::fast_recovery`]). A plan that finds none otherwise has
    /// [`ByTimeout`](crate::ByTimeout) in the place of its records.
    const SLOW_RECOVERY: bool = false;
    /// SYNs that wait to be answered with a cookie (RFC 4987 §3.6) because there is no room for
    /// half-open connections: one place. Without a place there are no cookies, and such a SYN is
    /// dropped; its sender tries again. `T` is what is kept of it, [`HalfOpen`](crate::HalfOpen).
    type SynCookies<T>: Array<Option<T>>;
    /// Acknowledgments that wait while one is below and has not left, so that one says all that has
    /// come until it can ([`Endpoint::hold_acks`](crate::Endpoint::hold_acks)): one place for what
    /// `T` is known of that. Without a place each leaves as soon as it is due, which is the same
    /// wherever acknowledgments are delayed: it takes one for each segment over a busy channel.
    type LateAcks<T>: Array<Option<T>>;
    /// What holds a place in a ring, and how many octets are in it.
    type Place: Place;
}

/// A number as large as the rings of a plan: `u16`, or `u32` where one has more than 65,535 octets.
pub trait Place: Copy + Debug {
    /// The largest ring, in octets.
    const MAX: usize;
    /// A place, or the last one if it is beyond that.
    fn of(place: u32) -> Self;
    /// The same with room to compute.
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

/// Everything that serves each connection without being requested: all extensions but Fast Open,
/// ACK Rate Request and SYN cookies.
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

/// No extension: what RFC 9293 and RFC 5681 ask for, with the options of RFC 7323 and RFC 2018. For
/// parts with 16 KiB of RAM, together with `()` for [`crate::Sizes::Segments`].
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

/// `F`, late acknowledgments, and the policies of simpler TCPs, each if a connection is set to it:
/// positive acknowledgments, other timeouts, a limited window, losses found by the timer alone. For
/// studies of what they cost.
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
