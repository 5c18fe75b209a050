//! Check of the invariants of a connection, for tests: images that do not call it do not contain
//! it.

use super::Connection;
use super::flags::ConnFlags;
use crate::congestion::Controller;
use crate::error::Violation;
use crate::features::Features;
use crate::recv::ack::MOST_OWED;
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use crate::state::State;

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Checks the invariants, which hold between any two calls.
    ///
    /// # Errors
    /// The first one that is violated.
    pub(crate) fn check(&self) -> Result<(), Violation> {
        let over = matches!(self.state, State::Closed | State::TimeWait);
        if over || matches!(self.state, State::SynSent | State::SynReceived) {
            let timers = [self.rcv.ack.timer, self.snd.rtx, self.keep];
            let silent = !over || timers.into_iter().all(|timer| !timer.is_set());
            return silent.then_some(()).ok_or(Violation::TimerOfTheDead);
        }
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        let pending = self.snd.retransmit_now;
        let fin = u32::from(self.flags.has(ConnFlags::FIN_QUEUED));
        let end = self.snd.end;
        let held = una.earlier(end);
        [
            (una.at_or_before(nxt), Violation::SendOrder),
            (self.snd.tx.fits(self.queue()) && una.since(held) <= fin, Violation::SendQueue),
            (nxt.at_or_before(end.plus(fin)), Violation::SendQueue),
            (self.board.covers(una, nxt), Violation::Flight),
            (self.snd.flight() == 0 || self.snd.rtx.is_set() || pending, Violation::NoTimer),
            (self.rcv.nxt.at_or_before(self.rcv.adv), Violation::ReceiveWindow),
            (self.rcv.wnd() <= self.rcv.rx.free(), Violation::ReceiveWindow),
            (self.rcv.rx.fits(), Violation::ReceiveRing),
            (!self.acknowledges_each() || self.rcv.ack.owed() <= MOST_OWED, Violation::Owed),
            (self.snd.cc.window() > 0 && self.snd.mss > 0, Violation::CongestionWindow),
        ]
        .iter()
        .find(|(holds, _)| !holds)
        .map_or(Ok(()), |(_, violation)| Err(*violation))
    }
}
