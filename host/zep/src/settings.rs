//! `NODE.toml`: the configuration of one node.
//!
//! ```
//! let text = r#"
//! extended = "02:00:00:ff:fe:00:00:05" # EUI-64; the link-local address follows from it
//! pan = 0x0023                         # RIOT's; channel 26 unless said
//! addresses = ["fd00:1::5/64"]
//! neighbour = [{ address = "fd00:1::9", link = "9e:e1:9f:02:01:5a:f2:03" }]
//! route = [{ to = "::/0", via = "9e:e1:9f:02:01:5a:f2:03" }]
//! "#;
//! let settings: kinglet_zep::settings::Settings = toml::from_str(text)?;
//! assert_eq!(settings.addresses.len(), 1);
//! # Ok::<(), toml::de::Error>(())
//! ```

use core::net::Ipv6Addr;
use core::str::FromStr;
use kinglet::net::NextHop;
use kinglet::wire::ieee802154;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// A node. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Its EUI-64, eight octets in hexadecimal digits with colons between them.
    pub extended: Link,
    /// Its short address, 0 to 0xFFFD; without one its frames have the EUI-64.
    pub short: Option<u16>,
    /// The PAN; by default 0x0023, as in RIOT.
    #[serde(default = "riot_pan")]
    pub pan: u16,
    /// The channel, 11 to 26; by default 26.
    #[serde(default = "riot_channel")]
    pub channel: u8,
    /// The file with the key of link security ([`crate::key`]); none unless set. A relative path
    /// begins in the directory of the settings.
    pub key_file: Option<PathBuf>,
    /// Longest delay of an acknowledgement after the end of its frame, in milliseconds; 5 unless
    /// set, because it comes from another process.
    #[serde(default = "ack_wait")]
    pub ack_wait_ms: u16,
    /// Enables forwarding; off unless set here or implied by one of the next two.
    #[serde(default)]
    pub forward: bool,
    /// Its role in neighbour discovery; none unless set, or that of every node of RPL.
    #[serde(default)]
    pub discovery: Discovery,
    /// Its role in RPL; none unless set.
    pub rpl: Option<Rpl>,
    /// Own addresses in addition to the link-local ones, each with its prefix length.
    #[serde(default)]
    pub addresses: Vec<Prefix>,
    /// 6LoWPAN contexts (RFC 6282 §3.1.2).
    #[serde(default)]
    pub context: Vec<Context>,
    /// Neighbours whose link address does not follow from their IPv6 address.
    #[serde(default)]
    pub neighbour: Vec<Neighbour>,
    /// Static routes.
    #[serde(default)]
    pub route: Vec<Route>,
}

const fn riot_pan() -> u16 {
    0x0023
}

const fn riot_channel() -> u8 {
    26
}

const fn ack_wait() -> u16 {
    5
}

/// Role of a node in neighbour discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discovery {
    /// None: link addresses follow from IPv6 addresses and `neighbour`.
    #[default]
    Off,
    /// It answers Neighbor Solicitations for its link address, and sends its own (RFC 4861).
    Neighbour,
    /// It gets addresses, contexts and a default router from routers, and registers with one (RFC
    /// 6775, RFC 8505).
    Host,
    /// It serves neighbouring hosts, with the information from a border router.
    Router,
    /// It serves hosts, and defines for all nodes the prefix, that of its first address, and the
    /// contexts.
    BorderRouter,
}

/// Configuration of RPL (RFC 6550) on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rpl {
    /// Its role.
    pub role: RplRole,
    /// A root's objective function; by default OF0, as in RIOT.
    #[serde(default)]
    pub objective: Objective,
    /// A root's mode; by default storing, as in RIOT.
    #[serde(default)]
    pub mode: Mode,
    /// The RPL instance, 0 to 127. By default a root has 0 and other nodes join the one that is
    /// advertised.
    #[serde(default)]
    pub instance: Option<u8>,
    /// Adds RPL's option to packets; off unless set, as in RIOT.
    #[serde(default)]
    pub option: bool,
}

/// A role in RPL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RplRole {
    /// It has a parent.
    Leaf,
    /// It forwards packets of other nodes.
    Router,
    /// Its first address is the DODAG's.
    Root,
}

