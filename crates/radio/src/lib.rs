//! The radio driver contract of Kinglet.
//!
//! There is no `send` and no `receive`: between such calls sits a CPU, and interframe spacing,
//! acknowledgements and sampled listening cannot wait for it. Instead the MAC submits [`Command`]s
//! whose start is either "as soon as possible" or the instant at which the start-of-frame delimiter
//! (SFD) ends on the air, with one command of look-ahead, and the driver reports timestamped
//! [`Event`]s. What the hardware does by itself is declared in [`Capabilities`]; the MAC does the
//! rest in software.
//!
//! # Rules for drivers
//!
//! * `Receive`, `Await` and `Off` are *modes*: they hold until replaced. `Transmit` interrupts the
//!   mode, ends with exactly one [`Event::Transmitted`], [`Event::ChannelBusy`] or
//!   [`Event::Missed`], and the radio then returns by itself to the mode that held before (or that
//!   was submitted meanwhile). From `Off` it wakes for the transmission, and for the
//!   acknowledgement if it waits for one, and goes back to sleep.
//! * `Pending` is neither: it changes what acknowledgements say, at once and until changed again.
//! * A frame in these interfaces is the PSDU without its two FCS octets: the radio appends and
//!   checks the FCS, and frames with a wrong FCS are not reported.
//! * While a frame that passes the [`Filter`] is being received, a `Transmit` with `Start::Asap`
//!   and a change of mode wait until reception (and its acknowledgement, if the radio sends it)
//!   has ended.
//! * The MAC keeps the interframe spacing ([`spacing_after`]) between what it sends, or says in a
//!   `Strobe` which it is. After an
//!   acknowledgement that the radio has sent by itself a `Transmit` that waited for it puts nothing
//!   on the air for another [`SIFS`].
//! * A radio with [`Capabilities::SECURES`] that has been given a key completes each frame of a
//!   `Transmit` whose Security Enabled bit is set: it encrypts the private payload and writes the
//!   message integrity code over the octets at the end that the frame has for it, as the auxiliary
//!   security header says, whose frame counter the MAC has filled in. Of received frames with that
//!   bit it reports those whose code is right, with the private payload in the clear and the octets
//!   of the code in their place, whatever they are then. It knows nothing of replays. Immediate
//!   acknowledgements are not secured, and are sent and taken whatever becomes of the frame.
//! * `Sense` interrupts the mode as a `Transmit` does: from `Off` the radio wakes, assesses the
//!   channel for eight symbols, as often as it is told, [`SENSES_APART`] apart, and goes back to
//!   sleep; between two assessments it may sleep too. A radio that listens on that channel goes on
//!   listening, whatever it is receiving: it tells what the last eight symbols were. `Sense` ends
//!   with exactly one [`Event::Sensed`], at the first assessment that finds the channel busy,
//!   within [`time_limit`] of [`Access::Cca`] and 20 ms, and until then counts as the outstanding
//!   `Transmit`.
//! * `Strobe` is a `Transmit` whose frame goes out again and again, each time [`STROBE_GAP`] after
//!   its end at the latest, without being loaded or the channel being assessed again, until its
//!   acknowledgement has come or the next one would begin too long after the first. What begins in
//!   the gap and is no acknowledgement is waited for as long as one could take. It ends with
//!   exactly one [`Event::Strobed`], [`Event::ChannelBusy`] or [`Event::Missed`]. One behind
//!   another waits by itself until the spacing is over that it names, so that its frame is made and
//!   loaded in that time.
//! * At most one `Transmit` is outstanding. A second one is refused with [`Busy`], and nothing
//!   changes.
//! * The event that ends a `Transmit` can be polled within [`time_limit`] of its submission, or of
//!   the instant that it was submitted for. Later the MAC takes the event for lost and submits
//!   `Reset`. From then on nothing is reported of what was submitted before: events name no
//!   transmission, so a late one would be taken for that of the next.
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
/// The longest silence between two repetitions of a [`Command::Strobe`]: until an acknowledgement
/// would have been noticed by its SFD, a symbol to decide, and a turnaround.
pub const STROBE_GAP: Duration =
    Duration::from_micros(ACK_NOTICED.as_micros() + SYMBOL.as_micros() + TURNAROUND.as_micros());
