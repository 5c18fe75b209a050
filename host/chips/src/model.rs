//! What a bench needs of a modelled chip.

use crate::air::Air;
use kinglet_drivers::Fault;

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
