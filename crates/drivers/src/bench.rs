//! The bench: a radio under test, its other end, and the air between them.

use kinglet_radio::{Channel, Driver, MAX_FRAME, SYMBOL};
use kinglet_time::{Duration, Instant};

/// A frame that the other end puts on the air.
#[derive(Clone, Copy, Debug)]
pub struct Signal<'a> {
    /// End of its SFD.
    pub sfd: Instant,
    /// Its channel.
    pub channel: Channel,
    /// Its octets without FCS, 3 to [`MAX_FRAME`].
    pub frame: &'a [u8],
    /// False for a wrong FCS.
    pub intact: bool,
    /// Its strength at the radio under test, in dBm.
    pub rssi_dbm: i8,
}

/// A frame that the radio under test has put on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// End of its SFD.
    pub sfd: Instant,
    /// Its channel.
    pub channel: Channel,
    /// Its octets without FCS.
    pub len: u8,
    /// Its output power in dBm.
    pub power_dbm: i8,
    /// False if it was cut off, or had a wrong FCS.
    pub whole: bool,
}

/// Acknowledgements of the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Their frame-pending bit.
    pub pending: bool,
    /// Their delay in addition to the turnaround time.
    pub late: Duration,
    /// They are another frame's, by their sequence number.
    pub is_strange: bool,
    /// They have a correct FCS.
    pub intact: bool,
    /// An acknowledgement of another frame begins 40 us after the frame, before them.
    pub is_second: bool,
}

/// Fault of the chip or of the lines to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next interrupt of a finished frame does not reach the CPU.
    LostInterrupt,
    /// The next transfer to or from the chip fails.
    Transfer,
    /// The chip stops in its state until it is reset.
    Stuck,
    /// The supply drops for an instant: the chip has its initial state and configuration.
    PowerLoss,
}

/// A bench: two boards, or a model of a chip.
pub trait Bench {
    /// The driver under test.
    type Radio: Driver;

    /// Returns the time.
    fn now(&self) -> Instant;

    /// Returns the driver under test. Calls of the driver may take time.
    fn radio(&mut self) -> &mut Self::Radio;

    /// Lets time pass until `until`, or until the driver asks for a call of `poll_event`, by an
    /// interrupt or by a deadline of its own. Interrupts are served without delay.
    fn wait(&mut self, until: Instant);

    /// Lets time pass until `until` although the driver asks for a call.
    fn pass(&mut self, until: Instant);

    /// Puts a frame on the air; its preamble begins in the future.
    fn put_on_air(&mut self, signal: Signal<'_>);

    /// Puts energy that is no frame on the air.
    fn disturb(&mut self, channel: Channel, from: Instant, until: Instant, dbm: i8);

    /// Sets if and how the other end acknowledges; initially it does not.
    fn set_answer(&mut self, answer: Option<Answer>);

    /// Returns the next frame of the radio under test that has ended, and writes it to `frame`.
    fn sent(&mut self, frame: &mut [u8; MAX_FRAME]) -> Option<Sent>;

    /// Causes a fault, and returns whether the bench can.
    fn cause(&mut self, fault: Fault) -> bool;

    /// Returns whether the chip draws its lowest current; `None` if the bench cannot know.
    fn is_asleep(&self) -> Option<bool>;

    /// Returns something that the driver did since the last call and that the data sheet of the
    /// chip forbids; `None` if there is nothing, or if the bench cannot know.
    fn misuse(&mut self) -> Option<&'static str>;
}

/// Properties of the radio under test that its driver does not declare.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Its output powers in dBm.
    pub power_steps_dbm: &'static [i8],
    /// Longest time in which a command reaches the radio, and a report its host: none, except for
    /// a radio at the end of a line.
    pub latency: Duration,
    /// Accuracy of the times of SFDs: a symbol, except for a radio without a common clock.
    pub accuracy: Duration,
    /// True if the chip finds the command of a secured frame, which follows the auxiliary security
    /// header. Without that a sleeping neighbour with link security receives nothing from it.
    pub reads_secured: bool,
}

impl Setup {
    /// Returns those of a chip with these output powers, next to its host, that reads secured
    /// frames.
    pub const fn of_chip(power_steps_dbm: &'static [i8]) -> Setup {
        Setup { power_steps_dbm, latency: Duration::ZERO, accuracy: SYMBOL, reads_secured: true }
    }
}
