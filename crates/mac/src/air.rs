//! Begin and end of frames on the air, counted from the SFD, whose time events report.

use kinglet_radio::{ACK_PSDU, FCS_LEN, OCTET, SHR_PHR, TURNAROUND, air_time};
use kinglet_time::{Duration, Instant};

/// Preamble and SFD, from the first symbol of a frame to the end of its SFD: [`SHR_PHR`] without
/// the PHR, which is one octet.
pub(crate) const PREAMBLE_SFD: Duration =
    Duration::from_micros(SHR_PHR.as_micros() - OCTET.as_micros());

/// Returns the time at which a frame of `len` octets without FCS ends on the air: one octet of PHR
/// and the PSDU after its SFD.
#[inline(never)]
pub(crate) fn end_of_frame(sfd: Instant, len: usize) -> Instant {
    let octets = len.saturating_add(FCS_LEN).saturating_add(1);
    sfd + OCTET * u32::try_from(octets).unwrap_or(u32::MAX)
}

/// Returns the time at which the acknowledgement ends for a frame of `len` octets whose SFD ended
/// at `sfd`.
pub(crate) fn end_of_ack(sfd: Instant, len: usize) -> Instant {
    // A single sum, because each addition saturates.
    const TAIL: Duration =
        Duration::from_micros(TURNAROUND.as_micros() + air_time(ACK_PSDU).as_micros());
    end_of_frame(sfd, len) + TAIL
}
