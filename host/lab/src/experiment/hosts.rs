//! What a host costs: the three under which TCPlp's §6 and §7 are repeated.

use crate::scenario::{HostCost, Scenario};

/// What a node's processor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Nothing: what is left is TCP, the link and the air. The default.
    Free,
    /// What was counted of this stack on the Cortex-M0+ of the paper's motes.
    Measured,
    /// What the paper's 75 kb/s imply beside its own bound: 2 ms a frame.
    Paper,
}

impl Host {
    /// All of them, the default first.
    pub(crate) const ALL: [Host; 3] = [Host::Free, Host::Measured, Host::Paper];
    /// Those that cost something.
    pub(crate) const SLOW: [Host; 2] = [Host::Measured, Host::Paper];

    /// For people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Host::Free => "no host cost",
            Host::Measured => "measured host",
            Host::Paper => "2 ms a frame",
        }
    }

    /// What labels of points end with.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Host::Free => "",
            Host::Measured => " host_cost=measured",
            Host::Paper => " host_cost=fitted_tcplp",
        }
    }

    /// Every node has such a host.
    pub(crate) fn apply(self, scenario: &mut Scenario) {
        scenario.radio.host_cost = match self {
            Host::Free => HostCost::Micros(0),
            Host::Measured => HostCost::Measured,
            Host::Paper => HostCost::FittedTcplp,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Effort, line_scenario};
    use super::*;
    use crate::run::{Options, run};

    #[test]
    fn the_slower_the_host_the_less_one_hop_carries() {
        let goodput = |host: Host| {
            let mut scenario = line_scenario(Effort::Quick, 1, 0);
            host.apply(&mut scenario);
            scenario.duration_s = 20.0;
            let result = run(&scenario, 11, &Options::default()).expect("a plain scenario");
            result.flows[0].goodput_kbps.expect("it has begun")
        };
        let [free, measured, paper] = Host::ALL.map(goodput);
        assert!(free > measured && measured > paper, "{free}, {measured}, {paper}");
    }
}
