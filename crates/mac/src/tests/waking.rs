//! A device that samples the channel several times a second, and its reaction to a busy channel.

use super::*;
use crate::air::end_of_ack;
use crate::wake::{ANSWER, CHECK, repetition};
use kinglet_radio::{
    ACK_NOTICED, CCA, LINGER, SENSES_APART, STROBE_GAP, STROBE_LEAST, SourceFilter, air_time,
};

pub(super) struct Plan;
impl Sizes for Plan {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 3];
    type Listening = Waking<AlwaysOn>;
    type DeliveryMethod = Strobing<(), [Strobed; 3]>;
    type Security = ();
    type Backoff = Exponential;
}

type Sleeper = Mac<Plan>;

pub(super) const FULL: usize = MAX_FRAME;

pub(super) fn able() -> Capabilities {
    all() | Capabilities::SENSES | Capabilities::STROBES
}

fn sleeper(wake: Wake) -> Sleeper {
    let mut mac = Mac::new(config().unsecured(), able(), 1);
    mac.set_wake(Some(wake)).unwrap();
    assert_eq!(poll(&mut mac, T0), Some(Command::Off));
    assert_eq!(poll(&mut mac, T0), None);
    mac
}

pub(super) fn poll<P: Sizes>(mac: &mut Mac<P>, now: Instant) -> Option<Command> {
    mac.poll_radio(now).map(|submission| submission.command)
}

/// Advances to the next deadline.
pub(super) fn wait<P: Sizes>(mac: &mut Mac<P>) -> Instant {
    let now = mac.deadline().expect("something is due");
    mac.handle_deadline(now);
    now
}

pub(super) fn sensed<P: Sizes>(mac: &mut Mac<P>, now: Instant, busy: bool) {
    assert_eq!(mac.handle_radio(now, Event::Sensed { busy }, &mut []), Ok(None));
}

pub(super) fn sense(times: u8) -> Option<Command> {
    Some(Command::Sense { channel: Channel::default(), times })
}

/// Wakes, and finds the channel busy; returns the time of that.
pub(super) fn roused<P: Sizes>(mac: &mut Mac<P>) -> Instant {
    let now = wait(mac);
    assert_eq!(poll(mac, now), sense(2));
    let now = now + CCA;
    sensed(mac, now, true);
    let until = now + (air_time(FULL + 2) + STROBE_GAP) * 4 + air_time(FULL + 2);
    let (start, channel) = (Start::At(now), Channel::default());
    assert_eq!(
        poll(mac, now),
        Some(Command::Await { start, until, channel, source_filter: SourceFilter::Any })
    );
    now
}

/// Returns a frame of full length for this device, or for all.
pub(super) fn frame(dst: Address, sequence: u8, more: bool) -> Vec<u8> {
    let repr = Repr {
        frame_type: FrameType::Data,
        version: Version::V2006,
        ack_request: dst.is_unicast(),
        frame_pending: more,
        sequence,
        pan_id: PanId(0xabcd),
        dst,
        src: PEER,
        security: None,
        csl: None,
        filling: 0,
    };
    let mut frame = [7; FULL];
    repr.emit(&mut frame).unwrap();
    frame.to_vec()
}

pub(super) const OWN: Address = Address::Short(1);

#[test]
fn it_wakes_in_its_rhythm_and_sleeps_where_nothing_is() {
    let mut mac = sleeper(Wake::DEFAULT);
    let mut before = None;
    for _ in 0..5 {
        let now = wait(&mut mac);
        assert_eq!(poll(&mut mac, now), sense(2));
        sensed(&mut mac, now + CCA * 2 + SENSES_APART, false);
        assert_eq!(poll(&mut mac, now + CCA * 2 + SENSES_APART), None, "the radio stays off");
        assert!(before.is_none_or(|at| now - at == Wake::DEFAULT.period));
        before = Some(now);
    }
    let stats = mac.wake_stats().unwrap();
    assert_eq!((stats.wake_ups, stats.roused), (5, 0));
}

