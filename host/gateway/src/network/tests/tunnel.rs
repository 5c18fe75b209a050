//! A network with a computer at either end.

use super::*;
use kinglet_scenario::Addressing;

const TUNNEL: &str = "[topology]\nline = { hops = 3 }\n[tunnel]\nnode = 3\n";

/// Returns the packets that leave at `end` until `until`, with their times in milliseconds after
/// `from`.
fn come(mesh: &mut Mesh, end: End, from: Instant, until: Instant) -> Vec<(u64, Vec<u8>)> {
    let (mut out, mut buf) = (Vec::new(), [0; 1280]);
    while mesh.now() < until {
        while let Some(len) = mesh.poll_host_packet(end, &mut buf) {
            out.push(((mesh.now() - from).as_millis(), buf[..len].to_vec()));
        }
        let step = mesh.now() + Duration::from_millis(1);
        mesh.run_until(step);
    }
    out
}

/// Returns the same packet in the other direction.
fn back(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    let (src, dst) = packet[8..40].split_at_mut(16);
    src.swap_with_slice(dst);
    packet[7] = 64;
    packet
}

#[test]
fn packets_of_one_computer_reach_the_other_with_the_address_of_its_node() {
    let mut mesh = Mesh::new(&scenario(TUNNEL)).unwrap();
    let ping = echo_request(mote(3), 64, &[7; 1232]);
    assert!(mesh.takes(End::Border) && mesh.takes(End::Far));
    let began = mesh.now();
    mesh.handle_host_packet(End::Border, &ping);
    let second = began + Duration::from_secs(1);
    let out = come(&mut mesh, End::Far, began, second);
    let [(_, packet)] = &out[..] else { panic!("{} packets", out.len()) };
    assert_eq!(packet[7], 64 - 4, "routers: motes 0, 1, 2, and 3 before its computer");
    assert_eq!((&packet[..7], &packet[8..]), (&ping[..7], &ping[8..]));
    // Swapped addresses have the same checksum.
    mesh.handle_host_packet(End::Far, &back(packet));
    let out = come(&mut mesh, End::Border, began, second + Duration::from_secs(1));
    let [(_, packet)] = &out[..] else { panic!("{} packets", out.len()) };
    assert_eq!((packet[7], &packet[8..]), (64 - 4, &back(&ping)[8..]));
}

#[test]
fn a_computer_waits_while_its_node_has_no_room_and_nothing_is_lost() {
    let mut mesh = Mesh::new(&scenario(TUNNEL)).unwrap();
    let began = mesh.now();
    let (mut given, mut out) = (0, 0);
    let ping = back(&echo_request(mote(3), 64, &[7; 1000]));
    let patience = began + Duration::from_secs(60);
    while out < 60 && mesh.now() < patience {
        while given < 60 && mesh.takes(End::Far) {
            mesh.handle_host_packet(End::Far, &ping);
            given += 1;
        }
        let until = mesh.now() + Duration::from_millis(20);
        out += come(&mut mesh, End::Border, began, until).len();
    }
    assert_eq!((given, out), (60, 60));
}

#[test]
fn other_motes_answer_both_computers() {
    let mut mesh = Mesh::new(&scenario(TUNNEL)).unwrap();
    assert_eq!(
        exchange(&mut mesh, &echo_request(mote(2), 64, b"x"), Duration::from_secs(1)).len(),
        1
    );
    let began = mesh.now();
    // From the address of node 3.
    let mut ping = back(&echo_request(mote(3), 64, b"x"));
    ping[24..40].copy_from_slice(&mote(1).octets());
    ping[42..44].fill(0);
    let pseudo = checksum::pseudo_header(mote(3), mote(1), ping.len() as u32 - 40, 58);
    let sum = checksum_of(pseudo, &ping[40..]);
    ping[42..44].copy_from_slice(&sum.to_be_bytes());
    mesh.handle_host_packet(End::Far, &ping);
    let out = come(&mut mesh, End::Far, began, began + Duration::from_secs(1));
    assert_eq!(out.len(), 1);
    assert_eq!((out[0].1[40], &out[0].1[8..24]), (129, &mote(1).octets()[..]), "an echo reply");
}

#[test]
fn routers_find_the_route_to_a_computer_by_rpl() {
    let text = format!("{TUNNEL}[net]\nrouting = \"rpl\"\n");
    let mut mesh = Mesh::new(&scenario(&text)).unwrap();
    let began = mesh.now();
    let ping = echo_request(mote(3), 64, b"x");
    mesh.handle_host_packet(End::Border, &ping);
    let out = come(&mut mesh, End::Far, began, began + Duration::from_secs(1));
    let [(_, packet)] = &out[..] else { panic!("{} packets", out.len()) };
    mesh.handle_host_packet(End::Far, &back(packet));
    let out = come(&mut mesh, End::Border, began, began + Duration::from_secs(2));
    let [(_, packet)] = &out[..] else { panic!("{} packets", out.len()) };
    assert_eq!(packet[8..], back(&ping)[8..]);
}

