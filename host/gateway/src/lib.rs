//! A simulated 802.15.4 network behind a Linux TUN device, in real time: `ping`, `curl` and
//! anything else that speaks TCP/IPv6 on this machine talk to simulated motes, end to end, with the
//! kernel's own TCP on one side and Kinglet's on the other.
//!
//! | module | subject |
//! |---|---|
//! | [`bridge`] | the loop that ties virtual to real time and moves packets |
//! | [`network`] | a network of the lab as the bridge sees it |
//! | `port` | where a computer is joined to a node, and the line between them |
//! | [`tun`] | the TUN devices, and what to do without the right to create one |
//! | `serial` | motes outside of the simulation, behind a serial line |
//! | `beyond` | others who share the simulated air by ZEP |
//! | [`policy`] | what nodes have dropped by a rule about origins |
//! | [`status`] | what each node is doing |
//! | [`show`] | announcement, live table, summary |
//! | `map` | a page with the nodes at their places and their ways, written anew every second |
//!
//! # Using it
//!
//! A scenario needs a border router (node 0 of a `line` or `grid`) and, to be of interest, web
//! servers: `[[flow]]` with `kind = "http-server"`. Creating a TUN device takes CAP_NET_ADMIN; in a
//! network namespace of one's own everybody has it:
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
//! Ctrl-C, SIGTERM or SIGHUP ends it with a summary and exit code 0; the device goes with the
//! program.
//!
//! Every mote has an echo, a sink and a source on TCP ports 7, 9 and 19, as far as tables have room
//! for them. Flows of the scenario that end at its host (`to` is the number after the last node's)
//! send to this machine: their ports are announced, and a connection that is refused is tried again
//! after 1, 2, 4, … 60 s. Faults happen at their times after `ready`.
//!
//! # One's own application
//!
//! [`run_with`] takes applications beside those of the scenario: anything that is a
//! [`kinglet_apps::App`], as firmware has it. `examples/own_app.rs` is one of forty lines.
//!
//! # How it is connected
//!
//! The host has the address [`Prefix::host`] with a prefix of [`Prefix::LEN`] bits, which spans the
//! mesh's /64, so one address brings the only route that is needed. `--prefix` chooses another one;
//! a second gateway of this machine or network namespace needs it, and is refused without. All
//! motes know that address as a 6LoWPAN context of 128 bits: on the air it takes no octets. The MTU
//! is 1280 both ways, unless the scenario says more, which no host has to discover. Packets of up
//! to 1500 octets may come in fragments of IPv6 (a `ping -s 1400`), and are answered so; longer
//! ones are refused with a Parameter Problem. What the kernel says by itself on a new interface
//! (router solicitations, multicast listener reports) is discarded; a mote's address that does not
//! exist is answered with "address unreachable".
//!
//! # A computer at either end
//!
//! With `[tunnel]` in the scenario a second TUN device leads to the node that it names, and the
//! kernel behind it has that node's address: what two kernels say to each other crosses the
//! network. One machine has two in two network namespaces; in one its kernel would answer itself.
//! The second device is made without an address, for its user to move; the announcement has the
//! commands. `rate_kbps` gives both computers a serial line to their nodes, one packet at a time
//! each way. `examples/tunnel.toml` has ten hops that sleep.
//!
//! # Motes that sleep
//!
//! `examples/gateway-office.toml` is an office of fifteen nodes, four of which are leaves that
//! sleep. If the nodes find their ways themselves (`routing = "mesh"`), they do so in virtual time
//! before the first word. On a terminal a table shows five times a second what each radio does,
//! what share of the last minute and of all time it was on, when a leaf has asked its parent and
//! when it will ask next, and how many packets wait for it there; with `--json` the same is in
//! every line.
//!
//! What comes for a leaf waits until it asks: the first answer takes up to the scenario's
//! `sleep_interval_s`. While a connection is open, or a CoAP transfer goes on, the leaf asks when
//! something is due.
//!
//! In `examples/gateway-asleep.toml` everybody in that office sleeps, relays and border router too
//! (`[wake]`). Nobody asks: a packet waits at each hop until the next one wakes.
//!
//! # Losses and flows
//!
//! A node that loses its parent, DODAG, default router, a registration, a child or a neighbour is a
//! line of its own, with the reasons that the node counted in the 10 to 20 s before; nodes are
//! looked at every five seconds. With `--json` that is `"event":"lost"`, and every ten seconds and
//! at the end `"event":"flows"` has the records of the scenario's flows, in the form of `kinglet
//! sim --json`. This machine and a mote behind a serial line cannot be asked: what only they know
//! is absent, `state` included.
//!
//! # The map
//!
//! `--map PAGE.html` keeps a page with every node at its place, its way to the border router, its
//! hops and its load, for static routes, the mesh and RPL alike. It is written anew every second as
//! a whole, and a browser that has it open follows, unless its slider is at an instant before the
//! last. It has the last ten minutes, of more than a hundred nodes fewer. When the gateway ends
//! it stays.
//!
//! # Time
//!
//! Virtual time is the wall clock's. A machine that is too slow for the network falls behind, and
//! the lag is among the counters; nothing is skipped.

