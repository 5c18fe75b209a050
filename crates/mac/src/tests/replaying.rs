//! Secured frames that are sent again, by their sender or by another device without the key.

use super::*;
use crate::config::MAX_RETRIES;
use crate::queue::Class;

const CHILD: Address = Address::Short(1);

fn secured(short: u16) -> TestMac {
    let [.., high, low] = u32::from(short).to_be_bytes();
    let extended = [2, 0, 0, 0, 0, 1, high, low];
    let key = Key([7; 16]);
    let security = Some(Security { key, eui64_prefix: [2, 0, 0, 0, 0, 0], first_counter: 0 });
    mac(MacConfig { short, extended, security, ..config() }, all(), u64::from(short))
}

/// Returns a data request of [`CHILD`], and its parent, which has received it at [`T0`].
fn asked_once() -> (TestMac, Vec<u8>) {
    let (mut child, mut parent, mut now) = (secured(1), secured(2), T0);
    child.request_data(now, PEER).unwrap();
    let (_, request) = submitted(&mut child, &mut now);
    assert_eq!(receive(&mut parent, T0, &request), asked(false));
    (parent, request)
}

fn asked(repeated: bool) -> Result<Option<Indication>, Discard> {
    Ok(Some(Indication::DataRequest { src: CHILD, rssi_dbm: -60, lqi: 200, repeated }))
}

fn receive_at(
    mac: &mut TestMac,
    sfd: Instant,
    frame: &[u8],
    rssi_dbm: i8,
) -> Result<Option<Indication>, Discard> {
    let len = frame.len() as u8;
    let event = Event::Received { sfd, len, rssi_dbm, lqi: 200, acked: true };
    mac.handle_radio(sfd, event, &mut frame.to_vec())
}

#[test]
fn no_refused_repetition_lets_the_next_one_in() {
    let (mut parent, request) = asked_once();
    let lifetime = parent.config().duplicate_lifetime;
    for copy in 0..12 {
        let late = T0 + lifetime + Duration::from_millis(1 + 500 * copy);
        assert_eq!(receive(&mut parent, late, &request), Err(Discard::Replay), "{copy}");
    }
    assert_eq!(parent.stats().data_requests, 1);
}

#[test]
fn a_frame_is_repeated_as_often_as_a_sender_can_and_no_longer_than_it_can() {
    let (mut parent, request) = asked_once();
    for copy in 0..MAX_RETRIES {
        assert_eq!(receive(&mut parent, T0, &request), asked(true), "{copy}");
    }
    assert_eq!(receive(&mut parent, T0, &request), Err(Discard::Replay));
    let (mut parent, request) = asked_once();
    let lifetime = parent.config().duplicate_lifetime;
    // The time counts from the first one, whatever was received since.
    for since in [lifetime / 2, lifetime] {
        assert_eq!(receive(&mut parent, T0 + since, &request), asked(true));
    }
    let late = T0 + lifetime + Duration::from_micros(1);
    assert_eq!(receive(&mut parent, late, &request), Err(Discard::Replay));
}

#[test]
fn a_new_counter_is_a_new_frame_whatever_its_sequence_number_is() {
    let (mut child, mut parent, mut now) = (secured(1), secured(2), T0);
    let frames = [(); 257].map(|()| {
        put(&mut child, now, request(1)).unwrap();
        let (_, frame) = submitted(&mut child, &mut now);
        transmitted(&mut child, now, Ack::Received { frame_pending: false });
        assert!(child.poll_outcome(now).is_some());
        frame
    });
    let [first, .., last] = &frames;
    assert_eq!(sequence_of(first), sequence_of(last));
    for frame in [first, last] {
        let result = receive(&mut parent, T0, frame);
        assert!(matches!(result, Ok(Some(Indication::Data { .. }))), "{result:?}");
        assert_eq!(receive(&mut parent, T0, frame), Err(Discard::Duplicate));
    }
}

