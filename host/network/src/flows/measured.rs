//! The record of each flow at the end of a simulation, by its kind.

use super::fate::{Fates, Known};
use super::{Sink, Source};
use crate::apps::bulk::{BulkSender, BulkSink};
use crate::apps::coap::CoapClient;
use crate::apps::http_client::HttpClient;
use crate::apps::sense::{self, Anemometer, Connections, ReadingSink};
use crate::apps::udp::{UdpSender, UdpSink};
use crate::build::Stations;
use crate::build::place::{Ends, app_at};
use crate::run::{FlowResult, Readings};
use crate::tree::NextHops;
use kinglet::tcp::Info;
use kinglet::time::Instant;
use kinglet_scenario::{Datagrams, File, Flow, FlowKind, Pace, Scenario, Sensor};
use std::collections::BTreeSet;

/// Returns the sender of a bulk transfer, if there is one.
pub(crate) fn bulk_sender(world: &dyn Stations, ends: Ends) -> Option<&BulkSender> {
    app_at(world, ends.from)
}

/// Time span of a flow in a simulation, in seconds.
#[derive(Clone, Copy, Debug)]
struct Span {
    start_s: f64,
    end_s: f64,
}

impl Span {
    /// Seconds from the start of the flow to `end_s`.
    fn until(self, end_s: f64) -> f64 {
        (end_s - self.start_s).max(0.0)
    }

    /// Seconds from the start of the flow to the end of the simulation.
    fn whole(self) -> f64 {
        self.until(self.end_s)
    }

    fn began(self) -> bool {
        self.start_s < self.end_s
    }
}

/// The record of flow number `index` with its state, if both ends can be read.
fn result(
    world: &dyn Stations,
    (index, flow): (usize, &Flow),
    ends: Ends,
    sim_seconds: f64,
    fates: &Fates<'_>,
) -> FlowResult {
    let (from, to) = flow.kind.ends();
    let base = FlowResult { kind: flow.kind.name(), from, to, ..FlowResult::default() };
    let span = Span { start_s: flow.start_s, end_s: sim_seconds };
    match measured(world, flow, ends, base.clone(), span) {
        Some((record, Some(known))) => fates.judge(index, record, known),
        Some((record, None)) => record,
        None => base,
    }
}

/// Results of the flows of `scenario` with these `ends`, after `seconds` of simulated time in a
/// network whose packets take these paths.
pub fn records(
    world: &dyn Stations,
    (scenario, ends): (&Scenario, &[Ends]),
    next_hops: &NextHops,
    seconds: f64,
) -> Vec<FlowResult> {
    let fates = Fates::new(world, scenario, next_hops);
    let flows = scenario.flows.iter().enumerate().zip(ends);
    flows.map(|(flow, ends)| result(world, flow, *ends, seconds, &fates)).collect()
}

/// A record with the input of its state; `None` if an end cannot be read.
type Measured = (FlowResult, Option<Known>);

fn measured(
    world: &dyn Stations,
    flow: &Flow,
    ends: Ends,
    base: FlowResult,
    span: Span,
) -> Option<Measured> {
    let known = |(record, known): (FlowResult, Known)| (record, Some(known));
    Some(match flow.kind {
        FlowKind::TcpBulk { bytes, .. } => {
            bulk(base, bulk_sender(world, ends)?, app_at(world, ends.to), bytes, span)
        }
        FlowKind::Udp(Datagrams { pace, payload_bytes, .. }) => {
            let apps = (app_at(world, ends.from)?, app_at(world, ends.to));
            datagrams(base, apps, (pace, payload_bytes), span)
        }
        FlowKind::Snack { file, .. } => {
            by_snack(base, app_at(world, ends.from)?, app_at(world, ends.to), file, span)
        }
        // `run/pip.rs` makes the record of PIP. Servers have none.
        FlowKind::Pip(_)
        | FlowKind::Services { .. }
        | FlowKind::HttpServer { .. }
        | FlowKind::CoapServer { .. } => return None,
        FlowKind::HttpClient { .. } => known(requests(base, app_at(world, ends.from)?, span)),
        FlowKind::CoapClient { .. } => known(exchanges(base, app_at(world, ends.from)?, span)),
        FlowKind::Anemometer(ref sensor) => {
            readings(base, app_at(world, ends.from)?, app_at(world, ends.to), sensor, span)
        }
    })
}

/// Adds octets and goodput, for every flow except a server.
fn carried(base: FlowResult, bytes: u64, seconds: f64) -> FlowResult {
    let goodput_kbps = (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds / 1e3);
    FlowResult { bytes: Some(bytes), seconds: Some(seconds), goodput_kbps, ..base }
}

