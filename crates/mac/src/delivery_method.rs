//! Delivery to devices whose radio is off, a type of the memory plan
//! ([`Sizes::DeliveryMethod`](crate::Sizes::Reach)).
//!
//! | type | frames for sleepy devices are sent |
//! |---|---|
//! | `()` | never; no device sleeps |
//! | [`Sleepers`] of [`Sleeper`]`<()>` | when they poll (`sleepers.rs`) |
//! | [`Sleepers`] of [`Sleeper`]`<`[`Samples`]`>` | or when they listen (`samples.rs`) |
//! | [`Strobing`] of one of these (`strobing.rs`) | or repeated until they have woken |
//!
//! The program contains only the methods of the chosen type. [`DeliveryMethod::timing`] returns the
//! [`SendTiming`] in which a frame is sent. In a network of sleeping devices each frame is a
//! [`Strobe`] (`mac/strobe.rs`).
//!
//! [`Sleepers`]: crate::Sleepers
//! [`Sleeper`]: crate::Sleeper
//! [`Samples`]: crate::Samples
//! [`Strobing`]: crate::Strobing

use crate::queue::{Delivery, Token};
use crate::stats::StrobeStats;
use crate::wake::Wake;
use kinglet_radio::{Capabilities, Channel, Command, LIFS, Start};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{Address, Csl};

/// Parameters for sending and polling frames of [`Class::Indirect`](crate::Class::Indirect).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indirect {
    /// Attempts after the first, 0 to 15. OpenThread has none: a failed frame is sent at the next
    /// data request. TCPlp §8.4 changes that.
    pub max_retries: u8,
    /// Longest random delay before a retry, in place of
    /// [`MacConfig::retry_delay_max`](crate::MacConfig::retry_delay_max): the recipient listens
    /// meanwhile.
    pub retry_delay_max: Duration,
    /// macMinBE for these frames, at most macMaxBE. The standard lets the frame after a data
    /// request leave without CSMA-CA (6.7.3); a small exponent approximates that.
    pub min_be: u8,
    /// Lets such a frame preempt the frame being sent: it goes between two attempts of that one,
    /// ends its retry delay, and yields to it afterwards. The interrupted frame keeps its count of
    /// attempts (TCPlp §8.4).
    pub preempt: bool,
    /// On a leaf, true if a frame with the frame-pending bit keeps the window open; otherwise the
    /// leaf polls again. Both ends must agree, or the parent sends too early.
    pub burst: bool,
}

impl Indirect {
    /// OpenThread's settings: one attempt, no privileges in channel access, one frame for a data
    /// request.
    pub const DEFAULT: Indirect = Indirect {
        max_retries: 0,
        retry_delay_max: Duration::ZERO,
        min_be: 3,
        preempt: false,
        burst: false,
    };
}

/// The timing of a frame's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTiming {
    /// In its turn, by CSMA-CA with the configured retries.
    Usual,
    /// Before all others, as [`Indirect`] states: the recipient listens now, but only for a short
    /// time.
    Soon,
    /// Once, so that its SFD ends at this instant.
    At(Instant),
}

/// Parameters of a strobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strobe {
    pub(crate) start: Start,
    /// Number of samples of the channel before it.
    pub(crate) senses: u8,
    pub(crate) lasting: Duration,
    /// Interframe spacing after the previous strobe.
    pub(crate) spacing: Duration,
    /// The channel on which its recipient listens then, or may listen; `None` is the own channel.
    pub(crate) channel: Option<Channel>,
}

/// The result of a strobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrobeResult {
    Acknowledged,
    /// No acknowledgement was requested.
    Sent,
    Unanswered,
    /// The channel was busy before it.
    Busy,
}

/// A strobe that has ended.
#[derive(Clone, Copy, Debug)]
pub struct StrobeEnd {
    pub(crate) dst: Address,
    /// Octets of its frame without FCS.
    pub(crate) len: usize,
    pub(crate) result: StrobeResult,
    /// End of the last copy's SFD, and the number of copies.
    pub(crate) sfd: Instant,
    pub(crate) times: u16,
    /// True if its frame-pending bit was set.
    pub(crate) more: bool,
}

/// More neighbours have pending frames than the table has entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// Delivery to devices whose radio is off. The provided methods are those of a device without
/// sleepy neighbours.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not deliver frames to nodes that sleep",
    note = "the `delivery_method` of a plan is `()`, `mac::Sleepers` or `mac::Strobing`"
)]
pub trait DeliveryMethod {
    /// Before any neighbour is known.
    const NEW: Self;

    /// True for a type that can hold neighbours.
    const ANY: bool;

    /// See [`Mac::set_pending`](crate::Mac::set_pending).
    ///
    /// # Errors
    /// [`TableFull`]
    fn set_pending(&mut self, _short: u16, pending: bool) -> Result<(), TableFull> {
        if pending { Err(TableFull) } else { Ok(()) }
    }

    /// Returns whether the acknowledgement of a data request from `src` has the frame-pending bit.
    fn is_pending(&self, _src: Address) -> bool {
        false
    }

