//! The present state of each node: the part of the live table that is not counters.

use crate::policy::Drops;
use core::net::Ipv6Addr;
use kinglet::Node;
use kinglet::mac::RadioUse;
use kinglet_network::profile::LabProfile;
use kinglet_scenario::{NodeId, Role};
use kinglet_time::{Duration, Instant};
use serde::{Serialize, Serializer};
use std::collections::VecDeque;

/// Activity of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// The radio is off.
    Asleep,
    /// It listens for any frame, or for one that its parent has announced.
    Listening,
    /// It sends a data request, or awaits its acknowledgement.
    Polling,
    /// It sends any other frame, or awaits its acknowledgement.
    Sending,
}

impl Activity {
    const fn of(radio: RadioUse) -> Self {
        match radio {
            RadioUse::Off => Activity::Asleep,
            RadioUse::Idle | RadioUse::Sampling | RadioUse::Window => Activity::Listening,
            RadioUse::Polling => Activity::Polling,
            RadioUse::Sending => Activity::Sending,
        }
    }

    /// Returns a word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Activity::Asleep => "asleep",
            Activity::Listening => "listening",
            Activity::Polling => "polling",
            Activity::Sending => "sending",
        }
    }
}

/// Returns a word for a role.
pub const fn role_name(role: Role) -> &'static str {
    match role {
        Role::BorderRouter => "border",
        Role::Router => "router",
        Role::Leaf => "leaf",
        Role::Host => "host",
        Role::Outside => "outside",
    }
}

/// Quality of the link to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Average signal strength of received frames, in dBm.
    pub rssi_dbm: Option<i8>,
    /// Expected transmissions until a frame to it is acknowledged, at best 1.
    pub etx: Option<f64>,
}

/// Present state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Status {
    /// Its address; unknown of a node outside the simulation that shares the channel.
    pub address: Option<Ipv6Addr>,
    /// Its role in the network.
    #[serde(serialize_with = "as_word")]
    pub role: Role,
    /// The next hop to the border router: a leaf's parent.
    pub parent: Option<NodeId>,
    /// Radio hops from the border router, if there is a route.
    pub hops: Option<usize>,
    /// Activity of its radio; unknown behind a serial line.
    pub radio: Option<Activity>,
    /// Share of the last minute in which its radio was on, 0 to 1; unknown of a real radio.
    pub duty_cycle: Option<f64>,
    /// The same since it was switched on.
    pub duty_cycle_overall: Option<f64>,
    /// Seconds since its last poll of the parent.
    pub polled_s_ago: Option<f64>,
    /// Seconds until its next poll, if nothing happens before.
    pub next_poll_s: Option<f64>,
    /// Number of packets that wait for it at its parent, if it sleeps.
    pub waiting: Option<usize>,
    /// Its link to its parent.
    pub link: Option<Link>,
    /// Packets that it has dropped because of their origin; in JSON by the names of the rules.
    pub policy: Drops,
}

impl Status {
    /// Returns that of a node without a stack that can be read.
    pub(crate) const fn of_role(role: Role, address: Option<Ipv6Addr>) -> Self {
        Status {
            address,
            role,
            parent: None,
            hops: None,
            radio: None,
            duty_cycle: None,
            duty_cycle_overall: None,
            polled_s_ago: None,
            next_poll_s: None,
            waiting: None,
            link: None,
            policy: Drops::none(),
        }
    }

    /// Adds the state of its stack at `now`.
    pub(crate) fn with_stack(mut self, node: &Node<LabProfile>, now: Instant) -> Self {
        let seconds = |span: Duration| span.as_micros() as f64 / 1e6;
        self.policy = Drops::of(node.net().stats());
        self.radio = Some(Activity::of(node.mac().info().radio));
        self.polled_s_ago = node.last_data_request().map(|at| seconds(now - at));
        self.next_poll_s = node.next_data_request().map(|at| seconds(at - now));
        self
    }
}

fn as_word<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role_name(*role))
}

/// Measuring period of [`Status::duty_cycle`].
const MINUTE: Duration = Duration::from_secs(60);

/// Microseconds for which each radio was on, at every report of the last minute.
#[derive(Default)]
pub(crate) struct LastMinute(VecDeque<(Instant, Vec<u64>)>);

impl LastMinute {
    /// Adds a report at `now`; `on_us` is the total time for which each radio was on.
    pub(crate) fn add(&mut self, now: Instant, on_us: Vec<u64>) {
        self.0.push_back((now, on_us));
        // The oldest report kept is a minute old, or a little more.
        while self.0.get(1).is_some_and(|(at, _)| *at + MINUTE <= now) {
            self.0.pop_front();
        }
    }

    /// Returns the share of time in which the radio of `node` was on since the oldest report, 0 to
    /// 1.
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
