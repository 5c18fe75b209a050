//! Processes with link security are killed at random moments: no frame counter is used twice, and
//! all reach each other again. `KINGLET_KILLS` is their number; 20 unless set.

mod common;
use common::*;
use kinglet_testkit::namespace::in_namespace;
use kinglet_wire::ieee802154::{Address, Frame};
use kinglet_zep::datagram::Datagram;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const SEED: u64 = 47;
const KILLS: u64 = 20;
/// Longest life of a process before it is killed.
const LIFE_MS: u64 = 2_000;
const LIMIT: Duration = Duration::from_secs(30);
/// Octets of the frame check sequence.
const FCS: usize = 2;
/// Octets before the first record of a capture, and before the data of each.
const PCAP_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Octets of a capture of at least twenty frames with counters: half of its records of at most 171
/// octets are acknowledgements.
const CAPTURED: u64 = 2 * 20 * 171;
/// A simulated network with link security.
const SIMULATED: &str = "[topology]\nline = { hops = 2 }\n[net]\nrouting = \"rpl\"\n";

/// Frames by sender and counter.
#[derive(Default)]
struct Counters {
    frames: BTreeMap<(String, u32), Vec<u8>>,
    /// Two different frames of one sender with one counter.
    twice: Vec<(String, u32)>,
}

impl Counters {
    fn hear(&mut self, datagram: &[u8]) {
        if let Ok(Datagram { psdu, .. }) = Datagram::parse(datagram) {
            self.note(&psdu[..psdu.len() - FCS]);
        }
    }

    /// Notes the frames of a capture; the last record may be cut off.
    fn note_capture(&mut self, capture: &[u8]) {
        let mut rest = capture.get(PCAP_HEADER..).unwrap_or_default();
        while let Some((head, data)) = rest.split_at_checked(RECORD_HEADER) {
            let len = u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
            let Some((record, next)) = data.split_at_checked(len) else { return };
            let tap = usize::from(u16::from_le_bytes([record[2], record[3]]));
            self.note(&record[tap..len - FCS]);
            rest = next;
        }
    }

    fn note(&mut self, octets: &[u8]) {
        let Ok(frame) = Frame::parse(octets) else { return };
        let counter = frame.security().and_then(|header| header.frame_counter);
        let Some(counter) = counter.filter(|_| frame.src() != Address::None) else { return };
        let name = (format!("{:?}", frame.src()), counter);
        match self.frames.get(&name) {
            // A retransmission is the same frame.
            Some(before) if before == octets => {}
            Some(_) => self.twice.push(name),
            None => drop(self.frames.insert(name, octets.to_vec())),
        }
    }
}

/// A directory that is removed with the value.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("kills-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A router and a node, which are killed.
struct Both {
    files: [PathBuf; 2],
    node_ends: String,
    state: String,
    router: Child,
    node: Option<External>,
}

impl Both {
    fn new(directory: &Directory, ends: &[(SocketAddr, SocketAddr)]) -> Self {
        directory.file("key", "00112233445566778899aabbccddeeff\n");
        let (own, air) = ends[0];
        let router = format!(
            "radio = \"zep://{own},{air}\"\nack_wait_ms = 40\nkey_file = \"key\"\n\
             state = \"router.state\"\n[network]\neui64 = \"02:12:4b:00:00:00:00:0a\"\n\
             prefix = \"fd00:5::/64\"\n[tun]\nname = \"kltest0\"\n\
             address = \"fd00:5:0:1::1/64\"\n"
        );
        let node = "extended = \"02:12:4b:00:00:00:00:0b\"\nack_wait_ms = 40\n\
                    key_file = \"key\"\nrpl = { role = \"router\" }\n";
        let files = [directory.file("router.toml", &router), directory.file("node.toml", node)];
        let router = Both::router(&files[0]);
        let (own, air) = ends[1];
        let state = directory.0.join("node.state").display().to_string();
        let node_ends = format!("{own},{air}");
        let mut both = Both { files, node_ends, state, router, node: None };
        both.start_node();
        both
    }

