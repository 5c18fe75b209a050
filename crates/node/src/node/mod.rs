//! The connection of the layers.
//!
//! Input: radio event → [`Mac`] → [`Net`] → TCP. Output is a pull: the MAC has a free slot →
//! [`Net`] writes the next frame into it, and if it has none, one segment is taken from TCP. No
//! frame or segment is formed before it can leave, and a payload is copied once, from the send ring
//! into the slot.

mod activity;
mod announce;
mod follow;
mod parent;
mod relay;
mod segments;

pub(crate) use segments::ANY_PEER;

use crate::config::{Config, with_addresses};
use crate::courtesy::Courtesy;
use crate::discovery::Discovery;
use crate::peer::AddressPair;
use crate::polling::Poller;
use crate::profile::Profile;
use activity::Activity;
use core::cell::Cell;
use core::net::Ipv6Addr;
use kinglet_mac::{self as mac, Indication, Mac, Submission, TxRequest};
use kinglet_mem::Array;
use kinglet_net::{self as net, Body, BodySource, Delivery, FrameIn, FrameLimits, Net};
use kinglet_net::{Outgoing, PacketHandle, TableFull};
use kinglet_radio::{Capabilities, Command, Event, Filter};
use kinglet_routing::{EachRelation, Routing};
use kinglet_tcp::{self as tcp, Endpoint, PayloadRef};
use kinglet_time::{Duration, Instant};
use kinglet_wire::Ecn;
use kinglet_wire::icmpv6::Kind;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;

/// A segment without payload that the MAC has, and its connection.
type Acking = (net::Token, tcp::Handle);
/// An array with room for one, in a plan that requires it.
type LateAcks<P> = <<P as tcp::Sizes>::Features as tcp::Features>::LateAcks<Acking>;

kinglet_mem::counters! {
    /// Counters of losses between the layers and of data requests; they stop at their maximum.
    pub struct Stats {
        /// Data requests made.
        data_requests,
        /// Data requests for which nothing was pending.
        nothing_pending,
    }
    reasons {
        /// TCP segments that the network layer did not take: no route, or longer than the MTU.
        unroutable_segments,
        /// Packets given up because no frame of this MAC has room for their headers.
        unsendable_packets,
        /// Commands that the radio driver refused.
        refused_commands,
        /// Data requests without acknowledgement.
        unanswered_requests,
        /// Data requests after which the promised frame did not come.
        timed_out_requests,
    }
}

/// The use of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The MAC's tables.
    pub mac: mac::Info,
    /// The network layer's tables.
    pub net: net::Info,
}

/// A whole stack. The crate documentation shows the loop around it.
pub struct Node<P: Profile> {
    pub(crate) mac: Mac<P>,
    pub(crate) net: Net<P, PayloadRef>,
    pub(crate) tcp: Endpoint<AddressPair, P>,
    /// True if TCP had nothing to send when it was last asked, and has had no event since: in most
    /// iterations of the loop it need not be asked. [`Node::wake_tcp`], through which its events
    /// come, clears this.
    pub(crate) tcp_is_quiet: bool,
    /// The acknowledgment until whose transmission its connection holds the next one back.
    acking: LateAcks<P>,
    pub(crate) poller: Poller<P::PendingRequests, P::Applications>,
    courtesy: Courtesy,
    /// True if the default route leads to the parent.
    has_parent: bool,
    /// True if the receiver is to be off between frames.
    pub(crate) sleeps: bool,
    /// The time at which applications are to be looked at again. They are notified of an event that
    /// occurred while the radio was offered something: packets have no route. Applications are not
    /// looked at during that call.
    pub(crate) report_at: Option<Instant>,
    /// The record of pending work.
    pub(crate) activity: Cell<Activity>,
    /// The deadline of the layers above the MAC, if it is known.
    pub(crate) above: Cell<Option<Option<Instant>>>,
    stats: Stats,
}

/// Gives the network layer access to payloads in place.
struct SendRings<'a, P: Profile>(&'a Endpoint<AddressPair, P>);

