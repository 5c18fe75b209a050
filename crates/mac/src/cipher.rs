//! AES-128 (FIPS 197), in the variants that a plan may choose for [`CcmStar`].
//!
//! | | instructions, two blocks, Cortex-M0+ | RAM | constant time |
//! |---|---|---|---|
//! | [`Tabled`] | below 2,664 | 176 octets, and 1 KiB shared | if RAM has no cache |
//! | [`Sliced`] | 5,750 | 352 | everywhere |
//!
//! The entries of a table that are read depend on key and message. The run time shows that if the
//! memory of the table answers sooner for recently read entries, as flash does whose controller has
//! a buffer or a cache. So the table is in RAM, where a load takes the same time for every address
//! unless a data cache is in front of it; no Cortex-M0+, M3 or M4 has one. Behind a cache, on
//! larger cores and hosts, [`Sliced`] computes without a table.
//!
//! [`CcmStar`]: crate::CcmStar

use aes::Aes128Enc;
use aes::cipher::{BlockEncrypt, KeyInit};
use core::sync::atomic::{AtomicU32, Ordering};

/// Sixteen octets as words; the first octet of each is in its low bits.
pub type Block = [u32; 4];

/// AES-128 encryption with an expanded key. A driver for hardware that encrypts single blocks while
/// the program waits (ECB) implements this too.
pub trait BlockCipher {
    /// Expands a key.
    fn new(key: &[u8; 16]) -> Self;

    /// Encrypts each of the blocks.
    fn encrypt<const N: usize>(&mut self, blocks: &mut [Block; N]);
}

/// The crate `aes`: bit-sliced, without tables, two blocks in the time of one. It uses the AES
/// instructions of hosts that have them.
pub struct Sliced(Aes128Enc);

impl BlockCipher for Sliced {
    fn new(key: &[u8; 16]) -> Self {
        Sliced(Aes128Enc::new(key.into()))
    }

    fn encrypt<const N: usize>(&mut self, blocks: &mut [Block; N]) {
        let mut octets = blocks.map(|block| aes::Block::from(octets(block)));
        self.0.encrypt_blocks(&mut octets);
        *blocks = octets.map(|octets| words(&octets.into()));
    }
}

/// AES with a table of 1 KiB in RAM.
pub struct Tabled {
    /// Round keys; the first one is for the step before the rounds.
    keys: [Block; ROUNDS + 1],
}

const ROUNDS: usize = 10;

/// For each octet, the product of SubBytes and the column {02}, {01}, {01}, {03} of MixColumns. The
/// other columns are rotations of this one, and the second octet of an entry is SubBytes alone.
///
/// Atomic, though it is never written: writable data stays in RAM.
static TABLE: [AtomicU32; 256] = table();

impl BlockCipher for Tabled {
    /// KeyExpansion (FIPS 197, 5.2).
    fn new(key: &[u8; 16]) -> Self {
        let mut keys = [[0; 4]; ROUNDS + 1];
        let mut last = words(key);
        let mut constant = 1;
        for key in &mut keys {
            *key = last;
            let [a, b, c, d] = last;
            let a = a ^ sub_column(d.rotate_right(8).to_le_bytes()) ^ u32::from(constant);
            let b = b ^ a;
            let c = c ^ b;
            last = [a, b, c, d ^ c];
            constant = double(constant);
        }
        Tabled { keys }
    }

    fn encrypt<const N: usize>(&mut self, blocks: &mut [Block; N]) {
        blocks.iter_mut().for_each(|block| self.encrypt_block(block));
    }
}

impl Tabled {
    /// Cipher (FIPS 197, 5.1).
    fn encrypt_block(&self, block: &mut Block) {
        let [first, rounds @ .., ninth, last] = &self.keys;
        let (mut state, mut next) = (State([0; 16]), State([0; 16]));
        state.set(add(*block, first));
        // Two rounds per iteration, so that the state need not be copied back.
        for [one, other] in rounds.as_chunks().0 {
            round(one, &state, &mut next);
            round(other, &next, &mut state);
        }
        round(ninth, &state, &mut next);
        *block = add(next.columns(sub_column), last);
    }
}

/// The state, column by column; it is written as words and read as octets.
#[repr(align(4))]
struct State([u8; 16]);

impl State {
    fn set(&mut self, columns: Block) {
        let (to, _) = self.0.as_chunks_mut();
        to.iter_mut().zip(columns).for_each(|(to, column)| *to = column.to_le_bytes());
    }

    /// Returns the block that results from applying `of` to each column after ShiftRows (FIPS 197,
    /// 5.1.2).
    #[inline(always)]
    fn columns(&self, of: impl Fn([u8; 4]) -> u32) -> Block {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.0;
        [of([a, f, k, p]), of([e, j, o, d]), of([i, n, c, h]), of([m, b, g, l])]
    }
}

/// SubBytes, ShiftRows, MixColumns and AddRoundKey.
// Inlined, because a call would cost a tenth of the work.
#[inline(always)]
fn round(key: &Block, from: &State, to: &mut State) {
    let mixed = from.columns(|[a, b, c, d]| {
        let mixed = entry(d).rotate_left(8) ^ entry(c);
        (mixed.rotate_left(8) ^ entry(b)).rotate_left(8) ^ entry(a)
    });
    to.set(add(mixed, key));
}

/// SubBytes on a column.
#[inline(always)]
fn sub_column([a, b, c, d]: [u8; 4]) -> u32 {
    let substitute = |octet| entry(octet) & 0xff00;
    substitute(a) >> 8 | substitute(b) | substitute(c) << 8 | substitute(d) << 16
}

