//! How those are reached whose radio is off: the one place that decides it, a type of the memory
//! plan ([`Sizes::Reach`](crate::Sizes::Reach)).
//!
//! | type | frames for who sleeps are sent |
//! |---|---|
//! | `()` | nobody does |
//! | [`Sleepers`] of [`Sleeper`]`<()>` | when they ask (`sleepers.rs`) |
//! | [`Sleepers`] of [`Sleeper`]`<`[`Samples`]`>` | or when they listen (`samples.rs`) |
//! | [`Strobing`] of one of these (`strobing.rs`) | or again and again until they have woken |
//!
//! What a type does not do is not in the program. Asked how a frame goes out ([`Reach::way`]) it
//! answers with a [`Way`]. Where everybody sleeps each frame is a [`Strobe`] (`mac/strobe.rs`).
//!
//! [`Sleepers`]: crate::Sleepers
//! [`Sleeper`]: crate::Sleeper
//! [`Samples`]: crate::Samples
//! [`Strobing`]: crate::Strobing

use crate::queue::Token;
use crate::stats::StrobeStats;
use crate::wake::Wake;
use kinglet_radio::{Capabilities, Channel, Command, LIFS, Start};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{Address, Csl};

/// How frames of [`Class::Indirect`](crate::Class::Indirect) are sent, and fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indirect {
    /// Attempts after the first, 0 to 15. OpenThread has none: what fails is sent at the next data
    /// request. TCPlp §8.4 changes that.
    pub max_retries: u8,
    /// The longest random delay before a retry, in place of
    /// [`Config::retry_delay_max`](crate::Config::retry_delay_max): the recipient listens
    /// meanwhile.
    pub retry_delay_max: Duration,
    /// macMinBE for these frames, at most macMaxBE. The standard lets the frame after a data
    /// request leave without CSMA-CA (6.7.3); a small exponent comes close to that.
    pub min_be: u8,
    /// Whether such a frame need not wait for the end of the frame being sent: it goes between two
    /// attempts of that one, ends its retry delay, and gives way to it afterwards. The interrupted
    /// frame keeps its count of attempts (TCPlp §8.4).
    pub preempt: bool,
    /// On a leaf, whether a frame that says that more is pending keeps the window open; otherwise
    /// the leaf asks again. Both ends must agree, or the parent sends too early.
    pub burst: bool,
}

impl Indirect {
    /// OpenThread's: one attempt, no privileges in channel access, one frame for a data request.
    pub const DEFAULT: Indirect = Indirect {
        max_retries: 0,
        retry_delay_max: Duration::ZERO,
        min_be: 3,
        preempt: false,
        burst: false,
    };
}

/// How a frame goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In its turn, by CSMA-CA with the configured retries.
    Usual,
    /// Before all others, as [`Indirect`] says: who is to hear it listens now, but not for long.
    Soon,
    /// Once, so that its SFD ends at this instant.
    At(Instant),
}

/// How a frame is strobed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strobe {
    pub(crate) start: Start,
    /// Samples of the channel before it.
    pub(crate) senses: u8,
    pub(crate) lasting: Duration,
    /// After a strobe before it.
    pub(crate) spacing: Duration,
    /// Where its recipient listens then, or may listen; `None` is on the own channel.
    pub(crate) channel: Option<Channel>,
}

/// How a strobe has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrobeResult {
    Acknowledged,
    /// No acknowledgement was asked for.
    Sent,
    Unanswered,
    /// The channel was busy before it.
    Busy,
}

/// A strobe that has ended.
#[derive(Clone, Copy, Debug)]
pub struct StrobeEnd {
    pub(crate) dst: Address,
    /// The octets of its frame without FCS.
    pub(crate) len: usize,
    pub(crate) result: StrobeResult,
    /// When the SFD of the last repetition ended, and how many there were.
    pub(crate) sfd: Instant,
    pub(crate) times: u16,
    /// It said that more follows.
    pub(crate) more: bool,
}

/// There are more neighbours with something pending than the table has places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// How those are reached whose radio is off. What a type does not say is that of a device that
/// knows nobody who sleeps.
pub trait Reach {
    /// Before anybody is known.
    const NEW: Self;

    /// Whether anybody can be known.
    const ANY: bool;

