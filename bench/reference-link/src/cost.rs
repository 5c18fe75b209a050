//! CPU cost of a received segment without loss: instructions, and speed in memory.

use crate::option;
use crate::rows::{Row, Stack};
use serde_json::{Value, json};
use std::process::Command;

/// Rows with five frames; the last two with 16-bit addresses.
const NAMES: [&str; 8] = [
    "kinglet",
    "kinglet-no-timestamps",
    "kinglet-ack-each",
    "smoltcp",
    "lwip",
    "lwip-timestamps",
    "kinglet-short",
    "tcplp",
];
/// Simulated seconds of the two runs whose difference counts.
const SHORT: u64 = 20;
const LONG: u64 = 80;
/// A frame time so short that only CPU work remains, in microseconds; and the duration of such a
/// run in virtual seconds: 300,000 frames.
const BUSY_FRAME_US: u64 = 10;
const BUSY_SECONDS: u64 = 3;
/// Number of runs; only the fastest counts, as disturbances only slow a run down.
const RUNS: usize = 5;

/// One run in a separate process, under `prefix`; returns its line of JSON and its standard error.
fn run(prefix: &[&str], name: &str, more: &[&str]) -> Result<(Value, String), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let this = this.to_str().ok_or("this executable's path is not UTF-8")?;
    let words = [prefix, &[this, "run", name, "--unchecked"], more].concat();
    let (program, words) = words.split_first().ok_or("nothing to run")?;
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(said);
    }
    let line = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok((line, said))
}

/// Octets received, and instructions that the sink spent on them.
fn collect(name: &str, seconds: u64) -> Result<(u64, u64), String> {
    let callgrind = [
        "valgrind",
        "--tool=callgrind",
        "--toggle-collect=*sink_call*",
        "--callgrind-out-file=/dev/null",
    ];
    let (line, said) = run(&callgrind, name, &["--seconds", &seconds.to_string()])?;
    let collected = said.lines().find_map(|text| text.split("Collected : ").nth(1));
    let collected = collected.and_then(|text| text.trim().parse().ok());
    let collected = collected.ok_or_else(|| format!("callgrind said: {said}"))?;
    Ok((line["received"].as_u64().unwrap_or(0), collected))
}

/// Instructions per segment, received in five frames and acknowledged.
fn instructions(name: &str, payload: u64) -> Result<f64, String> {
    let (octets_short, short) = collect(name, SHORT)?;
    let (octets_long, long) = collect(name, LONG)?;
    let segments = (octets_long - octets_short) as f64 / payload as f64;
    Ok((long - short) as f64 / segments)
}

/// Megabytes per second of wall time, both ends on one core.
fn throughput(name: &str) -> Result<f64, String> {
    let (frame, seconds) = (BUSY_FRAME_US.to_string(), BUSY_SECONDS.to_string());
    let mut best = 0.0_f64;
    for _ in 0..RUNS {
        let (line, _) = run(&[], name, &["--frame-us", &frame, "--seconds", &seconds])?;
        let octets = line["received"].as_f64().unwrap_or(0.0);
        best = best.max(octets / 1e6 / line["wall_s"].as_f64().unwrap_or(f64::INFINITY));
    }
    Ok(best)
}

pub fn command(arguments: &[String]) -> Result<(), String> {
    let rows = NAMES.iter().filter_map(|name| Row::named(name)).filter(|row| row.is_built());
    println!("| stack | payload | instructions per received segment | MB/s in memory |");
    println!("|---|---|---|---|");
    let mut results = vec![];
    for row in rows {
        let without = matches!(row.stack, Stack::Smoltcp | Stack::SmoltcpFourSlots);
        let timestamps = row.setup.timestamps && !without;
        let payload = u64::from(row.setup.mss) - if timestamps { 12 } else { 0 };
        let count = instructions(row.name, payload)?;
        let speed = throughput(row.name)?;
        println!("| {} | {payload} | {count:.0} | {speed:.1} |", row.name);
        results.push(json!({
            "name": row.name,
            "payload": payload,
            "instructions_per_segment": count,
            "megabytes_per_second": speed,
        }));
    }
    if let Some(path) = option(arguments, "--json") {
        let text = serde_json::to_string_pretty(&json!({ "cost": results }));
        let text = text.map_err(|error| error.to_string())? + "\n";
        std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}
