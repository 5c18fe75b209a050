//! Where a computer is joined to a node: the line between them, and what is on it.
//!
//! A line without a rate takes no time. Else one packet at a time is on it each way, and the others
//! wait where they come from: those of the computer in its kernel, those of the node in its packet
//! slots, as with the serial line of a mote.

use crate::serial::Site;
use crate::tun::LONGEST;
use kinglet_sim::World;
use kinglet_time::{Duration, Instant, earliest};

/// A node whose host interface leads to a computer.
pub(crate) struct Port {
    node: usize,
    /// Bits per second of each direction.
    rate_bps: Option<f64>,
    /// What is on its way to the node, and when it is there.
    inward: Option<(Instant, Vec<u8>)>,
    /// The same to the computer.
    outward: Option<(Instant, Vec<u8>)>,
}

impl Port {
    /// The port of `node`, with a line of `rate_kbps` each way.
    pub(crate) fn new(node: usize, rate_kbps: Option<f64>) -> Self {
        let rate_bps = rate_kbps.map(|kbps| kbps * 1e3);
        Port { node, rate_bps, inward: None, outward: None }
    }

    /// The node.
    pub(crate) const fn node(&self) -> usize {
        self.node
    }

    /// Whether the line is free for a packet of the computer, and its node has room for one.
    pub(crate) fn takes(&self, world: &World<Site>) -> bool {
        let has_room = match world.device(self.node) {
            Site::Simulated(station) => station.node().takes_host_packet(),
            Site::Serial(_) | Site::Beyond(_) => true,
        };
        has_room && self.inward.is_none()
    }

    /// When a packet comes off the line at the node.
    pub(crate) fn arrival(&self) -> Option<Instant> {
        self.inward.as_ref().map(|(at, _)| *at)
    }

    /// When a packet comes off the line at either end.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        earliest(self.arrival(), self.outward.as_ref().map(|(at, _)| *at))
    }

    /// Puts a packet of the computer on the line.
    pub(crate) fn handle(&mut self, world: &mut World<Site>, packet: &[u8]) {
        self.inward = Some((world.now() + self.span(packet.len()), packet.to_vec()));
        self.deliver(world);
    }

    /// Gives the node what has come off the line by now.
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

    /// Writes the next packet that has come off the line at the computer to `buf`, which has room
    /// for [`LONGEST`] octets; its length.
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

    /// How long a packet of `len` octets is on the line.
    fn span(&self, len: usize) -> Duration {
        let us = self.rate_bps.map_or(0.0, |bps| len as f64 * 8e6 / bps);
        Duration::from_micros(us as u64)
    }
}
