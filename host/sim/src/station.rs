//! Software of a node: the firmware's stack, its applications, and on a border router possibly a
//! wire to a host.

use crate::app::{Hosted, Tenants};
use crate::cpu::Counted;
use crate::flash::FlashPart;
use crate::trace::{Changed, Connection, Counted as Shown, Look};
use crate::wire::{Passed, Wire};
use crate::world::Device;
use kinglet::flash::{Driver, MAX_PAGE};
use kinglet::store::Submission;
use kinglet::tcp::Info;
use kinglet::{Each, EachRelation, Node, Profile};
use kinglet_radio::{Command, Event, MAX_FRAME};
use kinglet_time::{Instant, earliest};

/// Maximum number of rounds in which stack and applications pass work to each other at one instant.
/// More rounds indicate a bug.
const ROUNDS: u32 = 64;

/// A node's stack with its applications.
pub struct Station<P: Profile> {
    node: Box<Node<P>>,
    apps: Tenants<P>,
    wire: Option<Box<Wire>>,
    flash: Option<Box<FlashPart>>,
    /// Counters of the layers at the last look of a trace.
    seen: Option<Box<Seen>>,
}

/// Counters of layers that every stack has.
struct Seen {
    node: kinglet::Stats,
    mac: kinglet::mac::Stats,
    /// Sum of the counts of all reasons.
    reasons: u32,
    net: kinglet::net::Stats,
    tcp: kinglet::tcp::Stats,
}

/// Stores `now`. Returns whether it differs from the previous value.
fn update<T: Copy + PartialEq>(seen: &mut T, now: &T) -> bool {
    let other = *seen != *now;
    if other {
        *seen = *now;
    }
    other
}

impl<P: Profile> Station<P> {
    /// A station with these applications.
    pub fn new(node: Box<Node<P>>, apps: Vec<Box<dyn Hosted<P>>>) -> Self {
        Station { node, apps: Tenants::new(apps), wire: None, flash: None, seen: None }
    }

    /// Gives the stack a flash for queued frames, if it can use one. `first_sector` is the first
    /// sector to be erased.
    pub fn with_flash(mut self, part: FlashPart, first_sector: u16) -> Self {
        if self.node.attach_flash(Instant::ZERO, part.geometry(), first_sector) {
            self.flash = Some(Box::new(part));
        }
        self
    }

    /// The flash, if present.
    pub fn flash(&self) -> Option<&FlashPart> {
        self.flash.as_deref()
    }

    /// The flash, mutable.
    pub fn flash_mut(&mut self) -> Option<&mut FlashPart> {
        self.flash.as_deref_mut()
    }

    /// Passes events and commands between stack and flash until nothing changes.
    fn run_flash(&mut self, now: Instant) {
        let Some(part) = &mut self.flash else { return };
        for _ in 0..ROUNDS {
            if part.deadline().is_some_and(|at| at <= now) {
                // Allocated here, because this loop runs often and the flash is mostly busy.
                let mut octets = [0; MAX_PAGE];
                if let Some(event) = part.poll_event(now, &mut octets) {
                    self.node.handle_flash(now, event, &octets);
                }
            }
            let Some(Submission { command, octets }) = self.node.poll_flash(now) else { return };
            if part.submit(now, command, octets).is_err() {
                return self.node.flash_refused(now);
            }
        }
    }

    /// Connects a wired host to the host interface of this node.
    pub fn with_wire(mut self, wire: Wire) -> Self {
        self.wire = Some(Box::new(wire));
        self
    }

    /// The stack.
    pub fn node(&self) -> &Node<P> {
        &self.node
    }

    /// The stack, mutable; see [`World::with_device`](crate::World::with_device).
    pub fn node_mut(&mut self) -> &mut Node<P> {
        &mut self.node
    }

    /// The wired host, if present.
    pub fn wire(&self) -> Option<&Wire> {
        self.wire.as_deref()
    }

    /// Application number `index`, if it is an `A`.
    pub fn app<A: 'static>(&self, index: usize) -> Option<&A> {
        self.apps.get(index)
    }

    /// Calls `each` with layer, reason and count for every reason for which stack and applications
    /// discard, evict, refuse or give up something.
    pub fn reasons(&self, mut each: impl FnMut(&'static str, &'static str, u32)) {
        self.node.reasons(&mut each);
        self.apps.iter().for_each(|app| app.reasons(&mut each));
    }

    /// Sum of the counts of all reasons, wrapping.
    fn sum_of_reasons(&self) -> u32 {
        let mut sum = 0u32;
        self.reasons(|_, _, count| sum = sum.wrapping_add(count));
        sum
    }

    /// Adds an application. Returns its number.
    pub fn add_app(&mut self, app: Box<dyn Hosted<P>>) -> usize {
        self.apps.add(app)
    }

    /// Runs applications and wire until nothing changes.
    pub fn run_apps(&mut self, now: Instant) {
        for _ in 0..ROUNDS {
            let mut busy = self.apps.poll(now, &mut self.node);
            if let Some(wire) = &mut self.wire {
                busy |= wire.exchange(now, &mut self.node);
            }
            if !busy {
                return;
            }
        }
    }
}

