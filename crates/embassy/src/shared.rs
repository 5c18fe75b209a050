//! The node, and the tasks that wait for it.

use core::cell::RefCell;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Poll, Waker};
use embassy_sync::waitqueue::WakerRegistration;
use embassy_time::{Duration, Timer};
use kinglet::net::UdpHandle;
use kinglet::tcp::{Handle, RecvError, State};
use kinglet::{Node, Profile};
use kinglet_time::Instant;

/// An event that a task waits for. It is looked up in the node, so that none is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// A connection to this port can be accepted.
    Acceptable(u16),
    /// The handshake is over.
    Opened(Handle),
    /// Octets, the end of the stream, or an error can be read.
    Readable(Handle),
    /// There is room in the send ring, or there will never be.
    Writable(Handle),
    /// The peer has acknowledged everything including the FIN, or never will.
    Finished(Handle),
    /// A datagram can be read.
    Datagram(UdpHandle),
    /// A packet may have left its queue.
    Room,
}

impl Interest {
    pub(crate) fn has_occurred<P: Profile>(self, node: &Node<P>) -> bool {
        match self {
            Interest::Acceptable(port) => node.tcp().can_accept(port),
            Interest::Opened(handle) => !is_opening(node, handle),
            Interest::Readable(handle) => {
                !matches!(node.tcp().peek(handle, &mut [0]), Err(RecvError::WouldBlock))
            }
            Interest::Writable(handle) => match node.tcp().state(handle) {
                Some(State::Established | State::CloseWait) => node.tcp().can_send(handle) > 0,
                _ => !is_opening(node, handle),
            },
            Interest::Finished(handle) => is_finished(node, handle),
            Interest::Datagram(socket) => !matches!(node.net().udp_unread(socket), Ok(None)),
            Interest::Room => true,
        }
    }
}

/// Returns whether the handshake is still going on.
pub(crate) fn is_opening<P: Profile>(node: &Node<P>, handle: Handle) -> bool {
    matches!(node.tcp().state(handle), Some(State::SynSent | State::SynReceived))
}

/// Returns whether the peer has acknowledged the FIN of this side, or never will.
pub(crate) fn is_finished<P: Profile>(node: &Node<P>, handle: Handle) -> bool {
    let state = node.tcp().state(handle);
    matches!(state, None | Some(State::Closed | State::FinWait2 | State::TimeWait))
}

/// A task that waits, and for what.
pub(crate) type Waiter = Option<(Interest, Waker)>;

/// The node with everything that tasks share. `W` are the places of waiting tasks.
pub(crate) struct Shared<'d, P: Profile, W: ?Sized> {
    pub(crate) node: &'d mut Node<P>,
    pub(crate) runner: WakerRegistration,
    /// True if a task has changed the node since it was last driven.
    pub(crate) is_changed: bool,
    waiters: W,
}

impl<'d, P: Profile, const TASKS: usize> Shared<'d, P, [Waiter; TASKS]> {
    /// Nothing was done yet: the runner has to look at everything.
    pub(crate) const fn new(node: &'d mut Node<P>) -> Self {
        let waiters = [const { None }; TASKS];
        Shared { node, runner: WakerRegistration::new(), is_changed: true, waiters }
    }
}

impl<P: Profile> Shared<'_, P, [Waiter]> {
    /// Notes that a task has changed the node.
    pub(crate) fn change(&mut self) {
        self.is_changed = true;
        self.runner.wake();
    }

    /// Wakes the tasks whose events have occurred.
    pub(crate) fn wake_waiters(&mut self) {
        for waiter in &mut self.waiters {
            if let Some((_, waker)) = waiter.take_if(|it| it.0.has_occurred(self.node)) {
                waker.wake();
            }
        }
    }
}

/// Notes that the task of `waker` waits for `interest`. Returns false if all places are taken.
fn register(waiters: &mut [Waiter], interest: Interest, waker: &Waker) -> bool {
    let is_known = |it: &Waiter| {
        it.as_ref().is_some_and(|(other, by)| *other == interest && by.will_wake(waker))
    };
    if waiters.iter().any(is_known) {
        return true;
    }
    let free = waiters.iter_mut().find(|it| it.is_none());
    free.map(|free| *free = Some((interest, waker.clone()))).is_some()
}

/// Time after which a wait without a place looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A node that the tasks of one executor share. Copies are the same stack.
pub struct Stack<'d, P: Profile>(pub(crate) &'d RefCell<Shared<'d, P, [Waiter]>>);

impl<P: Profile> Clone for Stack<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Profile> Copy for Stack<'_, P> {}

impl<'d, P: Profile> Stack<'d, P> {
    /// Gives `change` access to the node, for all that has no socket: addresses, routes, a parent,
    /// echo requests, counters. The node is driven afterwards.
    ///
    /// # Panics
    /// If `change` uses this stack or one of its sockets.
    pub fn with<T>(&self, change: impl FnOnce(Instant, &mut Node<P>) -> T) -> T {
        self.shared(|shared| {
            let result = change(now(), shared.node);
            shared.change();
            result
        })
    }

    pub(crate) fn shared<T>(&self, f: impl FnOnce(&mut Shared<'d, P, [Waiter]>) -> T) -> T {
        f(&mut self.0.borrow_mut())
    }

    /// Calls `attempt` now and whenever `interest` has occurred, until it returns something.
    pub(crate) async fn until<T>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut(Instant, &mut Node<P>) -> Option<T>,
    ) -> T {
        poll_fn(|cx| {
            self.shared(|shared| match attempt(now(), shared.node) {
                Some(result) => {
                    shared.change();
                    Poll::Ready(result)
                }
                None => {
                    if !register(&mut shared.waiters, interest, cx.waker()) {
                        // Polled once, it has set the alarm of this task.
                        let _ = pin!(Timer::after(LOOK_AGAIN)).poll(cx);
                    }
                    Poll::Pending
                }
            })
        })
        .await
    }
}

/// The time, by the clock of `embassy-time`.
pub(crate) fn now() -> Instant {
    Instant::from_micros(embassy_time::Instant::now().as_micros())
}
