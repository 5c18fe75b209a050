//! Times of data requests, and the learning of due times.

use super::*;
use core::iter;
use std::vec::Vec;

const MS: Duration = Duration::from_millis(1);
const FOUND: DataRequestOutcome = DataRequestOutcome::Received { more: false };
const NOTHING: DataRequestOutcome = DataRequestOutcome::NothingPending;

fn at(ms: u64) -> Instant {
    Instant::from_micros(ms * 1000)
}

/// A poller with the tables of the presets.
type Poller = super::Poller<[PendingRequest; 2], [Application; 3]>;

fn poller(policy: Polling) -> Poller {
    let mut poller = Poller::new(policy);
    poller.set_parent(at(0), Some(7));
    poller
}

/// A segment sent at `since` that is retransmitted at `until`.
fn sent(since: u64, until: u64) -> Option<Expected> {
    Some(Expected { since: at(since), from: at(since), until: at(until) })
}

/// Polls at the deadline, and returns that time in ms.
fn ask(poller: &mut Poller) -> u64 {
    let now = poller.deadline().unwrap();
    assert_eq!((poller.due(now), poller.due(now - MS)), (Some(7), None));
    poller.asked(now, true);
    assert_eq!(poller.deadline(), None, "one at a time");
    now.as_millis()
}

fn answer(poller: &mut Poller, now: u64, outcome: DataRequestOutcome, tcp: Option<Expected>) {
    poller.handle_outcome(at(now), outcome, iter::once(tcp));
    poller.update(at(now), iter::once(tcp));
}

/// Sends a segment at `since` whose response arrives after `latency`, and polls until the response
/// is found. Returns the number of attempts and the time.
fn round(poller: &mut Poller, since: u64, latency: u64) -> (u32, u64) {
    let expected = sent(since, since + 1000);
    poller.update(at(since), iter::once(expected));
    for attempt in 1.. {
        let now = ask(poller);
        if now >= since + latency {
            answer(poller, now, FOUND, None);
            return (attempt, now);
        }
        answer(poller, now, NOTHING, expected);
    }
    unreachable!()
}

/// A segment arrives as five frames, with a data request each. The next segment follows its
/// acknowledgement.
#[test]
fn the_fragments_of_a_segment_do_not_delay_the_next_one() {
    let mut poller = poller(Polling::DEFAULT);
    let mut now = 0;
    let mut waited = Vec::new();
    for _ in 0..40 {
        let (since, expected) = (now, sent(now, now + 1000));
        poller.update(at(now), iter::once(expected));
        now = ask(&mut poller);
        while now < since + 200 {
            answer(&mut poller, now, NOTHING, expected);
            now = ask(&mut poller);
        }
        waited.push(now - since);
        for _ in 0..4 {
            let more = DataRequestOutcome::Received { more: true };
            answer(&mut poller, now + 5, more, expected);
            now = ask(&mut poller);
        }
        answer(&mut poller, now + 5, FOUND, None);
        now += 5;
    }
    assert!(waited[10..].iter().all(|ms| *ms < 260), "{waited:?}");
}

#[test]
fn while_nothing_is_expected_only_the_base_interval_counts() {
    for policy in [Polling::TCPLP, Polling::DEFAULT] {
        let mut poller = poller(policy);
        for minutes in [4, 8, 12] {
            let now = ask(&mut poller);
            assert_eq!(now, minutes * 60_000);
            answer(&mut poller, now, NOTHING, None);
        }
    }
    assert_eq!(Poller::new(Polling::DEFAULT).deadline(), None, "nobody to ask");
}

#[test]
fn fixed_intervals_begin_with_the_expectation() {
    let mut poller = poller(Polling::TCPLP);
    poller.update(at(1000), iter::once(sent(1000, 2000)));
    // More is sent: the interval continues.
    poller.update(at(1060), iter::once(sent(1060, 2000)));
    for now in [1100, 1200, 1300] {
        assert_eq!(ask(&mut poller), now);
        answer(&mut poller, now + 5, NOTHING, sent(1060, 2000));
    }
    assert_eq!(ask(&mut poller), 1400);
    answer(&mut poller, 1405, FOUND, None);
    assert_eq!(ask(&mut poller), 1400 + 240_000);
}

