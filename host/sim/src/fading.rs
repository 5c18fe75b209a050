//! Links that change in time: see [`Fading`].

use crate::ber::mw_from_dbm;
use crate::medium::Link;
use crate::place::Fading;
use crate::rng::{Purpose, stream};
use core::f64::consts::TAU;
use core::ops::Range;

/// Waves of a link. From four on their sum is nearly normal.
const WAVES: usize = 4;

/// A link keeps its loss for this part of the shortest period.
const STEPS: f64 = 32.0;

/// One wave: turns per second, and turns at the start.
type Wave = (f64, f64);

/// How each link differs from its mean.
pub(crate) struct Fades {
    sigma_db: f64,
    step_us: u64,
    /// Of each directed link, as in [`crate::medium::Links`].
    waves: Vec<[Wave; WAVES]>,
    mean_dbm: Vec<f32>,
    /// The step for which the links of each node have been computed.
    steps: Vec<u64>,
}

impl Fades {
    /// The fades of `links`, which leave from the nodes at the same places of `from`; `None` if
    /// there are none.
    pub(crate) fn new(
        fading: Fading,
        seed: u64,
        links: &[Link],
        from: &[u32],
        nodes: usize,
    ) -> Option<Fades> {
        if fading.sigma_db <= 0.0 {
            return None;
        }
        let waves = links.iter().zip(from).map(|(link, from)| {
            let pair = u64::from(link.to.min(*from)) << 32 | u64::from(link.to.max(*from));
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
            mean_dbm: links.iter().map(|link| link.gain_dbm).collect(),
            steps: vec![u64::MAX; nodes],
        })
    }

    /// Sets the gain of `links`, those at `range`, which leave `node`, as it is at `now`.
    pub(crate) fn refresh(
        &mut self,
        now: u64,
        node: usize,
        range: Range<usize>,
        links: &mut [Link],
    ) {
        let step = now / self.step_us;
        if core::mem::replace(&mut self.steps[node], step) == step {
            return;
        }
        let at_s = (step * self.step_us) as f64 / 1e6;
        let parts = self.waves[range.clone()].iter().zip(&self.mean_dbm[range.clone()]);
        for (link, (waves, mean_dbm)) in links[range].iter_mut().zip(parts) {
            let sum: f64 = waves.iter().map(|(hz, at)| libm::cos(TAU * (hz * at_s + at))).sum();
            let dbm = f64::from(*mean_dbm) + self.sigma_db * sum * libm::sqrt(2.0 / WAVES as f64);
            (link.gain_dbm, link.gain_mw) = (dbm as f32, mw_from_dbm(dbm));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::{Connectivity, Links, MediumConfig, PathLoss, Position};

    const PERIOD_S: f64 = 10.0;

    fn links(sigma_db: f64, asymmetry_sigma_db: f64) -> Links {
        let model = PathLoss {
            asymmetry_sigma_db,
            fading: Fading { sigma_db, period_s: PERIOD_S },
            ..PathLoss::constant(3.0, 40.0, 0.0)
        };
        let medium = MediumConfig {
            connectivity: Connectivity::PathLoss(model),
            ..MediumConfig::unit_disc(1.0)
        };
        let at: Vec<_> = (0..12).map(|i| Position { x_m: f64::from(i), y_m: 0.0 }).collect();
        Links::build(&medium, 1, &at, -95.0, 0.0)
    }

    /// The gains of all links from `from`, as they are at `seconds`.
    fn at(links: &mut Links, from: usize, seconds: f64) -> Vec<f32> {
        links.refresh(from, (seconds * 1e6) as u64);
        links.range(from).map(|index| links.at(index).gain_dbm).collect()
    }

    #[test]
    fn a_link_hangs_on_time_alone_and_is_the_same_both_ways() {
        let (mut looked, mut slept) = (links(2.0, 0.0), links(2.0, 0.0));
        for second in 0..100 {
            at(&mut looked, 3, f64::from(second));
        }
        let there = at(&mut looked, 3, 100.0);
        assert_eq!(there, at(&mut slept, 3, 100.0));
        // Node 3 is the fourth neighbour of node 0, which is the first of node 3.
        assert_eq!(there[0], at(&mut looked, 0, 100.0)[2]);
        assert_ne!(there, at(&mut looked, 3, 100.0 + PERIOD_S / 2.0));
        assert_eq!(there, at(&mut looked, 3, 100.0 + 1e-3), "it takes a thirty-second of a period");
    }

    #[test]
    fn it_varies_by_sigma_around_its_mean() {
        let (mut fades, mut constant) = (links(2.0, 0.0), links(0.0, 0.0));
        let mean = at(&mut constant, 5, 0.0);
        let (mut squares, mut most, mut count) = (0.0, 0f64, 0.0);
        for step in 0..4_000 {
            for (dbm, mean) in at(&mut fades, 5, f64::from(step) * 7.3).iter().zip(&mean) {
                let differs = f64::from(dbm - mean);
                squares += differs * differs;
                most = most.max(differs.abs());
                count += 1.0;
            }
        }
        let sigma = libm::sqrt(squares / count);
        assert!((1.8..2.2).contains(&sigma) && most <= 2.0 * libm::sqrt(8.0), "{sigma} {most}");
    }

    #[test]
    fn what_nodes_differ_by_makes_the_directions_differ() {
        let mut links = links(0.0, 1.0);
        let (there, back) = (at(&mut links, 0, 0.0)[2], at(&mut links, 3, 0.0)[0]);
        assert!((there - back).abs() > 0.01, "{there} {back}");
    }
}