/// A bulk transfer of given size ends with its last datagram.
fn datagrams(
    base: FlowResult,
    (sender, sink): (&UdpSender, Option<&UdpSink>),
    (pace, payload_bytes): (Pace, u16),
    span: Span,
) -> Measured {
    let sent = u64::from(sender.numbered());
    let Some(sink) = sink else {
        return (FlowResult { segments_sent: Some(sent), ..base }, None);
    };
    let arrivals = || sink.arrivals().iter();
    let numbers: BTreeSet<u32> = arrivals().map(|(number, _)| *number).collect();
    let received = numbers.len() as u64;
    let delay = |&(number, at): &(u32, Instant)| {
        let delay = at.checked_since(sender.sent_at(number)?)?;
        Some(delay.as_micros() as f64 / 1e3)
    };
    let delays: Vec<f64> = arrivals().filter_map(delay).collect();
    let last_s = arrivals().map(|(_, at)| at.as_micros() as f64 / 1e6).reduce(f64::max);
    let limit = if let Pace::Bulk(limit) = pace { limit } else { None };
    let seconds = span.until(limit.and(last_s).unwrap_or(span.end_s));
    let record = FlowResult {
        segments_sent: Some(sent),
        segments_received: Some(received),
        duplicates: Some(sink.arrivals().len() as u64 - received),
        segment_loss: lost_share(sent, received),
        outcome_known: numbers.last().map(|number| u64::from(*number) + 1),
        delay_ms: (!delays.is_empty()).then(|| delays.iter().sum::<f64>() / delays.len() as f64),
        longest_delay_ms: delays.iter().copied().reduce(f64::max),
        complete: limit.map(|limit| received == u64::from(limit)),
        ..carried(base, received * u64::from(payload_bytes), seconds)
    };
    (record, Some(Known { began: span.began(), bounded: limit.is_some(), ended: None }))
}

/// Measures to the last octet, or to the end.
fn by_snack(
    base: FlowResult,
    source: &Source,
    sink: Option<&Sink>,
    file: File,
    span: Span,
) -> Measured {
    let base = FlowResult { segments_sent: Some(source.sent().into()), ..base };
    let Some(sink) = sink else { return (base, None) };
    let finished = sink.finished_at();
    let end_s = finished.map_or(span.end_s, |at| at.as_micros() as f64 / 1e6);
    let record = FlowResult {
        intact: (sink.received() > 0).then(|| sink.intact()),
        complete: (file.bytes > 0).then_some(finished.is_some()),
        ..carried(base, sink.received(), span.until(end_s))
    };
    (record, Some(Known { began: span.began(), bounded: true, ended: None }))
}

/// Octets of a flow that have arrived, if its receiver counts them.
pub(crate) fn delivered(world: &dyn Stations, flow: &Flow, ends: Ends) -> u64 {
    let octets = match flow.kind {
        FlowKind::TcpBulk { .. } => app_at(world, ends.to).map(BulkSink::received),
        FlowKind::Udp(_) => app_at(world, ends.to).map(UdpSink::bytes),
        FlowKind::Snack { .. } => app_at(world, ends.to).map(Sink::received),
        _ => None,
    };
    octets.unwrap_or(0)
}

fn requests(base: FlowResult, client: &HttpClient, span: Span) -> (FlowResult, Known) {
    let latencies = client.answered().iter().map(|a| a.latency.as_micros() as f64 / 1e3).collect();
    let record = asked(base, latencies, client.bytes(), client.failed(), span);
    let began = is_past(client.next(), span) || record.complete.is_some();
    let intact = record.intact.map(|_| client.intact());
    (FlowResult { intact, ..record }, Known { began, ..Known::default() })
}

fn exchanges(base: FlowResult, client: &CoapClient, span: Span) -> (FlowResult, Known) {
    let stats = client.stats();
    let latencies = client.answered().iter().map(|a| a.latency.as_micros() as f64 / 1e3).collect();
    let record = asked(base, latencies, client.bytes(), client.failed(), span);
    let began = is_past(client.next(), span) || record.complete.is_some();
    let record = FlowResult {
        intact: record.intact.map(|_| client.intact()),
        segments_sent: Some(stats.sent.into()),
        retransmissions: Some(stats.retransmissions.into()),
        timeouts: Some(stats.timeouts.into()),
        ..record
    };
    (record, Known { began, ..Known::default() })
}

/// Adds latencies and failures of requests; `intact` is present if a response arrived.
fn asked(base: FlowResult, latencies: Vec<f64>, each: u32, failed: u32, span: Span) -> FlowResult {
    let answered = latencies.len() as u64;
    let any = answered > 0 || failed > 0;
    FlowResult {
        latencies_ms: Some(latencies),
        failed: Some(failed),
        intact: (answered > 0).then_some(true),
        complete: any.then_some(failed == 0),
        ..carried(base, u64::from(each) * answered, span.whole())
    }
}

fn is_past(at: Instant, span: Span) -> bool {
    (at.as_micros() as f64) < span.end_s * 1e6
}

