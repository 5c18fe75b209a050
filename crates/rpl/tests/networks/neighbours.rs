//! Changes that a neighbour may cause at a node, and those that it may not.

use crate::common::{Net, address, near};
use kinglet_rpl::{
    CONFIGURATION, Candidate, Change, Discard, INFINITE_RANK, Mode, Probing, Role, Root, Route,
    Rpl, RplConfig, Sizes, Standard,
};
use kinglet_time::{Duration, Instant};
use kinglet_wire::rpl::{
    Configuration, ControlOption, Dao, DaoAck, Dio, Message, Metric, MetricContainer, MetricKind,
    PrefixInformation, Target, Transit, Writer,
};
use std::net::Ipv6Addr;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Returns one router, in range of neighbours 1 and 2 of the DODAG of node 9.
fn router(change: impl FnOnce(&mut RplConfig)) -> Net {
    let mut net = Net::new(vec![Role::Router], Probing::Passive, 7);
    let mut config = *net.nodes[0].config();
    change(&mut config);
    net.nodes[0] = Rpl::new(config);
    net
}

fn dio(mode: Mode, rank: u16) -> Dio {
    Dio { rank, dodag_id: address(9), ..Net::dio(mode) }
}

fn say(net: &mut Net, from: usize, dio: Dio) -> Result<(), Discard> {
    net.say(from, 0, Message::Dio(dio), &[ControlOption::Configuration(CONFIGURATION)])
}

/// Returns the same with 1 as its parent, and 2 a little farther away.
fn attached(mode: Mode, change: impl FnOnce(&mut RplConfig)) -> Net {
    let mut net = router(change);
    say(&mut net, 1, dio(mode, 256)).unwrap();
    say(&mut net, 2, dio(mode, 300)).unwrap();
    for neighbour in [1, 2] {
        net.nodes[0].handle_sent(net.now, near(neighbour), 1, true);
    }
    assert_eq!(net.nodes[0].parent(), Some(near(1)));
    net
}

#[test]
fn a_node_with_a_usable_parent_stays_in_its_dodag_unless_it_joins_better_ones() {
    for (joins_better_dodag, version) in [(false, 240), (false, 250), (true, 240)] {
        let mut net =
            attached(Mode::NonStoring, |config| config.joins_better_dodag = joins_better_dodag);
        let other =
            Dio { preference: 7, dodag_id: address(66), version, ..dio(Mode::NonStoring, 128) };
        let heard = say(&mut net, 3, other);
        let expected = if joins_better_dodag { address(66) } else { address(9) };
        assert_eq!(heard.is_ok(), joins_better_dodag);
        assert_eq!(net.nodes[0].info().dodag_id, Some(expected));
        assert_eq!(net.nodes[0].parent(), Some(near(if joins_better_dodag { 3 } else { 1 })));
        // Without a parent any other DODAG is accepted.
        for neighbour in [1, 2] {
            let _ = say(&mut net, neighbour, dio(Mode::NonStoring, INFINITE_RANK));
        }
        let _ = say(&mut net, 3, other);
        assert_eq!(net.nodes[0].info().dodag_id, Some(address(66)));
    }
}

#[test]
fn a_parent_that_has_gone_elsewhere_is_no_parent() {
    let here = dio(Mode::NonStoring, 256);
    let elsewhere = [
        Dio { dodag_id: address(66), ..here },
        Dio { instance: 1, ..here },
        Dio { version: 239, ..here },
        Dio { mode: 2, ..here },
        Dio { mode: 7, ..here },
    ];
    for moved in elsewhere {
        let mut net = attached(Mode::NonStoring, |_| {});
        assert!(say(&mut net, 3, moved).is_err(), "another one may be where it is");
        assert_eq!(net.nodes[0].parent(), Some(near(1)));
        assert!(say(&mut net, 1, moved).is_err());
        assert_eq!(net.nodes[0].parent(), Some(near(2)), "{moved:?}");
        assert_eq!(net.nodes[0].info().dodag_id, Some(address(9)));
    }
}

