//! Transmission to neighbours that sample the channel: the order of recipients, the length of a
//! strobe, bursts, and the handling of unacknowledged strobes.

use super::*;
use crate::wake::{CHECK, MIN_FRAME, repetition};
use kinglet_radio::{LIFS, SIFS, air_time};

pub(super) struct Plan;
impl Sizes for Plan {
    type Queue = [Slot; 6];
    type Neighbours = [Neighbour; 3];
    type Listening = Waking<AlwaysOn>;
    type DeliveryMethod = Strobing<(), [Strobed; 3]>;
    type Security = ();
    type Backoff = Exponential;
}

pub(super) type Sender = Mac<Plan>;

pub(super) const A: u16 = 2;
const B: u16 = 3;
pub(super) const PERIOD: Duration = Wake::DEFAULT.period;
pub(super) const LEN: usize = 100;
pub(super) const ACKED: Ack = Ack::Received { frame_pending: false };

/// Returns a sender that always listens, so that its own wake-ups do not interfere.
pub(super) fn sender(wake: Wake) -> Sender {
    let able = all() | Capabilities::SENSES | Capabilities::STROBES;
    let mut mac = Mac::new(config().unsecured(), able, 1);
    mac.set_wake(Some(Wake { sleeps: false, ..wake })).unwrap();
    assert!(matches!(mac.poll_radio(T0).unwrap().command, Command::Receive { .. }));
    mac
}

fn put(mac: &mut Sender, now: Instant, dst: u16, payload: usize) {
    let request = TxRequest { dst: Address::Short(dst), ..request(dst.into()) };
    mac.enqueue(now, request, |room| {
        room[..payload].fill(9);
        payload
    })
    .unwrap();
}

/// Queues a frame of `LEN` octets.
pub(super) fn put_one(mac: &mut Sender, now: Instant, dst: u16) {
    put(mac, now, dst, LEN - 9);
}

/// A strobe that was submitted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Strobe {
    pub(super) at: Instant,
    pub(super) dst: u16,
    pub(super) sequence: u8,
    pub(super) more: bool,
    pub(super) senses: u8,
    pub(super) first: Option<Instant>,
    pub(super) lasting: Duration,
    pub(super) spacing: Duration,
}

/// Waits until the next strobe is submitted.
pub(super) fn strobe(mac: &mut Sender, now: &mut Instant) -> Strobe {
    loop {
        let at = *now;
        if let Some(Submission { command, frame }) = mac.poll_radio(at) {
            let Command::Strobe { start, senses, lasting, spacing, .. } = command else {
                // It may hop over channels itself.
                assert!(matches!(command, Command::Receive { .. }), "{command:?}");
                continue;
            };
            let frame = Frame::parse(frame).unwrap();
            let Address::Short(dst) = frame.dst() else { panic!("a short address") };
            let first = if let Start::At(sfd) = start { Some(sfd) } else { None };
            let (sequence, more) = (frame.sequence().unwrap(), frame.frame_pending());
            return Strobe { at, dst, sequence, more, senses, first, lasting, spacing };
        }
        *now = mac.deadline().expect("something is due");
        mac.handle_deadline(*now);
    }
}

pub(super) fn end(mac: &mut Sender, now: Instant, sfd: Instant, ack: Ack, times: u16) {
    let event = Event::Strobed { sfd, ack, times };
    assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
    while mac.poll_outcome(now).is_some() {}
}

/// Provides one observation of the wake-up phase of `dst`: the second of two copies is acknowledged
/// shortly after `T0`.
pub(super) fn meet(mac: &mut Sender, now: &mut Instant, dst: u16) -> Instant {
    put_one(mac, *now, dst);
    let at = strobe(mac, now);
    assert_eq!((at.dst, at.senses), (dst, 6));
    let sfd = at.at + Duration::from_millis(20);
    *now = sfd + air_time(LEN + 2) + Duration::from_millis(1);
    end(mac, *now, sfd, ACKED, 2);
    sfd
}

