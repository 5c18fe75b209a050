//! Directed scenarios: a rule, or a few that belong together, in the situation that tests them.

use crate::bench::{Answer, Bench, Fault};
use crate::frame::{Frame, Kind, To};
use crate::kit::{FILTER, Kit, Outgoing, RECOVERY, Setup};
use crate::rules::{Rule, Violation};
use core::fmt;
use kinglet_radio::{
    Access, Ack, Capabilities, Channel, CsmaParams, Event, Filter, MAX_FRAME, SIFS, Start,
};
use kinglet_time::{Duration, Instant};

/// A directed scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Frames of all lengths in both directions.
    Lengths,
    /// Every channel, every power.
    ChannelsAndPowers,
    /// A second transmission, and commands while one is outstanding.
    Outstanding,
    /// Channel access on a busy and on a clear channel.
    BusyChannel,
    /// Random backoff.
    Backoff,
    /// Acknowledgements that come, come late, or do not come.
    AwaitedAcks,
    /// Frame-pending bits.
    PendingBits,
    /// Addresses that pass the filter and that do not, before and after a change.
    Filtering,
    /// The filter after resets and after sleep.
    FilterStays,
    /// Commands during a reception.
    DuringReception,
    /// A transmission that waits for a reception and its acknowledgement.
    AfterAcknowledgement,
    /// The mode `Off`.
    Off,
    /// The mode after a transmission.
    Return,
    /// More frames than the host reads.
    Overrun,
    /// A transmission while a received frame has not been read.
    UnreadFrame,
    /// Resets at any time of a transmission.
    Resets,
    /// Lost interrupts.
    LostInterrupts,
    /// Transfers that fail.
    Transfers,
    /// A chip that stops.
    Stuck,
    /// A supply that drops.
    PowerLoss,
}

impl Check {
    /// All of them.
    pub const ALL: [Check; 20] = [
        Check::Lengths,
        Check::ChannelsAndPowers,
        Check::Outstanding,
        Check::BusyChannel,
        Check::Backoff,
        Check::AwaitedAcks,
        Check::PendingBits,
        Check::Filtering,
        Check::FilterStays,
        Check::DuringReception,
        Check::AfterAcknowledgement,
        Check::Off,
        Check::Return,
        Check::Overrun,
        Check::UnreadFrame,
        Check::Resets,
        Check::LostInterrupts,
        Check::Transfers,
        Check::Stuck,
        Check::PowerLoss,
    ];

    /// Runs the scenario on a bench with a radio that has just been switched on. What the radio
    /// does not declare, or the bench cannot do, is left out.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn run<B: Bench>(self, bench: &mut B, setup: Setup) -> Result<(), Violation> {
        let mut kit = Kit::new(bench, setup, self as u64, Duration::ZERO);
        kit.set_filter(FILTER);
        kit.receive(CHANNEL);
        kit.pause();
        match self {
            Check::Lengths => kit.lengths(),
            Check::ChannelsAndPowers => kit.channels_and_powers(setup),
            Check::Outstanding => kit.outstanding(),
            Check::BusyChannel => kit.busy_channel(),
            Check::Backoff => kit.backoff(),
            Check::AwaitedAcks => kit.awaited_acks(),
            Check::PendingBits => kit.pending_bits(),
            Check::Filtering => kit.filtering(),
            Check::FilterStays => kit.filter_stays(),
            Check::DuringReception => kit.during_reception(),
            Check::AfterAcknowledgement => kit.after_acknowledgement(),
            Check::Off => kit.in_off(),
            Check::Return => kit.returns(),
            Check::Overrun => kit.overrun(),
            Check::UnreadFrame => kit.unread_frame(),
            Check::Resets => kit.resets(),
            Check::LostInterrupts => kit.lost_interrupts(),
            Check::Transfers => kit.faults(Fault::Transfer),
            Check::Stuck => kit.faults(Fault::Stuck),
            Check::PowerLoss => kit.faults(Fault::PowerLoss),
        }
        kit.finish();
        kit.pause();
        kit.pause();
        kit.verdict()
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

const CHANNEL: Channel = match Channel::new(15) {
    Some(channel) => channel,
    None => panic!("channel 15 exists"),
};
/// Time in which every change has had its effect.
const PAUSE: Duration = Duration::from_millis(12);
const OWN: To = To::Short(FILTER.short);
const ACKNOWLEDGED: Answer = Answer { pending: false, late: Duration::ZERO };
const PLAIN: Outgoing =
    Outgoing { access: Access::Immediate, channel: CHANNEL, power_dbm: 0, ack: false, len: 40 };

const fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

impl<B: Bench> Kit<'_, B> {
    fn pause(&mut self) {
        self.run_for(PAUSE);
    }

    /// Lets the other end send a frame, which the oracle expects if the radio listens, and waits
    /// until it has been handled.
    fn hear(&mut self, frame: Frame) {
        self.put(us(400), CHANNEL, frame);
        self.pause();
    }

