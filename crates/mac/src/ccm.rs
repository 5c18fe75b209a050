//! CCM*, IEEE 802.15.4-2015 Annex B (RFC 3610 with two octets of length), over AES-128.
//!
//! The crate `ccm` does the same and is what the tests compare with. Here is our own because that
//! one can panic, and because AES in software without tables ciphers two blocks in the time of
//! one: the chain of the MIC and the key stream share it.

use aes::cipher::{BlockEncrypt, KeyInit};
use aes::{Aes128Enc, Block};

/// Octets of a nonce.
pub(crate) const NONCE: usize = 13;
/// L - 1, where L is the octets of the length field and of the block counter.
const LENGTH_FIELD: u8 = 1;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Seal,
    Open,
}

/// A key, expanded.
pub(crate) struct Ccm {
    aes: Aes128Enc,
    /// How often the cipher has run, wrapping.
    runs: u32,
}

impl Ccm {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        Ccm { aes: Aes128Enc::new(key.into()), runs: 0 }
    }

    /// How often the cipher has run, wrapping.
    pub(crate) const fn runs(&self) -> u32 {
        self.runs
    }

    /// Runs the cipher, on one block or on two in the same time.
    fn cipher(&mut self, blocks: &mut [Block]) {
        self.runs = self.runs.wrapping_add(1);
        self.aes.encrypt_blocks(blocks);
    }

    /// Encrypts or decrypts `message` where it is, and gives the first `M` octets of the code that
    /// authenticates `open` (at most 255 octets) and the message: M is 4, 8 or 16.
    pub(crate) fn run<const M: usize>(
        &mut self,
        direction: Direction,
        nonce: &[u8; NONCE],
        open: &[u8],
        message: &mut [u8],
    ) -> [u8; M] {
        let mut chain = self.authenticate::<M>(nonce, open, message.len());
        let mut counter = 0u16;
        for chunk in message.chunks_mut(16) {
            counter = counter.wrapping_add(1);
            let mut blocks = [chain, counter_block(nonce, counter)];
            self.cipher(&mut blocks);
            let stream;
            [chain, stream] = blocks;
            if direction == Direction::Seal {
                xor(&mut chain, chunk.iter().copied());
            }
            chunk.iter_mut().zip(stream).for_each(|(octet, key)| *octet ^= key);
            if direction == Direction::Open {
                xor(&mut chain, chunk.iter().copied());
            }
        }
        let mut blocks = [chain, counter_block(nonce, 0)];
        self.cipher(&mut blocks);
        let [chain, stream] = blocks;
        let mut mic = [0; M];
        mic.iter_mut().zip(chain.iter().zip(stream)).for_each(|(to, (code, key))| *to = code ^ key);
        mic
    }

    /// The CBC-MAC of what is not encrypted, before its last block is ciphered.
    fn authenticate<const M: usize>(
        &mut self,
        nonce: &[u8; NONCE],
        open: &[u8],
        message_len: usize,
    ) -> Block {
        let size = u8::try_from(M).unwrap_or(16).saturating_sub(2) / 2;
        let has_open = if open.is_empty() { 0 } else { 0x40 };
        let len = u16::try_from(message_len).unwrap_or(u16::MAX);
        let mut chain = block(has_open | size << 3 | LENGTH_FIELD, nonce, len);
        if open.is_empty() {
            return chain;
        }
        let [high, low] = u16::try_from(open.len()).unwrap_or(u16::MAX).to_be_bytes();
        let mut octets = [high, low].into_iter().chain(open.iter().copied()).peekable();
        // Sixteen octets or the rest at each turn.
        while octets.peek().is_some() {
            self.cipher(core::slice::from_mut(&mut chain));
            xor(&mut chain, octets.by_ref());
        }
        chain
    }
}

/// Changes the block by up to 16 of the octets, and takes no more of them than that.
fn xor(block: &mut Block, octets: impl Iterator<Item = u8>) {
    block.iter_mut().zip(octets).for_each(|(to, octet)| *to ^= octet);
}

/// A_i of Annex B.4.1.
fn counter_block(nonce: &[u8; NONCE], counter: u16) -> Block {
    block(LENGTH_FIELD, nonce, counter)
}

/// Flags, nonce and two octets.
fn block(flags: u8, nonce: &[u8; NONCE], last: u16) -> Block {
    let mut block = Block::default();
    let octets = [flags].into_iter().chain(*nonce).chain(last.to_be_bytes());
    xor(&mut block, octets);
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccm::aead::AeadInPlace;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn the_crate_ccm_computes_the_same(
            key: [u8; 16], nonce: [u8; NONCE],
            open in prop::collection::vec(any::<u8>(), 0..60),
            message in prop::collection::vec(any::<u8>(), 0..110),
        ) {
            let mut ours = Ccm::new(&key);
            let mut sealed = message.clone();
            let mic: [u8; 4] = ours.run(Direction::Seal, &nonce, &open, &mut sealed);
            type Theirs = ::ccm::Ccm<aes::Aes128, ::ccm::consts::U4, ::ccm::consts::U13>;
            let theirs = Theirs::new(&key.into());
            let mut expected: Vec<u8> = message.clone();
            let tag = theirs.encrypt_in_place_detached(&nonce.into(), &open, &mut expected);
            prop_assert_eq!(&sealed, &expected);
            prop_assert_eq!(&mic[..], &tag.unwrap()[..]);
            let again: [u8; 4] = ours.run(Direction::Open, &nonce, &open, &mut sealed);
            prop_assert_eq!((sealed, again), (message, mic));
        }
    }
}
