//! Forged packets of a host through the real TUN device: the border router rejects and counts all
//! of them, and the motes respond as before.

mod common;
use common::*;
use core::net::{Ipv6Addr, SocketAddrV6};
use kinglet_testkit::attacker::Known;
use kinglet_testkit::attacker::outside::Outside;
use kinglet_testkit::namespace::in_namespace;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn6, sendto, socket,
};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Forged packets.
const PACKETS: u32 = 600;
/// The destination of an IPv6 packet: octets 24 to 39 of its header (RFC 8200 §3).
const DESTINATION: core::ops::Range<usize> = 24..40;

#[test]
fn no_forged_packet_of_linux_enters_the_mesh() {
    let tools = [("kill", "-l"), ("ping", "-V"), ("curl", "-V")];
    in_namespace("no_forged_packet_of_linux_enters_the_mesh", &tools, attack);
}

fn known() -> Known {
    let node = |number: u16| Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7400, 0, 0xff, 0xfe00, number);
    Known {
        nodes: (1..=4).map(node).collect(),
        host: Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7401, 0, 0, 0, 1),
        ports: vec![80],
        routing_port: 19_788,
        pan_id: 0xabcd,
        shorts: (1..=4).collect(),
    }
}

/// The whole attack, inside the namespace.
fn attack() {
    let gateway = Gateway::start(&example());
    let page = |mote| String::from_utf8_lossy(&curl(mote, "/", &[])).into_owned();
    assert!(page(THREE_HOPS).contains("<h1>Mote 3</h1>"));
    // The kernel sends such packets unchanged, whatever their source.
    let raw =
        socket(AddressFamily::Inet6, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Raw)
            .expect("root of the namespace may have a raw socket");
    let mut attacker = Outside::new(1, known());
    let mut foreign = 0;
    for _ in 0..PACKETS {
        let forged = attacker.packet();
        let Some(octets) = forged.octets.get(DESTINATION) else { continue };
        let to = Ipv6Addr::from(<[u8; 16]>::try_from(octets).expect("sixteen octets"));
        // The kernel does not send those for groups and neighbours to the device.
        let enters = known().nodes.contains(&to);
        let to = SockaddrIn6::from(SocketAddrV6::new(to, 0, 0, 0));
        let sent = sendto(raw.as_raw_fd(), &forged.octets, &to, MsgFlags::empty());
        foreign += u64::from(sent.is_ok() && enters && forged.is_foreign);
        thread::sleep(Duration::from_millis(2));
    }
    assert!(foreign > 100, "an attack of {foreign} packets proves nothing");
    for mote in [ONE_HOP, THREE_HOPS] {
        let ping = run(Command::new("ping").args(["-6", "-n", "-c", "3", "-w", "10", mote]));
        let text = String::from_utf8_lossy(&ping.stdout).into_owned();
        assert!(text.contains(" 0% packet loss"), "{text}");
        assert!(page(mote).contains("<h1>Mote"));
    }
    let (status, rest) = gateway.interrupt();
    assert_eq!(status.code(), Some(0), "{rest}");
    let dropped = dropped_by_policy(&rest);
    assert!(dropped >= foreign, "{dropped} of {foreign} packets were counted: {rest}");
}

/// The sum of the counters in the summary, the last part of `text`.
fn dropped_by_policy(text: &str) -> u64 {
    let begin = text.rfind("dropped by policy: ").expect("counters of the policy");
    // `rule 3; other rule 5`; further lines are indented.
    let mut lines = text[begin..].lines();
    let first = lines.next().unwrap_or_default().trim_start_matches("dropped by policy: ");
    let further = lines.take_while(|line| line.starts_with("  ")).map(str::trim);
    let counters = [first].into_iter().chain(further).flat_map(|line| line.split("; "));
    counters.filter_map(|counter| counter.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}
