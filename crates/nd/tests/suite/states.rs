//! The states of a neighbour (RFC 4861, 7.2 and 7.3, Appendix C), and the resistance of entries in
//! use to floods.

use crate::common::{NEIGHBOURS, Plan};
use kinglet_nd::{Change, Discard, Discovery, MAX_LEN, NdConfig, Resolution, State};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::nd::{Advertisement, Builder, Kind, Message, NdOption, Options, solicited_node};
use proptest::prelude::*;
use std::net::Ipv6Addr;

type Nd = Discovery<Plan>;

const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1);
const NOW: Instant = Instant::from_secs(100);
const SECOND: Duration = Duration::from_secs(1);
const LINK: Address = Address::Short(7);

fn nd() -> Nd {
    Discovery::new(NdConfig::new(Address::Short(1), [1; 8], 0xABCD, 1))
}

fn other(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 1, n)
}

fn hear(
    nd: &mut Nd,
    now: Instant,
    (src, dst): (Ipv6Addr, Ipv6Addr),
    kind: Kind,
    option: Option<NdOption<'_>>,
) -> Result<(), Discard> {
    let mut buf = [0; 128];
    let mut builder = Builder::new(&mut buf, &kind).unwrap();
    option.iter().for_each(|option| builder.option(option).unwrap());
    let len = builder.len();
    let header = Header {
        traffic_class: 0,
        flow_label: 0,
        payload_len: len as u16,
        next_header: 58,
        hop_limit: 255,
        src,
        dst,
    };
    nd.handle_message(now, Address::Short(99), &header, &buf[..len], |it| *it == OWN)
}

/// Processes an advertisement of `other(2)`; flags are S and O.
fn advertised(nd: &mut Nd, now: Instant, flags: (bool, bool), link: Option<Address>) {
    let (solicited, overriding) = flags;
    let target = other(2);
    let advertisement = Advertisement { router: true, solicited, overriding, target };
    let kind = Kind::NeighbourAdvertisement(advertisement);
    let _ = hear(nd, now, (target, OWN), kind, link.map(NdOption::TargetLinkAddress));
}

fn sent(nd: &mut Nd, now: Instant) -> Option<(Ipv6Addr, Address)> {
    let mut buf = [0; MAX_LEN];
    let out = nd.poll_message(now, &mut buf)?;
    let message = Message::parse(&buf[..out.len]).unwrap();
    let options: Options<'_> = message.options();
    assert_eq!(options.count(), 1, "its own link address");
    Some((out.dst, out.via.unwrap()))
}

fn state(nd: &Nd) -> Option<State> {
    nd.neighbours().next().map(|it| it.state())
}

/// Returns a node that has just resolved `other(2)`.
fn found() -> Nd {
    let mut nd = nd();
    assert!(nd.want(NOW, other(2)));
    assert_eq!(sent(&mut nd, NOW), Some((solicited_node(other(2)), Address::BROADCAST)));
    advertised(&mut nd, NOW, (true, true), Some(LINK));
    assert_eq!(nd.poll_change(), Some(Change::Found(other(2))));
    assert_eq!(
        (nd.resolution(other(2)), state(&nd)),
        (Resolution::To(LINK), Some(State::Reachable))
    );
    nd
}

/// Advances the time.
fn wait(nd: &mut Nd, until: Instant) {
    while let Some(at) = nd.deadline().filter(|at| *at <= until) {
        nd.handle_deadline(at);
    }
}

#[test]
fn reachable_becomes_stale_and_the_next_packet_delays_then_probes() {
    let mut nd = found();
    let later = NOW + Duration::from_secs(46);
    wait(&mut nd, NOW + Duration::from_secs(14));
    assert_eq!(state(&nd), Some(State::Reachable), "at least half of 30 s");
    wait(&mut nd, later);
    assert_eq!((state(&nd), nd.deadline()), (Some(State::Stale), None), "and then it rests");
    nd.handle_use(later, other(2));
    assert_eq!((state(&nd), sent(&mut nd, later)), (Some(State::Delay), None));
    wait(&mut nd, later + SECOND * 5);
    assert_eq!(sent(&mut nd, later), Some((other(2), LINK)), "to it alone");
    advertised(&mut nd, later + SECOND * 5, (true, false), None);
    assert_eq!(state(&nd), Some(State::Reachable));
}

#[test]
fn evidence_of_the_link_or_of_an_upper_layer_spares_the_probe() {
    for by_link in [true, false] {
        let mut nd = found();
        let later = NOW + Duration::from_secs(46);
        wait(&mut nd, later);
        nd.handle_use(later, other(2));
        if by_link {
            nd.handle_sent(later + SECOND, LINK, true);
        } else {
            nd.handle_progress(later + SECOND, other(2));
        }
        wait(&mut nd, later + SECOND * 10);
        assert_eq!((state(&nd), sent(&mut nd, later)), (Some(State::Reachable), None));
    }
}