/// The lab's channels 11, 12, 13 and 26.
const CHANNELS: u16 = 0b1000_0000_0000_0111;

#[test]
fn it_goes_round_the_channels_with_another_one_at_each_wake_up() {
    let mut mac = sleeper(Wake { channels: CHANNELS, ..Wake::DEFAULT });
    let mut seen = Vec::new();
    for _ in 0..8 {
        let now = wait(&mut mac);
        let Some(Command::Sense { channel, .. }) = poll(&mut mac, now) else { panic!("it wakes") };
        seen.push(channel.number());
        sensed(&mut mac, now + CCA, false);
    }
    // Four of a set of four are all of them, and the first is the configured one.
    assert_eq!(seen[..4], seen[4..]);
    assert_eq!(seen[0], Channel::default().number());
    let mut all = seen[..4].to_vec();
    all.sort_unstable();
    assert_eq!(all, [11, 12, 13, 26]);
}

#[test]
fn an_always_on_device_hops_too_and_stays_while_a_burst_goes_on() {
    let first = Channel::new(12).unwrap();
    let config = MacConfig { channel: first, ..config() }.unsecured();
    let mut mac: Sleeper = Mac::new(config, able(), 1);
    mac.set_wake(Some(Wake { sleeps: false, channels: CHANNELS, ..Wake::DEFAULT })).unwrap();
    let listens = |command| match command {
        Some(Command::Receive { channel, .. }) => Some(channel.number()),
        Some(command) => panic!("{command:?}"),
        None => None,
    };
    let mut seen = Vec::from_iter(listens(poll(&mut mac, T0)));
    assert_eq!(poll(&mut mac, T0), None);
    for _ in 0..4 {
        let now = wait(&mut mac);
        seen.extend(listens(poll(&mut mac, now)));
    }
    seen.dedup();
    assert_eq!((seen[0], seen.len()), (first.number(), 4), "{seen:?}");
    // A frame announces another one, just before the device would hop.
    let sfd = mac.deadline().unwrap() - Duration::from_millis(6);
    assert!(matches!(receive(&mut mac, sfd, &frame(OWN, 1, true)), Ok(Some(_))));
    let (mut now, mut moved) = (sfd, None);
    while moved.is_none() {
        now = wait(&mut mac);
        moved = listens(poll(&mut mac, now));
    }
    assert!(now > sfd + Wake::DEFAULT.burst_wait(), "it stays for as long as that may take");
}

#[test]
fn devices_that_are_switched_on_together_wake_at_different_times() {
    // In the lab, the short address is the end of the extended one.
    let first = |short: u16| {
        let [high, low] = short.to_be_bytes();
        let extended = [2, 0, 0, 0xff, 0xfe, 0, high, low];
        let config = MacConfig { short, extended, ..config() }.unsecured();
        let mut mac: Sleeper = Mac::new(config, able(), 1);
        mac.set_wake(Some(Wake::DEFAULT)).unwrap();
        while poll(&mut mac, T0).is_some() {}
        mac.deadline().unwrap()
    };
    let mut times: Vec<_> = (1..=11).map(first).collect();
    times.sort();
    let apart = times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    assert!(apart > Duration::from_millis(3), "{apart:?}");
    assert!(*times.last().unwrap() <= T0 + Wake::DEFAULT.period);
}

#[test]
fn a_frame_without_more_lets_it_sleep_again() {
    let mut mac = sleeper(Wake::DEFAULT);
    let sfd = roused(&mut mac) + air_time(FULL + 2) * 2;
    let ended = end_of_ack(sfd, FULL);
    assert!(receive_at(&mut mac, ended, sfd, &frame(OWN, 1, false)).unwrap().is_some());
    // Its acknowledgement may be lost.
    assert_eq!(poll(&mut mac, ended), None);
    let again = sfd + air_time(FULL + 2) + STROBE_GAP;
    let ended = end_of_ack(again, FULL);
    let repeated = receive_at(&mut mac, ended, again, &frame(OWN, 1, false));
    assert_eq!(repeated, Err(Discard::Duplicate));
    let now = wait(&mut mac);
    assert_eq!((now - ended, poll(&mut mac, now)), (LINGER, Some(Command::Off)));
    assert_eq!(mac.wake_stats().unwrap().in_vain, 0);
    // A device that handles the frame too late need not wait.
    let sfd = roused(&mut mac) + air_time(FULL + 2) * 2;
    let late = end_of_ack(sfd, FULL) + LINGER;
    assert!(receive_at(&mut mac, late, sfd, &frame(OWN, 2, false)).unwrap().is_some());
    assert_eq!(poll(&mut mac, late), Some(Command::Off));
}