/// The same, with a second observation that agrees.
pub(super) fn acquaint(mac: &mut Sender, now: &mut Instant, dst: u16) -> Instant {
    let sfd = meet(mac, now, dst);
    *now += PERIOD;
    put_one(mac, *now, dst);
    let again = strobe(mac, now).first.expect("at a given time") + repetition(LEN);
    *now = again + air_time(LEN + 2) + Duration::from_millis(1);
    end(mac, *now, again, ACKED, 2);
    sfd
}

#[test]
fn an_unknown_neighbour_gets_a_strobe_of_a_whole_period_and_then_a_short_one() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    put_one(&mut mac, now, A);
    let first = strobe(&mut mac, &mut now);
    let least = PERIOD + CHECK + repetition(LEN);
    assert_eq!((first.first, first.lasting), (None, least + Wake::DEFAULT.stubborn(LEN)));
    let sfd = now + Duration::from_millis(50);
    now = sfd + Duration::from_millis(4);
    end(&mut mac, now, sfd, ACKED, 11);

    // The recipient woke during the previous copy, or just before it.
    let woke = sfd - Duration::from_micros(160) - repetition(LEN) - CHECK;
    for periods in [4, 20, 200] {
        let wake_up = woke + PERIOD * periods;
        now = wake_up - PERIOD / 2;
        put_one(&mut mac, now, A);
        let next = strobe(&mut mac, &mut now);
        let begin = next.first.expect("at a given time") - Duration::from_micros(160);
        // 80 ppm, and 64 us.
        let drift = (PERIOD * periods).as_micros() * 80 / 1_000_000 + 64;
        assert!(
            begin < wake_up && wake_up - begin < Duration::from_micros(drift + 30),
            "{periods}"
        );
        assert!((wake_up - now).as_micros() > 6_000, "the radio has time to load it");
        let last = begin + next.lasting - Wake::DEFAULT.stubborn(LEN);
        assert!(last > wake_up + CHECK + repetition(LEN) * 2, "until it must have woken");
        assert!(next.lasting < Duration::from_millis(33), "and not much longer");
        // An acknowledgement of the first copy is no observation of the phase.
        now = begin + Duration::from_millis(4);
        end(&mut mac, now, begin, ACKED, 1);
    }
    assert_eq!(mac.strobe_stats().unwrap().searching, 1);
}

#[test]
fn frames_for_one_neighbour_follow_each_other_in_a_burst() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    for _ in 0..3 {
        put_one(&mut mac, now, A);
    }
    let first = strobe(&mut mac, &mut now);
    put_one(&mut mac, now, B);
    assert_eq!((first.dst, first.more, first.senses), (A, true, 6));
    now = first.first.unwrap() + Duration::from_millis(9);
    end(&mut mac, now, now - Duration::from_millis(4), ACKED, 2);
    for (n, more) in [(1, true), (2, false)] {
        let ended = now;
        let next = strobe(&mut mac, &mut now);
        assert_eq!((next.dst, next.more, next.senses, next.first), (A, more, 0, None));
        assert_eq!(next.sequence, (first.sequence + n) % 128);
        assert_eq!(next.lasting, repetition(LEN) * 11, "twelve in a row");
        assert_eq!(now, ended, "the radio leaves the spacing");
        now += Duration::from_millis(5);
        end(&mut mac, now, now - Duration::from_millis(4), ACKED, 1);
    }
    assert_eq!(strobe(&mut mac, &mut now).dst, B, "the burst is over");
    assert_eq!(mac.strobe_stats().unwrap().in_bursts, 2);
}

