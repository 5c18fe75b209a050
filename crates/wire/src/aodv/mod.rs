//! AODV's messages (RFC 3561, 5) between nodes that have 16-bit addresses, as nst-AODV sends them.
//!
//! The fields and their order are the RFC's. What differs, as the messages are payload of datagrams
//! between neighbours:
//!
//! | RFC 3561 | here |
//! |---|---|
//! | addresses of 32 bits | short addresses of IEEE 802.15.4; 0xFFFE is whatever lies outside |
//! | the TTL of a RREQ is that of its IP header | the last octet of what is reserved in a RREQ |
//! | metric: Hop Count | besides, an extension (9) of type 2 has PATH-DR in 16 bits |
//! | J, R, G, A flags | not set, ignored; link-layer acknowledgements do what A is for |
//! | RREP-ACK (5.4) answers an RREP | answers nothing: is it acknowledged, the link works |
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

/// The destination that stands for all outside of the network: routers to it answer for it
/// (RFC 3561, 8).
pub const OUTSIDE: u16 = 0xFFFE;

const RREQ: u8 = 1;
const RREP: u8 = 2;
const RERR: u8 = 3;
const RREP_ACK: u8 = 4;

/// Extensions (RFC 3561, 9): the type of PATH-DR, and from where on none may be skipped.
const PATH_DR: u8 = 2;
const MANDATORY: u8 = 128;
/// Octets of the extension with PATH-DR.
const PATH_DR_LEN: usize = 4;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Somebody seeks a way.
    Rreq(Rreq),
    /// A way was found.
    Rrep(Rrep),
    /// Ways are no more.
    Rerr(Rerr<'a>),
    /// Somebody asks whether this neighbour is still there.
    RrepAck,
}

/// An RREP-ACK (5.4): its type, and a reserved octet.
pub const RREP_ACK_MESSAGE: [u8; 2] = [RREP_ACK, 0];

impl<'a> Message<'a> {
    /// # Errors
    /// [`Error::Truncated`] if it is too short for what it says that it is, [`Error::Unsupported`]
    /// for other types, extensions that may not be skipped and prefixes, [`Error::Invalid`] for
    /// addresses that no device has, extensions that are malformed, and an RERR without
    /// destinations or with octets behind the last one.
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

/// Whether a device may have this address.
const fn is_device(address: u16) -> bool {
    address < OUTSIDE
}

/// Whether it may be sought.
const fn is_destination(address: u16) -> bool {
    address <= OUTSIDE
}

fn valid(holds: bool, field: Field) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Invalid(field)) }
}

/// PATH-DR among the extensions. Each round takes two octets at the least.
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

/// Octets of the extensions.
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
