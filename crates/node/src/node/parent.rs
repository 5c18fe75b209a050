//! The parent of a leaf, and the data requests to it. [`Poller`](crate::polling) decides when.

use super::Node;
use crate::discovery::Discovery;
use crate::profile::Profile;
use core::net::Ipv6Addr;
use kinglet_mac::DataRequestOutcome;
use kinglet_net::{NextHop, Route, TableFull};
use kinglet_routing::Routing;
use kinglet_time::{Expected, Instant};
use kinglet_wire::ieee802154::Address;

impl<P: Profile> Node<P> {
    /// Sets the parent of a leaf; `None` removes it. All packets without a better route go to the
    /// parent, and a leaf that sleeps polls it for data.
    ///
    /// # Errors
    /// [`TableFull`] if there is no room for that route; nothing has changed.
    pub fn set_parent(&mut self, now: Instant, parent: Option<u16>) -> Result<(), TableFull> {
        self.wake();
        let (prefix, prefix_len) = (Ipv6Addr::UNSPECIFIED, 0);
        match parent {
            Some(parent) => {
                let via = NextHop::Link(Address::Short(parent));
                self.net.add_route(Route { prefix, prefix_len, via })?;
            }
            None if self.has_parent => {
                let _ = self.net.remove_route(prefix, prefix_len);
            }
            None => {}
        }
        self.has_parent = parent.is_some();
        self.net.discovery_mut().prefer(now, parent.map(Address::Short));
        if Self::ASKS {
            // Its receiver may be on at present, as routing awaits a response.
            let asks = parent.filter(|_| self.sleeps);
            self.poller.set_parent(now, asks);
            let _ = self.mac.set_parent(now, asks.map(Address::Short));
        }
        Ok(())
    }

    /// Returns the parent that this node polls for data, if it sleeps.
    pub const fn parent(&self) -> Option<u16> {
        self.poller.parent()
    }

    /// Returns the time at which this node last polled its parent for data, or got a new one to
    /// poll; `None` before the first data request.
    pub fn last_data_request(&self) -> Option<Instant> {
        (self.stats.data_requests > 0).then(|| self.poller.last())
    }

    /// Returns the time of the next data request if nothing happens before; `None` if the node has
    /// no parent to poll, or is polling.
    pub const fn next_data_request(&self) -> Option<Instant> {
        self.poller.deadline()
    }

    /// Returns the number of consecutive data requests that have failed: the parent may be gone.
    pub const fn failed_data_requests(&self) -> u8 {
        self.poller.failures()
    }

    /// Notes that a response unknown to TCP is expected at a node that sleeps. It was requested at
    /// `from` (or can come then at the earliest) and comes not after `until`. `application` is a
    /// number of the caller's choice, such as its local port: a call replaces the previous one with
    /// the same number, and nothing else.
    ///
    /// # Errors
    /// [`TableFull`] if three other applications expect a response; nothing has changed.
    pub fn expect_response(
        &mut self,
        now: Instant,
        application: u16,
        from: Instant,
        until: Instant,
    ) -> Result<(), TableFull> {
        if !Self::ASKS {
            return Ok(());
        }
        self.wake();
        self.poller.expect_response(now, application, Some(Expected { since: from, from, until }))
    }

    /// Withdraws [`Node::expect_response`]: the response is here, or not awaited any more.
    pub fn withdraw_response(&mut self, now: Instant, application: u16) {
        if Self::ASKS {
            self.wake();
            // A withdrawal needs no room.
            let _ = self.poller.expect_response(now, application, None);
        }
    }

    /// Updates the poller with the responses that TCP expects after it has sent something, and
    /// polls at once if that is due.
    pub(super) fn plan_data_request(&mut self, now: Instant) {
        if Self::ASKS && self.poller.parent().is_some() {
            self.poller.set_learning(self.mac.is_learning_drift());
            self.poller.set_sending(now, !self.net.can_submit());
            self.poller.update(now, self.tcp.expected_by_each());
            self.ask_parent(now);
        }
    }

    /// Makes a data request if one is due.
    pub(super) fn ask_parent(&mut self, now: Instant) {
        let Some(parent) = self.poller.due(now).filter(|_| Self::ASKS) else { return };
        let taken = self.mac.request_data(now, Address::Short(parent)).is_ok();
        if taken {
            self.stats.data_requests = self.stats.data_requests.saturating_add(1);
        }
        self.poller.asked(now, taken);
    }

    /// Takes the outcome of a data request.
    pub(super) fn note_data_request(&mut self, now: Instant, outcome: DataRequestOutcome) {
        let count = match outcome {
            DataRequestOutcome::Received { .. } => None,
            DataRequestOutcome::NothingPending => Some(&mut self.stats.nothing_pending),
            DataRequestOutcome::NoAck => Some(&mut self.stats.unanswered_requests),
            DataRequestOutcome::TimedOut => Some(&mut self.stats.timed_out_requests),
        };
        if let Some(count) = count {
            *count = count.saturating_add(1);
        }
        if let Some(parent) = self.poller.parent() {
            let acked = outcome != DataRequestOutcome::NoAck;
            let parent = Address::Short(parent);
            self.routing_mut().handle_sent(now, parent, 1, acked);
            self.net.discovery_mut().handle_sent(now, parent, acked);
        }
        self.poller.handle_outcome(now, outcome, self.tcp.expected_by_each());
    }
}
