//! A border router and its radio, as the bridge uses them.

use super::radio::Radio;
use super::settings::{Settings, router_address};
use crate::GatewayError;
use crate::bridge::{End, Network};
use crate::look::{Look, Row, Shown};
use crate::network::NodeCounters;
use crate::show::Notice;
use crate::status::Status;
use core::net::Ipv6Addr;
use kinglet::Node;
use kinglet::net::{NextHop, Route};
use kinglet::radio::{Driver, Filter, Key};
use kinglet::rpl::{Info, Sequence};
use kinglet::wire::sixlowpan::Context;
use kinglet_network::build::border_router;
use kinglet_network::profile::LabProfile;
use kinglet_network::run::{BorderResult, FlowResult, LossResult, Reasons};
use kinglet_scenario::{CONTEXTS, NodeId, Role, Routing, Scenario};
use kinglet_sim::trace::Losses;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_zep::state::{State, StateError};
use kinglet_zep::{key, reports};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use tokio::sync::Notify;

/// The number of the border router, the only node whose state is known.
const NODE: NodeId = 0;
/// Interval between two checks of the router's neighbours.
const LOOK: Duration = Duration::from_secs(5);

/// A border router.
pub(crate) struct Router {
    node: Box<Node<LabProfile>>,
    radio: Radio,
    notices: Sender<Notice>,
    begin: Instant,
    now: Instant,
    /// Time of the stack's next work.
    next: Option<Instant>,
    address: Ipv6Addr,
    losses: Losses,
    looked: Instant,
    state: Option<State>,
    /// The reason for which the state was not kept.
    failed: Option<StateError>,
    mailbox: Rc<Mailbox>,
    key: Option<Key>,
}

/// Returns the network of these settings, with the key and after the life of this state.
///
/// # Errors
/// The key may not be used.
pub(crate) fn network_of(
    settings: &Settings,
    state: Option<&State>,
) -> Result<Scenario, GatewayError> {
    let mut network = settings.network.clone();
    let kept = state.map(State::kept).unwrap_or_default();
    if let Some(path) = &settings.key_file {
        let key = key::read(path, kept.frame_counter).map_err(GatewayError::Key)?;
        network.mac.security = Some(key);
    }
    network.rpl.sequence = kept.rpl;
    Ok(network)
}

/// Opens the radio of a network.
///
/// # Errors
/// The link cannot be opened, or a coprocessor does not work.
pub(crate) fn open_radio(
    settings: &Settings,
    network: &Scenario,
    clock: impl Fn() -> Instant,
) -> Result<Radio, GatewayError> {
    let addressing = network.addressing();
    let filter = Filter {
        pan_id: network.mac.pan_id.0,
        short: addressing.short(NODE),
        extended: addressing.eui64(NODE),
    };
    let ack_wait = Duration::from_millis(settings.ack_wait_ms.into());
    let radio = Radio::open(&settings.radio, filter, ack_wait, clock);
    radio.map_err(|error| GatewayError::Radio(error.to_string()))
}

/// A change of a setting while the router runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// 6LoWPAN contexts, by their numbers.
    Contexts([Option<Context>; CONTEXTS]),
    /// The wait for acknowledgements.
    AckWait(Duration),
}

/// Changes for a router that runs.
#[derive(Default)]
pub(crate) struct Mailbox {
    changes: RefCell<Vec<Change>>,
    arrival: Notify,
}

impl Mailbox {
    /// Adds a change.
    pub(crate) fn put(&self, change: Change) {
        self.changes.borrow_mut().push(change);
        self.arrival.notify_one();
    }
}

impl Router {
    /// Creates the router of this network, at its radio. `life` has to differ from run to run. The
    /// router keeps what its next life needs if it has a `state`. Changes of the radio are reported
    /// to `notices`.
    ///
    /// # Errors
    /// The state cannot be kept, or the link of the radio fails.
    pub(crate) fn new(
        network: &Scenario,
        life: u64,
        state: Option<State>,
        (mut radio, now): (Radio, Instant),
        notices: Sender<Notice>,
    ) -> Result<Self, GatewayError> {
        let mut node = border_router(network, life, radio.driver().capabilities());
        if network.routing == Routing::Static {
            // All nodes are in range.
            let via = NextHop::OnLink;
            let near = Route { prefix: network.prefix.mesh(), prefix_len: 64, via };
            let full = |_| GatewayError::Unsupported("more routes than a router has".to_owned());
            node.interface().add_route(near).map_err(full)?;
        }
        let address = router_address(network);
        let losses = Losses::new(now, &*node);
        let mut router = Router {
            node,
            radio,
            notices,
            begin: now,
            now,
            next: None,
            address,
            losses,
            looked: now,
            state,
            failed: None,
            mailbox: Rc::default(),
            key: network.mac.security.map(|security| security.key),
        };
        // Before the first frame.
        router.keep();
        router.failed.take().map_or(Ok(()), |error| Err(GatewayError::State(error)))?;
        router.drive();
        // It listens now, and a recipient of the greeting may send.
        let greeted = router.radio.driver().greet();
        greeted.map_err(|error| GatewayError::Radio(error.to_string()))?;
        Ok(router)
    }

