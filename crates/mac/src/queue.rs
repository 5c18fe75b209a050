//! The transmit queue: slots that hold a frame until its outcome has been fetched.
//!
//! A slot is free, holds a frame that waits or is being sent (the head), or holds an outcome.
//! Because the outcome stays in the frame's own slot, every frame has exactly one and none can be
//! lost for lack of room. Frames leave in the order in which they came, indirect ones before all
//! others, and outcomes in the order in which the frames' sending ended.

use kinglet_mem::{Array, Empty};
use kinglet_radio::MAX_FRAME;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// The user's name for a frame, given back with its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

/// What a frame is for. The last free slot is kept for control frames, so that data cannot keep
/// them out; an indirect frame may take it, because it leaves at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Everything else.
    Data,
    /// What keeps the network alive: routing, neighbour discovery, errors.
    Control,
    /// The answer to a data request: the recipient listens for it and for nothing else. Goes before
    /// everything that is not being sent already; [`Indirect`](crate::Indirect) says how.
    Indirect,
}

/// A frame to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxRequest {
    /// The destination.
    pub dst: Address,
    /// Whether to ask for an acknowledgement; ignored for destinations that are not one device.
    pub ack: bool,
    /// Comes back with the outcome.
    pub token: Token,
    /// What it is for.
    pub class: Class,
    /// Whether the frame says that more is pending for its recipient, which then keeps listening or
    /// asks again.
    pub frame_pending: bool,
}

/// Where the sending of the head of the queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxState {
    /// Nothing to send.
    Idle,
    /// In a CSMA backoff, a retry delay or both.
    Backoff {
        /// When it ends.
        until: Instant,
    },
    /// Waits for `poll_radio`.
    Ready,
    /// The radio has it.
    Submitted,
    /// Sent; the MAC waits for the acknowledgement because the radio does not.
    AwaitAck {
        /// When the SFD of the frame ended.
        since: Instant,
        /// When it counts as missing.
        until: Instant,
    },
}

/// No slot is free for a frame of this class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

/// How the sending of a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Acknowledged, or sent if no acknowledgement was asked for.
    Delivered,
    /// All attempts have failed, the last one for want of an acknowledgement. The frame may have
    /// arrived.
    NoAck,
    /// All attempts have failed, in the last one the channel was busy macMaxCsmaBackoffs + 1 times.
    ChannelAccessFailure,
    /// The radio could not start in time.
    Missed,
    /// All attempts have failed, and of the last one the radio did not say what became of it. The
    /// frame may have arrived.
    Unknown,
    /// The frame counter of link security is used up, or the radio that is to secure frames cannot:
    /// nothing can be sent with this key any more.
    CounterError,
}

/// How the sending of a frame ended, and whose it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// From the [`TxRequest`].
    pub token: Token,
    /// From the [`TxRequest`].
    pub dst: Address,
    /// How it ended.
    pub result: Delivery,
    /// How often it was on the air, as far as the radio has said so, 0 to 16.
    pub transmissions: u8,
}

/// Whose frame it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The user's: its outcome is to be fetched.
    User(Class),
    /// A data request of this device.
    DataRequest,
    /// An empty data frame for a child that asked in vain.
    Nothing,
    /// An empty data frame that tells when this device listens.
    Sync,
}

impl Kind {
    /// Whether it answers a data request.
    pub(crate) fn is_indirect(self) -> bool {
        matches!(self, Kind::User(Class::Indirect) | Kind::Nothing)
    }

    /// The class by whose rule it takes a slot.
    const fn class(self) -> Class {
        match self {
            Kind::User(class) => class,
            Kind::DataRequest | Kind::Sync => Class::Control,
            Kind::Nothing => Class::Indirect,
        }
    }
}

/// What is in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    /// A frame that waits or is being sent.
    Waiting,
    /// An outcome.
    Ended,
}

/// A place for one frame.
// The frame begins two octets behind a word. With short addresses and one PAN the octets of a
// fragment begin 14 octets further, at a word, and a small core copies them as words.
#[repr(C)]
pub struct Slot {
    pub(crate) token: Token,
    pub(crate) dst: Address,
    /// The number of its coming, then of its end.
    order: u16,
    place: Place,
    pub(crate) kind: Kind,
    pub(crate) len: u8,
    pub(crate) sequence: u8,
    pub(crate) ack: bool,
    pub(crate) transmissions: u8,
    pub(crate) attempts: u8,
    /// Link security is done with it.
    pub(crate) secured: bool,
    pub(crate) frame: [u8; MAX_FRAME],
    result: Delivery,
}

// Its buffer begins two octets behind a word.
const _: () = assert!(core::mem::offset_of!(Slot, frame) % 4 == 2);

/// The frame-pending bit in the first octet of a frame.
const FRAME_PENDING: u8 = 1 << 4;

