//! Results of a simulation.

use super::flow::FlowResult;
use super::lanes::Lane;
use super::losses::LossResult;
use super::power::Power;
use super::reasons::Reasons;
use crate::profile::LabProfile;
use crate::scenario::NodeId;
use kinglet::Node;
use kinglet_sim::cpu::CpuWork;
use kinglet_sim::ledger::{Cause, Ledger};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the record format. It is incremented when a name or the meaning of a value changes.
pub const SCHEMA: u32 = 1;

/// Results of a simulation.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct RunResult {
    /// Version of the record format, which `run.schema.json` describes: [`SCHEMA`].
    pub schema: u32,
    /// One record per application, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// One per node, in order.
    pub nodes: Vec<NodeResult>,
    /// Reasons for which frames and packets were lost, summed over the nodes; all that exist.
    pub reasons: Reasons,
    /// Parents, DODAGs, default routers, registrations, children and neighbours that nodes lost, in
    /// order of time; the first 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<LossResult>,
    /// Losses after those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses_left_out: Option<u64>,
    /// Simulated seconds.
    pub sim_seconds: f64,
    /// Real seconds.
    pub wall_seconds: f64,
    /// Real time that it took to set the network up, before that; `kinglet sim` adds that of
    /// reading the scenario.
    pub setup_seconds: f64,
    /// Octets of memory that each node takes before it does anything.
    pub node_bytes: usize,
    /// Events that the engine handled.
    pub events: u64,
    /// Congestion window samples, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cwnd: Vec<CwndSample>,
    /// What changes while it runs, every second, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Radio activity, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Activity>,
    /// Segments, windows, queues and interference beside that.
    #[serde(skip)]
    pub lanes: Vec<Lane>,
    /// The second from which on radio activity is missing, if there was too much of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline_full_at_s: Option<f64>,
    /// Parents of all nodes at several instants, if asked for.
    #[serde(skip)]
    pub trees: Vec<Tree>,
    /// Who hears whom, the smaller number first, if that was asked for.
    #[serde(skip)]
    pub links: Vec<(NodeId, NodeId)>,
    /// Files of observations that end too early, as they could not be written, and why.
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

    /// A result with every value that a run without observations can have, all of them zero. It is
    /// for their names: an absent value has none in JSON.
    pub fn with_every_value() -> Self {
        let node = NodeResult {
            frames_failed: Some(0),
            frames_acked: Some(0),
            acks_missing: Some(0),
            retries: Some(0),
            frames_offered: Some(0),
            frames_taken: Some(0),
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
    /// When, in seconds.
    pub at_s: f64,
    /// One for each node, in order.
    pub nodes: Vec<Branch>,
}

/// A node in the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Branch {
    /// The next node on the way to the root; `None` for the root, and where there is no way.
    pub parent: Option<NodeId>,
    /// Radio hops to the root; `None` if the way ends or loops.
    pub hops: Option<u32>,
    /// Frames per second on the air, acknowledgements not counted, since the instant before.
    pub frames_per_s: f64,
}

/// The record of one node. A node of PIP has no counters of Kinglet's MAC and CPU.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct NodeResult {
    /// Its number.
    pub id: NodeId,
    /// Frames put on the air, acknowledgements not counted, retries counted.
    pub frames_sent: u64,
    /// Frames given up after all retries or for want of a clear channel.
    pub frames_failed: Option<u64>,
    /// Frames that were acknowledged, or needed no acknowledgement.
    pub frames_acked: Option<u64>,
    /// Transmissions whose acknowledgement did not come.
    pub acks_missing: Option<u64>,
    /// Attempts after the first, each with CSMA-CA from its beginning.
    pub retries: Option<u64>,
    /// Frames sent to this node alone by others, each attempt counted, wherever it could hear them.
    pub frames_offered: Option<u64>,
    /// Those that it took, repetitions of what it had not counted.
    pub frames_taken: Option<u64>,
    /// Packets dropped for want of queue space.
    pub queue_drops: Option<u64>,
    /// Reasons for which it lost frames and packets; those that are missing did not occur.
    pub reasons: Reasons,
    /// What RPL did, if it is the network's routing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpl: Option<RplResult>,
    /// What AODV did, if it is the network's routing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aodv: Option<AodvResult>,
    /// What a border router's queue between host and radio has seen, if packets wait there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub border_queue: Option<BorderResult>,
    /// What became of its strobes, if everybody sleeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strobes: Option<StrobeResult>,
    /// What its flash did, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashResult>,
    /// Share of time with the radio on, 0 to 1.
    pub duty_cycle: f64,
    /// Share of time in which the radio starts, 0 to 1; the duty cycle does not contain it.
    pub starting: f64,
    /// Share of time, 0 to 1, that the radio sleeps between two attempts to send the same frame.
    pub between_attempts: f64,
    /// What it was on for, in seconds; the sum is the duty cycle times the simulated time.
    pub radio_s: RadioSeconds,
    /// Share of time with the radio on in each hour, 0 to 1; the last hour may be cut short.
    pub duty_by_hour: Vec<f64>,
    /// Energy of the radio in millijoules.
    pub energy_mj: f64,
    /// Share of time that the CPU works, 0 to 1; absent without a CPU cost.
    pub cpu_duty_cycle: Option<f64>,
    /// Energy of the CPU in millijoules; absent without a CPU cost.
    pub cpu_mj: Option<f64>,
    /// What the CPU did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_work: Option<CpuWork>,
    /// What time and energy of radio, CPU and flash went into.
    pub power: Power,
    /// Energy of all of them for each frame that a neighbour took, in millijoules; `None` if none
    /// did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mj_per_frame: Option<f64>,
}

