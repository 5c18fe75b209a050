//! The radio driver contract of Kinglet.
//!
//! There is no `send` and no `receive`: between such calls sits a CPU, and interframe spacing,
//! acknowledgements and sampled listening cannot wait for it. Instead the MAC submits [`Command`]s
//! that start either as soon as possible or so that the start-of-frame delimiter (SFD) ends on the
//! air at a given instant, with one command of look-ahead. The driver reports timestamped
//! [`Event`]s. [`Capabilities`] declare the functions of the hardware; the MAC does the rest in
//! software.
//!
//! # Rules for drivers
//!
//! * `Receive`, `Await` and `Off` are *modes*: they persist until replaced. `Transmit` interrupts
//!   the mode and ends with exactly one [`Event::Transmitted`], [`Event::ChannelBusy`] or
//!   [`Event::Missed`]. The radio then returns by itself to the previous mode (or to the one that
//!   was submitted meanwhile). From `Off` it wakes for the transmission, and for the
//!   acknowledgement if it waits for one, and goes back to sleep.
//! * `Pending` is neither: it changes the frame-pending bit of acknowledgements, at once and until
//!   changed again.
//! * A frame in these interfaces is the PSDU without its two FCS octets: the radio appends and
//!   checks the FCS, and frames with a wrong FCS are not reported.
//! * While a frame that passes the [`Filter`] is being received, a `Transmit` with `Start::Asap`
//!   and a change of mode wait until reception (and its acknowledgement, if the radio sends it) has
//!   ended.
//! * A `Transmit` with an assessment of the channel that is submitted during another node's frame
//!   does not meet the acknowledgement of that frame, although the channel is idle in the
//!   turnaround before it.
//! * The MAC keeps the interframe spacing ([`spacing_after`]) between its frames, or gives it in a
//!   `Strobe`. After an acknowledgement that the radio has sent by itself, a `Transmit` that waited
//!   for it puts nothing on the air for another [`SIFS`].
//! * A radio with [`Capabilities::SECURES`] and a key completes each frame of a `Transmit` with the
//!   Security Enabled bit set: it encrypts the private payload and writes the message integrity
//!   code (MIC) over the octets at the end that the frame reserves for it. It follows the auxiliary
//!   security header, in which the MAC has filled in the frame counter. Of the received frames with
//!   that bit it reports those with a correct MIC; their private payload is in the clear, and the
//!   octets of the MIC have undefined values. The radio does no replay protection. Immediate
//!   acknowledgements are not secured; they are sent and accepted regardless of the security of the
//!   frame.
//! * `Sense` interrupts the mode as a `Transmit` does: from `Off` the radio wakes, assesses the
//!   channel for eight symbols, the given number of times, [`SENSES_APART`] apart, and goes back to
//!   sleep; between two assessments it may sleep too. A radio that listens on that channel
//!   continues to listen, even during a reception: it reports the state of the channel over the
//!   last eight symbols. `Sense` ends with exactly one [`Event::Sensed`], at the first assessment
//!   that finds the channel busy, within [`time_limit`] of [`Access::Cca`] and 20 ms, and until
//!   then counts as the outstanding `Transmit`.
//! * `Strobe` is a `Transmit` that repeats its frame, each time at most [`STROBE_GAP`] after the
//!   end of the previous copy, without loading it or assessing the channel again, until its
//!   acknowledgement has come or the next copy would begin too long after the first. If another
//!   frame begins in the gap, the radio waits as long as an acknowledgement could take. It ends
//!   with exactly one [`Event::Strobed`], [`Event::ChannelBusy`] or [`Event::Missed`]. A `Strobe`
//!   that follows another one waits by itself for the spacing that it gives, so that its frame is
//!   made and loaded in that time.
//! * At most one `Transmit` is outstanding. A second one is refused with [`Busy`], and nothing
//!   changes.
//! * The event that ends a `Transmit` can be polled within [`time_limit`] of its submission, or of
//!   its scheduled instant. After that the MAC considers the event lost and submits `Reset`. After
//!   a `Reset`, no event of an earlier command is reported: events do not name their transmission,
//!   so a late one would be attributed to the next one.
//!
//! ```
//! use kinglet_radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
//! use kinglet_time::Instant;
//!
//! /// A radio that hears nothing and refuses to speak.
//! struct Mute;
//! impl Driver for Mute {
//!     fn capabilities(&self) -> Capabilities { Capabilities::NONE }
//!     fn set_filter(&mut self, _: Filter) {}
//!     fn submit(&mut self, _: Instant, _: Command, _: &[u8]) -> Result<(), Busy> { Err(Busy) }
//!     fn poll_event(&mut self, _: Instant, _: &mut [u8; MAX_FRAME]) -> Option<Event> { None }
//! }
//! ```

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod serial;