impl Slot {
    /// The frame as it goes to the radio.
    pub(crate) fn octets(&self) -> &[u8] {
        self.frame.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The frame-pending bit of the frame control field.
    pub(crate) fn says_frame_pending(&self) -> bool {
        self.frame.first().is_some_and(|control| control & FRAME_PENDING != 0)
    }

    /// Writes that bit.
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
    /// Slots that are not free, and those of them that hold an outcome.
    used: usize,
    ended: usize,
    /// The frame being sent.
    head: Option<usize>,
    next_order: u16,
    /// The slot that [`Queue::free`] has given.
    filling: usize,
}

impl<A: Array<Slot>> Queue<A> {
    pub(crate) const fn new() -> Self {
        Queue { slots: A::EMPTY, used: 0, ended: 0, head: None, next_order: 0, filling: 0 }
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Whether a frame of this class finds a slot, if `spare` of them are not to be used.
    pub(crate) fn can_accept(&self, class: Class, spare: usize) -> bool {
        let slots = A::LEN.saturating_sub(spare);
        let free = slots.saturating_sub(self.used);
        match class {
            Class::Control | Class::Indirect => free >= 1,
            // A queue of one slot has none to keep.
            Class::Data => free >= 2 || (free == 1 && slots == 1),
        }
    }

    /// How many frames wait for `dst`, the head counted.
    pub(crate) fn waiting_for(&self, dst: Address) -> usize {
        let waits = |slot: &&Slot| slot.place == Place::Waiting && slot.dst == dst;
        self.slots.as_slice().iter().filter(waits).count()
    }

    /// A free slot for a frame of this kind, which [`Queue::push`] then takes into the queue.
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

    /// The slot of [`Queue::free`].
    pub(crate) fn filled(&mut self) -> Option<&mut Slot> {
        self.slots.as_mut_slice().get_mut(self.filling)
    }

    /// Takes the slot of [`Queue::free`] into the queue.
    pub(crate) fn push(&mut self) {
        let order = self.take_number();
        if let Some(slot) = self.slots.as_mut_slice().get_mut(self.filling) {
            slot.place = Place::Waiting;
            slot.order = order;
            self.used = self.used.saturating_add(1);
        }
    }

    /// The frame being sent.
    pub(crate) fn head(&self) -> Option<&Slot> {
        self.slots.as_slice().get(self.head?)
    }

    pub(crate) fn head_mut(&mut self) -> Option<&mut Slot> {
        self.slots.as_mut_slice().get_mut(self.head?)
    }

    /// Makes the frame that is to be sent next the head, and tells whether there is one.
    pub(crate) fn advance(&mut self) -> bool {
        self.head = self.first(Place::Waiting);
        self.head.is_some()
    }

    /// Makes the frame the head whose recipient's `turn` comes first, of those that are the oldest
    /// for their recipients; when that is. `None` if no frame waits.
    pub(crate) fn advance_by(&mut self, turn: impl Fn(Address) -> Instant) -> Option<Instant> {
        let waits = |slot: &&Slot| slot.place == Place::Waiting;
        let slots = self.slots.as_slice();
        let age = |slot: &Slot| self.next_order.wrapping_sub(slot.order);
        let mut first = None;
        for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| waits(slot)) {
            let mut others = slots.iter().filter(waits).filter(|other| other.dst == slot.dst);
            if others.any(|other| age(other) > age(slot)) {
                continue;
            }
            let key = (turn(slot.dst), core::cmp::Reverse(age(slot)));
            if first.is_none_or(|(best, _)| key < best) {
                first = Some((key, index));
            }
        }
        self.head = first.map(|(_, index)| index);
        first.map(|((at, _), _)| at)
    }

    /// Makes a waiting frame whose recipient is `wanted` the head, and tells whether there is one.
    pub(crate) fn advance_to(&mut self, wanted: impl Fn(Address) -> bool) -> bool {
        let waits = |slot: &Slot| slot.place == Place::Waiting && wanted(slot.dst);
        let found = self.slots.as_slice().iter().position(waits);
        self.head = found.or(self.head);
        found.is_some()
    }

    /// Whether an indirect frame waits behind a head that is none.
    pub(crate) fn is_in_the_way(&self) -> bool {
        let is_indirect = |slot: &Slot| slot.kind.is_indirect();
        self.head().is_some_and(|head| !is_indirect(head))
            && self.slots.as_slice().iter().any(|s| s.place == Place::Waiting && is_indirect(s))
    }

    /// Ends the sending of the head. A frame that is not the user's leaves its slot at once.
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

    /// Takes the oldest outcome and frees its slot.
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

    /// The slot whose turn it is of those in this place: while they wait indirect ones come first,
    /// then the lowest number does. Numbers wrap, so what counts is how far back they are.
    fn first(&self, place: Place) -> Option<usize> {
        let waiting = self.used.saturating_sub(self.ended);
        // Most questions are asked in vain.
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
            // The usual case, in which nothing has to be compared.
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
