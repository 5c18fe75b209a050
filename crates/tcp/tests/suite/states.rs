//! Every transition of RFC 9293 Figure 5, and unexpected segments in each state.

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::Options;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_passive_open_passes_through_half_open_to_established() {
    let (s, handle) = Script::server(plain(), Options::NONE);
    assert_eq!(s.ep.state(handle), Some(State::Established));
    assert_eq!(s.ep.stats().established, 1);
}

#[test]
fn an_active_open_ends_in_established_with_an_ack() {
    let (s, handle) = Script::client(plain(), Options::NONE);
    assert_eq!(s.ep.state(handle), Some(State::Established));
}

#[test]
fn a_simultaneous_open_ends_in_established_on_both_sides() {
    // Figure 7, seen from peer A, and once more with a plain ACK as its last line.
    for last in [SYN | ACK, ACK] {
        let mut s = Script::new();
        let handle = s.connecting(plain());
        s.give(SYN, 0, 0, b"").unwrap();
        assert_eq!(s.ep.state(handle), Some(State::SynReceived));
        let answer = s.take().unwrap();
        assert!(answer.is(SYN | ACK));
        assert_eq!((answer.seq, answer.ack), (0, 1));
        let seq = if last.contains(SYN) { 0 } else { 1 };
        s.give(last, seq, 1, b"").unwrap();
        assert_eq!(s.ep.state(handle), Some(State::Established));
    }
}

#[test]
fn two_endpoints_can_open_simultaneously_and_talk() {
    let mut net = Net::new(PERFECT, 1);
    let a = net.ends[0].connect_from(net.now, Net::pair(0), 5, 6, plain()).unwrap();
    let b = net.ends[1].connect_from(net.now, Net::pair(1), 6, 5, plain()).unwrap();
    let mut apps = [App::new(0, a, 3000), App::new(1, b, 2000)];
    assert!(net.run_until(Duration::from_secs(60), |n| {
        apps.iter_mut().for_each(|a| a.run(n));
        apps.iter().all(|a| a.eof)
    }));
}

#[test]
fn closing_first_goes_through_fin_wait_to_time_wait() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::FinWait1));
    let fin = s.take().unwrap();
    assert!(fin.is(FIN | ACK));
    s.give(ACK, 1, 2, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::FinWait2));
    // Half closed: data still comes in.
    s.give(ACK, 1, 2, b"more").unwrap();
    assert_eq!(s.read(handle), b"more");
    s.take_all();
    s.give(FIN | ACK, 5, 2, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::TimeWait));
    let ack = s.take().unwrap();
    assert_eq!((ack.seq, ack.ack), (2, 6));
    assert_eq!(s.ep.recv(handle, &mut [0; 1]), Ok(0));
    s.silent();
}

#[test]
fn fin_and_its_ack_in_one_segment_lead_straight_to_time_wait() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    s.take();
    s.give(FIN | ACK, 1, 2, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::TimeWait));
}

#[test]
fn a_simultaneous_close_goes_through_closing() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    s.take();
    s.give(FIN | ACK, 1, 1, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Closing));
    s.take_all();
    s.give(ACK, 2, 2, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::TimeWait));
}

#[test]
fn closing_second_goes_through_close_wait_and_last_ack() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.give(FIN | ACK, 1, 1, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::CloseWait));
    assert_eq!(s.take().unwrap().ack, 2);
    // The other half is still open.
    assert_eq!(s.ep.send(handle, b"late"), Ok(4));
    assert_eq!(s.take().unwrap().payload, b"late");
    s.ep.close(handle).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::LastAck));
    assert!(s.take().unwrap().is(FIN));
    s.give(ACK, 2, 6, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Closed));
    assert_eq!(s.ep.info(handle).unwrap().error, None);
}

#[test]
fn last_ack_processes_every_ack() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.give(FIN | ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, &[7; 250]).unwrap();
    s.ep.close(handle).unwrap();
    let sent = s.take_all();
    assert_eq!(sent.len(), 3);
    // Octets covered by a partial acknowledgment are not sent again.
    s.give(ACK, 2, 101, b"").unwrap();
    let again = s.wait(Duration::from_secs(3));
    assert_eq!(again[0].seq, 101);
    s.give(ACK, 2, 252, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Closed));
}

