//! Positions of nodes and interferers, and path loss between two positions.

use crate::rng::{Purpose, stream};

/// Position in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East.
    pub x_m: f64,
    /// North.
    pub y_m: f64,
}

impl Position {
    /// Distance to `other` in metres.
    pub fn distance_m(self, other: Position) -> f64 {
        let (dx, dy) = (self.x_m - other.x_m, self.y_m - other.y_m);
        libm::sqrt(dx * dx + dy * dy)
    }
}

/// Received power = output power - reference loss - 10 n log10(distance / 1 m) - shadowing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLoss {
    /// Exponent n.
    pub exponent: f64,
    /// Loss at one metre, in dB.
    pub reference_loss_db: f64,
    /// Standard deviation of the shadowing of a link, in dB; drawn once per pair of nodes.
    pub shadowing_sigma_db: f64,
    /// Standard deviation of the differences between nodes' transmitters, in dB, and of those
    /// between their receivers. They make links asymmetric. Both are drawn once per node.
    pub asymmetry_sigma_db: f64,
    /// Variation of links with time.
    pub fading: Fading,
}

/// Variation of a link's loss with time, equal in both directions: a sum of four waves whose
/// periods and phases are drawn once per pair of nodes, so that it depends on time alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// Standard deviation in dB; 0 disables fading. The variation never exceeds 2.8 times this
    /// value.
    pub sigma_db: f64,
    /// Shortest period of a wave in seconds; the longest is four times as long.
    pub period_s: f64,
}

impl Fading {
    /// Links do not vary.
    pub const NONE: Fading = Fading { sigma_db: 0.0, period_s: 60.0 };
}

impl PathLoss {
    /// 3GPP TR 38.901 indoor hotspot without line of sight, at 2.4 GHz:
    /// 17.3 + 38.3 log10 d + 24.9 log10 f, sigma 8.03 dB (as used by OTNS2).
    pub const INDOOR_NLOS: PathLoss = PathLoss::constant(3.83, 26.77, 8.03);
    /// 3GPP TR 38.901 indoor hotspot with line of sight, at 2.4 GHz:
    /// 32.4 + 17.3 log10 d + 20 log10 f, sigma 3 dB (as used by OTNS2).
    pub const INDOOR_LOS: PathLoss = PathLoss::constant(1.73, 40.0, 3.0);

    /// Path loss that is symmetric and constant in time.
    pub const fn constant(exponent: f64, reference_loss_db: f64, shadowing_sigma_db: f64) -> Self {
        PathLoss {
            exponent,
            reference_loss_db,
            shadowing_sigma_db,
            asymmetry_sigma_db: 0.0,
            fading: Fading::NONE,
        }
    }

    /// Deviations of the transmitter and receiver of `node` from the mean, in dB; positive is
    /// better.
    pub(crate) fn hardware_db(&self, seed: u64, node: usize) -> (f64, f64) {
        let mut random = stream(seed, node as u64, Purpose::Hardware);
        let mut draw = || self.asymmetry_sigma_db * random.normal().clamp(-4.0, 4.0);
        let transmitter = draw();
        (transmitter, draw())
    }

    /// Loss over `distance_m` metres between two nodes, the lower number first, in the run of
    /// `seed`: the mean and the shadowing of this pair, limited to four sigma.
    pub fn loss_db(&self, seed: u64, (a, b): (usize, usize), distance_m: f64) -> f64 {
        let pair = (a as u64) << 32 | b as u64;
        let mut random = stream(seed, pair, Purpose::Shadowing);
        let shadow = self.shadowing_sigma_db * random.normal().clamp(-4.0, 4.0);
        self.mean_loss_db(distance_m) + shadow
    }

    /// Mean loss over `distance_m` metres (at least 1 m), in dB.
    pub fn mean_loss_db(&self, distance_m: f64) -> f64 {
        self.reference_loss_db + 10.0 * self.exponent * libm::log10(distance_m.max(1.0))
    }
}
