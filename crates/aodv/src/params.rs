//! Parameters (RFC 3561, 10).

use kinglet_time::Duration;

/// Maximum hops of a route, as in Kinglet's mesh. RFC 3561 has 35, for networks of thousands.
pub const NET_DIAMETER: u8 = 16;
/// Number of retries after the first request (RFC 3561, 10).
pub(crate) const RREQ_RETRIES: u8 = 2;
/// Maximum number of requests in a second (RFC 3561, 10).
pub(crate) const RREQ_RATELIMIT: u8 = 10;
/// Maximum number of errors in a second (RFC 3561, 10).
pub(crate) const RERR_RATELIMIT: u8 = 10;
/// Time within which a link must have worked so that a single frame that is given up does not break
/// it: a second of a transfer is a dozen segments or more. A flow that has sent a packet within it
/// counts as active: its route, if lost, is searched for again at once.
pub(crate) const LATELY: Duration = SECOND;
/// Maximum number of floods in a second that are passed on for one neighbour. It is as many as one
/// node may begin.
pub(crate) const FLOODS: u8 = RREQ_RATELIMIT;
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Times that depend on the duration of a broadcast. They are constants, as in RFC 3561, if a
/// broadcast is one frame. If receivers sleep, it is repeated for a whole wake-up period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    broadcast: Duration,
}

impl Times {
    pub(crate) const fn new(broadcast: Duration) -> Self {
        Times { broadcast }
    }

    /// Returns the longest delay of a request that is passed on (RFC 5148): neighbours have
    /// received it at the same instant. It is the time of a dozen frames of this length, or of two
    /// broadcasts that are repeated.
    pub(crate) const fn jitter(self) -> Duration {
        plus(Duration::from_millis(30), times(2, self.broadcast))
    }

    /// Returns the shortest time between two floods that a node begins or passes on: by then
    /// neighbours have passed on the first one and can receive the second.
    pub(crate) const fn flood_spacing(self) -> Duration {
        plus(self.jitter(), self.broadcast)
    }

    /// Returns the time for which the destination waits for better routes than that of the first
    /// request: until those that received it one hop before have passed it on.
    pub(crate) const fn reply_delay(self) -> Duration {
        times(2, self.jitter())
    }

    /// Returns NODE_TRAVERSAL_TIME: 40 ms, "a conservative estimate of the average one hop
    /// traversal time" (RFC 3561, 10). With broadcasts that are repeated the average is half a
    /// broadcast and half the longest delay.
    const fn node_traversal(self) -> Duration {
        let hop = self.broadcast.as_micros().saturating_mul(3) / 2;
        plus(Duration::from_millis(40), Duration::from_micros(hop))
    }

    /// Returns NET_TRAVERSAL_TIME: 2 * NODE_TRAVERSAL_TIME * NET_DIAMETER (RFC 3561, 10).
    pub(crate) const fn net_traversal(self) -> Duration {
        times(2, times(NET_DIAMETER as u64, self.node_traversal()))
    }

    /// Returns the wait for a reply to a request after `attempts` earlier ones. RFC 3561, 6.3,
    /// begins with NET_TRAVERSAL_TIME and doubles it for each repetition. Here the wait for the
    /// last one is NET_TRAVERSAL_TIME: most routes have fewer than NET_DIAMETER hops, and a late
    /// reply is accepted as well.
    pub(crate) fn patience(self, attempts: u8) -> Duration {
        self.net_traversal() / (1 << RREQ_RETRIES.saturating_sub(attempts).min(31))
    }

    /// Returns PATH_DISCOVERY_TIME: 2 * NET_TRAVERSAL_TIME (RFC 3561, 10). A flood is remembered
    /// for so long.
    pub(crate) const fn path_discovery(self) -> Duration {
        times(2, self.net_traversal())
    }

    /// Returns BLACKLIST_TIMEOUT: RREQ_RETRIES * NET_TRAVERSAL_TIME (RFC 3561, 10).
    pub(crate) const fn blacklist(self) -> Duration {
        times(RREQ_RETRIES as u64, self.net_traversal())
    }

    /// Returns ACTIVE_ROUTE_TIMEOUT: at least 10 s if the link layer reports broken links (RFC
    /// 3561, 10). With a minute, infrequent packets do not cause a flood each, which is often lost
    /// during a transfer. A flood that takes the channel for longer pays for a route that lasts
    /// longer.
    pub(crate) const fn active_route(self) -> Duration {
        plus(Duration::from_secs(60), times(1_000, self.broadcast))
    }

    /// Returns MY_ROUTE_TIMEOUT: 2 * ACTIVE_ROUTE_TIMEOUT (RFC 3561, 10).
    pub(crate) const fn my_route(self) -> Duration {
        times(2, self.active_route())
    }

    /// Returns DELETE_PERIOD: 5 * ACTIVE_ROUTE_TIMEOUT (RFC 3561, 10).
    pub(crate) const fn delete_period(self) -> Duration {
        times(5, self.active_route())
    }

    /// Returns the least lifetime of a route to an originator so many hops away (RFC 3561, 6.5):
    /// the time that a reply may take.
    pub(crate) fn reverse_lifetime(self, hops: u8) -> Duration {
        self.path_discovery() - times(u64::from(hops).saturating_mul(2), self.node_traversal())
    }
}

const fn times(n: u64, duration: Duration) -> Duration {
    Duration::from_micros(duration.as_micros().saturating_mul(n))
}

const fn plus(one: Duration, other: Duration) -> Duration {
    Duration::from_micros(one.as_micros().saturating_add(other.as_micros()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_with_a_broadcast_that_is_repeated() {
        let awake = Times::new(Duration::ZERO);
        assert_eq!(awake.net_traversal(), Duration::from_millis(1_280));
        assert_eq!(awake.active_route(), Duration::from_secs(60));
        let period = Duration::from_millis(125);
        let asleep = Times::new(period);
        // Neighbours that have received a broadcast do not all repeat it at once.
        assert!(asleep.jitter() > period * 2);
        // On average a hop takes half of the longest delay and half of the broadcast.
        assert!(asleep.node_traversal() >= (asleep.jitter() + period) / 2);
        assert!(asleep.reverse_lifetime(NET_DIAMETER) > asleep.net_traversal() / 2);
        assert_eq!(asleep.active_route(), Duration::from_secs(185));
    }

    #[test]
    fn each_request_waits_twice_as_long_as_the_one_before_and_the_last_for_a_whole_network() {
        let times = Times::new(Duration::ZERO);
        let waits = [0, 1, 2, u8::MAX].map(|attempts| times.patience(attempts).as_millis());
        assert_eq!(waits, [320, 640, 1_280, 1_280]);
    }
}
