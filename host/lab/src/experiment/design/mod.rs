//! "Design criteria": settings of link layer, routing and transport (sixty TelosB nodes).
//!
//! | file | results |
//! |---|---|
//! | `factorial.rs` | all settings together |
//!
//! The experiments with one or two of them are folders (`experiments/design-*`).

mod factorial;

pub(super) use factorial::EXPERIMENT as FACTORIAL;

use super::point;
use kinglet::aodv;
use kinglet::tcp::{ConnectionConfig, Rto};
use kinglet::time::Duration;
use kinglet::{mac, net};
use kinglet_scenario::{
    Buffer, EitherBackoff, Flow, FlowKind, MAC, Mss, NET, Pairs, Routing, Scenario, Tcp, motes,
};
use kinglet_sweep::experiment::Effort;

/// Settings that the paper varies; the others stay at the values of its Table I.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) backoff: EitherBackoff,
    pub(crate) retries: u8,
    pub(crate) metric: aodv::Metric,
    /// Acknowledges each segment separately instead of all received ones together.
    pub(crate) positive_acks: bool,
    pub(crate) rto: Rto,
    /// Limit of the congestion window, in segments.
    pub(crate) window: u8,
}

impl Settings {
    pub(crate) const TABLE_1: Settings = Settings {
        backoff: EitherBackoff::TINYOS,
        retries: 3,
        metric: aodv::Metric::HopCount,
        positive_acks: false,
        rto: Rto::AtLeast,
        window: 8,
    };
}

/// Routes of the transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteKind {
    /// Static routes, discovered beforehand by AODV.
    Static,
    /// AODV discovers routes when they are needed, and again after a link breaks.
    Live,
}

/// Octets of a transfer (II-C).
const BYTES: u64 = 44_000;
/// Seconds for each transfer; one that takes longer counts as not completed.
const SLOT_S: f64 = 900.0;
/// Pairs of nodes in live routing (II-C).
const PAIRS: u32 = 31;

/// Threats common to these experiments.
const THREATS: [&str; 5] = [
    "The paper has no positions of links, no signal strengths and no route lengths. The grid's \
     links are drawn by the seed from TOSSIM's model of a cluttered corridor, with an asymmetry \
     and a slow fading; fitted_loss_db = 10 is chosen so that routes have up to six hops, and the \
     fading of 1.5 dB over half a minute is assumed (host/scenario/src/ceiling.rs).",
    "The CPU's time for a frame is that of the same mote with burst forwarding, 1.6 ms; TinyOS's \
     own was not published.",
    "A segment is what one frame holds with IPv6 and TCP headers compressed as RFC 6282 does: 87 \
     octets, where the paper's transfer of 44 kB takes 470 frames of about 94.",
    "The paper does not say when its TCP gives up: here after eight repetitions of a segment, as \
     uIP. It does not give the first window either: here one segment.",
    "The function of PATH-DR from LQI to delivery ratio is not published: here a straight line \
     between correlations of 55 and 102, and correlation follows from the signal to interference \
     and noise by differential detection of chips (host/sim/src/quality.rs).",
];

/// Transfers in the paper's system.
pub(crate) fn scenario(effort: Effort, settings: Settings, routes: RouteKind) -> Scenario {
    let mut base = Scenario::ceiling();
    base.radio.host_cost = motes::TMOTE;
    let count = match effort {
        Effort::Quick => 8,
        Effort::Full => PAIRS,
    };
    let kind = FlowKind::TcpBulk {
        from: 0,
        to: 59,
        bytes: Some(BYTES),
        send_buffer: None,
        receive_buffer: None,
    };
    let connection = connection(settings);
    Scenario {
        name: "design criteria".to_owned(),
        duration_s: f64::from(count) * SLOT_S,
        backoff: settings.backoff,
        mac: mac::MacConfig {
            max_frame_retries: settings.retries,
            retry_delay_max: Duration::ZERO,
            adaptive_retry_delay: false,
            security: None,
            reserved_security: 0,
            ..MAC
        },
        // Large enough to drop no packets (II-C).
        net: net::NetConfig { queue_limit: 20, ..NET },
        relays_yield: false,
        routing: if routes == RouteKind::Live { Routing::Aodv } else { Routing::Static },
        aodv_metric: settings.metric,
        aodv_link_probes: routes != RouteKind::Live,
        tcp: Tcp {
            mss: Mss::Frames(1),
            send_buffer: Buffer::Segments(8),
            receive_buffer: Buffer::Segments(8),
            connection,
            ..Tcp::default()
        },
        flows: vec![Flow::new(1.0, kind)],
        pairs: Some(Pairs { count, interval_s: SLOT_S, ..Pairs::USUAL }),
        ..base
    }
}

/// "A basic version of TCP based on RFC 793 with the slow start algorithm" (II-B). Losses are
/// detected by timeouts only. Each segment is acknowledged at once, unless the acknowledgment of
/// the previous one is still waiting.
fn connection(settings: Settings) -> ConnectionConfig {
    ConnectionConfig {
        positive_acks: settings.positive_acks,
        window_limit: settings.window,
        rto: settings.rto,
        rto_min: Duration::from_millis(500),
        rto_initial: Duration::from_secs(1),
        fast_recovery: false,
        sack: false,
        pacing: false,
        link_losses: false,
        delayed_ack: Duration::ZERO,
        ack_every: 1,
        initial_window: 1,
        max_retransmits: 8,
        ..ConnectionConfig::DEFAULT
    }
}
