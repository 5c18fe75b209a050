//! What each node is doing at this moment: the live table's part that is not counters.

use crate::policy::Drops;
use core::net::Ipv6Addr;
use kinglet_lab::scenario::{NodeId, Role};
use kinglet_time::{Duration, Instant};
use serde::{Serialize, Serializer};
use std::collections::VecDeque;

/// What a radio is on for, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// The radio is off.
    Asleep,
    /// It is on for whatever may come, or for what its parent has promised.
    Listening,
    /// It sends a data request, or awaits its acknowledgement.
    Polling,
    /// It sends anything else, or awaits its acknowledgement.
    Sending,
}

impl Activity {
    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Activity::Asleep => "asleep",
            Activity::Listening => "listening",
            Activity::Polling => "polling",
            Activity::Sending => "sending",
        }
    }
}

/// A word for a role.
pub const fn role_name(role: Role) -> &'static str {
    match role {
        Role::BorderRouter => "border",
        Role::Router => "router",
        Role::Leaf => "leaf",
        Role::Host => "host",
        Role::Outside => "outside",
    }
}

/// How the link to a neighbour is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Average strength of what comes from there, in dBm.
    pub rssi_dbm: Option<i8>,
    /// Expected transmissions until a frame to there is acknowledged, 1 at best.
    pub etx: Option<f64>,
}

/// A node now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Status {
    /// Its address.
    pub address: Ipv6Addr,
    /// Its part in the network.
    #[serde(serialize_with = "as_word")]
    pub role: Role,
    /// The next node on its way to the border router: a leaf's parent.
    pub parent: Option<NodeId>,
    /// Radio hops from the border router, if there is a way.
    pub hops: Option<usize>,
    /// What its radio does; unknown behind a serial line.
    pub radio: Option<Activity>,
    /// The share of the last minute in which its radio was on, 0 to 1.
    pub duty_cycle: f64,
    /// The same since it was switched on.
    pub duty_cycle_overall: f64,
    /// Seconds since it has asked its parent for data.
    pub polled_s_ago: Option<f64>,
    /// Seconds until it asks again, if nothing happens before.
    pub next_poll_s: Option<f64>,
    /// Packets that wait for it at its parent, if it sleeps.
    pub waiting: Option<usize>,
    /// Its link to its parent.
    pub link: Option<Link>,
    /// What it has dropped by a rule about origins; in JSON by the names of the rules.
    pub policy: Drops,
}

fn as_word<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role_name(*role))
}

/// How far a [`Status::duty_cycle`] looks back.
const MINUTE: Duration = Duration::from_secs(60);

/// Microseconds for which each radio was on, at every look of the last minute.
#[derive(Default)]
pub(crate) struct LastMinute(VecDeque<(Instant, Vec<u64>)>);

impl LastMinute {
    /// A look at `now`: so long has each radio been on altogether.
    pub(crate) fn add(&mut self, now: Instant, on_us: Vec<u64>) {
        self.0.push_back((now, on_us));
        // The oldest one kept is a minute old, or a little more.
        while self.0.get(1).is_some_and(|(at, _)| *at + MINUTE <= now) {
            self.0.pop_front();
        }
    }

    /// The share of time in which the radio of `node` was on since the oldest look, 0 to 1.
    pub(crate) fn share(&self, node: usize) -> f64 {
        let (Some(first), Some(last)) = (self.0.front(), self.0.back()) else { return 0.0 };
        let on = |(_, on_us): &(Instant, Vec<u64>)| on_us.get(node).copied().unwrap_or(0);
        let time = (last.0 - first.0).as_micros();
        if time == 0 { 0.0 } else { (on(last) - on(first)) as f64 / time as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_last_minute() {
        let mut minute = LastMinute::default();
        assert_eq!(minute.share(0), 0.0);
        // On for the whole first minute, then for a tenth.
        let mut on = 0;
        for second in 0..=120 {
            minute.add(Instant::from_secs(second), vec![on, 0]);
            let share = minute.share(0);
            match second {
                0 => assert_eq!(share, 0.0),
                1..=60 => assert_eq!(share, 1.0),
                90 => assert!((share - 0.55).abs() < 1e-9, "{share}"),
                120 => assert!((share - 0.1).abs() < 1e-9, "{share}"),
                _ => {}
            }
            assert_eq!(minute.share(1), 0.0);
            on += if second < 60 { 1_000_000 } else { 100_000 };
        }
        assert!(minute.0.len() <= 61, "what is older is forgotten");
    }
}
