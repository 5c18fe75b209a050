//! AODV's messages (RFC 3561, 5) between nodes that have 16-bit addresses, as nst-AODV sends them.
//!
//! The fields and their order are the RFC's. The differences, as the messages are payload of
//! datagrams between neighbours:
//!
//! | RFC 3561 | here |
//! |---|---|
//! | addresses of 32 bits | short addresses of IEEE 802.15.4; 0xFFFE is any outside destination |
//! | the TTL of a RREQ is that of its IP header | the last reserved octet of a RREQ |
//! | metric: Hop Count | also an extension (9) of type 2 with PATH-DR in 16 bits |
//! | J, R, G, A flags | not set, ignored; link-layer acknowledgements replace A |
//! | RREP-ACK (5.4) answers an RREP | probes a link, which works if the frame is acknowledged |
//! | Prefix Size | 0 only |

mod rerr;
mod rrep;
mod rreq;
#[cfg(test)]
mod tests;

pub use rerr::{Rerr, RerrWriter, Unreachable};
pub use rrep::Rrep;
pub use rreq::Rreq;

use crate::{Error, Field};

/// The destination that stands for all outside of the network: routers with routes to it reply for
/// it (RFC 3561, 8).
pub const OUTSIDE: u16 = 0xFFFE;

const RREQ: u8 = 1;
const RREP: u8 = 2;
const RERR: u8 = 3;
const RREP_ACK: u8 = 4;

/// Extensions (RFC 3561, 9): the type of PATH-DR, and the first type that must not be skipped.
const PATH_DR: u8 = 2;
const MANDATORY: u8 = 128;
/// Octets of the extension with PATH-DR.
const PATH_DR_LEN: usize = 4;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A Route Request.
    Rreq(Rreq),
    /// A Route Reply.
    Rrep(Rrep),
    /// A Route Error.
    Rerr(Rerr<'a>),
    /// An RREP-ACK: asks whether this neighbour is still there.
    RrepAck,
}

/// An RREP-ACK (5.4): its type, and a reserved octet.
pub const RREP_ACK_MESSAGE: [u8; 2] = [RREP_ACK, 0];

impl<'a> Message<'a> {
    /// # Errors [`Error::Truncated`] if it is shorter than its fields require,
    /// [`Error::Unsupported`] for other types, extensions that may not be skipped and prefixes,
    /// [`Error::Invalid`] for addresses that no device has, malformed extensions, and an RERR
    /// without destinations or with octets behind the last one.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let kind = *octets.first().ok_or(Error::Truncated(Field::AodvMessage))?;
        match kind {
            RREQ => Rreq::parse(octets).map(Message::Rreq),
            RREP => Rrep::parse(octets).map(Message::Rrep),
            RERR => Rerr::parse(octets).map(Message::Rerr),
            RREP_ACK if octets.len() < RREP_ACK_MESSAGE.len() => {
                Err(Error::Truncated(Field::AodvMessage))
            }
            RREP_ACK => Ok(Message::RrepAck),
            _ => Err(Error::Unsupported(Field::AodvType)),
        }
    }
}

/// Returns whether a device may have this address.
const fn is_device(address: u16) -> bool {
    address < OUTSIDE
}

/// Returns whether it may be the destination of a request.
const fn is_destination(address: u16) -> bool {
    address <= OUTSIDE
}

fn valid(holds: bool, field: Field) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Invalid(field)) }
}

/// Returns PATH-DR, if it is among the extensions. Each iteration takes at least two octets.
fn path_dr(mut octets: &[u8]) -> Result<Option<u16>, Error> {
    let mut found = None;
    while let Some((&kind, rest)) = octets.split_first() {
        let (&len, rest) = rest.split_first().ok_or(Error::Truncated(Field::AodvExtension))?;
        let (data, rest) =
            rest.split_at_checked(len.into()).ok_or(Error::Truncated(Field::AodvExtension))?;
        match (kind, data) {
            (PATH_DR, &[high, low]) if found.is_none() => {
                found = Some(u16::from_be_bytes([high, low]));
            }
            (PATH_DR, _) => return Err(Error::Invalid(Field::AodvExtension)),
            (MANDATORY.., _) => return Err(Error::Unsupported(Field::AodvExtension)),
            _ => {}
        }
        octets = rest;
    }
    Ok(found)
}

/// Returns the length of the extensions in octets.
const fn extension_len(path_dr: Option<u16>) -> usize {
    if path_dr.is_some() { PATH_DR_LEN } else { 0 }
}

/// Writes the fixed fields of a message, and PATH-DR behind them if there is one.
fn emit(fields: &[u8], path_dr: Option<u16>, out: &mut [u8]) -> Result<(), Error> {
    let len = fields.len().saturating_add(extension_len(path_dr));
    let out = out.get_mut(..len).ok_or(Error::NoRoom(Field::AodvMessage))?;
    let (head, tail) = out.split_at_mut(fields.len());
    kinglet_octets::copy(head, fields);
    if let Some(path_dr) = path_dr {
        let [high, low] = path_dr.to_be_bytes();
        kinglet_octets::copy(tail, &[PATH_DR, 2, high, low]);
    }
    Ok(())
}
