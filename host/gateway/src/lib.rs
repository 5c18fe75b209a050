//! A simulated 802.15.4 network behind a Linux TUN device, in real time: `ping`, `curl` and any
//! other TCP/IPv6 program on this machine communicate with simulated motes, end to end, with the
//! kernel's own TCP on one side and Kinglet's on the other.
//!
//! | module | subject |
//! |---|---|
//! | [`bridge`] | the loop that synchronises virtual with real time and moves packets |
//! | [`network`] | a network of the lab as the bridge uses it |
//! | `port` | the connection of a computer to a node, and the line between them |
//! | [`router`] | a border router whose radio is not simulated |
//! | [`tun`] | the TUN devices, and help if the right to create one is missing |
//! | `link`, `netlink` | keep a device as configured |
//! | `serve` | the part that simulated network and border router share |
//! | `serial` | motes outside of the simulation, behind a serial line |
//! | `beyond` | external devices that share the simulated channel by ZEP |
//! | [`policy`] | packets that nodes have dropped because of their origin |
//! | [`status`] | the present state of each node |
//! | `stick` | state of a radio coprocessor |
//! | `look` | a snapshot of a network |
//! | [`show`] | announcement, live table, summary |
//! | `map` | a page with the nodes and their routes, rewritten every second |
//!
//! # Using it
//!
//! A scenario needs a border router (node 0 of a `line` or `grid`) and, to be of interest, web
//! servers: `[[flow]]` with `kind = "http-server"`. Creating a TUN device requires CAP_NET_ADMIN;
//! in a network namespace of one's own every user has it:
//!
//! ```text
//! $ unshare -rn bash
//! # kinglet gateway examples/gateway.toml &
//! three web servers in a line: 4 nodes in real time behind the TUN device kinglet0
//! this machine is fd6b:696e:676c:7401::1/48 there, MTU 1280
//!
//! node  hops  address                           answers
//!    0     0  fd6b:696e:676c:7400:0:ff:fe00:1   ping, services (border router)
//!    1     1  fd6b:696e:676c:7400:0:ff:fe00:2   ping, services, HTTP on port 80
//!    2     2  fd6b:696e:676c:7400:0:ff:fe00:3   ping, services, HTTP on port 80
//!    3     3  fd6b:696e:676c:7400:0:ff:fe00:4   ping, services, HTTP on port 80
//! […]
//! # ping -6 -c 3 fd6b:696e:676c:7400:0:ff:fe00:4
//! 64 bytes from fd6b:696e:676c:7400:0:ff:fe00:4: icmp_seq=1 ttl=61 time=31.3 ms
//! […]
//! # curl -g 'http://[fd6b:696e:676c:7400:0:ff:fe00:4]/'
//! <!doctype html><title>Mote 3</title><h1>Mote 3</h1><p>This page comes from a mote, […]
//! # time curl -g 'http://[fd6b:696e:676c:7400:0:ff:fe00:4]/bytes/200000' | sha256sum
//! e24bc62381f1224fbbb74688663f8f9743b9680b193edd666835e97b06e730eb  -
//! real    0m46.721s
//! ```
//!
//! Ctrl-C or SIGTERM ends it with a summary and exit code 0; the device disappears with the
//! program. SIGHUP reads the scenario again, and reports whether it has changed: nothing of it can
//! change while the network runs.
//!
//! Every mote has an echo, a sink and a source on TCP ports 7, 9 and 19, as far as the tables have
//! space for them. Flows of the scenario that end at its host (`to` is the number after the last
//! node's) send to this machine: their ports are announced, and a refused connection is tried again
//! after 1, 2, 4, … 60 s. Times of faults count from `ready`.
//!
//! # Custom applications
//!
//! [`run_with`] takes applications in addition to those of the scenario: any [`kinglet_apps::App`],
//! as in firmware. `examples/own_app.rs` is one of forty lines.
//!
//! # Network configuration
//!
//! The host has the address [`Prefix::host`] with a prefix of [`Prefix::LEN`] bits, which spans the
//! mesh's /64, so one address brings the only route that is needed. `--prefix` chooses another one;
//! a second gateway on this machine or in this network namespace needs it, and is refused without.
//! All motes have that address as a 6LoWPAN context of 128 bits: on the air it takes no octets. The
//! MTU is 1280 in both directions, unless the scenario has a larger one, so no host needs path MTU
//! discovery. Packets of up to 1500 octets may arrive as IPv6 fragments (a `ping -s 1400`), and the
//! response is fragmented too; longer ones are refused with a Parameter Problem. Packets that the
//! kernel sends by itself on a new interface (router solicitations, multicast listener reports) are
//! discarded; packets to a mote's address that does not exist are answered with "address
//! unreachable".
//!
//! # A computer at either end
//!
//! With `[tunnel]` in the scenario a second TUN device leads to the node that it names, and the
//! kernel behind it has that node's address: the traffic between two kernels crosses the network.
//! One machine runs both in two network namespaces; in a single one its kernel would answer itself.
//! The second device is created without an address, for its user to move; the announcement contains
//! the commands. `rate_kbps` gives both computers a serial line to their nodes, one packet at a
//! time in each direction. `examples/tunnel.toml` has ten duty-cycled hops.
//!
//! # Duty-cycled motes
//!
//! `examples/gateway-office.toml` is an office of fifteen nodes; four of them are sleepy leaves. If
//! the nodes discover their routes themselves (`routing = "mesh"`), they do so in virtual time
//! before the first output. On a terminal a table shows five times a second the state of each
//! radio, the share of the last minute and of all time in which it was on, the last and next poll
//! of a leaf, and the number of packets that wait for it at its parent; with `--json` the same is
//! in every line.
//!
//! A packet for a leaf waits until it polls: the first response takes up to the scenario's
//! `sleep_interval_s`. While a connection is open, or during a CoAP transfer, the leaf polls when a
//! response is expected.
//!
//! In `examples/gateway-asleep.toml` all nodes of that office are duty-cycled, including relays and
//! border router (`[wake]`). No node polls: a packet waits at each hop until the next one wakes.
//!
//! # Losses and flows
//!
//! A line reports each node that loses its parent, DODAG, default router, a registration, a child
//! or a neighbour, with the reasons that the node counted in the 10 to 20 s before; nodes are
//! checked every five seconds. With `--json` that is `"event":"lost"`, and every ten seconds and at
//! the end `"event":"flows"` has the records of the scenario's flows, in the form of
//! `kinglet sim --json`. This machine and a mote behind a serial line cannot be queried: values
//! that only they know are absent, including `state`.
//!
//! # The map
//!
//! `--map PAGE.html` maintains a page with every node at its position, its route to the border
//! router, its hops and its load, for static routes, the mesh and RPL alike. It is rewritten as a
//! whole every second, and a browser that has it open follows, unless its slider is at an earlier
//! instant. It contains the last ten minutes; with more than a hundred nodes, less. The page stays
//! when the gateway ends.
//!
//! # Time
//!
//! Virtual time equals wall-clock time. A machine that is too slow for the network falls behind,
//! and the lag is among the counters; nothing is skipped.

