//! Formats (RFC 6550, 6): reserved, unknown and malformed fields.

use super::{DAO, DIO, DIS, Lone, ROOT, STEP, dio, of_code, prefix, secs};
use crate::common::{address, near};
use core::net::Ipv6Addr;
use kinglet_rpl::{CONFIGURATION, Discard, Mode, Role, Root};
use kinglet_wire::rpl::{
    Configuration, ControlOption, Dao, DaoAck, Dio, Dis, Message, PrefixInformation,
    RouteInformation, Solicited, Target, Writer,
};

/// Returns the octets of a message with one option.
fn written(message: &Message, option: Option<ControlOption<'_>>) -> Vec<u8> {
    let mut octets = [0xA5; 200];
    let mut writer = Writer::new(&mut octets, message).unwrap();
    option.iter().for_each(|option| writer.option(option).unwrap());
    let len = writer.len();
    octets[..len].to_vec()
}

/// Reserved bits of a message: octet and mask.
type Reserved = &'static [(usize, u8)];

/// Checks that reserved bits are written as zero, and ignored by the receiver.
fn check(message: Message, option: Option<ControlOption<'_>>, reserved: Reserved) {
    let octets = written(&message, option);
    let read = |octets: &[u8]| {
        let (message, options) = Message::parse(message.code(), octets).unwrap();
        format!("{message:?} {:?}", options.collect::<Vec<_>>())
    };
    let mut other = octets.clone();
    for (at, mask) in reserved {
        assert_eq!(octets[*at] & mask, 0, "octet {at} of {message:?} {option:?}");
        other[*at] |= mask;
    }
    assert_eq!(read(&octets), read(&other), "{message:?} {option:?}");
}

fn dao(dodag_id: Option<Ipv6Addr>) -> Message {
    Message::Dao(Dao { instance: 1, acknowledge: true, sequence: 2, dodag_id })
}

//= rfc6550#6.2.1-1 rfc6550#6.2.1-2 rfc6550#6.3.1-1 rfc6550#6.3.1-3 rfc6550#6.4.1-2 type=test
//= rfc6550#6.4.1-3 rfc6550#6.5.1-1 type=test
#[test]
fn reserved_bits_of_messages_are_zero_and_ignored() {
    check(Message::Dis(Dis), None, &[(0, 0xFF), (1, 0xFF)]);
    check(Message::Dio(dio(Mode::Storing, STEP)), None, &[(4, 0x40), (6, 0xFF), (7, 0xFF)]);
    for id in [None, Some(address(ROOT))] {
        check(dao(id), None, &[(1, 0x3F), (2, 0xFF)]);
        let ack = DaoAck { instance: 1, sequence: 2, status: 3, dodag_id: id };
        check(Message::DaoAck(ack), None, &[(1, 0x7F)]);
    }
}

