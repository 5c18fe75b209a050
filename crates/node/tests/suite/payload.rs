//! Payload stays in the send ring until a frame takes it: no wrong octet is ever sent. Memory use
//! of a node.

use crate::common::stream::pattern;
use crate::common::*;
use kinglet::radio::{Ack, Capabilities, Command, Event};
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig, State};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::Frame;
use kinglet::wire::sixlowpan::FragmentHeader;
use kinglet::{BorderRouter, Mote, Node, Router};
use std::collections::BTreeMap;

/// With the radio's CSMA-CA a frame can leave whenever it is requested.
fn radio() -> Capabilities {
    usual() | Capabilities::CSMA
}

/// Returns the next frame of `node`, which counts as delivered.
fn pull(now: Instant, node: &mut Node<Mote>) -> Option<Vec<u8>> {
    pull_unless(now, node, |_| false).map(|(frame, _)| frame)
}

/// Returns the next frame of `node`, and whether it counts as delivered.
fn pull_unless(
    now: Instant,
    node: &mut Node<Mote>,
    lost: impl Fn(&[u8]) -> bool,
) -> Option<(Vec<u8>, bool)> {
    loop {
        let submission = node.poll_radio(now)?;
        if let Command::Transmit { .. } = submission.command {
            let frame = submission.frame.to_vec();
            let lost = lost(&frame);
            let ack = if lost { Ack::Missing } else { Ack::Received { frame_pending: false } };
            // So long ago that the interframe spacing is over.
            let sfd = now - Duration::from_millis(10);
            node.handle_radio(now, Event::Transmitted { sfd, ack }, &mut []);
            return Some((frame, !lost));
        }
    }
}

fn give(now: Instant, node: &mut Node<Mote>, frame: &[u8]) {
    let len = frame.len() as u8;
    let event = Event::Received { sfd: now, len, rssi_dbm: -60, lqi: 200, acked: true };
    node.handle_radio(now, event, &mut frame.to_vec());
}

/// Returns both ends of an established connection.
fn connected(now: Instant, mss: u16) -> ([Box<Node<Mote>>; 2], [Handle; 2]) {
    let mut nodes = [1, 2].map(|n| node::<Mote>(n, 1, 2, radio()));
    let config = unpaced(mss);
    nodes[1]
        .streams()
        .listen(80, ListenConfig { backlog: 1, connection: config, ..ListenConfig::default() })
        .unwrap();
    let client = nodes[0].streams().connect(now, global(2), 80, config).unwrap();
    for from in [0, 1, 0] {
        let frame = pull(now, &mut nodes[from]).unwrap();
        give(now, &mut nodes[1 - from], &frame);
    }
    let server = nodes[1].streams().accept(80).unwrap();
    assert_eq!(nodes[0].tcp().state(client), Some(State::Established));
    (nodes, [client, server])
}

fn fragment(frame: &[u8]) -> Option<(FragmentHeader, Vec<u8>)> {
    let payload = Frame::parse(frame).unwrap().payload().to_vec();
    let (header, rest) = FragmentHeader::parse(&payload).ok()?;
    Some((header, rest.to_vec()))
}

/// The whole window is sent at once, and segments have timestamps.
fn unpaced(mss: u16) -> ConnectionConfig {
    ConnectionConfig {
        mss,
        nagle: false,
        timestamps: true,
        pacing: false,
        ..ConnectionConfig::DEFAULT
    }
}

