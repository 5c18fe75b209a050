//! One of two places that share state forgets it: the gateway is killed and started again, and a
//! host vanishes with its network and comes back. All pairs talk again within half a minute.

mod common;
use common::*;
use kinglet_testkit::namespace::in_namespace;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Time within which all pairs talk again.
const LIMIT: Duration = Duration::from_secs(30);

/// A border router, two routers, and the position of an external node in range of the last one.
const NETWORK: &str = r#"
node = [
    { x_m = 0, role = "border-router" }, { x_m = 8 }, { x_m = 16 },
    { x_m = 24, role = "outside" },
]
mac = { pan = 35, security = false }
net = { routing = "rpl", rpl_objective = "of0", rpl_option = false, discovery = true, context = [] }
"#;
const EXTERNAL: &str = "extended = \"02:12:4b:00:00:00:00:0c\"\nack_wait_ms = 40\n\
                        rpl = { role = \"router\" }\n";
/// All nodes of that network; the external one is the last.
const NODES: [&str; 4] = [
    "fd6b:696e:676c:7400:0:ff:fe00:1",
    "fd6b:696e:676c:7400:0:ff:fe00:2",
    "fd6b:696e:676c:7400:0:ff:fe00:3",
    "fd6b:696e:676c:7400:12:4b00:0:c",
];

#[test]
fn a_restarted_gateway_connects_linux_with_all_motes_again() {
    let tools = [("ping", "-V")];
    in_namespace("a_restarted_gateway_connects_linux_with_all_motes_again", &tools, gateway);
}

fn gateway() {
    run(Command::new("ip").args(["link", "set", "lo", "up"]));
    let [a, b] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let (network, node) = (Scratch::new(NETWORK.as_bytes()), Scratch::new(EXTERNAL.as_bytes()));
    let _external = External::start(&node.0, &format!("{a},{b}"));
    let ends = format!("{b},{a}");
    let options = ["--tun", "kltest0", "--zep", &ends];
    let mut running = Gateway::start_with(&network.0, &options);
    let formed = until(Duration::from_secs(60), || NODES.iter().all(|node| answers(node)));
    eprintln!("formed after {formed:.1?}");
    for off in [0, 5] {
        let mut old = NODES.map(|node| echoed(node).expect("a connection"));
        drop(running);
        assert!(!has_device(), "it has gone with the program");
        thread::sleep(Duration::from_secs(off));
        running = Gateway::start_with(&network.0, &options);
        let talks = |node: &str| answers(node) && echoed(node).is_some();
        let took = until(LIMIT, || NODES.iter().all(|node| talks(node)));
        eprintln!("off for {off} s: ping and TCP after {took:.1?}");
        // The external node has kept its end of the connection; the others have lost theirs.
        let [.., kept] = &mut old;
        let recovered = until(LIMIT, || is_echoed(kept));
        eprintln!("the old connection after {recovered:.1?}");
        for lost in &mut old[..3] {
            assert!(!is_echoed(lost), "a mote that has restarted knows no connection");
        }
    }
}

#[test]
fn a_host_that_lost_its_network_and_its_connections_opens_new_ones() {
    let tools = [("ping", "-V")];
    let name = "a_host_that_lost_its_network_and_its_connections_opens_new_ones";
    in_namespace(name, &tools, host);
}

/// Address of the machine with the gateway on the link to the host, and that of the host.
const LINK: [&str; 2] = ["fd00:99::1", "fd00:99::2"];
/// Ports of echo, sink and source.
const SERVICES: [u16; 3] = [7, 9, 19];
/// Number of connections of each kind that the host leaves behind: all places of each service.
const LEFT: usize = 4;

fn host() {
    let running = Gateway::start(&example());
    std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").expect("a namespace of our own");
    let mut computer = linked_computer();
    for off in [0, 8] {
        let open = computer.run(|| {
            // Only the source sends; the other two do not notice that their peer has gone.
            let kinds = [ONE_HOP, THREE_HOPS].map(|mote| SERVICES.map(|port| (mote, port)));
            let connect = |(mote, port): (&str, u16)| {
                let to = SocketAddr::new(mote.parse().unwrap(), port);
                TcpStream::connect_timeout(&to, Duration::from_secs(2)).ok()
            };
            let all = kinds.into_iter().flatten().flat_map(|kind| [kind; LEFT]);
            all.filter_map(connect).collect::<Vec<_>>()
        });
        eprintln!("{} connections are left behind", open.len());
        assert!(open.len() >= 6, "one of each kind at least");
        // Nothing that the kernel sends when the sockets close can arrive.
        run(Command::new("ip").args(["link", "del", "klhost0"]));
        drop((open, computer));
        thread::sleep(Duration::from_secs(off));
        computer = linked_computer();
        for port in SERVICES {
            let after = computer.run(move || {
                until(LIMIT, || [ONE_HOP, THREE_HOPS].iter().all(|mote| works(mote, port)))
            });
            eprintln!("off for {off} s: port {port} after {after:.1?} more");
        }
    }
    drop(running);
}

/// A computer with an address on a link to this machine, which forwards its packets.
fn linked_computer() -> Computer {
    let computer = Computer::with_network();
    let ip = |words: &str| run(Command::new("ip").args(words.split(' ')));
    ip("link add klhost0 type veth peer name klhost1");
    ip(&format!("link set klhost1 netns {}", computer.thread()));
    let [here, there] = LINK;
    ip(&format!("address add {here}/64 dev klhost0 nodad"));
    ip("link set klhost0 up");
    computer.run(move || {
        let ip = |words: &str| run(Command::new("ip").args(words.split(' ')));
        ip(&format!("address add {there}/64 dev klhost1 nodad"));
        ip("link set klhost1 up");
        ip(&format!("route add default via {here}"));
    });
    computer
}

/// Returns true if a new connection to the service at `port` moves octets.
fn works(mote: &str, port: u16) -> bool {
    let to = SocketAddr::new(mote.parse().unwrap(), port);
    let Ok(mut stream) = TcpStream::connect_timeout(&to, Duration::from_secs(5)) else {
        return false;
    };
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    match port {
        7 => is_echoed(&mut stream),
        19 => stream.read_exact(&mut [0; 100]).is_ok(),
        // The sink closes after the host has.
        _ => {
            let sent = stream.write_all(&[0; 100]).and_then(|()| stream.shutdown(Shutdown::Write));
            sent.is_ok() && stream.read(&mut [0]).is_ok_and(|len| len == 0)
        }
    }
}
