//! Memory plans as types.
//!
//! A layer owns tables: queue slots, neighbours, connections, packet buffers. How many there are is
//! the choice of whoever composes a node, and on a microcontroller that choice must be made at
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

/// A value that an unused table slot holds, known at compile time.
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
