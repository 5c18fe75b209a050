//! State of one radio.

use crate::ber::mw_from_dbm;
use crate::chip::{MakeChip, Socket};
use crate::cpu::HostCost;
use crate::energy::Meter;
use crate::frame::Psdu;
use crate::ledger::{Cause, Unacknowledged};
use crate::medium::Position;
use crate::profile::RadioProfile;
use crate::rng::{Purpose, Stream};
use kinglet_radio::{
    Access, CCA, Capabilities, Channel, Event, Filter, LinkKey, SENSES_APART, SourceFilter, Start,
};

/// Never: no event is due.
pub(crate) const NEVER: u64 = u64::MAX;

/// Activity of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Off,
    Waking,
    /// Listening; receiving if `Radio::lock` is set.
    Listen,
    /// From the start of a transmission to the end of its clear channel assessment: state changes
    /// and loading until `ready_at`, deaf backoff until `sense_at`, then the assessment.
    Access,
    /// Between the assessment and the preamble.
    Turnaround,
    /// Sending.
    Air,
    /// Waiting for an acknowledgement; receiving if `Radio::lock` is set.
    AckWait,
    /// Between a received frame and its acknowledgement.
    AckTurnaround,
    /// Sending an acknowledgement.
    AckAir,
    /// Blocked until the readout of the received frame from the shared buffer is complete.
    Readout,
}

/// Mode of the radio while it does not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Off,
    Receive {
        from: u64,
        until: u64,
        channel: Channel,
        /// Sources of the awaited frame, until one has been received.
        awaits: Option<SourceFilter>,
    },
}

impl Mode {
    /// Returns the sources whose frames the mode is for.
    pub(crate) fn source_filter(&self) -> SourceFilter {
        match self {
            Mode::Receive { awaits: Some(source_filter), .. } => *source_filter,
            Mode::Receive { awaits: None, .. } | Mode::Off => SourceFilter::Any,
        }
    }
}

/// Kind of the outstanding command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// `Transmit`.
    Send,
    /// `Strobe`, whose last repetition begins at most this many microseconds after the first.
    Strobe(u64),
    /// `Sense`.
    Sense,
}

/// The outstanding `Transmit`, `Strobe` or `Sense` command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) task: Task,
    pub(crate) start: Start,
    pub(crate) access: Access,
    pub(crate) channel: Channel,
    pub(crate) power_dbm: i8,
    pub(crate) ack: bool,
    /// Remaining assessments of the channel of `Sense` and `Strobe`.
    pub(crate) senses: u8,
    /// Number of times the frame was on the air, and the time of the first.
    pub(crate) times: u16,
    pub(crate) first_at: u64,
    /// Minimum time from a `Strobe` to the next preamble.
    pub(crate) spacing_us: u64,
    /// Preparation has begun.
    pub(crate) begun: bool,
    /// Time at which preparation must begin to meet `Start::At`. With `Start::Asap` it is the time
    /// at which the frame is loaded if the radio listens meanwhile, otherwise 0.
    pub(crate) begin_at: u64,
    /// Backoff exponent and number of busy assessments of hardware CSMA-CA.
    pub(crate) exponent: u8,
    pub(crate) attempts: u8,
}

impl Job {
    /// Returns a job that begins as soon as possible and sends nothing.
    pub(crate) const fn new(task: Task, channel: Channel) -> Job {
        Job {
            task,
            start: Start::Asap,
            access: Access::Cca,
            channel,
            power_dbm: 0,
            ack: false,
            senses: 1,
            times: 0,
            first_at: 0,
            spacing_us: 0,
            begun: false,
            begin_at: 0,
            exponent: 0,
            attempts: 0,
        }
    }
}

impl Job {
    /// Returns the time from the start of the first assessment that precedes a transmission to its
    /// preamble, if it takes `cca_to_air_us` from the last one.
    pub(crate) fn sensing_us(&self, cca_to_air_us: u64) -> u64 {
        let assessments = match self.access {
            Access::Immediate => return 0,
            Access::Cca | Access::Csma(_) => u64::from(self.senses.max(1)),
        };
        let between = (assessments - 1) * SENSES_APART.as_micros();
        assessments * CCA.as_micros() + between + cca_to_air_us
    }
}

