//! The interface of a modelled chip to a bench, or to a medium outside.

use crate::air::{Air, Sent};
use kinglet_drivers::Fault;

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
    /// Listens for frames.
    Listening {
        /// Start of listening in microseconds.
        from: u64,
    },
    /// Receives a frame, whose SFD has been found.
    Receiving,
    /// Assesses the channel.
    Assessing {
        /// Start of the assessment in microseconds.
        from: u64,
    },
    /// Has a frame on the air.
    Sending {
        /// Start of its preamble in microseconds.
        from: u64,
        /// The frame, with FCS.
        psdu: Vec<u8>,
        /// Its output power in dBm.
        power_dbm: i8,
    },
}

impl Antenna {
    pub(crate) fn sends(sent: &Sent) -> Antenna {
        let Sent { preamble_at: from, psdu, power_dbm, .. } = sent.clone();
        Antenna::Sending { from, psdu, power_dbm }
    }
}

/// A chip with its air.
pub(crate) trait Model {
    /// Returns the time in microseconds.
    fn now(&self) -> u64;

    fn air(&mut self) -> &mut Air;

    /// Lets time pass until `until`, or until the chip interrupts, and returns the time of that.
    fn advance_to_interrupt(&mut self, until: u64) -> Option<u64>;

    /// Returns whether the chip draws its lowest current.
    fn is_asleep(&self) -> bool;

    /// Causes a fault, and returns whether the chip can have it.
    fn cause(&mut self, fault: Fault) -> bool;

    /// Returns the first misuse since the last call.
    fn misuse(&mut self) -> Option<&'static str>;
}

/// A chip whose antenna a medium outside can follow.
pub(crate) trait Aerial: Model {
    /// Returns the time of the next change inside the chip.
    fn next_change(&self) -> Option<u64>;

    /// Returns what the chip does with its antenna, and the number of its channel.
    fn antenna(&self) -> (Antenna, u8);
}
