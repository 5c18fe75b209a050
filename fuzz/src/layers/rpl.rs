//! RPL: messages, packets, outcomes of frames and time in any order.

use crate::input::Input;
use core::net::Ipv6Addr;
use kinglet_rpl::{
    Candidate, MAX_LEN, Mode, NextHop, Probing, Role, Root, Route, Rpl, RplConfig, Sizes, Standard,
};
use kinglet_time::Duration;
use kinglet_wire::rpl::{Message, PacketInformation};

const CANDIDATES: usize = 2;
const ROUTES: usize = 4;

struct Plan;

impl Sizes for Plan {
    type Objective = Standard;
    type Candidates = [Option<Candidate>; CANDIDATES];
    type Routes = [Option<Route>; ROUTES];
}

const OWN: u8 = 7;
/// Four replies, messages to a former parent and to a parent, a DIS, a DIO.
const MESSAGES: usize = 4 + 2 * (ROUTES + 1) + 2;

fn near(n: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, n.into())
}

fn address(n: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n.into())
}

/// Tables stay bounded, messages can be parsed, and no next hop is the node itself.
pub fn rpl_messages(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(setup) = input.octet() else { return };
    let mode = [Mode::Storing, Mode::NonStoring, Mode::UpwardOnly][usize::from(setup >> 4) % 3];
    let role = match setup % 4 {
        0 | 1 => Role::Router,
        2 => Role::Leaf,
        _ => Role::Root(Root::new(address(OWN), mode)),
    };
    let config = RplConfig::new(role, OWN.into(), setup.into());
    let probing = match setup & 8 {
        0 => Probing::Passive,
        _ => Probing::After(Duration::from_secs(9)),
    };
    let mut rpl: Rpl<Plan> =
        Rpl::new(RplConfig { probing, acknowledged: setup & 4 == 0, ..config });
    while let Some(call) = input.octet() {
        let (now, from) = (input.now(), call >> 5);
        match call % 8 {
            0 => drop(input.later()),
            1 => rpl.handle_sent(now, near(from), from, call & 8 != 0),
            // Packets come from neighbours; without a route they go back there.
            2 if from != OWN => {
                let [flags, to, rank] = [(); 3].map(|()| input.octet().unwrap_or(0));
                let octets = [flags & 0xe0, flags & 1, 0, rank];
                let information = PacketInformation::read(&octets).ok();
                let onward = rpl.relay(now, near(from), address(to), information);
                if let Ok(onward) = onward {
                    assert_ne!(onward.next_hop, NextHop::Neighbour(near(OWN)));
                }
            }
            3 => {
                let now = input.skip_to(rpl.deadline().unwrap_or(now));
                // Advertised intervals may last until the end of time.
                if now + Duration::from_micros(1) == now {
                    return;
                }
                rpl.handle_deadline(now);
                assert!(rpl.deadline().is_none_or(|next| next > now), "no stale deadline");
            }
            _ => {
                let octets = input.octets();
                let Some((&code, body)) = octets.split_first() else { continue };
                let from = if call & 24 == 24 { address(from) } else { near(from) };
                let _ = rpl.handle_message(now, from, -60, call & 8 == 0, code, body);
            }
        }
        drain(&mut rpl, &input);
        let info = rpl.info();
        assert!(info.candidates <= CANDIDATES && info.routes <= ROUTES);
    }
}

fn drain(rpl: &mut Rpl<Plan>, input: &Input<'_>) {
    let mut buf = [0; MAX_LEN];
    let mut messages = 0;
    while let Some(out) = rpl.poll_message(input.now(), &mut buf) {
        messages += 1;
        assert!(messages <= MESSAGES, "draining ends");
        assert!(Message::parse(out.code, &buf[..out.len]).is_ok());
    }
    assert!((0..3).take_while(|_| rpl.poll_change().is_some()).count() < 3, "draining ends");
}