#[test]
fn of_connections_that_share_a_place_the_more_urgent_one_counts() {
    let (soon, late) = (sent(0, 400), sent(0, 2000));
    for expected in [[soon, None, late], [late, None, soon]] {
        let mut poller = poller(Polling::DEFAULT);
        poller.update(at(0), expected.into_iter());
        assert_eq!(ask(&mut poller), 100, "a quarter of the available time");
    }
}

#[test]
fn the_due_time_settles_just_behind_the_answers() {
    let mut poller = poller(Polling::DEFAULT);
    // The first guess is a quarter of the available time.
    assert_eq!(round(&mut poller, 1000, 100), (1, 1250));
    let attempts: u32 = (2..200).map(|n| round(&mut poller, n * 1000, 100).0).sum();
    assert!(attempts < 198 + 30, "{attempts} attempts for 198 answers");
    let late: u64 = (200..300).map(|n| round(&mut poller, n * 1000, 100).1 - n * 1000).sum();
    assert!((100 * 100..100 * 130).contains(&late), "{} ms on average", late / 100);
    // The due time follows when the path becomes slower, and faster again.
    for n in 300..310 {
        round(&mut poller, n * 1000, 600);
    }
    let slow: u32 = (310..400).map(|n| round(&mut poller, n * 1000, 600).0).sum();
    assert!(slow < 90 + 15, "{slow} attempts for 90 answers");
    for n in 400..500 {
        round(&mut poller, n * 1000, 150);
    }
    let (attempts, now) = round(&mut poller, 500_000, 150);
    assert!(attempts == 1 && now < 500_000 + 200, "{now}");
}

/// A transfer to this node: a response to a data request is acknowledged at once, so something else
/// is already expected when the request has ended.
#[test]
fn an_answer_that_is_acknowledged_while_more_of_it_comes_teaches_as_well() {
    let mut poller = poller(Polling::DEFAULT);
    let mut now = 1000;
    let mut waited = Vec::new();
    for _ in 0..300 {
        let acknowledged = sent(now, now + 1000);
        poller.update(at(now), iter::once(acknowledged));
        let asked = ask(&mut poller);
        waited.push(asked - now);
        poller.update(at(asked + 40), iter::once(sent(asked + 40, asked + 1040)));
        now = asked + 80;
        answer(&mut poller, now, FOUND, sent(now, now + 1000));
    }
    assert!(waited[250..].iter().all(|ms| *ms == 10), "{waited:?}");
}

#[test]
fn nothing_is_asked_for_while_a_segment_leaves_and_the_due_time_begins_when_it_has() {
    let mut poller = poller(Polling::DEFAULT);
    let mut attempts = 0;
    for n in 1..200 {
        let (since, expected) = (n * 1000, sent(n * 1000, n * 1000 + 800));
        poller.set_sending(at(since), true);
        poller.update(at(since), iter::once(expected));
        // Not before the latest time.
        assert_eq!(poller.deadline(), Some(at(since + 700)));
        let left = since + 40 + n % 7 * 40;
        poller.set_sending(at(left), false);
        poller.update(at(left), iter::once(expected));
        attempts += 1;
        let mut now = ask(&mut poller);
        while now < left + 60 {
            answer(&mut poller, now, NOTHING, expected);
            (now, attempts) = (ask(&mut poller), attempts + 1);
        }
        assert!(n < 100 || now < left + 90, "{} ms", now - left);
        answer(&mut poller, now, FOUND, None);
    }
    assert!(attempts < 199 + 30, "{attempts} attempts for 199 answers");
}

