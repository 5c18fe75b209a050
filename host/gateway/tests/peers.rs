//! The other stacks against the TCP of the Linux kernel, over a TUN device that loses packets: each
//! stack opens a connection and sends, and receives over one that Linux has opened. Tests of these
//! stacks among themselves cannot show that they interoperate with Linux.
//!
//! Like `tests/linux`, it runs in a network namespace of its own, and reports if that is forbidden.

use core::net::Ipv6Addr;
use kinglet_gateway::tun::{self, TunConfig};
use kinglet_peers::{Handle, Host, Settings, Stack};
use kinglet_testkit::namespace::in_namespace;
use kinglet_time::{Duration, Instant};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use tun_rs::AsyncDevice;

const TUN: &str = "klpeers0";
const LINUX: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7403, 0, 0, 0, 1);
const PEER: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7403, 0, 0, 0, 2);
/// Ports of Linux and of the peer, plus the stack's number.
const LINUX_PORT: u16 = 9_000;
const PEER_PORT: u16 = 7_000;
/// One packet in this number is lost.
const ONE_IN: u64 = 50;
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(100);

/// Stack, and octets in each direction. The stacks with one segment in flight wait for Linux's
/// delayed acknowledgement of each segment, and BLIP for its timer.
const STACKS: [(Stack, usize); 5] = [
    (Stack::Uip, 50_000),
    (Stack::Blip, 20_000),
    (Stack::Gnrc, 50_000),
    (Stack::FreeBsd, 100_000),
    (Stack::Linux, 500_000),
];

fn settings(stack: Stack) -> Settings {
    let (mss, buffer) = match stack {
        Stack::Linux => (1220, 65_535),
        Stack::FreeBsd => (1220, 4 * 1208),
        Stack::Blip => (1220, 1220),
        Stack::Uip | Stack::Gnrc => (1220, 1220),
    };
    Settings { ecn: true, ..Settings::new(stack, mss, buffer, buffer) }
}

fn octet(at: usize) -> u8 {
    ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8
}

fn stream(len: usize) -> Vec<u8> {
    (0..len).map(octet).collect()
}

/// Starts Linux, which reads to the end, or writes.
fn listen(port: u16) -> JoinHandle<Vec<u8>> {
    let listener = TcpListener::bind((LINUX, port)).expect("a free port");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut read = Vec::new();
        stream.read_to_end(&mut read).expect("Linux reads");
        read
    })
}

fn send(port: u16, len: usize) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut to = TcpStream::connect((PEER, port)).expect("Linux connects");
        to.write_all(&stream(len)).expect("Linux writes");
        to.shutdown(Shutdown::Write).expect("Linux closes");
        // The peer closes when it has read everything.
        to.read_to_end(&mut Vec::new()).expect("an end without a reset");
    })
}

/// A connection over which the peer sends.
struct Sending {
    handle: Handle,
    stack: Stack,
    left: Vec<u8>,
    over: bool,
}

/// A connection over which the peer receives.
struct Receiving {
    port: u16,
    handle: Option<Handle>,
    stack: Stack,
    read: Vec<u8>,
    expected: usize,
    over: bool,
}

struct Exchange {
    device: AsyncDevice,
    host: Host,
    began: std::time::Instant,
    sending: Vec<Sending>,
    receiving: Vec<Receiving>,
    random: u64,
    lost: u32,
}

impl Exchange {
    fn now(&self) -> Instant {
        Instant::from_micros(1_000_000 + self.began.elapsed().as_micros() as u64)
    }

    fn is_lost(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let lost = (self.random >> 33).is_multiple_of(ONE_IN);
        self.lost += u32::from(lost);
        lost
    }

