//! Random numbers of a board without a source of entropy.

use embedded_tls::CryptoRng;
use rand_core::{Error, RngCore};

/// Predictable numbers. A product uses its chip's, without which TLS protects nothing.
pub struct Numbers(u32);

impl Numbers {
    /// Returns the sequence that begins with `seed`, which is not 0.
    pub const fn new(seed: u32) -> Self {
        Numbers(seed)
    }
}

impl RngCore for Numbers {
    /// Marsaglia's xorshift with 13, 17, 5 (Journal of Statistical Software 8(14), 2003).
    fn next_u32(&mut self) -> u32 {
        let mut number = self.0;
        number ^= number << 13;
        number ^= number >> 17;
        number ^= number << 5;
        self.0 = number;
        number
    }

    fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) << 32 | u64::from(self.next_u32())
    }

    fn fill_bytes(&mut self, octets: &mut [u8]) {
        octets.iter_mut().for_each(|octet| *octet = self.next_u32() as u8);
    }

    fn try_fill_bytes(&mut self, octets: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(octets);
        Ok(())
    }
}

impl CryptoRng for Numbers {}
