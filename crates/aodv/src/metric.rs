//! Comparison of routes.

/// A delivery ratio of 1; ratios are in units of 1/65535.
pub(crate) const ONE: u16 = u16::MAX;
/// Minimum delivery ratio of a link, 1 %: at least one frame was received over it. A product of
/// zeros would not depend on the number of links.
const LEAST: u16 = 655;

/// Metric of a network's routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The fewest hops (RFC 3561).
    HopCount,
    /// The highest product of the links' delivery ratios, estimated from their link quality
    /// indications; among equals the fewest hops. Gomez, Boix and Paradells, "Impact of LQI-based
    /// routing metrics on the performance of a one-to-one routing protocol for IEEE 802.15.4
    /// multihop networks" (2010).
    #[default]
    PathDr,
}

/// Mapping of link quality indications to delivery ratios: none up to one indication, all from
/// another one on, and linear between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    /// Highest indication at which next to nothing is delivered.
    pub none: u8,
    /// Lowest indication at which everything is delivered.
    pub all: u8,
}

impl Quality {
    /// The CC2420's correlation of 50 (the lowest of frames that it detects) to 110 (the highest
    /// quality), spread over the 256 values of the standard as its data sheet says (SWRS041B, 24).
    /// The two ends of the line are correlations of 55 and 102. That is a choice of this stack: the
    /// data sheet has both ends found by measuring packet errors, and the mapping of Gomez et al.
    /// is not published.
    pub const CC2420: Quality = Quality { none: 21, all: 221 };

    /// Returns the delivery ratio of a link with this indication.
    pub(crate) fn ratio(self, lqi: u8) -> u16 {
        let span = u32::from(self.all.saturating_sub(self.none)).max(1);
        let above = u32::from(lqi.saturating_sub(self.none)).min(span);
        // Below 2^24, so it fits.
        let ratio = above.saturating_mul(ONE.into()).checked_div(span).unwrap_or(0);
        u16::try_from(ratio).unwrap_or(ONE).max(LEAST)
    }
}

/// Quality of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteQuality {
    pub(crate) hops: u8,
    /// Its delivery ratio, if the metric uses it.
    pub(crate) delivery: Option<u16>,
}

impl RouteQuality {
    /// Returns the worth of the route from a node to itself.
    pub(crate) fn start(metric: Metric) -> Self {
        RouteQuality { hops: 0, delivery: (metric == Metric::PathDr).then_some(ONE) }
    }

    /// Returns the worth of the route after one more link of this delivery ratio. It is worse than
    /// before, even if nothing is lost on the link. Routes that get better from hop to hop
    /// therefore form no loop.
    pub(crate) fn extended(self, link: u16) -> Self {
        let delivery = self.delivery.map(|delivery| product(delivery, link));
        RouteQuality { hops: self.hops.saturating_add(1), delivery }
    }

    pub(crate) fn is_better_than(&self, other: &RouteQuality) -> bool {
        match self.delivery.cmp(&other.delivery) {
            core::cmp::Ordering::Greater => true,
            core::cmp::Ordering::Equal => self.hops < other.hops,
            core::cmp::Ordering::Less => false,
        }
    }
}

/// Returns the product of two ratios. The second factor is (`link` + 1) / 65536 instead of `link` /
/// 65535, so that the division is a shift.
fn product(delivery: u16, link: u16) -> u16 {
    let product = u32::from(delivery).saturating_mul(u32::from(link).saturating_add(1)) >> 16;
    u16::try_from(product).unwrap_or(ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_rises_in_a_straight_line() {
        let quality = Quality { none: 20, all: 220 };
        let ratios = [0, 20, 22, 70, 120, 170, 220, 255].map(|lqi| quality.ratio(lqi));
        assert_eq!(ratios, [655, 655, 655, 16383, 32767, 49151, ONE, ONE]);
        // A mapping whose ends are swapped does not divide by zero.
        let step = Quality { none: 200, all: 100 };
        assert_eq!([199, 200, 201].map(|lqi| step.ratio(lqi)), [655, 655, ONE]);
    }

    #[test]
    fn routes_get_worse_with_each_hop() {
        let start = RouteQuality::start(Metric::PathDr);
        let good = start.extended(ONE);
        assert_eq!(good, RouteQuality { hops: 1, delivery: Some(ONE) });
        assert!(start.is_better_than(&good) && !good.is_better_than(&start));
        let mut route = start;
        for _ in 0..300 {
            let longer = route.extended(60_000);
            assert!(route.is_better_than(&longer) || longer.hops == u8::MAX);
            route = longer;
        }
        assert_eq!(route.delivery, Some(0));
    }

    #[test]
    fn many_good_links_are_better_than_a_bad_one_unless_hops_count() {
        let route = |metric, links: &[u16]| {
            links.iter().fold(RouteQuality::start(metric), |route, link| route.extended(*link))
        };
        let (long, short) = ([62_000; 3], [50_000]);
        let better = |metric| route(metric, &long).is_better_than(&route(metric, &short));
        assert!(better(Metric::PathDr) && !better(Metric::HopCount));
        assert_eq!(route(Metric::HopCount, &long), RouteQuality { hops: 3, delivery: None });
        let half = route(Metric::PathDr, &[ONE / 2, ONE / 2]);
        assert!(half.delivery.unwrap().abs_diff(ONE / 4) < 3);
    }
}