use core::fmt;
use core::ops::BitOr;
use kinglet_time::{Duration, Instant};

/// aMaxPHYPacketSize: the longest PSDU in octets, FCS included (IEEE 802.15.4-2015, 11.2).
pub const MAX_PSDU: usize = 127;
/// Octets of the frame check sequence, which the radio appends and removes.
pub const FCS_LEN: usize = 2;
/// Longest silence between two copies of a [`Command::Strobe`]: the time until the SFD of an
/// acknowledgement would have been received, a symbol to decide, and a turnaround.
pub const STROBE_GAP: Duration =
    Duration::from_micros(ACK_NOTICED.as_micros() + SYMBOL.as_micros() + TURNAROUND.as_micros());
/// Time from the end of a frame to the end of the SFD of its acknowledgement.
pub const ACK_NOTICED: Duration =
    Duration::from_micros(TURNAROUND.as_micros() + 5 * OCTET.as_micros());
/// Time after an acknowledgement until a repetition of the acknowledged frame would have been
/// noticed.
pub const LINGER: Duration =
    Duration::from_micros(STROBE_GAP.as_micros() + 5 * OCTET.as_micros() + 2 * SYMBOL.as_micros());
/// Time from the end of one assessment of a [`Command::Sense`] to the start of the next: one symbol
/// more than [`STROBE_GAP`], so that not both fall into the same silence of a strobe.
pub const SENSES_APART: Duration =
    Duration::from_micros(STROBE_GAP.as_micros() + SYMBOL.as_micros());
/// Shortest time on the air with which one of two assessments in a row notices a frame, whenever
/// they begin.
pub const STROBE_LEAST: Duration =
    Duration::from_micros(SENSES_APART.as_micros() + 2 * CCA.as_micros());
/// The longest frame in these interfaces: a PSDU without its FCS.
pub const MAX_FRAME: usize = MAX_PSDU - FCS_LEN;

/// One O-QPSK symbol at 2.4 GHz (IEEE 802.15.4-2015, 12.2).
pub const SYMBOL: Duration = Duration::from_micros(16);
/// Time on the air of one octet at 250 kb/s: two symbols.
pub const OCTET: Duration = Duration::from_micros(32);
/// Preamble (4 octets), SFD (1) and PHR (1): what precedes the PSDU on the air.
pub const SHR_PHR: Duration = Duration::from_micros(192);
/// aTurnaroundTime: 12 symbols between receiving and transmitting.
pub const TURNAROUND: Duration = Duration::from_micros(192);
/// aUnitBackoffPeriod: 20 symbols.
pub const UNIT_BACKOFF: Duration = Duration::from_micros(320);
/// A clear channel assessment: 8 symbols.
pub const CCA: Duration = Duration::from_micros(128);
/// macAckWaitDuration: 54 symbols from the end of a frame to the end of its acknowledgement.
pub const ACK_WAIT: Duration = Duration::from_micros(864);
/// PSDU octets of an immediate acknowledgement, FCS included.
pub const ACK_PSDU: usize = 5;
/// macSifsPeriod: 12 symbols between a short frame and the next one of the same device.
pub const SIFS: Duration = Duration::from_micros(192);
/// macLifsPeriod: 40 symbols between a long frame and the next one of the same device.
pub const LIFS: Duration = Duration::from_micros(640);
/// aMaxSifsFrameSize: the longest PSDU in octets that counts as short.
pub const MAX_SIFS_PSDU: usize = 18;

