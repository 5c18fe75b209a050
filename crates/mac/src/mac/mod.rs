//! The MAC itself: its state, its inputs and its outputs.

mod acknowledge;
pub(crate) mod receive;
mod secure;
mod spacing;
pub(crate) mod strobe;
mod transmit;

pub use receive::Indication;

use crate::config::{Csma, MacConfig};
use crate::csma::Backoff;
use crate::delivery_method::{DeliveryMethod, TableFull};
use crate::link::{Link, Neighbour, Neighbours};
use crate::listening::{DataRequestOutcome, Listening, Mode, OwnFrameOutcome, Situation};
use crate::plain::Plain;
use crate::queue::{Class, Kind, Outcome, Queue, QueueFull, Slot, Token, TxRequest, TxState};
use crate::retry::Adaptation;
use crate::security::LinkSecurity;
use crate::stats::{Discard, Stats, StrobeStats, WakeStats, count};
use acknowledge::OwedAck;
use kinglet_mem::Array;
use kinglet_radio::{
    Access, Capabilities, Channel, Command, Event, Filter, MAX_FRAME, Start, time_limit,
};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::{Address, COMMAND_DATA_REQUEST, Csl, FrameType, Repr, Version};

/// Stream of the MAC's random numbers: the usual one according to the documentation of the
/// generator's crate.
const DICE: u64 = 0x0a02_bdbf_7bb3_c0a7;

/// Additional time of a radio for several samples instead of one (the rules of [`kinglet_radio`]).
const SAMPLES_TIME: Duration = Duration::from_millis(20);

/// Sizes and component types of a [`Mac`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no memory plan of the MAC",
    note = "`kinglet::profile!` makes the plan of a whole node"
)]
pub trait Sizes {
    /// Frames that wait, are being sent, or whose outcome has not been fetched yet.
    type Queue: Array<Slot>;
    /// Neighbours with link statistics and duplicate rejection.
    type Neighbours: Array<Neighbour>;
    /// Control of the receiver: [`AlwaysOn`](crate::AlwaysOn), [`Polled`](crate::Polled) or
    /// [`Sampled`](crate::Sampled), or [`Waking`](crate::Waking) of one of these.
    type Listening: Listening;
    /// Delivery to devices whose radio is off: [`Sleepers`](crate::Sleepers), or `()` if there are
    /// none, or [`Strobing`](crate::Strobing) of one of these.
    type DeliveryMethod: DeliveryMethod;
    /// Implementation of link security, or `()` for none; all others give the same frames.
    type Security: LinkSecurity;
    /// CSMA-CA backoff before the channel is assessed: [`Exponential`](crate::Exponential),
    /// [`TinyOs`](crate::TinyOs), or another implementation.
    type Backoff: Backoff;
}

/// Type of the key in the configuration of a plan.
pub type KeyOf<S> = <<S as Sizes>::Security as LinkSecurity>::Key;

/// A command for the radio.
#[derive(Debug, PartialEq, Eq)]
pub struct Submission<'a> {
    /// The command itself.
    pub command: Command,
    /// The frame of a `Transmit`, without FCS; empty otherwise.
    pub frame: &'a [u8],
}

/// Current use of the radio, for energy accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioUse {
    /// It is off.
    Off,
    /// Listening for any frame.
    Idle,
    /// A data request or a synchronisation with the parent: sending it and waiting for its
    /// acknowledgement.
    Polling,
    /// Listening for a frame at the instant of the next sample; between samples it is off.
    Sampling,
    /// Waiting for the frame that the acknowledgement of a data request has announced.
    Window,
    /// Sending anything else and waiting for its acknowledgement.
    Sending,
}

/// The command that the radio is executing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outstanding {
    None,
    Head,
    Ack,
    /// Samples of the channel for [`Listening`].
    Samples,
}

/// Snapshot for diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Slots in use: frames waiting, being sent, or with an outcome to be fetched.
    pub slots_used: usize,
    /// Transmission state of the head.
    pub tx: TxState,
    /// The largest retry delay in force.
    pub retry_delay_max: Duration,
    /// Current use of the radio.
    pub radio: RadioUse,
}

