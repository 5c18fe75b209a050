//! The mesh engine: received messages, sent messages and timers.

use crate::attach::{Attach, RESPONSE_DELAY};
use crate::change::Change;
use crate::config::{MeshConfig, Role, Sizes};
use crate::data::Data;
use crate::leaves::{self, Adoption, Leaves};
use crate::link::{self, Age, Neighbour, UNREACHABLE};
use crate::message::{Advertisement, Entry, MAX_ANSWER, Message, NO_PARENT, Status, Writer, fits};
use crate::pace::{LONGEST, PACE};
use crate::route::{self, ANNOUNCEMENTS, OUTSIDE, Offer, Route};
use crate::stats::{Discard, Info, NeighbourInfo, RouteInfo, Stats, count};
use core::cell::Cell;
use kinglet_mem::{Array, Claim, slot_for_new};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_trickle::Trickle;

/// Random stream of this layer: "meshmesh".
const DICE: u64 = 0x6d65_7368_6d65_7368;

/// Responses that may wait to be sent. Leaves repeat a request without a response.
const ANSWERS: usize = 4;

/// Destination of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// All nodes in radio range.
    Broadcast,
    /// The device with this short address; requests an acknowledgement.
    Short(u16),
}

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Out {
    /// Destination. Frames to leaves go out at once too: a leaf that awaits a response listens.
    pub to: Destination,
    /// Octets written.
    pub len: usize,
}

#[derive(Clone, Copy)]
struct Answer {
    to: u16,
    /// Octets of the message.
    message: [u8; MAX_ANSWER],
    len: u8,
    /// Time to send it; `None` once that has come.
    at: Option<Instant>,
}

/// Progress of an advertisement of several frames.
#[derive(Clone, Copy)]
struct Progress {
    routes: usize,
    leaves: usize,
    /// True if it is complete, false if it carries only the changes.
    whole: bool,
    /// True if the next one is already due.
    again: bool,
}

impl Progress {
    const fn new(whole: bool) -> Self {
        Progress { routes: 0, leaves: 0, whole, again: false }
    }
}

/// A node of the mesh; see the crate's documentation for the loop around it.
pub struct Mesh<S: Sizes> {
    pub(crate) config: MeshConfig,
    random: Random,
    trickle: Trickle<()>,
    neighbours: S::Neighbours,
    routes: S::Routes,
    leaves: S::Leaves,
    answers: [Option<Answer>; ANSWERS],
    advertising: Option<Progress>,
    /// Time of the next complete advertisement that takes several frames.
    whole_at: Instant,
    /// Advertisements that still have to carry the leaves.
    leaf_announcements_left: u8,
    /// Deadline of routes and leaves, until one of them may have changed.
    tables_due: Cell<Option<Option<Instant>>>,
    pub(crate) attach: Attach,
    pub(crate) data: Data<S::Data>,
    stats: Stats,
}

impl<S: Sizes> Mesh<S> {
    /// Creates a node without neighbours.
    ///
    /// # Panics
    /// In a build with debug assertions, if it is a router without a table of neighbours, over
    /// which all routes lead.
    pub const fn new(config: MeshConfig) -> Self {
        debug_assert!(
            S::Neighbours::LEN > 0 || matches!(config.role, Role::Off | Role::Leaf),
            "a router of the mesh needs a table of neighbours (`mesh_neighbours`)"
        );
        Mesh {
            config,
            random: Random::new(config.seed, DICE),
            trickle: Trickle::new(),
            neighbours: S::Neighbours::EMPTY,
            routes: S::Routes::EMPTY,
            leaves: S::Leaves::EMPTY,
            // A loop over its entries would copy the whole node over the stack.
            answers: const { [None; ANSWERS] },
            advertising: None,
            whole_at: Instant::ZERO,
            leaf_announcements_left: 0,
            tables_due: Cell::new(None),
            attach: Attach::new(&config),
            data: Data::NONE,
            stats: Stats::ZERO,
        }
    }

