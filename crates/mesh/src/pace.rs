//! When to advertise: Trickle (RFC 6206) without suppression, as OpenThread paces its
//! advertisements.

use kinglet_time::Duration;
use kinglet_trickle::Parameters;

/// Imin: OpenThread's `kAdvIntervalMin`.
const SHORTEST: Duration = Duration::from_secs(1);
/// Imax: OpenThread's of 2018, when TCPlp was measured.
pub(crate) const LONGEST: Duration = Duration::from_secs(32);

pub(crate) const PACE: Parameters =
    Parameters { shortest: SHORTEST, longest: LONGEST, redundancy: 0 };
