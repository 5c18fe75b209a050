//! A border router and a node on sticks: models of radio coprocessors at serial ports, in range of
//! each other.

mod bench;
#[path = "../common/mod.rs"]
mod common;
mod leaf;
use bench::{BAUD, Sticks};
use common::*;
use kinglet_chips::{LineFaults, Ports};
use kinglet_testkit::namespace::in_namespace;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time within which a network has formed, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Time within which a stick is used again (a loaded machine takes longer than five seconds).
const RECOVERY: Duration = Duration::from_secs(20);
/// Octets that a node returns.
const OCTETS: usize = 20_000;
/// The same over coprocessors whose air takes no time.
const MANY_OCTETS: usize = 200_000;
const MISSING: &str = "there is no such device; the stick may not be plugged in";
const NODE: &str = "fd00:5::12:4b00:0:b";
const LEAF: &str = "fd00:5::ff:fe00:9";
const HOST: &str = "fd00:5:0:1::1";
/// Data of the longest echo request in a packet of 1,280 octets.
const LONGEST: usize = 1_280 - 40 - 8;
/// Time for which a leaf sends readings, unless `KINGLET_LEAF_SECONDS` says otherwise, and their
/// period.
const LEAF_SECONDS: u32 = 20;
const PERIOD_MS: u32 = 500;

