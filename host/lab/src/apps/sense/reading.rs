//! What a reading looks like on its way.
//!
//! A stream carries readings one after another. A datagram begins with a tag, which is the number
//! of its first reading and the place in it where the datagram goes on: as in the paper's
//! application, readings are cut where a datagram is full.

/// Octets of a reading (TCPlp §8.2).
pub const LEN: usize = 82;
/// Octets of its number, at its front.
pub(super) const NUMBER: usize = 4;
/// Octets of a tag.
pub const TAG: usize = 4;
/// Bits of a tag for the place in a reading.
const CUT_BITS: u32 = 7;

/// The octets of reading `number`.
pub(super) fn octets(number: u32) -> [u8; LEN] {
    let mut octets = [0; LEN];
    let (head, body) = octets.split_at_mut(NUMBER);
    head.copy_from_slice(&number.to_be_bytes());
    kinglet_apps::fill(u64::from(number), body);
    octets
}

/// The tag of a datagram that begins with octet `cut` of reading `number`.
pub(super) fn tag(number: u32, cut: usize) -> u32 {
    number << CUT_BITS | cut as u32
}

/// Number and place from a tag.
pub(super) fn untag(tag: u32) -> (u32, usize) {
    (tag >> CUT_BITS, (tag & ((1 << CUT_BITS) - 1)) as usize)
}
