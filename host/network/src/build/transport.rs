//! Transport settings of a node, with sizes in octets.

use crate::layout::{Format, TIMESTAMPS};
use kinglet::rpl::Mode;
use kinglet::tcp::{ConnectionConfig, ListenConfig};
use kinglet_scenario::{Buffer, Mss, Routing, Rpl, Scenario};

/// MSS of a scenario in octets: the largest TCP payload without options.
pub fn payload_of(scenario: &Scenario) -> u16 {
    match scenario.tcp.mss {
        Mss::Bytes(bytes) => bytes,
        Mss::Frames(frames) => {
            let format = Format::of(&scenario.mac, scenario.tcp.connection.timestamps);
            let format = format.with_addresses(scenario.link_addresses);
            let format = Format { iphc: format.iphc + added_octets(scenario), ..format };
            format.mss_for_frames(usize::from(frames)) as u16
        }
    }
}

/// Largest number of octets that RPL adds to a frame: its option, an outer header for packets of a
/// host or a peer stack, and a source route with the hops of most trees.
const fn added_octets(scenario: &Scenario) -> usize {
    const OPTION: usize = 8;
    const OUTER: usize = 16;
    const SOURCE_ROUTE: usize = 16;
    // As a 6LoWPAN Routing Header.
    const ROUTED_OPTION: usize = 5;
    const ROUTED_OUTER: usize = 8;
    const ROUTED_SOURCE_ROUTE: usize = 12;
    let peers = scenario.tcp.stack.is_some() || scenario.tcp.peer_stack.is_some();
    let outer = scenario.wire.is_some() || peers;
    match (scenario.routing, scenario.rpl) {
        (Routing::Rpl, Rpl { mode: Mode::NonStoring, compression: true, option: true, .. }) => {
            ROUTED_OUTER + ROUTED_SOURCE_ROUTE
        }
        (Routing::Rpl, Rpl { mode: Mode::NonStoring, .. }) => OUTER + SOURCE_ROUTE,
        (Routing::Rpl, Rpl { option: true, compression: true, .. }) => {
            if scenario.wire.is_some() {
                ROUTED_OUTER
            } else {
                ROUTED_OPTION
            }
        }
        (Routing::Rpl, Rpl { option: true, .. }) if outer => OUTER,
        (Routing::Rpl, Rpl { option: true, .. }) => OPTION,
        _ => 0,
    }
}

/// TCP settings of a node of the scenario, or of its host, with buffers of its own if given.
pub fn connection(
    scenario: &Scenario,
    send: Option<Buffer>,
    receive: Option<Buffer>,
) -> ConnectionConfig {
    let tcp = &scenario.tcp;
    let payload = usize::from(payload_of(scenario));
    // The MSS of the stack includes options (RFC 9293 §3.7.1, RFC 6691).
    let options = if tcp.connection.timestamps { TIMESTAMPS } else { 0 };
    let bytes = |buffer: Buffer| buffer.bytes(payload).max(1);
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
