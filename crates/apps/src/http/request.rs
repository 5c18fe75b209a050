//! Incremental parser of request heads: their end, and the fields that a small server needs (RFC
//! 9112 §2 to 5).

use super::field::{cut, has, length_of};
use crate::text::number;
use kinglet_mem::{Array, move_within};

/// Largest number of octets of a head: a longer one is refused.
const MAX_HEAD: u16 = 8_192;

/// Status of a response: success, or the reason for a refusal (RFC 9110 §15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 200
    Ok,
    /// 400
    BadRequest,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 411
    LengthRequired,
    /// 414
    UriTooLong,
    /// 431
    FieldsTooLarge,
}

impl Status {
    /// Returns number and name, as in a response.
    pub const fn text(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::LengthRequired => "411 Length Required",
            Status::UriTooLong => "414 URI Too Long",
            Status::FieldsTooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// Method of a request (RFC 9110 §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// HEAD
    Head,
    /// PUT
    Put,
    /// POST
    Post,
    /// Any other.
    Other,
}

/// A request's head that is being received, in a buffer for its path and, behind it, one line.
#[derive(Debug)]
pub struct Head<L> {
    buffer: L,
    /// Octets of the path, at the front of the buffer.
    path: usize,
    /// Octets of the line behind it.
    line: usize,
    /// True if the line is longer than its buffer.
    is_cut: bool,
    /// Octets of the head.
    total: u16,
    /// True if its first line was received.
    begun: bool,
    /// The first error in it.
    wrong: Option<Status>,
    method: Method,
    is_1_1: bool,
    has_host: bool,
    closes: bool,
    content_length: Option<u32>,
    expects_continue: bool,
}

impl<L: Array<u8>> Head<L> {
    /// State before the first octet.
    pub const NEW: Self = Head {
        buffer: L::EMPTY,
        path: 0,
        line: 0,
        is_cut: false,
        total: 0,
        begun: false,
        wrong: None,
        method: Method::Other,
        is_1_1: false,
        has_host: false,
        closes: false,
        content_length: None,
        expects_continue: false,
    };

    /// Returns the method.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Returns the path, without scheme, authority and query (RFC 9112 §3.2).
    pub fn path(&self) -> &[u8] {
        self.buffer.as_slice().get(..self.path).unwrap_or_default()
    }

    /// Returns the length of the body, if the head states it.
    pub const fn content_length(&self) -> Option<u32> {
        self.content_length
    }

    /// Returns whether the client waits for 100 Continue before it sends the body (RFC 9110
    /// §10.1.1).
    pub const fn expects_continue(&self) -> bool {
        self.expects_continue && self.is_1_1
    }

    /// Returns whether the client wants to keep the connection (RFC 9112 §9.3).
    pub const fn keeps_alive(&self) -> bool {
        self.is_1_1 && !self.closes
    }

    /// Parses octets up to the end of the head, which is after its first empty line. Returns their
    /// number, and whether the head is complete. A line may end with LF alone, and empty lines
    /// before the head are ignored (RFC 9112 §2.2).
    pub fn take(&mut self, octets: &[u8]) -> (usize, bool) {
        let mut taken = 0usize;
        for &octet in octets {
            taken = taken.saturating_add(1);
            self.total = self.total.saturating_add(1);
            if octet == b'\n' && self.end_line() {
                return (taken, true);
            }
            if octet != b'\n' {
                self.push(octet);
            }
            if self.total >= MAX_HEAD {
                self.refuse(Status::FieldsTooLarge);
                return (taken, true);
            }
        }
        (taken, false)
    }

    /// Checks the complete head.
    ///
    /// # Errors
    /// The status of the response.
    pub fn check(&self) -> Result<(), Status> {
        match self.wrong {
            Some(status) => Err(status),
            // RFC 9112 §3.2.
            None if self.is_1_1 && !self.has_host => Err(Status::BadRequest),
            None => Ok(()),
        }
    }

