//! The transmit queue: a ring of slots that hold a frame until its outcome has been fetched.
//!
//! Order in the ring, oldest first: frames whose outcome waits to be fetched, then the head (the
//! frame being sent), then frames that wait. Because the outcome stays in the frame's own slot,
//! every frame has exactly one and none can be lost for lack of room.

use kinglet_mem::{Array, Empty};
use kinglet_radio::MAX_FRAME;
use kinglet_wire::ieee802154::Address;

/// The user's name for a frame, given back with its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

/// What a frame is for. The last free slot is kept for control frames, so that data cannot keep
/// them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Everything else.
    Data,
    /// What keeps the network alive: routing, neighbour discovery, errors.
    Control,
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
    /// The frame counter of link security is used up: nothing can be sent with this key any more.
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
    /// How often it was on the air, 0 to 8.
    pub transmissions: u8,
}

/// A place for one frame.
pub struct Slot {
    pub(crate) frame: [u8; MAX_FRAME],
    pub(crate) len: u8,
    pub(crate) dst: Address,
    pub(crate) sequence: u8,
    pub(crate) ack: bool,
    pub(crate) token: Token,
    pub(crate) transmissions: u8,
    pub(crate) attempts: u8,
    /// Link security is done with it.
    pub(crate) secured: bool,
    pub(crate) result: Delivery,
}

impl Slot {
    /// The frame as it goes to the radio.
    pub(crate) fn octets(&self) -> &[u8] {
        self.frame.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Empty for Slot {
    const EMPTY: Self = Slot {
        frame: [0; MAX_FRAME],
        len: 0,
        dst: Address::None,
        sequence: 0,
        ack: false,
        token: Token(0),
        transmissions: 0,
        attempts: 0,
        secured: false,
        result: Delivery::Delivered,
    };
}

pub(crate) struct Queue<A: Array<Slot>> {
    slots: A,
    /// Index of the oldest slot in use.
    first: usize,
    /// Slots in use, the first `done` of which have an outcome.
    used: usize,
    done: usize,
}

impl<A: Array<Slot>> Queue<A> {
    pub(crate) const fn new() -> Self {
        Queue { slots: A::EMPTY, first: 0, used: 0, done: 0 }
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    pub(crate) fn can_accept(&self, class: Class) -> bool {
        let free = A::LEN.saturating_sub(self.used);
        match class {
            Class::Control => free >= 1,
            // A queue of one slot has none to keep.
            Class::Data => free >= 2 || (free == 1 && A::LEN == 1),
        }
    }

    /// The next free slot, which [`Queue::push`] then takes into the queue.
    pub(crate) fn free(&mut self) -> Option<&mut Slot> {
        if self.used == A::LEN {
            return None;
        }
        let index = self.index(self.used);
        self.slots.as_mut_slice().get_mut(index)
    }

    pub(crate) fn push(&mut self) {
        self.used = self.used.saturating_add(1).min(A::LEN);
    }

    /// The frame being sent or next to be.
    pub(crate) fn head(&self) -> Option<&Slot> {
        if self.done == self.used {
            return None;
        }
        self.slots.as_slice().get(self.index(self.done))
    }

    pub(crate) fn head_mut(&mut self) -> Option<&mut Slot> {
        if self.done == self.used {
            return None;
        }
        let index = self.index(self.done);
        self.slots.as_mut_slice().get_mut(index)
    }

    /// Ends the sending of the head.
    pub(crate) fn finish(&mut self, result: Delivery) {
        if let Some(slot) = self.head_mut() {
            slot.result = result;
            self.done = self.done.saturating_add(1);
        }
    }

    /// Takes the oldest outcome and frees its slot.
    pub(crate) fn pop_outcome(&mut self) -> Option<Outcome> {
        if self.done == 0 {
            return None;
        }
        let slot = self.slots.as_slice().get(self.first)?;
        let &Slot { token, dst, result, transmissions, .. } = slot;
        self.first = self.index(1);
        self.done = self.done.saturating_sub(1);
        self.used = self.used.saturating_sub(1);
        Some(Outcome { token, dst, result, transmissions })
    }

    fn index(&self, offset: usize) -> usize {
        // Both are at most the length. A division would cost a Cortex-M0+ some 50 instructions.
        let index = self.first.saturating_add(offset);
        index.checked_sub(A::LEN).unwrap_or(index)
    }
}
