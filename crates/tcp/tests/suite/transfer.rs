//! Whole transfers over links of every quality, with every octet verified.

use crate::common::*;
use kinglet_tcp::*;
use kinglet_time::Duration;
use proptest::prelude::*;

fn config(segments: usize) -> ConnectionConfig {
    let size = segments * 462;
    ConnectionConfig { mss: 474, send_buffer: size, receive_buffer: size, ..Default::default() }
}

#[test]
fn a_perfect_link_is_never_sent_anything_twice() {
    let mut net = Net::new(PERFECT, 1);
    let handles = transfer(&mut net, [config(4); 2], [50_000, 30_000], Duration::from_secs(100));
    for (end, handle) in net.ends.iter().zip(handles) {
        let counters = end.info(handle).unwrap().counters;
        assert_eq!((counters.timeouts, counters.fast_recoveries, counters.probes), (0, 0, 0));
    }
}

#[test]
fn loss_is_repaired_with_and_without_each_option() {
    for seed in 0..5 {
        for (sack, timestamps) in [(true, true), (true, false), (false, true), (false, false)] {
            let link = Link { loss: 100, duplicate: 20, reorder: 50, ..PERFECT };
            let mut net = Net::new(link, seed);
            let c = ConnectionConfig { sack, timestamps, ..config(4) };
            transfer(&mut net, [c; 2], [50_000, 3_000], Duration::from_secs(1000));
        }
    }
}

#[test]
fn buffers_that_are_not_a_multiple_of_the_mss_cost_nothing() {
    let time = |size: usize| {
        let mut net = Net::new(PERFECT, 1);
        let c = ConnectionConfig { send_buffer: size, receive_buffer: size, ..config(4) };
        transfer(&mut net, [c; 2], [60_000, 0], Duration::from_secs(100));
        net.now.as_millis()
    };
    let whole = time(4 * 462);
    for extra in [1, 100, 231, 400] {
        let odd = time(4 * 462 + extra);
        assert!(odd <= whole * 105 / 100, "{extra} octets more: {odd} ms instead of {whole} ms");
    }
}

#[test]
fn a_backed_off_rto_comes_down_after_recovery() {
    let link = Link { loss: 300, ..PERFECT };
    for seed in 0..3 {
        let mut net = Net::new(link, seed);
        // The receiver must outlast silences of many minutes.
        let c = ConnectionConfig { fin_wait_2: Duration::ZERO, ..config(4) };
        let handles = transfer(&mut net, [c; 2], [100_000, 0], Duration::from_secs(10_000));
        let rto = net.ends[0].info(handles[0]).unwrap().rto;
        assert!(rto < Duration::from_secs(2), "RTO is {rto:?}");
    }
}

#[test]
fn an_outage_is_survived_and_the_counter_of_retransmissions_restarts() {
    // Ten outages of 20 s each: more timeouts in all than max_retransmits, fewer in a row.
    let mut net = Net::new(PERFECT, 3);
    let handles = net.open(config(4), config(4));
    let mut apps = [App::new(0, handles[0], 200_000), App::new(1, handles[1], 0)];
    for _ in 0..10 {
        net.filter = None;
        let until = apps[1].got + 4000;
        assert!(net.run_until(Duration::from_secs(100), |n| {
            apps.iter_mut().for_each(|a| a.run(n));
            apps[1].got >= until
        }));
        net.filter = Some(Box::new(|_, _, _| true));
        net.run_for(Duration::from_secs(20));
    }
    let info = net.ends[0].info(handles[0]).unwrap();
    assert_eq!(info.error, None);
    assert!(info.counters.timeouts > 12, "only {} timeouts", info.counters.timeouts);
}

#[test]
fn a_lost_segment_in_a_window_of_four_is_repaired_without_a_timeout() {
    for sack in [true, false] {
        for victim in 8..14 {
            let mut net = Net::new(PERFECT, 1);
            net.filter = Some(Box::new(move |side, n, _| side == 0 && n == victim));
            // Without SACK a duplicate that also moves the window edge does not count (RFC 5681
            // §2), so a window is needed that leaves more than three duplicates.
            let c = ConnectionConfig { sack, ..config(if sack { 4 } else { 8 }) };
            let handles = transfer(&mut net, [c; 2], [20_000, 0], Duration::from_secs(100));
            let counters = net.ends[0].info(handles[0]).unwrap().counters;
            assert_eq!(counters.timeouts, 0, "sack {sack}, segment {victim}");
            assert_eq!(counters.fast_recoveries, 1);
            assert_eq!(counters.fast_retransmits, 1);
        }
    }
}

#[test]
fn two_losses_in_a_window_of_eight_need_one_recovery() {
    for sack in [true, false] {
        let mut net = Net::new(PERFECT, 1);
        net.filter = Some(Box::new(move |side, n, _| side == 0 && (n == 30 || n == 32)));
        let c = ConnectionConfig { sack, ..config(8) };
        let handles = transfer(&mut net, [c; 2], [40_000, 0], Duration::from_secs(100));
        let counters = net.ends[0].info(handles[0]).unwrap().counters;
        assert_eq!((counters.timeouts, counters.fast_recoveries), (0, 1), "sack {sack}");
        assert_eq!(counters.fast_retransmits, 2);
    }
}

//= rfc2525#2.4
#[test]
fn two_hundred_bad_links_deliver_every_octet() {
    // 20 % loss with reordering and duplication.
    for seed in 0..200 {
        let link = Link { loss: 200, duplicate: 50, reorder: 100, ..PERFECT };
        let mut net = Net::new(link, seed);
        net.keep_log = false;
        // Of four SYN-ACKs and their acknowledgments one gets through in 59 of 60 cases.
        let config = ConnectionConfig { syn_ack_retries: 7, ..config(4) };
        transfer(&mut net, [config; 2], [20_000, 0], Duration::from_secs(6000));
    }
}

fn any_config() -> impl Strategy<Value = ConnectionConfig> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (64u16..1300, 1usize..17, 1usize..17, 0usize..500);
    (flags, sizes, 0u64..300, 0u8..4, 0u8..5).prop_map(
        |((timestamps, sack, nagle), (mss, s, r, odd), ack_ms, ack_every, iw)| ConnectionConfig {
            mss,
            send_buffer: s * usize::from(mss) + odd,
            receive_buffer: r * usize::from(mss) + odd,
            timestamps,
            sack,
            nagle,
            delayed_ack: Duration::from_millis(ack_ms),
            ack_every,
            initial_window: iw,
            max_retransmits: 60,
            syn_retries: 60,
            syn_ack_retries: 60,
            rto_max: Duration::from_secs(10),
            ..Default::default()
        },
    )
}

proptest! {
    #![proptest_config(cases(400))]

    /// With any link and any size of the buffers, both streams arrive complete.
    #[test]
    fn streams_arrive_whole(
        configs in [any_config(), any_config()],
        totals in [0usize..20_000, 0usize..20_000],
        loss in 0u32..300, duplicate in 0u32..200, reorder in 0u32..500,
        delay_ms in 0u64..400, seed: u64,
    ) {
        let delay = Duration::from_millis(delay_ms);
        let mut net = Net::new(Link { loss, duplicate, reorder, delay, ..PERFECT }, seed);
        net.keep_log = false;
        transfer(&mut net, configs, totals, Duration::from_secs(40_000));
    }
}