    fn hear_data(&mut self, to: To) {
        let frame = self.frame_from_peer(Kind::Data, true, to, 30);
        self.hear(frame);
    }

    fn awaits(&self) -> bool {
        self.has(Capabilities::ACK_WAIT)
    }

    fn lengths(&mut self) {
        for len in 12..=MAX_FRAME {
            let frame = self.frame_from_peer(Kind::Data, len % 2 == 0, OWN, len);
            self.hear(frame);
            self.send(Outgoing { len, ..PLAIN });
            self.run_for(us(2_000));
        }
        self.require(self.received == 114, Rule::Reception, "not each length was received");
    }

    fn channels_and_powers(&mut self, setup: Setup) {
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

    fn outstanding(&mut self) {
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

    fn busy_channel(&mut self) {
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

    /// Sends with a backoff exponent, and returns the shortest and the longest time from the
    /// command to the SFD in microseconds.
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
            self.run_for(us(2_000));
        }
        (shortest, longest)
    }

    fn backoff(&mut self) {
        if !self.has(Capabilities::CSMA) {
            return;
        }
        let (_, longest) = self.measure_backoff(0);
        self.require(longest < 1_500, Rule::Access, "a backoff although the exponent is zero");
        // 31 periods of 320 us at most; all of 32 draws below eight periods are one in 10^19.
        let (shortest, longest) = self.measure_backoff(5);
        let random = shortest.saturating_add(2_000) < longest && longest < 11_500;
        self.require(random, Rule::Access, "the backoff does not follow its exponent");
    }

    fn awaited_acks(&mut self) {
        if !self.awaits() {
            return;
        }
        for answer in [
            None,
            Some(ACKNOWLEDGED),
            Some(Answer { pending: true, late: Duration::ZERO }),
            Some(Answer { pending: false, late: us(2_000) }),
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

    fn pending_bits(&mut self) {
        for pending in [false, true, true, false, true] {
            self.set_pending(pending);
            self.pause();
            for kind in [Kind::DataRequest, Kind::Data, Kind::Command] {
                let frame = self.frame_from_peer(kind, true, OWN, 20);
                self.hear(frame);
            }
            self.send(PLAIN);
            self.run_for(us(2_000));
        }
        // It was set, and is set again during sleep.
        for pending in [false, true] {
            self.off();
            self.pause();
            self.pause();
            self.set_pending(pending);
            self.pause();
            self.receive(CHANNEL);
            self.pause();
            let frame = self.frame_from_peer(Kind::DataRequest, true, OWN, 20);
            self.hear(frame);
        }
        // At once: during a reception, before the acknowledgement.
        for pending in [false, true] {
            let frame = self.frame_from_peer(Kind::DataRequest, true, OWN, 20);
            self.put(us(400), CHANNEL, frame);
            self.run_for(us(500));
            self.set_pending(pending);
            self.pause();
        }
        self.reset();
        self.receive(CHANNEL);
        self.pause();
        let frame = self.frame_from_peer(Kind::DataRequest, true, OWN, 20);
        self.hear(frame);
    }

    /// Lets the other end send to several addresses.
    fn hear_addresses(&mut self) {
        let Filter { short, extended, .. } = self.oracle.filter;
        let mut stranger = extended;
        stranger.reverse();
        let addresses = [
            To::Short(short),
            To::Short(short ^ 0x0100),
            To::Short(short ^ 1),
            To::Extended(extended),
            To::Extended(stranger),
            To::Short(0xffff),
            To::Short(0xfffe),
        ];
        for to in addresses {
            self.hear_data(to);
        }
    }

    fn filtering(&mut self) {
        self.hear_addresses();
        let changed = Filter { pan_id: 0x1234, short: 0x0777, extended: [2, 3, 4, 5, 6, 7, 8, 9] };
        let nameless = Filter { short: 0xfffe, ..changed };
        for filter in [changed, nameless, FILTER] {
            // Frames of the former PAN do not pass.
            let before = self.frame_from_peer(Kind::Data, true, To::Short(0xffff), 20);
            self.set_filter(filter);
            self.pause();
            self.hear(before);
            self.hear_addresses();
        }
        // A change during a transmission.
        self.transmit(Start::Asap, Outgoing { len: MAX_FRAME, ..PLAIN });
        self.run_for(us(800));
        self.set_filter(changed);
        self.finish();
        self.pause();
        self.hear_addresses();
    }

    fn filter_stays(&mut self) {
        self.reset();
        self.receive(CHANNEL);
        self.pause();
        self.hear_addresses();
        self.off();
        self.pause();
        self.pause();
        let asleep = Filter { pan_id: 0x2222, short: 0x0888, ..FILTER };
        self.set_filter(asleep);
        self.pause();
        self.receive(CHANNEL);
        self.pause();
        self.hear_addresses();
        self.reset();
        self.pause();
        self.receive(CHANNEL);
        self.pause();
        self.hear_addresses();
    }

    fn during_reception(&mut self) {
        for case in 0..6 {
            let ack = case % 2 == 0;
            let frame = self.frame_from_peer(Kind::Data, ack, OWN, 100);
            self.put(us(400), CHANNEL, frame);
            self.run_for(us(400 + 24 * 32 + 200));
            match case {
                0 | 1 => {
                    self.transmit(Start::Asap, PLAIN);
                }
                2 | 3 => self.off(),
                _ => self.receive(Channel::default()),
            }
            self.finish();
            self.pause();
            self.pause();
            self.receive(CHANNEL);
            self.pause();
        }
        self.require(self.received == 6, Rule::ReceptionFirst, "a reception was not finished");
    }

    fn after_acknowledgement(&mut self) {
        // From the middle of the frame until after its acknowledgement and the spacing.
        for at in (1_200..4_600).step_by(50) {
            let frame = self.frame_from_peer(Kind::Data, true, OWN, 90);
            let end = self.put(us(400), CHANNEL, frame);
            self.run_for(us(at));
            self.transmit(Start::Asap, Outgoing { len: 20, ..PLAIN });
            self.finish();
            self.run_until(end + SIFS + us(3_000));
            self.pause();
        }
    }

    fn in_off(&mut self) {
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

    fn returns(&mut self) {
        self.set_answer(Some(Answer { pending: true, late: Duration::ZERO }));
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

    fn overrun(&mut self) {
        for round in 0..4 {
            // The host is busy: nothing is read before the third frame has ended.
            self.oracle.lag = us(14_000);
            let mut end = Instant::ZERO;
            for index in 0..3 {
                let frame = self.frame_from_peer(Kind::Data, true, OWN, 40);
                end = self.put(us(400) + us(4_000) * index, CHANNEL, frame);
            }
            self.bench.pass(end + us(1_000) + us(1) * round);
            self.pause();
            self.pause();
            self.pause();
            self.oracle.lag = Duration::ZERO;
            self.hear_data(OWN);
        }
        self.require(self.received >= 8, Rule::Reception, "frames were lost for good");
    }

    fn unread_frame(&mut self) {
        for late in [0, 10, 20, 100, 700, 2_000] {
            let frame = self.frame_from_peer(Kind::Data, true, OWN, 60);
            let end = self.put(us(400), CHANNEL, frame);
            self.bench.pass(end + us(late));
            self.transmit(Start::Asap, PLAIN);
            self.finish();
            self.pause();
        }
        self.require(self.received == 6, Rule::Reception, "an unread frame was overwritten");
    }

    fn resets(&mut self) {
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

    fn lost_interrupts(&mut self) {
        for _ in 0..4 {
            let before = self.received;
            let until = self.now() + RECOVERY;
            if !self.cause(Fault::LostInterrupt, until) {
                return;
            }
            let frame = self.frame_from_peer(Kind::Data, true, OWN, 30);
            self.put(us(400), CHANNEL, frame);
            self.run_until(until + us(10_000));
            let found = self.received == before.saturating_add(1);
            self.require(found, Rule::Recovery, "a frame was lost with its interrupt");
            self.hear_data(OWN);
            let until = self.now() + RECOVERY;
            self.cause(Fault::LostInterrupt, until);
            let event = self.send(PLAIN);
            let sent = matches!(event, Some(Event::Transmitted { .. }));
            self.require(sent, Rule::Recovery, "an event was lost with its interrupt");
            self.run_until(until + us(10_000));
            self.hear_data(OWN);
            self.require(self.received > before, Rule::Recovery, "nothing is received any more");
        }
    }

    /// Causes a fault at several times of a transmission, and requires that the radio works after
    /// that.
    fn faults(&mut self, fault: Fault) {
        for at in [0, 60, 150, 400, 900, 1_400, 2_000, 5_000] {
            let long = self.now() + Duration::from_secs(2);
            self.transmit(Start::Asap, PLAIN);
            self.run_for(us(at));
            if !self.cause(fault, long) {
                return;
            }
            self.finish();
            // A fault that nothing has noticed yet.
            self.send(PLAIN);
            let now = self.now();
            self.oracle.end_excuse(now + RECOVERY);
            self.run_for(RECOVERY + us(1_000));
            self.set_pending(at % 200 == 0);
            self.run_for(us(2_000));
            let before = self.received;
            let frame = self.frame_from_peer(Kind::DataRequest, true, OWN, 30);
            self.hear(frame);
            self.hear_addresses();
            let works = self.received > before;
            self.require(works, Rule::Recovery, "nothing is received after a fault");
            let event = self.send(PLAIN);
            let sent = matches!(event, Some(Event::Transmitted { .. }));
            self.require(sent, Rule::Recovery, "nothing is sent after a fault");
            self.pause();
        }
    }
}