#[test]
fn a_late_response_is_polled_for_at_growing_intervals_and_before_the_rto() {
    let mut poller = poller(Polling::DEFAULT);
    for n in 1..100 {
        round(&mut poller, n * 1000, 160);
    }
    let expected = sent(200_000, 201_000);
    poller.update(at(200_000), iter::once(expected));
    let mut asked = Vec::new();
    for _ in 0..7 {
        let now = ask(&mut poller);
        asked.push(now - 200_000);
        answer(&mut poller, now, NOTHING, expected);
    }
    let distances: Vec<_> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(distances[..3].windows(2).all(|pair| pair[1].abs_diff(2 * pair[0]) <= 1));
    assert!(asked.contains(&875), "{asked:?}");
    // There was no response: the next segment is due at the same time as this one.
    poller.update(at(201_000), iter::once(sent(201_000, 203_000)));
    let now = ask(&mut poller);
    assert_eq!(now - 201_000, asked[0]);
}

#[test]
fn the_first_attempt_comes_before_the_transport_sends_again() {
    let mut poller = poller(Polling::DEFAULT);
    for n in 1..100 {
        round(&mut poller, n * 1000, 800);
    }
    poller.update(at(100_000), iter::once(sent(100_000, 100_400)));
    assert_eq!(ask(&mut poller), 100_350);
}

#[test]
fn a_part_that_lets_more_be_sent_is_an_answer() {
    let mut poller = poller(Polling::DEFAULT);
    round(&mut poller, 1000, 100);
    let (mut since, mut waits) = (10_000, Vec::new());
    for _ in 0..200 {
        poller.update(at(since), iter::once(sent(since, since + 1000)));
        let now = ask(&mut poller);
        // The first half is acknowledged, and more is sent.
        poller.handle_outcome(at(now), FOUND, iter::once(sent(since, since + 1000)));
        poller.update(at(now), iter::once(sent(now, now + 1000)));
        waits.push(now - since);
        since = now;
    }
    // The wait of a transfer does not grow because some data is always missing.
    assert!(waits.windows(2).all(|pair| pair[1] <= pair[0]), "{waits:?}");
}

#[test]
fn the_rest_of_an_answer_is_waited_for_a_little_longer() {
    let mut poller = poller(Polling::DEFAULT);
    round(&mut poller, 1000, 100);
    for since in (10..20).map(|n| n * 1000) {
        let expected = sent(since, since + 1000);
        poller.update(at(since), iter::once(expected));
        let before = ask(&mut poller) - since;
        answer(&mut poller, since + before, FOUND, expected);
        let now = ask(&mut poller);
        answer(&mut poller, now, FOUND, None);
        poller.update(at(now), iter::once(sent(now, now + 1000)));
        let after = ask(&mut poller) - now;
        assert!(after > before && after < before + before / 8, "{before} ms, then {after}");
        answer(&mut poller, now + after, NOTHING, None);
    }
}

#[test]
fn losses_and_failed_data_requests_do_not_change_the_due_time() {
    let mut poller = poller(Polling::DEFAULT);
    round(&mut poller, 1000, 100);
    let due = poller.connections[0].due;
    // Lost and retransmitted; not acknowledged; promised and not delivered.
    poller.update(at(5000), iter::once(sent(5000, 5100)));
    let now = ask(&mut poller);
    answer(&mut poller, now, NOTHING, sent(5100, 5300));
    let now = ask(&mut poller);
    answer(&mut poller, now, DataRequestOutcome::NoAck, sent(5100, 5300));
    let now = ask(&mut poller);
    answer(&mut poller, now, DataRequestOutcome::TimedOut, sent(5100, 5300));
    assert_eq!(poller.connections[0].due, due);
}

