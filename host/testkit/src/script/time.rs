//! Times of events.

use kinglet_time::Duration;

/// When an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct When {
    /// From the end of the event before, not from the start of the script.
    pub(super) relative: bool,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    At(Duration),
    Range(Duration, Duration),
    /// A call that blocks from one time to the other.
    Blocks(Duration, Duration),
}

/// Takes a time off the front of `text`; `None` if there is none.
pub(super) fn take(text: &str) -> Result<Option<(When, &str)>, String> {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix('*') {
        return Ok(Some((When { relative: true, kind: Kind::Any }, rest)));
    }
    let (relative, rest) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let Some((first, rest)) = number(rest)? else { return Ok(None) };
    let end = |rest: &'_ str| -> Result<_, String> {
        let trimmed = rest.trim_start();
        let trimmed = trimmed.strip_prefix('+').unwrap_or(trimmed);
        let found = number(trimmed)?;
        Ok(found.map(|(d, r)| (d, rest.len() - r.len())))
    };
    for (mark, blocks) in [("...", true), ("~", false)] {
        if let Some(tail) = rest.trim_start().strip_prefix(mark) {
            let (second, used) = end(tail)?.ok_or("a time is missing after its range mark")?;
            let kind =
                if blocks { Kind::Blocks(first, second) } else { Kind::Range(first, second) };
            return Ok(Some((When { relative, kind }, &tail[used..])));
        }
    }
    Ok(Some((When { relative, kind: Kind::At(first) }, rest)))
}

/// Decimal seconds at the front of `text`.
fn number(text: &str) -> Result<Option<(Duration, &str)>, String> {
    let whole = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut used = whole;
    let mut fraction = "";
    // `0...` is a range, not a fraction.
    if text[whole..].starts_with('.') && !text[whole..].starts_with("..") {
        let tail = &text[whole + 1..];
        let digits = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        fraction = &tail[..digits];
        used += 1 + digits;
    }
    if whole == 0 && fraction.is_empty() {
        return Ok(None);
    }
    let seconds: u64 = if whole == 0 {
        0
    } else {
        text[..whole].parse().map_err(|_| "a time out of range".to_owned())?
    };
    let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let micros: u64 = micros.parse().map_err(|_| "a time out of range".to_owned())?;
    let total = seconds.saturating_mul(1_000_000).saturating_add(micros);
    Ok(Some((Duration::from_micros(total), &text[used..])))
}

/// Seconds with six decimals.
pub(super) fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_micros() / 1_000_000, time.as_micros() % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn every_form_of_a_time_is_read() {
        for (text, relative, kind) in [
            ("0 x", false, Kind::At(ms(0))),
            ("1.25 x", false, Kind::At(ms(1250))),
            ("+.1 x", true, Kind::At(ms(100))),
            ("+0~+0.01 x", true, Kind::Range(ms(0), ms(10))),
            ("0.1~0.3 x", false, Kind::Range(ms(100), ms(300))),
            ("0.1...0.3 x", false, Kind::Blocks(ms(100), ms(300))),
            ("0...0.3 x", false, Kind::Blocks(ms(0), ms(300))),
            ("+0...+.5 x", true, Kind::Blocks(ms(0), ms(500))),
            ("* x", true, Kind::Any),
        ] {
            assert_eq!(take(text), Ok(Some((When { relative, kind }, " x"))), "{text}");
        }
        assert_eq!(take("socket()"), Ok(None));
    }
}
