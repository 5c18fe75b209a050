//! Discovery, RPL and the address beyond the network, of one of them.

use super::ip::{ALL_ROUTERS, ICMPV6, RPL_NODES, TCP, ip, is_right, packet, part};
use super::lowpan::{Eui, Ip, Partial, link_local, with_iid};
use super::tcp::{Tcp, port};
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// Role of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    /// A border router, with another address beyond it.
    Border,
    /// A 6LoWPAN node that is not a router.
    Host,
    /// The root of a DODAG, with another address beyond it.
    Root,
    /// A node of a DODAG.
    Member,
}

/// Address beyond border router and root.
pub(crate) const OUTSIDE: &str = "2001:db8::1";
pub(crate) const PREFIX: &str = "fd00:99::";
/// Time after which an unanswered message is repeated.
const AGAIN: Duration = Duration::from_millis(700);

pub(crate) struct Riot {
    pub(crate) eui: Eui,
    pub(crate) part: Part,
    pub(crate) context: Option<Ip>,
    pub(crate) tag: u16,
    pub(crate) partial: Option<Partial>,
    pub(crate) addresses: Vec<Ip>,
    /// The default router.
    router: Option<Eui>,
    /// A member's rank, and its DODAG.
    rank: u16,
    dodag: Ip,
    /// Next hops of registered hosts and of targets.
    pub(crate) routes: Vec<(Ip, Eui)>,
    /// True if it is registered, or its DAO acknowledged.
    pub(crate) is_known: bool,
    /// Type and code of received messages, and their senders.
    pub(crate) heard: Vec<(u8, u8, Ip)>,
    /// Identifiers of echo replies.
    pub(crate) replies: Vec<u16>,
    pub(crate) connections: Vec<(Ip, Ip, Tcp)>,
    out: VecDeque<(Option<Eui>, Vec<u8>)>,
    again: Instant,
}

impl fmt::Debug for Riot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:x?} {:x?} {:x?}", self.part, self.eui, self.heard, self.routes)
    }
}

impl Riot {
    pub(crate) fn new(part: Part, last: u8) -> Riot {
        let eui = [0x9e, 0xe1, 0x9f, 2, 1, 0x5a, 0xf2, last];
        let mut addresses = vec![link_local(eui)];
        let leads = matches!(part, Part::Border | Part::Root);
        if leads {
            addresses.extend([with_iid(&ip(PREFIX), eui), ip(OUTSIDE)]);
        }
        let context = (part == Part::Border).then(|| ip(PREFIX));
        let (partial, router, dodag) = (None, None, if leads { addresses[1] } else { [0; 16] });
        let mut riot = Riot {
            eui,
            part,
            context,
            tag: 0,
            partial,
            addresses,
            router,
            rank: if leads { 256 } else { u16::MAX },
            dodag,
            routes: Vec::new(),
            is_known: false,
            heard: Vec::new(),
            replies: Vec::new(),
            connections: Vec::new(),
            out: VecDeque::new(),
            again: Instant::now(),
        };
        if part == Part::Root {
            riot.dio(true, None);
        }
        riot
    }

    pub(crate) fn poll(&mut self) -> Option<(Option<Eui>, Vec<u8>)> {
        self.out.pop_front()
    }

    pub(crate) fn count(&self, kind: u8, code: u8) -> usize {
        self.heard.iter().filter(|it| (it.0, it.1) == (kind, code)).count()
    }

    /// Repeats messages: solicitations, a registration, a DAO, segments.
    pub(crate) fn tick(&mut self) {
        if self.again.elapsed() < AGAIN {
            return;
        }
        self.again = Instant::now();
        match (self.part, self.router) {
            (Part::Host, None) => {
                let own = self.link_option(1);
                self.icmp(
                    self.addresses[0],
                    ALL_ROUTERS,
                    None,
                    [&[133, 0, 0, 0, 0, 0, 0, 0], &own[..]].concat(),
                );
            }
            (Part::Host, Some(router)) if !self.is_known => self.register(router),
            // A DIS with PadN.
            (Part::Member, None) => self.rpl(RPL_NODES, None, 0, &[0, 0, 1, 2, 0, 0]),
            (Part::Member, Some(router)) if !self.is_known => self.dao(router),
            (Part::Root, _) => self.dio(false, None),
            _ => {}
        }
        for index in 0..self.connections.len() {
            let (own, other, tcp) = &self.connections[index];
            if let Some(segment) = tcp.repeat() {
                self.send(*own, *other, packet(*own, *other, TCP, 64, segment));
            }
        }
    }

    /// Sends an echo request.
    pub(crate) fn ping(&mut self, to: Ip, ident: u16) {
        let [a, b] = ident.to_be_bytes();
        let own = *self.addresses.last().unwrap();
        let upper = [&[128, 0, 0, 0, a, b, 0, 1], &[0x5a; 200][..]].concat();
        self.send(own, to, packet(own, to, ICMPV6, 64, upper));
    }

