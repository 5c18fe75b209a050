//! The gateway against the kernel's own TCP, in a network namespace of its own: ping, pages, bulk
//! transfers both ways at one and at three hops, ten connections at once, a clean end.
//!
//! The test runs itself again under `unshare`, where it may create devices without being root and
//! meets no other network. Where that is forbidden, or `ip`, `ping` or `curl` are missing, it says
//! so and passes; if the environment has `CI`, it fails instead.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Set for the run inside of the namespace.
const INSIDE: &str = "KINGLET_GATEWAY_TEST_INSIDE";
const TUN: &str = "kltest0";
const ONE_HOP: &str = "fd6b:696e:676c:7400:0:ff:fe00:2";
const THREE_HOPS: &str = "fd6b:696e:676c:7400:0:ff:fe00:4";
/// Octets of the bulk transfers.
const BULK: usize = 200_000;

#[test]
fn linux_talks_to_motes_one_and_three_hops_away() {
    if std::env::var_os(INSIDE).is_some() {
        return talk();
    }
    if let Some(obstacle) = obstacle() {
        assert!(std::env::var_os("CI").is_none(), "CI must run this test, but {obstacle}");
        // Past the capture of the test harness, so that it is seen.
        let _ = writeln!(std::io::stderr(), "SKIPPED: gateway test: {obstacle}");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let mut inside = namespace();
    inside.arg(this).args(["--exact", "linux_talks_to_motes_one_and_three_hops_away"]);
    let status = inside.args(["--nocapture"]).env(INSIDE, "1").status().unwrap();
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

/// Why the test cannot be done here.
fn obstacle() -> Option<String> {
    let tools = [("ip", "-V"), ("ping", "-V"), ("curl", "-V"), ("unshare", "-V"), ("kill", "-l")];
    if let Some((missing, _)) =
        tools.iter().find(|(tool, arg)| !succeeds(Command::new(tool).arg(arg)))
    {
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

/// Everything, inside of the namespace.
fn talk() {
    let gateway = Gateway::start();
    step("ping", || {
        for mote in [ONE_HOP, THREE_HOPS] {
            let output = run(Command::new("ping").args(["-6", "-n", "-c", "3", "-w", "10", mote]));
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains(" 0% packet loss"), "{text}");
        }
    });
    step("pages", || {
        assert!(page(ONE_HOP).contains("<h1>Mote 1</h1>"));
        assert!(page(THREE_HOPS).contains("<h1>Mote 3</h1>"));
    });
    step("ten connections at once", || {
        let threads: Vec<_> = (0..10).map(|_| thread::spawn(|| page(THREE_HOPS))).collect();
        for thread in threads {
            assert!(thread.join().unwrap().contains("<h1>Mote 3</h1>"));
        }
    });
    step("given up downloads leave room for others", || {
        // More than a mote has connections.
        let threads: Vec<_> = (0..14).map(|_| thread::spawn(|| give_up(THREE_HOPS))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(page(THREE_HOPS).contains("<h1>Mote 3</h1>"));
    });
    for (mote, hops) in [(ONE_HOP, "one hop"), (THREE_HOPS, "three hops")] {
        step(&format!("download over {hops}"), || download(mote));
        step(&format!("upload over {hops}"), || upload(mote));
    }
    step("Ctrl-C", || {
        let (status, rest) = gateway.interrupt();
        assert_eq!(status.code(), Some(0), "{rest}");
        assert!(rest.contains("stopped after"), "a summary: {rest}");
        let device = Command::new("ip").args(["link", "show", TUN]).output().unwrap();
        assert!(!device.status.success(), "the device has gone with the program");
    });
}

/// Does a step and says how long it took.
fn step(what: &str, action: impl FnOnce()) {
    let began = Instant::now();
    action();
    eprintln!("{what}: ok, {:.1} s", began.elapsed().as_secs_f64());
}

/// Runs a command that must succeed.
fn run(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {stderr}", output.status);
    output
}

/// Begins a download that would take minutes and leaves after two seconds.
fn give_up(mote: &str) {
    let url = format!("http://[{mote}]/bytes/1000000");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--globoff", "--noproxy", "*", "--max-time", "2", &url]);
    assert_eq!(curl.output().unwrap().status.code(), Some(28), "a timeout");
}

/// The body of a request; 2 minutes are three times what 200 kB take over three hops.
fn curl(mote: &str, path: &str, more: &[&str]) -> Vec<u8> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--globoff", "--noproxy", "*"]);
    curl.args(["--max-time", "120"]).args(more).arg(format!("http://[{mote}]{path}"));
    run(&mut curl).stdout
}

fn page(mote: &str) -> String {
    String::from_utf8(curl(mote, "/", &[])).unwrap()
}

fn download(mote: &str) {
    let octets = curl(mote, &format!("/bytes/{BULK}"), &[]);
    assert_eq!(octets.len(), BULK);
    let expected: Vec<u8> = (0..BULK).map(|i| (i % 251) as u8).collect();
    assert_eq!(hash(&octets), hash(&expected));
}

fn upload(mote: &str) {
    // Not periodic, unlike the pattern of downloads.
    let octets: Vec<u8> = (0..BULK as u64).map(|i| ((i * i / 7) >> 3) as u8).collect();
    let file = Scratch::new(&octets);
    let reply = curl(mote, "/upload", &["--upload-file", file.0.to_str().unwrap()]);
    assert_eq!(String::from_utf8(reply).unwrap(), format!("{BULK} {}\n", hash(&octets)));
}

fn hash(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").unwrap();
        text
    })
}

/// A file that goes away again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(octets: &[u8]) -> Self {
        let name = format!("gateway-test-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, octets).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The running program.
struct Gateway {
    child: Child,
    /// Collects what it says after `ready`.
    rest: Option<thread::JoinHandle<String>>,
}

impl Gateway {
    /// Starts the program and waits until it is ready; it makes its device before it says so.
    fn start() -> Self {
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway.toml");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
        command.arg("gateway").arg(scenario).args(["--tun", TUN]);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let announcement: Vec<String> = lines.by_ref().take_while(|line| line != "ready").collect();
        let announcement = announcement.join("\n");
        for mote in [ONE_HOP, THREE_HOPS] {
            let command = format!("curl -g 'http://[{mote}]/'");
            assert!(announcement.contains(&command), "what to try: {announcement}");
        }
        let rest = thread::spawn(move || {
            lines.fold(String::new(), |text, line| {
                eprintln!("  {line}");
                text + &line + "\n"
            })
        });
        Gateway { child, rest: Some(rest) }
    }

    /// Sends SIGINT; how the program ended, and what it had said since it was ready.
    fn interrupt(mut self) -> (ExitStatus, String) {
        run(Command::new("kill").args(["-INT", &self.child.id().to_string()]));
        let patience = Instant::now() + Duration::from_secs(10);
        while self.child.try_wait().unwrap().is_none() && Instant::now() < patience {
            thread::sleep(Duration::from_millis(20));
        }
        let status = self.child.try_wait().unwrap().expect("it ends within ten seconds");
        (status, self.rest.take().unwrap().join().unwrap())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the program says and returns when it cannot start.
fn refusal(args: &[&str], scenario: &str) -> (Option<i32>, String) {
    let file = Scratch::new(scenario.as_bytes());
    let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
    let output = command.arg("gateway").arg(&file.0).args(args).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_cannot_be_bridged_is_refused_with_one_clear_error() {
    let (code, text) = refusal(&[], "[[node]]\n[[node]]\nx_m = 5\n");
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("no border router") && text.contains("role = \"border-router\""),
        "{text}"
    );

    let line = "[topology]\nline = { hops = 1 }\n";
    for name in ["", "longer-than-a-name", "with/slash", "with space"] {
        let (code, text) = refusal(&["--tun", name], line);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("is not a name for a network device"), "{text}");
    }

    let (code, text) = refusal(&[], "[topology]\nlien = { hops = 1 }\n");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("did you mean `line`?"), "{text}");
}
