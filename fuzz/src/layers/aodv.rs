//! AODV: messages, packets, outcomes of frames and time in any order.

use crate::input::Input;
use kinglet_aodv::{
    Aodv, AodvConfig, Discard, Link, MAX_LEN, Metric, OUTSIDE, Request, Role, Route, Search, Sizes,
};

const ROUTES: usize = 4;
const REQUESTS: usize = 3;
const SEARCHES: usize = 2;
const LINKS: usize = 3;

struct Plan;

impl Sizes for Plan {
    type Routes = [Option<Route>; ROUTES];
    type Requests = [Option<Request>; REQUESTS];
    type Searches = [Option<Search>; SEARCHES];
    type Links = [Option<Link>; LINKS];
}

const OWN: u16 = 1;
/// Four replies, a request of each flood and each search, and an error for each route.
const MESSAGES: usize = 4 + REQUESTS + SEARCHES + ROUTES;

/// AODV: tables stay bounded, no next hop is the node itself, and another node can parse all
/// messages.
pub fn aodv_messages(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(setup) = input.octet() else { return };
    let role = [Role::Router, Role::BorderRouter, Role::Off][usize::from(setup % 3)];
    let metric = if setup & 4 == 0 { Metric::PathDr } else { Metric::HopCount };
    let config = |short, role| AodvConfig { metric, ..AodvConfig::new(short, role, setup.into()) };
    let mut aodv: Aodv<Plan> = Aodv::new(config(OWN, role));
    let mut other: Aodv<Plan> = Aodv::new(config(2, Role::Router));
    while let Some(call) = input.octet() {
        let (now, from) = (input.now(), u16::from(call >> 5));
        match call % 8 {
            0 => drop(input.later()),
            1 => aodv.handle_sent(now, from, call & 8 != 0),
            2 => {
                let discovering = aodv.discover(now, if call & 8 != 0 { OUTSIDE } else { from });
                assert!(!discovering || aodv.is_discovering(OUTSIDE) || aodv.is_discovering(from));
            }
            3 => {
                let now = input.skip_to(aodv.deadline().unwrap_or(now));
                aodv.handle_deadline(now);
                assert!(aodv.deadline().is_none_or(|next| next > now), "no stale deadline");
            }
            4 => match call >> 3 & 3 {
                0 => aodv.handle_loop(now, from),
                1 => aodv.handle_stray(now, from, 3),
                2 => aodv.handle_use(now, Some(from), Some(OUTSIDE), None),
                _ => aodv.handle_use(now, None, Some(from), Some(2)),
            },
            _ => {
                aodv.handle_heard(now, from, call.wrapping_mul(7));
                let _ = aodv.handle_message(now, from, input.octets());
            }
        }
        drain(&mut aodv, &mut other, &input);
        for short in (0..8).chain([OUTSIDE, 0xFFFF]) {
            assert_ne!(aodv.next_hop(short), Some(OWN));
        }
        let info = aodv.info();
        assert!(info.routes <= ROUTES && info.requests <= REQUESTS);
        assert!(info.searches <= SEARCHES && info.links <= LINKS);
    }
}

/// Drains all messages; another node parses them.
fn drain(aodv: &mut Aodv<Plan>, other: &mut Aodv<Plan>, input: &Input<'_>) {
    let mut buf = [0; MAX_LEN];
    let mut messages = 0;
    while let Some(out) = aodv.poll_message(input.now(), &mut buf) {
        messages += 1;
        assert!(messages <= MESSAGES, "draining ends");
        other.handle_heard(input.now(), OWN, 200);
        let heard = other.handle_message(input.now(), OWN, &buf[..out.len]);
        let bad = matches!(heard, Err(Discard::Malformed(_) | Discard::OtherMetric));
        assert!(!bad, "{heard:?}");
    }
    let _ = aodv.poll_change();
    assert!(!aodv.poll_change(), "draining ends");
}
