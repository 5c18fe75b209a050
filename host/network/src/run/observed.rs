//! Observations during a simulation: captures, a trace, lanes of the timeline.

use super::activity;
use super::identities::Identities;
use super::lanes::{Lane, Lanes};
use super::{Options, RunError};
use crate::build::Network;
use crate::capture::Observations;
use crate::trace;
use kinglet::time::Instant;
use kinglet_scenario::Scenario;
use kinglet_sim::pcap::{Captures, Pcap, PcapNg};
use kinglet_sim::trace::{Event, Sink, Tracer};
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An instant of the run.
pub(super) fn instant(seconds: f64) -> Instant {
    Instant::from_micros((seconds * 1e6).round() as u64)
}

/// The observations of a run.
pub(super) struct Observed {
    /// Receives the path of each file that could not be written completely.
    failures: Receiver<String>,
    lanes: Option<Arc<Mutex<Lanes>>>,
    identities: Option<Arc<Mutex<Identities>>>,
}

/// Results of the observations.
pub(super) struct Seen {
    pub(super) lanes: Vec<Lane>,
    /// Each truncated file, with the cause.
    pub(super) cut_short: Vec<String>,
    /// Identities of segments, if TCP's counters do not suffice.
    pub(super) identities: Option<Arc<Mutex<Identities>>>,
}

/// Locks the value that is shared with the trace's consumer; ignores a panic elsewhere.
pub(super) fn inside<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observed {
    /// Starts the observations of `options`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn begin(
        world: &mut Network,
        (scenario, seed): (&Scenario, u64),
        options: &Options<'_>,
    ) -> Result<Self, RunError> {
        let (failed, failures) = channel();
        let create = |path: &Path| {
            Observations::create(path, failed.clone()).map_err(|e| output_error(path, e))
        };
        // Consumers of the trace's events.
        let mut sinks: Vec<Sink> = Vec::new();
        if let Some(path) = &options.pcap {
            let pcap = Pcap::new(Box::new(create(path)?)).map_err(|e| output_error(path, e))?;
            world.set_pcap(Some(pcap));
        }
        if let Some(path) = &options.trace {
            let sink = trace::sink(scenario, seed, path, create(path)?);
            sinks.push(sink.map_err(|e| output_error(path, e))?);
        }
        if let Some(dir) = &options.captures {
            let captures = captures(scenario, dir, &failed).map_err(|e| output_error(dir, e))?;
            world.set_captures(Some(captures));
            // Their comments come from a trace, even if no other consumer reads it.
            sinks.push(Box::new(|_| {}));
        }
        let mut lanes = None;
        if let Some((from, to)) = options.timeline_s {
            activity::begin(world, (instant(from), instant(to)));
            let own = Arc::new(Mutex::new(Lanes::new(scenario, seed, (from, to))));
            lanes = Some(Arc::clone(&own));
            sinks.push(Box::new(move |event| inside(&own).event(&event)));
        }
        let identities = Identities::new(scenario, seed).map(|new| Arc::new(Mutex::new(new)));
        if let Some(own) = identities.clone() {
            sinks.push(Box::new(move |event| inside(&own).event(&event)));
        }
        if let Some(mut last) = sinks.pop() {
            let all = move |event: Event| {
                sinks.iter_mut().for_each(|sink| sink(event.clone()));
                last(event);
            };
            world.set_trace(Some(Tracer::new(trace::opening(scenario), Box::new(all))));
        }
        Ok(Observed { failures, lanes, identities })
    }

    /// Ends the observations.
    pub(super) fn end(self, world: &mut Network) -> Seen {
        // Dropping them writes their ends.
        world.set_pcap(None);
        world.set_captures(None);
        world.set_trace(None);
        let Observed { failures, lanes, identities } = self;
        let lanes = lanes.map(|lanes| inside(&lanes).finish()).unwrap_or_default();
        Seen { lanes, cut_short: failures.try_iter().collect(), identities }
    }
}

/// Creates the captures in `dir`, which is created as well.
fn captures(scenario: &Scenario, dir: &Path, failed: &Sender<String>) -> io::Result<Captures> {
    std::fs::create_dir_all(dir)?;
    let create = |name: String| -> io::Result<Box<dyn io::Write + Send>> {
        Ok(Box::new(Observations::create(&dir.join(name), failed.clone())?))
    };
    let of_node = |node: usize| {
        PcapNg::of_radio(create(format!("node-{node}.pcapng"))?, &format!("node {node}"))
    };
    let nodes = (0..scenario.nodes.len()).map(of_node).collect::<io::Result<_>>()?;
    let host = match scenario.wire {
        Some(_) => Some(PcapNg::of_wire(create("host.pcapng".to_owned())?, "host")?),
        None => None,
    };
    Ok(Captures { nodes, host })
}

fn output_error(path: &Path, error: io::Error) -> RunError {
    RunError::Output { path: path.to_path_buf(), error }
}
