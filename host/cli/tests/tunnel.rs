//! TCP connections of the kernel from one network namespace to another through sleeping motes, set
//! up by the commands that the gateway prints.

mod common;
use common::*;
use kinglet_testkit::namespace::in_namespace;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Two hops with a duty-cycled node between them.
const NETWORK: &str = "[topology]\nline = { hops = 2 }\n[radio]\nprofile = \"cc2420-contiki\"\n\
    [mac]\nsecurity = false\n[wake]\nchannels = 3\n[net]\nfragments = \"forwarded\"\n\
    [tunnel]\nnode = 2\nrate_kbps = 92.16\n";
const BORDER: &str = "fd6b:696e:676c:7401::1";
const FAR: &str = "fd6b:696e:676c:7400:0:ff:fe00:3";
const PORT: u16 = 8000;
/// Octets that each end of a connection sends; both directions take five seconds.
const OCTETS: usize = 10_000;
/// Longest time that a thread waits for the other one.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn two_kernels_talk_through_motes_that_sleep() {
    let tools = [("kill", "-l"), ("ping", "-V")];
    in_namespace("two_kernels_talk_through_motes_that_sleep", &tools, talk);
}

fn talk() {
    let file = Scratch::new(NETWORK.as_bytes());
    let gateway = Gateway::start(&file.0);
    let announced = &gateway.announcement;
    assert!(
        announced.contains(&format!("{FAR}   the services of the second computer")),
        "{announced}"
    );
    let far = Computer::with_network();
    step("the printed commands", || set_up(&far, announced));
    step("ping from both ends", || {
        let ping = |to: &'static str| {
            let output = run(Command::new("ping").args(["-6", "-n", "-c", "3", "-w", "20", to]));
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains(" 0% packet loss"), "{text}");
        };
        ping(FAR);
        far.run(move || ping(BORDER));
    });
    for number in 0..2 {
        step(&format!("connection {number} from the border's end"), || {
            let server = far.run(serve);
            converse(TcpStream::connect((FAR, PORT)).unwrap(), number);
            server.join().unwrap();
        });
        step(&format!("connection {number} from the far end"), || {
            let server = serve();
            far.run(move || converse(TcpStream::connect((BORDER, PORT)).unwrap(), number));
            server.join().unwrap();
        });
    }
    step("a port where nobody listens", || {
        let error = TcpStream::connect((FAR, PORT + 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
    });
    step("Ctrl-C", || {
        let (status, rest) = gateway.interrupt();
        assert_eq!(status.code(), Some(0), "{rest}");
        assert!(rest.contains("stopped after"), "a summary: {rest}");
        let links = far.run(|| run(Command::new("ip").args(["-o", "link"])).stdout);
        let links = String::from_utf8(links).unwrap();
        assert!(!has_device() && !links.contains("kltest0"), "devices have gone: {links}");
    });
}

/// Runs the commands of the gateway, up to the examples. The namespace of the computer is found by
/// the number of its thread: a name would need a separate file system.
fn set_up(far: &Computer, announcement: &str) {
    let thread = far.thread();
    let commands = announcement.lines().map(str::trim).filter(|line| line.starts_with("ip "));
    let mut count = 0;
    for command in commands.filter(|line| !line.starts_with("ip netns ")) {
        count += 1;
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        if let Some(inside) = command.strip_prefix("ip -n far ") {
            let words = words(inside);
            far.run(move || run(Command::new("ip").args(words)));
        } else {
            let outside = command.replace("netns far", &format!("netns {thread}"));
            run(Command::new("ip").args(words(&outside).split_off(1)));
        }
    }
    assert!(count >= 3, "it says how: {announcement}");
}

/// The octets of a connection with this number: no period could hide lost octets.
fn octets(number: u64) -> Vec<u8> {
    let octet = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8;
    (0..OCTETS as u64).map(|i| octet(i + number * OCTETS as u64)).collect()
}

/// Serves one connection: reads to its end, returns the same, and closes.
fn serve() -> JoinHandle<()> {
    let listener = TcpListener::bind(("::", PORT)).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut come = Vec::new();
        stream.read_to_end(&mut come).unwrap();
        stream.write_all(&come).unwrap();
    })
}

/// Sends, closes the sending direction, and reads the same to the end.
fn converse(mut stream: TcpStream, number: u64) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let sent = octets(number);
    stream.write_all(&sent).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut come = Vec::new();
    stream.read_to_end(&mut come).unwrap();
    assert!(come == sent, "{} octets have come, or others", come.len());
}