#[test]
fn an_unanswered_syn_counts_as_a_timeout_and_as_sent_again() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    assert!(s.wait(Duration::from_secs(4)).iter().all(|got| got.is(SYN)));
    let counters = s.ep.info(handle).unwrap().counters;
    assert_eq!((counters.timeouts, counters.retransmits()), (2, 2), "after one second and three");
}

#[test]
fn close_in_syn_received_still_retransmits_the_syn_ack_and_sends_fin_later() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    s.give(SYN, 0, 0, b"").unwrap();
    s.take_all();
    s.ep.close(handle).unwrap();
    let again = s.wait(Duration::from_secs(4));
    assert!(again[0].is(SYN | ACK));
    assert_eq!(again[0].seq, 0, "a retransmitted SYN keeps its sequence number");
    s.give(ACK, 1, 1, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::FinWait1));
    assert!(s.take().unwrap().is(FIN));
}

#[test]
fn close_in_syn_sent_forgets_the_connection() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    s.ep.close(handle).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Closed));
    assert_eq!(s.ep.deadline(), None);
    s.silent();
}

#[test]
fn nothing_is_awaited_from_a_connection_that_was_closed_before_the_peer_answered() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    assert_eq!(s.ep.recv(handle, &mut [0]), Err(RecvError::WouldBlock));
    s.ep.close(handle).unwrap();
    // RFC 9293 §3.10.4: "error: closing", not the end of a stream that never began.
    assert_eq!(s.ep.recv(handle, &mut [0]), Err(RecvError::Ended(ConnectionError::Aborted)));
    assert_eq!(s.ep.send(handle, b"x"), Err(SendError::Ended(ConnectionError::Aborted)));
    assert_eq!(s.ep.info(handle).unwrap().error, Some(ConnectionError::Aborted));
    // A SYN-ACK of the other end finds no connection.
    s.silent();
}

#[test]
fn syn_sent_gives_up_in_bounded_time_and_syns_keep_their_sequence_number() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    let syns = s.wait(Duration::from_secs(400));
    assert_eq!(syns.len(), 7);
    assert!(syns.iter().all(|g| g.seq == 0 && g.is(SYN)));
    assert_eq!(s.ep.send(handle, b"x"), Err(SendError::Ended(ConnectionError::TimedOut)));
    let first = syns[0].at - kinglet_time::Instant::from_secs(1000);
    assert_eq!((first, syns[1].at - syns[0].at), (SECOND, SECOND * 3 - SECOND));
}

#[test]
fn a_half_open_connection_gives_up_in_bounded_time() {
    let mut s = Script::new();
    s.ep.listen(80, listening(2, plain())).unwrap();
    s.give(SYN, 0, 0, b"").unwrap();
    let sent = s.wait(Duration::from_secs(400));
    assert_eq!(sent.len(), 4);
    assert_eq!(s.ep.deadline(), None);
}

#[test]
fn a_refused_connection_says_so() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    // An RST without a valid ACK is not accepted.
    assert_eq!(s.give(RST, 0, 0, b""), Err(Discard::ResetUnproven));
    assert_eq!(s.give(RST | ACK, 0, 7, b""), Err(Discard::AckUnsent));
    s.silent();
    s.give(RST | ACK, 0, 1, b"").unwrap();
    assert_eq!(s.ep.recv(handle, &mut [0; 1]), Err(RecvError::Ended(ConnectionError::Refused)));
}

#[test]
fn a_wrong_ack_in_syn_sent_is_answered_with_rst() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    assert_eq!(s.give(SYN | ACK, 0, 9, b""), Err(Discard::AckUnsent));
    let rst = s.take().unwrap();
    assert!(rst.is(RST) && !rst.is(ACK));
    assert_eq!(rst.seq, 9);
    assert_eq!(s.ep.state(handle), Some(State::SynSent));
}

