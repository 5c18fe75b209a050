//! The message format (RFC 7252 §3): reading and writing, without any state.

use crate::option::is_possible;
use core::fmt;
use kinglet_mem::copy;

/// Octets of the fixed header of every message.
pub const HEADER_LEN: usize = 4;
/// Largest number of octets of a token (RFC 7252 §3).
pub const MAX_TOKEN: usize = 8;
/// Separates the options from a payload.
const PAYLOAD_MARKER: u8 = 0xFF;
/// Option delta or length: the octet that follows is added to this.
const ONE_MORE: u16 = 13;
/// Option delta or length: the two octets that follow are added to this.
const TWO_MORE: u16 = 269;

/// The type of a message (RFC 7252 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// CON: to be acknowledged.
    Confirmable,
    /// NON: not acknowledged.
    NonConfirmable,
    /// ACK.
    Acknowledgement,
    /// RST: its sender cannot process the message.
    Reset,
}

/// Method or response code (RFC 7252 §12.1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u8);

#[allow(missing_docs, reason = "the names are those of RFC 7252, section 12.1, and RFC 7959")]
impl Code {
    pub const EMPTY: Code = Code(0);
    pub const GET: Code = Code(0x01);
    pub const POST: Code = Code(0x02);
    pub const PUT: Code = Code(0x03);
    pub const DELETE: Code = Code(0x04);
    pub const CREATED: Code = Code(0x41);
    pub const DELETED: Code = Code(0x42);
    pub const VALID: Code = Code(0x43);
    pub const CHANGED: Code = Code(0x44);
    pub const CONTENT: Code = Code(0x45);
    pub const CONTINUE: Code = Code(0x5F);
    pub const BAD_REQUEST: Code = Code(0x80);
    pub const UNAUTHORIZED: Code = Code(0x81);
    pub const BAD_OPTION: Code = Code(0x82);
    pub const NOT_FOUND: Code = Code(0x84);
    pub const METHOD_NOT_ALLOWED: Code = Code(0x85);
    pub const NOT_ACCEPTABLE: Code = Code(0x86);
    pub const REQUEST_ENTITY_INCOMPLETE: Code = Code(0x88);
    pub const REQUEST_ENTITY_TOO_LARGE: Code = Code(0x8D);
    pub const INTERNAL_SERVER_ERROR: Code = Code(0xA0);
    pub const SERVICE_UNAVAILABLE: Code = Code(0xA3);
    pub const PROXYING_NOT_SUPPORTED: Code = Code(0xA5);
}

impl Code {
    /// Returns the digit before the point: 0 a request, 2 success, 4 and 5 errors.
    pub const fn class(self) -> u8 {
        self.0 >> 5
    }

    /// Returns whether it is a method.
    pub const fn is_request(self) -> bool {
        self.class() == 0 && self.0 != 0
    }

    /// Returns whether it is a response.
    pub const fn is_response(self) -> bool {
        matches!(self.class(), 2 | 4 | 5)
    }

    /// Returns whether it is a response that reports success.
    pub const fn is_success(self) -> bool {
        self.class() == 2
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.class(), self.0 & 0x1F)
    }
}

/// Matches a response to its request: up to eight octets of the client's choice.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Token {
    octets: [u8; MAX_TOKEN],
    len: u8,
}

impl Token {
    /// The empty token, which is valid too.
    pub const EMPTY: Token = Token { octets: [0; MAX_TOKEN], len: 0 };

    /// Creates a token from the first eight of `octets`.
    pub fn new(octets: &[u8]) -> Self {
        let mut token = Token::EMPTY;
        token.len = u8::try_from(copy(&mut token.octets, octets)).unwrap_or(0);
        token
    }

