//! The memory plan of a router with RPL and link security.

use kinglet::{Rpled, mac, rpl};
use std::net::Ipv6Addr;

/// All RPL nodes (RFC 6550, 6).
pub(crate) const ALL: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1A);

kinglet::profile! {
    pub(crate) struct Relay {
        routing: Rpled<Self>,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 8]>,
        forwards: true,
        packets: 8,
        addresses: 2,
    }
}

impl rpl::Sizes for Relay {
    type Objective = rpl::Standard;
    type Candidates = [Option<rpl::Candidate>; 4];
    type Routes = [Option<rpl::Route>; 4];
}