    /// Probes a neighbour, without a registration (RFC 4861, 7.3.1).
    pub(crate) fn probe(&mut self, to: Ip, link: Eui) {
        let upper = [&[135, 0, 0, 0, 0, 0, 0, 0], &to[..], &self.link_option(1)].concat();
        self.icmp(self.addresses[0], to, Some(link), upper);
    }

    /// Opens a connection and sends this text.
    pub(crate) fn say(&mut self, to: Ip, port: u16, text: &[u8]) {
        let (own, tcp) = (*self.addresses.last().unwrap(), Tcp::connect((49_152, port), text));
        let syn = tcp.repeat().unwrap();
        self.connections.push((own, to, tcp));
        self.send(own, to, packet(own, to, TCP, 64, syn));
    }

    fn icmp(&mut self, src: Ip, dst: Ip, to: Option<Eui>, upper: Vec<u8>) {
        self.out.push_back((to, packet(src, dst, ICMPV6, 255, upper)));
    }

    fn rpl(&mut self, dst: Ip, to: Option<Eui>, code: u8, body: &[u8]) {
        let upper = [&[155, code, 0, 0], body].concat();
        self.icmp(self.addresses[0], dst, to, upper);
    }

    fn send(&mut self, _src: Ip, dst: Ip, packet: Vec<u8>) {
        let known = self.routes.iter().find(|route| route.0 == dst).map(|route| route.1);
        let mut derived: Eui = dst[8..].try_into().unwrap();
        derived[0] ^= 2;
        let near = (dst[..2] == [0xfe, 0x80]).then_some(derived);
        if let Some(to) = near.or(known).or(self.router) {
            self.out.push_back((Some(to), packet));
        }
    }

    fn link_option(&self, kind: u8) -> Vec<u8> {
        [&[kind, 2], &self.eui[..], &[0; 6]].concat()
    }

    /// Handles a packet from this neighbour.
    pub(crate) fn hear(&mut self, from: Eui, packet: &[u8]) {
        let (src, dst, upper) = (part(packet, 8), part(packet, 24), &packet[40..]);
        assert!(is_right(packet), "a checksum: {packet:02x?}");
        if dst[0] != 0xff && !self.addresses.contains(&dst) {
            return;
        }
        match packet[6] {
            ICMPV6 => self.hear_icmp(from, src, dst, upper),
            TCP => self.hear_tcp(src, dst, upper),
            other => panic!("a header that RIOT does not know: {other}"),
        }
    }

    fn hear_tcp(&mut self, src: Ip, dst: Ip, segment: &[u8]) {
        let known = self.connections.iter_mut().find(|it| it.1 == src && it.2.is_for(segment));
        let out = match known {
            Some((_, _, tcp)) => tcp.take(segment),
            None => {
                let Some(tcp) = Tcp::accept(segment) else { return };
                let out = tcp.repeat().into_iter().collect();
                assert_ne!(port(segment), 0);
                self.connections.push((dst, src, tcp));
                out
            }
        };
        out.into_iter().for_each(|it| self.send(dst, src, packet(dst, src, TCP, 64, it)));
    }

    fn hear_icmp(&mut self, from: Eui, src: Ip, dst: Ip, upper: &[u8]) {
        self.heard.push((upper[0], upper[1], src));
        match upper[0] {
            128 => {
                let mut reply = upper.to_vec();
                reply[0] = 129;
                self.send(dst, src, packet(dst, src, ICMPV6, 64, reply));
            }
            129 => self.replies.push(u16::from_be_bytes([upper[4], upper[5]])),
            133 if self.part == Part::Border => self.advertise(from, src, upper),
            134 if self.part == Part::Host => self.take_router(from, src, upper),
            135 => self.solicited(from, src, upper),
            136 if self.part == Part::Host && upper.len() >= 40 => {
                assert_eq!(upper[24..27], [33, 2, 0], "registered");
                self.is_known = true;
            }
            155 => self.hear_rpl(from, src, dst, upper),
            _ => {}
        }
    }

    /// Sends an advertisement: lifetime 1800 s; SLLAO, ABRO, PIO with A only, 6CO with C for ten
    /// minutes: 144 octets.
    fn advertise(&mut self, from: Eui, src: Ip, asked: &[u8]) {
        assert_eq!(asked[8..10], [1, 2], "whose link address it is");
        let prefix = ip(PREFIX);
        let mut out = vec![134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0];
        out.extend(self.link_option(1));
        out.extend([&[35, 3, 0, 1, 0, 0, 3, 0x84], &self.addresses[1][..]].concat());
        let lives = [0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0, 0, 0, 0];
        out.extend([&[3, 4, 64, 0x40], &lives[..], &prefix].concat());
        out.extend([&[34, 2, 64, 0x10, 0, 0, 0, 10], &prefix[..8]].concat());
        assert_eq!(out.len() + 40, 144);
        self.icmp(self.addresses[0], src, Some(from), out);
    }

