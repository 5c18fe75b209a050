//! Times of events.

use super::cursor::{Cursor, Wrong};
use kinglet_time::Duration;

/// Time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct When {
    /// True if it counts from the end of the previous event, not from the start of the script.
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

/// Reads a time; `None` if none is next.
pub(super) fn take(cursor: &mut Cursor) -> Result<Option<When>, Wrong> {
    if cursor.eat("*") {
        return Ok(Some(When { relative: true, kind: Kind::Any }));
    }
    let relative = cursor.eat("+");
    let Some(first) = seconds_of(cursor)? else {
        return if relative { Err(cursor.wrong("a time is missing")) } else { Ok(None) };
    };
    for (mark, blocks) in [("...", true), ("~", false)] {
        if cursor.eat(mark) {
            cursor.eat("+");
            let missing = |cursor: &mut Cursor| cursor.wrong("a time is missing after its mark");
            let second = seconds_of(cursor)?.ok_or_else(|| missing(cursor))?;
            let kind =
                if blocks { Kind::Blocks(first, second) } else { Kind::Range(first, second) };
            return Ok(Some(When { relative, kind }));
        }
    }
    Ok(Some(When { relative, kind: Kind::At(first) }))
}

/// Reads decimal seconds.
fn seconds_of(cursor: &mut Cursor) -> Result<Option<Duration>, Wrong> {
    let out_of_range = cursor.wrong("a time out of range");
    let digits = |c: char| c.is_ascii_digit();
    let whole = cursor.run(digits);
    let mut fraction = "";
    // `0...` is a range, not a fraction.
    if cursor.starts_with(".") && !cursor.starts_with("..") {
        cursor.expect(".")?;
        fraction = cursor.run(digits);
    }
    if whole.is_empty() && fraction.is_empty() {
        return Ok(None);
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
    match (whole.parse::<u64>(), micros.parse::<u64>()) {
        (Ok(seconds), Ok(micros)) => {
            let total = seconds.saturating_mul(1_000_000).saturating_add(micros);
            Ok(Some(Duration::from_micros(total)))
        }
        _ => Err(out_of_range),
    }
}

/// Formats seconds with six decimals.
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
            ("+.002 ... 0.3 x", true, Kind::Blocks(ms(2), ms(300))),
            ("+0...+.5 x", true, Kind::Blocks(ms(0), ms(500))),
            ("* x", true, Kind::Any),
        ] {
            let mut cursor = Cursor::new(text);
            assert_eq!(take(&mut cursor), Ok(Some(When { relative, kind })), "{text}");
            assert_eq!(cursor.rest(), "x", "{text}");
        }
        assert_eq!(take(&mut Cursor::new("socket()")), Ok(None));
        for odd in ["+", "0~", "1...x"] {
            assert!(take(&mut Cursor::new(odd)).is_err(), "{odd}");
        }
    }
}
