//! Judges the claims of a folder.

use super::Definition;
use super::error::Place;
use super::file::{ClaimOf, Limit, Number};
use super::formula::{Absent, Known, Scope};
use super::point::{Planned, Values};
use super::points::Points;
use super::results::number;
use crate::experiment::Model;
use crate::row::Row;
use kinglet_scenario::ScenarioError;
use std::collections::BTreeMap;
use toml::Spanned;

/// The field with the models of the medium.
const MODEL: &str = "model";

/// A comparison with a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparison {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Above this.
    Above(f64),
    /// Below this.
    Below(f64),
    /// In this range, ends included.
    Within(f64, f64),
    /// A condition: the value is 1 if it is met, else 0.
    Holds,
}

#[cfg(test)]
impl Comparison {
    /// Whether `value` meets it.
    pub(super) fn is_met(self, value: f64) -> bool {
        match self {
            Comparison::AtLeast(least) => value >= least,
            Comparison::AtMost(most) => value <= most,
            Comparison::Above(least) => value > least,
            Comparison::Below(most) => value < most,
            Comparison::Within(least, most) => (least..=most).contains(&value),
            Comparison::Holds => value == 1.0,
        }
    }

    /// The comparison in the other direction.
    pub(super) fn turned(self) -> Self {
        match self {
            Comparison::AtLeast(least) => Comparison::AtMost(least),
            Comparison::AtMost(most) => Comparison::AtLeast(most),
            Comparison::Above(least) => Comparison::Below(least),
            Comparison::Below(most) => Comparison::Above(most),
            Comparison::Within(least, most) => Comparison::Within(most, least),
            Comparison::Holds => Comparison::AtMost(0.0),
        }
    }
}

/// A compared value in words, the value, and its bound.
pub type Compared = (String, f64, Comparison);

/// A claim without the expressions that judge it; the fields are those of a claim in
/// `claims.toml`.
pub struct Statement<'a> {
    /// Stable name.
    pub id: &'a str,
    /// Section, figure or table of the paper.
    pub place: &'a str,
    /// Statement of the paper.
    pub statement: &'a str,
    /// Unit of the compared quantity.
    pub unit: &'a str,
    /// The paper's value of that quantity, if it states one.
    pub paper: Option<f64>,
    /// True if the claim should pass.
    pub expected: bool,
    /// True if the claim is tested.
    pub tested: bool,
    /// Reason why the claim is not expected to pass or is not tested.
    pub reason: &'a str,
    /// Minimum number of seeds per point for a test.
    pub seeds: u32,
}

/// A judged claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The quantity that is compared with the paper's.
    pub ours: f64,
    /// The compared values in words.
    pub compared: String,
    /// All bounds.
    pub bounds: Vec<Compared>,
}

/// Checks all expressions of the claims.
pub(super) fn check(definition: &Definition, known: &Known<'_>) -> Result<(), ScenarioError> {
    let source = definition.source();
    for claim in &definition.file.claim {
        if (claim.every_model || claim.once.is_some()) && !definition.fields.contains_key(MODEL) {
            let message = format!("`every_model` needs the field `{MODEL} = \"@models\"`");
            return Err(Place::of(source, "claim", &claim.id).error(message));
        }
        let is_judged = claim.ours.is_some() && claim.compared.is_some() && !claim.bound.is_empty();
        if claim.tested != is_judged {
            let message = "give `ours`, `compared` and a bound, or `tested = false` and no bound";
            return Err(Place::of(source, "claim", &claim.id).error(message.to_owned()));
        }
        if let Some(main) = definition.main() {
            definition.vary(&claim.each, &main.at)?;
            for limit in &claim.bound {
                definition.vary(&limit.each, &main.at)?;
            }
        }
        let mut known = Known(known.0.clone());
        for (name, value) in claim.in_order() {
            known.expression(Place::of(source, name, value), value.get_ref())?;
            known.0.insert(name);
        }
        if let Some(ours) = &claim.ours {
            known.expression(Place::of(source, "ours", ours), ours.get_ref())?;
        }
        for text in claim.compared.iter().chain(&claim.once) {
            known.template(Place::of(source, "compared", text), text.get_ref())?;
        }
        for limit in &claim.bound {
            known.template(Place::of(source, "what", &limit.what), limit.what.get_ref())?;
            let Limit { value, holds, when, .. } = limit;
            for (key, text) in [("value", value), ("holds", holds), ("when", when)] {
                if let Some(text) = text {
                    known.expression(Place::of(source, key, text), text.get_ref())?;
                }
            }
            let numbers = match (limit.comparison(), value, holds) {
                (Some((numbers, _)), Some(_), None) => numbers,
                (None, None, Some(_)) => Vec::new(),
                _ => {
                    let message = format!("give a `value` and one of {}, or `holds`", Limit::KEYS);
                    return Err(Place::of(source, "bound", &limit.what).error(message));
                }
            };
            for value in numbers {
                number(definition, &known, "bound", value)?;
            }
        }
    }
    Ok(())
}

