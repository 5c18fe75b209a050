//! Configuration of a node in a RPL network, and the sizes of its tables.

use crate::dao::Route;
use crate::objective::Objective;
use crate::parents::Candidate;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::Duration;
use kinglet_wire::lollipop::Counter;
use kinglet_wire::rpl::{Configuration, PrefixInformation, RouteInformation};

/// Role of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// No part in routing.
    #[default]
    Off,
    /// Has a parent, and forwards for no other node (RFC 6550, 8.5).
    Leaf,
    /// Forwards for other nodes.
    Router,
    /// The root of a DODAG.
    Root(Root),
}

/// Downward routing (RFC 6550, 6.3.1, Mode of Operation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// 0: no downward routes.
    UpwardOnly,
    /// 1: by a source route from the root.
    NonStoring,
    /// 2: by tables in the routers. Of 3, which has multicast routes as well, this is the part that
    /// a leaf needs.
    Storing,
}

impl Mode {
    pub(crate) const fn of(value: u8) -> Option<Mode> {
        match value {
            0 => Some(Mode::UpwardOnly),
            1 => Some(Mode::NonStoring),
            2 | 3 => Some(Mode::Storing),
            _ => None,
        }
    }

    pub(crate) const fn value(self) -> u8 {
        match self {
            Mode::UpwardOnly => 0,
            Mode::NonStoring => 1,
            Mode::Storing => 2,
        }
    }
}

/// Configuration of a DODAG at its root.
//= rfc6550#18.2.3-2 rfc6550#18.2.5-1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// DODAGID: a routable address of the root.
    pub dodag_id: Ipv6Addr,
    /// Mode of Operation.
    pub mode: Mode,
    /// True if the DODAG is grounded.
    pub grounded: bool,
    /// DODAGPreference, 0 to 7.
    pub preference: u8,
    /// DODAG Configuration, the same for all nodes.
    pub configuration: Configuration,
    /// Prefix from which addresses are formed.
    pub prefix: Option<PrefixInformation>,
    /// Prefix of external destinations that are reached through the root.
    pub route: Option<RouteInformation>,
    /// Version and DTSN with which it begins: [`Sequence::next`] of the last ones of its former
    /// life, if it has kept them. `None` begins with 240 and a random DTSN of 128 to 255; either
    /// way the version is above those that other nodes remember and report at the start.
    pub sequence: Option<Sequence>,
}

/// DODAGVersionNumber and DTSN of a root, which it keeps over a restart (RFC 6550, 7.2). Nodes
/// ignore an older version, and take an unchanged DTSN for no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// DODAGVersionNumber.
    pub version: u8,
    /// Destination Advertisement Trigger Sequence Number.
    pub dtsn: u8,
}

impl Sequence {
    /// Returns those that come after these.
    #[must_use]
    pub const fn next(self) -> Self {
        Sequence {
            version: Counter::new(self.version).next().value(),
            dtsn: Counter::new(self.dtsn).next().value(),
        }
    }
}

impl Root {
    /// Returns a grounded root with MRHOF, whose prefix is the first 64 bits of `dodag_id`.
    pub const fn new(dodag_id: Ipv6Addr, mode: Mode) -> Self {
        let prefix = PrefixInformation {
            prefix_len: 64,
            on_link: false,
            autonomous: true,
            router_address: true,
            valid_secs: u32::MAX,
            preferred_secs: u32::MAX,
            prefix: dodag_id,
        };
        Root {
            dodag_id,
            mode,
            grounded: true,
            preference: 0,
            configuration: CONFIGURATION,
            prefix: Some(prefix),
            route: None,
            sequence: None,
        }
    }
}

/// Imin 512 ms and eight doublings; MRHOF with a MinHopRankIncrease of one transmission (RFC 6719,
/// 3.5); a MaxRankIncrease of seven hops of four transmissions; routes with a lifetime of half an
/// hour.
pub const CONFIGURATION: Configuration = Configuration {
    authentication: false,
    skips_unknown: true,
    compressed: false,
    path_control_size: 0,
    interval_doublings: 8,
    interval_min: 9,
    redundancy: 10,
    max_rank_increase: 7 * 4 * 128,
    min_hop_rank_increase: 128,
    objective: 1,
    default_lifetime: 30,
    lifetime_unit_secs: 60,
};

/// Probing of links over which nothing is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Probing {
    /// No probes: link estimates become outdated.
    #[default]
    Passive,
    /// Sends a unicast DIO, or a DIS from a leaf, after this time without any frame to the
    /// neighbour.
    After(Duration),
}

/// Configuration of a [`Rpl`](crate::Rpl).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RplConfig {
    /// Role of this node.
    pub role: Role,
    /// RPLInstanceID of the one instance, 0 to 127. `None`: a root has instance 0, all other nodes
    /// join any instance that is advertised.
    pub instance: Option<u8>,
    /// Interface identifier of the link-local address and of the address formed from the prefix.
    pub identifier: u64,
    /// Seed of the random delays. It must differ from node to node.
    pub seed: u64,
    /// Noise floor in dBm. The margin of a neighbour's signal above it gives the expected cost of
    /// an unused link. OpenThread takes −100 where a radio does not report one.
    pub noise_floor_dbm: i8,
    /// Probing of links.
    pub probing: Probing,
    /// True if DAOs request an acknowledgement, and are repeated without one.
    pub acknowledged: bool,
    /// True if packets get the RPL option here (RFC 6553). Without it only the hop limit ends a
    /// loop, as in networks of systems that insert none, such as RIOT's.
    pub option: bool,
    /// True if a node with a usable parent moves to another DODAG that is grounded where its own is
    /// not, or is preferred to it (RFC 6550, 8.2.2.2). Default false: otherwise one message can
    /// make a node move, and nothing in RFC 6550 shows which nodes may be roots.
    pub joins_better_dodag: bool,
    /// True if this node announces a full queue, and prefers parents without one. The queue is
    /// reported by [`Rpl::handle_queue`](crate::Rpl::handle_queue).
    pub load: bool,
}

impl RplConfig {
    /// A node that takes no part in routing.
    pub const OFF: RplConfig = RplConfig::new(Role::Off, 0, 0);

    /// Returns the defaults: any instance, no probes, DAOs acknowledged, packets with the option.
    pub const fn new(role: Role, identifier: u64, seed: u64) -> Self {
        let (instance, probing, acknowledged, option) = (None, Probing::Passive, true, true);
        let (load, joins_better_dodag, noise_floor_dbm) = (false, false, -100);
        RplConfig {
            noise_floor_dbm,
            role,
            instance,
            identifier,
            seed,
            probing,
            acknowledged,
            option,
            joins_better_dodag,
            load,
        }
    }
}

/// A memory plan.
//= rfc6550#18.6-1
pub trait Sizes {
    /// The objective functions of this node.
    type Objective: Objective;
    /// Parent candidates; at least one.
    type Candidates: Array<Option<Candidate>>;
    /// Targets. In storing mode these are the nodes below this one; in non-storing mode at the root
    /// all nodes of the DODAG; elsewhere this node's leaves that do not know RPL.
    type Routes: Array<Option<Route>>;
}
