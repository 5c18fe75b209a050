//! A leaf that has lost its parent: its searches, and the answers to them.

use crate::common::{Net, address, near};
use kinglet_rpl::{CONFIGURATION, Discard, Mode, Probing, Role};
use kinglet_time::{Duration, Instant};
use kinglet_wire::rpl::{ControlOption, Dio, Message};

/// Frames given up in a row until a link counts as dead.
const FAILURES: usize = 4;

fn heard(net: &mut Net, options: &[ControlOption<'_>]) -> Result<(), Discard> {
    let dio = Dio { rank: 256, dodag_id: address(9), ..Net::dio(Mode::Storing) };
    net.say(1, 0, Message::Dio(dio), options)
}

/// A leaf; neighbour 1 is in its range.
fn leaf() -> Net {
    Net::new(vec![Role::Leaf], Probing::Passive, 7)
}

/// The same with neighbour 1 as its parent, whose link has worked.
fn attached() -> Net {
    let mut net = leaf();
    heard(&mut net, &[ControlOption::Configuration(CONFIGURATION)]).unwrap();
    sent(&mut net, true);
    assert_eq!(net.nodes[0].parent(), Some(near(1)));
    net
}

fn sent(net: &mut Net, acked: bool) {
    net.nodes[0].handle_sent(net.now, near(1), 1, acked);
}

fn lose(net: &mut Net) {
    for _ in 0..FAILURES {
        sent(net, false);
    }
    assert_eq!(net.nodes[0].parent(), None);
}

/// Runs until the leaf listens, or sleeps; returns the time.
fn run_until_listening(net: &mut Net, listens: bool) -> Instant {
    while net.nodes[0].listens() != listens {
        net.run(Duration::from_millis(10));
    }
    net.now
}

#[test]
fn a_leaf_without_a_parent_solicits_at_once_and_sleeps_between_searches() {
    let mut net = attached();
    assert!(!net.nodes[0].listens());
    lose(&mut net);
    let lost = net.now;
    assert!(run_until_listening(&mut net, true) - lost <= Duration::from_millis(20));
    // The intervals grow to a quarter of a minute.
    net.run(Duration::from_secs(60));
    let asleep = run_until_listening(&mut net, false);
    let awake = run_until_listening(&mut net, true);
    assert!(awake - asleep <= Duration::from_secs(15));
    let window = run_until_listening(&mut net, false) - awake;
    assert!(window <= Duration::from_millis(512 + 500 + 20), "{window:?}");
}

#[test]
fn the_answer_to_a_solicitation_makes_a_dead_link_usable_and_others_do_not() {
    for answers in [true, false] {
        let mut net = attached();
        lose(&mut net);
        run_until_listening(&mut net, true);
        run_until_listening(&mut net, answers);
        assert_eq!(net.nodes[0].listens(), answers);
        heard(&mut net, &[]).unwrap();
        assert_eq!(net.nodes[0].parent().is_some(), answers);
    }
}

#[test]
fn a_parent_that_acknowledges_nothing_does_not_shorten_the_intervals() {
    let solicited = |works: bool| {
        let mut net = attached();
        let begun = net.nodes[0].stats().diss;
        for _ in 0..30 {
            lose(&mut net);
            // Answers to solicitations: a link that works in one direction only.
            while net.nodes[0].parent().is_none() {
                run_until_listening(&mut net, true);
                heard(&mut net, &[]).unwrap();
            }
            if works {
                sent(&mut net, true);
            }
        }
        let lasted = net.now - Instant::ZERO;
        (net.nodes[0].stats().diss - begun, lasted)
    };
    let (works, fails) = (solicited(true), solicited(false));
    assert!(works.1 < Duration::from_secs(90), "{works:?}");
    assert!(fails.1 > Duration::from_secs(180), "{fails:?}");
}

#[test]
fn a_leaf_that_asks_for_the_configuration_awaits_it() {
    let mut net = leaf();
    run_until_listening(&mut net, true);
    run_until_listening(&mut net, false);
    assert_eq!(heard(&mut net, &[]), Err(Discard::NotConfigured));
    assert!(net.nodes[0].listens());
}
