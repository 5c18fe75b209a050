//! Calls of an application on a connection other than sending and receiving.

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::{Flags, Options, SackBlock};
use proptest::prelude::*;

/// A page, as it would be stored in flash.
static PAGE: [u8; 50 * 1024] = {
    let mut page = [0; 50 * 1024];
    let mut i = 0;
    while i < page.len() {
        page[i] = (i ^ (i >> 8) ^ ((i * 31) >> 5)) as u8;
        i += 1;
    }
    page
};

#[test]
fn parts_are_sent_as_one_and_taken_as_far_as_there_is_room() {
    let config = ConnectionConfig { mss: 100, send_buffer: 150, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    assert_eq!(s.ep.send_vectored(handle, &[&[1; 30], b"", &[2; 50]]), Ok(80));
    let first = s.take().unwrap();
    assert_eq!(first.payload, [[1; 30].as_slice(), &[2; 50]].concat(), "one segment");
    assert_eq!(s.ep.send_vectored(handle, &[&[3; 60], &[4; 60]]), Ok(70), "part of a part");
    assert_eq!(s.ep.can_send(handle), 0);
    assert_eq!(s.ep.send_vectored(handle, &[&[5]]), Ok(0));
    s.ep.close(handle).unwrap();
    assert_eq!(s.ep.send_vectored(handle, &[]), Err(SendError::Closed));
}

#[test]
fn constant_data_stands_where_it_was_sent_and_is_cut_like_copied_data() {
    let config = ConnectionConfig { mss: 100, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    let room = s.ep.can_send(handle);
    assert_eq!(s.ep.send(handle, &[1; 50]), Ok(50));
    assert_eq!(s.ep.send_static(handle, &PAGE[..170]), Ok(170));
    assert_eq!(s.ep.can_send(handle), room - 50, "a reference takes no room");
    assert_eq!(s.ep.send(handle, &[2; 40]), Ok(40));
    assert_eq!(s.ep.send_static(handle, &PAGE[170..180]), Ok(10));
    assert_eq!(s.ep.send_static(handle, &PAGE), Ok(0), "the plan has two places");
    let got = s.take_all();
    let lengths: Vec<usize> = got.iter().map(|g| g.payload.len()).collect();
    assert_eq!(lengths, [100, 100], "Nagle holds the last 70");
    assert_eq!(s.ep.info(handle).unwrap().bytes_queued, 270);
    s.give(ACK, 1, 201, b"").unwrap();
    let last = s.take().unwrap();
    assert!(last.is(kinglet_wire::tcp::Flags::PSH), "nothing follows");
    let stream: Vec<u8> =
        got.iter().chain([&last]).flat_map(|g| g.payload.iter().copied()).collect();
    let want = [&[1; 50], &PAGE[..170], &[2; 40], &PAGE[170..180]].concat();
    assert_eq!(stream, want);
    // The first piece ended at 221.
    s.give(ACK, 1, 220, b"").unwrap();
    assert_eq!(s.ep.send_static(handle, &PAGE[..1]), Ok(0));
    s.give(ACK, 1, 221, b"").unwrap();
    assert_eq!(s.ep.send_static(handle, &PAGE[..1]), Ok(1), "its place is free again");
}

#[test]
fn data_left_by_an_aborted_connection_are_not_sent_by_the_next_one() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send_static(handle, &PAGE[..300]).unwrap();
    s.ep.abort(handle).unwrap();
    s.take_all();
    for _ in 0..3 {
        s.remote += 1;
        s.give(SYN, 0, 0, b"").unwrap();
        s.theirs = s.take().unwrap().header.seq;
        s.give(ACK, 1, 1, b"").unwrap();
        assert!(s.ep.can_accept(80) && !s.ep.can_accept(81));
        let handle = s.ep.accept(80).unwrap();
        assert!(!s.ep.can_accept(80));
        assert_eq!(s.ep.send_static(handle, &PAGE[..3]), Ok(3));
        assert_eq!(s.ep.send_static(handle, &PAGE[3..5]), Ok(2), "both places are free");
        let text: Vec<u8> = s.take_all().into_iter().flat_map(|g| g.payload).collect();
        assert_eq!(text, PAGE[..5]);
        s.ep.abort(handle).unwrap();
        s.take_all();
    }
}

#[test]
fn an_expected_response_has_a_beginning_and_an_end() {
    let mut s = Script::new();
    assert_eq!(s.ep.expected_by_any(), None);
    let handle = s.connecting(plain());
    let syn = s.ep.expected(handle).unwrap();
    assert_eq!((syn.since, syn.from), (s.now, s.now), "nothing is known of the path");
    assert_eq!(syn.until, s.now + Duration::from_secs(1), "the initial RTO");
    s.now += MS * 100;
    s.give(SYN | ACK, 0, 1, b"").unwrap();
    s.take_all();
    assert_eq!(s.ep.expected(handle), None, "nobody owes an answer to an ACK");

    let sent_at = s.now;
    s.ep.send(handle, &[1; 50]).unwrap();
    s.take_all();
    let Expected { since, from, until } = s.ep.expected(handle).unwrap();
    let info = s.ep.info(handle).unwrap();
    assert_eq!(since, sent_at);
    assert_eq!(info.srtt, MS * 100);
    assert_eq!(from, sent_at, "RTTVAR is half of the first sample, and four of it more than SRTT");
    assert_eq!(until, sent_at + info.rto);
    assert_eq!(s.ep.expected_by_any(), s.ep.expected(handle));
    // The back-off delays the next attempt, not the response.
    s.wait(info.rto + MS * 8);
    let again = s.ep.expected(handle).unwrap();
    assert_eq!((again.since, again.until), (until, until + info.rto));
    s.give(ACK, 1, 51, b"").unwrap();
    assert_eq!(s.ep.expected(handle), None);

    // Text is missing below text that has arrived.
    s.give(ACK | PSH, 11, 51, &[2; 10]).unwrap();
    s.take_all();
    assert_eq!(s.ep.expected(handle).map(|e| e.since), Some(s.now));
    s.give(ACK | PSH, 1, 51, &[2; 10]).unwrap();
    s.take_all();
    assert_eq!(s.ep.expected(handle), None);
}

#[test]
fn more_is_expected_after_text_that_suggests_it_and_for_one_timeout() {
    // Octets, pushed or not, and whether more is expected: segments are full with 100.
    for (len, flags, more) in
        [(100, ACK | PSH, true), (50, ACK, true), (50, ACK | PSH, false), (100, ACK | FIN, false)]
    {
        let (mut s, handle) = Script::server(plain(), Options::NONE);
        s.wait(MS * 500);
        s.give(flags, 1, 1, &[1; 100][..len]).unwrap();
        assert_eq!(s.ep.expected(handle), None, "not before the ACK has left");
        s.take_all();
        let acked = s.now;
        let expected = s.ep.expected(handle);
        assert_eq!(expected.is_some(), more, "{len} octets, {flags:?}");
        let Some(Expected { since, until, .. }) = expected else { continue };
        let rto = s.ep.info(handle).unwrap().rto;
        assert_eq!((since, until), (acked, acked + rto));
        s.wait(rto - MS);
        assert!(s.ep.expected(handle).is_some());
        s.wait(MS * 2);
        assert_eq!(s.ep.expected(handle), None, "the transfer is over");
        assert!(s.take_all().is_empty(), "the end of waiting is not worth a segment");
        // Segments sent for other reasons do not start the expectation again.
        s.ep.send(handle, &[1; 10]).unwrap();
        s.take_all();
        s.give(ACK, 1 + len as u32, 11, b"").unwrap();
        assert_eq!(s.ep.expected(handle), None);
    }
}

/// A leaf that has fetched one segment of several continues to poll.
#[test]
fn more_is_expected_while_an_acknowledgment_waits_for_it() {
    for (len, flags, more) in [(100, ACK, true), (50, ACK | PSH, false)] {
        let config = ConnectionConfig { delayed_ack: MS * 200, ack_every: 4, ..plain() };
        let (mut s, handle) = Script::server(config, Options::NONE);
        s.wait(MS * 500);
        s.give(flags, 1, 1, &[1; 100][..len]).unwrap();
        assert!(s.take_all().is_empty(), "the acknowledgment waits");
        assert_eq!(s.ep.expected(handle).is_some(), more, "{len} octets, {flags:?}");
    }
}

#[test]
fn nothing_is_expected_of_a_peer_that_may_not_send() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    for n in 0..8 {
        s.give(ACK, 1 + n * 100, 1, &[1; 100]).unwrap();
        s.take_all();
        assert_eq!(s.ep.expected(handle).is_some(), n < 7, "segment {n} of 8 that have room");
    }
    let mut buf = [0; 800];
    s.ep.recv(handle, &mut buf).unwrap();
    assert_eq!(s.take_all().len(), 1, "the window has opened");
    assert!(s.ep.expected(handle).is_some());
}