/// Interframe spacing (IEEE 802.15.4-2015, 6.2.4): shortest time between a frame with a PSDU of
/// `psdu_len` octets, or its acknowledgement if it has one, and the next frame of its sender.
pub const fn spacing_after(psdu_len: usize) -> Duration {
    if psdu_len <= MAX_SIFS_PSDU { SIFS } else { LIFS }
}

/// Time on the air of a PSDU of `psdu_len` octets (FCS included), from preamble to last symbol.
pub const fn air_time(psdu_len: usize) -> Duration {
    Duration::from_micros(SHR_PHR.as_micros() + OCTET.as_micros() * psdu_len as u64)
}

/// Allowance for the driver in addition to the time that the standard gives a transmission: to load
/// the frame over a slow line, to wake the radio, and until the CPU handles the event after all its
/// other work. No standard bounds that. A lost event costs as much, and is rare: a second is the
/// CPU time of hundreds of full frames, and TCP waits as long for its first acknowledgement (RFC
/// 6298, 2.1).
const DRIVER_TIME: Duration = Duration::from_secs(1);

/// Longest time that a `Transmit` with this access takes, from its submission or, with
/// [`Start::At`], from that instant to its event. It is the sum of, in order of time (sections of
/// IEEE 802.15.4-2015):
///
/// * the longest frame that is being received then (11.2), its acknowledgement and the spacing
///   after that (6.2.4);
/// * CSMA-CA if the radio does it, each time with the longest backoff, that of macMaxBe (6.2.5.1),
///   or one assessment;
/// * the turnaround and the longest frame;
/// * macAckWaitDuration (8.4.3), as if each frame requested an acknowledgement;
/// * a second for the driver.
pub const fn time_limit(access: Access) -> Duration {
    let frame = air_time(MAX_PSDU).as_micros() + TURNAROUND.as_micros();
    let reception = frame + air_time(ACK_PSDU).as_micros() + SIFS.as_micros();
    let rest = frame + ACK_WAIT.as_micros() + DRIVER_TIME.as_micros();
    Duration::from_micros(reception + longest_access(access).as_micros() + rest)
}

const fn longest_access(access: Access) -> Duration {
    let CsmaParams { max_be, max_backoffs, .. } = match access {
        Access::Immediate => return Duration::ZERO,
        Access::Cca => return CCA,
        Access::Csma(params) => params,
    };
    // No exponent is greater than 8 (Table 8-94). At most 256 backoffs of 82 ms fit into 32 bits,
    // which a small core multiplies at once.
    let units = (1 << if max_be < 8 { max_be } else { 8 }) - 1;
    let each = units * UNIT_BACKOFF.as_micros() as u32 + CCA.as_micros() as u32;
    Duration::from_micros((each * (max_backoffs as u32 + 1)) as u64)
}

/// A 2.4 GHz channel, 11 to 26.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel(u8);

impl Channel {
    /// Returns the channel with this number, or `None` outside of 11..=26.
    pub const fn new(number: u8) -> Option<Self> {
        if number >= 11 && number <= 26 { Some(Channel(number)) } else { None }
    }

    /// Returns the channel number, 11 to 26.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl Default for Channel {
    /// Channel 26, which no 802.11 channel of the 1/6/11 plan overlaps.
    fn default() -> Self {
        Channel(26)
    }
}

/// Time at which a command takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As soon as the hardware can.
    Asap,
    /// Such that the SFD ends at this instant (transmit), or that listening starts at it (receive).
    At(Instant),
}

/// Channel access before a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// None; for acknowledgements and strobes.
    Immediate,
    /// One clear channel assessment; busy ends the command with [`Event::ChannelBusy`].
    Cca,
    /// The whole CSMA-CA in hardware; needs [`Capabilities::CSMA`]. Some radios do not listen
    /// during the random backoff ("deaf listening", TCPlp §4.2).
    Csma(CsmaParams),
}

/// Parameters of unslotted CSMA-CA (IEEE 802.15.4-2015, 6.2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsmaParams {
    /// macMinBE, 0 to `max_be`; default 3.
    pub min_be: u8,
    /// macMaxBE, 3 to 8; default 5.
    pub max_be: u8,
    /// macMaxCsmaBackoffs, 0 to 5: number of busy assessments after the first that are tolerated;
    /// default 4.
    pub max_backoffs: u8,
}

