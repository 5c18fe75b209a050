//! Numbers in text, and text that is generated from any offset on: the part that has been sent is
//! skipped, so it need not be stored.

use core::fmt;
use kinglet_mem::copy;

/// Largest number of digits of a number.
const DIGITS: usize = 10;

/// Displays the name of a variant as that of a counter: `NoRoute` as `no_route`, which stays as it
/// is.
#[derive(Clone, Copy, Debug)]
pub struct SnakeCase<'a>(pub &'a str);

impl fmt::Display for SnakeCase<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, letter) in self.0.chars().enumerate() {
            if letter.is_uppercase() && place > 0 {
                f.write_str("_")?;
            }
            letter.to_lowercase().try_for_each(|letter| write!(f, "{letter}"))?;
        }
        Ok(())
    }
}

/// Parts of a text; octets that do not fit are dropped.
pub(crate) struct Text<'a> {
    out: &'a mut [u8],
    /// Number of octets still to be skipped.
    skip: usize,
    /// Number of octets kept.
    len: usize,
    /// Number of octets of all parts.
    total: usize,
}

impl<'a> Text<'a> {
    /// Keeps in `out` the octets after the first `skip`.
    pub(crate) fn new(skip: usize, out: &'a mut [u8]) -> Self {
        Text { out, skip, len: 0, total: 0 }
    }

    #[inline(never)]
    pub(crate) fn put(&mut self, part: &[u8]) {
        self.total = self.total.saturating_add(part.len());
        let skipped = self.skip.min(part.len());
        self.skip = self.skip.saturating_sub(skipped);
        let room = self.out.get_mut(self.len..).unwrap_or_default();
        let copied = copy(room, part.get(skipped..).unwrap_or_default());
        self.len = self.len.saturating_add(copied);
    }

    /// Adds a number in decimal digits.
    pub(crate) fn number(&mut self, number: u32) {
        let (mut digits, mut rest, mut len) = ([0; DIGITS], number, 0);
        for digit in digits.iter_mut().rev() {
            // The remainder is a digit.
            *digit = b'0'.wrapping_add((rest % 10) as u8);
            rest /= 10;
            len = usize::saturating_add(len, 1);
            if rest == 0 {
                break;
            }
        }
        self.put(digits.get(DIGITS.saturating_sub(len)..).unwrap_or_default());
    }

    /// Returns the number of octets kept, and that of all parts.
    pub(crate) const fn finish(self) -> (usize, usize) {
        (self.len, self.total)
    }
}

/// Parses a number that consists only of decimal digits: no sign, no space.
pub fn number(text: &[u8]) -> Option<u32> {
    let digit = |octet: &u8| octet.is_ascii_digit().then(|| u32::from(octet & 0xf));
    let grown = |number: u32, octet| number.checked_mul(10)?.checked_add(digit(octet)?);
    text.iter().try_fold(0, grown).filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    fn whole(text: &mut Text<'_>) {
        for number in [0, 7, 10, 4_294_967_295] {
            text.put(b" <");
            text.number(number);
            text.put(b">");
        }
    }

    #[test]
    fn a_text_written_in_pieces_is_the_text() {
        let all = " <0> <7> <10> <4294967295>";
        for size in 1..=all.len() + 1 {
            let mut found = String::new();
            loop {
                let mut out = std::vec![0; size];
                let mut text = Text::new(found.len(), &mut out);
                whole(&mut text);
                let (len, total) = text.finish();
                assert_eq!(total, all.len());
                found.push_str(core::str::from_utf8(&out[..len]).unwrap());
                if len == 0 {
                    break;
                }
            }
            assert_eq!(found, all, "{size} octets at a time");
        }
    }
}
