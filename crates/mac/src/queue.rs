//! The transmit queue: its slots hold each frame until its outcome has been fetched.
//!
//! A slot is free, holds a frame that waits or is being sent (the head), or holds an outcome.
//! The outcome stays in the frame's own slot, so every frame has exactly one outcome, and none is
//! lost because a table is full. Frames leave in the order of their arrival, indirect frames before
//! all others. Outcomes leave in the order in which the transmissions ended.

use kinglet_mem::{Array, Empty};
use kinglet_radio::MAX_FRAME;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// The user's name for a frame, returned with its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

/// Purpose of a frame. The last free slot is reserved for control frames, so that data cannot block
/// them. An indirect frame may take it, because it leaves at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// All other frames.
    Data,
    /// Frames that maintain the network: routing, neighbour discovery, errors.
    Control,
    /// The response to a data request: the recipient listens only for it. It precedes every frame
    /// that is not being sent already, as [`Indirect`](crate::Indirect) states.
    Indirect,
}

/// A frame to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxRequest {
    /// The destination.
    pub dst: Address,
    /// True to request an acknowledgement; ignored for destinations that are not one device.
    pub ack: bool,
    /// The token that is returned with the outcome.
    pub token: Token,
    /// The purpose of the frame.
    pub class: Class,
    /// The frame-pending bit: more is pending for the recipient, which then continues to listen or
    /// polls again.
    pub frame_pending: bool,
}

/// State of the head's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxState {
    /// No frame is being sent.
    Idle,
    /// In a CSMA backoff, a retry delay or both.
    Backoff {
        /// The end of the backoff or delay.
        until: Instant,
    },
    /// The frame waits for `poll_radio`.
    Ready,
    /// The radio has the frame.
    Submitted,
    /// The frame was sent. The MAC waits for the acknowledgement because the radio does not.
    AwaitAck {
        /// The end of the frame's SFD.
        since: Instant,
        /// The time at which the acknowledgement counts as missing.
        until: Instant,
    },
}

/// No slot is free for a frame of this class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

/// Result of a frame's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Acknowledged, or sent if no acknowledgement was requested.
    Delivered,
    /// All attempts have failed, the last one because of a missing acknowledgement. The frame may
    /// have arrived.
    NoAck,
    /// All attempts have failed. In the last one the channel was busy macMaxCsmaBackoffs + 1 times.
    ChannelAccessFailure,
    /// The radio could not start in time.
    Missed,
    /// All attempts have failed, and the radio did not report the result of the last one. The frame
    /// may have arrived.
    Unknown,
    /// The frame counter of link security is used up, or the radio that is to secure frames cannot
    /// do so: no frame can be sent with this key any more.
    CounterError,
}

/// Result of a frame's transmission, with the frame's token and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// From the [`TxRequest`].
    pub token: Token,
    /// From the [`TxRequest`].
    pub dst: Address,
    /// The result.
    pub result: Delivery,
    /// Number of transmissions that the radio has reported, 0 to 16.
    pub transmissions: u8,
}

/// The origin of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The user: the outcome is to be fetched.
    User(Class),
    /// This device: a data request.
    DataRequest,
    /// This device: an empty data frame for a child that polled while no frame was pending for it.
    Nothing,
    /// This device: an empty data frame that announces its listening times.
    Sync,
}

impl Kind {
    /// Returns whether it is a response to a data request.
    pub(crate) fn is_indirect(self) -> bool {
        matches!(self, Kind::User(Class::Indirect) | Kind::Nothing)
    }

    /// Returns the class whose rule applies when it takes a slot.
    const fn class(self) -> Class {
        match self {
            Kind::User(class) => class,
            Kind::DataRequest | Kind::Sync => Class::Control,
            Kind::Nothing => Class::Indirect,
        }
    }
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    /// A frame that waits or is being sent.
    Waiting,
    /// An outcome.
    Ended,
}

/// A slot for one frame.
// The frame begins two octets after a word boundary. With short addresses and one PAN the octets of
// a fragment begin 14 octets further, at a word boundary, and a small core copies them as words.
#[repr(C)]
pub struct Slot {
    pub(crate) token: Token,
    pub(crate) dst: Address,
    /// The sequence number of its arrival, later that of its end.
    order: u16,
    place: Place,
    pub(crate) kind: Kind,
    pub(crate) len: u8,
    pub(crate) sequence: u8,
    pub(crate) ack: bool,
    pub(crate) transmissions: u8,
    pub(crate) attempts: u8,
    /// True if link security has been applied.
    pub(crate) secured: bool,
    pub(crate) frame: [u8; MAX_FRAME],
    result: Delivery,
}

// The buffer begins two octets after a word boundary.
const _: () = assert!(core::mem::offset_of!(Slot, frame) % 4 == 2);