/// A recipient that processes a frame at once gets no additional time (IEEE 802.15.4-2015, 6.2.4).
/// One that needs the time misses a frame in each burst, and receives the repetition.
#[test]
fn frames_of_a_burst_follow_soon_until_one_is_not_heard_at_once() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    for _ in 0..2 {
        put_one(&mut mac, now, A);
        // The number of copies of the first frame is no evidence: its recipient was asleep.
        for (times, spacing) in [(3, LIFS), (1, SIFS), (2, SIFS), (1, LIFS), (1, LIFS)] {
            put_one(&mut mac, now, A);
            let next = strobe(&mut mac, &mut now);
            assert_eq!((next.spacing, next.first.is_none()), (spacing, next.senses == 0));
            now = next.first.unwrap_or(now) + Duration::from_millis(9);
            end(&mut mac, now, now - Duration::from_millis(4), ACKED, times);
        }
        assert!(!strobe(&mut mac, &mut now).more, "the burst is over");
        now += Duration::from_millis(9);
        end(&mut mac, now, now - Duration::from_millis(4), ACKED, 1);
        now += PERIOD;
    }
}

#[test]
fn a_burst_ends_when_its_time_is_over() {
    let burst = Duration::from_millis(40);
    let mut mac = sender(Wake { burst, ..Wake::DEFAULT });
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    (0..2).for_each(|_| put_one(&mut mac, now, A));
    let begin = strobe(&mut mac, &mut now);
    now = begin.first.unwrap();
    let mut frames = 1;
    loop {
        put_one(&mut mac, now, A);
        now += Duration::from_millis(5);
        end(&mut mac, now, now - Duration::from_millis(4), ACKED, 1);
        let next = strobe(&mut mac, &mut now);
        if next.senses > 0 {
            assert!(next.first.is_some_and(|at| at > now), "at another wake-up");
            break;
        }
        frames += 1;
        assert!(frames < 12, "it goes on for ever");
    }
    // Each frame after the first takes 5 ms here, and the last one ends within the time.
    assert_eq!(frames, 1 + 40 / 5);
    let mut single = sender(Wake { burst: Duration::ZERO, ..Wake::DEFAULT });
    now = T0;
    (0..2).for_each(|_| put_one(&mut single, now, A));
    assert!(!strobe(&mut single, &mut now).more);
}

#[test]
fn while_one_backs_off_others_are_served_and_order_is_kept() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    put_one(&mut mac, now, A);
    put_one(&mut mac, now, A);
    let first = strobe(&mut mac, &mut now);
    now = first.first.unwrap() + first.lasting;
    end(&mut mac, now, now, Ack::Missing, 6);
    put_one(&mut mac, now, B);
    let other = strobe(&mut mac, &mut now);
    assert_eq!(other.dst, B, "before the next wake-up of the other");
    now += Duration::from_millis(30);
    end(&mut mac, now, now, ACKED, 5);
    let again = strobe(&mut mac, &mut now);
    assert_eq!((again.dst, again.sequence, again.senses), (A, first.sequence, 6));
    assert_eq!(mac.strobe_stats().unwrap().failed, 1);
}

#[test]
fn back_offs_grow_and_end_with_the_first_success() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    put_one(&mut mac, now, A);
    let mut waits = Vec::new();
    for _ in 0..7 {
        let next = strobe(&mut mac, &mut now);
        let ended = next.first.unwrap() + next.lasting;
        end(&mut mac, ended, ended, Ack::Missing, 6);
        now = ended;
        let mut later = now;
        waits.push(strobe(&mut mac, &mut later).first.unwrap() - ended);
        // This strobe fails as well.
        now = later + Duration::from_millis(30);
        end(&mut mac, now, now, Ack::Missing, 6);
    }
    assert!(waits[0] < PERIOD * 2, "{waits:?}");
    let longest = waits.iter().max().unwrap();
    assert!(*longest > PERIOD * 2 && *longest < PERIOD * 6, "{waits:?}");
    assert_eq!(mac.info().slots_used, 1, "it is never given up");
}

#[test]
fn a_frame_is_given_up_after_so_many_strobes_if_that_is_wanted() {
    let mut mac = sender(Wake { max_attempts: Some(3), ..Wake::DEFAULT });
    let mut now = T0;
    put_one(&mut mac, now, A);
    for n in 0..3 {
        let next = strobe(&mut mac, &mut now);
        now += next.lasting;
        if n < 2 {
            end(&mut mac, now, now, Ack::Missing, 40);
        }
    }
    let event = Event::Strobed { sfd: now, ack: Ack::Missing, times: 40 };
    assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
    let outcome = mac.poll_outcome(now).unwrap();
    assert_eq!((outcome.result, outcome.transmissions), (Delivery::NoAck, 120));
}