#[test]
fn a_handshake_in_progress_and_a_silent_peer_are_waited_for() {
    let keepalive = KeepAlive { idle: MS * 10_000, interval: MS * 5000, probes: 3 };
    let mut s = Script::new();
    let config = ConnectionConfig { keepalive: Some(keepalive), ..plain() };
    s.ep.listen(80, listening(1, config)).unwrap();
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().unwrap().header.seq;
    assert_eq!(s.ep.expected_by_any().map(|e| e.since), Some(s.now), "the third segment");
    s.give(ACK, 1, 1, b"").unwrap();
    let handle = s.ep.accept(80).unwrap();
    assert_eq!(s.ep.expected_by_any(), None);
    s.wait(MS * 10_001);
    assert!(s.ep.expected(handle).is_some(), "the answer to a probe");
    assert_eq!(s.ep.info(handle).unwrap().keepalive_probes, 1);
    s.give(ACK, 1, 1, b"").unwrap();
    assert_eq!(s.ep.expected(handle), None);
}

#[test]
fn a_snapshot_counts_what_a_study_wants_to_know() {
    let (config, options) = with_sack();
    let (mut s, handle) = Script::server(config, options);
    s.ep.send(handle, &[1; 550]).unwrap();
    s.take_all();
    let opened = s.now;
    s.now += MS * 50;
    s.options.sack.push(SackBlock { left: s.theirs + 101, right: s.theirs + 201 });
    s.give(ACK, 1, 1, b"").unwrap();
    s.options = Options::NONE;
    s.give(ACK, 1, 1, &[3; 70]).unwrap();
    let info = s.ep.info(handle).unwrap();
    assert!(info.sack && !info.timestamps);
    assert_eq!((info.mss, info.mss_limit, info.rcv_mss), (100, 100, 70));
    assert_eq!((info.bytes_queued, info.bytes_sacked), (550, 100));
    assert_eq!(info.bytes_in_flight + info.bytes_unsent, 550);
    assert_eq!((info.bytes_readable, info.receive_buffer), (70, 800));
    assert_eq!((info.last_sent, info.last_progress), (opened, opened));
    assert_eq!((info.backoff, info.retransmits, info.counters.retransmits()), (0, 0, 0));
    s.take_all();
    s.wait(MS * 4000);
    let info = s.ep.info(handle).unwrap();
    assert!(info.backoff > 0 && info.retransmits > 0 && info.counters.retransmits() > 0);
    assert!(info.last_sent > info.last_progress);
}

