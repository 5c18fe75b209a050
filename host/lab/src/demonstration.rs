//! Demonstration: three questions about a network, answered by quick experiments.
//!
//! Each answer is a small table with Kinglet's own TCP first, and one conclusion in words. The page
//! draws the same tables as plots.

use kinglet_network::layout::{Format, bound};
use kinglet_report::number::short;
use kinglet_report::question::{Answer, Question};
use kinglet_scenario::RadioProfile;
use kinglet_sweep::chart::Style;
use kinglet_sweep::experiment::{Effort, ExperimentResult, Model, line_scenario};
use std::fmt::Write;

/// The experiments that the demonstration runs, in quick form.
pub const IDS: [&str; 3] = ["kinglet-hops", "tcplp-hops", "tcplp-loss"];

/// Seeds per point: fewer than for a published table, so that the demonstration takes less than a
/// minute on two cores.
pub const SEEDS: u32 = 3;

/// The three questions, in the order in which they are printed. `None` if an experiment is missing.
pub fn questions(results: &[ExperimentResult]) -> Option<[Question; 3]> {
    let find = |id: &str| results.iter().find(|result| result.id == id);
    let [own, paper, loss] = IDS.map(find);
    let (own, paper, loss) = (own?, paper?, loss?);
    Some([hops(own, paper), delivery(loss), radio(loss)])
}

/// Mean and interval of a row.
fn measured(result: &ExperimentResult, label: &str, metric: &str) -> Option<(f64, Option<f64>)> {
    let row = result.rows.iter().find(|row| row.label == label && row.metric == metric)?;
    Some((row.mean, row.ci95))
}

const HOPS: [u32; 4] = [1, 2, 3, 4];
/// TCPlp §7.2, kb/s over one to four hops.
const PAPER_HOPS: [f64; 4] = [64.1, 28.3, 19.5, 17.5];

/// Largest possible goodput of any TCP with segments of five frames and these link headers, over
/// `hops` hops under a model of the medium. It follows from the time of a segment's frames over one
/// hop, times the number of links that exclude each other.
fn bound_over(hops: u32, model: Model) -> f64 {
    let mac = line_scenario(Effort::Quick, 1, 0).as_kinglet().mac;
    let mss = Format::of(&mac, false).mss_for_frames(5);
    let format = Format::between_neighbours(&mac, false);
    bound(RadioProfile::At86rf233, &mac, format, mss, 2).kbps / model.sharing(hops)
}

fn hops(own: &ExperimentResult, paper: &ExperimentResult) -> Question {
    let over = |result, hops, model: Model| {
        measured(result, &format!("hops={hops}{}", model.suffix()), "goodput")
    };
    let row = |name, style, values: [Option<(f64, Option<f64>)>; 4]| Answer {
        name,
        style,
        values: values.into(),
    };
    let rows = vec![
        row("Kinglet", Style::Measured, HOPS.map(|hops| over(own, hops, Model::Sinr))),
        row(PEER, Style::Measured, HOPS.map(|hops| over(paper, hops, Model::Sinr))),
        row("TCPlp on hardware (paper, 7.2)", Style::Paper, PAPER_HOPS.map(|y| Some((y, None)))),
        row(
            "bound for any TCP in this air",
            Style::Bound,
            HOPS.map(|hops| Some((bound_over(hops, Model::Sinr), None))),
        ),
    ];
    let share = |hops, model| Some(100.0 * over(own, hops, model)?.0 / bound_over(hops, model));
    let worst = Model::ALL.into_iter().map(|model| share(4, model));
    let worst: Option<Vec<f64>> = worst.collect();
    let verdict = match (share(1, Model::Sinr), share(4, Model::Sinr), worst) {
        (Some(one), Some(four), Some(worst)) => format!(
            "Kinglet carries {} of the bound over one hop and {} over four ({} under the worst of \
             four models of the air).",
            percent(one, 0),
            percent(four, 0),
            percent(worst.into_iter().fold(f64::INFINITY, f64::min), 0)
        ),
        _ => INCOMPLETE.to_owned(),
    };
    Question {
        text: "How much does TCP carry over several radio hops?",
        measured: "goodput, kb/s",
        varied: "radio hops",
        columns: HOPS.map(|hops| (f64::from(hops), plural(hops))).into(),
        rows,
        verdict,
    }
}

