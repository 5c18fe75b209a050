//! The program as a process, and the gateway in a network namespace.
#![allow(dead_code, reason = "every test file uses its part")]
#![allow(unreachable_pub, reason = "a module of test files")]

use nix::sched::{CloneFlags, unshare};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

const TUN: &str = "kltest0";
/// Time within which octets come, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);
pub const ONE_HOP: &str = "fd6b:696e:676c:7400:0:ff:fe00:2";
pub const THREE_HOPS: &str = "fd6b:696e:676c:7400:0:ff:fe00:4";

/// The scenario of three motes in a line.
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway.toml")
}

/// Returns true if the gateway's device exists.
pub fn has_device() -> bool {
    Command::new("ip").args(["link", "show", TUN]).output().unwrap().status.success()
}

/// Runs a step and prints its duration.
pub fn step(what: &str, action: impl FnOnce()) {
    let began = Instant::now();
    action();
    eprintln!("{what}: ok, {:.1} s", began.elapsed().as_secs_f64());
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {stderr}", output.status);
    output
}

/// Exit code, standard output and standard error of `kinglet` with these arguments.
pub fn kinglet(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
    let Output { status, stdout, stderr } =
        command.args(arguments).stdin(Stdio::null()).output().expect("it runs");
    let text = |octets: Vec<u8>| String::from_utf8(octets).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// The response of a mote's web server for a path, with more options.
pub fn curl(mote: &str, path: &str, more: &[&str]) -> Vec<u8> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--globoff", "--noproxy", "*"]);
    curl.args(["--max-time", "120"]).args(more).arg(format!("http://[{mote}]{path}"));
    run(&mut curl).stdout
}

/// Asserts that these are the first `count` octets of the servers at `/bytes/N`.
pub fn assert_pattern(octets: &[u8], count: usize) {
    let expected: Vec<u8> = (0..count).map(|i| (i % 251) as u8).collect();
    assert!(octets == expected, "{} octets", octets.len());
}

pub fn hash(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").unwrap();
        text
    })
}

/// Time until `done`.
pub fn until(limit: Duration, mut done: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < limit, "not within {limit:?}");
    }
    began.elapsed()
}

/// Returns true if a node responds to a ping within a second.
pub fn answers(node: &str) -> bool {
    let mut ping = Command::new("ping");
    ping.args(["-6", "-n", "-q", "-c", "1", "-W", "1", node]).stdout(Stdio::null());
    let answers = ping.stderr(Stdio::null()).status().unwrap().success();
    if !answers {
        // An interface that is missing fails at once.
        thread::sleep(Duration::from_millis(100));
    }
    answers
}

/// Asserts that a node returns so many octets.
pub fn is_complete(node: &str, count: usize) {
    let to = SocketAddr::new(node.parse().unwrap(), 7);
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let sent: Vec<u8> = (0..count).map(|place| (place % 251) as u8).collect();
    let mut writer = stream.try_clone().unwrap();
    let octets = sent.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&octets).expect("it accepts them");
        writer.shutdown(Shutdown::Write).expect("the end");
    });
    let mut come = Vec::new();
    stream.read_to_end(&mut come).expect("its octets");
    writing.join().expect("all are sent");
    assert!(come == sent, "{} octets", come.len());
}

/// A connection to the echo server of a node that has returned a text.
pub fn echoed(node: &str) -> Option<TcpStream> {
    let to = SocketAddr::new(node.parse().unwrap(), 7);
    let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(5)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    is_echoed(&mut stream).then_some(stream)
}

/// Returns true if the other end returns a text.
pub fn is_echoed(stream: &mut TcpStream) -> bool {
    let mut come = [0; 4];
    stream.write_all(b"text").is_ok() && stream.read_exact(&mut come).is_ok() && come == *b"text"
}

/// An air on which every process receives all others. Returns the two ends of each one's ZEP link:
/// its own address, and that to which it sends.
pub fn air(processes: usize) -> Vec<(SocketAddr, SocketAddr)> {
    heard_air(processes, |_| {})
}

/// The same; `hear` gets each datagram.
pub fn heard_air(
    processes: usize,
    hear: impl Fn(&[u8]) + Send + Sync + 'static,
) -> Vec<(SocketAddr, SocketAddr)> {
    let hear = Arc::new(hear);
    let bound = || UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let address = |socket: &UdpSocket| socket.local_addr().expect("it is bound");
    let own: Vec<SocketAddr> = (0..processes).map(|_| address(&bound())).collect();
    // A process accepts datagrams of one peer only, so the air has a socket for each.
    let airs: Vec<Arc<UdpSocket>> = (0..processes).map(|_| Arc::new(bound())).collect();
    let ends = own.iter().zip(&airs).map(|(own, air)| (*own, address(air))).collect();
    for from in 0..processes {
        let (airs, own, hear) = (airs.clone(), own.clone(), Arc::clone(&hear));
        thread::spawn(move || {
            let mut octets = [0; 512];
            loop {
                // An error comes from a process that does not run.
                let Ok(len) = airs[from].recv(&mut octets) else { continue };
                hear(&octets[..len]);
                let others = own.iter().zip(&airs).enumerate().filter(|(to, _)| *to != from);
                for (_, (own, air)) in others {
                    let _ = air.send_to(&octets[..len], own);
                }
            }
        });
    }
    ends
}

