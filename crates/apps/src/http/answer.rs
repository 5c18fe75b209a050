//! Incremental parser of responses: the head line by line, then the body in any framing (RFC 9112
//! §4 to 7).

use super::field::{cut, has, length_of};
use crate::text::number;
use kinglet_mem::Array;

/// Largest number of octets of a head, or of the trailers after the last chunk.
const MAX_HEAD: u16 = 8_192;

/// A response that is malformed, or has an unsupported framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Result of parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// Nothing complete yet, or nothing relevant.
    Nothing,
    /// The complete head.
    Head,
    /// Octets of the body.
    Body(&'a [u8]),
}

/// The part that is parsed next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    StatusLine,
    Fields,
    /// Remaining octets of the body.
    Body(u32),
    /// The body ends with the connection.
    ToEnd,
    ChunkSize,
    Chunk(u32),
    ChunkEnd,
    Trailers,
    Done,
}

/// A response that is being received, with a buffer for one line.
#[derive(Debug)]
pub(super) struct Answer<L> {
    line: L,
    len: usize,
    /// True if the line is longer than its buffer.
    is_cut: bool,
    /// Octets of head or trailers.
    total: u16,
    part: Part,
    /// True if the request was HEAD: there is no body, whatever the head says.
    is_head: bool,
    status: u16,
    is_1_1: bool,
    closes: bool,
    length: Option<u32>,
    is_chunked: bool,
}

impl<L: Array<u8>> Answer<L> {
    /// Creates a parser for the response to a request, which was HEAD or not.
    pub(super) const fn new(is_head: bool) -> Self {
        Answer {
            line: L::EMPTY,
            len: 0,
            is_cut: false,
            total: 0,
            part: Part::StatusLine,
            is_head,
            status: 0,
            is_1_1: false,
            closes: false,
            length: None,
            is_chunked: false,
        }
    }

    /// Returns its status (RFC 9110 §15).
    pub(super) const fn status(&self) -> u16 {
        self.status
    }

    /// Returns the length of the body, if the head states it.
    pub(super) const fn length(&self) -> Option<u32> {
        self.length
    }

    /// Returns whether it is complete.
    pub(super) fn is_done(&self) -> bool {
        self.part == Part::Done
    }

    /// Returns whether it is complete if the connection ends here.
    pub(super) fn may_end(&self) -> bool {
        matches!(self.part, Part::Done | Part::ToEnd)
    }

    /// Returns whether the connection can be used again (RFC 9112 §9.3).
    pub(super) fn keeps_alive(&self) -> bool {
        self.is_done() && self.is_1_1 && !self.closes
    }

    /// Handles octets after the response: the connection must not be used again.
    pub(super) const fn distrust(&mut self) {
        self.closes = true;
    }