#[inline(always)]
fn entry(octet: u8) -> u32 {
    // The table has an entry for every octet.
    TABLE.get(usize::from(octet)).map_or(0, |entry| entry.load(Ordering::Relaxed))
}

/// The product with {02} (FIPS 197, 4.2.1).
const fn double(octet: u8) -> u8 {
    octet << 1 ^ if octet & 0x80 == 0 { 0 } else { 0x1b }
}

/// The product of two octets (FIPS 197, 4.2).
const fn product(a: u8, b: u8) -> u8 {
    let (mut sum, mut a, mut b) = (0, a, b);
    while b != 0 {
        if b & 1 == 1 {
            sum ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    sum
}

/// SubBytes (FIPS 197, 5.1.1).
const fn sub_byte(octet: u8) -> u8 {
    // The inverse is the power of 254, 2 + 4 + … + 128, because the power of 255 is one; that of 0
    // is 0.
    let (mut power, mut inverse) = (octet, 1);
    let mut sum = 0x63;
    let mut bit = 0_u32;
    while bit < 7 {
        power = product(power, power);
        inverse = product(inverse, power);
        bit = bit.wrapping_add(1);
    }
    bit = 0;
    while bit < 5 {
        sum ^= inverse.rotate_left(bit);
        bit = bit.wrapping_add(1);
    }
    sum
}

#[allow(clippy::indexing_slicing, reason = "computed by the compiler, which would say so")]
const fn table() -> [AtomicU32; 256] {
    let mut table = [const { AtomicU32::new(0) }; 256];
    let mut octet = 0_usize;
    while octet < table.len() {
        let s = sub_byte(octet as u8);
        let column = u32::from_le_bytes([double(s), s, s, double(s) ^ s]);
        table[octet] = AtomicU32::new(column);
        octet = octet.wrapping_add(1);
    }
    table
}

/// AddRoundKey.
#[inline(always)]
pub(crate) fn add([a, b, c, d]: Block, [e, f, g, h]: &Block) -> Block {
    [a ^ e, b ^ f, c ^ g, d ^ h]
}

/// Converts sixteen octets to a block.
pub(crate) fn words(octets: &[u8; 16]) -> Block {
    let mut block = [0; 4];
    let (columns, _) = octets.as_chunks();
    block.iter_mut().zip(columns).for_each(|(word, column)| *word = u32::from_le_bytes(*column));
    block
}

/// Converts a block to its sixteen octets.
pub(crate) fn octets(block: Block) -> [u8; 16] {
    let mut octets = [0; 16];
    store(block, &mut octets);
    octets
}

/// Writes the sixteen octets of a block.
pub(crate) fn store(block: Block, to: &mut [u8; 16]) {
    let (columns, _) = to.as_chunks_mut();
    columns.iter_mut().zip(block).for_each(|(column, word)| *column = word.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Encrypts `block` with both variants, and checks that they agree.
    fn encrypted(key: &[u8; 16], block: &[u8; 16]) -> [u8; 16] {
        let mut tabled = [words(block)];
        Tabled::new(key).encrypt(&mut tabled);
        let mut sliced = [words(block)];
        Sliced::new(key).encrypt(&mut sliced);
        assert_eq!(tabled, sliced);
        let [block] = tabled;
        octets(block)
    }

    #[test]
    fn the_examples_of_the_standard() {
        // FIPS 197, Appendix B.
        let key = 0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes();
        let block = 0x3243f6a8_885a308d_313198a2_e0370734_u128.to_be_bytes();
        let expected = 0x3925841d_02dc09fb_dc118597_196a0b32_u128.to_be_bytes();
        assert_eq!(encrypted(&key, &block), expected);
        // FIPS 197, Appendix C.1.
        let key = core::array::from_fn(|i| i as u8);
        let block = core::array::from_fn(|i| (i * 0x11) as u8);
        let expected = 0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a_u128.to_be_bytes();
        assert_eq!(encrypted(&key, &block), expected);
    }

    #[test]
    fn the_last_round_key_of_the_standard() {
        // FIPS 197, Appendix A.1, w40 to w43.
        let key = 0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes();
        let expected = 0xd014f9a8_c9ee2589_e13f0cc8_b6630ca6_u128.to_be_bytes();
        assert_eq!(Tabled::new(&key).keys.last().copied().map(octets), Some(expected));
    }

    #[test]
    fn every_octet_has_its_entry() {
        // FIPS 197, Figure 7: the corners.
        for (octet, s) in [(0x00, 0x63), (0x0f, 0x76), (0x53, 0xed), (0xf0, 0x8c), (0xff, 0x16)] {
            assert_eq!(sub_column([octet, 0, 0, 0]) & 0xff, s);
        }
        let mut seen = [false; 256];
        TABLE
            .iter()
            .for_each(|entry| seen[(entry.load(Ordering::Relaxed) >> 8 & 0xff) as usize] = true);
        assert_eq!(seen, [true; 256]);
    }

    proptest! {
        #[test]
        fn both_forms_encrypt_alike(key: [u8; 16], first: [u8; 16], second: [u8; 16]) {
            let mut tabled = [words(&first), words(&second)];
            let mut sliced = tabled;
            Tabled::new(&key).encrypt(&mut tabled);
            Sliced::new(&key).encrypt(&mut sliced);
            prop_assert_eq!(tabled, sliced);
            let each = [encrypted(&key, &first), encrypted(&key, &second)];
            prop_assert_eq!(tabled.map(octets), each);
        }
    }
}
