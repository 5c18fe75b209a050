//! BLIP (TinyOS, `support/sdk/c/blip/libtcp/tcplib.c`, `tos/lib/net/blip/TcpP.nc`): a timer of half
//! a second sends and retransmits the whole buffer.

use crate::block::{Ack, Block};
use crate::info::{Failure, Info};
use crate::sender::{Sender, Ticker};
use crate::settings::Settings;
use kinglet_time::{Duration, Instant};

/// Number of expiries before it gives up.
const MOST: u8 = 6;
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
            count: 0,
            duplicates: 0,
            cwnd: settings.mss as u32,
            ssthresh: u32::MAX,
        }
    }

    /// Sends from the oldest octet on: as much as both windows allow, and then the rest of the
    /// buffer regardless of them.
    fn send_all(&mut self, block: &mut Block) -> u32 {
        let (mss, before) = (block.mss, block.max);
        let (mut seq, mut again) = (block.una, 0);
        let mut most = mss.min(block.wnd).min(self.cwnd).max(1);
        loop {
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

    fn has_work(&self, block: &Block) -> bool {
        block.queued() > 0 || block.flight() > 0 || block.owes_fin()
    }
}

impl Sender for Blip {
    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant> {
        (syns <= MOST).then(|| self.ticker.after(now, self.retx))
    }

    fn opened(&mut self, _now: Instant, block: &mut Block, _took: Option<Duration>) {
        self.cwnd = block.mss;
    }

    fn acked(&mut self, _now: Instant, block: &mut Block, ack: &Ack) {
        if block.una.before(ack.number) {
            block.advance(ack.number);
            self.duplicates = 0;
            if !self.counts_all_segments {
                self.count = 0;
            }
            let more = if self.cwnd < self.ssthresh {
                block.mss
            } else {
                (block.mss * block.mss / self.cwnd.max(1)).max(1)
            };
            self.cwnd = self.cwnd.saturating_add(more);
            if !self.has_work(block) {
                self.expires_at = None;
            }
        } else if block.flight() > 0 && !ack.has_text {
            block.counters.dup_acks += 1;
            self.duplicates = self.duplicates.saturating_add(1);
            if self.duplicates == DUPLICATES {
                let least = 2 * block.mss;
                self.ssthresh = (self.cwnd.min(block.wnd) / 2).max(least);
                block.counters.fast_recoveries += 1;
                block.counters.fast_retransmits += self.send_all(block);
            }
        }
    }

    /// A write only sets the timer to one tick.
    fn output(&mut self, now: Instant, block: &mut Block) {
        if block.may_send() && self.expires_at.is_none() && self.has_work(block) {
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
        self.ssthresh = (self.cwnd.min(block.wnd) / 2).max(2 * block.mss);
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
