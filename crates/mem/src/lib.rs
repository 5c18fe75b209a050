//! Memory plans as types.
//!
//! A layer owns tables: queue slots, neighbours, connections, packet buffers. The application that
//! composes a node chooses their sizes, and on a microcontroller that choice must be made at
//! compile time without an allocator. Const generics do that for one table; for a stack of a dozen
//! tables they would turn every signature into a list of numbers. Here a *plan* is a type that
//! implements a layer's `Sizes` trait, and each table is an associated type bounded by
//! [`Array<T>`](Array):
//!
//! ```
//! use kinglet_mem::{Array, Empty};
//!
//! pub struct Slot { used: bool }
//! impl Empty for Slot { const EMPTY: Self = Slot { used: false }; }
//!
//! pub trait Sizes { type Slots: Array<Slot>; }
//!
//! pub struct Table<S: Sizes> { slots: S::Slots }
//! impl<S: Sizes> Table<S> {
//!     pub const fn new() -> Self { Table { slots: S::Slots::EMPTY } }
//!     pub fn used(&self) -> usize { self.slots.as_slice().iter().filter(|s| s.used).count() }
//! }
//!
//! struct Tiny;
//! impl Sizes for Tiny { type Slots = [Slot; 2]; }
//! static TABLE: Table<Tiny> = Table::new(); // lives in .bss
//! assert_eq!(TABLE.used(), 0);
//! ```
//!
//! Logic works on the slices; only the thin owning structs are generic.

#![no_std]
#![forbid(unsafe_code)]

mod claim;
mod fingerprint;
mod reasons;

pub use claim::{Claim, slot_for_new};
use core::ops::{Deref, DerefMut, Range};
pub use fingerprint::fingerprint;
pub use kinglet_octets::copy;

/// Moves the octets `from` to `to`; the two ranges may overlap. Returns `None` and changes nothing
/// if one of them is not inside `octets`.
///
/// `copy_within` panics for such ranges, and whether the compiler proves that it never does depends
/// on whether it inlines it. So this copies parts that do not overlap, of at most the distance.
pub fn move_within(octets: &mut [u8], from: Range<usize>, to: usize) -> Option<()> {
    let len = from.end.checked_sub(from.start)?;
    let last = octets.len().checked_sub(len)?;
    if from.end > octets.len() || to > last {
        return None;
    }
    let distance = from.start.abs_diff(to);
    let mut left = if distance == 0 { 0 } else { len };
    while left > 0 {
        let part = distance.min(left);
        left = left.saturating_sub(part);
        // Towards the start the first part is moved first, otherwise the last one.
        let is_back = to < from.start;
        let before = if is_back { len.saturating_sub(left).saturating_sub(part) } else { left };
        let (source, target) = (from.start.saturating_add(before), to.saturating_add(before));
        let (lower, upper) = octets.split_at_mut_checked(source.max(target))?;
        match is_back {
            true => copy(lower.get_mut(target..)?, upper.get(..part)?),
            false => copy(upper.get_mut(..part)?, lower.get(source..)?),
        };
    }
    Some(())
}

/// Value of an unused table slot, known at compile time.
pub trait Empty {
    /// The unused value. All-zero where possible, so that tables end up in `.bss`.
    const EMPTY: Self;
}

impl Empty for u8 {
    const EMPTY: Self = 0;
}

impl Empty for u16 {
    const EMPTY: Self = 0;
}

impl<T> Empty for Option<T> {
    const EMPTY: Self = None;
}

/// Content of a slot that may be empty: `Option<Held<T>>` is all zero when it is `None`.
///
/// For `Option<T>` the compiler marks `None` with any value that a field of `T` cannot have, seldom
/// zero. A table of large slots is then an image in flash, copied at start-up, because of one octet
/// in each slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Held<T> {
    /// The content.
    This(T) = 1,
}

impl<T> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let Held::This(it) = self;
        it
    }
}

impl<T> DerefMut for Held<T> {
    fn deref_mut(&mut self) -> &mut T {
        let Held::This(it) = self;
        it
    }
}

/// A table of `T` whose length is part of its type.
pub trait Array<T> {
    /// The table with every slot unused.
    const EMPTY: Self;

    /// The number of slots.
    const LEN: usize;

    /// The slots, in order.
    fn as_slice(&self) -> &[T];

    /// The slots, in order.
    fn as_mut_slice(&mut self) -> &mut [T];
}

impl<T: Empty, const N: usize> Array<T> for [T; N] {
    const EMPTY: Self = [const { T::EMPTY }; N];
    const LEN: usize = N;

    fn as_slice(&self) -> &[T] {
        self
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_stays_inside_and_may_overlap() {
        let mut octets = [1, 2, 3, 4];
        assert_eq!(move_within(&mut octets, 0..3, 1), Some(()));
        assert_eq!(octets, [1, 1, 2, 3]);
        let backwards = core::ops::Range { start: 2, end: 1 };
        for (from, to) in [(0..3, 2), (0..5, 0), (backwards, 0), (0..1, usize::MAX)] {
            assert_eq!(move_within(&mut octets, from, to), None);
        }
        assert_eq!(octets, [1, 1, 2, 3]);
        for (start, end) in (0..9).flat_map(|start| (start..9).map(move |end| (start, end))) {
            for to in 0..=8 - (end - start) {
                let mut octets = [0, 1, 2, 3, 4, 5, 6, 7];
                let mut expected = octets;
                expected.copy_within(start..end, to);
                assert_eq!(move_within(&mut octets, start..end, to), Some(()));
                assert_eq!(octets, expected, "{start}..{end} to {to}");
            }
        }
    }

    #[test]
    fn an_empty_place_is_marked_by_zero_alone() {
        // `Option<Option<u32>>` and `Option<bool>` mark `None` with 2; the tag of `Held` is 1.
        assert_eq!(size_of::<Option<Held<bool>>>(), 2);
        assert_eq!(size_of::<Option<Held<u32>>>(), 8);
        let mut place = Some(Held::This(7));
        if let Some(held) = &mut place {
            **held += 1;
        }
        assert_eq!(place, Some(Held::This(8)));
    }
}