#[test]
fn a_segment_for_no_connection_is_answered_with_rst() {
    let mut s = Script::new();
    assert_eq!(s.give(ACK, 5, 77, b"abc"), Err(Discard::NoConnection));
    let rst = s.take().unwrap();
    assert_eq!((rst.header.flags, rst.seq), (RST, 77));
    assert_eq!(s.give(SYN, 5, 0, b""), Err(Discard::NoConnection));
    let rst = s.take().unwrap();
    assert_eq!((rst.header.flags, rst.header.seq, rst.ack), (RST | ACK, 0, 6));
    assert_eq!(s.give(RST, 5, 0, b""), Err(Discard::NoConnection));
    s.silent();
    // The number of responses is bounded, however many segments arrive.
    for port in 0..100 {
        s.remote = 5000 + port;
        let _ = s.give(ACK, 5, 77, b"");
    }
    assert_eq!(s.take_all().len(), 4);
}

#[test]
fn a_rst_is_accepted_only_at_the_exact_sequence_number() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    assert_eq!(s.give(RST, 900, 0, b""), Err(Discard::OutsideWindow));
    s.silent();
    assert_eq!(s.give(RST, 2, 0, b""), Err(Discard::ResetNotExact));
    let challenge = s.take().unwrap();
    assert_eq!((challenge.header.flags, challenge.seq, challenge.ack), (ACK, 1, 1));
    assert_eq!(s.ep.state(handle), Some(State::Established));
    s.give(RST, 1, 0, b"").unwrap();
    assert_eq!(s.ep.recv(handle, &mut [0; 1]), Err(RecvError::Ended(ConnectionError::Reset)));
    s.silent();
}

#[test]
fn a_syn_in_a_synchronised_state_draws_a_challenge_ack() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    assert_eq!(s.give(SYN, 1, 0, b""), Err(Discard::SynInWindow));
    assert_eq!(s.take().unwrap().header.flags, ACK);
    assert_eq!(s.ep.state(handle), Some(State::Established));
}

#[test]
fn challenge_acks_are_rate_limited() {
    let (mut s, _) = Script::server(plain(), Options::NONE);
    let mut answers = 0;
    for _ in 0..50 {
        let _ = s.give(SYN, 1, 0, b"");
        answers += s.take_all().len();
    }
    assert_eq!((answers, s.ep.stats().challenge_acks_limited), (10, 40));
    s.now += Duration::from_secs(6);
    let _ = s.give(SYN, 1, 0, b"");
    assert_eq!(s.take_all().len(), 1);
}

/// CVE-2016-5696: the responses on an attacker's own connection must not reveal whether segments
/// with a forged source address have hit another connection.
#[test]
fn the_limit_of_challenge_acks_is_no_side_channel() {
    let (mut s, _) = Script::server(plain(), Options::NONE);
    let (peer, theirs) = (s.peer, s.theirs);
    (s.peer, s.remote) = (Pair(1, 66), 6666);
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().unwrap().header.seq;
    s.give(ACK, 1, 1, b"").unwrap();
    let (attacker, own) = (s.peer, s.theirs);
    for _ in 0..7 {
        (s.peer, s.remote, s.theirs) = (peer, 4000, theirs);
        assert_eq!(s.give(SYN, 1, 0, b""), Err(Discard::SynInWindow), "forged, and it has hit");
        assert_eq!(s.take_all().len(), 1);
    }
    (s.peer, s.remote, s.theirs) = (attacker, 6666, own);
    let answers = (0..50).map(|_| {
        let _ = s.give(SYN, 1, 0, b"");
        s.take_all().len()
    });
    assert_eq!(answers.sum::<usize>(), 10, "as many as ever");
}

#[test]
fn an_ack_of_data_never_sent_is_refused() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    assert_eq!(s.give(ACK, 1, 2, b"text"), Err(Discard::AckUnsent));
    assert_eq!(s.take().unwrap().header.flags, ACK);
    assert_eq!(s.ep.can_recv(handle), 0);
}

#[test]
fn an_ack_that_is_far_too_old_is_challenged() {
    let (mut s, _) = Script::server(plain(), Options::NONE);
    assert_eq!(s.give(ACK, 1, 0u32.wrapping_sub(2000), b""), Err(Discard::AckTooOld));
    assert_eq!(s.take().unwrap().header.flags, ACK);
}

