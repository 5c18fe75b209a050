//! Settings as Rust code for a device.

use kinglet::tcp::{ConnectionConfig, Rto};
use kinglet::time::Duration;
use kinglet::{Config, Polling, aodv, mac};
use kinglet_network::build::connection;
use kinglet_scenario::{Control, EitherBackoff, Routing, Scenario};
use std::fmt::Write as _;

/// Unit of a receive ring's length in octets.
const RING_UNIT: usize = 8;

/// Rust code for the settings of `scenario` that the advice covers, and for all its TCP settings: a
/// profile with buffers and features, and the configuration of a node, its connections and its
/// routing. Defaults are omitted.
pub fn code(scenario: &Scenario) -> String {
    let connection = connection(scenario, None, None);
    let mut code = String::new();
    if scenario.tcp.stack.is_some() || scenario.tcp.peer_stack.flatten().is_some() {
        code.push_str("// Not what was simulated: there some TCP is that of another stack.\n");
    }
    profile(&mut code, scenario, &connection);
    node(&mut code, scenario);
    connections(&mut code, &connection);
    if let Some(wake) = scenario.wake {
        waking(&mut code, &wake.settings);
    }
    if scenario.routing == Routing::Aodv {
        discovering(&mut code, scenario);
    }
    code
}

fn profile(code: &mut String, scenario: &Scenario, connection: &ConnectionConfig) {
    let receive = connection.receive_buffer.next_multiple_of(RING_UNIT);
    // Two more than the number of full segments.
    let segments = connection.send_buffer.div_ceil(usize::from(connection.mss).max(1)) + 2;
    let policies = connection.window_limit > 0
        || connection.window_by_hops
        || connection.positive_acks
        || connection.rto != Rto::RoundTrips
        || !connection.fast_recovery;
    let _ = writeln!(
        code,
        "kinglet::profile! {{\n    /// The types that the device needs come in addition."
    );
    let _ = writeln!(code, "    pub struct Advised {{");
    let _ = writeln!(code, "        send_buffer: {},", connection.send_buffer);
    let _ = writeln!(code, "        receive_buffer: {receive},");
    let _ = writeln!(code, "        segments: {segments},");
    if policies {
        let _ = writeln!(code, "        features: kinglet::tcp::WithPolicies,");
    }
    let congestion = match scenario.tcp.congestion {
        Control::NewReno => None,
        Control::Cubic => Some("Cubic"),
        Control::Westwood => Some("Westwood"),
        Control::Rate => Some("RateSampled"),
    };
    if let Some(congestion) = congestion {
        let _ = writeln!(code, "        congestion: kinglet::tcp::congestion::{congestion},");
    }
    if scenario.backoff != EitherBackoff::EXPONENTIAL {
        let _ = writeln!(code, "        backoff: kinglet::mac::TinyOs,");
    }
    let _ = writeln!(code, "    }}\n}}");
}

/// Lines for the fields of one struct that differ from its default.
struct Fields<'a> {
    code: &'a mut String,
    /// Text before, within and after each line.
    before: &'static str,
    between: &'static str,
    after: &'static str,
}

impl Fields<'_> {
    fn field<T: PartialEq>(&mut self, name: &str, value: T, usual: T, text: impl Fn(T) -> String) {
        if value != usual {
            let Fields { before, between, after, .. } = self;
            let _ = writeln!(self.code, "    {before}{name}{between}{}{after}", text(value));
        }
    }
}

fn plain<T: ToString>(value: T) -> String {
    value.to_string()
}

fn duration(value: Duration) -> String {
    match value.as_micros() {
        us if us % 1_000 == 0 => format!("kinglet::time::Duration::from_millis({})", us / 1_000),
        us => format!("kinglet::time::Duration::from_micros({us})"),
    }
}

fn node(code: &mut String, scenario: &Scenario) {
    let usual = Config::repeatable(0, [0; 8], 0, [0; 16]);
    code.push_str("\n/// Gives a node's configuration its settings.\n");
    code.push_str("pub fn advise<K>(config: &mut kinglet::Config<K>) {\n");
    let begun = code.len();
    let mut fields = Fields { code, before: "config.", between: " = ", after: ";" };
    let (own, mac) = (&scenario.mac, &usual.mac);
    fields.field("mac.max_frame_retries", own.max_frame_retries, mac.max_frame_retries, plain);
    fields.field("mac.retry_delay_max", own.retry_delay_max, mac.retry_delay_max, duration);
    let adaptive = (own.adaptive_retry_delay, mac.adaptive_retry_delay);
    fields.field("mac.adaptive_retry_delay", adaptive.0, adaptive.1, plain);
    fields.field("mac.csl", own.csl, mac.csl, csl);
    fields.field("net.queue_limit", scenario.net.queue_limit, usual.net.queue_limit, plain);
    fields.field("yields", scenario.relays_yield, usual.yields, plain);
    fields.field("polling", scenario.polling, usual.polling, polling);
    if code.len() == begun {
        code.push_str("    let _ = config; // the defaults\n");
    }
    code.push_str("}\n");
}

