//! The mesh as a node's routing protocol.

use crate::change;
use crate::config::{MeshConfig, Role, Sizes};
use crate::mesh::{Destination, Mesh};
use crate::message::MAX_DATA;
use crate::network_data::{NetworkData, emit};
use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_routing::{Change, Each, EachRelation, Identity, Learnt, Message, NextHop, NoHeaders};
use kinglet_routing::{MAX_MESSAGE, PORT, Routing, link_local};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::same_prefix;
use kinglet_wire::sixlowpan::{Context, derived_iid, link_address_of};

/// Network data that were not announced: they do not fit, or a context cannot exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfitData;

impl core::fmt::Display for UnfitData {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the network data do not fit, or a context cannot exist")
    }
}

impl core::error::Error for UnfitData {}

/// A mesh and the prefix of its addresses.
///
/// A border router can [announce](Meshed::announce) the prefix and the 6LoWPAN contexts. Every
/// other node of the mesh then gets its address and the contexts from the mesh, if its memory plan
/// has room for them ([`Sizes::Data`]).
pub struct Meshed<S: Sizes> {
    mesh: Mesh<S>,
    prefix: Ipv6Addr,
    /// The address that follows from the network data.
    address: Option<Ipv6Addr>,
    /// The contexts that come from the network data, a bit for each identifier.
    contexts: u16,
    /// Next part of new network data to be reported to the node.
    part: Part,
}

/// The parts of network data, in the order of their report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The former address, if it is over.
    FormerAddress,
    Address,
    Context(u8),
    None,
}

/// Bits of the prefix: the rest is the interface identifier, which holds the short address.
const PREFIX_LEN: u8 = 64;

impl<S: Sizes> Meshed<S> {
    /// Creates a mesh for a node. Its short address, seed and sleep replace those in `mesh`, and
    /// whether it awaits network data. All addresses of the mesh begin
    /// with the first 64 bits of `prefix`; with `::` they come from the border router.
    pub const fn new(node: Identity, mesh: MeshConfig, prefix: Ipv6Addr) -> Self {
        let Identity { short, sleeps, seed, .. } = node;
        let awaits_data = prefix.is_unspecified() && S::Data::LEN > 0;
        let mesh = MeshConfig { short, sleeps, seed, awaits_data, ..mesh };
        Meshed::of(Mesh::new(mesh), prefix)
    }

    const fn of(mesh: Mesh<S>, prefix: Ipv6Addr) -> Self {
        Meshed { mesh, prefix, address: None, contexts: 0, part: Part::None }
    }

    /// Announces the prefix of all addresses, of which the first 64 bits count, and the contexts
    /// with their identifiers to the whole mesh, this node included. A later call replaces them.
    ///
    /// # Errors
    /// They do not fit into [`Sizes::Data`] of the memory plan, or into a message, which has room
    /// for six contexts of 64 bits; or there is no such context.
    pub fn announce(
        &mut self,
        now: Instant,
        prefix: Ipv6Addr,
        contexts: &[(u8, Context)],
    ) -> Result<(), UnfitData> {
        let mut octets = [0; MAX_DATA];
        let len = emit(prefix, contexts, &mut octets).ok_or(UnfitData)?;
        let octets = octets.get(..len).unwrap_or_default();
        if self.mesh.announce(now, octets) { Ok(()) } else { Err(UnfitData) }
    }

    /// Returns the next change that new network data cause. Malformed data change nothing.
    fn poll_part(&mut self) -> Option<Change> {
        while self.part != Part::None {
            let Some(data) = NetworkData::parse(self.mesh.data()) else {
                self.part = Part::None;
                return None;
            };
            let short = self.mesh.config().short;
            match self.part {
                Part::FormerAddress => {
                    self.part = Part::Address;
                    self.prefix = data.prefix.unwrap_or(self.prefix);
                    let address = data.prefix.map(|prefix| address(prefix, short));
                    let former = core::mem::replace(&mut self.address, address);
                    if let Some(former) = former.filter(|_| former != address) {
                        return Some(Change::NoAddress(former));
                    }
                }
                Part::Address => {
                    self.part = Part::Context(0);
                    if let Some(address) = self.address {
                        return Some(Change::Address(address));
                    }
                }
                Part::Context(id) => {
                    self.part =
                        if id < 15 { Part::Context(id.saturating_add(1)) } else { Part::None };
                    let (context, bit) = (data.context(id), 1 << id);
                    let was_given = self.contexts & bit != 0;
                    if context.is_some() {
                        self.contexts |= bit;
                    } else {
                        self.contexts &= !bit;
                    }
                    if context.is_some() || was_given {
                        return Some(Change::Context { id, context });
                    }
                }
                Part::None => {}
            }
        }
        None
    }

