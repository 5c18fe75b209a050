//! Reads a trace.

use super::names::Names;
use super::row::Row;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Map, Value};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// An open trace.
pub struct Trace {
    /// Its first line.
    pub names: Names,
    rows: Rows,
    /// Reason, if the trace is truncated.
    cut_short: Option<String>,
    last_s: f64,
    ended: bool,
}

enum Rows {
    Lines { lines: std::io::Lines<BufReader<File>>, number: u64 },
    Parquet(Vec<Row>, usize),
}

/// A file that cannot be read as a trace.
#[derive(Debug)]
pub struct TraceError {
    /// Error and remedy.
    pub message: String,
    /// True if the file itself cannot be read.
    pub io: bool,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TraceError {}

const NO_TRACE: &str = "is not a trace; `kinglet sim SCENARIO.toml --trace FILE` writes one";

/// Opens the trace at `path`.
///
/// # Errors
/// The file cannot be read, is not a trace, or has another version.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let shown = path.display();
    let io = |error: std::io::Error| TraceError { message: format!("{shown}: {error}"), io: true };
    let wrong = |message: String| TraceError { message: format!("{shown} {message}"), io: false };
    let mut file = File::open(path).map_err(io)?;
    if path.metadata().is_ok_and(|data| data.is_dir()) {
        return Err(wrong("is a directory; give the file that `--trace` has written".to_owned()));
    }
    let mut magic = [0; 4];
    let begins = std::io::Read::read(&mut file, &mut magic).map_err(io)?;
    if magic[..begins] == *b"PAR1" {
        return parquet(path, &wrong);
    }
    std::io::Seek::rewind(&mut file).map_err(io)?;
    let mut lines = BufReader::new(file).lines();
    let first = match lines.next() {
        None => return Err(wrong("is empty; it was cut short before its first line".to_owned())),
        Some(line) => line.map_err(|_| wrong(NO_TRACE.to_owned()))?,
    };
    let names = names(&first).map_err(&wrong)?;
    let rows = Rows::Lines { lines, number: 1 };
    Ok(Trace { names, rows, cut_short: None, last_s: 0.0, ended: false })
}

/// Reads the first line.
fn names(first: &str) -> Result<Names, String> {
    let value: Value = serde_json::from_str(first).map_err(|_| NO_TRACE.to_owned())?;
    let version = value.get("trace").and_then(Value::as_u64).ok_or(NO_TRACE)?;
    if version != u64::from(super::VERSION) {
        let by = value.get("kinglet").and_then(Value::as_str).unwrap_or("another version");
        return Err(format!(
            "is a trace of version {version}, written by kinglet {by}; this program reads version \
             {}. Run the simulation again, or use that program",
            super::VERSION
        ));
    }
    serde_json::from_value(value)
        .map_err(|error| format!("is not a trace; its first line: {error}"))
}

fn parquet(path: &Path, wrong: &dyn Fn(String) -> TraceError) -> Result<Trace, TraceError> {
    let cut = |_| {
        wrong(
            "was cut short: it has no last row, and a truncated Parquet file cannot be read. A \
             trace of JSON lines (any other name) can"
                .to_owned(),
        )
    };
    let io = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    let reader = SerializedFileReader::new(File::open(path).map_err(io)?).map_err(cut)?;
    let notes = reader.metadata().file_metadata().key_value_metadata();
    let note = notes.and_then(|all| all.iter().find(|note| note.key == "kinglet.trace"));
    let text = note.and_then(|note| note.value.as_deref());
    let names = names(text.unwrap_or_default()).map_err(wrong)?;
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None).map_err(cut)? {
        let row = row.map_err(cut)?;
        let mut map = Map::new();
        for (name, field) in row.get_column_iter() {
            let value = match field {
                Field::Null => continue,
                Field::Bool(flag) => Value::from(*flag),
                Field::Long(number) => Value::from(*number),
                Field::Double(number) => Value::from(*number),
                Field::Str(text) if name == "overlapping" => {
                    serde_json::from_str(text).unwrap_or_default()
                }
                Field::Str(text) => Value::from(text.clone()),
                _ => continue,
            };
            map.insert(name.clone(), value);
        }
        let row = serde_json::from_value(Value::Object(map));
        rows.push(
            row.map_err(|error| wrong(format!("has a row that is not of a trace: {error}")))?,
        );
    }
    let rows = Rows::Parquet(rows, 0);
    Ok(Trace { names, rows, cut_short: None, last_s: 0.0, ended: false })
}

impl Trace {
    /// Reason, if the trace is truncated; `None` before all rows were read.
    pub fn cut_short(&self) -> Option<&str> {
        self.cut_short.as_deref()
    }

    /// The next row, or the reason why there is none.
    fn read_row(&mut self) -> Result<Row, String> {
        let at = self.last_s;
        let ends = || format!("it ends at {at:.6} s without its last line");
        match &mut self.rows {
            Rows::Parquet(rows, place) => {
                let row = rows.get_mut(*place).map(std::mem::take).ok_or_else(ends)?;
                *place += 1;
                Ok(row)
            }
            Rows::Lines { lines, number } => {
                let line = lines.next().ok_or_else(ends)?;
                *number += 1;
                let row = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                row.ok_or_else(|| format!("line {number}, after {at:.6} s, is not whole"))
            }
        }
    }
}

impl Iterator for Trace {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if self.ended {
            return None;
        }
        match self.read_row() {
            Ok(row) => {
                self.last_s = row.t_s;
                self.ended = row.event == "end";
                Some(row)
            }
            Err(why) => {
                self.ended = true;
                self.cut_short = Some(why);
                None
            }
        }
    }
}
