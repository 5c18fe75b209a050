//! When the radio is on: the one place that decides it, a type of the memory plan
//! ([`Sizes::Listening`](crate::Sizes::Listening)).
//!
//! | type | the radio is on |
//! |---|---|
//! | [`AlwaysOn`] | always |
//! | [`Polled`](crate::Polled) (`polled.rs`) | while an answer to a data request is awaited |
//! | [`Sampled`](crate::Sampled) (`sampled.rs`) | besides, for an instant in every period |
//! | [`Waking`](crate::Waking) (`waking.rs`) | while frames come that samples have noticed |
//!
//! What a type does not do is not in the program. How others are reached whose radio is off is the
//! other half, `reach.rs`.

use crate::air::end_of_ack;
use crate::config::Config;
use crate::queue::{Delivery, Kind, TxState};
use crate::stats::WakeStats;
use crate::wake::{Admission, Wake};
use kinglet_radio::{Capabilities, Channel, Whose};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::{Address, Csl};

/// What the radio does while nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is off.
    Off,
    /// It listens.
    Listen,
    /// It listens from the first instant to the second.
    Sample(Instant, Instant),
    /// The same, or until a frame has come.
    Await(Instant, Instant),
}

/// What the engine is doing when it asks for the [`Mode`].
pub struct Situation<'a> {
    pub(crate) config: &'a Config<()>,
    pub(crate) radio: Capabilities,
    /// What is being sent, or waits for its turn.
    pub(crate) head: Option<Kind>,
    pub(crate) tx: TxState,
    /// An acknowledgement is owed or being sent.
    pub(crate) acknowledging: bool,
}

/// A data frame that came for this device alone, new or not.
pub struct FromParent {
    pub(crate) src: Address,
    pub(crate) sfd: Instant,
    /// Its octets without FCS.
    pub(crate) len: usize,
    /// Its frame-pending bit.
    pub(crate) more: bool,
    /// Nothing is being sent.
    pub(crate) may_send: bool,
    /// It was recorded and sent again, if not by its sender then by another device.
    pub(crate) copied: bool,
}

impl FromParent {
    /// When its acknowledgement has ended.
    pub(crate) fn ended(&self) -> Instant {
        end_of_ack(self.sfd, self.len)
    }
}

/// How the sending of a frame of the MAC's own ended.
pub struct Told {
    pub(crate) kind: Kind,
    pub(crate) dst: Address,
    pub(crate) result: Delivery,
    /// The frame-pending bit of its acknowledgement.
    pub(crate) frame_pending: bool,
}

/// How asking for data ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataRequestOutcome {
    /// The parent has not acknowledged any attempt, or the channel could not be won.
    NoAck,
    /// The parent has nothing.
    NothingPending,
    /// A frame came, which may have been a repetition or empty.
    Received {
        /// Whether the last one said that more is pending; ask again.
        more: bool,
    },
    /// The parent has something, but it did not come in time.
    TimedOut,
}

/// When the radio is on. What a type does not say is that of a device that is always on: there is
/// nobody whom it asks, and nothing that it waits for.
pub trait Listening {
    /// Before anything has happened.
    const NEW: Self;

    /// Whether the radio may be off while nothing is sent. If not, nobody asks for data, and a
    /// node has no use for what decides when to.
    const SLEEPS: bool;

    /// Whether it may sample the channel to find out whether somebody sends to it.
    const WAKES: bool = false;

    /// What the radio is to do while nothing is sent. After a transmission it returns to this mode
    /// by itself, so it must be right before the transmission ends: what answers a data request may
    /// come sooner than a radio wakes.
    fn mode(&self, situation: &Situation<'_>) -> Mode;

    /// Whether no data request is under way, nor its outcome to be fetched.
    fn is_idle(&self) -> bool {
        true
    }

    /// Whether a frame is awaited, so that nothing else may be sent.
    fn awaits_frame(&self) -> bool {
        false
    }

    /// Whether a data request may be made.
    fn may_ask(&self) -> bool {
        false
    }

    /// One is in the queue.
    fn asked(&mut self) {}

    /// How one ended.
    fn poll_outcome(&mut self) -> Option<DataRequestOutcome> {
        None
    }

    /// See [`Mac::set_parent`](crate::Mac::set_parent).
    fn set_parent(
        &mut self,
        _now: Instant,
        _config: &Config<()>,
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

    /// A data frame with this payload has been accepted that came for this device alone. Whether
    /// it is the last one again, which its sender has repeated after a later data request.
    fn takes_again(&mut self, _src: Address, _sequence: u8, _payload: &[u8]) -> bool {
        false
    }

    /// A frame came, perhaps the one that is awaited. Whether waiting is over because of it.
    fn handle_frame(&mut self, _now: Instant, _config: &Config<()>, _frame: &FromParent) -> bool {
        false
    }

    /// A frame came that was for all. Whether waiting is over because of it.
    fn handle_broadcast(&mut self, _now: Instant) -> bool {
        false
    }

    /// How often the channel is to be sampled now, if it is.
    fn poll_sense(&mut self, _now: Instant, _config: &Config<()>) -> Option<u8> {
        None
    }

    /// What the samples have found. Whether nothing is awaited any more because of it.
    fn handle_sensed(&mut self, _now: Instant, _busy: bool) -> bool {
        false
    }

    /// See [`Mac::set_wake`](crate::Mac::set_wake).
    fn set_wake(&mut self, _wake: Option<Wake>) {}

    /// See [`Mac::admit`](crate::Mac::admit). Whether nothing is awaited any more because of it.
    fn admit(&mut self, _now: Instant, _whom: Admission) -> bool {
        false
    }

    /// Whose frames are awaited.
    fn whose(&self) -> Whose {
        Whose::Anybodys
    }

    /// Where the radio listens, if not on [`Config::channel`](crate::Config::channel).
    fn channel(&self) -> Option<Channel> {
        None
    }

    /// A burst has been sent to the neighbour with this short address, which may answer it on the
    /// channel of that burst: the radio listens.
    fn await_answer(&mut self, _now: Instant, _whom: u16, _channel: Option<Channel>) {}

    /// Whether the last frame ended a burst of several that may be answered.
    fn may_answer(&self) -> bool {
        false
    }

    /// What has happened at wake-ups, if there can be any.
    fn wake_stats(&self) -> Option<&WakeStats> {
        None
    }

    /// The sending of a data request or a synchronisation has ended.
    fn handle_sent(&mut self, _now: Instant, _config: &Config<()>, _frame: &Told) {}

    /// Whom to tell now when this device listens.
    fn poll_sync(&mut self, _now: Instant) -> Option<Address> {
        None
    }

    /// Whether there was room for the frame that tells it.
    fn sync_queued(&mut self, _now: Instant, _queued: bool) {}

    /// What that frame says if it is sent as soon as possible, and when its SFD ends then.
    fn sync(&self, _now: Instant, _config: &Config<()>) -> Option<(Csl, Instant)> {
        None
    }

    /// Whether `dst` is who has to know when this device listens.
    fn is_parent(&self, _dst: Address) -> bool {
        false
    }

    /// When [`Listening::handle_deadline`] wants to be called.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Does what is due. Whether waiting for a frame is over because of it.
    fn handle_deadline(&mut self, _now: Instant, _config: &Config<()>) -> bool {
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