#[test]
fn so_does_one_for_all_though_it_is_heard_twice() {
    let mut mac = sleeper(Wake::DEFAULT);
    for expected in [Ok(()), Err(Discard::Duplicate)] {
        let now = roused(&mut mac) + air_time(FULL + 2);
        let heard = receive(&mut mac, now, &frame(Address::BROADCAST, 1, false));
        assert_eq!(heard.map(|indication| assert!(indication.is_some())), expected);
        assert_eq!(poll(&mut mac, now), Some(Command::Off));
    }
}

#[test]
fn silence_ends_waiting_and_the_gap_between_two_repetitions_does_not() {
    let mut mac = sleeper(Wake::DEFAULT);
    let start = roused(&mut mac);
    // A gap begins after 2 ms; another one, a frame later, never ends.
    let gap = start + Duration::from_millis(2)..start + Duration::from_millis(2) + STROBE_GAP;
    let silent_from = gap.end + Duration::from_millis(4);
    let mut looks = 0;
    let ended = loop {
        let now = wait(&mut mac);
        let command = poll(&mut mac, now);
        if command == Some(Command::Off) {
            break now;
        }
        assert_eq!(command, sense(1));
        let whole = now - CCA;
        let silent = (gap.contains(&whole) && gap.contains(&now)) || whole >= silent_from;
        looks += u32::from(silent);
        sensed(&mut mac, now, !silent);
        if poll(&mut mac, now) == Some(Command::Off) {
            break now;
        }
    };
    assert!((5..=6).contains(&looks), "one or two in the gap, four at the end");
    assert!((silent_from + STROBE_GAP..silent_from + STROBE_GAP * 2).contains(&ended));
    assert_eq!(mac.wake_stats().unwrap().in_vain, 1);
}

/// Samples the channel from the time at which the device has been roused until it sleeps or `end`;
/// `busy` judges a sample that ends at this time. Returns the number of samples and whether it
/// sleeps.
fn look(mac: &mut Sleeper, end: Instant, mut busy: impl FnMut(Instant) -> bool) -> (u32, bool) {
    for looks in 1.. {
        let now = wait(mac);
        if now >= end {
            return (looks, false);
        }
        assert_eq!(poll(mac, now), sense(1));
        sensed(mac, now, busy(now));
        if poll(mac, now) == Some(Command::Off) {
            return (looks, true);
        }
    }
    unreachable!("time advances");
}

#[test]
fn a_single_busy_sample_is_noise_and_two_in_a_row_are_a_frame() {
    for (pattern, expected) in [
        ("    ", Some(4)),
        (" #  ", Some(4)),
        ("  # ", Some(4)),
        ("   # ", Some(5)),
        (" # # ", Some(5)),
        ("   ##    ", Some(9)),
        (" ##  #  ", Some(7)),
        (" ##  ## ##", None),
        ("#    ", Some(5)),
    ] {
        let mut mac = sleeper(Wake::DEFAULT);
        let start = roused(&mut mac);
        let end = start + Duration::from_millis(5);
        let mut samples = pattern.bytes();
        // The channel is busy after the pattern.
        let (looks, sleeps) = look(&mut mac, end, |_| samples.next() != Some(b' '));
        assert_eq!(sleeps.then_some(looks), expected, "{pattern:?}");
    }
}

