//! Parameters (RFC 3561, 10).

use kinglet_time::Duration;

/// Hops of the longest way: that of a mesh of Kinglet's. RFC 3561 has 35, for networks of
/// thousands.
pub const NET_DIAMETER: u8 = 16;
/// RFC 3561, 10.
const NODE_TRAVERSAL_TIME: Duration = Duration::from_millis(40);
/// RFC 3561, 10: 2 * NODE_TRAVERSAL_TIME * NET_DIAMETER.
pub(crate) const NET_TRAVERSAL_TIME: Duration = times(2 * NET_DIAMETER as u64, NODE_TRAVERSAL_TIME);
/// RFC 3561, 10: 2 * NET_TRAVERSAL_TIME. So long a flood is remembered.
pub(crate) const PATH_DISCOVERY_TIME: Duration = times(2, NET_TRAVERSAL_TIME);
/// RFC 3561, 10: at least 10 s where the link layer tells of broken links.
pub(crate) const ACTIVE_ROUTE_TIMEOUT: Duration = Duration::from_secs(10);
/// RFC 3561, 10: 2 * ACTIVE_ROUTE_TIMEOUT.
pub(crate) const MY_ROUTE_TIMEOUT: Duration = times(2, ACTIVE_ROUTE_TIMEOUT);
/// RFC 3561, 10: 5 * ACTIVE_ROUTE_TIMEOUT.
pub(crate) const DELETE_PERIOD: Duration = times(5, ACTIVE_ROUTE_TIMEOUT);
/// RFC 3561, 10: after the first attempt.
pub(crate) const RREQ_RETRIES: u8 = 2;
/// RFC 3561, 10: RREQ_RETRIES * NET_TRAVERSAL_TIME.
pub(crate) const BLACKLIST_TIMEOUT: Duration = times(RREQ_RETRIES as u64, NET_TRAVERSAL_TIME);
/// RFC 3561, 10: in a second.
pub(crate) const RREQ_RATELIMIT: u8 = 10;
/// RFC 3561, 10: in a second.
pub(crate) const RERR_RATELIMIT: u8 = 10;
/// A link that has worked within this time is not broken because one frame was given up: a second
/// of a transfer is a dozen segments or more. What has gone out within it is not over yet: other
/// ways are sought for it.
pub(crate) const LATELY: Duration = SECOND;
/// Floods in a second that are passed on for one neighbour, and for all of them: as many as one
/// node may begin.
pub(crate) const FLOODS: u8 = RREQ_RATELIMIT;
pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// A request is passed on after a delay that is drawn from this range (RFC 5148): neighbours have
/// got it at the same instant. It is the time of a dozen frames of this length, and less than
/// NODE_TRAVERSAL_TIME.
pub(crate) const JITTER: Duration = Duration::from_millis(30);
/// So long the destination waits for better ways than that of the first request: until those who
/// had it one hop before have passed it on.
pub(crate) const REPLY_DELAY: Duration = times(2, JITTER);

/// How long a way to an originator so many hops away lasts at the least (RFC 3561, 6.5): as long
/// as a reply may take.
pub(crate) fn reverse_lifetime(hops: u8) -> Duration {
    PATH_DISCOVERY_TIME - times(u64::from(hops).saturating_mul(2), NODE_TRAVERSAL_TIME)
}

const fn times(n: u64, duration: Duration) -> Duration {
    Duration::from_micros(duration.as_micros().saturating_mul(n))
}