/// From the end of a frame to the end of the SFD of its acknowledgement.
pub const ACK_NOTICED: Duration =
    Duration::from_micros(TURNAROUND.as_micros() + 5 * OCTET.as_micros());
/// After an acknowledgement, until a repetition of what it is for would have been noticed.
pub const LINGER: Duration =
    Duration::from_micros(STROBE_GAP.as_micros() + 5 * OCTET.as_micros() + 2 * SYMBOL.as_micros());
/// From the end of one assessment of a [`Command::Sense`] to the start of the next: one symbol
/// more than [`STROBE_GAP`], so that not both fall into the same silence of a strobe.
pub const SENSES_APART: Duration =
    Duration::from_micros(STROBE_GAP.as_micros() + SYMBOL.as_micros());
/// A frame that is on the air for so long is noticed by one of two assessments in a row whenever
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

/// Interframe spacing (IEEE 802.15.4-2015, 6.2.4): how long after a frame with a PSDU of `psdu_len`
/// octets, or after its acknowledgement if it has one, its sender's next frame follows at the
/// earliest.
pub const fn spacing_after(psdu_len: usize) -> Duration {
    if psdu_len <= MAX_SIFS_PSDU { SIFS } else { LIFS }
}

/// Time on the air of a PSDU of `psdu_len` octets (FCS included), from preamble to last symbol.
pub const fn air_time(psdu_len: usize) -> Duration {
    Duration::from_micros(SHR_PHR.as_micros() + OCTET.as_micros() * psdu_len as u64)
}

/// What a driver may take beside what the standard gives a transmission: to load the frame over a
/// slow line, to wake the radio, and until the CPU comes to the event behind whatever else it has
/// to do. No standard bounds that. An event that is lost costs as much, and is rare: a second is
/// hundreds of full frames of CPU time, and TCP waits as long for its first acknowledgement
/// (RFC 6298, 2.1).
const DRIVER_TIME: Duration = Duration::from_secs(1);

/// How long a `Transmit` with this access takes at the most, from its submission or, with
/// [`Start::At`], from that instant to its event. In order of time (sections of
/// IEEE 802.15.4-2015):
///
/// * the longest frame that is being received then (11.2), its acknowledgement and the spacing
///   after that (6.2.4);
/// * CSMA-CA if the radio does it, each time with the longest backoff, that of macMaxBe (6.2.5.1),
///   or one assessment;
/// * the turnaround and the longest frame;
/// * macAckWaitDuration (8.4.3), as if each frame asked for an acknowledgement;
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
    // No exponent is greater than 8 (Table 8-94). At most 256 backoffs of 82 ms: 32 bits hold that,
    // which a small core multiplies at once.
    let units = (1 << if max_be < 8 { max_be } else { 8 }) - 1;
    let each = units * UNIT_BACKOFF.as_micros() as u32 + CCA.as_micros() as u32;
    Duration::from_micros((each * (max_backoffs as u32 + 1)) as u64)
}

/// A 2.4 GHz channel, 11 to 26.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel(u8);

impl Channel {
    /// The channel with this number, or `None` outside of 11..=26.
    pub const fn new(number: u8) -> Option<Self> {
        if number >= 11 && number <= 26 { Some(Channel(number)) } else { None }
    }

    /// The channel number, 11 to 26.
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

/// When a command takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As soon as the hardware can.
    Asap,
    /// So that the SFD ends at this instant (transmit), or listening starts at it (receive).
    At(Instant),
}

/// Channel access before a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// None: acknowledgements and strobes.
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
    /// macMaxCsmaBackoffs, 0 to 5: how many busy assessments after the first are tolerated;
    /// default 4.
    pub max_backoffs: u8,
}

impl Default for CsmaParams {
    fn default() -> Self {
        CsmaParams { min_be: 3, max_be: 5, max_backoffs: 4 }
    }
}

