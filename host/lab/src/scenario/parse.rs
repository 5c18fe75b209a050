//! TOML to [`Scenario`], with every range checked.

use super::error::ScenarioError;
use super::flow::flow;
use super::read::{Reader, Source};
use super::{
    Buffer, Cca, Csma, DISC_RSSI_DBM, Fault, HostCost, HostTcp, Indirect, Link, Mac, Medium, Mss,
    NodeId, NodePlace, Overlap, Propagation, Radio, RadioProfile, Role, Scenario, Tcp, Wire,
};
use super::{interference, places, sleep};
use kinglet_sim::profile::NOISE_FLOOR_DBM;
use std::path::Path;
use toml::de::DeTable;

pub(super) type Result<T> = std::result::Result<T, ScenarioError>;

/// More nodes than the largest benchmark (5,000), with room.
pub(super) const MAX_NODES: u64 = 20_000;
/// A year; longer is a mistake of units.
const MAX_SECONDS: f64 = 31_536_000.0;

pub(super) fn scenario(file: &Path, text: &str) -> Result<Scenario> {
    let source = Source { file, text };
    let document = DeTable::parse(text).map_err(|error| {
        let message = format!("not valid TOML: {}", error.message().trim_end());
        source.error(error.span().unwrap_or(0..0), "", message)
    })?;
    let whole = 0..text.len().min(1);
    let mut root = Reader::new(source, document.get_ref(), whole, String::new());
    let name = root.string_opt("name")?;
    let duration_s = root.number_opt("duration_s", 0.001..=MAX_SECONDS)?;
    let start_hour = root.number_opt("start_hour", 0.0..=24.0)?;
    let seed = root.integer_opt("seed", 0..=i64::MAX as u64)?;
    let default = places::base(&mut root)?;
    let duration_s = duration_s.unwrap_or(default.duration_s);
    let radio = radio(root.table_opt("radio")?, default.radio)?;
    let nodes = default.nodes;
    let medium = medium(root.table_opt("medium")?, default.medium, nodes.len())?;
    let (mac, indirect) = mac(root.table_opt("mac")?)?;
    let leaf = sleep::leaf(root.table_opt("leaf")?, radio.profile)?;
    let net = sleep::net(root.table_opt("net")?)?;
    let tcp = tcp(root.table_opt("tcp")?)?;
    let wire = match root.table_opt("wire")? {
        Some(table) => Some(wire(table, &nodes)?),
        None => default.wire,
    };
    let interference = interference::tables(&mut root, &medium, default.interference)?;
    let mut flows = Vec::new();
    for table in root.tables("flow")? {
        flow(table, &nodes, wire.is_some(), duration_s, &mut flows)?;
    }
    let faults = root.tables("fault")?;
    let faults =
        faults.into_iter().map(|t| fault(t, nodes.len(), duration_s)).collect::<Result<_>>()?;
    root.finish()?;
    Ok(Scenario {
        name: name.map_or(default.name, str::to_owned),
        duration_s,
        start_hour: start_hour.unwrap_or(default.start_hour),
        seed: seed.unwrap_or(default.seed),
        radio,
        medium,
        interference,
        mac,
        indirect,
        leaf,
        net,
        tcp,
        nodes,
        wire,
        flows,
        faults,
    })
}

