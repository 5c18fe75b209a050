//! The plan for examples and tests.

use crate::child::{Child, Parked};
use crate::codec::Iphc;
use crate::net::{Rfc4944, Sizes};
use crate::outgoing::Queued;
use crate::partial::Partial;
use crate::pool::Slot;
use crate::socket::UdpSocket;
use crate::tables::{InterfaceAddress, Neighbour, Route};
use core::net::Ipv6Addr;
use kinglet_wire::sixlowpan::Context;

/// The smallest plan that makes sense, for examples and tests.
#[derive(Clone, Copy, Debug)]
pub struct Small;

impl Sizes for Small {
    type Storage = [u8; 1280];
    type Packets = [Slot<Self::Storage>; 4];
    type Reassembly = [Option<Partial>; 2];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 2];
    type Children = [Option<Child>; 0];
    type Indirect = [Option<Parked>; 0];
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 1];
    type Routes = [Option<Route>; 4];
    type Neighbours = [Option<Neighbour>; 2];
    type Contexts = [Option<Context>; 2];
    type Routing = ();
    type Discovery = ();
    type Fragmentation = Rfc4944;
    type Ipv6Fragments = ();
    type Border = ();
    type Headers = Iphc;
    type UdpSockets = [UdpSocket; 2];
}