/// What RPL did on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct RplResult {
    /// Radio hops to the root, as a mean over the time in which there was a way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<f64>,
    /// DIOs, DISs, DAOs and their acknowledgements sent.
    pub messages: u32,
    /// DIOs among them.
    pub dios: u32,
    /// DAOs among them.
    pub daos: u32,
    /// Times that the preferred parent became another, the first included.
    pub parent_changes: u32,
}

/// What AODV did on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct AodvResult {
    /// Times that a way was sought.
    pub searches: u32,
    /// Those of them that found none.
    pub failed_searches: u32,
    /// Requests sent, own ones and those of others.
    pub rreqs: u32,
    /// Replies sent, own ones and those of others.
    pub rreps: u32,
    /// Errors sent.
    pub rerrs: u32,
    /// Links that broke while ways led over them.
    pub broken_links: u32,
    /// Ways that were lost so, or by what others said.
    pub lost_routes: u32,
    /// Packets for which there was no way to go on.
    pub strays: u32,
}

/// What became of strobes: of a frame, once or again and again, until somebody acknowledges it.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct StrobeResult {
    /// How many there were.
    pub all: u32,
    /// Those that followed another one in a burst.
    pub in_bursts: u32,
    /// Those that were acknowledged when the frame was on the air for the first time.
    pub at_once: u32,
    /// Those that nobody acknowledged.
    pub failed: u32,
    /// Those before which the channel was busy.
    pub busy: u32,
    /// Those that began an answer to a neighbour's burst.
    pub answers: u32,
}

/// What a flash did for frames that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct FlashResult {
    /// Frames written to it.
    pub written: u32,
    /// Frames read from it.
    pub read: u32,
    /// Sectors erased.
    pub erased: u32,
    /// The most frames that ever waited, in memory and in flash.
    pub most: u16,
    /// Share of time in which it read, 0 to 1.
    pub reading: f64,
    /// Share of time in which it wrote or erased, 0 to 1.
    pub writing: f64,
    /// Its energy in millijoules.
    pub mj: f64,
}

/// What a border router's queue between host and radio has seen, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct BorderResult {
    /// Taken in.
    pub taken: u32,
    /// That went on to the radio.
    pub passed: u32,
    /// Dropped as there was no room.
    pub dropped: u32,
    /// That wait.
    pub waiting: usize,
    /// The most that waited at a time.
    pub most: u16,
    /// The longest wait of one that went on, in milliseconds.
    pub longest_ms: f64,
}

impl BorderResult {
    /// That of `node`; `None` if what comes from a host waits with what the node relays.
    pub fn of(node: &Node<LabProfile>) -> Option<Self> {
        let net = node.net();
        let stats = net.border_stats()?;
        Some(BorderResult {
            taken: stats.taken,
            passed: stats.passed,
            dropped: stats.dropped,
            waiting: net.info().from_host,
            most: stats.most,
            longest_ms: stats.longest.as_micros() as f64 / 1e3,
        })
    }
}

/// What a radio was on for, in seconds; [`kinglet_sim::ledger`] defines the causes.
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
    /// Sending again what was not acknowledged.
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

/// The congestion window of a flow at an instant.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CwndSample {
    /// Index of the flow.
    pub flow: u32,
    /// When, in seconds.
    pub at_s: f64,
    /// Octets.
    pub cwnd: u32,
    /// Slow start threshold in octets; `None` before the first loss, while there is none.
    pub ssthresh: Option<u32>,
}

/// What has happened up to an instant, and what is so then.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Sample {
    /// When, in seconds.
    pub at_s: f64,
    /// Octets that have arrived of each flow.
    pub bytes: Vec<u64>,
    /// How long the radio of each node has been on or starting, in seconds.
    pub on_s: Vec<f64>,
    /// What time and energy of each node have gone into.
    pub power: Vec<Power>,
    /// Frames that wait in each node to be passed on.
    pub waiting: Vec<usize>,
    /// The smoothed round-trip time of the first transfer by TCP, in milliseconds.
    pub rtt_ms: Option<f64>,
    /// Segments that it has sent again.
    pub resent: u64,
}

/// What a radio does, or the flash beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// Sends a data frame.
    Transmit,
    /// Sends an acknowledgement.
    Ack,
    /// Receives a frame as a whole.
    Receive,
    /// Hears a frame that is destroyed by another one.
    Collision,
    /// Is on, for whatever purpose.
    On,
    /// Finds the channel busy before it sends.
    Busy,
    /// Wakes, samples the channel and finds nothing.
    Sample,
    /// Wakes, samples the channel and notices something.
    Notice,
    /// Sends a frame until somebody acknowledges it.
    Strobe,
    /// Sends a frame again and again, and nobody acknowledges it.
    Unheard,
    /// Sends frames to the same neighbour, one after the other while it stays awake.
    Burst,
    /// The flash reads.
    FlashRead,
    /// The flash writes.
    FlashWrite,
    /// The flash erases.
    FlashErase,
}

/// An interval in the life of a radio, or of the flash beside it.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Activity {
    /// Whose radio.
    pub node: NodeId,
    /// Start in microseconds.
    pub from_us: u64,
    /// End in microseconds.
    pub to_us: u64,
    /// What it does.
    pub kind: ActivityKind,
    /// How often the frame of a strobe was on the air, or how many frames of a burst were
    /// acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}
