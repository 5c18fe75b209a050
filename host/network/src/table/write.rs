//! A table as a file.

use super::{Cells, Column, Table};
use crate::capture::whole;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
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
    let columns: Vec<_> = table.columns.iter().map(|column| sparse(&column.cells)).collect();
    let names = table.columns.iter().map(|column| column.name.as_str());
    let columns: Vec<_> = names.zip(columns.iter().map(|column| &**column)).collect();
    let mut file = ParquetFile::new(out, &columns, &notes)?;
    file.group(&columns)?;
    file.close()
}

/// A column in the form of Parquet: its values, and for each row whether it has one.
pub(crate) struct Sparse<T: DataType> {
    values: Vec<T::T>,
    present: Vec<i16>,
}

impl<T: DataType> Default for Sparse<T> {
    fn default() -> Self {
        Sparse { values: Vec::new(), present: Vec::new() }
    }
}

impl<T: DataType> Sparse<T> {
    /// Appends a row.
    pub(crate) fn push(&mut self, value: Option<T::T>) {
        self.present.push(value.is_some().into());
        self.values.extend(value);
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.present.len()
    }

    /// Removes all rows, and keeps the memory for the next ones.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
    }

    fn of<V>(cells: &[Option<V>], value: impl Fn(&V) -> T::T) -> Box<dyn Sheet>
    where
        Self: Sheet + 'static,
    {
        let mut column = Self::default();
        cells.iter().for_each(|cell| column.push(cell.as_ref().map(&value)));
        Box::new(column)
    }
}

fn sparse(cells: &Cells) -> Box<dyn Sheet> {
    match cells {
        Cells::Whole(cells) => Sparse::<Int64Type>::of(cells, |whole| *whole),
        Cells::Number(cells) => Sparse::<DoubleType>::of(cells, |number| *number),
        Cells::Flag(cells) => Sparse::<BoolType>::of(cells, |flag| *flag),
        Cells::Text(cells) => Sparse::<ByteArrayType>::of(cells, |text| text.as_str().into()),
    }
}

/// A column of a Parquet file, of any type.
pub(crate) trait Sheet {
    /// Type of its values. Octets are text.
    fn physical(&self) -> Physical;

    /// Writes its rows.
    fn write(&self, to: SerializedColumnWriter<'_>) -> Result<()>;
}

impl<T: DataType> Sheet for Sparse<T> {
    fn physical(&self) -> Physical {
        T::get_physical_type()
    }

    fn write(&self, mut to: SerializedColumnWriter<'_>) -> Result<()> {
        to.typed::<T>().write_batch(&self.values, Some(&self.present), None)?;
        to.close()
    }
}

/// A Parquet file that is written group by group.
pub(crate) struct ParquetFile<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> ParquetFile<W> {
    /// Creates a file with the names and types of `columns`, and with `notes` in its metadata.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn new(
        out: W,
        columns: &[(&str, &dyn Sheet)],
        notes: &[(&str, &str)],
    ) -> io::Result<Self> {
        let new = || -> Result<_> {
            let fields = columns.iter().map(|(name, column)| {
                let physical = column.physical();
                Ok(Arc::new(schema_of(name, physical)?))
            });
            let fields = fields.collect::<Result<Vec<_>>>()?;
            let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
            let note =
                |(key, text): &(&str, &str)| KeyValue::new(key.to_string(), text.to_string());
            let notes = notes.iter().map(note).collect();
            let properties = WriterProperties::builder().set_key_value_metadata(Some(notes));
            let properties = columns.iter().fold(properties, |properties, (name, column)| {
                let (path, physical) = (ColumnPath::from(*name), column.physical());
                // A dictionary is worth its search where values repeat and are long.
                let by_dictionary = physical == Physical::BYTE_ARRAY;
                let properties =
                    properties.set_column_dictionary_enabled(path.clone(), by_dictionary);
                match physical {
                    Physical::INT64 => {
                        properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
                    }
                    _ => properties,
                }
            });
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))
        };
        new().map(ParquetFile).map_err(io_error)
    }

    /// Writes rows of the same columns.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn group(&mut self, columns: &[(&str, &dyn Sheet)]) -> io::Result<()> {
        let mut write = || -> Result<()> {
            let mut group = self.0.next_row_group()?;
            for (_, column) in columns {
                if let Some(to) = group.next_column()? {
                    column.write(to)?;
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

fn schema_of(name: &str, physical: Physical) -> Result<Type> {
    let logical = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}
