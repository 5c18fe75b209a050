//! Common parts of `tcplp-latency` and `kinglet-page`: requests of a host to a leaf of the
//! office.

use kinglet::Polling;
use kinglet::time::Duration;
use kinglet_apps::coap::PORT;
use kinglet_coap::Rto;
use kinglet_scenario::{Flow, FlowKind, Method, NodeId, Role, Scenario, polling_every};
use kinglet_sweep::experiment::Effort;
use kinglet_sweep::metric::{Metric, SERVER};

/// Octets of a CoAP block, as in TCPlp's published sensor (`anemometer.h`).
pub(super) const BLOCK: u16 = 512;
/// Initial timeout of the paper's CoAP client (`coap-transactions.c`) and of its TCP.
pub(super) const FIRST_TIMEOUT_MS: u32 = 3_000;

/// Metrics of pages.
pub(super) const METRICS: &[Metric] = &[
    Metric::LatencyFirstQuartile,
    Metric::LatencyMedian,
    Metric::LatencyThirdQuartile,
    Metric::Failed,
];
/// Pause between a page and the next request; long enough for the previous connection to close.
pub(super) const PAUSE_MS: u32 = 10_000;

/// Protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http,
    /// The request travels in the SYN (RFC 7413).
    FastOpen,
    Coap,
}

impl Protocol {
    pub(super) const ALL: [Protocol; 3] = [Protocol::Http, Protocol::FastOpen, Protocol::Coap];

    /// Name in labels.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::FastOpen => "http-tfo",
            Protocol::Coap => "coap",
        }
    }

    /// Name in legends.
    pub(super) const fn series(self) -> &'static str {
        match self {
            Protocol::Http => "HTTP/TCP",
            Protocol::FastOpen => "HTTP/TCP, Fast Open",
            Protocol::Coap => "CoAP",
        }
    }
}

/// Schedule of the server's radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    AlwaysOn,
    /// Polls at a fixed interval, even if a response is expected; milliseconds.
    Sleep(u32),
    /// Polls every 100 ms while a response is expected, otherwise at the interval.
    Adaptive(u32),
    /// Polls when a response should be ready, otherwise at the interval.
    Predictive(u32),
}

/// Requests of the host for `bytes` octets each, with pauses of `pause_ms` on average.
pub(super) fn scenario(
    effort: Effort,
    link: Link,
    protocol: Protocol,
    bytes: u32,
    pause_ms: u32,
) -> Scenario {
    // Kinglet's predictive polling is a point of its own; the others are as in the paper (§8.4,
    // §9).
    let ours = matches!(link, Link::Predictive(_));
    let mut scenario = if ours { Scenario::office() } else { Scenario::office().as_tcplp() };
    if protocol == Protocol::FastOpen {
        // TCPlp has no Fast Open, so Kinglet's TCP is used with the paper's settings.
        scenario.tcp.stack = None;
    }
    scenario.duration_s = effort.seconds() * 2.5;
    serve(&mut scenario, SERVER, link);
    scenario.flows = flows(&scenario, SERVER, protocol, BLOCK, bytes, pause_ms);
    scenario
}

/// Sets the link of the leaf that serves.
pub(super) fn serve(scenario: &mut Scenario, server: NodeId, link: Link) {
    // Initial timeouts of TCPlp's port (`tcp_timer.h`) and of CoAP; longer than the server's sleep.
    scenario.tcp.connection.rto_initial = Duration::from_millis(FIRST_TIMEOUT_MS.into());
    scenario.polling = polling(link);
    if link == Link::AlwaysOn {
        stay_awake(scenario, server);
    }
}

/// Keeps a leaf always on, at the same place, with the same neighbour.
pub(super) fn stay_awake(scenario: &mut Scenario, server: NodeId) {
    scenario.nodes[server as usize].role = Role::Router;
}

/// The host's client and the server.
pub(super) fn flows(
    scenario: &Scenario,
    to: NodeId,
    protocol: Protocol,
    block_bytes: u16,
    bytes: u32,
    pause_ms: u32,
) -> Vec<Flow> {
    let from = scenario.host();
    let (server, client) = match protocol {
        Protocol::Coap => (
            FlowKind::CoapServer { node: to, port: PORT, block_bytes },
            FlowKind::CoapClient {
                from,
                to,
                port: PORT,
                method: Method::Get,
                bytes,
                block_bytes,
                pause_ms,
                rto: Rto::Plain,
                ack_timeout_ms: FIRST_TIMEOUT_MS,
            },
        ),
        Protocol::Http | Protocol::FastOpen => {
            let fast_open = protocol == Protocol::FastOpen;
            let port = 80;
            let client = FlowKind::HttpClient { from, to, port, bytes, pause_ms, fast_open };
            (FlowKind::HttpServer { node: to, port }, client)
        }
    };
    [client, server].map(|kind| Flow::new(1.0, kind)).into()
}

fn polling(link: Link) -> Polling {
    let ms = |ms: u32| Duration::from_millis(ms.into());
    match link {
        Link::AlwaysOn => Polling::TCPLP,
        Link::Sleep(interval) => Polling::Fixed { base: ms(interval), fast_poll: ms(interval) },
        Link::Adaptive(interval) => polling_every(Polling::TCPLP, ms(interval)),
        Link::Predictive(interval) => Polling::Predictive { base: ms(interval) },
    }
}
