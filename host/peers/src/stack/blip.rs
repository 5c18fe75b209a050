//! BLIP (TinyOS 2.1.2, `support/sdk/c/blip/libtcp/tcplib.c`, `tos/lib/net/blip/TcpP.nc`): a timer
//! of half a second sends and retransmits the whole buffer.
//!
//! Each accepted write sets that timer to one tick (`tcplib_send`). A write that comes while older
//! octets are unacknowledged therefore retransmits them together with the new ones.

use crate::block::{Ack, Block};
use crate::info::{Failure, Info};
use crate::sender::{Sender, Ticker};
use crate::seq::Seq;
use crate::settings::Settings;
use kinglet_time::{Duration, Instant};

/// Number of expiries before it gives up.
const MOST: u8 = 6;
/// `ssthresh` of a new connection (`tcplib_init_sock`).
const SSTHRESH: u32 = 0xffff;
/// Duplicates that trigger a retransmission; the comment in the original counts the first
/// acknowledgement too.
const DUPLICATES: u8 = 2;

/// The sender.
#[derive(Debug)]
pub(crate) struct Blip {
    ticker: Ticker,
    /// `retx`, in ticks.
    retx: u64,
    counts_all_segments: bool,
    expires_at: Option<Instant>,
    /// End of the data at the last write, once the connection is open.
    written: Option<Seq>,
    /// Expiries with data to send, first transmissions included.
    count: u8,
    duplicates: u8,
    cwnd: u32,
    ssthresh: u32,
}

impl Blip {
    pub(crate) const fn new(settings: &Settings) -> Self {
        Blip {
            ticker: Ticker::new(settings.phase),
            retx: settings.quirks.blip_rto.as_micros() / Ticker::PERIOD_US,
            counts_all_segments: settings.quirks.faults.counts_all_segments,
            expires_at: None,
            written: None,
            count: 0,
            duplicates: 0,
            cwnd: settings.mss as u32,
            ssthresh: SSTHRESH,
        }
    }

    /// Sends from the oldest octet on: as much as both windows allow, and then the rest of the
    /// buffer regardless of them. A closed window stops it (`tcplib_output`).
    fn send_all(&mut self, block: &mut Block) -> u32 {
        let (mss, before) = (block.mss, block.max);
        let (mut seq, mut again) = (block.una, 0);
        let mut most = mss.min(block.wnd).min(self.cwnd);
        while most > 0 {
            let is_old = seq.before(before);
            let taken = block.put(seq, most);
            if taken == 0 {
                break;
            }
            again += u32::from(is_old);
            seq = seq.plus(taken);
            most = mss;
        }
        block.nxt = seq;
        again
    }

    /// `reset_ssthresh`
    fn limit(&mut self, block: &Block) {
        self.ssthresh = (self.cwnd.min(block.wnd) / 2).max(2 * block.mss);
    }

    fn has_work(&self, block: &Block) -> bool {
        block.queued() > 0 || block.flight() > 0 || block.owes_fin()
    }
}

impl Sender for Blip {
    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant> {
        (syns <= MOST).then(|| self.ticker.after(now, self.retx))
    }

    /// Expiries of the handshake remain counted until data are acknowledged.
    fn opened(&mut self, _now: Instant, block: &mut Block, _took: Option<Duration>) {
        self.cwnd = block.mss;
        self.count = block.syns.saturating_sub(1);
    }

    fn acked(&mut self, now: Instant, block: &mut Block, ack: &Ack) {
        if block.una.before(ack.number) {
            block.advance(ack.number);
            self.duplicates = 0;
            if !self.counts_all_segments {
                self.count = 0;
            }
            let more = if self.cwnd <= self.ssthresh {
                block.mss
            } else {
                (block.mss * block.mss / self.cwnd.max(1)).max(1)
            };
            self.cwnd = self.cwnd.saturating_add(more);
            if !self.has_work(block) {
                self.expires_at = None;
            }
        } else if block.queued() > 0 {
            // Any segment counts, also one with data.
            block.counters.dup_acks += 1;
            self.duplicates = self.duplicates.saturating_add(1);
            if self.duplicates == DUPLICATES {
                self.duplicates = 0;
                self.limit(block);
                block.counters.fast_recoveries += 1;
                block.counters.fast_retransmits += self.send_all(block);
                self.expires_at = Some(self.ticker.after(now, self.retx));
            }
        }
    }

    /// Sets the timer after a write, which does nothing else.
    fn output(&mut self, now: Instant, block: &mut Block) {
        if !block.may_send() {
            return;
        }
        let end = block.queue.end();
        let writes = self.written.replace(end) != Some(end) && block.queued() > 0;
        let closes = self.expires_at.is_none() && self.has_work(block);
        if writes || closes {
            self.expires_at = Some(self.ticker.after(now, 1));
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.expires_at
    }

    /// The same routine transmits and retransmits.
    fn handle_deadline(&mut self, now: Instant, block: &mut Block) {
        if self.expires_at.is_none_or(|at| at > now) {
            return;
        }
        self.expires_at = None;
        if !block.may_send() || !self.has_work(block) {
            return;
        }
        self.count = self.count.saturating_add(1);
        if self.count > MOST {
            // It enters TIME_WAIT silently.
            return block.fail(Failure::TimedOut);
        }
        self.limit(block);
        self.cwnd = block.mss;
        let again = self.send_all(block);
        block.counters.timeout_retransmits += again;
        block.counters.timeouts += u32::from(again > 0);
        self.expires_at = Some(self.ticker.after(now, self.retx));
    }

    fn rto(&self) -> Duration {
        Duration::from_micros(self.retx * Ticker::PERIOD_US)
    }

    fn describe(&self, _: &Block, info: &mut Info) {
        (info.cwnd, info.ssthresh) = (self.cwnd, self.ssthresh);
        info.rto = self.rto();
    }
}
