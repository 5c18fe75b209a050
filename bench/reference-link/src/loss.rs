//! Frame losses of the link.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Distribution of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Each frame independently.
    Independent,
    /// In bursts counted in frames: the state does not change while no frame is sent, so the retry
    /// after a timeout finds the channel as the last frame left it.
    BurstFrames,
    /// In bursts counted in milliseconds: a timeout is longer than a burst.
    BurstTime,
}

pub const MODELS: [(Model, &str); 3] = [
    (Model::Independent, "independent"),
    (Model::BurstFrames, "burst-frames"),
    (Model::BurstTime, "burst-time"),
];

/// Mean length of a burst, in frames or in milliseconds.
const BURST_FRAMES: f64 = 5.0;
const BURST_MS: f64 = 40.0;

impl Model {
    pub fn named(name: &str) -> Option<Model> {
        MODELS.iter().find(|(_, known)| *known == name).map(|(model, _)| *model)
    }

    pub fn name(self) -> &'static str {
        MODELS.iter().find(|(model, _)| *model == self).map_or("", |(_, name)| name)
    }
}

/// A probability in 2^-32, so that no draw depends on rounding.
fn threshold(probability: f64) -> u32 {
    (probability * f64::from(u32::MAX)) as u32
}

/// Gilbert's channel: good, without losses, or bad, where every frame is lost. It may change with
/// each tick, which is a frame or a millisecond.
pub struct Gilbert {
    random: Pcg64Mcg,
    bad: bool,
    to_bad: u32,
    to_good: u32,
}

impl Gilbert {
    /// A channel that is bad for a share of `loss` of the ticks, on average `burst` consecutive
    /// ones.
    fn new(loss: f64, burst: f64, seed: u64) -> Gilbert {
        // A separate stream: the model's other draws do not change.
        let random = Pcg64Mcg::seed_from_u64(!seed);
        let to_bad = threshold(loss / (1.0 - loss) / burst);
        Gilbert { random, bad: false, to_bad, to_good: threshold(1.0 / burst) }
    }

    fn tick(&mut self) {
        let change = if self.bad { self.to_good } else { self.to_bad };
        self.bad ^= self.random.next_u32() < change;
    }
}

/// State of a run's losses.
pub enum Losses {
    Independent(u32),
    Frames(Gilbert),
    /// The channel, and the milliseconds that have passed.
    Time(Gilbert, u64),
}

impl Losses {
    /// `loss` is the share of frames that are lost.
    pub fn new(model: Model, loss: f64, seed: u64) -> Losses {
        match model {
            Model::Independent => Losses::Independent(threshold(loss)),
            Model::BurstFrames => Losses::Frames(Gilbert::new(loss, BURST_FRAMES, seed)),
            Model::BurstTime => Losses::Time(Gilbert::new(loss, BURST_MS, seed), 0),
        }
    }

    /// Returns true if a frame that begins at `now`, in microseconds, is lost; `random` is the
    /// model's.
    pub fn is_lost(&mut self, now: u64, random: &mut Pcg64Mcg) -> bool {
        match self {
            Losses::Independent(threshold) => random.next_u32() < *threshold,
            Losses::Frames(channel) => {
                channel.tick();
                channel.bad
            }
            Losses::Time(channel, passed) => {
                while *passed < now / 1_000 {
                    *passed += 1;
                    channel.tick();
                }
                channel.bad
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of lost frames and mean length of a run of them, with an interval of `every` us
    /// between frames.
    fn measure(model: Model, loss: f64, every: u64) -> (f64, f64) {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut losses = Losses::new(model, loss, 1);
        let frames = 2_000_000;
        let (mut lost, mut runs, mut before) = (0, 0, false);
        for i in 0..frames {
            let now = losses.is_lost(i * every, &mut random);
            lost += u64::from(now);
            runs += u64::from(now && !before);
            before = now;
        }
        (lost as f64 / frames as f64, lost as f64 / runs as f64)
    }

    #[test]
    fn the_share_is_the_one_asked_for_and_bursts_have_their_length() {
        for loss in [0.05, 0.15] {
            let (share, run) = measure(Model::Independent, loss, 7_200);
            assert!((share / loss - 1.0).abs() < 0.1 && run < 1.25, "{share} {run}");
            let (share, run) = measure(Model::BurstFrames, loss, 7_200);
            assert!((share / loss - 1.0).abs() < 0.1 && (4.5..5.5).contains(&run), "{share} {run}");
            let (share, run) = measure(Model::BurstTime, loss, 1_000);
            assert!((share / loss - 1.0).abs() < 0.1 && (36.0..44.0).contains(&run), "{run}");
            // Frames with long intervals are independent.
            let (share, run) = measure(Model::BurstTime, loss, 200_000);
            assert!((share / loss - 1.0).abs() < 0.1 && run < 1.25, "{share} {run}");
        }
        assert_eq!(measure(Model::BurstFrames, 0.0, 7_200).0, 0.0);
    }
}
