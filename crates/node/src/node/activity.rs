//! A record of pending work, so that an idle node does not search for it.
//!
//! Most calls find nothing to do: an owner drives its node whenever anything wakes it up. So a node
//! whose radio was offered everything remembers that, and its next deadline. Until that deadline or
//! another event, a call costs a comparison.

use super::Node;
use crate::discovery::Discovery;
use crate::profile::Profile;
use kinglet_net as net;
use kinglet_routing::Routing;
use kinglet_time::{Instant, earliest};

/// State of the record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Activity {
    /// An event has occurred since the radio was last offered everything.
    Busy,
    /// No event has occurred since everything was moved to the MAC, but the radio was not offered
    /// all of it.
    Offering,
    /// Everything was done.
    Done,
    /// Everything was done, and nothing is due before this time.
    Until(Option<Instant>),
}

impl<P: Profile> Node<P> {
    /// Returns the time at which [`Node::handle_deadline`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        match self.activity.get() {
            Activity::Until(at) => at,
            Activity::Busy | Activity::Offering => self.first_deadline(),
            Activity::Done => {
                let at = self.first_deadline();
                self.activity.set(Activity::Until(at));
                at
            }
        }
    }

    #[inline(never)]
    fn first_deadline(&self) -> Option<Instant> {
        let above = match self.above.get() {
            Some(known) => known,
            None => {
                let net = earliest(self.net.deadline(), self.routing().deadline());
                let discovery = self.net.discovery().deadline();
                // Without discovery there is no deadline: otherwise the compiler keeps a comparison
                // with it.
                let net = match <P::Discovery as net::Discovery>::PRESENT {
                    true => earliest(net, discovery),
                    false => net,
                };
                let at = earliest(net, earliest(self.tcp.deadline(), self.poller.deadline()));
                self.above.set(Some(at));
                at
            }
        };
        earliest(self.report_at, earliest(self.mac.deadline(), above))
    }

    /// Returns whether no event has occurred and nothing is due.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        matches!(self.activity.get(), Activity::Done | Activity::Until(_))
            && self.deadline().is_none_or(|at| now < at)
    }

    /// Notes an event: the node has to check everything again.
    pub(crate) const fn wake(&mut self) {
        *self.activity.get_mut() = Activity::Busy;
        *self.above.get_mut() = None;
    }

    /// Notes the end of a transmission. For the layers above the MAC it changes no deadline, unless
    /// routing, discovery or the poller depends on it, or the frame was for a child.
    pub(crate) fn wake_after_transmission(&mut self) {
        if self.depends_on_transmissions() {
            return self.wake();
        }
        *self.activity.get_mut() = Activity::Busy;
    }

    /// Returns whether a layer above the MAC has a deadline that transmissions change.
    fn depends_on_transmissions(&self) -> bool {
        let follows = self.routing().is_on() || self.net.discovery().is_on();
        Self::HAS_CHILDREN || self.poller.parent().is_some() || follows
    }

    /// Notes that outcomes of frames and data requests were taken. A deadline that was looked up
    /// between the event and this, as [`Node::drive`] does, is out of date.
    pub(crate) fn note_outcomes(&mut self) {
        if self.depends_on_transmissions() {
            *self.above.get_mut() = None;
        }
    }

    /// Notes that the radio was offered everything.
    pub(crate) const fn set_done(&mut self) {
        *self.activity.get_mut() = Activity::Done;
    }

    /// Restores the record after a fragment that does not complete its datagram. The fragment
    /// leaves nothing to do, unless this node sends the acknowledgement, its receiver goes off
    /// after frames, or routing counts received frames.
    pub(crate) fn restore_activity(&self, before: Activity) {
        if !self.mac.is_acknowledging() && !self.sleeps && !self.routing().is_on() {
            self.activity.set(before);
        }
    }
}
