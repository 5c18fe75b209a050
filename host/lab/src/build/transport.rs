//! Transport settings of a node, with its sizes in octets.

use crate::layout::{Format, TIMESTAMPS};
use crate::profile::BUFFER;
use crate::scenario::{Buffer, HostTcp, Mss, NodeId, Scenario};
use kinglet::tcp::{ConnectionConfig, ListenConfig};
use kinglet::time::Duration;

/// The MSS of a scenario in octets: the largest TCP payload, options not counted.
pub fn payload_of(scenario: &Scenario) -> u16 {
    match scenario.tcp.mss {
        Mss::Bytes(bytes) => bytes,
        Mss::Frames(frames) => {
            let format = Format::of(&scenario.mac, scenario.tcp.connection.timestamps);
            format.mss_for_frames(usize::from(frames)) as u16
        }
    }
}

/// TCP settings of a node, or of the host, with buffers of their own if given.
pub(crate) fn connection(
    scenario: &Scenario,
    node: NodeId,
    send: Option<Buffer>,
    receive: Option<Buffer>,
) -> ConnectionConfig {
    let wire = scenario.wire.as_ref().filter(|_| node == scenario.host());
    let config = settings(scenario, send, receive);
    match wire.map(|wire| wire.host) {
        // What a peer stack does not carry. Linux has TCP_DELACK_MIN = 40 ms and
        // TCP_INIT_CWND = 10 (`include/net/tcp.h`).
        Some(HostTcp::Linux) => ConnectionConfig {
            ack_every: 2,
            delayed_ack: Duration::from_millis(40),
            initial_window: 10,
            pacing: false,
            link_losses: false,
            ..config
        },
        Some(HostTcp::Same) | None => config,
    }
}

fn settings(
    scenario: &Scenario,
    send: Option<Buffer>,
    receive: Option<Buffer>,
) -> ConnectionConfig {
    let tcp = &scenario.tcp;
    let payload = usize::from(payload_of(scenario));
    // The stack's MSS counts options with the payload (RFC 9293 §3.7.1, RFC 6691).
    let options = if tcp.connection.timestamps { TIMESTAMPS } else { 0 };
    let bytes = |buffer: Buffer| buffer.bytes(payload).clamp(1, BUFFER);
    ConnectionConfig {
        mss: (payload + options) as u16,
        send_buffer: bytes(send.unwrap_or(tcp.send_buffer)),
        receive_buffer: bytes(receive.unwrap_or(tcp.receive_buffer)),
        ..tcp.connection
    }
}

pub(crate) fn listen(connection: ConnectionConfig) -> ListenConfig {
    ListenConfig { backlog: 12, connection, ..ListenConfig::default() }
}
