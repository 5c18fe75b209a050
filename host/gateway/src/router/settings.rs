//! `ROUTER.toml`: the configuration of a border router.
//!
//! ```toml
//! radio = "zep://[::1]:17754"
//!
//! [network]
//! name = "greenhouse"
//! prefix = "fd00:5::/64"
//! eui64 = "02:12:4b:00:00:00:00:0a"
//!
//! [tun]
//! address = "fd00:5:0:1::1/64"
//! ```
//!
//! The path of a file is relative to the directory of the configuration.

use super::devices::{Device, Flash};
use crate::tun::{self, LONGEST};
use core::net::Ipv6Addr;
use core::str::FromStr;
use kinglet::net::BorderPolicy;
use kinglet::rpl::Mode;
use kinglet::wire::ieee802154::{Address, PanId};
use kinglet::wire::sixlowpan::Context;
use kinglet_scenario::read::{Reader, Source};
use kinglet_scenario::{
    CONTEXTS, LinkAddresses, NO_SHORT, Objective, Prefix, Role, Routing, Scenario, ScenarioError,
};
use kinglet_zep::link::Link;
use kinglet_zep::settings;
use std::path::{Path, PathBuf};

/// The least MTU of IPv6 (RFC 8200, 5).
const LEAST_MTU: u16 = 1280;
/// A radio.
const RADIO: &str = "the radio, such as \"spinel+serial:/dev/ttyACM0?baud=460800\"";
/// PAN and channel unless given: those of RIOT's native boards and of `kinglet node`.
const PAN: u16 = 0x0023;
const CHANNEL: u8 = 26;
/// Time in milliseconds within which an acknowledgement has to arrive from another process.
const ACK_WAIT_MS: u16 = 5;

/// Configuration of a border router.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The radio.
    pub radio: Link,
    /// Longest delay of an acknowledgement after the end of its frame, in milliseconds.
    pub ack_wait_ms: u16,
    /// File with the key of link security ([`kinglet_zep::key`]); without one frames are not
    /// secured.
    pub key_file: Option<PathBuf>,
    /// Directory that keeps frame counters and RPL's version over restarts.
    pub state: Option<PathBuf>,
    /// File for the state of the network, rewritten as a whole every second.
    pub status: Option<PathBuf>,
    /// Name of the TUN device.
    pub tun: String,
    /// The network, whose only known node is the border router.
    pub network: Scenario,
    /// Flash of the devices that have the router's key.
    pub flash: Flash,
    /// These devices, as far as the file names them.
    pub devices: Vec<Device>,
}

impl Settings {
    /// Reads a file. `radio` takes the place of the one in it.
    ///
    /// # Errors
    /// The file cannot be read or has a mistake: file, line, column, key, and what is allowed.
    pub fn from_file(path: &Path, radio: Option<&Link>) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message = format!("cannot be read: {error}; give the path of a router file (TOML)");
            ScenarioError {
                file: path.to_path_buf(),
                position: None,
                field: String::new(),
                message,
                nearest: None,
                io: true,
            }
        })?;
        Settings::from_toml(path, &text, radio)
    }

    /// Reads a text; `file` is its name in messages, and its directory that of relative paths.
    ///
    /// # Errors
    /// As [`Settings::from_file`].
    pub fn from_toml(file: &Path, text: &str, radio: Option<&Link>) -> Result<Self, ScenarioError> {
        let source = Source { file, text };
        let document = source.document()?;
        let span = document.span();
        let mut top = Reader::new(source, document.get_ref(), span, String::new());
        let radio = match (parsed(&mut top, "radio")?, radio) {
            (_, Some(given)) => given.clone(),
            (Some(radio), None) => radio,
            (None, None) => return Err(top.missing("radio", RADIO)),
        };
        let ack_wait_ms = top.integer("ack_wait_ms", 1..=1_000, ACK_WAIT_MS.into())? as u16;
        let beside = |name: &str| file.parent().map_or(PathBuf::from(name), |dir| dir.join(name));
        let key_file = top.string_opt("key_file")?.map(beside);
        let state = top.string_opt("state")?.map(beside);
        if key_file.is_some() && state.is_none() {
            let what = "a directory, because `key_file` is given: link security needs one that \
                        keeps the frame counters over restarts";
            return Err(top.missing("state", what));
        }
        let status = top.string_opt("status")?.map(beside);
        let network = section(&mut top, "network")?;
        let (tun, address, mtu) = host_end(section(&mut top, "tun")?)?;
        let network = net(network, address, mtu)?;
        let flash = Flash::read(&mut top)?;
        let devices = Device::read_all(&mut top, &network)?;
        top.finish()?;
        Ok(Settings { radio, ack_wait_ms, key_file, state, status, tun, network, flash, devices })
    }
}