    /// Returns its octets.
    pub fn as_slice(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// The fields in front of the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type.
    pub kind: Kind,
    /// Method, response code, or [`Code::EMPTY`].
    pub code: Code,
    /// Identifies a message for its acknowledgement and for duplicate detection.
    pub message_id: u16,
    /// Matches a response to its request.
    pub token: Token,
}

impl Header {
    const fn first_octet(&self) -> u8 {
        let kind = match self.kind {
            Kind::Confirmable => 0,
            Kind::NonConfirmable => 1,
            Kind::Acknowledgement => 2,
            Kind::Reset => 3,
        };
        0x40 | kind << 4 | self.token.len
    }
}

/// Reason for which octets are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Too short, or another version than 1: to be ignored (RFC 7252 §3).
    Unknown,
    /// Not well formed; if it is confirmable it is answered with a Reset (RFC 7252 §4.2).
    Malformed {
        /// Its type.
        kind: Kind,
        /// Its message ID.
        message_id: u16,
    },
}

/// A received message: well formed, its parts by reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Type, code, message ID and token.
    pub header: Header,
    /// The payload; empty if there is none.
    pub payload: &'a [u8],
    options: &'a [u8],
}

impl<'a> Message<'a> {
    /// Parses a whole message.
    ///
    /// # Errors
    /// [`ParseError`]
    pub fn parse(octets: &'a [u8]) -> Result<Self, ParseError> {
        let (&[first, code, high, low], rest) =
            octets.split_first_chunk::<HEADER_LEN>().ok_or(ParseError::Unknown)?;
        if first >> 6 != 1 {
            return Err(ParseError::Unknown);
        }
        let kind = match first >> 4 & 3 {
            0 => Kind::Confirmable,
            1 => Kind::NonConfirmable,
            2 => Kind::Acknowledgement,
            _ => Kind::Reset,
        };
        let message_id = u16::from_be_bytes([high, low]);
        let malformed = ParseError::Malformed { kind, message_id };
        let (code, token_len) = (Code(code), usize::from(first & 0xF));
        // The empty message is only a header.
        if token_len > MAX_TOKEN || (code == Code::EMPTY && (token_len > 0 || !rest.is_empty())) {
            return Err(malformed);
        }
        let (token, rest) = rest.split_at_checked(token_len).ok_or(malformed)?;
        let mut options = Options { rest, number: 0 };
        while options.step().ok_or(malformed)?.is_some() {}
        let end = rest.len().saturating_sub(options.rest.len());
        let payload = match options.rest.split_first() {
            // A marker without a payload is an error.
            Some((_, [])) => return Err(malformed),
            Some((_, payload)) => payload,
            None => &[],
        };
        let options = rest.get(..end).unwrap_or_default();
        let header = Header { kind, code, message_id, token: Token::new(token) };
        Ok(Message { header, payload, options })
    }

    /// Returns its options, in the order of their numbers.
    pub fn options(&self) -> Options<'a> {
        Options { rest: self.options, number: 0 }
    }

    /// Returns the values of all options with this number. Values with a length that the option
    /// cannot have are left out: such options count as unrecognised (RFC 7252 §5.4.3).
    pub fn values(&self, number: u16) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let options = self.options().filter(move |option| option.0 == number);
        options.map(|option| option.1).filter(move |value| is_possible(number, value.len()))
    }

    /// Returns the value of an option that is a number; `None` if it is missing, or longer than
    /// four octets.
    pub fn uint(&self, number: u16) -> Option<u32> {
        uint(self.values(number).next()?)
    }

    /// Returns whether the Uri-Path options equal `path`, in which `/` separates the segments and
    /// none is in front.
    pub fn is_path(&self, path: &str) -> bool {
        let parts = path.split('/').filter(|part| !part.is_empty()).map(str::as_bytes);
        self.values(crate::option::URI_PATH).filter(|part| !part.is_empty()).eq(parts)
    }
}

/// Reads a number of up to four octets, most significant first, as options carry it (RFC 7252
/// §3.2).
pub fn uint(octets: &[u8]) -> Option<u32> {
    (octets.len() <= 4)
        .then(|| octets.iter().fold(0, |number: u32, octet| number << 8 | u32::from(*octet)))
}

/// Iterates over options.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
    number: u16,
}

impl<'a> Options<'a> {
    /// Returns the next option, `Some(None)` at the end, `None` if it is not well formed.
    fn step(&mut self) -> Option<Option<(u16, &'a [u8])>> {
        let (&first, mut rest) = match self.rest.split_first() {
            None | Some((&PAYLOAD_MARKER, _)) => return Some(None),
            Some(split) => split,
        };
        let delta = extended(first >> 4, &mut rest)?;
        let len = extended(first & 0xF, &mut rest)?;
        let (value, rest) = rest.split_at_checked(usize::from(len))?;
        self.number = self.number.checked_add(delta)?;
        self.rest = rest;
        Some(Some((self.number, value)))
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.step().flatten()
    }
}

