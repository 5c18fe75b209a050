//! Parsing that requests and responses have in common.

use crate::text::number;

/// Returns the parts before and after the first `at`.
#[inline(never)]
pub(super) fn cut(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let (before, rest) = text.split_at_checked(text.iter().position(|octet| *octet == at)?)?;
    Some((before, rest.get(1..).unwrap_or_default()))
}

/// Returns whether `option` is in a list.
pub(super) fn has(list: &[u8], option: &[u8]) -> bool {
    let mut rest = Some(list);
    while let Some(list) = rest {
        let (first, after) = cut(list, b',').map_or((list, None), |(it, more)| (it, Some(more)));
        if first.trim_ascii().eq_ignore_ascii_case(option) {
            return true;
        }
        rest = after;
    }
    false
}

/// Parses a Content-Length: only digits, or the same ones several times (RFC 9110 §8.6), also in a
/// field `before`.
pub(super) fn length_of(value: &[u8], before: Option<u32>) -> Option<u32> {
    let (mut found, mut rest) = (before, Some(value));
    while let Some(list) = rest {
        let (first, after) = cut(list, b',').map_or((list, None), |(it, more)| (it, Some(more)));
        let length = number(first.trim_ascii())?;
        if found.is_some_and(|found| found != length) {
            return None;
        }
        (found, rest) = (Some(length), after);
    }
    found
}