#[test]
fn noise_in_every_gap_of_a_weak_strobe_does_not_let_it_sleep() {
    // A frame just above the threshold is noticed by a sample that lies within it. Noise is noticed
    // by every sample.
    let period = (STROBE_LEAST + STROBE_GAP).as_micros();
    for offset in (0..period).step_by(16) {
        for noise in (0..period).step_by(112) {
            let mut mac = sleeper(Wake::DEFAULT);
            let end = roused(&mut mac) + Duration::from_millis(15);
            let noisy = |now: Instant| {
                let ends = now.as_micros() % period;
                (noise..=noise + CCA.as_micros()).contains(&ends)
            };
            let weak = |now: Instant| {
                let ends = (now.as_micros() + offset) % period;
                (CCA.as_micros()..=STROBE_LEAST.as_micros()).contains(&ends)
            };
            let (_, sleeps) = look(&mut mac, end, |now| weak(now) || noisy(now));
            assert!(!sleeps, "offset {offset}, noise {noise}");
        }
    }
}

#[test]
fn noise_that_is_longer_than_a_frame_lets_it_sleep() {
    let mut mac = sleeper(Wake::DEFAULT);
    let start = roused(&mut mac);
    let ended = loop {
        let now = wait(&mut mac);
        assert_eq!(poll(&mut mac, now), sense(1));
        sensed(&mut mac, now, true);
        if poll(&mut mac, now) == Some(Command::Off) {
            break now;
        }
    };
    // An oven is on for 10 ms, a frame may end when it begins, and another one begin when it ends.
    let took = ended - start;
    let least = Duration::from_millis(10) + air_time(FULL + 2) * 2;
    assert!(took > least && took < least + STROBE_GAP * 2, "{took:?}");
    assert_eq!(mac.wake_stats().unwrap().by_noise, 1);
}

#[test]
fn a_channel_without_silence_is_given_up_after_the_frames_that_may_follow() {
    let mut mac = sleeper(Wake::DEFAULT);
    let start = roused(&mut mac);
    let mut busy = [true, true, false].into_iter().cycle();
    let ended = loop {
        let now = wait(&mut mac);
        match poll(&mut mac, now) {
            Some(Command::Off) => break now,
            command => assert_eq!(command, sense(1)),
        }
        sensed(&mut mac, now, busy.next().unwrap());
    };
    assert_eq!(ended - start, (air_time(FULL + 2) + STROBE_GAP) * 4 + air_time(FULL + 2));
    assert_eq!(mac.wake_stats().unwrap().too_long, 1);
}

/// Receives a burst whose frames begin `gap` after the previous exchange. Returns the commands to
/// the radio between them, counted from the end of the exchange.
fn burst(mac: &mut Sleeper, gap: Duration, frames: u8) -> Vec<Duration> {
    let mut sfd = roused(mac) + air_time(FULL + 2);
    let mut waits = Vec::new();
    for n in 0..frames {
        assert!(receive(mac, sfd, &frame(OWN, n, n + 1 < frames)).unwrap().is_some());
        let ended = end_of_ack(sfd, FULL);
        match poll(mac, ended) {
            Some(Command::Await { start: Start::At(from), .. }) => waits.push(from - ended),
            command => assert_eq!((command, n + 1), (None, frames)),
        }
        sfd = ended + gap + Duration::from_micros(160);
    }
    let now = wait(mac);
    assert_eq!(poll(mac, now), Some(Command::Off));
    waits
}

#[test]
fn in_a_burst_it_sleeps_until_the_next_frame_is_due() {
    let mut mac = sleeper(Wake::DEFAULT);
    let gap = Duration::from_millis(3);
    let early = gap - Duration::from_micros(160);
    assert_eq!(burst(&mut mac, gap, 4), [Duration::ZERO, early, early]);
    // The next burst is from another sender.
    assert_eq!(burst(&mut mac, gap * 2, 2), [Duration::ZERO]);
    let mut restless = sleeper(Wake { sleeps_in_gaps: false, ..Wake::DEFAULT });
    assert_eq!(burst(&mut restless, gap, 4), [Duration::ZERO; 3]);
}

