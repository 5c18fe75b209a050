//! A line of four processes with EUI-64 addresses. Each is killed and started in turn: the root
//! reaches all others within half a minute, with RPL in storing and in non-storing mode.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

const NODES: usize = 4;
/// Time within which all are reached after a start.
const LIMIT: Duration = Duration::from_secs(30);

/// An air on which each node receives the previous and the next one.
struct Line {
    files: Vec<PathBuf>,
    /// Address of each process on the air, and address to which it sends.
    ends: Vec<(SocketAddr, SocketAddr)>,
    processes: Vec<Option<Process>>,
}

struct Process {
    child: Child,
    said: Receiver<serde_json::Value>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bound() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("loopback")
}

impl Line {
    fn new(mode: &str) -> Self {
        let own: Vec<SocketAddr> =
            (0..NODES).map(|_| bound().local_addr().expect("it is bound")).collect();
        // A process accepts datagrams of one peer only, so the air has a socket for each.
        let airs: Vec<Arc<UdpSocket>> = (0..NODES).map(|_| Arc::new(bound())).collect();
        let ends = own.iter().zip(&airs);
        let ends = ends.map(|(own, air)| (*own, air.local_addr().expect("it is bound"))).collect();
        for node in 0..NODES {
            let (airs, own) = (airs.clone(), own.clone());
            thread::spawn(move || {
                let mut octets = [0; 512];
                loop {
                    // An error comes from a process that does not run.
                    let Ok(len) = airs[node].recv(&mut octets) else { continue };
                    for other in [node.wrapping_sub(1), node + 1] {
                        if let (Some(air), Some(to)) = (airs.get(other), own.get(other)) {
                            let _ = air.send_to(&octets[..len], to);
                        }
                    }
                }
            });
        }
        let files = (0..NODES).map(|node| file(mode, node)).collect();
        let processes = (0..NODES).map(|_| None).collect();
        Line { files, ends, processes }
    }

    /// Starts a process, after its predecessor was killed.
    fn start(&mut self, node: usize) {
        self.processes[node] = None;
        let (own, air) = self.ends[node];
        let mut child = Command::new(env!("CARGO_BIN_EXE_kinglet"))
            .arg("node")
            .arg(&self.files[node])
            .args(["--json", "--zep", &format!("{own},{air}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary");
        let (says, said) = channel();
        let out = BufReader::new(child.stdout.take().expect("piped"));
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = says.send(serde_json::from_str(&line).expect("JSON"));
            }
        });
        self.processes[node] = Some(Process { child, said });
    }

    /// Returns true if the root gets a response of a node within a second.
    fn reaches(&mut self, node: usize) -> bool {
        let root = self.processes[0].as_mut().expect("it runs");
        let address = format!("fd00:5::12:4b00:0:{:x}", node + 10);
        let mut input = root.child.stdin.as_ref().expect("piped");
        writeln!(input, "ping {address} 1").expect("it reads");
        let end = Instant::now() + Duration::from_secs(1);
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let Ok(said) = root.said.recv_timeout(left) else { return false };
            if said["event"] == "echo_reply" && said["from"] == address.as_str() {
                return true;
            }
        }
        false
    }

    /// Time until the root has reached all others, one after the other.
    fn until_all_are_reached(&mut self) -> Option<Duration> {
        let begun = Instant::now();
        while begun.elapsed() < LIMIT {
            if (1..NODES).all(|node| self.reaches(node)) {
                return Some(begun.elapsed());
            }
        }
        None
    }
}

fn file(mode: &str, node: usize) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("restarts-{mode}-{node}.toml"));
    let rpl = match node {
        0 => format!(
            "addresses = [\"fd00:5::12:4b00:0:a/64\"]\n\
             rpl = {{ role = \"root\", mode = \"{mode}\" }}"
        ),
        _ => "rpl = { role = \"router\" }".to_owned(),
    };
    let number = node + 10;
    let text =
        format!("extended = \"02:12:4b:00:00:00:00:{number:02x}\"\nack_wait_ms = 40\n{rpl}\n");
    fs::write(&path, text).expect("the directory of the tests");
    path
}

fn each_is_restarted_in_turn(mode: &str) {
    let mut line = Line::new(mode);
    (0..NODES).for_each(|node| line.start(node));
    assert!(line.until_all_are_reached().is_some(), "{mode}: the network did not form");
    for node in 0..NODES {
        line.start(node);
        let took = line.until_all_are_reached();
        assert!(took.is_some(), "{mode}: node {node} has restarted");
    }
}

#[test]
fn in_storing_mode_all_are_reached_after_each_restart() {
    each_is_restarted_in_turn("storing");
}

#[test]
fn in_non_storing_mode_all_are_reached_after_each_restart() {
    each_is_restarted_in_turn("non-storing");
}
