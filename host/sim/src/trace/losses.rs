//! Losses of a node's relations to others: parent, DODAG, registrations, children, neighbours. Each
//! loss has the reasons that the node counted in the seconds before it.

use super::looks::Look;
use core::net::Ipv6Addr;
use kinglet::{Each, EachRelation, Node, Profile};
use kinglet_apps::SnakeCase;
use kinglet_time::{Duration, Instant};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// A loss includes the reasons counted within one to two of these intervals before it.
const BEFORE: Duration = Duration::from_secs(10);

/// A relation that a node has lost.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Loss {
    /// The relation: `parent`, `DODAG`, `default router`, `registration`, `child` or `neighbour`.
    pub relation: &'static str,
    /// Address of the other end; for a DODAG, that of its root.
    pub address: Ipv6Addr,
    /// Counts by layer and reason of discards and failures of the node in the 10 to 20 s before.
    pub reasons: BTreeMap<&'static str, BTreeMap<String, u32>>,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lost {} {}", self.relation, self.address)?;
        f.write_str(if self.reasons.is_empty() { "; nothing was counted lately" } else { ";" })?;
        let all = self.reasons.iter();
        let mut all = all.flat_map(|(layer, of)| of.iter().map(move |(name, n)| (layer, name, n)));
        all.try_for_each(|(layer, reason, count)| write!(f, " {layer} {reason} {count}"))
    }
}

/// Relations of a node at the last look, and its recent reasons.
#[derive(Clone, Debug)]
pub struct Losses {
    having: Vec<(&'static str, Ipv6Addr)>,
    /// Counts of 10 to 20 s ago, and those of at most 10 s ago, in the order of the device.
    older: Vec<u32>,
    newer: Vec<u32>,
    looked: Instant,
}

/// A node without a station.
impl<P: Profile> Look for Node<P> {
    fn reasons(&self, each: &mut Each<'_>) {
        Node::reasons(self, each);
    }

    fn relations(&self, each: &mut EachRelation<'_>) {
        Node::relations(self, each);
    }
}

/// Fills `all` with the counts of the device.
fn count(device: &dyn Look, all: &mut Vec<u32>) {
    if all.is_empty() {
        device.reasons(&mut |_, _, count| all.push(count));
        return;
    }
    let mut places = all.iter_mut();
    device.reasons(&mut |_, _, count| {
        if let Some(place) = places.next() {
            *place = count;
        }
    });
}

impl Losses {
    /// Begins with the relations of `device` at `now`.
    pub fn new(now: Instant, device: &dyn Look) -> Self {
        let mut having = Vec::new();
        device.relations(&mut |what, address| having.push((what, address)));
        let mut newer = Vec::new();
        count(device, &mut newer);
        Losses { having, older: newer.clone(), newer, looked: now }
    }

    /// Losses since the last look.
    pub fn look(&mut self, now: Instant, device: &dyn Look) -> Vec<Loss> {
        let lost = if self.has_changed(device) { self.lost(device) } else { Vec::new() };
        if now - self.looked >= BEFORE {
            std::mem::swap(&mut self.older, &mut self.newer);
            count(device, &mut self.newer);
            self.looked = now;
        }
        lost
    }

    /// True if the relations have changed since the last look; usually they have not.
    fn has_changed(&self, device: &dyn Look) -> bool {
        let (mut place, mut same) = (0, true);
        device.relations(&mut |what, address| {
            same &= self.having.get(place) == Some(&(what, address));
            place += 1;
        });
        !same || place != self.having.len()
    }

    fn lost(&mut self, device: &dyn Look) -> Vec<Loss> {
        let mut now = Vec::new();
        device.relations(&mut |what, address| now.push((what, address)));
        let before = std::mem::replace(&mut self.having, now);
        let gone: Vec<_> = before.into_iter().filter(|it| !self.having.contains(it)).collect();
        if gone.is_empty() {
            return Vec::new();
        }
        let reasons = self.lately(device);
        let loss = |(relation, address)| Loss { relation, address, reasons: reasons.clone() };
        gone.into_iter().map(loss).collect()
    }

    /// Reasons counted recently.
    fn lately(&self, device: &dyn Look) -> BTreeMap<&'static str, BTreeMap<String, u32>> {
        let mut all: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let mut older = self.older.iter();
        device.reasons(&mut |layer, reason, count| {
            let before = older.next().copied().unwrap_or(0);
            // A lower count: the device has restarted.
            let more = count.checked_sub(before).unwrap_or(count);
            if more > 0 {
                let of_layer = all.entry(layer).or_default();
                *of_layer.entry(SnakeCase(reason).to_string()).or_default() += more;
            }
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device with these relations and counts.
    struct Fake(Vec<(&'static str, Ipv6Addr)>, [u32; 2]);

    impl Look for Fake {
        fn reasons(&self, each: &mut Each<'_>) {
            each("mac", "no_ack", self.1[0]);
            each("net", "NoRoute", self.1[1]);
        }

        fn relations(&self, each: &mut EachRelation<'_>) {
            self.0.iter().for_each(|(what, address)| each(what, *address));
        }
    }

    const A: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    const B: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);

    #[test]
    fn a_loss_is_found_once_with_what_was_counted_lately() {
        let mut losses = Losses::new(Instant::ZERO, &Fake(vec![("parent", A)], [7, 1]));
        let mut look = |s, fake: Fake| losses.look(Instant::from_secs(s), &fake);
        assert_eq!(look(1, Fake(vec![("parent", A)], [8, 1])), []);
        // The parent changes: the first one is lost.
        let now = || Fake(vec![("parent", B), ("neighbour", A)], [9, 2]);
        let lost = look(2, now());
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].to_string(), "lost parent fe80::1; mac no_ack 2 net no_route 1");
        assert_eq!(look(3, now()), []);
        // A different order is no loss.
        assert_eq!(look(4, Fake(vec![("neighbour", A), ("parent", B)], [9, 2])), []);
        // Old counts are not a reason.
        assert_eq!(look(20, now()), []);
        assert_eq!(look(40, now()), []);
        let lost = look(41, Fake(vec![("parent", B)], [9, 2]));
        assert_eq!(lost[0].to_string(), "lost neighbour fe80::1; nothing was counted lately");
        // A device that has restarted counts from zero.
        let lost = look(42, Fake(vec![], [1, 0]));
        assert_eq!(lost[0].to_string(), "lost parent fe80::2; mac no_ack 1");
    }
}