mod beyond;
pub mod bridge;
mod link;
mod look;
mod map;
mod netlink;
pub mod network;
pub mod policy;
mod port;
pub mod router;
mod serial;
mod serve;
pub mod show;
pub mod status;
mod stick;
pub mod tun;

use bridge::{BridgeStats, Observer};
use kinglet_network::capture::{Observations, write_profile};
use kinglet_network::profile::LabProfile;
use kinglet_scenario::{NodeId, Prefix, Scenario};
use kinglet_sim::Hosted;
use kinglet_sim::pcap::Pcap;
use kinglet_zep::air::Ends;
use kinglet_zep::key::KeyError;
use kinglet_zep::reload::Reloaded;
use kinglet_zep::state::{Kept, State, StateError};
use map::Map;
use network::Mesh;
use serve::{Caught, Here, Signals};
use show::{Devices, Notice, Output, Screen};
use std::fmt;
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use tokio::net::UnixStream;
use tokio::sync::mpsc::unbounded_channel;
use tun::{TunConfig, TunError};

/// Options in addition to the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// File of the scenario, which SIGHUP reads again.
    pub file: Option<PathBuf>,
    /// Nodes that are replaced by motes outside the simulation, and the Unix sockets of their
    /// serial lines.
    pub serial: Vec<(NodeId, PathBuf)>,
    /// External devices that share the channel by ZEP: the first at the first position of the
    /// scenario that is for external devices (`role = "outside"`), and so on.
    pub zep: Vec<Ends>,
    /// Name of the TUN device, at most 15 characters.
    pub tun: String,
    /// Name of the second device, at the far end of the scenario's tunnel; `None` is the name of
    /// the first and `-far`.
    pub far_tun: Option<String>,
    /// Prefix of the addresses of the network.
    pub prefix: Prefix,
    /// File for a capture of every frame on the air.
    pub pcap: Option<PathBuf>,
    /// File for a page that shows the nodes at their positions, their routes and their load.
    pub map: Option<PathBuf>,
    /// Directory that keeps frame counters and RPL's version over restarts, for devices outside of
    /// the simulation that remember them.
    pub state: Option<PathBuf>,
    /// Output format.
    pub output: Output,
}

