//! Processing cost of a host: the three with which TCPlp's §6 and §7 are repeated.

use crate::scenario::{HostCost, Scenario};

/// Processing time of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// No processing time: what remains is TCP, the link and the medium. The default.
    Free,
    /// Measured for this stack on the Cortex-M0+ of the paper's motes.
    Measured,
    /// 2 ms per frame: follows from the paper's 75 kb/s and its own bound.
    Paper,
}

impl Host {
    /// All hosts, the default first.
    pub(crate) const ALL: [Host; 3] = [Host::Free, Host::Measured, Host::Paper];
    /// Hosts with a processing cost.
    pub(crate) const SLOW: [Host; 2] = [Host::Measured, Host::Paper];

    /// Name for readers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Host::Free => "no host cost",
            Host::Measured => "measured host",
            Host::Paper => "2 ms a frame",
        }
    }

    /// End of the points' labels.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Host::Free => "",
            Host::Measured => " host_cost=measured",
            Host::Paper => " host_cost=fitted_tcplp",
        }
    }

    /// Gives every node this host.
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
