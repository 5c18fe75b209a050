//! Recorded levels.

use crate::ber::mw_from_dbm;
use std::fmt;
use std::ops::{Range, RangeInclusive};

/// Valid samples in dBm; no radio's register exceeds this range.
const SAMPLE_DBM: RangeInclusive<f64> = -200.0..=50.0;
/// Longest trace in microseconds: a year, as for scenarios.
const LONGEST_US: f64 = 3.2e13;

/// A recorded trace of received signal strength. Each sample is valid until the next one, and the
/// last one for as long as its predecessor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Start of each sample in microseconds from the first.
    starts: Vec<u64>,
    /// Power of the samples relative to the strongest.
    shares: Vec<f64>,
    length_us: u64,
    mean_dbm: f64,
    peak_dbm: f64,
}

/// Error in the text of a trace, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The error, and what is allowed.
    pub message: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for TraceError {}

impl Trace {
    /// Reads comma-separated lines of a time in microseconds and a level in dBm. If `step_us` is
    /// given, each line has only a level in dBm, and this is the time between lines. Empty lines,
    /// lines that begin with `#` and a first line of names are skipped.
    ///
    /// # Errors
    /// The first invalid line, a time that is not after its predecessor, or fewer than two samples.
    pub fn parse(text: &str, step_us: Option<u64>) -> Result<Trace, TraceError> {
        let (mut starts, mut dbm) = (Vec::new(), Vec::new());
        let mut first_us = None;
        let mut last = 1;
        let mut names_allowed = true;
        for (number, line) in (1..).zip(text.lines()) {
            last = number;
            let begin = line.trim_start().chars().next();
            let names = names_allowed && begin.is_some_and(char::is_alphabetic);
            if names || begin.is_none_or(|c| c == '#') {
                names_allowed &= !names;
                continue;
            }
            names_allowed = false;
            let (time_us, level) = sample(line, number, step_us.is_none())?;
            let start_us = match step_us {
                Some(step) => starts.len() as i64 * step as i64,
                None => round(time_us) - *first_us.get_or_insert(round(time_us)),
            };
            if starts.last().is_some_and(|before| start_us <= *before as i64) {
                let message = "the time is not at least 1 us after that of the sample before it";
                return Err(TraceError { line: number, column: 1, message: message.to_owned() });
            }
            starts.push(start_us as u64);
            dbm.push(level);
        }
        let [.., before, end] = starts[..] else {
            let message = "a trace needs two samples at least".to_owned();
            return Err(TraceError { line: last, column: 1, message });
        };
        Ok(Trace::new(starts, &dbm, end + (end - before)))
    }

    fn new(starts: Vec<u64>, dbm: &[f64], length_us: u64) -> Trace {
        let ends = starts.iter().skip(1).copied().chain([length_us]);
        let lasting = starts.iter().zip(ends).map(|(start, end)| (end - start) as f64);
        let sum: f64 = lasting.zip(dbm).map(|(time, dbm)| time * dbm).sum();
        let peak_dbm = dbm.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares = dbm.iter().map(|dbm| mw_from_dbm(dbm - peak_dbm)).collect();
        Trace { starts, shares, length_us, mean_dbm: sum / length_us as f64, peak_dbm }
    }

    /// Mean of the samples in dBm, weighted by their durations.
    pub fn mean_dbm(&self) -> f64 {
        self.mean_dbm
    }

    /// Strongest sample in dBm.
    pub fn peak_dbm(&self) -> f64 {
        self.peak_dbm
    }

    /// Length after which the trace is repeated, in microseconds.
    pub fn length_us(&self) -> u64 {
        self.length_us
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.starts.len()
    }

    /// Calls `visit(from, to, share of the strongest sample's power)` for `span`. The trace begins
    /// at `begin_us`, which is not after the span, and is repeated.
    pub(super) fn visit(
        &self,
        begin_us: u64,
        span: &Range<u64>,
        mut visit: impl FnMut(u64, u64, f64),
    ) {
        if self.length_us == 0 {
            return;
        }
        let mut round = begin_us + (span.start - begin_us) / self.length_us * self.length_us;
        let at = span.start - round;
        let mut index = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        let mut from = span.start;
        while from < span.end {
            let end = round + self.starts.get(index + 1).copied().unwrap_or(self.length_us);
            let to = end.min(span.end);
            visit(from, to, self.shares.get(index).copied().unwrap_or(0.0));
            from = to;
            index += 1;
            if index >= self.starts.len() {
                (index, round) = (0, round + self.length_us);
            }
        }
    }
}

