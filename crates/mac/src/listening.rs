//! Control of the receiver, a type of the memory plan
//! ([`Sizes::Listening`](crate::Sizes::Listening)). No other module decides when the receiver is
//! on.
//!
//! | type | the radio is on |
//! |---|---|
//! | [`AlwaysOn`] | always |
//! | [`Polled`](crate::Polled) (`polled.rs`) | while a response to a data request is awaited |
//! | [`Sampled`](crate::Sampled) (`sampled.rs`) | also for an instant in every period |
//! | [`Waking`](crate::Waking) (`waking.rs`) | while a frame is awaited after busy samples |
//!
//! The program contains only the methods of the chosen type. Its counterpart, `delivery_method.rs`,
//! delivers frames to devices whose radio is off.

use crate::air::end_of_ack;
use crate::config::MacConfig;
use crate::queue::{Delivery, Kind, TxState};
use crate::stats::WakeStats;
use crate::wake::{Admission, Wake};
use kinglet_radio::{Capabilities, Channel, SourceFilter};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::{Address, Csl};

/// The radio's state while nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is off.
    Off,
    /// It listens.
    Listen,
    /// It listens from the first instant to the second.
    Sample(Instant, Instant),
    /// The same, or until a frame has been received.
    Await(Instant, Instant),
}

/// The engine's state, on which the [`Mode`] depends.
pub struct Situation<'a> {
    pub(crate) config: &'a MacConfig<()>,
    pub(crate) radio: Capabilities,
    /// The frame being sent, or first in the queue.
    pub(crate) head: Option<Kind>,
    pub(crate) tx: TxState,
    /// True if an acknowledgement is to be sent or being sent.
    pub(crate) acknowledging: bool,
}

/// A received unicast data frame for this device, new or not.
pub struct FromParent {
    pub(crate) src: Address,
    pub(crate) sfd: Instant,
    /// Its octets without FCS.
    pub(crate) len: usize,
    /// Its frame-pending bit.
    pub(crate) more: bool,
    /// True if nothing is being sent.
    pub(crate) may_send: bool,
    /// True if it is an exact copy of an earlier frame, which its sender has repeated or another
    /// device has replayed.
    pub(crate) copied: bool,
}

impl FromParent {
    /// Returns the end of its acknowledgement.
    pub(crate) fn ended(&self) -> Instant {
        end_of_ack(self.sfd, self.len)
    }
}

/// The result of sending a frame of the MAC's own.
pub struct OwnFrameOutcome {
    pub(crate) kind: Kind,
    pub(crate) dst: Address,
    pub(crate) result: Delivery,
    /// The frame-pending bit of its acknowledgement.
    pub(crate) frame_pending: bool,
}

/// The outcome of a data request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataRequestOutcome {
    /// The parent has not acknowledged any attempt, or the channel could not be won.
    NoAck,
    /// No frame is pending at the parent.
    NothingPending,
    /// A frame was received; it may have been a repetition or empty.
    Received {
        /// The frame-pending bit of the last one; if set, poll again.
        more: bool,
    },
    /// The parent has a frame, but it was not received in time.
    TimedOut,
}

/// Control of the receiver. The provided methods are those of an always-on device: it polls no
/// parent and awaits no frame.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when the radio is on",
    note = "`listening` is `mac::AlwaysOn`, `mac::Polled`, `mac::Sampled` or `mac::Waking`"
)]
pub trait Listening {
    /// Before anything has happened.
    const NEW: Self;

    /// True if the radio may be off while nothing is sent. Otherwise the device never polls, and a
    /// node needs no polling schedule.
    const SLEEPS: bool;

    /// Enables sampling of the channel for incoming strobes.
    const WAKES: bool = false;

