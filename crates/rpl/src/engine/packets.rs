//! Packets: their routes and RPL options (RFC 6550, 11; RFC 9008).

use super::{Reply, Rpl};
use crate::config::{Mode, Sizes};
use crate::dao::{Route, Targets, Urgency, compute, is_of};
use crate::datapath::{Direction, Needs, NextHop, Onward, Refusal, judge};
use crate::dodag::Dodag;
use crate::stats::count;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};
use kinglet_wire::rpl::{PacketInformation, Target};
use kinglet_wire::sixlowpan::routed;

/// Time within which a DAO in flight has arrived.
const DAO_TRANSIT: Duration = Duration::from_secs(4);

impl<S: Sizes> Rpl<S> {
    /// Returns the route of a packet to `destination`, a routable unicast address of another node.
    //= rfc6550#8-1
    pub fn route(&self, destination: Ipv6Addr) -> NextHop {
        let Some(dodag) = &self.dodag else { return NextHop::Unreachable };
        let root = self.is_root();
        if let Some(route) = Targets::find(self.routes.as_slice(), destination) {
            if route.local || dodag.is_storing() {
                return NextHop::Neighbour(route.via);
            }
            if root {
                return NextHop::SourceRoute;
            }
        }
        if !root {
            return dodag.preferred.map_or(NextHop::Unreachable, NextHop::Neighbour);
        }
        let prefix = dodag.prefix.map(|it| Target { prefix: it.prefix, prefix_len: it.prefix_len });
        let inside = prefix.is_some_and(|prefix| crate::dao::covers(&prefix, destination));
        if inside { NextHop::Unreachable } else { NextHop::Outside }
    }

    /// Writes the addresses on the route to `destination`, the nearest first, itself the last, at a
    /// root in non-storing mode. Returns their number; `None` if there is no route that `out` has
    /// room for.
    //= rfc6550#9.2-3
    pub fn source_route(&self, destination: Ipv6Addr, out: &mut [Ipv6Addr]) -> Option<usize> {
        let dodag = self.dodag.as_ref().filter(|dodag| dodag.mode == Mode::NonStoring)?;
        if !self.is_root() {
            return None;
        }
        compute(self.routes.as_slice(), dodag.id, destination, out)
    }

    /// Returns whether the packet's next hop leads away from the root.
    fn is_down(&self, destination: Ipv6Addr) -> bool {
        self.is_root() || Targets::find(self.routes.as_slice(), destination).is_some()
    }

    /// Returns the mode of operation of this node's DODAG.
    pub fn mode(&self) -> Option<Mode> {
        self.dodag.as_ref().map(|dodag| dodag.mode)
    }

    /// Returns the DAGRank of this node, `u16::MAX` without a DODAG.
    pub fn dag_rank(&self) -> u16 {
        self.dodag.as_ref().map_or(u16::MAX, |dodag| dodag.dag_rank(dodag.rank()))
    }

    /// Returns the option of a packet that originates here (11.2.1). A leaf sends no rank.
    //= rfc6550#11.2-1 rfc6550#11.2-2 rfc6550#11.2-3 rfc6550#11.2.1-1 rfc6550#11.2.2.1-4
    pub fn originate(&self, destination: Ipv6Addr) -> PacketInformation {
        let leaf = self.is_leaf();
        PacketInformation {
            down: !leaf && self.is_down(destination),
            rank_error: false,
            forwarding_error: false,
            instance: self.instance(),
            sender_rank: if leaf { 0 } else { self.dag_rank() },
        }
    }

    /// Returns the type of the option in this DODAG (RFC 9008, 4.1.3).
    pub fn option_type(&self) -> u8 {
        let skipped = |dodag: &Dodag| dodag.configuration.skips_unknown;
        match self.dodag.as_ref().is_some_and(skipped) {
            true => PacketInformation::SKIPPED_IF_UNKNOWN,
            false => PacketInformation::DISCARDED_IF_UNKNOWN,
        }
    }

