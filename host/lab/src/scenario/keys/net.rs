//! Keys of the network layer and of routing.

use crate::scenario::table::{Bound, Key, Value, choice, flag, number, whole};
use crate::scenario::{Flash, Fragments, Objective, Routing, Scenario, topology};
use kinglet::aodv::Metric;
use kinglet::net::{BorderPolicy, QueueDiscipline, Red};
use kinglet::rpl::Mode;

/// `[net]`.
pub(in crate::scenario) const NET: &[Key<Scenario>] = &[
    Key::<Scenario>::new(
        "queue",
        choice!(net.queue;
            "tail-drop" => QueueDiscipline::TailDrop,
            "red" => QueueDiscipline::Red(Red::DEFAULT)),
        "of relays; `\"red\"` is random early detection, which marks packets of ECN-capable \
         senders (`[tcp] ecn`) and drops others",
    ),
    Key::<Scenario>::new(
        "routing",
        choice!(routing;
            "static" => Routing::Static, "mesh" => Routing::Mesh, "rpl" => Routing::Rpl,
            "aodv" => Routing::Aodv),
        "shortest paths, computed beforehand; or nodes tell each other what they hear, and leaves \
         look for a parent unless they are given one (`parent`): a mesh of up to 1024 routers and \
         1024 leaves, whose ways cost up to 15; or RPL with MRHOF, whose root is the border \
         router, or node 0 if there is none, for up to 1024 routers; or nst-AODV, which seeks ways \
         of up to 16 hops when packets need them, without leaves",
    ),
    Key::<Scenario>::new(
        "route",
        Value::Apart,
        "static routes, in tables of `node` (who has it), `destination` and `next_hop`; with one \
         of them no others are computed",
    )
    .allowed("tables")
    .default("cheapest paths"),
    Key::<Scenario>::new(
        "aodv_metric",
        choice!(aodv_metric; "hop-count" => Metric::HopCount, "path-dr" => Metric::PathDr),
        "which way is best: the shortest, or that with the highest product of its links' delivery \
         ratios, as their LQI tells; also where pairs are drawn (`[pairs]`)",
    ),
    Key::<Scenario>::new(
        "aodv_doubts",
        flag!(aodv_doubts),
        "a neighbour that has acknowledged frames within the last second is asked whether it is \
         still there before its link counts as broken, and who loses a way that its packets need \
         seeks another at once; or each frame that is given up breaks its link, and the next \
         packet seeks (nst-AODV)",
    )
    .needs("routing = \"aodv\""),
    Key::<Scenario>::new(
        "hop_m",
        number!(0.0..=topology::ANY_HOP_M, hop_m),
        "static routes have no hop that is longer, though nodes may hear each other beyond, m",
    )
    .default("none is too long"),
    Key::<Scenario>::new(
        "fragments",
        choice!(fragments;
            "reassembled" => Fragments::Reassembled, "forwarded" => Fragments::Forwarded),
        "of packets that are longer than a frame: put together by every router (RFC 4944), or \
         passed on one by one (RFC 8930), from a queue of 256 frames in each router",
    ),
    Key::<Scenario>::new(
        "flash",
        choice!(flash; "none" => Flash::None, "m25p80" => Flash::M25p80),
        "where such a queue is when it is long: in memory, or in a serial flash of routers",
    )
    .needs("fragments"),
    Key::<Scenario>::new(
        "rpl_mode",
        choice!(rpl.mode; "storing" => Mode::Storing, "non-storing" => Mode::NonStoring),
        "how packets find their way down: by tables in the routers, or by a source route from the \
         root",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_objective",
        choice!(rpl.objective; "mrhof" => Objective::Mrhof, "of0" => Objective::Of0),
        "what ranks are made of: transmissions, or hops, which is all that RIOT knows",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_option",
        flag!(rpl.option),
        "packets carry the RPL option (RFC 6553), by which routers find loops: 8 octets, and an \
         outer header for what comes from the host",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_compression",
        flag!(rpl.compression),
        "the root has what RPL adds to packets written as 6LoWPAN Routing Headers (RFC 8138, \
         9035), from which used hops are gone",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_addresses",
        flag!(rpl.addresses),
        "nodes other than the root have no address until the prefix in DIOs gives them one",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_load",
        flag!(rpl.load),
        "routers say when their queues have been nearly full, and others rather have a parent with \
         room",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "tinyrpl_never_renews",
        flag!(rpl.never_renews),
        "TinyRPL's fault: a way down is gone twenty minutes after it was made, though DAOs came, \
         until the next one comes",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "discovery",
        flag!(discovery),
        "nodes answer neighbour solicitations (RFC 4861), and ask for link addresses that an \
         address does not tell; static routes name link addresses, so that nobody asks unless \
         strangers are near",
    ),
    Key::<Scenario>::new(
        "registration",
        flag!(registration),
        "6LoWPAN's discovery (RFC 6775, 8505) besides: the border router, or node 0 if there is \
         none, is a 6LBR, routers are 6LRs, and leaves register their addresses with their \
         parents, hosts with a router that they hear; for up to 2048 addresses",
    ),
    Key::<Scenario>::new(
        "listener_reports",
        flag!(listener_reports),
        "nodes with `discovery` or `registration` tell routers which multicast groups they are in \
         (MLDv2, RFC 3810), which nobody needs on this link",
    ),
    Key::<Scenario>::new(
        "context",
        Value::Apart,
        "6LoWPAN contexts (RFC 6282 §3.1.2), in tables of `id` (0 to 3) and `prefix` \
         (`\"fd00::/64\"`)",
    )
    .allowed("tables")
    .default("0: the prefix of all nodes; 1: the host's address"),
    Key::<Scenario>::new(
        "contexts_from",
        choice!(contexts_advertised; "scenario" => false, "border-router" => true),
        "all nodes know the contexts from the start; or the border router does, and advertises \
         them (6CO)",
    ),
    Key::<Scenario>::new(
        "mtu",
        whole!(1280..=1552, net.mtu: u16),
        "octets of the longest IPv6 packet that the mesh takes; a host's packets of 1500 octets \
         need no shorter segments then",
    ),
    Key::<Scenario>::new(
        "relays_yield",
        flag!(relays_yield),
        "a relay's own TCP segments leave room for what it relays",
    ),
    Key::<Scenario>::new(
        "queue_packets",
        whole!(1..=20, net.queue_limit: u8),
        "so many may wait for the radio of a router before it drops what it is to relay",
    ),
    Key::<Scenario>::new(
        "border_queue_packets",
        Value::Whole {
            range: 1..=64,
            bound: Bound::No,
            get: |t| t.border_queue.map(u64::from),
            set: |t, packets| t.border_queue = Some(packets as u8),
        },
        "so many may wait there at the border router",
    )
    .default("as many as it has room for: 64"),
    Key::<Scenario>::new(
        "border_queue",
        choice!(net.border;
            "shared" => BorderPolicy::Shared,
            "fair" => BorderPolicy::Fair),
        "what comes from the host waits at the border router with what it relays; or in a queue of \
         its own, in which each destination gets its share, and the one with most packets loses \
         its oldest if there is no room",
    ),
];