/// One message with the shortest possible interval made a node send a thousand DIOs in 20 s.
#[test]
fn dios_have_a_limit_of_their_own_whatever_interval_is_received() {
    let mut net = router(|_| {});
    let fast =
        Configuration { interval_min: 0, interval_doublings: 0, redundancy: 0, ..CONFIGURATION };
    let options = [ControlOption::Configuration(fast)];
    net.say(1, 0, Message::Dio(dio(Mode::NonStoring, 256)), &options).unwrap();
    net.nodes[0].handle_sent(net.now, near(1), 1, true);
    let mut before = net.nodes[0].stats().dios;
    for minute in 0..5 {
        net.run(secs(60));
        let sent = net.nodes[0].stats().dios - before;
        before += sent;
        // The allowance of a minute may be saved up.
        assert!((50..=if minute == 0 { 120 } else { 61 }).contains(&sent), "{sent} DIOs");
    }
    let mut answers = 0;
    for _ in 0..100 {
        for asker in 10..19 {
            let mut octets = [0; 2];
            Message::Dis(kinglet_wire::rpl::Dis).emit(&mut octets).unwrap();
            let now = net.now;
            let _ = net.nodes[0].handle_message(now, near(asker), -60, false, 0, &octets);
        }
        let mut buf = [0; kinglet_rpl::MAX_LEN];
        while let Some(out) = net.nodes[0].poll_message(net.now, &mut buf) {
            answers += usize::from(out.to.is_unicast_link_local());
        }
    }
    assert!((100..=241).contains(&answers), "{answers} answers at once");
}

fn transit(path_sequence: u8, parent: Option<Ipv6Addr>) -> ControlOption<'static> {
    ControlOption::Transit(Transit {
        external: false,
        path_control: 0x80,
        path_sequence,
        path_lifetime: 255,
        parent,
    })
}

fn target(prefix: Ipv6Addr) -> ControlOption<'static> {
    ControlOption::Target(Target { prefix, prefix_len: 128 })
}

const DAO: Message =
    Message::Dao(Dao { instance: 0, acknowledge: false, sequence: 1, dodag_id: None });

/// Delivers a message from this address.
fn hear<S: Sizes>(
    rpl: &mut Rpl<S>,
    source: Ipv6Addr,
    message: Message,
    options: &[ControlOption<'_>],
) -> Result<(), Discard> {
    let mut octets = [0; 200];
    let mut writer = Writer::new(&mut octets, &message).unwrap();
    options.iter().for_each(|option| writer.option(option).unwrap());
    let len = writer.len();
    let now = Instant::from_secs(1);
    rpl.handle_message(now, source, -60, false, message.code(), &octets[..len])
}

/// Room for many targets.
struct Large;
impl Sizes for Large {
    type Objective = Standard;
    type Candidates = [Option<Candidate>; 2];
    type Routes = [Option<Route>; 600];
}

#[test]
fn daos_have_a_limit_of_their_own_however_many_targets_there_are() {
    let config = RplConfig { acknowledged: false, ..RplConfig::new(Role::Router, 1, 7) };
    let mut rpl = Rpl::<Large>::new(config);
    let options = [ControlOption::Configuration(CONFIGURATION)];
    hear(&mut rpl, near(1), Message::Dio(dio(Mode::Storing, 256)), &options).unwrap();
    for n in 0..600 {
        let prefix = Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 1, n);
        hear(&mut rpl, near(5), DAO, &[target(prefix), transit(240, None)]).unwrap();
    }
    let mut counts = Vec::new();
    for ms in 0..5_000 {
        let now = Instant::from_millis(1_000 + ms);
        rpl.handle_deadline(now);
        let mut buf = [0; kinglet_rpl::MAX_LEN];
        while rpl.poll_message(now, &mut buf).is_some() {}
        if ms % 1_000 == 999 {
            counts.push(rpl.stats().daos);
        }
    }
    assert!(counts[0] > 40 && counts[0] <= 100 && counts[1] <= 150, "{counts:?}");
    assert!(counts[4] >= 150, "all is told: {counts:?}");
}

