//! Experiments that are folders: `experiments/ID/experiment.toml` and the files beside it.
//!
//! The file has everything but the text: the fields and their values, the measured and computed
//! columns, the paper's figures, and the claims with the expressions that judge them
//! (`host/lab/EXPERIMENTS.md`). `README.md` has the text. Points are found by the values of
//! their fields; a point's name is for readers only.

mod columns;
mod effects;
mod error;
mod figures;
mod file;
mod formula;
mod judge;
mod language;
mod list;
mod point;
mod points;
mod results;
mod text;

pub use columns::columns;
pub use formula::Absent;
pub use judge::{Compared, Comparison, Judged, Part, Statement};
pub use list::{check, definition, experiments};
pub use point::Planned;
pub use text::{Text, text};

use crate::chart::Figure;
use crate::experiment::{Effort, ExperimentResult, Point, Rows};
use crate::sweep::Base;
use error::Place;
use file::File;
use formula::{Known, Scope};
use kinglet_scenario::read::Source;
use kinglet_scenario::{Scenario, ScenarioError};
use points::{Field, Points, merge};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An experiment as its folder defines it.
pub struct Definition {
    path: PathBuf,
    text: String,
    file: File,
    readme: Text,
    base: Base,
    fields: BTreeMap<String, Field>,
    full: Vec<Planned>,
    quick: Vec<Planned>,
    /// Names of the measured and computed columns.
    columns: BTreeSet<String>,
}

/// Column that every transfer has.
const ALWAYS: &str = "retransmissions_per_loss";
/// Functions of expressions that take a column as their first argument.
const OF_COLUMN: [&str; 7] = ["bound", "ci95", "every", "has", "names", "over", "values"];

/// Texts of the files of a folder.
#[derive(Clone, Copy)]
pub(crate) struct Folder<'a> {
    /// Path of the folder, for messages.
    pub(crate) path: &'a str,
    /// `experiment.toml`
    pub(crate) experiment: &'a str,
    /// The file that it names as its base.
    pub(crate) base: &'a str,
    /// `README.md`
    pub(crate) readme: &'a str,
}