#[test]
fn time_wait_acknowledges_a_fin_again_and_is_not_ended_by_rst() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    s.take();
    s.give(FIN | ACK, 1, 2, b"").unwrap();
    s.take();
    s.wait(Duration::from_secs(50));
    assert!(s.give(RST, 2, 0, b"").is_err());
    s.give(FIN | ACK, 1, 2, b"").unwrap();
    assert_eq!(s.take().unwrap().ack, 2);
    // The FIN has restarted 2 MSL: 60 s after it the record is gone.
    s.wait(Duration::from_secs(50));
    assert!(s.give(FIN | ACK, 1, 2, b"").is_ok());
    s.wait(Duration::from_secs(61));
    assert_eq!(s.give(FIN | ACK, 1, 2, b""), Err(Discard::NoConnection));
}

#[test]
fn time_wait_expiry_does_not_wipe_unread_data() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    s.take();
    s.give(FIN | ACK, 1, 2, b"unread").unwrap();
    s.wait(Duration::from_secs(200));
    assert_eq!(s.read(handle), b"unread");
    assert_eq!(s.ep.recv(handle, &mut [0; 1]), Ok(0));
}

#[test]
fn connect_does_not_take_a_name_that_is_in_time_wait_or_in_use() {
    let (mut s, handle) = Script::client(plain(), Options::NONE);
    let again = s.ep.connect_from(s.now, s.peer, s.local, 80, plain());
    assert_eq!(again, Err(ConnectError::NoPort));
    s.ep.close(handle).unwrap();
    s.take();
    s.give(FIN | ACK, 1, 2, b"").unwrap();
    s.take_all();
    assert_eq!(s.ep.state(handle), Some(State::TimeWait));
    let again = s.ep.connect_from(s.now, s.peer, s.local, 80, plain());
    assert_eq!(again, Err(ConnectError::NoPort));
    s.wait(Duration::from_secs(61));
    assert!(s.ep.connect_from(s.now, s.peer, s.local, 80, plain()).is_ok());
}

#[test]
fn a_newer_syn_reopens_a_name_in_time_wait_and_an_older_one_does_not() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    s.take();
    s.give(FIN | ACK, 1, 2, b"").unwrap();
    s.take_all();
    assert_eq!(s.give(SYN, 0, 0, b""), Err(Discard::SynInWindow));
    assert_eq!(s.take().unwrap().header.flags, ACK);
    s.give(SYN, 50_000, 0, b"").unwrap();
    let syn_ack = s.take().unwrap();
    assert!(syn_ack.is(SYN | ACK));
    assert_eq!(syn_ack.seq, 2, "the clock has not moved, and the FIN had 1");
}

#[test]
fn a_syn_flood_takes_no_connection_and_is_bounded() {
    let mut s = Script::new();
    s.ep.listen(80, listening(100, plain())).unwrap();
    let mut refused = 0;
    for port in 0..200 {
        s.remote = 1000 + port;
        refused += usize::from(s.give(SYN, 0, 0, b"") == Err(Discard::BacklogFull));
    }
    // Three in the table, and one response that waits to be sent.
    assert_eq!(refused, 196);
    assert_eq!(s.take_all().len(), 4);
    // All slots are still free for active opens.
    for _ in 0..3 {
        assert!(s.ep.connect(s.now, s.peer, 9, plain()).is_ok());
    }
}

#[test]
fn the_backlog_bounds_unaccepted_connections() {
    let mut s = Script::new();
    s.ep.listen(80, listening(1, plain())).unwrap();
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().unwrap().header.seq;
    s.give(ACK, 1, 1, b"").unwrap();
    s.remote += 1;
    assert_eq!(s.give(SYN, 0, 0, b""), Err(Discard::BacklogFull));
    assert!(s.ep.accept(80).is_some());
    assert_eq!(s.give(SYN, 0, 0, b""), Ok(()));
}

/// The peer's text has used the window and was lost: its ACK begins at the right edge.
#[test]
fn an_ack_at_the_right_edge_of_the_window_ends_the_handshake() {
    let mut s = Script::new();
    s.ep.listen(80, listening(2, plain())).unwrap();
    s.give(SYN, 0, 0, b"").unwrap();
    let syn_ack = s.take().unwrap().header;
    s.theirs = syn_ack.seq;
    let edge = 1 + u32::from(syn_ack.window);
    assert_eq!(s.give(ACK, edge + 1, 1, b""), Err(Discard::OutsideWindow));
    assert_eq!(s.give(ACK | PSH, edge, 1, b"beyond"), Err(Discard::OutsideWindow));
    s.give(ACK, edge, 1, b"").unwrap();
    let handle = s.ep.accept(80).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Established));
    s.give(ACK, 1, 1, b"hello").unwrap();
    assert_eq!(s.read(handle), b"hello");
}