impl<P: Profile> BodySource<PayloadRef> for SendRings<'_, P> {
    fn read(&self, key: PayloadRef, offset: usize, out: &mut [u8]) -> Result<(), net::Stale> {
        self.0.read_payload(key, offset, out).map_err(|_| net::Stale)
    }
}

/// The reassembly timeout of RFC 4944, 5.3.
const LONGEST_REASSEMBLY: Duration = Duration::from_secs(60);

/// Returns the number of hops of a packet whose hop limit is `left` here. The initial value is 64,
/// 128 or 255, the next of them that is not less. A packet of a neighbour has the initial value.
const fn hops_of(left: u8) -> u8 {
    let begun: u8 = match left {
        0..=64 => 64,
        65..=128 => 128,
        _ => 255,
    };
    begun.saturating_sub(left).saturating_add(1)
}

impl<P: Profile> Node<P> {
    /// True if the receiver may be off, so that a parent has to be polled for data; the code for
    /// that is left out otherwise.
    const ASKS: bool = <P::Listening as mac::Listening>::SLEEPS;
    /// True if the node can be the parent of nodes that sleep.
    pub(crate) const HAS_CHILDREN: bool = <P::DeliveryMethod as mac::DeliveryMethod>::ANY;

    /// True if routing discovers routes when packets need them.
    pub(crate) const DISCOVERS: bool = <P::Routing as Routing>::Waiting::<PacketHandle>::LEN > 0;

    /// True if a layer processes ICMPv6 messages of types that the network layer only carries.
    const HEARS_ICMPV6: bool =
        <P::Discovery as net::Discovery>::PRESENT || !P::Routing::ICMPV6.is_empty();

    /// Returns a node with empty tables for a radio with these capabilities. Addresses, routes and
    /// 6LoWPAN contexts are added through [`Node::interface`]. No routes are learnt.
    pub const fn new(config: Config<mac::KeyOf<P>>, radio: Capabilities) -> Self {
        Node::with_routing(config, Routing::NONE, radio)
    }

    /// The same, and `routing` learns routes, such as a [`Meshed`](crate::Meshed).
    pub const fn with_routing(
        config: Config<mac::KeyOf<P>>,
        routing: P::Routing,
        radio: Capabilities,
    ) -> Self {
        Node::with_layers(config, routing, net::Discovery::NONE, radio)
    }

    /// The same, and `discovery` learns link addresses, such as a
    /// [`Discovered`](crate::Discovered).
    ///
    /// # Panics
    /// In a build with debug assertions, if [`rx_on_when_idle`](mac::MacConfig::rx_on_when_idle) is
    /// `false` and the `listening` of the plan never polls, such as [`AlwaysOn`](mac::AlwaysOn):
    /// nothing would reach the node.
    pub const fn with_layers(
        config: Config<mac::KeyOf<P>>,
        routing: P::Routing,
        discovery: P::Discovery,
        radio: Capabilities,
    ) -> Self {
        let sleeps = !config.mac.rx_on_when_idle;
        debug_assert!(
            !sleeps || Self::ASKS,
            "a node that sleeps needs a plan whose `listening` polls"
        );
        Node {
            mac: Mac::new(config.mac, radio, config.seed),
            net: Net::with_layers(with_addresses(config.net, &config.mac), routing, discovery),
            tcp: Endpoint::new(config.tcp),
            tcp_is_quiet: false,
            acking: <LateAcks<P> as Array<_>>::EMPTY,
            sleeps,
            report_at: None,
            poller: Poller::new(config.polling),
            courtesy: Courtesy::new(config.yields),
            has_parent: false,
            activity: Cell::new(Activity::Busy),
            above: Cell::new(None),
            stats: Stats {
                unroutable_segments: 0,
                unsendable_packets: 0,
                refused_commands: 0,
                data_requests: 0,
                nothing_pending: 0,
                unanswered_requests: 0,
                timed_out_requests: 0,
            },
        }
    }

    /// Returns the address filter to set in the radio before the first command.
    pub const fn filter(&self) -> Filter {
        self.mac.filter()
    }