impl Settings {
    /// Returns the name of the router in the directory of its state.
    pub fn owner(&self) -> String {
        settings::Link(Address::Extended(self.network.addressing().eui64(self.network.root())))
            .to_string()
    }
}

/// Returns a table that has to be there.
fn section<'a>(top: &mut Reader<'a>, key: &'static str) -> Result<Reader<'a>, ScenarioError> {
    match top.table_opt(key)? {
        Some(table) => Ok(table),
        None => Err(top.missing(key, &format!("a section [{key}]"))),
    }
}

/// Returns the value of a key that has to be there; `what` describes it.
fn required<T: FromStr<Err = String>>(
    t: &mut Reader<'_>,
    key: &'static str,
    what: &str,
) -> Result<T, ScenarioError> {
    match parsed(t, key)? {
        Some(value) => Ok(value),
        None => Err(t.missing(key, what)),
    }
}

/// Returns the value of a string that has a form of its own, if it is there.
fn parsed<T: FromStr<Err = String>>(
    t: &mut Reader<'_>,
    key: &'static str,
) -> Result<Option<T>, ScenarioError> {
    let text = t.string_opt(key)?;
    text.map(|text| text.parse().map_err(|error| t.error_at(key, error))).transpose()
}

/// Returns name, address and MTU of the TUN device.
fn host_end(mut t: Reader<'_>) -> Result<(String, settings::Prefix, u16), ScenarioError> {
    let name = t.string_opt("name")?.unwrap_or("kinglet0").to_owned();
    if !tun::is_name(&name) {
        let most = tun::MAX_NAME;
        let message = format!(
            "\"{name}\" is not a name for a network device: 1 to {most} letters, digits, `-`, `_`, \
             `.`"
        );
        return Err(t.error_at("name", message));
    }
    let what = "this machine's address with its length, such as \"fd00:5:0:1::1/64\"";
    let address: settings::Prefix = required(&mut t, "address", what)?;
    let mtu = t.integer("mtu", LEAST_MTU.into()..=LONGEST as u64, LEAST_MTU.into())?;
    t.finish()?;
    Ok((name, address, mtu as u16))
}

/// Returns the network, behind which this machine has the address `host`.
fn net(mut t: Reader<'_>, host: settings::Prefix, mtu: u16) -> Result<Scenario, ScenarioError> {
    let mut network = Scenario::default().on_line(0, 0.0);
    for place in &mut network.nodes {
        place.role = Role::BorderRouter;
    }
    network.name = t.string_opt("name")?.unwrap_or("a network").to_owned();
    network.mac.pan_id = PanId(t.integer("pan", 0..=0xfffe, PAN.into())? as u16);
    network.radio.channel = t.integer("channel", 11..=26, CHANNEL.into())? as u8;
    network.radio.tx_power_dbm = t.number("power_dbm", -40.0..=30.0, 0.0)?;
    network.mac.security = None;
    // As leaves with the defaults of `kinglet::Config`, and those of OpenThread: they poll for each
    // frame.
    network.mac.indirect.burst = false;
    network.link_addresses = link_addresses(&mut t)?;
    let what = "the prefix of the nodes' addresses, such as \"fd00:5::/64\"";
    let mesh: settings::Prefix = required(&mut t, "prefix", what)?;
    if mesh.len != 64 || mesh.address.to_bits() as u64 != 0 {
        let message = format!("{}/{} is not a prefix of 64 bits", mesh.address, mesh.len);
        return Err(t.error_at("prefix", message + ", such as \"fd00:5::/64\""));
    }
    let prefix = Prefix::given(mesh.address, host.address, host.len);
    if prefix.mesh() == Prefix::given(host.address, host.address, 64).mesh() {
        let message = format!(
            "this machine's address {} is in it, so nodes would look for it on the air; give \
             [tun] an address of another /64",
            host.address
        );
        return Err(t.error_at("prefix", message));
    }
    network.prefix = prefix;
    network.net.mtu = mtu;
    network.net.border = BorderPolicy::Fair;
    routing(&mut t, &mut network)?;
    network.contexts = contexts(&mut t, &network)?;
    t.finish()?;
    Ok(network)
}

