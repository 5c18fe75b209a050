//! Losses start a search at once (RFC 6775, 5.3; RFC 4861, 6.3.7 and 7.3.3): each event that
//! empties a table of a host or router starts the timer that fills it again.

use super::{ALL_ROUTERS, Lone, MINUTE, OWN, ROOT, SECOND, Sent, asks, border, config, context};
use super::{host, local, of_type, prefix, source};
use crate::common::{Plan, Serves};
use core::net::Ipv6Addr;
use kinglet_nd::{Border, Configured, Discovery, NdConfig, Offer, Serving, Sizes};
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::nd::{
    Advertisement, Capabilities, Kind, NdOption, PrefixInformation, Registration,
};
use kinglet_wire::nd::{RouterAdvertisement, Servers, status};

const EXTENDED: NdOption<'static> = NdOption::Capabilities(Capabilities(Capabilities::EXTENDED));
/// Solicitations are at least ten seconds apart (RTR_SOLICITATION_INTERVAL).
const SOON: Duration = Duration::from_secs(11);

fn advertise<S: Sizes>(lone: &mut Lone<S>, n: u16, lifetime_s: u16, options: &[NdOption<'_>]) {
    let kind = Kind::RouterAdvertisement(RouterAdvertisement {
        lifetime_s,
        ..RouterAdvertisement::default()
    });
    let options = [&[source(n)], options].concat();
    lone.hear(local(n), super::ALL_NODES, kind, &options).unwrap();
    lone.configured();
}

/// Advances the time. Returns the messages that are sent.
fn pass<S: Sizes>(lone: &mut Lone<S>, span: Duration) -> Vec<Sent> {
    let (end, mut all) = (lone.now + span, lone.sent());
    while let Some(at) = lone.nd.deadline().filter(|at| *at <= end) {
        lone.now = lone.now.max(at);
        lone.nd.handle_deadline(lone.now);
        lone.configured();
        all.extend(lone.sent());
        assert!(all.len() < 300, "{all:?}");
    }
    lone.now = end;
    all
}

fn lived(valid_s: u32) -> NdOption<'static> {
    NdOption::Prefix(PrefixInformation { valid_s, preferred_s: valid_s, ..prefix(false) })
}

/// Returns a host that is registered with the first of the routers, and has nothing to send.
fn settled(routers: &[u16]) -> Lone<Plan> {
    let mut lone = host();
    for n in routers {
        advertise(&mut lone, *n, 9_000, &[EXTENDED, lived(9_000)]);
    }
    let first = routers[0];
    assert_eq!(registered(&mut lone, first, 0), [local(1), OWN]);
    let quiet = pass(&mut lone, MINUTE);
    assert!(quiet.is_empty(), "{quiet:?}");
    lone
}

/// Answers the pending registrations with router `n`. Returns their addresses.
fn registered<S: Sizes>(lone: &mut Lone<S>, n: u16, verdict: u8) -> Vec<Ipv6Addr> {
    let mut all = Vec::new();
    for _ in 0..2 {
        for sent in of_type(&lone.sent(), 135) {
            let Some(asked) = sent.registration() else { continue };
            let Kind::NeighbourSolicitation(target) = sent.kind() else { continue };
            assert_eq!(sent.message.dst, local(n));
            let (router, solicited, overriding) = (true, true, false);
            let kind = Advertisement { router, solicited, overriding, target };
            let status = if target == OWN { verdict } else { 0 };
            let options = [NdOption::Registration(Registration { status, ..asked })];
            lone.hear(local(n), local(1), Kind::NeighbourAdvertisement(kind), &options).unwrap();
            all.push(target);
        }
    }
    all
}

fn solicitations(sent: &[Sent]) -> Vec<Ipv6Addr> {
    of_type(sent, 133).into_iter().map(|sent| sent.message.dst).collect()
}