#[test]
fn daos_and_their_acknowledgements_come_from_those_that_can_send_them() {
    let outside: Ipv6Addr = "2001:db8::bad".parse().unwrap();
    let mut storing = attached(Mode::Storing, |_| {});
    for source in [outside, address(4)] {
        let options = [target(address(5)), transit(240, None)];
        let heard = hear(&mut storing.nodes[0], source, DAO, &options);
        assert_eq!(heard, Err(Discard::BadSource));
        let ack = DaoAck { instance: 0, sequence: 241, status: 0, dodag_id: None };
        let heard = hear(&mut storing.nodes[0], source, Message::DaoAck(ack), &[]);
        assert_eq!(heard, Err(Discard::BadSource));
    }
    assert_eq!(storing.nodes[0].routes().count(), 0);
    let root = Role::Root(Root::new(address(0), Mode::NonStoring));
    let mut net = Net::new(vec![root], Probing::Passive, 7);
    for (source, expected) in [(outside, Err(Discard::BadSource)), (address(5), Ok(()))] {
        let options = [target(address(5)), transit(240, Some(address(0)))];
        assert_eq!(hear(&mut net.nodes[0], source, DAO, &options), expected);
    }
    assert_eq!(net.nodes[0].routes().count(), 1);
}

#[test]
fn prefix_and_preference_are_taken_from_the_preferred_parent_alone() {
    let information = |octet: u16| PrefixInformation {
        prefix_len: 64,
        on_link: false,
        autonomous: true,
        router_address: false,
        valid_secs: u32::MAX,
        preferred_secs: u32::MAX,
        prefix: Ipv6Addr::new(0xFD00, 0, 0, octet, 0, 0, 0, 0),
    };
    let announce = |net: &mut Net, from: usize, rank: u16, preference: u8, prefix: u16| {
        let prefix = ControlOption::Prefix(information(prefix));
        let options = [ControlOption::Configuration(CONFIGURATION), prefix];
        let dio = Dio { preference, ..dio(Mode::NonStoring, rank) };
        net.say(from, 0, Message::Dio(dio), &options).unwrap();
    };
    let made = |net: &Net| net.nodes[0].address().map(|address| address.segments()[3]);
    let mut net = attached(Mode::NonStoring, |_| {});
    assert_eq!(made(&net), None);
    announce(&mut net, 2, 300, 7, 66);
    assert_eq!(made(&net), None, "not even if nobody else has said one");
    announce(&mut net, 1, 256, 1, 5);
    assert_eq!(made(&net), Some(5));
    announce(&mut net, 2, 300, 7, 66);
    assert_eq!(made(&net), Some(5));
    let mut buf = [0; kinglet_rpl::MAX_LEN];
    let mut said = None;
    for _ in 0..9 {
        net.now += secs(1);
        net.nodes[0].handle_deadline(net.now);
        while let Some(out) = net.nodes[0].poll_message(net.now, &mut buf) {
            if let (1, true) = (out.code, out.to.is_multicast()) {
                said = Some(buf[4] & 7);
            }
        }
    }
    assert_eq!(said, Some(1), "the preference that is passed on");
    // The next parent announces it.
    let _ = say(&mut net, 1, dio(Mode::NonStoring, INFINITE_RANK));
    assert_eq!((net.nodes[0].parent(), made(&net)), (Some(near(2)), Some(5)));
    announce(&mut net, 2, 300, 7, 66);
    assert_eq!(made(&net), Some(66));
}

#[test]
fn a_prefix_of_the_parent_is_reported_while_it_is_valid() {
    let mut net = attached(Mode::NonStoring, |_| {});
    let prefix = Ipv6Addr::new(0xFD00, 0, 0, 5, 0, 0, 0, 0);
    let reported = |net: &mut Net| {
        std::iter::from_fn(|| net.nodes[0].poll_change()).find_map(|change| match change {
            Change::Prefix(prefix) => Some(prefix.map(|it| it.prefix)),
            _ => None,
        })
    };
    for (valid_secs, expected) in [(60, Some(prefix)), (0, None), (60, Some(prefix))] {
        let (on_link, autonomous, router_address) = (false, true, false);
        let (prefix_len, preferred_secs) = (64, valid_secs);
        let information = PrefixInformation {
            prefix_len,
            on_link,
            autonomous,
            router_address,
            valid_secs,
            preferred_secs,
            prefix,
        };
        let options =
            [ControlOption::Configuration(CONFIGURATION), ControlOption::Prefix(information)];
        net.say(1, 0, Message::Dio(dio(Mode::NonStoring, 256)), &options).unwrap();
        assert_eq!(reported(&mut net), Some(expected), "{valid_secs}");
        assert_eq!(reported(&mut net), None);
    }
    net.now += secs(60);
    net.nodes[0].handle_deadline(net.now);
    assert_eq!(reported(&mut net), Some(None), "its time is over");
}

