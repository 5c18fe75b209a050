//! Accesses over SPI: registers, frame buffer, SRAM.

use crate::registers::{
    FRAME_READ, FRAME_WRITE, REGISTER_READ, REGISTER_WRITE, RX_CRC_VALID, SRAM_READ, TRX_STATE,
    TRX_STATUS, state,
};
use embedded_hal::spi::{Operation, SpiDevice};
use kinglet_radio::{FCS_LEN, MAX_FRAME};

/// An access over SPI failed, or the chip does not do what its data sheet says. The driver restarts
/// the chip then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault;

/// What the chip stores with a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quality {
    pub(crate) lqi: u8,
    /// Decibels above the lowest signal strength.
    pub(crate) ed_level: u8,
}

/// The bus to a chip.
#[derive(Debug)]
pub(crate) struct Bus<S> {
    pub(crate) spi: S,
}

impl<S: SpiDevice> Bus<S> {
    pub(crate) fn read(&mut self, register: u8) -> Result<u8, Fault> {
        let mut value = [0];
        self.transfer(&[REGISTER_READ | register], &mut value)?;
        let [value] = value;
        Ok(value)
    }

    pub(crate) fn write(&mut self, register: u8, value: u8) -> Result<(), Fault> {
        self.spi.write(&[REGISTER_WRITE | register, value]).map_err(|_| Fault)
    }

    /// Returns the state.
    pub(crate) fn state(&mut self) -> Result<u8, Fault> {
        Ok(self.read(TRX_STATUS)? & state::MASK)
    }

    pub(crate) fn command(&mut self, command: u8) -> Result<(), Fault> {
        self.write(TRX_STATE, command)
    }

    /// Loads a frame; the chip appends its FCS.
    pub(crate) fn load(&mut self, frame: &[u8]) -> Result<(), Fault> {
        let psdu_len = frame.len().saturating_add(FCS_LEN) as u8;
        let head = [FRAME_WRITE, psdu_len];
        let mut operations = [Operation::Write(&head), Operation::Write(frame)];
        self.spi.transaction(&mut operations).map_err(|_| Fault)
    }

    /// Reads the received frame, which ends its protection. Returns its octets without FCS, and
    /// `None` if it was damaged in the buffer.
    pub(crate) fn unload(
        &mut self,
        frame: &mut [u8; MAX_FRAME],
    ) -> Result<Option<(u8, Quality)>, Fault> {
        // An access to the SRAM does not end the protection; one to the frame buffer does, even if
        // it only reads the length.
        let mut phr = [0];
        self.transfer(&[SRAM_READ, 0], &mut phr)?;
        let [phr] = phr;
        let len = (phr & 0x7f).saturating_sub(FCS_LEN as u8);
        let room = frame.get_mut(..len.into()).unwrap_or_default();
        // FCS, LQI, ED level, RX_STATUS.
        let (mut again, mut tail) = ([0], [0; FCS_LEN + 3]);
        let mut operations = [
            Operation::Write(&[FRAME_READ]),
            Operation::Read(&mut again),
            Operation::Read(room),
            Operation::Read(&mut tail),
        ];
        self.spi.transaction(&mut operations).map_err(|_| Fault)?;
        let [_, _, lqi, ed_level, status] = tail;
        let is_right = again == [phr] && len > 0 && status & RX_CRC_VALID != 0;
        Ok(is_right.then_some((len, Quality { lqi, ed_level })))
    }

    fn transfer(&mut self, sent: &[u8], received: &mut [u8]) -> Result<(), Fault> {
        let mut operations = [Operation::Write(sent), Operation::Read(received)];
        self.spi.transaction(&mut operations).map_err(|_| Fault)
    }
}
