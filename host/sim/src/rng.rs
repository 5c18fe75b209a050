//! Random streams: one root seed, one independent generator per (node, purpose).
//!
//! A stream's seed is a hash of the root seed, the node number and the purpose. No generator is
//! shared, so an additional node or draw does not change any other stream.

use rand_core::Rng;
use rand_pcg::Pcg32;

/// Purpose of a stream. The discriminants are part of the seed derivation: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Backoff delays of hardware CSMA-CA.
    Csma = 1,
    /// Survival of a frame under noise, interference and injected loss at this receiver.
    Reception = 2,
    /// Shadowing of the links of the path-loss model (drawn per pair of nodes).
    Shadowing = 3,
    /// The device's own seed (MAC backoff, ISN secret, ...).
    Device = 4,
    /// The application's workload.
    Application = 5,
    /// Placement of nodes.
    Placement = 6,
    /// Faults above the MAC: packet loss, duplication, reordering.
    Fault = 7,
    /// Activity of sources of interference.
    Interference = 8,
    /// Clock drift of the node.
    Clock = 9,
    /// First sector that its flash erases.
    Flash = 10,
    /// Deviations of its transmitter and receiver.
    Hardware = 11,
    /// Fading of a link (drawn per pair of nodes).
    Fading = 12,
    /// Deviation of a receiver's symbol correlation from its mean.
    Correlation = 13,
    /// Differences between chips of a kind.
    Chip = 14,
}

/// The SplitMix64 output function: a bijection on 64 bits with good avalanche
/// (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
const fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The seed of the stream of `node` for `purpose` under the root seed `root`.
pub const fn stream_seed(root: u64, node: u64, purpose: Purpose) -> u64 {
    mix(mix(mix(root) ^ node) ^ purpose as u64)
}

/// The stream of `node` for `purpose` under the root seed `root`.
pub fn stream(root: u64, node: u64, purpose: Purpose) -> Stream {
    Stream::from_seed(stream_seed(root, node, purpose))
}

/// A generator of one purpose of one node.
#[derive(Clone, Debug)]
pub struct Stream(Pcg32);

impl Stream {
    /// A stream from a 64-bit seed.
    pub fn from_seed(seed: u64) -> Self {
        Stream(Pcg32::new(mix(seed), mix(seed ^ u64::MAX)))
    }

    /// 32 uniform bits.
    pub fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Uniform in `0..bound`; 0 if `bound` is 0. The bias is below 2^-32 * `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.bits()) * u64::from(bound)) >> 32) as u32
    }

    /// Uniform in the half-open interval from 0 to 1, in steps of 2^-32.
    pub fn unit(&mut self) -> f64 {
        f64::from(self.bits()) / 4_294_967_296.0
    }

    /// True with probability `p`; draws only if the result is not certain.
    pub fn chance(&mut self, p: f64) -> bool {
        if p <= 0.0 {
            false
        } else if p >= 1.0 {
            true
        } else {
            self.unit() < p
        }
    }

    /// A standard normal deviate (Box-Muller, the cosine half).
    pub fn normal(&mut self) -> f64 {
        let u = (f64::from(self.bits()) + 1.0) / 4_294_967_297.0; // never 0, so its log is finite
        let v = self.unit();
        libm::sqrt(-2.0 * libm::log(u)) * libm::cos(core::f64::consts::TAU * v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_nodes_and_purposes_differ() {
        let mut seeds: Vec<u64> = (0..100)
            .flat_map(|n| {
                [Purpose::Csma, Purpose::Reception, Purpose::Device].map(|p| stream_seed(7, n, p))
            })
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 300);
    }

    #[test]
    fn below_covers_its_range_and_nothing_else() {
        let mut s = stream(1, 2, Purpose::Csma);
        let mut hist = [0u32; 8];
        for _ in 0..8_000 {
            hist[s.below(8) as usize] += 1;
        }
        assert!(hist.iter().all(|&n| (850..1_150).contains(&n)), "{hist:?}");
        assert_eq!(s.below(0), 0);
    }

    #[test]
    fn normal_has_unit_variance() {
        let mut s = stream(1, 2, Purpose::Shadowing);
        let n = 20_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = s.normal();
            sum += x;
            squares += x * x;
        }
        assert!((sum / f64::from(n)).abs() < 0.03);
        assert!((squares / f64::from(n) - 1.0).abs() < 0.04);
    }
}