/// Returns the link addresses of the router.
fn link_addresses(t: &mut Reader<'_>) -> Result<LinkAddresses, ScenarioError> {
    let what = "the EUI-64 of the radio, such as \"02:12:4b:00:00:00:00:0a\"";
    let eui64: settings::Link = required(t, "eui64", what)?;
    let Address::Extended(eui64) = eui64.0 else {
        return Err(t.error_at("eui64", format!("not 64 bits; give {what}")));
    };
    let short = t.integer_opt("short", 0..=0xfffd)?;
    Ok(LinkAddresses::Given { short: short.map_or(NO_SHORT, |short| short as u16), eui64 })
}

fn routing(t: &mut Reader<'_>, network: &mut Scenario) -> Result<(), ScenarioError> {
    let protocols = [
        ("rpl", Routing::Rpl),
        ("mesh", Routing::Mesh),
        ("aodv", Routing::Aodv),
        ("static", Routing::Static),
    ];
    network.routing = t.choice("routing", &protocols, Routing::Rpl)?;
    let has_short =
        matches!(network.link_addresses, LinkAddresses::Given { short, .. } if short != NO_SHORT);
    if matches!(network.routing, Routing::Mesh | Routing::Aodv) && !has_short {
        let message = "its messages have short addresses; give the router `short = 1`".to_owned();
        return Err(t.error_at("routing", message));
    }
    network.mesh_addresses = network.routing == Routing::Mesh;
    if network.routing == Routing::Rpl {
        let modes = [("storing", Mode::Storing), ("non-storing", Mode::NonStoring)];
        network.rpl.mode = t.choice("rpl_mode", &modes, Mode::NonStoring)?;
        let objectives = [("mrhof", Objective::Mrhof), ("of0", Objective::Of0)];
        network.rpl.objective = t.choice("rpl_objective", &objectives, Objective::Mrhof)?;
        network.rpl.option = t.boolean("rpl_option", true)?;
    }
    // A node registers with the router, and gets its prefix and contexts from there.
    network.discovery = t.boolean("discovery", false)?;
    network.registration = network.discovery;
    Ok(())
}

/// Returns the 6LoWPAN contexts by their numbers. Without the key a mesh has those of its prefix
/// and of this machine's address, because its border router distributes them; other networks have
/// none.
fn contexts(
    t: &mut Reader<'_>,
    network: &Scenario,
) -> Result<Option<[Option<Context>; CONTEXTS]>, ScenarioError> {
    let given = t.has("contexts");
    let mut contexts = [None; CONTEXTS];
    let texts = t.strings("contexts")?;
    if let Some((_, span)) = texts.get(CONTEXTS) {
        let message = format!("there are {CONTEXTS} contexts at most");
        return Err(t.error_in("contexts", span.clone(), message));
    }
    for (place, (text, span)) in contexts.iter_mut().zip(texts) {
        let settings::Prefix { address: prefix, len } =
            text.parse().map_err(|error| t.error_in("contexts", span, error))?;
        *place = Some(Context { prefix, len });
    }
    Ok((given || network.routing != Routing::Mesh).then_some(contexts))
}

