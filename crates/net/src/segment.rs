//! Number of frames of a TCP segment (TCPlp §6.1 chooses manually: 5 on clean links, 3 on lossy
//! ones).
//!
//! A segment of n frames is lost if one of them is: with a loss of h in each frame, with
//! probability q(n) = 1 − exp(−h·n). The airtime of a segment is that of its n frames, half a frame
//! as its share of an acknowledgement, and the additional cost of a loss: a sender whose window is
//! a few segments stalls until the loss is detected and repaired:
//!
//! ```text
//! goodput(n) = payload(n) · (1 − q(n)) / (n + 1/2 + STALL · q(n)²)
//! ```
//!
//! Headers favour many frames, losses few. The known value is the share q of segments that had to
//! be retransmitted with the present number of frames, m: h = −ln(1 − q) / m. It is TCP's own
//! count, end to end, because a link knows only its own hop.

/// Chosen on the reference link (`bench/reference-link`), out of 30, 60 and 90, for the goodput of
/// adaptive segments of up to 5 frames at a frame loss of 1 to 15 % (decision 23). With the slower
/// recovery of earlier versions the time beyond the first two terms was measured: 90.
const STALL: u32 = 60;

/// Returns the number of frames, out of `1..=largest`, for the next segments of a connection whose
/// segments of `frames` frames were lost with probability `lost` (in 1/65,536); `payload` returns
/// the octets that so many frames carry. The number stays `frames` unless another has at least 1/16
/// more expected goodput, so that it does not follow small fluctuations of the estimate.
pub fn best_frames(lost: u16, frames: u8, largest: u8, payload: impl Fn(u8) -> u16) -> u8 {
    // Shares with 16 binary places. −ln(1 − q), three terms: within 3 % up to q = 0.5.
    let q = u32::from(lost);
    let squared = q.saturating_mul(q) >> 16;
    let cubed = squared.saturating_mul(q) >> 16;
    let hazard = q.saturating_add(squared / 2).saturating_add(cubed / 3);
    let (mut now, mut best, mut most) = (0, frames, 0);
    for n in core::iter::once(frames).chain(1..=largest) {
        let hazard = hazard.saturating_mul(n.into()).checked_div(frames.into()).unwrap_or(0);
        let score = score(hazard, n, payload(n));
        if n == frames {
            now = score;
        }
        if score >= most {
            (best, most) = (n, score);
        }
    }
    let worthwhile = most >= now.saturating_add(now / 16);
    if worthwhile { best } else { frames }
}

/// Returns the expected goodput of segments of `n` frames with `payload` octets, where `hazard` is
/// −ln of the share of them that is not lost, with 16 binary places.
fn score(hazard: u32, n: u8, payload: u16) -> u32 {
    // exp(x) with 12 binary places, three terms. Up to 4 nothing overflows.
    let x = (hazard >> 4).min(4 << 12);
    let squared = x.saturating_mul(x) >> 12;
    let cubed = squared.saturating_mul(x) >> 12;
    let exp = x.saturating_add(squared / 2).saturating_add(cubed / 6).saturating_add(1 << 12);
    let survives = (1_u32 << 24).checked_div(exp).unwrap_or(0);
    let lost = (1_u32 << 12).saturating_sub(survives);
    // Half frames with 4 binary places.
    let stall = (lost.saturating_mul(lost) >> 12).saturating_mul(2 * STALL) >> 8;
    let frames = u32::from(n).saturating_mul(2).saturating_add(1) << 4;
    // At most 1280 octets.
    let octets = u32::from(payload).saturating_mul(survives) << 8;
    octets.checked_div(frames.saturating_add(stall)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mss_for_frames;
    use proptest::prelude::*;

    /// TCPlp's setting: 16-bit addresses, timestamps.
    fn payload(frames: u8) -> u16 {
        mss_for_frames(frames, 116, 3, 32).unwrap_or(0)
    }

    /// Returns the segment loss for a frame loss of `p` in 100.
    fn lost(p: u128, frames: u8) -> u16 {
        let all = 100_u128.pow(frames.into());
        ((all - (100 - p).pow(frames.into())) * 65_535 / all) as u16
    }

    #[test]
    fn clean_links_take_what_there_is_and_lossy_ones_less() {
        for (p, want) in [(0, 5), (1, 5), (5, 2), (10, 1), (30, 1)] {
            assert_eq!(best_frames(lost(p, 5), 5, 5, payload), want, "{p}");
        }
        assert_eq!(best_frames(0, 1, 8, payload), 8, "and back");
        assert_eq!(best_frames(u16::MAX, 5, 5, payload), 1);
    }

    proptest! {
        /// Against the exact formula: the choice is at most 1/16 and the rounding worse than the
        /// best.
        #[test]
        fn the_choice_is_that_of_the_formula(
            p in 0u128..30,
            frames in 1u8..=8,
            largest in 1u8..=8,
        ) {
            let frames = frames.min(largest);
            let score = |n: u8| {
                let all = 100_u128.pow(n.into());
                let survive = (100 - p).pow(n.into());
                let lost = all - survive;
                let stall = 2 * u128::from(STALL) * lost * lost / all;
                let airtime = u128::from(2 * n + 1) * all + stall;
                u128::from(payload(n)) * survive * 1_000_000 / airtime
            };
            let chosen = best_frames(lost(p, frames), frames, largest, payload);
            prop_assert!((1..=largest).contains(&chosen));
            let best = (1..=largest).map(score).max().unwrap_or(0);
            prop_assert!(score(chosen) >= best * 85 / 100, "{chosen}: {} of {best}", score(chosen));
        }
    }
}