    /// Returns the mesh for inspection.
    pub const fn mesh(&self) -> &Mesh<S> {
        &self.mesh
    }
}

/// Returns the address with this prefix of the node with this short address.
fn address(prefix: Ipv6Addr, short: u16) -> Ipv6Addr {
    let identifier = derived_iid(Address::Short(short)).map_or(0, u64::from_be_bytes);
    Ipv6Addr::from_bits(prefix.to_bits() >> 64 << 64 | u128::from(identifier))
}

fn towards(next: Option<u16>) -> Option<NextHop> {
    next.map(|next| NextHop::Link(Address::Short(next)))
}

impl<S: Sizes> Routing for Meshed<S> {
    const NONE: Self = Meshed::of(Mesh::new(MeshConfig::OFF), Ipv6Addr::UNSPECIFIED);
    const PORT: Option<u16> = Some(PORT);
    const GIVES_ADDRESSES: bool = S::Data::LEN > 0;
    type Additions = NoHeaders;
    type Waiting<H: Copy + Debug> = [Option<H>; 0];

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        let role = self.mesh.config().role;
        if role == Role::Off {
            return None;
        }
        if !same_prefix(dst, self.prefix, PREFIX_LEN) {
            // A border router has a route of its own.
            let via = towards(self.mesh.default_next_hop());
            return (role != Role::BorderRouter).then_some(Learnt { prefix_len: 0, via });
        }
        let via = match link_address_of(dst) {
            Address::Short(short) => towards(self.mesh.next_hop(short)),
            _ => None,
        };
        Some(Learnt { prefix_len: PREFIX_LEN, via })
    }

    fn is_on(&self) -> bool {
        self.mesh.config().role != Role::Off
    }

    fn listens(&self) -> bool {
        self.mesh.listens()
    }

    fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8, _: u8) {
        self.mesh.handle_heard(now, from, rssi_dbm);
    }

    fn handle_asked(&mut self, now: Instant, from: u16) {
        self.mesh.handle_asked(now, from);
    }

    fn handle_sent(&mut self, now: Instant, to: Address, _: u8, acked: bool) {
        if let Address::Short(to) = to {
            self.mesh.handle_sent(now, to, acked);
        }
    }

    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]) {
        // The mesh counts its own discards.
        let _ = self.mesh.handle_message(now, from, rssi_dbm, message);
    }

    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        let out = self.mesh.poll_message(now, buf)?;
        let to = match out.to {
            Destination::Broadcast => Address::BROADCAST,
            Destination::Short(to) => Address::Short(to),
        };
        Some(Message { to, len: out.len })
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.mesh.stats().reasons().for_each(|(reason, count)| each("mesh", reason, count));
    }

    fn relations(&self, each: &mut EachRelation<'_>) {
        // The parent of a router is the next hop of its route out of the mesh.
        let parent = self.mesh.default_next_hop();
        let children = self.mesh.children().map(|child| ("child", child));
        let neighbours = self.mesh.neighbours().map(|neighbour| ("neighbour", neighbour.short));
        let all = parent.map(|parent| ("parent", parent)).into_iter().chain(children);
        all.chain(neighbours)
            .for_each(|(what, short)| each(what, link_local(Address::Short(short))));
    }

    fn poll_change(&mut self) -> Option<Change> {
        loop {
            if Self::GIVES_ADDRESSES
                && let Some(change) = self.poll_part()
            {
                return Some(change);
            }
            return Some(match self.mesh.poll_change()? {
                change::Change::Data => {
                    self.part = Part::FormerAddress;
                    continue;
                }
                change::Change::ParentChanged(parent) => Change::Parent(parent),
                change::Change::ChildAdded { child, sleeps: true } => Change::Child(child),
                // No packets have to wait for it.
                change::Change::ChildAdded { sleeps: false, .. } => continue,
                change::Change::ChildRemoved(child) => Change::NoChild(child),
            });
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.mesh.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.mesh.handle_deadline(now);
    }
}
