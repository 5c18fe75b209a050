//! The example of a custom application, queried by a host.

#[allow(dead_code, unreachable_pub, reason = "an example, whose `main` needs a TUN device")]
#[path = "../examples/own_app.rs"]
mod own_app;

use core::net::Ipv6Addr;
use kinglet_gateway::GatewayError;
use kinglet_gateway::bridge::{End, Network};
use kinglet_gateway::network::Mesh;
use kinglet_scenario::{Prefix, Scenario};
use kinglet_time::Duration;
use kinglet_wire::{checksum, udp};
use own_app::{Clock, PORT, everywhere};

const LINE: &str = "[topology]\nline = { hops = 2 }\n";

/// Returns a datagram from the host's port 9 to `PORT` of `to`.
fn question(to: Ipv6Addr) -> Vec<u8> {
    let host = Prefix::DEFAULT.host();
    let mut datagram = vec![0; udp::HEADER_LEN + 1];
    let length = datagram.len() as u16;
    let header = udp::Header { src_port: 9, dst_port: PORT, length, checksum: 0 };
    header.emit(&mut datagram).expect("room");
    let pseudo = checksum::pseudo_header(host, to, u32::from(length), 17);
    udp::fill_checksum(&mut datagram, pseudo).expect("room");
    let mut packet = vec![0x60, 0, 0, 0, 0, length as u8, 17, 64];
    packet.extend(host.octets().iter().chain(&to.octets()));
    packet.extend(datagram);
    packet
}

#[test]
fn an_application_of_ones_own_answers_a_host_over_two_hops() {
    let scenario = Scenario::from_toml("line", LINE).expect("a scenario");
    let mut mesh = Mesh::new(&scenario).expect("a network");
    for (node, app) in everywhere(&scenario) {
        mesh.add(node, app).expect("a node");
    }
    let to = mesh.motes().iter().find(|mote| mote.node == 2).expect("the last one").address;
    for asked in 1..=2 {
        mesh.handle_host_packet(End::Border, &question(to));
        let until = mesh.now() + Duration::from_secs(1);
        mesh.run_until(until);
        let mut packet = [0; 1_280];
        let len = mesh.poll_host_packet(End::Border, &mut packet).expect("an answer");
        let text = String::from_utf8_lossy(&packet[48..len]);
        assert_eq!(text, format!("up for {} s, asked {asked} times\n", asked - 1));
    }
}

#[test]
fn it_needs_a_node_to_run_on() {
    let scenario = Scenario::from_toml("line", LINE).expect("a scenario");
    let mut mesh = Mesh::new(&scenario).expect("a network");
    let added = mesh.add(3, Box::new(Clock::default()));
    assert!(matches!(added, Err(GatewayError::Unsupported(why)) if why.contains("node 3")));
}
