//! A client that sends given octets and keeps the response.
#![allow(unreachable_pub, reason = "a module of test files")]

use kinglet::tcp::{ConnectionConfig, ConnectionError, Handle, RecvError, State};
use kinglet::time::Instant;
use kinglet::{Node, Profile};
use kinglet_apps::App;
use kinglet_network::build::{Network, network};
use kinglet_network::profile::LabProfile;
use kinglet_scenario::{Addressing, Scenario};
use kinglet_sim::Hosted;

/// Sends octets to a port of node 1, and reads.
pub struct Client {
    port: u16,
    says: Vec<u8>,
    /// Closes its side when all is sent.
    ends: bool,
    pub said: usize,
    closed: bool,
    handle: Option<Handle>,
    pub heard: Vec<u8>,
    /// The other side has closed.
    pub ended: bool,
    pub error: Option<ConnectionError>,
}

impl Client {
    pub fn new(port: u16, says: &[u8], ends: bool) -> Box<Client> {
        Box::new(Client {
            port,
            says: says.to_vec(),
            ends,
            said: 0,
            closed: false,
            handle: None,
            heard: Vec::new(),
            ended: false,
            error: None,
        })
    }

    fn say<P: Profile>(&mut self, handle: Handle, node: &mut Node<P>) -> bool {
        // A connection without a response yet would end at once (RFC 9293 §3.10.4).
        if node.tcp().state(handle) != Some(State::Established) || self.closed {
            return false;
        }
        let said = node.streams().send(handle, &self.says[self.said..]).unwrap_or(0);
        self.said += said;
        if self.ends && self.said == self.says.len() {
            self.closed = node.streams().close(handle).is_ok();
        }
        said > 0 || self.closed
    }
}

impl App for Client {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let Some(handle) = self.handle else {
            let (to, config) = (Addressing::DEFAULT.address(1), ConnectionConfig::default());
            let config =
                ConnectionConfig { mss: 400, send_buffer: 2000, receive_buffer: 2000, ..config };
            self.handle = node.streams().connect(now, to, self.port, config).ok();
            return self.handle.is_some();
        };
        let mut chunk = [0; 700];
        let read = match node.streams().recv(handle, &mut chunk) {
            Ok(0) => !std::mem::replace(&mut self.ended, true),
            Ok(len) => {
                self.heard.extend(&chunk[..len]);
                true
            }
            Err(RecvError::Ended(error)) => {
                let _ = node.streams().close(handle);
                self.error.replace(error).is_none()
            }
            Err(_) => false,
        };
        read | self.say(handle, node)
    }

    fn deadline(&self) -> Option<Instant> {
        self.handle.is_none().then_some(Instant::ZERO)
    }
}

/// Two nodes with these flows.
pub fn hop(flows: &str) -> Network {
    line(1, flows)
}

/// Nodes in a line with these flows.
pub fn line(hops: u32, flows: &str) -> Network {
    let text = format!("[topology]\nline = {{ hops = {hops} }}\n{flows}");
    network(&Scenario::from_toml("line", &text).expect("a scenario"), 1).0
}

/// Adds `app` to `node`; returns its number there.
pub fn add(network: &mut Network, node: usize, app: Box<dyn Hosted<LabProfile>>) -> usize {
    network.with_device(node, |station, now| {
        let number = station.add_app(app);
        station.run_apps(now);
        number
    })
}

/// The client with this number on node 0.
pub fn client(network: &Network, number: usize) -> &Client {
    network.device(0).app(number).expect("a client")
}
