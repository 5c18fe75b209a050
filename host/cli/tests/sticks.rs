//! A border router and a node on sticks: models of radio coprocessors at serial ports, in range of
//! each other.

mod common;
use common::*;
use kinglet_chips::{Coprocessor, LineFaults, Ports};
use kinglet_testkit::namespace::in_namespace;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Time within which a network has formed, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Time within which a stick is used again (a loaded machine takes longer than five seconds).
const RECOVERY: Duration = Duration::from_secs(20);
const BAUD: u32 = 460_800;
const OCTETS: usize = 20_000;
const MISSING: &str = "there is no such device; the stick may not be plugged in";
const NODE: &str = "fd00:5::12:4b00:0:b";

fn sticks(count: usize) -> Ports {
    Ports::new(count, Some(BAUD), Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("serial ports")
}

fn url(sticks: &Ports, number: usize) -> String {
    format!("spinel+serial:{}?baud={BAUD}", sticks.device(number).display())
}

/// The status file of the router of this test.
fn status_file() -> PathBuf {
    let name = format!("sticks-{}.json", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The configuration of a router whose radio is this one.
fn configuration(radio: &str) -> Scratch {
    let text = format!(
        "radio = \"{radio}\"\nstatus = \"{}\"\n[network]\neui64 = \"02:12:4b:00:00:00:00:0a\"\n\
         prefix = \"fd00:5::/64\"\n[tun]\nname = \"kltest0\"\naddress = \"fd00:5:0:1::1/64\"\n",
        status_file().display()
    );
    Scratch::new(text.as_bytes())
}

fn node(sticks: &Ports, number: usize) -> External {
    let text = "extended = \"02:12:4b:00:00:00:00:0b\"\nrpl = { role = \"router\" }\n";
    let file = Scratch::new(text.as_bytes());
    let node = External::run(&file.0, &["--radio", &url(sticks, number)]);
    // It has read the file when it has found its stick.
    thread::sleep(Duration::from_secs(2));
    node
}

#[test]
fn linux_reaches_a_node_over_two_sticks_that_restart_and_are_unplugged() {
    let name = "linux_reaches_a_node_over_two_sticks_that_restart_and_are_unplugged";
    in_namespace(name, &[("ping", "-V"), ("kill", "-l")], reaches);
}

fn reaches() {
    run(Command::new("ip").args(["link", "set", "lo", "up"]));
    let sticks = sticks(2);
    let _node = node(&sticks, 1);
    let file = configuration("zep://[::1]:1");
    let options = ["--radio", &url(&sticks, 0)];
    let router = Gateway::start_as("router", &file.0, &options, Stdio::piped());
    assert!(router.announcement.contains("on spinel+serial:"), "{}", router.announcement);
    eprintln!("formed after {:.1?}", until(LIMIT, || answers(NODE)));
    step("echo", || is_complete(NODE, OCTETS));
    sticks.change(0, Coprocessor::lose_power);
    eprintln!("restarted: works after {:.1?}", until(RECOVERY, || answers(NODE)));
    sticks.unplug(0).unwrap();
    let unplugged = sticks.device(0).display().to_string();
    thread::sleep(Duration::from_secs(1));
    assert!(!answers(NODE));
    assert_eq!(status()["trouble"], json!(format!("{unplugged}: {MISSING}")));
    sticks.plug(0).unwrap();
    eprintln!("plugged in again: works after {:.1?}", until(RECOVERY, || answers(NODE)));
    step("echo", || is_complete(NODE, OCTETS));
    // The file is replaced every second.
    until(RECOVERY, || status()["reopened"] == json!(1));
    let now = status();
    assert_eq!((&now["trouble"], &now["version"]), (&json!(null), &json!("KINGLET-MODEL/1")));
    assert_eq!((&now["interface"], &now["restarts"]), (&json!(11), &json!(1)));
    assert_eq!(now["eui64"], json!("18:b4:30:00:00:00:00:01"));
    let (status, said) = router.signal("TERM");
    let _ = std::fs::remove_file(status_file());
    assert!(status.success() && said.contains("stopped after"), "{status}: {said}");
    for part in [
        "the radio has restarted; it gets its settings again\n".to_owned(),
        format!("the radio does not work: {unplugged}: the device is gone\n"),
        format!("the radio does not work: {unplugged}: {MISSING}\n"),
        "the radio works again: KINGLET-MODEL/1\n".to_owned(),
        "radio: 1 restarts, reopened 1; ".to_owned(),
    ] {
        assert!(said.contains(&part), "{part}\n{said}");
    }
}

/// The state of the radio in the status file.
fn status() -> serde_json::Value {
    until(RECOVERY, || status_file().is_file());
    let text = std::fs::read_to_string(status_file()).unwrap();
    let mut status: serde_json::Value = serde_json::from_str(&text).unwrap();
    status["radio"].take()
}

/// Exit code and message of a router with this radio and these options.
fn refusal(radio: &str, options: &[&str]) -> (Option<i32>, String) {
    let file = configuration(radio);
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
    let sticks = sticks(5);
    // RCP_API_VERSION, PROTOCOL_VERSION and NCP_VERSION are 176, 1 and 2.
    sticks.change(0, |stick| stick.set_value(176, &[3]));
    sticks.change(1, |stick| stick.set_value(1, &[9, 0]));
    let stalled = LineFaults { is_stalled: true, ..LineFaults::default() };
    sticks.change(2, move |stick| stick.set_faults(stalled));
    let noisy = LineFaults { damaged_permille: 500, ..LineFaults::default() };
    sticks.change(3, move |stick| stick.set_faults(noisy));
    for (number, says) in [
        (
            0,
            "the coprocessor cannot be used: its firmware \"KINGLET-MODEL/1\" has RCP interface 3;",
        ),
        (1, "the coprocessor cannot be used: it speaks version 9.0 of spinel; needed is 4.x\n"),
        (2, "the coprocessor does not answer; it may have another baud rate, or no RCP firmware"),
        (3, "the line has octets that are no spinel messages; the coprocessor may have another "),
    ] {
        let (code, error) = refusal(&url(&sticks, number), &[]);
        let begin = format!(
            "kinglet: the radio: {} at {BAUD} bits a second: {says}",
            sticks.device(number).display()
        );
        assert_eq!(code, Some(3), "{error}");
        assert!(error.starts_with(&begin), "{error}");
    }
    let _node = node(&sticks, 4);
    let (code, error) = refusal(&url(&sticks, 4), &[]);
    let device = sticks.device(4).display();
    let says = format!("kinglet: the radio: {device}: another program uses the device\n");
    assert_eq!((code, error), (Some(3), says));
}
