//! Counters: actions of each node's radio, and the fate of every frame that reached it.

/// Fate of one frame at one receiver in range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Passed up, or for an acknowledgement, accepted by the radio that waited for it.
    Delivered,
    /// Received completely and dropped by the address filter.
    Filtered,
    /// Lost because another frame overlapped at this receiver or was being received there.
    Collision,
    /// Lost to bit errors of noise alone, those of preamble and SFD included.
    Noise,
    /// Lost by the link's loss probability or injected loss.
    Loss,
    /// The receiver was off or waking up.
    Asleep,
    /// The receiver was loading a frame into the shared buffer.
    Loading,
    /// The receiver was in hardware backoff ("deaf listening", TCPlp §4.2).
    Backoff,
    /// The receiver was assessing the channel.
    Sensing,
    /// The receiver was turning around to send.
    Turnaround,
    /// The receiver was sending a frame.
    Transmitting,
    /// The receiver was sending an acknowledgement or preparing to.
    Acknowledging,
    /// The shared buffer contained a frame that had not been read out.
    Readout,
    /// The receiver was waiting for an acknowledgement and dropped everything else.
    AwaitingAck,
    /// The receiver listened on another channel.
    OtherChannel,
    /// Reception was given up for a command or a stronger frame (if the frame was for another
    /// node), or for a command before the end of the SFD.
    Abandoned,
    /// The sender was reset in the middle of the frame.
    Truncated,
}

/// Number of fates.
pub const FATES: usize = Fate::Truncated as usize + 1;

impl Fate {
    /// Every fate, in order.
    pub const ALL: [Fate; FATES] = [
        Fate::Delivered,
        Fate::Filtered,
        Fate::Collision,
        Fate::Noise,
        Fate::Loss,
        Fate::Asleep,
        Fate::Loading,
        Fate::Backoff,
        Fate::Sensing,
        Fate::Turnaround,
        Fate::Transmitting,
        Fate::Acknowledging,
        Fate::Readout,
        Fate::AwaitingAck,
        Fate::OtherChannel,
        Fate::Abandoned,
        Fate::Truncated,
    ];

    /// Name in traces and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Fate::Delivered => "delivered",
            Fate::Filtered => "filtered",
            Fate::Collision => "collision",
            Fate::Noise => "noise",
            Fate::Loss => "loss",
            Fate::Asleep => "asleep",
            Fate::Loading => "loading",
            Fate::Backoff => "backoff",
            Fate::Sensing => "sensing",
            Fate::Turnaround => "turnaround",
            Fate::Transmitting => "transmitting",
            Fate::Acknowledging => "acknowledging",
            Fate::Readout => "readout",
            Fate::AwaitingAck => "awaiting-ack",
            Fate::OtherChannel => "other-channel",
            Fate::Abandoned => "abandoned",
            Fate::Truncated => "truncated",
        }
    }

    /// True if the receiver missed the frame because it neither slept nor listened: single buffer,
    /// half duplex, deaf backoff.
    pub const fn is_deaf(self) -> bool {
        matches!(
            self,
            Fate::Loading
                | Fate::Backoff
                | Fate::Sensing
                | Fate::Turnaround
                | Fate::Transmitting
                | Fate::Acknowledging
                | Fate::Readout
                | Fate::AwaitingAck
        )
    }
}

/// Frames per fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates(pub [u64; FATES]);

impl Fates {
    /// Number of frames with this fate.
    pub fn of(&self, fate: Fate) -> u64 {
        self.0[fate as usize]
    }

    /// Total number of frames.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Frames missed because the receiver was busy ([`Fate::is_deaf`]).
    pub fn deaf(&self) -> u64 {
        Fate::ALL.iter().filter(|f| f.is_deaf()).map(|&f| self.of(f)).sum()
    }
}

/// Counters of one node's radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames put on the air by command.
    pub frames_sent: u64,
    /// Acknowledgements that the radio sent by itself.
    pub acks_sent: u64,
    /// PSDU octets of both.
    pub octets_sent: u64,
    /// Transmissions with an acknowledgement.
    pub acked: u64,
    /// Transmissions without the expected acknowledgement.
    pub ack_missing: u64,
    /// Clear channel assessments.
    pub assessments: u64,
    /// Those that found the channel busy.
    pub assessments_busy: u64,
    /// Transmissions that ended because the channel was busy.
    pub channel_busy: u64,
    /// Transmissions whose scheduled start could not be met.
    pub missed: u64,
    /// Commands refused: a transmission was outstanding, or the frame's length was invalid.
    pub refused: u64,
    /// Frames that began within reception range of this node.
    pub arrived: u64,
    /// Fates of these frames; their sum plus the frames under reception equals `arrived`.
    pub fates: Fates,
    /// Fates of frames addressed to this node or to all nodes.
    pub mine: Fates,
    /// Frames dropped because the host's queue was full (only with a host cost).
    pub host_dropped: u64,
}
