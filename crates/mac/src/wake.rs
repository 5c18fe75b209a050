//! What both halves of ContikiMAC share (Dunkels, "The ContikiMAC Radio Duty Cycling Protocol",
//! 2011; bursts after Duquennoy et al., "Lossy Links, Low Power, High Throughput", 2011). Every
//! device samples the channel in a rhythm of its own, and a sender repeats its frame until the
//! recipient has woken and acknowledged it. When a device wakes is `waking.rs`, whom it reaches how
//! `strobing.rs`, and `mac/strobe.rs` joins the latter to the queue.

use kinglet_radio::{
    CCA, Channel, FCS_LEN, LINGER, MAX_FRAME, MAX_PSDU, OCTET, SENSES_APART, SHR_PHR, STROBE_GAP,
    STROBE_LEAST, Whose, air_time,
};
use kinglet_time::{Duration, Instant};

/// How a device sleeps whose neighbours sleep as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// From one wake-up to the next, of every device of the network: 1/32 to 1/2 s. The paper's
    /// devices wake eight times a second.
    pub period: Duration,
    /// How far two clocks may drift apart, in parts per million: the sum of what their crystals
    /// are specified for.
    pub drift_ppm: u16,
    /// How often the first frame of a burst is sent in a row to a recipient that should be awake by
    /// then, 1 to 16. The paper's figure is 4 (6.3). It may well be busy with another neighbour.
    pub repeats: u8,
    /// How often the others are, 1 to 16, before the burst counts as broken: their recipient is
    /// awake, and has room. The paper's figure is 4 for these too; with more a burst outlasts
    /// longer interference.
    pub burst_repeats: u8,
    /// How long a burst lasts at the most, of every device of the network: a recipient sleeps after
    /// it, whatever is said to follow. Zero sends one frame for each wake-up. The paper's
    /// figure is 2 s (6.1.1), which a transfer without end fills. A window of TCP is less than
    /// that: all of it would move from hop to hop in one piece, each relay idle until it has come.
    pub burst: Duration,
    /// Whether the radio is off between two frames of a burst (3.1.2).
    pub rests: bool,
    /// How many strobes may fail before a frame is given up; `None`: it is only if its recipient is
    /// silent.
    pub max_attempts: Option<u8>,
    /// Whether this device sleeps as well, or listens always.
    pub sleeps: bool,
    /// On which channels devices listen, a bit for each, the lowest for channel 11; the same for
    /// all of the network. Each device goes round them, with another one at each wake-up, from
    /// [`Config::channel`](crate::Config::channel) on, which is one of them. Others find out when
    /// it is where. 0 stands for that one alone. The paper's devices stay where they are.
    pub channels: u16,
}

impl Wake {
    /// The paper's settings but for `burst` and `burst_repeats`, for clocks of 40 ppm; a frame is
    /// given up only if its recipient is silent.
    pub const DEFAULT: Wake = Wake {
        period: Duration::from_millis(125),
        drift_ppm: 80,
        repeats: 4,
        burst_repeats: 12,
        burst: Duration::from_millis(400),
        rests: true,
        max_attempts: None,
        sleeps: true,
        channels: 0,
    };

    /// The nearest possible one.
    pub(crate) const fn clamped(self) -> Self {
        let us = self.period.as_micros();
        let us = if us < 31_250 { 31_250 } else { us };
        let period = Duration::from_micros(if us > 500_000 { 500_000 } else { us });
        let repeats = clamped_repeats(self.repeats);
        let burst_repeats = clamped_repeats(self.burst_repeats);
        let max_attempts = match self.max_attempts {
            Some(0) => Some(1),
            attempts => attempts,
        };
        Wake { period, repeats, burst_repeats, max_attempts, ..self }
    }

    /// How long the next frame of a burst is awaited: as long as its sender tries.
    pub(crate) fn burst_wait(&self) -> Duration {
        BURST_WAIT.max(repetition(MAX_FRAME) * u32::from(self.burst_repeats) + MAX_GAP)
    }

    /// How long a frame of `len` octets without FCS is repeated for a recipient that should be
    /// awake.
    pub(crate) fn stubborn(&self, len: usize) -> Duration {
        repetition(len) * u32::from(self.repeats.saturating_sub(1))
    }

    /// The same within a burst.
    pub(crate) fn stubborn_in_burst(&self, len: usize) -> Duration {
        repetition(len) * u32::from(self.burst_repeats.saturating_sub(1))
    }
}

const fn clamped_repeats(repeats: u8) -> u8 {
    match repeats {
        0 => 1,
        17.. => 16,
        repeats => repeats,
    }
}