impl<P: Profile> Look for Station<P> {
    fn counted(&self) -> Shown {
        let net = self.node.net().stats();
        Shown {
            segments: self.node.tcp().stats().sent,
            datagrams: net.datagrams_out,
            forwarded: net.forwarded,
        }
    }

    fn waiting(&self) -> u32 {
        let info = self.node.net().info();
        (info.queued + info.from_host + info.indirect) as u32
    }

    fn reasons(&self, each: &mut Each<'_>) {
        Station::reasons(self, each);
    }

    fn relations(&self, each: &mut EachRelation<'_>) {
        self.node.relations(each);
    }

    fn connections(&self, each: &mut dyn FnMut(Connection, &Info)) {
        let (tcp, net) = (self.node.tcp(), self.node.net());
        for handle in tcp.handles() {
            let (Some((peer, local, remote)), Some(info)) = (tcp.name(handle), tcp.info(handle))
            else {
                continue;
            };
            if let Some(address) = net.own_address(peer.local()) {
                let (local, remote) = ((address, local), (peer.remote(), remote));
                each(Connection { local, remote }, &info);
            }
        }
    }
}

impl<P: Profile> Device for Station<P> {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        // Other receivers share the octets on the air, so the stack decrypts a copy.
        let mut own = [0; MAX_FRAME];
        let own = &mut own[..frame.len()];
        own.copy_from_slice(frame);
        self.node.handle_radio(now, event, own);
        // Only a received frame affects applications and wire.
        if matches!(event, Event::Received { .. }) {
            self.run_apps(now);
        }
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        // The flash is read and written meanwhile.
        self.run_flash(now);
        self.node.poll_radio(now).map(|submission| (submission.command, submission.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        let above = earliest(self.node.deadline(), self.apps.deadline());
        let beside = earliest(above, self.flash.as_ref().and_then(|part| part.deadline()));
        earliest(beside, self.wire.as_ref().and_then(|wire| wire.deadline()))
    }

    fn handle_deadline(&mut self, now: Instant) {
        // A deadline of applications or wire is early for the stack, which then does nothing by
        // contract.
        self.node.handle_deadline(now);
        self.run_flash(now);
        self.run_apps(now);
    }

    fn work(&mut self) -> Counted {
        let messages = self.apps.iter().map(|app| app.messages());
        let (messages_received, messages_sent) = messages.fold((0, 0), |sum: (u32, u32), more| {
            (sum.0.wrapping_add(more.0), sum.1.wrapping_add(more.1))
        });
        let own = self.apps.iter().fold(0, |sum: u32, app| sum.wrapping_add(app.segments()));
        let cipher_runs = self.node.mac().stats().cipher_runs;
        let net = self.node.net().stats();
        let (datagrams_received, datagrams_sent) = (net.datagrams_in, net.datagrams_out);
        let tcp = self.node.tcp().stats();
        Counted {
            segments: tcp.received.wrapping_add(tcp.sent).wrapping_add(own),
            datagrams_received,
            datagrams_sent,
            messages_received,
            messages_sent,
            cipher_runs,
        }
    }

    fn look(&self) -> Option<&dyn Look> {
        Some(self)
    }

    fn has_counted(&mut self, always: bool) -> Changed {
        let node = &self.node;
        let Some(seen) = &mut self.seen else {
            self.seen = Some(Box::new(Seen {
                node: *node.stats(),
                mac: *node.mac().stats(),
                net: *node.net().stats(),
                tcp: *node.tcp().stats(),
                reasons: self.sum_of_reasons(),
            }));
            return Changed::Reasons;
        };
        // Copies only what has changed, because this is called several times per frame.
        let above = update(&mut seen.net, node.net().stats())
            | update(&mut seen.tcp, node.tcp().stats())
            | update(&mut seen.node, node.stats());
        if !update(&mut seen.mac, node.mac().stats()) && !above && !always {
            return Changed::Nothing;
        }
        let reasons = self.sum_of_reasons();
        let before = self.seen.as_mut().map(|seen| std::mem::replace(&mut seen.reasons, reasons));
        if before != Some(reasons) { Changed::Reasons } else { Changed::Counters }
    }

    fn trace_wire(&mut self, on: bool) {
        if let Some(wire) = &mut self.wire {
            wire.trace(on);
        }
    }

    fn take_passed(&mut self) -> Vec<Passed> {
        self.wire.as_mut().map(|wire| wire.take_passed()).unwrap_or_default()
    }
}
