//! A border router whose layers count their calls: the network layer counts calls of its routing,
//! the MAC calls of its [`DeliveryMethod`]. Every call of one of the two layers, even for its
//! deadline, calls that type.
#![allow(unreachable_pub, reason = "a module of test files")]

use core::net::Ipv6Addr;
use kinglet::mac::{self, DeliveryMethod, SendTiming, TableFull};
use kinglet::mem::Array;
use kinglet::radio::{Capabilities, Command};
use kinglet::routing::{Change, Learnt, MAX_MESSAGE, Message};
use kinglet::time::Instant;
use kinglet::wire::ieee802154::{Address, Csl};
use kinglet::{AddressPair, BorderRouter, Routing, net, polling, tcp};
use std::cell::Cell;
use std::fmt::Debug;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

/// Returns the number of these calls, by all nodes of this thread.
pub fn asked() -> u64 {
    ASKED.get()
}

/// A [`BorderRouter`] that counts.
pub struct Counted;

/// The number of connections of a border router.
const CONNECTIONS: usize =
    <<BorderRouter as tcp::Sizes>::Connections<AddressPair> as Array<_>>::LEN;

impl mac::Sizes for Counted {
    type Queue = <BorderRouter as mac::Sizes>::Queue;
    type Neighbours = <BorderRouter as mac::Sizes>::Neighbours;
    type Listening = <BorderRouter as mac::Sizes>::Listening;
    type DeliveryMethod = Counting<<BorderRouter as mac::Sizes>::DeliveryMethod>;
    type Security = <BorderRouter as mac::Sizes>::Security;
    type Backoff = <BorderRouter as mac::Sizes>::Backoff;
}

impl net::Sizes for Counted {
    const FORWARDS: bool = <BorderRouter as net::Sizes>::FORWARDS;
    const DETECTS_CONGESTION: bool = <BorderRouter as net::Sizes>::DETECTS_CONGESTION;
    const REPORTS_ERRORS: bool = <BorderRouter as net::Sizes>::REPORTS_ERRORS;
    type Storage = <BorderRouter as net::Sizes>::Storage;
    type Packets = <BorderRouter as net::Sizes>::Packets;
    type Reassembly = <BorderRouter as net::Sizes>::Reassembly;
    type Output = <BorderRouter as net::Sizes>::Output;
    type Host = <BorderRouter as net::Sizes>::Host;
    type Children = <BorderRouter as net::Sizes>::Children;
    type Indirect = <BorderRouter as net::Sizes>::Indirect;
    type Addresses = <BorderRouter as net::Sizes>::Addresses;
    type Groups = <BorderRouter as net::Sizes>::Groups;
    type Routes = <BorderRouter as net::Sizes>::Routes;
    type Neighbours = <BorderRouter as net::Sizes>::Neighbours;
    type Contexts = <BorderRouter as net::Sizes>::Contexts;
    type Routing = Counting<<BorderRouter as net::Sizes>::Routing>;
    type Discovery = ();
    type Fragmentation = <BorderRouter as net::Sizes>::Fragmentation;
    type Ipv6Fragments = ();
    type Border = ();
    type Headers = <BorderRouter as net::Sizes>::Headers;
    type UdpSockets = <BorderRouter as net::Sizes>::UdpSockets;
}

impl tcp::Sizes for Counted {
    type Congestion = <BorderRouter as tcp::Sizes>::Congestion;
    type SendBuffer = <BorderRouter as tcp::Sizes>::SendBuffer;
    type Pieces = <BorderRouter as tcp::Sizes>::Pieces;
    type ReceiveBuffer = <BorderRouter as tcp::Sizes>::ReceiveBuffer;
    type ReceiveMap = <BorderRouter as tcp::Sizes>::ReceiveMap;
    type Features = <BorderRouter as tcp::Sizes>::Features;
    type Segments = <BorderRouter as tcp::Sizes>::Segments;
    // The type of a connection's slot contains its plan.
    type Connections<K: tcp::Peer> = [tcp::Slot<K, Self>; CONNECTIONS];
    type Listeners = <BorderRouter as tcp::Sizes>::Listeners;
    type HalfOpen<K: tcp::Peer> = <BorderRouter as tcp::Sizes>::HalfOpen<K>;
    type TimeWait<K: tcp::Peer> = <BorderRouter as tcp::Sizes>::TimeWait<K>;
    type Servers<K: tcp::Peer> = <BorderRouter as tcp::Sizes>::Servers<K>;
}