fn radio(table: Option<Reader<'_>>, default: Radio) -> Result<Radio> {
    let Some(mut t) = table else { return Ok(default) };
    let profiles = RadioProfile::ALL.map(|profile| (profile.name(), profile));
    let profile = t.choice("profile", &profiles, default.profile)?;
    let channel = t.integer("channel", 11..=26, default.channel.into())? as u8;
    let tx_power_dbm = t.number("tx_power_dbm", -30.0..=20.0, default.tx_power_dbm)?;
    let drift_ppm = t.integer("drift_ppm", 0..=500, default.drift_ppm.into())? as u32;
    let micros = t.integer_opt("host_cost_us_per_frame", 0..=100_000)?;
    let presets = [("fitted_tcplp", HostCost::FittedTcplp), ("measured", HostCost::Measured)];
    let preset = t.choice_opt("host_cost", &presets)?;
    let host_cost = match (micros, preset) {
        (Some(_), Some(_)) => {
            let message = "give either host_cost or host_cost_us_per_frame, not both";
            return Err(t.error_at("host_cost", message.to_owned()));
        }
        (Some(us), None) => HostCost::Micros(us as u32),
        (None, Some(preset)) => preset,
        (None, None) => default.host_cost,
    };
    let cca = t.choice("cca", &Cca::ALL.map(|mode| (mode.name(), mode)), default.cca)?;
    let threshold = t.number_opt("cca_threshold_dbm", -120.0..=0.0)?;
    let cca_threshold_dbm = threshold.or(default.cca_threshold_dbm);
    t.finish()?;
    Ok(Radio { profile, channel, tx_power_dbm, drift_ppm, host_cost, cca, cca_threshold_dbm })
}

#[derive(Clone, Copy)]
enum Model {
    UnitDisc,
    LinkMatrix,
    PathLoss,
}

fn medium(table: Option<Reader<'_>>, default: Medium, nodes: usize) -> Result<Medium> {
    let Some(mut t) = table else { return Ok(default) };
    let models = [
        ("unit-disc", Model::UnitDisc),
        ("link-matrix", Model::LinkMatrix),
        ("path-loss", Model::PathLoss),
    ];
    let usual = match default.propagation {
        Propagation::PathLoss { .. } => Model::PathLoss,
        _ => Model::UnitDisc,
    };
    let model = t.choice("model", &models, usual)?;
    let propagation = propagation(&mut t, model, &default.propagation, nodes)?;
    let overlaps = [Overlap::Strict, Overlap::SinrBer, Overlap::Capture].map(|o| (o.name(), o));
    let overlap = t.choice("overlap", &overlaps, default.overlap)?;
    let hidden_terminals = t.boolean("hidden_terminals", default.hidden_terminals)?;
    let frame_loss = t.number("frame_loss", 0.0..=1.0, default.frame_loss)?;
    t.finish()?;
    Ok(Medium { propagation, overlap, hidden_terminals, frame_loss })
}

fn propagation(
    t: &mut Reader<'_>,
    model: Model,
    default: &Propagation,
    nodes: usize,
) -> Result<Propagation> {
    Ok(match model {
        Model::UnitDisc => {
            let range_m = t.number("range_m", 0.01..=100_000.0, 10.0)?;
            let wider = t.number("interference_range_m", range_m..=100_000.0, range_m)?;
            let rssi_dbm = t.number("rssi_dbm", -120.0..=10.0, DISC_RSSI_DBM)?;
            Propagation::UnitDisc { range_m, interference_range_m: wider, rssi_dbm }
        }
        Model::LinkMatrix => {
            let links = t.tables("link")?;
            if links.is_empty() {
                let message = "a link-matrix needs at least one [[medium.link]]".to_owned();
                return Err(t.error_at("model", message));
            }
            let links = links.into_iter().map(|l| link(l, nodes)).collect::<Result<_>>()?;
            Propagation::LinkMatrix { links }
        }
        Model::PathLoss => path_loss(t, default)?,
    })
}

fn path_loss(t: &mut Reader<'_>, default: &Propagation) -> Result<Propagation> {
    // Unless the topology brings its own: office exponent and free-space loss at 1 m (2.45 GHz).
    let (n, reference, shadowing, noise) = match *default {
        Propagation::PathLoss { exponent, reference_loss_db, shadowing_db, noise_floor_dbm } => {
            (exponent, reference_loss_db, shadowing_db, noise_floor_dbm)
        }
        _ => (3.0, 40.2, 0.0, NOISE_FLOOR_DBM),
    };
    Ok(Propagation::PathLoss {
        exponent: t.number("exponent", 1.0..=8.0, n)?,
        reference_loss_db: t.number("reference_loss_db", 0.0..=100.0, reference)?,
        shadowing_db: t.number("shadowing_db", 0.0..=20.0, shadowing)?,
        noise_floor_dbm: t.number("noise_floor_dbm", -150.0..=-50.0, noise)?,
    })
}