    fn take_router(&mut self, from: Eui, src: Ip, upper: &[u8]) {
        if self.router.is_some() {
            return;
        }
        let (mut at, mut prefix, mut border) = (16, None, false);
        while at < upper.len() {
            let option = &upper[at..at + usize::from(upper[at + 1]) * 8];
            match option[0] {
                3 if option[3] & 0x40 != 0 => prefix = Some(part(option, 16)),
                34 => {
                    let mut context = [0; 16];
                    context[..8].copy_from_slice(&option[8..16]);
                    self.context = Some(context);
                }
                35 => border = true,
                _ => {}
            }
            at += option.len();
        }
        assert!(border && src[..2] == [0xfe, 0x80]);
        self.addresses.push(with_iid(&prefix.expect("a prefix"), self.eui));
        (self.router, self.again) = (Some(from), Instant::now());
        self.register(from);
    }

    /// Sends a registration: SLLAO, and ARO for 15 minutes.
    fn register(&mut self, router: Eui) {
        let (own, target) = (self.addresses[1], link_local(router));
        let aro = [&[33, 2, 0, 0, 0, 0, 0, 15], &self.eui[..]].concat();
        let options = [self.link_option(1), aro].concat();
        let upper = [&[135, 0, 0, 0, 0, 0, 0, 0], &target[..], &options].concat();
        self.icmp(own, target, Some(router), upper);
    }

    fn solicited(&mut self, from: Eui, src: Ip, upper: &[u8]) {
        let target = part(upper, 8);
        if !self.addresses.contains(&target) {
            return;
        }
        let mut out = [&[136, 0, 0, 0, 0xe0, 0, 0, 0], &target[..]].concat();
        let aro = upper.windows(16).position(|it| it[..2] == [33, 2]).filter(|at| at % 8 == 0);
        match aro {
            Some(at) => {
                assert_eq!(upper[24..26], [1, 2], "with its link address");
                self.routes.push((src, from));
                out.extend(&upper[at..at + 16]);
            }
            None => out.extend(self.link_option(2)),
        }
        self.icmp(self.addresses[0], src, Some(from), out);
    }

    fn hear_rpl(&mut self, from: Eui, src: Ip, dst: Ip, upper: &[u8]) {
        let (code, body) = (upper[1], &upper[4..]);
        match (code, self.part) {
            // The configuration only goes to a node that requests it by unicast.
            (0, Part::Root) if dst == RPL_NODES => self.dio(false, None),
            (0, Part::Root) => self.dio(true, Some((src, from))),
            (1, Part::Member) => self.take_dio(from, src, body),
            (2, Part::Root) => {
                assert_eq!(body[1] & 0xc0, 0x80, "K, and no DODAGID");
                self.take_dao(from, src, body);
            }
            (3, Part::Member) => {
                assert_eq!(body[3], 0, "accepted");
                self.is_known = true;
            }
            _ => {}
        }
    }

    fn dio(&mut self, configures: bool, to: Option<(Ip, Eui)>) {
        let mut body = vec![0, 240, 1, 0, 0x90, 240, 0, 0];
        body.extend(self.dodag);
        if configures {
            // OF0, MinHopRankIncrease 256, Imin 8 ms, 20 doublings, k = 10, 5 of 60 s.
            body.extend([4, 14, 0, 20, 3, 10, 0, 0, 1, 0, 0, 0, 0, 5, 0, 60]);
        }
        let lives = [0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0, 0, 0, 0];
        body.extend([&[8, 30, 64, 0x40], &lives[..], &ip(PREFIX)].concat());
        self.rpl(to.map_or(RPL_NODES, |it| it.0), to.map(|it| it.1), 1, &body);
    }

    fn take_dio(&mut self, from: Eui, src: Ip, body: &[u8]) {
        if self.router.is_some() {
            return;
        }
        let (mut at, mut configured, mut prefix) = (24, false, None);
        while at < body.len() {
            let len = 2 + usize::from(body[at + 1]);
            match body[at] {
                4 => configured = true,
                8 => prefix = Some(part(body, at + 16)),
                _ => {}
            }
            at += len;
        }
        if !configured {
            return self.rpl(src, Some(from), 0, &[0, 0]);
        }
        let mut prefix = prefix.expect("a prefix");
        prefix[8..].fill(0);
        self.addresses.push(with_iid(&prefix, self.eui));
        self.rank = u16::from_be_bytes([body[2], body[3]]) + 256;
        self.dodag = part(body, 8);
        (self.router, self.again) = (Some(from), Instant::now());
    }

    /// Sends a DAO with K, without DODAGID, with one target and its transit information.
    fn dao(&mut self, parent: Eui) {
        let mut body = vec![0, 0x80, 0, 241, 5, 18, 0, 128];
        body.extend(self.addresses[1]);
        body.extend([6, 4, 0, 0, 240, 5]);
        self.rpl(link_local(parent), Some(parent), 2, &body);
    }

    fn take_dao(&mut self, from: Eui, src: Ip, body: &[u8]) {
        let mut at = 4;
        while at < body.len() {
            let len = 2 + usize::from(body[at + 1]);
            if body[at] == 5 {
                assert_eq!(body[at + 3], 128, "an address");
                self.routes.push((part(body, at + 4), from));
            }
            at += len;
        }
        self.rpl(src, Some(from), 3, &[0, 0, body[3], 0]);
    }
}
