//! The messages. Each fits into [`MAX_LEN`] octets and stands alone; numbers are big-endian.
//!
//! | octet | Advertisement (kind 1, broadcast) |
//! |---|---|
//! | 0 | version (4 bits, now 1), kind (4 bits) |
//! | 1 | border router, no routes yet, has network data (1 bit each), destinations (5 bits) |
//! | then, with network data | their version: source (2), serial number (1) |
//! | then | each destination: short address (2), quality in, out (2 bits each), cost (4 bits) |
//! | the rest | each leaf: short address (2), its parent's or 0xFFFF (2), attachment number (1) |
//!
//! The destination 0xFFFE is the route out of the mesh. A cost of 0 means that there is no route.
//! Qualities are those of the link between the sender and the destination, 0 if there is none.
//!
//! | kind | message | after octet 0 |
//! |---|---|---|
//! | 2 | Parent Request, broadcast | – |
//! | 3 | Parent Response | quality of the request (2 bits), one bit, cost outside (5 bits) |
//! | 4 | Child Id Request | attachment number, 1 if the leaf sleeps (else 0) |
//! | 5 | Child Id Response | status, attachment number known, version of the network data if any |
//! | 6 | Link Probe: only its acknowledgement matters | – |
//! | 7 | Network Data | version, octets of the data |
//! | 8 | Network Data Request | – |

use crate::data::Version;
use crate::link::UNREACHABLE;

/// Maximum octets of a message: one 802.15.4 frame also with security and uncompressed addresses.
pub const MAX_LEN: usize = 80;

/// Maximum octets of the network data.
pub const MAX_DATA: usize = MAX_LEN - 1 - Version::LEN;

/// Maximum octets of a queued response; network data are added when it is sent.
pub(crate) const MAX_ANSWER: usize = 3 + Version::LEN;

/// Maximum number of destinations in one advertisement.
const MAX_ENTRIES: usize = 26;
pub(crate) const ENTRY: usize = 3;
pub(crate) const BINDING: usize = 5;
/// Octets of an advertisement before its first destination.
const HEADER: usize = 2;
const VERSION: u8 = 1;
/// Flags of an advertisement, in the bits above the number of its destinations.
const BORDER: u8 = 0x80;
const STARTS: u8 = 0x40;
const HAS_DATA: u8 = 0x20;
/// No device: the parent of a detached leaf.
pub(crate) const NO_PARENT: u16 = 0xFFFF;

/// A field of a message with an invalid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A version that is not supported.
    Version,
    /// A kind that is not defined.
    Kind,
    /// Too short or too long for its kind, or for its number of destinations.
    Length,
    /// Addresses of destinations, leaves, parents or sources that no device can have.
    Address,
    /// A cost above 16.
    Cost,
    /// A status that is not defined.
    Status,
    /// A sleep flag that is neither 0 nor 1.
    Mode,
}

/// A parent's response to a Child Id Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The leaf is a child of the router.
    Accepted,
    /// The child table is full.
    Full,
    /// The attachment number is older than the leaf's known one.
    Stale,
}

impl Status {
    const ALL: [Status; 3] = [Status::Accepted, Status::Full, Status::Stale];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Advertisement(Advertisement<'a>),
    ParentRequest,
    ParentResponse { quality: u8, cost: u8 },
    ChildIdRequest { sequence: u8, sleeps: bool },
    ChildIdResponse { status: Status, sequence: u8, data: Option<Version> },
    LinkProbe,
    Data { version: Version, octets: &'a [u8] },
    DataRequest,
}

/// A router's entry for one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) destination: u16,
    pub(crate) quality_in: u8,
    pub(crate) quality_out: u8,
    pub(crate) cost: u8,
}

/// A leaf's parent, and the number of the attachment to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) child: u16,
    pub(crate) parent: u16,
    pub(crate) sequence: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advertisement<'a> {
    pub(crate) border: bool,
    /// True if its sender has no routes: it has just started.
    pub(crate) starts: bool,
    /// Version of the network data that its sender has.
    pub(crate) data: Option<Version>,
    entries: &'a [[u8; ENTRY]],
    bindings: &'a [[u8; BINDING]],
}