/// Returns whether all routers are solicited soon.
fn searches<S: Sizes>(lone: &mut Lone<S>) -> bool {
    solicitations(&pass(lone, SOON)).contains(&ALL_ROUTERS)
}

fn advertise_role(lone: &mut Lone<Plan>, n: u16, router: bool) {
    let (solicited, overriding, target) = (true, false, local(n));
    let kind =
        Kind::NeighbourAdvertisement(Advertisement { router, solicited, overriding, target });
    let _ = lone.hear(local(n), local(1), kind, &[]);
}

#[test]
fn the_last_router_that_resigns_or_expires_is_searched_for() {
    let mut lone = settled(&[9]);
    advertise(&mut lone, 9, 0, &[]);
    assert!(searches(&mut lone), "Router Lifetime 0");
    let mut lone = host();
    advertise(&mut lone, 9, 30, &[EXTENDED]);
    pass(&mut lone, SECOND * 29);
    assert!(searches(&mut lone), "its lifetime is over");
}

#[test]
fn the_last_router_that_says_it_is_none_is_searched_for() {
    let mut lone = settled(&[9]);
    advertise_role(&mut lone, 9, true);
    assert_eq!(lone.nd.router(), Some(local(9)));
    advertise_role(&mut lone, 9, false);
    assert_eq!(lone.nd.router(), None);
    assert!(searches(&mut lone));
}