fn csl(csl: Option<mac::Csl>) -> String {
    let Some(csl) = csl else { return "None".to_owned() };
    let mac::Csl { period, drift_ppm, sync_interval } = csl;
    format!(
        "Some(kinglet::mac::Csl {{\n        period: {},\n        drift_ppm: {drift_ppm},\n        \
         sync_interval: {},\n    }})",
        duration(period),
        duration(sync_interval)
    )
}

fn polling(polling: Polling) -> String {
    match polling {
        Polling::Fixed { base, fast_poll } => format!(
            "kinglet::Polling::Fixed {{\n        base: {},\n        fast_poll: {},\n    }}",
            duration(base),
            duration(fast_poll)
        ),
        Polling::Predictive { base } => {
            format!("kinglet::Polling::Predictive {{ base: {} }}", duration(base))
        }
    }
}

/// A constant called `name` of a type that has defaults.
fn constant(
    code: &mut String,
    says: &str,
    (name, of, default): (&str, &str, &str),
    fields: impl FnOnce(&mut Fields<'_>),
) {
    let _ = write!(code, "\n/// {says}\npub const {name}: {of} = {of} {{\n");
    fields(&mut Fields { code, before: "", between: ": ", after: "," });
    let _ = write!(code, "    ..{of}::{default}\n}};\n");
}

fn connections(code: &mut String, own: &ConnectionConfig) {
    let usual = ConnectionConfig::DEFAULT;
    let named = ("CONNECTION", "kinglet::tcp::ConnectionConfig", "DEFAULT");
    constant(code, "Of each connection, at both ends.", named, |fields| {
        fields.field("mss", own.mss, usual.mss, plain);
        fields.field("adaptive_mss", own.adaptive_mss, usual.adaptive_mss, plain);
        fields.field("send_buffer", own.send_buffer, usual.send_buffer, plain);
        fields.field("receive_buffer", own.receive_buffer, usual.receive_buffer, plain);
        fields.field("initial_window", own.initial_window, usual.initial_window, plain);
        fields.field("window_limit", own.window_limit, usual.window_limit, plain);
        let by_distance = (own.window_by_hops, usual.window_by_hops);
        fields.field("window_by_hops", by_distance.0, by_distance.1, plain);
        fields.field("ack_every", own.ack_every, usual.ack_every, plain);
        let request = (own.ack_rate_request, usual.ack_rate_request);
        fields.field("ack_rate_request", request.0, request.1, plain);
        fields.field("delayed_ack", own.delayed_ack, usual.delayed_ack, duration);
        fields.field("positive_acks", own.positive_acks, usual.positive_acks, plain);
        fields.field("rto_initial", own.rto_initial, usual.rto_initial, duration);
        fields.field("rto_min", own.rto_min, usual.rto_min, duration);
        fields.field("rto", own.rto, usual.rto, |rto| format!("kinglet::tcp::Rto::{rto:?}"));
        fields.field("max_retransmits", own.max_retransmits, usual.max_retransmits, plain);
        fields.field("fast_recovery", own.fast_recovery, usual.fast_recovery, plain);
        fields.field("link_losses", own.link_losses, usual.link_losses, plain);
        fields.field("pacing", own.pacing, usual.pacing, plain);
        fields.field("timestamps", own.timestamps, usual.timestamps, plain);
        fields.field("sack", own.sack, usual.sack, plain);
        fields.field("ecn", own.ecn, usual.ecn, plain);
        fields.field("nagle", own.nagle, usual.nagle, plain);
    });
}

fn waking(code: &mut String, own: &mac::Wake) {
    let usual = mac::Wake::DEFAULT;
    let named = ("WAKE", "kinglet::mac::Wake", "DEFAULT");
    constant(code, "For `Node::set_wake`; `channels` follow from the radio.", named, |fields| {
        fields.field("period", own.period, usual.period, duration);
        fields.field("burst", own.burst, usual.burst, duration);
        fields.field("repeats", own.repeats, usual.repeats, plain);
        fields.field("burst_repeats", own.burst_repeats, usual.burst_repeats, plain);
        fields.field("sleeps_in_gaps", own.sleeps_in_gaps, usual.sleeps_in_gaps, plain);
        fields.field("drift_ppm", own.drift_ppm, usual.drift_ppm, plain);
        fields.field("max_attempts", own.max_attempts, usual.max_attempts, |it| format!("{it:?}"));
    });
}

fn discovering(code: &mut String, scenario: &Scenario) {
    let usual = aodv::AodvConfig::OFF;
    let named = ("AODV", "kinglet::aodv::AodvConfig", "OFF");
    constant(code, "For `Aoded::new`, with the node's role.", named, |fields| {
        let metric = |metric| format!("kinglet::aodv::Metric::{metric:?}");
        fields.field("metric", scenario.aodv_metric, usual.metric, metric);
        fields.field("link_probes", scenario.aodv_link_probes, usual.link_probes, plain);
    });
}
