//! Tests that need a network device: they run again in a network namespace of their own, where they
//! may create one without being root and are isolated from other networks.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Set for the run inside of the namespace.
const INSIDE: &str = "KINGLET_TEST_IN_NAMESPACE";

/// Runs `talk`, which is the whole test of this name, in a network namespace of its own: the test
/// runs itself again under `unshare`. `tools` are the programs it needs, each with an argument with
/// which it succeeds at once. If a namespace is forbidden or a tool is missing, it reports so and
/// passes; if the environment has `CI`, it fails instead.
///
/// # Panics
/// The test has failed inside the namespace, or cannot run in CI.
pub fn in_namespace(name: &str, tools: &[(&str, &str)], talk: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return talk();
    }
    if let Some(obstacle) = obstacle(tools) {
        assert!(std::env::var_os("CI").is_none(), "CI must run this test, but {obstacle}");
        // This bypasses the capture of the test harness, so that it is visible.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {name}: {obstacle}");
        return;
    }
    let program = std::env::current_exe().expect("the test knows where it is");
    let mut inside = namespace();
    inside.arg(program).args(["--exact", name, "--nocapture"]).env(INSIDE, "1");
    let status = inside.status().expect("unshare starts");
    assert!(status.success(), "the run inside of the namespace says why");
}

/// Returns a command that runs its further arguments in a network namespace of their own.
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

/// Returns the reason for which a test with these tools cannot run here.
fn obstacle(tools: &[(&str, &str)]) -> Option<String> {
    let tools = [("ip", "-V"), ("unshare", "-V")].iter().chain(tools);
    let missing = tools.into_iter().find(|(tool, arg)| !succeeds(Command::new(tool).arg(arg)));
    if let Some((missing, _)) = missing {
        return Some(format!("`{missing}` is missing"));
    }
    if !Path::new("/dev/net/tun").exists() {
        return Some("/dev/net/tun is missing".to_owned());
    }
    let probe = ["ip", "tuntap", "add", "dev", "probe0", "mode", "tun"];
    if !succeeds(namespace().args(probe)) {
        return Some("a TUN device in a network namespace of its own is forbidden".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named() {
        let text = obstacle(&[("a-tool-that-nobody-has", "-V")]).expect("an obstacle");
        assert!(text.contains("a-tool-that-nobody-has") || text.contains("`ip`"), "{text}");
    }
}