/// A custom application, and the node that it runs on.
pub type OwnApp = (NodeId, Box<dyn Hosted<LabProfile>>);

/// Reason for which the gateway did not run, or has stopped.
#[derive(Debug)]
pub enum GatewayError {
    /// The scenario has no node with the role `border-router`.
    NoBorderRouter {
        /// The scenario's name.
        scenario: String,
    },
    /// The scenario uses a feature that the gateway does not support.
    Unsupported(String),
    /// The name is not valid for a network device.
    BadName {
        /// The option with the name.
        option: &'static str,
        /// The name.
        name: String,
    },
    /// A name for the second device is given, but there is no second device.
    NoTunnel {
        /// The scenario's name.
        scenario: String,
        /// The name.
        name: String,
    },
    /// A mote cannot be connected to this serial line; the text has the reason.
    Serial(String),
    /// The ZEP configuration is impossible; the text has the reason.
    Zep(String),
    /// This machine already has an address of the prefix.
    PrefixTaken {
        /// The prefix.
        prefix: Prefix,
        /// The device with that address.
        device: String,
        /// Settings that avoid it.
        instead: &'static str,
    },
    /// The map or the capture cannot be written; nothing was started.
    Output(String),
    /// The gateway ran, and these files are incomplete, each with the reason.
    Incomplete(Vec<String>),
    /// The device could not be created.
    Tun(TunError),
    /// The device cannot be kept as configured.
    Device {
        /// Its name.
        name: String,
        /// The reason, and the remedy.
        what: String,
    },
    /// The link to a radio has failed; the text has the reason.
    Radio(String),
    /// The key cannot be read, or may not be used.
    Key(KeyError),
    /// The directory of the state is unusable.
    State(StateError),
    /// The device, the runtime or the signal handlers failed.
    Io(io::Error),
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GatewayError::NoBorderRouter { scenario } => write!(
                f,
                "the scenario \"{scenario}\" has no border router to connect the host \
                 to: give one [[node]] `role = \"border-router\"`"
            ),
            GatewayError::Unsupported(what) => {
                write!(f, "the gateway cannot run this scenario: {what}")
            }
            GatewayError::BadName { option, name } => write!(
                f,
                "\"{name}\" is not a name for a network device: 1 to {} letters, digits, `-`, \
                 `_`, `.`; give another one with {option} NAME",
                tun::MAX_NAME
            ),
            GatewayError::NoTunnel { scenario, name } => write!(
                f,
                "--far-tun {name}: the scenario \"{scenario}\" has no tunnel for that \
                 device: give it `[tunnel]` with `node = …`"
            ),
            GatewayError::Tun(error) => error.fmt(f),
            GatewayError::Serial(what) | GatewayError::Zep(what) => f.write_str(what),
            GatewayError::PrefixTaken { prefix, device, instead } => write!(
                f,
                "this machine has {prefix} on the device {device} already: another gateway runs \
                 here; stop it, or give this one a prefix and a device of its own, such as \
                 {instead}"
            ),
            GatewayError::Device { name, what } => write!(f, "the TUN device {name}: {what}"),
            GatewayError::Radio(what) => write!(f, "the radio: {what}"),
            GatewayError::Key(error) => error.fmt(f),
            GatewayError::State(error) => error.fmt(f),
            GatewayError::Output(what) => f.write_str(what),
            GatewayError::Incomplete(files) => f.write_str(&files.join("; ")),
            GatewayError::Io(error) => write!(f, "the gateway failed: {error}"),
        }
    }
}

impl std::error::Error for GatewayError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            GatewayError::Tun(error) => Some(error),
            GatewayError::Io(error) => Some(error),
            GatewayError::Key(error) => Some(error),
            GatewayError::State(error) => Some(error),
            GatewayError::NoBorderRouter { .. }
            | GatewayError::Serial(_)
            | GatewayError::Zep(_)
            | GatewayError::PrefixTaken { .. }
            | GatewayError::Output(_)
            | GatewayError::Incomplete(_)
            | GatewayError::Unsupported(_)
            | GatewayError::NoTunnel { .. }
            | GatewayError::Device { .. }
            | GatewayError::Radio(_)
            | GatewayError::BadName { .. } => None,
        }
    }
}

