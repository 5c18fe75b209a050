//! What a node is in a RPL network, and how large its tables are.

use crate::dao::Route;
use crate::objective::Objective;
use crate::parents::Candidate;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::Duration;
use kinglet_wire::rpl::{Configuration, PrefixInformation, RouteInformation};

/// What a node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    #[default]
    Off,
    /// Has a parent, relays for nobody (RFC 6550, 8.5).
    Leaf,
    /// Relays for others.
    Router,
    /// The root of a DODAG.
    Root(Root),
}

/// How packets find their way down (RFC 6550, 6.3.1, Mode of Operation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// 0: not at all.
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

/// What a root tells of its DODAG.
//= rfc6550#18.2.3-2 rfc6550#18.2.5-1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// DODAGID: a routable address of the root.
    pub dodag_id: Ipv6Addr,
    /// How packets find their way down.
    pub mode: Mode,
    /// Whether the DODAG leads to where it should.
    pub grounded: bool,
    /// DODAGPreference, 0 to 7.
    pub preference: u8,
    /// The same for all of the DODAG.
    pub configuration: Configuration,
    /// The prefix that addresses are made of.
    pub prefix: Option<PrefixInformation>,
    /// A prefix outside that is reached through the root.
    pub route: Option<RouteInformation>,
}

impl Root {
    /// A grounded root with MRHOF, whose prefix is the first 64 bits of `dodag_id`.
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
        }
    }
}

/// Imin 512 ms and eight doublings; MRHOF with a MinHopRankIncrease of one transmission
/// (RFC 6719, 3.5), and seven hops of four transmissions as the most that a rank may rise; routes
/// live for half an hour.
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

/// How links to neighbours are tried when nothing is sent over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Probing {
    /// Not at all: what is known of them goes stale.
    #[default]
    Passive,
    /// By a unicast DIO, or a DIS of a leaf, after so long without any frame to them.
    After(Duration),
}

/// What a [`Rpl`](crate::Rpl) is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What this node does.
    pub role: Role,
    /// RPLInstanceID of the one instance, 0 to 127. `None`: a root has instance 0, all others join
    /// whichever is advertised.
    pub instance: Option<u8>,
    /// The interface identifier: of its link-local address, and of one made of the prefix.
    pub identifier: u64,
    /// Decides the random delays. Must differ from node to node.
    pub seed: u64,
    /// Noise floor in dBm: how much stronger a neighbour is heard tells what is expected of a link
    /// before it was used. OpenThread takes −100 where a radio does not report one.
    pub noise_floor_dbm: i8,
    /// How links are tried.
    pub probing: Probing,
    /// Whether DAOs ask for an acknowledgement and are sent again without one.
    pub acknowledged: bool,
    /// Whether packets get the RPL option here (RFC 6553). Without it only the hop limit ends a
    /// loop, as in networks of systems that insert none, such as RIOT's.
    pub option: bool,
    /// Whether a node with a usable parent goes to another DODAG that is grounded where its own is
    /// not, or is preferred to it (RFC 6550, 8.2.2.2). Default false: with this, one message takes
    /// a node away, and nothing in RFC 6550 shows which nodes may be roots.
    pub seeks_better: bool,
    /// Whether this node says when its queue is full, and rather has a parent that does not say so:
    /// what [`Rpl::handle_queue`](crate::Rpl::handle_queue) is told of counts.
    pub load: bool,
}

impl Config {
    /// A node that takes no part.
    pub const OFF: Config = Config::new(Role::Off, 0, 0);

    /// Any instance, no probes, DAOs acknowledged, packets with the option.
    pub const fn new(role: Role, identifier: u64, seed: u64) -> Self {
        let (instance, probing, acknowledged, option) = (None, Probing::Passive, true, true);
        let (load, seeks_better, noise_floor_dbm) = (false, false, -100);
        Config {
            noise_floor_dbm,
            role,
            instance,
            identifier,
            seed,
            probing,
            acknowledged,
            option,
            seeks_better,
            load,
        }
    }
}

/// A memory plan.
//= rfc6550#18.6-1
pub trait Sizes {
    /// The objective functions that this node knows.
    type Objective: Objective;
    /// Neighbours that may be parents; one at the least.
    type Candidates: Array<Option<Candidate>>;
    /// Targets. In storing mode the nodes below this one, in non-storing mode at the root all of
    /// the DODAG, elsewhere leaves of this node that know no RPL.
    type Routes: Array<Option<Route>>;
}
