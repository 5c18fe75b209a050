//! A table as a file.

use super::{Cells, Column, Table};
use crate::capture::whole;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// The metadata key of pandas for the attributes of a table.
const PANDAS_ATTRS: &str = "PANDAS_ATTRS";

/// A file format for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a line of names.
    Csv,
    /// Apache Parquet, not compressed. The file's metadata have the units as JSON under `units`,
    /// and also under the key from which pandas fills `df.attrs["units"]`.
    Parquet,
}

impl Format {
    /// The format of a file with this name; `None` for endings other than `.csv` and `.parquet`.
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "csv" => Some(Format::Csv),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

/// Writes `table` to `file` [as a whole or not at all](whole::replace).
///
/// # Errors
/// The file cannot be written; the old one is unchanged.
pub fn write(table: &Table, format: Format, file: &Path) -> io::Result<()> {
    whole::replace(file, |out| match format {
        Format::Csv => csv(table, out),
        Format::Parquet => parquet(table, out),
    })
}

fn csv(table: &Table, out: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(io::BufWriter::new(out));
    writer.write_record(table.columns.iter().map(|column| &column.name))?;
    for row in 0..table.rows() {
        let text = |column: &Column| match column.cells.value(row) {
            Value::Null => String::new(),
            Value::String(text) => text,
            value => value.to_string(),
        };
        writer.write_record(table.columns.iter().map(text))?;
    }
    writer.flush()
}

fn parquet(table: &Table, out: impl Write + Send) -> io::Result<()> {
    let units = Value::Object(table.units());
    let attrs = json!({ "units": units });
    let notes = [("units", units.to_string()), (PANDAS_ATTRS, attrs.to_string())];
    let notes = notes.each_ref().map(|(key, text)| (*key, text.as_str()));
    let mut file = ParquetFile::new(out, table, &notes)?;
    file.group(table)?;
    file.close()
}

/// A Parquet file that is written group by group.
pub(crate) struct ParquetFile<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> ParquetFile<W> {
    /// Creates a file with the columns of `table`, and with `notes` in its metadata.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn new(out: W, table: &Table, notes: &[(&str, &str)]) -> io::Result<Self> {
        let new = || -> Result<_> {
            let columns = table.columns.iter().map(|column| Ok(Arc::new(schema_of(column)?)));
            let fields = columns.collect::<Result<Vec<_>>>()?;
            let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
            let note =
                |(key, text): &(&str, &str)| KeyValue::new(key.to_string(), text.to_string());
            let notes = notes.iter().map(note).collect();
            let properties =
                WriterProperties::builder().set_key_value_metadata(Some(notes)).build();
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        };
        new().map(ParquetFile).map_err(io_error)
    }

    /// Writes the rows of a table with the same columns.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn group(&mut self, table: &Table) -> io::Result<()> {
        let mut write = || -> Result<()> {
            let mut group = self.0.next_row_group()?;
            for column in &table.columns {
                match &column.cells {
                    Cells::Whole(cells) => cells_of::<Int64Type, _>(&mut group, cells)?,
                    Cells::Number(cells) => cells_of::<DoubleType, _>(&mut group, cells)?,
                    Cells::Flag(cells) => cells_of::<BoolType, _>(&mut group, cells)?,
                    Cells::Text(cells) => {
                        let octets = |cell: &Option<String>| cell.as_deref().map(ByteArray::from);
                        let cells: Vec<_> = cells.iter().map(octets).collect();
                        cells_of::<ByteArrayType, _>(&mut group, &cells)?;
                    }
                }
            }
            group.close().map(drop)
        };
        write().map_err(io_error)
    }

    /// Writes the end, without which programs cannot read the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn close(self) -> io::Result<()> {
        self.0.close().map(drop).map_err(io_error)
    }
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inside) => match inside.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

fn schema_of(column: &Column) -> Result<Type> {
    let (physical, logical) = match column.cells {
        Cells::Whole(_) => (Physical::INT64, None),
        Cells::Number(_) => (Physical::DOUBLE, None),
        Cells::Flag(_) => (Physical::BOOLEAN, None),
        Cells::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

/// Writes the next column: its values, and for each row whether it has one.
fn cells_of<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: &[Option<T::T>],
) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let values: Vec<T::T> = cells.iter().flatten().cloned().collect();
    let present: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    column.typed::<T>().write_batch(&values, Some(&present), None)?;
    column.close()
}
