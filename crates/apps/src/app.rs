//! Interface of an application.

use kinglet::{Each, Node, Profile};
use kinglet_time::{Expected, Instant};

/// An application on a node of any profile. Like every layer it is driven by its caller: it never
/// blocks, sleeps or reads a clock.
pub trait App {
    /// Processes all work that can be done now. It is called when something may have changed, and
    /// must be harmless when nothing has. Returns whether it did something; it is then called
    /// again.
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool;

    /// Returns the time of the next poll if nothing happens before.
    fn deadline(&self) -> Option<Instant>;

    /// Returns the window in which a message is expected that TCP does not know of. The caller of a
    /// sleepy node passes it on ([`ReportedExpectation`]).
    fn expected(&self, _now: Instant) -> Option<Expected> {
        None
    }

    /// Returns the CoAP messages counted, received and sent, wrapping: the node does not know of
    /// this CPU work.
    fn messages(&self) -> (u32, u32) {
        (0, 0)
    }

    /// Calls `each` with layer, reason and count for every reason for which it discards, refuses or
    /// gives up something, as [`Node::reasons`].
    fn reasons(&self, _each: &mut Each<'_>) {}
}

/// State of the reports of an application's [`App::expected`] to a sleepy node: TCPlp's adaptive
/// duty cycle (§8.1.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportedExpectation(Option<Instant>);

impl ReportedExpectation {
    /// Reports to the node the window that application `number` expects, if it has changed.
    pub fn report<P: Profile>(
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
            // If the node's table is full, the report is repeated later.
            Some(Expected { since, until, .. }) => {
                if node.expect_response(now, number, since, until).is_err() {
                    return;
                }
            }
            None => node.withdraw_response(now, number),
        }
        self.0 = since;
    }
}