fn readings(
    base: FlowResult,
    sensor: &Anemometer,
    sink: Option<&ReadingSink>,
    of: &Sensor,
    span: Span,
) -> Measured {
    let record = by_carrier(base, sensor);
    let Some(sink) = sink else { return (record, None) };
    let counts = sensor.counts(sink);
    let octets = |readings: u32| u64::from(readings) * sense::LEN as u64;
    let per_interval = |n: &u32| octets(*n) as f64 * 8.0 / sense::INTERVAL.as_micros() as f64 * 1e3;
    let record = FlowResult {
        intact: (counts.delivered > 0).then(|| sink.intact()),
        complete: (counts.delivered + counts.lost > 0).then_some(counts.lost == 0),
        readings: Some(Readings {
            generated: counts.generated,
            delivered: counts.delivered,
            dropped: counts.dropped,
            lost: counts.lost,
            intervals_kbps: sink.intervals().iter().map(per_interval).collect(),
        }),
        ..carried(record, octets(counts.delivered), span.whole())
    };
    let began = counts.generated >= u32::from(of.batch);
    (record, Some(Known { began, ..Known::default() }))
}

/// Adds the counters of the carrier of a sensor's readings.
fn by_carrier(record: FlowResult, sensor: &Anemometer) -> FlowResult {
    match sensor {
        Anemometer::Tcp(uplink) => with_connections(record, uplink.connections()),
        Anemometer::Coap(uplink) => {
            let stats = uplink.stats();
            let (sum, timeouts) = uplink.timeouts();
            FlowResult {
                timeout_ms: (timeouts > 0).then(|| sum as f64 / timeouts as f64 / 1e3),
                segments_sent: Some(u64::from(stats.sent)),
                retransmissions: Some(u64::from(stats.retransmissions)),
                timeouts: Some(u64::from(stats.retransmissions) + u64::from(stats.timeouts)),
                ..record
            }
        }
        Anemometer::Ideal(uplink) => {
            FlowResult { retransmissions: Some(u64::from(uplink.resent())), ..record }
        }
    }
}

fn with_connections(record: FlowResult, tcp: &Connections) -> FlowResult {
    let (sum, samples) = tcp.rtt;
    FlowResult {
        connections: Some(tcp.opened),
        segments_sent: Some(tcp.segments_sent),
        retransmissions: Some(tcp.fast_retransmits + tcp.timeout_retransmits),
        fast_retransmissions: Some(tcp.fast_retransmits),
        timeouts: Some(tcp.timeouts),
        rtt_ms: (samples > 0).then(|| sum as f64 / samples as f64 / 1e3),
        mss: (tcp.mss > 0).then_some(tcp.mss),
        ..record
    }
}

fn bulk(
    base: FlowResult,
    sender: &BulkSender,
    sink: Option<&BulkSink>,
    limit: Option<u64>,
    span: Span,
) -> Measured {
    let base = by_sender(base, sender);
    let Some(sink) = sink else { return (base, None) };
    // An endless transfer is measured to the end, one of given size to its last octet.
    let last_s = (sink.received() > 0).then(|| sink.last().as_micros() as f64 / 1e6);
    let end_s = limit.and(last_s).unwrap_or(span.end_s);
    let known = Known { began: span.began(), bounded: limit.is_some(), ended: sender.error() };
    let finished = |limit| sink.finished() && sink.received() == limit;
    let base = FlowResult {
        intact: (sink.received() > 0).then(|| sink.intact()),
        complete: limit.filter(|limit| *limit > 0).map(finished),
        ..carried(base, sink.received(), span.until(end_s))
    };
    let Some(info) = sender.info() else { return (base, Some(known)) };
    // Segments in flight at the end are neither lost nor received. Octets in flight are the
    // unacknowledged ones, minus those that the receiver has but has not acknowledged.
    let unacknowledged = sink.received().saturating_sub(u64::from(info.bytes_acked));
    let flying = u64::from(info.bytes_in_flight).saturating_sub(unacknowledged);
    let flying = flying.div_ceil(u64::from(info.mss.max(1)));
    let sent = segments(info).saturating_sub(flying);
    let received = sink.info().map(|i| u64::from(i.counters.segments_received));
    let record = FlowResult {
        segments_sent: Some(sent),
        segments_received: received,
        segment_loss: received.and_then(|received| lost_share(sent, received)),
        ..base
    };
    (record, Some(known))
}

/// Number of segments of a connection. The SYN goes to the listener, so the receiving connection
/// does not count it.
fn segments(info: &Info) -> u64 {
    u64::from(info.counters.segments_sent).saturating_sub(1)
}

/// Adds the counters of a transfer's sender.
fn by_sender(base: FlowResult, sender: &BulkSender) -> FlowResult {
    let base = FlowResult { rtt_ms: sender.mean_rtt_ms(), ..base };
    let Some(info) = sender.info() else { return base };
    let counters = info.counters;
    FlowResult {
        segments_sent: Some(segments(info)),
        retransmissions: Some(
            u64::from(counters.fast_retransmits) + u64::from(counters.timeout_retransmits),
        ),
        fast_retransmissions: Some(u64::from(counters.fast_recoveries)),
        timeouts: Some(u64::from(counters.timeouts)),
        timeout_causes: Some(sender.timeout_causes()),
        mss: (info.mss > 0).then_some(info.mss),
        ..base
    }
}

fn lost_share(sent: u64, received: u64) -> Option<f64> {
    (sent > 0).then(|| sent.saturating_sub(received) as f64 / sent as f64)
}
