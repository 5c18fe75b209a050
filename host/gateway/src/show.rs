//! Output of the gateway: the addresses at the start, counters while it runs, a summary at the end.

use crate::bridge::{BridgeStats, Observer};
use crate::link::Event;
use crate::look::{Look, Row, Shown};
use crate::network::{Call, Mesh, Mote, NodeCounters, Server, Service};
use crate::status::{Activity, Status, role_name};
use crate::stick::RadioLook;
use crate::tun::TunConfig;
use core::net::Ipv6Addr;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kinglet_network::run::{BorderResult, FlowResult, LossResult};
use kinglet_scenario::{Fault, Role, SERVICE_PORTS, Transport};
use kinglet_zep::device::Change;
use kinglet_zep::reload::Reloaded;
use serde::Serialize;
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _, stderr, stdout};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Octets of the transfers that the announcement proposes: half a minute at one hop.
const TRANSFER: u32 = 200_000;
/// The same for duty-cycled motes, which alternate between sending and listening.
const SLEEPY_TRANSFER: u32 = 20_000;
/// Largest number of nodes in the table on a terminal: duty-cycled ones, and the busiest. With the
/// lines around them they fit a terminal of 80 columns and 24 lines.
const ROWS: usize = 16;

/// Number of reports per line of text without a terminal: one line every five seconds.
const LOOKS: u32 = 5;

/// Number of reports per line of JSON with the records of flows: one every ten seconds, because all
/// that a flow has delivered is counted again for it.
const FLOW_LOOKS: u32 = 10;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Text: a table that refreshes itself on a terminal, otherwise a line every few seconds.
    Text,
    /// One JSON object per line.
    Json,
}

/// The reporter of the bridge.
pub(crate) struct Screen {
    output: Output,
    /// The refreshing table, on a terminal.
    table: Option<ProgressBar>,
    last: BridgeStats,
    /// Reports without output since the last line.
    silent: u32,
    /// Reports without the records of flows since the last of these.
    without_flows: u32,
    notices: Receiver<Notice>,
}

/// Something that has happened between two reports, and is printed with the next one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Notice {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    /// A word for it.
    what: &'static str,
    text: String,
}

impl Notice {
    /// Returns that of a configuration that was read again.
    pub(crate) fn of_reload(Reloaded { what, text }: Reloaded) -> Self {
        Notice { event: "reload", device: None, what, text }
    }

    /// Returns that of a change of the radio.
    pub(crate) fn of_radio(Change { what, text }: Change) -> Self {
        Notice { event: "radio", device: None, what, text }
    }

    /// Returns that of a change of a TUN device.
    pub(crate) fn of_link(config: &TunConfig, event: &Event) -> Self {
        let (device, text) = (Some(config.name.clone()), event.text(config));
        Notice { event: "link", device, what: event.name(), text }
    }
}

/// The devices at both ends of the network.
#[derive(Clone, Copy)]
pub(crate) struct Devices<'a> {
    /// The device of this machine.
    pub(crate) border: &'a TunConfig,
    /// The device of a second computer, and its configuration there.
    pub(crate) far: Option<&'a TunConfig>,
}

/// One JSON line of counters.
#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    seconds: f64,
    #[serde(flatten)]
    bridge: &'a BridgeStats,
    #[serde(flatten)]
    look: &'a Look,
}

/// The records of the scenario's flows, as `kinglet sim --json` has them.
#[derive(Serialize)]
struct Flows {
    event: &'static str,
    seconds: f64,
    flows: Vec<FlowResult>,
}

/// A relation that a node has lost.
#[derive(Serialize)]
struct Lost<'a> {
    event: &'static str,
    #[serde(flatten)]
    lost: &'a LossResult,
}

#[derive(Serialize)]
struct ReadyNode {
    node: u32,
    hops: usize,
    sleeps: bool,
    address: Ipv6Addr,
    http: Vec<u16>,
    coap: Vec<u16>,
    /// True if it has echo, sink and source on their ports.
    services: bool,
}

