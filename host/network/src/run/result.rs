//! Results of a simulation.

use super::flow::FlowResult;
use super::lanes::Lane;
use super::losses::LossResult;
use super::power::Power;
use super::reasons::Reasons;
use crate::profile::LabProfile;
use kinglet::Node;
use kinglet_scenario::NodeId;
use kinglet_sim::cpu::CpuWork;
use kinglet_sim::ledger::{Cause, Ledger};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the record format. It is incremented when a name or the meaning of a value changes.
pub const SCHEMA: u32 = 2;

/// Results of a simulation.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct RunResult {
    /// Version of the record format, which `run.schema.json` describes: [`SCHEMA`].
    pub schema: u32,
    /// One record per application, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// One record per node, in order.
    pub nodes: Vec<NodeResult>,
    /// Reasons for losses of frames and packets, summed over the nodes; also reasons that did not
    /// occur.
    pub reasons: Reasons,
    /// Parents, DODAGs, default routers, registrations, children and neighbours that nodes lost, in
    /// order of time; the first 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<LossResult>,
    /// Number of losses after those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses_omitted: Option<u64>,
    /// Simulated seconds.
    pub sim_seconds: f64,
    /// Real seconds.
    pub wall_seconds: f64,
    /// Real time that it took to set the network up, before the simulation; `kinglet sim` adds the
    /// time for reading the scenario.
    pub setup_seconds: f64,
    /// Octets of memory of each node at switch-on.
    pub node_bytes: usize,
    /// Events that the engine handled.
    pub events: u64,
    /// Congestion window samples, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cwnd: Vec<CwndSample>,
    /// Samples of changing values every second, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Radio activity, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Activity>,
    /// Segments, windows, queues and interference over time, in addition to the timeline.
    #[serde(skip)]
    pub lanes: Vec<Lane>,
    /// The second from which radio activity is missing, if there was too much of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline_full_at_s: Option<f64>,
    /// Parents of all nodes at several instants, if asked for.
    #[serde(skip)]
    pub trees: Vec<Tree>,
    /// Pairs of nodes that receive each other, the smaller number first, if asked for.
    #[serde(skip)]
    pub links: Vec<(NodeId, NodeId)>,
    /// Files of observations that are truncated because they could not be written, with the cause.
    #[serde(skip)]
    pub cut_short: Vec<String>,
}

impl NodeResult {
    /// Energy of radio, CPU and flash, in millijoules.
    pub fn whole_mj(&self) -> f64 {
        let flash = self.flash.map_or(0.0, |flash| flash.mj);
        self.energy_mj + self.cpu_mj.unwrap_or(0.0) + flash
    }
}

impl RunResult {
    /// The JSON schema of a result, as text; `run.schema.json` is the same.
    pub fn schema_text() -> String {
        let schema = schemars::generate::SchemaSettings::draft2020_12()
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<RunResult>();
        // A schema is plain JSON.
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }

    /// A result with every value that a run without observations can have, all of them zero. It
    /// serves to list the names: an absent value has none in JSON.
    pub fn with_every_value() -> Self {
        let node = NodeResult {
            frames_failed: Some(0),
            frames_acked: Some(0),
            acks_missing: Some(0),
            retries: Some(0),
            frames_offered: Some(0),
            frames_accepted: Some(0),
            queue_drops: Some(0),
            cpu_duty_cycle: Some(0.0),
            cpu_mj: Some(0.0),
            cpu_work: Some(CpuWork::default()),
            rpl: Some(RplResult { hops: Some(0.0), ..RplResult::default() }),
            aodv: Some(AodvResult::default()),
            border_queue: Some(BorderResult::default()),
            strobes: Some(StrobeResult::default()),
            flash: Some(FlashResult::default()),
            mj_per_frame: Some(0.0),
            ..NodeResult::default()
        };
        let flows = vec![FlowResult::with_every_value()];
        RunResult { flows, nodes: vec![node], ..RunResult::default() }
    }
}

/// Parents of all nodes on their routes to the root, the border router, at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Time in seconds.
    pub at_s: f64,
    /// One for each node, in order.
    pub nodes: Vec<Branch>,
}

/// A node in the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Branch {
    /// Next hop towards the root; `None` for the root, and if there is no route.
    pub parent: Option<NodeId>,
    /// Radio hops to the root; `None` if the route is incomplete or loops.
    pub hops: Option<u32>,
    /// Frames per second on the air since the previous instant, without acknowledgements.
    pub frames_per_s: f64,
}