    /// Parses octets up to the next relevant item. Returns their number, and the item.
    pub(super) fn take<'a>(&mut self, octets: &'a [u8]) -> Result<(usize, Found<'a>), Broken> {
        match self.part {
            Part::Body(left) => {
                let (body, left) = split(octets, left);
                self.part = if left == 0 { Part::Done } else { Part::Body(left) };
                return Ok((body.len(), Found::Body(body)));
            }
            Part::Chunk(left) => {
                let (body, left) = split(octets, left);
                self.part = if left == 0 { Part::ChunkEnd } else { Part::Chunk(left) };
                return Ok((body.len(), Found::Body(body)));
            }
            Part::ToEnd => return Ok((octets.len(), Found::Body(octets))),
            Part::Done => return Err(Broken),
            _ => {}
        }
        let mut taken = 0usize;
        for &octet in octets {
            taken = taken.saturating_add(1);
            self.total = self.total.saturating_add(1);
            if octet == b'\n' {
                return Ok((taken, self.end_line()?));
            }
            match self.line.as_mut_slice().get_mut(self.len) {
                Some(place) => {
                    *place = octet;
                    self.len = self.len.saturating_add(1);
                }
                None => self.is_cut |= octet != b'\r',
            }
        }
        if self.total >= MAX_HEAD { Err(Broken) } else { Ok((taken, Found::Nothing)) }
    }

    fn end_line(&mut self) -> Result<Found<'static>, Broken> {
        let (len, is_cut) = (self.len, self.is_cut);
        (self.len, self.is_cut) = (0, false);
        let line = self.line.as_slice().get(..len).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.part {
            Part::StatusLine => {
                let (version, rest) = cut(line, b' ').ok_or(Broken)?;
                let minor = version.strip_prefix(b"HTTP/1.").and_then(number).ok_or(Broken)?;
                let code = rest.get(..3).and_then(number).ok_or(Broken)?;
                self.is_1_1 = minor > 0;
                self.status = u16::try_from(code).map_err(|_| Broken)?;
                self.part = Part::Fields;
            }
            Part::Fields if line.is_empty() => return Ok(self.end_head()),
            Part::Fields => {
                let field = field_of(line, is_cut)?;
                match field {
                    Field::Other => {}
                    Field::Close => self.closes = true,
                    Field::Chunked => self.is_chunked = true,
                    Field::Length(value) => {
                        self.length = Some(length_of(value, self.length).ok_or(Broken)?);
                    }
                }
            }
            Part::ChunkSize => {
                self.total = 0;
                let left = size_of_chunk(line, is_cut)?;
                self.part = if left == 0 { Part::Trailers } else { Part::Chunk(left) };
            }
            Part::ChunkEnd if line.is_empty() => self.part = Part::ChunkSize,
            Part::Trailers if line.is_empty() => self.part = Part::Done,
            Part::Trailers => {}
            _ => return Err(Broken),
        }
        if self.total >= MAX_HEAD { Err(Broken) } else { Ok(Found::Nothing) }
    }

    /// Determines the framing of the body (RFC 9112 §6.3).
    fn end_head(&mut self) -> Found<'static> {
        self.total = 0;
        self.part = match (self.status, self.length) {
            // Another response follows (RFC 9110 §15.2).
            (100..=199, _) => {
                (self.length, self.is_chunked) = (None, false);
                self.part = Part::StatusLine;
                return Found::Nothing;
            }
            (204 | 304, _) => Part::Done,
            _ if self.is_head => Part::Done,
            (_, length) if self.is_chunked => {
                // An intermediary may misinterpret a message with both fields.
                self.closes |= length.is_some();
                self.length = None;
                Part::ChunkSize
            }
            (_, Some(0)) => Part::Done,
            (_, Some(length)) => Part::Body(length),
            (_, None) => Part::ToEnd,
        };
        Found::Head
    }
}

/// Returns at most `left` octets, and the number that is left then.
fn split(octets: &[u8], left: u32) -> (&[u8], u32) {
    let most = usize::try_from(left).unwrap_or(usize::MAX);
    let body = octets.get(..most).unwrap_or(octets);
    (body, left.saturating_sub(u32::try_from(body.len()).unwrap_or(u32::MAX)))
}

/// A relevant field line.
enum Field<'a> {
    Other,
    Close,
    Chunked,
    Length(&'a [u8]),
}

fn field_of(line: &[u8], is_cut: bool) -> Result<Field<'_>, Broken> {
    // A name that is longer than the line's buffer is not one of the relevant ones.
    let Some((name, value)) = cut(line, b':') else {
        return if is_cut { Ok(Field::Other) } else { Err(Broken) };
    };
    let is = |known: &[u8]| known.eq_ignore_ascii_case(name);
    let field = if is(b"content-length") {
        Field::Length(value)
    } else if is(b"transfer-encoding") {
        // Other codings are not supported.
        if value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            Field::Chunked
        } else {
            return Err(Broken);
        }
    } else if is(b"connection") && has(value, b"close") {
        Field::Close
    } else {
        return Ok(Field::Other);
    };
    if is_cut { Err(Broken) } else { Ok(field) }
}