fn link(mut t: Reader<'_>, nodes: usize) -> Result<Link> {
    let link = Link {
        from: node(&mut t, "from", nodes)?,
        to: node(&mut t, "to", nodes)?,
        loss: t.number("loss", 0.0..=1.0, 0.0)?,
        rssi_dbm: t.number("rssi_dbm", -120.0..=10.0, -60.0)?,
        symmetric: t.boolean("symmetric", true)?,
    };
    t.finish()?;
    Ok(link)
}

fn mac(table: Option<Reader<'_>>) -> Result<(Mac, Indirect)> {
    let d = Mac::default();
    let Some(mut t) = table else { return Ok((d, Indirect::default())) };
    let max_be = t.integer("max_be", 3..=8, d.max_be.into())?;
    let mac = Mac {
        min_be: t.integer("min_be", 0..=max_be, u64::from(d.min_be).min(max_be))? as u8,
        max_be: max_be as u8,
        max_csma_backoffs: t.integer("max_csma_backoffs", 0..=5, d.max_csma_backoffs.into())? as u8,
        max_frame_retries: t.integer("max_frame_retries", 0..=15, d.max_frame_retries.into())?
            as u8,
        retry_delay_ms: t.integer("retry_delay_ms", 0..=10_000, d.retry_delay_ms.into())? as u32,
        adaptive_retry_delay: t.boolean("adaptive_retry_delay", d.adaptive_retry_delay)?,
        csma: t.choice(
            "csma",
            &[("software", Csma::Software), ("hardware", Csma::Hardware)],
            d.csma,
        )?,
        security: t.boolean("security", d.security)?,
        reserved_security_bytes: reserved(&mut t, d.reserved_security_bytes)?,
    };
    let indirect = sleep::indirect(t.table_opt("indirect")?, mac.max_be)?;
    t.finish()?;
    Ok((mac, indirect))
}

/// The MAC fills reserved octets with an element of its own, which takes 7 at least.
fn reserved(t: &mut Reader<'_>, default: u8) -> Result<u8> {
    let key = "reserved_security_bytes";
    match t.integer(key, 0..=60, default.into())? {
        octets @ 1..=6 => {
            Err(t.error_at(key, format!("{octets} is too little; allowed are 0 and 7 to 60")))
        }
        octets => Ok(octets as u8),
    }
}

fn tcp(table: Option<Reader<'_>>) -> Result<Tcp> {
    let d = Tcp::default();
    let Some(mut t) = table else { return Ok(d) };
    let mss_bytes = t.integer_opt("mss", 32..=1220)?;
    let mss_frames = t.integer_opt("mss_frames", 1..=12)?;
    let mss = match (mss_bytes, mss_frames) {
        (Some(_), Some(_)) => {
            let message = "give either mss (octets) or mss_frames, not both".to_owned();
            return Err(t.error_at("mss", message));
        }
        (Some(bytes), None) => Mss::Bytes(bytes as u16),
        (None, Some(frames)) => Mss::Frames(frames as u8),
        (None, None) => d.mss,
    };
    let send = buffer(&mut t, "send_buffer_bytes", "send_buffer_segments")?;
    let receive = buffer(&mut t, "receive_buffer_bytes", "receive_buffer_segments")?;
    let tcp = Tcp {
        mss,
        adaptive_segments: t.boolean("adaptive_segments", d.adaptive_segments)?,
        link_losses: t.boolean("link_losses", d.link_losses)?,
        send_buffer: send.unwrap_or(d.send_buffer),
        receive_buffer: receive.unwrap_or(d.receive_buffer),
        ack_delay_ms: t.integer("ack_delay_ms", 0..=500, d.ack_delay_ms.into())? as u32,
        ack_every: t.integer("ack_every", 1..=8, d.ack_every.into())? as u8,
        nagle: t.boolean("nagle", d.nagle)?,
        initial_rto_ms: t.integer("initial_rto_ms", 10..=60_000, d.initial_rto_ms.into())? as u32,
        min_rto_ms: t.integer("min_rto_ms", 10..=60_000, d.min_rto_ms.into())? as u32,
        pacing: t.boolean("pacing", d.pacing)?,
        timestamps: t.boolean("timestamps", d.timestamps)?,
        sack: t.boolean("sack", d.sack)?,
        ecn: t.boolean("ecn", d.ecn)?,
    };
    t.finish()?;
    Ok(tcp)
}