impl Default for CsmaParams {
    fn default() -> Self {
        CsmaParams { min_be: 3, max_be: 5, max_backoffs: 4 }
    }
}

/// An AES-128 key. `Debug` does not print it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Parameters with which a radio secures frames by itself, in addition to the fields of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkKey {
    /// The key of all devices of the PAN.
    pub key: Key,
    /// The key index (key identifier mode 1) of the frames that use the key.
    pub index: u8,
    /// The first six octets of the EUI-64 that the nonce contains for a device with a short
    /// address; the short address is the last two. For frames with an extended source address the
    /// nonce contains that address.
    pub eui64_prefix: [u8; 6],
}

/// Source addresses of the frames that [`Command::Await`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFilter {
    /// Any.
    Any,
    /// This short address.
    Only(u16),
    /// Any but this short address.
    AllBut(u16),
}

impl SourceFilter {
    /// Returns whether frames with this short source address are awaited; `None` is a source
    /// without one.
    pub fn accepts(self, short: Option<u16>) -> bool {
        match self {
            SourceFilter::Any => true,
            SourceFilter::Only(only) => short == Some(only),
            SourceFilter::AllBut(but) => short != Some(but),
        }
    }
}

/// Command of the MAC to the radio. More commands may be added; each will belong to a capability
/// that announces it, so that a driver can ignore those that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Lowest power; no reception.
    Off,
    /// Listens on `channel` from `start`, until `until` or until replaced.
    Receive {
        /// Start of listening.
        start: Start,
        /// Time at which it ends by itself (the mode then becomes `Off`); `None` = until replaced.
        until: Option<Instant>,
        /// The channel.
        channel: Channel,
    },
    /// The same until `until`, or until a frame that passes the filter has been received, and its
    /// acknowledgement has been sent if the radio sends it: the mode becomes `Off` then, before any
    /// software has seen the frame. If the frame was acknowledged and its frame-pending bit is
    /// zero, the radio listens for [`LINGER`] first: the acknowledgement may be lost, and the frame
    /// repeated. In a radio with [`Capabilities::STROBES`].
    Await {
        /// Start of listening.
        start: Start,
        /// Latest end of listening.
        until: Instant,
        /// The channel.
        channel: Channel,
        /// Frames from other sources do not pass the filter: they are neither acknowledged nor
        /// reported. A part that acknowledges all frames that its own filter accepts needs a
        /// command for each frame (CC2420: the strobes SACK and SFLUSHRX).
        source_filter: SourceFilter,
    },
    /// Sends the frame that is passed along, once.
    Transmit {
        /// Time at which the SFD ends on the air.
        start: Start,
        /// Channel access.
        access: Access,
        /// The channel.
        channel: Channel,
        /// Output power in dBm; the driver rounds to its nearest step.
        power_dbm: i8,
        /// True if the radio waits for an acknowledgement afterwards (needs
        /// [`Capabilities::ACK_WAIT`]; otherwise the MAC times it in software).
        ack: bool,
    },
    /// Sets the frame-pending bit of acknowledgements of data requests (MAC command 4), in a radio
    /// with [`Capabilities::AUTO_ACK`]; initially it is zero. In acknowledgements of other frames
    /// it is always zero.
    Pending {
        /// Source of the data requests, with [`Capabilities::SOURCE_MATCH`]; without it the bit is
        /// the same for all sources.
        short: u16,
        /// True if a frame is pending.
        pending: bool,
    },
    /// Assesses the channel, beginning as soon as possible, and sends nothing; in a radio with
    /// [`Capabilities::SENSES`].
    Sense {
        /// The channel.
        channel: Channel,
        /// Number of assessments, 1 to 8, if none finds it busy.
        times: u8,
    },
    /// Sends the frame that is passed along repeatedly; in a radio with [`Capabilities::STROBES`].
    Strobe {
        /// Time at which its SFD ends for the first time.
        start: Start,
        /// Number of prior assessments of the channel, as in `Sense`, 0 to 8: busy ends the command
        /// with [`Event::ChannelBusy`].
        senses: u8,
        /// The channel.
        channel: Channel,
        /// Output power in dBm, as in `Transmit`.
        power_dbm: i8,
        /// True if an acknowledgement ends it.
        ack: bool,
        /// Longest time from the first preamble to the last one.
        lasting: Duration,
        /// Shortest time from the end of the previous `Strobe`, acknowledgement included, to the
        /// first preamble.
        spacing: Duration,
    },
    /// Secures and opens frames with this key from now on; in a radio with
    /// [`Capabilities::SECURES`].
    Secure(LinkKey),
    /// Restarts the radio at once: a transmission is aborted, no frame is pending for any neighbour
    /// and the mode is `Off`, as at the start. The filter and the key of `Secure` stay.
    Reset,
}

