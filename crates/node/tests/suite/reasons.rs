//! Each layer of a profile reports the reasons why its packets end, under its name.

use crate::common::{config, usual};
use kinglet::nd::Serving;
use kinglet::{Aoded, Discovered, Meshed, Node, Rpled, aodv, mac, net, rpl, store};

kinglet::profile! {
    struct Sleeping {
        routing: Rpled<Self>,
        forwards: true,
        packets: 8,
        listening: mac::Waking<mac::AlwaysOn>,
        delivery_method: mac::Strobing<(), [mac::Strobed; 4], 1>,
        fragmentation: net::Rfc8930<[Option<net::Virtual>; 4], store::Ram<[store::Frame; 16]>>,
    }
}

impl rpl::Sizes for Sleeping {
    type Objective = rpl::Standard;
    type Candidates = [Option<rpl::Candidate>; 4];
    type Routes = [Option<rpl::Route>; 8];
}

kinglet::profile! {
    struct Border {
        routing: Meshed<Self>,
        discovery: Discovered<Self>,
        serving: Serving<Self>,
        border: net::BorderQueue<4>,
        discovered: 4,
        registrations: 4,
        prefixes: 1,
        forwards: true,
        packets: 8,
        host: 4,
    }
}

kinglet::profile! {
    struct Discoverer { routing: Aoded<Self> }
}

impl aodv::Sizes for Discoverer {
    type Routes = [Option<aodv::Route>; 4];
    type Requests = [Option<aodv::Request>; 3];
    type Searches = [Option<aodv::Search>; 2];
    type Links = [Option<aodv::Link>; 4];
}

/// Returns the names of the layers, in the order of the node's report.
macro_rules! layers {
    ($profile:ty) => {{
        let mut config = config(1, 1).unsecured();
        config.net.border = net::BorderPolicy::Fair;
        let node = Box::new(Node::<$profile>::new(config, usual()));
        let mut layers = Vec::new();
        node.reasons(|layer, _, count| {
            assert_eq!(count, 0, "{layer}");
            layers.push(layer);
        });
        layers.dedup();
        layers
    }};
}

#[test]
fn no_layer_of_a_profile_is_left_out() {
    assert_eq!(
        layers!(Sleeping),
        ["node", "mac", "wake", "strobe", "net", "relay", "store", "rpl", "tcp"]
    );
    assert_eq!(layers!(Border), ["node", "mac", "net", "border", "nd", "registry", "mesh", "tcp"]);
    assert_eq!(layers!(Discoverer), ["node", "mac", "net", "aodv", "tcp"]);
}
