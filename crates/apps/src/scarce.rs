//! What a server does when its places, or the slots of its TCP, are fewer than its clients: the
//! connection on which nothing has moved for longest makes room for the client that waits.

use kinglet_time::Duration;

/// A connection on which its client is to move something, or takes nothing, is left alone for so
/// long: a request comes within a round trip of its connection.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// And one on which what was sent may only be late: TCP repeats it, with a back-off.
pub(crate) const LOSS_PATIENCE: Duration = Duration::from_secs(10);
