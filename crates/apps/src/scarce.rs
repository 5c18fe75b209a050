//! Times after which a server evicts a connection for a waiting client. A client waits when all
//! slots of the server, or of its TCP, are in use; the longest idle connection is evicted.

use kinglet_time::Duration;

/// Least idle time of a connection whose client owes a request or reads nothing. A request arrives
/// within a round trip of its handshake.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// Least idle time of a connection whose octets may be lost: TCP retransmits them, with a back-off.
pub(crate) const LOSS_PATIENCE: Duration = Duration::from_secs(10);