/// A port of this machine to which a mote sends.
#[derive(Serialize)]
struct ReadyCall {
    node: u32,
    kind: &'static str,
    transport: &'static str,
    port: u16,
}

/// The far end of a tunnel.
#[derive(Serialize)]
struct ReadyFar<'a> {
    node: u32,
    tun: &'a str,
    address: Ipv6Addr,
    prefix_len: u8,
}

#[derive(Serialize)]
struct Ready<'a> {
    event: &'static str,
    tun: &'a str,
    host: Ipv6Addr,
    nodes: Vec<ReadyNode>,
    calls: Vec<ReadyCall>,
    /// The device of a second computer.
    far: Option<ReadyFar<'a>>,
    /// The command that reads the capture.
    capture: Option<&'a str>,
}

/// Prints, and ignores errors: the bridge continues when a pipe is closed.
fn say(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn json(value: &impl Serialize) {
    // Counters and addresses always have a JSON form.
    if let Ok(line) = serde_json::to_string(value) {
        say(&format!("{line}\n"));
    }
}

impl Screen {
    pub(crate) fn new(output: Output, notices: Receiver<Notice>) -> Self {
        let table = (output == Output::Text && stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.with_style(
                ProgressStyle::with_template("{msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            )
        });
        let last = BridgeStats::default();
        Screen { output, table, last, silent: 0, without_flows: 0, notices }
    }

    /// Returns the time between reports.
    pub(crate) fn interval(&self) -> Duration {
        match (self.output, &self.table) {
            // A radio is on for some milliseconds at a time: an interval of a second would miss it.
            (Output::Text, Some(_)) => Duration::from_millis(200),
            (Output::Json, _) | (Output::Text, None) => Duration::from_secs(1),
        }
    }

    /// Announces the services and their addresses; the first device is up by now.
    pub(crate) fn ready(
        &self,
        name: &str,
        mesh: &Mesh,
        devices: Devices<'_>,
        reading: Option<&str>,
    ) {
        match self.output {
            Output::Text => say(&announcement(name, mesh, devices, reading)),
            Output::Json => {
                let nodes = mesh.motes().iter().map(|mote| ReadyNode {
                    node: mote.node,
                    hops: mote.hops,
                    sleeps: mesh.role(mote.node) == Role::Leaf,
                    address: mote.address,
                    http: ports_of(mesh, mote.node, Service::Http),
                    coap: ports_of(mesh, mote.node, Service::Coap),
                    services: mesh.has_services(mote.node),
                });
                let calls = mesh.calls().iter().map(|call| ReadyCall {
                    node: call.node,
                    kind: call.kind,
                    transport: call.port.transport.name(),
                    port: call.port.port,
                });
                let far = mesh.far_end().zip(devices.far).map(|(node, far)| ReadyFar {
                    node,
                    tun: &far.name,
                    address: far.address,
                    prefix_len: far.prefix_len,
                });
                json(&Ready {
                    event: "ready",
                    tun: &devices.border.name,
                    host: devices.border.address,
                    nodes: nodes.collect(),
                    calls: calls.collect(),
                    far,
                    capture: reading,
                });
            }
        }
    }

    /// Announces a border router: `text` to a person, `object` to a program.
    pub(crate) fn router_ready(&self, text: &str, object: &impl Serialize) {
        match self.output {
            Output::Text => say(text),
            Output::Json => json(object),
        }
    }

    /// Prints the summary.
    pub(crate) fn summary(&mut self, mesh: &mut impl Shown, stats: &BridgeStats) {
        self.notices();
        if let Some(table) = self.table.take() {
            table.finish_and_clear();
        }
        match self.output {
            Output::Text => say(&format!(
                "\nstopped after {:.1} s\n{}",
                seconds(mesh),
                table(&mesh.look(), stats, usize::MAX)
            )),
            Output::Json => {
                let look = mesh.look();
                flows(mesh);
                line("summary", mesh, &look, stats);
            }
        }
    }
}

fn line(event: &'static str, network: &impl Shown, look: &Look, stats: &BridgeStats) {
    json(&Line { event, seconds: seconds(network), bridge: stats, look });
}

fn flows(network: &impl Shown) {
    if let Some(flows) = network.flows() {
        json(&Flows { event: "flows", seconds: seconds(network), flows });
    }
}

impl Screen {
    /// Prints what has happened since the last report.
    fn notices(&self) {
        for notice in self.notices.try_iter() {
            match (self.output, &self.table) {
                (Output::Json, _) => json(&notice),
                (Output::Text, Some(table)) => table.println(&notice.text),
                (Output::Text, None) => say(&format!("{}\n", notice.text)),
            }
        }
    }

    /// Prints the relations that nodes have lost since the last report.
    fn losses(&self, mesh: &mut impl Shown) {
        for lost in &mesh.losses() {
            let LossResult { at_s, node, loss } = lost;
            let text = format!("{at_s:8.1} s  node {node} {loss}");
            match (self.output, &self.table) {
                (Output::Json, _) => json(&Lost { event: "lost", lost }),
                (Output::Text, Some(table)) => table.println(text),
                (Output::Text, None) => say(&(text + "\n")),
            }
        }
    }
}

impl<N: Shown> Observer<N> for Screen {
    fn report(&mut self, mesh: &mut N, stats: &BridgeStats) {
        self.notices();
        self.losses(mesh);
        // Also if nothing is printed: the last minute is measured between reports.
        let look = mesh.look();
        match (self.output, &self.table) {
            (Output::Json, _) => {
                line("counters", mesh, &look, stats);
                self.without_flows += 1;
                if self.without_flows == FLOW_LOOKS {
                    self.without_flows = 0;
                    flows(mesh);
                }
            }
            (Output::Text, Some(bar)) => bar.set_message(table(&look, stats, ROWS)),
            (Output::Text, None) if self.silent + 1 < LOOKS => {
                self.silent += 1;
                return;
            }
            // No output means that nothing happened.
            (Output::Text, None) if self.last.packets_in == stats.packets_in => self.silent = 0,
            (Output::Text, None) => {
                self.silent = 0;
                say(&format!("{:8.1} s  {}\n", seconds(mesh), totals(&look, stats)));
            }
        }
        self.last = *stats;
    }
}

fn seconds(mesh: &impl Shown) -> f64 {
    mesh.uptime().as_micros() as f64 / 1e6
}

fn ports_of(mesh: &Mesh, node: u32, service: Service) -> Vec<u16> {
    let servers = mesh.servers().iter();
    let mine = servers.filter(|server| server.node == node && server.service == service);
    mine.map(|server| server.port).collect()
}

/// Returns one line with the sums over all nodes, the queue of the border router, and the sleeping
/// nodes.
fn totals(Look { border_queue, policy, nodes, .. }: &Look, stats: &BridgeStats) -> String {
    let BridgeStats { packets_in, octets_in, packets_out, octets_out, lag_ms, .. } = stats;
    format!(
        "in {packets_in} packets, {octets_in} octets; out {packets_out}, {octets_out}; {}; \
         {}{}{}{}; lag {lag_ms} ms",
        frames(nodes),
        requests(nodes),
        border_queue.map_or_else(String::new, |queue| format!("; {}", waiting(&queue))),
        sleepers(nodes).map_or_else(String::new, |text| format!("; {text}")),
        policy.lines().into_iter().map(|line| format!("; {}", line.trim())).collect::<String>()
    )
}

fn sum(rows: &[Row], of: fn(&NodeCounters) -> u64) -> u64 {
    rows.iter().map(|row| of(&row.counters)).sum()
}

fn frames(rows: &[Row]) -> String {
    let sum = |of| sum(rows, of);
    let (frames, retries) = (sum(|n| n.frames), sum(|n| n.retries));
    let (lost, dropped) = (sum(|n| n.lost), sum(|n| n.drops));
    format!("frames {frames}, retries {retries}, lost {lost}, dropped {dropped}")
}

fn requests(rows: &[Row]) -> String {
    format!("{} served, {} open", sum(rows, |n| n.served), sum(rows, |n| n.open))
}

/// Returns the state of the border router's queue for the radio.
fn waiting(queue: &BorderResult) -> String {
    format!(
        "border queue: {} wait, at most {}, {:.0} ms; {} passed on, {} dropped",
        queue.waiting,
        queue.peak,
        queue.longest_ms,
        count(queue.dequeued.into(), 6),
        count(queue.dropped.into(), 6)
    )
}

/// Returns how many leaves sleep now, and their duty cycle; `None` without leaves.
fn sleepers(rows: &[Row]) -> Option<String> {
    let leaves: Vec<&Status> =
        rows.iter().map(|row| &row.status).filter(|status| status.role == Role::Leaf).collect();
    if leaves.is_empty() {
        return None;
    }
    let asleep = leaves.iter().filter(|leaf| leaf.radio == Some(Activity::Asleep)).count();
    let duty = leaves.iter().filter_map(|leaf| leaf.duty_cycle).sum::<f64>() / leaves.len() as f64;
    let waiting: usize = leaves.iter().filter_map(|leaf| leaf.waiting).sum();
    Some(format!(
        "{asleep} of {} leaves asleep, radio on {:.2} %, {waiting} packets wait for them",
        leaves.len(),
        duty * 100.0
    ))
}

/// Returns the counters of the bridge, the sums, and one line for each of the `rows` nodes of most
/// interest. Lines are shorter than 80 columns: a longer one would take two.
fn table(
    Look { border_queue, policy, nodes, radio, tables, .. }: &Look,
    stats: &BridgeStats,
    rows: usize,
) -> String {
    let BridgeStats { packets_in, octets_in, packets_out, octets_out, .. } = stats;
    let mut text = format!(
        "to mesh {packets_in} packets, {octets_in} octets; to host {packets_out}, {octets_out}\n\
         lag {} ms, at most {} ms; refused {}; {}\n{}\n",
        stats.lag_ms,
        stats.lag_ms_max,
        stats.refused,
        requests(nodes),
        frames(nodes),
    );
    let queue = border_queue.as_ref().map(waiting).into_iter();
    let radio = radio.iter().flat_map(RadioLook::lines);
    for line in queue.chain(sleepers(nodes)).chain(policy.lines()).chain(radio) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(
        "node role    via radio      min %  all % asked  next wait  dBm  etx frames lost",
    );
    let is_leaf = |row: &Row| row.status.role == Role::Leaf;
    let mut shown: Vec<&Row> = nodes.iter().collect();
    shown.sort_by_key(|row| (!is_leaf(row), Reverse(row.counters.frames)));
    shown.truncate(rows);
    shown.sort_by_key(|row| (!is_leaf(row), row.counters.node));
    for row in &shown {
        text.push('\n');
        text.push_str(&row_text(row));
    }
    if shown.len() < nodes.len() {
        let _ = write!(text, "\n… and {} quieter nodes", nodes.len() - shown.len());
    }
    text.push('\n');
    for table in tables {
        for line in table.to_string().lines().take(rows) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

fn row_text(Row { counters, status, .. }: &Row) -> String {
    fn or_dash(value: Option<impl ToString>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| value.to_string())
    }
    format!(
        "{:>4} {:<6} {:>4} {:<9} {:>6} {:>6} {:>5} {:>5} {:>4} {:>4} {:>4} {:>6} {:>4}",
        counters.node,
        role_name(status.role),
        or_dash(status.parent),
        or_dash(status.radio.map(Activity::name)),
        or_dash(status.duty_cycle.map(percent)),
        or_dash(status.duty_cycle_overall.map(percent)),
        or_dash(status.polled_s_ago.map(short)),
        or_dash(status.next_poll_s.map(short)),
        or_dash(status.waiting),
        or_dash(status.link.and_then(|link| link.rssi_dbm)),
        or_dash(status.link.and_then(|link| link.etx).map(short)),
        count(counters.frames, 6),
        count(counters.lost, 4)
    )
}

/// Formats a share of time in percent.
fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}

/// Formats a number below a thousand with three digits, and a larger one in full.
fn short(number: f64) -> String {
    match number {
        ..9.995 => format!("{number:.2}"),
        ..99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// Formats a count in `width` digits, or in thousands or millions.
fn count(count: u64, width: usize) -> String {
    let fits = |text: &String| text.len() <= width;
    let forms = [count.to_string(), format!("{}k", count / 1_000)];
    forms.into_iter().find(fits).unwrap_or_else(|| format!("{}M", count / 1_000_000))
}

/// Returns the announcement: addresses, services, and commands to paste.
fn announcement(name: &str, mesh: &Mesh, devices: Devices<'_>, reading: Option<&str>) -> String {
    let TunConfig { name: device, address, prefix_len, mtu, .. } = devices.border;
    let mut text = format!(
        "{name}: {} nodes in real time behind the TUN device {device}\n\
         this machine is {address}/{prefix_len} there, MTU {mtu}\n\n\
         node  hops  address                           answers\n",
        mesh.nodes()
    );
    for mote in mesh.motes() {
        let (address, answers) = (mote.address.to_string(), answers(mesh, mote));
        let _ = writeln!(text, "{:>4} {:>5}  {address:<32}  {answers}", mote.node, mote.hops);
    }
    let silent = mesh.nodes() - mesh.motes().len();
    if silent > 0 {
        let _ = writeln!(text, "      and {silent} without a route: nodes without a server here");
    }
    text.push_str(&services(mesh));
    if let (Some(node), Some(far)) = (mesh.far_end(), devices.far) {
        text.push_str(&second_computer(node, far, *address));
    }
    text.push_str(&calls(mesh));
    text.push_str(&faults(mesh));
    if let Some(command) = reading {
        let _ = write!(text, "\nto read the capture, also while it grows:\n  {command}\n");
    }
    if !mesh.servers().is_empty() {
        text.push_str("\nfrom another terminal, for example:\n");
    }
    for (service, commands) in [(Service::Http, http as fn(_, _, _) -> _), (Service::Coap, coap)] {
        for (mote, port) in proposals(mesh, service) {
            let Mote { node, address, hops } = mote;
            let sleeps = mesh.role(node) == Role::Leaf;
            let octets = if sleeps { SLEEPY_TRANSFER } else { TRANSFER };
            let commands = commands(address, port, octets);
            let sleeps = if sleeps { ", which sleeps" } else { "" };
            let _ = write!(text, "  # mote {node}, radio hops: {hops}{sleeps}\n{commands}");
        }
    }
    if mesh.servers().iter().any(|server| server.service == Service::Coap) {
        text.push_str("  # coap-client is libcoap's; Debian calls it coap-client-notls\n");
    }
    text.push_str("\nCtrl-C or SIGTERM ends it.\nready\n");
    text
}

/// Returns the services at `mote`.
fn answers(mesh: &Mesh, mote: &Mote) -> String {
    let mut answers = String::from("ping");
    if mesh.has_services(mote.node) {
        answers.push_str(", services");
    }
    for (service, name) in [(Service::Http, "HTTP"), (Service::Coap, "CoAP")] {
        for port in ports_of(mesh, mote.node, service) {
            let _ = write!(answers, ", {name} on port {port}");
        }
    }
    if mesh.is_serial(mote.node) {
        answers = String::from("the services of the mote behind the serial line");
    }
    if mesh.far_end() == Some(mote.node) {
        answers = String::from("the services of the second computer");
    }
    if mote.hops == 0 {
        answers.push_str(" (border router)");
    }
    if mesh.role(mote.node) == Role::Leaf {
        answers.push_str(" (sleeps)");
    }
    answers
}

/// Returns the commands that set up the second computer, behind `node`, as another network
/// namespace of this machine, which has the address `host`.
fn second_computer(node: u32, far: &TunConfig, host: Ipv6Addr) -> String {
    let TunConfig { name: device, address, prefix_len, mtu, .. } = far;
    format!(
        "\na second computer is behind node {node}, with the TUN device {device} and MTU {mtu}. To \
         have it in a\nnetwork namespace of this one, as root:\n  \
         ip netns add far\n  \
         ip link set {device} netns far\n  \
         ip -n far address add {address}/{prefix_len} dev {device} nodad\n  \
         ip -n far link set {device} up\n\
         then, for example:\n  \
         ip netns exec far ping -6 -c 3 {host}\n  \
         ip netns exec far python3 -m http.server --bind :: 8000 &\n  \
         curl -g 'http://[{address}]:8000/'\n"
    )
}

/// Describes the services, with commands for the farthest mote that has them.
fn services(mesh: &Mesh) -> String {
    let motes = mesh.motes().iter().filter(|mote| mesh.has_services(mote.node));
    let Some(Mote { address, .. }) = motes.max_by_key(|mote| mote.hops) else {
        return String::new();
    };
    let [(echo, _), (sink, _), (source, _)] = SERVICE_PORTS;
    format!(
        "\nservices: TCP port {echo} echoes, {sink} takes all it gets, {source} sends without \
         end\n  \
         echo hello | nc -N {address} {echo}\n  \
         head -c {SLEEPY_TRANSFER} /dev/zero | nc -N {address} {sink}\n  \
         nc {address} {source} | head -c {SLEEPY_TRANSFER} | sha256sum\n"
    )
}

/// Lists the nodes that send to this machine, with their ports.
fn calls(mesh: &Mesh) -> String {
    let Some(first) = mesh.calls().first() else { return String::new() };
    let mut text = String::from(
        "\nmotes send to this machine; a connection that is refused is tried again:\n",
    );
    for Call { node, kind, port } in mesh.calls() {
        let (transport, port) = (port.transport, port.port);
        let _ = writeln!(text, "  {transport} port {port}: {kind} of mote {node}");
    }
    let udp = if first.port.transport == Transport::Udp { " -u" } else { "" };
    let _ = writeln!(text, "  # for example: nc -6 -l{udp} {} | wc -c", first.port.port);
    text
}

/// Lists the faults of the scenario and their times.
fn faults(mesh: &Mesh) -> String {
    let mut text = String::new();
    for Fault::Partition { nodes, from_s, to_s } in mesh.faults() {
        let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
        let to = to_s.map_or_else(|| "the end".to_owned(), |to| format!("{to} s"));
        let nodes = nodes.join(", ");
        let _ = write!(text, "\nfrom {from_s} s to {to} of this run, cut off: nodes {nodes}\n");
    }
    text
}

/// Returns the proposed servers: the nearest and the farthest.
fn proposals(mesh: &Mesh, service: Service) -> Vec<(Mote, u16)> {
    let mote = |server: &Server| mesh.motes().iter().find(|mote| mote.node == server.node).copied();
    let servers = mesh.servers().iter().filter(|server| server.service == service);
    let servers = servers.filter_map(|server| Some((mote(server)?, server.port)));
    let mut servers: Vec<_> = servers.collect();
    servers.sort_by_key(|(mote, _)| mote.hops);
    if servers.len() > 2 {
        servers.drain(1..servers.len() - 1);
    }
    servers
}

fn http(address: Ipv6Addr, port: u16, octets: u32) -> String {
    let port = if port == 80 { String::new() } else { format!(":{port}") };
    let base = format!("http://[{address}]{port}");
    format!(
        "  ping -6 -c 3 {address}\n  \
         curl -g '{base}/'\n  \
         curl -g '{base}/bytes/{octets}' | sha256sum\n  \
         curl -g -T FILE '{base}/upload'\n"
    )
}

fn coap(address: Ipv6Addr, port: u16, octets: u32) -> String {
    let port = if port == 5683 { String::new() } else { format!(":{port}") };
    let base = format!("coap://[{address}]{port}");
    format!(
        "  coap-client '{base}/'\n  \
         coap-client '{base}/bytes/{octets}' | sha256sum\n  \
         coap-client -m put -f FILE -b 512 '{base}/upload'\n"
    )
}

#[cfg(test)]
mod tests;
