//! Sink of readings.

use super::coap::PATH;
use super::ideal::Oracle;
use super::reading::{LEN, NUMBER, octets};
use crate::apps::coap::CoapSocket;
use crate::apps::tcp::{Socket, Tcp};
use kinglet::net::UdpHandle;
use kinglet::tcp::{ListenConfig, RecvError};
use kinglet::time::{Duration, Expected, Instant};
use kinglet::{Each, Node, Profile};
use kinglet_apps::sense::{TAG, untag};
use kinglet_apps::{App, Sockets, StreamApp};
use kinglet_coap::{Code, Event, Message};
use std::collections::BTreeMap;

/// Interval of TCPlp's measurements of goodput (§8.3).
pub const INTERVAL: Duration = Duration::from_secs(40);
/// Octets per read; the largest datagram of IPv6's minimum MTU.
const CHUNK: usize = 1280;

/// Transport of the readings.
pub enum Source {
    /// Over connections to this port.
    Tcp(u16, ListenConfig),
    /// In datagrams to this port.
    Datagrams {
        /// Port of the datagrams.
        port: u16,
        /// Octets in place of another protocol's headers.
        padding: usize,
        /// Set of received tags for the sender.
        oracle: Oracle,
    },
    /// In confirmable CoAP messages, with responses.
    Coap(Box<CoapSocket>),
    /// In non-confirmable CoAP messages to this port, without responses.
    NonConfirmable(u16),
}

/// Received readings.
#[derive(Default)]
struct Tally {
    seen: Vec<bool>,
    delivered: u32,
    duplicates: u32,
    broken: bool,
    /// Received octets of each incomplete reading, one bit per octet.
    parts: BTreeMap<u32, u128>,
    /// New readings per [`INTERVAL`].
    intervals: Vec<u32>,
}

impl Tally {
    /// Processes octets of reading `number` from `at` on.
    fn part(&mut self, now: Instant, number: u32, at: usize, part: &[u8]) {
        let right = octets(number);
        if right.get(at..at + part.len()) != Some(part) {
            self.broken = true;
            return;
        }
        if self.has(number) {
            self.duplicates += u32::from(at == 0);
            return;
        }
        let bits = self.parts.entry(number).or_default();
        *bits |= (at..at + part.len()).fold(0, |bits, octet| bits | 1 << octet);
        if *bits != (1 << LEN) - 1 {
            return;
        }
        self.parts.remove(&number);
        let index = number as usize;
        self.seen.resize(self.seen.len().max(index + 1), false);
        self.seen[index] = true;
        self.delivered += 1;
        let interval = (now.as_micros() / INTERVAL.as_micros()) as usize;
        self.intervals.resize(self.intervals.len().max(interval + 1), 0);
        self.intervals[interval] += 1;
    }

    /// Processes a datagram. Returns its tag.
    fn datagram(&mut self, now: Instant, octets: &[u8], padding: usize) -> Option<u32> {
        let (tag, rest) = octets.split_first_chunk::<TAG>()?;
        let tag = u32::from_be_bytes(*tag);
        let (number, cut) = untag(tag);
        self.take(now, number, cut, rest.get(padding..)?);
        Some(tag)
    }

    /// Processes consecutive readings, the first one from octet `cut` on. The octets never end
    /// within the number of a reading.
    fn take(&mut self, now: Instant, mut number: u32, mut cut: usize, octets: &[u8]) {
        let mut rest = octets;
        loop {
            let (part, after) = rest.split_at(rest.len().min(LEN - cut));
            self.part(now, number, cut, part);
            let Some(head) = after.first_chunk::<NUMBER>() else {
                self.broken |= !after.is_empty();
                return;
            };
            (number, cut, rest) = (u32::from_be_bytes(*head), 0, after);
        }
    }

    fn has(&self, number: u32) -> bool {
        self.seen.get(number as usize) == Some(&true)
    }
}

/// The sink.
pub struct ReadingSink {
    source: Source,
    listening: bool,
    connections: Vec<(Socket, Vec<u8>)>,
    socket: Option<UdpHandle>,
    tally: Tally,
}

impl ReadingSink {
    /// Creates a sink for readings from `source`.
    pub fn new(source: Source) -> Self {
        let (connections, tally) = (Vec::new(), Tally::default());
        ReadingSink { source, listening: false, connections, socket: None, tally }
    }

    /// Number of readings received at least once.
    pub fn delivered(&self) -> u32 {
        self.tally.delivered
    }

    /// Number of repeated readings.
    pub fn duplicates(&self) -> u32 {
        self.tally.duplicates
    }