#[test]
fn payload_that_was_acknowledged_and_overwritten_between_fragments_does_not_go_out() {
    let mut now = Instant::from_secs(1);
    let (mut nodes, [client, server]) = connected(now, 1220);
    let octets = |range: core::ops::Range<usize>| range.map(|i| pattern(1, i)).collect::<Vec<_>>();
    // One full segment reaches the peer, whose acknowledgement is delayed.
    let segment = 1_208;
    assert_eq!(nodes[0].streams().send(client, &octets(0..segment)), Ok(segment));
    let mut sent = BTreeMap::new();
    while let Some(frame) = pull(now, &mut nodes[0]) {
        let (header, octets) = fragment(&frame).unwrap();
        sent.insert(header.offset, octets);
        give(now, &mut nodes[1], &frame);
    }
    assert!(sent.len() > 10);
    let mut read = vec![0; 4_000];
    assert_eq!(nodes[1].streams().recv(server, &mut read), Ok(segment));
    now += Duration::from_millis(150);
    nodes[1].handle_deadline(now);
    let ack = pull(now, &mut nodes[1]).unwrap();
    // The sender's timer expires, and it begins to retransmit the segment.
    now += Duration::from_secs(5);
    nodes[0].handle_deadline(now);
    let again: Vec<_> = (0..4).map(|_| pull(now, &mut nodes[0]).unwrap()).collect();
    let (first, _) = fragment(&again[0]).unwrap();
    assert_eq!(first.offset, None);
    // Now the acknowledgement arrives, and the application fills the ring with other data.
    give(now, &mut nodes[0], &ack);
    assert_eq!(nodes[0].tcp().info(client).unwrap().bytes_in_flight, 0);
    assert_eq!(nodes[0].streams().send(client, &octets(segment..segment + 2_000)), Ok(2_000));
    let mut old = again;
    let mut new = Vec::new();
    while let Some(frame) = pull(now, &mut nodes[0]) {
        match fragment(&frame) {
            Some((header, _)) if header.tag == first.tag => old.push(frame),
            _ => new.push(frame),
        }
    }
    // Frames that were written before may be sent, and they are right.
    assert!(old.len() < sent.len(), "the rest must not go out");
    for frame in &old[1..] {
        let (header, octets) = fragment(frame).unwrap();
        assert_eq!(sent.get(&header.offset), Some(&octets), "offset {:?}", header.offset);
    }
    assert_eq!(nodes[0].net().stats().stale, 1);
    // The peer has every octet as it was written.
    old.iter().chain(&new).for_each(|frame| give(now, &mut nodes[1], frame));
    let len = nodes[1].streams().recv(server, &mut read[segment..]).unwrap();
    assert!(len >= 1_208);
    assert_eq!(read[..segment + len], octets(0..segment + len));
}

#[test]
fn a_segment_of_which_the_link_gives_up_a_frame_goes_again_at_once() {
    let now = Instant::from_secs(1);
    let (mut nodes, [client, server]) = connected(now, 1220);
    let before = nodes[0].tcp().info(client).unwrap();
    let octets: Vec<u8> = (0..1_000).map(|i| pattern(1, i)).collect();
    assert_eq!(nodes[0].streams().send(client, &octets), Ok(1_000));
    let first = pull(now, &mut nodes[0]).unwrap();
    give(now, &mut nodes[1], &first);
    let tag = fragment(&first).unwrap().0.tag;
    // No further frame of this datagram arrives, however often the MAC tries. No time passes, so no
    // timer can help.
    let lost = |frame: &[u8]| fragment(frame).is_some_and(|(header, _)| header.tag == tag);
    let mut tries = 0;
    while let Some((frame, delivered)) = pull_unless(now, &mut nodes[0], lost) {
        match delivered {
            true => give(now, &mut nodes[1], &frame),
            false => tries += 1,
        }
    }
    assert!(tries > 0);
    let mut read = [0; 1_000];
    assert_eq!(nodes[1].streams().recv(server, &mut read), Ok(1_000));
    assert_eq!(read[..], octets);
    let info = nodes[0].tcp().info(client).unwrap();
    assert_eq!((info.cwnd, info.ssthresh), (before.cwnd, before.ssthresh), "no congestion");
    assert_eq!((info.counters.fast_recoveries, info.counters.timeouts), (0, 0));
    assert_eq!(info.counters.fast_retransmits, 1);
}

#[test]
fn a_reboot_changes_the_tag_of_the_first_datagram() {
    let tag = |boot| {
        let mut node = node::<Mote>(1, boot, 2, radio());
        node.datagrams().ping(Instant::from_secs(1), global(2), 1, 1, &[0; 500]).unwrap();
        fragment(&pull(Instant::from_secs(1), &mut node).unwrap()).unwrap().0.tag
    };
    let tags: std::collections::BTreeSet<_> = (0..100).map(tag).collect();
    assert!(tags.len() > 95, "{} different tags", tags.len());
}

#[test]
fn a_node_is_a_constant_and_keeps_to_its_memory() {
    // Const-constructible: a firmware keeps it in `.bss` or `.data`.
    static NODE: std::sync::Mutex<Node<Mote>> =
        std::sync::Mutex::new(Node::new(kinglet::Config::repeatable(1, [0; 8], 1, [1; 16]), NONE));
    const NONE: Capabilities = Capabilities::NONE;
    assert_eq!(NODE.lock().unwrap().deadline(), None);
    // Bounds for a 64-bit host, where pointers, lengths and paddings are twice as long.
    let [mote, router, border] =
        [size_of::<Node<Mote>>(), size_of::<Node<Router>>(), size_of::<Node<BorderRouter>>()];
    assert!(mote <= 24 * 1024, "{mote}");
    assert!(router <= 36 * 1024, "{router}");
    assert!(border <= 96 * 1024, "{border}");
}