/// Returns the address of the border router in the network of these settings.
pub(crate) fn router_address(network: &Scenario) -> Ipv6Addr {
    network.addressing().address(network.root())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "radio = \"zep://127.0.0.1\"\n";
    const NETWORK: &str =
        "[network]\nprefix = \"fd00:5::/64\"\neui64 = \"02:12:4b:00:00:00:00:0a\"\n";
    const TUN: &str = "[tun]\naddress = \"fd00:5:0:1::1/64\"\n";

    fn read(text: &str) -> Result<Settings, String> {
        Settings::from_toml(Path::new("dir/r.toml"), text, None).map_err(|error| error.to_string())
    }

    #[test]
    fn omitted_settings_have_defaults() {
        let settings = read(&format!("{TOP}{NETWORK}{TUN}")).unwrap();
        let network = &settings.network;
        assert_eq!((settings.tun.as_str(), settings.ack_wait_ms), ("kinglet0", ACK_WAIT_MS));
        assert_eq!((network.mac.pan_id.0, network.radio.channel), (PAN, CHANNEL));
        assert_eq!((network.routing, network.rpl.mode), (Routing::Rpl, Mode::NonStoring));
        assert_eq!(network.contexts, Some([None; CONTEXTS]));
        assert!(!network.mac.indirect.burst);
        assert_eq!(router_address(network).to_string(), "fd00:5::12:4b00:0:a");
        assert_eq!(network.prefix.host().to_string(), "fd00:5:0:1::1");
    }

    #[test]
    fn given_settings_are_read() {
        let more = "short = 9\nrouting = \"mesh\"\npan = 7\nchannel = 11\n";
        let text = format!("status = \"now.json\"\n{TOP}{NETWORK}{more}{TUN}name = \"kl7\"\n");
        let settings = read(&text).unwrap();
        let network = &settings.network;
        assert_eq!((settings.tun.as_str(), network.radio.channel), ("kl7", 11));
        assert_eq!(settings.status.as_deref(), Some(Path::new("dir/now.json")));
        assert_eq!(router_address(network).to_string(), "fd00:5::ff:fe00:9");
        assert!(network.mesh_addresses && network.contexts.is_none());
        let text = format!("{TOP}{NETWORK}contexts = [\"fd00:5::/64\"]\n{TUN}");
        let contexts = read(&text).unwrap().network.contexts.unwrap();
        assert_eq!(contexts[0].map(|context| context.len), Some(64));
    }

    #[test]
    fn mistakes_are_reported_with_their_place_and_what_is_right() {
        let with = |more: &str| format!("{TOP}{NETWORK}{more}\n{TUN}");
        let cases = [
            (
                with("chanel = 26"),
                "r.toml:5:1: network.chanel: unknown key; did you mean `channel`?",
            ),
            (
                with("channel = 27"),
                "r.toml:5:11: network.channel: 27 is out of range; allowed are 11 to 26",
            ),
            (with("routing = \"rlp\""), "did you mean \"rpl\"?"),
            (with("routing = \"mesh\""), "network.routing: its messages have short addresses"),
            (
                with("contexts = [\"fd00::\"]"),
                "r.toml:5:13: network.contexts: \"fd00::\" is not a prefix",
            ),
            (
                format!("rado = \"\"\n{TOP}{NETWORK}{TUN}"),
                "rado: unknown key; did you mean `radio`?",
            ),
            (
                with("").replace("prefix =", "prefx ="),
                "r.toml:3:1: network.prefx: unknown key; did you mean `prefix`?",
            ),
            (with("").replace("[network]", "[netwrok]"), "netwrok: unknown key; did you mean"),
            (format!("{NETWORK}{TUN}"), "radio: missing; give the radio"),
            (format!("key_file = \"k\"\n{TOP}{NETWORK}{TUN}"), "state: missing; give a directory"),
            (format!("{TOP}{TUN}"), "network: missing; give a section [network]"),
            (format!("{TOP}{NETWORK}"), "tun: missing; give a section [tun]"),
            (format!("{TOP}{NETWORK}[tun]\n"), "tun.address: missing; give this machine's address"),
            (format!("{TOP}{NETWORK}{TUN}name = \"a/b\"\n"), "tun.name: \"a/b\" is not a name"),
            (format!("{TOP}{NETWORK}{TUN}mtu = 1279\n"), "allowed are 1280 to 2047"),
            (with("").replace("zep:", "zap:"), "r.toml:1:9: radio: \"zap://127.0.0.1\" is not"),
            (with("").replace("::/64", "::/63"), "is not a prefix of 64 bits"),
            (with("").replace("0:1::1", ":1"), "give [tun] an address of another /64"),
            (with("").replace("02:12", "2:12"), "is not a link address"),
            ("radio = ".to_owned(), "r.toml:1:"),
        ];
        for (text, says) in cases {
            let error = read(&text).unwrap_err();
            assert!(error.contains(says), "{text}\n{error}");
        }
    }
}
