//! Bit errors of the 2.4 GHz O-QPSK PHY under noise and interference
//! (IEEE 802.15.4-2006, Annex E.4.1.8).

use std::sync::LazyLock;

/// The binomial coefficients C(16, k) for k = 2..=16.
const CHOOSE_16: [f64; 15] = [
    120.0, 560.0, 1820.0, 4368.0, 8008.0, 11440.0, 12870.0, 11440.0, 8008.0, 4368.0, 1820.0, 560.0,
    120.0, 16.0, 1.0,
];

/// At and above this SINR (6 dB) the bit error rate is below 2e-17 and counts as zero.
pub(crate) const PERFECT: f64 = 4.0;

/// Bit error rate at a signal to interference and noise ratio of `sinr` (linear): 8/15 * 1/16 * sum
/// over k = 2..16 of (-1)^k C(16,k) exp(20 sinr (1/k - 1)).
pub fn bit_error_rate(sinr: f64) -> f64 {
    if sinr >= PERFECT {
        return 0.0;
    }
    let mut sum = 0.0;
    for (i, choose) in CHOOSE_16.iter().enumerate() {
        let k = (i + 2) as f64;
        let term = choose * libm::exp(20.0 * sinr * (1.0 / k - 1.0));
        sum += if i % 2 == 0 { term } else { -term };
    }
    (sum / 30.0).clamp(0.0, 0.5)
}

/// Steps of [`LN_RIGHT`] per unit of SINR. The curve's steepest part is exp(-19 SINR); linear
/// interpolation over 1/1024 is accurate to 5e-5 of its value.
const STEPS: f64 = 1024.0;

/// Natural logarithm of the probability that a bit is correct, in steps of SINR. The sum of fifteen
/// exponentials is too slow to compute for every interval of every frame.
static LN_RIGHT: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let steps = (PERFECT * STEPS) as u32;
    (0..=steps).map(|i| libm::log1p(-bit_error_rate(f64::from(i) / STEPS))).collect()
});

/// Natural logarithm of the probability that all of `bits` bits are correct at `sinr`.
pub fn ln_success(sinr: f64, bits: f64) -> f64 {
    if sinr >= PERFECT {
        return 0.0;
    }
    let at = sinr.max(0.0) * STEPS;
    let (index, part) = (at as usize, at - libm::floor(at));
    match LN_RIGHT.get(index..index + 2) {
        Some(&[low, high]) => bits * (low + (high - low) * part),
        _ => 0.0,
    }
}

/// Milliwatts of a power in dBm.
pub fn mw_from_dbm(dbm: f64) -> f64 {
    libm::pow(10.0, dbm / 10.0)
}

/// A power in dBm from milliwatts.
pub fn dbm_from_mw(mw: f64) -> f64 {
    10.0 * libm::log10(mw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_db(db: f64) -> f64 {
        mw_from_dbm(db) // same arithmetic: a ratio from decibels
    }

    #[test]
    fn error_rate_follows_annex_e() {
        // Values of the same formula in ns-3.
        for (db, rate) in [(-4.0, 3.9e-2), (-2.0, 5.2e-3), (-1.0, 1.15e-3), (0.0, 1.6e-4)] {
            let ours = bit_error_rate(at_db(db));
            assert!((ours / rate - 1.0).abs() < 0.03, "{db} dB: {ours} instead of {rate}");
        }
        assert!((bit_error_rate(0.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_full_frame_at_minus_068_db_has_an_even_chance() {
        let p = libm::exp(ln_success(at_db(-0.68), 133.0 * 8.0));
        assert!((p - 0.5).abs() < 0.02, "{p}");
    }

    #[test]
    fn the_table_is_the_curve() {
        for step in 0..40_000 {
            let sinr = f64::from(step) / 10_000.0 + 0.000_03;
            let (table, curve) = (ln_success(sinr, 1.0), libm::log1p(-bit_error_rate(sinr)));
            assert!((table - curve).abs() <= 1e-4 * curve.abs() + 1e-15, "{sinr}: {table} {curve}");
        }
        assert_eq!((ln_success(4.0, 1e6), ln_success(f64::INFINITY, 1e6)), (0.0, 0.0));
    }

    #[test]
    fn error_rate_never_rises_with_the_signal() {
        let mut last = 1.0;
        for tenth in -200..80 {
            let rate = bit_error_rate(at_db(f64::from(tenth) / 10.0));
            assert!(rate <= last);
            last = rate;
        }
    }
}
