//! Keys of the network layer and of routing.

use crate::table::{Bound, Key, Value, choice, flag, number, whole};
use crate::{Flash, Fragments, Objective, Routing, Scenario, topology};
use kinglet::aodv::Metric;
use kinglet::net::{BorderPolicy, QueueDiscipline, Red};
use kinglet::rpl::Mode;

/// `[net]`.
pub(crate) const NET: &[Key<Scenario>] = &[
    Key::<Scenario>::new(
        "queue",
        choice!(net.queue;
            "tail-drop" => QueueDiscipline::TailDrop,
            "red" => QueueDiscipline::Red(Red::DEFAULT)),
        "queue management of relays; `\"red\"` is random early detection, which marks packets of \
         ECN-capable senders (`[tcp] ecn`) and drops others",
    ),
    Key::<Scenario>::new(
        "routing",
        Value::Choice {
            names: Routing::NAMES,
            get: |t| Routing::ALL.iter().position(|routing| *routing == t.routing),
            set: |t, place| {
                if let Some(routing) = Routing::ALL.get(place) {
                    t.routing = *routing;
                }
            },
        },
        Routing::TEXT,
    ),
    Key::<Scenario>::new(
        "route",
        Value::Apart,
        "static routes, in tables of `node` (the one with the route), `destination` and \
         `next_hop`; no others are computed then",
    )
    .allowed("tables")
    .default("cheapest paths"),
    Key::<Scenario>::new(
        "aodv_metric",
        choice!(aodv_metric; "hop-count" => Metric::HopCount, "path-dr" => Metric::PathDr),
        "the best route: the shortest, or the one with the highest product of its links' delivery \
         ratios, estimated from their LQI; also for drawing pairs (`[pairs]`)",
    ),
    Key::<Scenario>::new(
        "aodv_link_probes",
        flag!(aodv_link_probes),
        "a neighbour that has acknowledged frames within the last second is probed before its \
         link counts as broken, and a node that loses a route in use starts route discovery at \
         once; or each failed frame breaks its link, and the next packet starts route discovery \
         (nst-AODV)",
    )
    .needs("routing = \"aodv\""),
    Key::<Scenario>::new(
        "hop_m",
        number!(0.0..=topology::ANY_HOP_M, hop_m),
        "maximum length of a hop of a static route, m; nodes may receive each other beyond it",
    )
    .default("no limit"),
    Key::<Scenario>::new(
        "fragments",
        choice!(fragments;
            "reassembled" => Fragments::Reassembled, "forwarded" => Fragments::Forwarded),
        "forwarding of packets longer than a frame: each router reassembles them (RFC 4944), or \
         forwards fragments one by one (RFC 8930), from a queue of 256 frames in each router",
    ),
    Key::<Scenario>::new(
        "flash",
        choice!(flash;
            "none" => Flash::None,
            "m25p80" => Flash::M25p80,
            "m25p80-quarter" => Flash::QuarterOfM25p80),
        "memory of a long queue: RAM, a serial flash of routers, or a quarter of it with a queue \
         of 64 frames",
    )
    .needs("fragments"),
    Key::<Scenario>::new(
        "rpl_mode",
        choice!(rpl.mode; "storing" => Mode::Storing, "non-storing" => Mode::NonStoring),
        "downward routes: tables in the routers, or a source route from the root",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_objective",
        choice!(rpl.objective; "mrhof" => Objective::Mrhof, "of0" => Objective::Of0),
        "metric of the rank: transmissions, or hops, as in RIOT",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_option",
        flag!(rpl.option),
        "packets carry the RPL option (RFC 6553), with which routers detect loops: 8 octets, and \
         an outer header for packets from the host",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_compression",
        flag!(rpl.compression),
        "the root writes RPL's additions to packets as 6LoWPAN Routing Headers (RFC 8138, 9035); \
         used hops are removed from them",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_addresses",
        flag!(rpl.addresses),
        "nodes other than the root form their address from the prefix in DIOs",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "rpl_load",
        flag!(rpl.load),
        "routers advertise that their queues have been nearly full, and nodes prefer parents with \
         room",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "tinyrpl_routes_expire",
        flag!(rpl.routes_expire),
        "TinyRPL's fault: a downward route expires twenty minutes after its creation in spite of \
         later DAOs, until the next DAO creates it again",
    )
    .needs("routing = \"rpl\""),
    Key::<Scenario>::new(
        "discovery",
        flag!(discovery),
        "nodes answer neighbour solicitations (RFC 4861), and resolve link addresses that do not \
         follow from the IPv6 address; static routes include link addresses, so only other stacks \
         in range cause solicitations",
    ),
    Key::<Scenario>::new(
        "registration",
        flag!(registration),
        "in addition, 6LoWPAN neighbour discovery (RFC 6775, 8505): the border router, or node 0 \
         if there is none, is a 6LBR, and routers are 6LRs; leaves register their addresses with \
         their parents, hosts with a router in range; for up to 2048 addresses",
    ),
    Key::<Scenario>::new(
        "listener_reports",
        flag!(listener_reports),
        "nodes with `discovery` or `registration` report their multicast groups to routers \
         (MLDv2, RFC 3810); no node needs the reports on this link",
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
        "all nodes have the contexts from the start; or the border router has them and advertises \
         them (6CO)",
    ),
    Key::<Scenario>::new(
        "mesh_addresses",
        flag!(mesh_addresses),
        "the border router, or node 0 if there is none, announces prefix and contexts; the other \
         nodes have neither address nor contexts until they get them from the mesh",
    )
    .needs("routing = \"mesh\""),
    Key::<Scenario>::new(
        "mtu",
        whole!(1280..=1552, net.mtu: u16),
        "octets of the longest IPv6 packet in the mesh; the host's packets of 1500 octets then \
         need no shorter segments",
    ),
    Key::<Scenario>::new(
        "relays_yield",
        flag!(relays_yield),
        "a relay's own TCP segments yield to forwarded packets",
    ),
    Key::<Scenario>::new(
        "queue_packets",
        whole!(1..=20, net.queue_limit: u8),
        "packets that may wait for a router's radio before it drops packets to be forwarded",
    ),
    Key::<Scenario>::new(
        "border_queue_packets",
        Value::Whole {
            range: 1..=64,
            bound: Bound::No,
            get: |t| t.border_queue.map(u64::from),
            set: |t, packets| t.border_queue = Some(packets as u8),
        },
        "packets that may wait at the border router",
    )
    .default("its capacity, 64"),
    Key::<Scenario>::new(
        "border_queue",
        choice!(net.border;
            "shared" => BorderPolicy::Shared,
            "fair" => BorderPolicy::Fair),
        "packets from the host share the border router's forwarding queue; or they have a queue \
         of their own with fair queueing by destination, and the destination with most packets \
         loses its oldest one if the queue is full",
    ),
];