/// Transmission of this radio (meaningful while sending).
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnAir {
    pub(crate) start: u64,
    pub(crate) channel: Channel,
    /// True for the acknowledgement in `Radio::ack`, false for the frame in `Radio::outgoing`.
    pub(crate) is_ack: bool,
    pub(crate) active: bool,
}

/// The frame that a radio is receiving, or whose preamble it follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) from: u32,
    /// Time at which its preamble began.
    pub(crate) begin: u64,
    /// The radio has found its preamble and SFD.
    pub(crate) synchronised: bool,
    /// Power at the demodulator: the received power less the implementation loss.
    pub(crate) mw: f64,
    pub(crate) dbm: f32,
    /// Power of the other frames on the air at its start, in milliwatts.
    pub(crate) others_mw: f32,
    /// Loss probability of the link, in units of 2^-32.
    pub(crate) loss: u32,
    /// Another frame overlapped.
    pub(crate) interfered: bool,
    /// True if neither a signal nor noise has disturbed it: no accounting is needed.
    pub(crate) undisturbed: bool,
    /// The frame is already lost.
    pub(crate) corrupted: bool,
    /// The filter will accept it.
    pub(crate) mine: bool,
    /// Sources whose frames were awaited when it began; the command may have ended since.
    pub(crate) source_filter: SourceFilter,
    /// Logarithm of the probability that all bits before `segment` were correct: those of preamble
    /// and SFD until it is synchronised, and those after the SFD from then on.
    pub(crate) ln_success: f64,
    /// Start of the current interval of constant interference.
    pub(crate) segment: u64,
}

/// A frame on the air at one receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    pub(crate) mw: f64,
    pub(crate) dbm: f32,
    pub(crate) from: u32,
    pub(crate) channel: Channel,
    /// It only interferes: an assessment of the channel does not detect it.
    pub(crate) unnoticed: bool,
    /// It is strong enough for carrier sense.
    pub(crate) carrier: bool,
}

pub(crate) struct Radio {
    /// The chip in place of this radio, which then is its antenna.
    pub(crate) socket: Option<Box<Socket>>,
    pub(crate) phase: Phase,
    pub(crate) phase_generation: u32,
    pub(crate) schedule_generation: u32,
    pub(crate) readout_generation: u32,
    pub(crate) schedule_at: u64,
    pub(crate) mode: Mode,
    pub(crate) channel: Channel,
    pub(crate) job: Option<Job>,
    pub(crate) lock: Option<Lock>,
    /// Strongest frame that began during the preamble of `lock`.
    pub(crate) rival: Option<Lock>,
    /// All signals at the receiver, receivable or not.
    pub(crate) signals: Vec<Signal>,
    /// Time at which the last frame strong enough for carrier sense ended.
    pub(crate) last_carrier: u64,
    /// While listening: the power that an assessment detected before the last change of signals, in
    /// mW, and the time of that change.
    pub(crate) mw_before: f64,
    pub(crate) changed_at: u64,
    /// End of the interframe spacing after the last automatic acknowledgement.
    pub(crate) spaced_until: u64,
    /// End of the last `Strobe`.
    pub(crate) strobed_at: u64,
    pub(crate) ready_at: u64,
    pub(crate) sense_at: u64,
    /// Energy measured by the current assessment until `measured_until`, in mW * us.
    pub(crate) measured: f64,
    pub(crate) measured_until: u64,
    /// Power register: the power of the last frame sent, also used for acknowledgements.
    pub(crate) power_dbm: i8,
    pub(crate) air: OnAir,
    /// Time at which the readout of the received frame is complete.
    pub(crate) readout_until: u64,
    pub(crate) received: Option<Event>,
    /// Next frame in the receive FIFO.
    pub(crate) behind: Option<(Event, Box<Psdu>)>,
    pub(crate) meter: Meter,
    pub(crate) unacknowledged: Unacknowledged,
    /// Sequence number of the frame whose last attempt failed, and the radio's total sleep at that
    /// time.
    pub(crate) failed: Option<(u8, u64)>,
    /// Purposes of the outstanding transmission and of the last received frame.
    pub(crate) sending_for: Cause,
    pub(crate) received_for: Cause,
    pub(crate) auto_ack: bool,
    pub(crate) ack_wait: bool,
    pub(crate) source_match: bool,
    pub(crate) secures: bool,
    pub(crate) senses: bool,
    pub(crate) strobes: bool,
    /// Key of `Command::Secure`.
    pub(crate) key: Option<LinkKey>,
    /// Short addresses for which a frame is pending. Without `source_match`, any entry applies to
    /// all nodes.
    pub(crate) pending: Vec<u16>,
    pub(crate) sensitivity_dbm: f32,
    /// Weaker frames are only interference.
    pub(crate) weakest_dbm: f32,
    /// Share of a frame's power after the implementation loss, 0 to 1.
    pub(crate) demodulated: f64,
    pub(crate) cca_threshold_mw: f64,
    pub(crate) csma_random: Stream,
    pub(crate) reception_random: Stream,
    pub(crate) correlation_random: Stream,
    pub(crate) filter: Filter,
    pub(crate) profile: RadioProfile,
    pub(crate) outgoing: Psdu,
    pub(crate) ack: Psdu,
    pub(crate) incoming: Psdu,
}

