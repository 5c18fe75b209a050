//! Router functions (RFC 6775, 6 to 8; RFC 8505), tested by the octets of messages.

use crate::common::{REGISTRATIONS, Serves};
use kinglet_nd::{Border, Discard, Discovery, MAX_LEN, Message, NameServer, NdConfig, Offer};
use kinglet_nd::{RegisteredHost, Resolution, Serving};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::nd::{BorderRouter, Builder, ContextInformation, Duplicate, Kind, NdOption};
use kinglet_wire::nd::{PrefixInformation, Registration, Servers, status};
use proptest::prelude::*;
use std::net::Ipv6Addr;

pub(crate) type Nd = Discovery<Serves>;

pub(crate) const NOW: Instant = Instant::from_secs(100);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
/// The router's own addresses, and that of the border router, if it is another node.
pub(crate) const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, 1);
const OWN_LOCAL: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, 1);
pub(crate) const ROOT: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, 0xFFFE);
pub(crate) const ALL: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

pub(crate) fn border(address: Ipv6Addr) -> BorderRouter {
    BorderRouter { version: 7, valid_min: 60, address }
}

fn prefix(valid_s: u32) -> PrefixInformation {
    let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
    let (on_link, autonomous) = (true, true);
    PrefixInformation { prefix, len: 64, on_link, autonomous, valid_s, preferred_s: valid_s }
}

fn context(id: u8) -> ContextInformation {
    let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, u16::from(id), 0, 0, 0, 0);
    ContextInformation { id, compress: true, prefix, len: 64, valid_min: 10 }
}

fn router(border: Border) -> Nd {
    let mut role = Serving::new(Offer::new(border));
    if border != Border::Learnt {
        role.offer_prefix(NOW, prefix(86_400)).unwrap();
        role.offer_context(NOW, context(0)).unwrap();
    }
    Discovery::with_role(NdConfig::new(Address::Short(1), [1; 8], 0xABCD, 1), role)
}

/// Returns a 6LBR.
pub(crate) fn root() -> Nd {
    router(Border::This(border(OWN)))
}

/// Returns all pending messages, with the octets after type, code and checksum.
pub(crate) fn sent(nd: &mut Nd, now: Instant) -> Vec<(Message, Vec<u8>)> {
    let mut buf = [0; MAX_LEN];
    let mut all = Vec::new();
    while let Some(out) = nd.poll_message(now, &mut buf) {
        all.push((out, buf[..out.len].to_vec()));
        assert!(all.len() < 20);
    }
    all
}

pub(crate) fn hear_from(
    nd: &mut Nd,
    now: Instant,
    (src, dst, hop_limit): (Ipv6Addr, Ipv6Addr, u8),
    kind: Kind,
    options: &[NdOption<'_>],
) -> Result<(), Discard> {
    let mut buf = [0; 512];
    let mut builder = Builder::new(&mut buf, &kind).unwrap();
    options.iter().for_each(|option| builder.option(option).unwrap());
    let (len, next_header, traffic_class, flow_label) = (builder.len(), 58, 0, 0);
    let payload_len = len as u16;
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    let owns = |it: &Ipv6Addr| [OWN, OWN_LOCAL].contains(it);
    nd.handle_message(now, Address::Short(99), &header, &buf[..len], owns)
}

/// Identifiers of a host by its number: EUI-64, short address, link-local and global address.
fn eui(n: u16) -> [u8; 8] {
    let [a, b] = n.to_be_bytes();
    [2, 2, 2, 2, 2, 2, a, b]
}

pub(crate) fn local(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, n)
}

fn global(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0xA, 0xB, 0xC, n)
}

fn asks(n: u16, tid: Option<u8>, lifetime_min: u16) -> Registration {
    Registration { status: 0, opaque: (0, 0), routed: true, tid, lifetime_min, rovr: eui(n) }
}

/// Registers an address of host `n` in the form of RFC 8505. Returns the status in the response.
fn registers(nd: &mut Nd, now: Instant, n: u16, address: Ipv6Addr, tid: u8) -> Option<u8> {
    register_for(nd, now, n, address, (tid, 60))
}

