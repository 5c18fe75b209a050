//! One HTML page with all results: no network access, no library, light and dark mode.

mod draw;
mod drawing;
mod lines;
mod live;
mod map;
mod one_run;
mod timeline;

pub use live::live;
pub use one_run::one_run;

use crate::number::{short, with_interval};
use crate::question::Question;
use crate::verdict::{Outcome, Verdict};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult};
use kinglet_sweep::row::Row;
use std::fmt::Write;

/// Facts for the head of the page.
pub struct Header<'a> {
    /// The command that reproduces it.
    pub command: &'a str,
    /// Version of this program.
    pub version: &'a str,
    /// True if the run was stopped before its end.
    pub interrupted: bool,
}

/// The page: answers to questions, plots of those experiments that have results, then claims. Same
/// results, same bytes.
pub fn html(
    header: &Header<'_>,
    experiments: &[Experiment],
    questions: &[Question],
    results: &[ExperimentResult],
    claims: &[Verdict],
) -> String {
    let mut page = String::with_capacity(256 * 1024);
    begin(&mut page, "Kinglet lab report");
    let titled = |id: &str| experiments.iter().find(|it| it.id == id);
    let titles = results.iter().map(|it| (it.id, titled(it.id).map_or(it.id, |it| it.title)));
    head(&mut page, header, titles, claims);
    page.push_str("<main>\n");
    for (number, question) in (1..).zip(questions) {
        question_section(&mut page, number, question);
    }
    for result in results {
        if let Some(experiment) = titled(result.id) {
            experiment_section(&mut page, experiment, result);
        }
    }
    claims_section(&mut page, claims);
    end(&mut page);
    page
}

fn begin(page: &mut String, title: &str) {
    page.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    let _ = writeln!(page, "<title>{}</title>\n<style>", escape(title));
    page.push_str(include_str!("drawing.css"));
    page.push_str(include_str!("style.css"));
    page.push_str("</style>\n</head>\n<body>\n");
}

fn end(page: &mut String) {
    page.push_str("</main>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n");
    page.push_str(include_str!("script.js"));
    page.push_str("</script>\n</body>\n</html>\n");
}

fn draw_figures(page: &mut String, figures: &[Figure], id: &str) {
    page.push_str("<div class=\"figures\">");
    for (index, figure) in figures.iter().enumerate() {
        draw_figure(page, figure, &figure.caption(), &format!("{id}-{index}"));
    }
    page.push_str("</div>\n");
}

fn draw_figure(page: &mut String, figure: &Figure, caption: &str, id: &str) {
    match figure {
        Figure::Lines(lines) => lines::draw(lines).html(page, caption),
        Figure::Bars(bars) => draw::bars(bars).html(page, caption),
        Figure::Cwnd(cwnd) => lines::cwnd(cwnd).html(page, caption),
        Figure::Timeline(timeline) => timeline::draw(page, timeline, id, caption),
    }
}

/// A figure as a separate SVG picture that needs no network access, in light and dark mode. Same
/// figure, same bytes.
pub fn picture(figure: &Figure) -> String {
    let drawing = match figure {
        Figure::Lines(lines) => lines::draw(lines),
        Figure::Bars(bars) => draw::bars(bars),
        Figure::Cwnd(cwnd) => lines::cwnd(cwnd),
        Figure::Timeline(timeline) => timeline::still(timeline),
    };
    drawing.svg()
}

/// Escapes text for element content and quoted attributes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are not allowed in HTML text.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Head of the page; `titles` has id and title of each experiment.
fn head<'a>(
    page: &mut String,
    header: &Header<'_>,
    titles: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
    claims: &[Verdict],
) {
    let held = claims.iter().filter(|c| c.holds == Some(true)).count();
    let failed = claims.iter().filter(|c| c.is_failure()).count();
    let known = claims.len() - held - failed;
    page.push_str("<header><div class=\"wrap\">\n<p class=\"eyebrow\">Kinglet lab</p>\n");
    page.push_str("<h1>TCP over IEEE 802.15.4: paper, bound and this stack</h1>\n");
    let _ = writeln!(
        page,
        "<p class=\"meta\">Version {} · made by <code>{}</code> · same version and seeds, same \
         page</p>",
        escape(header.version),
        escape(header.command)
    );
    if header.interrupted {
        page.push_str("<p class=\"warn\">Stopped before the end: points may be missing.</p>\n");
    }
    page.push_str("<ul class=\"tiles\">\n");
    for (number, text, class) in [
        (held, "claims pass", "good"),
        (failed, "fail", if failed == 0 { "" } else { "bad" }),
        (known, "known failures, or not tested", ""),
        (titles.len(), "experiments", ""),
    ] {
        let _ = writeln!(page, "<li class=\"{class}\"><b>{number}</b> {text}</li>");
    }
    page.push_str("</ul>\n<nav aria-label=\"Experiments\">\n");
    for (id, title) in titles {
        let id = escape(id);
        let _ = writeln!(page, "<a href=\"#{id}\">{}</a>", escape(title));
    }
    if !claims.is_empty() {
        page.push_str("<a href=\"#claims\">Claims</a>\n");
    }
    page.push_str("</nav>\n</div></header>\n");
}

