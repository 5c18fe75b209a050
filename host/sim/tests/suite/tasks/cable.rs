//! Programs of this machine as servers of a simulated network: node 1 relays to them while its time
//! stands still.

use super::network::{Plan, Sockets};
use embassy_time::{Duration as Wait, with_timeout};
use kinglet_embassy::{TcpListener, TcpSocket};
use std::cell::Cell;
use std::fs;
use std::io::{ErrorKind, Read, Write as _};
use std::net::{Ipv6Addr, SocketAddr, TcpListener as HostListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Real time that a program may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// Real time without another octet after which an answer counts as complete.
const SILENCE: Duration = Duration::from_millis(5);

/// Mosquitto with a listener for TLS with a pre-shared key. It ends when this is dropped.
pub(super) struct Mosquitto {
    child: Child,
    folder: PathBuf,
    pub(super) address: SocketAddr,
}

impl Mosquitto {
    /// Starts it with the key of `name`; `None` if this machine has none. In CI that is a failure.
    pub(super) fn start(name: &str, key: &[u8]) -> Option<Mosquitto> {
        let Some(program) = ["mosquitto", "/usr/sbin/mosquitto"].into_iter().find(|it| runs(it))
        else {
            assert!(std::env::var_os("CI").is_none(), "CI must run this test: no mosquitto");
            let _ = writeln!(std::io::stderr(), "SKIPPED: mosquitto is missing");
            return None;
        };
        (0..5).find_map(|_| Self::attempt(program, name, key)).or_else(|| panic!("no mosquitto"))
    }

    /// Another program may take the port first.
    fn attempt(program: &str, name: &str, key: &[u8]) -> Option<Mosquitto> {
        let free = HostListener::bind((Ipv6Addr::LOCALHOST, 0)).expect("a port");
        let address = free.local_addr().expect("an address");
        let port = address.port();
        drop(free);
        let folder = std::env::temp_dir().join(format!("kinglet-{}-{port}", std::process::id()));
        fs::create_dir(&folder).expect("a new folder");
        let (keys, config) = (folder.join("keys"), folder.join("mosquitto.conf"));
        let hex: String = key.iter().map(|octet| format!("{octet:02x}")).collect();
        fs::write(&keys, format!("{name}:{hex}\n")).expect("a file");
        let text = format!(
            "user root\nlistener {port} ::1\nallow_anonymous true\npsk_hint kinglet\npsk_file {}\n",
            keys.display()
        );
        fs::write(&config, text).expect("a file");
        let mut command = Command::new(program);
        command.arg("-c").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        let mut broker = Mosquitto { child, folder, address };
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            if broker.child.try_wait().expect("a child").is_some() {
                return None;
            }
            assert!(begin.elapsed() < PATIENCE, "mosquitto does not listen");
            sleep(Duration::from_millis(20));
        }
        Some(broker)
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    // It prints its usage, and fails.
    command.arg("-h").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

/// Relays connections of `port` to `server`, one after the other. It answers each record of TLS.
/// The time of the simulation stands still meanwhile, so that the speed of this machine changes
/// nothing.
pub(super) async fn relay(stack: Sockets, port: u16, server: Rc<Cell<SocketAddr>>) {
    let listener = TcpListener::bind(stack, port, Default::default()).expect("room");
    loop {
        let (socket, _) = listener.accept().await;
        relay_one(socket, server.get()).await;
    }
}

async fn relay_one(mut socket: TcpSocket<'static, Plan>, server: SocketAddr) {
    let mut server = TcpStream::connect(server).expect("the server");
    server.set_nodelay(true).expect("a socket");
    let (mut octets, mut is_open) = (vec![], true);
    while is_open {
        if with_timeout(Wait::from_secs(1), socket.readable()).await.is_err() {
            // An octet that is late, such as of a second ticket.
            is_open = forward(&mut server, &mut socket, None).await;
            continue;
        }
        let mut part = [0; 1_000];
        let count = socket.read(&mut part).await.unwrap_or(0);
        is_open = count > 0;
        octets.extend_from_slice(&part[..count]);
        while let Some(len) = record_len(&octets) {
            server.write_all(&octets[..len]).expect("the server");
            octets.drain(..len);
            is_open = forward(&mut server, &mut socket, Some(PATIENCE)).await;
            if !is_open {
                return;
            }
        }
    }
}

/// Sends what the server answers within `patience`. Returns false at the end of its stream.
async fn forward(
    server: &mut TcpStream,
    socket: &mut TcpSocket<'static, Plan>,
    patience: Option<Duration>,
) -> bool {
    server.set_nonblocking(patience.is_none()).expect("a socket");
    server.set_read_timeout(patience).expect("a socket");
    let (mut answer, mut part) = (vec![], [0; 1_000]);
    let is_open = loop {
        match server.read(&mut part) {
            Ok(0) => break false,
            // It has not read all that was sent.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break false,
            Ok(count) => answer.extend_from_slice(&part[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break true;
            }
            Err(error) => panic!("the server: {error}"),
        }
        server.set_nonblocking(false).expect("a socket");
        server.set_read_timeout(Some(SILENCE)).expect("a socket");
    };
    assert!(patience.is_none() || !answer.is_empty() || !is_open, "the server does not answer");
    socket.write_all(&answer).await.is_ok() && is_open
}

/// The length of the first record, if it is whole.
fn record_len(octets: &[u8]) -> Option<usize> {
    let length = octets.get(3..5)?;
    let len = 5 + usize::from(u16::from_be_bytes([length[0], length[1]]));
    (octets.len() >= len).then_some(len)
}