/// Returns a delta or a length, and takes the octets that extend it from `rest`.
fn extended(nibble: u8, rest: &mut &[u8]) -> Option<u16> {
    match nibble {
        13 => {
            let (&more, after) = rest.split_first()?;
            *rest = after;
            Some(ONE_MORE.saturating_add(u16::from(more)))
        }
        14 => {
            let (&more, after) = rest.split_first_chunk::<2>()?;
            *rest = after;
            u16::from_be_bytes(more).checked_add(TWO_MORE)
        }
        15 => None,
        nibble => Some(u16::from(nibble)),
    }
}

/// Reason for which a [`Writer`] did not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The message does not fit its buffer.
    Full,
    /// The option follows one with a higher number, or the payload; or a second payload was added.
    Order,
}

/// Writes a message from front to back.
///
/// ```
/// use kinglet_coap::{Code, Header, Kind, Message, Token, Writer, option};
/// let header = Header {
///     kind: Kind::Confirmable, code: Code::GET, message_id: 7, token: Token::new(b"t"),
/// };
/// let mut octets = [0; 32];
/// let mut writer = Writer::new(&mut octets, header)?;
/// writer.path("sensors/light")?;
/// writer.uint(option::ACCEPT, 0)?;
/// let len = writer.finish();
/// assert!(Message::parse(&octets[..len]).unwrap().is_path("sensors/light"));
/// # Ok::<(), kinglet_coap::WriteError>(())
/// ```
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
    number: u16,
    /// The first octet of the payload.
    payload_at: Option<usize>,
}

impl<'a> Writer<'a> {
    /// Begins a message in `out`.
    ///
    /// # Errors
    /// [`WriteError::Full`]
    pub fn new(out: &'a mut [u8], header: Header) -> Result<Self, WriteError> {
        let mut writer = Writer { out, len: 0, number: 0, payload_at: None };
        let [high, low] = header.message_id.to_be_bytes();
        writer.push(&[header.first_octet(), header.code.0, high, low])?;
        writer.push(header.token.as_slice())?;
        Ok(writer)
    }

    fn space(&mut self, len: usize) -> Result<&mut [u8], WriteError> {
        let end = self.len.saturating_add(len);
        let space = self.out.get_mut(self.len..end).ok_or(WriteError::Full)?;
        self.len = end;
        Ok(space)
    }

    fn push(&mut self, octets: &[u8]) -> Result<(), WriteError> {
        copy(self.space(octets.len())?, octets);
        Ok(())
    }

    /// Adds an option. Numbers must not decrease from one to the next: the format has no other
    /// order.
    ///
    /// # Errors
    /// [`WriteError`]; nothing was written.
    pub fn option(&mut self, number: u16, value: &[u8]) -> Result<(), WriteError> {
        let delta = number.checked_sub(self.number).ok_or(WriteError::Order)?;
        if self.payload_at.is_some() {
            return Err(WriteError::Order);
        }
        let len = u16::try_from(value.len()).map_err(|_| WriteError::Full)?;
        let ((high, first), (low, second)) = (extension(delta), extension(len));
        let head = 1usize.saturating_add(first.len()).saturating_add(second.len());
        if head.saturating_add(value.len()) > self.out.len().saturating_sub(self.len) {
            return Err(WriteError::Full);
        }
        self.push(&[high << 4 | low])?;
        self.push(first.as_slice())?;
        self.push(second.as_slice())?;
        self.push(value)?;
        self.number = number;
        Ok(())
    }

    /// Adds an option that is a number, in the fewest octets.
    ///
    /// # Errors
    /// [`WriteError`]; nothing was written.
    pub fn uint(&mut self, number: u16, value: u32) -> Result<(), WriteError> {
        let octets = value.to_be_bytes();
        let zeros = value.leading_zeros().div_euclid(8);
        let from = usize::try_from(zeros).unwrap_or(0);
        self.option(number, octets.get(from..).unwrap_or_default())
    }

