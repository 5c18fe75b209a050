//! A host that receives thousands of streams.
//!
//! A [`PeerEnd`](super::peer::PeerEnd) polls all of its applications at each event, and its stack
//! searches all of its connections. Here each application has its own port and a stack with only
//! its own connections, and only the stack that a packet is addressed to processes the packet.
//! Senders see no difference.

use super::tcp::{Foreign, Speaker, Tcp};
use core::any::Any;
use core::net::Ipv6Addr;
use kinglet::Profile;
use kinglet::time::{Instant, earliest};
use kinglet::wire::ipv6::{HEADER_LEN, protocol};
use kinglet_peers::Host;
use kinglet_sim::SameStack;
use kinglet_sim::wire::FarEnd;
use std::collections::{BTreeMap, BTreeSet};

/// 64, as in RFC 1700.
const HOP_LIMIT: u8 = 64;
/// Offset of the Next Header field of IPv6 (RFC 8200 §3), and of the destination port directly
/// after the header; no node here sends TCP after extension headers.
const NEXT_HEADER: usize = 6;
const PORT: usize = HEADER_LEN + 2;

/// An application with a stack of its own.
pub(crate) struct Member<P: Profile> {
    port: u16,
    host: Host,
    app: Box<dyn Speaker<P>>,
    /// Time of its entry in the list of deadlines.
    due: Option<Instant>,
}

impl<P: Profile> Member<P> {
    /// `app` listening on `port` of `address`; `seed` determines its sequence numbers.
    pub(crate) fn new(
        app: Box<dyn Speaker<P>>,
        (address, port): (Ipv6Addr, u16),
        seed: u64,
    ) -> Self {
        Member { port, host: Host::new(address, HOP_LIMIT, seed), app, due: None }
    }
}

/// All applications, and Kinglet's stack for packets other than TCP.
pub(crate) struct Crowd<P: Profile> {
    foreign: Foreign,
    members: Vec<Member<P>>,
    by_port: BTreeMap<u16, usize>,
    /// Deadlines by time and member.
    due: BTreeSet<(Instant, usize)>,
    /// Members with a new event, and members that may have packets to send.
    awake: BTreeSet<usize>,
    sending: BTreeSet<usize>,
    beside: SameStack<P>,
}

impl<P: Profile> Crowd<P> {
    /// Creates the host with these applications over the TCP of `foreign`.
    pub(crate) fn new(foreign: Foreign, members: Vec<Member<P>>, beside: SameStack<P>) -> Self {
        let by_port = (0..).zip(&members).map(|(place, member)| (member.port, place)).collect();
        // All members begin to listen.
        let awake = (0..members.len()).collect();
        let (due, sending) = (BTreeSet::new(), BTreeSet::new());
        Crowd { foreign, members, by_port, due, awake, sending, beside }
    }

    /// Notes an event of a member.
    fn wake(&mut self, place: usize) {
        self.awake.insert(place);
        self.sending.insert(place);
    }

    /// Updates a member's deadline.
    fn schedule(&mut self, place: usize) {
        let member = &mut self.members[place];
        let due = earliest(member.host.deadline(), member.app.due());
        if due == member.due {
            return;
        }
        if let Some(at) = core::mem::replace(&mut member.due, due) {
            self.due.remove(&(at, place));
        }
        self.due.extend(due.map(|at| (at, place)));
    }
}

impl<P: Profile> FarEnd for Crowd<P> {
    fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        if packet.get(NEXT_HEADER) != Some(&protocol::TCP) {
            return self.beside.handle_packet(now, packet);
        }
        let port = packet.get(PORT..).and_then(|rest| rest.first_chunk());
        let Some(place) = port.and_then(|port| self.by_port.get(&u16::from_be_bytes(*port))) else {
            return;
        };
        let place = *place;
        self.members[place].host.handle_packet(now, packet);
        self.wake(place);
    }

    fn expire(&mut self, now: Instant) -> bool {
        let mut busy = self.beside.expire(now);
        while let Some(&(at, place)) = self.due.first()
            && at <= now
        {
            self.members[place].host.handle_deadline(now);
            self.due.pop_first();
            self.members[place].due = None;
            self.wake(place);
            busy = true;
        }
        busy
    }

    fn work(&mut self, now: Instant) -> bool {
        let mut busy = self.beside.work(now);
        for place in core::mem::take(&mut self.awake) {
            let Member { host, app, .. } = &mut self.members[place];
            if app.step(now, &mut Tcp::Peer(host, self.foreign)) {
                self.wake(place);
                busy = true;
            }
            self.schedule(place);
        }
        busy
    }

    fn poll_packet(&mut self, now: Instant, buf: &mut [u8]) -> Option<usize> {
        while let Some(&place) = self.sending.first() {
            let packet = self.members[place].host.poll_packet(now);
            self.schedule(place);
            let Some(packet) = packet else {
                self.sending.remove(&place);
                continue;
            };
            buf.get_mut(..packet.len())?.copy_from_slice(&packet);
            return Some(packet.len());
        }
        self.beside.poll_packet(now, buf)
    }

    fn deadline(&self) -> Option<Instant> {
        let awake = (!self.awake.is_empty()).then_some(Instant::ZERO);
        let due = self.due.first().map(|(at, _)| *at);
        earliest(awake, earliest(due, self.beside.deadline()))
    }

    fn app(&self, index: usize) -> Option<&dyn Any> {
        match index.checked_sub(self.members.len()) {
            None => self.members.get(index).map(|member| member.app.as_any()),
            Some(beside) => self.beside.app(beside),
        }
    }
}