fn register_for(
    nd: &mut Nd,
    now: Instant,
    n: u16,
    address: Ipv6Addr,
    (tid, lifetime_min): (u8, u16),
) -> Option<u8> {
    let link = NdOption::SourceLinkAddress(Address::Short(n));
    let option = NdOption::Registration(asks(n, Some(tid), lifetime_min));
    let kind = Kind::NeighbourSolicitation(address);
    let _ = hear_from(nd, now, (local(n), OWN_LOCAL, 255), kind, &[link, option]);
    let messages = sent(nd, now);
    let answer = messages.iter().find(|(_, octets)| octets[0] == 136)?;
    let (message, octets) = answer;
    assert_eq!((message.dst, message.via), (local(n), Some(Address::Short(n))));
    // Router and solicited; the target; a copy of the option.
    assert_eq!((octets[4], &octets[8..24]), (0xC0, &address.octets()[..]));
    assert_eq!((octets[24], octets[25], octets[29], &octets[32..40]), (33, 2, tid, &eui(n)[..]));
    Some(octets[26])
}

/// Advances the time. Returns the messages that are sent.
pub(crate) fn wait(nd: &mut Nd, until: Instant) -> Vec<(Message, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(at) = nd.deadline().filter(|at| *at <= until) {
        nd.handle_deadline(at);
        all.extend(sent(nd, at));
    }
    all
}

#[test]
fn a_solicitation_is_answered_to_its_sender_with_all_that_is_offered() {
    let mut nd = root();
    wait(&mut nd, NOW + MINUTE);
    let now = NOW + MINUTE;
    let server = NameServer { address: global(0x53), lifetime_s: 600 };
    let mut offer = *nd.role().offer();
    (offer.mtu, offer.router.retrans_ms) = (Some(1280), 2_000);
    let mut role = Serving::new(offer);
    role.offer_prefix(now, prefix(86_400)).unwrap();
    role.offer_context(now, context(3)).unwrap();
    role.offer_server(now, server).unwrap();
    let mut nd: Nd =
        Discovery::with_role(NdConfig::new(Address::Short(1), [1; 8], 0xABCD, 1), role);
    let link = [NdOption::SourceLinkAddress(Address::Short(7))];
    let to_all = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);
    hear_from(&mut nd, now, (local(7), to_all, 255), Kind::RouterSolicitation, &link).unwrap();
    let messages = sent(&mut nd, now);
    let [(message, octets)] = &messages[..] else { panic!("one answer") };
    assert_eq!((message.dst, message.via), (local(7), Some(Address::Short(7))));
    assert_eq!((octets[0], octets[4], &octets[6..8]), (134, 64, &1800_u16.to_be_bytes()[..]));
    assert_eq!(octets[12..16], 2_000_u32.to_be_bytes());
    let heard = kinglet_wire::nd::Message::parse(octets).unwrap();
    let options: Vec<_> = heard.options().collect();
    let offered = PrefixInformation { on_link: false, ..prefix(86_400) };
    let servers = server.address.octets();
    // E, L, B and D of RFC 8505, 4.3.
    let expected = [
        NdOption::SourceLinkAddress(Address::Short(1)),
        NdOption::BorderRouter(border(OWN)),
        NdOption::Capabilities(kinglet_wire::nd::Capabilities(0x3A)),
        NdOption::Mtu(1280),
        NdOption::Prefix(offered),
        NdOption::Context(context(3)),
        NdOption::RecursiveDns { lifetime_s: 600, servers: Servers::new(&servers) },
    ];
    assert_eq!(options, expected);
    // RFC 6775, 6.3: the link address in a solicitation is not stored.
    assert_eq!(nd.resolution(global(7)), Resolution::Unknown);
}

#[test]
fn contexts_that_do_not_fit_into_one_advertisement_are_in_the_next() {
    let mut nd = root();
    for id in 1..16 {
        nd.role_mut().offer_context(NOW, context(id)).unwrap();
    }
    let link = [NdOption::SourceLinkAddress(Address::Short(7))];
    hear_from(&mut nd, NOW, (local(7), ALL, 255), Kind::RouterSolicitation, &link).unwrap();
    let mut ids = Vec::new();
    for (message, octets) in sent(&mut nd, NOW) {
        assert_eq!((message.dst, octets[16]), (local(7), 1));
        let heard = kinglet_wire::nd::Message::parse(&octets).unwrap();
        assert!(heard.options().any(|option| option == NdOption::BorderRouter(border(OWN))));
        ids.extend(heard.options().filter_map(|option| match option {
            NdOption::Context(it) => Some(it.id),
            _ => None,
        }));
    }
    assert_eq!(ids, (0..16).collect::<Vec<_>>());
}

