//! Estimation of the wake-up phase of a neighbour by a sender, and when it searches for the phase
//! again.

use super::strobing::{A, ACKED, LEN, PERIOD, acquaint, end, meet, put_one, sender, strobe};
use super::*;
use crate::delivery_method::{DeliveryMethod, StrobeEnd, StrobeResult};
use crate::strobing::{Strobed, Strobing};
use crate::wake::{CHECK, repetition};
use kinglet_radio::air_time;

#[test]
fn one_observation_that_contradicts_the_wake_up_phase_is_not_accepted_two_are() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    let sfd = acquaint(&mut mac, &mut now, A);
    let woke = sfd - Duration::from_micros(160) - repetition(LEN) - CHECK;
    let mut begins = Vec::new();
    for periods in [10, 20, 30] {
        now = woke + PERIOD * periods - PERIOD / 2;
        put_one(&mut mac, now, A);
        let first = strobe(&mut mac, &mut now).first.unwrap();
        begins.push((first - woke).as_micros() % PERIOD.as_micros());
        // The acknowledgement arrives 20 ms before the earliest possible wake-up, as if the
        // recipient had been awake for another reason.
        let sfd = first - Duration::from_millis(20);
        end(&mut mac, first, sfd, ACKED, 3);
    }
    let before = |at: u64| (PERIOD.as_micros() - at) % PERIOD.as_micros();
    assert!(before(begins[1]) < 1_000, "{begins:?}");
    assert!((20_000..30_000).contains(&before(begins[2])), "{begins:?}");
}

#[test]
fn a_rhythm_that_was_observed_once_is_looked_for_after_three_failures() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    meet(&mut mac, &mut now, A);
    put_one(&mut mac, now, A);
    let (mut targeted, mut searches) = (0, 0);
    // A search that finds the channel busy is repeated the next time.
    while searches < 2 {
        let next = strobe(&mut mac, &mut now);
        now = next.first.unwrap_or(now) + next.lasting;
        if next.lasting < PERIOD {
            assert_eq!(searches, 0, "it is looked for until that could be done");
            targeted += 1;
            end(&mut mac, now, now, Ack::Missing, 6);
        } else {
            searches += 1;
            assert_eq!(mac.handle_radio(now, Event::ChannelBusy, &mut []), Ok(None));
        }
    }
    assert_eq!(targeted, 3);
    // The phase that the search finds is accepted.
    let next = strobe(&mut mac, &mut now);
    let sfd = next.first.unwrap() + Duration::from_millis(70);
    assert!(next.lasting > PERIOD);
    now = sfd + Duration::from_millis(5);
    end(&mut mac, now, sfd, ACKED, 9);
    now += PERIOD * 2;
    put_one(&mut mac, now, A);
    let first = strobe(&mut mac, &mut now).first.unwrap() - Duration::from_micros(160);
    let woke = sfd - Duration::from_micros(160) - repetition(LEN) - CHECK;
    let before = PERIOD.as_micros() - (first - woke).as_micros() % PERIOD.as_micros();
    assert!(before < 1_000, "{before} us before it");
}

#[test]
fn a_neighbour_that_may_still_be_awake_updates_no_wake_up_phase() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    (0..2).for_each(|_| put_one(&mut mac, now, A));
    let begin = strobe(&mut mac, &mut now).first.unwrap();
    let first = (begin - T0).as_micros() % PERIOD.as_micros();
    // The burst begins. Its second frame is not received, and is sent again while its recipient
    // still awaits it.
    now = begin + Duration::from_millis(5);
    end(&mut mac, now, begin, ACKED, 1);
    strobe(&mut mac, &mut now);
    end(&mut mac, now + Duration::from_millis(1), now, Ack::Missing, 4);
    strobe(&mut mac, &mut now);
    let sfd = begin + Duration::from_millis(25);
    end(&mut mac, sfd + Duration::from_millis(5), sfd, ACKED, 2);
    now += Duration::from_secs(1);
    put_one(&mut mac, now, A);
    let next = strobe(&mut mac, &mut now).first.unwrap();
    let next = (next - T0).as_micros() % PERIOD.as_micros();
    assert!(first.abs_diff(next) < 1_000, "{first} and {next}");
}

/// Returns the next strobe for `A`, a second later, which ends like this.
fn later(mac: &mut super::strobing::Sender, now: &mut Instant, ack: Ack, copies: u16) -> bool {
    *now += Duration::from_secs(1);
    if mac.info().slots_used == 0 {
        put_one(mac, *now, A);
    }
    let next = strobe(mac, now);
    let sfd = next.first.unwrap_or(*now) + repetition(LEN) * u32::from(copies - 1);
    *now = sfd + Duration::from_millis(5);
    end(mac, *now, sfd, ack, copies);
    assert_eq!(next.first.is_none(), next.lasting > PERIOD, "{next:?}");
    next.first.is_none()
}

