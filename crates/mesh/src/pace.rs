//! Advertisement intervals: Trickle (RFC 6206) without suppression, as in OpenThread.

use kinglet_time::Duration;
use kinglet_trickle::Parameters;

/// Imin: OpenThread's `kAdvIntervalMin`.
const SHORTEST: Duration = Duration::from_secs(1);
/// Imax: the value of OpenThread in 2018, when TCPlp was measured.
pub(crate) const LONGEST: Duration = Duration::from_secs(32);

pub(crate) const PACE: Parameters =
    Parameters { shortest: SHORTEST, longest: LONGEST, redundancy: 0 };