#[test]
fn a_frame_without_acknowledgement_has_it_probed_at_once_and_forgotten() {
    let mut nd = found();
    nd.handle_sent(NOW, LINK, false);
    for step in 0..3 {
        assert_eq!(sent(&mut nd, NOW), Some((other(2), LINK)));
        wait(&mut nd, NOW + SECOND * (step + 1));
    }
    assert_eq!((state(&nd), sent(&mut nd, NOW)), (None, None));
}

#[test]
fn a_silent_neighbour_is_lost_after_three_solicitations() {
    let mut nd = nd();
    assert!(nd.want(NOW, other(2)));
    for step in 0..3 {
        assert!(sent(&mut nd, NOW).is_some() && nd.poll_change().is_none());
        wait(&mut nd, NOW + SECOND * (step + 1));
    }
    assert_eq!((nd.poll_change(), nd.poll_change()), (Some(Change::Lost(other(2))), None));
    assert_eq!((nd.resolution(other(2)), nd.deadline()), (Resolution::Unknown, None));
}

/// RFC 4861, 7.2.5.
#[test]
fn another_link_address_is_accepted_only_if_it_overrides() {
    let elsewhere = Some(Address::Short(8));
    let mut nd = found();
    advertised(&mut nd, NOW, (false, false), elsewhere);
    assert_eq!((nd.resolution(other(2)), state(&nd)), (Resolution::To(LINK), Some(State::Stale)));
    advertised(&mut nd, NOW, (true, false), elsewhere);
    assert_eq!((nd.resolution(other(2)), state(&nd)), (Resolution::To(LINK), Some(State::Stale)));
    advertised(&mut nd, NOW, (false, true), elsewhere);
    assert_eq!(
        (nd.resolution(other(2)), state(&nd)),
        (Resolution::To(Address::Short(8)), Some(State::Stale))
    );
    advertised(&mut nd, NOW, (true, true), Some(LINK));
    assert_eq!(
        (nd.resolution(other(2)), state(&nd)),
        (Resolution::To(LINK), Some(State::Reachable))
    );
}

#[test]
fn an_advertisement_of_a_neighbour_that_was_given_up_comes_too_late() {
    let mut nd = nd();
    assert!(nd.want(NOW, other(2)));
    wait(&mut nd, NOW + SECOND * 3);
    assert_eq!(state(&nd), Some(State::Unreachable));
    advertised(&mut nd, NOW + SECOND * 3, (true, true), Some(LINK));
    assert_eq!((nd.poll_change(), nd.poll_change()), (Some(Change::Lost(other(2))), None));
    assert_eq!(nd.resolution(other(2)), Resolution::Unknown);
}

/// RFC 4861, 7.2.5: an advertisement that may not override changes only the state Reachable.
#[test]
fn another_link_address_does_not_end_a_probe() {
    let mut nd = found();
    nd.handle_sent(NOW, LINK, false);
    assert_eq!(state(&nd), Some(State::Probe));
    advertised(&mut nd, NOW, (false, false), Some(Address::Short(8)));
    assert_eq!((nd.resolution(other(2)), state(&nd)), (Resolution::To(LINK), Some(State::Probe)));
}

#[test]
fn a_guessed_link_address_is_replaced_by_any_that_is_advertised() {
    let (mut nd, guessed) = (nd(), Ipv6Addr::new(0xFE80, 0, 0, 0, 1, 2, 3, 4));
    nd.handle_use(NOW, guessed);
    let (router, solicited, overriding) = (false, true, false);
    let told = Advertisement { router, solicited, overriding, target: guessed };
    let link = Some(NdOption::TargetLinkAddress(LINK));
    hear(&mut nd, NOW, (guessed, OWN), Kind::NeighbourAdvertisement(told), link).unwrap();
    assert_eq!(
        (nd.resolution(guessed), state(&nd)),
        (Resolution::To(LINK), Some(State::Reachable))
    );
}

/// RFC 4861, 7.2.4.
#[test]
fn a_solicitation_without_a_link_address_is_answered_to_the_known_one_or_to_its_frames_source() {
    let asks = Kind::NeighbourSolicitation(OWN);
    let ends = (other(2), OWN);
    let mut nd = found();
    hear(&mut nd, NOW, ends, asks, None).unwrap();
    assert_eq!(sent(&mut nd, NOW), Some((other(2), LINK)));
    let mut nd = self::nd();
    nd.want(NOW, other(2));
    sent(&mut nd, NOW);
    hear(&mut nd, NOW, ends, asks, None).unwrap();
    assert_eq!(sent(&mut nd, NOW), Some((other(2), Address::Short(99))), "still being sought");
}