/// Record of one node. A PIP node has no counters of Kinglet's MAC and CPU.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct NodeResult {
    /// Number of the node.
    pub id: NodeId,
    /// Frames put on the air, including retries, without acknowledgements.
    pub frames_sent: u64,
    /// Frames given up after all retries or because the channel was never clear.
    pub frames_failed: Option<u64>,
    /// Frames that were acknowledged, or needed no acknowledgement.
    pub frames_acked: Option<u64>,
    /// Transmissions that were not acknowledged.
    pub acks_missing: Option<u64>,
    /// Attempts after the first, each with a new CSMA-CA procedure.
    pub retries: Option<u64>,
    /// Frames that others sent to this node alone, within its reception range; each attempt counts.
    pub frames_offered: Option<u64>,
    /// Frames for this node alone that its MAC accepted, without duplicates.
    pub frames_accepted: Option<u64>,
    /// Packets dropped because a queue was full.
    pub queue_drops: Option<u64>,
    /// Reasons for which it lost frames and packets; reasons that did not occur are missing.
    pub reasons: Reasons,
    /// Counters of RPL, if it is the network's routing protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpl: Option<RplResult>,
    /// Counters of AODV, if it is the network's routing protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aodv: Option<AodvResult>,
    /// Counters of a border router's queue between host and radio, if packets wait there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub border_queue: Option<BorderResult>,
    /// Counters of its strobes, if all nodes are duty-cycled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strobes: Option<StrobeResult>,
    /// Counters of its flash, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashResult>,
    /// Share of time with the radio on, 0 to 1.
    pub duty_cycle: f64,
    /// Share of time in which the radio starts up, 0 to 1; the duty cycle does not include it.
    pub starting: f64,
    /// Share of time, 0 to 1, in which the radio sleeps between two attempts to send the same
    /// frame.
    pub between_attempts: f64,
    /// Radio-on time by cause, in seconds; the sum is the duty cycle times the simulated time.
    pub radio_s: RadioSeconds,
    /// Share of time with the radio on in each hour, 0 to 1; the last hour may be incomplete.
    pub duty_by_hour: Vec<f64>,
    /// Energy of the radio in millijoules.
    pub energy_mj: f64,
    /// Share of time in which the CPU is active, 0 to 1; absent without a CPU cost.
    pub cpu_duty_cycle: Option<f64>,
    /// Energy of the CPU in millijoules; absent without a CPU cost.
    pub cpu_mj: Option<f64>,
    /// Work of the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_work: Option<CpuWork>,
    /// Time and energy of radio, CPU and flash, by state.
    pub power: Power,
    /// Energy of radio, CPU and flash for each frame that a neighbour accepted, in millijoules;
    /// `None` if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mj_per_frame: Option<f64>,
}

/// Counters of RPL on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct RplResult {
    /// Radio hops to the root, averaged over the time in which there was a route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<f64>,
    /// DIOs, DISs, DAOs and their acknowledgements sent.
    pub messages: u32,
    /// DIOs among them.
    pub dios: u32,
    /// DAOs among them.
    pub daos: u32,
    /// Number of changes of the preferred parent, the first one included.
    pub parent_changes: u32,
}

/// Counters of AODV on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct AodvResult {
    /// Route discoveries.
    pub route_discoveries: u32,
    /// Route discoveries that failed.
    pub failed_discoveries: u32,
    /// Route requests sent, own ones and those of others.
    pub rreqs: u32,
    /// Route replies sent, own ones and those of others.
    pub rreps: u32,
    /// Route errors sent.
    pub rerrs: u32,
    /// Links that broke while routes used them.
    pub broken_links: u32,
    /// Routes lost because of broken links, or because of messages of other nodes.
    pub lost_routes: u32,
    /// Packets without a route to their destination.
    pub no_route: u32,
}

/// Counters of strobes. A strobe sends a frame, once or repeatedly, until it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct StrobeResult {
    /// Number of strobes.
    pub all: u32,
    /// Strobes that followed another one in a burst.
    pub in_bursts: u32,
    /// Strobes that were acknowledged after the first transmission.
    pub acked_at_first: u32,
    /// Strobes that were not acknowledged.
    pub failed: u32,
    /// Strobes before which the channel was busy.
    pub busy: u32,
    /// Strobes that began the response to a neighbour's burst.
    pub responses: u32,
}

/// Counters of a flash for frames that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct FlashResult {
    /// Frames written to it.
    pub written: u32,
    /// Frames read from it.
    pub read: u32,
    /// Sectors erased.
    pub erased: u32,
    /// Largest number of frames that waited at the same time, in memory and in flash.
    pub peak: u16,
    /// Share of time in which it read, 0 to 1.
    pub reading: f64,
    /// Share of time in which it wrote or erased, 0 to 1.
    pub writing: f64,
    /// Its energy in millijoules.
    pub mj: f64,
}