#[test]
fn the_share_of_segments_sent_again_follows_what_is_lost() {
    for (loss, low, high) in [(0, 0, 0), (100, 2000, 16_000), (300, 10_000, 33_000)] {
        let mut net = Net::new(Link { loss, ..PERFECT }, 7);
        let config = ConnectionConfig { mss: 200, adaptive_mss: true, ..Default::default() };
        let [client, server] = net.open(config, config);
        let mut sum = 0;
        for n in 1..=200_u32 {
            net.ends[0].send(client, &[1; 1000]).unwrap();
            net.run_for(MS * 500);
            while let Ok(1..) = net.ends[1].recv(server, &mut [0; 8192]) {}
            sum += u32::from(net.ends[0].info(client).unwrap().retransmitted_share);
            if n == 200 {
                let mean = sum / n;
                assert!((low..=high).contains(&mean), "{loss}: {mean}");
            }
        }
    }
}

#[test]
fn a_loss_reported_by_the_link_counts_a_quarter() {
    let share = |reported: bool| {
        let (mut s, handle) = Script::server(plain(), Options::NONE);
        s.ep.send(handle, &[1; 100]).unwrap();
        let packet = s.ep.poll_packet(s.now).unwrap();
        if reported {
            s.ep.notify_lost(s.now, packet.payload);
            assert_eq!(s.take().unwrap().seq, 1, "at once");
        } else {
            assert_eq!(s.wait(MS * 1500).len(), 1, "by the timer");
        }
        s.ep.info(handle).unwrap().retransmitted_share
    };
    assert_eq!((share(false), share(true)), (u16::MAX / 32, u16::MAX / 128));
}

