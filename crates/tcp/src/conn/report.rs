//! Snapshots of a connection ([`Info`]).

use super::{Connection, FastOpen, Params, Phase};
use crate::congestion::Controller;
use crate::features::Features;
use crate::info::{Info, Repair};
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use crate::seq::SeqNum;
use kinglet_time::Instant;

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Returns a snapshot; `epoch` gives the stored instants their upper halves.
    pub(crate) fn info(&self, epoch: Instant) -> Info {
        Info {
            state: self.state,
            error: self.error,
            soft_error: self.soft_error,
            fast_open: self.fast_open() == FastOpen::Accepted,
            cwnd: self.snd.window(&self.params),
            ssthresh: self.snd.cc.slow_start_threshold(),
            srtt: self.snd.rtt.srtt(),
            rttvar: self.snd.rtt.rttvar(),
            rto: self.snd.rto(&self.params),
            last_rtt: self.snd.rtt.last(),
            snd_wnd: self.snd.wnd,
            rcv_wnd: self.rcv.wnd(),
            mss: u32::from(self.snd.mss),
            mss_limit: self.params.own_mss,
            rcv_mss: self.rcv.mss,
            timestamps: self.rcv.paws.is_some(),
            sack: self.params.has(Params::SACK),
            snd_scale: self.snd.shift,
            rcv_scale: self.rcv.rx.shift(),
            backoff: self.snd.backoff,
            retransmits: self.snd.tries,
            keepalive_probes: self.keep_sent,
            retransmitted_share: self.snd.retransmitted_share,
            ecn: self.ecn_agreed(),
            bytes_in_flight: self.snd.flight(),
            bytes_sacked: self.board.sacked(),
            bytes_lost: self.board.lost(),
            bytes_retransmitted: self.board.retransmitted(),
            repair: self.repair(),
            bytes_queued: self.queue().len(),
            bytes_unsent: self.snd.unsent(),
            bytes_readable: self.rcv.rx.readable(),
            receive_buffer: self.rcv.rx.capacity(),
            last_sent: self.last_sent.near(epoch),
            last_progress: self.snd.progress_at.near(epoch),
            bytes_acked: distance(self.snd.iss, self.queue().start),
            bytes_received: distance(self.rcv.irs, self.received()),
            counters: self.counters,
        }
    }

    fn repair(&self) -> Repair {
        match *self.snd.recovery.phase() {
            Phase::Fast { .. } => Repair::Fast,
            Phase::Timeout { .. } => Repair::Timeout,
            Phase::Open { .. } if self.is_reduced() => Repair::Marked,
            Phase::Open { dup_acks: 1.., .. } => Repair::Doubt,
            Phase::Open { .. } if self.board.sacked() > 0 => Repair::Doubt,
            Phase::Open { .. } => Repair::None,
        }
    }
}

/// Returns the octets between a SYN and `end`, modulo 2^32.
fn distance(syn: SeqNum, end: SeqNum) -> u32 {
    end.value().wrapping_sub(syn.plus(1).value())
}
