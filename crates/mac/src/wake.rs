//! Definitions for both ends of ContikiMAC (Dunkels, "The ContikiMAC Radio Duty Cycling Protocol",
//! 2011; bursts after Duquennoy et al., "Lossy Links, Low Power, High Throughput", 2011). Every
//! device samples the channel periodically, each with its own phase, and a sender repeats its frame
//! until the recipient has woken and acknowledged it. `waking.rs` is the receiving end,
//! `strobing.rs` the sending end, and `mac/strobe.rs` connects the latter to the queue.

use kinglet_radio::{
    CCA, Channel, FCS_LEN, LINGER, MAX_FRAME, MAX_PSDU, OCTET, SENSES_APART, SHR_PHR, STROBE_GAP,
    STROBE_LEAST, SourceFilter, air_time,
};
use kinglet_time::{Duration, Instant};

/// Settings of a duty-cycled device whose neighbours are duty-cycled too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Wake-up period, of every device of the network: 1/32 to 1/2 s. The paper's devices wake
    /// eight times a second.
    pub period: Duration,
    /// Largest drift between two clocks, in parts per million: the sum of the specified tolerances
    /// of their crystals.
    pub drift_ppm: u16,
    /// Number of copies of the first frame of a burst to a recipient that should be awake by then,
    /// 1 to 16. The paper's figure is 4 (6.3). The recipient may well be busy with another
    /// neighbour.
    pub repeats: u8,
    /// Number of copies of the other frames, 1 to 16, before the burst counts as broken: their
    /// recipient is awake, and has buffer space. The paper's figure is 4 for these too; with more,
    /// a burst outlasts longer interference.
    pub burst_repeats: u8,
    /// Longest duration of a burst, of every device of the network: a recipient sleeps after it,
    /// even if more is announced. Zero sends one frame for each wake-up. The paper's figure is 2 s
    /// (6.1.1), which a transfer without end fills. A window of TCP is less than that: all of it
    /// would move from hop to hop in one piece, while each relay is idle until it arrives.
    pub burst: Duration,
    /// True if the radio is off between two frames of a burst (3.1.2).
    pub sleeps_in_gaps: bool,
    /// Number of strobes that may fail before a frame is discarded; `None`: only frames for a
    /// silent recipient are discarded.
    pub max_attempts: Option<u8>,
    /// True if this device is duty-cycled as well, false if it is always on.
    pub sleeps: bool,
    /// Channels on which devices listen, a bit for each, the lowest for channel 11; the same for
    /// all of the network. Each device hops over them, to another one at each wake-up, and starts
    /// with [`MacConfig::channel`](crate::MacConfig::channel), which is one of them. Neighbours
    /// determine the schedule of each device. 0 stands for that channel alone. The paper's devices
    /// do not hop.
    pub channels: u16,
}

impl Wake {
    /// The paper's settings except for `burst` and `burst_repeats`, for clocks of 40 ppm; a frame
    /// is discarded only if its recipient is silent.
    pub const DEFAULT: Wake = Wake {
        period: Duration::from_millis(125),
        drift_ppm: 80,
        repeats: 4,
        burst_repeats: 12,
        burst: Duration::from_millis(400),
        sleeps_in_gaps: true,
        max_attempts: None,
        sleeps: true,
        channels: 0,
    };

    /// Returns the nearest possible one.
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

    /// Time for which the next frame of a burst is awaited: as long as its sender tries.
    pub(crate) fn burst_wait(&self) -> Duration {
        BURST_WAIT.max(repetition(MAX_FRAME) * u32::from(self.burst_repeats) + MAX_GAP)
    }

    /// Time for which a frame of `len` octets without FCS is repeated for a recipient that should
    /// be awake.
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

/// Neighbours for whose frames a duty-cycled device has buffer space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// All neighbours.
    All,
    /// All but the neighbour with this short address.
    AllBut(u16),
    /// The neighbour with this short address.
    Only(u16),
    /// None: it does not listen.
    None,
}

impl Admission {
    /// Returns the senders whose frames a radio awaits then, if it awaits any.
    pub(crate) const fn source_filter(self) -> SourceFilter {
        match self {
            Admission::Only(neighbour) => SourceFilter::Only(neighbour),
            Admission::AllBut(neighbour) => SourceFilter::AllBut(neighbour),
            Admission::All | Admission::None => SourceFilter::Any,
        }
    }
}

/// Returns the channel of a set that follows `last`: the lowest one after the highest or if there
/// is no last one; `None` if the set is empty.
pub(crate) fn channel_after(set: u16, last: Option<Channel>) -> Option<Channel> {
    let last = last.map_or(0, Channel::number);
    let lowest = members(set).next();
    members(set).find(|number| *number > last).or(lowest).and_then(Channel::new)
}