#[test]
fn a_segment_of_so_many_frames_takes_so_many_frames() {
    for frames in 1..=8 {
        let now = Instant::from_secs(1);
        let mut nodes = [1, 2].map(|n| node::<Mote>(n, 1, 2, radio()));
        let mss = nodes[0].mss_for_frames(global(2), frames).unwrap();
        let config = unpaced(mss);
        nodes[1]
            .streams()
            .listen(80, ListenConfig { backlog: 1, connection: config, ..ListenConfig::default() })
            .unwrap();
        let client = nodes[0].streams().connect(now, global(2), 80, config).unwrap();
        for from in [0, 1, 0] {
            let frame = pull(now, &mut nodes[from]).unwrap();
            give(now, &mut nodes[1 - from], &frame);
        }
        let payload = nodes[0].tcp().info(client).unwrap().mss as usize;
        assert_eq!(payload, usize::from(mss) - 12, "timestamps are part of it");
        assert_eq!(nodes[0].streams().send(client, &vec![7; payload]), Ok(payload));
        let sent = std::iter::from_fn(|| pull(now, &mut nodes[0])).count();
        // Neighbours need fewer octets of header than the worst hop, for which the MSS is chosen.
        assert!(sent <= usize::from(frames) && sent + 1 >= usize::from(frames), "{sent}/{frames}");
    }
}

#[test]
fn the_default_segment_size_is_five_frames_from_any_peer() {
    let now = Instant::from_secs(1);
    let (nodes, [client, server]) = connected(now, 0);
    let [up, down] = [(0, client), (1, server)].map(|(n, handle)| {
        let info = nodes[n].tcp().info(handle).unwrap();
        assert_eq!(info.mss, u32::from(info.mss_limit) - 12, "timestamps are part of it");
        info.mss_limit
    });
    let mss = |to: &str, frames| nodes[1].mss_for_frames(to.parse().unwrap(), frames).unwrap();
    assert_eq!((up, down), (mss("2600:1:2:3:4:5:6:7", 5), up), "as much as from a stranger");
    assert!(mss("2001:db8::1", 4) < down && down <= mss("2001:db8::1", 5), "{down}");
}

#[test]
fn the_class_of_five_frames_is_that_of_the_paper() {
    let node = node::<Mote>(1, 1, 2, radio());
    // 462 octets of payload and 12 of timestamps (TCPlp §6.1) fit; six frames would be wasted.
    let mss = |frames| node.mss_for_frames(global(2), frames).unwrap();
    assert!(mss(4) < 474 && mss(5) >= 474, "{} {}", mss(4), mss(5));
    assert_eq!(node.mss_for_frames("2001:db8::1".parse().unwrap(), 0), None);
}

#[test]
fn the_frames_of_a_segment_can_be_changed_while_a_connection_lasts() {
    let now = Instant::from_secs(1);
    let (mut nodes, [client, server]) = connected(now, 1220);
    for frames in [3, 1, 5, 2] {
        nodes[0].streams().set_segment_frames(client, frames).unwrap();
        let payload = nodes[0].tcp().info(client).unwrap().mss as usize;
        assert_eq!(nodes[0].streams().send(client, &vec![7; payload]), Ok(payload));
        let sent: Vec<_> = std::iter::from_fn(|| pull(now, &mut nodes[0])).collect();
        assert!(sent.len() <= usize::from(frames) && sent.len() + 1 >= usize::from(frames));
        sent.iter().for_each(|frame| give(now, &mut nodes[1], frame));
        assert_eq!(nodes[1].streams().recv(server, &mut [0; 1280]), Ok(payload));
        nodes[1].streams().acknowledge(server).unwrap();
        let ack = pull(now, &mut nodes[1]).unwrap();
        give(now, &mut nodes[0], &ack);
    }
    let mss = nodes[0].tcp().info(client).unwrap().mss;
    assert!(nodes[0].streams().set_segment_frames(client, 0).is_err());
    assert_eq!(nodes[0].tcp().info(client).unwrap().mss, mss);
}
