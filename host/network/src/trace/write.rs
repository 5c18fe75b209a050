//! Writes a trace while the simulation runs.

use super::names::Names;
use super::row::{Columns, Row};
use super::rows::Rows;
use crate::build::contexts;
use crate::capture::Observations;
use crate::table::ParquetFile;
use kinglet::rpl::Mode;
use kinglet_scenario::{Routing, Scenario};
use kinglet_sim::trace::{Event, Opening, Sink};
use kinglet_wire::rpl::PacketInformation;
use kinglet_wire::sixlowpan::routed::Dodag;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Rows of a group in a Parquet file, which are buffered in memory: few enough that they and their
/// columns stay in the processor's cache.
const GROUP: usize = 8_192;

/// Events that are passed to the writer thread in one batch.
const BATCH: usize = 1_024;
/// Batches that may wait for it; beyond that the simulation waits.
const BATCHES: usize = 64;

/// File formats of a trace.
enum Form {
    Lines { file: Observations, line: Vec<u8> },
    Parquet { file: Option<ParquetFile<Observations>>, columns: Box<Columns> },
}

/// Makes rows and writes them, on a separate thread.
struct Writer {
    form: Form,
    rows: Rows,
    last_s: f64,
}

/// Passes events on. Dropping it ends the file.
struct Batches {
    batch: Vec<Event>,
    to: Option<SyncSender<Vec<Event>>>,
    writer: Option<JoinHandle<()>>,
}

/// The opening of the frames of `scenario`.
pub fn opening(scenario: &Scenario) -> Opening {
    let dodag = (scenario.routing == Routing::Rpl).then(|| Dodag {
        root: scenario.addressing().address(scenario.root()),
        instance: 0,
        option: PacketInformation::SKIPPED_IF_UNKNOWN,
        storing: scenario.rpl.mode == Mode::Storing,
        compresses: scenario.rpl.compression,
    });
    let key = scenario.mac.security.as_ref().map(|security| security.link_key());
    Opening { key, contexts: contexts(scenario).to_vec(), dodag }
}

/// A sink that writes a trace to `file`: as Parquet if the name of `path` ends so, else as JSON
/// lines.
///
/// # Errors
/// The beginning cannot be written.
pub fn sink(
    scenario: &Scenario,
    seed: u64,
    path: &Path,
    mut file: Observations,
) -> io::Result<Sink> {
    let names = Names::of(scenario, seed);
    let form = if path.extension().is_some_and(|end| end == "parquet") {
        let note = serde_json::to_string(&names)?;
        let columns = Box::<Columns>::default();
        let file = ParquetFile::new(file, &columns.all(), &[("kinglet.trace", &note)])?;
        Form::Parquet { file: Some(file), columns }
    } else {
        serde_json::to_writer(&mut file, &names)?;
        file.write_all(b"\n")?;
        Form::Lines { file, line: Vec::new() }
    };
    let mut writer = Writer { form, rows: Rows::new(names), last_s: 0.0 };
    let (to, from) = sync_channel::<Vec<Event>>(BATCHES);
    let write = move || from.iter().flatten().for_each(|event| writer.event(&event));
    let thread = std::thread::Builder::new().name("trace".to_owned()).spawn(write)?;
    let mut batches = Batches { batch: Vec::new(), to: Some(to), writer: Some(thread) };
    Ok(Box::new(move |event| batches.push(event)))
}

impl Batches {
    fn push(&mut self, event: Event) {
        self.batch.push(event);
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        if let Some(to) = &self.to {
            // The thread ends before this only if it has panicked, which `join` reports.
            let _ = to.send(batch);
        }
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.hand_over();
        self.to = None;
        if let Some(Err(panic)) = self.writer.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Writer {
    fn event(&mut self, event: &Event) {
        if let Some(row) = self.rows.row(event) {
            self.last_s = row.t_s;
            self.put(row);
        }
    }

    /// The file reports a failure; no further rows are written then.
    fn put(&mut self, row: Row) {
        match &mut self.form {
            Form::Lines { file, line } => {
                line.clear();
                let made = row.write(line).map_err(io::Error::from);
                line.push(b'\n');
                let _ = made.and_then(|()| file.write_all(line));
            }
            Form::Parquet { file, columns } => {
                columns.push(row);
                if columns.len() >= GROUP {
                    put_group(file, columns);
                }
            }
        }
    }
}

fn put_group(file: &mut Option<ParquetFile<Observations>>, columns: &mut Columns) {
    if let Some(open) = file
        && open.group(&columns.all()).is_err()
    {
        *file = None;
    }
    columns.clear();
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A trace without this row is truncated.
        self.put(Row { event: "end".into(), t_s: self.last_s, ..Row::default() });
        if let Form::Parquet { file, columns } = &mut self.form {
            put_group(file, columns);
            if let Some(file) = file.take() {
                // The file has reported a failure.
                let _ = file.close();
            }
        }
    }
}