    /// Returns the DODAG state that both ends of a link share for 6LoWPAN Routing Headers.
    pub fn dodag(&self) -> Option<routed::Dodag> {
        let dodag = self.dodag.as_ref()?;
        Some(routed::Dodag {
            root: dodag.id,
            instance: self.instance(),
            option: self.option_type(),
            storing: dodag.is_storing(),
            compresses: dodag.configuration.compressed,
        })
    }

    /// Returns the headers that a packet to `destination`, a routable unicast address, needs here.
    /// `begins` is set if it originates here, `marked` if it has the option.
    ///
    /// A packet of another node is never changed: its headers go into an outer header, to a node
    /// that can remove that. This is the destination, if it knows RPL; otherwise the router before
    /// it. Routers in storing mode know only the next hop towards that router.
    //= rfc6550#11.2.2.1-3 rfc6550#11.2.2.1-5
    pub fn needs(&self, destination: Ipv6Addr, begins: bool, marked: bool) -> Needs {
        let Some(dodag) = &self.dodag else { return Needs::Nothing };
        let route = Targets::find(self.routes.as_slice(), destination);
        if route.is_some_and(|route| route.local) {
            return Needs::Nothing;
        }
        let root = self.is_root();
        let (Some(route), storing) = (route, dodag.is_storing()) else {
            return match (root, begins) {
                (true, _) => Needs::Nothing,
                (false, true) if self.encapsulates(destination) => Needs::Outer(dodag.id),
                (false, true) => Needs::Own,
                (false, false) if marked => Needs::Nothing,
                (false, false) => Needs::Outer(dodag.id),
            };
        };
        match (begins, marked) {
            (true, _) => Needs::Own,
            // Down by a source route that it does not have yet.
            (false, true) if storing => Needs::Nothing,
            _ if route.external || route.target.prefix_len != 128 => Needs::Outer(route.via),
            _ => Needs::Outer(destination),
        }
    }

    /// Returns whether `destination` is a leaf of this node that knows no RPL.
    pub fn is_unaware(&self, destination: Ipv6Addr) -> bool {
        Targets::find(self.routes.as_slice(), destination).is_some_and(|route| route.local)
    }

    /// Checks a packet of another node with this option, which is about to follow its source route.
    /// Returns the option for the next hop.
    ///
    /// # Errors
    /// The reason that the packet is not forwarded.
    pub fn follow(
        &mut self,
        now: Instant,
        information: PacketInformation,
    ) -> Result<PacketInformation, Refusal> {
        if information.instance != self.instance() {
            return Err(Refusal::OtherInstance);
        }
        let information = self.judged(now, None, information)?;
        Ok(PacketInformation { down: true, sender_rank: self.dag_rank(), ..information })
    }

    /// Counts a report to a root that `router` cannot reach `next` of a source route. This
    /// suffices: the router tries again after a while by itself, and a node that has moved
    /// announces that. To ask all nodes for their DAOs, as RFC 6550, 9.6 would have it, would
    /// answer each bad link with as many messages as there are nodes.
    pub fn handle_broken_route(&mut self, router: Ipv6Addr, next: Ipv6Addr) {
        let matches = |route: &Route| route.target.prefix == next && route.via == router;
        if self.is_root() && self.routes.as_slice().iter().flatten().any(matches) {
            count(&mut self.stats.broken_routes);
        }
    }

    /// Returns the new next hop of an upward packet that waits while the parent changes; `None` if
    /// it does not go up, or has no route.
    pub fn reroute(&self, destination: Ipv6Addr, information: PacketInformation) -> Option<Onward> {
        let ours = information.instance == self.instance();
        let up = ours && !information.down && !information.forwarding_error;
        if !up || self.is_down(destination) {
            return None;
        }
        let next_hop = NextHop::Neighbour(self.parent()?);
        let sender_rank = if self.is_leaf() { 0 } else { self.dag_rank() };
        Some(Onward { next_hop, information: PacketInformation { sender_rank, ..information } })
    }