    /// Adds a Uri-Path option for each segment of `path`; `/` separates the segments.
    ///
    /// # Errors
    /// [`WriteError`]; some segments may have been written.
    pub fn path(&mut self, path: &str) -> Result<(), WriteError> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        parts.try_for_each(|part| self.option(crate::option::URI_PATH, part.as_bytes()))
    }

    /// Ends the options and returns space for a payload of `len` octets, to be filled.
    ///
    /// # Errors
    /// [`WriteError`]; nothing was written.
    pub fn payload_space(&mut self, len: usize) -> Result<&mut [u8], WriteError> {
        if self.payload_at.is_some() {
            return Err(WriteError::Order);
        }
        if len == 0 {
            return Ok(&mut []);
        }
        if len >= self.out.len().saturating_sub(self.len) {
            return Err(WriteError::Full);
        }
        self.push(&[PAYLOAD_MARKER])?;
        self.payload_at = Some(self.len);
        self.space(len)
    }

    /// Ends the options and adds a payload.
    ///
    /// # Errors
    /// [`WriteError`]; nothing was written.
    pub fn payload(&mut self, payload: &[u8]) -> Result<(), WriteError> {
        copy(self.payload_space(payload.len())?, payload);
        Ok(())
    }

    /// Changes the code.
    pub fn set_code(&mut self, code: Code) {
        if let Some(octet) = self.out.get_mut(1) {
            *octet = code.0;
        }
    }

    /// Removes options and payload.
    pub fn restart(&mut self) {
        (self.len, self.number, self.payload_at) = (self.options_at(), 0, None);
    }

    /// Returns the octets that further options or a payload with its marker may have.
    pub fn room(&self) -> usize {
        self.out.len().saturating_sub(self.len)
    }

    /// Returns the payload.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let at = self.payload_at.unwrap_or(self.len);
        self.out.get_mut(at..self.len).unwrap_or_default()
    }

    /// Shortens the payload to `len` octets; a longer one stays as it is.
    pub fn truncate(&mut self, len: usize) {
        match self.payload_at {
            // Without octets there is no marker.
            Some(at) if len == 0 => (self.len, self.payload_at) = (at.saturating_sub(1), None),
            Some(at) => self.len = self.len.min(at.saturating_add(len)),
            None => {}
        }
    }

    /// Calls `change` with number and value of each option.
    pub fn each_option(&mut self, mut change: impl FnMut(u16, &mut [u8])) {
        let (mut at, mut last) = (self.options_at(), 0);
        while let Some(rest) = self.out.get(at..self.len) {
            let mut options = Options { rest, number: last };
            // The marker of the payload ends them.
            let Some((number, value)) = options.next() else { return };
            let to = self.len.saturating_sub(options.rest.len());
            let from = to.saturating_sub(value.len());
            change(number, self.out.get_mut(from..to).unwrap_or_default());
            (at, last) = (to, number);
        }
    }

    /// The first octet after header and token.
    fn options_at(&self) -> usize {
        let token = self.out.first().map_or(0, |first| first & 0xF);
        HEADER_LEN.saturating_add(token.into())
    }

    /// Returns the number of octets written.
    pub const fn finish(self) -> usize {
        self.len
    }
}

/// The octets that extend a delta or a length.
struct Extension {
    octets: [u8; 2],
    from: u8,
}

impl Extension {
    fn as_slice(&self) -> &[u8] {
        self.octets.get(usize::from(self.from)..).unwrap_or_default()
    }

    const fn len(&self) -> usize {
        2usize.saturating_sub(self.from as usize)
    }
}

/// Returns the four bits of a delta or a length, and the octets that follow them.
fn extension(value: u16) -> (u8, Extension) {
    let of = |more: u16, from| Extension { octets: more.to_be_bytes(), from };
    match value {
        TWO_MORE.. => (14, of(value.saturating_sub(TWO_MORE), 0)),
        ONE_MORE.. => (13, of(value.saturating_sub(ONE_MORE), 1)),
        _ => (u8::try_from(value).unwrap_or(0), of(0, 2)),
    }
}
