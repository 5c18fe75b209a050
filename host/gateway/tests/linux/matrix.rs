//! The cases: features that Linux offers and accepts.

use crate::bridge::{Bridge, HOST, LINUX_PORT, TUN};
use crate::host;
use kinglet_gateway::tun::{self, TunConfig};
use std::time::{Duration, Instant};

/// Settings of Linux's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    pub(crate) ecn: bool,
    pub(crate) fast_open: bool,
}

/// Octets that each end of a long connection sends.
const LONG: usize = 2_000_000;
/// Octets of a short connection before it, which provides a Fast Open cookie.
const SHORT: usize = 1_000;
/// Longest time of a case: 4 MB at 2 % loss take three seconds on an idle machine, a minute on one
/// with six busy threads to two cores.
const PATIENCE: Duration = Duration::from_secs(300);

fn cases(all: bool) -> Vec<Case> {
    let bit = |n: u8, bit: u8| n >> bit & 1 == 1;
    let case =
        |n| Case { sack: bit(n, 0), timestamps: bit(n, 1), ecn: bit(n, 2), fast_open: bit(n, 3) };
    // All features; none; SACK and Fast Open; timestamps and ECN.
    if all { (0..16).rev().map(case).collect() } else { [15, 0, 9, 6].map(case).to_vec() }
}

impl Case {
    fn set_up(self) {
        let set = |name: &str, value: &str| {
            let path = format!("/proc/sys/net/ipv4/{name}");
            std::fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
        };
        let flag = |on| if on { "1" } else { "0" };
        set("tcp_sack", flag(self.sack));
        set("tcp_timestamps", flag(self.timestamps));
        set("tcp_ecn", flag(self.ecn));
        // For clients, for servers, and for every listener by default.
        set("tcp_fastopen", if self.fast_open { "1027" } else { "0" });
        // A lost SYN with data must not end Fast Open for an hour.
        set("tcp_fastopen_blackhole_timeout_sec", "0");
        // Metrics of one case must not affect the next; Fast Open cookies are kept all the same.
        set("tcp_no_metrics_save", "1");
    }
}

pub(crate) fn run(all: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (name, address, prefix_len) = (TUN.to_owned(), HOST, 64);
        let config = TunConfig { name, address, prefix_len, mesh: HOST, mtu: 1280 };
        let device = tun::create(&config, tun::GATEWAY).await.unwrap();
        for (number, case) in cases(all).into_iter().enumerate() {
            case.set_up();
            let began = Instant::now();
            let mut bridge = Bridge::new(&device, number as u64, case);
            for total in [SHORT, LONG] {
                let server = host::listen(LINUX_PORT, total);
                let client = host::connect(case.fast_open, total);
                bridge.connect(total);
                bridge.expect(total);
                let done = bridge.serve(PATIENCE).await;
                assert!(done, "not done after {PATIENCE:?}: {}", bridge.status());
                let expected = [host::digest(total, host::TO_LINUX); 2];
                let digests = [server.join(), client.join()].map(|thread| thread.unwrap());
                assert_eq!(digests, expected, "what Linux has read");
            }
            bridge.judge();
            eprintln!("{case:?}: {:.1} s; {}", began.elapsed().as_secs_f64(), bridge.summary());
        }
    });
}