/// A MAC; see the crate's documentation for the loop around it.
pub struct Mac<S: Sizes> {
    pub(crate) config: MacConfig<()>,
    pub(crate) key: KeyOf<S>,
    pub(crate) capabilities: Capabilities,
    pub(crate) random: Random,
    sequence: u8,
    /// The last mode set for the time between transmissions; `None` before the first command.
    mode: Option<Mode>,
    pub(crate) queue: Queue<S::Queue>,
    pub(crate) neighbours: Neighbours<S::Neighbours>,
    pub(crate) listening: S::Listening,
    pub(crate) delivery_method: S::DeliveryMethod,
    pub(crate) tx: TxState,
    pub(crate) backoff: S::Backoff,
    pub(crate) outstanding: Outstanding,
    /// Time limit for the radio's event about the outstanding command.
    pub(crate) silent_at: Instant,
    /// True if the next command resets the radio.
    pub(crate) reset_radio: bool,
    /// End of the interframe spacing after this device's last frame.
    pub(crate) spaced_until: Instant,
    /// SFD and frame-pending bit of an acknowledgement for the head that was reported before its
    /// `Transmitted`; one from before the transmission is ignored.
    pub(crate) early_ack: Option<(Instant, bool)>,
    pub(crate) owed_ack: OwedAck,
    pub(crate) security: S::Security,
    pub(crate) adaptation: Adaptation,
    pub(crate) stats: Stats,
}

/// The header of a frame.
pub(crate) enum Header<'a> {
    /// The header of most frames.
    Plain(Plain),
    /// Any header.
    Any(&'a Repr),
}

impl Header<'_> {
    /// Writes it to the start of `frame`, and returns its length.
    fn emit(&self, frame: &mut [u8; MAX_FRAME]) -> Option<usize> {
        match self {
            Header::Plain(plain) => {
                *frame.first_chunk_mut()? = plain.octets();
                Some(Plain::LEN)
            }
            // The longest has 3 + 2 + 8 + 8 + 6 + 100 octets and the filling is valid by `clamped`.
            Header::Any(repr) => repr.emit(frame).ok(),
        }
    }

    /// Sets the frame's destination and acknowledgement request in the slot.
    const fn address(&self, slot: &mut Slot) {
        match self {
            Header::Plain(plain) => {
                slot.dst = Address::Short(plain.dst);
                slot.ack = plain.ack;
            }
            Header::Any(repr) => {
                slot.dst = repr.dst;
                slot.ack = repr.ack_request;
            }
        }
    }
}

impl<S: Sizes> Mac<S> {
    /// Creates a MAC for a radio with these capabilities. `seed` determines its random numbers;
    /// devices must have different ones. Impossible values of `config` are replaced by the nearest
    /// possible ones (see [`MacConfig::check`]).
    pub const fn new(config: MacConfig<KeyOf<S>>, capabilities: Capabilities, seed: u64) -> Self {
        let (mut config, key) = (config.unsecured().clamped(), config.security);
        config.csl = match config.csl {
            Some(csl) if S::Listening::SLEEPS => Some(csl.clamped()),
            _ => None,
        };
        // macDSN starts at a random number (Table 8-94): the top octet of the seed, mixed by
        // multiplication with the golden ratio.
        let [.., sequence] = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        Mac {
            config,
            key,
            capabilities,
            random: Random::new(seed, DICE),
            sequence,
            mode: None,
            queue: Queue::new(),
            neighbours: Neighbours::new(),
            listening: S::Listening::NEW,
            delivery_method: S::DeliveryMethod::NEW,
            tx: TxState::Idle,
            backoff: S::Backoff::NEW,
            outstanding: Outstanding::None,
            silent_at: Instant::ZERO,
            reset_radio: false,
            spaced_until: Instant::ZERO,
            early_ack: None,
            owed_ack: OwedAck::NONE,
            security: S::Security::NEW,
            adaptation: Adaptation::NONE,
            stats: Stats::ZERO,
        }
    }

    /// Returns the filter to set in the radio before the first command.
    pub const fn filter(&self) -> Filter {
        let MacConfig { pan_id, short, extended, .. } = self.config;
        Filter { pan_id: pan_id.0, short, extended }
    }

    /// Returns the number of octets of payload that fit into one frame to `dst`.
    pub fn max_payload(&self, dst: Address) -> usize {
        MAX_FRAME
            .saturating_sub(self.header(FrameType::Data, dst, false).header_len())
            .saturating_sub(self.mic_len())
    }

