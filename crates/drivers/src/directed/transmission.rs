//! Transmission: access, acknowledgements, schedules, resets.

use super::{CHANNEL, OWN, PLAIN, us};
use crate::bench::{Answer, Bench, Setup};
use crate::frame::Kind;
use crate::kit::{ACKNOWLEDGED, Kit, Outgoing};
use crate::rules::Rule;
use kinglet_radio::{Access, Ack, Capabilities, Channel, CsmaParams, Event, MAX_FRAME, Start};
use kinglet_time::Duration;

impl<B: Bench> Kit<'_, B> {
    pub(super) fn channels_and_powers(&mut self, setup: Setup) {
        for number in 11..=26 {
            let channel = Channel::new(number).unwrap_or_default();
            self.send(Outgoing { channel, ..PLAIN });
            self.run_for(us(2_000));
            self.hear_data(OWN);
            self.receive(channel);
            self.pause();
            let frame = self.frame_from_peer(Kind::Data, true, OWN, 20);
            self.put(us(400), channel, frame);
            self.pause();
            // Nothing of another channel is received.
            let other = Channel::new(37_u8.saturating_sub(number)).unwrap_or_default();
            let frame = self.frame_from_peer(Kind::Data, true, OWN, 20);
            self.put(us(400), other, frame);
            self.pause();
            self.receive(CHANNEL);
            self.pause();
        }
        let steps = setup.power_steps_dbm.iter().copied();
        for power_dbm in steps.chain([i8::MIN, i8::MAX]) {
            self.send(Outgoing { power_dbm, ..PLAIN });
            self.run_for(us(2_000));
        }
    }

    pub(super) fn outstanding(&mut self) {
        for at in [0, 100, 500, 1_500, 3_000] {
            self.transmit(Start::Asap, Outgoing { len: MAX_FRAME, ..PLAIN });
            self.run_for(us(at));
            self.transmit(Start::Asap, Outgoing { len: 20, power_dbm: 3, ..PLAIN });
            self.set_pending(true);
            self.finish();
            self.run_for(us(2_000));
            self.set_pending(false);
            self.hear_data(OWN);
        }
        // A change of mode waits for the end of the transmission.
        self.transmit(Start::Asap, Outgoing { len: MAX_FRAME, ..PLAIN });
        self.run_for(us(1_000));
        self.off();
        self.finish();
        self.pause();
        self.receive(CHANNEL);
        self.pause();
        self.hear_data(OWN);
    }

    pub(super) fn busy_channel(&mut self) {
        let csma = Access::Csma(CsmaParams { min_be: 1, max_be: 3, max_backoffs: 2 });
        for access in [Access::Immediate, Access::Cca, csma] {
            if access == csma && !self.has(Capabilities::CSMA) {
                continue;
            }
            let from = self.now();
            self.disturb(CHANNEL, from, from + us(40_000));
            let event = self.send(Outgoing { access, ..PLAIN });
            let busy = event == Some(Event::ChannelBusy);
            let expected = access != Access::Immediate;
            self.require(busy == expected, Rule::Access, "a busy channel is not respected");
            self.run_until(from + us(42_000));
            let event = self.send(Outgoing { access, ..PLAIN });
            let sent = matches!(event, Some(Event::Transmitted { .. }));
            self.require(sent, Rule::Access, "nothing was sent on a clear channel");
            self.pause();
        }
        // The channel becomes clear during CSMA-CA.
        if self.has(Capabilities::CSMA) {
            let params = CsmaParams { min_be: 5, max_be: 8, max_backoffs: 5 };
            let from = self.now();
            self.disturb(CHANNEL, from, from + us(2_000));
            let event = self.send(Outgoing { access: Access::Csma(params), ..PLAIN });
            let sent = matches!(event, Some(Event::Transmitted { .. }));
            self.require(sent, Rule::Access, "CSMA-CA gave up too early");
        }
    }

    fn measure_backoff(&mut self, exponent: u8) -> (u64, u64) {
        let params = CsmaParams { min_be: exponent, max_be: exponent.max(3), max_backoffs: 4 };
        let (mut shortest, mut longest) = (u64::MAX, 0);
        for _ in 0..32 {
            let from = self.now();
            let event = self.send(Outgoing { access: Access::Csma(params), ..PLAIN });
            if let Some(Event::Transmitted { sfd, .. }) = event {
                let time = (sfd - from).as_micros();
                (shortest, longest) = (shortest.min(time), longest.max(time));
            }
            self.pause();
        }
        (shortest, longest)
    }

    /// Returns the longest time that CSMA-CA takes on a busy channel.
    fn measure_busy(&mut self, params: CsmaParams) -> Duration {
        let mut longest = Duration::ZERO;
        for _ in 0..12 {
            let from = self.now();
            self.disturb(CHANNEL, from, from + us(60_000));
            self.send(Outgoing { access: Access::Csma(params), ..PLAIN });
            longest = longest.max(self.now() - from);
            self.run_until(from + us(62_000));
        }
        longest
    }

    pub(super) fn backoff(&mut self) {
        if !self.has(Capabilities::CSMA) {
            return;
        }
        let (_, longest) = self.measure_backoff(0);
        self.require(longest < 1_500, Rule::Access, "a backoff although the exponent is zero");
        // 31 periods of 320 us at most; all of 32 draws below eight periods are one in 10^19.
        let (shortest, longest) = self.measure_backoff(5);
        let random = shortest.saturating_add(2_000) < longest && longest < 11_500;
        self.require(random, Rule::Access, "the backoff does not follow its exponent");
        // The exponent grows with each busy assessment: 6 assessments take 9 ms on average, and at
        // most 14 ms if it does not grow beyond 3.
        let longest = self.measure_busy(CsmaParams { min_be: 0, max_be: 5, max_backoffs: 5 });
        self.require(longest > us(6_000), Rule::Access, "the backoff exponent does not grow");
        let longest = self.measure_busy(CsmaParams { min_be: 3, max_be: 3, max_backoffs: 5 });
        self.require(longest < us(18_000), Rule::Access, "the backoff exponent has no limit");
        // A chip may begin with the same random number whenever it wakes.
        self.off();
        self.pause();
        self.pause();
        let (shortest, longest) = self.measure_backoff(5);
        let random = shortest.saturating_add(2_000) < longest;
        self.require(random, Rule::Access, "the backoff after sleep is not random");
    }

    pub(super) fn awaited_acks(&mut self) {
        if !self.awaits() {
            return;
        }
        for answer in [
            None,
            Some(ACKNOWLEDGED),
            Some(Answer { pending: true, ..ACKNOWLEDGED }),
            Some(Answer { late: us(2_000), ..ACKNOWLEDGED }),
            Some(Answer { is_strange: true, ..ACKNOWLEDGED }),
            Some(Answer { intact: false, ..ACKNOWLEDGED }),
            Some(Answer { late: us(250), ..ACKNOWLEDGED }),
            Some(Answer { late: us(250), is_second: true, ..ACKNOWLEDGED }),
        ] {
            self.set_answer(answer);
            for ack in [true, false] {
                for len in [12, MAX_FRAME] {
                    self.send(Outgoing { ack, len, ..PLAIN });
                    self.run_for(us(4_000));
                }
            }
        }
        // Another frame instead of the acknowledgement.
        self.set_answer(None);
        self.transmit(Start::Asap, Outgoing { ack: true, len: 20, ..PLAIN });
        let frame = self.frame_from_peer(Kind::Data, true, OWN, 12);
        self.put(us(1_350), CHANNEL, frame);
        let event = self.finish();
        let missing = matches!(event, Some(Event::Transmitted { ack: Ack::Missing, .. }));
        self.require(missing, Rule::AckResult, "another frame counts as the acknowledgement");
    }

    pub(super) fn returns(&mut self) {
        self.set_answer(Some(Answer { pending: true, ..ACKNOWLEDGED }));
        for access in [Access::Immediate, Access::Cca] {
            let ack = self.awaits();
            self.send(Outgoing { ack, access, len: 12, ..PLAIN });
            // The frame that the bit announced.
            let before = self.received;
            let frame = self.frame_from_peer(Kind::Data, true, OWN, 60);
            self.put(us(1_300), CHANNEL, frame);
            self.pause();
            let back = self.received > before;
            self.require(back, Rule::Return, "the radio does not listen after a transmission");
            // The channel was busy.
            let from = self.now();
            self.disturb(CHANNEL, from, from + us(1_000));
            self.send(Outgoing { access: Access::Cca, ..PLAIN });
            self.run_for(us(2_000));
            self.hear_data(OWN);
        }
    }

    pub(super) fn in_off(&mut self) {
        self.off();
        self.pause();
        self.pause();
        for _ in 0..3 {
            self.hear_data(OWN);
            self.set_answer(Some(ACKNOWLEDGED));
            self.send(Outgoing { ack: self.awaits(), ..PLAIN });
            self.pause();
            self.pause();
        }
        self.require(self.received == 0, Rule::NothingElse, "a frame was received while off");
    }

    pub(super) fn resets(&mut self) {
        for at in (0..7_000).step_by(200) {
            self.set_answer(Some(ACKNOWLEDGED));
            let ack = self.awaits();
            self.set_pending(true);
            self.transmit(Start::Asap, Outgoing { ack, access: Access::Cca, ..PLAIN });
            self.run_for(us(at));
            self.reset();
            self.last = None;
            self.pause();
            self.require(self.last.is_none(), Rule::Reset, "an event of an earlier command");
            self.receive(CHANNEL);
            self.pause();
            let frame = self.frame_from_peer(Kind::DataRequest, true, OWN, 20);
            self.hear(frame);
            self.send(PLAIN);
            self.run_for(us(2_000));
        }
        // Without a further command the mode is `Off`.
        self.reset();
        self.pause();
        self.pause();
        self.hear_data(OWN);
    }

    /// Schedules in the future, too near, and in the past, from both modes. A radio that does not
    /// declare schedules may miss all of them.
    pub(super) fn schedules(&mut self) {
        let is_scheduled = self.has(Capabilities::SCHEDULED);
        for access in [Access::Immediate, Access::Cca] {
            for ahead in [0, 50, 200, 500, 1_000, 2_000, 5_000, 20_000] {
                for is_off in [false, true] {
                    if is_off {
                        self.off()
                    } else {
                        self.receive(CHANNEL)
                    }
                    self.pause();
                    self.pause();
                    let start = Start::At(self.now() + us(ahead));
                    self.last = None;
                    self.transmit(start, Outgoing { access, ..PLAIN });
                    let event = self.finish();
                    let missed = event == Some(Event::Missed);
                    let met = !missed || !is_scheduled || ahead < 5_000;
                    self.require(met, Rule::Schedule, "a schedule that could be met was missed");
                    let past = missed || ahead > 0;
                    self.require(past, Rule::Schedule, "a frame of the past was not missed");
                    self.pause();
                    // What started the frame does not start anything else.
                    self.hear_data(OWN);
                }
            }
        }
        // The event of the missed frame is one of an earlier command.
        let now = self.now();
        self.transmit(Start::At(now - us(1_000)), PLAIN);
        self.reset();
        self.last = None;
        self.pause();
        self.require(self.last.is_none(), Rule::Reset, "an event of an earlier command");
    }
}