    fn router(file: &Path) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kinglet"));
        command.arg("router").arg(file).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn start_node(&mut self) {
        // The old process has to be gone: it has locked the state.
        self.node = None;
        let options = ["--state", &self.state];
        self.node = Some(External::start_with(&self.files[1], &self.node_ends, &options));
    }

    fn kill_router(&mut self) {
        self.router.kill().unwrap();
        self.router.wait().unwrap();
        self.router = Both::router(&self.files[0]);
    }

    /// Returns true if neither has ended by itself.
    fn run(&mut self) -> bool {
        matches!(self.router.try_wait(), Ok(None))
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        let _ = self.router.kill();
        let _ = self.router.wait();
    }
}

#[test]
fn no_kill_makes_a_gateway_use_a_frame_counter_twice() {
    let name = "no_kill_makes_a_gateway_use_a_frame_counter_twice";
    in_namespace(name, &[("ping", "-V")], gateway_kills);
}

fn gateway_kills() {
    run(Command::new("ip").args(["link", "set", "lo", "up"]));
    let directory = Directory::new();
    let (scenario, capture) = (directory.file("simulated", SIMULATED), directory.file("air", ""));
    let [state, pcap] =
        [directory.0.join("gateway.state"), capture.clone()].map(|path| path.display().to_string());
    let options = ["--tun", "kltest0", "--state", &state, "--pcap", &pcap];
    let mut counters = Counters::default();
    for life in 1..=3 {
        let gateway = Gateway::start_with(&scenario, &options);
        let node = "fd6b:696e:676c:7400:0:ff:fe00:3";
        let pinged = || answers(node) && std::fs::metadata(&capture).unwrap().len() > CAPTURED;
        eprintln!("life {life}: pinged for {:.1?}", until(LIMIT, pinged));
        // A value that is dropped is killed.
        drop(gateway);
        let before = counters.frames.len();
        counters.note_capture(&std::fs::read(&capture).unwrap());
        let frames = counters.frames.len() - before;
        assert!(frames >= 20, "{frames} frames of life {life}");
    }
    assert!(counters.twice.is_empty(), "used twice: {:?}", counters.twice);
}

#[test]
fn no_kill_makes_a_process_use_a_frame_counter_twice() {
    let name = "no_kill_makes_a_process_use_a_frame_counter_twice";
    in_namespace(name, &[("ping", "-V")], kills);
}

fn kills() {
    run(Command::new("ip").args(["link", "set", "lo", "up"]));
    let counters = Arc::new(Mutex::new(Counters::default()));
    let heard = Arc::clone(&counters);
    let ends = heard_air(2, move |datagram| heard.lock().unwrap().hear(datagram));
    let directory = Directory::new();
    let mut both = Both::new(&directory, &ends);
    let node = "fd00:5::12:4b00:0:b";
    eprintln!("formed after {:.1?}", until(LIMIT, || answers(node)));
    let mut ping = Command::new("ping");
    ping.args(["-6", "-n", "-q", "-i", "0.02", node]).stdout(Stdio::null()).stderr(Stdio::null());
    let given = std::env::var("KINGLET_KILLS").ok();
    let kills = given.map_or(KILLS, |text| text.parse().expect("KINGLET_KILLS is a number"));
    let mut state = SEED;
    for kill in 0..kills {
        // It ends while the device is missing.
        let mut pings = ping.spawn().unwrap();
        thread::sleep(Duration::from_millis(random(&mut state) % LIFE_MS));
        assert!(both.run(), "the router has ended before kill {kill}");
        match random(&mut state) % 3 {
            0 => both.start_node(),
            1 => both.kill_router(),
            _ => {
                both.kill_router();
                both.start_node();
            }
        }
        let _ = pings.kill();
        let _ = pings.wait();
    }
    let again = until(LIMIT, || answers(node));
    let counters = counters.lock().unwrap();
    let frames = counters.frames.len();
    eprintln!("{kills} kills, {frames} counters; reached again after {again:.1?}");
    assert!(frames > 5 * kills as usize, "{frames} frames in {kills} lives");
    assert!(counters.twice.is_empty(), "used twice: {:?}", counters.twice);
}