/// Strobes frames for `A` until `last`, all of them unacknowledged. Returns the number of strobes
/// before each strobe that lasts a period, and the time of the latter.
fn unanswered(mac: &mut Sender, now: &mut Instant, last: Instant) -> Vec<(u32, Instant)> {
    let mut searches = Vec::new();
    for failed in 0.. {
        while mac.info().slots_used == 0 {
            *now += PERIOD;
            put_one(mac, *now, A);
            while let Some(outcome) = mac.poll_outcome(*now) {
                assert_eq!((outcome.result, outcome.transmissions), (Delivery::NoAck, 0));
            }
        }
        if *now >= last {
            break;
        }
        let next = strobe(mac, now);
        if next.lasting > PERIOD {
            searches.push((failed, next.at));
        }
        *now = next.first.unwrap_or(*now) + next.lasting;
        end(mac, *now, *now, Ack::Missing, 6);
    }
    searches
}

#[test]
fn a_rhythm_that_leads_nowhere_is_looked_for_and_forgotten_at_last() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    put_one(&mut mac, now, A);
    let known = now;
    let searches = unanswered(&mut mac, &mut now, known + Duration::from_secs(70));
    // A neighbour that does not acknowledge may only be busy.
    let all = searches.iter().enumerate().all(|(index, (failed, _))| *failed == 16 + index as u32);
    assert!(all && searches.len() > 4, "{searches:?}");
}

#[test]
fn frames_for_a_silent_neighbour_are_given_up_until_it_is_heard() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    let known = now;
    put_one(&mut mac, now, A);
    unanswered(&mut mac, &mut now, known + Duration::from_secs(40));
    let before = mac.strobe_stats().unwrap().strobes;
    let begun = now;
    unanswered(&mut mac, &mut now, begun + Duration::from_secs(80));
    let strobes = mac.strobe_stats().unwrap().strobes - before;
    // One strobe follows each back-off of 0 to 63 periods of 125 ms.
    assert!((12..40).contains(&strobes), "{strobes}");
    while mac.info().slots_used > 0 {
        let next = strobe(&mut mac, &mut now);
        now = next.first.unwrap_or(now) + next.lasting;
        end(&mut mac, now, now, Ack::Missing, 6);
    }
    // One frame is tried after the back-off, and is not discarded because of a busy channel.
    put_one(&mut mac, now, A);
    assert_eq!(mac.poll_outcome(now), None);
    for _ in 0..3 {
        let next = strobe(&mut mac, &mut now);
        now = next.first.unwrap_or(now);
        mac.handle_radio(now, Event::ChannelBusy, &mut []).unwrap();
        assert_eq!(mac.poll_outcome(now), None);
    }
    let next = strobe(&mut mac, &mut now);
    now = next.first.unwrap_or(now) + next.lasting;
    end(&mut mac, now, now, Ack::Missing, 6);
    given_up_after_a_period(&mut mac, &mut now);
    let frame = data_frame(Address::Short(A), Address::Short(1), 7, false);
    super::waking::receive_at(&mut mac, now, now, &frame).unwrap();
    put_one(&mut mac, now, A);
    assert_eq!(mac.poll_outcome(now), None);
    let heard = now;
    assert_eq!(strobe(&mut mac, &mut now).dst, A);
    assert!(now - heard < PERIOD * 2, "{:?}", now - heard);
}

#[test]
fn a_neighbour_that_was_never_met_is_silent_after_six_searches() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0 + Duration::from_secs(10);
    put_one(&mut mac, now, A);
    for searches in 1..=6 {
        let next = strobe(&mut mac, &mut now);
        assert!(next.lasting > PERIOD);
        now += next.lasting;
        let event = Event::Strobed { sfd: now, ack: Ack::Missing, times: 6 };
        assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
        assert_eq!(mac.poll_outcome(now).is_some(), searches == 6, "{searches}");
    }
}