    /// Runs the applications. Returns whether all have ended.
    fn applications(&mut self) -> bool {
        for flow in &mut self.sending {
            // BLIP refuses what does not fit as a whole.
            let room = self.host.can_send(flow.handle).min(flow.left.len());
            let taken = self.host.send(flow.handle, &flow.left[..room]);
            flow.left.drain(..taken);
            if flow.left.is_empty() {
                self.host.close(flow.handle);
            }
            flow.over = self.host.recv(flow.handle, &mut [0; 64]) == Some(0);
            let failure = self.host.info(flow.handle).failure;
            assert_eq!(failure, None, "{:?} sends", flow.stack);
        }
        for flow in &mut self.receiving {
            flow.handle = flow.handle.or_else(|| self.host.accept(flow.port));
            let Some(handle) = flow.handle else { continue };
            let mut buf = [0; 4096];
            while let Some(len) = self.host.recv(handle, &mut buf) {
                flow.read.extend(&buf[..len]);
                if len == 0 {
                    assert_eq!(self.host.info(handle).failure, None, "{:?} receives", flow.stack);
                    self.host.close(handle);
                    flow.over = true;
                    break;
                }
            }
        }
        self.sending.iter().all(|f| f.over) && self.receiving.iter().all(|f| f.over)
    }

    async fn run(&mut self) {
        let mut packet = [0; 2048];
        let mut over_since = None;
        while self.began.elapsed() < PATIENCE {
            let now = self.now();
            self.host.handle_deadline(now);
            if self.applications() {
                // Time for the last acknowledgements and FINs.
                let since = *over_since.get_or_insert(std::time::Instant::now());
                if since.elapsed() > std::time::Duration::from_secs(3) {
                    return;
                }
            }
            while let Some(packet) = self.host.poll_packet(now) {
                if !self.is_lost() {
                    self.device.send(&packet).await.expect("the device takes it");
                }
            }
            let soon = now + Duration::from_millis(20);
            let next = self.host.deadline().map_or(soon, |at| at.min(soon));
            let wait = next.checked_since(self.now()).unwrap_or(Duration::ZERO);
            let wait = std::time::Duration::from_micros(wait.as_micros());
            tokio::select! {
                received = self.device.recv(&mut packet) => {
                    let len = received.expect("the device gives it");
                    if !self.is_lost() {
                        let now = self.now();
                        self.host.handle_packet(now, &packet[..len]);
                    }
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
        let states: Vec<_> = self.host.connections().collect();
        panic!("not done after {PATIENCE:?}: {states:#?}");
    }
}

async fn exchange() {
    let (name, address, prefix_len) = (TUN.to_owned(), LINUX, 64);
    let config = TunConfig { name, address, prefix_len, mesh: LINUX, mtu: 1280 };
    let device = tun::create(&config, tun::GATEWAY).await.expect("a device");
    let mut host = Host::new(PEER, 64, 77);
    let (mut sending, mut receiving) = (Vec::new(), Vec::new());
    let (mut servers, mut clients) = (Vec::new(), Vec::new());
    let now = Instant::from_secs(1);
    for (number, (stack, len)) in (0..).zip(STACKS) {
        let port = PEER_PORT + number;
        host.listen(port, settings(stack));
        servers.push(listen(LINUX_PORT + number));
        clients.push(send(port, len));
        let handle = host.connect(now, LINUX, LINUX_PORT + number, settings(stack));
        sending.push(Sending { handle, stack, left: stream(len), over: false });
        let read = Vec::new();
        receiving.push(Receiving { port, handle: None, stack, read, expected: len, over: false });
    }
    let began = std::time::Instant::now();
    let mut all =
        Exchange { device, host, began, sending, receiving, random: 0x1234_5678_9abc, lost: 0 };
    all.run().await;
    for ((server, client), (stack, len)) in servers.into_iter().zip(clients).zip(STACKS) {
        assert!(server.join().expect("Linux has read") == stream(len), "{stack:?} to Linux");
        client.join().expect("Linux has sent");
    }
    for flow in &all.receiving {
        assert!(flow.read == stream(flow.expected), "Linux to {:?}", flow.stack);
    }
    for flow in &all.sending {
        let info = all.host.info(flow.handle);
        let full = matches!(flow.stack, Stack::FreeBsd | Stack::Linux);
        assert_eq!((info.timestamps, info.sack), (full, full), "{:?} and Linux agree", flow.stack);
    }
    assert!(all.lost > 10, "a wire without loss proves nothing: {}", all.lost);
    eprintln!("{:.1} s; {} packets lost", began.elapsed().as_secs_f64(), all.lost);
}

#[test]
fn every_peer_stack_talks_to_linux_over_a_wire_that_loses() {
    in_namespace("every_peer_stack_talks_to_linux_over_a_wire_that_loses", &[], || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(exchange());
    });
}