impl polling::Sizes for Counted {
    type PendingRequests = <BorderRouter as polling::Sizes>::PendingRequests;
    type Applications = <BorderRouter as polling::Sizes>::Applications;
}

/// Forwards every call to the inner type, and counts it.
pub struct Counting<T>(pub T);

impl<T> Counting<T> {
    fn ask(&self) -> &T {
        ASKED.set(ASKED.get() + 1);
        &self.0
    }

    fn ask_mut(&mut self) -> &mut T {
        ASKED.set(ASKED.get() + 1);
        &mut self.0
    }
}

impl<T: Routing> Routing for Counting<T> {
    const NONE: Self = Counting(T::NONE);
    const PORT: Option<u16> = T::PORT;
    type Additions = T::Additions;
    type Waiting<H: Copy + Debug> = T::Waiting<H>;

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        self.ask().route(dst)
    }

    fn is_on(&self) -> bool {
        self.ask().is_on()
    }

    fn listens(&self) -> bool {
        self.ask().listens()
    }

    fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8, lqi: u8) {
        self.ask_mut().handle_heard(now, from, rssi_dbm, lqi);
    }

    fn handle_sent(&mut self, now: Instant, to: Address, transmissions: u8, acked: bool) {
        self.ask_mut().handle_sent(now, to, transmissions, acked);
    }

    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]) {
        self.ask_mut().handle_message(now, from, rssi_dbm, message);
    }

    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        self.ask_mut().poll_message(now, buf)
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.ask_mut().poll_change()
    }

    fn deadline(&self) -> Option<Instant> {
        self.ask().deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.ask_mut().handle_deadline(now);
    }
}

impl<T: DeliveryMethod> DeliveryMethod for Counting<T> {
    const NEW: Self = Counting(T::NEW);
    const ANY: bool = T::ANY;

    fn set_pending(&mut self, short: u16, pending: bool) -> Result<(), TableFull> {
        self.ask_mut().set_pending(short, pending)
    }

    fn is_pending(&self, src: Address) -> bool {
        self.ask().is_pending(src)
    }

    fn poll_command(&mut self, radio: Capabilities) -> Option<Command> {
        self.ask_mut().poll_command(radio)
    }

    fn invalidate_pending_table(&mut self) {
        self.ask_mut().invalidate_pending_table();
    }

    fn handle_request(&mut self, radio: Capabilities, src: Address) -> bool {
        self.ask_mut().handle_request(radio, src)
    }

    fn handle_samples(
        &mut self,
        now: Instant,
        radio: Capabilities,
        src: Address,
        sfd: Instant,
        csl: Csl,
    ) {
        self.ask_mut().handle_samples(now, radio, src, sfd, csl);
    }

    fn repeated(&mut self, dst: Address, token: kinglet_mac::Token) -> Option<u8> {
        self.ask_mut().repeated(dst, token)
    }

    fn note_sent(
        &mut self,
        dst: Address,
        token: kinglet_mac::Token,
        sequence: u8,
        result: kinglet_mac::Delivery,
    ) {
        self.ask_mut().note_sent(dst, token, sequence, result);
    }

    fn handle_burst(&mut self, dst: Address) {
        self.ask_mut().handle_burst(dst);
    }

    fn timing(&self, dst: Address) -> SendTiming {
        self.ask().timing(dst)
    }

    fn poll_listener(&mut self) -> Option<u16> {
        self.ask_mut().poll_listener()
    }

    fn deadline(&self) -> Option<Instant> {
        self.ask().deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.ask_mut().handle_deadline(now);
    }
}
