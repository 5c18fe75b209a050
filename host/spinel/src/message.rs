//! Messages of spinel: header, command, property and value (draft-rquattle-spinel-unified-00, 2
//! and 4; the numbers are those of OpenThread's `spinel.h`).

use core::fmt;

/// First two bits of each header (section 2.1.1).
const HEADER_FLAG: u8 = 0x80;
const HEADER_FLAG_MASK: u8 = 0xc0;
const INTERFACE_MASK: u8 = 0x30;
const TID_MASK: u8 = 0x0f;
/// Most octets of a packed integer (section 3.2).
const MAX_PACKED: usize = 3;

/// Transaction identifier, 1 to 15: an answer has that of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tid(u8);

impl Tid {
    /// The first one.
    pub const FIRST: Tid = Tid(1);

    /// Returns the one after this.
    pub const fn next(self) -> Tid {
        if self.0 == TID_MASK { Tid::FIRST } else { Tid(self.0 + 1) }
    }
}

/// A request to the coprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// Restarts it.
    Reset = 1,
    /// Asks for a value.
    Get = 2,
    /// Sets a value.
    Set = 3,
    /// Adds an item to a list.
    Insert = 4,
    /// Removes an item from a list.
    Remove = 5,
}

/// A property, by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Property(pub u32);

impl Property {
    /// The status of the last command, or of a transmission; with a [`Status`].
    pub const LAST_STATUS: Property = Property(0);
    /// Version of the protocol: major and minor number, packed.
    pub const PROTOCOL_VERSION: Property = Property(1);
    /// Name and version of the firmware, as text.
    pub const NCP_VERSION: Property = Property(2);
    /// List of packed [capabilities](crate::identity).
    pub const CAPS: Property = Property(5);
    /// EUI-64, most significant octet first.
    pub const HWADDR: Property = Property(8);
    /// The radio is on: one octet.
    pub const PHY_ENABLED: Property = Property(0x20);
    /// The channel on which it listens: one octet.
    pub const PHY_CHAN: Property = Property(0x21);
    /// List of channels, one octet each.
    pub const PHY_CHAN_SUPPORTED: Property = Property(0x22);
    /// Output power in dBm: one octet, signed.
    pub const PHY_TX_POWER: Property = Property(0x25);
    /// Own EUI-64, most significant octet first.
    pub const MAC_15_4_LADDR: Property = Property(0x34);
    /// Own short address, two octets.
    pub const MAC_15_4_SADDR: Property = Property(0x35);
    /// Own PAN, two octets.
    pub const MAC_15_4_PANID: Property = Property(0x36);
    /// It listens and reports frames: one octet.
    pub const MAC_RAW_STREAM_ENABLED: Property = Property(0x37);
    /// Text for developers.
    pub const STREAM_DEBUG: Property = Property(0x70);
    /// A frame, received or to be sent; see [`crate::raw`].
    pub const STREAM_RAW: Property = Property(0x71);
    /// Version of the interface of a radio coprocessor, packed.
    pub const RCP_API_VERSION: Property = Property(0xb0);
    /// Lowest such version of a host with which it works, packed.
    pub const RCP_MIN_HOST_API_VERSION: Property = Property(0xb1);
    /// Functions of the radio, as packed bits.
    pub const RADIO_CAPS: Property = Property(0x120b);
    /// The frame-pending bit depends on the source of the frame: one octet.
    pub const MAC_SRC_MATCH_ENABLED: Property = Property(0x1303);
    /// List of sources for which frames are pending: short addresses of two octets.
    pub const MAC_SRC_MATCH_SHORT_ADDRESSES: Property = Property(0x1304);
}

impl fmt::Debug for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x}", self.0)
    }
}

/// Result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    /// Done.
    pub const OK: Status = Status(0);
    /// Not in this state of the coprocessor.
    pub const INVALID_STATE: Status = Status(4);
    /// There is no space for it.
    pub const NOMEM: Status = Status(11);
    /// The coprocessor does something else.
    pub const BUSY: Status = Status(12);
    /// The property is not known.
    pub const PROP_NOT_FOUND: Status = Status(13);
    /// The frame was not acknowledged.
    pub const NO_ACK: Status = Status(17);
    /// The channel was busy.
    pub const CCA_FAILURE: Status = Status(18);

    /// Returns whether the coprocessor has started again, for whatever reason.
    pub const fn is_reset(self) -> bool {
        self.0 >= 112 && self.0 < 128
    }
}

/// A message from the coprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The command that it answers; `None` for one that comes by itself.
    pub tid: Option<Tid>,
    /// The property.
    pub property: Property,
    /// Its value, or the item that was added to or removed from it.
    pub value: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads a message. Returns `None` if it is no report of a value of the first interface.
    pub fn parse(octets: &'a [u8]) -> Option<Message<'a>> {
        let mut reader = Reader(octets);
        let header = reader.u8()?;
        if header & (HEADER_FLAG_MASK | INTERFACE_MASK) != HEADER_FLAG {
            return None;
        }
        // The value is this one, was inserted, or was removed.
        let is_value = (6..=8).contains(&reader.packed()?);
        let property = Property(reader.packed()?);
        let tid = Some(Tid(header & TID_MASK)).filter(|tid| tid.0 != 0);
        is_value.then_some(Message { tid, property, value: reader.0 })
    }
}