fn plural(hops: u32) -> String {
    if hops == 1 { "1 hop".to_owned() } else { format!("{hops} hops") }
}

/// Stack of the paper: its TCP is FreeBSD's.
const PEER: &str = "FreeBSD's TCP with TCPlp's settings";
const INCOMPLETE: &str = "The run was stopped before this was measured.";

/// Packets lost behind the border router, in per cent.
const LOSSES: [u32; 4] = [0, 9, 15, 21];

/// A question about the sleeping sensors, of `metric` by packet loss.
fn by_loss(
    result: &ExperimentResult,
    (text, measured_as, metric): (&'static str, &'static str, &str),
    rows: [(&'static str, Style, &str); 3],
    published: Answer,
) -> Question {
    let row = |(name, style, series): (&'static str, Style, &str)| {
        let at = |loss: &u32| measured(result, &format!("{series} loss={loss}"), metric);
        Answer { name, style, values: LOSSES.iter().map(at).collect() }
    };
    let mut rows: Vec<Answer> = rows.into_iter().map(row).collect();
    rows.insert(2, published);
    Question {
        text,
        measured: measured_as,
        varied: "packets lost behind the border router, %",
        columns: LOSSES.map(|loss| (f64::from(loss), format!("{loss} %"))).into(),
        rows,
        verdict: INCOMPLETE.to_owned(),
    }
}

fn delivery(result: &ExperimentResult) -> Question {
    let about = |y: f64| Some((y, None));
    let published = Answer {
        name: "TCPlp on hardware (paper, Fig. 10)",
        style: Style::Paper,
        // "Nearly 100 %" up to 15 % of loss; beyond it the text has no number.
        values: vec![about(100.0), about(100.0), about(100.0), None],
    };
    let mut question = by_loss(
        result,
        (
            "Do a sleeping sensor's readings arrive if packets get lost?",
            "delivered, %",
            RELIABILITY,
        ),
        [
            ("Kinglet", Style::Measured, "kinglet tcp"),
            (PEER, Style::Measured, "tcp"),
            ("CoAP with TCPlp's settings", Style::Measured, "coap"),
        ],
        published,
    );
    if let (Some(own), Some(coap)) = (question.complete(0), question.complete(3)) {
        let least = own.iter().copied().fold(f64::INFINITY, f64::min);
        let all = if least >= ALL { "every reading".to_owned() } else { percent(least, 1) };
        question.verdict = format!(
            "Kinglet delivers {all} at up to {} of loss; CoAP delivers {} there.",
            percent(21.0, 0),
            percent(coap[coap.len() - 1], 1)
        );
    }
    question
}

const RELIABILITY: &str = "reliability";
/// Radio time as the driver of the paper's node counts it; the same for every row.
const RADIO: &str = "radio_as_counted";
/// Percentage delivered from which 100.0 is printed.
const ALL: f64 = 99.95;

fn radio(result: &ExperimentResult) -> Question {
    let published = Answer {
        name: "TCPlp on hardware, 24 h (paper, Table 7)",
        style: Style::Paper,
        values: vec![Some((2.29, None)), None, None, None],
    };
    let mut question = by_loss(
        result,
        ("What does that cost the battery?", "radio on, % of the time", RADIO),
        [
            ("Kinglet", Style::Measured, "kinglet tcp"),
            (PEER, Style::Measured, "tcp"),
            ("bound: the sender knows each loss", Style::Bound, "ideal"),
        ],
        published,
    );
    if let (Some(own), Some(peer), Some(least)) =
        (question.complete(0), question.complete(1), question.complete(3))
    {
        let last = own.len() - 1;
        question.verdict = format!(
            "Kinglet's radio is on for {} to {} of the time that TCPlp's settings need; {} points \
             above the bound without loss.",
            percent(100.0 * own[0] / peer[0], 0),
            percent(100.0 * own[last] / peer[last], 0),
            short(own[0] - least[0]),
        );
    }
    question
}

/// Percentage with `decimals` decimals and a non-breaking space.
fn percent(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}\u{a0}%")
}

/// Largest width of the answers in terminal columns.
pub const WIDTH: usize = 80;
/// Columns of a row's name, and of each of its values.
const NAME: usize = 44;
const VALUE: usize = 8;

/// The questions with their answers, no line longer than [`WIDTH`].
pub fn text(questions: &[Question]) -> String {
    let mut text = String::new();
    for (number, question) in (1..).zip(questions) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{number}. {}", question.text);
        let head = question.columns.iter().map(|(_, head)| head.clone());
        line(&mut text, question.measured, head);
        for row in &question.rows {
            let cell = |value: &Option<(f64, _)>| {
                value.as_ref().map_or_else(|| "-".to_owned(), |(mean, _)| short(*mean))
            };
            line(&mut text, row.name, row.values.iter().map(cell));
        }
        wrapped(&mut text, &question.verdict);
        text.push('\n');
    }
    text
}