#[test]
fn a_neighbour_that_is_always_awake_is_not_waited_for() {
    for (ack, copies) in [(ACKED, 2), (Ack::Missing, 6)] {
        let mut mac = sender(Wake::DEFAULT);
        let mut now = T0;
        acquaint(&mut mac, &mut now, A);
        for _ in 0..2 {
            let at_once = (0..6).map(|_| later(&mut mac, &mut now, ACKED, 1));
            assert_eq!(at_once.collect::<Vec<_>>(), [false, false, false, false, true, true]);
            assert!(later(&mut mac, &mut now, ack, copies), "as before");
            // It slept, or is gone: it is awaited again.
            assert!(!later(&mut mac, &mut now, ACKED, 2));
        }
    }
}

/// A neighbour that has missed a frame of a burst still waits for it.
#[test]
fn an_acknowledgement_after_a_failure_does_not_show_that_a_neighbour_is_always_awake() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    assert!(!later(&mut mac, &mut now, Ack::Missing, 6));
    let at_once = (0..6).map(|_| later(&mut mac, &mut now, ACKED, 1));
    assert_eq!(at_once.collect::<Vec<_>>(), [false, false, false, false, false, true]);
}

#[test]
fn an_answer_to_a_burst_does_not_show_that_a_neighbour_is_always_awake() {
    for (answers, waits) in [(false, false), (true, true)] {
        let (dst, mut now, mut random) = (Address::Short(A), T0, Random::new(1, 1));
        let mut strobing = Strobing::<(), [Strobed; 3]>::NEW;
        strobing.set_wake(Some(Wake::DEFAULT));
        for times in [9, 1, 1, 1, 1] {
            if answers && times == 1 {
                strobing.handle_listener(dst, Channel::default(), now + PERIOD);
            }
            strobing.strobe(now, dst, LEN);
            let (result, sfd) = (StrobeResult::Acknowledged, now + PERIOD);
            let end = StrobeEnd { dst, len: LEN, result, sfd, times, more: false };
            strobing.handle_strobed(sfd, &end, &mut random);
            now += Duration::from_secs(1);
        }
        assert_eq!(strobing.eligible_at(now, dst) > now, waits, "{answers}");
    }
}

#[test]
fn an_answer_ends_the_back_off_of_a_neighbour() {
    let (dst, now, mut random) = (Address::Short(A), T0, Random::new(1, 1));
    let mut strobing = Strobing::<(), [Strobed; 3]>::NEW;
    strobing.set_wake(Some(Wake::DEFAULT));
    let end = StrobeEnd {
        dst,
        len: LEN,
        result: StrobeResult::Unanswered,
        sfd: now,
        times: 1,
        more: false,
    };
    strobing.strobe(now, dst, LEN);
    assert!(!strobing.handle_strobed(now, &end, &mut random));
    assert!(strobing.eligible_at(now, dst) > now);
    strobing.handle_listener(dst, Channel::default(), now + PERIOD);
    strobing.strobe(now, dst, LEN);
    let answer = StrobeEnd { result: StrobeResult::Acknowledged, ..end };
    strobing.handle_strobed(now, &answer, &mut random);
    assert_eq!((strobing.eligible_at(now, dst), strobing.discard_at(now, dst)), (now, None));
}

#[test]
fn a_neighbour_that_hops_over_channels_is_met_at_its_wake_ups() {
    for (channels, is_waited_for) in [(1 << 15, false), (3 << 14, true)] {
        let mut mac = sender(Wake { channels, ..Wake::DEFAULT });
        let mut now = T0;
        acquaint(&mut mac, &mut now, A);
        let waited = (0..6).map(|_| !later(&mut mac, &mut now, ACKED, 1)).last();
        assert_eq!(waited, Some(is_waited_for), "{channels}");
    }
}

#[test]
fn repetitions_that_are_lost_do_not_shift_a_rhythm() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    let woke = acquaint(&mut mac, &mut now, A) - Duration::from_micros(160) - repetition(LEN);
    for periods in (8..80).step_by(4) {
        now = woke + PERIOD * periods - PERIOD / 2;
        put_one(&mut mac, now, A);
        let next = strobe(&mut mac, &mut now);
        let begin = next.first.expect("at a given time") - Duration::from_micros(160);
        assert!(begin < woke + PERIOD * periods, "it has begun when the neighbour wakes");
        assert!(next.lasting < Duration::from_millis(35), "{:?}", next.lasting);
        // The fourth copy after the wake-up is the first that arrives.
        let sfd = begin + Duration::from_micros(160) + repetition(LEN) * 5;
        now = sfd + air_time(LEN + 2) + Duration::from_millis(1);
        end(&mut mac, now, sfd, ACKED, 6);
    }
}