/// A parent that is selected without a message from it is asked for its information.
#[test]
fn a_parent_without_a_prefix_is_asked_for_it() {
    let mut net = attached(Mode::NonStoring, |_| {});
    let mut buf = [0; kinglet_rpl::MAX_LEN];
    while net.nodes[0].poll_message(net.now, &mut buf).is_some() {}
    (0..4).for_each(|_| net.nodes[0].handle_sent(net.now, near(1), 4, false));
    assert_eq!(net.nodes[0].parent(), Some(near(2)));
    let asked = std::iter::from_fn(|| net.nodes[0].poll_message(net.now, &mut buf));
    assert!(asked.into_iter().any(|out| (out.code, out.to) == (0, near(2))));
}

#[test]
fn a_root_that_hears_an_older_version_speaks_at_once() {
    let root = Role::Root(Root::new(address(0), Mode::Storing));
    let mut net = Net::new(vec![root], Probing::Passive, 7);
    net.nodes[0].repair(net.now);
    net.run(secs(400));
    let calm = net.nodes[0].info().interval.unwrap();
    assert!(calm > secs(60), "{calm:?}");
    let own = Net::dio(Mode::Storing);
    assert_eq!(net.say(1, 0, Message::Dio(Dio { version: 241, ..own }), &[]), Ok(()));
    assert_eq!(net.nodes[0].info().interval, Some(calm));
    let old = net.say(1, 0, Message::Dio(own), &[]);
    assert_eq!(old, Err(Discard::OldVersion));
    assert_eq!(net.nodes[0].info().interval, Some(Duration::from_millis(512)));
}

#[test]
fn a_node_never_selects_its_own_child() {
    let mut net = attached(Mode::Storing, |_| {});
    net.say(2, 0, DAO, &[target(address(2)), transit(240, None)]).unwrap();
    // It advertises a lower rank, and the parent a higher one.
    for (neighbour, rank) in [(2, 128), (1, 384), (2, 128), (1, 640)] {
        let _ = say(&mut net, neighbour, dio(Mode::Storing, rank));
        assert_eq!(net.nodes[0].parent(), Some(near(1)), "{neighbour} says {rank}");
    }
}

/// MRHOF's threshold is one and a half transmissions (RFC 6719, 5), so a parent over a link of two
/// is near enough and one over a link of three is not.
#[test]
fn a_congested_parent_is_left_only_within_the_rank_limit() {
    for (transmissions, moves) in [(1, true), (2, true), (3, false)] {
        let mut net = attached(Mode::NonStoring, |config| config.load = true);
        let kind = MetricKind::NodeState { aggregates: false, overloaded: true };
        let mut room = [0; 6];
        let full = MetricContainer::build(&[Metric::sum(kind)], &mut room).unwrap();
        let configuration = ControlOption::Configuration(CONFIGURATION);
        // The links are known before the parent is congested.
        for _ in 0..60 {
            net.nodes[0].handle_sent(net.now, near(1), 1, true);
            net.nodes[0].handle_sent(net.now, near(2), transmissions, true);
            net.now += secs(1);
        }
        for _ in 0..120 {
            let options = [configuration, ControlOption::Metrics(full)];
            net.say(1, 0, Message::Dio(dio(Mode::NonStoring, 256)), &options).unwrap();
            say(&mut net, 2, dio(Mode::NonStoring, 256)).unwrap();
            net.nodes[0].handle_sent(net.now, near(1), 1, true);
            net.nodes[0].handle_sent(net.now, near(2), transmissions, true);
            net.now += secs(60);
            net.nodes[0].handle_deadline(net.now);
        }
        let parent = if moves { near(2) } else { near(1) };
        assert_eq!(net.nodes[0].parent(), Some(parent), "{transmissions} transmissions");
        let changes = net.nodes[0].stats().parent_changes;
        assert_eq!(changes, 1 + u32::from(moves), "nor does it come and go");
    }
}
