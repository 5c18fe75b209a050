//! Goodput over lines of three rates, in virtual time: a node sends datagrams as fast as it can,
//! and the other end acknowledges each frame.

use crate::wired::{CHANNEL, FILTER, Wire};
use core::net::Ipv6Addr;
use kinglet::mac::{CcmStar, Csma, PeerCounter, Security, Tabled};
use kinglet::wire::ieee802154::PanId;
use kinglet::{Config, Node};
use kinglet_drivers::Bench;
use kinglet_radio::{
    ACK_PSDU, CCA, CsmaParams, Driver, FCS_LEN, Key, MAX_FRAME, TURNAROUND, UNIT_BACKOFF, air_time,
    spacing_after,
};
use kinglet_time::{Duration, earliest};

kinglet::profile! {
    /// A node that sends datagrams.
    struct Sender {
        security: CcmStar<Tabled, [PeerCounter; 4]>,
        frames: 4,
        packets: 8,
        storage: 1500,
        output: 8,
        udp_sockets: 1,
    }
}

/// Returns the mean time that a frame of so many octets takes on the line, in microseconds: header,
/// command, property, length, PSDU, seven octets of metadata, check sequence and two flags; and 5
/// of 256 octets are escaped.
fn on_line(len: usize, baud: u32) -> f64 {
    let message = (1 + 1 + 1 + 2 + len + FCS_LEN + 7 + 2) as f64;
    (message * (1.0 + 5.0 / 256.0) + 2.0) * 10.0 * 1e6 / f64::from(baud)
}

/// Returns the mean time that it takes on the air, with backoff, acknowledgement and spacing.
fn on_air(len: usize) -> f64 {
    let CsmaParams { min_be, .. } = CsmaParams::default();
    let backoff = UNIT_BACKOFF.as_micros() as f64 * f64::from((1 << min_be) - 1) / 2.0;
    let psdu = len + FCS_LEN;
    let frame = CCA + TURNAROUND + air_time(psdu) + TURNAROUND + air_time(ACK_PSDU);
    backoff + (frame + spacing_after(psdu)).as_micros() as f64
}

/// Returns the shares of the time in which line and radio were in use, and the goodput in kb/s.
fn measured(baud: u32) -> (f64, f64, f64) {
    let mut wire = Wire::listening_at(1, Some(baud));
    let mut config = Config::repeatable(FILTER.short, FILTER.extended, 1, [1; 16]);
    config.mac.csma = Csma::Hardware;
    config.mac.channel = CHANNEL;
    config.mac.pan_id = PanId(FILTER.pan_id);
    let key = Key([7; 16]);
    config.mac.security = Some(Security { key, eui64_prefix: [0; 6], first_counter: 0 });
    let mut node: Box<Node<Sender>> =
        Box::new(Node::new(config, wire.board.radio().capabilities()));
    let socket = node.datagrams().bind(5_000).unwrap();
    let peer = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 0x0304);
    let (time, mut octets) = (Duration::from_secs(20), 0.0);
    let (mut line, mut radio) = (0.0, 0.0);
    let begin = wire.board.now();
    while wire.board.now() < begin + time {
        let now = wire.board.now();
        while node.datagrams().send(now, socket, peer, 5_000, &[0x55; 1_200]).is_ok() {}
        let next = node.drive(now, wire.board.radio());
        let next = earliest(next, Some(begin + time)).unwrap();
        wire.board.wait(next);
        while let Some(sent) = wire.board.sent(&mut [0; MAX_FRAME]) {
            let len = usize::from(sent.len);
            octets += len as f64;
            line += on_line(len, baud);
            radio += on_air(len);
        }
    }
    let micros = time.as_micros() as f64;
    (line / micros, radio / micros, octets * 8e3 / micros)
}

#[test]
fn a_node_uses_most_of_what_line_and_radio_allow() {
    for baud in [115_200, 460_800, 1_000_000] {
        let (line, radio, kbps) = measured(baud);
        println!("{baud}: line {line:.3}, radio {radio:.3}, frames {kbps:.1} kb/s");
        assert!(line.max(radio) >= 0.9, "{baud}: line {line:.3}, radio {radio:.3}");
    }
}