#[test]
fn changes_are_advertised_three_times_and_never_twice_in_ten_seconds() {
    let mut nd = root();
    let sent_until = |nd: &mut Nd, from: Instant, until| {
        let mut at = Vec::new();
        while let Some(due) = nd.deadline().filter(|at| *at <= until) {
            let due = due.max(from);
            nd.handle_deadline(due);
            at.extend(sent(nd, due).into_iter().map(|(message, _)| (message.dst, due)));
        }
        at
    };
    let first = sent_until(&mut nd, NOW, NOW + MINUTE * 2);
    assert_eq!(first.iter().map(|it| it.0).collect::<Vec<_>>(), [ALL; 3]);
    assert!(first.windows(2).all(|pair| pair[1].1 - pair[0].1 >= SECOND * 10));
    assert_eq!(nd.deadline(), None, "and then it rests");
    // RFC 4861: a node without an address solicits again and again.
    let now = NOW + MINUTE * 3;
    let mut heard = 0;
    for n in 0..100_u32 {
        let now = now + Duration::from_millis(u64::from(n) * 100);
        let from = (Ipv6Addr::UNSPECIFIED, ALL, 255);
        hear_from(&mut nd, now, from, Kind::RouterSolicitation, &[]).unwrap();
        heard += sent_until(&mut nd, now, now).len();
    }
    assert!((1..=2).contains(&heard), "{heard} in ten seconds");
    // A change is multicast to all nodes, with the next version.
    nd.role_mut().offer_prefix(NOW + MINUTE * 5, prefix(0)).unwrap();
    let messages = wait(&mut nd, NOW + MINUTE * 6);
    assert_eq!(messages.len(), 3);
    let heard = kinglet_wire::nd::Message::parse(&messages[0].1).unwrap();
    let version = heard.options().find_map(|option| match option {
        NdOption::BorderRouter(it) => Some(it.version),
        _ => None,
    });
    assert_eq!(version, Some(8));
}

#[test]
fn an_address_is_registered_kept_and_given_back() {
    let mut nd = root();
    wait(&mut nd, NOW + MINUTE);
    let now = NOW + MINUTE;
    assert_eq!(nd.resolution(global(7)), Resolution::Unknown);
    assert_eq!(registers(&mut nd, now, 7, global(7), 240), Some(status::SUCCESS));
    assert_eq!(nd.resolution(global(7)), Resolution::To(Address::Short(7)));
    // It needs no probes, and there is no timer before its lifetime is over.
    nd.handle_use(now, global(7));
    nd.handle_sent(now, Address::Short(7), false);
    assert_eq!(nd.deadline(), Some(now + MINUTE * 60));
    wait(&mut nd, now + MINUTE * 59);
    assert_eq!(registers(&mut nd, now + MINUTE * 59, 7, global(7), 241), Some(status::SUCCESS));
    wait(&mut nd, now + MINUTE * 118);
    assert_eq!(nd.resolution(global(7)), Resolution::To(Address::Short(7)));
    wait(&mut nd, now + MINUTE * 119);
    assert_eq!(nd.resolution(global(7)), Resolution::Unknown);
    assert_eq!(registers(&mut nd, now, 7, global(7), 242), Some(status::SUCCESS));
    assert_eq!(register_for(&mut nd, now, 7, global(7), (243, 0)), Some(status::SUCCESS));
    assert_eq!(
        (nd.resolution(global(7)), nd.role().registrations().count()),
        (Resolution::Unknown, 0)
    );
}

#[test]
fn an_address_keeps_its_owner_until_that_withdraws_it() {
    let mut nd = root();
    assert_eq!(registers(&mut nd, NOW, 7, global(7), 240), Some(status::SUCCESS));
    // Another node's, an own one, one of another network.
    assert_eq!(registers(&mut nd, NOW, 8, global(7), 255), Some(status::DUPLICATE));
    assert_eq!(registers(&mut nd, NOW, 8, OWN, 1), Some(status::DUPLICATE));
    let outside = Ipv6Addr::new(0x2001, 0xDB8, 9, 0, 0, 0, 0, 8);
    assert_eq!(registers(&mut nd, NOW, 8, outside, 1), Some(status::INCORRECT));
    assert_eq!(registers(&mut nd, NOW, 8, ALL, 1), None);
    // The end of a registration by another node changes nothing either.
    assert_eq!(register_for(&mut nd, NOW, 8, global(7), (255, 0)), Some(status::DUPLICATE));
    // Nor does a solicitation that is no registration.
    let link = [NdOption::SourceLinkAddress(Address::Short(8))];
    let kind = Kind::NeighbourSolicitation(OWN);
    hear_from(&mut nd, NOW, (global(7), OWN, 255), kind, &link).unwrap();
    assert_eq!(nd.resolution(global(7)), Resolution::To(Address::Short(7)));
    assert_eq!(nd.neighbours().count(), 0, "its link address needs a proof of ownership");
    // A late message is ignored; a restart begins with higher numbers (RFC 6550, 7.2).
    sent(&mut nd, NOW);
    assert_eq!(registers(&mut nd, NOW, 7, global(7), 239), Some(status::MOVED));
    assert_eq!(registers(&mut nd, NOW, 7, global(7), 255), Some(status::SUCCESS));
    assert_eq!(registers(&mut nd, NOW, 7, global(7), 1), Some(status::SUCCESS));
    assert_eq!(registers(&mut nd, NOW, 7, global(7), 0), Some(status::MOVED));
    assert_eq!(registers(&mut nd, NOW, 7, global(7), 240), Some(status::SUCCESS));
    assert_eq!(nd.role().stats().duplicates, 3);
}

