//! Echo, sink and source of a node ([`kinglet_apps::service`]).

use super::tcp::Socket;
use kinglet::tcp::ListenConfig;
use kinglet::time::{Instant, earliest};
use kinglet_apps::service::{Echo, Server, Sink, Sizes, Source};
use kinglet_apps::{Place, Sockets, StreamApp};

/// Number of connections of each service; a mote has another number.
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
    fn step<S: Sockets<Handle = Socket>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        // The validation of the scenario has checked ports and limits.
        self.echo.step(now, sockets) | self.sink.step(now, sockets) | self.source.step(now, sockets)
    }

    fn due(&self) -> Option<Instant> {
        earliest(self.echo.due(), earliest(self.sink.due(), self.source.due()))
    }
}