/// An objective function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The fewest hops (RFC 6552).
    #[default]
    Of0,
    /// The fewest transmissions (RFC 6719).
    Mrhof,
}

/// Storage of downward routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// In the routing tables of the routers.
    #[default]
    Storing,
    /// By source routes from the root.
    NonStoring,
}

/// A 6LoWPAN context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// Its number, 0 to 15.
    pub id: u8,
    /// The prefix that it stands for.
    pub prefix: Prefix,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// Its IPv6 address.
    pub address: Ipv6Addr,
    /// Its link address.
    pub link: Link,
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destination.
    pub to: Prefix,
    /// The next hop: a neighbour, or `"on-link"`.
    pub via: Via,
}

/// A link address: an EUI-64 as "02:00:00:ff:fe:00:00:05", or a short address as "0x0005".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Link(pub ieee802154::Address);

/// A next hop: a link address, or "on-link".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Via(pub NextHop);

/// A prefix, or an address with the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Prefix {
    /// The whole address.
    pub address: Ipv6Addr,
    /// Length of the prefix in bits, 0 to 128.
    pub len: u8,
}

impl FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = match text.strip_prefix("0x") {
            Some(digits) => u16::from_str_radix(digits, 16).ok().map(ieee802154::Address::Short),
            None => extended(text).map(ieee802154::Address::Extended),
        };
        address.filter(|address| address.is_unicast()).map(Link).ok_or_else(|| {
            format!(
                "\"{text}\" is not a link address, such as \"02:00:00:ff:fe:00:00:05\" or \
                     \"0x0005\""
            )
        })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ieee802154::Address::None => f.write_str("none"),
            ieee802154::Address::Short(short) => write!(f, "0x{short:04x}"),
            ieee802154::Address::Extended(octets) => {
                f.write_str(&octets.map(|octet| format!("{octet:02x}")).join(":"))
            }
        }
    }
}

fn extended(text: &str) -> Option<[u8; 8]> {
    let octet = |part: &str| (part.len() == 2).then(|| u8::from_str_radix(part, 16).ok())?;
    let octets: Option<Vec<u8>> = text.split(':').map(octet).collect();
    octets?.try_into().ok()
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on-link" => Ok(Via(NextHop::OnLink)),
            _ => Link::from_str(text)
                .map(|link| Via(NextHop::Link(link.0)))
                .map_err(|error| format!("{error} or \"on-link\"")),
        }
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(address, len)| {
            let len = len.parse().ok().filter(|&len| len <= 128)?;
            Some(Prefix { address: address.parse().ok()?, len })
        });
        parts.ok_or_else(|| format!("\"{text}\" is not a prefix, such as \"fd00:1::5/64\""))
    }
}

impl TryFrom<String> for Link {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for Via {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for Prefix {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// The reason for rejecting the settings.
#[derive(Debug)]
pub struct SettingsError {
    /// The file, the error and its position.
    pub message: String,
    /// True if the file cannot be read; otherwise its content is invalid.
    pub io: bool,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or its content is invalid: with file, line and field.
    pub fn from_file(path: &Path) -> Result<Self, SettingsError> {
        let failed = |io, why: &dyn fmt::Display| {
            let why = why.to_string();
            SettingsError { message: format!("{}: {}", path.display(), why.trim_end()), io }
        };
        let text = std::fs::read_to_string(path).map_err(|error| failed(true, &error))?;
        let mut settings: Settings =
            toml::from_str(&text).map_err(|error| failed(false, &error))?;
        if let (Some(key), Some(directory)) = (&mut settings.key_file, path.parent()) {
            *key = directory.join(&*key);
        }
        settings.check().map_err(|error| failed(false, &error))?;
        Ok(settings)
    }

    /// Returns its name in the directory of its state.
    pub fn owner(&self) -> String {
        self.extended.to_string()
    }