#[test]
fn a_line_takes_its_time_at_both_ends_and_one_packet_at_once() {
    let once = |rate: &str| {
        let mut mesh = Mesh::new(&scenario(&format!("{TUNNEL}{rate}"))).unwrap();
        let began = mesh.now();
        let packet = echo_request(mote(3), 64, &[7; 1232]);
        mesh.handle_host_packet(End::Border, &packet);
        let next = mesh.next_event();
        let takes = (mesh.takes(End::Border), mesh.takes(End::Far));
        let out = come(&mut mesh, End::Far, began, began + Duration::from_secs(1));
        (out[0].0, next.map(|at| (at - began).as_micros()), takes, mesh.takes(End::Border))
    };
    let (without, _, takes, _) = once("");
    assert_eq!(takes, (true, true));
    let (with, next, takes, later) = once("rate_kbps = 92.16\n");
    assert_eq!((takes, later), ((false, true), true));
    // 1280 octets take 111.1 ms, twice; a mote polls its radio's timers before that.
    assert!(next.is_some_and(|next| next <= 111_111), "{next:?}");
    let more = with - without;
    assert!((215..=235).contains(&more), "{with} ms instead of {without}");
}

#[tokio::test]
async fn no_other_node_stands_at_the_far_end() {
    let mut mesh = Mesh::new(&scenario(TUNNEL)).unwrap();
    assert_eq!(mesh.far_end(), Some(3));
    assert!(!mesh.has_services(3) && mesh.has_services(2));
    let (line, _mote) = UnixStream::pair().unwrap();
    let error = mesh.attach(3, line).unwrap_err().to_string();
    assert!(error.contains("it is the far end of the tunnel"), "{error}");
    assert!(error.ends_with("its motes are 1, 2"), "{error}");
}

#[test]
fn the_example_has_ten_hops_that_sleep_and_computers_with_mains() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tunnel.toml");
    let mut mesh = Mesh::new(&Scenario::from_file(&example).unwrap()).unwrap();
    let last = mesh.motes().last().copied().unwrap();
    assert_eq!((mesh.far_end(), last.node, last.hops), (Some(10), 10, 10));
    let until = mesh.now() + Duration::from_secs(20);
    mesh.run_until(until);
    let on: Vec<_> = mesh.status().iter().filter_map(|status| status.duty_cycle_overall).collect();
    let [first, asleep @ .., last] = &on[..] else { panic!("eleven nodes") };
    assert!(*first > 0.99 && *last > 0.99, "{on:?}");
    assert!(asleep.iter().all(|on| *on < 0.01), "{on:?}");
}

/// RFC 8200 §3: a packet that would be forwarded with hop limit 0 is discarded. RFC 4443 §3.3: the
/// router that discards it sends Time Exceeded with code 0.
#[test]
fn every_router_of_a_tunnel_reports_to_either_computer_that_the_hop_limit_is_exceeded() {
    let far = Addressing::DEFAULT.far_router(3);
    // With RPL node 3 is a child of the root.
    let paths = [("static", vec![mote(0), mote(1), mote(2), far]), ("rpl", vec![mote(0), far])];
    for (routing, path) in paths {
        let text = format!("{TUNNEL}[net]\nrouting = \"{routing}\"\n");
        let mut mesh = Mesh::new(&scenario(&text)).unwrap();
        for (index, hop_limit) in (0..path.len()).zip(1..) {
            let ping = echo_request(mote(3), hop_limit, b"x");
            let mut reply = back(&ping);
            reply[7] = hop_limit;
            for (end, packet, router) in
                [(End::Border, ping, path[index]), (End::Far, reply, path[path.len() - 1 - index])]
            {
                let began = mesh.now();
                mesh.handle_host_packet(end, &packet);
                let out = come(&mut mesh, end, began, began + Duration::from_secs(1));
                let case = format!("{routing}, from {end:?} with {hop_limit}: {out:x?}");
                let [(_, report)] = &out[..] else { panic!("{case}") };
                assert_eq!((report[6], report[40..42].to_vec()), (58, vec![3, 0]), "{case}");
                assert_eq!(report[8..24], router.octets(), "{case}");
                assert_eq!(report[24..40], packet[8..24], "{case}");
                // The quotation has the hop limit with which the packet arrived.
                assert_eq!((report[48 + 7], &report[56..88]), (1, &packet[8..40]), "{case}");
            }
        }
    }
}
