//! Interframe spacing.

use super::*;
use kinglet_radio::{ACK_PSDU, LIFS, SIFS, TURNAROUND, air_time};

/// Returns a MAC without backoff, so that it only waits for the spacing.
fn eager(capabilities: Capabilities) -> TestMac {
    let csma_params = kinglet_radio::CsmaParams { min_be: 0, ..Default::default() };
    mac(MacConfig { csma_params, ..config() }, capabilities, 1)
}

fn put_octets(mac: &mut TestMac, now: Instant, request: TxRequest, payload_len: usize) {
    mac.enqueue(now, request, |_| payload_len).unwrap();
}

/// Octets of a data frame without payload: header and FCS.
const EMPTY_PSDU: usize = 11;

/// Returns the time at which a frame of `psdu_len` octets ends whose SFD ended at `sfd`: PHR and
/// PSDU follow it.
fn end(sfd: Instant, psdu_len: usize) -> Instant {
    sfd + (air_time(psdu_len) - Duration::from_micros(160))
}

fn end_of_ack(sfd: Instant, psdu_len: usize) -> Instant {
    end(sfd, psdu_len) + TURNAROUND + air_time(ACK_PSDU)
}

#[test]
fn the_next_frame_waits_after_the_acknowledgement_for_as_long_as_the_last_one_asks() {
    for (payload_len, spacing) in [(7, SIFS), (8, LIFS), (60, LIFS)] {
        let (mut mac, mut now) = (eager(all()), T0);
        put_octets(&mut mac, now, request(1), payload_len);
        put_octets(&mut mac, now, request(2), 1);
        submitted(&mut mac, &mut now);
        let sfd = now + Duration::from_micros(500);
        let psdu_len = EMPTY_PSDU + payload_len;
        // A slow host reads the event 100 us late: by then a part of the spacing is over.
        let reported = end_of_ack(sfd, psdu_len) + Duration::from_micros(100);
        let ack = Ack::Received { frame_pending: false };
        mac.handle_radio(reported, Event::Transmitted { sfd, ack }, &mut []).unwrap();
        assert_eq!(mac.poll_radio(reported), None);
        assert_eq!(mac.deadline(), Some(end_of_ack(sfd, psdu_len) + spacing), "{payload_len}");
        let (mut at, mut early) = (reported, reported + Duration::from_micros(1));
        mac.handle_deadline(early);
        assert_eq!(mac.poll_radio(early), None, "not before that");
        early = at;
        assert!(early == reported && !submitted(&mut mac, &mut at).1.is_empty());
    }
}

#[test]
fn without_acknowledgement_the_spacing_begins_with_the_end_of_the_frame() {
    let (mut mac, mut now) = (eager(all()), T0);
    let broadcast = TxRequest { dst: Address::Short(0xffff), ack: false, ..request(1) };
    put_octets(&mut mac, now, broadcast, 40);
    put_octets(&mut mac, now, request(2), 1);
    submitted(&mut mac, &mut now);
    let reported = end(now, EMPTY_PSDU + 40);
    let sent = Event::Transmitted { sfd: now, ack: Ack::NotAwaited };
    mac.handle_radio(reported, sent, &mut []).unwrap();
    assert_eq!(mac.deadline(), Some(reported + LIFS));
}

#[test]
fn a_missing_acknowledgement_was_awaited_for_longer_than_any_spacing() {
    let (mut mac, mut now) = (eager(all()), T0);
    put_octets(&mut mac, now, request(1), 60);
    submitted(&mut mac, &mut now);
    let reported = end(now, EMPTY_PSDU + 60) + kinglet_radio::ACK_WAIT;
    let missing = Event::Transmitted { sfd: now, ack: Ack::Missing };
    mac.handle_radio(reported, missing, &mut []).unwrap();
    assert!(mac.poll_radio(reported).is_some(), "at once, as there is no backoff");
}

#[test]
fn an_acknowledgement_timed_in_software_counts_from_its_own_end() {
    let (mut mac, mut now) = (eager(Capabilities::NONE), T0);
    put_octets(&mut mac, now, request(1), 60);
    put_octets(&mut mac, now, request(2), 1);
    let sequence = sequence_of(&submitted(&mut mac, &mut now).1);
    transmitted(&mut mac, now, Ack::NotAwaited);
    let acked = end_of_ack(now, EMPTY_PSDU + 60);
    let reported = acked + Duration::from_micros(50);
    receive(&mut mac, reported, &ack_frame(sequence, false)).unwrap();
    assert_eq!(mac.deadline(), Some(acked + LIFS));
}

#[test]
fn a_frame_waits_for_a_short_spacing_after_an_acknowledgement_sent_in_software() {
    let mut mac = eager(Capabilities::NONE);
    put(&mut mac, T0, request(1)).unwrap();
    receive(&mut mac, T0, &data_frame(PEER, Address::Short(1), 3, true)).unwrap();
    assert_eq!(mac.poll_radio(T0).unwrap().frame, ack_frame(3, false));
    let sfd = T0 + Duration::from_micros(700);
    let reported = end(sfd, ACK_PSDU);
    mac.handle_radio(reported, Event::Transmitted { sfd, ack: Ack::NotAwaited }, &mut []).unwrap();
    assert_eq!(mac.poll_radio(reported), None);
    assert_eq!(mac.deadline(), Some(reported + SIFS));
}
