//! A custom application on simulated motes behind the gateway:
//!
//! ```text
//! $ unshare -rn bash
//! # cargo run -p kinglet-gateway --example own_app examples/gateway.toml &
//! # echo | nc -6u -w 2 fd6b:696e:676c:7400:0:ff:fe00:4 4000
//! up for 12 s, asked 1 times
//! ```

use kinglet::net::UdpHandle;
use kinglet::time::Instant;
use kinglet::{Node, Profile};
use kinglet_apps::App;
use kinglet_gateway::show::Output;
use kinglet_gateway::{Options, OwnApp, run_with};
use kinglet_scenario::{Prefix, Scenario};
use std::error::Error;

/// UDP port of the application.
pub const PORT: u16 = 4_000;

/// Answers every datagram with the uptime of its node. In firmware, where there is no heap, it
/// would write the answer to an array.
#[derive(Default)]
pub struct Clock {
    socket: Option<UdpHandle>,
    asked: u32,
}

impl App for Clock {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        self.socket = self.socket.or_else(|| node.datagrams().bind(PORT).ok());
        let Some(socket) = self.socket else { return false };
        let (before, mut question) = (self.asked, [0; 1_232]);
        while let Ok(Some(from)) = node.datagrams().recv(socket, &mut question) {
            self.asked += 1;
            let up = now.as_micros() / 1_000_000;
            let answer = format!("up for {up} s, asked {} times\n", self.asked);
            let mut datagrams = node.datagrams();
            // If there is no space for the answer, it is lost.
            let _ = datagrams.send(now, socket, from.src, from.src_port, answer.as_bytes());
        }
        self.asked > before
    }

    fn deadline(&self) -> Option<Instant> {
        // Due until it has its port.
        self.socket.is_none().then_some(Instant::ZERO)
    }
}

/// Returns the application for every node but the border router.
pub fn everywhere(scenario: &Scenario) -> Vec<OwnApp> {
    let motes = 1..scenario.nodes.len() as u32;
    motes.map(|node| -> OwnApp { (node, Box::new(Clock::default())) }).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which scenario?")?;
    let scenario = Scenario::from_toml(&path, &std::fs::read_to_string(&path)?)?;
    scenario.renamed.iter().for_each(|change| eprintln!("{change}"));
    let options = Options {
        file: None,
        serial: Vec::new(),
        zep: Vec::new(),
        tun: "kinglet0".to_owned(),
        far_tun: None,
        prefix: Prefix::DEFAULT,
        pcap: None,
        map: None,
        state: None,
        output: Output::Text,
    };
    Ok(run_with(&scenario, &options, everywhere(&scenario))?)
}