impl Definition {
    /// Reads and checks an experiment.
    ///
    /// # Errors
    /// A [`ScenarioError`] with file, line and what would be right.
    pub(crate) fn new(folder: Folder<'_>) -> Result<Self, ScenarioError> {
        let path = Path::new(folder.path).join("experiment.toml");
        let text = folder.experiment.to_owned();
        let source = Source { file: &path, text: &text };
        let file: File = toml::from_str(&text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            source.error(span, "", error.message().trim_end().to_owned())
        })?;
        let base_path = Path::new(folder.path).join(file.base.get_ref());
        let base = Base::from_text(&base_path, folder.base)?;
        let readme = Text::new(&Path::new(folder.path).join("README.md"), folder.readme)?;
        let fields = Field::all(source, &file, base.table())?;
        let points = Points { source, file: &file, fields: &fields };
        let (full, quick) = (points.plan(Effort::Full)?, points.plan(Effort::Quick)?);
        let measured = full.iter().flat_map(|point| point.metrics);
        let computed = file.computed.iter().flat_map(|it| &it.columns);
        let columns = measured.map(|metric| metric.name().to_owned());
        let columns = columns.chain(computed.map(|column| column.name.get_ref().clone()));
        let columns = columns.chain([ALWAYS.to_owned()]).collect();
        let definition = Definition {
            text,
            file,
            readme,
            base,
            fields,
            full,
            quick,
            columns,
            path: path.clone(),
        };
        definition.check()?;
        Ok(definition)
    }

    fn source(&self) -> Source<'_> {
        Source { file: &self.path, text: &self.text }
    }

    /// Checks all expressions and names.
    fn check(&self) -> Result<(), ScenarioError> {
        self.check_names()?;
        if self.main().is_none() {
            let message = "no point has the default of each field, which is the main point";
            return Err(ScenarioError::nowhere(&self.path, "points", message.to_owned()));
        }
        let names = self.fields.keys().chain(&self.columns).map(String::as_str);
        let known = Known(names.chain(OF_COLUMN).chain(["x"]).collect());
        results::check(self, &known)?;
        figures::check(self, &known)?;
        effects::check(self, &known)?;
        judge::check(self, &known)
    }

    /// Refuses names that hide those of columns and functions.
    fn check_names(&self) -> Result<(), ScenarioError> {
        let used = |name: &str| OF_COLUMN.contains(&name) || formula::is_function(name);
        for (name, field) in &self.file.fields {
            if self.columns.contains(name) || used(name) {
                let message = "a column or function has the same name; give the field another";
                return Err(Place::of(self.source(), name, field).error(message.to_owned()));
            }
        }
        for column in self.file.computed.iter().flat_map(|computed| &computed.columns) {
            if used(column.name.get_ref()) {
                let message = "a function has the same name; give the column another";
                let place = Place::of(self.source(), "name", &column.name);
                return Err(place.error(message.to_owned()));
            }
        }
        Ok(())
    }

    /// The main point: each field has the value of the base scenario.
    fn main(&self) -> Option<&Planned> {
        let is_base = |point: &&Planned| {
            self.fields.iter().all(|(name, field)| point.at.get(name) == Some(&field.default()))
        };
        self.full.iter().find(is_base)
    }

    /// The planned points.
    pub fn planned(&self, effort: Effort) -> &[Planned] {
        match effort {
            Effort::Quick => &self.quick,
            Effort::Full => &self.full,
        }
    }

    /// The points with their scenarios.
    ///
    /// # Errors
    /// A point that is no scenario.
    fn points(&self, effort: Effort) -> Result<Vec<Point>, ScenarioError> {
        let point = |planned: &Planned| {
            Ok(Point {
                label: planned.name.clone(),
                series: planned.curve,
                x: planned.x,
                scenario: self.scenario(planned, effort)?,
                metrics: planned.metrics,
                timeline_s: self.file.points[planned.group].timeline_s,
            })
        };
        self.planned(effort).iter().map(point).collect()
    }

    fn scenario(&self, planned: &Planned, effort: Effort) -> Result<Scenario, ScenarioError> {
        let group = &self.file.points[planned.group];
        let nowhere = |message: String| {
            ScenarioError::nowhere(&self.path, &format!("points, `{}`", planned.name), message)
        };
        let scope = Scope::of_fields(&planned.at);
        let mut table = self.base.table().clone();
        // In the order of the file, so that one field can change what an earlier one has set.
        let mut fields: Vec<_> = self.file.fields.iter().collect();
        fields.sort_by_key(|(_, field)| field.span().start);
        for (name, _) in fields {
            self.fields[name].set(&mut table, &planned.at[name], &scope).map_err(nowhere)?;
        }
        let quick =
            [&self.file.quick, &group.quick].into_iter().filter(|_| effort == Effort::Quick);
        for settings in [&group.with].into_iter().chain(quick) {
            merge(&mut table, settings, &scope).map_err(nowhere)?;
        }
        let scenario = self.base.read(&table).map_err(|error| {
            let ScenarioError { field, message, .. } = &error;
            nowhere(format!("{field}: {message}"))
        });
        let mut scenario = scenario?;
        for (name, field) in &self.fields {
            field.complete(&mut scenario, &planned.at[name]);
        }
        Ok(scenario)
    }

    /// Adds bounds, computed columns and the paper's figures.
    fn refine(&self, rows: &mut Rows) {
        results::refine(self, rows);
        effects::refine(self, rows);
    }

    /// Figures of the result.
    fn figures(&self, result: &ExperimentResult) -> Vec<Figure> {
        let mut figures = figures::all(self, result);
        figures.extend(effects::figures(self, result));
        figures
    }
}

#[cfg(test)]
mod tests;