/// Result of the wait for the acknowledgement of a transmitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// The radio was not asked to wait for one.
    NotAwaited,
    /// It was received.
    Received {
        /// The frame-pending bit of the acknowledgement: after a data request, true if a frame will
        /// follow.
        frame_pending: bool,
    },
    /// It was not received within macAckWaitDuration.
    Missing,
}

/// Report of the radio. More events may be added; each will answer a command that is new too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A frame with a correct FCS that passed the filter; its octets are in the caller's buffer.
    Received {
        /// Time at which its SFD ended on the air.
        sfd: Instant,
        /// Octets of the frame, FCS not counted.
        len: u8,
        /// Signal strength in dBm.
        rssi_dbm: i8,
        /// Link quality indication, 0 (worst) to 255.
        lqi: u8,
        /// True if the radio has acknowledged it by itself.
        acked: bool,
    },
    /// The outstanding transmission has ended.
    Transmitted {
        /// Time at which its SFD ended on the air.
        sfd: Instant,
        /// Result of the wait for the acknowledgement.
        ack: Ack,
    },
    /// The outstanding transmission did not happen: the channel was busy (every time, for hardware
    /// CSMA).
    ChannelBusy,
    /// The outstanding transmission did not happen: its scheduled start could not be met.
    Missed,
    /// The outstanding `Strobe` has ended.
    Strobed {
        /// Time at which the SFD of the last frame ended on the air.
        sfd: Instant,
        /// Result of the wait for its acknowledgement.
        ack: Ack,
        /// Number of times that the frame was on the air, at least 1.
        times: u16,
    },
    /// Result of a `Sense`.
    Sensed {
        /// True if the channel was busy, as for a transmission with [`Access::Cca`].
        busy: bool,
    },
}

/// Functions that the hardware does by itself, as a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// None: the MAC does it all.
    pub const NONE: Capabilities = Capabilities(0);
    /// Filters by address and acknowledges frames that request it, 12 symbols after their end.
    pub const AUTO_ACK: Capabilities = Capabilities(1);
    /// Waits for the acknowledgement of a transmitted frame and reports it.
    pub const ACK_WAIT: Capabilities = Capabilities(1 << 1);
    /// Does the whole CSMA-CA for a transmission.
    pub const CSMA: Capabilities = Capabilities(1 << 2);
    /// Honours `Start::At`.
    pub const SCHEDULED: Capabilities = Capabilities(1 << 3);
    /// Keeps the frame-pending bit for each neighbour; otherwise it has one bit for all.
    pub const SOURCE_MATCH: Capabilities = Capabilities(1 << 4);
    /// Secures frames by itself, with the key of [`Command::Secure`]: sent frames as they go on the
    /// air, received frames before they are reported (CCM* of IEEE 802.15.4-2015, 9.3).
    pub const SECURES: Capabilities = Capabilities(1 << 5);
    /// Assesses the channel without sending ([`Command::Sense`]).
    pub const SENSES: Capabilities = Capabilities(1 << 6);
    /// Repeats a frame by itself, and recognises its acknowledgement ([`Command::Strobe`]).
    pub const STROBES: Capabilities = Capabilities(1 << 7);

    /// Returns whether every bit of `other` is set in `self`.
    pub const fn contains(self, other: Capabilities) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Capabilities {
    type Output = Capabilities;
    fn bitor(self, rhs: Capabilities) -> Capabilities {
        Capabilities(self.0 | rhs.0)
    }
}

