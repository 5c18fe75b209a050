//! Echo, sink and source of a node ([`kinglet_apps::service`]).

use super::tcp::Socket;
use kinglet::tcp::ListenConfig;
use kinglet::time::{Instant, earliest};
use kinglet_apps::service::{Echo, Server, Service, Sink, Sizes, Source};
use kinglet_apps::{Place, Sockets, StreamApp};

/// The ports, and what they do.
pub const PORTS: [(u16, &str); 3] =
    [(Echo::PORT, "echo"), (Sink::PORT, "sink"), (Source::PORT, "source")];

/// How many connections each of them has at a time: a mote has others.
struct Plan;

impl Sizes for Plan {
    type Connections<C> = [Place<C>; 4];
}

/// The services of a node.
pub struct Services {
    echo: Server<Echo, Plan, Socket>,
    sink: Server<Sink, Plan, Socket>,
    source: Server<Source, Plan, Socket>,
}

impl Services {
    /// Services whose connections have these settings.
    pub const fn new(config: ListenConfig) -> Self {
        let (echo, sink, source) = (Server::new(config), Server::new(config), Server::new(config));
        Services { echo, sink, source }
    }
}

impl StreamApp<Socket> for Services {
    fn turn<S: Sockets<Handle = Socket>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        // Ports and room have been checked with the scenario.
        self.echo.turn(now, sockets) | self.sink.turn(now, sockets) | self.source.turn(now, sockets)
    }

    fn due(&self) -> Option<Instant> {
        earliest(self.echo.due(), earliest(self.sink.due(), self.source.due()))
    }
}