fn fault(error: ScenarioError) -> Absent {
    Absent::Fault(error.to_string())
}

impl ClaimOf {
    /// Named values in the order of the file.
    fn in_order(&self) -> Vec<(&str, &super::file::Text)> {
        let mut values: Vec<_> = self.values.iter().map(|(name, it)| (name.as_str(), it)).collect();
        values.sort_by_key(|(_, value)| value.span().start);
        values
    }
}

/// A comparison from its numbers.
type Made = fn(&[f64]) -> Comparison;

impl Limit {
    /// The comparisons. Each bound has one of them.
    const KEYS: &str = "at_least, at_most, above, below, within";

    /// The numbers of its comparison, and the comparison with their values; `None` unless there is
    /// exactly one.
    fn comparison(&self) -> Option<(Vec<&Spanned<Number>>, Made)> {
        let Limit { at_least, at_most, above, below, within, .. } = self;
        match (at_least, at_most, above, below, within) {
            (Some(it), None, None, None, None) => Some((vec![it], |it| Comparison::AtLeast(it[0]))),
            (None, Some(it), None, None, None) => Some((vec![it], |it| Comparison::AtMost(it[0]))),
            (None, None, Some(it), None, None) => Some((vec![it], |it| Comparison::Above(it[0]))),
            (None, None, None, Some(it), None) => Some((vec![it], |it| Comparison::Below(it[0]))),
            (None, None, None, None, Some((least, most))) => {
                Some((vec![least, most], |it| Comparison::Within(it[0], it[1])))
            }
            _ => None,
        }
    }

    /// The comparison at one point; `None` if its condition is not met.
    fn compare(&self, scope: &Scope) -> Result<Option<Compared>, Absent> {
        if let Some(when) = &self.when
            && !scope.is(when.get_ref())?
        {
            return Ok(None);
        }
        let what = scope.text(self.what.get_ref())?;
        if let Some(condition) = &self.holds {
            let met = f64::from(u8::from(scope.is(condition.get_ref())?));
            return Ok(Some((what, met, Comparison::Holds)));
        }
        let parts = self.comparison().zip(self.value.as_ref());
        let ((numbers, comparison), value) = parts.ok_or(Absent::Missing)?;
        let numbers = numbers.into_iter().map(|number| number.get_ref().value(scope));
        let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
        Ok(Some((what, scope.number(value.get_ref())?, comparison(&numbers))))
    }
}

/// The part of a claim that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// A claim that must pass under each model, under this one.
    Under(Model),
    /// A claim that is judged under the default model alone.
    Once,
}

impl Part {
    fn has(self, limit: &Limit) -> bool {
        match self {
            Part::Whole => true,
            Part::Under(_) => !limit.once,
            Part::Once => limit.once,
        }
    }
}

impl Definition {
    fn claim(&self, id: &str) -> Option<&ClaimOf> {
        self.file.claim.iter().find(|claim| claim.id.get_ref() == id)
    }