#[test]
fn the_form_of_rfc_6775_registers_the_source() {
    let mut nd = root();
    let link = NdOption::SourceLinkAddress(Address::Short(7));
    let asked = asks(7, None, 15);
    let kind = Kind::NeighbourSolicitation(OWN_LOCAL);
    let options = [link, NdOption::Registration(asked)];
    hear_from(&mut nd, NOW, (global(7), OWN_LOCAL, 255), kind, &options).unwrap();
    let messages = sent(&mut nd, NOW);
    let [(message, octets)] = &messages[..] else { panic!("one answer") };
    assert_eq!((message.dst, message.via), (global(7), Some(Address::Short(7))));
    assert_eq!((&octets[8..24], octets[26]), (&OWN_LOCAL.octets()[..], 0));
    // RFC 6775, 6.5.2: a refusal goes to the address with the EUI-64.
    let asked = NdOption::Registration(asks(8, None, 15));
    hear_from(&mut nd, NOW, (global(7), OWN_LOCAL, 255), kind, &[link, asked]).unwrap();
    let messages = sent(&mut nd, NOW);
    let under_eui = Ipv6Addr::new(0xFE80, 0, 0, 0, 0x0002, 0x0202, 0x0202, 8);
    assert_eq!(
        (messages[0].0.dst, messages[0].0.via),
        (under_eui, Some(Address::Extended(eui(8))))
    );
    assert_eq!(messages[0].1[26], status::DUPLICATE);
    // Without link address or source address it is no registration; with a status it is invalid.
    let before = nd.role().registrations().count();
    let only = [NdOption::Registration(asks(9, None, 15))];
    hear_from(&mut nd, NOW, (global(9), OWN_LOCAL, 255), kind, &only).unwrap();
    let odd = NdOption::Registration(Registration { status: 1, ..asks(9, None, 15) });
    let result = hear_from(&mut nd, NOW, (global(9), OWN_LOCAL, 255), kind, &[link, odd]);
    assert_eq!(result, Err(Discard::Invalid));
    // RFC 8505 requires a link-local source unless the source is the registered address.
    let options = [link, NdOption::Registration(asks(9, Some(1), 15))];
    let kind = Kind::NeighbourSolicitation(global(10));
    sent(&mut nd, NOW);
    hear_from(&mut nd, NOW, (global(9), OWN_LOCAL, 255), kind, &options).unwrap();
    assert_eq!(sent(&mut nd, NOW)[0].1[26], status::INVALID_SOURCE);
    assert_eq!(nd.role().registrations().count(), before);
}

#[test]
fn a_link_local_address_that_contains_the_link_address_takes_no_place() {
    let mut nd = root();
    assert_eq!(registers(&mut nd, NOW, 7, local(7), 240), Some(status::SUCCESS));
    assert_eq!(nd.role().registrations().count(), 0);
    let odd = Ipv6Addr::new(0xFE80, 0, 0, 0, 1, 2, 3, 4);
    assert_eq!(registers(&mut nd, NOW, 7, odd, 241), Some(status::SUCCESS));
    assert_eq!(nd.resolution(odd), Resolution::To(Address::Short(7)));
}

#[test]
fn one_neighbour_has_four_addresses_and_a_full_table_says_so() {
    let mut nd = root();
    for n in 0..4 {
        assert_eq!(registers(&mut nd, NOW, 7, global(100 + n), 240), Some(status::SUCCESS));
    }
    assert_eq!(registers(&mut nd, NOW, 7, global(104), 240), Some(status::FULL));
    assert_eq!(registers(&mut nd, NOW, 8, global(8), 240), Some(status::SUCCESS));
    assert_eq!(registers(&mut nd, NOW, 9, global(9), 240), Some(status::SUCCESS));
    assert_eq!(nd.role().registrations().count(), REGISTRATIONS);
    assert_eq!(registers(&mut nd, NOW, 10, global(10), 240), Some(status::FULL));
    // Existing registrations may be renewed.
    assert_eq!(registers(&mut nd, NOW, 8, global(8), 241), Some(status::SUCCESS));
    assert_eq!(nd.role().stats().full, 2);
}

