//! Reception, filter and acknowledgement.

use super::{CHECK, CHECK_IDLE, Mode, Nrf52840, Phase, Received, disable};
use crate::frame::{Accepted, DESTINATION_END, HEAD, Head};
use crate::hardware::{Buffer, Hardware};
use crate::registers::{
    ADDRESS, CC_ADDRESS, CC_END, CC_START, CHENCLR, CHENSET, CRCOK, DISABLED, END, PACKETPTR,
    RSSISAMPLE, RXEN, SHORTS, START_TO_RXEN, START_TO_TXEN, short,
};
use kinglet_radio::{Channel, Event, FCS_LEN, OCTET, SIFS, TURNAROUND};
use kinglet_time::{Duration, Instant};

/// Ramp-up (nrf_802154_peripherals.h: TXRU_TIME).
pub(super) const RAMP: Duration = Duration::from_micros(40);
/// Delay of the END event of a received frame (same file: EVENT_LAT).
const END_LATENCY: Duration = Duration::from_micros(23);
/// Octets of an acknowledgement without its FCS.
const ACK_LEN: u8 = 3;
/// Time from the SFD of a frame until PHR and longest destination are in its buffer.
const DESTINATION_TIME: Duration =
    Duration::from_micros((1 + DESTINATION_END as u64) * OCTET.as_micros());
/// LQI per ED level (same file: LQI_VALUE_FACTOR).
const LQI_FACTOR: u8 = 4;

impl<H: Hardware> Nrf52840<H> {
    pub(super) fn begin_listening(&mut self, now: Instant, channel: Channel) -> bool {
        let Some(into) = self.free_buffer() else {
            // Frames have to be fetched first.
            return self.wait(now + CHECK);
        };
        self.tune(channel);
        self.begin_receiving(into);
        let from = match self.mode {
            Mode::Receive { from, .. } if from > now + RAMP => from - RAMP,
            _ => now,
        };
        if from > now {
            let start = self.ticks(now, from);
            self.hardware.write(CC_START, start);
            self.hardware.write(CHENSET, START_TO_RXEN);
        } else {
            self.hardware.write(RXEN, 1);
        }
        self.phase = Phase::Listening { into };
        true
    }

    /// Prepares a reception; the ramp is started by the caller.
    pub(super) fn begin_receiving(&mut self, into: Buffer) {
        let address = self.hardware.address(into);
        self.hardware.write(PACKETPTR, address);
        let shorts = short::RXREADY_START | short::END_DISABLE | short::ADDRESS_RSSISTART;
        self.hardware.write(SHORTS, shorts);
    }

    pub(super) fn listen(&mut self, now: Instant, into: Buffer) -> bool {
        if self.take(DISABLED) {
            self.hardware.write(CHENCLR, START_TO_RXEN);
            self.phase = Phase::Idle;
            if self.take(END) && self.take(CRCOK) {
                self.handle_frame(now, into);
            }
            return true;
        }
        let due = self.due(now);
        let stays =
            matches!(self.mode, Mode::Receive { channel, .. } if self.tuned == Some(channel));
        let interrupts = self.job.is_some_and(|job| self.is_due(now, &job));
        let leaves = interrupts || !stays || due.is_none();
        if self.hardware.read(ADDRESS) != 0 {
            return self.receive(now, into, leaves);
        }
        if leaves {
            disable(&mut self.hardware);
            return self.wait(now + CHECK);
        }
        let check = now + CHECK_IDLE;
        let next = match (self.mode, self.job.and_then(|job| self.begin_of(&job))) {
            (_, Some(begin)) => check.min(begin - super::AHEAD),
            (Mode::Receive { until, .. }, None) => check.min(until),
            (Mode::Off, None) => check,
        };
        self.wait(next)
    }

    /// Receives a frame whose SFD has been found, to its end unless something else is due and the
    /// filter rejects the frame. A transmission that waited for the end of another node's frame
    /// would assess the channel in the turnaround before its acknowledgement, find it idle, and
    /// collide with the acknowledgement.
    fn receive(&mut self, now: Instant, into: Buffer, leaves: bool) -> bool {
        if leaves {
            let known = self.captured(now, CC_ADDRESS) + DESTINATION_TIME;
            if now < known {
                return self.wait(known);
            }
            if self.accept(into, DESTINATION_END).is_none() {
                disable(&mut self.hardware);
            }
        }
        self.wait(now + CHECK)
    }

    /// Applies the filter to the first octets of a frame in a buffer, which has at least `len`.
    fn accept(&mut self, from: Buffer, len: usize) -> Option<Accepted> {
        let mut head = [0; HEAD];
        let octets = head.get_mut(..len.min(HEAD)).unwrap_or_default();
        self.hardware.unload(from, 0, octets);
        Head::new(octets).accept(&self.filter)
    }

    /// Handles a frame with a correct FCS in a buffer.
    fn handle_frame(&mut self, now: Instant, from: Buffer) {
        let psdu_len = self.hardware.psdu_len(from);
        let len = psdu_len.saturating_sub(FCS_LEN as u8);
        let Some(accepted) = self.accept(from, len.into()) else { return };
        let end = self.captured(now, CC_END) - END_LATENCY;
        let acked = accepted.ack.is_some_and(|sequence| {
            let pending = accepted.request.is_some_and(|short| self.is_pending(short));
            self.begin_ack(now, end, sequence, pending)
        });
        let mut lqi = [0];
        self.hardware.unload(from, len.into(), &mut lqi);
        let [lqi] = lqi;
        let event = Event::Received {
            sfd: end - OCTET - OCTET * u32::from(psdu_len),
            len,
            rssi_dbm: (self.hardware.read(RSSISAMPLE) as u8 as i8).saturating_neg(),
            lqi: lqi.saturating_mul(LQI_FACTOR),
            acked,
        };
        let received = Received { from, event, len };
        if let Some(free) = self.received.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(received);
        }
    }

    fn is_pending(&self, short: Option<u16>) -> bool {
        short.is_some_and(|short| self.pending.contains(&Some(short)))
    }

    /// Arms an acknowledgement so that it begins 12 symbols after the frame; returns false if it is
    /// too late for that.
    fn begin_ack(&mut self, now: Instant, end: Instant, sequence: u8, pending: bool) -> bool {
        let start = end + TURNAROUND - RAMP;
        if start <= now {
            return false;
        }
        let octets = [2 | u8::from(pending) << 4, 0, sequence];
        let psdu_len = ACK_LEN.saturating_add(FCS_LEN as u8);
        self.hardware.load(Buffer::Acknowledgement, psdu_len, &octets);
        let address = self.hardware.address(Buffer::Acknowledgement);
        self.hardware.write(PACKETPTR, address);
        self.hardware.write(SHORTS, short::TXREADY_START | short::PHYEND_DISABLE);
        self.hardware.write(ADDRESS, 0);
        let start = self.ticks(now, start);
        self.hardware.write(CC_START, start);
        self.hardware.write(CHENSET, START_TO_TXEN);
        self.phase = Phase::Acknowledging;
        true
    }

    pub(super) fn acknowledge(&mut self, now: Instant) -> bool {
        if !self.take(DISABLED) {
            return self.wait(now + CHECK);
        }
        self.hardware.write(CHENCLR, START_TO_TXEN);
        self.spaced_until = self.captured(now, CC_END) + SIFS;
        self.phase = Phase::Idle;
        true
    }
}
