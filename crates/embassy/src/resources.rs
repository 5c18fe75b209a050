//! The storage of a stack.

use crate::runner::Runner;
use crate::shared::{Shared, Stack, Waiter};
use core::cell::RefCell;
use kinglet::{Node, Profile};

/// Storage of a [`Stack`]: the node, and places for `TASKS` waits at the same time. A task takes a
/// place for each event that it waits for: a socket that is read and written by two tasks needs
/// two. A wait without a place looks again every 50 ms, which costs CPU time. A place takes 16
/// octets on a 32-bit core.
pub struct Resources<'d, P: Profile, const TASKS: usize>(RefCell<Shared<'d, P, [Waiter; TASKS]>>);

impl<'d, P: Profile, const TASKS: usize> Resources<'d, P, TASKS> {
    /// Returns the storage for this node.
    pub const fn new(node: &'d mut Node<P>) -> Self {
        Resources(RefCell::new(Shared::new(node)))
    }

    /// Returns the stack for tasks, and the future that runs it.
    pub const fn split(&'d mut self) -> (Stack<'d, P>, Runner<'d, P>) {
        let stack = Stack(&self.0);
        (stack, Runner(stack))
    }
}
