//! The SPI of the chip (231, 6.2): register, frame buffer and SRAM access.

use super::registers::time;
use super::{Activity, Chip, Shared, State};
use embedded_hal::spi::{Error, ErrorKind, ErrorType, Operation, SpiDevice};
use std::rc::Rc;

/// Microseconds of the select line around an access.
const SELECT_US: u64 = 1;

/// The bus of the chip.
#[derive(Clone)]
pub struct Bus(Shared);

impl Bus {
    /// Returns a bus to this chip.
    pub fn new(chip: &Shared) -> Bus {
        Bus(Rc::clone(chip))
    }
}

/// A transfer failed.
#[derive(Clone, Copy, Debug)]
pub struct Failed;

impl Error for Failed {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

impl ErrorType for Bus {
    type Error = Failed;
}

impl SpiDevice for Bus {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Failed> {
        let mut chip = self.0.borrow_mut();
        let mut sent = Vec::new();
        let mut octets = 0;
        for operation in operations.iter() {
            match operation {
                Operation::Write(written) => {
                    sent.extend_from_slice(written);
                    octets += written.len();
                }
                Operation::Read(room) => octets += room.len(),
                Operation::DelayNs(_) => {}
                other => panic!("the model has no {other:?}"),
            }
        }
        let until = chip.now + octets as u64 * chip.octet_us + SELECT_US;
        chip.advance(until);
        let is_broken = chip.bus_errors > 0;
        if is_broken {
            chip.bus_errors -= 1;
            // The transfer has been carried out, or it has not.
            if chip.random.bits(1) == 0 {
                return Err(Failed);
            }
        }
        let answer = chip.access(&sent, octets.saturating_sub(sent.len()));
        let mut answer = answer.into_iter();
        for operation in operations {
            if let Operation::Read(room) = operation {
                room.fill_with(|| answer.next().unwrap_or_default());
            }
        }
        if is_broken { Err(Failed) } else { Ok(()) }
    }
}

impl Chip {
    /// Executes an access, and returns its response of `wanted` octets.
    fn access(&mut self, sent: &[u8], wanted: usize) -> Vec<u8> {
        let nothing = vec![0; wanted];
        let [first, rest @ ..] = sent else { return nothing };
        if self.state == State::Sleep {
            if self.transition.is_none() {
                self.note_misuse("an access");
            }
            return nothing;
        }
        let is_starting = |(state, at)| state == State::TrxOff && at > self.now + time::STATE;
        if self.reset_from.is_some() || self.transition.is_some_and(is_starting) {
            // The oscillator does not run yet.
            return nothing;
        }
        match (first & 0xc0, first & 0x20) {
            (0x80, _) => vec![self.read_register(first & 0x3f); wanted],
            (0xc0, _) => {
                for value in rest.iter().take(1) {
                    self.write_register(first & 0x3f, *value);
                }
                nothing
            }
            (0x00, 0x20) => self.read_frame(wanted),
            (0x40, 0x20) => {
                self.write_buffer(0, rest);
                nothing
            }
            (0x00, _) => {
                let from = rest.first().map_or(0, |address| usize::from(address & 0x7f));
                self.buffer.iter().skip(from).copied().take(wanted).collect()
            }
            _ => {
                if let [address, octets @ ..] = rest {
                    self.write_buffer(usize::from(address & 0x7f), octets);
                }
                nothing
            }
        }
    }

    /// Reads PHR, PSDU, LQI, ED and RX_STATUS (212B, 14.1.3.2; the sheet of the AT86RF233 agrees
    /// with RIOT, at86rf2xx_netdev.c).
    fn read_frame(&mut self, wanted: usize) -> Vec<u8> {
        let len = usize::from(self.buffer[0] & 0x7f);
        let frame = self.buffer[..=len].iter().chain(&self.tail).copied().take(wanted).collect();
        if core::mem::take(&mut self.is_protected) {
            self.listens_from = self.now;
        }
        frame
    }

    fn write_buffer(&mut self, from: usize, octets: &[u8]) {
        if matches!(self.activity, Activity::Air { .. }) {
            self.note_misuse("a change of the frame on the air");
        }
        for (to, octet) in self.buffer.iter_mut().skip(from).zip(octets) {
            *to = *octet;
        }
    }
}
