//! Counters of packets that nodes dropped because of their origin: the border policy, and messages
//! that only a neighbour may send.

use kinglet::net::{Discard, FROM_HOST, Stats, TO_HOST};
use serde::{Serialize, Serializer};

/// Rules of nodes that are not at the border, by the names of their counters.
const INSIDE: [(&str, Discard); 3] = [
    ("not_from_neighbour", Discard::Ingress),
    ("tunnel", Discard::Tunnel),
    ("unsolicited", Discard::Unsolicited),
];
const RULES: usize = INSIDE.len() + FROM_HOST.len() + TO_HOST.len();
/// Limit for the length of a line of text.
const COLUMNS: usize = 78;

/// All rules, by the names of their counters.
fn rules() -> impl Iterator<Item = (&'static str, Discard)> {
    let border = FROM_HOST.iter().chain(TO_HOST).map(|rule| (rule.name, rule.reason));
    INSIDE.into_iter().chain(border)
}

/// Number of packets that a node has dropped by each rule since the start. In JSON it is a map of
/// the rules with a count above zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; RULES]);

impl Drops {
    /// Returns no drops.
    pub(crate) const fn none() -> Self {
        Drops([0; RULES])
    }

    /// Returns those of a node's network layer.
    pub(crate) fn of(stats: &Stats) -> Self {
        let mut drops = Drops::default();
        for (count, (_, reason)) in drops.0.iter_mut().zip(rules()) {
            *count = stats.discarded(reason).into();
        }
        drops
    }

    /// Returns the sum over all nodes.
    pub(crate) fn sum<'a>(all: impl Iterator<Item = &'a Drops>) -> Self {
        all.fold(Drops::default(), |mut sum, drops| {
            sum.0.iter_mut().zip(drops.0).for_each(|(sum, count)| *sum += count);
            sum
        })
    }

    /// Returns the rules that have dropped packets, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        rules().zip(self.0).map(|((name, _), count)| (name, count)).filter(|(_, count)| *count > 0)
    }

    /// Returns the same as lines of text; none if nothing was dropped.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::<String>::new();
        for (name, count) in self.counts() {
            let word = format!("{} {count}", name.replace('_', " "));
            match lines.last_mut() {
                Some(line) if line.len() + word.len() + 2 < COLUMNS => {
                    line.push_str("; ");
                    line.push_str(&word);
                }
                Some(_) => lines.push(format!("  {word}")),
                None => lines.push(format!("dropped by policy: {word}")),
            }
        }
        lines
    }
}

impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_lines_are_short() {
        let names: Vec<_> = rules().map(|(name, _)| name).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name}");
        }
        assert_eq!(Drops::default().lines(), Vec::<String>::new());
        assert_eq!(serde_json::to_string(&Drops::default()).unwrap(), "{}");
        let all = Drops([u64::from(u32::MAX); RULES]);
        let lines = Drops::sum([all, all].iter()).lines();
        assert!(lines.iter().all(|line| line.len() < 80), "{lines:#?}");
        assert!(lines[0].starts_with("dropped by policy: not from neighbour 8589934590; "));
        let json = serde_json::to_string(&Drops::sum([all, all].iter())).unwrap();
        assert!(json.contains(r#""ipv6_in_ipv6":8589934590"#), "{json}");
    }
}
