//! Frame-by-frame forwarding in a relay: the storage of waiting frames, and its back-pressure.

use super::Node;
use crate::profile::Profile;
use kinglet_flash as flash;
use kinglet_mac::Admission;
use kinglet_net::AdmissionPolicy;
use kinglet_store as store;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// Neighbours are asked to hold back their frames if there is room for no more than this. A radio
/// that awaits a frame goes off after it, so at most one is in flight; and a first fragment whose
/// headers grow becomes two.
const TOO_FEW: usize = 1;

impl<P: Profile> Node<P> {
    /// Keeps neighbours from sending more than there is room for. A frame that is being received,
    /// and one that a driver may still hold, finds a place.
    pub(crate) fn admit_bursts(&mut self, now: Instant) {
        let Some(room) = self.net.relay_room() else { return };
        let admission = match self.net.relay_admission(now) {
            _ if room <= TOO_FEW => Admission::None,
            AdmissionPolicy::Only(Address::Short(admission)) => Admission::Only(admission),
            AdmissionPolicy::AllBut(Address::Short(admission)) => Admission::AllBut(admission),
            AdmissionPolicy::All | AdmissionPolicy::AllBut(_) | AdmissionPolicy::Only(_) => {
                Admission::All
            }
        };
        self.mac.admit(now, admission);
    }

    /// Attaches a flash for frames that wait to be forwarded. Returns whether it can be used, which
    /// the plan decides. `first_sector` should be random: it spreads the wear. From then on call
    /// [`Node::poll_flash`] whenever you call [`Node::poll_radio`].
    pub fn attach_flash(
        &mut self,
        now: Instant,
        geometry: flash::Geometry,
        first_sector: u16,
    ) -> bool {
        self.net.attach_flash(now, geometry, first_sector)
    }

    /// Returns the next command for the flash, if one is attached and no command is outstanding.
    pub fn poll_flash(&mut self, now: Instant) -> Option<store::Submission<'_>> {
        self.net.poll_flash(now)
    }

    /// Notes that the driver of the flash was busy, and did not take the last submission.
    pub fn flash_refused(&mut self, now: Instant) {
        self.net.flash_refused(now);
    }

    /// Handles the result of the outstanding flash command; `octets` begin with the octets read.
    pub fn handle_flash(&mut self, now: Instant, event: flash::Event, octets: &[u8]) {
        self.wake();
        self.net.handle_flash(now, event, octets);
    }

    /// Switches the forwarding of single fragments (RFC 8930) on or off. If the plan does not
    /// support it, nothing changes.
    pub fn forward_fragments(&mut self, forward: bool) {
        let room = self.mac.max_payload(Address::Short(0));
        self.net.relay_frames(forward.then_some(room));
    }
}