    /// Records the first error.
    fn refuse(&mut self, status: Status) {
        self.wrong = self.wrong.or(Some(status));
    }

    fn push(&mut self, octet: u8) {
        let at = self.path.saturating_add(self.line);
        match self.buffer.as_mut_slice().get_mut(at) {
            Some(place) => {
                *place = octet;
                self.line = self.line.saturating_add(1);
            }
            // The end of a line that just fits into the buffer.
            None if octet == b'\r' => {}
            None => self.is_cut = true,
        }
    }

    /// Handles the end of a line. Returns whether the head has ended.
    fn end_line(&mut self) -> bool {
        let from = self.path;
        let until = from.saturating_add(self.line);
        let line = self.buffer.as_slice().get(from..until).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A CR without LF must not be accepted as a line end (RFC 9112 §2.2).
        let is_bad = line.iter().any(|octet| matches!(octet, b'\r' | 0));
        let (len, is_cut) = (line.len(), self.is_cut);
        (self.line, self.is_cut) = (0, false);
        if len == 0 {
            return self.begun;
        }
        // The compiler cannot prove that a line stays in place while it is parsed.
        let found =
            if self.begun { self.field(from, len, is_cut) } else { self.begin(len, is_cut) };
        if let Err(status) = found {
            self.refuse(status);
        }
        if is_bad {
            self.refuse(Status::BadRequest);
        }
        false
    }

    /// Parses the request line, of `len` octets at the front of the buffer.
    fn begin(&mut self, len: usize, is_cut: bool) -> Result<(), Status> {
        self.begun = true;
        if is_cut {
            return Err(Status::UriTooLong);
        }
        let line = self.buffer.as_slice().get(..len).unwrap_or_default();
        let (method, rest) = cut(line, b' ').ok_or(Status::BadRequest)?;
        let (target, version) = cut(rest, b' ').ok_or(Status::BadRequest)?;
        let minor = version.strip_prefix(b"HTTP/1.").and_then(number);
        self.is_1_1 = minor.ok_or(Status::BadRequest)? > 0;
        self.method = match method {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"PUT" => Method::Put,
            b"POST" => Method::Post,
            _ => Method::Other,
        };
        let path = path_of(target);
        // Start and end of the path; the rest of the target and the version follow it.
        let behind = version.len().saturating_add(1).saturating_add(path.behind);
        let end = len.saturating_sub(behind);
        let from = end.saturating_sub(path.len);
        if path.len == 0 {
            let root = self.buffer.as_mut_slice().first_mut();
            *root.ok_or(Status::UriTooLong)? = b'/';
            self.path = 1;
        } else if move_within(self.buffer.as_mut_slice(), from..end, 0).is_some() {
            self.path = path.len;
        }
        Ok(())
    }