    /// Checks the constraints that the types do not express.
    fn check(&self) -> Result<(), String> {
        if !matches!(self.extended.0, ieee802154::Address::Extended(_)) {
            return Err("extended: not an EUI-64, such as \"02:00:00:ff:fe:00:00:05\"".to_owned());
        }
        if let Some(short) = self.short.filter(|&short| short > 0xfffd) {
            return Err(format!(
                "short: 0x{short:04x} is not an address of one device, 0 to 0xfffd"
            ));
        }
        if !(11..=26).contains(&self.channel) {
            return Err(format!("channel: {} is not in 11 to 26", self.channel));
        }
        // RFC 6550, 5.1: instances above that are local ones.
        let instance = self.rpl.and_then(|rpl| rpl.instance);
        if let Some(instance) = instance.filter(|&instance| instance > 127) {
            return Err(format!("rpl.instance: {instance} is not in 0 to 127"));
        }
        let leads = matches!(self.rpl, Some(Rpl { role: RplRole::Root, .. }))
            || self.discovery == Discovery::BorderRouter;
        if leads && self.addresses.first().is_none_or(|own| own.len != 64) {
            let why = "a root or border router needs one with a prefix of 64 bits, which all \
                       nodes get";
            return Err(format!("addresses: {why}"));
        }
        if let Some(context) = self.context.iter().find(|context| context.id > 15) {
            return Err(format!("context: {} is not in 0 to 15", context.id));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet::wire::ieee802154::Address;

    const LEAST: &str = "extended = \"02:00:00:ff:fe:00:00:05\"\n";

    fn read(more: &str) -> Result<Settings, String> {
        let settings: Settings =
            toml::from_str(&format!("{LEAST}{more}")).map_err(|e| e.to_string())?;
        settings.check().map(|()| settings)
    }

    #[test]
    fn omitted_settings_are_those_of_riot() {
        let settings = read("").unwrap();
        assert_eq!((settings.pan, settings.channel, settings.ack_wait_ms), (0x23, 26, 5));
        let own = Address::Extended([2, 0, 0, 0xff, 0xfe, 0, 0, 5]);
        assert_eq!((settings.extended, settings.short), (Link(own), None));
    }

    #[test]
    fn given_settings_are_read() {
        let settings = read(
            "short = 5\nroute = [{ to = \"::/0\", via = \"0x0001\" }, { to = \"fd00::/64\", via = \
             \"on-link\" }]\ncontext = [{ id = 1, prefix = \"fd00::/64\" }]",
        );
        let settings = settings.unwrap();
        let vias: Vec<_> = settings.route.iter().map(|route| route.via.0).collect();
        assert_eq!(vias, [NextHop::Link(Address::Short(1)), NextHop::OnLink]);
        assert_eq!(settings.context[0].prefix.len, 64);
    }

    #[test]
    fn rpl_is_as_riot_has_it_unless_said() {
        let settings = read("discovery = \"host\"\nrpl = { role = \"leaf\" }").unwrap();
        let (role, objective, mode) = (RplRole::Leaf, Objective::Of0, Mode::Storing);
        let (instance, option) = (None, false);
        assert_eq!(settings.rpl, Some(Rpl { role, objective, mode, instance, option }));
        assert_eq!(settings.discovery, Discovery::Host);
        let settings = read("rpl = { role = \"router\", instance = 30 }").unwrap();
        assert_eq!(settings.rpl.unwrap().instance, Some(30));
    }

    #[test]
    fn mistakes_are_reported_with_their_place() {
        for (more, says) in [
            ("chanel = 26", "line 2"),
            ("chanel = 26", "unknown field `chanel`"),
            ("addresses = [\"fd00::5\"]", "\"fd00::5\" is not a prefix, such as \"fd00:1::5/64\""),
            ("addresses = [\"fd00::5/129\"]", "not a prefix"),
            ("channel = 27", "channel: 27 is not in 11 to 26"),
            ("short = 0xfffe", "short: 0xfffe is not an address of one device"),
            ("route = [{ to = \"::/0\", via = \"5\" }]", "or \"on-link\""),
            ("neighbour = [{ address = \"fe80::1\", link = \"2:0:0:0:0:0:0:1\" }]", "link address"),
            ("context = [{ id = 16, prefix = \"::/0\" }]", "context: 16"),
            ("discovery = \"border-router\"", "addresses: a root or border router needs one"),
            ("rpl = { role = \"root\" }", "addresses: a root or border router needs one"),
            ("rpl = { role = \"leaf\", instance = 128 }", "rpl.instance: 128 is not in 0"),
            ("discovery = \"hosts\"", "unknown variant `hosts`"),
        ] {
            let error = read(more).unwrap_err();
            assert!(error.contains(says), "{more}: {error}");
        }
    }
}
