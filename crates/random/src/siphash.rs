//! SipHash-2-4 (Aumasson and Bernstein 2012), the keyed hash that RFC 9293 §3.4.1 asks for: without
//! the key, no further hash can be computed from known ones.
//!
//! This implementation is for size: a segment with SYN costs a few hashes and all others cost none,
//! and a hash that is fast on large machines unrolls into two kilobytes on a small one.

use core::hash::Hasher;

/// The state of a hash, octets of an unfinished word included.
pub struct SipHash24 {
    v: [u64; 4],
    /// Octets since the last whole word; once there are eight, the first is in the least
    /// significant octet.
    word: u64,
    /// Number of octets, modulo 256.
    len: u8,
}

impl SipHash24 {
    /// Starts a hash; the key of 16 octets is a secret.
    pub fn new(key: &[u8; 16]) -> Self {
        let key = u128::from_le_bytes(*key);
        let (k0, k1) = (key as u64, (key >> 64) as u64);
        let v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        SipHash24 { v, word: 0, len: 0 }
    }

    /// Performs `count` rounds, as a loop of half rounds that differ only in their shift distances.
    #[inline(never)]
    fn rounds(&mut self, count: u8) {
        let [mut a, mut b, mut c, mut d] = self.v;
        for _ in 0..count {
            for (right, left) in [(13, 16), (17, 21)] {
                a = a.wrapping_add(b);
                c = c.wrapping_add(d);
                b = b.rotate_left(right) ^ a;
                d = d.rotate_left(left) ^ c;
                a = a.rotate_left(32);
                (a, c) = (c, a);
            }
        }
        self.v = [a, b, c, d];
    }

    fn take(&mut self, word: u64) {
        self.v[3] ^= word;
        self.rounds(2);
        self.v[0] ^= word;
    }
}

impl Hasher for SipHash24 {
    fn write(&mut self, octets: &[u8]) {
        for octet in octets {
            self.word = self.word >> 8 | u64::from(*octet) << 56;
            self.len = self.len.wrapping_add(1);
            if self.len.is_multiple_of(8) {
                self.take(self.word);
            }
        }
    }

    fn finish(&self) -> u64 {
        let SipHash24 { v, word, len } = *self;
        // Pads with zeros, and the length in the most significant octet.
        let mut last = SipHash24 { v, word, len };
        loop {
            let fill = if last.len % 8 == 7 { len } else { 0 };
            last.write(&[fill]);
            if last.len.is_multiple_of(8) {
                break;
            }
        }
        last.v[2] ^= 0xff;
        last.rounds(4);
        last.v.iter().fold(0, |sum, word| sum ^ word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hash(key: &[u8; 16], octets: &[u8]) -> u64 {
        let mut hasher = SipHash24::new(key);
        hasher.write(octets);
        hasher.finish()
    }

    /// Appendix A of the paper.
    #[test]
    fn the_example_of_the_paper_comes_out() {
        let octets: [u8; 16] = core::array::from_fn(|i| i as u8);
        assert_eq!(hash(&octets, &octets[..15]), 0xa129_ca61_49be_45e5);
    }

    proptest! {
        #[test]
        fn it_agrees_with_another_implementation(
            key: [u8; 16],
            octets in proptest::collection::vec(any::<u8>(), 0..300),
            cut in 0..300_usize,
        ) {
            let mut theirs = siphasher::sip::SipHasher24::new_with_key(&key);
            theirs.write(&octets);
            prop_assert_eq!(hash(&key, &octets), theirs.finish());
            let (head, tail) = octets.split_at(cut.min(octets.len()));
            let mut hasher = SipHash24::new(&key);
            hasher.write(head);
            hasher.write(tail);
            prop_assert_eq!(hasher.finish(), theirs.finish());
        }
    }
}
