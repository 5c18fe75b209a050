//! Long runs for failures that tests are too short to find. By default all:
//!
//! * `connections`: 10,000 runs of two TCP endpoints over a bad link (`kinglet_testkit::pair`):
//!   about a minute of wall time;
//! * `network`: TCP over three simulated hops, 100 seeds of 3,000 virtual seconds each;
//! * `sleepy`: 1,000 networks with sleepy leaves and failures (`sleepy.rs`);
//! * `asleep`: 1,000 networks whose relays are duty-cycled (`asleep.rs`);
//! * `attacked`: 1,000 networks under attack from outside (`attacked.rs`);
//! * `deaths`: a day of two buildings whose routers fail and return (`deaths.rs`).
//!
//! `cargo run --release -p kinglet-network --example soak [-- connections [FIRST [COUNT]]]`
//! `cargo run --release -p kinglet-network --example soak -- network [SEEDS [SECONDS]]`
//! `cargo run --release -p kinglet-network --example soak -- sleepy [FIRST [COUNT]]`
//! `cargo run --release -p kinglet-network --example soak -- asleep [FIRST [COUNT]]`
//! `cargo run --release -p kinglet-network --example soak -- attacked [FIRST [COUNT]]`
//! `cargo run --release -p kinglet-network --example soak -- deaths [FIRST [COUNT]]`
//! `cargo run --release -p kinglet-network --example soak -- replay SEED`: one connection, with
//! every segment on standard error.

mod asleep;
mod attacked;
mod deaths;
mod sleepy;

use kinglet_network::run::{Options, run};
use kinglet_scenario::{Flow, LINE_SPACING_M, Scenario};
use kinglet_tcp::congestion::NewReno;
use kinglet_testkit::pair::{self, Report, Seeded};
use rayon::prelude::*;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default| words.get(at).map_or(Ok(default), |word| word.parse::<u64>());
    let (Ok(first), Ok(second)) = (number(1, 0), number(2, 0)) else { return usage() };
    let given = |value: u64, default| if value == 0 { default } else { value };
    let good = match words.first().map(String::as_str) {
        None => connections(0, 10_000) & network(100, 3_000) & every_life(),
        Some("connections") => connections(first, given(second, 10_000)),
        Some("network") => network(given(first, 100), given(second, 3_000)),
        Some("sleepy") => lives("sleepy", sleepy::live, first, given(second, 1_000)),
        Some("asleep") => lives("asleep", asleep::live, first, given(second, 1_000)),
        Some("attacked") => lives("attacked", attacked::live, first, given(second, 1_000)),
        Some("deaths") => lives("deaths", deaths::live, first, given(second, 2)),
        Some("replay") => {
            println!("{:?}", one(first, true));
            true
        }
        Some(_) => return usage(),
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: soak [connections [FIRST [COUNT]] | network [SEEDS [SECONDS]] | \
         sleepy [FIRST [COUNT]] | asleep [FIRST [COUNT]] | attacked [FIRST [COUNT]] | \
         deaths [FIRST [COUNT]] | replay SEED]"
    );
    ExitCode::from(2)
}

fn one(seed: u64, trace: bool) -> Report {
    pair::run::<NewReno>(&mut Seeded::new(seed), trace)
}

/// Runs `count` seeds; each failure is reported with the command that repeats it.
fn connections(first: u64, count: u64) -> bool {
    let clock = Instant::now();
    let attempt = |seed| catch_unwind(|| one(seed, false)).map_err(|_| seed);
    let results: Vec<_> = (first..first + count).into_par_iter().map(attempt).collect();
    let mut total = Report::default();
    results.iter().flatten().for_each(|&report| total += report);
    let failed: Vec<u64> = results.iter().filter_map(|result| result.err()).collect();
    for seed in &failed {
        println!("FAILED: cargo run --release -p kinglet-network --example soak -- replay {seed}");
    }
    println!(
        "{} of {count} runs were right: {} connections, {} of them whole, {} ends with an error, \
         {} reboots; {} octets in {} segments, {} of those lost, {} SYNs with data, {} timeouts; \
         {} virtual hours in {:.0} s",
        count - failed.len() as u64,
        total.connections,
        total.whole,
        total.errors,
        total.reboots,
        total.octets,
        total.segments,
        total.lost,
        total.fast_opens,
        total.timeouts,
        total.virtual_ms / 3_600_000,
        clock.elapsed().as_secs_f64()
    );
    failed.is_empty()
}

/// Three hops, one flow.
fn network(seeds: u64, seconds: u64) -> bool {
    let mut scenario =
        Scenario { duration_s: seconds as f64, ..Scenario::default() }.on_line(3, LINE_SPACING_M);
    scenario.flows.push(Flow::bulk(3, 0));
    let clock = Instant::now();
    let flows: Vec<_> = (0..seeds)
        .into_par_iter()
        .filter_map(|seed| run(&scenario, seed, &Options::default()).ok()?.flows.pop())
        .collect();
    let bytes: u64 = flows.iter().filter_map(|flow| flow.bytes).sum();
    let slowest = flows.iter().filter_map(|flow| flow.goodput_kbps).fold(f64::INFINITY, f64::min);
    let wrong = flows.iter().filter(|flow| !flow.is_intact()).count();
    println!(
        "{} of {seeds} runs of {seconds} s ended; {bytes} octets, {wrong} runs with a wrong one; \
         slowest {slowest:.1} kb/s; {:.0} s wall",
        flows.len(),
        clock.elapsed().as_secs_f64()
    );
    flows.len() as u64 == seeds && wrong == 0
}

fn every_life() -> bool {
    lives("sleepy", sleepy::live, 0, 1_000)
        & lives("asleep", asleep::live, 0, 1_000)
        & lives("attacked", attacked::live, 0, 1_000)
        & lives("deaths", deaths::live, 0, 2)
}

/// Networks of sleepy nodes, or networks under attack.
fn lives(
    name: &str,
    live: impl Fn(u64) -> Result<(), String> + Sync + RefUnwindSafe,
    first: u64,
    count: u64,
) -> bool {
    let clock = Instant::now();
    let results: Vec<_> = (first..first + count)
        .into_par_iter()
        .map(|seed| (seed, catch_unwind(|| live(seed))))
        .collect();
    let mut wrong = 0;
    for (seed, result) in results {
        let what = match result {
            Ok(Ok(())) => continue,
            Ok(Err(what)) => what,
            Err(_) => "a panic".to_owned(),
        };
        wrong += 1;
        println!("FAILED: soak -- {name} {seed} 1: {what}");
    }
    println!(
        "{} of {count} {name} networks were right; {:.0} s wall",
        count - wrong,
        clock.elapsed().as_secs_f64()
    );
    wrong == 0
}
