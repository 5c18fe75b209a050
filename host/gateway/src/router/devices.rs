//! The sections `[flash]` and `[[node]]` of `ROUTER.toml`: the devices of the network, for
//! `kinglet commission`. A router needs neither.
//!
//! ```toml
//! [flash]
//! page = 0x000f_f000
//!
//! [[node]]
//! name = "bed-1"
//! eui64 = "02:12:4b:00:00:00:00:11"
//! short = 17
//! ```

use core::ops::Range;
use kinglet::radio::{Channel, Key};
use kinglet::wire::ieee802154::Address;
use kinglet_identity::Identity;
use kinglet_scenario::read::Reader;
use kinglet_scenario::{LinkAddresses, NO_SHORT, Routing, Scenario, ScenarioError};
use kinglet_zep::settings;

/// Flash in which devices keep their identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Address of the page, a multiple of [`Flash::ALIGNMENT`].
    pub page: u32,
    /// The family identifier of UF2 files, which a bootloader compares with its own.
    pub family: u32,
}

impl Flash {
    /// A UF2 block has so many octets of flash.
    pub const ALIGNMENT: u32 = 256;
    /// Families by name, of Microsoft's `uf2families.json`.
    const FAMILIES: [(&str, u32); 3] =
        [("nrf52840", 0xADA5_2840), ("nrf52833", 0x621E_937A), ("rp2040", 0xE48B_FF56)];
    /// The page before the settings of the nRF52840's usual bootloader, which has the last 48 KiB
    /// of a megabyte.
    pub const DEFAULT: Flash = Flash { page: 0x000F_3000, family: Self::FAMILIES[0].1 };

    pub(super) fn read(top: &mut Reader<'_>) -> Result<Flash, ScenarioError> {
        let Some(mut t) = top.table_opt("flash")? else { return Ok(Flash::DEFAULT) };
        let last = u64::from(u32::MAX - Flash::ALIGNMENT + 1);
        let page = t.integer("page", 0..=last, Flash::DEFAULT.page.into())? as u32;
        if !page.is_multiple_of(Flash::ALIGNMENT) {
            let message = format!("{page:#x} is not a multiple of {}", Flash::ALIGNMENT);
            return Err(t.error_at("page", message + ", as a page of flash is"));
        }
        let family = t.choice("family", &Flash::FAMILIES, Flash::DEFAULT.family)?;
        t.finish()?;
        Ok(Flash { page, family })
    }
}

/// A device of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name, which its files have.
    pub name: String,
    eui64: [u8; 8],
    short: Option<u16>,
}

impl Device {
    /// Returns its identity in a network with this key.
    pub fn identity(&self, network: &Scenario, key: Key) -> Identity {
        let Device { eui64, short, .. } = *self;
        let channel = Channel::new(network.radio.channel).unwrap_or_default();
        Identity { eui64, short, pan_id: network.mac.pan_id, channel, key }
    }

    /// Reads all devices. No two of them, and none and the router, have the same name or address.
    pub(super) fn read_all(
        top: &mut Reader<'_>,
        network: &Scenario,
    ) -> Result<Vec<Device>, ScenarioError> {
        let mut all: Vec<Device> = Vec::new();
        let router = match network.link_addresses {
            LinkAddresses::Given { short, eui64 } => Device {
                name: "the router".into(),
                eui64,
                short: (short != NO_SHORT).then_some(short),
            },
            _ => return Ok(all),
        };
        for mut t in top.tables("node")? {
            let device = Device::read(&mut t, network)?;
            for other in all.iter().chain([&router]) {
                let same = [
                    ("name", device.name == other.name),
                    ("eui64", device.eui64 == other.eui64),
                    ("short", device.short.is_some() && device.short == other.short),
                ];
                if let Some((key, _)) = same.iter().find(|(_, same)| *same) {
                    let message = format!("{} has the same; each device has its own", other.name);
                    return Err(t.error_at(key, message));
                }
            }
            t.finish()?;
            all.push(device);
        }
        Ok(all)
    }

    fn read(t: &mut Reader<'_>, network: &Scenario) -> Result<Device, ScenarioError> {
        let Some(name) = t.string_opt("name")? else {
            return Err(t.missing("name", "a name for the device's files, such as \"bed-1\""));
        };
        if !is_name(name) {
            let Range { start, end } = NAME_LEN;
            let message = format!(
                "\"{name}\" is not a name for files: {start} to {} letters, digits, `-`, `_`",
                end - 1
            );
            return Err(t.error_at("name", message));
        }
        let what = "the EUI-64 of the device, such as \"02:12:4b:00:00:00:00:11\"";
        let Some(text) = t.string_opt("eui64")? else { return Err(t.missing("eui64", what)) };
        let link: settings::Link = text.parse().map_err(|error| t.error_at("eui64", error))?;
        let Address::Extended(eui64) = link.0 else {
            return Err(t.error_at("eui64", format!("not 64 bits; give {what}")));
        };
        let short = t.integer_opt("short", 0..=0xfffd)?.map(|short| short as u16);
        if matches!(network.routing, Routing::Mesh | Routing::Aodv) && short.is_none() {
            let what = "a short address, which messages of this routing protocol have";
            return Err(t.missing("short", what));
        }
        let device = Device { name: name.to_owned(), eui64, short };
        // Only the EUI-64 can still be wrong.
        let wrong = device.identity(network, Key([0; 16])).write().err();
        match wrong {
            Some(error) => Err(t.error_at("eui64", error.to_string())),
            None => Ok(device),
        }
    }
}

/// Lengths of a name.
const NAME_LEN: Range<usize> = 1..33;

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    NAME_LEN.contains(&name.len()) && name.chars().all(fits)
}
