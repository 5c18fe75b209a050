//! Reads a sweep file into a [`Sweep`].

use super::spec::{Base, Field, Sweep, parse};
use kinglet_scenario::read::{Reader, Source};
use kinglet_scenario::renamed::upgrade;
use kinglet_scenario::{FieldPath, ScenarioError};
use std::path::Path;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// An upper limit that no reasonable sweep reaches.
const MOST_SEEDS: u64 = 1_000_000;
/// The largest seed of a scenario.
const LARGEST_SEED: u64 = i64::MAX as u64;

impl Sweep {
    /// Reads a sweep file. [`Plan::new`](super::Plan::new) checks that every point is a scenario.
    ///
    /// # Errors
    /// A [`ScenarioError`] with file, line and key.
    pub fn from_file(file: &Path) -> Result<Self, ScenarioError> {
        let text =
            std::fs::read_to_string(file).map_err(|e| ScenarioError::unreadable(file, &e))?;
        Sweep::from_toml(file, &text)
    }

    /// Reads the text of a sweep file; `base` is relative to `file`.
    ///
    /// # Errors
    /// A [`ScenarioError`] with line and key.
    pub fn from_toml(file: &Path, text: &str) -> Result<Self, ScenarioError> {
        let upgraded = upgrade(file, text)?;
        match sweep(Source { file, text: &upgraded.text }) {
            Ok(sweep) => Ok(Sweep { renamed: upgraded.changes, ..sweep }),
            Err(error) => Err(upgraded.explain(error)),
        }
    }
}

fn sweep(source: Source<'_>) -> Result<Sweep, ScenarioError> {
    let Source { file, text } = source;
    let values = parse(file, text)?;
    let document = source.document()?;
    let whole = 0..text.len().min(1);
    let mut root = Reader::new(source, document.get_ref(), whole, String::new());
    let base = base(&mut root, source, &values)?;
    let written = root.table_opt("fields")?;
    let inside = document.get_ref().get("fields").map(Spanned::get_ref);
    let fields = match (written, inside, values.get("fields")) {
        (Some(reader), Some(DeValue::Table(table)), Some(Value::Table(values))) => {
            fields(&reader, source, table, values)?
        }
        _ => return Err(root.error("missing; give a table [fields] of lists".to_owned())),
    };
    let seeds = seeds(&mut root)?.unwrap_or_else(|| vec![base.seed()]);
    root.finish()?;
    let sweep = Sweep { file: file.to_path_buf(), base, fields, seeds, renamed: Vec::new() };
    sweep.checked().map_err(|error| {
        let inside = FieldPath::parse("fields").join(&error.field);
        let path = if error.field == "seeds" { FieldPath::parse("seeds") } else { inside };
        match path.locate(document.get_ref()).filter(|_| error.position.is_none()) {
            Some(span) => source.error(span, &error.field, error.message),
            None => error,
        }
    })
}

fn base(root: &mut Reader<'_>, source: Source<'_>, values: &Table) -> Result<Base, ScenarioError> {
    let file = root.string_opt("base")?;
    let inline = root.has("scenario");
    // Its keys are those of scenarios, and read as such.
    let _ = root.table_opt("scenario")?;
    match (file, values.get("scenario")) {
        (Some(name), None) => {
            let beside = source.file.parent().unwrap_or(Path::new(""));
            let file = beside.join(name);
            let unreadable = |error: ScenarioError| match error.io {
                true => {
                    let message = format!("{}: {}", file.display(), error.message);
                    ScenarioError { io: true, ..root.error_at("base", message) }
                }
                false => error,
            };
            Base::from_file(&file).map_err(unreadable)
        }
        (None, Some(Value::Table(table))) => {
            Ok(Base::inside(source.file, source.text, "scenario", table.clone()))
        }
        _ if inline => {
            let message = "give either `base` or [scenario], not both".to_owned();
            Err(root.error_at("base", message))
        }
        _ => {
            let message = "no scenario: give `base`, the path of a scenario file from where this \
                           file is, or a table [scenario]";
            Err(root.error(message.to_owned()))
        }
    }
}

/// Fields in the order of the file; `tcp.nagle = […]` and `"tcp.nagle" = […]` are the same.
fn fields(
    reader: &Reader<'_>,
    source: Source<'_>,
    table: &DeTable<'_>,
    values: &Table,
) -> Result<Vec<Field>, ScenarioError> {
    let mut found: Vec<(usize, Field)> = Vec::new();
    let mut tables = vec![(FieldPath::whole(), table, values)];
    while let Some((above, table, values)) = tables.pop() {
        for (key, value) in table {
            let path = above.join(key.get_ref());
            match (value.get_ref(), values.get(key.get_ref().as_ref())) {
                (DeValue::Table(table), Some(Value::Table(values))) => {
                    tables.push((path, table, values));
                }
                (DeValue::Array(written), Some(Value::Array(values))) => {
                    let place = |value: &Spanned<DeValue<'_>>| {
                        source.error(value.span(), "", String::new()).position.unwrap_or_default()
                    };
                    let places = written.iter().map(place).collect();
                    let field = Field { path, values: values.clone(), places };
                    found.push((key.span().start, field));
                }
                _ => {
                    let message =
                        format!("expected a list of values, found {}", value.get_ref().type_str());
                    let field = reader.field(&path.to_string());
                    return Err(source.error(value.span(), &field, message));
                }
            }
        }
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, field)| field).collect())
}

/// Seeds as a list, or as the first one and their number.
fn seeds(root: &mut Reader<'_>) -> Result<Option<Vec<u64>>, ScenarioError> {
    if !root.has_table("seeds") {
        let given = root.has("seeds");
        let list = root.integers("seeds", LARGEST_SEED)?;
        return Ok(given.then_some(list));
    }
    let Some(mut table) = root.table_opt("seeds")? else { return Ok(None) };
    let first = table.integer("first", 0..=LARGEST_SEED - MOST_SEEDS, 1)?;
    let Some(count) = table.integer_opt("count", 1..=MOST_SEEDS)? else {
        return Err(table.error("give `count`, how many".to_owned()));
    };
    table.finish()?;
    Ok(Some((first..first + count).collect()))
}
