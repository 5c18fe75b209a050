//! Who learns routes on a simulated node: mesh or RPL, as the scenario says. One type of node plays
//! every role, so it has room for both.

use core::net::Ipv6Addr;
use kinglet::net::{Icmpv6In, Icmpv6Out, Learnt};
use kinglet::{Change, MAX_ICMPV6, MAX_MESSAGE, Meshed, Message, Routing, Rpled, mesh, net, rpl};
use kinglet_time::Instant;

/// The mesh, or RPL in its place.
pub struct Learning<S: mesh::Sizes + rpl::Sizes> {
    mesh: Meshed<S>,
    rpl: Option<Box<Rpled<S>>>,
}

impl<S: mesh::Sizes + rpl::Sizes> Learning<S> {
    pub(crate) const fn meshed(mesh: Meshed<S>) -> Self {
        Learning { mesh, rpl: None }
    }

    pub(crate) fn rpled(rpl: Rpled<S>) -> Self {
        Learning { mesh: net::Routing::NONE, rpl: Some(Box::new(rpl)) }
    }

    /// The mesh, to look at; without it a node that takes no part in one.
    pub const fn mesh(&self) -> &mesh::Mesh<S> {
        self.mesh.mesh()
    }

    /// RPL, to look at.
    pub fn rpl(&self) -> Option<&rpl::Rpl<S>> {
        self.rpl.as_ref().map(|rpl| rpl.rpl())
    }
}

impl<S: mesh::Sizes + rpl::Sizes> net::Routing for Learning<S> {
    const NONE: Self = Learning { mesh: net::Routing::NONE, rpl: None };
    const PORT: Option<u16> = <Meshed<S> as net::Routing>::PORT;
    const ICMPV6: &'static [u8] = <Rpled<S> as net::Routing>::ICMPV6;
    const GROUP: Option<Ipv6Addr> = <Rpled<S> as net::Routing>::GROUP;

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        match &self.rpl {
            Some(rpl) => rpl.route(dst),
            None => self.mesh.route(dst),
        }
    }
}

impl<S: mesh::Sizes + rpl::Sizes> Routing for Learning<S> {
    fn is_on(&self) -> bool {
        self.rpl.is_some() || self.mesh.is_on()
    }

    fn listens(&self) -> bool {
        self.rpl.as_ref().map_or_else(|| self.mesh.listens(), |rpl| rpl.listens())
    }

    fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8) {
        self.mesh.handle_heard(now, from, rssi_dbm);
    }

    fn handle_sent(&mut self, now: Instant, to: u16, transmissions: u8, acked: bool) {
        match &mut self.rpl {
            Some(rpl) => rpl.handle_sent(now, to, transmissions, acked),
            None => self.mesh.handle_sent(now, to, transmissions, acked),
        }
    }

    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]) {
        self.mesh.handle_message(now, from, rssi_dbm, message);
    }

    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        self.mesh.poll_message(now, buf)
    }

    fn handle_icmpv6(&mut self, now: Instant, message: Icmpv6In<'_>) {
        if let Some(rpl) = &mut self.rpl {
            rpl.handle_icmpv6(now, message);
        }
    }

    fn poll_icmpv6(&mut self, now: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        self.rpl.as_mut()?.poll_icmpv6(now, buf)
    }

    fn poll_change(&mut self) -> Option<Change> {
        match &mut self.rpl {
            Some(rpl) => rpl.poll_change(),
            None => self.mesh.poll_change(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.rpl {
            Some(rpl) => rpl.deadline(),
            None => self.mesh.deadline(),
        }
    }

    fn handle_deadline(&mut self, now: Instant) {
        match &mut self.rpl {
            Some(rpl) => rpl.handle_deadline(now),
            None => self.mesh.handle_deadline(now),
        }
    }
}