    /// Returns the node's configuration.
    pub const fn config(&self) -> &MeshConfig {
        &self.config
    }

    /// Returns whether the node is a router. A memory plan without neighbour entries is that of a
    /// leaf, without router functions.
    pub(crate) const fn is_router(&self) -> bool {
        S::Neighbours::LEN > 0 && matches!(self.config.role, Role::Router | Role::BorderRouter)
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.config.role == Role::Leaf
    }

    /// Returns the routes for modification.
    fn routes_mut(&mut self) -> &mut [Option<Route>] {
        self.tables_due.set(None);
        self.routes.as_mut_slice()
    }

    fn leaves(&mut self) -> Leaves<'_> {
        self.tables_due.set(None);
        let MeshConfig { short: own, child_timeout, .. } = self.config;
        Leaves { own, child_timeout, table: self.leaves.as_mut_slice() }
    }

    pub(crate) fn changed(&mut self, now: Instant, any: bool) {
        if any {
            count(&mut self.stats.resets);
            self.trickle.hasten(now, &PACE, &mut self.random);
        }
    }

    /// Returns the next hop to the device with this short address.
    pub fn next_hop(&self, short: u16) -> Option<u16> {
        if self.is_leaf() {
            return self.attach.parent();
        }
        if !self.is_router() || short == self.config.short || short >= OUTSIDE {
            return None;
        }
        match leaves::find(self.leaves.as_slice(), short).map(|leaf| leaf.binding.parent) {
            Some(parent) if parent == self.config.short => Some(short),
            Some(NO_PARENT) | None => self.via(short),
            Some(parent) => self.via(parent),
        }
    }

    /// Returns the next hop out of the mesh; `None` at a border router.
    pub fn default_next_hop(&self) -> Option<u16> {
        if self.is_leaf() { self.attach.parent() } else { self.via(OUTSIDE) }
    }

    pub(crate) fn via(&self, destination: u16) -> Option<u16> {
        let mut routes = self.routes.as_slice().iter().flatten();
        let route = routes.find(|route| route.destination == destination)?;
        route.is_usable().then_some(route.next_hop)
    }

    fn route_mut(&mut self, destination: u16) -> Option<&mut Route> {
        self.routes_mut().iter_mut().flatten().find(|route| route.destination == destination)
    }

    /// Returns the cost of the route out of the mesh, 0 at a border router, 16 if there is none.
    pub fn cost_outside(&self) -> u8 {
        if self.config.role == Role::BorderRouter {
            return 0;
        }
        let mut routes = self.routes.as_slice().iter().flatten();
        routes.find(|route| route.destination == OUTSIDE).map_or(UNREACHABLE, |route| route.cost)
    }

    /// Returns a leaf's parent.
    pub const fn parent(&self) -> Option<u16> {
        self.attach.parent()
    }

    /// Returns a router's children.
    pub fn children(&self) -> impl Iterator<Item = u16> {
        let own = self.config.short;
        let bindings = self.leaves.as_slice().iter().flatten().map(|leaf| leaf.binding);
        bindings.filter(move |b| b.parent == own).map(|b| b.child)
    }

    /// Returns whether a leaf's receiver must be on because a response may come at any time.
    pub fn listens(&self) -> bool {
        self.is_leaf() && (self.attach.listens() || self.data.listens())
    }

    /// Returns the next change, if any.
    pub fn poll_change(&mut self) -> Option<Change> {
        if Self::HAS_DATA && self.data.poll_change() {
            return Some(Change::Data);
        }
        if self.is_leaf() {
            let changed = self.attach.poll_change();
            return changed.then(|| Change::ParentChanged(self.attach.parent()));
        }
        if !self.is_router() || !leaves::has_change(self.leaves.as_slice(), self.config.short) {
            return None;
        }
        self.leaves().poll_change()
    }

    /// Processes a data request from `from`, which considers this router its parent.
    pub fn handle_asked(&mut self, now: Instant, from: u16) {
        if self.is_router() && self.leaves().readopt(now, from) {
            self.leaf_announcements_left = ANNOUNCEMENTS;
            self.changed(now, true);
        }
    }

    /// Processes a frame of any content received from `from`.
    pub fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8) {
        if !self.is_router() {
            return;
        }
        self.leaves().hear(now, from);
        let noise = self.config.noise_floor_dbm;
        let known = self.neighbours.as_mut_slice().iter_mut().flatten().find(|n| n.short == from);
        let Some(neighbour) = known else { return };
        let (before, quality) = (neighbour.cost(), neighbour.quality_in);
        neighbour.hear(now, rssi_dbm, noise);
        let (after, changed) = (neighbour.cost(), neighbour.quality_in != quality);
        if changed && let Some(route) = self.route_mut(from) {
            // The neighbour must learn the quality at which it is received.
            route.announcements_left = ANNOUNCEMENTS;
        }
        self.relink(now, from, before, after);
    }

    /// Processes the result of a frame to `to` that requested an acknowledgement, or of a data
    /// request: acknowledged, or given up after all attempts.
    pub fn handle_sent(&mut self, now: Instant, to: u16, acked: bool) {
        if self.is_leaf() {
            let had = self.attach.parent().is_some();
            self.attach.sent(now, to, acked);
            if had && self.attach.parent().is_none() {
                count(&mut self.stats.dead_links);
            }
            return;
        }
        let known = self.neighbours.as_mut_slice().iter_mut().flatten().find(|n| n.short == to);
        let Some(neighbour) = known else { return };
        let (before, lived) = (neighbour.cost(), !neighbour.is_dead());
        neighbour.sent(now, acked);
        let after = neighbour.cost();
        if lived && neighbour.is_dead() {
            count(&mut self.stats.dead_links);
        }
        self.relink(now, to, before, after);
    }

    /// Updates routes after a change of a link's cost.
    fn relink(&mut self, now: Instant, neighbour: u16, before: u8, after: u8) {
        if before == after {
            return;
        }
        let mut changed = false;
        for route in self.routes_mut().iter_mut().flatten() {
            changed |= route.relink(now, neighbour, after);
        }
        self.changed(now, changed);
    }

    /// Invalidates all routes that a neighbour has advertised: it is gone, or has restarted.
    fn forget_advertised(&mut self, now: Instant, neighbour: u16) {
        let mut changed = false;
        for route in self.routes_mut().iter_mut().flatten() {
            changed |= route.forget_advertised(now, neighbour);
        }
        self.changed(now, changed);
    }

    /// Processes a message from the neighbour `from` in a frame received with this power. The
    /// caller first calls [`Mesh::handle_heard`] for the same frame.
    ///
    /// # Errors
    /// The reason of the discard, which is also counted.
    pub fn handle_message(
        &mut self,
        now: Instant,
        from: u16,
        rssi_dbm: i8,
        octets: &[u8],
    ) -> Result<(), Discard> {
        let result = self.take(now, from, rssi_dbm, octets);
        match result {
            Ok(()) => count(&mut self.stats.received),
            Err(reason) => self.stats.discard(reason),
        }
        result
    }

    fn take(
        &mut self,
        now: Instant,
        from: u16,
        rssi_dbm: i8,
        octets: &[u8],
    ) -> Result<(), Discard> {
        if from >= OUTSIDE || from == self.config.short {
            return Err(Discard::BadSource);
        }
        let margin = i16::from(rssi_dbm).saturating_sub(self.config.noise_floor_dbm.into());
        match Message::parse(octets).map_err(Discard::Malformed)? {
            Message::Advertisement(advertisement) if self.is_router() => {
                self.advertised(now, from, rssi_dbm, advertisement)?;
                self.compare_data(now, from, advertisement.data)
            }
            Message::Advertisement(advertisement) if self.parent() == Some(from) => {
                // A parent that restarted has no routes, and lists no child.
                let own = self.config.short;
                let knows = advertisement.bindings().any(|b| b.child == own && b.parent == from);
                if advertisement.starts && !knows {
                    self.attach.report(now, &mut self.random);
                }
                // Only a response to a report shows that the parent has none.
                match advertisement.data {
                    None => Ok(()),
                    data => self.compare_data(now, from, data),
                }
            }
            Message::DataRequest if self.is_router() && self.data.version().is_some() => {
                self.answer_data(from)
            }
            Message::Data { version, octets } if Self::HAS_DATA => {
                self.take_data(now, from, version, octets)
            }
            Message::ParentRequest if self.is_router() => {
                let quality = link::quality(margin);
                let delay = self.random.between(Duration::ZERO, RESPONSE_DELAY);
                if quality == 0 {
                    return Ok(());
                }
                let cost = self.cost_outside();
                let message = Message::ParentResponse { quality, cost };
                self.answer(from, message, Some(now + delay))
            }
            Message::ChildIdRequest { sequence, sleeps } if self.is_router() => {
                let adoption = self.leaves().adopt(now, from, sequence, sleeps);
                if adoption == Adoption::New {
                    self.leaf_announcements_left = ANNOUNCEMENTS;
                    self.changed(now, true);
                }
                let (status, sequence) = match adoption {
                    Adoption::New | Adoption::Known => (Status::Accepted, sequence),
                    Adoption::Full => (Status::Full, sequence),
                    Adoption::Stale(known) => (Status::Stale, known),
                };
                let data = self.data.version();
                self.answer(from, Message::ChildIdResponse { status, sequence, data }, None)
            }
            Message::ParentResponse { quality, cost } if self.is_leaf() => {
                self.attach.offered(from, margin, quality, cost);
                Ok(())
            }
            Message::ChildIdResponse { status, sequence, data } if self.is_leaf() => {
                self.attach.answered(now, &mut self.random, from, status, sequence);
                self.compare_data(now, from, data)
            }
            Message::LinkProbe if self.is_router() => Ok(()),
            _ => Err(Discard::NotForRole),
        }
    }

    /// Queues a message. It replaces an earlier one of its kind to the same device.
    pub(crate) fn answer(
        &mut self,
        to: u16,
        message: Message<'_>,
        at: Option<Instant>,
    ) -> Result<(), Discard> {
        let mut octets = [0; MAX_ANSWER];
        let len = message.emit(&mut octets).and_then(|len| u8::try_from(len).ok());
        let answer = Answer { to, message: octets, len: len.ok_or(Discard::Busy)?, at };
        let same = |place: &Option<Answer>| {
            place.is_some_and(|a| a.to == to && a.message.first() == octets.first())
        };
        let table = &mut self.answers;
        let place = table.iter().position(same).or_else(|| table.iter().position(Option::is_none));
        let place = place.and_then(|index| table.get_mut(index)).ok_or(Discard::Busy)?;
        *place = Some(answer);
        Ok(())
    }

    fn advertised(
        &mut self,
        now: Instant,
        from: u16,
        rssi_dbm: i8,
        advertisement: Advertisement<'_>,
    ) -> Result<(), Discard> {
        let own = self.config.short;
        // A new neighbour has to learn soon that it is received. In a full table it would displace
        // another, which may come back as often as this one.
        let mut places = self.neighbours.as_slice().iter();
        let is_known = places.clone().flatten().any(|it| it.short == from);
        let is_new = !is_known && places.any(Option::is_none);
        let neighbour = self.neighbour(now, from, rssi_dbm).ok_or(Discard::NeighboursFull)?;
        let before = neighbour.cost();
        if let Some(entry) = advertisement.entries().find(|entry| entry.destination == own) {
            neighbour.quality_out = entry.quality_in;
        }
        let (link, dead) = (neighbour.cost(), neighbour.is_dead());
        if dead {
            // The neighbour is received, so perhaps it receives this node again. If the response
            // table is full, the probe can wait.
            let _ = self.answer(from, Message::LinkProbe, None);
        }
        self.relink(now, from, before, link);
        let routes = advertisement.entries().filter(|entry| entry.destination != own);
        let routes = routes.map(|entry| (entry.destination, entry.cost));
        let itself = [(from, 0)].into_iter().chain(advertisement.border.then_some((OUTSIDE, 0)));
        if advertisement.starts {
            if dead {
                self.forget_advertised(now, from);
            }
            // Its sender needs the routes of its neighbours soon.
            self.trickle.reset(now, &PACE, &mut self.random);
        }
        let (mut changed, mut near) = (is_new, 0);
        for (destination, advertised) in itself.chain(routes) {
            if destination == OUTSIDE && self.config.role == Role::BorderRouter {
                continue;
            }
            let offer = Offer { destination, via: from, advertised, link };
            changed |= route::consider(self.routes_mut(), &mut near, now, offer);
        }
        for binding in advertisement.bindings() {
            let known = binding.parent == from || self.via(binding.parent).is_some();
            if self.leaves().consider(now, binding, known) {
                (self.leaf_announcements_left, changed) = (ANNOUNCEMENTS, true);
            }
        }
        self.changed(now, changed);
        Ok(())
    }

    /// Returns the entry of a router that has advertised. In a full table its new entry replaces
    /// that of the weakest neighbour that is no next hop, if its received power is higher.
    fn neighbour(&mut self, now: Instant, short: u16, rssi_dbm: i8) -> Option<&mut Neighbour> {
        let noise = self.config.noise_floor_dbm;
        let routes = self.routes.as_slice();
        let table = self.neighbours.as_mut_slice();
        let known = table.iter().position(|place| place.is_some_and(|n| n.short == short));
        let carries =
            |n: &Neighbour| routes.iter().flatten().any(|r| r.next_hop == n.short && r.is_usable());
        let claim = |place: &Option<Neighbour>| match place {
            None => Claim::Free,
            Some(n) if n.rssi_dbm() >= i16::from(rssi_dbm) || carries(n) => Claim::InUse,
            Some(n) => Claim::Idle(n.rssi_dbm()),
        };
        let index = known.or_else(|| slot_for_new(table, claim))?;
        let place = table.get_mut(index)?;
        if known.is_none() {
            *place = Some(Neighbour::new(now, short, rssi_dbm, noise));
        }
        place.as_mut()
    }

    /// Writes the next message to `buf`; [`MAX_LEN`](crate::MAX_LEN) octets always suffice.
    /// Nothing changes if `buf` is too short.
    pub fn poll_message(&mut self, now: Instant, buf: &mut [u8]) -> Option<Out> {
        let out = self.poll_answer(buf).or_else(|| self.poll_attach(buf));
        let out = out.or_else(|| self.poll_advertisement(now, buf))?;
        count(&mut self.stats.sent);
        Some(out)
    }

    fn poll_answer(&mut self, buf: &mut [u8]) -> Option<Out> {
        let ready = |place: &&mut Option<Answer>| place.is_some_and(|a| a.at.is_none());
        let place = self.answers.iter_mut().find(ready)?;
        let Answer { to, message, len, .. } = (*place)?;
        let message = message.get(..usize::from(len))?;
        let len = match (Message::parse(message), self.data.version()) {
            // The data are stored once.
            (Ok(Message::Data { .. }), Some(version)) => {
                Message::Data { version, octets: self.data.octets() }.emit(buf)?
            }
            _ => {
                kinglet_mem::copy(buf.get_mut(..message.len())?, message);
                message.len()
            }
        };
        *place = None;
        Some(Out { to: Destination::Short(to), len })
    }

    fn poll_attach(&mut self, buf: &mut [u8]) -> Option<Out> {
        let (to, message) = self.attach.message()?;
        let len = message.emit(buf)?;
        self.attach.message_sent();
        Some(Out { to: to.map_or(Destination::Broadcast, Destination::Short), len })
    }

    fn has_no_routes(&self) -> bool {
        self.routes.as_slice().iter().all(Option::is_none)
    }

    /// Returns whether a complete advertisement is a single frame.
    fn is_small(&self) -> bool {
        let routes = self.routes.as_slice().iter().flatten().count();
        let leaves = self.leaves.as_slice().iter().flatten().count();
        fits(routes, leaves, self.data.version())
    }

    /// Starts the next advertisement. One that fits into a single frame is complete. A larger one
    /// carries only the changes, or else known information would fill the channel; a complete one
    /// follows from time to time.
    fn advertise(&mut self, now: Instant) {
        if !self.is_router() {
            return;
        }
        if let Some(progress) = &mut self.advertising {
            progress.again = (progress.routes, progress.leaves) != (0, 0);
            return;
        }
        let small = self.is_small();
        let whole = small || self.whole_at <= now;
        if whole && !small {
            // Spreads the advertisements of routers that were switched on together.
            self.whole_at = now + self.random.between(LONGEST / 2, LONGEST);
        }
        self.advertising = Some(Progress::new(whole));
    }

    /// Writes one frame of an advertisement: as many unsent entries as fit.
    fn poll_advertisement(&mut self, now: Instant, buf: &mut [u8]) -> Option<Out> {
        if !self.is_router() {
            return None;
        }
        let start = self.advertising?;
        let Progress { mut routes, mut leaves, whole, again } = start;
        let (border, starts) = (self.config.role == Role::BorderRouter, self.has_no_routes());
        let mut writer = Writer::advertisement(buf, border, starts, self.data.version())?;
        let mut full = false;
        for route in self.routes.as_slice().get(routes..).unwrap_or_default() {
            let entries = route.filter(|route| whole || route.announcements_left > 0);
            if entries.is_some_and(|route| writer.entry(self.entry(&route)).is_none()) {
                full = true;
                break;
            }
            routes = routes.saturating_add(1);
        }
        if !whole && self.leaf_announcements_left == 0 {
            leaves = self.leaves.as_slice().len();
        }
        for leaf in self.leaves.as_slice().get(leaves..).unwrap_or_default() {
            // A router without a route to the parent cannot vouch for it.
            let entries = leaf.map(|leaf| leaf.binding).filter(|binding| {
                let parent = binding.parent;
                parent == self.config.short || parent == NO_PARENT || self.via(parent).is_some()
            });
            if full || entries.is_some_and(|binding| writer.binding(binding).is_none()) {
                full = true;
                break;
            }
            leaves = leaves.saturating_add(1);
        }
        let len = writer.len();
        if full && (routes, leaves) == (start.routes, start.leaves) {
            return None;
        }
        // The advertised changes have no deadline, so the stored one stays valid.
        let places = self.routes.as_mut_slice().get_mut(start.routes..routes).unwrap_or_default();
        for route in places.iter_mut().flatten() {
            route.announcements_left = route.announcements_left.saturating_sub(1);
        }
        self.advertising = full.then_some(Progress { routes, leaves, whole, again });
        if !full {
            self.leaf_announcements_left = self.leaf_announcements_left.saturating_sub(1);
            if again {
                self.advertise(now);
            }
        }
        count(&mut self.stats.advertisements);
        Some(Out { to: Destination::Broadcast, len })
    }

    fn entry(&self, route: &Route) -> Entry {
        let mut neighbours = self.neighbours.as_slice().iter().flatten();
        let link = neighbours.find(|n| n.short == route.destination);
        let (quality_in, quality_out) =
            link.map_or((0, 0), |link| (link.quality_in, link.quality_out));
        let Route { destination, cost, .. } = *route;
        Entry { destination, quality_in, quality_out, cost }
    }

    /// Returns the time of the next call of [`Mesh::handle_deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        match self.config.role {
            Role::Leaf => earliest(Some(self.attach.deadline()), self.data.deadline()),
            _ if !self.is_router() => None,
            _ => {
                let answers = self.answers.iter().flatten().filter_map(|answer| answer.at);
                let neighbours = self.neighbours.as_slice().iter().flatten();
                let tables = self.tables_due.get().unwrap_or_else(|| {
                    let routes = route::deadline(self.routes.as_slice());
                    let due = earliest(routes, leaves::deadline(self.leaves.as_slice()));
                    self.tables_due.set(Some(due));
                    due
                });
                let ages = answers.chain(neighbours.map(|neighbour| neighbour.due));
                let first = earliest(Some(self.trickle.deadline()), tables);
                ages.fold(first, |first, at| earliest(first, Some(at)))
            }
        }
    }

    /// Runs the timers that are due. Does nothing before the deadline.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.deadline().is_none_or(|at| at > now) {
            return;
        }
        if self.is_leaf() {
            self.attach.handle_deadline(now, &mut self.random);
            return self.request_data(now);
        }
        if !self.is_router() {
            return;
        }
        for answer in self.answers.iter_mut().flatten() {
            let _ = answer.at.take_if(|at| *at <= now);
        }
        self.age_neighbours(now);
        let route::Forgotten { mut changed, asks } = route::handle_deadline(self.routes_mut(), now);
        // Advertisements of a single frame are complete, and give the answer unsolicited.
        changed |= asks && !self.is_small();
        if self.leaves().handle_deadline(now) {
            (self.leaf_announcements_left, changed) = (ANNOUNCEMENTS, true);
        }
        self.forget_leaves();
        self.changed(now, changed);
        if self.trickle.handle_deadline(now, &PACE, &mut self.random) {
            self.advertise(now);
        }
    }

    fn age_neighbours(&mut self, now: Instant) {
        for index in 0..S::Neighbours::LEN {
            let Some(place) = self.neighbours.as_mut_slice().get_mut(index) else { return };
            let Some(neighbour) = place else { continue };
            let short = neighbour.short;
            match neighbour.age(now) {
                Age::Fresh => {}
                Age::Doubtful => {
                    // If the response table is full, the next probe suffices.
                    let _ = self.answer(short, Message::LinkProbe, None);
                }
                Age::Gone => {
                    *place = None;
                    self.forget_advertised(now, short);
                }
            }
        }
    }

    fn forget_leaves(&mut self) {
        self.tables_due.set(None);
        let MeshConfig { short: own, child_timeout, .. } = self.config;
        let (routes, table) = (self.routes.as_slice(), self.leaves.as_mut_slice());
        let known = |parent| routes.iter().flatten().any(|route| route.destination == parent);
        Leaves { own, child_timeout, table }.forget(known);
    }

    /// Returns the fill levels of the tables.
    pub fn info(&self) -> Info {
        Info {
            parent: self.attach.parent(),
            neighbours: self.neighbours.as_slice().iter().flatten().count(),
            routes: self.routes.as_slice().iter().flatten().count(),
            leaves: self.leaves.as_slice().iter().flatten().count(),
            interval: self.trickle.interval().unwrap_or(PACE.shortest),
        }
    }

    /// Returns the routers in range.
    pub fn neighbours(&self) -> impl Iterator<Item = NeighbourInfo> {
        self.neighbours.as_slice().iter().flatten().map(|n| NeighbourInfo {
            short: n.short,
            rssi_dbm: n.rssi_dbm(),
            quality_in: n.quality_in,
            quality_out: n.quality_out,
            cost: n.cost(),
        })
    }

    /// Returns the routes to other routers and out of the mesh.
    pub fn routes(&self) -> impl Iterator<Item = RouteInfo> {
        self.routes.as_slice().iter().flatten().map(|route| RouteInfo {
            destination: (route.destination != OUTSIDE).then_some(route.destination),
            next_hop: route.next_hop,
            cost: route.cost,
        })
    }

    /// Returns the event counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }
}