#[test]
fn abort_sends_rst_and_ends_the_handle() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 300]).unwrap();
    s.take();
    s.ep.abort(handle).unwrap();
    let rst = s.take().unwrap();
    assert!(rst.is(RST));
    assert_eq!(rst.seq, 101, "SND.NXT");
    s.silent();
    assert_eq!(s.ep.send(handle, b"x"), Err(SendError::InvalidHandle));
    assert_eq!(s.ep.close(handle), Err(InvalidHandle));
    assert_eq!(s.ep.deadline(), None);
}

//= rfc9293#MUST-42
#[test]
fn a_port_can_be_listened_on_while_it_is_in_syn_sent() {
    let mut s = Script::new();
    let handle = s.ep.connect_from(s.now, s.peer, 80, 9, plain()).unwrap();
    s.take();
    assert_eq!(s.ep.state(handle), Some(State::SynSent));
    s.ep.listen(80, ListenConfig::default()).unwrap();
    s.give(SYN, 0, 0, b"").unwrap();
    let answer = s.take().unwrap();
    assert!(answer.is(SYN | ACK), "another peer port reaches the listener");
    assert_eq!(s.ep.state(handle), Some(State::SynSent), "and leaves the other one alone");
}

//= rfc9293#MUST-46 rfc9293#MUST-57 rfc9293#MUST-63
#[test]
fn nothing_goes_to_or_comes_from_multicast() {
    let mut s = Script::new();
    s.ep.listen(80, ListenConfig::default()).unwrap();
    s.peer = Pair(1, 255);
    assert_eq!(s.ep.connect(s.now, s.peer, 80, plain()), Err(ConnectError::BadAddress));
    assert_eq!(s.give(SYN, 0, 0, b""), Err(Discard::NotUnicast));
    s.silent();
}

/// RFC 6056 §3.3.3: ports begin anywhere in the range and step through it, by a secret.
#[test]
fn ports_depend_on_peer_and_secret_and_step_from_use_to_use() {
    let ports = |id, peer| -> Vec<u16> {
        let mut ep = endpoint(id);
        let mut open = || {
            let handle =
                ep.connect(kinglet_time::Instant::from_secs(1), peer, 80, plain()).unwrap();
            let (_, local, _) = ep.name(handle).unwrap();
            ep.abort(handle).unwrap();
            local
        };
        (0..3).map(|_| open()).collect()
    };
    let first = ports(1, Pair(1, 2));
    assert!(first.windows(2).all(|p| p[1] == p[0] + 1 || p[1] == 49152), "{first:?}");
    assert!(first.iter().all(|port| *port >= 49152));
    assert_ne!(first, ports(1, Pair(1, 3)));
    assert_ne!(first, ports(2, Pair(1, 2)));
}

//= rfc9293#MUST-8 rfc9293#MUST-9 rfc9293#SHLD-1
//= rfc6528#3-1 rfc6528#3-2
#[test]
fn isns_have_a_clock_and_differ_by_connection_and_secret() {
    let isn = |ep: &mut Ep, at, port| {
        ep.connect_from(at, Pair(1, 2), port, 80, plain()).unwrap();
        let packet = ep.poll_packet(at).unwrap();
        u32::from_be_bytes(packet.header[4..8].try_into().unwrap())
    };
    let at = kinglet_time::Instant::from_secs(5);
    let (a, b) = (isn(&mut endpoint(1), at, 7), isn(&mut endpoint(1), at, 8));
    assert_ne!(a, b);
    assert_ne!(a, isn(&mut endpoint(2), at, 7));
    // RFC 6528: the clock moves by one every 4 microseconds.
    assert_eq!(isn(&mut endpoint(1), at + Duration::from_millis(1), 7), a.wrapping_add(250));
}

