//! Requirements of RFC 6775 and RFC 8505 (`compliance/*.toml`), tested with one node whose
//! neighbours are simulated here: a host or a router with the link address 1.

mod distribution;
mod duplicates;
mod host;
mod losses;
mod octets;
mod registrations;

use crate::common::{Plan, Serves};
use core::net::Ipv6Addr;
use kinglet_nd::{Border, Configured, Discard, Discovery, MAX_LEN, Message, NdConfig, Offer};
use kinglet_nd::{Serving, Sizes};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::nd::{self, BorderRouter, Builder, ContextInformation, Duplicate, Kind};
use kinglet_wire::nd::{NdOption, PrefixInformation, Registration, RouterAdvertisement};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);
/// Addresses of the node, and of the border router if that is another node.
const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, 1);
const ROOT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, 0xFFFE);

fn local(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, n)
}

/// Returns an address that does not contain the link address.
fn global(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0xA, 0xB, 0xC, n)
}

fn eui(n: u16) -> [u8; 8] {
    let [a, b] = n.to_be_bytes();
    [2, 2, 2, 2, 2, 2, a, b]
}

fn source(n: u16) -> NdOption<'static> {
    NdOption::SourceLinkAddress(Address::Short(n))
}

fn prefix(on_link: bool) -> PrefixInformation {
    let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
    let (autonomous, valid_s, preferred_s) = (true, 86_400, 86_400);
    PrefixInformation { prefix, len: 64, on_link, autonomous, valid_s, preferred_s }
}

fn context(compress: bool, valid_min: u16) -> ContextInformation {
    let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
    ContextInformation { id: 3, compress, prefix, len: 64, valid_min }
}

fn border(address: Ipv6Addr, version: u32) -> BorderRouter {
    BorderRouter { version, valid_min: 60, address }
}

/// Returns the registration that host `n` requests.
fn asks(n: u16, tid: Option<u8>, lifetime_min: u16) -> Registration {
    Registration { status: 0, opaque: (0, 0), routed: true, tid, lifetime_min, rovr: eui(n) }
}

/// A message that the node has sent.
#[derive(Clone, Debug)]
struct Sent {
    message: Message,
    octets: Vec<u8>,
}

impl Sent {
    fn kind(&self) -> Kind {
        nd::Message::parse(&self.octets).unwrap().kind()
    }

    fn options(&self) -> Vec<NdOption<'_>> {
        nd::Message::parse(&self.octets).unwrap().options().collect()
    }

    fn has(&self, option: &NdOption<'_>) -> bool {
        self.options().contains(option)
    }

    fn registration(&self) -> Option<Registration> {
        self.options().into_iter().find_map(|option| match option {
            NdOption::Registration(it) => Some(it),
            _ => None,
        })
    }

    fn border(&self) -> Option<BorderRouter> {
        self.options().into_iter().find_map(|option| match option {
            NdOption::BorderRouter(it) => Some(it),
            _ => None,
        })
    }

    fn duplicate(&self) -> Duplicate {
        let Kind::Duplicate(it) = self.kind() else { panic!("a duplicate address message") };
        it
    }
}

fn of_type(sent: &[Sent], kind: u8) -> Vec<Sent> {
    sent.iter().filter(|sent| sent.octets[0] == kind).cloned().collect()
}

/// The node and its clock.
struct Lone<S: Sizes> {
    nd: Discovery<S>,
    now: Instant,
}

fn config() -> NdConfig {
    NdConfig::new(Address::Short(1), eui(1), 0xABCD, 1)
}

fn host() -> Lone<Plan> {
    let config = NdConfig { autoconfigures: true, ..config() };
    let mut lone = Lone { nd: Discovery::new(config), now: Instant::from_secs(100) };
    lone.nd.handle_deadline(lone.now);
    lone
}

/// Returns a router that offers a prefix, unless it learns its offer.
fn router(border: Border) -> Lone<Serves> {
    let now = Instant::from_secs(100);
    let mut role = Serving::new(Offer::new(border));
    if border != Border::Learnt {
        role.offer_prefix(now, prefix(true)).unwrap();
    }
    Lone { nd: Discovery::with_role(config(), role), now }
}

/// Returns a 6LBR; `inner` returns a 6LR of another one.
fn root() -> Lone<Serves> {
    router(Border::This(border(OWN, 7)))
}

fn inner() -> Lone<Serves> {
    router(Border::Other(border(ROOT, 7)))
}

impl<S: Sizes> Lone<S> {
    fn hear(
        &mut self,
        src: Ipv6Addr,
        dst: Ipv6Addr,
        kind: Kind,
        options: &[NdOption<'_>],
    ) -> Result<(), Discard> {
        let mut buf = [0; 512];
        let mut builder = Builder::new(&mut buf, &kind).unwrap();
        options.iter().for_each(|option| builder.option(option).unwrap());
        let len = builder.len();
        self.hear_octets(src, dst, &buf[..len])
    }

    fn hear_octets(&mut self, src: Ipv6Addr, dst: Ipv6Addr, octets: &[u8]) -> Result<(), Discard> {
        let hop_limit = if (157..=158).contains(&octets[0]) { 61 } else { 255 };
        let (traffic_class, flow_label, next_header) = (0, 0, 58);
        let payload_len = octets.len() as u16;
        let header =
            Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
        let link = Address::Short(src.segments()[7]);
        let owns = |it: &Ipv6Addr| [OWN, local(1)].contains(it);
        self.nd.handle_message(self.now, link, &header, octets, owns)
    }

    fn sent(&mut self) -> Vec<Sent> {
        let (mut all, mut buf) = (Vec::new(), [0; MAX_LEN]);
        while let Some(message) = self.nd.poll_message(self.now, &mut buf) {
            all.push(Sent { message, octets: buf[..message.len].to_vec() });
            assert!(all.len() < 30);
        }
        all
    }

    fn run(&mut self, span: Duration) -> Vec<Sent> {
        let (end, mut all) = (self.now + span, self.sent());
        while let Some(at) = self.nd.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.nd.handle_deadline(self.now);
            all.extend(self.sent());
        }
        self.now = end;
        all
    }

    /// Processes an advertisement of router `n`.
    fn advertises(&mut self, n: u16, options: &[NdOption<'_>]) -> Result<(), Discard> {
        let kind = Kind::RouterAdvertisement(RouterAdvertisement {
            lifetime_s: 9_000,
            ..RouterAdvertisement::default()
        });
        let options = [&[source(n)], options].concat();
        self.hear(local(n), ALL_NODES, kind, &options)
    }

    fn configured(&mut self) -> Vec<Configured> {
        let now = self.now;
        std::iter::from_fn(|| self.nd.poll_configured(now)).collect()
    }

    /// Processes a registration of a target by host `n` from a source address.
    fn registers(
        &mut self,
        n: u16,
        (src, target): (Ipv6Addr, Ipv6Addr),
        asked: Registration,
    ) -> Result<(), Discard> {
        let options = [source(n), NdOption::Registration(asked)];
        self.hear(src, local(1), Kind::NeighbourSolicitation(target), &options)
    }

    /// Registers in the form of RFC 8505. Returns the status in the response.
    fn status(&mut self, n: u16, address: Ipv6Addr, tid: u8, lifetime_min: u16) -> Option<u8> {
        let asked = asks(n, Some(tid), lifetime_min);
        self.registers(n, (local(n), address), asked).ok()?;
        let answers = of_type(&self.sent(), 136);
        answers.first()?.registration().map(|it| it.status)
    }
}
