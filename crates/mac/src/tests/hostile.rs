//! Attacks by other devices on a device that wakes several times a second: it sleeps again in
//! bounded time, and sends its own frames in between.

use super::waking::{FULL, OWN, able, frame, poll, receive_at, roused, sense, sensed, wait};
use super::*;
use crate::air::end_of_ack;
use crate::wake::{CHECK, repetition};
use kinglet_radio::{CCA, LINGER, air_time};
use rand_core::Rng;
use rand_pcg::Pcg32;

pub(super) struct Plan;
impl Sizes for Plan {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 3];
    type Listening = Waking<AlwaysOn>;
    type DeliveryMethod = Strobing<(), [Strobed; 3]>;
    type Security = CcmStar<Tabled, [PeerCounter; 2]>;
    type Backoff = Exponential;
}

pub(super) type Device = Mac<Plan>;

pub(super) const KEY: Security =
    Security { key: Key([7; 16]), eui64_prefix: [2, 0, 0, 0, 0, 0], first_counter: 0 };
const WAKE: Wake = Wake::DEFAULT;
/// Number of times that an attacker starts again.
const SIEGES: u32 = 20;

pub(super) fn device(short: u16, security: Option<Security>) -> Device {
    let [high, low] = short.to_be_bytes();
    let extended = [2, 0, 0, 0, 0, 1, high, low];
    let config = MacConfig { short, extended, security, ..config() };
    let mut mac = Mac::new(config, able(), short.into());
    mac.set_wake(Some(WAKE)).unwrap();
    while poll(&mut mac, T0).is_some() {}
    mac
}

/// Returns the time for which the device was awake at `wake_ups` wake-ups, if no frame on the air
/// is for it.
fn awake_for(mac: &mut Device, wake_ups: u32, mut busy: impl FnMut() -> bool) -> Duration {
    let mut on = Duration::ZERO;
    for _ in 0..wake_ups {
        let began = wait(mac);
        assert_eq!(poll(mac, began), sense(2));
        let mut now = began + CCA;
        let heard = busy();
        sensed(mac, now, heard);
        if heard {
            loop {
                match poll(mac, now) {
                    Some(Command::Off) => break,
                    Some(Command::Sense { times: 1, .. }) => {
                        now += CCA;
                        sensed(mac, now, busy());
                    }
                    Some(Command::Await { .. }) => {}
                    Some(other) => panic!("{other:?}"),
                    None => now = wait(mac),
                }
            }
        }
        assert!(!mac.listening.awaits_frame(), "it may send");
        on += now - began;
    }
    on
}

#[test]
fn a_radio_is_off_for_four_fifths_of_the_time_whatever_noise_there_is() {
    const WAKE_UPS: u32 = 500;
    let bound = (repetition(FULL) * 4 + air_time(FULL + 2) + CCA * 2) * WAKE_UPS;
    assert!(bound < WAKE.period * WAKE_UPS / 5);
    let mut longest = Duration::ZERO;
    // Busy in `often` of 256 samples, at random.
    for often in [256, 255, 250, 230, 192, 128, 64, 16] {
        let mut random = Pcg32::new(often, 1);
        let mut mac = device(1, None);
        let on = awake_for(&mut mac, WAKE_UPS, || u64::from(random.next_u32() & 0xff) < often);
        assert!(on <= bound, "{often}: {on:?}");
        longest = longest.max(on);
    }
    // Noise that knows the sampling times: silent just often enough.
    for silent_every in 2..12 {
        let mut looks = 0;
        let mut mac = device(1, None);
        let on = awake_for(&mut mac, WAKE_UPS, || {
            looks += 1;
            looks % silent_every != 0
        });
        assert!(on <= bound, "{silent_every}: {on:?}");
        longest = longest.max(on);
    }
    assert!(longest > bound / 2, "the bound is that of the worst: {longest:?}");
}

/// Simulates an attacker that sends frames without end: `next` returns each, and `gap` is the time
/// after the last exchange. Returns the longest time for which the device was awake, and the number
/// of its own frames that it has sent.
fn besieged(mac: &mut Device, gap: Duration, mut next: impl FnMut() -> Vec<u8>) -> (Duration, u32) {
    let (mut longest, mut sent, mut now) = (Duration::ZERO, 0, T0);
    for _ in 0..SIEGES {
        let request = TxRequest { dst: Address::Short(9), ..request(1) };
        let _ = mac.enqueue(now, request, |room| room.len().min(50));
        sent += u32::from(own_goes_out(mac, now));
        let began = roused(mac);
        let mut sfd = began + air_time(FULL + 2);
        let mut frames = 0;
        loop {
            let octets = next();
            now = end_of_ack(sfd, octets.len());
            let _ = receive_at(mac, now, sfd, &octets);
            sfd = now + gap;
            let due = mac.deadline().expect("the next wake-up at the latest");
            let mut is_off = goes_off(mac, now);
            if !is_off && due < sfd {
                now = due;
                mac.handle_deadline(due);
                is_off = goes_off(mac, now);
            }
            if is_off {
                break;
            }
            frames += 1;
            assert!(frames < 2_000, "it never sleeps");
        }
        longest = longest.max(now - began);
    }
    (longest, sent)
}

