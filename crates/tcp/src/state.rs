//! The states of RFC 9293 §3.3.2.

/// State of a connection. LISTEN is missing: a listener is not a connection here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// A SYN was sent, and none was received.
    SynSent,
    /// A SYN was sent and one was received; the acknowledgment of ours is awaited.
    SynReceived,
    /// Open.
    Established,
    /// A FIN is queued or sent and not acknowledged.
    FinWait1,
    /// Our FIN is acknowledged; the peer may go on sending.
    FinWait2,
    /// The peer has sent FIN; we may go on sending.
    CloseWait,
    /// Both have sent FIN; ours is not acknowledged.
    Closing,
    /// The peer's FIN came first; ours is queued or sent and not acknowledged.
    LastAck,
    /// Both FINs are acknowledged; old segments must expire.
    TimeWait,
}

impl State {
    /// Returns whether RFC 9293 has a transition from this state to `to`: by figure 5, whose edges
    /// from and to LISTEN belong to listeners, or to CLOSED at any time, which the figure leaves
    /// out. An acknowledgment of the FIN that comes with the peer's FIN (note 2) takes two steps.
    pub(crate) const fn leads_to(self, to: State) -> bool {
        match to {
            State::Closed => true,
            State::SynSent => false,
            State::SynReceived => matches!(self, State::SynSent),
            State::Established => matches!(self, State::SynSent | State::SynReceived),
            State::FinWait1 => matches!(self, State::SynReceived | State::Established),
            State::FinWait2 | State::Closing => matches!(self, State::FinWait1),
            State::CloseWait => matches!(self, State::Established),
            State::LastAck => matches!(self, State::CloseWait),
            State::TimeWait => matches!(self, State::FinWait2 | State::Closing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::State::{self, *};
    use std::vec::Vec;

    #[test]
    fn the_edges_are_those_of_figure_5() {
        let all = [
            (SynSent, &[SynReceived, Established][..]),
            (SynReceived, &[Established, FinWait1]),
            (Established, &[FinWait1, CloseWait]),
            (FinWait1, &[FinWait2, Closing]),
            (FinWait2, &[TimeWait]),
            (CloseWait, &[LastAck]),
            (Closing, &[TimeWait]),
            (LastAck, &[]),
            (TimeWait, &[]),
            (Closed, &[]),
        ];
        for (from, edges) in all {
            let led: Vec<State> =
                all.map(|(to, _)| to).into_iter().filter(|to| from.leads_to(*to)).collect();
            assert!(led.iter().all(|to| *to == Closed || edges.contains(to)), "{from:?}: {led:?}");
            assert_eq!(led.len(), edges.len() + 1, "{from:?}: {led:?}");
        }
    }
}
