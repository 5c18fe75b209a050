//! Complete frames: address filter, automatic acknowledgement, readout.

use super::air::pair;
use super::{Core, SHR_US};
use crate::frame::Psdu;
use crate::ledger::{Cause, cause_of};
use crate::profile::LinkQuality;
use crate::quality::by_correlation;
use crate::queue::{Class, next_generation};
use crate::radio::{Lock, Mode, Phase};
use crate::secure;
use crate::stats::Fate;
use kinglet::wire::ieee802154::{Address, Frame};
use kinglet_radio::{
    ACK_PSDU, Ack, Event, FCS_LEN, LINGER, OCTET, SourceFilter, TURNAROUND, air_time,
};
use kinglet_time::Instant;

/// Received strength above the sensitivity, in dB, at which a link quality derived from the
/// strength reaches 255.
const LQI_SPAN_DB: f32 = 40.0;

/// Eight symbols, over which correlation-based radios average.
const CORRELATED_US: u64 = 4 * OCTET.as_micros();

impl Core {
    /// Handles the end of the frame that `node` was locked on, with a correct FCS.
    pub(super) fn receive(&mut self, node: usize, lock: Lock) {
        if self.radios[node].socket.is_some() {
            return self.receive_by_chip(node, lock);
        }
        let from = lock.from as usize;
        let header = self.radios[from].sending().header;
        let radio = &mut self.radios[node];
        if radio.phase == Phase::AckWait {
            let expected = radio.outgoing.header.sequence;
            if header.is_ack() && header.sequence == expected && expected.is_some() {
                self.fate(node, lock.from, Fate::Delivered, lock.mine);
                let ack = Ack::Received { frame_pending: header.frame_pending };
                return self.finish_acked(node, ack);
            }
            return self.fate(node, lock.from, Fate::AwaitingAck, lock.mine);
        }
        let (accepted, unicast) = header.accepted_by(&radio.filter);
        let wanted = self.is_from(from, lock.source_filter);
        let radio = &mut self.radios[node];
        if radio.auto_ack && !(accepted && wanted) {
            self.fate(node, lock.from, Fate::Filtered, lock.mine);
            return self.resume(node);
        }
        if !radio.has_room() {
            self.fate(node, lock.from, Fate::Readout, lock.mine);
            return self.resume(node);
        }
        self.fate(node, lock.from, Fate::Delivered, lock.mine);
        if lock.mine {
            let radio = &mut self.radios[node];
            radio.received_for = cause_of(&header, Cause::Receive);
            radio.meter.was_for(radio.received_for);
        }
        let ack = header.sequence.filter(|_| unicast && header.wants_ack());
        self.end_await(node, ack.is_some() && !header.frame_pending);
        self.take_in(node, lock, ack.is_some());
        match ack.filter(|_| self.radios[node].auto_ack) {
            Some(sequence) => self.set_ack_state(node, sequence, header.data_request_of),
            None => self.settle(node),
        }
    }