    /// Takes an event of the radio; `frame` holds the octets of a received frame, which is
    /// decrypted in place.
    pub fn handle_radio(&mut self, now: Instant, event: Event, frame: &mut [u8]) {
        let activity = self.activity.get();
        match event {
            Event::Received { .. } => self.wake(),
            _ => self.wake_after_transmission(),
        }
        // Each layer counts its own discards.
        let result = self.mac.handle_radio(now, event, frame);
        let Ok(Some(indication)) = &result else { return };
        let (&Indication::Data { ref src, rssi_dbm, lqi, .. }
        | &Indication::DataRequest { ref src, rssi_dbm, lqi, .. }) = indication;
        let repeated = matches!(indication, Indication::DataRequest { repeated: true, .. });
        // The sender of a repeated request may be elsewhere.
        if !repeated {
            self.routing_heard(now, src, rssi_dbm, lqi);
        }
        match indication {
            Indication::Data { dst, payload, .. } => {
                let payload = frame.get(payload.clone()).unwrap_or_default();
                let frame = FrameIn { src: *src, dst: *dst, payload };
                if self.net.keep_fragment(now, &frame) {
                    // A duty-cycled node sets its radio for the arrival of the next fragment.
                    return if self.mac.strobes() {
                        self.wake()
                    } else {
                        self.restore_activity(activity)
                    };
                }
                match self.net.handle_frame(now, frame) {
                    Ok(Some(message)) if message.protocol == protocol::UDP => {
                        self.routing_message(now, src, rssi_dbm, message);
                    }
                    Ok(Some(message))
                        if Self::HEARS_ICMPV6 && message.protocol == protocol::ICMPV6 =>
                    {
                        self.icmpv6_message(now, src, rssi_dbm, message);
                    }
                    result => self.deliver(now, result),
                }
            }
            &Indication::DataRequest { src: Address::Short(child), .. }
                if Self::HAS_CHILDREN && repeated =>
            {
                let _ = self.net.handle_repeated_request(now, child);
            }
            &Indication::DataRequest { src: Address::Short(child), .. } if Self::HAS_CHILDREN => {
                self.routing_mut().handle_asked(now, child);
                self.follow_routing(now);
                let _ = self.net.handle_data_request(now, child);
            }
            // A device without a short address is no node's child.
            Indication::DataRequest { .. } => {}
        }
    }

    /// Returns whether there is room for a packet from the host. A node without room drops packets
    /// from the host, as any router does. A host that can wait should do so; one event of the radio
    /// or more passes until there is room again.
    pub fn takes_host_packet(&self) -> bool {
        self.net.takes_host_packet()
    }

    /// Takes an IPv6 packet from the host interface of a border router.
    pub fn handle_host_packet(&mut self, now: Instant, packet: &[u8]) {
        self.wake();
        let result = self.net.handle_host_packet(now, packet);
        self.deliver(now, result);
    }

    /// Returns TCP's key for connections between these addresses. A `local` that is not an address
    /// of this node makes a key that is refused.
    pub(crate) fn address_pair(&self, local: Ipv6Addr, remote: Ipv6Addr) -> AddressPair {
        AddressPair::new(self.net.own_index(local), local, remote)
    }

    /// Delivers a packet to TCP, the only upper layer that is not the network layer's own.
    fn deliver(&mut self, now: Instant, result: Result<Option<Delivery>, net::Discard>) {
        let Ok(delivery) = result else { return };
        if let Some(Delivery { packet, header, own, upper, protocol }) = delivery {
            if protocol == protocol::TCP {
                let segment = self.net.packet(packet).get(upper).unwrap_or_default();
                let peer = AddressPair::new(own, header.dst, header.src);
                // TCP counts its own drops.
                self.tcp_is_quiet = false;
                let ecn = Ecn::of(header.traffic_class);
                let taken = self.tcp.handle_packet(now, peer, ecn, segment).is_ok();
                if <P::Features as tcp::Features>::WINDOW_LIMIT && taken {
                    self.tcp.note_distance(&peer, hops_of(header.hop_limit));
                }
                // A SYN may be the first segment between the two. The flags are octet 13.
                let opens = segment.get(13).is_none_or(|flags| flags & 2 != 0);
                if <P::Discovery as net::Discovery>::PRESENT && taken && !opens {
                    self.net.note_progress(now, header.src);
                }
            }
            return self.net.release(packet);
        }
        let report = self.net.poll_error_about(protocol::TCP);
        report.into_iter().for_each(|report| self.report(report));
    }