#[test]
fn a_burst_whose_next_frame_does_not_come_is_over() {
    let mut mac = sleeper(Wake::DEFAULT);
    let sfd = roused(&mut mac) + air_time(FULL + 2);
    assert!(receive(&mut mac, sfd, &frame(OWN, 1, true)).unwrap().is_some());
    let ended = end_of_ack(sfd, FULL);
    while poll(&mut mac, ended).is_some() {}
    let gave_up = wait(&mut mac);
    assert_eq!(gave_up - ended, Wake::DEFAULT.burst_wait());
    assert!(gave_up - ended > repetition(FULL) * 12, "as long as its sender tries");
    assert_eq!(poll(&mut mac, gave_up), Some(Command::Off));
    assert_eq!(mac.wake_stats().unwrap().bursts_broken, 1);
    // It wakes periodically again.
    let now = wait(&mut mac);
    assert_eq!(poll(&mut mac, now), sense(2));
}

/// The sender needs the whole strobe for the first frame, and sends for as long as a burst may last
/// from then on. At the end it repeats a frame that announces one more for as long as it tries, and
/// then that one.
#[test]
fn a_burst_of_a_sender_with_the_same_settings_is_received_to_its_end() {
    let wake = Wake { sleeps_in_gaps: false, ..Wake::DEFAULT };
    let mut mac = sleeper(wake);
    let first = roused(&mut mac) + air_time(FULL + 2);
    let strobe = wake.period + CHECK + repetition(FULL) * wake.repeats.into();
    let last = end_of_ack(first, FULL) + strobe + wake.burst + wake.burst_wait() * 2;
    let (mut sfd, mut n) = (first, 0);
    loop {
        assert!(receive(&mut mac, sfd, &frame(OWN, n, true)).unwrap().is_some(), "{n}");
        let ended = end_of_ack(sfd, FULL);
        while let Some(command) = poll(&mut mac, ended) {
            assert!(
                matches!(command, Command::Await { .. }),
                "{command:?} after {:?}",
                ended - first
            );
        }
        // The next frame begins at the end of the time for which it is awaited, and at last it
        // ends there.
        let until = mac.deadline().expect("the end of the wait");
        assert_eq!(until, last.min(ended + wake.burst_wait()));
        if until == last {
            break;
        }
        (sfd, n) = (until - (end_of_ack(T0, FULL) - T0), n + 1);
    }
    assert_eq!(mac.wake_stats().unwrap().endless, 0);
}

#[test]
fn a_wake_up_that_is_late_is_left_out() {
    let mut mac = sleeper(Wake::DEFAULT);
    let due = mac.deadline().unwrap();
    let late = due + Duration::from_millis(300);
    mac.handle_deadline(late);
    assert_eq!(poll(&mut mac, late), None);
    let next = mac.deadline().unwrap();
    assert_eq!(next - due, Wake::DEFAULT.period * 3, "none is made up for");
}

#[test]
fn a_radio_that_does_not_answer_is_reset_and_the_rhythm_goes_on() {
    let mut mac = sleeper(Wake::DEFAULT);
    let now = wait(&mut mac);
    assert_eq!(poll(&mut mac, now), sense(2));
    let silent = wait(&mut mac);
    assert!(silent > now + ACK_NOTICED);
    assert_eq!(poll(&mut mac, silent), Some(Command::Reset));
    while poll(&mut mac, silent).is_some() {}
    let next = wait(&mut mac);
    assert_eq!((poll(&mut mac, next), (next - now).as_micros() % 125_000), (sense(2), 0));
}

#[test]
fn a_radio_that_cannot_strobe_or_sense_is_refused() {
    for lacks in [Capabilities::SENSES, Capabilities::STROBES, Capabilities::SCHEDULED] {
        let has = [Capabilities::SENSES, Capabilities::STROBES, Capabilities::SCHEDULED];
        let rest = has.into_iter().filter(|one| *one != lacks);
        let able = rest.fold(Capabilities::AUTO_ACK, |all, one| all | one);
        let mut mac: Sleeper = Mac::new(config().unsecured(), able, 1);
        assert_eq!(mac.set_wake(Some(Wake::DEFAULT)), Err(CannotWake));
        let first = poll(&mut mac, T0);
        assert!(matches!(first, Some(Command::Receive { .. })), "it is always on");
    }
}