    /// True if `from` sends one of these frames.
    fn is_from(&self, from: usize, source_filter: SourceFilter) -> bool {
        let frame = Frame::parse(self.radios[from].sending().frame());
        let short = |frame: Frame<'_>| match frame.src() {
            Address::Short(short) => Some(short),
            _ => None,
        };
        source_filter == SourceFilter::Any
            || frame.is_ok_and(|frame| source_filter.accepts(short(frame)))
    }

    /// Ends `Command::Await`, whose frame has been received; the radio may continue to listen for
    /// its repetition.
    fn end_await(&mut self, node: usize, may_repeat: bool) {
        let now = self.now;
        let radio = &mut self.radios[node];
        let Mode::Receive { from, channel, awaits: awaits @ Some(_), .. } = radio.mode else {
            return;
        };
        let until = now + (TURNAROUND + air_time(ACK_PSDU) + LINGER).as_micros();
        radio.mode = match may_repeat {
            true => Mode::Receive { from, until, channel, awaits },
            false => Mode::Off,
        };
        self.arm_schedule(node);
    }

    /// Reception has ended without a frame for this node: starts a waiting command.
    pub(super) fn resume(&mut self, node: usize) {
        if self.radios[node].socket.is_some() {
            return self.lose_at_chip(node);
        }
        if self.radios[node].phase == Phase::Listen {
            self.settle(node);
        }
    }

    /// Copies the frame and reports it, at once or after its readout.
    fn take_in(&mut self, node: usize, lock: Lock, wants_ack: bool) {
        let lqi = self.link_quality(node, &lock);
        let (sender, radio) = pair(&mut self.radios, lock.from as usize, node);
        let mut waits = radio.received.is_some().then(|| Box::new(Psdu::EMPTY));
        let psdu = waits.as_deref_mut().unwrap_or(&mut radio.incoming);
        psdu.clone_from(sender.sending());
        if let Some(key) = &radio.key
            && !secure::open(key, psdu.frame_mut())
        {
            return;
        }
        let psdu_len = psdu.psdu_len();
        let event = Event::Received {
            sfd: Instant::from_micros(sender.air.start + SHR_US),
            len: (psdu_len - FCS_LEN) as u8,
            rssi_dbm: lock.dbm as i8,
            lqi,
            acked: wants_ack && radio.auto_ack,
        };
        radio.behind = waits.map(|psdu| (event, psdu));
        if radio.behind.is_none() {
            self.read_out(node, event);
        }
    }

    /// Link quality that the radio of `node` reports for the frame that it was locked on.
    fn link_quality(&mut self, node: usize, lock: &Lock) -> u8 {
        let radio = &mut self.radios[node];
        match radio.profile.link_quality {
            LinkQuality::Strength => {
                ((lock.dbm - radio.sensitivity_dbm) / LQI_SPAN_DB * 255.0) as u8
            }
            LinkQuality::Correlation => {
                let from = lock.begin + SHR_US;
                let span = from..from + CORRELATED_US;
                let strangers_mw = self.interference.mean_mw(node, radio.channel, span);
                let others_mw = self.noise_mw + f64::from(lock.others_mw) + strangers_mw;
                by_correlation(lock.mw / others_mw, &mut radio.correlation_random)
            }
        }
    }

    /// Begins to copy the frame in `incoming` to the host, which gets the event when the copy is
    /// complete.
    fn read_out(&mut self, node: usize, event: Event) {
        let now = self.now;
        let radio = &mut self.radios[node];
        let readout = radio.profile.readout_time(radio.incoming.psdu_len()).as_micros();
        if readout == 0 {
            return self.report(node, event);
        }
        radio.received = Some(event);
        let begin = if radio.profile.single_buffer() { now } else { radio.bus_free(now) };
        radio.readout_until = begin + readout;
        radio.readout_generation = next_generation(radio.readout_generation);
        let (until, generation) = (radio.readout_until, radio.readout_generation);
        self.queue.push(until, Class::Readout, node as u32, generation);
        self.observer.readout(now, until, node);
    }

    /// The readout of the received frame is complete.
    pub(super) fn on_readout(&mut self, node: usize) {
        let radio = &mut self.radios[node];
        match (radio.received.take(), &radio.behind) {
            (Some(event), None) => self.report(node, event),
            (Some(event), Some(_)) => {
                // The next frame follows after the device has received this one.
                let generation = radio.readout_generation;
                self.queue.push(self.now, Class::Readout, node as u32, generation);
                self.report(node, event);
            }
            (None, _) => {
                let Some((event, psdu)) = radio.behind.take() else { return };
                radio.incoming = *psdu;
                self.read_out(node, event);
            }
        }
        if self.radios[node].phase == Phase::Readout {
            // The timer of the phase expires at the same instant and is stale after this.
            self.settle(node);
        }
    }
}