#[test]
fn a_frame_of_a_neighbour_that_answers_changes_nothing() {
    let next = |heard: bool| {
        let mut mac = sender(Wake::DEFAULT);
        let mut now = T0;
        acquaint(&mut mac, &mut now, A);
        now += Duration::from_secs(20);
        if heard {
            let frame = data_frame(Address::Short(A), Address::Short(1), 7, false);
            super::waking::receive_at(&mut mac, now, now, &frame).unwrap();
        }
        put_one(&mut mac, now, A);
        let first = strobe(&mut mac, &mut now);
        now = first.first.unwrap_or(now) + first.lasting;
        end(&mut mac, now, now, Ack::Missing, 6);
        (first, strobe(&mut mac, &mut now))
    };
    assert_eq!(next(true), next(false));
}

#[test]
fn a_neighbour_with_a_known_rhythm_is_silent_after_sixteen_strobes() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    now += Duration::from_secs(20);
    put_one(&mut mac, now, A);
    for strobes in 1..=16 {
        let next = strobe(&mut mac, &mut now);
        now = next.first.unwrap_or(now) + next.lasting;
        let event = Event::Strobed { sfd: now, ack: Ack::Missing, times: 6 };
        assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
        assert_eq!(mac.poll_outcome(now).is_some(), strobes == 16, "{strobes}");
    }
}

/// A neighbour that has not been needed for long is not silent yet.
#[test]
fn before_a_neighbour_is_silent_back_offs_are_short_and_no_frame_is_lost() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    now += Duration::from_secs(50);
    (0..2).for_each(|_| put_one(&mut mac, now, A));
    for strobes in 1..16 {
        let before = now;
        let next = strobe(&mut mac, &mut now);
        assert!(now - before < PERIOD * 5, "{strobes}: {:?}", now - before);
        let ahead = next.first.expect("its wake-ups are known") - next.at;
        // Up to three repetitions earlier, of the longest frame.
        assert!(ahead < Duration::from_millis(12), "others are served until then: {ahead:?}");
        now = next.first.unwrap_or(now) + next.lasting;
        let event = Event::Strobed { sfd: now, ack: Ack::Missing, times: 6 };
        assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
        assert_eq!(mac.poll_outcome(now), None, "{strobes}");
    }
}

#[test]
fn a_silent_neighbour_is_tried_again_after_an_eighth_of_its_silence() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    let heard = now;
    put_one(&mut mac, now, A);
    let searches = unanswered(&mut mac, &mut now, heard + Duration::from_secs(55));
    let silent = searches.windows(2).filter(|pair| pair[0].1 > heard + Duration::from_secs(10));
    let mut longest = Duration::ZERO;
    for pair in silent {
        let (before, at) = (pair[0].1, pair[1].1);
        // A strobe of a period, the back-off, and at most two periods until the next wake-up.
        assert!(at - before < (at - heard) / 8 + PERIOD * 4, "{:?} after {:?}", at, before - heard);
        longest = longest.max(at - before);
    }
    assert!(longest > Duration::from_secs(2), "it grows: {longest:?}");
}

#[test]
fn a_silent_neighbour_does_not_hold_up_frames_for_others() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    put_one(&mut mac, now, A);
    unanswered(&mut mac, &mut now, T0 + Duration::from_secs(40));
    while mac.poll_outcome(now).is_some() || mac.info().slots_used > 0 {
        let next = strobe(&mut mac, &mut now);
        now = next.first.unwrap_or(now) + next.lasting;
        end(&mut mac, now, now, Ack::Missing, 6);
    }
    given_up_after_a_period(&mut mac, &mut now);
    put_one(&mut mac, now, B);
    let begun = now;
    assert_eq!(strobe(&mut mac, &mut now).dst, B);
    assert!(now - begun < PERIOD, "{:?}", now - begun);
}

