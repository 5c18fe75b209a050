//! Access to registers and to the buffers of EasyDMA: the part that a model replaces.

/// A buffer in RAM that the radio reads or writes by itself: PHR and PSDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// The frame to send, 128 octets.
    Outgoing,
    /// An acknowledgement to send, six octets.
    Acknowledgement,
    /// A received frame, 128 octets.
    First,
    /// Another received frame, 128 octets.
    Second,
}

/// Registers and buffers of the chip.
pub trait Hardware {
    /// Reads a register.
    fn read(&mut self, address: u32) -> u32;

    /// Writes a register.
    fn write(&mut self, address: u32, value: u32);

    /// Returns the address of a buffer in RAM.
    fn address(&self, buffer: Buffer) -> u32;

    /// Writes the length of a PSDU and its first octets.
    fn load(&mut self, buffer: Buffer, psdu_len: u8, octets: &[u8]);

    /// Reads the length of the PSDU.
    fn psdu_len(&mut self, buffer: Buffer) -> u8;

    /// Reads the PSDU from its octet `from` on.
    fn unload(&mut self, buffer: Buffer, from: usize, octets: &mut [u8]);
}
