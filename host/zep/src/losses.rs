//! Losses of a node's relations to others: parent, DODAG, registrations, neighbours; and
//! the reasons that it counted in the seconds before.

use crate::console::Report;
use crate::profile::Process;
use core::net::Ipv6Addr;
use kinglet::Node;
use kinglet::nd::Serving;
use kinglet_apps::SnakeCase;
use kinglet_time::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// Reasons that were counted within one to two of these belong to a loss.
const BEFORE: Duration = Duration::from_secs(10);

/// Counts of reasons, by layer and name.
type Reasons = BTreeMap<(&'static str, &'static str), u32>;

/// The relations of a node, by the word for them.
type Having = BTreeMap<&'static str, BTreeSet<Ipv6Addr>>;

/// Looks at a node after each turn.
pub(crate) struct Losses {
    having: Having,
    /// Counts of 10 to 20 s ago, and those of at most 10 s ago.
    older: Reasons,
    newer: Reasons,
    looked: Instant,
}

fn reasons(node: &Node<Process>) -> Reasons {
    let mut all = Reasons::new();
    node.reasons(&mut |layer, reason, count| {
        *all.entry((layer, reason)).or_default() += count;
    });
    all
}

fn having(node: &Node<Process>) -> Having {
    let rpl = node.routing().rpl().info();
    let nd = node.net().discovery().nd();
    let registered = nd.role().as_ref().map(Serving::registrations).into_iter().flatten();
    Having::from([
        ("parent", rpl.parent.into_iter().collect()),
        ("DODAG", rpl.dodag_id.into_iter().collect()),
        ("default router", nd.router().into_iter().collect()),
        ("registration", registered.map(|it| it.address()).collect()),
        ("neighbour", nd.neighbours().map(|it| it.address()).collect()),
    ])
}

impl Losses {
    pub(crate) fn new(now: Instant, node: &Node<Process>) -> Self {
        let (having, newer) = (having(node), reasons(node));
        Losses { having, older: newer.clone(), newer, looked: now }
    }

    /// Tells what has been lost since the last time.
    pub(crate) fn look(&mut self, now: Instant, node: &Node<Process>, say: &mut dyn FnMut(Report)) {
        let having = having(node);
        if having != self.having {
            let because = self.because(&reasons(node));
            for (what, before) in &self.having {
                for &address in before.difference(&having[what]) {
                    say(Report::Lost { what, address, because: because.clone() });
                }
            }
            self.having = having;
        }
        if now - self.looked >= BEFORE {
            self.older = std::mem::replace(&mut self.newer, reasons(node));
            self.looked = now;
        }
    }

    /// The reasons that were counted lately.
    fn because(&self, now: &Reasons) -> Vec<(&'static str, String, u32)> {
        let before = |name| self.older.get(name).copied().unwrap_or(0);
        let more = now.iter().map(|(name, count)| (name, count.saturating_sub(before(name))));
        let more = more.filter(|(_, more)| *more > 0);
        more.map(|((layer, reason), more)| (*layer, SnakeCase(reason).to_string(), more)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers;
    use crate::settings::Settings;
    use kinglet::radio::{Capabilities, Event};

    const PARENT: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

    #[test]
    fn what_is_lost_is_told_once_with_what_was_counted_lately() {
        let settings: Settings =
            toml::from_str("extended = \"02:00:00:ff:fe:00:00:05\"").expect("settings");
        let mut node = layers::node(&settings, Capabilities::NONE).expect("there is room");
        let mut losses = Losses::new(Instant::ZERO, &node);
        // It had a parent, and now has none.
        losses.having.entry("parent").or_default().insert(PARENT);
        // Octets that are no frame are counted by the MAC.
        let now = Instant::from_secs(1);
        let event = Event::Received { sfd: now, len: 3, rssi_dbm: -60, lqi: 255, acked: false };
        node.handle_radio(now, event, &mut [0xff; 3]);
        let mut said = Vec::new();
        losses.look(now, &node, &mut |report| said.push(report));
        losses.look(now, &node, &mut |report| said.push(report));
        let [lost @ Report::Lost { what: "parent", address: PARENT, because }] = &said[..] else {
            panic!("{said:?}");
        };
        assert!(because.iter().any(|(layer, _, count)| (*layer, *count) == ("mac", 1)), "{lost}");
        assert!(lost.to_string().starts_with("lost parent fe80::1; "), "{lost}");
        // An old count is no reason.
        let never = &mut |report: Report| panic!("{report}");
        losses.look(Instant::from_secs(20), &node, never);
        losses.look(Instant::from_secs(40), &node, never);
        assert_eq!(losses.because(&reasons(&node)), []);
    }
}