fn round(us: f64) -> i64 {
    libm::round(us) as i64
}

/// Time (0 if the line has none) and level of a line.
fn sample(line: &str, number: usize, timed: bool) -> Result<(f64, f64), TraceError> {
    let mut column = 1;
    let mut fields = line.split(',').map(|field| {
        let spaces = field.chars().take_while(|c| c.is_whitespace()).count();
        let place = column + spaces;
        column += field.chars().count() + 1;
        (place, field.trim())
    });
    let error = |column, message| TraceError { line: number, column, message };
    let mut next = |what: &str, range: RangeInclusive<f64>| {
        let end = line.chars().count() + 1;
        let (column, field) =
            fields.next().ok_or_else(|| error(end, format!("{what} is missing")))?;
        match field.parse::<f64>() {
            Ok(value) if range.contains(&value) => Ok(value),
            Ok(_) => {
                let (low, high) = (range.start(), range.end());
                let message = format!("{what} is out of range; allowed are {low} to {high}");
                Err(error(column, message))
            }
            Err(_) => {
                Err(error(column, format!("\"{field}\" is not a number; {what} is expected")))
            }
        }
    };
    let time_us = match timed {
        true => next("a time in microseconds", -LONGEST_US..=LONGEST_US)?,
        false => 0.0,
    };
    let level = next("a level in dBm", SAMPLE_DBM)?;
    match fields.next() {
        None => Ok((time_us, level)),
        Some((column, _)) => {
            let wanted = if timed { "two, time and level" } else { "one, as a step is given" };
            Err(error(column, format!("there are more columns than {wanted}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(trace: &Trace, begin: u64, span: Range<u64>) -> Vec<(u64, u64, f64)> {
        let mut all = Vec::new();
        trace.visit(begin, &span, |from, to, share| {
            let db = 10.0 * libm::log10(share);
            all.push((from, to, libm::round(trace.peak_dbm() + db)));
        });
        all
    }

    #[test]
    fn samples_hold_until_the_next_and_the_trace_repeats() {
        let text = "# an oven\ntime_us,rssi_dbm\n1000, -90\n\n1100,-30\n1150,-80\n";
        let trace = Trace::parse(text, None).expect("valid");
        assert_eq!((trace.samples(), trace.length_us()), (3, 200));
        let mean = (-90.0 * 100.0 - 30.0 * 50.0 - 80.0 * 50.0) / 200.0;
        assert!((trace.mean_dbm() - mean).abs() < 1e-9);
        let found = levels(&trace, 7, 7 + 390..7 + 560);
        let expected = [(390, 400, -80.0), (400, 500, -90.0), (500, 550, -30.0), (550, 560, -80.0)];
        assert_eq!(found, expected.map(|(from, to, dbm)| (from + 7, to + 7, dbm)));
        let stepped = Trace::parse("-90\n-90\n-30\n-80\n", Some(50)).expect("valid");
        assert_eq!(levels(&stepped, 0, 0..200).last(), Some(&(150, 200, -80.0)));
        assert!((stepped.mean_dbm() - mean).abs() < 1e-9);
    }

    #[test]
    fn errors_of_a_trace_have_line_and_column() {
        let refused = |text: &str, step| Trace::parse(text, step).expect_err(text).to_string();
        let number = "\"x\" is not a number; a level in dBm is expected";
        assert_eq!(refused("0,-90\n5, x\n", None), format!("2:4: {number}"));
        assert_eq!(refused("0,-90\n\n5\n", None), "3:2: a level in dBm is missing");
        assert!(refused("0,-90\n5,-300\n", None).starts_with("2:3: a level in dBm is out of"));
        assert!(refused("0,-90\n5,nan\n", None).starts_with("2:3: a level in dBm is out of"));
        assert!(refused("0,-90\n0,-91\n", None).starts_with("2:1: the time is not at least"));
        assert!(refused("9,-90\n0,-91\n", None).starts_with("2:1: the time is not at least"));
        assert!(refused("0,-90,1\n", None).starts_with("1:7: there are more columns"));
        assert!(refused("0,-90\n", Some(5)).starts_with("1:3: there are more columns"));
        assert_eq!(refused("0,-90\n", None), "1:1: a trace needs two samples at least");
        assert_eq!(refused("", None), "1:1: a trace needs two samples at least");
        assert!(refused("a,b\nc,d\n", None).starts_with("2:1: \"c\" is not a number"));
    }
}
