//! Link quality indications by correlation, like the CC2420's (data sheet SWRS041B, 24).
//!
//! The radio averages the correlation of the first eight symbols after the SFD with the sequences
//! of 32 chips that it decoded: 110 is the best, and about 50 that of the worst frames that it
//! finds. Software scales that to the standard's 0 to 255. The sheet does not state the correlation
//! under noise. In this model a chip is wrong with the probability of differential detection, half
//! of exp(-SINR) at one chip per 2 MHz. The correlation is the share of correct chips less that of
//! wrong ones: 110 (1 - exp(-SINR)). At -0.68 dB, where the ideal receiver of Annex E of IEEE
//! 802.15.4-2006 loses half of all full frames, this is 63; at 3.5 dB it is 98.

use crate::rng::Stream;

/// Correlation of the worst and of the best frames.
const WORST: f64 = 50.0;
const BEST: f64 = 110.0;

/// Chips of eight symbols.
const CHIPS: f64 = 8.0 * 32.0;

/// Indication of a frame whose first eight symbols had `sinr` at the demodulator; the random
/// deviation from the mean is drawn from `random`.
pub(crate) fn by_correlation(sinr: f64, random: &mut Stream) -> u8 {
    let wrong = libm::exp(-sinr) / 2.0;
    // The mean of this number of chips is nearly normal.
    let sigma = libm::sqrt(wrong * (1.0 - wrong) / CHIPS);
    let share = (wrong + sigma * random.normal()).clamp(0.0, 0.5);
    let correlation = BEST * (1.0 - 2.0 * share);
    // A cast saturates.
    ((correlation - WORST) / (BEST - WORST) * 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ber::mw_from_dbm;

    /// Mean and standard deviation of the correlation at a signal `sinr_db` above the noise.
    fn correlations(sinr_db: f64) -> (f64, f64) {
        let mut random = Stream::from_seed(1);
        let sinr = mw_from_dbm(sinr_db);
        let lqis: Vec<f64> = (0..4_000).map(|_| by_correlation(sinr, &mut random).into()).collect();
        let scale = (BEST - WORST) / 255.0;
        let mean = lqis.iter().sum::<f64>() / 4_000.0;
        let squares: f64 = lqis.iter().map(|lqi| (lqi - mean) * (lqi - mean)).sum();
        (WORST + mean * scale, libm::sqrt(squares / 4_000.0) * scale)
    }

    #[test]
    fn correlation_distinguishes_weak_links_from_good_ones_but_not_good_from_better() {
        let [bad, fair, good, best] = [-0.68, 3.5, 8.5, 30.0].map(|db| correlations(db).0);
        assert!((60.0..66.0).contains(&bad), "{bad}");
        assert!((96.0..100.0).contains(&fair), "{fair}");
        assert!((109.0..=110.0).contains(&good) && best == BEST, "{good} {best}");
    }

    #[test]
    fn single_frames_of_weak_links_scatter() {
        assert!((4.0..8.0).contains(&correlations(-0.68).1));
        assert!(correlations(8.5).1 < 1.0);
    }
}