/// Returns the numbers of the channels in a set, from the lowest on.
fn members(set: u16) -> impl Iterator<Item = u8> {
    let is_in = move |number: &u8| set >> number.saturating_sub(FIRST_CHANNEL) & 1 != 0;
    (FIRST_CHANNEL..=LAST_CHANNEL).filter(is_in)
}

/// A time at which a hopping device was on this channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WakeUp {
    pub(crate) at: Instant,
    pub(crate) channel: Channel,
}

impl WakeUp {
    /// Returns the turn that begins at `at`, or at the nearest wake-up. Interference on a channel
    /// also affects adjacent channels, so these do not follow one another.
    pub(crate) fn moved_to(self, wake: &Wake, at: Instant) -> WakeUp {
        let period = wake.period.as_micros();
        let periods = (at + wake.period / 2 - self.at).as_micros().checked_div(period);
        let channels = || members(wake.channels);
        let here = channels().position(|number| number == self.channel.number());
        let steps = periods.unwrap_or(0).saturating_mul(STRIDE);
        let place = steps.saturating_add(here.unwrap_or(0) as u64);
        let place = place.checked_rem(wake.channels.count_ones().into()).unwrap_or(0);
        let there = channels().nth(place as usize).and_then(Channel::new);
        WakeUp { at, channel: there.unwrap_or(self.channel) }
    }
}

/// Number of channels to advance at each wake-up. It is a prime larger than any set of channels, so
/// all of them are used. Of 16 it is every fifth, of the 11 that the lab uses the fourth.
const STRIDE: u64 = 37;
const FIRST_CHANNEL: u8 = 11;
const LAST_CHANNEL: u8 = 26;

/// Samples of the channel at a wake-up.
pub(crate) const SAMPLES: u8 = 2;
/// Samples before a burst: enough that they span more than the gap between two frames of another
/// burst (`MAX_GAP`), which is then not mistaken for an idle channel.
pub(crate) const SAMPLES_BEFORE: u8 = 6;
/// Longest silence between two frames of a burst for which the samples of other devices allow: 3 ms
/// on the paper's hardware (5.1), and a tenth more for the sender.
const MAX_GAP: Duration = Duration::from_micros(3_300);
const _: () = assert!(
    (SENSES_APART.as_micros() + CCA.as_micros()) * (SAMPLES_BEFORE as u64 - 1) + CCA.as_micros()
        >= MAX_GAP.as_micros()
);
/// Time for which the sender of a burst listens for an answering burst: the recipient waits for a
/// repetition of the last frame first ([`LINGER`]), passes that frame on, and loads its own (1.2
/// and 1.6 ms on the paper's hardware).
pub(crate) const ANSWER: Duration = Duration::from_micros(LINGER.as_micros() + 7_000);
/// Shortest time for which the next frame of a burst is awaited (Contiki, `contikimac.c`:
/// `INTER_PACKET_DEADLINE`, 1/32 s).
const BURST_WAIT: Duration = Duration::from_micros(31_250);
/// Duration of the two samples of a wake-up, from the start of the first to the end of the second.
pub(crate) const CHECK: Duration =
    Duration::from_micros(2 * CCA.as_micros() + SENSES_APART.as_micros());
/// Duration of the longest frame on the air.
pub(crate) const LONGEST: Duration = air_time(MAX_PSDU);
/// Shortest frame that is strobed, in octets without FCS. Both samples could miss a shorter one.
pub(crate) const MIN_FRAME: usize = {
    let octets = (STROBE_LEAST.as_micros() - SHR_PHR.as_micros()).div_ceil(OCTET.as_micros());
    octets as usize - FCS_LEN
};

/// Time from one preamble of a strobe to the next, if the frame has `len` octets without FCS.
pub(crate) fn repetition(len: usize) -> Duration {
    air_time(len.saturating_add(FCS_LEN)) + STROBE_GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_follow_each_other_and_the_lowest_the_highest() {
        let set = [11, 15, 26].map(|number| 1 << (number - FIRST_CHANNEL)).iter().sum();
        for (last, next) in [(None, 11), (Some(11), 15), (Some(13), 15), (Some(15), 26)] {
            let last = last.and_then(Channel::new);
            assert_eq!(channel_after(set, last), Channel::new(next), "{last:?}");
        }
        assert_eq!(channel_after(set, Channel::new(26)), Channel::new(11));
        assert_eq!(channel_after(0, None), None);
    }
}
