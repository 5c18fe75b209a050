//! The chip itself: memory-mapped registers, and buffers that EasyDMA reads and writes.

use crate::hardware::{Buffer, Hardware};
use core::ptr;

/// Octets of a buffer: PHR and PSDU. That of acknowledgements is shorter, and comes last.
const BUFFER: usize = 128;
const SIZE: usize = 3 * BUFFER + 8;
/// Addresses of the peripherals CLOCK to PPI.
const PERIPHERALS: core::ops::Range<u32> = 0x4000_0000..0x4002_0000;

/// Memory of the buffers, in RAM.
pub type Buffers = [u8; SIZE];

/// Registers and buffers of the chip on which this runs.
#[derive(Debug)]
pub struct Mmio {
    buffers: *mut Buffers,
}

// SAFETY: the pointer is the only one to its static, and a move to another thread keeps it so.
unsafe impl Send for Mmio {}

impl Mmio {
    /// Takes the peripherals RADIO and TIMER0, the crystal oscillator and the fixed channels 20,
    /// 21, 26 and 27 of the PPI, and memory for the buffers.
    ///
    /// # Safety
    /// This runs on an nRF52840, nothing else uses these peripherals, and the value is given to
    /// [`Nrf52840::new`](crate::Nrf52840::new): other callers could let the radio write to any
    /// memory.
    pub const unsafe fn new(buffers: &'static mut Buffers) -> Self {
        Mmio { buffers: ptr::from_mut(buffers) }
    }

    /// Returns the address of an octet of a buffer; one beyond the end of all is the last one.
    fn octet(&self, buffer: Buffer, at: usize) -> *mut u8 {
        let first = match buffer {
            Buffer::Outgoing => 0,
            Buffer::First => BUFFER,
            Buffer::Second => 2 * BUFFER,
            Buffer::Acknowledgement => 3 * BUFFER,
        };
        let offset = usize::saturating_add(first, at).min(SIZE - 1);
        // SAFETY: the offset is less than the size of the buffers.
        unsafe { self.buffers.cast::<u8>().add(offset) }
    }
}

impl Hardware for Mmio {
    fn read(&mut self, address: u32) -> u32 {
        if !PERIPHERALS.contains(&address) {
            return 0;
        }
        // SAFETY: the address is that of a register, which the caller of `new` has given away.
        unsafe { ptr::read_volatile(address as usize as *const u32) }
    }

    fn write(&mut self, address: u32, value: u32) {
        if PERIPHERALS.contains(&address) {
            // SAFETY: as above; the driver points the radio at these buffers only.
            unsafe { ptr::write_volatile(address as usize as *mut u32, value) }
        }
    }

    fn address(&self, buffer: Buffer) -> u32 {
        self.octet(buffer, 0) as usize as u32
    }

    fn load(&mut self, buffer: Buffer, psdu_len: u8, octets: &[u8]) {
        for (at, octet) in [psdu_len].iter().chain(octets).take(BUFFER).enumerate() {
            // SAFETY: the octet lies in a buffer. The radio may read it at any time, so the access
            // is volatile.
            unsafe { ptr::write_volatile(self.octet(buffer, at), *octet) }
        }
    }

    fn psdu_len(&mut self, buffer: Buffer) -> u8 {
        // SAFETY: the octet lies in a buffer. The radio has written it, so the access is volatile.
        unsafe { ptr::read_volatile(self.octet(buffer, 0)) & 0x7f }
    }

    fn unload(&mut self, buffer: Buffer, from: usize, octets: &mut [u8]) {
        let first = from.saturating_add(1);
        for (at, octet) in (first..BUFFER).zip(octets) {
            // SAFETY: as above.
            *octet = unsafe { ptr::read_volatile(self.octet(buffer, at)) };
        }
    }
}
