//! Three-hop TCP for a long time with many seeds: no crash, no wrong octet, no stall.
//!
//! `cargo run --release -p kinglet-lab --example soak [-- SEEDS SECONDS]`, by default 100 seeds of
//! 3,000 simulated seconds each.

use kinglet_lab::run::{Options, run};
use kinglet_lab::scenario::{Flow, LINE_SPACING_M, Scenario};
use rayon::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let (seeds, seconds) = match (numbers.next(), numbers.next()) {
        (None, None) => (100, 3_000),
        (Some(Ok(seeds)), Some(Ok(seconds))) => (seeds, seconds),
        _ => {
            eprintln!("usage: soak [SEEDS SECONDS]");
            return ExitCode::from(2);
        }
    };
    let mut scenario = Scenario { duration_s: f64::from(seconds), ..Scenario::default() }
        .on_line(3, LINE_SPACING_M);
    scenario.flows.push(Flow::bulk(3, 0));
    let clock = std::time::Instant::now();
    let flows: Vec<_> = (0..u64::from(seeds))
        .into_par_iter()
        .filter_map(|seed| run(&scenario, seed, &Options::default()).ok()?.flows.pop())
        .collect();
    let bytes: u64 = flows.iter().map(|flow| flow.bytes).sum();
    let slowest = flows.iter().map(|flow| flow.goodput_kbps).fold(f64::INFINITY, f64::min);
    let wrong = flows.iter().filter(|flow| !flow.intact).count();
    println!(
        "{} of {seeds} runs of {seconds} s ended; {bytes} octets, {wrong} runs with a wrong one; \
         slowest {slowest:.1} kb/s; {:.0} s wall",
        flows.len(),
        clock.elapsed().as_secs_f64()
    );
    if flows.len() == seeds as usize && wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
