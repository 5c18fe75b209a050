//! Neighbour discovery, of a host and of routers of all kinds: messages, outcomes of frames,
//! waiting packets and time in any order.

use crate::input::Input;
use core::net::Ipv6Addr;
use kinglet_nd::{
    Advertised, Autoconfigured, Border, DefaultRouter, Discovery, MAX_LEN, NameServer, NdConfig,
    Neighbour, Offer, Offered, Registered, Reporting, RouterSizes, Server, Serving, Sizes,
};
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::nd::{BorderRouter, ContextInformation, Message, PrefixInformation};

const NEIGHBOURS: usize = 3;
const REGISTRATIONS: usize = 4;

struct Plan;

impl Sizes for Plan {
    type Neighbours = [Option<Neighbour>; NEIGHBOURS];
    type Routers = [Option<DefaultRouter>; 2];
    type Addresses = [Option<Autoconfigured>; 2];
    type Contexts = [Option<Advertised>; 2];
    type Servers = [Option<Server>; 1];
    type Role = Option<Serving<Self>>;
    type Listener = Reporting;
}

impl RouterSizes for Plan {
    type Registrations = [Option<Registered>; REGISTRATIONS];
    type Prefixes = [Option<Offered<PrefixInformation>>; 1];
    type Contexts = [Option<Offered<ContextInformation>>; 16];
    type Servers = [Option<Offered<NameServer>>; 1];
}

/// Four responses of the node. Of its router four with two messages each, four questions and two
/// updates. A question for each neighbour, address and router, and one about a given address.
const MESSAGES: usize = 4 + (4 * 2 + 4 + 2) + (NEIGHBOURS + 3 + 1 + 1);
/// Two for each neighbour; addresses, contexts, the hop limit.
const CHANGES: usize = 2 * NEIGHBOURS + 2 * 2 + 2 * 2 + 1;

/// One of a few addresses of all kinds; 1 is the node's own.
fn address(n: u8) -> Ipv6Addr {
    let last = u16::from(n >> 2);
    match n & 3 {
        0 => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, last),
        1 => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0xff, 0xfe00, last),
        2 => Ipv6Addr::new(0xfd00, 0, 0, 0, 1, 2, 3, last),
        _ if last == 0 => Ipv6Addr::UNSPECIFIED,
        _ => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, last),
    }
}

fn owns(address: &Ipv6Addr) -> bool {
    address.segments()[7] == 1 && !address.is_multicast()
}

fn made(setup: u8) -> Discovery<Plan> {
    let mut config = NdConfig::new(Address::Short(1), [1; 8], 0xabcd, setup.into());
    config.autoconfigures = setup & 1 != 0;
    config.reports = setup & 0x20 != 0;
    let border = BorderRouter { version: 1, valid_min: 1, address: address(0x11) };
    let border = match setup >> 1 & 7 {
        0 => Border::This(border),
        1 => Border::Other(border),
        2 => Border::Learnt,
        3 => Border::Absent,
        _ => return Discovery::new(config),
    };
    Discovery::with_role(config, Some(Serving::new(Offer::new(border))))
}

/// Tables stay bounded, messages can be parsed, draining ends, and no deadline is stale.
pub fn nd_messages(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(setup) = input.octet() else { return };
    let mut nd = made(setup);
    while let Some(call) = input.octet() {
        let (now, node) = (input.now(), call >> 3);
        let link = Address::Short(u16::from(node));
        match call % 8 {
            0 => drop(input.later()),
            1 => nd.handle_sent(now, link, node & 16 != 0),
            2 => drop(nd.want(now, address(node))),
            3 => {
                let now = input.skip_to(nd.deadline().unwrap_or(now));
                // Advertised lifetimes may last until the end of time.
                if now + Duration::from_micros(1) == now {
                    return;
                }
                nd.handle_deadline(now);
                drain(&mut nd, &input);
                // A message that waits for its response may be due before it is due again.
                nd.handle_deadline(now);
                assert!(nd.deadline().is_none_or(|next| next > now), "no stale deadline");
            }
            4 if node & 1 == 0 => nd.handle_use(now, address(node)),
            4 => nd.add_address(address(node)),
            _ => {
                let [src, dst] = [(); 2].map(|()| address(input.octet().unwrap_or(0)));
                let octets = input.octets();
                let hop_limit = if call % 8 == 5 { 64 } else { 255 };
                let (traffic_class, flow_label, next_header) = (0, 0, 58);
                let payload_len = octets.len() as u16;
                let header = Header {
                    traffic_class,
                    flow_label,
                    payload_len,
                    next_header,
                    hop_limit,
                    src,
                    dst,
                };
                let _ = nd.handle_message(now, link, &header, octets, owns);
            }
        }
        drain(&mut nd, &input);
        let registered = nd.role().as_ref().map_or(0, |it| it.registrations().count());
        assert!(nd.neighbours().count() <= NEIGHBOURS && registered <= REGISTRATIONS);
    }
}

fn drain(nd: &mut Discovery<Plan>, input: &Input<'_>) {
    let mut buf = [0; MAX_LEN];
    let mut messages = 0;
    while let Some(out) = nd.poll_message(input.now(), &mut buf) {
        messages += 1;
        assert!(messages <= MESSAGES, "draining ends");
        assert!(Message::parse(&buf[..out.len]).is_ok());
        assert!(out.via.is_some() == (out.hop_limit == 255));
    }
    let mut groups = (0..3).map(|n| Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, n));
    if let Some(out) = nd.poll_report(input.now(), &mut groups, &mut buf) {
        assert!(out.len <= 68 && out.hop_limit == 1);
        assert_eq!(nd.poll_report(input.now(), &mut groups, &mut buf), None);
    }
    let changes = (0..=CHANGES)
        .take_while(|_| nd.poll_change().is_some() || nd.poll_configured(input.now()).is_some());
    assert!(changes.count() <= CHANGES, "draining ends");
}
