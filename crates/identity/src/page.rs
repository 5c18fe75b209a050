//! The page of flash that makes a device one of a network.

use core::fmt;
use crc::{CRC_32_ISO_HDLC, Crc};
use kinglet::Config;
use kinglet::mac::Security;
use kinglet::radio::{Channel, Key};
use kinglet::wire::ieee802154::PanId;

/// The first six octets of the EUI-64 that the nonces of a device with a short address contain:
/// those of its link address (RFC 4944, §6). All devices of a network need the same ones.
pub const EUI64_PREFIX: [u8; 6] = [0x02, 0x00, 0x00, 0xff, 0xfe, 0x00];
/// Octets of a page that are used.
pub const LEN: usize = 40;
/// The beginning of a page of flash.
pub type Page = [u8; LEN];

/// The first octets of a page, and its version.
const MAGIC: [u8; 4] = *b"KNGL";
const VERSION: u8 = 1;
/// An octet of flash that was erased.
const ERASED: u8 = 0xff;
/// A device without a short address has this one (IEEE 802.15.4-2015, 6.4.1: 0xFFFE and 0xFFFF name
/// no device).
const NO_SHORT: u16 = 0xffff;
const FIRST_RESERVED: u16 = 0xfffe;
/// Octets before the checksum.
const CHECKED: usize = LEN - 4;

/// Identity of a device in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The EUI-64 in the order in which it is written. No other device in the world has it.
    pub eui64: [u8; 8],
    /// The short address, if the device has one: below 0xFFFE, and no other device of the PAN has
    /// it.
    pub short: Option<u16>,
    /// The PAN.
    pub pan_id: PanId,
    /// The channel.
    pub channel: Channel,
    /// The key of link security, which all devices of the PAN have.
    pub key: Key,
}

/// Reason for refusing a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageError {
    /// The page is erased: the device was not commissioned.
    Erased,
    /// The page has other content.
    Foreign,
    /// The page has this version, and this firmware reads version 1.
    Version(u8),
    /// The checksum is wrong.
    Damaged,
    /// The checksum is right, and a value is not allowed: its name.
    Value(&'static str),
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::Erased => f.write_str("the page is erased; write that of this device"),
            PageError::Foreign => f.write_str("the page is not an identity; is its address right?"),
            PageError::Version(version) => {
                write!(f, "the page has version {version}, and this firmware reads {VERSION}")
            }
            PageError::Damaged => f.write_str("the checksum of the page is wrong; write it again"),
            PageError::Value(name) => write!(f, "the page has a value that is not allowed: {name}"),
        }
    }
}

impl core::error::Error for PageError {}

/// Returns the checksum of the octets before it.
fn checksum(page: &Page) -> [u8; 4] {
    let checked = page.get(..CHECKED).unwrap_or_default();
    Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(checked).to_le_bytes()
}

impl Identity {
    /// Reads the page of this device.
    ///
    /// # Errors
    /// [`PageError`]: it is erased, damaged, of another version, or not an identity.
    pub fn read(page: &Page) -> Result<Identity, PageError> {
        if page.iter().all(|octet| *octet == ERASED) {
            return Err(PageError::Erased);
        }
        let [a, b, c, d, version, channel, p0, p1, rest @ ..] = *page;
        if [a, b, c, d] != MAGIC {
            return Err(PageError::Foreign);
        }
        if version != VERSION {
            return Err(PageError::Version(version));
        }
        if !page.ends_with(&checksum(page)) {
            return Err(PageError::Damaged);
        }
        let [e0, e1, e2, e3, e4, e5, e6, e7, s0, s1, _, _, rest @ ..] = rest;
        let pan_id = PanId(u16::from_le_bytes([p0, p1]));
        let short = u16::from_le_bytes([s0, s1]);
        let (key, _) = rest.split_first_chunk().ok_or(PageError::Damaged)?;
        let identity = Identity {
            eui64: [e0, e1, e2, e3, e4, e5, e6, e7],
            short: (short != NO_SHORT).then_some(short),
            pan_id,
            channel: Channel::new(channel).ok_or(PageError::Value("channel"))?,
            key: Key(*key),
        };
        identity.check().map(|()| identity)
    }

    /// Returns the page.
    ///
    /// # Errors
    /// [`PageError::Value`]: an address that no device can have, or the broadcast PAN.
    pub fn write(&self) -> Result<Page, PageError> {
        self.check()?;
        let mut page = [0; LEN];
        let short = self.short.unwrap_or(NO_SHORT).to_le_bytes();
        let [p0, p1] = self.pan_id.0.to_le_bytes();
        let head = [VERSION, self.channel.number(), p0, p1];
        let fields = [&MAGIC[..], &head, &self.eui64, &short, &[0; 2], &self.key.0];
        let octets = fields.into_iter().flatten();
        page.iter_mut().zip(octets).for_each(|(place, octet)| *place = *octet);
        let checksum = checksum(&page);
        if let Some(end) = page.last_chunk_mut() {
            *end = checksum;
        }
        Ok(page)
    }

    fn check(&self) -> Result<(), PageError> {
        let unset = [[0; 8], [ERASED; 8]];
        match self {
            _ if unset.contains(&self.eui64) => Err(PageError::Value("EUI-64")),
            Identity { short: Some(FIRST_RESERVED..), .. } => {
                Err(PageError::Value("short address"))
            }
            Identity { pan_id: PanId::BROADCAST, .. } => Err(PageError::Value("PAN")),
            _ => Ok(()),
        }
    }

    /// Returns the configuration of the node, with the defaults of all layers. `draw` fills octets
    /// with random numbers of the chip: seed and TCP secret, which differ at each start.
    /// `first_counter` is that of [`Counters::first`](crate::Counters::first).
    pub fn config(&self, draw: impl FnMut(&mut [u8]), first_counter: u32) -> Config {
        let mut config = Config::new(self.short.unwrap_or(NO_SHORT), self.eui64, draw);
        config.mac.pan_id = self.pan_id;
        config.mac.channel = self.channel;
        let (key, eui64_prefix) = (self.key, EUI64_PREFIX);
        config.mac.security = Some(Security { key, eui64_prefix, first_counter });
        config
    }
}