    /// Returns whether packets to `destination` must have the option in an outer header: a node
    /// that does not know an option of type 0x63 discards the packet (RFC 9008, 7 and 8). One of
    /// type 0x23 may stay, also in packets that leave the network.
    pub fn encapsulates(&self, destination: Ipv6Addr) -> bool {
        let Some(dodag) = &self.dodag else { return false };
        let prefix = dodag.prefix.map(|it| Target { prefix: it.prefix, prefix_len: it.prefix_len });
        let inside = prefix.is_some_and(|prefix| crate::dao::covers(&prefix, destination));
        let route = Targets::find(self.routes.as_slice(), destination);
        let external = route.is_some_and(|route| route.external);
        !dodag.configuration.skips_unknown && (!inside || external)
    }

    /// Routes a packet of another node from the neighbour `from`, a link-local address. A packet
    /// without the option gets one here (11.2.2.1). In non-storing mode this is not called for
    /// packets that follow a source route.
    ///
    /// # Errors
    /// The reason that the packet is not forwarded.
    //= rfc6550#11.2.2.1-1 rfc6550#11.2.2.1-2 rfc6550#11.2.2.1-6 rfc6550#11.2.2.3-2
    //= rfc6550#11.2.2.3-3 rfc6550#11.2.2.3-4
    pub fn relay(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        destination: Ipv6Addr,
        information: Option<PacketInformation>,
    ) -> Result<Onward, Refusal> {
        let Some(mut information) = information else {
            let information = self.originate(destination);
            return self.onward(now, from, destination, information);
        };
        if information.instance != self.instance() {
            return Err(Refusal::OtherInstance);
        }
        if information.forwarding_error {
            // The packet came back: the neighbour has no route (11.2.2.3).
            count(&mut self.stats.forwarding_errors);
            let known = Targets::find(self.routes.as_slice(), destination).map(Route::target);
            if known.is_some_and(|target| self.targets().lose_route(&target, from)) {
                self.schedule_dao(now, Urgency::Now);
                self.ask_for_daos(now);
            }
            // A node that is not below this one returns packets only because it was once. Two of
            // the same rank that have each other for a parent would send it to and fro.
            if information.sender_rank <= self.dag_rank() {
                count(&mut self.stats.loops);
                self.reset(now);
                return Err(Refusal::Loop);
            }
            information.forwarding_error = false;
            // The previous hop is not known any more, but packets come down from the parent.
            let above = self.parent().unwrap_or(from);
            return self.onward(now, above, destination, information);
        }
        match self.judged(now, Some(from), information) {
            Err(Refusal::Loop) if information.down => {
                self.break_loop(now, from, destination, information)
            }
            // A downward packet whose next hop is its previous one: each node routes through the
            // other.
            Ok(judged) if judged.down && self.is_behind(destination, from) => {
                self.break_loop(now, from, destination, judged)
            }
            judged => self.onward(now, from, destination, judged?),
        }
    }

    /// Processes the `source` of an upward packet from the neighbour `from`, a link-local address,
    /// so `source` is below. If the downward route to it is unknown, `from` may have missed this
    /// node's request for DAOs, as multicast DIOs are not acknowledged: it gets a unicast DIO. If
    /// the route stays unknown, each router on it assumes that the next one knows it: all nodes
    /// below are asked. In non-storing mode the root may still know this node behind `source`.
    pub fn note_source(&mut self, now: Instant, from: Ipv6Addr, source: Ipv6Addr) {
        let storing = self.dodag.as_ref().is_some_and(Dodag::is_storing);
        if !storing {
            return self.note_not_above(now, Self::neighbour(source));
        }
        let is_known = |source| Targets::find(self.routes.as_slice(), source).is_some();
        self.unknown = self.unknown.filter(|(unknown, _)| !is_known(*unknown));
        if is_known(source) {
            return;
        }
        match self.unknown {
            Some((unknown, since)) if unknown == source => {
                if now >= since + DAO_TRANSIT {
                    // The source may never send a DAO: others have to be considered as well.
                    self.unknown = Some((source, now + DAO_TRANSIT * 3));
                    self.ask_for_daos(now);
                    self.inform(now, from);
                }
            }
            Some((_, since)) if now < since + DAO_TRANSIT * 4 => {}
            _ => {
                self.unknown = Some((source, now));
                self.inform(now, from);
            }
        }
    }