#[test]
fn after_failures_a_strobe_begins_earlier() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    let sfd = acquaint(&mut mac, &mut now, A);
    let woke = sfd - Duration::from_micros(160) - repetition(LEN) - CHECK;
    put_one(&mut mac, now, A);
    let mut before = Vec::new();
    for _ in 0..6 {
        let next = strobe(&mut mac, &mut now);
        let begin = next.first.unwrap() - Duration::from_micros(160);
        let into = (begin - woke).as_micros() % PERIOD.as_micros();
        before.push(PERIOD.as_micros() - into);
        now = next.first.unwrap() + next.lasting;
        end(&mut mac, now, now, Ack::Missing, 6);
    }
    let rep = repetition(LEN).as_micros();
    for (n, before) in before.iter().enumerate() {
        let least = rep * n.min(3) as u64;
        assert!((least..least + rep / 4).contains(before), "{n}: {before} us");
    }
}

/// After a long silence the neighbour may have woken at any time of a long strobe, or before its
/// last copies. Its acknowledgement may come late: it is awake for another sender, whose copies
/// collide.
#[test]
fn a_late_acknowledgement_after_a_long_silence_is_no_confirmation() {
    for (silence, copies, searched_after) in [(10, 2, 16), (300, 9, 3), (300, 17, 3)] {
        let mut mac = sender(Wake::DEFAULT);
        let mut now = T0;
        acquaint(&mut mac, &mut now, A);
        now += Duration::from_secs(silence);
        put_one(&mut mac, now, A);
        let next = strobe(&mut mac, &mut now);
        let begin = next.first.expect("the period is known");
        let sfd = begin + repetition(LEN) * (u32::from(copies) - 1);
        assert!(sfd < begin + next.lasting && next.lasting < PERIOD, "{:?}", next.lasting);
        now = sfd + air_time(LEN + 2) + Duration::from_millis(1);
        end(&mut mac, now, sfd, ACKED, copies);
        put_one(&mut mac, now, A);
        let failed = (0..).find(|_| {
            let next = strobe(&mut mac, &mut now);
            now = next.first.unwrap() + next.lasting;
            end(&mut mac, now, now, Ack::Missing, 6);
            next.lasting > PERIOD
        });
        assert_eq!(failed, Some(searched_after), "after {silence} s and {copies} copies");
    }
}

/// Ends a strobe of one frame in each of several periods, as an answer or not. Returns whether
/// periods are left free then: a frame for another neighbour has to wait.
fn leaves_periods_free(
    strobing: &mut Strobing<(), [Strobed; 3]>,
    now: &mut Instant,
    (result, more, answers): (StrobeResult, bool, bool),
) -> bool {
    let (dst, mut random) = (Address::Short(A), Random::new(1, 1));
    let mut waits = false;
    for _ in 0..12 {
        if answers {
            strobing.handle_listener(dst, Channel::default(), *now + PERIOD);
        }
        strobing.strobe(*now, dst, LEN);
        let end = StrobeEnd { dst, len: LEN, result, sfd: *now, times: 1, more };
        strobing.handle_strobed(*now, &end, &mut random);
        waits |= strobing.eligible_at(*now, Address::Short(9)) > *now;
        if waits {
            break;
        }
        *now += PERIOD;
    }
    waits
}

#[test]
fn all_that_is_sent_counts_but_a_busy_channel() {
    for (result, more, free) in [
        (StrobeResult::Acknowledged, false, true),
        (StrobeResult::Sent, false, true),
        (StrobeResult::Unanswered, false, true),
        (StrobeResult::Unanswered, true, true),
        // The burst goes on.
        (StrobeResult::Acknowledged, true, false),
        (StrobeResult::Busy, false, false),
    ] {
        let mut strobing = Strobing::NEW;
        strobing.set_wake(Some(Wake::DEFAULT));
        let strobes = (result, more, false);
        assert_eq!(leaves_periods_free(&mut strobing, &mut { T0 }, strobes), free, "{strobes:?}");
    }
}

#[test]
fn answers_count_and_wait_unless_others_need_the_channel() {
    let answers = (StrobeResult::Acknowledged, false, true);
    let mut strobing = Strobing::NEW;
    strobing.set_wake(Some(Wake::DEFAULT));
    let mut now = T0;
    assert!(leaves_periods_free(&mut strobing, &mut now, answers));
    let may_answer = |strobing: &mut Strobing<_, _>, now| {
        strobing.handle_listener(Address::Short(A), Channel::default(), now + PERIOD * 9);
        strobing.eligible_at(now, Address::Short(A)) <= now
    };
    assert!(!may_answer(&mut strobing, now) && may_answer(&mut strobing, now + PERIOD * 2));
    strobing.share_until(now + PERIOD * 1_000);
    assert!(may_answer(&mut strobing, now), "packets of others travel in answers");
    now += PERIOD * 10;
    assert!(!leaves_periods_free(&mut strobing, &mut now, answers));
    assert!(leaves_periods_free(&mut strobing, &mut now, (StrobeResult::Sent, false, false)));
}
