//! A connection under CUBIC instead of New Reno.

mod common;

use common::*;
use kinglet_tcp::congestion::Cubic;
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant, earliest};

struct Other;
impl Sizes for Other {
    type Congestion = Cubic;
    type SendBuffer = [u8; 32_768];
    type Pieces = [Piece; 1];
    type ReceiveBuffer = [u8; 32_768];
    type ReceiveMap = [u8; 4096];
    type Segments = [SegmentRecord; 32];
    type Connections<K: Peer> = [Slot<K, Self>; 1];
    type Listeners = [Option<Listener>; 1];
    type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 1];
    type TimeWait<K: Peer> = [Option<TimeWait<K>>; 1];
    type Servers<K: Peer> = [Option<KnownServer<K>>; 1];
}

/// 400 kB with a round trip of 40 ms; every `nth` segment of the sender is lost.
fn transfer(nth: usize) -> (Instant, Info) {
    let mut ends: [Endpoint<Pair, Other>; 2] =
        [Endpoint::new(Config::new([1; 16])), Endpoint::new(Config::new([2; 16]))];
    let mut now = Instant::from_secs(1);
    ends[1].listen(80, ListenConfig::default()).unwrap();
    let client = ends[0].connect(now, Net::pair(0), 80, Default::default()).unwrap();
    let mut flying: Vec<(Instant, usize, Vec<u8>)> = Vec::new();
    let (mut got, mut sent, mut server) = (0, 0, None);
    while got < 400_000 {
        assert!(now < Instant::from_secs(1000), "{got}");
        for side in 0..2 {
            while let Some(packet) = ends[side].poll_packet(now) {
                let mut octets = packet.header.to_vec();
                let header = octets.len();
                octets.resize(header + usize::from(packet.payload.len), 0);
                if octets.len() > header {
                    ends[side].read_payload(packet.payload, 0, &mut octets[header..]).unwrap();
                }
                sent += usize::from(side == 0);
                if side == 1 || sent % nth != 0 {
                    flying.push((now + Duration::from_millis(20), 1 - side, octets));
                }
            }
        }
        let deadline = earliest(ends[0].deadline(), ends[1].deadline());
        now = earliest(deadline, flying.first().map(|f| f.0)).unwrap().max(now);
        while flying.first().is_some_and(|(at, ..)| *at <= now) {
            let (_, to, octets) = flying.remove(0);
            let _ = ends[to].handle_packet(now, Net::pair(to), Ecn::NotEct, &octets);
        }
        for end in &mut ends {
            if end.deadline().is_some_and(|at| at <= now) {
                end.handle_deadline(now);
            }
        }
        while let Ok(1..) = ends[0].send(client, &[7; 999]) {}
        server = server.or_else(|| ends[1].accept(80));
        let mut buf = [0; 4096];
        while let Some(Ok(len @ 1..)) = server.map(|server| ends[1].recv(server, &mut buf)) {
            got += len;
        }
    }
    (now, ends[0].info(client).unwrap())
}

#[test]
fn losses_make_the_window_seven_tenths_and_no_stream_stalls() {
    let (clean, info) = transfer(usize::MAX);
    assert_eq!((info.ssthresh, info.counters.timeouts), (u32::MAX, 0));
    let (lossy, info) = transfer(40);
    assert!(info.ssthresh < 32_768 && info.counters.fast_recoveries > 3, "{info:?}");
    assert!(lossy > clean);
}
