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
