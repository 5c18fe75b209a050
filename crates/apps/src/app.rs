//! What an application is.

use kinglet::{Each, Node, Profile};
use kinglet_time::{Expected, Instant};

/// An application on a node of any profile. Like every layer it is driven: it never blocks, sleeps
/// or reads a clock.
pub trait App {
    /// Looks at its sockets and does what can be done now. Called when something may have changed;
    /// must be harmless when nothing has. Returns whether it did something, so that it is asked
    /// again.
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool;

    /// When it wants to be polled even if nothing happens.
    fn deadline(&self) -> Option<Instant>;

    /// What is to come from others, and until when, that TCP does not know of by itself. Who drives
    /// a node that sleeps tells it so ([`Told`]).
    fn expected(&self, _now: Instant) -> Option<Expected> {
        None
    }

    /// The CoAP messages that it has counted, received and sent, wrapping: work of the CPU that its
    /// node knows nothing of.
    fn messages(&self) -> (u32, u32) {
        (0, 0)
    }

    /// Calls `each` with layer, reason and count for every reason for which it discards, refuses or
    /// gives something up, as [`Node::reasons`].
    fn reasons(&self, _each: &mut Each<'_>) {}
}

/// What a node that sleeps has been told of an application's [`App::expected`]: TCPlp's adaptive
/// duty cycle (§8.1.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Told(Option<Instant>);

impl Told {
    /// Tells the node what application number `number` expects, if that has changed.
    pub fn tell<P: Profile>(
        &mut self,
        now: Instant,
        node: &mut Node<P>,
        number: u16,
        expected: Option<Expected>,
    ) {
        let since = expected.map(|it| it.since);
        if since == self.0 {
            return;
        }
        match expected {
            // While there is no room it is said again.
            Some(Expected { since, until, .. }) => {
                if node.expect(now, number, since, until).is_err() {
                    return;
                }
            }
            None => node.expect_nothing(now, number),
        }
        self.0 = since;
    }
}
