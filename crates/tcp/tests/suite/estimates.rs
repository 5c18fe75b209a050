//! Connections whose congestion control uses estimates of the path.

use crate::common::*;
use kinglet_tcp::congestion::{RateSampled, Westwood};
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant};

plan!(ByBandwidth {
    congestion: Westwood,
    send: 32_768,
    receive: 32_768,
    pieces: 1,
    features: Full,
    segments: [SegmentRecord; 32],
    connections: 1,
    servers: 1,
});

plan!(ByRate {
    congestion: RateSampled,
    send: 32_768,
    receive: 32_768,
    pieces: 1,
    features: WithPolicies,
    segments: [SegmentRecord; 32],
    connections: 1,
    servers: 1,
});

/// 200 kB over a link of 100 kB/s and 20 ms; every `nth` segment of the sender is lost.
fn run<S: Sizes>(nth: usize, config: ConnectionConfig) -> (Instant, Info) {
    let link = Link { per_octet: Duration::from_micros(10), ..PERFECT };
    let mut net = Network::<S>::new(link, 1);
    net.filter = Some(Box::new(move |side, ordinal, _| side == 0 && (ordinal + 1) % nth == 0));
    let handles = transfer(&mut net, [config; 2], [200_000, 0], Duration::from_secs(1_000));
    (net.now, net.ends[0].info(handles[0]).unwrap())
}

const CONFIGS: [ConnectionConfig; 2] = [
    ConnectionConfig::DEFAULT,
    ConnectionConfig { sack: false, fast_recovery: false, ..ConnectionConfig::DEFAULT },
];

#[test]
fn no_stream_stalls_whatever_is_lost() {
    for config in CONFIGS {
        for nth in [usize::MAX, 40, 7] {
            run::<ByBandwidth>(nth, config);
            run::<ByRate>(nth, config);
        }
    }
}

#[test]
fn a_clean_path_has_its_product_in_flight_and_no_queue() {
    // 40 ms there and back, and 12 ms of a segment: 5 kB.
    let (_, info) = run::<ByRate>(usize::MAX, ConnectionConfig::DEFAULT);
    assert!((4_000..12_000).contains(&info.cwnd), "{info:?}");
    assert!(info.srtt < Duration::from_millis(130), "{info:?}");
}

#[test]
fn after_a_loss_the_threshold_is_what_the_path_holds() {
    let (_, info) = run::<ByBandwidth>(60, ConnectionConfig::DEFAULT);
    assert!((2_440..9_000).contains(&info.ssthresh), "{info:?}");
}