    /// Whether the claim with this id must pass under every model of the medium.
    pub fn is_for_every_model(&self, id: &str) -> bool {
        self.claim(id).is_some_and(|claim| claim.every_model)
    }

    /// Judges a part of the claim with this id by the rows of a result.
    ///
    /// # Errors
    /// [`Absent`], if a point is missing or an expression cannot be evaluated.
    pub fn judge(&self, id: &str, rows: &[Row], part: Part) -> Result<Judged, Absent> {
        let (claim, main) = (self.claim(id), self.main());
        let (claim, main) = claim.zip(main).ok_or(Absent::Missing)?;
        let mut here = main.clone();
        if let Part::Under(model) = part {
            here.at.insert(MODEL.to_owned(), model.key().into());
        }
        let (mut ours, mut compared, mut bounds) = (None, Vec::new(), Vec::new());
        for at in self.vary(&claim.each, &here.at).map_err(fault)? {
            let here = Planned { at, ..here.clone() };
            let scope = self.values(claim, rows, &here)?;
            let text = match (part, &claim.once) {
                (Part::Once, Some(once)) => Some(once),
                _ => claim.compared.as_ref(),
            };
            compared.push(scope.text(text.ok_or(Absent::Missing)?.get_ref())?);
            let value = scope.number(claim.ours.as_ref().ok_or(Absent::Missing)?.get_ref())?;
            ours = ours.or(Some(value));
            for limit in claim.bound.iter().filter(|limit| part.has(limit)) {
                match limit.each.is_empty() {
                    true => bounds.extend(limit.compare(&scope)?),
                    false => bounds.extend(self.compare_each(claim, limit, rows, &here)?),
                }
            }
        }
        Ok(Judged { ours: ours.ok_or(Absent::Missing)?, compared: compared.join("; "), bounds })
    }

    /// Returns the names in the bounds of a claim at a point.
    fn values(&self, claim: &ClaimOf, rows: &[Row], here: &Planned) -> Result<Scope, Absent> {
        let mut scope = self.scope(rows, here);
        for (name, value) in claim.in_order() {
            scope.define(name, value.get_ref())?;
        }
        Ok(scope)
    }

    /// A bound at each of its points at which its columns have values.
    fn compare_each(
        &self,
        claim: &ClaimOf,
        limit: &Limit,
        rows: &[Row],
        here: &Planned,
    ) -> Result<Vec<Compared>, Absent> {
        let mut bounds = Vec::new();
        for at in self.vary(&limit.each, &here.at).map_err(fault)? {
            let here = Planned { at, ..here.clone() };
            match self.values(claim, rows, &here).and_then(|scope| limit.compare(&scope)) {
                Err(Absent::Missing) => (),
                compared => bounds.extend(compared?),
            }
        }
        if bounds.is_empty() { Err(Absent::Missing) } else { Ok(bounds) }
    }

    /// `here` with values of fields in all combinations, in the order of the file.
    pub(super) fn vary(
        &self,
        each: &BTreeMap<String, Spanned<toml::Value>>,
        here: &Values,
    ) -> Result<Vec<Values>, ScenarioError> {
        let (source, file, fields) = (self.source(), &self.file, &self.fields);
        let mut each: Vec<_> = each.iter().collect();
        each.sort_by_key(|(_, values)| values.span().start);
        Points { source, file, fields }.vary(here, each.into_iter())
    }

    /// Whether the claim with this id has a part that is judged under the default model alone.
    pub fn has_once(&self, id: &str) -> bool {
        self.claim(id).is_some_and(|claim| claim.once.is_some())
    }

    /// Its claims, in the order of the file.
    pub fn claims(&self) -> impl Iterator<Item = Statement<'_>> {
        self.file.claim.iter().map(|claim| Statement {
            id: claim.id.get_ref(),
            place: &claim.place,
            statement: &claim.statement,
            unit: &claim.unit,
            paper: claim.paper,
            expected: claim.expected,
            tested: claim.tested,
            reason: &claim.reason,
            seeds: claim.seeds,
        })
    }
}