#[test]
fn a_copy_says_nothing_of_the_link_and_takes_no_place() {
    let (mut child, mut parent, mut now) = (secured(1), secured(2), T0);
    put(&mut child, now, request(1)).unwrap();
    let (_, frame) = submitted(&mut child, &mut now);
    assert!(receive_at(&mut parent, T0, &frame, -90).is_ok());
    let before = *parent.link(CHILD).unwrap();
    for since in [Duration::ZERO, Duration::from_secs(60)] {
        assert!(receive_at(&mut parent, T0 + since, &frame, -20).is_err());
    }
    let link = *parent.link(CHILD).unwrap();
    assert_eq!((link.rssi_dbm(), link.received), (before.rssi_dbm(), before.received));
    // Three other devices take the entries of the table; the copy does not restore one.
    for short in 3..=5 {
        let (mut other, mut at) = (secured(short), T0 + Duration::from_secs(61));
        put(&mut other, at, request(1)).unwrap();
        let (_, frame) = submitted(&mut other, &mut at);
        let _ = receive(&mut parent, at, &frame);
    }
    assert!(parent.link(CHILD).is_none());
    let late = T0 + Duration::from_secs(62);
    assert_eq!(receive(&mut parent, late, &frame), Err(Discard::Replay));
    assert!(parent.link(CHILD).is_none());
    assert!(parent.link(Address::Short(3)).is_some());
}

/// Returns the time of the parent's next frame to its child, at the announced sample.
fn next_sample(parent: &mut TestMac, now: Instant) -> Instant {
    parent.set_pending(now, 1, true).unwrap();
    let ask_at = parent.deadline().unwrap();
    parent.handle_deadline(ask_at);
    assert_eq!(parent.poll_listener(ask_at), Some(1));
    put(parent, ask_at, TxRequest { dst: CHILD, class: Class::Indirect, ..request(1) }).unwrap();
    let command = core::iter::from_fn(|| parent.poll_radio(ask_at).map(|s| s.command)).last();
    let Some(Command::Transmit { start: Start::At(sfd), .. }) = command else {
        panic!("at a sample: {command:?}")
    };
    sfd
}

/// Returns a leaf that is about to announce its sampling schedule, the time of that frame, and the
/// frame.
fn sampling_leaf() -> (TestMac, Instant, Vec<u8>) {
    let period = Duration::from_secs(1);
    let csl = Some(Csl { period, drift_ppm: 40, sync_interval: Duration::from_secs(10) });
    let security = secured(1).key;
    let config = MacConfig { csl, rx_on_when_idle: false, security, ..config() };
    let mut leaf = TestMac::new(config, all(), 1);
    assert_eq!(leaf.poll_radio(T0).map(|s| s.command), Some(Command::Off));
    assert!(leaf.set_parent(T0, Some(PEER)));
    let mut now = T0;
    let (command, frame) = submitted(&mut leaf, &mut now);
    let Command::Transmit { start: Start::At(sfd), .. } = command else {
        panic!("at a certain time: {command:?}")
    };
    (leaf, sfd, frame)
}

#[test]
fn a_copy_does_not_move_the_instant_at_which_a_neighbour_listens() {
    let samples = [None, Some(300), Some(90_000)].map(|copied_after_ms| {
        let (mut parent, (_, sfd, frame)) = (secured(2), sampling_leaf());
        assert_eq!(receive_at(&mut parent, sfd, &frame, -60), Ok(None));
        if let Some(after) = copied_after_ms {
            let _ = receive_at(&mut parent, sfd + Duration::from_millis(after), &frame, -60);
        }
        next_sample(&mut parent, sfd + Duration::from_millis(90_000))
    });
    let [alone, soon, late] = samples;
    assert_eq!((soon, late), (alone, alone));
}

#[test]
fn a_copy_teaches_a_leaf_nothing_about_its_parents_clock() {
    let window_after = |copied: bool| {
        let (mut parent, mut now) = (secured(2), T0);
        put(&mut parent, now, TxRequest { dst: CHILD, ..request(1) }).unwrap();
        let (_, frame) = submitted(&mut parent, &mut now);
        let (mut leaf, sfd, _) = sampling_leaf();
        transmitted(&mut leaf, sfd, Ack::Received { frame_pending: false });
        // After some seconds a frame shows the drift.
        let mut window = (sfd, sfd);
        while window.0 < sfd + Duration::from_secs(5) {
            let at = leaf.deadline().unwrap().max(window.1);
            leaf.handle_deadline(at);
            if let Some(Command::Receive { start: Start::At(from), until: Some(until), .. }) =
                leaf.poll_radio(at).map(|s| s.command)
            {
                window = (from, until);
            }
        }
        let middle = window.0 + (window.1 - window.0) / 2;
        if copied {
            assert!(
                receive_at(&mut leaf, middle - Duration::from_millis(300), &frame, -60).is_ok()
            );
        }
        assert_eq!(receive_at(&mut leaf, middle, &frame, -60).is_ok(), !copied);
        leaf.poll_radio(middle).map(|s| s.command)
    };
    assert!(window_after(false).is_some(), "the frame itself narrows the window");
    assert_eq!(window_after(true), None, "a copy leaves it as it is");
}