/// Returns a 6LR whose border router is another node.
fn inner() -> Nd {
    router(Border::Other(border(ROOT)))
}

fn confirmation(n: u16, status: u8) -> Kind {
    let (confirmation, tid, lifetime_min) = (true, Some(240), 60);
    let (rovr, address) = (eui(n), global(n));
    Kind::Duplicate(Duplicate { confirmation, status, tid, lifetime_min, rovr, address })
}

/// Returns a 6LR that has received a request of host 7 and has asked the border router.
fn asked() -> Nd {
    let mut nd = inner();
    wait(&mut nd, NOW);
    let link = NdOption::SourceLinkAddress(Address::Short(7));
    let option = NdOption::Registration(asks(7, Some(240), 60));
    let kind = Kind::NeighbourSolicitation(global(7));
    hear_from(&mut nd, NOW, (local(7), OWN_LOCAL, 255), kind, &[link, option]).unwrap();
    let messages = sent(&mut nd, NOW);
    let [(message, octets)] = &messages[..] else { panic!("one request") };
    assert_eq!((message.dst, message.via, message.hop_limit), (ROOT, None, 64));
    // RFC 8505, 4.2: code 1 with a transaction identifier.
    assert_eq!(octets[..8], [157, 1, 0, 0, 0, 240, 0, 60]);
    assert_eq!((&octets[8..16], &octets[16..32]), (&eui(7)[..], &global(7).octets()[..]));
    assert_eq!(nd.resolution(global(7)), Resolution::Unknown, "not before it is confirmed");
    nd
}

#[test]
fn a_6lr_answers_when_the_border_router_has() {
    for verdict in [status::SUCCESS, status::DUPLICATE, status::SATURATED] {
        let mut nd = asked();
        let to = |from| (from, OWN, 61);
        // No other node is accepted, and no response without a request.
        let forged = hear_from(&mut nd, NOW, to(global(66)), confirmation(7, verdict), &[]);
        assert_eq!(forged, Err(Discard::NotConcerned));
        let other = hear_from(&mut nd, NOW, to(ROOT), confirmation(8, verdict), &[]);
        assert_eq!(other, Err(Discard::NotConcerned));
        hear_from(&mut nd, NOW, to(ROOT), confirmation(7, verdict), &[]).unwrap();
        let answers = sent(&mut nd, NOW);
        assert_eq!((answers[0].0.dst, answers[0].1[26]), (local(7), verdict));
        let known = nd.resolution(global(7)) == Resolution::To(Address::Short(7));
        assert_eq!(known, verdict == status::SUCCESS);
        // The second time it is no response to a request.
        let again = hear_from(&mut nd, NOW, to(ROOT), confirmation(7, status::DUPLICATE), &[]);
        assert_eq!(again, Err(Discard::NotConcerned));
    }
}

#[test]
fn a_silent_border_router_excludes_no_host() {
    let mut nd = asked();
    let messages: Vec<_> =
        wait(&mut nd, NOW + SECOND * 5).into_iter().filter(|it| it.0.dst != ALL).collect();
    let kinds: Vec<_> = messages.iter().map(|it| it.1[0]).collect();
    assert_eq!(kinds, [157, 157, 136]);
    assert_eq!(
        (messages[2].1[26], nd.resolution(global(7))),
        (0, Resolution::To(Address::Short(7)))
    );
    assert_eq!(nd.role().stats().unconfirmed, 1);
}

#[test]
fn a_renewed_registration_is_answered_at_once_and_reported_to_the_border_router() {
    let mut nd = asked();
    hear_from(&mut nd, NOW, (ROOT, OWN, 61), confirmation(7, 0), &[]).unwrap();
    sent(&mut nd, NOW);
    let link = NdOption::SourceLinkAddress(Address::Short(7));
    let option = NdOption::Registration(asks(7, Some(241), 60));
    let kind = Kind::NeighbourSolicitation(global(7));
    hear_from(&mut nd, NOW, (local(7), OWN_LOCAL, 255), kind, &[link, option]).unwrap();
    let kinds: Vec<_> = sent(&mut nd, NOW).iter().map(|it| it.1[0]).collect();
    assert_eq!(kinds, [136, 157]);
    // The border router reports that it has moved.
    hear_from(&mut nd, NOW, (ROOT, OWN, 61), confirmation(7, status::MOVED), &[]).unwrap();
    assert_eq!(sent(&mut nd, NOW)[0].1[26], status::MOVED);
    assert_eq!(nd.resolution(global(7)), Resolution::Unknown);
}

