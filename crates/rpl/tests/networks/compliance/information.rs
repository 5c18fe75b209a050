//! Times, destinations and contents of DIOs, and those of a leaf (RFC 6550, 8.3 and 8.5).

use super::{DAO, DIO, Lone, ROOT, STEP, Sent, dio, of_code, secs};
use crate::common::{address, near};
use kinglet_rpl::objective::Path;
use kinglet_rpl::{
    CONFIGURATION, Candidate, INFINITE_RANK, Mode, Objective, Role, Root, Route, Rpl, RplConfig,
    Sizes,
};
use kinglet_time::Instant;
use kinglet_wire::rpl::{
    Configuration, ControlOption, Dio, Message, PacketInformation, Solicited, Writer,
};

//= rfc6550#8.3-1 type=test
#[test]
fn a_packet_in_the_wrong_direction_resets_trickle() {
    let mut lone = Lone::router(Mode::NonStoring);
    lone.calm();
    // Up, from a node nearer to the root.
    let information = lone.rpl.originate(address(ROOT));
    let information = PacketInformation { down: false, sender_rank: 1, ..information };
    lone.rpl.relay(lone.now, near(5), address(ROOT), Some(information)).unwrap();
    assert!(lone.has_reset());
}

//= rfc6550#8.3-2 rfc6550#8.3-3 type=test
#[test]
fn a_solicitation_of_all_resets_trickle_where_it_is_meant() {
    let version = |version| ControlOption::Solicited(Solicited { version, ..Solicited::default() });
    let asked: [(&[ControlOption<'_>], bool); 3] =
        [(&[], true), (&[version(Some(240))], true), (&[version(Some(250))], false)];
    for (options, resets) in asked {
        let mut lone = Lone::router(Mode::NonStoring);
        lone.calm();
        lone.asks(true, options).unwrap();
        assert_eq!(lone.has_reset(), resets, "{options:?}");
    }
}

//= rfc6550#8.3-4 type=test
#[test]
fn a_new_version_resets_trickle() {
    let mut lone = Lone::router(Mode::NonStoring);
    lone.calm();
    lone.says(1, Dio { version: 241, ..dio(Mode::NonStoring, 2 * STEP) }).unwrap();
    assert!(lone.has_reset());
}

//= rfc6550#6.7.6-2 rfc6550#8.3-5 rfc6550#8.3-6 rfc6550#8.3-7 rfc6550#8.3-8 type=test
#[test]
fn a_unicast_request_gets_a_unicast_answer_with_the_configuration() {
    let means = Solicited { instance: Some(0), ..Solicited::default() };
    let asked: [&[ControlOption<'_>]; 2] = [&[], &[ControlOption::Solicited(means)]];
    for options in asked {
        for mut lone in [Lone::root(Mode::Storing), Lone::router(Mode::Storing)] {
            let calm = lone.calm();
            lone.asks(false, options).unwrap();
            let answers = lone.sent();
            let [answer] = &answers[..] else { panic!("one answer") };
            assert_eq!((answer.to, answer.code), (near(5), DIO));
            assert_eq!(answer.configuration(), Some(CONFIGURATION));
            assert_eq!(lone.rpl.info().interval, Some(calm), "nobody else is told");
        }
    }
}

//= rfc6550#8.3-5 rfc6550#8.5-3 type=test
#[test]
fn one_without_a_route_for_others_answers_a_node_that_asks_it_alone() {
    let mut leaf = Lone::new(Role::Leaf, |_| {});
    leaf.says(1, dio(Mode::Storing, STEP)).unwrap();
    let mut router = Lone::router(Mode::Storing);
    for neighbour in [1, 2] {
        router.says(neighbour, dio(Mode::Storing, INFINITE_RANK)).unwrap();
    }
    assert_eq!(router.rpl.parent(), None);
    for mut lone in [leaf, router] {
        lone.run(secs(60));
        lone.asks(true, &[]).unwrap_err();
        assert_eq!(lone.sent().len(), 0, "of all who ask all there is none");
        lone.asks(false, &[]).unwrap();
        let answers = lone.sent();
        let [answer] = &answers[..] else { panic!("one answer") };
        assert_eq!((answer.to, answer.dio().rank), (near(5), INFINITE_RANK));
        assert_eq!(answer.configuration(), Some(CONFIGURATION));
        assert!(!says_metrics(answer));
    }
    let mut new = Lone::new(Role::Router, |_| {});
    new.asks(false, &[]).unwrap_err();
}

//= rfc6550#8.5-1 rfc6550#8.5-2 rfc6550#8.5-4 type=test
#[test]
fn a_leaf_is_no_router_for_any_node() {
    for role in [Role::Leaf, Role::Router] {
        let mut lone = Lone::new(role, |_| {});
        lone.says(1, dio(Mode::Storing, STEP)).unwrap();
        lone.rpl.set_overloaded(true);
        let _ = lone.asks(true, &[]);
        let _ = lone.asks(false, &[]);
        let sent = lone.run(secs(60));
        assert!(sent.iter().any(|message| message.code == DAO), "it is reached");
        let dios = of_code(sent, DIO);
        if role == Role::Router {
            assert!(dios.iter().any(says_metrics) && dios.iter().all(|it| it.dio().rank > STEP));
            continue;
        }
        for said in &dios {
            assert!(said.to.is_unicast_link_local() && said.dio().rank == INFINITE_RANK);
            assert!(!says_metrics(said));
        }
    }
}

fn says_metrics(sent: &Sent) -> bool {
    sent.options().iter().any(|option| matches!(option, ControlOption::Metrics(_)))
}

//= rfc6550#16.3-1 type=test
#[test]
fn a_router_knows_objective_function_zero() {
    let configuration = Configuration { objective: 0, ..CONFIGURATION };
    let root = Root { configuration, ..Root::new(address(ROOT), Mode::Storing) };
    let mut root = Lone::new(Role::Root(root), |_| {});
    let said = of_code(root.run(secs(9)), DIO).pop().expect("a DIO");
    let mut router = Lone::new(Role::Router, |_| {});
    router.hear_octets(near(9), true, DIO, &said.octets).unwrap();
    assert!(router.rpl.rank() > STEP && router.rpl.rank() != INFINITE_RANK);
    assert!(!of_code(router.run(secs(9)), DIO).is_empty(), "a leaf would say nothing");
}

/// Supports no function but a custom one.
struct Own;

impl Objective for Own {
    fn serves(code: u16) -> bool {
        code == 77
    }

    fn rank_through(_: u16, path: &Path, step: u16) -> u16 {
        path.rank.saturating_add(step)
    }

    fn threshold(_: u16, step: u16) -> u16 {
        step
    }
}

struct OwnPlan;

impl Sizes for OwnPlan {
    type Objective = Own;
    type Candidates = [Option<Candidate>; 2];
    type Routes = [Option<Route>; 2];
}

//= rfc6550#18.6-1 type=test
#[test]
fn a_node_joins_the_instance_of_its_configuration_and_relays_by_the_functions_of_its_plan() {
    for (instance, objective) in [(0, 77), (0, 1), (5, 77)] {
        let config = RplConfig { instance: Some(instance), ..RplConfig::new(Role::Router, 1, 7) };
        let mut rpl = Rpl::<OwnPlan>::new(config);
        let configuration = Configuration { objective, ..CONFIGURATION };
        let mut octets = [0; 200];
        let message = Message::Dio(dio(Mode::UpwardOnly, STEP));
        let mut writer = Writer::new(&mut octets, &message).unwrap();
        writer.option(&ControlOption::Configuration(configuration)).unwrap();
        let len = writer.len();
        let now = Instant::from_secs(1);
        let _ = rpl.handle_message(now, near(1), -60, true, DIO, &octets[..len]);
        assert_eq!(rpl.parent().is_some(), instance == 0);
        // A router sends DIOs, and so has an interval.
        assert_eq!(rpl.info().interval.is_some(), instance == 0 && objective == 77);
    }
}
