//! A first-in-first-out queue in a table.

use core::marker::PhantomData;
use kinglet_mem::Array;

#[derive(Debug)]
pub(crate) struct Queue<A, T> {
    slots: A,
    head: u16,
    len: u16,
    item: PhantomData<T>,
}

impl<A: Array<Option<T>>, T: Copy> Queue<A, T> {
    pub(crate) const fn new() -> Self {
        Queue { slots: A::EMPTY, head: 0, len: 0, item: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= A::LEN
    }

    pub(crate) fn front(&self) -> Option<T> {
        self.slots.as_slice().get(usize::from(self.head)).copied().flatten()
    }

    /// Returns all items, in no order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.as_mut_slice().iter_mut().flatten()
    }

    /// Appends `item`; `false` if the queue is full.
    pub(crate) fn push(&mut self, item: T) -> bool {
        if self.is_full() {
            return false;
        }
        let at = usize::from(self.head).saturating_add(self.len());
        let at = at.checked_sub(A::LEN).unwrap_or(at);
        if let Some(slot) = self.slots.as_mut_slice().get_mut(at) {
            *slot = Some(item);
            self.len = self.len.saturating_add(1);
        }
        true
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.slots.as_mut_slice().get_mut(usize::from(self.head))?.take()?;
        let next = self.head.saturating_add(1);
        self.head = if usize::from(next) >= A::LEN { 0 } else { next };
        self.len = self.len.saturating_sub(1);
        Some(item)
    }

    /// Removes and returns the newest item if it is `wanted`.
    pub(crate) fn pop_newest_if(&mut self, wanted: impl FnOnce(&mut T) -> bool) -> Option<T> {
        let at = usize::from(self.head).saturating_add(self.len().checked_sub(1)?);
        let at = at.checked_sub(A::LEN).unwrap_or(at);
        let item = self.slots.as_mut_slice().get_mut(at)?.take_if(wanted)?;
        self.len = self.len.saturating_sub(1);
        Some(item)
    }

    /// Appends `item`; a full queue drops the oldest.
    pub(crate) fn push_over(&mut self, item: T) {
        if self.is_full() {
            let _ = self.pop();
        }
        let _ = self.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let mut queue = Queue::<[Option<u8>; 3], u8>::new();
        for round in 0..10 {
            assert!(queue.push(round) && queue.push(round + 100));
            assert_eq!((queue.front(), queue.pop()), (Some(round), Some(round)));
            assert_eq!((queue.pop(), queue.pop()), (Some(round + 100), None));
        }
    }

    #[test]
    fn a_full_queue_refuses_or_loses_its_oldest() {
        let mut queue = Queue::<[Option<u8>; 2], u8>::new();
        assert!(queue.push(1) && queue.push(2) && !queue.push(3));
        queue.push_over(4);
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(2), Some(4), None));
    }

    #[test]
    fn the_newest_can_be_taken_back() {
        let mut queue = Queue::<[Option<u8>; 3], u8>::new();
        for round in 0..10 {
            assert!(queue.push(round) && queue.push(99));
            assert_eq!(queue.pop_newest_if(|item| *item != 99), None);
            assert_eq!(queue.pop_newest_if(|item| *item == 99), Some(99));
            assert_eq!((queue.len(), queue.pop()), (1, Some(round)));
            assert_eq!(queue.pop_newest_if(|_| true), None);
        }
    }

    #[test]
    fn a_queue_of_no_places_is_always_full() {
        let mut queue = Queue::<[Option<u8>; 0], u8>::new();
        assert!(queue.is_full() && !queue.push(1));
        queue.push_over(1);
        assert_eq!((queue.front(), queue.pop(), queue.len()), (None, None, 0));
    }
}
