//! "Design criteria": settings of link layer, routing and transport (sixty TelosB nodes).
//!
//! | file | results |
//! |---|---|
//! | `metric.rs` | metrics of transfers between pairs of nodes |
//! | `link.rs` | back-off and retries: Figs. 2 to 5 |
//! | `routing.rs` | routing metrics: Fig. 6 |
//! | `transport.rs` | acknowledgements, timeouts and windows: Figs. 7 to 9 |
//! | `factorial.rs`, `effects.rs` | all settings together |
//! | `bandwidth.rs` | bandwidth estimates compared with limits of the window |
//! | `ours.rs` | Kinglet on the same grid |

mod bandwidth;
mod factorial;
mod link;
mod metric;
mod ours;
mod routing;
mod transport;

pub(super) use bandwidth::EXPERIMENT as BANDWIDTH;
pub(super) use factorial::EXPERIMENT as FACTORIAL;
pub(super) use link::{BACKOFF, RETRIES};
pub use metric::OfPairs;
pub(super) use ours::{DEFAULTS, LINK_FAILURE, MULTIFLOW};
pub(super) use routing::EXPERIMENT as METRIC;
pub(super) use transport::{ACKS, RTO, WINDOW};

use super::{Effort, Metric, point, with_overlap};
use crate::backoff::EitherBackoff;
use crate::scenario::{
    Buffer, Flow, FlowKind, MAC, Mss, NET, Pairs, Routing, Scenario, Tcp, motes,
};
use kinglet::aodv;
use kinglet::tcp::{ConnectionConfig, Rto};
use kinglet::time::Duration;
use kinglet::{mac, net};

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
    /// Derives that limit from the number of hops.
    pub(crate) by_distance: bool,
}

impl Settings {
    pub(crate) const TABLE_1: Settings = Settings {
        backoff: EitherBackoff::TINYOS,
        retries: 3,
        metric: aodv::Metric::HopCount,
        positive_acks: false,
        rto: Rto::AtLeast,
        window: 8,
        by_distance: false,
    };

    /// The same on static routes. The paper's links had "good average quality" (III-A2); the links
    /// of routes with the fewest hops do not, as they are as long as links can be.
    pub(crate) const ON_STATIC_ROUTES: Settings =
        Settings { metric: aodv::Metric::PathDr, ..Settings::TABLE_1 };
}

/// Routes of the transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteKind {
    /// Static routes of this number of hops, discovered beforehand by AODV.
    Static(u32),
    /// Static routes of any length.
    StaticOfAnyLength,
    /// AODV discovers routes when they are needed, and again after a link breaks.
    Live,
}

/// Metrics on static routes.
const STATIC_METRICS: &[Metric] = &[
    Metric::OfPairs(OfPairs::Goodput),
    Metric::OfPairs(OfPairs::Rtt),
    Metric::OfPairs(OfPairs::Success),
    Metric::OfPairs(OfPairs::Failed),
    Metric::OfPairs(OfPairs::Dropped),
    Metric::OfPairs(OfPairs::Timeouts),
    Metric::OfPairs(OfPairs::Segments),
];

/// Metrics of pairs at any distance on live routes.
const LIVE_METRICS: &[Metric] = &[
    Metric::OfPairs(OfPairs::Goodput),
    Metric::OfPairs(OfPairs::GoodputAt(1)),
    Metric::OfPairs(OfPairs::GoodputAt(2)),
    Metric::OfPairs(OfPairs::GoodputAt(3)),
    Metric::OfPairs(OfPairs::GoodputAt(4)),
    Metric::OfPairs(OfPairs::GoodputAt(5)),
    Metric::OfPairs(OfPairs::GoodputAt(6)),
    Metric::OfPairs(OfPairs::Rtt),
    Metric::OfPairs(OfPairs::Success),
    Metric::OfPairs(OfPairs::Hops),
    Metric::OfPairs(OfPairs::Repairs),
    Metric::OfPairs(OfPairs::Dropped),
    Metric::OfPairs(OfPairs::Timeouts),
];

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
     fading of 1.5 dB over half a minute is assumed (host/lab/src/scenario/ceiling.rs).",
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
    let count = match (effort, routes) {
        (Effort::Quick, RouteKind::Static(_)) => 1,
        (Effort::Full, RouteKind::Static(_)) => 3,
        (Effort::Quick, _) => 8,
        (Effort::Full, _) => PAIRS,
    };
    let hops = match routes {
        RouteKind::Static(hops) => Some(hops),
        RouteKind::StaticOfAnyLength | RouteKind::Live => None,
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
        pairs: Some(Pairs { count, hops, interval_s: SLOT_S, ..Pairs::USUAL }),
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
        window_by_hops: settings.by_distance,
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

/// Hops of static routes, and windows for which the paper has curves.
fn lengths(effort: Effort) -> &'static [u32] {
    match effort {
        Effort::Quick => &[1, 3, 5],
        Effort::Full => &[1, 2, 3, 4, 5],
    }
}

const fn backoff_name(backoff: EitherBackoff) -> &'static str {
    match backoff {
        EitherBackoff::Exponential(_) => "beb",
        EitherBackoff::TinyOs(_) => "tinyos",
    }
}