    /// Returns whether packets to `destination` go down through this child in storing mode.
    fn is_behind(&self, destination: Ipv6Addr, child: Ipv6Addr) -> bool {
        let storing = self.dodag.as_ref().is_some_and(Dodag::is_storing);
        let route = Targets::find(self.routes.as_slice(), destination);
        storing && route.is_some_and(|route| route.via == child)
    }

    /// Breaks the loop of a downward packet that has come from further down for the second time, or
    /// would go back to its sender. On the loop a router has a route through a parent that the node
    /// has left, so neither this node nor the sender keeps its route: the packet goes back there
    /// with the 'F' flag, and the destination is asked for a DAO. The route that a neighbour has
    /// advertised to itself is right.
    //= rfc6550#11.1-2
    fn break_loop(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        destination: Ipv6Addr,
        information: PacketInformation,
    ) -> Result<Onward, Refusal> {
        let storing = self.dodag.as_ref().is_some_and(Dodag::is_storing);
        let known = Targets::find(self.routes.as_slice(), destination).filter(|_| storing);
        let target = known.ok_or(Refusal::Loop)?.target;
        self.lose_routes(now, |route| route.target == target && !is_of(&target, route.via));
        self.ask_for_daos(now);
        Ok(self.back(from, information))
    }

    /// Returns the option after the check of its direction.
    fn judged(
        &mut self,
        now: Instant,
        from: Option<Ipv6Addr>,
        mut information: PacketInformation,
    ) -> Result<PacketInformation, Refusal> {
        match judge(&information, self.dag_rank()) {
            Direction::Consistent => {}
            Direction::FirstError => {
                count(&mut self.stats.rank_errors);
                information.rank_error = true;
                self.correct(now, from);
            }
            Direction::SecondError => {
                count(&mut self.stats.loops);
                self.correct(now, from);
                return Err(Refusal::Loop);
            }
        }
        Ok(information)
    }

    /// Corrects a neighbour that has sent a packet in the wrong direction and does not know this
    /// node's rank: it gets a DIO that is repeated until it has arrived, and all others the next
    /// DIO.
    //= rfc6550#8.3-1
    fn correct(&mut self, now: Instant, from: Option<Ipv6Addr>) {
        self.reset(now);
        if let Some(from) = from {
            self.inform(now, from);
        }
    }

    /// Sends a neighbour a DIO that is repeated until it has arrived.
    fn inform(&mut self, now: Instant, neighbour: Ipv6Addr) {
        if !self.is_leaf() && self.resets.allows(now) {
            // Without room, the next packet suffices.
            let _ = self.answer(neighbour, Reply::Information);
        }
    }

    /// Returns a packet to its previous hop, which then forgets its route (11.2.2.3).
    fn back(&self, to: Ipv6Addr, information: PacketInformation) -> Onward {
        let sender_rank = self.dag_rank();
        let information = PacketInformation { forwarding_error: true, sender_rank, ..information };
        Onward { next_hop: NextHop::Neighbour(to), information }
    }

    fn onward(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        destination: Ipv6Addr,
        information: PacketInformation,
    ) -> Result<Onward, Refusal> {
        let down = self.is_down(destination);
        let storing = self.dodag.as_ref().is_some_and(Dodag::is_storing);
        if information.down && !down && storing {
            // A downward packet does not go up again, but back, so that the route is forgotten.
            count(&mut self.stats.forwarding_errors);
            self.ask_for_daos(now);
            return Ok(self.back(from, information));
        }
        if !information.down && self.parent() == Some(from) {
            // A neighbour that sends up through this node is not above it.
            count(&mut self.stats.loops);
            self.disown(now, from);
        }
        let sender_rank = self.dag_rank();
        let information = PacketInformation { down, sender_rank, ..information };
        match self.route(destination) {
            NextHop::Unreachable => Err(Refusal::NoRoute),
            next_hop => Ok(Onward { next_hop, information }),
        }
    }
}