impl From<io::Error> for GatewayError {
    fn from(error: io::Error) -> Self {
        GatewayError::Io(error)
    }
}

/// Runs `scenario` behind a TUN device, or between two, until SIGINT (Ctrl-C) or SIGTERM, which is
/// a successful end; SIGHUP reads its file again. The scenario's duration is ignored here. Its seed
/// is used for the topology only: secrets and first sequence numbers differ from run to run, so
/// that nodes outside of the simulation notice a restart. The times of its faults count from
/// `ready`.
///
/// # Errors
/// [`GatewayError`]
pub fn run(scenario: &Scenario, options: &Options) -> Result<(), GatewayError> {
    run_with(scenario, options, Vec::new())
}

/// The same with custom applications in addition to those of the scenario (`examples/own_app.rs`).
///
/// # Errors
/// [`GatewayError`]
pub fn run_with(
    scenario: &Scenario,
    options: &Options,
    apps: Vec<OwnApp>,
) -> Result<(), GatewayError> {
    let names = names(scenario, options)?;
    let source = options.file.as_deref().map(|file| (file, scenario));
    let scenario = Scenario { prefix: options.prefix, ..scenario.clone() };
    check_prefix(scenario.prefix, "--prefix fd00:1:2::/48 --tun kinglet1")?;
    if let Some(path) = &options.map {
        map::check(path).map_err(|error| map_error(path, &error))?;
    }
    let owner = format!("the gateway of {}", scenario.prefix);
    let state = options.state.as_deref().map(|directory| State::open(directory, &owner));
    let state = state.transpose().map_err(GatewayError::State)?;
    let scenario = match &state {
        Some(state) => after(scenario, state.kept()),
        None => scenario,
    };
    let mut mesh = Mesh::with_life(&scenario, new_life(), &options.zep)?;
    if let Some(state) = state {
        mesh.keep_in(state).map_err(GatewayError::State)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(source, &scenario, &mut mesh, options, names, apps))
}

/// Returns the scenario for a life after the one that has kept this.
fn after(mut scenario: Scenario, kept: Kept) -> Scenario {
    if let Some(security) = &mut scenario.mac.security {
        security.first_counter = kept.frame_counter;
    }
    scenario.rpl.sequence = kept.rpl;
    scenario
}

/// Refuses a prefix of which this machine has an address; `instead` are settings with another one.
fn check_prefix(prefix: Prefix, instead: &'static str) -> Result<(), GatewayError> {
    match tun::holder(prefix) {
        Some(device) => Err(GatewayError::PrefixTaken { prefix, device, instead }),
        None => Ok(()),
    }
}

/// Returns a seed that differs from run to run.
fn new_life() -> u64 {
    // The standard library seeds its hashes by the system's random numbers.
    std::hash::RandomState::new().hash_one(std::process::id())
}

/// Returns the names of the devices: the one at the border router, and the one at the far end of a
/// tunnel, if there is one.
fn names(scenario: &Scenario, options: &Options) -> Result<(String, Option<String>), GatewayError> {
    let usable = |option: &'static str, name: String| match tun::is_name(&name) {
        true => Ok(name),
        false => Err(GatewayError::BadName { option, name }),
    };
    let first = usable("--tun", options.tun.clone())?;
    let far = match (scenario.tunnel, options.far_tun.clone()) {
        (None, None) => None,
        (None, Some(name)) => {
            return Err(GatewayError::NoTunnel { scenario: scenario.name.clone(), name });
        }
        (Some(_), given) => Some(given.unwrap_or_else(|| format!("{first}-far"))),
    };
    Ok((first, far.map(|name| usable("--far-tun", name)).transpose()?))
}

/// Returns the configuration of the device for the computer at the far end of a tunnel, where it
/// has the node's address.
fn far_config(scenario: &Scenario, name: Option<String>) -> Option<TunConfig> {
    let (node, name) = (scenario.tunnel?.node, name?);
    Some(device(scenario, name, scenario.addressing().address(node)))
}

fn device(scenario: &Scenario, name: String, address: core::net::Ipv6Addr) -> TunConfig {
    let (prefix_len, mesh) = (scenario.prefix.host_len(), scenario.prefix.mesh());
    TunConfig { name, address, prefix_len, mesh, mtu: scenario.net.mtu }
}