#[test]
fn an_unreachable_destination_ends_only_a_connection_that_is_opening() {
    let delivered = |ports, octet, s: &mut Script| {
        let seq = s.theirs.wrapping_add(octet);
        s.ep.notify_network_error(&s.peer, ports, seq, SoftError::Unreachable);
    };
    let mut s = Script::new();
    let handle = s.connecting(plain());
    delivered((s.local, 80), 7, &mut s);
    assert_eq!(s.ep.state(handle), Some(State::SynSent), "quotes nothing in flight");
    delivered((s.local, 80), 0, &mut s);
    assert_eq!(s.ep.info(handle).unwrap().error, Some(ConnectionError::Unreachable));
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, b"x").unwrap();
    s.take();
    delivered((80, 4000), 1, &mut s);
    assert_eq!(s.ep.state(handle), Some(State::Established));
}

#[test]
fn two_confused_ends_do_not_answer_each_other_for_ever() {
    let (mut s, _) = Script::server(plain(), Options::NONE);
    let mut answers = 0;
    for _ in 0..100 {
        assert_eq!(s.give(ACK, 50_000, 1, b""), Err(Discard::OutsideWindow));
        answers += s.take_all().len();
    }
    assert_eq!(answers, 10);
}

/// Brings an endpoint into one of its states.
fn in_state(index: usize, sack: bool) -> Script {
    let option = Options { sack_permitted: true, ..Options::NONE };
    let config = ConnectionConfig { sack, timestamps: true, ..plain() };
    match index {
        0 => Script::new(),
        1 => {
            let mut s = Script::new();
            s.connecting(config);
            s
        }
        2 => {
            let mut s = Script::new();
            s.connecting(config);
            s.give(SYN, 0, 0, b"").unwrap();
            s
        }
        3 => {
            let mut s = Script::new();
            s.ep.listen(80, listening(3, config)).unwrap();
            s.give(SYN, 0, 0, b"").unwrap();
            s
        }
        4 => {
            let (mut s, handle) = Script::server(config, option);
            s.ep.send(handle, &[1; 700]).unwrap();
            s
        }
        5 => {
            let (mut s, handle) = Script::server(config, option);
            s.ep.close(handle).unwrap();
            s.take_all();
            s
        }
        6 => {
            let (mut s, _) = Script::server(config, option);
            s.give(FIN | ACK, 1, 1, b"").unwrap();
            s
        }
        _ => {
            let (mut s, handle) = Script::server(config, option);
            s.ep.close(handle).unwrap();
            s.take_all();
            s.give(FIN | ACK, 1, 2, b"").unwrap();
            s
        }
    }
}

/// A segment somewhere near what is expected.
type Near = (u16, i32, i32, u16, Vec<u8>, Option<(i32, i32)>);

/// Flags, sequence and acknowledgment offset, window, text and SACK block.
fn near() -> impl Strategy<Value = Near> {
    let sack = proptest::option::of((-100i32..1500, -100i32..1500));
    let text = proptest::collection::vec(any::<u8>(), 0..300);
    (0u16..512, -300i32..1200, -300i32..1200, any::<u16>(), text, sack)
}

proptest! {
    #![proptest_config(cases(500))]

    /// No octets and no order of segments and timers can panic, and polling always ends.
    #[test]
    fn no_segments_can_panic_any_state(
        state in 0usize..8, sack: bool,
        raw in proptest::collection::vec(any::<u8>(), 0..100),
        segments in proptest::collection::vec((near(), 0u64..3000), 1..30),
    ) {
        use kinglet_wire::tcp::{Flags, SackBlock};
        let mut s = in_state(state, sack);
        let _ = s.ep.handle_packet(s.now, s.peer, Ecn::NotEct, &raw);
        for ((flags, seq, ack, window, text, sack), pause_ms) in segments {
            s.window = window;
            s.options.sack = Default::default();
            if let Some((l, r)) = sack {
                let at = |o: i32| s.theirs.wrapping_add(o as u32);
                s.options.sack.push(SackBlock { left: at(l), right: at(r) });
            }
            let _ = s.give(Flags::from_bits(flags), seq as u32, ack as u32, &text);
            s.wait(Duration::from_millis(pause_ms));
            if let Some(handle) = s.ep.accept(80) {
                let _ = s.ep.send(handle, &[3; 200]);
            }
        }
    }
}