mod beyond;
pub mod bridge;
mod map;
pub mod network;
pub mod policy;
mod port;
mod serial;
pub mod show;
pub mod status;
pub mod tun;

use bridge::{BridgeStats, Hosts, Observer};
use kinglet_lab::build::address_of;
use kinglet_lab::capture::{Observations, write_profile};
use kinglet_lab::profile::LabProfile;
use kinglet_lab::scenario::{NodeId, Prefix, Scenario};
use kinglet_sim::Hosted;
use kinglet_sim::pcap::Pcap;
use kinglet_zep::mote::Ends;
use map::Map;
use network::Mesh;
use show::{Devices, Output, Screen};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tun::{TunConfig, TunError};

/// What can be chosen beside the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Nodes in whose place motes outside of the simulation stand, and the Unix sockets of their
    /// serial lines.
    pub serial: Vec<(NodeId, PathBuf)>,
    /// Who shares the air by ZEP: the first at the first place of the scenario that is for those
    /// outside (`role = "outside"`), and so on.
    pub zep: Vec<Ends>,
    /// Name of the TUN device, at most 15 characters.
    pub tun: String,
    /// The same of the second one, at the far end of the scenario's tunnel; `None` is the name of
    /// the first and `-far`.
    pub far_tun: Option<String>,
    /// What the addresses of the network begin with.
    pub prefix: Prefix,
    /// Capture every frame on the air in this file.
    pub pcap: Option<PathBuf>,
    /// Keep a page here that shows the nodes at their places, their ways and their load.
    pub map: Option<PathBuf>,
    /// How to talk.
    pub output: Output,
}

/// An application of one's own, and the node that it is to run on.
pub type OwnApp = (NodeId, Box<dyn Hosted<LabProfile>>);

/// Why the gateway did not run, or no longer does.
#[derive(Debug)]
pub enum GatewayError {
    /// The scenario has no node with the role `border-router`.
    NoBorderRouter {
        /// The scenario's name.
        scenario: String,
    },
    /// The scenario asks for something that the gateway cannot do.
    Unsupported(String),
    /// This cannot be the name of a network device.
    BadName {
        /// The option that says it.
        option: &'static str,
        /// The name.
        name: String,
    },
    /// There is a name for the second device, and no second device.
    NoTunnel {
        /// The scenario's name.
        scenario: String,
        /// The name.
        name: String,
    },
    /// No mote can stand behind this serial line; says why.
    Serial(String),
    /// Nobody can share the air so; says why.
    Zep(String),
    /// This machine has an address of the prefix already.
    PrefixTaken {
        /// The prefix.
        prefix: Prefix,
        /// The device that has it.
        device: String,
    },
    /// The map or the capture cannot be written: nothing has begun.
    Output(String),
    /// The gateway ran, and these files are not complete: each with the reason.
    Incomplete(Vec<String>),
    /// The device could not be made.
    Tun(TunError),
    /// The device, the runtime or the signal handlers failed.
    Io(io::Error),
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GatewayError::NoBorderRouter { scenario } => write!(
                f,
                "the scenario \"{scenario}\" has no border router, which the host could be \
                 connected to: give one [[node]] `role = \"border-router\"`"
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
            GatewayError::PrefixTaken { prefix, device } => write!(
                f,
                "this machine has {prefix} on the device {device} already: another gateway runs \
                 here; stop it, or give this one a prefix and a device of its own, such as \
                 --prefix fd00:1:2::/48 --tun kinglet1"
            ),
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
            GatewayError::NoBorderRouter { .. }
            | GatewayError::Serial(_)
            | GatewayError::Zep(_)
            | GatewayError::PrefixTaken { .. }
            | GatewayError::Output(_)
            | GatewayError::Incomplete(_)
            | GatewayError::Unsupported(_)
            | GatewayError::NoTunnel { .. }
            | GatewayError::BadName { .. } => None,
        }
    }
}

