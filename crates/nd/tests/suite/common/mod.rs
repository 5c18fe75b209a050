//! Memory plans that the tests share.
#![allow(unreachable_pub, reason = "a module of test files")]

use kinglet_nd::{
    Advertised, Autoconfigured, DefaultRouter, NameServer, Neighbour, Offered, Registered,
};
use kinglet_nd::{Reporting, RouterSizes, Server, Serving, Sizes};
use kinglet_wire::nd::{ContextInformation, PrefixInformation};

pub const NEIGHBOURS: usize = 4;
pub const REGISTRATIONS: usize = 6;

/// Memory plan of a host.
pub struct Plan;

impl Sizes for Plan {
    type Neighbours = [Option<Neighbour>; NEIGHBOURS];
    type Routers = [Option<DefaultRouter>; 2];
    type Addresses = [Option<Autoconfigured>; 2];
    type Contexts = [Option<Advertised>; 2];
    type Servers = [Option<Server>; 1];
    type Role = ();
    type Listener = Reporting;
}

/// Memory plan of a router.
pub struct Serves;

impl Sizes for Serves {
    type Neighbours = [Option<Neighbour>; NEIGHBOURS];
    type Routers = [Option<DefaultRouter>; 2];
    type Addresses = [Option<Autoconfigured>; 2];
    type Contexts = [Option<Advertised>; 2];
    type Servers = [Option<Server>; 1];
    type Role = Serving<Self>;
    type Listener = Reporting;
}

impl RouterSizes for Serves {
    type Registrations = [Option<Registered>; REGISTRATIONS];
    type Prefixes = [Option<Offered<PrefixInformation>>; 2];
    type Contexts = [Option<Offered<ContextInformation>>; 16];
    type Servers = [Option<Offered<NameServer>>; 2];
}