/// The frame-pending bit in the first octet of a frame.
const FRAME_PENDING: u8 = 1 << 4;

impl Slot {
    /// Returns the frame as it goes to the radio.
    pub(crate) fn octets(&self) -> &[u8] {
        self.frame.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Returns the frame-pending bit of the frame control field.
    pub(crate) fn says_frame_pending(&self) -> bool {
        self.frame.first().is_some_and(|control| control & FRAME_PENDING != 0)
    }

    /// Sets or clears the frame-pending bit.
    pub(crate) fn set_frame_pending(&mut self, pending: bool) {
        if let Some(control) = self.frame.first_mut() {
            *control = if pending { *control | FRAME_PENDING } else { *control & !FRAME_PENDING };
        }
    }
}

impl Empty for Slot {
    const EMPTY: Self = Slot {
        token: Token(0),
        order: 0,
        dst: Address::None,
        len: 0,
        sequence: 0,
        ack: false,
        transmissions: 0,
        attempts: 0,
        secured: false,
        kind: Kind::User(Class::Data),
        result: Delivery::Delivered,
        place: Place::Free,
        frame: [0; MAX_FRAME],
    };
}

pub(crate) struct Queue<A: Array<Slot>> {
    slots: A,
    /// Number of slots that are not free, and of those that hold an outcome.
    used: usize,
    ended: usize,
    /// The frame being sent.
    head: Option<usize>,
    next_order: u16,
    /// The slot that [`Queue::free`] has returned.
    filling: usize,
}

impl<A: Array<Slot>> Queue<A> {
    pub(crate) const fn new() -> Self {
        Queue { slots: A::EMPTY, used: 0, ended: 0, head: None, next_order: 0, filling: 0 }
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Returns whether there is a slot for a frame of this class if `spare` slots are not to be
    /// used.
    pub(crate) fn can_accept(&self, class: Class, spare: usize) -> bool {
        let slots = A::LEN.saturating_sub(spare);
        let free = slots.saturating_sub(self.used);
        match class {
            Class::Control | Class::Indirect => free >= 1,
            // A queue of one slot reserves none for control frames.
            Class::Data => free >= 2 || (free == 1 && slots == 1),
        }
    }

    /// Returns the number of frames that wait for `dst`, including the head.
    pub(crate) fn waiting_for(&self, dst: Address) -> usize {
        let waits = |slot: &&Slot| slot.place == Place::Waiting && slot.dst == dst;
        self.slots.as_slice().iter().filter(waits).count()
    }

    /// Returns a free slot for a frame of this kind, which [`Queue::push`] then adds to the queue.
    pub(crate) fn free(&mut self, kind: Kind, spare: usize) -> Option<&mut Slot> {
        if !self.can_accept(kind.class(), spare) {
            return None;
        }
        let slots = self.slots.as_mut_slice();
        self.filling = slots.iter().position(|slot| slot.place == Place::Free)?;
        let slot = slots.get_mut(self.filling)?;
        slot.kind = kind;
        Some(slot)
    }

    /// Returns the slot of [`Queue::free`].
    pub(crate) fn filled(&mut self) -> Option<&mut Slot> {
        self.slots.as_mut_slice().get_mut(self.filling)
    }

    /// Adds the slot of [`Queue::free`] to the queue.
    pub(crate) fn push(&mut self) {
        let order = self.take_number();
        if let Some(slot) = self.slots.as_mut_slice().get_mut(self.filling) {
            slot.place = Place::Waiting;
            slot.order = order;
            self.used = self.used.saturating_add(1);
        }
    }

    /// Returns the frame being sent.
    pub(crate) fn head(&self) -> Option<&Slot> {
        self.slots.as_slice().get(self.head?)
    }

    pub(crate) fn head_mut(&mut self) -> Option<&mut Slot> {
        self.slots.as_mut_slice().get_mut(self.head?)
    }

    /// Returns the frame that follows the head, unless an indirect frame waits, which may go first.
    pub(crate) fn second_mut(&mut self) -> Option<&mut Slot> {
        let (head, next_order) = (self.head?, self.next_order);
        let slots = self.slots.as_mut_slice().iter_mut().enumerate();
        let waiting = slots.filter(|(index, slot)| *index != head && slot.place == Place::Waiting);
        // Indirect frames count as the oldest ones.
        let key = |slot: &Slot| (slot.kind.is_indirect(), next_order.wrapping_sub(slot.order));
        let oldest = waiting.map(|(_, slot)| slot).max_by_key(|slot| key(slot));
        oldest.filter(|slot| !slot.kind.is_indirect())
    }

    /// Makes the next frame the head. Returns whether there is one.
    pub(crate) fn advance(&mut self) -> bool {
        self.head = self.first(Place::Waiting);
        self.head.is_some()
    }

    /// Considers the oldest frame of each recipient, and makes the one whose recipient has the
    /// earliest `eligible_at` the head. Returns the time of that turn; `None` if no frame waits.
    pub(crate) fn advance_by(
        &mut self,
        eligible_at: impl Fn(Address) -> Instant,
    ) -> Option<Instant> {
        let waits = |slot: &&Slot| slot.place == Place::Waiting;
        let slots = self.slots.as_slice();
        let age = |slot: &Slot| self.next_order.wrapping_sub(slot.order);
        let mut first = None;
        for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| waits(slot)) {
            let mut others = slots.iter().filter(waits).filter(|other| other.dst == slot.dst);
            if others.any(|other| age(other) > age(slot)) {
                continue;
            }
            let key = (eligible_at(slot.dst), core::cmp::Reverse(age(slot)));
            if first.is_none_or(|(best, _)| key < best) {
                first = Some((key, index));
            }
        }
        self.head = first.map(|(_, index)| index);
        first.map(|((at, _), _)| at)
    }