/// A node of a run.
#[derive(Clone, Copy, Debug)]
pub struct NodeConfig {
    /// Position of the node.
    pub position: Position,
    /// Its addresses, for the hardware's filter.
    pub filter: Filter,
    /// Its radio.
    pub radio: RadioProfile,
    /// Its CPU.
    pub host: HostCost,
    /// Excess of its clock rate over true time, in parts per million.
    pub drift_ppm: i32,
    /// Time at which it is switched on and its clock begins, in microseconds.
    pub begin_us: u32,
    /// A chip with its driver in place of the simulator's radio. `radio` then has its capabilities,
    /// currents, sensitivity and channel assessment.
    pub chip: Option<MakeChip>,
}

impl Radio {
    /// Creates a radio. `grey_db` is the range below the sensitivity in which frames are received
    /// occasionally; `random` makes a stream for a purpose.
    pub(crate) fn new(
        config: &NodeConfig,
        grey_db: f64,
        random: impl Fn(Purpose) -> Stream,
    ) -> Self {
        let profile = config.radio;
        let capabilities = profile.capabilities();
        let chip = config.chip.map(|make| make(random(Purpose::Chip).bits()));
        Radio {
            socket: chip.map(|chip| Box::new(Socket::new(chip, config.filter))),
            phase: Phase::Off,
            phase_generation: 0,
            schedule_generation: 0,
            readout_generation: 0,
            schedule_at: NEVER,
            mode: Mode::Off,
            channel: Channel::default(),
            job: None,
            lock: None,
            rival: None,
            signals: Vec::new(),
            last_carrier: 0,
            mw_before: 0.0,
            changed_at: 0,
            spaced_until: 0,
            strobed_at: 0,
            ready_at: 0,
            sense_at: 0,
            measured: 0.0,
            measured_until: 0,
            air: OnAir { start: 0, channel: Channel::default(), is_ack: false, active: false },
            power_dbm: 0,
            readout_until: 0,
            received: None,
            behind: None,
            meter: Meter::NEW,
            unacknowledged: Unacknowledged::default(),
            failed: None,
            sending_for: Cause::Send,
            received_for: Cause::Receive,
            auto_ack: capabilities.contains(Capabilities::AUTO_ACK),
            ack_wait: capabilities.contains(Capabilities::ACK_WAIT),
            source_match: capabilities.contains(Capabilities::SOURCE_MATCH),
            secures: capabilities.contains(Capabilities::SECURES),
            senses: capabilities.contains(Capabilities::SENSES),
            strobes: capabilities.contains(Capabilities::STROBES),
            key: None,
            pending: Vec::new(),
            sensitivity_dbm: profile.sensitivity_dbm as f32,
            weakest_dbm: (profile.sensitivity_dbm - grey_db) as f32,
            demodulated: mw_from_dbm(-profile.implementation_loss_db),
            cca_threshold_mw: mw_from_dbm(profile.cca.threshold_dbm),
            csma_random: random(Purpose::Csma),
            reception_random: random(Purpose::Reception),
            correlation_random: random(Purpose::Correlation),
            filter: config.filter,
            profile,
            outgoing: Psdu::EMPTY,
            ack: Psdu::EMPTY,
            incoming: Psdu::EMPTY,
        }
    }