#[test]
fn a_promise_is_asked_for_again_at_once_and_a_silent_parent_after_a_pause() {
    let mut poller = poller(Polling::DEFAULT);
    let mut now = ask(&mut poller);
    for _ in 0..TIMEOUTS {
        answer(&mut poller, now + 100, DataRequestOutcome::TimedOut, None);
        assert_eq!(ask(&mut poller), now + 100);
        now += 100;
    }
    answer(&mut poller, now + 100, DataRequestOutcome::TimedOut, None);
    assert_eq!(ask(&mut poller), now + 240_000);
    now += 240_000;
    answer(&mut poller, now, DataRequestOutcome::Received { more: true }, None);
    assert_eq!((ask(&mut poller), poller.failures()), (now, 0));
    for pause in [125, 250, 500, 1000] {
        answer(&mut poller, now, DataRequestOutcome::NoAck, None);
        assert_eq!(ask(&mut poller), now + pause);
        now += pause;
    }
    answer(&mut poller, now, DataRequestOutcome::NoAck, None);
    assert_eq!(poller.failures(), 5);
    assert_eq!(ask(&mut poller), now + 240_000, "it is gone");
}

#[test]
fn a_busy_mac_is_asked_again_soon() {
    let mut poller = poller(Polling::DEFAULT);
    let now = poller.deadline().unwrap();
    poller.asked(now, false);
    assert_eq!(poller.deadline(), Some(now + NO_ROOM));
}

#[test]
fn applications_that_answer_before_the_data_request_has_ended_are_learnt_from() {
    let mut poller = poller(Polling::DEFAULT);
    let (mut since, mut waited) = (1000, Vec::new());
    poller.expect_response(at(since), 1, sent(since, since + 3000)).unwrap();
    // The next block of a transfer comes 100 ms after the response to the one before.
    for _ in 0..40 {
        let mut now = ask(&mut poller);
        while now < since + 100 {
            answer(&mut poller, now, NOTHING, None);
            now = ask(&mut poller);
        }
        waited.push(now - since);
        since = now;
        poller.expect_response(at(since), 1, sent(since, since + 3000)).unwrap();
        answer(&mut poller, now, FOUND, None);
    }
    assert_eq!(waited[0], 750, "a quarter of the time that it has");
    assert!(waited[20..].iter().all(|ms| (100..150).contains(ms)), "{waited:?}");
}

#[test]
fn applications_say_until_when_and_take_it_back() {
    for policy in [Polling::TCPLP, Polling::DEFAULT] {
        let mut poller = poller(policy);
        poller.expect_response(at(1000), 1, sent(1000, 2000)).unwrap();
        let mut asked = Vec::new();
        while poller.deadline().unwrap() < at(60_000) {
            let now = ask(&mut poller);
            asked.push(now);
            answer(&mut poller, now, NOTHING, None);
        }
        assert!(asked.first() > Some(&1000) && asked.last() <= Some(&2000), "{asked:?}");
        poller.expect_response(at(3000), 1, sent(3000, 4000)).unwrap();
        assert!(poller.deadline() < Some(at(4000)));
        poller.expect_response(at(3001), 1, None).unwrap();
        assert!(poller.deadline() > Some(at(200_000)));
    }
}
/// Polls until `until` without finding anything. Returns the times.
fn ask_until(poller: &mut Poller, until: u64) -> Vec<u64> {
    let mut asked = Vec::new();
    while poller.deadline().unwrap() <= at(until) {
        let now = ask(poller);
        asked.push(now);
        answer(poller, now, NOTHING, None);
    }
    asked
}

#[test]
fn each_application_has_an_expectation_of_its_own() {
    for policy in [Polling::TCPLP, Polling::DEFAULT] {
        let mut poller = poller(policy);
        poller.expect_response(at(1000), 80, sent(1000, 9000)).unwrap();
        poller.expect_response(at(1000), 5683, sent(1000, 3000)).unwrap();
        poller.expect_response(at(1001), 5683, None).unwrap();
        assert!(ask_until(&mut poller, 9000).last() > Some(&7000), "the other one's time");
        // An expired expectation has no effect any more.
        poller.expect_response(at(10_000), 5683, sent(10_000, 11_000)).unwrap();
        poller.expect_response(at(10_000), 80, None).unwrap();
        assert!(ask_until(&mut poller, 60_000).last() > Some(&10_800));
    }
}

