//! Rows as columns with one type each.

mod unit;
mod write;

pub use unit::unit;
pub use write::{Format, write};
pub(crate) use write::{ParquetFile, Sheet, Sparse};

use serde_json::{Map, Value};

/// A row: names with scalar values.
pub type Record = Map<String, Value>;

/// Results as columns, such as those of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Columns of the same length, fields first.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The unit of its values; empty if they have none.
    pub unit: &'static str,
    /// A value for each row that has one.
    pub cells: Cells,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// True or false.
    Flag(Vec<Option<bool>>),
    /// Text; lists and tables of a sweep as JSON.
    Text(Vec<Option<String>>),
}

impl Cells {
    /// The narrowest type that holds all of `values`.
    fn of(values: &[Option<&Value>]) -> Self {
        let present: Vec<&Value> = values.iter().copied().flatten().collect();
        let all = |is: fn(&Value) -> bool| present.iter().all(|value| is(value));
        let each = values.iter().copied();
        // This includes a column without values, whose type is unknown.
        if present.is_empty() || (all(Value::is_number) && !all(Value::is_i64)) {
            return Cells::Number(each.map(|value| value.and_then(Value::as_f64)).collect());
        }
        if all(Value::is_i64) {
            return Cells::Whole(each.map(|value| value.and_then(Value::as_i64)).collect());
        }
        if all(Value::is_boolean) {
            return Cells::Flag(each.map(|value| value.and_then(Value::as_bool)).collect());
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Cells::Text(each.map(|value| value.map(text)).collect())
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Cells::Whole(cells) => cells.len(),
            Cells::Number(cells) => cells.len(),
            Cells::Flag(cells) => cells.len(),
            Cells::Text(cells) => cells.len(),
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in `row`; null if it has none.
    pub fn value(&self, row: usize) -> Value {
        match self {
            Cells::Whole(cells) => cells.get(row).copied().flatten().into(),
            Cells::Number(cells) => cells.get(row).copied().flatten().into(),
            Cells::Flag(cells) => cells.get(row).copied().flatten().into(),
            Cells::Text(cells) => cells.get(row).cloned().flatten().into(),
        }
    }
}

impl Table {
    /// The columns of `rows`, in order of first occurrence, without those of reasons that occurred
    /// in no run.
    pub fn of(rows: &[Record]) -> Self {
        let mut names = Record::new();
        for name in rows.iter().flat_map(Record::keys) {
            if !names.contains_key(name) {
                names.insert(name.clone(), Value::Null);
            }
        }
        let column = |(name, _): (String, Value)| {
            let values = rows.iter().map(|row| row.get(&name).filter(|value| !value.is_null()));
            let cells = Cells::of(&values.collect::<Vec<_>>());
            Column { unit: unit(&name), name, cells }
        };
        let occurred = |name: &String| {
            let count = |row: &Record| row.get(name).and_then(Value::as_f64).unwrap_or(0.0);
            !name.starts_with("reasons.") || rows.iter().any(|row| count(row) > 0.0)
        };
        let names = names.into_iter().filter(|(name, _)| occurred(name));
        Table { columns: names.map(column).collect() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// One row, by name.
    pub fn row(&self, row: usize) -> Record {
        let columns = self.columns.iter();
        columns.map(|column| (column.name.clone(), column.cells.value(row))).collect()
    }

    /// The units of the columns that have one, by name.
    pub fn units(&self) -> Record {
        let columns = self.columns.iter().filter(|column| !column.unit.is_empty());
        columns.map(|column| (column.name.clone(), column.unit.into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reason_has_a_column_if_it_occurred() {
        let rows = [
            json!({"reasons.net.no_route": 0, "reasons.mac.no_ack": 0}),
            json!({"reasons.net.no_route": 2, "reasons.mac.no_ack": 0}),
        ];
        let rows: Vec<Record> = rows.iter().filter_map(|r| r.as_object().cloned()).collect();
        let columns = Table::of(&rows).columns;
        assert_eq!(columns.len(), 1);
        assert_eq!(columns[0].cells, Cells::Whole(vec![Some(0), Some(2)]));
    }

    #[test]
    fn a_column_has_one_type_and_absent_values_stay_absent() {
        let rows = [json!({"a": 1, "b": 1, "c": "x"}), json!({"b": 2.5, "c": 1, "d": true})];
        let rows: Vec<Record> = rows.iter().filter_map(|r| r.as_object().cloned()).collect();
        let cells: Vec<Cells> = Table::of(&rows).columns.into_iter().map(|c| c.cells).collect();
        let expected = [
            Cells::Whole(vec![Some(1), None]),
            Cells::Number(vec![Some(1.0), Some(2.5)]),
            Cells::Text(vec![Some("x".to_owned()), Some("1".to_owned())]),
            Cells::Flag(vec![None, Some(true)]),
        ];
        assert_eq!(cells, expected);
    }
}