/// The neighbour that sends `frame`.
const THEIRS: u16 = 2;

fn put(mac: &mut Sleeper, now: Instant, frames: usize) {
    for _ in 0..frames {
        let request = TxRequest { dst: Address::Short(THEIRS), ..request(1) };
        mac.enqueue(now, request, |room| {
            room[..90].fill(9);
            90
        })
        .unwrap();
    }
}

#[test]
fn a_device_with_room_for_some_neighbours_awaits_those() {
    for (admission, source_filter) in [
        (Admission::All, SourceFilter::Any),
        (Admission::AllBut(9), SourceFilter::AllBut(9)),
        (Admission::Only(9), SourceFilter::Only(9)),
    ] {
        let mut mac = sleeper(Wake::DEFAULT);
        mac.admit(T0, admission);
        let now = wait(&mut mac);
        assert_eq!(poll(&mut mac, now), sense(2));
        sensed(&mut mac, now, true);
        let awaits = poll(&mut mac, now);
        assert!(
            matches!(awaits, Some(Command::Await { source_filter: w, .. }) if w == source_filter),
            "{awaits:?}"
        );
    }
}

#[test]
fn a_device_without_room_does_not_listen() {
    let mut mac = sleeper(Wake::DEFAULT);
    let now = wait(&mut mac);
    assert_eq!(poll(&mut mac, now), sense(2));
    sensed(&mut mac, now, true);
    assert!(matches!(poll(&mut mac, now), Some(Command::Await { .. })));
    // Now there is no buffer space at all.
    mac.admit(now, Admission::None);
    assert_eq!(poll(&mut mac, now), Some(Command::Off));
    let due = wait(&mut mac);
    assert_eq!(poll(&mut mac, due), None, "nobody is listened for");
    mac.admit(due, Admission::All);
    let next = wait(&mut mac);
    assert_eq!(poll(&mut mac, next), sense(2));
    assert_eq!(mac.wake_stats().unwrap().refused, 1);
}

#[test]
fn a_device_that_awaits_a_frame_strobes_none() {
    let mut mac = sleeper(Wake::DEFAULT);
    let now = roused(&mut mac);
    put(&mut mac, now, 1);
    assert_eq!(poll(&mut mac, now), None);
    // A strobe that was due before it awaits one waits as well.
    let mut mac = sleeper(Wake::DEFAULT);
    let now = wait(&mut mac);
    assert_eq!(poll(&mut mac, now), sense(2));
    put(&mut mac, now, 1);
    sensed(&mut mac, now, true);
    assert!(matches!(poll(&mut mac, now), Some(Command::Await { .. })));
    assert_eq!(poll(&mut mac, now), None);
    let (at, ..) = strobe(&mut mac);
    assert!(at > now, "once no frame is awaited");
}

/// Receives a burst of `frames` frames from a neighbour for which frames wait; returns the end of
/// its last exchange.
fn heard(mac: &mut Sleeper, frames: u8) -> Instant {
    let mut sfd = roused(mac) + air_time(FULL + 2);
    for n in 0..frames {
        assert!(receive(mac, sfd, &frame(OWN, n, n + 1 < frames)).unwrap().is_some());
        let ended = end_of_ack(sfd, FULL);
        while poll(mac, ended).is_some() {}
        sfd = ended + Duration::from_millis(3);
    }
    sfd - Duration::from_millis(3)
}

/// Waits until a frame is strobed, while the channel is silent at wake-ups.
fn strobe(mac: &mut Sleeper) -> (Instant, Start, u8) {
    for _ in 0..100 {
        let now = wait(mac);
        while let Some(command) = poll(mac, now) {
            match command {
                Command::Strobe { start, senses, .. } => return (now, start, senses),
                Command::Sense { .. } => sensed(mac, now, false),
                _ => {}
            }
        }
    }
    panic!("nothing is sent");
}