#[test]
fn each_application_has_its_own_due_time() {
    let mut poller = poller(Polling::DEFAULT);
    let mut waits = [Vec::new(), Vec::new()];
    for n in 1..200 {
        // The response to one comes after 100 ms, that to the other after 800 ms.
        let since = n * 10_000;
        for (number, latency) in [(0, 100), (1, 800)] {
            let since = since + u64::from(number) * 5000;
            poller.expect_response(at(since), number, sent(since, since + 3000)).unwrap();
            let mut now = ask(&mut poller);
            while now < since + latency {
                answer(&mut poller, now, NOTHING, None);
                now = ask(&mut poller);
            }
            poller.expect_response(at(now), number, None).unwrap();
            answer(&mut poller, now, FOUND, None);
            waits[usize::from(number)].push(now - since);
        }
    }
    assert!(waits[0][50..].iter().all(|ms| (100..150).contains(ms)), "{waits:?}");
    assert!(waits[1][50..].iter().all(|ms| (800..1100).contains(ms)), "{waits:?}");
}

#[test]
fn a_place_is_refused_only_while_others_expect_something() {
    let mut poller = poller(Polling::DEFAULT);
    for number in 0..3 {
        poller.expect_response(at(1000), number, sent(1000, 2000 + u64::from(number))).unwrap();
    }
    let before = poller.deadline();
    assert_eq!(poller.expect_response(at(1000), 3, sent(1000, 1500)), Err(TableFull));
    assert_eq!(poller.expect_response(at(1000), 3, None), Ok(()));
    assert_eq!(poller.deadline(), before, "nothing has changed");
    poller.expect_response(at(2000), 2, sent(2000, 4000)).unwrap();
    assert_eq!(poller.expect_response(at(2000), 3, sent(2000, 4000)), Err(TableFull));
    poller.expect_response(at(2001), 3, sent(2001, 4000)).unwrap();
    poller.expect_response(at(2001), 1, None).unwrap();
    poller.expect_response(at(2001), 4, sent(2001, 4000)).unwrap();
}

#[test]
fn asking_often_because_of_the_base_interval_does_not_put_answers_off() {
    for base in [30, 50, 70] {
        let mut poller = poller(Polling::Predictive { base: MS * base });
        let mut now = 0;
        for _ in 0..60 {
            (_, now) = round(&mut poller, now, 80);
        }
        let due = poller.connections[0].due;
        assert!(due >= MS * 60 && due <= MS * 110, "every {base} ms: {due:?}");
    }
}

#[test]
fn an_answer_that_the_base_interval_finds_before_it_is_due_brings_it_forward() {
    let mut poller = poller(Polling::Predictive { base: MS * 50 });
    let mut now = 0;
    for _ in 0..60 {
        (_, now) = round(&mut poller, now, 20);
    }
    let due = poller.connections[0].due;
    assert!(due < MS * 50, "{due:?}");
}

#[test]
fn the_base_interval_leaves_a_segment_alone_whose_answer_is_asked_for() {
    let often = Polling::Predictive { base: MS * 50 };
    let expected = sent(0, 1000);
    let mut asking = poller(often);
    asking.update(at(0), iter::once(expected));
    asking.set_sending(at(10), true);
    asking.update(at(10), iter::once(expected));
    assert_eq!(asking.deadline(), Some(at(875)), "seven eighths of the timer");
    asking.set_sending(at(60), false);
    asking.update(at(60), iter::once(expected));
    assert_eq!(asking.deadline(), Some(at(50)), "at once");
    // With nothing to wait for, or at fixed intervals, the interval is kept.
    for (policy, tcp) in
        [(often, None), (Polling::Fixed { base: MS * 50, fast_poll: MS * 100 }, expected)]
    {
        let mut asking = poller(policy);
        asking.set_sending(at(10), true);
        asking.update(at(10), iter::once(tcp));
        assert_eq!(asking.deadline(), Some(at(50)));
    }
}
