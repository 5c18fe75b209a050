//! Kinglet's TCP against that of the Linux kernel, over a TUN device on which packets are lost,
//! doubled and overtaken: 2 MB each way in connections that either side opens, with and without
//! what Linux can be told to leave out. No octet may be wrong, nobody may reset, and no stall may
//! be longer than the retransmission timeout explains.
//!
//! The test runs itself again under `unshare`, where it may create devices and set `net.ipv4.tcp_*`
//! without being root. Where that is forbidden it says so and passes; if the environment has `CI`,
//! it fails instead. `KINGLET_LINUX=all` runs the whole matrix instead of the few cases that differ
//! most; then `cargo test -p kinglet-gateway --test linux` takes some minutes.

mod bridge;
mod flow;
mod host;
mod matrix;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Set for the run inside of the namespace.
const INSIDE: &str = "KINGLET_LINUX_TEST_INSIDE";

#[test]
fn two_megabytes_each_way_arrive_whole_whatever_linux_offers() {
    if std::env::var_os(INSIDE).is_some() {
        return matrix::run(std::env::var_os("KINGLET_LINUX").is_some());
    }
    let probe = ["ip", "tuntap", "add", "dev", "probe0", "mode", "tun"];
    if !Path::new("/dev/net/tun").exists() || !succeeds(namespace().args(probe)) {
        let obstacle = "a TUN device in a network namespace of its own cannot be made";
        assert!(std::env::var_os("CI").is_none(), "CI must run this test, but {obstacle}");
        // Past the capture of the test harness, so that it is seen.
        let _ = writeln!(std::io::stderr(), "SKIPPED: Linux test: {obstacle}");
        return;
    }
    let mut inside = namespace();
    inside.arg(std::env::current_exe().unwrap()).env(INSIDE, "1").arg("--nocapture");
    let status = inside.status().unwrap();
    assert!(status.success(), "the run inside of the namespace says why");
}

/// A command that runs the arguments to come in a network of their own.
fn namespace() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--net", "--"]);
    if !succeeds(Command::new("unshare").args(["--user", "--map-root-user", "--net", "true"])) {
        // Root in a container may be allowed this, but no user namespace.
        unshare = Command::new("unshare");
        unshare.args(["--net", "--"]);
    }
    unshare
}

fn succeeds(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