    /// Parses a field line of `len` octets at `from`.
    fn field(&mut self, from: usize, len: usize, is_cut: bool) -> Result<(), Status> {
        let until = from.saturating_add(len);
        let line = self.buffer.as_slice().get(from..until).unwrap_or_default();
        let wrong = if is_cut { Status::FieldsTooLarge } else { Status::BadRequest };
        let (name, value) = cut(line, b':').ok_or(wrong)?;
        let is = |known: &&[u8]| known.eq_ignore_ascii_case(name);
        let known = FIELDS.iter().position(is);
        // No whitespace may precede the colon, and no line continues another (RFC 9112 §5.1, 5.2).
        if name.is_empty() || name.iter().any(|octet| *octet <= b' ' || *octet > b'~') {
            return Err(Status::BadRequest);
        }
        match known {
            None => return Ok(()),
            Some(HOST) if self.has_host => return Err(Status::BadRequest),
            Some(HOST) => {
                self.has_host = true;
                return Ok(());
            }
            Some(_) if is_cut => return Err(wrong),
            Some(CONNECTION) => self.closes |= has(value, b"close"),
            Some(EXPECT) => self.expects_continue = has(value, b"100-continue"),
            Some(CONTENT_LENGTH) => {
                let before = self.content_length;
                let length = length_of(value, before).ok_or(Status::BadRequest)?;
                self.content_length = Some(length);
            }
            // Transfer-Encoding.
            Some(_) => return Err(Status::LengthRequired),
        }
        Ok(())
    }
}

/// The relevant fields.
const FIELDS: [&[u8]; 5] =
    [b"host", b"connection", b"expect", b"content-length", b"transfer-encoding"];
const HOST: usize = 0;
const CONNECTION: usize = 1;
const EXPECT: usize = 2;
const CONTENT_LENGTH: usize = 3;

/// Position of the path in a request target: its length, and the number of octets behind it.
struct Path {
    len: usize,
    behind: usize,
}

/// Returns the path of a request target in origin form or absolute form (RFC 9112 §3.2); an empty
/// one stands for the root.
fn path_of(target: &[u8]) -> Path {
    let scheme = b"http://";
    let rest = match target.split_at_checked(scheme.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(scheme) => {
            let end = rest.iter().position(|octet| matches!(octet, b'/' | b'?'));
            end.and_then(|at| rest.get(at..)).unwrap_or_default()
        }
        _ => target,
    };
    let len = cut(rest, b'?').map_or(rest.len(), |(path, _)| path.len());
    Path { len, behind: rest.len().saturating_sub(len) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::ToOwned;
    use std::format;
    use std::string::String;

    type Small = Head<[u8; 64]>;

    /// Parses a head in pieces of `size` octets. Returns the number of octets it took, if it ended.
    fn read(text: &str, size: usize) -> (Small, Option<usize>) {
        let (mut head, mut taken) = (Small::NEW, 0);
        for octets in text.as_bytes().chunks(size) {
            let (count, ended) = head.take(octets);
            taken += count;
            if ended {
                return (head, Some(taken));
            }
            assert_eq!(count, octets.len());
        }
        (head, None)
    }

    fn head(lines: &str) -> Result<Small, Status> {
        let text = format!("{lines}\r\n\r\n");
        for size in [1, 3] {
            assert_eq!(read(&text, size).0.check(), read(&text, 1_000).0.check(), "{lines}");
        }
        let (head, taken) = read(&text, 1_000);
        assert_eq!(taken, Some(text.len()), "{lines}");
        head.check().map(|()| head)
    }

    #[test]
    fn lengths_are_digits_and_agree() {
        let bad = Err(Status::BadRequest);
        for (field, len) in [
            ("Content-Length: 5", Ok(Some(5))),
            ("Content-Length:5 \t", Ok(Some(5))),
            ("Content-Length: 5\r\ncontent-length: 5", Ok(Some(5))),
            ("Content-Length: 5, 5", Ok(Some(5))),
            ("Content-Length: 5\r\nContent-Length: 6", bad),
            ("Content-Length: 5, 6", bad),
            ("Content-Length: +5", bad),
            ("Content-Length: -5", bad),
            ("Content-Length: 5x", bad),
            ("Content-Length:", bad),
            ("Content-Length : 5", bad),
            (" Content-Length: 5", bad),
            ("Content-Length: 99999999999999999999", bad),
            ("Transfer-Encoding: chunked", Err(Status::LengthRequired)),
            ("X: y", Ok(None)),
        ] {
            let found = head(&format!("PUT /upload HTTP/1.1\r\nHost: m\r\n{field}"));
            assert_eq!(found.map(|head| head.content_length()), len, "{field}");
        }
    }

    #[test]
    fn targets_may_be_absolute_and_have_a_query() {
        for (target, path) in [
            ("/", "/"),
            ("/bytes/5", "/bytes/5"),
            ("/bytes/5?x=1/2", "/bytes/5"),
            ("/?", "/"),
            ("http://[fd00::1]:8080/bytes/5?x", "/bytes/5"),
            ("HTTP://mote/", "/"),
            ("http://mote", "/"),
            ("http://mote?x=/y", "/"),
            ("*", "*"),
        ] {
            let found = head(&format!("GET {target} HTTP/1.1\r\nHost: m"));
            let found = found.map(|head| String::from_utf8(head.path().to_owned()).unwrap());
            assert_eq!(found, Ok(path.to_owned()), "{target}");
        }
    }

    #[test]
    fn a_host_is_named_once_and_a_connection_stays_unless_a_side_closes_it() {
        let bad = Err(Status::BadRequest);
        for (lines, kept) in [
            ("GET / HTTP/1.1\r\nHost: m", Ok(true)),
            ("GET / HTTP/1.1\r\nHost: m\r\nConnection: TE, Close", Ok(false)),
            ("GET / HTTP/1.1\r\nHost: m\r\nConnection: keep-alive", Ok(true)),
            ("GET / HTTP/1.0", Ok(false)),
            ("GET / HTTP/1.1", bad),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b", bad),
            ("GET /", bad),
            ("GET / HTTP/2.0\r\nHost: m", bad),
            ("GET  / HTTP/1.1\r\nHost: m", bad),
            ("GET / HTTP/1.1\r\nHost: m\r\nno colon", bad),
            ("GET / HTTP/1.1\r\nHost: m\r\nX: a\rb", bad),
            ("GET / HTTP/1.1\r\nHost: m\r\n: a", bad),
            ("GET / HTTP/1.1 \r\nHost: m", bad),
        ] {
            assert_eq!(head(lines).map(|head| head.keeps_alive()), kept, "{lines}");
        }
    }

    #[test]
    fn a_head_ends_at_its_first_empty_line_however_lines_end() {
        for (octets, end) in [
            ("GET / HTTP/1.1\r\nHost: m\r\n\r\nrest", Some(27)),
            ("GET / HTTP/1.1\nHost: m\n\nrest", Some(24)),
            ("GET / HTTP/1.1\nHost: m\n\r\nrest", Some(25)),
            ("\r\n\r\nGET / HTTP/1.1\r\n\r\n", Some(22)),
            ("GET / HTTP/1.1\r\nHost: m\r\n", None),
            ("\r\n\r\n", None),
            ("", None),
        ] {
            for size in [1, 2, 1_000] {
                assert_eq!(read(octets, size).1, end, "{octets:?}");
            }
        }
        assert_eq!(read("\nGET / HTTP/1.1\nHost: m\n\n", 1_000).0.check(), Ok(()));
    }

    #[test]
    fn long_lines_matter_only_if_what_they_say_does() {
        let long = "x".repeat(100);
        let at = |fields: &str| head(&format!("GET / HTTP/1.1\r\nHost: m{fields}")).map(|_| ());
        assert_eq!(at(&format!("\r\nCookie: {long}")), Ok(()));
        assert_eq!(at(&format!("{long}\r\nUser-Agent: {long}")), Ok(()), "a long host");
        let too_large = Err(Status::FieldsTooLarge);
        assert_eq!(at(&format!("\r\nConnection: {long}")), too_large);
        assert_eq!(at(&format!("\r\nContent-Length: 5{}", " ".repeat(100))), too_large);
        assert_eq!(at(&format!("\r\n{long}: y")), too_large, "whose name is not known");
        let target = head(&format!("GET /{long} HTTP/1.1\r\nHost: m")).map(|_| ());
        assert_eq!(target, Err(Status::UriTooLong));
        // A line that just fits, with its CR or without: 63 octets behind a path of one.
        let just = "y".repeat(63 - "Connection: ".len());
        assert_eq!(at(&format!("\r\nConnection: {just}")), Ok(()));
        // A head without an end is refused.
        let endless = "X: y\r\n".repeat(2_000);
        let (head, taken) = read(&format!("GET / HTTP/1.1\r\n{endless}"), 100);
        assert_eq!((head.check(), taken), (Err(Status::FieldsTooLarge), Some(8_192)));
    }
}