    /// Returns the key of link security.
    pub(crate) const fn key(&self) -> Option<Key> {
        self.key
    }

    /// Returns the mailbox for changes.
    pub(crate) fn mailbox(&self) -> Rc<Mailbox> {
        Rc::clone(&self.mailbox)
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::AckWait(wait) => self.radio.driver().set_ack_wait(wait),
            Change::Contexts(contexts) => {
                for (id, context) in (0..).zip(contexts) {
                    // The table has room for all of them.
                    let _ = self.node.interface().set_context(id, context);
                }
            }
        }
    }

    /// Returns the router's address in the network.
    pub(crate) const fn address(&self) -> Ipv6Addr {
        self.address
    }

    fn drive(&mut self) {
        self.next = self.node.drive(self.now, self.radio.driver());
        self.keep();
    }

    /// Keeps what the stack reserves for its next life.
    fn keep(&mut self) {
        if let Some(state) = &mut self.state
            && let Err(error) = state.follow(self.now, &mut self.node, sequence)
        {
            self.failed = Some(error);
        }
    }
}

/// Returns RPL's present version and DTSN, if RPL is the routing protocol.
fn sequence(node: &Node<LabProfile>) -> Option<Sequence> {
    let Info { version, dtsn, .. } = node.routing().rpl()?.info();
    Some(Sequence { version, dtsn })
}

impl Network for Router {
    fn now(&self) -> Instant {
        self.now
    }

    fn run_until(&mut self, until: Instant) {
        self.now = self.now.max(until);
        self.drive();
    }

    fn next_event(&self) -> Option<Instant> {
        earliest(self.next, self.radio.deadline())
    }

    fn takes(&self, end: End) -> bool {
        end == End::Border && self.node.takes_host_packet()
    }

    fn handle_host_packet(&mut self, _: End, packet: &[u8]) {
        self.node.handle_host_packet(self.now, packet);
        self.drive();
    }

    fn poll_host_packet(&mut self, end: End, buf: &mut [u8]) -> Option<usize> {
        (end == End::Border).then(|| self.node.poll_host_packet(self.now, buf))?
    }

    fn exchange(&mut self) -> io::Result<()> {
        let changes = self.mailbox.changes.take();
        changes.into_iter().for_each(|change| self.change(change));
        if self.radio.exchange(self.now)? {
            self.drive();
        }
        for notice in self.radio.notices(self.now) {
            // The screen lives as long as the bridge.
            let _ = self.notices.send(notice);
        }
        match self.failed.take() {
            Some(error) => Err(io::Error::other(error)),
            None => Ok(()),
        }
    }

    async fn outside(&self) {
        tokio::select! {
            () = self.radio.arrival() => {}
            () = self.mailbox.arrival.notified() => {}
        }
    }
}

impl Shown for Router {
    fn uptime(&self) -> Duration {
        self.now - self.begin
    }

    fn look(&mut self) -> Look {
        let status = Status::of_role(Role::BorderRouter, Some(self.address));
        let row = Row {
            counters: NodeCounters::of(NODE, &self.node),
            status: status.with_stack(&self.node, self.now),
            reasons: Some(Reasons::of(&*self.node, None)),
        };
        let mut look = Look::new(vec![row], BorderResult::of(&self.node));
        look.radio = self.radio.look();
        look.tables.extend(self.node.routing().rpl().map(reports::rpl));
        let nd = self.node.net().discovery().nd();
        look.tables.extend(nd.map(|nd| reports::neighbours(nd, self.now)));
        look
    }

    fn losses(&mut self) -> Vec<LossResult> {
        if self.now - self.looked < LOOK {
            return Vec::new();
        }
        self.looked = self.now;
        let at_s = self.uptime().as_micros() as f64 / 1e6;
        let lost = self.losses.look(self.now, &*self.node).into_iter();
        lost.map(|loss| LossResult { at_s, node: NODE, loss }).collect()
    }

    fn flows(&self) -> Option<Vec<FlowResult>> {
        None
    }
}
