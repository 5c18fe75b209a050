//! Power of each part of a path's nodes before, during and after interference.

use kinglet_network::run::{Power, Sample};

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

/// One figure of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Below [`Drawn::COUNT`].
    index: u8,
    node: u8,
}

/// Names in the order of [`WHENS`] and [`WHATS`].
const NAMES: [[&str; 6]; 3] = {
    macro_rules! names {
        ($when:literal) => {
            [
                concat!("radio_", $when),
                concat!("cpu_", $when),
                concat!("receive_", $when),
                concat!("transmit_", $when),
                concat!("flash_", $when),
                concat!("rest_", $when),
            ]
        };
    }
    [names!("before"), names!("during"), names!("after")]
};

impl Drawn {
    /// Number of figures of a node.
    pub const COUNT: u8 = (WHENS.len() * WHATS.len()) as u8;

    /// Figure number `index`, below [`Drawn::COUNT`], of a node.
    pub const fn of(index: u8, node: u8) -> Drawn {
        Drawn { index: index % Self::COUNT, node }
    }

    const fn what(self) -> usize {
        self.index as usize % WHATS.len()
    }

    const fn span_index(self) -> usize {
        self.index as usize / WHATS.len()
    }

    /// Name in results and unit.
    pub(super) const fn name(self) -> (&'static str, &'static str) {
        let unit = if matches!(WHATS[self.what()], What::Radio) { "%" } else { "mW" };
        (NAMES[self.span_index()][self.what()], unit)
    }

    /// Span of the run in which it is measured.
    pub(super) const fn when(self) -> When {
        WHENS[self.span_index()]
    }

    /// Value between two samples.
    pub(super) fn value(self, before: &Sample, after: &Sample) -> Option<f64> {
        let node = usize::from(self.node);
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
        let names: BTreeSet<_> = (0..Drawn::COUNT).map(|i| Drawn::of(i, 1).name().0).collect();
        assert_eq!(names.len(), usize::from(Drawn::COUNT));
        assert!(names.contains("flash_after") && names.contains("radio_before"));
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
        assert_eq!(Drawn::of(0, 11).value(&before, &after), None, "no such node");
        for node in [1, 9] {
            let (mut sum, mut count) = (0.0, 0);
            for drawn in (0..6).map(|index| Drawn::of(index, node)) {
                let (name, unit) = drawn.name();
                assert!(name.ends_with("_before"), "{name}");
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
