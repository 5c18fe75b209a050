//! Comparison of TCP stacks on one simulated 802.15.4 link; see `README.md`.

mod cost;
mod kinglet;
mod link;
mod loss;
#[cfg(lwip)]
mod lwip;
mod picture;
mod rows;
mod smoltcp;
mod station;
mod table;
#[cfg(tcplp)]
mod tcplp;

use link::{Conditions, Outcome};
use loss::Model;
use rows::Row;
use station::Role;
use std::process::ExitCode;

const USAGE: &str = "reference-link table [OPTIONS]          the table of goodput
    --rows A,B  --models A,B  --seeds N  --from SEED  --seconds N  --jobs N  --json FILE
    --picture FILE                       its curves as SVG, of the first model
    --also EXECUTABLE                    runs the rows that are not in this executable
reference-link cost [--json FILE]        instructions per segment, and speed in memory
reference-link run ROW [OPTIONS]         one run, as a line of JSON
    --loss PERCENT  --seed N  --seconds N
    --model NAME                         independent (default), burst-frames or burst-time
    --frame-us N                         what every frame takes, instead of the model
    --unchecked                          a stream without content
    --trace                              every frame, on standard error
reference-link rows                      what rows there are";

/// The value after `--name`.
fn option<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|a| a == name)?;
    arguments.get(at + 1).map(String::as_str)
}

/// The models of `--models A,B`; all if it is absent.
fn models(arguments: &[String]) -> Result<Vec<Model>, String> {
    let Some(names) = option(arguments, "--models") else {
        return Ok(loss::MODELS.map(|(model, _)| model).to_vec());
    };
    let model = |name| Model::named(name).ok_or_else(|| format!("no model {name}"));
    names.split(',').map(model).collect()
}

fn number<T: std::str::FromStr>(arguments: &[String], name: &str, default: T) -> Result<T, String> {
    match option(arguments, name) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| format!("{name} {text}: not a number")),
    }
}

/// One run of one row.
fn run(row: &Row, conditions: Conditions) -> Outcome {
    let [source, sink] =
        [Role::Source, Role::Sink].map(|role| row.station(role, conditions.seed, conditions.check));
    link::run(&mut [source, sink], conditions)
}

fn run_command(arguments: &[String]) -> Result<(), String> {
    let name = arguments.first().ok_or("which row?")?;
    let row = Row::named(name).ok_or_else(|| format!("no row {name}"))?;
    if !row.is_built() {
        return Err(format!("{name} is not in this executable"));
    }
    let seconds: u64 = number(arguments, "--seconds", 600)?;
    let model = option(arguments, "--model").unwrap_or("independent");
    let conditions = Conditions {
        model: Model::named(model).ok_or_else(|| format!("no model {model}"))?,
        loss: number(arguments, "--loss", 0.0)? / 100.0,
        seed: number(arguments, "--seed", 1)?,
        duration_us: seconds * 1_000_000,
        frame_us: option(arguments, "--frame-us").map(|text| text.parse().unwrap_or(1)),
        check: !arguments.iter().any(|a| a == "--unchecked"),
        trace: arguments.iter().any(|a| a == "--trace"),
    };
    let started = std::time::Instant::now();
    let outcome = run(row, conditions);
    let wall = started.elapsed().as_secs_f64();
    let Outcome { received, frames, lost, busy_us } = outcome;
    let line = serde_json::json!({
        "row": name,
        "received": received,
        "kbps": received as f64 * 8.0 / 1_000.0 / seconds as f64,
        "frames": frames,
        "lost": lost,
        "busy": busy_us as f64 / conditions.duration_us as f64,
        "wall_s": wall,
    });
    println!("{line}");
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let result = match arguments.first().map(String::as_str) {
        Some("run") => run_command(rest),
        Some("table") => table::command(rest),
        Some("cost") => cost::command(rest),
        Some("rows") => {
            rows::ROWS.iter().for_each(|row| println!("{:24} {}", row.name, row.title));
            Ok(())
        }
        _ => Err(USAGE.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