    /// Returns the earliest time that `at` returns for a recipient of several waiting frames, and
    /// this recipient.
    pub(crate) fn earliest_of_several(
        &self,
        at: impl Fn(Address) -> Option<Instant>,
    ) -> Option<(Instant, Address)> {
        let waits = |slot: &&Slot| slot.place == Place::Waiting;
        let slots = self.slots.as_slice().iter().filter(waits);
        let several = slots.filter(|slot| self.waiting_for(slot.dst) > 1);
        several.filter_map(|slot| Some((at(slot.dst)?, slot.dst))).min_by_key(|(at, _)| *at)
    }

    /// Makes a waiting frame for `dst` the head, if there is one.
    pub(crate) fn advance_to(&mut self, dst: Address) {
        let waits = |slot: &Slot| slot.place == Place::Waiting && slot.dst == dst;
        self.head = self.slots.as_slice().iter().position(waits).or(self.head);
    }

    /// Returns whether an indirect frame waits behind a head that is not indirect.
    pub(crate) fn blocks_indirect(&self) -> bool {
        let is_indirect = |slot: &Slot| slot.kind.is_indirect();
        self.head().is_some_and(|head| !is_indirect(head))
            && self.slots.as_slice().iter().any(|s| s.place == Place::Waiting && is_indirect(s))
    }

    /// Ends the transmission of the head. A frame that is not the user's leaves its slot at once.
    pub(crate) fn finish(&mut self, result: Delivery) {
        let order = self.take_number();
        let Some(slot) = self.head_mut() else { return };
        slot.result = result;
        slot.order = order;
        let is_users = matches!(slot.kind, Kind::User(_));
        slot.place = if is_users { Place::Ended } else { Place::Free };
        match is_users {
            true => self.ended = self.ended.saturating_add(1),
            false => self.used = self.used.saturating_sub(1),
        }
        self.head = None;
    }

    /// Returns the oldest outcome and frees its slot.
    pub(crate) fn pop_outcome(&mut self) -> Option<Outcome> {
        let index = self.first(Place::Ended)?;
        let slot = self.slots.as_mut_slice().get_mut(index)?;
        slot.place = Place::Free;
        self.used = self.used.saturating_sub(1);
        self.ended = self.ended.saturating_sub(1);
        let &mut Slot { token, dst, result, transmissions, .. } = slot;
        Some(Outcome { token, dst, result, transmissions })
    }

    fn take_number(&mut self) -> u16 {
        let order = self.next_order;
        self.next_order = order.wrapping_add(1);
        order
    }

    /// Returns the first slot in this state. Indirect frames precede other waiting frames;
    /// otherwise the lowest number is first. Numbers wrap, so they are compared by their distance
    /// from the newest one.
    fn first(&self, place: Place) -> Option<usize> {
        let waiting = self.used.saturating_sub(self.ended);
        // Most calls find nothing.
        match if place == Place::Ended { self.ended } else { waiting } {
            0 => None,
            candidates => self.search(place, candidates),
        }
    }

    #[inline(never)]
    fn search(&self, place: Place, candidates: usize) -> Option<usize> {
        let mut first = None;
        // `max_by_key` would first count the slots, for which a small core divides.
        for (index, slot) in self.slots.as_slice().iter().enumerate() {
            if slot.place != place {
                continue;
            }
            // The usual case: no comparison is needed.
            if candidates == 1 {
                return Some(index);
            }
            let goes_first = place == Place::Waiting && slot.kind.is_indirect();
            let key = (goes_first, self.next_order.wrapping_sub(slot.order));
            if first.is_none_or(|(best, _)| key > best) {
                first = Some((key, index));
            }
        }
        first.map(|(_, index)| index)
    }
}
