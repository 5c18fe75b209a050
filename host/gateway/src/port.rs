//! The connection of a computer to a node: the line between them, and the packets on it.
//!
//! A line without a rate takes no time. Otherwise one packet at a time is on it in each direction,
//! and the others wait at their source: those of the computer in its kernel, those of the node in
//! its packet slots, as with the serial line of a mote.

use crate::serial::Site;
use crate::tun::LONGEST;
use kinglet_sim::World;
use kinglet_time::{Duration, Instant, earliest};

/// A node whose host interface leads to a computer.
pub(crate) struct Port {
    node: usize,
    /// Bits per second of each direction.
    rate_bps: Option<f64>,
    /// The packet on the line to the node, and its time of arrival.
    inward: Option<(Instant, Vec<u8>)>,
    /// The same to the computer.
    outward: Option<(Instant, Vec<u8>)>,
}

impl Port {
    /// Creates the port of `node`, with a line of `rate_kbps` in each direction.
    pub(crate) fn new(node: usize, rate_kbps: Option<f64>) -> Self {
        let rate_bps = rate_kbps.map(|kbps| kbps * 1e3);
        Port { node, rate_bps, inward: None, outward: None }
    }

    /// Returns the node.
    pub(crate) const fn node(&self) -> usize {
        self.node
    }

    /// Returns whether the line is free for a packet of the computer, and its node has space for
    /// one.
    pub(crate) fn takes(&self, world: &World<Site>) -> bool {
        let has_room = match world.device(self.node) {
            Site::Simulated(station) => station.node().takes_host_packet(),
            Site::Serial(_) | Site::Beyond(_) => true,
        };
        has_room && self.inward.is_none()
    }

    /// Returns the time at which a packet arrives at the node.
    pub(crate) fn arrival(&self) -> Option<Instant> {
        self.inward.as_ref().map(|(at, _)| *at)
    }

    /// Returns the time at which a packet arrives at either end.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        earliest(self.arrival(), self.outward.as_ref().map(|(at, _)| *at))
    }

    /// Puts a packet of the computer on the line.
    pub(crate) fn handle(&mut self, world: &mut World<Site>, packet: &[u8]) {
        self.inward = Some((world.now() + self.span(packet.len()), packet.to_vec()));
        self.deliver(world);
    }

    /// Passes the packet that has arrived by now to the node.
    pub(crate) fn deliver(&mut self, world: &mut World<Site>) {
        let now = world.now();
        let Some((_, packet)) = self.inward.take_if(|(at, _)| *at <= now) else { return };
        world.with_device(self.node, |site, now| {
            let Site::Simulated(station) = site else { return };
            station.node_mut().handle_host_packet(now, &packet);
            // It may be for an application on the node itself.
            station.run_apps(now);
        });
    }

    /// Writes the next packet that has arrived at the computer to `buf`, which has space for
    /// [`LONGEST`] octets. Returns its length.
    pub(crate) fn poll(&mut self, world: &mut World<Site>, buf: &mut [u8]) -> Option<usize> {
        if self.outward.is_none() {
            let mut room = [0; LONGEST];
            let len = world.with_device(self.node, |site, now| {
                let Site::Simulated(station) = site else { return None };
                station.node_mut().poll_host_packet(now, &mut room)
            })?;
            self.outward = Some((world.now() + self.span(len), room[..len].to_vec()));
        }
        let now = world.now();
        let (_, packet) = self.outward.take_if(|(at, _)| *at <= now)?;
        buf.get_mut(..packet.len())?.copy_from_slice(&packet);
        Some(packet.len())
    }

    /// Returns the time that a packet of `len` octets is on the line.
    fn span(&self, len: usize) -> Duration {
        let us = self.rate_bps.map_or(0.0, |bps| len as f64 * 8e6 / bps);
        Duration::from_micros(us as u64)
    }
}