    /// See [`Mac::set_pending`](crate::Mac::set_pending).
    ///
    /// # Errors
    /// [`TableFull`]
    fn set_pending(&mut self, _short: u16, pending: bool) -> Result<(), TableFull> {
        if pending { Err(TableFull) } else { Ok(()) }
    }

    /// Whether an acknowledgement of a data request says that a frame is pending for `src`.
    fn is_pending(&self, _src: Address) -> bool {
        false
    }

    /// What the radio has to be told about pending frames.
    fn poll_command(&mut self, _radio: Capabilities) -> Option<Command> {
        None
    }

    /// The radio has been reset, and knows of nothing.
    fn forget_told(&mut self) {}

    /// `src` has asked for data. Whether it has to be told that there is nothing, because its
    /// acknowledgement said that there is something for somebody.
    fn handle_request(&mut self, _radio: Capabilities, _src: Address) -> bool {
        false
    }

    /// A neighbour says when it listens: phase and period are counted from `sfd`.
    fn handle_samples(
        &mut self,
        _now: Instant,
        _radio: Capabilities,
        _src: Address,
        _sfd: Instant,
        _csl: Csl,
    ) {
    }

    /// The sequence number of an indirect frame whose sending has failed before, with this token.
    fn repeated(&mut self, _dst: Address, _token: Token) -> Option<u8> {
        None
    }

    /// The sending of an indirect frame has ended.
    fn note_sent(&mut self, _dst: Address, _token: Token, _sequence: u8, _delivered: bool) {}

    /// A frame for `dst` has been delivered that makes it go on listening.
    fn handle_burst(&mut self, _dst: Address) {}

    /// How a frame of [`Class::Indirect`](crate::Class::Indirect) for `dst` goes out.
    fn way(&self, _dst: Address) -> Way {
        Way::Usual
    }

    /// See [`Mac::poll_listener`](crate::Mac::poll_listener).
    fn poll_listener(&mut self) -> Option<u16> {
        None
    }

    /// When [`Reach::handle_deadline`] wants to be called.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Does what is due.
    fn handle_deadline(&mut self, _now: Instant) {}

    /// Whether frames may be strobed.
    const STROBES: bool = false;

    /// Slots of the MAC's queue that are for strobes alone.
    const SPARE: usize = 0;

    /// See [`Mac::set_wake`](crate::Mac::set_wake).
    fn set_wake(&mut self, _wake: Option<Wake>) {}

    /// As what was set; `None` if no frames are strobed.
    fn wake(&self) -> Option<&Wake> {
        None
    }

    /// What has happened to strobes, if there can be any.
    fn strobe_stats(&self) -> Option<&StrobeStats> {
        None
    }

    /// The sequence number of the next frame for `dst`, if each recipient has its own, `fresh` for
    /// a new one.
    fn sequence(&mut self, _now: Instant, _dst: Address, _fresh: u8) -> Option<u8> {
        None
    }

    /// It is used.
    fn sequence_used(&mut self, _now: Instant, _dst: Address) {}

    /// From when on a frame for `dst` may be strobed; before all others if it goes on with a burst.
    fn turn(&self, now: Instant, _dst: Address) -> Instant {
        now
    }

    /// Whether another frame may follow in the burst that one of `len` octets begins or goes on
    /// with now.
    fn may_follow(&self, _now: Instant, _len: usize) -> bool {
        false
    }

    /// `src` has sent a burst on `channel`, and listens there for an answer until then.
    fn handle_listener(&mut self, _src: Address, _channel: Channel, _until: Instant) {}

    /// Who may answer the burst that was sent last, by its short address, if that has ended, and
    /// where.
    fn awaits_answer(&self) -> Option<(u16, Option<Channel>)> {
        None
    }

    /// How a frame of `len` octets for `dst`, whose turn it is, goes out.
    fn strobe(&mut self, _now: Instant, _dst: Address, _len: usize) -> Strobe {
        let (lasting, spacing) = (Duration::ZERO, LIFS);
        Strobe { start: Start::Asap, senses: 0, lasting, spacing, channel: None }
    }

    /// It has ended. Whether the same frame goes out again at once: it is not known when its
    /// recipient listens on this channel, or it is for all.
    fn handle_strobed(&mut self, _now: Instant, _end: &StrobeEnd, _random: &mut Random) -> bool {
        false
    }
}

/// Nobody sleeps.
impl Reach for () {
    const NEW: Self = ();
    const ANY: bool = false;
}