/// Parses hexadecimal digits, perhaps followed by extensions, which may be ignored (RFC 9112 §7.1).
fn size_of_chunk(line: &[u8], is_cut: bool) -> Result<u32, Broken> {
    let digits = match cut(line, b';') {
        Some((digits, _)) => digits,
        None if is_cut => return Err(Broken),
        None => line,
    };
    let digits = digits.trim_ascii();
    let grown = |size: u32, octet: &u8| {
        let digit = char::from(*octet).to_digit(16)?;
        size.checked_mul(16)?.checked_add(digit)
    };
    digits.iter().try_fold(0, grown).filter(|_| !digits.is_empty()).ok_or(Broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    /// Parses in pieces of `size` octets. Returns the status, the body, whether it is complete, and
    /// the number of octets not taken.
    fn read(text: &str, is_head: bool, size: usize) -> Result<(u16, String, bool, usize), Broken> {
        let mut answer = Answer::<[u8; 40]>::new(is_head);
        let (mut body, mut heads) = (Vec::new(), 0);
        let mut rest = text.as_bytes();
        while !rest.is_empty() && !answer.is_done() {
            let (taken, found) = answer.take(&rest[..size.min(rest.len())])?;
            rest = &rest[taken..];
            match found {
                Found::Nothing => {}
                Found::Head => heads += 1,
                Found::Body(octets) => body.extend(octets),
            }
        }
        assert!(heads == 1 || !answer.may_end(), "{text}");
        assert!(!answer.is_done() || answer.take(b"x").is_err(), "nothing belongs to it any more");
        let body = String::from_utf8(body).unwrap();
        if !answer.may_end() {
            return Ok((0, body, false, rest.len()));
        }
        Ok((answer.status(), body, answer.keeps_alive(), rest.len()))
    }

    #[test]
    fn bodies_end_as_the_head_says() {
        let long = "x".repeat(100);
        for (text, is_head, found) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", false, (200, "ab", true, 1)),
            ("HTTP/1.1 200 OK\nContent-Length: 2\n\nab", false, (200, "ab", true, 0)),
            ("HTTP/1.1 404\r\ncontent-length:0\r\n\r\n", false, (404, "", true, 0)),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", false, (200, "ab", false, 0)),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x, Close\r\n\r\nab",
                false,
                (200, "ab", false, 0),
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", false, (0, "a", false, 0)),
            ("HTTP/1.1 200 OK\r\n\r\nabc", false, (200, "abc", false, 0)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", true, (200, "", true, 0)),
            ("HTTP/1.1 204 No\r\n\r\nx", false, (204, "", true, 1)),
            ("HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", false, (304, "", true, 0)),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
                false,
                (200, "a", true, 0),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3\r\nabc\r\nA ; x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\nrest",
                false,
                (200, "abc0123456789", true, 4),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n\
                 1\r\na\r\n0\r\n\r\n",
                false,
                (200, "a", false, 0),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na",
                false,
                (0, "a", false, 0),
            ),
        ] {
            for size in [1, 2, 7, 1_000] {
                let (status, body, kept, rest) = found;
                let expected = Ok((status, String::from(body), kept, rest));
                assert_eq!(read(text, is_head, size), expected, "{text} by {size}");
            }
        }
        let fields = std::format!("X: {long}\r\n{long}: y\r\nContent-Length: 1\r\n\r\na");
        let text = std::format!("HTTP/1.1 200 {long}\r\n{fields}");
        assert_eq!(read(&text, false, 3), Ok((200, String::from("a"), true, 0)));
    }

    #[test]
    fn nonsense_is_not_accepted() {
        let long = " ".repeat(100);
        let endless = "X: y\r\n".repeat(2_000);
        for (head, rest) in [
            ("SSH-2.0-x", ""),
            ("HTTP/2.0 200 OK", ""),
            ("HTTP/1.1 2x0 OK", ""),
            ("HTTP/1.1 20", ""),
            ("HTTP/1.1 200 OK\r\nno colon", ""),
            ("HTTP/1.1 200 OK\r\nContent-Length: +1", ""),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2", ""),
            (&std::format!("HTTP/1.1 200 OK\r\nContent-Length: 1{long}"), ""),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip", ""),
            (&std::format!("HTTP/1.1 200 OK\r\n{endless}"), ""),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "x\r\n"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "\r\n"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "123456789\r\n"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "1\r\nab\r\n"),
        ] {
            let text = std::format!("{head}\r\n\r\n{rest}");
            for size in [1, 1_000] {
                assert_eq!(read(&text, false, size), Err(Broken), "{head} {rest} by {size}");
            }
        }
    }
}