    /// Returns whether the receive FIFO can hold another frame.
    pub(crate) const fn has_room(&self) -> bool {
        self.behind.is_none()
    }

    /// Returns the time at which the bus to the radio is free.
    pub(crate) fn bus_free(&self, now: u64) -> u64 {
        let loaded = self.job.filter(|job| !job.begun).map_or(0, |job| job.begin_at);
        self.readout_until.max(loaded).max(now)
    }

    /// Handles `Command::Pending`.
    pub(crate) fn set_pending(&mut self, short: u16, pending: bool) {
        if self.source_match {
            self.pending.retain(|&known| known != short);
        } else {
            self.pending.clear();
        }
        if pending {
            self.pending.push(short);
        }
    }

    /// Returns the frame-pending bit in the acknowledgement of a data request from `short`.
    pub(crate) fn is_pending(&self, short: u16) -> bool {
        if self.source_match { self.pending.contains(&short) } else { !self.pending.is_empty() }
    }

    /// Returns whether an assessment is due while the radio listens on its channel.
    pub(crate) fn senses_concurrently(&self, now: u64) -> bool {
        let due = |job: &Job| {
            job.task == Task::Sense && job.channel == self.channel && job.begin_at <= now
        };
        self.phase == Phase::Listen && self.job.as_ref().is_some_and(due)
    }

    /// Returns the purpose of the current phase.
    pub(crate) fn cause(&self) -> Cause {
        match self.phase {
            Phase::Listen if self.samples() => Cause::Poll,
            Phase::Off | Phase::Waking | Phase::Listen => Cause::Listen,
            Phase::Access | Phase::Turnaround | Phase::Air | Phase::AckWait => self.sending_for,
            Phase::AckTurnaround | Phase::AckAir => Cause::Control,
            Phase::Readout => self.received_for,
        }
    }

    /// Returns the phase of a chip's antenna that neither listens nor sends.
    pub(crate) fn phase_of_ramp(&self) -> Phase {
        match self.phase {
            Phase::AckTurnaround => Phase::AckTurnaround,
            _ if self.job.is_some() => Phase::Turnaround,
            Phase::Off | Phase::Waking => Phase::Waking,
            _ => Phase::Readout,
        }
    }

    /// Returns whether the radio listens until a time that was set beforehand.
    fn samples(&self) -> bool {
        matches!(self.mode, Mode::Receive { until, .. } if until != NEVER)
    }

    /// Returns the frame that is on the air.
    pub(crate) fn sending(&self) -> &Psdu {
        if self.air.is_ack { &self.ack } else { &self.outgoing }
    }

    /// Sets the start of the next channel assessment to `at`.
    pub(crate) fn assess_at(&mut self, at: u64) {
        self.sense_at = at;
        self.measured = 0.0;
        self.measured_until = at;
    }

    /// Returns the power that an assessment of the channel detects now, in mW.
    pub(crate) fn energy_mw(&self) -> f64 {
        let noticed = self.signals.iter().filter(|s| !s.unnoticed && s.channel == self.channel);
        noticed.map(|s| s.mw).sum()
    }

    /// Returns the strongest and the summed power of all signals on this radio's channel except
    /// that of `from`.
    pub(crate) fn interference(&self, from: u32) -> (f32, f64) {
        Radio::strength_of_others(&self.signals, self.channel, from)
    }

    /// Returns the strongest and the summed power of `signals` on `channel` except that of `from`.
    pub(crate) fn strength_of_others(
        signals: &[Signal],
        channel: Channel,
        from: u32,
    ) -> (f32, f64) {
        let mut strongest = f32::NEG_INFINITY;
        let mut sum = 0.0;
        for signal in signals {
            if signal.from != from && signal.channel == channel {
                strongest = strongest.max(signal.dbm);
                sum += signal.mw;
            }
        }
        (strongest, sum)
    }
}