pub(super) fn buffer(
    t: &mut Reader<'_>,
    bytes_key: &'static str,
    segments_key: &'static str,
) -> Result<Option<Buffer>> {
    let bytes = t.integer_opt(bytes_key, 64..=1_048_576)?;
    let segments = t.integer_opt(segments_key, 1..=1_024)?;
    match (bytes, segments) {
        (Some(_), Some(_)) => {
            let message = format!("give either {bytes_key} or {segments_key}, not both");
            Err(t.error_at(bytes_key, message))
        }
        (Some(bytes), None) => Ok(Some(Buffer::Bytes(bytes as u32))),
        (None, Some(segments)) => Ok(Some(Buffer::Segments(segments as u16))),
        (None, None) => Ok(None),
    }
}

/// The number of a node that exists.
pub(super) fn node(t: &mut Reader<'_>, key: &'static str, nodes: usize) -> Result<NodeId> {
    if t.has(key) {
        let last = (nodes as u64).saturating_sub(1);
        return Ok(t.integer(key, 0..=last, 0)? as NodeId);
    }
    // Ask for it all the same, so that a misspelling is compared with it.
    t.integer_opt(key, 0..=0)?;
    Err(t.error_at(key, format!("missing; give a node number, 0 to {}", nodes.saturating_sub(1))))
}

fn wire(mut t: Reader<'_>, nodes: &[NodePlace]) -> Result<Wire> {
    if !nodes.iter().any(|place| place.role == Role::BorderRouter) {
        return Err(t.error("needs a node with `role = \"border-router\"` to end at".to_owned()));
    }
    let d = Wire::PERFECT;
    let wire = Wire {
        delay_ms: t.integer("delay_ms", 0..=60_000, d.delay_ms.into())? as u32,
        loss: t.number("loss", 0.0..=1.0, d.loss)?,
        loss_to_mesh: t.number_opt("loss_to_mesh", 0.0..=1.0)?,
        duplicate: t.number("duplicate", 0.0..=1.0, d.duplicate)?,
        mark: t.number("mark", 0.0..=1.0, d.mark)?,
        reorder: t.number("reorder", 0.0..=1.0, d.reorder)?,
        reorder_delay_ms: t.integer("reorder_delay_ms", 0..=60_000, d.reorder_delay_ms.into())?
            as u32,
        host: t.choice("host", &[("same", HostTcp::Same), ("linux", HostTcp::Linux)], d.host)?,
    };
    t.finish()?;
    Ok(wire)
}

fn fault(mut t: Reader<'_>, nodes: usize, duration_s: f64) -> Result<Fault> {
    let Some(()) = t.choice_opt("kind", &[("partition", ())])? else {
        return Err(t.error_at("kind", "missing; give \"partition\"".to_owned()));
    };
    let from_s = t.number("from_s", 0.0..=duration_s, 0.0)?;
    let to_s = t.number("to_s", from_s..=duration_s, duration_s)?;
    let cut = t.integers("nodes", (nodes as u64).saturating_sub(1))?;
    if cut.is_empty() {
        let message = "missing; list the nodes that are cut off, such as [2, 3]".to_owned();
        return Err(t.error_at("nodes", message));
    }
    t.finish()?;
    Ok(Fault::Partition { nodes: cut.into_iter().map(|n| n as NodeId).collect(), from_s, to_s })
}