/// Address filter of a radio with [`Capabilities::AUTO_ACK`] (IEEE 802.15.4-2015, 6.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Own PAN.
    pub pan_id: u16,
    /// Own short address; 0xFFFE and 0xFFFF mean none.
    pub short: u16,
    /// Own extended address, most significant octet first.
    pub extended: [u8; 8],
}

/// A transmission is outstanding already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// A radio. Third parties implement this trait; see the rules at the top of the crate.
pub trait Driver {
    /// Returns the functions of the hardware; constant over the driver's life.
    fn capabilities(&self) -> Capabilities;

    /// Sets the address filter; a radio without [`Capabilities::AUTO_ACK`] may ignore it.
    fn set_filter(&mut self, filter: Filter);

    /// Starts `command`. `frame` holds the frame of a `Transmit` (1 to [`MAX_FRAME`] octets) and is
    /// empty otherwise; it need not outlive the call.
    ///
    /// # Errors
    /// [`Busy`] if a transmission is outstanding and `command` is another one; nothing changes.
    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy>;

    /// Returns whether [`Driver::prepare`] has an effect.
    fn can_prepare(&self) -> bool {
        false
    }

    /// Notes the `Transmit` that is likely to follow the outstanding one. A driver at the end of a
    /// slow line can load the frame meanwhile; it sends it only when that command is submitted,
    /// which may be another one or never.
    fn prepare(&mut self, _now: Instant, _command: Command, _frame: &[u8]) {}

    /// Returns the next event, oldest first; a received frame is written to the start of `frame`.
    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event>;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_is_4256_us_on_the_air_and_an_ack_352() {
        assert_eq!(air_time(MAX_PSDU).as_micros(), 4_256);
        assert_eq!(air_time(ACK_PSDU).as_micros(), 352);
    }

    #[test]
    fn two_assessments_in_a_row_notice_a_strobe_whenever_they_begin() {
        // Times in microseconds from the beginning of a silence of the strobe.
        let [cca, gap, apart] = [CCA, STROBE_GAP, SENSES_APART].map(Duration::as_micros);
        let on_air = STROBE_LEAST.as_micros();
        let hears = |begin: u64| {
            let within = begin % (gap + on_air);
            within >= gap && within + cca <= gap + on_air
        };
        for begin in 0..gap + on_air {
            assert!(hears(begin) || hears(begin + cca + apart), "{begin}");
        }
    }

    #[test]
    fn spacing_is_long_from_19_octets_on() {
        let spacing = [5, 18, 19, 127].map(|psdu_len| spacing_after(psdu_len).as_micros());
        assert_eq!(spacing, [192, 192, 640, 640]);
    }

    #[test]
    fn the_time_limit_is_that_of_the_longest_course_of_a_transmission() {
        // Reception 4256 + 192 + 352 + 192, then 192 + 4256 + 864, and the driver's second.
        assert_eq!(time_limit(Access::Immediate).as_micros(), 4_992 + 5_312 + 1_000_000);
        assert_eq!(time_limit(Access::Cca).as_micros(), 128 + 1_010_304);
        // The longest backoff five times, and an assessment after each.
        let csma = time_limit(Access::Csma(CsmaParams::default()));
        assert_eq!(csma.as_micros(), 5 * (31 * 320 + 128) + 1_010_304);
        let longest = CsmaParams { min_be: 255, max_be: 255, max_backoffs: 255 };
        assert!(time_limit(Access::Csma(longest)) < Duration::from_secs(23), "it ends");
    }

    #[test]
    fn channels_outside_of_the_band_do_not_exist() {
        assert!(Channel::new(10).is_none() && Channel::new(27).is_none());
        assert_eq!(Channel::new(11).map(Channel::number), Some(11));
    }

    #[test]
    fn a_key_is_not_shown() {
        let key = LinkKey { key: Key([7; 16]), index: 1, eui64_prefix: [0; 6] };
        assert!(std::format!("{:?}", Command::Secure(key)).contains("key: Key(..),"));
    }

    #[test]
    fn capability_sets_contain_their_parts() {
        let both = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT;
        assert!(both.contains(Capabilities::AUTO_ACK) && both.contains(Capabilities::NONE));
        assert!(!both.contains(Capabilities::CSMA));
    }
}
