//! Radio chips with their drivers in place of the simulator's radio.
//!
//! The simulator has the medium and the time, and the chip has everything between the commands of
//! the MAC and its antenna. The medium decides which frames the receiver finds, whether they arrive
//! whole, and which channels are busy; the chip decides when it listens, assesses and sends.

use kinglet_radio::{Busy, Channel, Command, Event, Filter, MAX_FRAME};
use kinglet_time::Instant;

/// Use that a chip makes of its antenna.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Antenna {
    /// Nothing, at the lowest current.
    Off,
    /// Nothing; the oscillator starts or runs.
    Idle,
    /// The receiver or the transmitter starts or stops, or waits for its time.
    Ramp {
        /// A frame begins at the end.
        sends: bool,
    },
    /// Listens for frames on this channel.
    Listening(Channel),
    /// Receives a frame, whose SFD has been found.
    Receiving,
    /// Assesses this channel.
    Assessing {
        /// The channel.
        channel: Channel,
        /// Start of the assessment.
        from: Instant,
    },
    /// Has a frame on the air.
    Sending {
        /// The channel.
        channel: Channel,
        /// Output power in dBm.
        power_dbm: i8,
        /// The frame without FCS, 1 to [`MAX_FRAME`] octets.
        frame: Vec<u8>,
    },
}

/// A frame that the receiver of a chip follows.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// Start of its preamble.
    pub begin: Instant,
    /// Its channel.
    pub channel: Channel,
    /// Its octets without FCS.
    pub frame: &'a [u8],
    /// Its strength in dBm.
    pub rssi_dbm: i8,
}

/// A chip with its driver. All times are true time.
pub trait Chip {
    /// Sets the addresses that the driver filters by.
    fn set_filter(&mut self, filter: Filter);

    /// Passes a command to the driver, after [`Chip::advance`] to `now`.
    ///
    /// # Errors
    /// The driver has another transmission.
    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy>;

    /// Returns the time of the next call of [`Chip::advance`]; the past if an event waits.
    fn next_at(&self) -> Option<Instant>;

    /// Lets chip and driver work until `now`.
    fn advance(&mut self, now: Instant);

    /// Returns the next event of the driver; the octets of a received frame are in `frame`.
    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event>;

    /// Returns what the chip does with its antenna.
    fn antenna(&self) -> Antenna;

    /// Reports a frame that the receiver follows from now on.
    fn hear(&mut self, heard: Heard<'_>);

    /// Reports that the frame that began at `begin` is lost: the receiver does not find its SFD, or
    /// finds a wrong FCS.
    fn lose(&mut self, begin: Instant);

    /// Reports the state of the channel over the assessment that ends now.
    fn assess(&mut self, busy: bool);
}

/// Makes the chip of a node; its properties that differ between parts follow from the seed.
pub type MakeChip = fn(u32) -> Box<dyn Chip>;

/// A chip, and what the medium has reported to it.
pub(crate) struct Socket {
    pub(crate) chip: Box<dyn Chip>,
    /// Sender and start of the frame that the chip follows.
    pub(crate) heard: Option<(u32, u64)>,
    /// Time of the last call, and number of calls at that time.
    pub(crate) called: (u64, u32),
}

impl Socket {
    pub(crate) fn new(mut chip: Box<dyn Chip>, filter: Filter) -> Socket {
        chip.set_filter(filter);
        Socket { chip, heard: None, called: (0, 0) }
    }
}
