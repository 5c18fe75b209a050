//! Ten seconds of Wi-Fi next to a line with RPL: with every objective function readings arrive
//! after it.

use kinglet_network::run::{Options, run};
use kinglet_scenario::Scenario;

/// Readings sent, one a second from the far end of the line.
const SENT: u64 = 1790;
const PAYLOAD: u64 = 60;
/// Readings that may be lost: those of the burst and of the half minute after it.
const LOST: u64 = 40;

fn line(objective: &str, mode: &str) -> Scenario {
    let text = format!(
        "duration_s = 1800\n[topology]\nline = {{ hops = 4 }}\n[medium]\noverlap = \"sinr-ber\"\n\
         [net]\nrouting = \"rpl\"\nrpl_objective = \"{objective}\"\nrpl_mode = \"{mode}\"\n\
         [[flow]]\nkind = \"udp-periodic\"\nfrom = 4\nto = 0\nstart_s = 10\nperiod_ms = 1000\n\
         payload_bytes = {PAYLOAD}\n[[interference]]\nsource = \"wifi-file\"\nx_m = 11\ny_m = 2\n\
         power_dbm = 0\nfrom_s = 30\nuntil_s = 40\n"
    );
    Scenario::from_toml("burst.toml", &text).expect("a scenario")
}

#[test]
fn ten_seconds_of_wifi_cost_no_more_than_their_own_readings() {
    for objective in ["of0", "mrhof"] {
        for mode in ["storing", "non-storing"] {
            for seed in 301..=305 {
                let result = run(&line(objective, mode), seed, &Options::default());
                let octets = result.expect("it can be simulated").flows[0].bytes;
                let arrived = octets.unwrap_or(0) / PAYLOAD;
                println!("{objective} {mode} {seed}: {arrived} of {SENT}");
                assert!(arrived + LOST >= SENT, "{objective} {mode} {seed}: {arrived} of {SENT}");
            }
        }
    }
}
