//! The first steps of SEGMENT ARRIVES (RFC 9293 §3.10.7.4), the same for connections, half-open
//! records and records in TIME-WAIT: the sequence number with PAWS (RFC 7323 §5.3), RST (RFC 5961
//! §3.2), SYN (RFC 5961 §4.2) and the ACK bit. Step 3 (security) is empty.

use crate::error::Discard;
use crate::paws::Paws;
use crate::seq::SeqNum;
use kinglet_time::Instant;
use kinglet_wire::tcp::{Flags, Segment};

/// Receive state that these steps need.
pub(crate) struct Receiver {
    /// RCV.NXT
    pub(crate) nxt: SeqNum,
    /// RCV.WND
    pub(crate) wnd: u32,
    /// TS.Recent
    pub(crate) paws: Option<Paws>,
    /// Sequence number of the peer's SYN, in SYN-RECEIVED.
    pub(crate) syn: Option<SeqNum>,
}

/// Kind of a segment that passes these steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// An RST at RCV.NXT.
    Reset,
    /// The peer's SYN again, without ACK.
    Syn,
    /// The ACK field is checked next. The number is where the segment begins, without its SYN.
    Ack(SeqNum),
}

impl Receiver {
    /// Takes a segment through these steps.
    ///
    /// # Errors
    /// Reason for which the segment is dropped; [`Discard::is_challenged`] decides on the response.
    //= rfc9293#MUST-66
    //= rfc7323#3.2-7 rfc7323#3.2-8 rfc7323#5.2-6 rfc7323#5.3-1 rfc7323#5.3-2 rfc7323#5.3-3
    //= rfc5961#1.1-1 rfc5961#3.2-4 rfc5961#4.2-1 rfc5961#4.2-2
    pub(crate) fn take(&self, now: Instant, segment: &Segment<'_>) -> Result<Arrived, Discard> {
        let header = &segment.header;
        let reset = header.flags.contains(Flags::RST);
        let syn = header.flags.contains(Flags::SYN) && !reset;
        let ack = header.flags.contains(Flags::ACK);
        let mut seq = SeqNum::new(header.seq);
        let mut len = segment.seq_len();
        if syn {
            // Whatever its number is, the response shows a rebooted peer the state of this side.
            if self.syn != Some(seq) {
                return Err(Discard::SynInWindow);
            }
            // In a simultaneous open the peer's SYN-ACK repeats its SYN, one before RCV.NXT. Its
            // acknowledgment matters (Figure 7, line 6).
            seq = seq.plus(1);
            len = len.saturating_sub(1);
        }
        if let Some(paws) = &self.paws
            && !reset
        {
            match header.options.timestamps {
                Some(timestamps) if paws.rejects(now, timestamps.val) => return Err(Discard::Paws),
                // A SYN may carry none: its peer has rebooted, or no longer offers the option.
                None if !syn => return Err(Discard::NoTimestamp),
                _ => {}
            }
        }
        if syn && !ack {
            return Ok(Arrived::Syn);
        }
        if !self.accepts(seq, len, reset) {
            return Err(Discard::OutsideWindow);
        }
        match (reset, seq == self.nxt) {
            (true, true) => Ok(Arrived::Reset),
            (true, false) => Err(Discard::ResetNotExact),
            _ if ack => Ok(Arrived::Ack(seq)),
            _ => Err(Discard::NoAck),
        }
    }

    //= rfc5961#3.2-1 rfc5961#3.2-5
    fn accepts(&self, seq: SeqNum, len: u32, reset: bool) -> bool {
        let (nxt, wnd) = (self.nxt, self.wnd);
        match (len, wnd) {
            // With a closed window ACKs and RSTs must still be accepted, and a probe's text is cut
            // off.
            (_, 0) => seq == nxt,
            // A pure ACK may lie at the right edge: that is its SEG.SEQ if the peer has used the
            // window and the first segment of it was lost. Linux and FreeBSD accept it too. By the
            // letter of §3.4 both sides would retransmit until one of them gives up.
            (0, _) => seq.in_window(nxt, wnd.saturating_add(u32::from(!reset))),
            _ => {
                let last = seq.plus(len.saturating_sub(1));
                seq.in_window(nxt, wnd)
                    || last.in_window(nxt, wnd)
                    // The segment covers the whole window.
                    || (seq.before(nxt) && last.after(nxt))
            }
        }
    }
}
