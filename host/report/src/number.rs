//! Numbers as text.

use kinglet_sweep::row::Row;

/// A number with about three significant digits.
pub fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "–".to_owned(),
        _ if value == 0.0 => "0".to_owned(),
        _ if size >= 1_000.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Mean with interval.
pub fn with_interval(row: &Row) -> String {
    match row.ci95 {
        Some(half) => format!("{} ± {}", short(row.mean), short(half)),
        None => short(row.mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_about_three_digits() {
        for (value, text) in
            [(0.0, "0"), (0.01234, "0.0123"), (0.5, "0.50"), (19.54, "19.5"), (1234.5, "1234")]
        {
            assert_eq!(short(value), text);
        }
        assert_eq!(short(f64::INFINITY), "–");
    }
}