#[test]
fn the_segment_size_is_the_applications_unless_it_gives_it_up() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    for _ in 0..40 {
        assert_eq!(s.ep.segment_loss(handle), None);
        s.ep.send(handle, &[1; 50]).unwrap();
        let end = s.take().unwrap().seq + 50;
        s.give(ACK, 1, end, b"").unwrap();
    }
    let config = ConnectionConfig { adaptive_mss: true, ..plain() };
    s.ep.configure(s.now, handle, &config).unwrap();
    let mut asked = 0;
    for _ in 0..64 {
        if let Some(loss) = s.ep.segment_loss(handle) {
            asked += 1;
            assert_eq!(
                loss,
                SegmentLoss { retransmitted_share: 0, mss: 100, limit: 100, options: 0 }
            );
        }
        s.ep.send(handle, &[1; 50]).unwrap();
        let end = s.take().unwrap().seq + 50;
        s.give(ACK, 1, end, b"").unwrap();
    }
    assert_eq!(asked, 4, "with every 16th segment");
}

// A server of constant pages: no octet of RAM to send from.
plan!(Pages {
    congestion: NewReno,
    send: 0,
    receive: 4096,
    pieces: 1,
    features: Full,
    segments: [SegmentRecord; 4],
    connections: 1,
    servers: 0,
});

#[test]
fn a_page_needs_no_send_buffer() {
    let mut net = Network::<Pages>::new(Link { loss: 60, ..PERFECT }, 1);
    let [client, server] = net.open(ConnectionConfig::DEFAULT, ConnectionConfig::DEFAULT);
    assert_eq!(net.ends[1].send(server, b"no room"), Ok(0));
    assert_eq!(net.ends[1].send_static(server, &PAGE), Ok(PAGE.len()));
    net.ends[1].close(server).unwrap();
    let (mut page, mut buf) = (Vec::new(), [0; 4096]);
    let over = net.run_until(Duration::from_secs(600), |net| {
        loop {
            match net.ends[0].recv(client, &mut buf) {
                Ok(0) => return true,
                Ok(len) => page.extend_from_slice(&buf[..len]),
                Err(error) => {
                    assert_eq!(error, RecvError::WouldBlock);
                    return false;
                }
            }
        }
    });
    assert!(over && page == PAGE, "{} octets", page.len());
}

proptest! {
    #![proptest_config(cases(24))]

    /// Any mix of copied and constant data, through a link that loses and reorders: the stream is
    /// what was written.
    #[test]
    fn a_mixed_stream_arrives_as_it_was_written(
        writes in prop::collection::vec((any::<bool>(), 0usize..3000, 0usize..2000), 1..30),
        loss in 0u32..200,
        mss in 64u16..600,
        nagle: bool,
        seed: u64,
    ) {
        let mut net = Net::new(Link { loss, reorder: 100, ..PERFECT }, seed);
        let config = ConnectionConfig { mss, nagle, ..ConnectionConfig::DEFAULT };
        let [client, server] = net.open(config, config);
        let total: Vec<u8> =
            writes.iter().flat_map(|w| PAGE[w.1..w.1 + w.2].iter().copied()).collect();
        let (mut writes, mut done) = (writes.into_iter().peekable(), 0);
        let mut got = Vec::new();
        let mut buf = [0; 700];
        let ok = net.run_until(Duration::from_secs(3600), |net| {
            while let Some(&(refer, from, len)) = writes.peek() {
                let data = &PAGE[from + done..from + len];
                done += if refer {
                    net.ends[0].send_static(client, data).unwrap()
                } else {
                    net.ends[0].send(client, data).unwrap()
                };
                if done < len {
                    break;
                }
                writes.next();
                done = 0;
            }
            while let Ok(len @ 1..) = net.ends[1].recv(server, &mut buf) {
                got.extend_from_slice(&buf[..len]);
            }
            got.len() >= total.len()
        });
        prop_assert!(ok, "{} of {}", got.len(), total.len());
        prop_assert_eq!(got, total);
    }
}