    /// Returns whether a frame of this class can be queued now.
    pub fn can_accept(&self, class: Class) -> bool {
        self.queue.can_accept(class, self.spare())
    }

    /// Queues a frame. `fill` writes the payload to the front of the slice that it gets, which has
    /// [`Mac::max_payload`] octets, and returns its length; if that is 0, nothing is queued. An
    /// indirect frame whose transmission has failed keeps its sequence number when it is queued
    /// again with the same token (IEEE 802.15.4-2015, 6.7.3).
    ///
    /// # Errors
    /// [`QueueFull`] if no slot is free for this class; `fill` is then not called.
    pub fn enqueue(
        &mut self,
        now: Instant,
        request: TxRequest,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<(), QueueFull> {
        let TxRequest { dst, token, class, .. } = request;
        let repeated = match class {
            Class::Indirect if S::DeliveryMethod::ANY => self.delivery_method.repeated(dst, token),
            _ => None,
        };
        let Some(sequence) = repeated else { return self.enqueue_numbered(now, request, fill) };
        let next = core::mem::replace(&mut self.sequence, sequence);
        let result = self.enqueue_numbered(now, request, fill);
        self.sequence = next;
        result
    }

    /// Queues a frame with the next sequence number.
    fn enqueue_numbered(
        &mut self,
        now: Instant,
        request: TxRequest,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<(), QueueFull> {
        let TxRequest { dst, ack, token, class, frame_pending } = request;
        let ack = ack && dst.is_unicast();
        if S::DeliveryMethod::STROBES
            && let Some(sequence) = self.delivery_method.sequence(now, dst, self.sequence)
        {
            self.sequence = sequence;
        }
        let repr;
        let header = match self.plain_header(dst, ack, frame_pending) {
            Some(plain) => Header::Plain(plain),
            None => {
                repr = Repr { frame_pending, ..self.header(FrameType::Data, dst, ack) };
                Header::Any(&repr)
            }
        };
        let payload_len = self.write_slot(Kind::User(class), token, header, fill)?;
        if payload_len > 0 {
            if self.strobes() {
                let header = self.header(FrameType::Data, dst, ack);
                self.lengthen(&Repr { frame_pending, ..header }, payload_len);
            }
            count(&mut self.stats.enqueued);
            self.push_slot(now);
        }
        Ok(())
    }

    /// Writes a frame to a free slot, which [`Mac::push_slot`] then queues, and returns the length
    /// of its payload.
    pub(crate) fn write_slot(
        &mut self,
        kind: Kind,
        token: Token,
        header: Header<'_>,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, QueueFull> {
        let mic_len = self.mic_len();
        let spare = self.spare();
        let Some(slot) = self.queue.free(kind, spare) else {
            count(&mut self.stats.queue_full);
            return Err(QueueFull);
        };
        let mut header_len = header.emit(&mut slot.frame).ok_or(QueueFull)?;
        if let (Header::Plain(_), true) = (&header, S::Security::is_on(&self.key)) {
            header_len = Plain::reserve_counter(&mut slot.frame).ok_or(QueueFull)?;
        }
        let room = slot.frame.get_mut(header_len..MAX_FRAME.saturating_sub(mic_len));
        let room = room.unwrap_or_default();
        let payload_len = fill(room).min(room.len());
        slot.len = u8::try_from(header_len.saturating_add(payload_len).saturating_add(mic_len))
            .unwrap_or(u8::MAX);
        header.address(slot);
        slot.sequence = self.sequence;
        slot.token = token;
        slot.transmissions = 0;
        slot.attempts = 0;
        slot.secured = false;
        Ok(payload_len)
    }

    /// Queues the frame of [`Mac::write_slot`].
    pub(crate) fn push_slot(&mut self, now: Instant) {
        if S::DeliveryMethod::STROBES
            && let Some(dst) = self.queue.filled().map(|slot| slot.dst)
        {
            self.delivery_method.sequence_used(now, dst);
        }
        self.queue.push();
        self.sequence = self.sequence.wrapping_add(1);
        if !self.preempt(now) {
            self.start_next(now);
        }
    }

    /// Handles an event of the radio; `frame` holds the octets of a `Received`. A data frame or
    /// data request for this device is returned as an [`Indication`], decrypted in place if it was
    /// secured.
    ///
    /// # Errors
    /// The reason for discarding the frame or event. Each reason has its counter in [`Stats`].
    pub fn handle_radio(
        &mut self,
        now: Instant,
        event: Event,
        frame: &mut [u8],
    ) -> Result<Option<Indication>, Discard> {
        match event {
            Event::Received { sfd, len, rssi_dbm, lqi, acked: _ } => {
                let len = usize::from(len).min(frame.len());
                let octets = frame.get_mut(..len).unwrap_or_default();
                self.handle_received(now, sfd, octets, rssi_dbm, lqi)
            }
            Event::Transmitted { sfd, ack } => {
                self.handle_transmitted(now, sfd, ack).map(|()| None)
            }
            Event::Strobed { sfd, ack, times } => {
                self.handle_strobed(now, sfd, ack, times).map(|()| None)
            }
            Event::Sensed { busy } => self.handle_sensed(now, busy).map(|()| None),
            Event::ChannelBusy => self.handle_channel_busy(now).map(|()| None),
            Event::Missed => self.handle_missed(now).map(|()| None),
            _ => Err(self.unexpected()),
        }
    }

    /// Returns the next command for the radio. Before the next event, deadline or call there are at
    /// most four, and one for each change of a neighbour's pending state in the radio.
    pub fn poll_radio(&mut self, now: Instant) -> Option<Submission<'_>> {
        self.drop_late_ack(now);
        if core::mem::take(&mut self.reset_radio) {
            self.mode = Some(Mode::Off);
            self.delivery_method.invalidate_pending_table();
            return Some(Submission { command: Command::Reset, frame: &[] });
        }
        let mode = self.listening.mode(&self.situation());
        if self.mode != Some(mode) {
            self.mode = Some(mode);
            let channel = self.listens_on();
            let command = match mode {
                Mode::Listen => Command::Receive { start: Start::Asap, until: None, channel },
                Mode::Sample(from, until) => {
                    Command::Receive { start: Start::At(from), until: Some(until), channel }
                }
                Mode::Await(from, until) => {
                    let source_filter = self.listening.source_filter();
                    Command::Await { start: Start::At(from), until, channel, source_filter }
                }
                Mode::Off => Command::Off,
            };
            return Some(Submission { command, frame: &[] });
        }
        let key = self.security.poll_command(&self.key, self.capabilities);
        if let Some(command) = key.or_else(|| self.delivery_method.poll_command(self.capabilities))
        {
            return Some(Submission { command, frame: &[] });
        }
        if self.outstanding != Outstanding::None {
            return None;
        }
        match self.take_owed_ack(now) {
            Some(command) => Some(Submission { command, frame: self.owed_ack.frame() }),
            None => match self.poll_samples(now) {
                Some(command) => Some(Submission { command, frame: &[] }),
                None => self.poll_head(now),
            },
        }
    }

    /// Returns the channel on which this device listens now.
    pub(crate) fn listens_on(&self) -> Channel {
        self.listening.channel().unwrap_or(self.config.channel)
    }

    /// Samples the channel, if it is time to check for incoming strobes.
    fn poll_samples(&mut self, now: Instant) -> Option<Command> {
        // A device that is sending a burst is not asleep.
        if !S::Listening::WAKES || self.goes_on_with_burst() {
            return None;
        }
        let times = self.listening.poll_sense(now, &self.config)?;
        self.outstanding = Outstanding::Samples;
        self.silent_at = now + time_limit(Access::Cca) + SAMPLES_TIME;
        Some(Command::Sense { channel: self.listens_on(), times })
    }

    /// Handles [`Event::Sensed`].
    fn handle_sensed(&mut self, now: Instant, busy: bool) -> Result<(), Discard> {
        if self.outstanding != Outstanding::Samples {
            return Err(self.unexpected());
        }
        self.outstanding = Outstanding::None;
        if self.listening.handle_sensed(now, busy) {
            self.start_next(now);
        }
        Ok(())
    }

    /// Reports that the driver refused the last command of [`Mac::poll_radio`]. A data frame is
    /// submitted again after a fresh backoff of at least one unit; an acknowledgement is lost, as
    /// it would be late.
    pub fn radio_refused(&mut self, now: Instant) {
        count(&mut self.stats.refused);
        match core::mem::replace(&mut self.outstanding, Outstanding::None) {
            Outstanding::None => {}
            Outstanding::Ack => count(&mut self.stats.acks_not_sent),
            Outstanding::Head if self.strobes() => self.strobe_missed(now),
            Outstanding::Head => self.go_on(now, kinglet_radio::UNIT_BACKOFF),
            Outstanding::Samples => self.samples_failed(now),
        }
    }

    /// Handles samples that the radio did not take: they count as a silent channel.
    pub(crate) fn samples_failed(&mut self, now: Instant) {
        if self.listening.handle_sensed(now, false) {
            self.start_next(now);
        }
    }

    /// Returns the outcome of a transmission: exactly one for each queued frame, in the order of
    /// completion. That is the order of queueing, except that an indirect frame precedes others.
    /// The slot is in use until its outcome has been fetched.
    pub fn poll_outcome(&mut self, _now: Instant) -> Option<Outcome> {
        self.queue.pop_outcome()
    }

    /// Returns the time for [`Mac::handle_deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        let tx = match self.tx {
            TxState::Backoff { until } | TxState::AwaitAck { until, .. } => Some(until),
            TxState::Idle | TxState::Ready | TxState::Submitted => None,
        };
        let duty = earliest(self.listening.deadline(), self.delivery_method.deadline());
        earliest(earliest(tx, self.silence_deadline()), duty)
    }

    /// Handles due timers; before the deadline, does nothing.
    pub fn handle_deadline(&mut self, now: Instant) {
        match self.tx {
            TxState::Backoff { until } if now >= until => {
                self.tx = TxState::Ready;
                if self.strobes() {
                    // A frame for a silent neighbour may have waited to be discarded.
                    self.choose(now);
                }
            }
            TxState::AwaitAck { until, .. } if now >= until => self.handle_ack_missing(now),
            _ => {}
        }
        self.handle_silence(now);
        if S::Listening::SLEEPS || S::Listening::WAKES {
            if self.listening.handle_deadline(now, &self.config) {
                // The channel of an always-on device may have changed.
                self.mode = self.mode.filter(|mode| *mode != Mode::Listen);
                self.start_next(now);
            }
            self.queue_sync(now);
        }
        self.delivery_method.handle_deadline(now);
    }

    /// Returns whether nothing is to be sent and no outcome is to be fetched.
    pub fn is_idle(&self) -> bool {
        self.queue.used() == 0
            && self.listening.is_idle()
            && self.outstanding == Outstanding::None
            && !self.owed_ack.is_waiting()
    }

    /// Sends `parent` a data request for a frame that it holds for this device.
    /// [`Mac::poll_data_request`] returns its outcome; frames are indicated like all others. The
    /// request waits for its turn in the queue, and no other frame is begun until its response has
    /// been received or has timed out.
    ///
    /// # Errors
    /// [`QueueFull`] if no slot is free, or the outcome of an earlier request has not been fetched
    /// yet, or the device is always on.
    pub fn request_data(&mut self, now: Instant, parent: Address) -> Result<(), QueueFull> {
        if !S::Listening::SLEEPS || !self.listening.may_ask() {
            return Err(QueueFull);
        }
        // Every radio recognises a data request of this version.
        let header = self.header(FrameType::Command, parent, true);
        let header = Repr { version: Version::V2006, filling: 0, ..header };
        self.write_slot(Kind::DataRequest, Token(0), Header::Any(&header), |room| {
            room.iter_mut().zip([COMMAND_DATA_REQUEST]).for_each(|(to, from)| *to = from);
            1
        })?;
        self.listening.asked();
        self.push_slot(now);
        Ok(())
    }

    /// Returns the outcome of the last data request: once for each that was accepted.
    pub fn poll_data_request(&mut self, _now: Instant) -> Option<DataRequestOutcome> {
        self.listening.poll_outcome()
    }

    /// Sets the parent for data requests, or `None`. If the device samples the channel
    /// ([`Sampled`](crate::Sampled), with [`MacConfig::csl`]), sampling begins as soon as the
    /// parent knows of it, or ends. Returns whether sampling is used: it may not be configured, or
    /// the radio may lack scheduled commands.
    pub fn set_parent(&mut self, now: Instant, parent: Option<Address>) -> bool {
        let samples = self.listening.set_parent(now, &self.config, self.capabilities, parent);
        self.queue_sync(now);
        samples
    }

    /// Returns whether the parent knows this device's sampling schedule.
    pub fn is_sampling(&self) -> bool {
        self.listening.is_sampling()
    }

    /// Returns whether a waiting frame should be sent at the next sample and not be polled, because
    /// its time of arrival is a measurement of the clock drift. That is so at the beginning only:
    /// alternating between polls and samples later would delay responses too much for TCP.
    pub fn is_learning_drift(&self) -> bool {
        self.listening.is_learning_drift()
    }

    /// Queues a synchronisation frame, if one is due.
    fn queue_sync(&mut self, now: Instant) {
        if !S::Listening::SLEEPS {
            return;
        }
        let Some(parent) = self.listening.poll_sync(now) else { return };
        let header = self.sync_header(parent, Csl { phase: 0, period: 0 });
        let header = Header::Any(&header);
        let queued = self.write_slot(Kind::Sync, Token(0), header, |_| 0).is_ok();
        self.listening.sync_queued(now, queued);
        if queued {
            self.push_slot(now);
        }
    }

    fn sync_header(&self, parent: Address, csl: Csl) -> Repr {
        let header = self.header(FrameType::Data, parent, true);
        Repr { version: Version::V2015, filling: 0, csl: Some(csl), ..header }
    }

    /// Writes the content of a synchronisation frame at the head, for a transmission as soon as
    /// possible, and returns the required end of its SFD.
    pub(crate) fn write_sync(&mut self, now: Instant) -> Option<Instant> {
        let (csl, sfd) = self.listening.sync(now, &self.config)?;
        let &Slot { sequence, dst, .. } = self.queue.head()?;
        let header = Repr { sequence, ..self.sync_header(dst, csl) };
        let slot = self.queue.head_mut()?;
        header.emit(&mut slot.frame).ok()?;
        // Its content differs from the previous attempt, so it needs another counter.
        slot.secured = false;
        Some(sfd)
    }

    /// Handles the result of a frame of the MAC's own.
    pub(crate) fn own_frame_sent(&mut self, now: Instant, outcome: &OwnFrameOutcome) {
        if S::Listening::SLEEPS {
            self.listening.handle_sent(now, &self.config, outcome);
        }
    }

    /// Records whether a frame is pending for the neighbour with this short address, for the
    /// acknowledgements of its data requests. The frame itself stays with the caller until
    /// [`Indication::DataRequest`] or [`Mac::poll_listener`] names the neighbour.
    ///
    /// # Errors
    /// [`TableFull`]; the neighbour's acknowledgements will have the frame-pending bit clear.
    pub fn set_pending(
        &mut self,
        now: Instant,
        short: u16,
        pending: bool,
    ) -> Result<(), TableFull> {
        self.delivery_method.set_pending(short, pending)?;
        self.delivery_method.handle_deadline(now);
        Ok(())
    }

    /// Returns a neighbour that will listen soon, and for which a frame is pending. The caller
    /// sends it, as [`Class::Indirect`], as after a data request.
    pub fn poll_listener(&mut self, _now: Instant) -> Option<u16> {
        self.delivery_method.poll_listener()
    }

    /// Handles a data request of `src`. If its acknowledgement had the frame-pending bit set
    /// because of another neighbour, an empty frame lets `src` sleep again.
    pub(crate) fn handle_data_request(&mut self, now: Instant, src: Address) {
        if !self.delivery_method.handle_request(self.capabilities, src) {
            return;
        }
        let header = self.header(FrameType::Data, src, true);
        if self.write_slot(Kind::Nothing, Token(0), Header::Any(&header), |_| 0).is_ok() {
            count(&mut self.stats.answered_in_vain);
            self.push_slot(now);
        }
    }

    /// Sets macRxOnWhenIdle: the radio listens while nothing is sent or awaited. Used by a leaf
    /// that searches for a parent.
    pub const fn set_rx_on_when_idle(&mut self, rx_on_when_idle: bool) {
        self.config.rx_on_when_idle = rx_on_when_idle;
    }

    /// Returns the backoff, for a type with further settings.
    pub const fn backoff_mut(&mut self) -> &mut S::Backoff {
        &mut self.backoff
    }

    /// Changes the d of TCPlp §7.1 from the next retry on.
    pub const fn set_retry_delay(&mut self, retry_delay_max: Duration) {
        self.config.retry_delay_max = retry_delay_max;
    }

    /// Returns whether frames are secured.
    pub fn is_secured(&self) -> bool {
        S::Security::is_on(&self.key)
    }

    /// Returns the link statistics of a neighbour.
    pub fn link(&self, address: Address) -> Option<&Link> {
        self.neighbours.link(address)
    }

    /// Returns the wake-up counters, if the plan has any.
    pub fn wake_stats(&self) -> Option<&WakeStats> {
        self.listening.wake_stats()
    }

    /// Returns the strobe counters, if the plan has any.
    pub fn strobe_stats(&self) -> Option<&StrobeStats> {
        self.delivery_method.strobe_stats()
    }

    /// Returns the configuration in force, except the key.
    pub const fn config(&self) -> &MacConfig<()> {
        &self.config
    }

    /// Returns a snapshot for diagnosis.
    pub fn info(&self) -> Info {
        let retry_delay_max = self.retry_delay();
        let (slots_used, radio) = (self.queue.used(), self.radio_use());
        Info { slots_used, tx: self.tx, retry_delay_max, radio }
    }

    fn radio_use(&self) -> RadioUse {
        if self.listening.awaits_frame() && self.tx != TxState::Submitted {
            return RadioUse::Window;
        }
        let polls = |slot: &Slot| matches!(slot.kind, Kind::DataRequest | Kind::Sync);
        let asks = self.queue.head().is_some_and(polls);
        match self.tx {
            TxState::Submitted | TxState::AwaitAck { .. } if asks => RadioUse::Polling,
            TxState::Submitted | TxState::AwaitAck { .. } => RadioUse::Sending,
            _ if self.is_acknowledging() => RadioUse::Sending,
            _ => match self.mode {
                Some(Mode::Listen) => RadioUse::Idle,
                Some(Mode::Sample(..) | Mode::Await(..)) => RadioUse::Sampling,
                Some(Mode::Off) | None => RadioUse::Off,
            },
        }
    }

    /// Returns the input of [`Listening::mode`].
    fn situation(&self) -> Situation<'_> {
        Situation {
            config: &self.config,
            radio: self.capabilities,
            head: self.queue.head().map(|slot| slot.kind),
            tx: self.tx,
            acknowledging: self.is_acknowledging(),
        }
    }

    /// Returns whether an acknowledgement is to be sent or being sent.
    pub fn is_acknowledging(&self) -> bool {
        self.owed_ack.is_waiting() || self.outstanding == Outstanding::Ack
    }

    /// Returns the counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns whether the radio runs CSMA-CA.
    pub(crate) fn csma_in_hardware(&self) -> bool {
        self.config.csma == Csma::Hardware
            && self.capabilities.contains(Capabilities::CSMA)
            && self.backoff.is_by_radios()
    }

    /// Returns the most frequent header: unsecured data between short addresses. It has the octets
    /// of [`Mac::header`] for a tenth of the instructions; [`Mac::plain`] reads it.
    pub(crate) fn plain_header(&self, dst: Address, ack: bool, pending: bool) -> Option<Plain> {
        let (Address::Short(dst), Address::Short(src)) = (dst, self.config.source()) else {
            return None;
        };
        if self.config.reserved_security != 0 {
            return None;
        }
        let (sequence, pan_id) = (self.sequence, self.config.pan_id);
        Some(Plain { ack, pending, sequence, pan_id, dst, src })
    }

    pub(crate) fn header(&self, frame_type: FrameType, dst: Address, ack_request: bool) -> Repr {
        let filling = self.config.reserved_security;
        Repr {
            frame_type,
            // Version 1, because version 0 ends at aMaxMACSafePayloadSize (102 octets of payload);
            // version 2 only where an information element needs it.
            version: if filling == 0 { Version::V2006 } else { Version::V2015 },
            ack_request,
            frame_pending: false,
            sequence: self.sequence,
            pan_id: self.config.pan_id,
            dst,
            src: self.config.source(),
            security: self.security_header(),
            csl: None,
            filling,
        }
    }
}