/// An AES-128 key. It is not shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// What a radio that secures frames by itself has to know beside what is in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkKey {
    /// The key of all devices of the PAN.
    pub key: Key,
    /// The key index (key identifier mode 1) of the frames that it is for.
    pub index: u8,
    /// The first six octets of the EUI-64 that a device with a short address has for the nonce;
    /// the short address is the last two. Frames with an extended source address use that.
    pub eui64_prefix: [u8; 6],
}

/// Whose frames [`Command::Await`] is for: those with such a source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Any.
    Anybodys,
    /// This short address.
    Only(u16),
    /// Any but this short address.
    AllBut(u16),
}

impl Whose {
    /// Whether frames are awaited whose source is this short address, or `None` if it is none.
    pub fn takes(self, short: Option<u16>) -> bool {
        match self {
            Whose::Anybodys => true,
            Whose::Only(only) => short == Some(only),
            Whose::AllBut(but) => short != Some(but),
        }
    }
}

/// What the MAC asks of the radio. More commands may be added; each will belong to a capability
/// that announces it, so that a driver can ignore those that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Lowest power; hears nothing.
    Off,
    /// Listen on `channel` from `start`, until `until` or until replaced.
    Receive {
        /// When listening starts.
        start: Start,
        /// When it ends by itself (the mode then becomes `Off`); `None` = until replaced.
        until: Option<Instant>,
        /// Where to listen.
        channel: Channel,
    },
    /// The same until `until`, or until a frame has come that passes the filter, and its
    /// acknowledgement has gone if the radio sends it: the mode becomes `Off` then, before anybody
    /// has seen the frame. If that was acknowledged and its frame-pending bit is zero, the radio
    /// listens for [`LINGER`] first: the acknowledgement may be lost, and the frame repeated. In a
    /// radio with [`Capabilities::STROBES`].
    Await {
        /// When listening starts.
        start: Start,
        /// When it ends at the latest.
        until: Instant,
        /// Where to listen.
        channel: Channel,
        /// Frames of others are as if the filter did not take them: nobody acknowledges or sees
        /// them. A part that acknowledges all that its own filter takes has to be told frame by
        /// frame (CC2420: the strobes SACK and SFLUSHRX).
        whose: Whose,
    },
    /// Send the frame that is passed along, once.
    Transmit {
        /// When the SFD ends on the air.
        start: Start,
        /// How the channel is won.
        access: Access,
        /// Where to send.
        channel: Channel,
        /// Output power in dBm; the driver rounds to its nearest step.
        power_dbm: i8,
        /// Whether the radio waits for an acknowledgement afterwards
        /// (needs [`Capabilities::ACK_WAIT`]; otherwise the MAC times it in software).
        ack: bool,
    },
    /// Whether acknowledgements of data requests (MAC command 4) say that a frame is pending, in a
    /// radio with [`Capabilities::AUTO_ACK`]; initially none do. Acknowledgements of other frames
    /// never say so.
    Pending {
        /// Of data requests from this short address, with [`Capabilities::SOURCE_MATCH`]; from
        /// anybody without.
        short: u16,
        /// Whether a frame is pending.
        pending: bool,
    },
    /// Assess the channel, beginning as soon as possible, and send nothing; in a radio with
    /// [`Capabilities::SENSES`].
    Sense {
        /// Which one.
        channel: Channel,
        /// How often, 1 to 8, if none finds it busy.
        times: u8,
    },
    /// Send the frame that is passed along again and again; in a radio with
    /// [`Capabilities::STROBES`].
    Strobe {
        /// When its SFD ends for the first time.
        start: Start,
        /// Assessments of the channel before, as in `Sense`, 0 to 8: busy ends the command with
        /// [`Event::ChannelBusy`].
        senses: u8,
        /// Where to send.
        channel: Channel,
        /// Output power in dBm, as in `Transmit`.
        power_dbm: i8,
        /// Whether an acknowledgement ends it.
        ack: bool,
        /// How long after its first preamble the last one may begin.
        lasting: Duration,
        /// How long after the end of a `Strobe` before it, acknowledgement included, its first
        /// preamble begins at the earliest.
        spacing: Duration,
    },
    /// Secure and open frames with this key from now on; in a radio with
    /// [`Capabilities::SECURES`].
    Secure(LinkKey),
    /// Begin anew, now: a transmission is given up, no frame is pending for anybody and the mode is
    /// `Off`, as at the start. The filter and the key of `Secure` stay.
    Reset,
}