//= rfc6550#6.7.5-2 rfc6550#6.7.6-3 rfc6550#6.7.6-5 rfc6550#6.7.7-1 rfc6550#6.7.8-2 type=test
//= rfc6550#6.7.9-6 rfc6550#6.7.10-4 rfc6550#6.7.10-6 type=test
#[test]
fn reserved_bits_of_options_are_zero_and_ignored() {
    let route =
        RouteInformation { prefix: address(3), prefix_len: 128, preference: 1, lifetime_secs: 9 };
    let configuration = Configuration { path_control_size: 7, ..CONFIGURATION };
    let target = Target { prefix: address(3), prefix_len: 128 };
    let solicited = Solicited { instance: Some(1), dodag_id: Some(address(3)), version: Some(2) };
    // After the two octets of a DIS, and type and length.
    let options: [(ControlOption<'_>, Reserved); 6] = [
        (ControlOption::Route(route), &[(5, 0xE7)]),
        // RFC 9008 and RFC 9035 have assigned two of the four flags.
        (ControlOption::Configuration(configuration), &[(4, 0xC0), (14, 0xFF)]),
        (ControlOption::Target(target), &[(4, 0xFF)]),
        (ControlOption::Transit(super::transit(1, None)), &[(4, 0x7F)]),
        (ControlOption::Solicited(solicited), &[(5, 0x1F)]),
        (
            ControlOption::Prefix(prefix(3)),
            &[(5, 0x1F), (14, 0xFF), (15, 0xFF), (16, 0xFF), (17, 0xFF)],
        ),
    ];
    for (option, reserved) in options {
        check(Message::Dis(Dis), Some(option), reserved);
    }
}

//= rfc6550#6.7.5-3 rfc6550#6.7.7-2 type=test
#[test]
fn bits_behind_the_length_of_a_prefix_are_zero_and_ignored() {
    let (prefix, prefix_len) = (Ipv6Addr::from_bits(u128::MAX), 60);
    let route = RouteInformation { prefix, prefix_len, preference: 0, lifetime_secs: 9 };
    check(Message::Dis(Dis), Some(ControlOption::Route(route)), &[(17, 0x0F)]);
    let target = ControlOption::Target(Target { prefix, prefix_len });
    check(Message::Dis(Dis), Some(target), &[(13, 0x0F)]);
}

/// Returns the last DIO of a root with this configuration, and of a router whose parent sends the
/// same.
fn said(change: impl Fn(&mut Root)) -> [super::Sent; 2] {
    let mut root = Root::new(address(ROOT), Mode::NonStoring);
    change(&mut root);
    let mut router = Lone::new(Role::Router, |_| {});
    let prefix = root.prefix.map(ControlOption::Prefix);
    let route = root.route.map(ControlOption::Route);
    let configuration = [ControlOption::Configuration(root.configuration)];
    let options: Vec<_> = configuration.into_iter().chain(prefix).chain(route).collect();
    let heard = Message::Dio(dio(Mode::NonStoring, 2 * STEP));
    router.hear(near(1), true, heard, &options).unwrap();
    let root = Lone::new(Role::Root(root), |_| {});
    [root, router].map(|mut lone| of_code(lone.run(secs(9)), DIO).pop().expect("a DIO"))
}

//= rfc6550#6.7.5-1 type=test
#[test]
fn a_route_with_the_reserved_preference_is_neither_sent_nor_passed_on() {
    for (preference, passes) in [(0, true), (1, true), (2, false), (3, true)] {
        let route =
            RouteInformation { prefix: address(3), prefix_len: 64, preference, lifetime_secs: 9 };
        for dio in said(|root| root.route = Some(route)) {
            let received = dio.route().map(|route| route.preference);
            assert_eq!(received, passes.then_some(preference));
        }
    }
}

//= rfc6550#6.7.6-4 type=test
#[test]
fn a_dio_that_is_not_secured_says_nothing_of_authentication() {
    for dio in said(|root| root.configuration.authentication = true) {
        assert_eq!(dio.configuration(), Some(CONFIGURATION));
    }
}

//= rfc6550#6.7.10-3 type=test
#[test]
fn a_prefix_is_preferred_for_no_longer_than_it_is_valid() {
    let received = PrefixInformation { valid_secs: 600, preferred_secs: 900, ..prefix(ROOT) };
    for dio in said(|root| root.prefix = Some(received)) {
        let lifetimes = dio.prefix().map(|it| (it.valid_secs, it.preferred_secs));
        assert_eq!(lifetimes, Some((600, 600)));
    }
}

//= rfc6550#6.7.10-5 type=test
#[test]
fn the_prefix_option_has_the_address_of_the_sender_or_zero() {
    let what = |autonomous, router_address| {
        let received = PrefixInformation { autonomous, router_address, ..prefix(ROOT) };
        said(|root| root.prefix = Some(received)).map(|dio| {
            let prefix = dio.prefix().expect("the prefix");
            (prefix.router_address, prefix.prefix.to_bits() as u64)
        })
    };
    let root = (true, ROOT as u64 + 1);
    assert_eq!(what(false, false), [(false, 0); 2]);
    assert_eq!(what(false, true), [root, (false, 0)], "a router has no address of it");
    assert_eq!(what(true, true), [root, (true, 1)]);
}

//= rfc6550#6-1 type=test
#[test]
fn a_message_with_an_unknown_code_is_discarded_without_an_answer() {
    let mut lone = Lone::root(Mode::Storing);
    lone.run(secs(60));
    for code in (4..=255).filter(|code| code & 0x7F > 3) {
        let heard = lone.hear_octets(near(1), false, code, &[0; 24]);
        assert!(matches!(heard, Err(Discard::Malformed(_))), "{code}: {heard:?}");
    }
    assert_eq!(lone.sent().len(), 0);
    assert_eq!(lone.rpl.routes().count(), 0);
}

//= rfc6550#6.7.1-1 rfc6550#6.7.3-1 type=test
#[test]
fn unknown_options_and_padding_are_passed_over_and_the_rest_is_read() {
    let mut octets = written(&Message::Dio(dio(Mode::Storing, STEP)), None);
    octets.extend([0xFE, 3, 1, 2, 3, 0, 1, 4, 4, 14, 5, 6]);
    let configuration = ControlOption::Configuration(CONFIGURATION);
    octets.extend(&written(&Message::Dis(Dis), Some(configuration))[2..]);
    let mut lone = Lone::new(Role::Router, |_| {});
    lone.hear_octets(near(9), true, DIO, &octets).unwrap();
    assert_eq!(lone.rpl.parent(), Some(near(9)), "by the configuration behind them");
}

//= rfc6550#8.2.3-1 type=test
#[test]
fn a_malformed_dio_changes_nothing_and_draws_no_answer() {
    let configuration = ControlOption::Configuration(CONFIGURATION);
    let whole = written(&Message::Dio(dio(Mode::Storing, STEP)), Some(configuration));
    for len in (0..whole.len()).filter(|len| *len != 24) {
        let mut lone = Lone::new(Role::Router, |_| {});
        let heard = lone.hear_octets(near(9), true, DIO, &whole[..len]);
        assert!(matches!(heard, Err(Discard::Malformed(_))), "{len}: {heard:?}");
        assert_eq!((lone.rpl.info().dodag_id, lone.sent().len()), (None, 0));
    }
}

//= rfc6550#6.7.9-1 rfc6550#6.7.9-2 type=test
#[test]
fn only_those_that_a_solicitation_means_answer_it() {
    let all = Solicited { instance: Some(0), dodag_id: Some(address(ROOT)), version: Some(240) };
    let asked = [
        (Solicited::default(), true),
        (all, true),
        (Solicited { instance: Some(1), ..all }, false),
        (Solicited { dodag_id: Some(address(3)), ..all }, false),
        (Solicited { version: Some(241), ..all }, false),
        (Solicited { version: Some(240), ..Solicited::default() }, true),
    ];
    for (solicited, answers) in asked {
        let mut lone = Lone::router(Mode::Storing);
        lone.sent();
        lone.asks(false, &[ControlOption::Solicited(solicited)]).unwrap();
        assert_eq!(of_code(lone.sent(), DIO).len(), usize::from(answers), "{solicited:?}");
    }
}

//= rfc6550#6.7.9-3 rfc6550#6.7.9-4 rfc6550#6.7.9-5 type=test
#[test]
fn fields_of_a_solicitation_without_their_flags_are_zero_and_ignored() {
    // Instance, DODAGID and version.
    let fields: Reserved = &[(4, 0xFF), (6, 0xFF), (21, 0xFF), (22, 0xFF)];
    check(Message::Dis(Dis), Some(ControlOption::Solicited(Solicited::default())), fields);
}

//= rfc6550#6.7.8-1 rfc6550#9.4-4 rfc6550#9.4-7 type=test
#[test]
fn a_dao_whose_targets_or_transits_are_alone_is_discarded_whole() {
    let target = |n| ControlOption::Target(Target { prefix: address(n), prefix_len: 128 });
    let transit = ControlOption::Transit(super::transit(240, None));
    let good = [target(5), transit];
    for bad in [[target(5), transit, target(6)], [transit, target(5), transit]] {
        let mut lone = Lone::router(Mode::Storing);
        let heard = lone.hear(near(5), false, Message::Dao(super::dao()), &bad);
        assert_eq!((heard, lone.rpl.routes().count()), (Err(Discard::BadTarget), 0));
        lone.hear(near(5), false, Message::Dao(super::dao()), &good).unwrap();
        assert_eq!(lone.rpl.routes().count(), 1);
    }
}

//= rfc6550#6.3.1-2 rfc6550#8.1-2 type=test
#[test]
fn the_dodagid_is_an_address_of_the_root() {
    let mut lone = Lone::root(Mode::Storing);
    let said = of_code(lone.run(secs(9)), DIO).pop().expect("a DIO");
    assert_eq!(Some(said.dio().dodag_id), lone.rpl.address());
    let mut router = Lone::router(Mode::Storing);
    let said = of_code(router.run(secs(9)), DIO).pop().expect("a DIO");
    assert_ne!(Some(said.dio().dodag_id), router.rpl.address());
}

//= rfc6550#6.7.10-1 type=test
#[test]
fn a_router_never_passes_on_that_a_prefix_is_on_link() {
    let mut lone = Lone::router(Mode::NonStoring);
    let received = PrefixInformation { on_link: true, ..prefix(1) };
    let options = [ControlOption::Configuration(CONFIGURATION), ControlOption::Prefix(received)];
    let said = Message::Dio(dio(Mode::NonStoring, 2 * STEP));
    lone.hear(near(1), true, said, &options).unwrap();
    let passed: Vec<_> =
        of_code(lone.run(secs(9)), DIO).iter().filter_map(super::Sent::prefix).collect();
    assert!(!passed.is_empty() && passed.iter().all(|prefix| !prefix.on_link));
}

//= rfc6550#6.7.6-1 type=test
#[test]
fn the_configuration_is_passed_on_as_it_was_said() {
    let said = Configuration {
        authentication: false,
        skips_unknown: false,
        compressed: true,
        path_control_size: 5,
        interval_doublings: 9,
        interval_min: 10,
        redundancy: 3,
        max_rank_increase: 2000,
        min_hop_rank_increase: 200,
        objective: 0,
        default_lifetime: 77,
        lifetime_unit_secs: 13,
    };
    let mut lone = Lone::new(Role::Router, |_| {});
    let options = [ControlOption::Configuration(said)];
    lone.hear(near(1), true, Message::Dio(dio(Mode::Storing, 200)), &options).unwrap();
    let dio = of_code(lone.run(secs(9)), DIO).pop().expect("a DIO");
    assert_eq!(dio.configuration(), Some(said));
    // Configurations of other nodes within this version change nothing.
    let options = [ControlOption::Configuration(CONFIGURATION)];
    lone.hear(near(2), true, Message::Dio(super::dio(Mode::Storing, 400)), &options).unwrap();
    let dio = of_code(lone.run(secs(99)), DIO).pop().expect("a DIO");
    assert_eq!(dio.configuration(), Some(said));
}

//= rfc6550#18.2.5-1 rfc6550#18.2.3-2 type=test
#[test]
fn the_dios_of_a_root_have_its_configuration() {
    let configuration =
        Configuration { interval_doublings: 5, interval_min: 11, redundancy: 4, ..CONFIGURATION };
    let received = PrefixInformation { valid_secs: 600, preferred_secs: 300, ..prefix(ROOT) };
    let root = Root::new(address(ROOT), Mode::NonStoring);
    let root = Root { configuration, prefix: Some(received), ..root };
    let mut lone = Lone::new(Role::Root(root), |_| {});
    let dio = of_code(lone.run(secs(9)), DIO).pop().expect("a DIO");
    assert_eq!((dio.dio().mode, dio.configuration()), (1, Some(configuration)));
    assert_eq!(dio.prefix(), Some(received));
}

/// Only the four messages are sent whose destinations the RFC defines.
//= rfc6550#6.4.1-1 rfc6550#9.3-2 type=test
#[test]
fn a_dao_names_the_instance_of_the_parent() {
    let mut lone = Lone::router(Mode::Storing);
    let sent = lone.run(secs(60));
    assert!(sent.iter().all(|message| [DIS, DIO, DAO].contains(&message.code)));
    let instances = |code| -> Vec<u8> {
        let instance = |message: &super::Sent| match message.message() {
            Message::Dio(Dio { instance, .. }) | Message::Dao(Dao { instance, .. }) => instance,
            other => panic!("{other:?}"),
        };
        sent.iter().filter(|message| message.code == code).map(instance).collect()
    };
    let all = [instances(DIO), instances(DAO)].concat();
    assert!(!instances(DAO).is_empty() && all.iter().all(|instance| *instance == 0));
    let daos = sent.iter().filter(|message| message.code == DAO);
    assert!(daos.into_iter().all(|dao| dao.dao().dodag_id.is_none_or(|id| id == address(ROOT))));
}