/// A `kinglet node`, which ends with the test.
pub struct External(Child);

impl External {
    pub fn start(file: &Path, ends: &str) -> Self {
        External::start_with(file, ends, &[])
    }

    /// The same with these options.
    pub fn start_with(file: &Path, ends: &str, options: &[&str]) -> Self {
        External::run(file, &[&["--zep", ends], options].concat())
    }

    /// Starts one with these options, of which one is its radio.
    pub fn run(file: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
        command.arg("node").arg(file).args(options);
        External(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for External {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A temporary file.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Creates one with a unique name.
    pub fn new(octets: &[u8]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gateway-test-{}-{number}", std::process::id());
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

/// Work of a computer.
type Work = Box<dyn FnOnce() + Send>;

/// A second computer: a thread in a separate network namespace, with all its processes. The
/// namespace goes with it, and with the sockets that were opened there.
pub struct Computer {
    work: Sender<Work>,
}

impl Computer {
    pub fn with_network() -> Self {
        let (work, to_do) = channel::<Work>();
        thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            to_do.into_iter().for_each(|work| work());
        });
        Computer { work }
    }

    /// Runs work on it.
    pub fn run<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> R {
        let (done, result) = channel();
        self.work.send(Box::new(move || drop(done.send(work())))).unwrap();
        result.recv().expect("the other thread has said why")
    }

    /// The number of its thread, by which `ip` finds the namespace.
    pub fn thread(&self) -> String {
        let thread = self.run(|| std::fs::read_link("/proc/thread-self").unwrap());
        thread.file_name().and_then(|name| name.to_str()).unwrap().to_owned()
    }
}

/// The running program.
pub struct Gateway {
    child: Child,
    /// Its output before it was ready.
    pub announcement: String,
    /// Its standard error, if a test asks for that.
    pub error: Option<ChildStderr>,
    /// Collects the lines after `ready`.
    rest: Option<thread::JoinHandle<String>>,
}

impl Gateway {
    /// Starts the program and waits until it is ready; its device exists by then.
    pub fn start(scenario: &Path) -> Self {
        Gateway::start_with(scenario, &["--tun", TUN])
    }

    /// The same with these options.
    pub fn start_with(scenario: &Path, options: &[&str]) -> Self {
        Gateway::start_watched(scenario, options, Stdio::inherit())
    }

    /// The same with its standard error redirected.
    pub fn start_watched(scenario: &Path, options: &[&str], error: Stdio) -> Self {
        Gateway::start_as("gateway", scenario, options, error)
    }

    /// The same with the command `gateway` or `router`.
    pub fn start_as(name: &str, file: &Path, options: &[&str], error: Stdio) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
        command.arg(name).arg(file).args(options).stderr(error);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let error = child.stderr.take();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let announcement: Vec<String> = lines.by_ref().take_while(|line| line != "ready").collect();
        let announcement = announcement.join("\n");
        let rest = thread::spawn(move || {
            lines.fold(String::new(), |text, line| {
                eprintln!("  {line}");
                text + &line + "\n"
            })
        });
        Gateway { child, announcement, error, rest: Some(rest) }
    }

    /// Exit status, standard error and output since it was ready of a program that ends by itself
    /// within ten seconds.
    pub fn end(mut self) -> (ExitStatus, String, String) {
        let status = self.wait();
        let mut error = String::new();
        if let Some(mut from) = self.error.take() {
            from.read_to_string(&mut error).unwrap();
        }
        (status, error, self.rest.take().unwrap().join().unwrap())
    }

    fn wait(&mut self) -> ExitStatus {
        let patience = Instant::now() + Duration::from_secs(10);
        while self.child.try_wait().unwrap().is_none() && Instant::now() < patience {
            thread::sleep(Duration::from_millis(20));
        }
        self.child.try_wait().unwrap().expect("it ends within ten seconds")
    }

    /// Sends SIGINT; returns the exit status of the program, and its output since it was ready.
    pub fn interrupt(self) -> (ExitStatus, String) {
        self.signal("INT")
    }

    /// Sends a signal that does not end it.
    pub fn send(&self, name: &str) {
        run(Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]));
    }

    /// The same with another signal.
    pub fn signal(mut self, name: &str) -> (ExitStatus, String) {
        self.send(name);
        let status = self.wait();
        (status, self.rest.take().unwrap().join().unwrap())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