/// Whose frames a device that wakes has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Anybody's.
    All,
    /// Those of all but the neighbour with this short address.
    AllBut(u16),
    /// Those of the neighbour with this short address.
    Only(u16),
    /// Nobody's: it does not listen.
    Nobody,
}

impl Admission {
    /// Whose frames a radio awaits then, if it awaits any.
    pub(crate) const fn whose(self) -> Whose {
        match self {
            Admission::Only(whom) => Whose::Only(whom),
            Admission::AllBut(whom) => Whose::AllBut(whom),
            Admission::All | Admission::Nobody => Whose::Anybodys,
        }
    }
}

/// The channel of a set that comes after `last`, the lowest one after the highest or before any;
/// `None` if the set is empty.
pub(crate) fn channel_after(set: u16, last: Option<Channel>) -> Option<Channel> {
    let last = last.map_or(0, Channel::number);
    let lowest = members(set).next();
    members(set).find(|number| *number > last).or(lowest).and_then(Channel::new)
}

/// The numbers of the channels in a set, from the lowest on.
fn members(set: u16) -> impl Iterator<Item = u8> {
    let is_in = move |number: &u8| set >> number.saturating_sub(FIRST_CHANNEL) & 1 != 0;
    (FIRST_CHANNEL..=LAST_CHANNEL).filter(is_in)
}

/// When a device was on one of the channels that it goes round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) at: Instant,
    pub(crate) channel: Channel,
}

impl Turn {
    /// The turn that begins at `at`, or at the wake-up that is nearest to it. What disturbs a
    /// channel disturbs those beside it as well, so they do not follow one another.
    pub(crate) fn moved_to(self, wake: &Wake, at: Instant) -> Turn {
        let period = wake.period.as_micros();
        let periods = (at + wake.period / 2 - self.at).as_micros().checked_div(period);
        let channels = || members(wake.channels);
        let here = channels().position(|number| number == self.channel.number());
        let steps = periods.unwrap_or(0).saturating_mul(STRIDE);
        let place = steps.saturating_add(here.unwrap_or(0) as u64);
        let place = place.checked_rem(wake.channels.count_ones().into()).unwrap_or(0);
        let there = channels().nth(place as usize).and_then(Channel::new);
        Turn { at, channel: there.unwrap_or(self.channel) }
    }
}

/// So many channels are stepped over at each wake-up: with a prime that is larger than a set of
/// them can be, all come in turn. Of 16 it is every fifth, of the 11 that the lab uses the fourth.
const STRIDE: u64 = 37;
const FIRST_CHANNEL: u8 = 11;
const LAST_CHANNEL: u8 = 26;

/// Samples of the channel at a wake-up.
pub(crate) const SAMPLES: u8 = 2;
/// Samples before a burst: as many as are farther apart than two frames of one (`MAX_GAP`), so that
/// none is taken for a quiet channel.
pub(crate) const SAMPLES_BEFORE: u8 = 6;
/// The longest silence between two frames of a burst of which others' samples know: 3 ms on the
/// paper's hardware (5.1), after which the sender is given a tenth more.
const MAX_GAP: Duration = Duration::from_micros(3_300);
const _: () = assert!(
    (SENSES_APART.as_micros() + CCA.as_micros()) * (SAMPLES_BEFORE as u64 - 1) + CCA.as_micros()
        >= MAX_GAP.as_micros()
);
/// For so long who has sent a burst listens for one that answers it: its recipient waits for a
/// repetition of the last frame first ([`LINGER`]), hands that on, and loads its own (1.2 and
/// 1.6 ms on the paper's hardware).
pub(crate) const ANSWER: Duration = Duration::from_micros(LINGER.as_micros() + 7_000);
/// How long the next frame of a burst is awaited at the least (Contiki, `contikimac.c`:
/// `INTER_PACKET_DEADLINE`, 1/32 s).
const BURST_WAIT: Duration = Duration::from_micros(31_250);
/// How long the two samples of a wake-up take from the start of the first to the end of the second.
pub(crate) const CHECK: Duration =
    Duration::from_micros(2 * CCA.as_micros() + SENSES_APART.as_micros());
/// The longest frame on the air.
pub(crate) const LONGEST: Duration = air_time(MAX_PSDU);
/// What is on the air for less could be missed by both samples: the shortest frame that is strobed,
/// in octets without FCS.
pub(crate) const MIN_FRAME: usize = {
    let octets = (STROBE_LEAST.as_micros() - SHR_PHR.as_micros()).div_ceil(OCTET.as_micros());
    octets as usize - FCS_LEN
};

/// From one preamble of a strobe to the next, if the frame has `len` octets without FCS.
pub(crate) fn repetition(len: usize) -> Duration {
    air_time(len.saturating_add(FCS_LEN)) + STROBE_GAP
}