impl From<io::Error> for GatewayError {
    fn from(error: io::Error) -> Self {
        GatewayError::Io(error)
    }
}

/// Runs `scenario` behind a TUN device, or between two, until SIGINT (Ctrl-C), SIGTERM or SIGHUP;
/// that end is a success. The scenario's duration does not matter here, its seed does; the times
/// of its faults count from `ready` on.
///
/// # Errors
/// [`GatewayError`]
pub fn run(scenario: &Scenario, options: &Options) -> Result<(), GatewayError> {
    run_with(scenario, options, Vec::new())
}

/// The same with applications of one's own beside those of the scenario (`examples/own_app.rs`).
///
/// # Errors
/// [`GatewayError`]
pub fn run_with(
    scenario: &Scenario,
    options: &Options,
    apps: Vec<OwnApp>,
) -> Result<(), GatewayError> {
    let names = names(scenario, options)?;
    let scenario = Scenario { prefix: options.prefix, ..scenario.clone() };
    if let Some(device) = tun::holder(scenario.prefix) {
        return Err(GatewayError::PrefixTaken { prefix: scenario.prefix, device });
    }
    if let Some(path) = &options.map {
        map::check(path).map_err(|error| map_error(path, &error))?;
    }
    let mut mesh = Mesh::new(&scenario)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(&scenario, &mut mesh, options, names, apps))
}

/// What the devices are called: the one at the border router, and the one at the far end of a
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

/// How the computer at the far end of a tunnel has its device: there it takes the node's address.
fn far_config(scenario: &Scenario, name: Option<String>) -> Option<TunConfig> {
    let (node, name) = (scenario.tunnel?.node, name?);
    Some(device(scenario, name, address_of(scenario.prefix, node)))
}

fn device(scenario: &Scenario, name: String, address: core::net::Ipv6Addr) -> TunConfig {
    TunConfig { name, address, prefix_len: Prefix::LEN, mtu: scenario.net.mtu }
}

async fn serve(
    scenario: &Scenario,
    mesh: &mut Mesh,
    options: &Options,
    (name, far_name): (String, Option<String>),
    apps: Vec<OwnApp>,
) -> Result<(), GatewayError> {
    // Before the first word, so that a signal right after it ends cleanly.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    for (node, path) in &options.serial {
        let line = UnixStream::connect(path).await.map_err(|error| {
            let path = path.display();
            let what = format!("cannot open the serial line of node {node}, {path}: {error}");
            GatewayError::Serial(what + "; is the mote's socket there?")
        })?;
        mesh.attach(*node, line)?;
    }
    mesh.share(scenario, &options.zep)?;
    for (node, app) in apps {
        mesh.add(node, app)?;
    }
    let config = device(scenario, name, scenario.prefix.host());
    let device = tun::create(&config).await.map_err(GatewayError::Tun)?;
    let far_config = far_config(scenario, far_name);
    let far = far_config.as_ref().map(tun::create_to_move).transpose();
    let far = far.map_err(GatewayError::Tun)?;
    let capture = options.pcap.as_deref().map(|path| capture(scenario, mesh, path)).transpose()?;
    let map = options
        .map
        .as_deref()
        .map(|path| Map::create(path, scenario, mesh).map_err(|error| map_error(path, &error)));
    let mut watchers = Watchers { screen: Screen::new(options.output), map: map.transpose()? };
    let reading = capture.as_ref().and_then(|(_, command)| command.as_deref());
    let devices = Devices { border: &config, far: far_config.as_ref() };
    watchers.screen.ready(&scenario.name, mesh, devices, reading);
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    };
    let interval = watchers.screen.interval();
    let hosts = Hosts { border: &device, far: far.as_ref() };
    let stats = bridge::run(mesh, &hosts, interval, &mut watchers, stop).await?;
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

fn map_error(path: &Path, error: &io::Error) -> GatewayError {
    GatewayError::Output(format!("the map: {}: {error}", path.display()))
}

/// Who looks at the network from time to time.
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

/// Begins the capture. The receiver gets its failure; the text is the command that reads it.
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