/// The status file of the router of this test.
fn status_file() -> PathBuf {
    let name = format!("sticks-{}.json", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The configuration of a router whose radio is this one.
fn configuration(radio: &str, more: &str) -> Scratch {
    let text = format!(
        "radio = \"{radio}\"\nstatus = \"{}\"\n[network]\neui64 = \"02:12:4b:00:00:00:00:0a\"\n\
         prefix = \"fd00:5::/64\"\n{more}[tun]\nname = \"kltest0\"\naddress = \"{HOST}/64\"\n",
        status_file().display()
    );
    Scratch::new(text.as_bytes())
}

fn node(sticks: &Sticks, number: usize) -> External {
    let text = "extended = \"02:12:4b:00:00:00:00:0b\"\nrpl = { role = \"router\" }\n";
    let file = Scratch::new(text.as_bytes());
    let node = External::run(&file.0, &["--radio", &sticks.url(number)]);
    // It has read the file when it has found its stick.
    thread::sleep(Duration::from_secs(2));
    node
}

fn start(file: &Scratch, sticks: &Sticks) -> Gateway {
    let options = ["--radio", &sticks.url(0)];
    let router = Gateway::start_as("router", &file.0, &options, Stdio::piped());
    assert!(router.announcement.contains("on spinel+serial:"), "{}", router.announcement);
    router
}

const TOOLS: [(&str, &str); 3] = [("ping", "-V"), ("kill", "-l"), ("curl", "-V")];

#[test]
fn linux_reaches_a_node_over_two_sticks_that_restart_and_are_unplugged() {
    let name = "linux_reaches_a_node_over_two_sticks_that_restart_and_are_unplugged";
    in_namespace(name, &TOOLS, reaches);
}

fn reaches() {
    let sticks = Sticks::new(2);
    let _node = node(&sticks, 1);
    let router = start(&configuration("zep://[::1]:1", ""), &sticks);
    eprintln!("formed after {:.1?}", until(LIMIT, || answers(NODE)));
    step("echo requests", || answers_each_size(NODE));
    step("a page", || {
        let page = curl(NODE, "/", &[]);
        assert!(page.starts_with(b"<!doctype html><title>Kinglet node</title>"), "{page:?}");
    });
    let octets = if let Sticks::Models(_) = sticks { OCTETS } else { MANY_OCTETS };
    step(&format!("{octets} octets both ways"), || is_complete(NODE, octets));
    sticks.restart(0);
    eprintln!("restarted: works after {:.1?}", until(RECOVERY, || answers(NODE)));
    sticks.unplug(0);
    let unplugged = sticks.device(0).display().to_string();
    thread::sleep(Duration::from_secs(1));
    assert!(!answers(NODE));
    // The file is replaced every second.
    until(RECOVERY, || status()["trouble"] == json!(format!("{unplugged}: {MISSING}")));
    sticks.plug(0);
    eprintln!("plugged in again: works after {:.1?}", until(RECOVERY, || answers(NODE)));
    is_complete(NODE, OCTETS / 10);
    // The file may be from the moment at which the radio had not reported its version yet.
    let works = |now: &serde_json::Value| now["trouble"].is_null() && !now["interface"].is_null();
    until(RECOVERY, || works(&status()));
    let now = status();
    assert!(now["reopened"].as_u64() >= Some(1), "{now}");
    if let Sticks::Models(_) = sticks {
        assert_eq!((&now["interface"], &now["version"]), (&json!(11), &json!("KINGLET-MODEL/1")));
        assert_eq!((&now["restarts"], &now["reopened"]), (&json!(1), &json!(1)));
        assert_eq!(now["eui64"], json!("18:b4:30:00:00:00:00:01"));
    }
    let (status, said) = router.signal("TERM");
    let _ = std::fs::remove_file(status_file());
    assert!(status.success() && said.contains("stopped after"), "{status}: {said}");
    for part in [
        &format!("the radio does not work: {unplugged}: the device is gone\n"),
        &format!("the radio does not work: {unplugged}: {MISSING}\n"),
        "the radio works again: ",
        "\nradio: ",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let restarted = said.contains("the radio has restarted; it gets its settings again\n");
    assert!(restarted || matches!(sticks, Sticks::Programs { .. }), "{said}");
}

/// Asserts that a node answers echo requests of all sizes, in steps.
fn answers_each_size(node: &str) {
    let step = if std::env::var_os("KINGLET_RCP").is_some() { 1 } else { 97 };
    for len in (0..=LONGEST).step_by(step) {
        let mut ping = Command::new("ping");
        ping.args(["-6", "-n", "-q", "-c", "3", "-i", "0.3", "-W", "2", "-s", &len.to_string()]);
        // The first response ends it.
        run(ping.args(["-w", "20", "-c", "1", node]));
    }
}

#[test]
fn all_readings_of_a_sleeping_leaf_arrive_over_two_sticks() {
    let name = "all_readings_of_a_sleeping_leaf_arrive_over_two_sticks";
    in_namespace(name, &TOOLS, sleeps);
}

fn sleeps() {
    let seconds = std::env::var("KINGLET_LEAF_SECONDS").ok();
    let seconds = seconds.map_or(LEAF_SECONDS, |text| text.parse().expect("a number of seconds"));
    let count = seconds * 1_000 / PERIOD_MS;
    let sticks = Sticks::new(2);
    let file = configuration("zep://[::1]:1", "short = 1\nrouting = \"mesh\"\n");
    let router = start(&file, &sticks);
    let listener = TcpListener::bind((HOST, 0)).unwrap();
    let to = (HOST.parse().unwrap(), listener.local_addr().unwrap().port());
    let url = sticks.url(1);
    let period = kinglet_time::Duration::from_millis(PERIOD_MS.into());
    let leaf = thread::spawn(move || leaf::send_readings(&url, to, count, period));
    let (stream, _) = listener.accept().unwrap();
    // Echo requests wait at the router until the leaf polls, at most a second later.
    let (mut asked, mut longest) = (0, Duration::ZERO);
    let reading = thread::spawn(move || {
        let lines = BufReader::new(stream).lines().map_while(Result::ok).take(count as usize);
        lines.collect::<Vec<String>>()
    });
    while !leaf.is_finished() {
        thread::sleep(Duration::from_millis(700));
        let began = Instant::now();
        if leaf.is_finished() || !answers(LEAF) {
            continue;
        }
        (asked, longest) = (asked + 1, longest.max(began.elapsed()));
    }
    let stats = leaf.join().expect("the leaf says why");
    let lines = reading.join().unwrap();
    let expected: Vec<String> = (0..count).map(|number| format!("{number:08}")).collect();
    assert!(lines == expected, "{} of {count} readings", lines.len());
    eprintln!("{count} readings, {asked} echo replies after at most {longest:.1?}; {stats:?}");
    assert!(asked > 0);
    // A wrong bit costs a request each time. A busy machine may delay a promised frame by more
    // than the leaf waits.
    if stats.timed_out_requests > 0 {
        eprintln!("the machine was slow: {} promised frames were late", stats.timed_out_requests);
    }
    let late = u64::from(stats.timed_out_requests);
    assert!(late * 20 <= u64::from(stats.data_requests), "the frame-pending bit is wrong");
    let (status, said) = router.signal("TERM");
    let _ = std::fs::remove_file(status_file());
    assert!(status.success(), "{status}: {said}");
}

/// The state of the radio in the status file.
fn status() -> serde_json::Value {
    until(RECOVERY, || status_file().is_file());
    let text = std::fs::read_to_string(status_file()).unwrap();
    let mut status: serde_json::Value = serde_json::from_str(&text).unwrap();
    status["radio"].take()
}

#[test]
fn a_line_that_damages_octets_is_reported_and_no_wrong_octet_is_delivered() {
    let name = "a_line_that_damages_octets_is_reported_and_no_wrong_octet_is_delivered";
    in_namespace(name, &TOOLS, damages);
}

fn damages() {
    let ports = Ports::new(2, Some(BAUD), Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let faults = |damaged_permille| LineFaults { damaged_permille, ..LineFaults::default() };
    ports.change(0, move |stick| stick.set_faults(faults(1)));
    let sticks = Sticks::Models(ports);
    let _node = node(&sticks, 1);
    let router = start(&configuration("zep://[::1]:1", ""), &sticks);
    until(LIMIT, || answers(NODE));
    step("one of a thousand octets wrong", || is_complete(NODE, 500));
    let Sticks::Models(ports) = &sticks else { return };
    ports.change(0, move |stick| stick.set_faults(faults(10)));
    // Most requests or replies are lost, perhaps all; none that arrives is wrong. The router looks
    // every ten seconds.
    let (begin, mut asked, mut answered) = (Instant::now(), 0, 0);
    until(LIMIT, || {
        asked += 1;
        answered += u32::from(answers(NODE));
        begin.elapsed() > Duration::from_secs(21)
    });
    eprintln!("one of a hundred octets wrong: {answered} of {asked} requests answered");
    ports.change(0, move |stick| stick.set_faults(faults(0)));
    // The node may have lost its parent.
    until(LIMIT, || answers(NODE));
    is_complete(NODE, OCTETS);
    let (status, said) = router.signal("TERM");
    let _ = std::fs::remove_file(status_file());
    assert!(status.success(), "{status}: {said}");
    assert!(said.contains("the line to the radio damages messages, "), "{said}");
}

#[test]
fn a_key_file_that_others_may_read_is_refused_before_the_radio_is_opened() {
    use std::os::unix::fs::PermissionsExt;
    let key = Scratch::new(b"000102030405060708090a0b0c0d0e0f\n");
    std::fs::set_permissions(&key.0, std::fs::Permissions::from_mode(0o644)).unwrap();
    let state = key.0.with_extension("state");
    let radio = "spinel+serial:/dev/tty-no-such-stick";
    let more = format!("\"\nkey_file = \"{}\"\nstate = \"{}", key.0.display(), state.display());
    let (code, error) = refusal(&(radio.to_owned() + &more), &[]);
    std::fs::remove_dir_all(&state).unwrap();
    let says = format!("kinglet: the key file {}: others than its owner may use", key.0.display());
    assert_eq!(code, Some(2), "{error}");
    assert!(error.starts_with(&says) && error.contains("run `chmod 600 "), "{error}");
}

/// Exit code and message of a router with this radio and these options.
fn refusal(radio: &str, options: &[&str]) -> (Option<i32>, String) {
    let file = configuration(radio, "");
    let (code, _, error) = kinglet(&[&["router", file.0.to_str().unwrap()], options].concat());
    (code, error)
}

#[test]
fn radios_that_cannot_be_used_are_named_with_the_reason() {
    let missing = format!("kinglet: the radio: /dev/tty-no-such-stick: {MISSING}\n");
    let radio = "spinel+serial:/dev/tty-no-such-stick";
    assert_eq!(refusal(radio, &[]), (Some(3), missing.clone()));
    assert_eq!(refusal("zep://[::1]:1", &["--radio", radio]), (Some(3), missing));
    let (code, error) = refusal("spinel+serial:/dev/null", &[]);
    let says = "kinglet: the radio: /dev/null: the device is no serial port\n";
    assert_eq!((code, error.as_str()), (Some(3), says));
    let (code, error) = refusal("spinel+exec:/bin/true", &[]);
    let says = "kinglet: the radio: /bin/true: cannot be started: the process has ended\n";
    assert_eq!((code, error.as_str()), (Some(3), says));
    // Mistakes.
    let (code, error) = refusal("spinel+serial:/dev/null?baud=1", &[]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains(":1:9: radio: \"spinel+serial:/dev/null?baud=1\": baud=1 is no rate"));
    let (code, error) = refusal("zep://[::1]:1", &["--radio", "serial"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("\"serial\" is not the link to a radio; that is"), "{error}");
}

#[test]
fn sticks_that_cannot_be_used_are_named_with_the_reason() {
    let ports = Ports::new(5, Some(BAUD), Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    // RCP_API_VERSION, PROTOCOL_VERSION and NCP_VERSION are 176, 1 and 2.
    ports.change(0, |stick| stick.set_value(176, &[3]));
    ports.change(1, |stick| stick.set_value(1, &[9, 0]));
    let stalled = LineFaults { is_stalled: true, ..LineFaults::default() };
    ports.change(2, move |stick| stick.set_faults(stalled));
    let noisy = LineFaults { damaged_permille: 500, ..LineFaults::default() };
    ports.change(3, move |stick| stick.set_faults(noisy));
    let sticks = Sticks::Models(ports);
    for (number, says) in [
        (
            0,
            "the coprocessor cannot be used: its firmware \"KINGLET-MODEL/1\" has RCP interface 3;",
        ),
        (1, "the coprocessor cannot be used: it speaks version 9.0 of spinel; needed is 4.x\n"),
        (2, "the coprocessor does not answer; it may have another baud rate, or no RCP firmware"),
        (3, "the line has octets that are no spinel messages; the coprocessor may have another "),
    ] {
        let (code, error) = refusal(&sticks.url(number), &[]);
        let begin = format!(
            "kinglet: the radio: {} at {BAUD} bits a second: {says}",
            sticks.device(number).display()
        );
        assert_eq!(code, Some(3), "{error}");
        assert!(error.starts_with(&begin), "{error}");
    }
    let _node = node(&sticks, 4);
    let (code, error) = refusal(&sticks.url(4), &[]);
    let device = sticks.device(4).display();
    let says = format!("kinglet: the radio: {device}: another program uses the device\n");
    assert_eq!((code, error), (Some(3), says));
}