#[test]
fn the_last_router_that_does_not_answer_is_searched_for() {
    // Frames without acknowledgement.
    let mut lone = settled(&[9]);
    (0..3).for_each(|_| lone.nd.handle_sent(lone.now, Address::Short(9), false));
    assert!(searches(&mut lone));
    // Unanswered solicitations, though each frame is acknowledged: for the link address, and for
    // reachability.
    for known in [false, true] {
        let mut lone = host();
        let router = Ipv6Addr::new(0xFE80, 0, 0, 0, 1, 2, 3, 4);
        let kind = Kind::RouterAdvertisement(RouterAdvertisement {
            lifetime_s: 9_000,
            ..RouterAdvertisement::default()
        });
        let options: &[NdOption<'_>] = if known { &[source(9)] } else { &[] };
        lone.hear(router, super::ALL_NODES, kind, options).unwrap();
        pass(&mut lone, SECOND * 10);
        assert_eq!(lone.nd.router(), Some(router));
        if known {
            lone.nd.handle_use(lone.now, router);
        } else {
            lone.nd.want(lone.now, router);
        }
        pass(&mut lone, SECOND * 10);
        assert_eq!(lone.nd.router(), None, "{known}");
        assert!(searches(&mut lone), "{known}");
    }
}

#[test]
fn another_router_is_registered_with_as_soon_as_the_first_is_lost() {
    let lose: [fn(&mut Lone<Plan>); 3] = [
        |lone| advertise(lone, 8, 0, &[]),
        |lone| advertise_role(lone, 8, false),
        |lone| (0..3).for_each(|_| lone.nd.handle_sent(lone.now, Address::Short(8), false)),
    ];
    for lose in lose {
        let mut lone = settled(&[8, 9]);
        lose(&mut lone);
        assert_eq!(lone.nd.router(), Some(local(9)));
        assert_eq!(registered(&mut lone, 9, 0), [local(1), OWN]);
    }
}

#[test]
fn advertisements_cannot_have_routers_solicited_more_often_than_in_ten_seconds() {
    let (mut lone, mut count) = (settled(&[9]), 0);
    for _ in 0..100 {
        advertise(&mut lone, 9, 9_000, &[EXTENDED, lived(9_000)]);
        advertise(&mut lone, 9, 0, &[]);
        count += solicitations(&pass(&mut lone, SECOND / 2)).len();
    }
    assert!((1..=6).contains(&count), "{count} in 50 s");
}

#[test]
fn an_advertisement_of_a_router_that_may_not_be_used_does_not_end_the_search() {
    let mut lone = host();
    lone.nd = Discovery::new(NdConfig { autoconfigures: true, has_parent: true, ..config() });
    lone.nd.handle_deadline(lone.now);
    lone.nd.prefer(lone.now, Some(Address::Short(7)));
    pass(&mut lone, SECOND);
    advertise(&mut lone, 9, 9_000, &[EXTENDED, lived(9_000)]);
    assert_eq!(lone.nd.router(), None);
    assert!(searches(&mut lone));
    // A node without a parent could not use a response.
    advertise(&mut lone, 7, 9_000, &[]);
    assert_eq!(lone.nd.router(), Some(local(7)));
    pass(&mut lone, MINUTE);
    lone.nd.prefer(lone.now, None);
    assert!(solicitations(&pass(&mut lone, MINUTE)).is_empty());
}

#[test]
fn the_first_routers_end_is_not_forgotten_over_the_advertisement_of_another() {
    let mut lone = host();
    advertise(&mut lone, 9, 100, &[]);
    advertise(&mut lone, 8, 9_000, &[]);
    assert_eq!(solicitations(&pass(&mut lone, SECOND * 80)), [local(9)]);
}

#[test]
fn an_item_that_is_no_longer_advertised_is_solicited_before_it_expires() {
    let servers = [7; 16];
    let server = NdOption::RecursiveDns { lifetime_s: 60, servers: Servers::new(&servers) };
    for option in [lived(60), NdOption::Context(context(true, 1)), server] {
        let mut lone = host();
        advertise(&mut lone, 9, 9_000, &[EXTENDED, option]);
        // The solicitation comes before the end; the response does not contain the item.
        let asked = solicitations(&pass(&mut lone, SECOND * 50));
        assert_eq!(asked, [local(9)], "{option:?}");
        advertise(&mut lone, 9, 9_000, &[EXTENDED]);
        pass(&mut lone, SECOND * 9);
        assert_eq!(solicitations(&pass(&mut lone, SOON)), [local(9)], "{option:?}");
    }
}

#[test]
fn a_registration_that_was_refused_or_not_answered_is_asked_for_again() {
    for (verdict, after) in [(status::FULL, 60), (status::REMOVED, 10), (status::DUPLICATE, 3_600)]
    {
        let mut lone = host();
        advertise(&mut lone, 9, u16::MAX, &[EXTENDED, lived(u32::MAX)]);
        assert_eq!(registered(&mut lone, 9, verdict).len(), 2);
        let early = pass(&mut lone, SECOND * (after - 1));
        let early: Vec<_> = early.iter().filter(|it| it.has(&source(1))).collect();
        assert!(verdict == status::DUPLICATE || early.is_empty(), "{early:?}");
        lone.now = lone.nd.deadline().unwrap();
        lone.nd.handle_deadline(lone.now);
        assert!(registered(&mut lone, 9, 0).contains(&OWN), "{verdict}");
    }
}

#[test]
fn a_registration_that_is_always_refused_is_asked_for_ever_less_often() {
    let waits = [
        (status::REMOVED, [10, 20, 40, 80, 160, 300, 300]),
        (status::FULL, [60, 120, 240, 300, 300, 300, 300]),
    ];
    for (verdict, waits) in waits {
        let mut lone = settled(&[9]);
        // Registered again: the first refusal.
        lone.now = lone.nd.deadline().unwrap();
        lone.nd.handle_deadline(lone.now);
        assert!(registered(&mut lone, 9, verdict).contains(&OWN));
        for (count, wait) in waits.into_iter().enumerate() {
            let quiet = pass(&mut lone, SECOND * wait - Duration::from_millis(1));
            let asked = of_type(&quiet, 135);
            assert!(asked.is_empty(), "{verdict}, {wait} s: {asked:?}");
            lone.now += Duration::from_millis(1);
            lone.nd.handle_deadline(lone.now);
            let answer = if count == 6 { 0 } else { verdict };
            assert!(registered(&mut lone, 9, answer).contains(&OWN), "{verdict}, {wait} s");
        }
        // After a success the waits start from the beginning.
        lone.now += MINUTE * 56;
        lone.nd.handle_deadline(lone.now);
        assert!(registered(&mut lone, 9, verdict).contains(&OWN));
        lone.now += SECOND * waits[0];
        lone.nd.handle_deadline(lone.now);
        assert!(registered(&mut lone, 9, verdict).contains(&OWN), "{verdict}");
    }
}

#[test]
fn an_address_of_which_the_other_owner_is_gone_is_used_again() {
    let mut lone = host();
    advertise(&mut lone, 9, u16::MAX, &[EXTENDED, lived(u32::MAX)]);
    assert_eq!(registered(&mut lone, 9, status::DUPLICATE).len(), 2);
    assert_eq!(lone.configured(), [Configured::NoAddress(OWN)]);
    // Another router gets the request at once.
    advertise(&mut lone, 8, u16::MAX, &[EXTENDED]);
    advertise(&mut lone, 9, 0, &[]);
    assert_eq!(registered(&mut lone, 8, 0), [local(1), OWN]);
    assert_eq!(lone.configured(), [Configured::Address(OWN)]);
}

#[test]
fn a_router_of_rfc_6775_that_did_not_answer_is_asked_again_within_minutes() {
    let again = |lone: &mut Lone<Plan>| {
        let sent = pass(lone, SECOND * 400);
        of_type(&sent, 135).iter().filter(|sent| sent.registration().is_some()).count()
    };
    let (mut lone, abro) = (host(), NdOption::BorderRouter(border(ROOT, 7)));
    advertise(&mut lone, 9, u16::MAX, &[lived(u32::MAX), abro]);
    assert!(again(&mut lone) > 3);
    // A router that does not advertise the support, but has registered this node before.
    let mut lone = host();
    advertise(&mut lone, 9, u16::MAX, &[lived(u32::MAX)]);
    let (router, solicited, overriding, target) = (true, true, false, local(9));
    let kind = Advertisement { router, solicited, overriding, target };
    let options = [NdOption::Registration(asks(1, None, 60))];
    lone.sent();
    lone.hear(local(9), OWN, Kind::NeighbourAdvertisement(kind), &options).unwrap();
    advertise(&mut lone, 9, u16::MAX, &[lived(u32::MAX)]);
    pass(&mut lone, MINUTE * 54);
    assert!(again(&mut lone) > 3);
}

#[test]
fn a_router_that_has_lost_its_border_router_or_what_that_said_searches() {
    let config = NdConfig { autoconfigures: true, ..config() };
    let role = || Serving::new(Offer::new(Border::Learnt));
    let make = || Lone::<Serves> { nd: Discovery::with_role(config, role()), now: host().now };
    let mut lone = make();
    let border = |version, valid_min| {
        NdOption::BorderRouter(kinglet_wire::nd::BorderRouter { version, valid_min, address: ROOT })
    };
    // It solicits before that expires, and when it does.
    advertise(&mut lone, 9, u16::MAX, &[lived(u32::MAX), border(7, 10)]);
    assert!(!solicitations(&pass(&mut lone, MINUTE * 8)).is_empty());
    advertise(&mut lone, 9, u16::MAX, &[lived(u32::MAX)]);
    pass(&mut lone, MINUTE * 2 - SECOND);
    assert!(searches(&mut lone));
    // A newer version with fewer items: the rest of it may have been lost.
    let mut lone = make();
    advertise(&mut lone, 9, u16::MAX, &[lived(9_000), border(7, 60)]);
    assert!(solicitations(&pass(&mut lone, SOON)).is_empty());
    advertise(&mut lone, 9, u16::MAX, &[lived(9_000), border(8, 60)]);
    assert!(solicitations(&pass(&mut lone, SOON)).is_empty());
    advertise(&mut lone, 9, u16::MAX, &[border(9, 60)]);
    assert!(searches(&mut lone));
}
