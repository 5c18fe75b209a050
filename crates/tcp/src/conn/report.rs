//! What a connection tells of itself.

use super::facts::Facts;
use super::{Connection, FastOpen, Phase};
use crate::congestion::Controller;
use crate::features::Features;
use crate::info::{Info, Repair};
use crate::send::recovery::Aids;
use crate::send::scoreboard::Scoreboard;
use crate::seq::SeqNum;
use kinglet_time::Instant;

impl<C: Controller, A: Aids, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// `epoch` gives the instants kept here their upper halves.
    pub(crate) fn info(&self, epoch: Instant) -> Info {
        Info {
            state: self.state,
            error: self.error,
            soft_error: self.soft_error,
            fast_open: self.fast_open() == FastOpen::Accepted,
            cwnd: self.window(),
            ssthresh: self.cc.slow_start_threshold(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            rto: self.rto(),
            last_rtt: self.rtt.last(),
            snd_wnd: self.snd.wnd,
            rcv_wnd: self.rcv.adv.since(self.rcv.nxt),
            mss: u32::from(self.mss),
            mss_limit: self.params.own_mss,
            rcv_mss: self.rcv_mss,
            timestamps: self.paws.is_some(),
            sack: self.facts.has(Facts::SACK),
            snd_scale: self.snd_shift,
            rcv_scale: self.rx.shift(),
            backoff: self.backoff,
            retransmits: self.tries,
            keepalive_probes: self.keep_sent,
            resent: self.resent,
            ecn: self.ecn_agreed(),
            bytes_in_flight: self.flight(),
            bytes_sacked: self.board.sacked(),
            bytes_lost: self.board.lost(),
            bytes_resent: self.board.resent(),
            repair: self.repair(),
            bytes_queued: self.queue().len(),
            bytes_unsent: self.unsent(),
            bytes_readable: self.rx.readable(),
            receive_buffer: self.rx.capacity(),
            last_sent: self.last_sent.near(epoch),
            last_progress: self.progress_at.near(epoch),
            bytes_acked: distance(self.snd.iss, self.queue().start),
            bytes_received: distance(self.rcv.irs, self.received()),
            counters: self.counters,
        }
    }

    fn repair(&self) -> Repair {
        match *self.recovery.phase() {
            Phase::Fast { .. } => Repair::Fast,
            Phase::Timeout { .. } => Repair::Timeout,
            Phase::Open { .. } if self.is_reduced() => Repair::Marked,
            Phase::Open { dup_acks: 1.., .. } => Repair::Doubt,
            Phase::Open { .. } if self.board.sacked() > 0 => Repair::Doubt,
            Phase::Open { .. } => Repair::None,
        }
    }
}

/// Octets between a SYN and `end`, modulo 2^32.
fn distance(syn: SeqNum, end: SeqNum) -> u32 {
    end.value().wrapping_sub(syn.plus(1).value())
}