    /// Returns the radio's state while nothing is sent. After a transmission the radio returns to
    /// this mode by itself, so it must be right before the transmission ends: the response to a
    /// data request may arrive sooner than a radio wakes.
    fn mode(&self, situation: &Situation<'_>) -> Mode;

    /// Returns whether no data request is in progress and no outcome waits to be fetched.
    fn is_idle(&self) -> bool {
        true
    }

    /// Returns whether a frame is awaited, so that nothing else may be sent.
    fn awaits_frame(&self) -> bool {
        false
    }

    /// Returns whether a data request may be made.
    fn may_ask(&self) -> bool {
        false
    }

    /// Handles that a data request has been queued.
    fn asked(&mut self) {}

    /// Returns the outcome of a data request.
    fn poll_outcome(&mut self) -> Option<DataRequestOutcome> {
        None
    }

    /// See [`Mac::set_parent`](crate::Mac::set_parent).
    fn set_parent(
        &mut self,
        _now: Instant,
        _config: &MacConfig<()>,
        _radio: Capabilities,
        _parent: Option<Address>,
    ) -> bool {
        false
    }

    /// See [`Mac::is_sampling`](crate::Mac::is_sampling).
    fn is_sampling(&self) -> bool {
        false
    }

    /// See [`Mac::is_learning_drift`](crate::Mac::is_learning_drift).
    fn is_learning_drift(&self) -> bool {
        false
    }

    /// Handles an accepted unicast data frame with this payload. Returns whether it repeats the
    /// last one, which its sender has retransmitted after a later data request.
    fn takes_again(&mut self, _src: Address, _sequence: u8, _payload: &[u8]) -> bool {
        false
    }

    /// Handles a received frame, perhaps the awaited one. Returns whether it ends the wait.
    fn handle_frame(
        &mut self,
        _now: Instant,
        _config: &MacConfig<()>,
        _frame: &FromParent,
    ) -> bool {
        false
    }

    /// Handles a received broadcast frame. Returns whether it ends the wait.
    fn handle_broadcast(&mut self, _now: Instant) -> bool {
        false
    }

    /// Returns the number of channel samples to take now, if any.
    fn poll_sense(&mut self, _now: Instant, _config: &MacConfig<()>) -> Option<u8> {
        None
    }

    /// Handles the result of the samples. Returns whether it ends the wait.
    fn handle_sensed(&mut self, _now: Instant, _busy: bool) -> bool {
        false
    }

    /// See [`Mac::set_wake`](crate::Mac::set_wake).
    fn set_wake(&mut self, _wake: Option<Wake>) {}

    /// See [`Mac::admit`](crate::Mac::admit). Returns whether it ends the wait.
    fn admit(&mut self, _now: Instant, _neighbour: Admission) -> bool {
        false
    }

    /// Returns the senders whose frames are awaited.
    fn source_filter(&self) -> SourceFilter {
        SourceFilter::Any
    }

    /// Returns the channel to listen on, if not [`MacConfig::channel`](crate::MacConfig::channel).
    fn channel(&self) -> Option<Channel> {
        None
    }

    /// Handles the end of a burst to the neighbour with this short address, which may respond on
    /// the channel of that burst: the radio listens.
    fn await_answer(&mut self, _now: Instant, _neighbour: u16, _channel: Option<Channel>) {}

    /// Returns whether the last frame ended a burst of several that may be answered.
    fn may_answer(&self) -> bool {
        false
    }

    /// Returns the wake-up counters, if the type wakes.
    fn wake_stats(&self) -> Option<&WakeStats> {
        None
    }

    /// Handles the end of the transmission of a data request or a synchronisation.
    fn handle_sent(&mut self, _now: Instant, _config: &MacConfig<()>, _frame: &OwnFrameOutcome) {}

    /// Returns the parent that needs a synchronisation frame now.
    fn poll_sync(&mut self, _now: Instant) -> Option<Address> {
        None
    }

    /// Handles that the synchronisation frame was queued, or that the queue was full.
    fn sync_queued(&mut self, _now: Instant, _queued: bool) {}

    /// Returns the content of that frame if it is sent as soon as possible, and the end of its SFD.
    fn sync(&self, _now: Instant, _config: &MacConfig<()>) -> Option<(Csl, Instant)> {
        None
    }

    /// Returns whether `dst` is the parent for synchronisations.
    fn is_parent(&self, _dst: Address) -> bool {
        false
    }

    /// Returns the time for [`Listening::handle_deadline`].
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles due timers. Returns whether that ends the wait for a frame.
    fn handle_deadline(&mut self, _now: Instant, _config: &MacConfig<()>) -> bool {
        false
    }
}

/// The radio listens whenever it does not send.
pub struct AlwaysOn;

impl Listening for AlwaysOn {
    const NEW: Self = AlwaysOn;
    const SLEEPS: bool = false;

    fn mode(&self, _situation: &Situation<'_>) -> Mode {
        Mode::Listen
    }
}