async fn serve(
    source: Option<(&Path, &Scenario)>,
    scenario: &Scenario,
    mesh: &mut Mesh,
    options: &Options,
    (name, far_name): (String, Option<String>),
    apps: Vec<OwnApp>,
) -> Result<(), GatewayError> {
    // Before the first output, so that a signal right after it ends the program cleanly.
    let mut signals = Signals::new()?;
    for (node, path) in &options.serial {
        let line = UnixStream::connect(path).await.map_err(|error| {
            let path = path.display();
            let what = format!("cannot open the serial line of node {node}, {path}: {error}");
            GatewayError::Serial(what + "; is the mote's socket there?")
        })?;
        mesh.attach(*node, line)?;
    }
    for (node, app) in apps {
        mesh.add(node, app)?;
    }
    let config = device(scenario, name, scenario.prefix.host());
    let mut here = Here::create(&config, tun::GATEWAY).await?;
    let far_config = far_config(scenario, far_name);
    let far = far_config.as_ref().map(tun::create_to_move).transpose();
    let far = far.map_err(GatewayError::Tun)?;
    let capture = options.pcap.as_deref().map(|path| capture(scenario, mesh, path)).transpose()?;
    let map = options
        .map
        .as_deref()
        .map(|path| Map::create(path, scenario, mesh).map_err(|error| map_error(path, &error)));
    let (notices, noticed) = channel();
    let screen = Screen::new(options.output, noticed);
    let mut watchers = Watchers { screen, map: map.transpose()? };
    let reading = capture.as_ref().and_then(|(_, command)| command.as_deref());
    let devices = Devices { border: &config, far: far_config.as_ref() };
    watchers.screen.ready(&scenario.name, mesh, devices, reading);
    let interval = watchers.screen.interval();
    let stop = async {
        while signals.next().await != Caught::End {
            let read = source.map(|(file, running)| read_again(file, running));
            // The screen lives as long as this loop.
            let _ = read.map(|read| notices.send(Notice::of_reload(read)));
        }
    };
    let watched = (interval, &mut watchers);
    // The configuration of its device does not change.
    let (_, configs) = unbounded_channel();
    let stats = here.serve(mesh, far.as_ref(), watched, (&notices, configs), stop).await?;
    watchers.screen.summary(mesh, &stats);
    let mut incomplete = Vec::new();
    if let (Some(map), Some(path)) = (watchers.map, &options.map)
        && let Err(error) = map.end(mesh)
    {
        incomplete.push(map_error(path, &error).to_string());
    }
    // This writes the end of the capture.
    mesh.set_pcap(None);
    let failures = capture.iter().flat_map(|(failures, _)| failures.try_iter());
    incomplete.extend(failures.map(|failure| format!("the capture: {failure}")));
    if incomplete.is_empty() { Ok(()) } else { Err(GatewayError::Incomplete(incomplete)) }
}

/// Reads the file of a running scenario again.
fn read_again(file: &Path, running: &Scenario) -> Reloaded {
    match Scenario::from_file(file) {
        Ok(new) if new == *running => Reloaded::of(file, &[], &[]),
        Ok(_) => Reloaded::of(file, &[], &["the scenario, which is another one now"]),
        Err(error) => Reloaded::refused(&error),
    }
}

fn map_error(path: &Path, error: &io::Error) -> GatewayError {
    GatewayError::Output(format!("the map: {}: {error}", path.display()))
}

/// Periodic observers of the network.
struct Watchers {
    screen: Screen,
    map: Option<Map>,
}

impl Observer<Mesh> for Watchers {
    fn report(&mut self, mesh: &mut Mesh, stats: &BridgeStats) {
        self.screen.report(mesh, stats);
        if let Some(map) = &mut self.map {
            map.follow(mesh);
        }
    }
}

/// Starts the capture. The receiver gets its failure; the text is the command that reads it.
fn capture(
    scenario: &Scenario,
    mesh: &mut Mesh,
    path: &Path,
) -> Result<(Receiver<String>, Option<String>), GatewayError> {
    let failed = |what: String| GatewayError::Output(format!("the capture: {what}"));
    let named = |error: io::Error| failed(format!("{}: {error}", path.display()));
    let (sender, failures) = channel();
    let file = Observations::create(path, sender).map_err(named)?;
    mesh.set_pcap(Some(Pcap::new(Box::new(file)).map_err(named)?));
    let reading = write_profile(scenario, path).map_err(|files| failed(files.join("; ")))?;
    Ok((failures, reading))
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
