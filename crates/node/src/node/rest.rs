//! Whether a node has anything to do, remembered from when it last had not.
//!
//! Most calls find nothing: an owner drives its node whenever anything wakes it up. So a node whose
//! radio was offered everything remembers that, and when its next deadline is; until that, or until
//! something happens, a call costs a comparison.

use super::Node;
use crate::discovery::Discovery;
use crate::profile::Profile;
use crate::routing::Routing;
use kinglet_net as net;
use kinglet_time::{Instant, earliest};

/// What is known of when a node has something to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rest {
    /// Something has happened since the radio was last offered everything.
    Busy,
    /// Nothing has happened since all was moved to where the radio finds it, but the radio was not
    /// offered all of that.
    Offering,
    /// Everything was done.
    Done,
    /// Everything was done, and nothing is to be done before this.
    Until(Option<Instant>),
}

impl<P: Profile> Node<P> {
    /// When [`Node::handle_deadline`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        match self.rest.get() {
            Rest::Until(at) => at,
            Rest::Busy | Rest::Offering => self.first_deadline(),
            Rest::Done => {
                let at = self.first_deadline();
                self.rest.set(Rest::Until(at));
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
                // Nothing where there is none: the compiler keeps a comparison with that.
                let net = match <P::Discovery as net::Discovery>::PRESENT {
                    true => earliest(net, discovery),
                    false => net,
                };
                let at = earliest(net, earliest(self.tcp.deadline(), self.poller.deadline()));
                self.above.set(Some(at));
                at
            }
        };
        earliest(self.news, earliest(self.mac.deadline(), above))
    }

    /// Whether nothing has happened and nothing is due.
    pub(crate) fn is_resting(&self, now: Instant) -> bool {
        matches!(self.rest.get(), Rest::Done | Rest::Until(_))
            && self.deadline().is_none_or(|at| now < at)
    }

    /// Something happens: the node has to look at everything again.
    pub(crate) const fn wake(&mut self) {
        *self.rest.get_mut() = Rest::Busy;
        *self.above.get_mut() = None;
    }

    /// The radio tells how a transmission ended. For the layers above the MAC that changes no time,
    /// unless routing, discovery or the poller counts on it, or the frame was for a child.
    pub(crate) fn wake_after_transmission(&mut self) {
        let follows = self.routing().is_on() || self.net.discovery().is_on();
        if Self::HAS_CHILDREN || self.poller.parent().is_some() || follows {
            return self.wake();
        }
        *self.rest.get_mut() = Rest::Busy;
    }

    /// The radio was offered everything.
    pub(crate) const fn begin_rest(&mut self) {
        *self.rest.get_mut() = Rest::Done;
    }

    /// A fragment came whose datagram is not complete, and the node rests on as it did before: that
    /// leaves nothing to do, unless the acknowledgement is this node's, or its receiver goes off
    /// after frames, or routing counts what it hears.
    pub(crate) fn rest_on(&self, before: Rest) {
        if !self.mac.is_acknowledging() && !self.sleeps && !self.routing().is_on() {
            self.rest.set(before);
        }
    }
}
