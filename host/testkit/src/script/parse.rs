//! A script's text as events.

use super::call::Call;
use super::segment::SegmentText;
use super::time::{self, When};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) line: usize,
    pub(super) when: When,
    pub(super) body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Shell(String),
    Code(String),
    Inbound(SegmentText),
    Outbound(SegmentText),
    /// ICMP destination unreachable that quotes the segment with this sequence number.
    Unreachable(u32),
    Call(Call),
}

/// A script.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Script {
    /// `--name=value` lines.
    pub(super) options: Vec<(usize, String)>,
    /// Shell commands before the first event.
    pub(super) setup: Vec<(usize, String)>,
    pub(super) events: Vec<Event>,
    /// What was understood but is ignored.
    pub(super) ignored: Vec<(usize, String)>,
}

/// Line and what is wrong there.
pub(super) type Wrong = (usize, String);

pub(super) fn parse(text: &str) -> Result<Script, Wrong> {
    let text = without_comments(text)?;
    let mut script = Script::default();
    for (line, piece) in pieces(&text)? {
        if piece.starts_with("--") {
            let options = piece.split_whitespace().map(|option| (line, option.to_owned()));
            script.options.extend(options);
        } else if let Some(shell) = quoted(&piece, "`", "`") {
            script.setup.push((line, shell));
        } else {
            let event = event(line, &piece, &mut script.ignored).map_err(|what| (line, what))?;
            script.events.push(event);
        }
    }
    Ok(script)
}

/// Blanks `//…`, `/*…*/` and `#…`, and keeps the lines. Strings, shell and code stay.
fn without_comments(text: &str) -> Result<String, Wrong> {
    let mut out = String::new();
    let mut rest = text;
    let line_of = |rest: &str| text[..text.len() - rest.len()].lines().count().max(1);
    while let Some(first) = rest.chars().next() {
        let literal = [("\"", "\""), ("`", "`"), ("%{", "}%")];
        if let Some((open, close)) = literal.iter().find(|(open, _)| rest.starts_with(open)) {
            let inside = &rest[open.len()..];
            let Some(end) = inside.find(close) else {
                return Err((line_of(rest), format!("`{open}` without its `{close}`")));
            };
            let whole = open.len() + end + close.len();
            out.push_str(&rest[..whole]);
            rest = &rest[whole..];
        } else if rest.starts_with("//") || first == '#' {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            let Some(end) = rest.find("*/") else {
                return Err((line_of(rest), "a comment without its end".to_owned()));
            };
            out.extend(rest[..end].chars().filter(|c| *c == '\n'));
            rest = &rest[end + 2..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Ok(out)
}

/// Events as text: one begins where a line begins with a time, outside of parentheses and blocks.
fn pieces(text: &str) -> Result<Vec<Wrong>, Wrong> {
    let mut out: Vec<Wrong> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() && !open {
            continue;
        }
        let starts = trimmed.starts_with(|c: char| c.is_ascii_digit())
            || ["+", "*", "`", "--", ".", "%{"].iter().any(|mark| trimmed.starts_with(mark));
        match out.last_mut() {
            Some((_, piece)) if open || !starts => {
                piece.push('\n');
                piece.push_str(if open { line } else { trimmed });
            }
            _ => out.push((index + 1, trimmed.to_owned())),
        }
        open = out.last().is_some_and(|(_, piece)| is_open(piece));
    }
    Ok(out)
}

fn is_open(piece: &str) -> bool {
    if let Some(code) = piece.find("%{") {
        return !piece[code..].contains("}%");
    }
    if piece.contains('`') {
        return piece.matches('`').count() % 2 == 1;
    }
    piece.matches('(').count() > piece.matches(')').count()
}

fn quoted(text: &str, open: &str, close: &str) -> Option<String> {
    let inside = text.trim().strip_prefix(open)?.strip_suffix(close)?;
    Some(inside.trim().to_owned())
}

fn event(line: usize, piece: &str, ignored: &mut Vec<Wrong>) -> Result<Event, String> {
    let at_once = When { relative: true, kind: time::Kind::At(kinglet_time::Duration::ZERO) };
    let (when, rest) = if piece.starts_with("%{") {
        (at_once, piece)
    } else {
        time::take(piece)?.ok_or_else(|| format!("not understood: {piece}"))?
    };
    let rest = rest.trim();
    let body = if let Some(shell) = quoted(rest, "`", "`") {
        Body::Shell(shell)
    } else if let Some(code) = quoted(rest, "%{", "}%") {
        Body::Code(code)
    } else if let Some(segment) = rest.strip_prefix('<') {
        match segment.trim().strip_prefix("icmp") {
            Some(icmp) => Body::Unreachable(unreachable(icmp)?),
            None => Body::Inbound(segment_text(line, segment, ignored)?),
        }
    } else if let Some(segment) = rest.strip_prefix('>') {
        Body::Outbound(segment_text(line, segment, ignored)?)
    } else {
        Body::Call(Call::parse(rest)?)
    };
    if let Body::Inbound(segment) = &body {
        segment.check_inbound()?;
    }
    Ok(Event { line, when, body })
}

/// A segment, perhaps with an ECN mark in brackets, which this stack does not look at yet.
fn segment_text(line: usize, text: &str, ignored: &mut Vec<Wrong>) -> Result<SegmentText, String> {
    let text = text.trim();
    if let Some((mark, rest)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        ignored.push((line, format!("the IP mark [{mark}]")));
        return SegmentText::parse(rest);
    }
    SegmentText::parse(text)
}

fn unreachable(text: &str) -> Result<u32, String> {
    let unknown = || format!("not understood: icmp{text}");
    let (kind, quote) = text.split_once('[').ok_or_else(unknown)?;
    let words: Vec<&str> = kind.split_whitespace().collect();
    let codes = [
        "host_unreachable",
        "net_unreachable",
        "port_unreachable",
        "address_unreachable",
        "no_route",
        "admin_prohibited",
    ];
    match words.as_slice() {
        ["unreachable", code] if codes.contains(code) => {}
        _ => return Err(unknown()),
    }
    let seq = quote.split(':').next().unwrap_or_default();
    seq.trim().parse().map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(usize, String)> {
        pieces(&without_comments(text).unwrap()).unwrap()
    }

    #[test]
    fn comments_go_and_lines_keep_their_numbers() {
        let text = "// one\n/* two\n three */ 0 a(1, // x\n 2) = 3\n\n+0 < S # y\n";
        let want = [(3, "0 a(1,\n 2) = 3".to_owned()), (6, "+0 < S".to_owned())];
        let got: Vec<_> = lines(text)
            .into_iter()
            .map(|(n, t)| (n, t.replace(" \n", "\n").trim().to_owned()))
            .collect();
        assert_eq!(got, want);
    }

    #[test]
    fn a_code_block_spans_lines_and_keeps_its_marks() {
        let text = "+0 %{ assert a == 1 # yes\nassert b\n}%\n+0 < S";
        assert_eq!(lines(text).len(), 2);
    }

    #[test]
    fn what_is_not_understood_is_named_by_line() {
        let (line, what) = parse("\n+0 frobnicate 3").unwrap_err();
        assert_eq!(line, 2);
        assert!(what.contains("frobnicate"), "{what}");
        assert_eq!(parse("+0 < S 0:0(0) win 1 <mss 5,odd 7>").unwrap_err().0, 1);
        assert_eq!(parse("+0 < S 0:5(0) win 1").unwrap_err().0, 1);
        assert_eq!(parse("+0 < . 1:1(0) ack 1").unwrap_err().0, 1);
        assert_eq!(parse("/* never ends").unwrap_err().0, 1);
    }
}