    /// Returns a command that updates the radio's knowledge of pending frames.
    fn poll_command(&mut self, _radio: Capabilities) -> Option<Command> {
        None
    }

    /// Handles a reset of the radio, which has lost its knowledge of pending frames.
    fn invalidate_pending_table(&mut self) {}

    /// Handles a data request of `src`. Returns whether it needs an empty frame: no frame is
    /// pending for it, but the acknowledgement had the frame-pending bit set because of another
    /// neighbour.
    fn handle_request(&mut self, _radio: Capabilities, _src: Address) -> bool {
        false
    }

    /// Handles the CSL schedule that a neighbour announces: phase and period are counted from
    /// `sfd`.
    fn handle_samples(
        &mut self,
        _now: Instant,
        _radio: Capabilities,
        _src: Address,
        _sfd: Instant,
        _csl: Csl,
    ) {
    }

    /// Returns the sequence number of an indirect frame with this token whose transmission failed
    /// before.
    fn repeated(&mut self, _dst: Address, _token: Token) -> Option<u8> {
        None
    }

    /// Handles the end of the transmission of an indirect frame.
    fn note_sent(&mut self, _dst: Address, _token: Token, _sequence: u8, _result: Delivery) {}

    /// Handles the delivery of a frame to `dst` after which it continues to listen.
    fn handle_burst(&mut self, _dst: Address) {}

    /// Returns the timing of a frame of [`Class::Indirect`](crate::Class::Indirect) for `dst`.
    fn timing(&self, _dst: Address) -> SendTiming {
        SendTiming::Usual
    }

    /// See [`Mac::poll_listener`](crate::Mac::poll_listener).
    fn poll_listener(&mut self) -> Option<u16> {
        None
    }

    /// Returns the time for [`DeliveryMethod::handle_deadline`].
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles due timers.
    fn handle_deadline(&mut self, _now: Instant) {}

    /// Enables strobes.
    const STROBES: bool = false;

    /// Slots of the MAC's queue that are reserved for strobes.
    const SPARE: usize = 0;

    /// See [`Mac::set_wake`](crate::Mac::set_wake).
    fn set_wake(&mut self, _wake: Option<Wake>) {}

    /// Returns the settings in force; `None` if no frames are strobed.
    fn wake(&self) -> Option<&Wake> {
        None
    }

    /// Returns the strobe counters, if the type strobes.
    fn strobe_stats(&self) -> Option<&StrobeStats> {
        None
    }

    /// Returns the sequence number of the next frame for `dst` if each recipient has its own;
    /// `fresh` for a new recipient.
    fn sequence(&mut self, _now: Instant, _dst: Address, _fresh: u8) -> Option<u8> {
        None
    }

    /// Marks that sequence number as used.
    fn sequence_used(&mut self, _now: Instant, _dst: Address) {}

    /// Returns the earliest time of a strobe for `dst`; before all others if it continues a burst.
    fn eligible_at(&self, now: Instant, _dst: Address) -> Instant {
        now
    }

    /// Returns whether `dst` has not answered for so long that each frame is strobed once.
    fn is_silent(&self, _now: Instant, _dst: Address) -> bool {
        false
    }

    /// Returns the time from which one of several frames for `dst` is discarded, if `dst` is silent
    /// and is not tried again yet.
    fn discard_at(&self, _now: Instant, _dst: Address) -> Option<Instant> {
        None
    }

    /// Notes that a frame was discarded for that reason.
    fn discarded(&mut self, _now: Instant, _dst: Address) {}

    /// Handles a frame from `src`: a silent neighbour is tried again.
    fn handle_heard(&mut self, _now: Instant, _src: Address) {}

    /// Notes that other devices need the channel until then.
    fn share_until(&mut self, _until: Instant) {}

    /// Returns whether another frame may follow in the burst that one of `len` octets begins or
    /// continues now.
    fn may_follow(&self, _now: Instant, _len: usize) -> bool {
        false
    }

    /// Handles the end of a burst from `src` on `channel`, where it listens for an answer until
    /// `until`.
    fn handle_listener(&mut self, _src: Address, _channel: Channel, _until: Instant) {}

    /// Returns the short address of the neighbour that may answer the last burst, if that has
    /// ended, and the channel.
    fn awaits_answer(&self) -> Option<(u16, Option<Channel>)> {
        None
    }

    /// Returns the strobe for a frame of `len` octets for `dst`, whose turn it is.
    fn strobe(&mut self, _now: Instant, _dst: Address, _len: usize) -> Strobe {
        let (lasting, spacing) = (Duration::ZERO, LIFS);
        Strobe { start: Start::Asap, senses: 0, lasting, spacing, channel: None }
    }

    /// Handles the end of a strobe. Returns whether the same frame is strobed again at once: the
    /// recipient's wake-up on this channel is unknown, or the frame is a broadcast.
    fn handle_strobed(&mut self, _now: Instant, _end: &StrobeEnd, _random: &mut Random) -> bool {
        false
    }
}

/// A device without sleepy neighbours.
impl DeliveryMethod for () {
    const NEW: Self = ();
    const ANY: bool = false;
}