#[test]
fn a_registration_that_is_elsewhere_by_now_is_forgotten() {
    let mut nd = asked();
    hear_from(&mut nd, NOW, (ROOT, OWN, 61), confirmation(7, 0), &[]).unwrap();
    sent(&mut nd, NOW);
    let moved = |tid| {
        let (confirmation, status, lifetime_min) = (true, status::MOVED, 60);
        let (rovr, address) = (eui(7), global(7));
        Kind::Duplicate(Duplicate { confirmation, status, tid, lifetime_min, rovr, address })
    };
    // Only for a later transaction, and only from the border router.
    for (from, tid) in [(ROOT, Some(240)), (ROOT, None), (global(66), Some(241))] {
        let heard = hear_from(&mut nd, NOW, (from, OWN, 61), moved(tid), &[]);
        assert_eq!(heard, Err(Discard::NotConcerned));
    }
    assert_eq!(nd.resolution(global(7)), Resolution::To(Address::Short(7)));
    hear_from(&mut nd, NOW, (ROOT, OWN, 61), moved(Some(241)), &[]).unwrap();
    assert_eq!((nd.resolution(global(7)), sent(&mut nd, NOW)), (Resolution::Unknown, vec![]));
}

#[test]
fn a_border_router_keeps_the_table_of_the_whole_network() {
    let mut nd = root();
    let asks = |nd: &mut Nd, n: u16, tid: u8, lifetime_min: u16, address: Ipv6Addr| {
        let (confirmation, status, tid, rovr) = (false, 0, Some(tid), eui(n));
        let kind = Duplicate { confirmation, status, tid, lifetime_min, rovr, address };
        let _ = hear_from(nd, NOW, (ROOT, OWN, 60), Kind::Duplicate(kind), &[]);
        let messages = sent(nd, NOW);
        let (message, octets) = messages.first()?;
        assert_eq!((message.dst, message.via, message.hop_limit), (ROOT, None, 64));
        assert_eq!((octets[0], octets[1], octets[5]), (158, 1, tid?));
        Some(octets[4])
    };
    assert_eq!(asks(&mut nd, 7, 240, 60, global(7)), Some(status::SUCCESS));
    assert_eq!(asks(&mut nd, 8, 240, 60, global(7)), Some(status::DUPLICATE));
    assert_eq!(asks(&mut nd, 7, 239, 60, global(7)), Some(status::MOVED));
    assert_eq!(asks(&mut nd, 7, 1, 60, ALL), None);
    // It is not registered here: packets use the routes.
    assert_eq!(nd.resolution(global(7)), Resolution::Unknown);
    // A host that is here cannot have it until its owner moves here.
    assert_eq!(registers(&mut nd, NOW, 8, global(7), 240), Some(status::DUPLICATE));
    // The previous router is notified.
    let link = NdOption::SourceLinkAddress(Address::Short(7));
    let option = NdOption::Registration(self::asks(7, Some(241), 60));
    let kind = Kind::NeighbourSolicitation(global(7));
    hear_from(&mut nd, NOW, (local(7), OWN_LOCAL, 255), kind, &[link, option]).unwrap();
    let messages = sent(&mut nd, NOW);
    assert_eq!((messages[0].0.dst, messages[0].1[0], messages[0].1[4]), (ROOT, 158, status::MOVED));
    assert_eq!(
        (messages[1].0.dst, messages[1].1[0], messages[1].1[26]),
        (local(7), 136, status::SUCCESS)
    );
    assert_eq!(nd.resolution(global(7)), Resolution::To(Address::Short(7)));
    for n in 0..5 {
        let status = asks(&mut nd, 20 + n, 240, 60, global(20 + n));
        assert_eq!(status, Some(status::SUCCESS));
    }
    assert_eq!(asks(&mut nd, 30, 240, 60, global(30)), Some(status::SATURATED));
    assert_eq!(asks(&mut nd, 20, 241, 0, global(20)), Some(status::SUCCESS));
    assert_eq!(asks(&mut nd, 30, 240, 60, global(30)), Some(status::SUCCESS));
}