/// A source that fills the queue as soon as it has room loses one frame in each period.
fn given_up_after_a_period(mac: &mut Sender, now: &mut Instant) {
    let mut lost = Vec::new();
    while lost.len() < 3 {
        while mac.accepts(Address::Short(A)) {
            put_one(mac, *now, A);
        }
        if let Some(outcome) = mac.poll_outcome(*now) {
            assert_eq!((outcome.result, outcome.transmissions), (Delivery::NoAck, 0));
            lost.push(*now);
            continue;
        }
        *now = mac.deadline().expect("one is discarded");
        mac.handle_deadline(*now);
    }
    assert!(lost.windows(2).all(|pair| pair[1] - pair[0] == PERIOD), "{lost:?}");
}

#[test]
fn after_a_busy_channel_and_a_start_that_was_missed_the_next_wake_up_is_awaited() {
    for event in [Some(Event::ChannelBusy), Some(Event::Missed), None] {
        let mut mac = sender(Wake::DEFAULT);
        let mut now = T0;
        acquaint(&mut mac, &mut now, A);
        put_one(&mut mac, now, A);
        let first = strobe(&mut mac, &mut now);
        now = first.first.unwrap();
        match event {
            Some(event) => assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None)),
            None => mac.radio_refused(now),
        }
        let again = strobe(&mut mac, &mut now);
        assert_eq!((again.dst, again.sequence), (A, first.sequence));
        assert!(again.at > first.first.unwrap() + PERIOD / 2, "{event:?}");
        assert!(again.first.unwrap() > first.first.unwrap() + PERIOD / 2, "{event:?}");
    }
}

#[test]
fn the_queue_accepts_two_frames_for_each_neighbour() {
    let mut mac = sender(Wake::DEFAULT);
    for (queued, accepts) in [(0, true), (1, true), (2, false)] {
        assert_eq!(mac.accepts(Address::Short(A)), accepts, "{queued}");
        assert!(mac.accepts(Address::Short(B)));
        put_one(&mut mac, T0, A);
    }
    mac.set_wake(None).unwrap();
    assert!(mac.accepts(Address::Short(A)), "without strobes the queue alone decides");
}

#[test]
fn the_result_of_a_strobe_that_was_not_requested_is_refused() {
    let mut mac = sender(Wake::DEFAULT);
    put_one(&mut mac, T0, A);
    let event = Event::Strobed { sfd: T0, ack: ACKED, times: 1 };
    assert_eq!(mac.handle_radio(T0, event, &mut []), Err(Discard::UnexpectedEvent));
    assert_eq!((mac.poll_outcome(T0), mac.info().slots_used), (None, 1));
    let mut now = T0;
    strobe(&mut mac, &mut now);
    assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
    assert_eq!(mac.handle_radio(now, event, &mut []), Err(Discard::UnexpectedEvent));
}

#[test]
fn broadcasts_announce_no_burst_and_are_tried_again_after_a_busy_channel() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    (0..2).for_each(|_| put_one(&mut mac, now, 0xffff));
    let first = strobe(&mut mac, &mut now);
    assert!(!first.more);
    assert_eq!(mac.handle_radio(now, Event::ChannelBusy, &mut []), Ok(None));
    assert_eq!(mac.poll_outcome(now), None);
    let again = strobe(&mut mac, &mut now);
    assert_eq!((again.dst, again.sequence, again.more), (0xffff, first.sequence, false));
}

#[test]
fn a_broadcast_strobe_lasts_a_period_and_requests_no_acknowledgement() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    put_one(&mut mac, now, 0xffff);
    let next = strobe(&mut mac, &mut now);
    assert_eq!((next.dst, next.more, next.first), (0xffff, false, None));
    assert!(next.sequence >= 128, "no frame for one neighbour has that");
    assert_eq!(next.lasting, PERIOD + CHECK + repetition(LEN));
    now += next.lasting;
    let event = Event::Strobed { sfd: now, ack: Ack::NotAwaited, times: 30 };
    assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
    assert_eq!(mac.poll_outcome(now).unwrap().result, Delivery::Delivered);
}