    /// Reports an error about a segment to TCP, but not Packet Too Big: TCP sends no such packet.
    fn report(&mut self, report: net::ErrorReport) {
        let error = match report.kind {
            Kind::DestinationUnreachable { .. } => tcp::SoftError::Unreachable,
            Kind::TimeExceeded { .. } => tcp::SoftError::TimeExceeded,
            Kind::ParameterProblem { .. } => tcp::SoftError::ParameterProblem,
            _ => return,
        };
        let peer = self.address_pair(report.src, report.dst);
        self.undelivered(&peer, report.upper, error);
    }

    /// Notifies TCP why the segment which begins with these octets could not be delivered.
    //= rfc9293#MUST-54
    fn undelivered(&mut self, peer: &AddressPair, segment: [u8; 8], error: tcp::SoftError) {
        let [a, b, c, d, seq @ ..] = segment;
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        self.wake_tcp().notify_network_error(peer, ports, u32::from_be_bytes(seq), error);
    }

    /// Returns the next command for the radio: at most five before the next event, deadline or call
    /// of the application.
    pub fn poll_radio(&mut self, now: Instant) -> Option<Submission<'_>> {
        if self.is_idle(now) {
            return None;
        }
        if !matches!(self.activity.get(), Activity::Offering) {
            self.prepare_radio(now);
            // Frames that end here make room, which is filled before the next command. Each
            // iteration takes a frame out of a table.
            while self.mac.give_up_missed(now) {
                self.prepare_radio(now);
            }
        }
        self.set_done();
        let submission = self.mac.poll_radio(now)?;
        // A frame is the last command, unless the receiver goes off after it.
        let is_last = matches!(submission.command, Command::Transmit { .. }) && !self.sleeps;
        if !is_last {
            *self.activity.get_mut() = Activity::Offering;
        }
        Some(submission)
    }

    /// Moves everything that waits to the MAC, where the radio finds it.
    // Separate from the loop that calls it, for the reason given at `note_sent`.
    #[inline(never)]
    fn prepare_radio(&mut self, now: Instant) {
        if Self::ASKS
            && let Some(outcome) = self.mac.poll_data_request(now)
        {
            self.note_data_request(now, outcome);
        }
        while Self::HAS_CHILDREN
            && let Some(child) = self.mac.poll_listener(now)
        {
            let _ = self.net.handle_sample(now, child);
        }
        self.fill_queue(now);
        self.admit_bursts(now);
        // A child for which the MAC has no room is informed that nothing waits, and receives its
        // packets only when its turn comes.
        while Self::HAS_CHILDREN
            && let Some((child, pending)) = self.net.poll_pending_change()
        {
            let _ = self.mac.set_pending(now, child, pending);
        }
        self.plan_data_request(now);
        self.note_outcomes();
    }

    /// Returns the frame that [`Node::poll_radio`] is likely to return next, while another one is
    /// outstanding; see [`mac::Mac::poll_next`].
    pub fn poll_next_frame(&mut self, now: Instant) -> Option<Submission<'_>> {
        self.mac.poll_next(now)
    }

    /// Notes that the driver refused the last command of [`Node::poll_radio`].
    pub fn radio_refused(&mut self, now: Instant) {
        self.wake();
        self.stats.refused_commands = self.stats.refused_commands.saturating_add(1);
        self.mac.radio_refused(now);
    }

    /// Moves frames into the MAC until it is full or nothing waits. Every iteration fills a slot of
    /// the MAC's queue, gives a packet up or takes segments from TCP, so the number of iterations
    /// is bounded by the tables and by the content of the send rings.
    fn fill_queue(&mut self, now: Instant) {
        if P::FORWARDS {
            self.courtesy.relayed(now, self.net.stats().forwarded);
        }
        if self.mac.strobes() {
            self.mac.share_until(self.net.shared_until());
        }
        while let Some(outcome) = self.mac.poll_outcome(now) {
            self.note_sent(now, &outcome);
        }
        loop {
            // Every iteration may have made room for routing messages.
            self.follow_routing(now);
            if !self.mac.can_accept(mac::Class::Control) {
                return;
            }
            if P::FORWARDS && self.net.can_submit() {
                self.courtesy.left(now);
            }
            // A segment for the host does not have to wait for the radio.
            while self.net.can_submit() && self.take_segment(now) {}
            // A segment may wait for a route that routing has to discover first,
            if Self::DISCOVERS {
                self.follow_routing(now);
            }
            // or for an address that neighbour discovery has to resolve.
            self.follow_discovery(now);
            let mac = &self.mac;
            let Some(pending) = self.net.pending_for(|dst| mac.accepts(dst)) else {
                return self.net.prefer_relayed(now, |dst| mac.accepts(dst));
            };
            if !self.queue_frame(now, pending) {
                return;
            }
        }
    }

    /// Takes the outcome of a frame.
    // If this, `queue_frame` or the callees of `take_segment` were inlined, a loop that mostly
    // finds nothing to do would begin by computing the addresses of all fields that any of them
    // needs: 250 instructions a frame on a core whose loads reach 124 octets far.
    #[inline(never)]
    fn note_sent(&mut self, now: Instant, outcome: &mac::Outcome) {
        let delivered = outcome.result == mac::Delivery::Delivered;
        self.routing_outcome(now, outcome);
        let token = net::Token(outcome.token.0);
        if let Some(place) = self.acking.as_mut_slice().first_mut()
            && let Some((_, handle)) = place.take_if(|(ack, _)| *ack == token)
            && self.tcp.release_acks(handle)
        {
            self.wake_tcp();
        }
        if let Some(payload) = self.net.handle_outcome(now, token, delivered) {
            self.wake_tcp().notify_lost(now, payload);
        }
    }

    /// Moves the pending frame into the MAC. Returns false if the MAC has no room for it.
    #[inline(never)]
    fn queue_frame(&mut self, now: Instant, pending: net::Pending) -> bool {
        let class = match pending.class {
            net::Class::Data => mac::Class::Data,
            net::Class::Control => mac::Class::Control,
            net::Class::Indirect => mac::Class::Indirect,
        };
        if !self.mac.can_accept(class) {
            return false;
        }
        let token = mac::Token(pending.token.0);
        let (dst, ack) = (pending.dst, pending.ack);
        let frame_pending = class == mac::Class::Indirect && {
            let limits = FrameLimits { max_payload: self.mac.max_payload(dst) };
            self.net.frame_pending(limits)
        };
        let request = TxRequest { dst, ack, token, class, frame_pending };
        let (net, rings) = (&mut self.net, SendRings(&self.tcp));
        let mut written = 0;
        let filled = self.mac.enqueue(now, request, |room| {
            let limits = FrameLimits { max_payload: room.len() };
            let relayed = net.poll_relayed(now, &pending, room);
            let frame = relayed.or_else(|| net.poll_frame(now, limits, &rings, room));
            written = frame.map_or(0, |frame| frame.len);
            written
        });
        if filled.is_err() {
            return false;
        }
        if let Some(place @ None) = self.acking.as_mut_slice().first_mut()
            && let Some(PayloadRef { handle, len: 0, .. }) = self.net.key_of(pending.token)
        {
            *place = Some((pending.token, handle));
            self.tcp.hold_acks(handle);
        }
        if written == 0 && self.net.pending().is_some_and(|p| p.token == pending.token) {
            // The body is not stale, so no frame is large enough, and none ever will be: TCP need
            // not try again at once.
            let _ = self.net.handle_outcome(now, pending.token, false);
            let count = &mut self.stats.unsendable_packets;
            *count = count.saturating_add(1);
        }
        true
    }

    /// Takes a segment from TCP. Returns whether there was one. If the network layer refuses it,
    /// TCP learns that from its timers, as with any loss, or at once while it is still connecting.
    fn take_segment(&mut self, now: Instant) -> bool {
        !self.tcp_is_quiet && self.poll_tcp(now)
    }

    #[inline(never)]
    fn poll_tcp(&mut self, now: Instant) -> bool {
        // TCP's deadline may change even if it has nothing to send.
        *self.above.get_mut() = None;
        let Some(tcp::Packet { peer, ecn, diffserv, header, payload }) = self.tcp.poll_packet(now)
        else {
            self.tcp_is_quiet = true;
            return false;
        };
        self.wake();
        if payload.len > 0 {
            self.adapt_segments(payload.handle);
        }
        if <P::Discovery as net::Discovery>::PRESENT && self.net.own_address(peer.local()).is_none()
        {
            // The last segment of a connection whose address is no longer this node's.
            return true;
        }
        // A segment without payload also has a key, by which the link reports its loss.
        let body = Body::External { key: payload, len: payload.len };
        let outgoing = Outgoing {
            // The removal of an own address ends its connections, so the index names an address.
            src: self.net.own_address(peer.local()).unwrap_or(Ipv6Addr::UNSPECIFIED),
            dst: peer.remote(),
            hop_limit: self.net.config().hop_limit,
            traffic_class: diffserv << 2 | ecn.traffic_class(),
            flow_label: 0,
            protocol: protocol::TCP,
            upper: &header,
            body,
        };
        match self.net.submit(now, outgoing) {
            Ok(()) => {
                self.net.park(now, &SendRings(&self.tcp));
                if self.mac.strobes() && payload.len > 0 {
                    // A burst carries a window: alone, each segment would wait for a wake-up.
                    let _ = self.tcp.follow_at_once(payload.handle);
                }
                // A segment that does not wait for the radio delays no packets of other nodes.
                if P::FORWARDS && payload.len > 0 && !self.net.can_submit() {
                    self.make_room(now, payload.handle);
                }
            }
            Err(error) => {
                let count = &mut self.stats.unroutable_segments;
                *count = count.saturating_add(1);
                if let (net::SendError::NoRoute, Some(head)) = (error, header.first_chunk()) {
                    self.report_soon(now);
                    self.undelivered(&peer, *head, tcp::SoftError::Unreachable);
                }
            }
        }
        true
    }

    /// Schedules a notification of the applications as soon as possible: after a deadline has been
    /// handled, the next one must be later than it.
    pub(crate) fn report_soon(&mut self, now: Instant) {
        self.report_at = Some(now + Duration::from_micros(1));
    }

    /// Holds back a connection that has just sent, if this node relays for others.
    fn make_room(&mut self, now: Instant, handle: tcp::Handle) {
        if let Some(gap) = self.courtesy.taken(now) {
            // The connection has just sent, so the handle is valid.
            let _ = self.tcp.hold_back(now, handle, gap);
        }
    }

    /// Writes the next packet for the host interface of a border router to `buf`; 1280 octets
    /// always suffice. The caller drains this after [`Node::poll_radio`]. A host that cannot take a
    /// packet must drop it: packets that stay here hold packet slots.
    pub fn poll_host_packet(&mut self, now: Instant, buf: &mut [u8]) -> Option<usize> {
        loop {
            let packet = self.net.poll_host_packet(now, &SendRings(&self.tcp), buf);
            // One segment at a time, so that none is dropped because the queue is full.
            let waiting = self.net.info().host_queued > 0;
            if packet.is_some() || waiting || !self.net.can_submit() || !self.take_segment(now) {
                if packet.is_some() {
                    // The packet's slot is free.
                    self.wake();
                }
                self.plan_data_request(now);
                return packet;
            }
        }
    }

    /// Does what is due; before the deadline, nothing.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.is_idle(now) {
            return;
        }
        self.wake();
        self.report_at = self.report_at.filter(|at| *at > now);
        self.mac.handle_deadline(now);
        self.net.handle_deadline(now);
        self.routing_mut().handle_deadline(now);
        self.net.discovery_mut().handle_deadline(now);
        if self.tcp.deadline().is_some_and(|at| at <= now) {
            self.wake_tcp().handle_deadline(now);
        }
        self.ask_parent(now);
    }

    /// Marks the neighbour with this short address as sleeping: packets for it wait until it polls.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_child(&mut self, child: u16) -> Result<(), TableFull> {
        self.wake();
        self.net.add_child(child)
    }

    /// Removes a child and the packets that wait for it. Returns whether there was one.
    pub fn remove_child(&mut self, now: Instant, child: u16) -> bool {
        self.wake();
        let _ = self.mac.set_pending(now, child, false);
        self.net.remove_child(child)
    }

    /// Returns the type that sets the CSMA-CA backoff before the channel is assessed, for a type
    /// with settings of its own.
    pub const fn backoff_mut(&mut self) -> &mut P::Backoff {
        self.mac.backoff_mut()
    }

    /// Returns the MAC for inspection.
    pub const fn mac(&self) -> &Mac<P> {
        &self.mac
    }

    /// Returns a bound on the frame counters of link security, to be kept in flash for the next
    /// start; [`Mac::poll_counter_bound`] describes its use.
    pub fn poll_counter_bound(&mut self, now: Instant) -> Option<u32> {
        self.wake();
        self.mac.poll_counter_bound(now)
    }

    /// Makes this a node that wakes several times a second among others that do, as in ContikiMAC;
    /// see [`Mac::set_wake`]. Fragments of a datagram may come in several bursts then, so they are
    /// awaited for as long as RFC 4944 (5.3) allows, 60 s.
    ///
    /// # Errors
    /// [`CannotWake`](mac::CannotWake)
    pub fn set_wake(&mut self, wake: Option<mac::Wake>) -> Result<(), mac::CannotWake> {
        self.wake();
        self.mac.set_wake(wake)?;
        let (period, channels) =
            wake.map_or((Duration::ZERO, 1), |wake| (wake.period, wake.channels.count_ones()));
        self.net.routing_mut().set_broadcast_time(period, channels.max(1));
        if wake.is_some() {
            self.net.await_fragments(LONGEST_REASSEMBLY);
        }
        Ok(())
    }

    /// Changes the MAC's link-retry delay (TCPlp §7.1) from the next retry on.
    pub const fn set_retry_delay(&mut self, longest: Duration) {
        self.wake();
        self.mac.set_retry_delay(longest);
    }

    /// Returns whether `address` is one of this node's.
    pub fn is_own(&self, address: Ipv6Addr) -> bool {
        self.net.is_own(address)
    }

    /// Returns the use of the tables.
    pub fn info(&self) -> Info {
        Info { mac: self.mac.info(), net: self.net.info() }
    }

    /// Returns the counters of losses between the layers. Each layer has counters of its own.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Calls `each` with layer, reason and count for every reason for which this node discards,
    /// evicts, refuses or gives something up, whether it has happened or not.
    pub fn reasons(&self, mut each: impl FnMut(&'static str, &'static str, u32)) {
        // `each` is part of the loops, so that a sum of all counts is cheap.
        fn all(
            layer: &'static str,
            reasons: impl Iterator<Item = (&'static str, u32)>,
            each: &mut impl FnMut(&'static str, &'static str, u32),
        ) {
            reasons.for_each(|(reason, count)| each(layer, reason, count));
        }
        let each = &mut each;
        all("node", self.stats.reasons(), each);
        all("mac", self.mac.stats().reasons(), each);
        if let Some(stats) = self.mac.wake_stats() {
            all("wake", stats.reasons(), each);
        }
        if let Some(stats) = self.mac.strobe_stats() {
            all("strobe", stats.reasons(), each);
        }
        all("net", self.net.stats().reasons(), each);
        if let Some(stats) = self.net.border_stats() {
            all("border", stats.reasons(), each);
        }
        if let Some(stats) = self.net.relay_stats() {
            all("relay", stats.reasons(), each);
        }
        if let Some(stats) = self.net.store_stats() {
            all("store", stats.reasons(), each);
        }
        self.net.discovery().reasons(each);
        self.routing().reasons(each);
        all("tcp", self.tcp.stats().reasons(), each);
    }

    /// Calls `each` with every relation of this node to others that its routing and its discovery
    /// keep: a relation that is missing at the next call was lost between the two calls.
    pub fn relations(&self, each: &mut EachRelation<'_>) {
        self.routing().relations(each);
        self.net.discovery().relations(each);
    }
}
