//! Prefixes and contexts over several hops (RFC 6775, 6.3 and 8.1).

use super::{ALL_ROUTERS, Lone, MINUTE, OWN, ROOT, Sent, border, config, context, global, local};
use super::{host, of_type, prefix, root, router, source};
use crate::common::Serves;
use kinglet_nd::{Border, Configured, Discovery, NdConfig, Offer, Serving};
use kinglet_wire::nd::{Kind, NdOption, PrefixInformation};

/// Returns a router's responses to a solicitation.
fn solicited(lone: &mut Lone<Serves>) -> Vec<Sent> {
    lone.sent();
    lone.hear(local(7), ALL_ROUTERS, Kind::RouterSolicitation, &[source(7)]).unwrap();
    of_type(&lone.sent(), 134)
}

/// Returns the number of prefixes and contexts in advertisements.
fn count_contents(sent: &[Sent]) -> usize {
    let is = |option: &NdOption<'_>| matches!(option, NdOption::Prefix(_) | NdOption::Context(_));
    sent.iter().map(|sent| sent.options().iter().filter(|option| is(option)).count()).sum()
}

//= rfc6775#4.3-1 rfc6775#8.1.1-1 type=test
#[test]
fn each_advertisement_names_the_border_router() {
    for (mut lone, expected) in [(root(), OWN), (super::inner(), ROOT)] {
        let mut sent = of_type(&lone.run(MINUTE), 134);
        sent.extend(solicited(&mut lone));
        assert!(sent.len() >= 4);
        for sent in &sent {
            assert_eq!(sent.border().map(|it| it.address), Some(expected));
        }
    }
}

//= rfc6775#3.4-1 rfc6775#8.1.2-1 type=test
#[test]
fn a_router_begins_like_a_host() {
    let config = NdConfig { autoconfigures: true, ..config() };
    let role = Serving::new(Offer::new(Border::Learnt));
    let mut lone = Lone::<Serves> { nd: Discovery::with_role(config, role), now: host().now };
    let asked = of_type(&lone.run(MINUTE), 133);
    assert!(asked.len() >= 3 && asked.iter().all(|sent| sent.has(&source(1))));
    let options = [NdOption::Prefix(prefix(false)), NdOption::BorderRouter(border(ROOT, 7))];
    lone.advertises(9, &options).unwrap();
    assert_eq!(lone.configured(), [Configured::Address(OWN)]);
    assert!(count_contents(&solicited(&mut lone)) == 1, "and is a router by then");
}

//= rfc6775#8.1.3-1 type=test
#[test]
fn a_router_passes_nothing_on_of_who_names_no_border_router() {
    let mut lone = router(Border::Learnt);
    lone.advertises(9, &[NdOption::Prefix(prefix(false))]).unwrap();
    assert_eq!(solicited(&mut lone).len(), 0);
    lone.advertises(9, &[NdOption::Prefix(prefix(false)), NdOption::BorderRouter(border(ROOT, 7))])
        .unwrap();
    lone.advertises(9, &[NdOption::Context(context(true, 60))]).unwrap();
    assert_eq!(count_contents(&solicited(&mut lone)), 1);
}

//= rfc6775#8.1.3-2 type=test
#[test]
fn an_older_version_is_ignored_and_a_newer_one_is_all_that_counts() {
    let mut lone = router(Border::Learnt);
    let says = |lone: &mut Lone<Serves>, version, option: NdOption<'static>| {
        let options = [option, NdOption::BorderRouter(border(ROOT, version))];
        lone.advertises(9, &options).unwrap();
        let sent = solicited(lone);
        (count_contents(&sent), sent[0].border().unwrap().version)
    };
    let (prefix, context) = (NdOption::Prefix(prefix(false)), NdOption::Context(context(true, 60)));
    assert_eq!(says(&mut lone, 7, prefix), (1, 7));
    assert_eq!(says(&mut lone, 6, context), (1, 7), "older");
    assert_eq!(says(&mut lone, 7, context), (2, 7));
    assert_eq!(says(&mut lone, 8, context), (1, 8), "newer");
}

//= rfc6775#8.1.5-1 rfc6775#8.1.5-2 rfc6775#8.1.5-3 type=test
#[test]
fn information_of_two_border_routers_is_not_mixed() {
    let mut lone = router(Border::Learnt);
    let other = PrefixInformation { prefix: "2001:db8:9::".parse().unwrap(), ..prefix(false) };
    for (prefix, address) in [(prefix(false), ROOT), (other, global(66))] {
        let options = [NdOption::Prefix(prefix), NdOption::BorderRouter(border(address, 7))];
        lone.advertises(9, &options).unwrap();
    }
    let sent = solicited(&mut lone);
    assert_eq!((sent.len(), count_contents(&sent)), (1, 1));
    assert_eq!(sent[0].border(), Some(border(ROOT, 7)));
    assert!(sent[0].has(&NdOption::Prefix(prefix(false))));
}

//= rfc6775#6.3-1 type=test
#[test]
fn of_a_border_router_that_is_silent_for_long_nothing_is_left() {
    let mut lone = router(Border::Learnt);
    let options = [NdOption::Prefix(prefix(false)), NdOption::BorderRouter(border(ROOT, 7))];
    lone.advertises(9, &options).unwrap();
    lone.run(MINUTE * 60 - MINUTE);
    assert_eq!(count_contents(&solicited(&mut lone)), 1);
    lone.run(MINUTE);
    assert_eq!(solicited(&mut lone).len(), 0);
}

//= rfc6775#14-3 type=test
#[test]
fn a_border_router_makes_no_address_of_what_others_advertise() {
    let mut lone = root();
    let options = [NdOption::Prefix(prefix(false)), NdOption::BorderRouter(border(ROOT, 7))];
    lone.advertises(9, &options).unwrap();
    assert_eq!(lone.configured(), []);
}
