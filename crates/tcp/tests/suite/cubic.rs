//! A connection under CUBIC instead of New Reno.

use crate::common::*;
use kinglet_tcp::congestion::Cubic;
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant};

plan!(Other {
    congestion: Cubic,
    send: 32_768,
    receive: 32_768,
    pieces: 1,
    features: Full,
    segments: [SegmentRecord; 32],
    connections: 1,
    servers: 1,
});

/// 400 kB with a round trip of 40 ms; every `nth` segment of the sender is lost.
fn run(nth: usize) -> (Instant, Info) {
    let mut net = Network::<Other>::new(Link { per_octet: Duration::ZERO, ..PERFECT }, 1);
    net.filter = Some(Box::new(move |side, ordinal, _| side == 0 && (ordinal + 1) % nth == 0));
    let configs = [ConnectionConfig::DEFAULT; 2];
    let handles = transfer(&mut net, configs, [400_000, 0], Duration::from_secs(1_000));
    (net.now, net.ends[0].info(handles[0]).unwrap())
}

#[test]
fn losses_make_the_window_seven_tenths_and_no_stream_stalls() {
    let (clean, info) = run(usize::MAX);
    assert_eq!((info.ssthresh, info.counters.timeouts), (u32::MAX, 0));
    let (lossy, info) = run(40);
    assert!(info.ssthresh < 32_768 && info.counters.fast_recoveries > 3, "{info:?}");
    assert!(lossy > clean);
}
