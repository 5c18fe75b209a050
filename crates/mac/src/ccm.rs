//! CCM*, IEEE 802.15.4-2015 Annex B (RFC 3610 with two octets of length), over AES-128.
//!
//! The crate `ccm` does the same, and the tests compare with it. This implementation exists because
//! `ccm` can panic, and because AES in software without tables ciphers two blocks in the time of
//! one: the chain of the MIC and the key stream share it. Blocks consist of words, so that a small
//! core adds four octets at a time.

use crate::cipher::{Block, BlockCipher, add, octets, store, words};
use kinglet_mem::copy;

/// Octets of a nonce.
pub(crate) const NONCE: usize = 13;
/// L - 1, where L is the number of octets of the length field and of the block counter.
const LENGTH_FIELD: u8 = 1;

/// Encryption or decryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Seal,
    Open,
}

/// An expanded key.
pub struct Ccm<C> {
    cipher: C,
    /// Number of runs of the cipher, wrapping.
    runs: u32,
}

impl<C: BlockCipher> Ccm<C> {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        Ccm { cipher: C::new(key), runs: 0 }
    }

    /// Returns the number of runs of the cipher, wrapping.
    pub(crate) const fn runs(&self) -> u32 {
        self.runs
    }

    /// Runs the cipher on one block or on two.
    fn cipher<const N: usize>(&mut self, blocks: &mut [Block; N]) {
        self.runs = self.runs.wrapping_add(1);
        self.cipher.encrypt(blocks);
    }

    /// Ciphers the chain of the MIC and the block with this counter.
    #[inline(never)]
    fn step(&mut self, chain: Block, mut counter_block: Block, counter: u16) -> [Block; 2] {
        let [.., last] = &mut counter_block;
        *last |= u32::from(counter.swap_bytes()) << 16;
        let mut blocks = [chain, counter_block];
        self.cipher(&mut blocks);
        blocks
    }

    /// Encrypts or decrypts `message` in place, and returns the first `M` octets of the MIC that
    /// authenticates `open` (at most 255 octets) and the message: M is 4, 8 or 16.
    pub(crate) fn run<const M: usize>(
        &mut self,
        direction: Direction,
        nonce: &[u8; NONCE],
        open: &[u8],
        message: &mut [u8],
    ) -> [u8; M] {
        let mut chain = self.authenticate::<M>(nonce, open, message.len());
        // A_i of Annex B.4.1, without i.
        let counter_block = block(LENGTH_FIELD, nonce, 0);
        let mut counter = 0u16;
        let (whole, rest) = message.as_chunks_mut();
        for octets in whole {
            counter = counter.wrapping_add(1);
            let [code, stream] = self.step(chain, counter_block, counter);
            let before = words(octets);
            let after = add(before, &stream);
            store(after, octets);
            chain = add(code, if direction == Direction::Seal { &before } else { &after });
        }
        if !rest.is_empty() {
            let [code, stream] = self.step(chain, counter_block, counter.wrapping_add(1));
            let before = load(rest);
            copy(rest, &octets(add(before, &stream)));
            let clear = if direction == Direction::Seal { before } else { load(rest) };
            chain = add(code, &clear);
        }
        let [code, stream] = self.step(chain, counter_block, 0);
        let mut mic = [0; M];
        copy(&mut mic, &octets(add(code, &stream)));
        mic
    }

    /// Returns the CBC-MAC of the unencrypted part, before its last block is ciphered.
    fn authenticate<const M: usize>(
        &mut self,
        nonce: &[u8; NONCE],
        open: &[u8],
        message_len: usize,
    ) -> Block {
        let size = u8::try_from(M).unwrap_or(16).saturating_sub(2) / 2;
        let has_open = if open.is_empty() { 0 } else { 0x40 };
        let len = u16::try_from(message_len).unwrap_or(u16::MAX);
        let mut chain = [block(has_open | size << 3 | LENGTH_FIELD, nonce, len)];
        // The length takes the first two octets.
        let (head, mut rest) = open.split_at_checked(14).unwrap_or((open, &[]));
        let mut first = [0; 16];
        let [high, low, room @ ..] = &mut first;
        [*high, *low] = u16::try_from(open.len()).unwrap_or(u16::MAX).to_be_bytes();
        copy(room, head);
        let mut next = if open.is_empty() { None } else { Some(words(&first)) };
        // At most 16 iterations.
        while let Some(block) = next {
            self.cipher(&mut chain);
            chain = chain.map(|code| add(code, &block));
            let (head, tail) = rest.split_at_checked(16).unwrap_or((rest, &[]));
            next = if head.is_empty() { None } else { Some(load(head)) };
            rest = tail;
        }
        let [chain] = chain;
        chain
    }
}

/// Loads up to sixteen octets, padded with zeros.
#[inline(never)]
fn load(octets: &[u8]) -> Block {
    let mut padded = [0; 16];
    copy(&mut padded, octets);
    words(&padded)
}

/// A block of flags, nonce and two octets.
fn block(flags: u8, nonce: &[u8; NONCE], last: u16) -> Block {
    let mut octets = [0; 16];
    let [first, middle @ .., high, low] = &mut octets;
    *first = flags;
    copy(middle, nonce);
    [*high, *low] = last.to_be_bytes();
    words(&octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::{Sliced, Tabled};
    use ccm::KeyInit;
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
            type Theirs = ::ccm::Ccm<aes::Aes128, ::ccm::consts::U4, ::ccm::consts::U13>;
            let theirs = Theirs::new(&key.into());
            let mut expected: Vec<u8> = message.clone();
            let tag = theirs.encrypt_in_place_detached(&nonce.into(), &open, &mut expected);
            let tag: [u8; 4] = tag.unwrap().into();
            let expected = (expected, tag);
            prop_assert_eq!(&sealed::<Sliced>(&key, &nonce, &open, &message), &expected);
            prop_assert_eq!(&sealed::<Tabled>(&key, &nonce, &open, &message), &expected);
        }
    }

    /// Seals the message, after checking that the sealed one can be opened again.
    fn sealed<C: BlockCipher>(
        key: &[u8; 16],
        nonce: &[u8; NONCE],
        open: &[u8],
        message: &[u8],
    ) -> (Vec<u8>, [u8; 4]) {
        let mut ours = Ccm::<C>::new(key);
        let mut sealed = message.to_vec();
        let mic = ours.run(Direction::Seal, nonce, open, &mut sealed);
        let mut opened = sealed.clone();
        assert_eq!(ours.run(Direction::Open, nonce, open, &mut opened), mic);
        assert_eq!(opened, message);
        (sealed, mic)
    }
}