#[test]
fn each_neighbour_has_sequence_numbers_of_its_own() {
    let mut mac = sender(Wake { burst: Duration::ZERO, ..Wake::DEFAULT });
    let mut now = T0;
    let mut last = [None; 2];
    for n in 0..600 {
        let (index, dst) = if n % 3 == 0 { (0, A) } else { (1, B) };
        put_one(&mut mac, now, dst);
        let sequence = strobe(&mut mac, &mut now).sequence;
        // Sequence numbers of frames for one neighbour are below 128, and those of broadcasts
        // above: a receiver distinguishes them.
        assert!(last[index].is_none_or(|last: u8| (last + 1) % 128 == sequence), "{n}");
        last[index] = Some(sequence);
        now += Duration::from_millis(200);
        end(&mut mac, now, now, ACKED, 1);
    }
}

#[test]
fn a_frame_too_short_to_be_noticed_is_lengthened_and_its_payload_stays() {
    for payload in 1..30 {
        let mut mac = sender(Wake::DEFAULT);
        put(&mut mac, T0, A, payload);
        let submission = mac.poll_radio(T0).unwrap();
        let frame = Frame::parse(submission.frame).unwrap();
        assert_eq!(frame.payload(), std::vec![9; payload]);
        assert!(submission.frame.len() >= MIN_FRAME, "{payload}");
        assert!(payload + 9 < MIN_FRAME || submission.frame.len() == payload + 9, "{payload}");
        assert!(frame.ack_request() && frame.dst() == Address::Short(A));
    }
}

#[test]
fn a_secured_frame_is_long_enough_and_has_no_filling() {
    let mut mac = super::hostile::device(1, Some(super::hostile::KEY));
    let request = TxRequest { dst: Address::Short(A), ..request(1) };
    mac.enqueue(T0, request, |room| {
        room[0] = 9;
        1
    })
    .unwrap();
    let submission = mac.poll_radio(T0).unwrap();
    assert!(matches!(submission.command, Command::Strobe { .. }));
    // Addressing, security header, payload and integrity code.
    assert_eq!(submission.frame.len(), 9 + 6 + 1 + 4);
    assert!(submission.frame.len() >= MIN_FRAME);
}

/// Sends a burst of one frame at each wake-up of a neighbour. Returns the numbers of periods from
/// one to the next.
fn one_after_another(mac: &mut Sender, now: &mut Instant, frames: usize) -> Vec<u64> {
    let mut begin = Vec::new();
    for _ in 0..frames {
        put_one(mac, *now, A);
        let next = strobe(mac, now).first.expect("a known neighbour");
        *now = next + repetition(LEN) * 2;
        end(mac, *now, next + repetition(LEN), ACKED, 2);
        begin.push(next);
    }
    let period = PERIOD.as_micros();
    begin.windows(2).map(|at| ((at[1] - at[0]).as_micros() + period / 2) / period).collect()
}

#[test]
fn a_transfer_in_step_with_the_wake_ups_leaves_periods_to_others() {
    let mut mac = sender(Wake::DEFAULT);
    let mut now = T0;
    acquaint(&mut mac, &mut now, A);
    let gaps = one_after_another(&mut mac, &mut now, 40);
    assert!(gaps.iter().all(|gap| [1, 3].contains(gap)), "{gaps:?}");
    assert_eq!(gaps.iter().filter(|gap| **gap == 3).count(), 4, "after every nine: {gaps:?}");

    mac.share_until(now + PERIOD * 1_000);
    let gaps = one_after_another(&mut mac, &mut now, 40);
    let left: u64 = gaps.iter().map(|gap| gap - 1).sum();
    assert!((24..=30).contains(&left), "two after three: {gaps:?}");
    mac.set_wake(Some(Wake { sleeps: false, ..Wake::DEFAULT })).unwrap();
    assert_eq!(strobe_of_new(&mut mac, &mut now), 0, "a new start");
}

/// Returns the number of periods for which a frame for a new neighbour waits.
fn strobe_of_new(mac: &mut Sender, now: &mut Instant) -> u64 {
    put_one(mac, *now, B);
    let at = *now;
    (strobe(mac, now).at - at).as_micros() / PERIOD.as_micros()
}
