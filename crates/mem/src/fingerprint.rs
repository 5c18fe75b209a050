//! Numbers that stand for longer names in a table.

use core::num::NonZeroU32;

/// Offset basis and prime of FNV-1a with 32 bits (draft-eastlake-fnv).
const BASIS: u32 = 0x811C_9DC5;
const PRIME: u32 = 0x0100_0193;

/// Returns a number for `octets`: FNV-1a. Two different names have the same number in one of 4
/// billion cases, unless an attacker chooses them. `None` takes no octets of its own in a table.
pub fn fingerprint<'a>(octets: impl Iterator<Item = &'a u8>) -> NonZeroU32 {
    let hash = octets.fold(BASIS, |hash, octet| (hash ^ u32::from(*octet)).wrapping_mul(PRIME));
    NonZeroU32::new(hash).unwrap_or(NonZeroU32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of draft-eastlake-fnv.
    #[test]
    fn published_vectors_are_met() {
        for (text, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(fingerprint(text.as_bytes().iter()).get(), hash, "{text}");
        }
    }
}