/// What became of the acknowledgement of a transmitted frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// The radio was not asked to wait for one.
    NotAwaited,
    /// It came.
    Received {
        /// The frame-pending bit of the acknowledgement: after a data request, that a frame will
        /// come.
        frame_pending: bool,
    },
    /// It did not come within macAckWaitDuration.
    Missing,
}

/// What the radio reports. More events may be added; each will answer a command that is new too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A frame with a right FCS that passed the filter; its octets are in the caller's buffer.
    Received {
        /// When its SFD ended on the air.
        sfd: Instant,
        /// Octets of the frame, FCS not counted.
        len: u8,
        /// Signal strength in dBm.
        rssi_dbm: i8,
        /// Link quality indication, 0 (worst) to 255.
        lqi: u8,
        /// Whether the radio has acknowledged it by itself.
        acked: bool,
    },
    /// The outstanding transmission is over.
    Transmitted {
        /// When its SFD ended on the air.
        sfd: Instant,
        /// What became of the acknowledgement.
        ack: Ack,
    },
    /// The outstanding transmission did not happen: the channel was busy (every time, for hardware
    /// CSMA).
    ChannelBusy,
    /// The outstanding transmission did not happen: its scheduled start could not be met.
    Missed,
    /// The outstanding `Strobe` is over.
    Strobed {
        /// When the SFD of the last frame ended on the air.
        sfd: Instant,
        /// What became of its acknowledgement.
        ack: Ack,
        /// How often the frame was on the air, at least once.
        times: u16,
    },
    /// What a `Sense` has found.
    Sensed {
        /// Whether the channel was busy, as for a transmission with [`Access::Cca`].
        busy: bool,
    },
}

/// What the hardware does by itself, as a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// Nothing: the MAC does it all.
    pub const NONE: Capabilities = Capabilities(0);
    /// Filters by address and acknowledges frames that ask for it, 12 symbols after their end.
    pub const AUTO_ACK: Capabilities = Capabilities(1);
    /// Waits for the acknowledgement of a transmitted frame and reports it.
    pub const ACK_WAIT: Capabilities = Capabilities(1 << 1);
    /// Does the whole CSMA-CA for a transmission.
    pub const CSMA: Capabilities = Capabilities(1 << 2);
    /// Can meet `Start::At`.
    pub const SCHEDULED: Capabilities = Capabilities(1 << 3);
    /// Knows for which neighbours a frame is pending; otherwise it has one bit for all.
    pub const SOURCE_MATCH: Capabilities = Capabilities(1 << 4);
    /// Secures frames by itself, with the key of [`Command::Secure`]: what is to be sent as it goes
    /// on the air, what has come before it is reported (CCM* of IEEE 802.15.4-2015, 9.3).
    pub const SECURES: Capabilities = Capabilities(1 << 5);
    /// Assesses the channel without sending ([`Command::Sense`]).
    pub const SENSES: Capabilities = Capabilities(1 << 6);
    /// Repeats a frame by itself, and knows its acknowledgement ([`Command::Strobe`]).
    pub const STROBES: Capabilities = Capabilities(1 << 7);

    /// Whether every bit of `other` is set in `self`.
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

/// Which frames a radio with [`Capabilities::AUTO_ACK`] takes (IEEE 802.15.4-2015, 6.7.2).
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

/// A radio. Strangers implement this; see the rules at the top of the crate.
pub trait Driver {
    /// What the hardware does by itself; constant over the driver's life.
    fn capabilities(&self) -> Capabilities;

    /// Sets the address filter; a radio without [`Capabilities::AUTO_ACK`] may ignore it.
    fn set_filter(&mut self, filter: Filter);

    /// Starts `command`. `frame` holds the frame of a `Transmit` (1 to [`MAX_FRAME`] octets) and is
    /// empty otherwise; it need not outlive the call.
    ///
    /// # Errors
    /// [`Busy`] if a transmission is outstanding and `command` is another one; nothing changes.
    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy>;

    /// The next event, oldest first; a received frame is written to the start of `frame`.
    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event>;
}

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