#[test]
fn a_burst_is_answered_at_once_if_something_waits_and_a_single_frame_is_not() {
    for (frames, answered) in [(1, false), (2, true), (5, true)] {
        let mut mac = sleeper(Wake::DEFAULT);
        // The channel on which that neighbour listens is known.
        put(&mut mac, T0, 1);
        assert!(matches!(poll(&mut mac, T0), Some(Command::Strobe { .. })));
        let ack = Ack::Received { frame_pending: false };
        let sfd = T0 + Duration::from_millis(30);
        let now = sfd + Duration::from_millis(5);
        assert_eq!(mac.handle_radio(now, Event::Strobed { sfd, ack, times: 4 }, &mut []), Ok(None));
        mac.poll_outcome(now).unwrap();
        let ended = heard(&mut mac, frames);
        put(&mut mac, ended, 1);
        let next = strobe(&mut mac);
        let (at, start, senses) = next;
        assert_eq!(start == Start::Asap, answered, "{frames}: {next:?}");
        assert!(!answered || (senses == 1 && at <= ended + LINGER), "{next:?}");
        assert_eq!(mac.strobe_stats().unwrap().answers, u32::from(answered));
    }
}

/// Sends a burst of two frames, both acknowledged; returns its end.
fn burst_sent(mac: &mut Sleeper) -> Instant {
    let ack = Ack::Received { frame_pending: false };
    let mut now = T0;
    put(mac, now, 2);
    for _ in 0..2 {
        assert!(matches!(poll(mac, now), Some(Command::Strobe { .. })));
        let sfd = now + Duration::from_millis(1);
        now += Duration::from_millis(5);
        assert_eq!(mac.handle_radio(now, Event::Strobed { sfd, ack, times: 1 }, &mut []), Ok(None));
        mac.poll_outcome(now).unwrap();
    }
    now
}

#[test]
fn a_device_that_has_sent_a_burst_listens_for_its_recipient_only_once() {
    let mut mac = sleeper(Wake::DEFAULT);
    let now = burst_sent(&mut mac);
    let awaits = poll(&mut mac, now);
    let Some(Command::Await { until, source_filter: SourceFilter::Only(THEIRS), .. }) = awaits
    else {
        panic!("{awaits:?}")
    };
    assert_eq!(until, now + ANSWER);
    // It answers with a burst, which is not answered.
    put(&mut mac, now, 1);
    let mut sfd = now + Duration::from_millis(4);
    for n in 0..2 {
        assert!(receive(&mut mac, sfd, &frame(OWN, n, n == 0)).unwrap().is_some());
        while poll(&mut mac, sfd).is_some() {}
        sfd = end_of_ack(sfd, FULL) + Duration::from_millis(3);
    }
    let (_, _, senses) = strobe(&mut mac);
    assert!(senses > 1, "at a wake-up of its neighbour");
    assert_eq!(mac.strobe_stats().unwrap().answers, 0);
}

#[test]
fn a_device_without_an_answer_sleeps_again() {
    let mut mac = sleeper(Wake::DEFAULT);
    let now = burst_sent(&mut mac);
    assert!(matches!(poll(&mut mac, now), Some(Command::Await { .. })));
    let later = wait(&mut mac);
    assert_eq!((later - now, poll(&mut mac, later)), (ANSWER, Some(Command::Off)));
    assert_eq!(mac.wake_stats().unwrap().bursts_broken, 0);
}

fn receive(mac: &mut Sleeper, sfd: Instant, frame: &[u8]) -> Result<Option<Indication>, Discard> {
    receive_at(mac, sfd, sfd, frame)
}

pub(super) fn receive_at<P: Sizes>(
    mac: &mut Mac<P>,
    now: Instant,
    sfd: Instant,
    frame: &[u8],
) -> Result<Option<Indication>, Discard> {
    let len = u8::try_from(frame.len()).unwrap();
    let event = Event::Received { sfd, len, rssi_dbm: -60, lqi: 200, acked: false };
    mac.handle_radio(now, event, &mut frame.to_vec())
}
