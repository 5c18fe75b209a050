//! ECN end to end (RFC 3168 §6.1); `tests/packetdrill/ecn` tests single segments.

use crate::common::*;
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::{Flags, Segment};

/// 40 kB from the client over a link that marks `mark` of a thousand segments and loses `loss`.
fn transfer(ask: bool, mark: u32, loss: u32, seed: u64) -> (Net, Info) {
    let mut net = Net::new(Link { mark, loss, ..PERFECT }, seed);
    let config = ConnectionConfig { ecn: ask, mss: 400, ..Default::default() };
    net.ends[1].listen(80, ListenConfig::default()).unwrap();
    let client = net.ends[0].connect(net.now, Net::pair(0), 80, config).unwrap();
    let octet = |at: usize| (at % 251) as u8;
    let (mut put, mut got, mut server) = (0, 0, None);
    let done = net.run_until(Duration::from_secs(600), |net| {
        let piece: Vec<u8> = (put..40_000).take(1000).map(octet).collect();
        put += net.ends[0].send(client, &piece).unwrap_or(0);
        server = server.or_else(|| net.ends[1].accept(80));
        let Some(server) = server else { return false };
        let mut buf = [0; 999];
        while let Ok(len @ 1..) = net.ends[1].recv(server, &mut buf) {
            assert!(buf[..len].iter().enumerate().all(|(i, o)| *o == octet(got + i)));
            got += len;
        }
        got == 40_000
    });
    assert!(done, "only {got} octets arrived");
    let info = net.ends[0].info(client).unwrap();
    (net, info)
}

fn sent_with(net: &Net, side: usize, flag: Flags) -> usize {
    let of_side = net.log.iter().filter(|(_, from, _)| *from == side);
    of_side
        .filter(|(.., octets)| Segment::parse(octets).unwrap().header.flags.contains(flag))
        .count()
}

#[test]
fn marks_slow_a_sender_down_without_a_retransmission() {
    let (plain, info) = transfer(true, 0, 0, 1);
    assert!(info.ecn && info.counters.marks == 0);
    let (marked, info) = transfer(true, 200, 0, 1);
    let counters = info.counters;
    assert!(counters.marks > 5, "{counters:?}");
    assert_eq!(
        (counters.timeouts, counters.fast_retransmits, counters.timeout_retransmits),
        (0, 0, 0)
    );
    assert!(marked.now - Instant::ZERO > plain.now - Instant::ZERO, "and it does slow down");
    // One CWR for each reduction; the SYN has the flag too, and the last may have met no new data.
    let cwr = sent_with(&marked, 0, Flags::CWR) - 1;
    let reduced = counters.marks as usize;
    assert!(cwr == reduced || cwr + 1 == reduced, "{cwr} of {reduced}");
    assert!(sent_with(&marked, 1, Flags::ECE) > reduced);
}

#[test]
fn a_link_that_marks_everything_still_lets_data_through() {
    let (_, info) = transfer(true, 1000, 0, 2);
    assert_eq!(info.cwnd, info.mss, "one segment, then one per RTO");
    assert_eq!(info.counters.timeouts, 0);
}

#[test]
fn without_agreement_nothing_is_marked() {
    let (net, info) = transfer(false, 1000, 0, 3);
    assert!(!info.ecn && info.counters.marks == 0);
    assert_eq!(sent_with(&net, 0, Flags::CWR) + sent_with(&net, 1, Flags::ECE), 0);
}

#[test]
fn marks_and_losses_together_do_no_harm() {
    for seed in 0..20 {
        transfer(true, 300, 100, seed);
    }
}
