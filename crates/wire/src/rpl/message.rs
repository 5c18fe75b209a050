//! The four control messages (RFC 6550, 6.2 to 6.5).

use super::option::Options;
use crate::{Error, Field};
use core::net::Ipv6Addr;

const DIS: u8 = 0;
const DIO: u8 = 1;
const DAO: u8 = 2;
const DAO_ACK: u8 = 3;

/// DODAG Information Solicitation (RFC 6550, 6.2): nothing but options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dis;

/// DODAG Information Object (RFC 6550, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dio {
    /// RPLInstanceID.
    pub instance: u8,
    /// DODAGVersionNumber.
    pub version: u8,
    /// Rank of the sender.
    pub rank: u16,
    /// True if the DODAG is grounded.
    pub grounded: bool,
    /// Mode of Operation, 0 to 7.
    pub mode: u8,
    /// DODAGPreference, 0 to 7.
    pub preference: u8,
    /// Destination Advertisement Trigger Sequence Number.
    pub dtsn: u8,
    /// DODAGID.
    pub dodag_id: Ipv6Addr,
}

/// Destination Advertisement Object (RFC 6550, 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dao {
    /// RPLInstanceID.
    pub instance: u8,
    /// The K flag: a DAO-ACK is expected.
    pub acknowledge: bool,
    /// DAOSequence.
    pub sequence: u8,
    /// DODAGID, if the D flag is set.
    pub dodag_id: Option<Ipv6Addr>,
}

/// Destination Advertisement Object Acknowledgement (RFC 6550, 6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaoAck {
    /// RPLInstanceID.
    pub instance: u8,
    /// DAOSequence of the DAO that is acknowledged.
    pub sequence: u8,
    /// 0: accepted; up to 127: accepted, but another parent is preferable; above: rejected.
    pub status: u8,
    /// DODAGID, if the D flag is set.
    pub dodag_id: Option<Ipv6Addr>,
}

/// A control message without its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// DODAG Information Solicitation.
    Dis(Dis),
    /// DODAG Information Object.
    Dio(Dio),
    /// Destination Advertisement Object.
    Dao(Dao),
    /// Its acknowledgement.
    DaoAck(DaoAck),
}

fn dodag_id(octets: &[u8], present: bool) -> Option<(Option<Ipv6Addr>, &[u8])> {
    if !present {
        return Some((None, octets));
    }
    let (id, rest) = octets.split_first_chunk::<16>()?;
    Some((Some(Ipv6Addr::from(*id)), rest))
}

impl Message {
    /// Reads `body`, the octets after the checksum of an ICMPv6 message with this code.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a code that is not one of the four messages, [`Error::Truncated`]
    /// if the base object is incomplete, and as [`Options::parse`].
    //= rfc6550#6-1 rfc6550#8.2.3-1
    pub fn parse(code: u8, body: &[u8]) -> Result<(Self, Options<'_>), Error> {
        if code > DAO_ACK {
            return Err(Error::Unsupported(Field::RplCode));
        }
        let short = Error::Truncated(Field::RplMessage);
        let (message, rest) = Self::base(code, body).ok_or(short)?;
        Ok((message, Options::parse(rest)?))
    }

    //= rfc6550#6.2.1-1 rfc6550#6.2.1-2 rfc6550#6.3.1-1 rfc6550#6.3.1-3 rfc6550#6.4.1-2
    //= rfc6550#6.4.1-3 rfc6550#6.5.1-1
    fn base(code: u8, body: &[u8]) -> Option<(Self, &[u8])> {
        if code == DIS {
            let (_, rest) = body.split_first_chunk::<2>()?;
            return Some((Message::Dis(Dis), rest));
        }
        let (&[instance, a, b, c], rest) = body.split_first_chunk()?;
        match code {
            DIO => {
                let (&[flags, dtsn, _, _], rest) = rest.split_first_chunk()?;
                let (id, rest) = rest.split_first_chunk::<16>()?;
                let dio = Dio {
                    instance,
                    version: a,
                    rank: u16::from_be_bytes([b, c]),
                    grounded: flags & 0x80 != 0,
                    mode: flags >> 3 & 7,
                    preference: flags & 7,
                    dtsn,
                    dodag_id: Ipv6Addr::from(*id),
                };
                Some((Message::Dio(dio), rest))
            }
            DAO => {
                let (dodag_id, rest) = dodag_id(rest, a & 0x40 != 0)?;
                let dao = Dao { instance, acknowledge: a & 0x80 != 0, sequence: c, dodag_id };
                Some((Message::Dao(dao), rest))
            }
            _ => {
                let (dodag_id, rest) = dodag_id(rest, a & 0x80 != 0)?;
                let ack = DaoAck { instance, sequence: b, status: c, dodag_id };
                Some((Message::DaoAck(ack), rest))
            }
        }
    }

    /// The ICMPv6 code.
    pub const fn code(&self) -> u8 {
        match self {
            Message::Dis(_) => DIS,
            Message::Dio(_) => DIO,
            Message::Dao(_) => DAO,
            Message::DaoAck(_) => DAO_ACK,
        }
    }

    /// Octets of the base object.
    pub const fn buffer_len(&self) -> usize {
        match self {
            Message::Dis(_) => 2,
            Message::Dio(_) => 24,
            Message::Dao(Dao { dodag_id, .. }) | Message::DaoAck(DaoAck { dodag_id, .. }) => {
                if dodag_id.is_some() {
                    20
                } else {
                    4
                }
            }
        }
    }

    /// Writes the base object to the start of `out`.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if `out` has fewer than [`Message::buffer_len`] octets.
    //= rfc6550#6.2.1-1 rfc6550#6.2.1-2 rfc6550#6.3.1-1 rfc6550#6.3.1-3 rfc6550#6.4.1-2
    //= rfc6550#6.4.1-3 rfc6550#6.5.1-1
    pub fn emit(&self, out: &mut [u8]) -> Result<(), Error> {
        let out = out.get_mut(..self.buffer_len()).ok_or(Error::NoRoom(Field::RplMessage))?;
        let (head, id) = match *self {
            Message::Dis(_) => ([0; 8], None),
            Message::Dio(dio) => {
                let [high, low] = dio.rank.to_be_bytes();
                let flags = u8::from(dio.grounded) << 7 | (dio.mode & 7) << 3 | dio.preference & 7;
                let head = [dio.instance, dio.version, high, low, flags, dio.dtsn, 0, 0];
                (head, Some(dio.dodag_id))
            }
            Message::Dao(dao) => {
                let d = u8::from(dao.dodag_id.is_some()) << 6;
                let flags = u8::from(dao.acknowledge) << 7 | d;
                ([dao.instance, flags, 0, dao.sequence, 0, 0, 0, 0], dao.dodag_id)
            }
            Message::DaoAck(ack) => {
                let d = u8::from(ack.dodag_id.is_some()) << 7;
                ([ack.instance, d, ack.sequence, ack.status, 0, 0, 0, 0], ack.dodag_id)
            }
        };
        let before = if id.is_some() { out.len().saturating_sub(16) } else { out.len() };
        let (fields, rest) = out.split_at_mut(before);
        kinglet_octets::copy(fields, &head);
        if let Some(id) = id {
            kinglet_octets::copy(rest, &id.octets());
        }
        Ok(())
    }
}
