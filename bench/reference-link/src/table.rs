//! The table: every row at every loss, each run in a separate process.

use crate::loss::Model;
use crate::rows::{ROWS, Row};
use crate::{models, number, option, picture};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Frame loss in percent.
const LOSSES: [u32; 5] = [0, 1, 5, 10, 15];

/// A run to be executed.
struct Job {
    row: &'static Row,
    model: Model,
    loss: u32,
    seed: u64,
    executable: PathBuf,
}

/// Mean and sample standard deviation.
fn statistics(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

pub fn command(arguments: &[String]) -> Result<(), String> {
    let seeds: u64 = number(arguments, "--seeds", 30)?;
    let from: u64 = number(arguments, "--from", 1)?;
    let seconds: u64 = number(arguments, "--seconds", 600)?;
    let models = models(arguments)?;
    let threads: usize = number(arguments, "--jobs", 1)?;
    let wanted: Option<Vec<&str>> =
        option(arguments, "--rows").map(|names| names.split(',').collect());
    let also = option(arguments, "--also").map(PathBuf::from);
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let executables: Vec<PathBuf> = [this].into_iter().chain(also).collect();

    let (mut jobs, mut left_out) = (vec![], vec![]);
    for row in ROWS.iter().filter(|row| wanted.as_ref().is_none_or(|w| w.contains(&row.name))) {
        let Some(executable) = executables.iter().find(|&e| contains(e, row)) else {
            left_out.push(row.name);
            continue;
        };
        for (&model, loss) in models.iter().flat_map(|m| LOSSES.map(|loss| (m, loss))) {
            let job = |seed| Job { row, model, loss, seed, executable: executable.clone() };
            jobs.extend((from..from + seeds).map(job));
        }
    }
    let results = work(&jobs, seconds, threads)?;
    models.iter().for_each(|model| print(&jobs, &results, *model));
    if !left_out.is_empty() {
        println!("\nleft out, as not built: {}", left_out.join(", "));
    }
    if let Some(path) = option(arguments, "--json") {
        let text = serde_json::to_string_pretty(&summary(&jobs, &results, &models, seconds));
        let text = text.map_err(|error| error.to_string())? + "\n";
        std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))?;
    }
    if let (Some(path), Some(model)) = (option(arguments, "--picture"), models.first()) {
        let text = picture::svg(curves(&jobs, &results, *model));
        std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// Loss of frames in %, goodput in kb/s and its standard deviation.
type Points = Vec<(f64, f64, f64)>;

/// Curves of a model: those of the rows that have results.
fn curves(jobs: &[Job], results: &[Value], model: Model) -> Vec<(&'static str, Points)> {
    let curve = |(name, title): (&str, &'static str)| {
        let row = present(jobs).find(|row| row.name == name)?;
        let point = |loss: u32| {
            let (mean, deviation) = statistics(&goodputs(jobs, results, row, model, loss));
            (f64::from(loss), mean, deviation)
        };
        Some((title, LOSSES.map(point).to_vec()))
    };
    picture::ROWS.into_iter().filter_map(curve).collect()
}

/// Returns true if an executable contains the row's stack: a run of a second succeeds.
fn contains(executable: &PathBuf, row: &Row) -> bool {
    let status = Command::new(executable).args(["run", row.name, "--seconds", "1"]).output();
    status.is_ok_and(|output| output.status.success())
}

/// Runs all jobs; the results are in their order.
fn work(jobs: &[Job], seconds: u64, threads: usize) -> Result<Vec<Value>, String> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![Value::Null; jobs.len()]);
    let worker = || -> Result<(), String> {
        while let Some((i, job)) = {
            let i = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(i).map(|job| (i, job))
        } {
            let result = one(job, seconds)?;
            results.lock().map_err(|_| "a worker failed")?[i] = result;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|w| w.join().map_err(|_| "a worker failed")?)
    })?;
    results.into_inner().map_err(|_| "a worker failed".to_string())
}

fn one(job: &Job, seconds: u64) -> Result<Value, String> {
    let Job { row, model, loss, seed, executable } = job;
    let mut command = Command::new(executable);
    command.args(["run", row.name, "--model", model.name()]);
    command.arg("--loss").arg(loss.to_string());
    command.arg("--seed").arg(seed.to_string());
    command.arg("--seconds").arg(seconds.to_string());
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let model = model.name();
        return Err(format!("{} at {loss} %, {model}, seed {seed}: {said}", row.name));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Goodput of a row at a loss, all seeds, in kb/s.
fn goodputs(jobs: &[Job], results: &[Value], row: &Row, model: Model, loss: u32) -> Vec<f64> {
    let of = jobs.iter().zip(results);
    let of = of.filter(|(job, _)| job.row.name == row.name);
    let of = of.filter(|(job, _)| job.model == model && job.loss == loss);
    of.filter_map(|(_, result)| result["kbps"].as_f64()).collect()
}

/// The rows that have results, in order.
fn present<'a>(jobs: &'a [Job]) -> impl Iterator<Item = &'static Row> + 'a {
    ROWS.iter().filter(|row| jobs.iter().any(|job| job.row.name == row.name))
}

fn print(jobs: &[Job], results: &[Value], model: Model) {
    let model_name = model.name();
    println!(
        "\n{model_name} losses: goodput in kb/s, mean (standard deviation), at a frame loss of"
    );
    print!("| stack |");
    LOSSES.iter().for_each(|loss| print!(" {loss} % |"));
    println!("\n|---|{}", "---|".repeat(LOSSES.len()));
    for row in present(jobs) {
        print!("| {} |", row.title);
        for loss in LOSSES {
            let (mean, deviation) = statistics(&goodputs(jobs, results, row, model, loss));
            print!(" {mean:.2} ({deviation:.2}) |");
        }
        println!();
    }
}

fn summary(jobs: &[Job], results: &[Value], models: &[Model], seconds: u64) -> Value {
    let rows: Vec<Value> = present(jobs)
        .map(|row| {
            let cell = |(model, loss): (Model, u32)| {
                let all = goodputs(jobs, results, row, model, loss);
                let (mean, deviation) = statistics(&all);
                let model = model.name();
                json!({ "model": model, "loss_percent": loss, "mean": mean, "deviation": deviation,
                        "all": all })
            };
            let cells = models.iter().flat_map(|m| LOSSES.map(|loss| (*m, loss)));
            let at: Vec<Value> = cells.map(cell).collect();
            let setup = json!({
                "mss": row.setup.mss,
                "buffer": row.setup.buffer,
                "mac_address_bits": if row.setup.short { 16 } else { 64 },
            });
            json!({ "name": row.name, "title": row.title, "setup": setup, "goodput": at })
        })
        .collect();
    let seeds: BTreeSet<u64> = jobs.iter().map(|job| job.seed).collect();
    json!({ "seeds": seeds, "seconds": seconds, "unit": "kb/s", "rows": rows })
}
