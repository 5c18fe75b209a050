//! Links that vary with time: see [`Fading`].

use crate::place::Fading;
use crate::rng::{Purpose, stream};
use core::f64::consts::TAU;
use core::ops::Range;

/// Number of waves per link. The sum of four or more is nearly normal.
const WAVES: usize = 4;

/// Steps per shortest period; a link's loss is constant within a step.
const STEPS: f64 = 32.0;

/// A wave: turns per second, and turns at the start.
type Wave = (f64, f64);

/// Deviations of links from their mean gains.
pub(crate) struct Fades {
    sigma_db: f64,
    step_us: u64,
    /// Waves of each directed link.
    waves: Vec<[Wave; WAVES]>,
    /// Mean gain of each directed link, in dB.
    mean_db: Vec<f32>,
    /// Step for which the links of each node were computed.
    steps: Vec<u64>,
}

impl Fades {
    /// Fading of links between `nodes` nodes, each link with its ends and its mean gain in dB;
    /// `None` if links do not fade.
    pub(crate) fn new(
        fading: Fading,
        seed: u64,
        links: &[(u32, u32, f32)],
        nodes: usize,
    ) -> Option<Fades> {
        if fading.sigma_db <= 0.0 {
            return None;
        }
        let waves = links.iter().map(|(from, to, _)| {
            let pair = u64::from(*from.min(to)) << 32 | u64::from(*from.max(to));
            let mut random = stream(seed, pair, Purpose::Fading);
            core::array::from_fn(|_| {
                let period_s = fading.period_s * (1.0 + 3.0 * random.unit());
                (1.0 / period_s, random.unit())
            })
        });
        Some(Fades {
            sigma_db: fading.sigma_db,
            step_us: ((fading.period_s * 1e6 / STEPS) as u64).max(1),
            waves: waves.collect(),
            mean_db: links.iter().map(|(_, _, gain_db)| *gain_db).collect(),
            steps: vec![u64::MAX; nodes],
        })
    }

    /// Calls `set` with the gains, in dB, of the links at `range`, which start at `node`, unless
    /// they are unchanged.
    pub(crate) fn refresh(
        &mut self,
        now: u64,
        node: usize,
        range: Range<usize>,
        mut set: impl FnMut(usize, f64),
    ) {
        let step = now / self.step_us;
        if core::mem::replace(&mut self.steps[node], step) == step {
            return;
        }
        let at_s = (step * self.step_us) as f64 / 1e6;
        for index in range {
            let waves = self.waves[index].iter();
            let sum: f64 = waves.map(|(hz, at)| libm::cos(TAU * (hz * at_s + at))).sum();
            let fade_db = self.sigma_db * sum * libm::sqrt(2.0 / WAVES as f64);
            set(index, f64::from(self.mean_db[index]) + fade_db);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_S: f64 = 10.0;

    /// Links 0 to 1, 0 to 2 and 1 to 0, with a mean gain of 0 dB.
    fn fades(sigma_db: f64) -> Option<Fades> {
        let fading = Fading { sigma_db, period_s: PERIOD_S };
        Fades::new(fading, 1, &[(0, 1, 0.0), (0, 2, 0.0), (1, 0, 0.0)], 3)
    }

    /// Gains of the links from `node` at `seconds`; empty if unchanged.
    fn at(fades: &mut Fades, node: usize, seconds: f64) -> Vec<f64> {
        let range = if node == 0 { 0..2 } else { 2..3 };
        let mut gains = Vec::new();
        fades.refresh((seconds * 1e6) as u64, node, range, |_, db| gains.push(db));
        gains
    }

    #[test]
    fn a_link_depends_on_time_alone_and_is_the_same_in_both_directions() {
        let (mut looked, mut slept) = (fades(2.0).unwrap(), fades(2.0).unwrap());
        for second in 0..100 {
            at(&mut looked, 0, f64::from(second));
        }
        let there = at(&mut looked, 0, 100.0);
        assert_eq!(there, at(&mut slept, 0, 100.0));
        assert_eq!(there[0], at(&mut looked, 1, 100.0)[0]);
        assert_ne!(there[0], there[1], "other pairs fade otherwise");
        assert!(at(&mut looked, 0, 100.0 + 1e-3).is_empty(), "a thirty-second of a period");
        assert_ne!(there, at(&mut looked, 0, 100.0 + PERIOD_S / 2.0));
        assert!(fades(0.0).is_none());
    }

    #[test]
    fn it_varies_by_sigma_around_its_mean() {
        let mut fades = fades(2.0).unwrap();
        let (mut squares, mut most, mut count) = (0.0, 0f64, 0.0);
        for step in 0..8_000 {
            for db in at(&mut fades, 0, f64::from(step) * 7.3) {
                squares += db * db;
                most = most.max(db.abs());
                count += 1.0;
            }
        }
        let sigma = libm::sqrt(squares / count);
        assert!((1.8..2.2).contains(&sigma) && most <= 2.0 * libm::sqrt(8.0), "{sigma} {most}");
    }
}
