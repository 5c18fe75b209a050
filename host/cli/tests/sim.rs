//! `kinglet sim` and `kinglet lab` with files that cannot be written, and interrupted runs.

use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Every write to it fails: there is no space.
const FULL: &str = "/dev/full";

fn kinglet() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A separate scenario for each test; a million seconds take minutes.
fn scenario(name: &str, seconds: u32) -> PathBuf {
    let path = scratch(name);
    let flow = "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n";
    let text = format!("duration_s = {seconds}\n[topology]\nline = {{ hops = 1 }}\n{flow}");
    std::fs::write(&path, text).unwrap();
    path
}

fn end_of(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |octets: Vec<u8>| String::from_utf8(octets).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_full_disk_for_an_observation_is_reported_and_costs_no_result() {
    let file = scenario("sim-full.toml", 20);
    for option in ["--pcap", "--trace"] {
        let (code, out, err) = end_of(kinglet().arg("sim").arg(&file).args([option, FULL]));
        assert_eq!(code, Some(3), "{option}: {err}");
        assert!(err.contains("/dev/full") && err.contains("No space left"), "{err}");
        assert!(out.contains("tcp-bulk"), "the results are there: {out}");
    }
}

#[test]
fn a_capture_comes_with_what_is_needed_to_read_it_and_the_command_that_does() {
    let (file, capture) = (scenario("sim-capture.toml", 2), scratch("sim-capture.pcap"));
    let (code, out, err) = end_of(kinglet().arg("sim").arg(&file).arg("--pcap").arg(&capture));
    assert_eq!(code, Some(0), "{err}");
    let dir = format!("{}.profile", capture.display());
    let command = format!("WIRESHARK_CONFIG_DIR={dir} tshark -r {}\n", capture.display());
    assert!(err.ends_with(&command), "{err}");
    assert!(!out.contains("tshark"), "{out}");
    for (file, needle) in [
        ("preferences", "6lowpan.context1: fd6b:696e:676c:7401::1/128\n"),
        ("ieee802154_keys", "\"4b696e676c6574207363656e6172696f\",\"1\",\"No hash\"\n"),
        ("802154_addresses", "\"0002\",\"abcd\",020000fffe000002\n"),
    ] {
        let text = std::fs::read_to_string(Path::new(&dir).join(file)).unwrap();
        assert!(text.contains(needle), "{file}: {text}");
    }
}

#[test]
fn a_tunnel_between_computers_is_refused_with_the_command_that_has_them() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tunnel.toml");
    let (code, out, err) = end_of(kinglet().arg("sim").arg(&file));
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("a [tunnel]") && err.contains("`kinglet gateway`"), "{err}");
}

#[test]
fn results_that_cannot_be_printed_are_an_error_and_a_closed_pipe_is_none() {
    let file = scenario("sim-print.toml", 1);
    let full = || OpenOptions::new().write(true).open(FULL).unwrap();
    let (code, _, err) = end_of(kinglet().arg("sim").arg(&file).stdout(full()));
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("standard output: No space left"), "{err}");

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (code, _, err) = end_of(kinglet().arg("sim").arg(&file).stdout(writer));
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn nothing_is_simulated_if_no_result_can_be_written() {
    let file = scenario("sim-long.toml", 10_000_000);
    let nowhere = scratch("nowhere/page.html");
    let (code, _, err) = end_of(kinglet().arg("sim").arg(&file).arg("--report").arg(&nowhere));
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("nowhere/page.html"), "{err}");

    // A file is not a directory.
    let mut lab = kinglet();
    lab.args(["lab", "run", "tcplp-hops", "--out"]).arg(&file);
    let (code, _, err) = end_of(&mut lab);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("sim-long.toml"), "{err}");

    let (code, _, err) = end_of(kinglet().arg("sim").arg(&file).args(["--timeline", "1..2"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("--report"), "{err}");
}

#[test]
fn tables_of_an_experiment_go_to_its_folder_and_say_what_made_them() {
    let (dir, out) = (scratch("tables"), scratch("tables-report"));
    let mut lab = kinglet();
    lab.args(["lab", "run", "tcplp-cwnd", "--quick", "--seeds", "1", "--first-seed", "7"]);
    let (_, _, err) = end_of(lab.arg("--tables").arg(&dir).arg("--out").arg(&out));
    let path = dir.join("tcplp-cwnd/results.md");
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{e}: {err}"));
    let command = "kinglet lab run tcplp-cwnd --quick --seeds 1 --first-seed 7 --tables";
    assert!(text.contains(command) && text.contains("seeds 7 to 7"), "{text}");
    assert!(text.contains("| `d_ms=40` |") && text.contains("| `tcplp.fig6a.cwnd` |"), "{text}");
}

#[test]
fn ctrl_c_keeps_what_was_simulated() {
    let file = scenario("sim-stopped.toml", 10_000_000);
    let (json, page) = (scratch("sim-stopped.json"), scratch("sim-stopped.html"));
    let mut child = kinglet()
        .arg("sim")
        .arg(&file)
        .arg("--json")
        .arg("--report")
        .arg(&page)
        .stdout(File::create(&json).unwrap())
        .spawn()
        .unwrap();
    // Its handler is installed when the first seconds have been simulated.
    thread::sleep(Duration::from_secs(1));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let patience = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(20));
    }
    let Some(status) = child.try_wait().unwrap() else {
        child.kill().unwrap();
        panic!("it ends after a slice of simulated time");
    };
    assert_eq!(status.code(), Some(130));
    let results: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let seconds = results["sim_seconds"].as_f64().unwrap();
    assert!(seconds > 0.0 && seconds < 10_000_000.0, "{seconds}");
    assert!(results["flows"][0]["bytes"].as_u64().unwrap() > 1_000, "{results}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("Stopped before the end"));
}

#[test]
fn a_dead_flow_ends_with_4_and_its_reason_unless_it_may_be_dead() {
    let file = scratch("sim-dead.toml");
    let flow = "[[flow]]\nkind = \"coap-client\"\nfrom = 0\nto = 1\npause_ms = 100\n";
    let text = format!("duration_s = 200\n[topology]\nline = {{ hops = 1 }}\n{flow}");
    std::fs::write(&file, text).unwrap();
    let because = "no flow of the scenario listens there on node 1";
    let (code, out, err) = end_of(kinglet().arg("sim").arg(&file));
    assert_eq!((code, err.as_str()), (Some(4), ""));
    assert!(out.contains("\ndead flows\n") && out.contains(because), "{out}");
    let (code, out, err) = end_of(kinglet().arg("sim").arg(&file).arg("--json"));
    assert_eq!(code, Some(4));
    assert!(err.contains("flow 0 (coap-client) is dead") && err.contains(because), "{err}");
    let result: Value = serde_json::from_str(&out).expect("JSON, whatever the code");
    let flow = &result["flows"][0];
    assert_eq!(
        (flow["state"].as_str(), flow["reason"].as_str()),
        (Some("dead"), Some("no_server"))
    );
    assert_eq!((&flow["complete"], &flow["segment_loss"]), (&Value::Bool(false), &Value::Null));
    assert!(result["reasons"]["net"]["port"].as_u64() > Some(0), "{}", result["reasons"]["net"]);
    let (code, out, _) =
        end_of(kinglet().arg("sim").arg(&file).args(["--allow-dead", "--reasons"]));
    assert_eq!(code, Some(0));
    let lost = out
        .lines()
        .find(|line| line.trim_start().starts_with("net: port "))
        .expect("the table of reasons");
    assert_eq!(lost.split_whitespace().nth(2), Some("1"), "node 1 has no such port: {lost}");
}