/// A question with its answer as a plot, the conclusion below it, and its numbers.
fn question_section(page: &mut String, number: u32, question: &Question) {
    let _ = writeln!(
        page,
        "<section id=\"question-{number}\"><h2>{number}. {}</h2>\n<div class=\"figures\">",
        escape(question.text)
    );
    draw_figure(page, &question.figure(), &question.verdict, "");
    page.push_str("<div>");
    let heads = question.columns.iter().map(|(_, head)| (head.as_str(), true));
    let heads: Vec<_> = [(question.measured, false)].into_iter().chain(heads).collect();
    let cell = |value: &Option<(f64, Option<f64>)>| match value {
        None => "–".to_owned(),
        Some((mean, None)) => short(*mean),
        Some((mean, Some(half))) => format!("{} ± {}", short(*mean), short(*half)),
    };
    let rows = question.rows.iter().map(|row| {
        let name = escape(row.name);
        [name].into_iter().chain(row.values.iter().map(cell)).collect::<Vec<_>>()
    });
    table(page, &heads, rows);
    page.push_str("</div></div></section>\n");
}

/// A table whose cells carry their column, so that a narrow page can stack them. Takes the heads of
/// the columns, those of numbers marked, and rows of HTML.
fn table(page: &mut String, heads: &[(&str, bool)], rows: impl Iterator<Item = Vec<String>>) {
    let class = |number: bool| if number { " class=\"n\"" } else { "" };
    page.push_str("<table>\n<thead><tr>");
    for (head, number) in heads {
        let _ = write!(page, "<th scope=\"col\"{}>{}</th>", class(*number), escape(head));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        page.push_str("<tr>");
        for ((head, number), cell) in heads.iter().zip(row) {
            let head = escape(head);
            let _ = write!(page, "<td{} data-head=\"{head}\">{cell}</td>", class(*number));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table>\n");
}

fn claims_section(page: &mut String, claims: &[Verdict]) {
    if claims.is_empty() {
        return;
    }
    page.push_str("<section id=\"claims\"><h2>Claims</h2>\n");
    let heads = [
        ("Claim", false),
        ("Where", false),
        ("Paper", true),
        ("Ours", true),
        ("Unit", false),
        ("Verdict", false),
    ];
    let optional = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), short);
    let rows = claims.iter().map(|claim| {
        let word = match claim.outcome() {
            _ if claim.is_failure() && !claim.expected => "out of its known range",
            Outcome::Holds => "passes",
            Outcome::DependsOnModel => "depends on the model",
            Outcome::Fails if claim.expected => "fails",
            Outcome::Fails => "known failure",
            Outcome::NotTested => "not tested",
        };
        let class = match (claim.outcome(), claim.is_failure()) {
            (_, true) => "bad",
            (Outcome::Holds, _) => "good",
            (_, false) => "known",
        };
        let statement = format!(
            "{}<details><summary><code>{}</code></summary><small>{}</small></details>",
            escape(&claim.statement),
            escape(&claim.id),
            escape(&claim.reason)
        );
        vec![
            statement,
            escape(&claim.place),
            optional(claim.paper),
            optional(claim.ours),
            escape(&claim.unit),
            format!("<span class=\"badge {class}\">{word}</span>"),
        ]
    });
    table(page, &heads, rows);
    page.push_str("</section>\n");
}

fn experiment_section(page: &mut String, experiment: &Experiment, result: &ExperimentResult) {
    let id = escape(result.id);
    let _ = writeln!(
        page,
        "<section id=\"{id}\"><h2>{}</h2>\n<p class=\"lead\">{}</p>",
        escape(experiment.title),
        escape(experiment.question)
    );
    let figures = (experiment.figures)(result);
    draw_figures(page, &figures, &id);
    let seeds = match (experiment.plan)(Effort::Quick).is_empty() {
        true => "computed".to_owned(),
        false => format!("{} seeds per point", result.seeds),
    };
    let _ = writeln!(
        page,
        "<details><summary>Method and threats to validity</summary>\n<p class=\"meta\">{} · \
         <code>{id}</code> · {seeds}</p>\n<p>{}</p>\n<ul>",
        escape(experiment.source),
        escape(experiment.method)
    );
    for threat in experiment.threats {
        let _ = writeln!(page, "<li>{}</li>", escape(threat));
    }
    page.push_str("</ul></details>\n");
    rows_table(page, &result.rows, figures.is_empty());
    page.push_str("</section>\n");
}

/// All values; folded unless there is nothing else.
fn rows_table(page: &mut String, rows: &[Row], open: bool) {
    let open = if open { " open" } else { "" };
    let _ = writeln!(page, "<details{open}><summary>All {} values</summary>", rows.len());
    let heads = [
        ("Point", false),
        ("Metric", false),
        ("Paper", true),
        ("Bound", true),
        ("Ours (95 %)", true),
        ("Unit", false),
    ];
    let optional = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), short);
    let rows = rows.iter().map(|row| {
        vec![
            escape(&row.label),
            escape(&row.metric.replace('_', " ")),
            optional(row.paper),
            optional(row.bound),
            with_interval(row),
            escape(&row.unit),
        ]
    });
    table(page, &heads, rows);
    page.push_str("</details>\n");
}

#[cfg(test)]
mod tests;