#[test]
fn a_router_that_learns_its_offer_advertises_the_remaining_lifetimes() {
    let mut nd = router(Border::Learnt);
    let solicit = |nd: &mut Nd, now| {
        let link = [NdOption::SourceLinkAddress(Address::Short(7))];
        hear_from(nd, now, (local(7), ALL, 255), Kind::RouterSolicitation, &link).unwrap();
        sent(nd, now)
    };
    assert_eq!(solicit(&mut nd, NOW), [], "no router before it has heard one");
    let says = |nd: &mut Nd, now, version, valid_s| {
        let it = BorderRouter { version, ..border(ROOT) };
        let options = [
            NdOption::SourceLinkAddress(Address::Short(9)),
            NdOption::BorderRouter(it),
            NdOption::Prefix(prefix(valid_s)),
            NdOption::Context(context(2)),
        ];
        let kind = Kind::RouterAdvertisement(Default::default());
        hear_from(nd, now, (local(9), ALL, 255), kind, &options).unwrap();
    };
    says(&mut nd, NOW, 7, 3_600);
    let heard = wait(&mut nd, NOW + SECOND * 40);
    assert_eq!(heard.len(), 3, "news for all");
    let now = NOW + SECOND * 300;
    // Old information of other routers cannot shorten it, nor can an older version.
    says(&mut nd, now, 7, 1_000);
    says(&mut nd, now, 6, 9_000);
    let messages = solicit(&mut nd, now);
    let heard = kinglet_wire::nd::Message::parse(&messages[0].1).unwrap();
    let options: Vec<_> = heard.options().collect();
    assert!(options.contains(&NdOption::BorderRouter(border(ROOT))));
    let left = PrefixInformation { on_link: false, ..prefix(3_300) };
    assert!(options.contains(&NdOption::Prefix(left)), "{options:?}");
    // The context was received again.
    assert!(options.contains(&NdOption::Context(context(2))), "{options:?}");
    // A new version replaces everything.
    says(&mut nd, now, 8, 0);
    let messages = solicit(&mut nd, now);
    let heard = kinglet_wire::nd::Message::parse(&messages[0].1).unwrap();
    assert!(!heard.options().any(|option| matches!(option, NdOption::Prefix(_))));
    // A border router that is silent for an hour is removed with all its information.
    wait(&mut nd, now + MINUTE * 61);
    assert_eq!(solicit(&mut nd, now + MINUTE * 61), []);
}

proptest! {
    /// No flood of requests ends a registration or changes its link address.
    #[test]
    fn a_flood_of_registrations_evicts_no_host(
        here in 1..=REGISTRATIONS as u16,
        remote in any::<bool>(),
        flood in prop::collection::vec((0..40u16, 0..40u16, any::<u8>(), 0..3u16, 0..4u8), 0..80),
    ) {
        let mut nd = root();
        for n in 0..here {
            prop_assert_eq!(registers(&mut nd, NOW, n, global(n), 240), Some(0));
        }
        for (n, address, tid, lifetime_min, form) in flood {
            // All other nodes.
            let (n, link) = (100 + n, NdOption::SourceLinkAddress(Address::Short(200 + n)));
            let tid = (form > 0).then_some(tid);
            let asked = asks(n, tid, lifetime_min);
            if remote {
                let (confirmation, status, rovr) = (form == 3, 0, eui(n));
                let address = global(address);
                let kind = Duplicate { confirmation, status, tid, lifetime_min, rovr, address };
                let _ = hear_from(&mut nd, NOW, (ROOT, OWN, 60), Kind::Duplicate(kind), &[]);
            } else {
                let kind = Kind::NeighbourSolicitation(global(address));
                let src = if form == 0 { global(address) } else { local(n) };
                let options = [link, NdOption::Registration(asked)];
                let _ = hear_from(&mut nd, NOW, (src, OWN_LOCAL, 255), kind, &options);
            }
            sent(&mut nd, NOW);
        }
        for n in 0..here {
            prop_assert_eq!(nd.resolution(global(n)), Resolution::To(Address::Short(n)));
        }
    }
}

