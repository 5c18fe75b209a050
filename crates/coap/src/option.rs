//! Options by number (RFC 7252 §5.10, RFC 7641 §2, RFC 7959 §6, RFC 9175 §2.2), and the rules for
//! unrecognised ones.

#![allow(missing_docs, reason = "the names are those of the registry")]

pub const IF_MATCH: u16 = 1;
pub const URI_HOST: u16 = 3;
pub const ETAG: u16 = 4;
pub const IF_NONE_MATCH: u16 = 5;
pub const OBSERVE: u16 = 6;
pub const URI_PORT: u16 = 7;
pub const LOCATION_PATH: u16 = 8;
pub const URI_PATH: u16 = 11;
pub const CONTENT_FORMAT: u16 = 12;
pub const MAX_AGE: u16 = 14;
pub const URI_QUERY: u16 = 15;
pub const ACCEPT: u16 = 17;
pub const LOCATION_QUERY: u16 = 20;
pub const BLOCK2: u16 = 23;
pub const BLOCK1: u16 = 27;
pub const SIZE2: u16 = 28;
pub const PROXY_URI: u16 = 35;
pub const PROXY_SCHEME: u16 = 39;
pub const SIZE1: u16 = 60;
pub const ECHO: u16 = 252;

/// Returns whether a recipient that does not recognise this option must reject the message: odd
/// numbers (RFC 7252 §5.4.6).
pub const fn is_critical(number: u16) -> bool {
    number & 1 == 1
}

/// Returns whether this crate, or the application by means of it, recognises a critical option.
/// If-Match and If-None-Match are not among them: a request with one of these must not be carried
/// out as if it were not there.
pub(crate) fn is_recognised(number: u16, len: usize) -> bool {
    let known =
        matches!(number, URI_HOST | URI_PORT | ACCEPT | URI_PATH | URI_QUERY | BLOCK1 | BLOCK2);
    known && is_possible(number, len)
}

/// Returns whether a value of an option that is known here may have `len` octets.
pub(crate) fn is_possible(number: u16, len: usize) -> bool {
    // The lengths of other options are not known.
    const LENS: [(u16, u16, u16); 16] = [
        (URI_HOST, 1, 255),
        (ETAG, 1, 8),
        (OBSERVE, 0, 3),
        (URI_PORT, 0, 2),
        (LOCATION_PATH, 0, 255),
        (URI_PATH, 0, 255),
        (CONTENT_FORMAT, 0, 2),
        (MAX_AGE, 0, 4),
        (URI_QUERY, 0, 255),
        (ACCEPT, 0, 2),
        (LOCATION_QUERY, 0, 255),
        (BLOCK2, 0, 3),
        (BLOCK1, 0, 3),
        (SIZE2, 0, 4),
        (SIZE1, 0, 4),
        (ECHO, 1, 40),
    ];
    let known = LENS.iter().find(|it| it.0 == number);
    known.is_none_or(|&(_, least, most)| (usize::from(least)..=usize::from(most)).contains(&len))
}

/// Returns whether it may occur more than once.
pub(crate) const fn is_repeatable(number: u16) -> bool {
    matches!(number, URI_PATH | URI_QUERY)
}
