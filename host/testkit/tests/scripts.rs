//! Every segment script of `tests/packetdrill`, each under two sets of sequence numbers.
//!
//! `KINGLET_SCRIPT=path` runs one script, or all of a folder, also of another project, and shows
//! what was ignored; with `KINGLET_SCRIPT_LENIENT=1` under the conditions of `Variation::lenient`.

use kinglet_testkit::script::{Failure, Outcome, Variation, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The endpoint is built in place and has buffers for every script.
const STACK: usize = 16 << 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scripts_below(path: &Path, out: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for entry in entries {
            scripts_below(&entry.expect("a readable folder entry").path(), out);
        }
    } else if path.extension().is_some_and(|extension| extension == "pkt") {
        out.push(path.to_owned());
    }
}

/// Returns reasons by script: lines of `script: reason`, others are comments.
fn list(name: &str) -> BTreeMap<String, String> {
    let path = root().join("tests/packetdrill").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let entries = lines.map(|line| {
        let (script, reason) = line.split_once(": ").unwrap_or_else(|| panic!("{name}: {line}"));
        (script.trim().to_owned(), reason.trim().to_owned())
    });
    entries.collect()
}

fn try_all(name: &str, text: &str, lenient: bool) -> Result<Outcome, Failure> {
    let wrapping = Variation { lenient, ..Variation::WRAPPING };
    run(name, text, wrapping)?;
    run(name, text, Variation { lenient, ..Variation::PLAIN })
}

type Results = Vec<(String, Result<Outcome, Failure>)>;

fn run_all(base: &Path, scripts: &[PathBuf], lenient: bool) -> Results {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Results::new());
    let work = || {
        while let Some(path) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = path.strip_prefix(base).unwrap_or(path).to_string_lossy().into_owned();
            let text =
                fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let result = try_all(&name, &text, lenient);
            results.lock().expect("no other thread panicked").push((name, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, work)
                .expect("starts");
        }
    });
    let mut results = results.into_inner().expect("no thread panicked");
    results.sort_by(|a, b| a.0.cmp(&b.0));
    results
}

/// Runs a chosen script, or a folder of them.
fn run_chosen(chosen: &Path) {
    let from_root = root().join(chosen);
    let path = if from_root.exists() { from_root } else { chosen.to_owned() };
    let mut scripts = Vec::new();
    scripts_below(&path, &mut scripts);
    assert!(!scripts.is_empty(), "{} holds no script", path.display());
    let lenient = std::env::var_os("KINGLET_SCRIPT_LENIENT").is_some();
    let mut failed = 0;
    for (name, result) in run_all(Path::new(""), &scripts, lenient) {
        match result {
            Ok(outcome) => {
                println!("passed {name}: {} segments compared", outcome.compared);
                outcome.warnings.iter().for_each(|warning| println!("  {warning}"));
            }
            Err(failure) => {
                failed += 1;
                println!("{failure}");
            }
        }
    }
    assert_eq!(failed, 0, "{failed} of {} scripts failed", scripts.len());
}

#[test]
fn scripts() {
    if let Some(chosen) = std::env::var_os("KINGLET_SCRIPT") {
        return run_chosen(Path::new(&chosen));
    }
    let started = Instant::now();
    let base = root();
    let mut scripts = Vec::new();
    scripts_below(&base.join("tests/packetdrill"), &mut scripts);
    let results = run_all(&base, &scripts, false);
    let mut excused = list("failing.txt");
    let mut deviations = list("known-deviations.txt");
    let (mut passed, mut compared) = (0, 0);
    let mut problems = Vec::new();
    for (name, result) in results {
        let short = name.trim_start_matches("tests/packetdrill/").to_owned();
        let reason = excused.remove(&short).or_else(|| deviations.remove(&short));
        match (result, reason) {
            (Ok(outcome), None) => {
                passed += 1;
                compared += outcome.compared;
                problems.extend(outcome.warnings);
            }
            (Ok(_), Some(_)) => problems.push(format!("{name} passes: take it off its list")),
            (Err(failure), Some(reason)) => println!("{short}: {reason}\n  {failure}"),
            (Err(failure), None) => problems.push(format!(
                "{failure}\n  once more: KINGLET_SCRIPT={name} cargo test -p kinglet-testkit \
                 --test scripts -- --nocapture"
            )),
        }
    }
    problems.extend(
        excused
            .into_keys()
            .chain(deviations.into_keys())
            .map(|name| format!("{name} is on a list, but there is no such script")),
    );
    println!(
        "{passed} of {} scripts passed, {compared} segments compared, {} ms",
        scripts.len(),
        started.elapsed().as_millis()
    );
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
