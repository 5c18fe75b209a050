//! Every segment script of the repository through the library's C interface, driven as by
//! packetdrill (`player`), and by packetdrill itself where it is installed.

#![cfg(target_os = "linux")]
#![deny(clippy::undocumented_unsafe_blocks)]

mod player;

use kinglet_testkit::script::{Variation, run, run_on};
use player::Player;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Scripts that packetdrill itself cannot play, by the reason.
const BEYOND_PACKETDRILL: [(&str, &[&str]); 5] = [
    (
        "it numbers the segments of the first connection only, so others need absolute numbers",
        &[
            "attacks/syn-in-syn-received",
            "fast_open/client",
            "handshake/active-open-old-syn-ack",
            "handshake/backlog",
            "handshake/rst-in-syn-received",
            "states/rst-in-closing-with-data",
            "states/time-wait-after-an-old-syn",
            "states/time-wait-ends-with-the-new-connection",
            "states/time-wait-new-connection",
            "states/time-wait-new-timestamp",
            "states/time-wait-older-timestamp",
            "states/time-wait-timestamps-are-gone",
            "states/time-wait-timestamps-are-new",
        ],
    ),
    (
        "it takes a timestamp echo for one of a segment that was sent",
        &[
            "attacks/timestamp-echo-from-nowhere",
            "options/client-without-extensions",
            "options/timestamps-not-agreed",
            "options/timestamps-on-reset",
        ],
    ),
    (
        "it does not know the name (SIOCOUTQ, TCP_RTO_MIN_US) or the cookie that is expected",
        &[
            "sockets/cork",
            "sockets/fast-open-listener",
            "sockets/queues",
            "sockets/tcp-info-of-early-data",
            "timers/rto-least-distance",
        ],
    ),
    (
        "its notation has no such flags, events or operators",
        &[
            "api/user-timeout-set-late",
            "attacks/christmas-tree",
            "sockets/epoll",
            "sockets/senseless-calls",
            "sockets/zero-copy-is-told",
        ],
    ),
    (
        "it ends while the blocking call of the script, which takes minutes of virtual time, waits",
        &["handshake/active-open-three-minutes", "handshake/active-open-times-out"],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scripts_below(path: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(path).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            scripts_below(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            out.push(path);
        }
    }
    out.sort();
}

/// Returns true if a script changes settings during its run, which packetdrill's interface does not
/// support.
fn changes_settings(text: &str) -> bool {
    text.lines().any(|line| line.contains('`') && line.trim_start().starts_with(['+', '0', '*']))
}

/// Returns true if a script's assertions use our own names, which Python does not know.
fn asks_for_our_own(text: &str) -> bool {
    text.contains("octets_") || text.contains("count_")
}

/// Runs packetdrill itself. The settings of the script's shell lines are in `flags`; the lines are
/// removed, because packetdrill would change this machine.
fn run_packetdrill(text: &str, flags: &str) -> Result<(), String> {
    let script: Vec<&str> =
        text.lines().map(|line| if line.starts_with('`') { "" } else { line }).collect();
    let path = std::env::temp_dir().join(format!("kinglet-{}.pkt", std::process::id()));
    fs::write(&path, script.join("\n")).map_err(|error| error.to_string())?;
    let library = std::env::current_exe().expect("a path");
    let library = library.with_file_name("libkinglet_packetdrill.so");
    let output = Command::new("packetdrill")
        .args(["--ip_version=ipv6", "--mtu=1500", "--tolerance_usecs=10000"])
        .args(["--local_ip=fd3d:a0b:17d6::1", "--gateway_ip=fd3d:a0b:17d6:8888::1"])
        .arg("--remote_ip=fd3d:fa7b:d17d::1")
        .arg(format!("--so_filename={}", library.display()))
        .arg(format!("--so_flags={flags},strict=1"))
        .arg(&path)
        .env("LD_PRELOAD", &library)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Runs `what` for every script that passes in this process, and collects its errors.
fn for_every_script(what: impl Fn(&str, &str) -> Result<(), String>) {
    let mut scripts = Vec::new();
    scripts_below(&root().join("tests/packetdrill"), &mut scripts);
    let (mut passed, mut failures) = (0, Vec::new());
    for path in scripts {
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).expect("readable");
        // Scripts that fail without the interface are not its concern.
        if run(&name, &text, Variation::PLAIN).is_err() || changes_settings(&text) {
            continue;
        }
        match what(&name, &text) {
            Ok(()) => passed += 1,
            Err(failure) => failures.push(failure),
        }
    }
    println!("{passed} scripts passed");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(passed > 300, "most scripts are left out");
}

/// The script's settings as flags of the library.
fn flags(settings: &[(String, String)]) -> String {
    let flags: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    flags.join(",")
}

#[test]
fn every_script_passes_through_the_interface() {
    for_every_script(|name, text| {
        let build = |settings: &[(String, String)]| Player::new(&flags(settings));
        run_on(name, text, Variation::PLAIN, build).map(drop).map_err(|failure| failure.to_string())
    });
}

#[test]
fn every_script_passes_in_packetdrill() {
    if Command::new("packetdrill").arg("--help").output().is_err() {
        println!("packetdrill is not installed");
        return;
    }
    let beyond: BTreeSet<&str> =
        BEYOND_PACKETDRILL.iter().flat_map(|(_, names)| *names).copied().collect();
    for_every_script(|name, text| {
        if asks_for_our_own(text) {
            return Ok(());
        }
        let mut used = String::new();
        let build = |settings: &[(String, String)]| {
            used = flags(settings);
            Player::new(&used)
        };
        run_on(name, text, Variation::PLAIN, build).map_err(|failure| failure.to_string())?;
        let short = name.trim_start_matches("tests/packetdrill/").trim_end_matches(".pkt");
        match (run_packetdrill(text, &used), beyond.contains(short)) {
            (Ok(()), false) | (Err(_), true) => Ok(()),
            (Ok(()), true) => Err(format!("{name} passes, and is listed as one that cannot")),
            (Err(reason), false) => Err(format!("{name}: {reason}")),
        }
    });
}
