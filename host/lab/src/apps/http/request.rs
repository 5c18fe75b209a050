//! Heads of requests: where they end, and what of them matters to a small server (RFC 9112).

/// Most header fields of a request.
const MAX_FIELDS: usize = 32;
const BAD: &str = "400 Bad Request";

/// What of a request head matters here.
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    /// Without scheme and authority (RFC 9112 §3.2.2), and without a query.
    pub(super) path: &'a str,
    pub(super) content_length: Option<u64>,
    pub(super) keep_alive: bool,
    pub(super) expects_continue: bool,
}

impl<'a> Request<'a> {
    /// Reads a head; on failure the status to answer with.
    pub(super) fn parse(head: &'a [u8]) -> Result<Self, &'static str> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            _ => return Err(BAD),
        }
        let is_1_1 = parsed.version == Some(1);
        let mut request = Request {
            method: parsed.method.ok_or(BAD)?,
            path: path_of(parsed.path.ok_or(BAD)?),
            content_length: None,
            keep_alive: is_1_1,
            expects_continue: false,
        };
        let mut hosts = 0;
        for field in parsed.headers {
            let value = core::str::from_utf8(field.value).map_err(|_| BAD)?.trim();
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                let len = length_of(value).ok_or(BAD)?;
                if request.content_length.replace(len).is_some_and(|before| before != len) {
                    return Err(BAD);
                }
            } else if is("connection") {
                let mut options = value.split(',').map(str::trim);
                request.keep_alive &= !options.any(|option| option.eq_ignore_ascii_case("close"));
            } else if is("expect") {
                request.expects_continue = is_1_1 && value.eq_ignore_ascii_case("100-continue");
            } else if is("transfer-encoding") {
                return Err("411 Length Required");
            } else if is("host") {
                hosts += 1;
            }
        }
        // RFC 9112 §3.2.
        if hosts > 1 || (is_1_1 && hosts == 0) {
            return Err(BAD);
        }
        Ok(request)
    }
}

/// A Content-Length: digits, nothing else, or the same ones several times (RFC 9110 §8.6).
fn length_of(value: &str) -> Option<u64> {
    let mut lengths = value.split(',').map(|length| number(length.trim()));
    let first = lengths.next()??;
    lengths.all(|length| length == Some(first)).then_some(first)
}

/// A number of digits and nothing else: no sign.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|octet| octet.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// The path of a request target in origin form or absolute form (RFC 9112 §3.2).
fn path_of(target: &str) -> &str {
    let rest = match target.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("http://") => {
            let rest = target.get(7..).unwrap_or_default();
            rest.find(['/', '?']).and_then(|at| rest.get(at..)).unwrap_or_default()
        }
        _ => target,
    };
    match rest.split('?').next() {
        None | Some("") => "/",
        Some(path) => path,
    }
}

/// Where a request head ends, if it does: after its first empty line. A line may end with LF alone,
/// and empty lines before the head do not count (RFC 9112 §2.2).
pub(super) fn find_end(octets: &[u8]) -> Option<usize> {
    let (mut begun, mut empty) = (false, true);
    for (at, octet) in octets.iter().enumerate() {
        match octet {
            b'\n' if empty && begun => return Some(at + 1),
            b'\n' => empty = true,
            b'\r' => {}
            _ => (begun, empty) = (true, false),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &str) -> Result<(String, Option<u64>, bool), &'static str> {
        let head = format!("{lines}\r\n\r\n");
        let request = Request::parse(head.as_bytes())?;
        Ok((request.path.to_owned(), request.content_length, request.keep_alive))
    }

    #[test]
    fn lengths_are_digits_and_agree() {
        for (field, len) in [
            ("Content-Length: 5", Ok(Some(5))),
            ("Content-Length: 5\r\ncontent-length: 5", Ok(Some(5))),
            ("Content-Length: 5, 5", Ok(Some(5))),
            ("Content-Length: 5\r\nContent-Length: 6", Err(BAD)),
            ("Content-Length: 5, 6", Err(BAD)),
            ("Content-Length: +5", Err(BAD)),
            ("Content-Length: -5", Err(BAD)),
            ("Content-Length: 5x", Err(BAD)),
            ("Content-Length:", Err(BAD)),
            ("Content-Length: 99999999999999999999", Err(BAD)),
            ("Transfer-Encoding: chunked", Err("411 Length Required")),
            ("X: y", Ok(None)),
        ] {
            let found = parse(&format!("PUT /upload HTTP/1.1\r\nHost: m\r\n{field}"));
            assert_eq!(found.map(|(_, len, _)| len), len, "{field}");
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
        ] {
            let found = parse(&format!("GET {target} HTTP/1.1\r\nHost: m"));
            assert_eq!(found.map(|(path, ..)| path), Ok(path.to_owned()), "{target}");
        }
    }

    #[test]
    fn a_host_is_named_once_and_a_connection_stays_unless_somebody_closes_it() {
        for (lines, kept) in [
            ("GET / HTTP/1.1\r\nHost: m", Ok(true)),
            ("GET / HTTP/1.1\r\nHost: m\r\nConnection: TE, Close", Ok(false)),
            ("GET / HTTP/1.1\r\nHost: m\r\nConnection: keep-alive", Ok(true)),
            ("GET / HTTP/1.0", Ok(false)),
            ("GET / HTTP/1.1", Err(BAD)),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b", Err(BAD)),
        ] {
            assert_eq!(parse(lines).map(|(.., kept)| kept), kept, "{lines}");
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
            assert_eq!(find_end(octets.as_bytes()), end, "{octets:?}");
        }
        let bare = b"\nGET / HTTP/1.1\nHost: m\n\n";
        assert!(Request::parse(bare).is_ok(), "what ends so is also read so");
    }
}