fn line(text: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let _ = write!(text, "   {name:NAME$}");
    for cell in cells {
        let _ = write!(text, "{cell:>VALUE$}");
    }
    text.push('\n');
}

/// Appends a conclusion, indented and broken between words.
fn wrapped(text: &mut String, verdict: &str) {
    const INDENT: &str = "   =>";
    let mut line = INDENT.to_owned();
    for word in verdict.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(INDENT.len());
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;
    use kinglet_sweep::experiment::{Effort, Rows};

    /// Results of the three experiments with all rows that the questions need, `value` each.
    fn results(value: f64) -> Vec<ExperimentResult> {
        let of = |id: &'static str| {
            let experiment = experiment::find(id).expect("listed");
            let mut rows = Rows::default();
            for point in experiment.points(Effort::Quick) {
                for metric in ["goodput", RELIABILITY, RADIO] {
                    rows.compute(&point.label, point.series, point.x, (metric, ""), value);
                }
            }
            ExperimentResult { id, rows: rows.all, samples: Vec::new(), seeds: SEEDS }
        };
        IDS.map(of).into()
    }

    #[test]
    fn every_row_is_measured_by_the_experiments() {
        let questions = questions(&results(12.34)).expect("all three");
        for question in &questions {
            let measured = question.rows.iter().filter(|row| row.style == Style::Measured);
            for row in measured {
                assert!(row.values.iter().all(Option::is_some), "{}: {}", question.text, row.name);
            }
            assert_ne!(question.verdict, INCOMPLETE);
            assert_eq!(question.rows[0].name, "Kinglet");
            assert!(question.rows.iter().all(|row| row.values.len() == question.columns.len()));
        }
    }

    #[test]
    fn a_screen_holds_the_answers() {
        for value in [0.000_123, 12.34, 99.99, 1_234.5] {
            let text = text(&questions(&results(value)).expect("all three"));
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert!(text.lines().count() <= 28, "{text}");
        }
    }

    #[test]
    fn verdicts_follow_the_measured_values() {
        let verdict =
            |value: f64| questions(&results(value)).expect("all three")[1].verdict.clone();
        assert!(verdict(100.0).contains("every reading"));
        assert!(verdict(99.9).contains(&percent(99.9, 1)) && !verdict(99.9).contains("every"));
    }

    #[test]
    fn a_missing_result_has_no_number_and_no_verdict() {
        let mut results = results(12.34);
        results[2].rows.retain(|row| row.label != "kinglet tcp loss=21");
        let [hops, delivery, radio] = questions(&results).expect("all three");
        assert_eq!((delivery.verdict.as_str(), radio.verdict.as_str()), (INCOMPLETE, INCOMPLETE));
        assert_ne!(hops.verdict, INCOMPLETE);
        let text = text(&[delivery]);
        assert!(text.contains("   12.3       -\n"), "{text}");
        assert!(questions(&results[..2]).is_none());
    }

    #[test]
    fn the_bound_is_above_what_one_hop_of_the_published_table_carries() {
        // experiments/kinglet-hops: 107.5 kb/s.
        let one = bound_over(1, Model::Sinr);
        assert!((107.5..120.0).contains(&one), "{one}");
        assert_eq!(bound_over(4, Model::Farther) * 4.0, one);
    }
}