/// Returns the octets of a command; a `Reset` has neither TID nor property.
pub fn command(tid: Tid, command: Command, property: Property, value: &[u8]) -> Vec<u8> {
    let mut octets = vec![HEADER_FLAG | tid.0, command as u8];
    write_packed(property.0, &mut octets);
    octets.extend(value);
    octets
}

/// Part of a coprocessor that a `Reset` restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Extent {
    /// The processor: it may have to be found again on its bus.
    Platform = 1,
    /// The radio and its settings.
    Stack = 2,
}

/// Returns the octets of a `Reset`.
pub fn reset(extent: Extent) -> Vec<u8> {
    vec![HEADER_FLAG, Command::Reset as u8, extent as u8]
}

/// Appends a packed integer: seven bits an octet, the least significant ones first. Values of more
/// than 21 bits lose the upper ones.
fn write_packed(mut value: u32, octets: &mut Vec<u8>) {
    for left in (0..MAX_PACKED).rev() {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        let more = value > 0 && left > 0;
        octets.push(low & 0x7f | u8::from(more) << 7);
        if !more {
            return;
        }
    }
}

/// Reads the fields of a value, one after the other; `None` if the value has ended.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    /// Reads an octet.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// Reads a signed octet.
    pub fn i8(&mut self) -> Option<i8> {
        self.array().map(i8::from_le_bytes)
    }

    /// Reads an octet that is 0 or 1.
    pub fn bool(&mut self) -> Option<bool> {
        self.u8().filter(|octet| *octet < 2).map(|octet| octet == 1)
    }

    /// Reads two octets, the least significant one first.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads an EUI-64.
    pub fn eui64(&mut self) -> Option<[u8; 8]> {
        self.array()
    }

    /// Reads a packed integer of at most three octets.
    pub fn packed(&mut self) -> Option<u32> {
        let mut value = 0;
        for index in 0..MAX_PACKED {
            let octet = self.u8()?;
            value |= u32::from(octet & 0x7f) << (7 * index);
            if octet & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads data that follow their length of two octets.
    pub fn data(&mut self) -> Option<&'a [u8]> {
        let len = self.u16()?;
        let (data, rest) = self.0.split_at_checked(len.into())?;
        self.0 = rest;
        Some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_integers_have_seven_bits_an_octet() {
        // The first two are those of the specification (3.2).
        let cases: [(u32, &[u8]); 6] = [
            (1337, &[0xb9, 0x0a]),
            (127, &[0x7f]),
            (128, &[0x80, 0x01]),
            (0, &[0x00]),
            (0x120b, &[0x8b, 0x24]),
            ((1 << 21) - 1, &[0xff, 0xff, 0x7f]),
        ];
        for (value, octets) in cases {
            let mut written = Vec::new();
            write_packed(value, &mut written);
            assert_eq!(written, octets);
            assert_eq!(Reader(octets).packed(), Some(value));
        }
        for bad in [&[][..], &[0x80], &[0x80, 0x80], &[0x80, 0x80, 0x80, 0x00]] {
            assert_eq!(Reader(bad).packed(), None, "{bad:?}");
        }
    }

    #[test]
    fn commands_and_answers_have_the_octets_of_the_specification() {
        let set = command(Tid::FIRST, Command::Set, Property::PHY_CHAN, &[26]);
        assert_eq!(set, [0x81, 3, 0x21, 26]);
        let enable = command(Tid(15), Command::Set, Property::MAC_SRC_MATCH_ENABLED, &[1]);
        assert_eq!(enable, [0x8f, 3, 0x83, 0x26, 1]);
        assert_eq!(reset(Extent::Stack), [0x80, 1, 2]);
        let answer = Message::parse(&[0x81, 6, 0x21, 26]);
        let expected =
            Message { tid: Some(Tid::FIRST), property: Property::PHY_CHAN, value: &[26] };
        assert_eq!(answer, Some(expected));
        let notice = Message::parse(&[0x80, 6, 0, 0x70]).unwrap();
        assert_eq!((notice.tid, notice.value), (None, &[0x70][..]));
    }

    #[test]
    fn other_messages_are_none() {
        for bad in [
            &[][..],
            &[0x81],
            &[0x81, 6],
            // No header of this protocol, another interface, a command.
            &[0x41, 6, 0x21, 26],
            &[0x91, 6, 0x21, 26],
            &[0x81, 3, 0x21, 26],
            &[0x81, 9, 0x21, 26],
        ] {
            assert_eq!(Message::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn identifiers_of_transactions_are_one_to_fifteen() {
        let mut tid = Tid::FIRST;
        for number in 1..=15 {
            assert_eq!(tid, Tid(number));
            tid = tid.next();
        }
        assert_eq!(tid, Tid::FIRST);
    }

    #[test]
    fn a_reset_is_a_status_of_its_range() {
        let is_reset = [111, 112, 127, 128].map(|status| Status(status).is_reset());
        assert_eq!(is_reset, [false, true, true, false]);
    }

    #[test]
    fn fields_end_with_the_value() {
        let mut reader = Reader(&[2, 0, 0xab, 0xcd, 0xff, 1, 2]);
        assert_eq!(reader.data(), Some(&[0xab, 0xcd][..]));
        assert_eq!((reader.i8(), reader.bool(), reader.bool()), (Some(-1), Some(true), None));
        assert_eq!((reader.u16(), reader.eui64()), (None, None));
        assert_eq!(Reader(&[2, 0, 1]).data(), None);
    }
}