    /// True if every received octet was correct.
    pub fn intact(&self) -> bool {
        !self.tally.broken
    }

    /// New readings in each [`INTERVAL`] from the start of the simulation to the last new reading.
    pub fn intervals(&self) -> &[u32] {
        &self.tally.intervals
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.tally.has(number)
    }

    fn listen<P: Profile>(&mut self, node: &mut Node<P>) {
        if self.listening {
            return;
        }
        self.listening = match &self.source {
            Source::Tcp(port, config) => Tcp::Own(node).listen(*port, *config),
            Source::Datagrams { port, .. } | Source::NonConfirmable(port) => {
                self.socket = node.datagrams().bind(*port).ok();
                self.socket.is_some()
            }
            // The endpoint binds the port itself.
            Source::Coap(_) => true,
        };
    }

    fn read_streams<S: Sockets<Handle = Socket>>(
        &mut self,
        now: Instant,
        port: u16,
        tcp: &mut S,
    ) -> bool {
        let mut busy = false;
        while let Some(handle) = tcp.accept(port) {
            self.connections.push((handle, Vec::new()));
        }
        let tally = &mut self.tally;
        self.connections.retain_mut(|(handle, pending)| {
            let mut chunk = [0; CHUNK];
            match tcp.recv(*handle, &mut chunk) {
                Ok(len @ 1..) => {
                    pending.extend(&chunk[..len]);
                    let whole = pending.len() / LEN * LEN;
                    for reading in pending.drain(..whole).collect::<Vec<_>>().chunks_exact(LEN) {
                        let Some(head) = reading.first_chunk() else { continue };
                        tally.take(now, u32::from_be_bytes(*head), 0, reading);
                    }
                    busy = true;
                    true
                }
                Err(RecvError::WouldBlock) => true,
                // The end of the stream, with an error or without.
                Ok(0) | Err(_) => {
                    tcp.release(now, *handle, None);
                    false
                }
            }
        });
        busy
    }

    fn read_datagrams<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let Some(socket) = self.socket else { return false };
        let mut busy = false;
        let mut chunk = [0; CHUNK];
        while let Ok(Some(datagram)) = node.datagrams().recv(socket, &mut chunk) {
            busy = true;
            let octets = &chunk[..datagram.len];
            match &self.source {
                Source::Datagrams { padding, oracle, .. } => {
                    let tag = self.tally.datagram(now, octets, *padding);
                    if let Ok(mut arrived) = oracle.lock() {
                        arrived.extend(tag);
                    }
                }
                _ => {
                    let message = Message::parse(octets).ok().filter(|it| it.is_path(PATH));
                    message.map(|message| self.tally.datagram(now, message.payload, 0));
                }
            }
        }
        busy
    }

    fn read_messages<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let Source::Coap(socket) = &mut self.source else { return false };
        let tally = &mut self.tally;
        socket.poll(now, node, |endpoint, _, event| {
            let Event::Request { ticket, message } = event else { return };
            let is_known =
                message.is_path(PATH) && tally.datagram(now, message.payload, 0).is_some();
            let code = if is_known { Code::CHANGED } else { Code::BAD_REQUEST };
            // The request has just arrived, and an empty response always fits.
            let _ = endpoint.respond(now, ticket, code, |_| Ok(()));
        })
    }
}

/// Applies to streams only.
impl StreamApp<Socket> for ReadingSink {
    fn step<S: Sockets<Handle = Socket>>(&mut self, now: Instant, tcp: &mut S) -> bool {
        let Source::Tcp(port, config) = self.source else { return false };
        if !self.listening {
            self.listening = tcp.listen(port, config);
        }
        self.read_streams(now, port, tcp)
    }

    fn due(&self) -> Option<Instant> {
        (!self.listening).then_some(Instant::ZERO)
    }
}

impl App for ReadingSink {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        self.listen(node);
        match self.source {
            Source::Tcp(port, _) => self.read_streams(now, port, &mut Tcp::Own(node)),
            Source::Datagrams { .. } | Source::NonConfirmable(_) => self.read_datagrams(now, node),
            Source::Coap(_) => self.read_messages(now, node),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.source {
            Source::Coap(socket) => socket.deadline(),
            _ => (!self.listening).then_some(Instant::ZERO),
        }
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        match &self.source {
            Source::Coap(socket) => socket.expected(now),
            _ => None,
        }
    }

    fn messages(&self) -> (u32, u32) {
        match &self.source {
            Source::Coap(socket) => socket.messages(),
            _ => (0, 0),
        }
    }

    fn reasons(&self, each: &mut Each<'_>) {
        if let Source::Coap(socket) = &self.source {
            socket.reasons(each);
        }
    }
}