impl<'a> Advertisement<'a> {
    fn parse(octets: &'a [u8]) -> Result<Self, Field> {
        let (&flags, rest) = octets.split_first().ok_or(Field::Length)?;
        let (data, rest) = match flags & HAS_DATA != 0 {
            true => version_of(rest).map(|(version, rest)| (Some(version), rest))?,
            false => (None, rest),
        };
        let count = usize::from(flags & 0x1F).saturating_mul(ENTRY);
        let (entries, bindings) = rest.split_at_checked(count).ok_or(Field::Length)?;
        let (entries, _) = entries.as_chunks();
        let (bindings, []) = bindings.as_chunks() else { return Err(Field::Length) };
        let (border, starts) = (flags & BORDER != 0, flags & STARTS != 0);
        let this = Advertisement { border, starts, data, entries, bindings };
        let known = this.entries().all(|entry| entry.destination != NO_PARENT);
        let devices = |b: Binding| b.child < 0xFFFE && b.parent != 0xFFFE;
        if known && this.bindings().all(devices) { Ok(this) } else { Err(Field::Address) }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + use<'a> {
        self.entries.iter().map(|&[high, low, link]| Entry {
            destination: u16::from_be_bytes([high, low]),
            quality_in: link >> 6,
            quality_out: link >> 4 & 3,
            cost: if link & 15 == 0 { UNREACHABLE } else { link & 15 },
        })
    }

    pub(crate) fn bindings(&self) -> impl Iterator<Item = Binding> + use<'a> {
        self.bindings.iter().map(|&[a, b, c, d, sequence]| Binding {
            child: u16::from_be_bytes([a, b]),
            parent: u16::from_be_bytes([c, d]),
            sequence,
        })
    }
}

impl<'a> Message<'a> {
    /// # Errors
    /// The field that is malformed.
    pub(crate) fn parse(octets: &'a [u8]) -> Result<Self, Field> {
        let (&first, rest) = octets.split_first().ok_or(Field::Length)?;
        if first >> 4 != VERSION {
            return Err(Field::Version);
        }
        if octets.len() > MAX_LEN {
            return Err(Field::Length);
        }
        match (first & 15, rest) {
            (1, rest) => Advertisement::parse(rest).map(Message::Advertisement),
            (2, []) => Ok(Message::ParentRequest),
            (3, &[octet]) => match octet & 0x1F {
                cost @ 0..=UNREACHABLE => Ok(Message::ParentResponse { quality: octet >> 6, cost }),
                _ => Err(Field::Cost),
            },
            (4, &[sequence, sleeps @ 0..=1]) => {
                Ok(Message::ChildIdRequest { sequence, sleeps: sleeps == 1 })
            }
            (4, &[_, _]) => Err(Field::Mode),
            (5, &[status, sequence, ref rest @ ..]) => {
                let status = *Status::ALL.get(usize::from(status)).ok_or(Field::Status)?;
                let data = match rest {
                    [] => None,
                    _ => match version_of(rest)? {
                        (version, []) => Some(version),
                        _ => return Err(Field::Length),
                    },
                };
                Ok(Message::ChildIdResponse { status, sequence, data })
            }
            (6, []) => Ok(Message::LinkProbe),
            (7, rest) => {
                let (version, octets) = version_of(rest)?;
                Ok(Message::Data { version, octets })
            }
            (8, []) => Ok(Message::DataRequest),
            (2..=8, _) => Err(Field::Length),
            _ => Err(Field::Kind),
        }
    }

