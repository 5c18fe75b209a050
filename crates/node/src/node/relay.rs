//! What a relay does that passes frames on one by one: where they wait, and when there is no room.

use super::Node;
use crate::profile::Profile;
use kinglet_flash as flash;
use kinglet_mac::Admission;
use kinglet_net::Welcome;
use kinglet_store as store;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// With room for no more frames than this neighbours are asked to keep theirs. A radio that awaits
/// a frame goes off after it, so one is on its way at the most; and a first fragment whose headers
/// grow is two.
const TOO_FEW: usize = 1;

impl<P: Profile> Node<P> {
    /// Keeps neighbours from bringing more than there is room for. What is being received, and what
    /// a driver may still hold, finds a place.
    pub(crate) fn admit_bursts(&mut self, now: Instant) {
        let Some(room) = self.net.relay_room() else { return };
        let whom = match self.net.relay_welcome(now) {
            _ if room <= TOO_FEW => Admission::Nobody,
            Welcome::Only(Address::Short(whom)) => Admission::Only(whom),
            Welcome::AllBut(Address::Short(whom)) => Admission::AllBut(whom),
            Welcome::All | Welcome::AllBut(_) | Welcome::Only(_) => Admission::All,
        };
        self.mac.admit(now, whom);
    }

    /// There is a flash for frames that wait to be passed on; whether it can be used, which the
    /// plan decides. `first_sector` should be random: it spreads the wear. From then on ask
    /// [`Node::poll_flash`] whenever you ask [`Node::poll_radio`].
    pub fn attach_flash(
        &mut self,
        now: Instant,
        geometry: flash::Geometry,
        first_sector: u16,
    ) -> bool {
        self.net.attach_flash(now, geometry, first_sector)
    }

    /// The next command for the flash, if one is attached and none is outstanding.
    pub fn poll_flash(&mut self, now: Instant) -> Option<store::Submission<'_>> {
        self.net.poll_flash(now)
    }

    /// The driver of the flash was busy, and did not take the last submission.
    pub fn flash_refused(&mut self, now: Instant) {
        self.net.flash_refused(now);
    }

    /// What became of the outstanding command for the flash; `octets` begin with what was read.
    pub fn handle_flash(&mut self, now: Instant, event: flash::Event, octets: &[u8]) {
        self.wake();
        self.net.handle_flash(now, event, octets);
    }

    /// Passes fragments on one by one (RFC 8930), or no longer; where the plan cannot nothing
    /// changes.
    pub fn forward_fragments(&mut self, forward: bool) {
        let room = self.mac.max_payload(Address::Short(0));
        self.net.relay_frames(forward.then_some(room));
    }
}
