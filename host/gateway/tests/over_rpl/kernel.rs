//! The far ends of all flows, as programs on Linux.

use crate::{LEN, PERIOD_MS, QUEUE, START_S};
use kinglet_scenario::{Flow, Scenario};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV6, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between reads of received octets.
const LOOK: Duration = Duration::from_millis(5);
/// Longest wait for a connection.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time from the end of one attempt to the next, as for the lab's sensors.
const RETRY: Duration = Duration::from_secs(3);
/// Time for which a packet waits for a connection.
const KEPT: Duration = Duration::from_millis(QUEUE as u64 * PERIOD_MS as u64);
/// Number of SYN timeouts that do not grow, if the kernel supports them: the lab's Linux has none.
const LINEAR: &str = "/proc/sys/net/ipv4/tcp_syn_linear_timeouts";
/// Congestion control. The lab's Linux has CUBIC; with windows as small as these it grows as Reno
/// does (RFC 9438 §4.3), which is always allowed in a network namespace of one's own. The default
/// of a machine may be another one.
const CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const CONTROLS: [&str; 2] = ["cubic", "reno"];

/// The senders and receivers on this machine.
pub(crate) struct Kernel {
    over: Arc<AtomicBool>,
    /// Octets received; octets written by the sending ports.
    come: Arc<Mutex<u64>>,
    written: Arc<Mutex<BTreeMap<u16, u64>>>,
    /// Connections of the senders: a write may block for long.
    sending: Arc<Mutex<Vec<TcpStream>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Kernel {
    /// Starts them; `now` is a second before the flows begin.
    pub(crate) fn begin(scenario: &Scenario, now: Instant) -> Kernel {
        let _ = std::fs::write(LINEAR, "0");
        let is_allowed = |control: &&&str| std::fs::write(CONTROL, control).is_ok();
        let control = CONTROLS.iter().find(is_allowed).expect("everybody may choose Reno");
        eprintln!("the kernel has {control}");
        let mut kernel = Kernel {
            over: Arc::default(),
            come: Arc::default(),
            written: Arc::default(),
            sending: Arc::default(),
            threads: Vec::new(),
        };
        let mut listeners = Vec::new();
        for (place, flow) in scenario.flows.iter().enumerate() {
            let target = flow.target(place).expect("a receiver");
            if target.node == scenario.host() {
                let listener = TcpListener::bind((scenario.prefix.host(), target.port));
                listeners.push(listener.expect("a free port"));
            } else {
                let to = scenario.addressing().address(target.node);
                let to = SocketAddr::V6(SocketAddrV6::new(to, target.port, 0, 0));
                kernel.send(to, now + begin(flow, place));
            }
        }
        kernel.listen(listeners);
        kernel
    }

    /// Returns the number of octets that have arrived.
    pub(crate) fn octets(self) -> u64 {
        let unacknowledged = unacknowledged();
        self.over.store(true, Ordering::Relaxed);
        let written = self.written.lock().expect("nobody has panicked").clone();
        let arrived = |(port, written): (&u16, &u64)| {
            written.saturating_sub(unacknowledged.get(port).copied().unwrap_or(0))
        };
        let arrived: u64 = written.iter().map(arrived).sum();
        let come = *self.come.lock().expect("nobody has panicked");
        for stream in self.sending.lock().expect("nobody has panicked").iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads {
            thread.join().expect("the program ends");
        }
        arrived + come
    }

    /// Sends a packet each period from `at` on, even if TCP has not sent the previous ones.
    fn send(&mut self, to: SocketAddr, mut at: Instant) {
        let (over, written) = (Arc::clone(&self.over), Arc::clone(&self.written));
        let sending = Arc::clone(&self.sending);
        self.threads.push(thread::spawn(move || {
            wait_until(at);
            let Some(mut stream) = connect(&to, &over) else { return };
            // The number of packets kept for a connection is limited, as in the lab.
            at = at.max(Instant::now().checked_sub(KEPT).unwrap_or(at));
            let known = stream.try_clone().expect("a handle");
            sending.lock().expect("nobody has panicked").push(known);
            let port = stream.local_addr().expect("it is bound").port();
            while !over.load(Ordering::Relaxed) {
                wait_until(at);
                at += Duration::from_millis(PERIOD_MS.into());
                if stream.write_all(&[0; LEN as usize]).is_ok() {
                    let mut written = written.lock().expect("nobody has panicked");
                    *written.entry(port).or_default() += u64::from(LEN);
                }
            }
        }));
    }

    fn listen(&mut self, listeners: Vec<TcpListener>) {
        let (over, come) = (Arc::clone(&self.over), Arc::clone(&self.come));
        let never_waits = |listener: &TcpListener| listener.set_nonblocking(true);
        listeners.iter().for_each(|listener| never_waits(listener).expect("a socket"));
        self.threads.push(thread::spawn(move || {
            let (mut streams, mut chunk) = (Vec::<TcpStream>::new(), [0; 4096]);
            while !over.load(Ordering::Relaxed) {
                for listener in &listeners {
                    if let Ok((stream, _)) = listener.accept() {
                        stream.set_nonblocking(true).expect("a socket");
                        streams.push(stream);
                    }
                }
                streams.retain_mut(|stream| match stream.read(&mut chunk) {
                    Ok(0) => false,
                    Ok(len) => {
                        *come.lock().expect("nobody has panicked") += len as u64;
                        true
                    }
                    Err(error) => error.kind() == ErrorKind::WouldBlock,
                });
                thread::sleep(LOOK);
            }
        }));
    }
}

/// Returns a connection, as soon as there is one: an attempt fails if the border router has no
/// route.
fn connect(to: &SocketAddr, over: &AtomicBool) -> Option<TcpStream> {
    while !over.load(Ordering::Relaxed) {
        if let Ok(stream) = TcpStream::connect_timeout(to, PATIENCE) {
            return Some(stream);
        }
        thread::sleep(RETRY);
    }
    None
}

/// Returns the start, counted from a second before the flows: the sensors of the lab begin anywhere
/// in a period after it.
fn begin(flow: &Flow, place: usize) -> Duration {
    let start = Duration::from_secs_f64(flow.start_s - f64::from(START_S - 1));
    // No two of them begin at the same time, with any number of places.
    let share = (place as f64 * 0.618_034).fract();
    start + Duration::from_secs_f64(share * f64::from(PERIOD_MS) / 1e3)
}

fn wait_until(at: Instant) {
    thread::sleep(at.saturating_duration_since(Instant::now()));
}

/// Returns the number of unacknowledged octets in each send queue, by port.
fn unacknowledged() -> BTreeMap<u16, u64> {
    let text = std::fs::read_to_string("/proc/net/tcp6").expect("the kernel's connections");
    let entry = |line: &str| {
        let mut fields = line.split_whitespace();
        let (_, port) = fields.nth(1)?.rsplit_once(':')?;
        let (queued, _) = fields.nth(2)?.split_once(':')?;
        Some((u16::from_str_radix(port, 16).ok()?, u64::from_str_radix(queued, 16).ok()?))
    };
    text.lines().skip(1).filter_map(entry).collect()
}