    /// Writes a message that is no advertisement. Returns its length; `None` if `out` is too short.
    pub(crate) fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let mut writer = Writer { out, len: 0 };
        let kind = |kind: u8| VERSION << 4 | kind;
        match *self {
            // A `Writer` writes advertisements while their entries are gathered.
            Message::Advertisement(_) => return None,
            Message::ParentRequest => writer.put(&[kind(2)])?,
            Message::ParentResponse { quality, cost } => {
                writer.put(&[kind(3), quality << 6 | cost.min(UNREACHABLE)])?;
            }
            Message::ChildIdRequest { sequence, sleeps } => {
                writer.put(&[kind(4), sequence, sleeps.into()])?;
            }
            Message::ChildIdResponse { status, sequence, data } => {
                writer.put(&[kind(5), status as u8, sequence])?;
                if let Some(version) = data {
                    writer.put(&version.to_octets())?;
                }
            }
            Message::LinkProbe => writer.put(&[kind(6)])?,
            Message::Data { version, octets } => {
                writer.put(&[kind(7)])?;
                writer.put(&version.to_octets())?;
                writer.put(octets)?;
            }
            Message::DataRequest => writer.put(&[kind(8)])?,
        }
        Some(writer.len)
    }
}

/// Splits off the version of network data.
fn version_of(octets: &[u8]) -> Result<(Version, &[u8]), Field> {
    let (version, rest) = octets.split_first_chunk().ok_or(Field::Length)?;
    Ok((Version::of(*version).ok_or(Field::Address)?, rest))
}

/// Returns whether an advertisement of so many destinations and leaves fits into one message.
pub(crate) const fn fits(entries: usize, bindings: usize, data: Option<Version>) -> bool {
    let octets = entries.saturating_mul(ENTRY).saturating_add(bindings.saturating_mul(BINDING));
    let version = if data.is_some() { Version::LEN } else { 0 };
    entries <= MAX_ENTRIES && octets.saturating_add(version) <= MAX_LEN - HEADER
}

