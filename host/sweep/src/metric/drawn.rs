//! Power of each part of a path's nodes before, during and after interference.

use kinglet_network::run::{Power, Sample};

/// Relays of a path of ten hops; the ends have enough energy.
pub const RELAYS: [u8; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/// Quantity of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Share of time in which the radio is on or starting, %.
    Radio,
    /// Power of the CPU while it works, mW; all that follow are in mW too.
    Cpu,
    /// The radio receives or starts.
    Receive,
    /// The radio sends or prepares to send.
    Transmit,
    /// The flash reads, writes or erases.
    Flash,
    /// Consumption that remains even when the node is idle.
    Rest,
}

const WHATS: [What; 6] =
    [What::Radio, What::Cpu, What::Receive, What::Transmit, What::Flash, What::Rest];

/// Span of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    During,
    After,
}

const WHENS: [When; 3] = [When::Before, When::During, When::After];

/// One figure of one relay: a number below `Drawn::COUNT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn(u8);

/// Names for one relay, in the order of [`WHENS`] and [`WHATS`].
macro_rules! names {
    ($node:literal) => {
        [names!("before", $node), names!("during", $node), names!("after", $node)]
    };
    ($when:literal, $node:literal) => {
        [
            concat!("radio_", $when, "@", $node),
            concat!("cpu_", $when, "@", $node),
            concat!("receive_", $when, "@", $node),
            concat!("transmit_", $when, "@", $node),
            concat!("flash_", $when, "@", $node),
            concat!("rest_", $when, "@", $node),
        ]
    };
}

const NAMES: [[[&str; 6]; 3]; RELAYS.len()] = [
    names!("1"),
    names!("2"),
    names!("3"),
    names!("4"),
    names!("5"),
    names!("6"),
    names!("7"),
    names!("8"),
    names!("9"),
];

impl Drawn {
    const OF_NODE: usize = WHENS.len() * WHATS.len();
    /// Number of values.
    pub const COUNT: usize = RELAYS.len() * Self::OF_NODE;

    /// Value number `index`.
    pub const fn number(index: usize) -> Drawn {
        Drawn(index as u8)
    }

    const fn what(self) -> usize {
        self.0 as usize % WHATS.len()
    }

    const fn span_index(self) -> usize {
        self.0 as usize / WHATS.len() % WHENS.len()
    }

    const fn relay(self) -> usize {
        self.0 as usize / Self::OF_NODE
    }

    /// Name in results and unit.
    pub(super) const fn name(self) -> (&'static str, &'static str) {
        let unit = if matches!(WHATS[self.what()], What::Radio) { "%" } else { "mW" };
        (NAMES[self.relay()][self.span_index()][self.what()], unit)
    }

    /// Span of the run in which it is measured.
    pub(super) const fn when(self) -> When {
        WHENS[self.span_index()]
    }

    /// Value between two samples.
    pub(super) fn value(self, before: &Sample, after: &Sample) -> Option<f64> {
        let node = usize::from(RELAYS[self.relay()]);
        let (from, to) = (before.power.get(node)?, after.power.get(node)?);
        let seconds = after.at_s - before.at_s;
        let mj = |of: &dyn Fn(&Power) -> f64| (of(to) - of(from)) / seconds;
        Some(match WHATS[self.what()] {
            What::Radio => 100.0 * (1.0 - mj(&|p| p.sleep.seconds)),
            What::Cpu => mj(&|p| p.cpu.mj),
            What::Receive => mj(&|p| p.receive.mj + p.starting.mj),
            What::Transmit => mj(&|p| p.transmit.mj + p.ready.mj),
            What::Flash => mj(&|p| p.flash_read.mj + p.flash_write.mj + p.flash_erase.mj),
            What::Rest => mj(&|p| p.sleep.mj),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_network::run::Spent;
    use std::collections::BTreeSet;

    #[test]
    fn every_figure_has_a_name_of_its_own() {
        let names: BTreeSet<_> = (0..Drawn::COUNT).map(|i| Drawn::number(i).name().0).collect();
        assert_eq!(names.len(), Drawn::COUNT);
        assert!(names.contains("flash_after@9") && names.contains("radio_before@1"));
    }

    #[test]
    fn the_power_drawn_is_energy_over_time_and_the_sum_of_its_parts() {
        let sample = |at_s: f64, mj: f64| {
            let spent = Spent { seconds: at_s / 9.0, mj };
            let power = Power {
                cpu: spent,
                receive: spent,
                transmit: spent,
                ready: spent,
                starting: spent,
                flash_read: spent,
                flash_write: spent,
                flash_erase: spent,
                sleep: spent,
            };
            let (bytes, on_s, waiting) = (Vec::new(), Vec::new(), Vec::new());
            Sample {
                at_s,
                bytes,
                on_s,
                power: vec![power; 11],
                waiting,
                rtt_ms: None,
                retransmitted: 0,
            }
        };
        let (before, after) = (sample(9.0, 1.0), sample(18.0, 4.0));
        for (index, relay) in RELAYS.iter().enumerate() {
            let of = (0..6).map(|i| Drawn::number(index * Drawn::OF_NODE + i));
            let (mut sum, mut count) = (0.0, 0);
            for drawn in of {
                let (name, unit) = drawn.name();
                assert!(name.ends_with(&format!("_before@{relay}")), "{name}");
                let value = drawn.value(&before, &after).expect("there are both");
                match unit {
                    // It sleeps for a ninth of the time.
                    "%" => assert!((value - 100.0 * 8.0 / 9.0).abs() < 1e-9, "{value}"),
                    _ => (sum, count) = (sum + value, count + 1),
                }
            }
            // Nine parts of 3 mJ in 9 s.
            assert!((sum - 3.0).abs() < 1e-9 && count == 5, "{sum}");
        }
    }
}