/// Counters of a border router's queue between host and radio, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct BorderResult {
    /// Packets queued.
    pub queued: u32,
    /// Packets passed to the radio.
    pub dequeued: u32,
    /// Packets dropped because the queue was full.
    pub dropped: u32,
    /// Packets that wait.
    pub waiting: usize,
    /// Largest number of packets that waited at the same time.
    pub peak: u16,
    /// Longest wait of a packet that was passed on, in milliseconds.
    pub longest_ms: f64,
}

impl BorderResult {
    /// Counters of `node`; `None` if packets from a host share the queue of relayed packets.
    pub fn of(node: &Node<LabProfile>) -> Option<Self> {
        let net = node.net();
        let stats = net.border_stats()?;
        Some(BorderResult {
            queued: stats.taken,
            dequeued: stats.passed,
            dropped: stats.dropped,
            waiting: net.info().from_host,
            peak: stats.most,
            longest_ms: stats.longest.as_micros() as f64 / 1e3,
        })
    }
}

/// Radio-on time by cause, in seconds; [`kinglet_sim::ledger`] defines the causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct RadioSeconds {
    /// Data requests.
    pub poll: f64,
    /// Listening without receiving anything for this node.
    pub listen: f64,
    /// Sending data, first attempts.
    pub send: f64,
    /// Receiving data.
    pub receive: f64,
    /// Retransmitting frames that were not acknowledged.
    pub retry: f64,
    /// Broadcasts, and acknowledgements sent.
    pub control: f64,
}

impl RadioSeconds {
    /// The seconds for `cause`.
    pub fn of(&self, cause: Cause) -> f64 {
        self.parts()[cause as usize].1
    }

    /// Causes with their names, in the order of [`Cause::ALL`].
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        let RadioSeconds { poll, listen, send, receive, retry, control } = *self;
        let seconds = [poll, listen, send, receive, retry, control];
        core::array::from_fn(|i| (Cause::ALL[i].name(), seconds[i]))
    }
}

impl From<Ledger> for RadioSeconds {
    fn from(ledger: Ledger) -> Self {
        let seconds = |cause| ledger.of(cause) as f64 / 1e6;
        RadioSeconds {
            poll: seconds(Cause::Poll),
            listen: seconds(Cause::Listen),
            send: seconds(Cause::Send),
            receive: seconds(Cause::Receive),
            retry: seconds(Cause::Retry),
            control: seconds(Cause::Control),
        }
    }
}

/// Congestion window of a flow at an instant.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CwndSample {
    /// Index of the flow.
    pub flow: u32,
    /// Time in seconds.
    pub at_s: f64,
    /// Octets.
    pub cwnd: u32,
    /// Slow start threshold in octets; `None` before the first loss, when there is no threshold.
    pub ssthresh: Option<u32>,
}

/// Totals up to an instant, and state at that instant.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Sample {
    /// Time in seconds.
    pub at_s: f64,
    /// Octets that have arrived of each flow.
    pub bytes: Vec<u64>,
    /// Seconds in which the radio of each node has been on or starting up.
    pub on_s: Vec<f64>,
    /// Time and energy of each node.
    pub power: Vec<Power>,
    /// Frames that wait in each node to be forwarded.
    pub waiting: Vec<usize>,
    /// Smoothed round-trip time of the first TCP transfer, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// Segments that it has retransmitted.
    pub retransmitted: u64,
}

/// Activity of a radio, or of the flash of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// Sends a data frame.
    Transmit,
    /// Sends an acknowledgement.
    Ack,
    /// Receives a whole frame.
    Receive,
    /// Receives a frame that collides with another one.
    Collision,
    /// Is on, for any purpose.
    On,
    /// Finds the channel busy before it sends.
    Busy,
    /// Wakes, samples the channel and detects no signal.
    Sample,
    /// Wakes, samples the channel and detects a signal.
    Notice,
    /// Sends a frame until it is acknowledged.
    Strobe,
    /// Sends a frame repeatedly, without an acknowledgement.
    Unheard,
    /// Sends consecutive frames to a neighbour that stays awake.
    Burst,
    /// The flash reads.
    FlashRead,
    /// The flash writes.
    FlashWrite,
    /// The flash erases.
    FlashErase,
}

/// An interval of activity of a radio, or of the flash of the node.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Activity {
    /// Node of the radio.
    pub node: NodeId,
    /// Start in microseconds.
    pub from_us: u64,
    /// End in microseconds.
    pub to_us: u64,
    /// Kind of activity.
    pub kind: ActivityKind,
    /// Number of transmissions of a strobe's frame, or of acknowledged frames in a burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}