/// Writes an advertisement: its destinations, then its leaves, as many as fit.
pub(crate) struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    /// Returns `None` if the header does not fit.
    pub(crate) fn advertisement(
        out: &'a mut [u8],
        border: bool,
        starts: bool,
        data: Option<Version>,
    ) -> Option<Self> {
        let mut writer = Writer { out, len: 0 };
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(border, BORDER) | flag(starts, STARTS) | flag(data.is_some(), HAS_DATA);
        writer.put(&[VERSION << 4 | 1, flags])?;
        if let Some(version) = data {
            writer.put(&version.to_octets())?;
        }
        Some(writer)
    }

    /// Returns `None` if it does not fit. All destinations come before the first leaf.
    pub(crate) fn entry(&mut self, entry: Entry) -> Option<()> {
        let flags = *self.out.get(1)?;
        if usize::from(flags & 0x1F) >= MAX_ENTRIES {
            return None;
        }
        let [high, low] = entry.destination.to_be_bytes();
        let cost = if entry.cost >= UNREACHABLE { 0 } else { entry.cost };
        self.put(&[high, low, entry.quality_in << 6 | entry.quality_out << 4 | cost])?;
        if let Some(count) = self.out.get_mut(1) {
            *count = flags.saturating_add(1);
        }
        Some(())
    }

    /// Returns `None` if it does not fit.
    pub(crate) fn binding(&mut self, binding: Binding) -> Option<()> {
        let ([a, b], [c, d]) = (binding.child.to_be_bytes(), binding.parent.to_be_bytes());
        self.put(&[a, b, c, d, binding.sequence])
    }

    /// Returns the number of octets written.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    fn put(&mut self, octets: &[u8]) -> Option<()> {
        let end = self.len.checked_add(octets.len()).filter(|&end| end <= MAX_LEN)?;
        kinglet_mem::copy(self.out.get_mut(self.len..end)?, octets);
        self.len = end;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const DATA: Version = Version { source: 0x0102, serial: 255 };

    #[test]
    fn messages_survive_the_air() {
        for message in [
            Message::ParentRequest,
            Message::ParentResponse { quality: 3, cost: 16 },
            Message::ChildIdRequest { sequence: 255, sleeps: true },
            Message::ChildIdResponse { status: Status::Stale, sequence: 7, data: None },
            Message::ChildIdResponse { status: Status::Accepted, sequence: 7, data: Some(DATA) },
            Message::LinkProbe,
            Message::Data { version: DATA, octets: &[0; MAX_DATA] },
            Message::DataRequest,
        ] {
            let mut octets = [0; MAX_LEN];
            let len = message.emit(&mut octets).unwrap();
            assert_eq!(Message::parse(&octets[..len]), Ok(message));
            assert_eq!(message.emit(&mut octets[..len - 1]), None);
        }
    }

    #[test]
    fn an_advertisement_takes_what_fits() {
        let entry = |n| Entry { destination: n, quality_in: 3, quality_out: 1, cost: n as u8 % 17 };
        let binding = |n| Binding { child: n, parent: NO_PARENT, sequence: 1 };
        let mut octets = [0; 200];
        let mut writer = Writer::advertisement(&mut octets, true, false, None).unwrap();
        let entries = (1..100).take_while(|&n| writer.entry(entry(n)).is_some()).count();
        assert_eq!((entries, writer.len()), (MAX_ENTRIES, 2 + 3 * 26));
        let mut writer = Writer::advertisement(&mut octets, true, false, None).unwrap();
        for n in [1, 15, 16] {
            writer.entry(entry(n)).unwrap();
        }
        let bindings = (1..100).take_while(|&n| writer.binding(binding(n)).is_some()).count();
        assert_eq!(bindings, (MAX_LEN - 2 - 9) / 5);
        let len = writer.len();
        let Ok(Message::Advertisement(read)) = Message::parse(&octets[..len]) else { panic!() };
        assert!(read.border);
        let back: Vec<_> = read.entries().collect();
        assert_eq!(back, [entry(1), entry(15), entry(16)]);
        assert_eq!(read.bindings().last(), Some(binding(13)));
        assert_eq!(read.data, None);
        let mut writer = Writer::advertisement(&mut octets, false, true, Some(DATA)).unwrap();
        let entries = (1..100).take_while(|&n| writer.entry(entry(n)).is_some()).count();
        assert_eq!((entries, writer.len()), (25, 5 + 3 * 25));
        assert!(fits(25, 0, Some(DATA)) && !fits(26, 0, Some(DATA)) && fits(26, 0, None));
        let Ok(Message::Advertisement(read)) = Message::parse(&octets[..80]) else { panic!() };
        assert_eq!((read.data, read.entries().count()), (Some(DATA), 25));
    }

    #[test]
    fn malformed_messages_are_refused_with_the_wrong_field() {
        for (octets, field) in [
            (&[][..], Field::Length),
            (&[0x22], Field::Version),
            (&[0x10], Field::Kind),
            (&[0x11], Field::Length),
            (&[0x11, 1, 0, 1], Field::Length),
            (&[0x11, 0, 0, 1, 0, 2], Field::Length),
            (&[0x11, 1, 0xFF, 0xFF, 1], Field::Address),
            (&[0x11, 0, 0xFF, 0xFE, 0, 1, 1], Field::Address),
            (&[0x11, 0, 0, 1, 0xFF, 0xFE, 1], Field::Address),
            (&[0x12, 0], Field::Length),
            (&[0x13], Field::Length),
            (&[0x13, 17], Field::Cost),
            (&[0x14], Field::Length),
            (&[0x14, 0, 2], Field::Mode),
            (&[0x15, 3, 0], Field::Status),
            (&[0x15, 0], Field::Length),
            (&[0x15, 0, 0, 1], Field::Length),
            (&[0x15, 0, 0, 0, 1, 1, 0], Field::Length),
            (&[0x15, 0, 0, 0xFF, 0xFE, 1], Field::Address),
            (&[0x16, 0], Field::Length),
            (&[0x17, 0, 1], Field::Length),
            (&[0x17, 0xFF, 0xFE, 1], Field::Address),
            (&[0x18, 0], Field::Length),
            (&[0x19], Field::Kind),
            (&[0x11, 0x20, 0, 1], Field::Length),
            (&[0x11, 0x20, 0xFF, 0xFF, 1], Field::Address),
            (&[0x11; 83], Field::Length),
        ] {
            assert_eq!(Message::parse(octets), Err(field), "{octets:x?}");
        }
    }
}
