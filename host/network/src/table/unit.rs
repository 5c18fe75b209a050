//! Units of columns.

/// Last words of names in scenarios and results, with their unit.
const BY_LAST_WORD: [(&str, &str); 24] = [
    ("kbps", "kb/s"),
    ("ms", "ms"),
    ("us", "us"),
    ("s", "s"),
    ("seconds", "s"),
    ("mj", "mJ"),
    ("bytes", "octets"),
    ("mss", "octets"),
    ("m", "m"),
    ("db", "dB"),
    ("dbm", "dBm"),
    ("hz", "Hz"),
    ("ppm", "ppm"),
    ("hour", "h"),
    ("loss", "share"),
    ("cycle", "share"),
    ("starting", "share"),
    ("attempts", "share"),
    ("reading", "share"),
    ("writing", "share"),
    ("share", "share"),
    ("segments", "segments"),
    ("frames", "frames"),
    ("packets", "packets"),
];
/// Suffixes that keep the unit of the column before them.
const OF_MANY: [&str; 4] = ["mean", "median", "p95", "max"];

/// The unit of a column by its name; empty for counts and for text.
pub fn unit(name: &str) -> &'static str {
    let mut parts = name.rsplit('.').skip_while(|part| OF_MANY.contains(part));
    let Some(last) = parts.next() else { return "" };
    // The parts of a table have the unit in the name of the table: `radio_s.listen`.
    by_word(last)
        .or_else(|| parts.next().filter(|table| *table == "radio_s").and_then(by_word))
        .unwrap_or_default()
}

fn by_word(name: &str) -> Option<&'static str> {
    let last = name.rsplit('_').next()?;
    BY_LAST_WORD.iter().find(|(word, _)| *word == last).map(|(_, unit)| *unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_names() {
        for (name, expected) in [
            ("goodput_kbps", "kb/s"),
            ("nodes.duty_cycle.max", "share"),
            ("nodes.radio_s.listen.mean", "s"),
            ("mac.retry_delay_ms", "ms"),
            ("latencies_ms.p95", "ms"),
            ("latencies_ms.count", ""),
            ("flow.0.bytes", "octets"),
            ("timeouts", ""),
            ("kind", ""),
        ] {
            assert_eq!(unit(name), expected, "{name}");
        }
    }
}