/// RFC 9010, 9.2.2: routing learns of each registration that requests it, and of its end, once.
#[test]
fn routing_is_notified_of_new_and_ended_registrations() {
    let mut nd = root();
    let routed = |n, tid, minutes| {
        let link = Address::Short(n);
        Some(RegisteredHost { address: global(n), link, tid, lifetime: MINUTE * minutes })
    };
    assert_eq!(registers(&mut nd, NOW, 7, global(7), 240), Some(0));
    assert_eq!(registers(&mut nd, NOW, 7, local(8), 241), Some(0), "not from elsewhere");
    assert_eq!(nd.poll_routed(NOW), routed(7, 240, 60));
    assert_eq!(nd.poll_routed(NOW), None);
    // Again, and by a registration without the R flag: the reported one is withdrawn.
    assert_eq!(registers(&mut nd, NOW + MINUTE, 7, global(7), 241), Some(0));
    assert_eq!(nd.poll_routed(NOW + MINUTE * 2), routed(7, 241, 59));
    let link = NdOption::SourceLinkAddress(Address::Short(7));
    let silent = Registration { routed: false, ..asks(7, Some(242), 60) };
    let kind = Kind::NeighbourSolicitation(global(7));
    let options = [link, NdOption::Registration(silent)];
    hear_from(&mut nd, NOW, (local(7), OWN_LOCAL, 255), kind, &options).unwrap();
    sent(&mut nd, NOW);
    assert_eq!(nd.poll_routed(NOW), routed(7, 242, 0));
    assert_eq!(
        (nd.poll_routed(NOW), nd.resolution(global(7))),
        (None, Resolution::To(Address::Short(7)))
    );
    // It ends by request, by time, and before routing has polled it.
    for (tid, minutes, is_reported) in [(0, 0, true), (2, 5, true), (4, 5, false)] {
        assert_eq!(register_for(&mut nd, NOW, 7, global(7), (tid, 5)), Some(0));
        assert_eq!(
            is_reported.then(|| nd.poll_routed(NOW)),
            is_reported.then(|| routed(7, tid, 5))
        );
        let until = NOW + MINUTE * minutes;
        if minutes == 0 {
            assert_eq!(register_for(&mut nd, NOW, 7, global(7), (tid + 1, 0)), Some(0));
        }
        wait(&mut nd, until);
        assert_eq!(nd.resolution(global(7)), Resolution::Unknown, "{tid}");
        assert_eq!(nd.poll_routed(until), if is_reported { routed(7, tid, 0) } else { None });
        assert_eq!(nd.poll_routed(until), None);
    }
    let left: Vec<_> = nd.role().registrations().map(|it| it.address()).collect();
    assert_eq!(left, [local(8)]);
}

/// Routing learns of the end of each registration that was reported to it, whatever has changed
/// since the report.
#[test]
fn the_end_of_a_renewed_registration_is_reported_although_the_renewal_was_not() {
    enum End {
        Request,
        Time,
        Unrouted,
    }
    for (end, tid, now) in [
        (End::Request, 241, NOW + MINUTE),
        (End::Time, 241, NOW + MINUTE * 61),
        (End::Unrouted, 242, NOW + MINUTE),
    ] {
        let mut nd = root();
        assert_eq!(registers(&mut nd, NOW, 7, global(7), 240), Some(0));
        assert!(nd.poll_routed(NOW).is_some());
        assert_eq!(registers(&mut nd, NOW + MINUTE, 7, global(7), 241), Some(0));
        match end {
            End::Request => {
                assert_eq!(register_for(&mut nd, now, 7, global(7), (242, 0)), Some(0));
            }
            End::Time => {
                wait(&mut nd, now);
            }
            End::Unrouted => {
                let link = NdOption::SourceLinkAddress(Address::Short(7));
                let silent = Registration { routed: false, ..asks(7, Some(242), 60) };
                let options = [link, NdOption::Registration(silent)];
                let kind = Kind::NeighbourSolicitation(global(7));
                hear_from(&mut nd, now, (local(7), OWN_LOCAL, 255), kind, &options).unwrap();
            }
        }
        let (link, lifetime) = (Address::Short(7), Duration::ZERO);
        let over = RegisteredHost { address: global(7), link, tid, lifetime };
        assert_eq!((nd.poll_routed(now), nd.poll_routed(now)), (Some(over), None));
    }
}

#[test]
fn of_two_hosts_that_want_one_address_the_first_is_served() {
    let mut nd = asked();
    let link = NdOption::SourceLinkAddress(Address::Short(8));
    let option = NdOption::Registration(asks(8, Some(240), 60));
    let kind = Kind::NeighbourSolicitation(global(7));
    let second = hear_from(&mut nd, NOW, (local(8), OWN_LOCAL, 255), kind, &[link, option]);
    assert_eq!((second, sent(&mut nd, NOW)), (Err(Discard::NotConcerned), vec![]));
    hear_from(&mut nd, NOW, (ROOT, OWN, 61), confirmation(7, status::SUCCESS), &[]).unwrap();
    assert_eq!(nd.resolution(global(7)), Resolution::To(Address::Short(7)));
    sent(&mut nd, NOW);
    assert_eq!(registers(&mut nd, NOW, 8, global(7), 241), Some(status::DUPLICATE));
}
