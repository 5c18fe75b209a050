//! Messages of the Domain Name System (RFC 1035, section 4): the query for an IPv6 address (RFC
//! 3596), and its response.

use crate::error::Error;
use core::net::Ipv6Addr;

/// Octets of the longest query: header, name of 255 octets, type and class.
pub(crate) const MAX_QUERY: usize = 12 + 255 + 4;

/// Flag RD, recursion desired, in the third octet of a message.
const RECURSION_DESIRED: u8 = 1;
/// Flag QR, a response.
const RESPONSE: u8 = 0x80;
/// The bits of OPCODE, 0 for a query.
const OPCODE: u8 = 0x78;
/// Types AAAA (RFC 3596, 2.1) and class IN (RFC 1035, 3.2.4).
const AAAA: [u8; 2] = [0, 28];
const IN: [u8; 2] = [0, 1];
/// RCODE of a name that does not exist.
const NAME_ERROR: u8 = 3;

/// Writes a query with this identifier; returns its length.
pub(crate) fn write_query(id: u16, host: &str, out: &mut [u8; MAX_QUERY]) -> Result<usize, Error> {
    let mut rest = out.as_mut_slice();
    let mut put = |octets: &[u8]| {
        let (to, after) = core::mem::take(&mut rest).split_at_mut_checked(octets.len())?;
        to.copy_from_slice(octets);
        rest = after;
        Some(())
    };
    let [high, low] = id.to_be_bytes();
    let header = [high, low, RECURSION_DESIRED, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    put(&header).ok_or(Error::BadName)?;
    // A final dot makes a name absolute, which all are here.
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.len() > 253 {
        return Err(Error::BadName);
    }
    for label in host.split('.').map(str::as_bytes) {
        let len = u8::try_from(label.len()).ok().filter(|len| (1..=63).contains(len));
        put(&[len.ok_or(Error::BadName)?]).ok_or(Error::BadName)?;
        put(label).ok_or(Error::BadName)?;
    }
    for octets in [&[0][..], &AAAA, &IN] {
        put(octets).ok_or(Error::BadName)?;
    }
    let unused = rest.len();
    Ok(MAX_QUERY.saturating_sub(unused))
}

/// Octets that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Passes over a name. It ends with an empty label or a pointer (RFC 1035, 4.1.4).
    fn pass_name(&mut self) -> Option<()> {
        loop {
            match self.array()? {
                [0] => return Some(()),
                [len @ 1..=63] => self.take(len.into())?,
                [0xC0..=0xFF] => return self.take(1).map(|_| ()),
                _ => return None,
            };
        }
    }
}

/// Returns the address in `response`; `None` if it is not a response to `query`.
pub(crate) fn read_response(query: &[u8], response: &[u8]) -> Option<Result<Ipv6Addr, Error>> {
    let (asked, question) = query.split_at_checked(12)?;
    let mut reader = Reader(response);
    let [id_high, id_low, flags, rcode, _, questions, ..] = reader.array::<12>()?;
    let [_, _, _, _, _, _, count_high, count_low, ..] = *response.first_chunk::<12>()?;
    let same_id = asked.starts_with(&[id_high, id_low]);
    if !same_id || flags & (RESPONSE | OPCODE) != RESPONSE || questions != 1 {
        return None;
    }
    // The case of letters is kept by servers, but need not be (RFC 4343).
    if !reader.take(question.len())?.eq_ignore_ascii_case(question) {
        return None;
    }
    match rcode & 0xF {
        0 => {}
        NAME_ERROR => return Some(Err(Error::NoSuchName)),
        _ => return Some(Err(Error::ServerFailure)),
    }
    // Other records, such as CNAME, lead to the name that has the address.
    for _ in 0..u16::from_be_bytes([count_high, count_low]) {
        let Some((kind, data)) = read_record(&mut reader) else { break };
        if let (AAAA, Ok(address)) = (kind, <[u8; 16]>::try_from(data)) {
            return Some(Ok(address.into()));
        }
    }
    Some(Err(Error::NoSuchName))
}

/// Reads a resource record: its type and its data.
fn read_record<'a>(reader: &mut Reader<'a>) -> Option<([u8; 2], &'a [u8])> {
    reader.pass_name()?;
    let [a, b, _class @ .., high, low] = reader.array::<10>()?;
    let data = reader.take(u16::from_be_bytes([high, low]).into())?;
    Some(([a, b], data))
}

#[cfg(test)]
#[path = "dns/tests.rs"]
mod tests;
