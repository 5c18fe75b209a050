//! Acknowledgement of received frames.

use super::*;
use kinglet_radio::{ACK_WAIT, OCTET, TURNAROUND};

const ME: Address = Address::Short(1);

#[test]
fn a_radio_that_acknowledges_is_left_to_it() {
    let mut mac = mac(config(), all(), 1);
    assert!(receive(&mut mac, T0, &data_frame(PEER, ME, 3, true)).unwrap().is_some());
    assert_eq!(mac.poll_radio(T0), None);
}

#[test]
fn the_mac_acknowledges_12_symbols_after_the_end_where_the_radio_does_not() {
    let mut mac = mac(config(), Capabilities::SCHEDULED, 1);
    let frame = data_frame(PEER, ME, 3, true);
    assert!(receive(&mut mac, T0, &frame).unwrap().is_some());
    let end = T0 + OCTET * (u32::try_from(frame.len()).unwrap() + 3);
    let submission = mac.poll_radio(end).unwrap();
    assert_eq!(submission.frame, ack_frame(3, false));
    let Command::Transmit { start, access, ack, .. } = submission.command else {
        panic!("{:?}", submission.command);
    };
    // Five octets of preamble and SFD after the turnaround.
    assert_eq!(start, Start::At(end + TURNAROUND + OCTET * 5));
    assert_eq!((access, ack), (Access::Immediate, false));
    transmitted(&mut mac, end, Ack::NotAwaited);
    assert_eq!(mac.stats().acks_sent, 1);
    assert_eq!(mac.poll_outcome(end), None, "an acknowledgement has no outcome");
}

#[test]
fn without_scheduling_the_acknowledgement_goes_as_soon_as_possible() {
    let mut mac = mac(config(), Capabilities::NONE, 1);
    receive(&mut mac, T0, &data_frame(PEER, ME, 3, true)).unwrap();
    let command = mac.poll_radio(T0).unwrap().command;
    assert!(matches!(command, Command::Transmit { start: Start::Asap, .. }));
}

#[test]
fn an_acknowledgement_goes_before_a_frame_that_is_ready() {
    let csma_params = kinglet_radio::CsmaParams { min_be: 0, ..Default::default() };
    let mut mac = mac(MacConfig { csma_params, ..config() }, Capabilities::NONE, 1);
    put(&mut mac, T0, request(1)).unwrap();
    receive(&mut mac, T0, &data_frame(PEER, ME, 3, true)).unwrap();
    assert_eq!(mac.poll_radio(T0).unwrap().frame, ack_frame(3, false));
    assert_eq!(mac.poll_radio(T0), None, "one transmission at a time");
    transmitted(&mut mac, T0, Ack::NotAwaited);
    assert_eq!(mac.poll_radio(T0), None, "frames keep apart");
    let mut now = T0;
    assert!(submitted(&mut mac, &mut now).1.ends_with(b"data"));
}

#[test]
fn an_acknowledgement_that_comes_too_late_is_not_sent() {
    let mut mac = mac(config(), Capabilities::NONE, 1);
    receive(&mut mac, T0, &data_frame(PEER, ME, 3, true)).unwrap();
    assert_eq!(mac.poll_radio(T0 + ACK_WAIT * 2), None);
    assert_eq!(mac.stats().acks_not_sent, 1);
}

#[test]
fn an_acknowledgement_is_not_owed_while_another_frame_leaves() {
    let (mut mac, mut now) = (mac(config(), Capabilities::NONE, 1), T0);
    put(&mut mac, now, request(1)).unwrap();
    submitted(&mut mac, &mut now);
    assert!(receive(&mut mac, now, &data_frame(PEER, ME, 3, true)).unwrap().is_some());
    assert_eq!(mac.poll_radio(now), None);
    transmitted(&mut mac, now, Ack::NotAwaited);
    assert_eq!(mac.poll_radio(now), None);
    assert_eq!(mac.stats().acks_not_sent, 1);
}

#[test]
fn only_frames_for_this_device_that_ask_for_it_are_acknowledged() {
    let mut mac = mac(config(), Capabilities::NONE, 1);
    let frames = [
        data_frame(PEER, ME, 1, false),
        data_frame(PEER, Address::BROADCAST, 2, true),
        data_frame(PEER, Address::Short(9), 3, true),
        data_frame(PEER, Address::Extended([9; 8]), 4, true),
    ];
    for frame in frames {
        let _ = receive(&mut mac, T0, &frame);
        assert_eq!(mac.poll_radio(T0), None);
    }
    receive(&mut mac, T0, &data_frame(PEER, Address::Extended(config().extended), 5, true))
        .unwrap();
    assert!(mac.poll_radio(T0).is_some());
}

#[test]
fn a_repetition_is_acknowledged_again() {
    let mut mac = mac(config(), Capabilities::NONE, 1);
    let frame = data_frame(PEER, ME, 3, true);
    receive(&mut mac, T0, &frame).unwrap();
    assert!(mac.poll_radio(T0).is_some());
    transmitted(&mut mac, T0, Ack::NotAwaited);
    assert_eq!(receive(&mut mac, T0, &frame), Err(Discard::Duplicate));
    assert_eq!(mac.poll_radio(T0).unwrap().frame, ack_frame(3, false));
}