fn goes_off(mac: &mut Device, now: Instant) -> bool {
    core::iter::from_fn(|| poll(mac, now)).any(|command| command == Command::Off)
}

/// Returns whether the waiting frame is sent at one of the next wake-ups, which find the channel
/// silent.
fn own_goes_out(mac: &mut Device, mut now: Instant) -> bool {
    for _ in 0..50 {
        match poll(mac, now) {
            Some(Command::Strobe { .. }) => {
                let (sfd, ack) = (now, Ack::Received { frame_pending: false });
                let event = Event::Strobed { sfd, ack, times: 1 };
                assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
                while mac.poll_outcome(now).is_some() {}
                while poll(mac, now).is_some() {}
                return true;
            }
            Some(Command::Sense { .. }) => sensed(mac, now, false),
            Some(_) => {}
            None => now = wait(mac),
        }
    }
    false
}

/// Returns the longest time for which a burst of a device with the same settings keeps this one
/// awake.
fn longest_burst() -> Duration {
    let roused = repetition(FULL) * 4 + air_time(FULL + 2);
    let strobe = WAKE.period + CHECK + repetition(FULL) * 4;
    roused + strobe + WAKE.burst + WAKE.burst_wait() * 2 + air_time(FULL + 2) * 2
}

#[test]
fn an_endless_burst_is_left_and_own_frames_are_sent() {
    for gap in [0, 3, 20, 40].map(Duration::from_millis) {
        let (mut mac, mut n) = (device(1, None), 0);
        let (longest, sent) = besieged(&mut mac, gap, || {
            n += 1;
            frame(OWN, n as u8, true)
        });
        assert!(longest > WAKE.burst && longest < longest_burst(), "{gap:?}: {longest:?}");
        assert!(n > 100 && sent == SIEGES, "{sent} after {n}");
        assert!(
            mac.wake_stats().unwrap().endless + mac.wake_stats().unwrap().bursts_broken == SIEGES
        );
    }
}

#[test]
fn a_frame_that_is_repeated_for_ever_is_left_too() {
    let mut mac = device(1, None);
    let (longest, sent) = besieged(&mut mac, LINGER / 2, || frame(OWN, 7, false));
    assert!(longest > WAKE.burst && longest < longest_burst(), "{longest:?}");
    assert_eq!(sent, SIEGES);
}

/// Returns frames to device 1 from a device that has the key.
fn sealed(mac: &mut Device, count: u8) -> Vec<Vec<u8>> {
    let ack = Ack::Received { frame_pending: false };
    let mut frames = Vec::new();
    for _ in 0..count {
        for _ in 0..2 {
            let request = TxRequest { dst: OWN, ..request(1) };
            let _ = mac.enqueue(T0, request, |room| room.len().min(60));
        }
        let now = T0 + Duration::from_millis(5 * frames.len() as u64);
        loop {
            match mac.poll_radio(now) {
                Some(Submission { command: Command::Strobe { .. }, frame }) => {
                    frames.push(frame.to_vec());
                    break;
                }
                Some(_) => {}
                None => mac.handle_deadline(mac.deadline().expect("its turn")),
            }
        }
        let event = Event::Strobed { sfd: now, ack, times: 1 };
        assert_eq!(mac.handle_radio(now, event, &mut []), Ok(None));
        while mac.poll_outcome(now).is_some() {}
    }
    frames
}

#[test]
fn with_a_key_the_frame_of_a_stranger_lets_it_sleep_at_once() {
    let mut mac = device(1, Some(KEY));
    let forged = sealed(&mut device(2, Some(Security { key: Key([8; 16]), ..KEY })), 2);
    assert!(Frame::parse(&forged[0]).unwrap().frame_pending(), "it says that more follows");
    let (longest, sent) = besieged(&mut mac, Duration::from_millis(3), || forged[0].clone());
    assert!(longest < repetition(FULL) * 2, "{longest:?}");
    assert_eq!((sent, mac.stats().discarded(Discard::BadMic)), (SIEGES, SIEGES));
}

#[test]
fn with_a_key_a_replayed_frame_keeps_no_node_awake_for_longer_than_a_burst() {
    let mut mac = device(1, Some(KEY));
    let recorded = sealed(&mut device(2, Some(KEY)), 3);
    // The last one that was received cannot be distinguished from one whose acknowledgement was
    // lost.
    let (longest, sent) = besieged(&mut mac, Duration::from_millis(3), || recorded[1].clone());
    assert!(longest > WAKE.burst && longest < longest_burst(), "{longest:?}");
    assert_eq!((mac.stats().received, sent), (1, SIEGES), "and it is taken once");
    // An older one is a replay.
    let (longest, _) = besieged(&mut mac, Duration::from_millis(3), || recorded[0].clone());
    assert!(longest < repetition(FULL) * 2, "{longest:?}");
}