/// RFC 4861, 7.1.1.
#[test]
fn a_solicitation_from_no_address_goes_to_the_solicited_node_group_without_a_link_address() {
    let group = solicited_node(OWN);
    for (src, dst, has_link, is_valid) in [
        (Ipv6Addr::UNSPECIFIED, group, false, true),
        (Ipv6Addr::UNSPECIFIED, group, true, false),
        (Ipv6Addr::UNSPECIFIED, OWN, false, false),
        (Ipv6Addr::UNSPECIFIED, OWN, true, false),
        (other(2), group, true, true),
        (other(2), OWN, true, true),
        (other(2), OWN, false, true),
    ] {
        let mut nd = nd();
        let link = has_link.then_some(NdOption::SourceLinkAddress(LINK));
        let result = hear(&mut nd, NOW, (src, dst), Kind::NeighbourSolicitation(OWN), link);
        let expected = if is_valid { Ok(()) } else { Err(Discard::Invalid) };
        assert_eq!(result, expected, "{src} {dst} {has_link}");
        assert_eq!(sent(&mut nd, NOW).is_some(), is_valid);
    }
}

#[test]
fn unsolicited_advertisements_are_not_accepted() {
    let mut nd = nd();
    advertised(&mut nd, NOW, (true, true), Some(LINK));
    assert_eq!((state(&nd), nd.resolution(other(2))), (None, Resolution::Unknown));
    let redirect = Kind::Redirect { target: other(3), destination: other(2) };
    assert_eq!(hear(&mut nd, NOW, (other(3), OWN), redirect, None), Err(Discard::Ignored));
    assert_eq!(nd.stats().discarded(Discard::Ignored), 1);
    // An advertisement without a link address, or with a broadcast one, is not accepted.
    nd.want(NOW, other(2));
    advertised(&mut nd, NOW, (true, true), None);
    advertised(&mut nd, NOW, (true, true), Some(Address::BROADCAST));
    assert_eq!(state(&nd), Some(State::Incomplete));
}

#[test]
fn a_guess_is_kept_while_frames_are_acknowledged_and_else_asked_about() {
    let (mut nd, guessed) = (nd(), Ipv6Addr::new(0xFE80, 0, 0, 0, 1, 2, 3, 4));
    let Resolution::To(link) = nd.resolution(guessed) else { panic!("a guess") };
    nd.handle_use(NOW, guessed);
    nd.handle_sent(NOW, link, true);
    assert_eq!(state(&nd), Some(State::Reachable));
    let mut nd = self::nd();
    nd.handle_use(NOW, guessed);
    nd.handle_sent(NOW, link, false);
    wait(&mut nd, NOW + SECOND * 3);
    assert_eq!(
        (nd.resolution(guessed), state(&nd)),
        (Resolution::Unknown, Some(State::Incomplete))
    );
    assert_eq!(sent(&mut nd, NOW), Some((solicited_node(guessed), Address::BROADCAST)));
    // A short link address is certain, and needs no entry.
    let mut nd = self::nd();
    nd.handle_use(NOW, Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, 7));
    assert_eq!(state(&nd), None);
}

#[test]
fn a_neighbour_on_which_packets_wait_is_not_evicted() {
    let mut nd = nd();
    for n in 0..NEIGHBOURS as u16 {
        assert!(nd.want(NOW + Duration::from_millis(u64::from(n)), other(n)));
    }
    assert!(!nd.want(NOW + SECOND, other(99)), "all are being asked for");
    // Found, but not yet reported for its packets.
    advertised(&mut nd, NOW + SECOND, (true, true), Some(LINK));
    assert!(!nd.want(NOW + SECOND, other(99)));
    assert_eq!(nd.poll_change(), Some(Change::Found(other(2))));
    assert!(nd.want(NOW + SECOND, other(99)), "and then it may give way");
    assert_eq!((nd.stats().refused, nd.stats().evicted), (2, 1));
}

proptest! {
    /// Under any flood of solicitations, entries in use keep their link address, and pending
    /// resolutions succeed.
    #[test]
    fn a_flood_of_solicitations_evicts_no_neighbour_in_use(
        used in 1..=NEIGHBOURS as u16,
        flood in prop::collection::vec((any::<[u8; 16]>(), any::<u16>(), 0..3u8), 0..60),
    ) {
        let mut nd = nd();
        for n in 0..used {
            prop_assert!(nd.want(NOW, other(n)));
        }
        let kind = Kind::NeighbourSolicitation(OWN);
        for (n, (src, link, form)) in flood.into_iter().enumerate() {
            let mut src = src;
            src[0] &= 0x7F;
            let link = NdOption::SourceLinkAddress(Address::Short(link & 0x7FFF));
            let now = NOW + Duration::from_millis(n as u64);
            let option = (form > 0).then_some(link);
            let _ = hear(&mut nd, now, (Ipv6Addr::from(src), solicited_node(OWN)), kind, option);
            prop_assert!(nd.neighbours().count() <= NEIGHBOURS);
        }
        let target = other(used - 1);
        let (router, solicited, overriding) = (false, true, true);
        let kind =
            Kind::NeighbourAdvertisement(Advertisement { router, solicited, overriding, target });
        let option = Some(NdOption::TargetLinkAddress(LINK));
        hear(&mut nd, NOW, (target, OWN), kind, option).unwrap();
        prop_assert_eq!(nd.resolution(target), Resolution::To(LINK));
        for n in 0..used {
            prop_assert!(nd.neighbours().any(|it| it.address() == other(n)));
        }
    }
}
