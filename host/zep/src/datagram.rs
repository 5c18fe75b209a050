//! A frame on the air as a UDP datagram: a header of 32 octets, big-endian, and the PSDU with its
//! FCS.
//!
//! | octets | content |
//! |---|---|
//! | 0–1 | "EX" |
//! | 2 | version, 2 |
//! | 3 | type, 1: a frame |
//! | 4 | channel |
//! | 5–6 | device ID of the sender |
//! | 7 | meaning of the next octet: 1, an LQI |
//! | 8 | LQI |
//! | 9–16 | NTP timestamp |
//! | 17–20 | sequence number |
//! | 21–30 | zero |
//! | 31 | octets of the PSDU |
//!
//! The format is that of RIOT's native board and Wireshark's dissector. Other types are
//! acknowledgements of ZEP itself and RIOT's greetings; a receiver ignores them.

use core::fmt;
use kinglet_radio::{Channel, MAX_PSDU};
use std::time::{Duration, SystemTime};

/// The UDP port of Wireshark's dissector and RIOT's dispatcher.
pub const PORT: u16 = 17_754;
/// Octets before the PSDU.
pub const HEADER: usize = 32;
/// Longest datagram.
pub const MAX: usize = HEADER + MAX_PSDU;

const PREAMBLE: &[u8; 2] = b"EX";
const VERSION: u8 = 2;
const TYPE_DATA: u8 = 1;
const LQI_MODE: u8 = 1;
/// From 1900 to 1970, in seconds (RFC 5905 §6).
const NTP_ERA: u64 = 2_208_988_800;

/// A frame with its ZEP fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Its channel.
    pub channel: Channel,
    /// Link quality, 0 (worst) to 255.
    pub lqi: u8,
    /// The frame with its FCS, 1 to 127 octets.
    pub psdu: &'a [u8],
}

/// Reason for which a datagram is not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than a header, or without its first two octets.
    NotZep,
    /// Another version than 2.
    Version(u8),
    /// Another type than a frame.
    Type(u8),
    /// No channel of the 2.4 GHz band.
    Channel(u8),
    /// The length field does not match the datagram, or is not that of a PSDU.
    Length(u8),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::NotZep => f.write_str("no ZEP header"),
            Malformed::Version(version) => write!(f, "version {version} instead of 2"),
            Malformed::Type(kind) => write!(f, "type {kind} instead of 1"),
            Malformed::Channel(channel) => write!(f, "channel {channel} is not in 11 to 26"),
            Malformed::Length(len) => write!(
                f,
                "{len} octets of PSDU do not match the length of \
                                                 the datagram"
            ),
        }
    }
}

impl std::error::Error for Malformed {}

impl<'a> Datagram<'a> {
    /// Parses a datagram.
    ///
    /// # Errors
    /// [`Malformed`]
    pub fn parse(octets: &'a [u8]) -> Result<Self, Malformed> {
        let (header, psdu) = octets.split_first_chunk::<HEADER>().ok_or(Malformed::NotZep)?;
        let [e, x, version, kind, channel, _, _, mode, lqi, .., len] = *header;
        if [e, x] != *PREAMBLE {
            return Err(Malformed::NotZep);
        }
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        if kind != TYPE_DATA {
            return Err(Malformed::Type(kind));
        }
        let channel = Channel::new(channel).ok_or(Malformed::Channel(channel))?;
        if psdu.len() != usize::from(len) || psdu.is_empty() || psdu.len() > MAX_PSDU {
            return Err(Malformed::Length(len));
        }
        // In the other mode the octet indicates a CRC, and no quality.
        let lqi = if mode == LQI_MODE { lqi } else { u8::MAX };
        Ok(Datagram { channel, lqi, psdu })
    }

    /// Returns the datagram with number `sequence` of the device `device`, sent at `time`.
    ///
    /// # Panics
    /// If there are more than 127 octets of PSDU.
    pub fn octets(&self, device: u16, sequence: u32, time: SystemTime) -> Vec<u8> {
        let len = u8::try_from(self.psdu.len()).ok().filter(|&len| usize::from(len) <= MAX_PSDU);
        let mut octets = Vec::with_capacity(HEADER + self.psdu.len());
        octets.extend(PREAMBLE);
        octets.extend([VERSION, TYPE_DATA, self.channel.number()]);
        octets.extend(device.to_be_bytes());
        octets.extend([LQI_MODE, self.lqi]);
        octets.extend(ntp(time).to_be_bytes());
        octets.extend(sequence.to_be_bytes());
        octets.extend([0; 10]);
        octets.push(len.expect("a PSDU of at most 127 octets"));
        octets.extend(self.psdu);
        octets
    }
}

/// Seconds since 1900, and their fraction in 2^-32 (RFC 5905 §6).
fn ntp(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = since.as_secs().wrapping_add(NTP_ERA) & u64::from(u32::MAX);
    (seconds << 32) | ((u64::from(since.subsec_nanos()) << 32) / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An acknowledgement as RIOT's native board sends it, octet by octet.
    const ACK: [u8; 37] = [
        b'E', b'X', 2, 1, 26, 0x12, 0x34, 1, 255, 0xe9, 0xbb, 0x5a, 0x80, 0x80, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0x02, 0x00, 0x6a, 0xe4, 0x79,
    ];

    #[test]
    fn the_octets_are_those_of_the_table() {
        let datagram = Datagram::parse(&ACK).unwrap();
        assert_eq!((datagram.channel.number(), datagram.lqi), (26, 255));
        assert_eq!(datagram.psdu, [0x02, 0x00, 0x6a, 0xe4, 0x79]);
        // 0xe9bb5a80 s after 1900, and a half.
        let time = Duration::new(0xe9bb_5a80 - NTP_ERA, 500_000_000);
        assert_eq!(datagram.octets(0x1234, 0, SystemTime::UNIX_EPOCH + time), ACK);
    }

    #[test]
    fn a_datagram_without_a_frame_is_refused_with_the_reason() {
        let with = |at: usize, octet: u8| {
            let mut octets = ACK;
            octets[at] = octet;
            Datagram::parse(&octets).unwrap_err()
        };
        assert_eq!(with(1, b'Y'), Malformed::NotZep);
        assert_eq!(with(2, 1), Malformed::Version(1));
        assert_eq!(with(3, 2), Malformed::Type(2));
        assert_eq!(with(3, 255), Malformed::Type(255));
        assert_eq!(with(4, 10), Malformed::Channel(10));
        assert_eq!(with(31, 6), Malformed::Length(6));
        assert_eq!(Datagram::parse(&ACK[..31]), Err(Malformed::NotZep));
        assert_eq!(Datagram::parse(&ACK[..36]), Err(Malformed::Length(5)));
        let mut empty = ACK[..32].to_vec();
        empty[31] = 0;
        assert_eq!(Datagram::parse(&empty), Err(Malformed::Length(0)));
    }

    proptest! {
        #[test]
        fn any_octets_are_a_frame_or_not(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Datagram::parse(&octets);
        }

        #[test]
        fn a_datagram_is_read_as_written(
            psdu in prop::collection::vec(any::<u8>(), 1..=MAX_PSDU),
            channel in 11u8..=26,
            lqi in any::<u8>(),
        ) {
            let channel = Channel::new(channel).unwrap();
            let datagram = Datagram { channel, lqi, psdu: &psdu };
            let octets = datagram.octets(1, 2, SystemTime::UNIX_EPOCH);
            prop_assert_eq!(Datagram::parse(&octets), Ok(datagram));
        }
    }
}
