//! Packets for neighbours that sleep (IEEE 802.15.4-2015, 6.7.3): they wait here until the
//! neighbour, a *child*, polls with a data request.
//!
//! The MAC has one frame at a time for each child, and gets the next one only when that was
//! delivered: a lost frame is offered again at the child's next data request. Direct traffic has
//! its own packet in progress and does not wait for any of this.
//!
//! A child that does not poll holds slots of the pool for as long as packets live. Three limits
//! follow. It has at most [`Indirect::limit`] packets. Packets beyond its first one take only
//! places that children with none will not miss. One slot more than [`RESERVED`] stays free, for
//! direct traffic. Multicasts are not kept for children.

use super::fragment::Refusal;
use super::{Net, Sizes};
use crate::allowance::Allowance;
use crate::child::{Asked, Child, Indirect, Parked};
use crate::frame::{Class, FrameLimits, FrameOut, Pending, Token};
use crate::outgoing::{BodySource, Current, Origin};
use crate::pool::{PacketHandle, RESERVED};
use crate::stats::{Discard, bump};
use crate::tables::TableFull;
use kinglet_mem::Array;
use kinglet_time::{Instant, earliest};
use kinglet_wire::ieee802154::Address;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Marks a neighbour as sleeping: packets for it wait from now on until it polls. A second call
    /// changes nothing.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_child(&mut self, child: u16) -> Result<(), TableFull> {
        if self.is_child(child) {
            return Ok(());
        }
        let places = self.children.as_mut_slice();
        let place = places.iter_mut().find(|place| place.is_none()).ok_or(TableFull)?;
        *place = Some(Child {
            short: child,
            announced: false,
            asked: Asked::No,
            allowance: Allowance::FULL,
        });
        Ok(())
    }

    /// Removes a child and the packets that wait for it. Returns whether there was one.
    pub fn remove_child(&mut self, child: u16) -> bool {
        let places = self.children.as_mut_slice();
        let place = places.iter_mut().find(|place| place.is_some_and(|c| c.short == child));
        let known = place.and_then(Option::take).is_some();
        while let Some(index) = self.first_of(child) {
            bump(&mut self.stats.abandoned_indirect);
            self.unpark(index);
        }
        known
    }

    /// Returns whether this neighbour sleeps.
    pub fn is_child(&self, child: u16) -> bool {
        S::Children::LEN > 0 && self.children.as_slice().iter().flatten().any(|c| c.short == child)
    }

    /// Returns whether packets for this neighbour wait until it polls.
    pub(crate) fn sleeps(&self, next_hop: Address) -> bool {
        matches!(next_hop, Address::Short(short) if self.is_child(short))
    }

    /// Returns the neighbours that sleep.
    pub fn children(&self) -> impl Iterator<Item = u16> {
        self.children.as_slice().iter().flatten().map(|child| child.short)
    }

    /// Returns whether any packet waits for a child, including one with a frame at the MAC.
    pub fn has_pending(&self, child: u16) -> bool {
        self.first_of(child).is_some()
    }

    /// Returns the number of packets that wait for a child, including one with a frame at the MAC.
    pub fn waiting_for(&self, child: u16) -> usize {
        self.parked.as_slice().iter().flatten().filter(|p| p.child == child).count()
    }

    /// Returns a known child for which packets have begun or ceased to wait, and true if packets
    /// wait now. The radio's acknowledgements of its data requests have to signal that.
    pub fn poll_pending_change(&mut self) -> Option<(u16, bool)> {
        if S::Children::LEN == 0 {
            return None;
        }
        let parked = self.parked.as_slice();
        let waits = |short| parked.iter().flatten().any(|p| p.child == short);
        let mut children = self.children.as_mut_slice().iter_mut().flatten();
        let child = children.find(|child| child.announced != waits(child.short))?;
        child.announced = !child.announced;
        Some((child.short, child.announced))
    }

    /// Notes that a child listens: its waiting frame is [`Net::pending`] before all others. Returns
    /// whether there is one.
    pub fn handle_data_request(&mut self, now: Instant, child: u16) -> bool {
        self.handle_request(now, child, Asked::Yes)
    }

    /// The same for a repeated data request. If the child repeats it, the child listens; if another
    /// device repeats it, the child does not. So a packet is not given up because a frame fails
    /// then.
    pub fn handle_repeated_request(&mut self, now: Instant, child: u16) -> bool {
        self.handle_request(now, child, Asked::Again)
    }

    /// Does the same for a child that samples the channel. An unacknowledged frame then waits
    /// for the next sample or data request, and its packet is not given up.
    pub fn handle_sample(&mut self, now: Instant, child: u16) -> bool {
        self.handle_request(now, child, Asked::Again)
    }

    fn handle_request(&mut self, now: Instant, child: u16, asked: Asked) -> bool {
        if S::Children::LEN == 0 {
            return false;
        }
        let timeout = self.config.reassembly_timeout;
        let Some(index) = self.first_of(child) else { return false };
        if let Some(parked) = self.parked_mut(index) {
            // The child has discarded the octets that it had (its reassembly timeout is assumed to
            // be that of this node).
            let late = now.checked_since(parked.sent_at).is_some_and(|age| age > timeout);
            if parked.sent > 0 && parked.at_mac.is_none() && late {
                parked.sent = 0;
                parked.token = None;
            }
        }
        let known = self.child_mut(child);
        if let Some(it) = known.filter(|it| asked == Asked::Yes || it.asked == Asked::No) {
            it.asked = asked;
        }
        self.is_child(child)
    }

    /// Returns the frame-pending bit for the header of [`Net::pending`]: true if that is a frame
    /// for a child and another one follows it. False for all other frames.
    pub fn frame_pending(&mut self, limits: FrameLimits) -> bool {
        let Some((index, current)) = self.begin_indirect() else { return false };
        let Address::Short(child) = current.next_hop else { return false };
        let mut behind = self.parked.as_slice().iter().skip(index.saturating_add(1)).flatten();
        let more = behind.any(|parked| parked.child == child);
        more || !self.is_last_frame(&current, limits.max_payload)
    }

    /// Parks a packet for a child. On an error its slot still belongs to the caller.
    pub(crate) fn park_for_child(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        child: u16,
    ) -> Result<(), Discard> {
        if self.pool.free() <= RESERVED {
            return Err(Discard::NoBuffer);
        }
        if !self.has_room_for(child) {
            return Err(Discard::QueueFull);
        }
        if !self.may_wait(now, packet, child) {
            return Err(Discard::Unsolicited);
        }
        let expires = now + self.config.indirect.lifetime;
        let (sent, sent_at, at_mac, token) = (0, now, None, None);
        let (failures, counts) = (0, false);
        let parked =
            Parked { packet, child, expires, sent, sent_at, at_mac, token, failures, counts };
        let mut places = self.parked.as_mut_slice().iter_mut();
        let place = places.find(|place| place.is_none()).ok_or(Discard::QueueFull)?;
        *place = Some(parked);
        Ok(())
    }

    fn has_room_for(&self, child: u16) -> bool {
        let parked = self.parked.as_slice();
        let waiting = |short| parked.iter().flatten().filter(|p| p.child == short).count();
        let free = parked.iter().filter(|place| place.is_none()).count();
        let own = waiting(child);
        let others = match own {
            0 => 0,
            _ => self.children().filter(|&other| other != child && waiting(other) == 0).count(),
        };
        own < usize::from(self.config.indirect.limit) && free > others
    }

    /// Returns the frame that a child listens for, and the place of its packet.
    fn next_indirect(&self) -> Option<(usize, Current)> {
        if S::Children::LEN == 0 {
            return None;
        }
        let asked = |child: &&Child| child.asked != Asked::No;
        self.children.as_slice().iter().flatten().filter(asked).find_map(|child| {
            let index = self.first_of(child.short)?;
            let parked = self.parked.as_slice().get(index)?.as_ref()?;
            let current = Current {
                origin: Origin::Slot(parked.packet),
                next_hop: Address::Short(child.short),
                class: Class::Indirect,
                total: u16::try_from(self.pool.get(parked.packet).len()).unwrap_or(u16::MAX),
                sent: parked.sent,
                token: parked.token.unwrap_or(self.next_token),
            };
            parked.at_mac.is_none().then_some((index, current))
        })
    }

    pub(crate) fn pending_indirect(&self) -> Option<Pending> {
        self.next_indirect().map(|(_, current)| current.pending())
    }

    /// The same, and assigns the packet a token.
    fn begin_indirect(&mut self) -> Option<(usize, Current)> {
        let (index, current) = self.next_indirect()?;
        let parked = self.parked_mut(index)?;
        if parked.token.replace(current.token).is_none() {
            self.next_token = self.next_token.wrapping_add(1);
        }
        Some((index, current))
    }

    /// Writes the frame of [`Net::pending_indirect`]. The outer `None`: there is no such frame, but
    /// there may be a direct one.
    pub(crate) fn poll_indirect(
        &mut self,
        room: &mut [u8],
        source: &impl BodySource<X>,
    ) -> Option<Option<FrameOut>> {
        let (index, current) = self.begin_indirect()?;
        match self.write_frame(&current, source, room) {
            Ok((len, sent)) => {
                bump(&mut self.stats.frames_out);
                let Current { next_hop: dst, class, token, .. } = current;
                let mut counts = false;
                if let Address::Short(short) = dst
                    && let Some(child) = self.child_mut(short)
                {
                    counts = core::mem::replace(&mut child.asked, Asked::No) == Asked::Yes;
                }
                if let Some(parked) = self.parked_mut(index) {
                    (parked.at_mac, parked.counts) = (Some(sent), counts);
                }
                Some(Some(FrameOut { dst, ack: true, len, token: Token(token), class }))
            }
            Err(Refusal::NoRoom) => Some(None),
            // The slot holds no packet. That is impossible, but would block the queue.
            Err(Refusal::Stale) => {
                bump(&mut self.stats.stale);
                self.unpark(index);
                Some(None)
            }
        }
    }

    /// Takes the outcome of a frame for a child. Returns whether it was one.
    pub(crate) fn indirect_outcome(&mut self, now: Instant, token: Token, delivered: bool) -> bool {
        if S::Children::LEN == 0 {
            return false;
        }
        let Indirect { polls, burst, .. } = self.config.indirect;
        let of_token = |p: &Option<Parked>| p.is_some_and(|p| p.token == Some(token.0));
        let Some(index) = self.parked.as_slice().iter().position(of_token) else { return false };
        let packet = self.parked_mut(index).map(|parked| parked.packet);
        let total = packet.map_or(0, |packet| self.pool.get(packet).len());
        let Some(parked) = self.parked_mut(index) else { return false };
        let (child, sent, counts) = (parked.child, parked.at_mac.take(), parked.counts);
        match sent {
            Some(sent) if delivered => {
                (parked.sent, parked.sent_at, parked.failures) = (sent, now, 0);
                if usize::from(sent) >= total {
                    bump(&mut self.stats.packets_out);
                    self.unpark(index);
                }
                if burst && self.has_pending(child) {
                    self.set_asked(child, if counts { Asked::Yes } else { Asked::Again });
                }
            }
            Some(_) => {
                parked.failures = parked.failures.saturating_add(u8::from(counts));
                if parked.failures >= polls {
                    bump(&mut self.stats.failed_indirect);
                    self.unpark(index);
                }
            }
            // No frame of the MAC has room for the packet's headers.
            None if !delivered => {
                bump(&mut self.stats.failed_indirect);
                self.unpark(index);
            }
            None => {}
        }
        self.expire_parked(now);
        true
    }

    /// Returns the time at which the next packet expires. A packet with a frame at the MAC may
    /// finish.
    pub(crate) fn indirect_deadline(&self) -> Option<Instant> {
        let mut first = None;
        if S::Children::LEN == 0 {
            return first;
        }
        for parked in self.parked.as_slice().iter().flatten() {
            let expires = Some(parked.expires).filter(|_| parked.at_mac.is_none());
            first = earliest(first, expires);
        }
        first
    }

    pub(crate) fn expire_parked(&mut self, now: Instant) {
        if S::Children::LEN == 0 {
            return;
        }
        let due = |p: &Option<Parked>| p.is_some_and(|p| p.at_mac.is_none() && p.expires <= now);
        while let Some(index) = self.parked.as_slice().iter().position(due) {
            bump(&mut self.stats.expired_indirect);
            self.unpark(index);
        }
    }

    /// Returns the place of the first packet that waits for a child.
    fn first_of(&self, child: u16) -> Option<usize> {
        self.parked.as_slice().iter().position(|p| p.is_some_and(|p| p.child == child))
    }

    fn parked_mut(&mut self, index: usize) -> Option<&mut Parked> {
        self.parked.as_mut_slice().get_mut(index)?.as_mut()
    }

    fn set_asked(&mut self, child: u16, asked: Asked) {
        if let Some(child) = self.child_mut(child) {
            child.asked = asked;
        }
    }

    fn child_mut(&mut self, short: u16) -> Option<&mut Child> {
        self.children.as_mut_slice().iter_mut().flatten().find(|c| c.short == short)
    }

    /// Removes a waiting packet. Those behind it move up, so that the order stays.
    fn unpark(&mut self, index: usize) {
        let Some(rest) = self.parked.as_mut_slice().get_mut(index..) else { return };
        let Some(Parked { packet, child, .. }) = rest.first_mut().and_then(Option::take) else {
            return;
        };
        rest.rotate_left(1);
        self.release(packet);
        if !self.has_pending(child) {
            self.set_asked(child, Asked::No);
        }
    }
}
