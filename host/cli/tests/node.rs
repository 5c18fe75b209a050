//! The command `kinglet node`: two nodes as processes, and invalid contents of its file.

use std::fs;
use std::io::Write;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn node(file: &Path, zep: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
    command.arg("node").arg(file).args(["--zep", zep]);
    command
}

fn start(file: &str, zep: &str) -> Child {
    let mut command = node(&example(file), zep);
    let piped = command.arg("--json").stdin(Stdio::piped()).stdout(Stdio::piped());
    piped.spawn().unwrap()
}

fn free() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn two_processes_ping_each_other_and_end_by_word_and_by_signal() {
    let (a, b) = (free(), free());
    let first = start("node-a.toml", &format!("127.0.0.1:{a},127.0.0.1:{b}"));
    let mut second = start("node-b.toml", &format!("127.0.0.1:{b},127.0.0.1:{a}"));
    // More than are answered before the first one starts.
    let asked = b"ping fd00:6b69:6e67::12:4b00:0:a 3\n";
    second.stdin.as_mut().unwrap().write_all(asked).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(4));
    second.stdin.as_mut().unwrap().write_all(b"quit\n").unwrap();
    let ended = second.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let said = String::from_utf8(ended.stdout).unwrap();
    let said: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(said[0]["event"], "started");
    assert_eq!(said[0]["local"], format!("127.0.0.1:{b}"));
    let replies = said.iter().filter(|report| report["event"] == "echo_reply").count();
    assert!(replies >= 2, "{said:?}");
    let id = first.id().to_string();
    let send = |signal: &str| {
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    };
    send("-HUP");
    std::thread::sleep(std::time::Duration::from_millis(300));
    send("-TERM");
    let ended = first.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let said = String::from_utf8(ended.stdout).unwrap();
    let says = "{\"event\":\"reload\",\"what\":\"applied\",\"text\":";
    assert!(said.contains(says) && said.contains(": nothing has changed\"}"), "{said}");
}

#[test]
fn the_help_names_every_exit_code_and_every_reason_of_a_connections_end() {
    for (command, codes) in [("node", ["0", "2", "3"]), ("gateway", ["0", "2", "3"])] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_kinglet")).args([command, "--help"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, after) = text.split_once("Exit codes: ").expect(command);
        let words: Vec<_> = after.split_whitespace().collect();
        assert!(codes.iter().all(|code| words.contains(code)), "{command}: {after}");
        if command == "node" {
            let reasons = ["refused", "no_response", "timed_out", "unreachable", "reset"];
            let words = words.iter().map(|word| word.trim_end_matches([',', '.']));
            let words: Vec<_> = words.collect();
            assert!(reasons.iter().all(|reason| words.contains(reason)), "{after}");
        }
    }
}

#[test]
fn mistakes_say_where_they_are() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node-with-a-mistake.toml");
    fs::write(&file, "extended = \"02:12:4b:00:00:00:00:0a\"\nchanel = 26\n").unwrap();
    for (file, zep, code, says) in [
        (&file, "127.0.0.1", 2, "line 2"),
        (&example("none.toml"), "127.0.0.1", 3, "none.toml"),
        (&example("node-a.toml"), "here", 2, "is not an address such as"),
        // An address that this machine does not have.
        (
            &example("node-a.toml"),
            "192.0.2.1:17754,127.0.0.1",
            3,
            "the radio: cannot use the UDP address 192.0.2.1:17754: ",
        ),
    ] {
        let output = node(file, zep).stdin(Stdio::null()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(says), "{error}");
    }
}