#[test]
fn readiness_is_reported_once_and_again_after_it_was_used() {
    let config = ConnectionConfig { mss: 150, send_buffer: 150, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    let only = |readable, writable, closed| {
        Some(Ready::Connection(handle, Readiness { readable, writable, closed }))
    };
    assert_eq!(s.ep.poll_ready(), only(false, true, false), "accepted, and nothing sent yet");
    assert_eq!(s.ep.poll_ready(), None);
    assert_eq!(s.ep.send(handle, &[1; 150]), Ok(150));
    assert_eq!(s.ep.poll_ready(), None, "no room");
    s.take_all();
    s.give(ACK, 1, 151, b"").unwrap();
    assert_eq!(s.ep.poll_ready(), only(false, true, false));
    s.give(ACK, 1, 151, b"abcd").unwrap();
    assert_eq!(s.ep.poll_ready(), only(true, false, false));
    s.give(ACK, 5, 151, b"ef").unwrap();
    assert_eq!(s.ep.poll_ready(), None, "whoever has not read is not told twice");
    let mut buffer = [0; 4];
    assert_eq!(s.ep.recv(handle, &mut buffer), Ok(4));
    assert_eq!(s.ep.poll_ready(), only(true, false, false), "the rest");
    assert_eq!(s.ep.recv(handle, &mut buffer), Ok(2));
    // Drained and filled again between two calls.
    s.give(ACK, 7, 151, b"g").unwrap();
    assert_eq!(s.ep.poll_ready(), only(true, false, false));
    assert_eq!(s.ep.recv(handle, &mut buffer), Ok(1));
    assert_eq!(s.ep.poll_ready(), None);
    s.give(FIN | ACK, 8, 151, b"").unwrap();
    assert_eq!(s.ep.poll_ready(), only(true, false, false), "the end can be read");
    s.give(RST | ACK, 9, 151, b"").unwrap();
    assert_eq!(s.ep.poll_ready(), only(false, false, true), "and then it is over");
    assert_eq!(s.ep.poll_ready(), None);
}

#[test]
fn nothing_is_reported_of_a_connection_that_was_given_up() {
    for release in [false, true] {
        let (mut s, handle) = Script::server(plain(), Options::NONE);
        match release {
            true => s.ep.release(s.now, handle, None).unwrap(),
            false => s.ep.abort(handle).unwrap(),
        }
        s.take_all();
        assert_eq!(s.ep.poll_ready(), None);
    }
}

#[test]
fn an_own_address_that_is_gone_takes_all_with_it_and_nothing_of_others() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, b"not acknowledged").unwrap();
    assert!(s.take().is_some());
    // A half-open record with the same own address, and a connection with another one.
    (s.remote, s.isn) = (4001, 77);
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().expect("SYN-ACK").header.seq;
    let other = s.ep.connect(s.now, Pair(9, 2), 80, plain()).unwrap();
    s.take_all();
    s.ep.forget(|peer| peer.0 == 1);
    assert_eq!(s.ep.check(), Ok(()));
    assert_eq!(s.ep.state(handle), Some(State::Closed));
    assert_eq!(s.ep.info(handle).unwrap().error, Some(ConnectionError::Aborted));
    assert_eq!(s.ep.state(other), Some(State::SynSent));
    // The record of the handshake is gone.
    let _ = s.give(ACK, 1, 1, b"");
    assert!(s.ep.accept(80).is_none());
    // Nothing is sent again either: the other end gets a reset, as with any abort.
    let sent = s.take_all();
    assert!(sent.iter().all(|it| it.is(Flags::RST)), "{sent:?}");
    assert!(s.ep.deadline().is_some(), "the other one goes on");
}

#[test]
fn a_connection_in_time_wait_goes_with_its_address() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    s.take_all();
    s.give(FIN | ACK, 1, 2, b"").unwrap();
    s.take_all();
    s.ep.forget(|peer| peer.0 == 1);
    // In TIME-WAIT the FIN would be acknowledged again.
    let _ = s.give(FIN | ACK, 1, 2, b"");
    let answers = s.take_all();
    assert!(answers.iter().all(|it| it.is(Flags::RST)), "{answers:?}");
}
