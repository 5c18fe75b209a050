//! Reception: lengths, filter, frame-pending bits, overrun, windows.

use super::{CHANNEL, OWN, PLAIN, us};
use crate::bench::Bench;
use crate::frame::{Frame, Kind, To};
use crate::kit::{FILTER, Kit, Outgoing};
use crate::rules::Rule;
use kinglet_radio::{
    Access, Capabilities, Channel, Event, Filter, MAX_FRAME, OCTET, SIFS, Start, TURNAROUND,
};
use kinglet_time::{Duration, Instant};

impl<B: Bench> Kit<'_, B> {
    pub(super) fn lengths(&mut self) {
        for len in 12..=MAX_FRAME {
            let frame = self.frame_from_peer(Kind::Data, len % 2 == 0, OWN, len);
            self.hear(frame);
            self.send(Outgoing { len, ..PLAIN });
            self.run_for(us(2_000));
        }
        self.require(self.received == 114, Rule::Reception, "not each length was received");
    }

    pub(super) fn pending_bits(&mut self) {
        for pending in [false, true, true, false, true] {
            self.set_pending(pending);
            self.pause();
            for kind in [Kind::DataRequest, Kind::Data, Kind::Command] {
                let frame = self.frame_from_peer(kind, true, OWN, 20);
                self.hear(frame);
                for mode in 0..4 {
                    let frame = self.secured_from_peer(kind, true, OWN, 40, Some(mode));
                    self.hear(frame);
                }
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

    pub(super) fn hear_addresses(&mut self) {
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

    pub(super) fn filtering(&mut self) {
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

    pub(super) fn filter_stays(&mut self) {
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

    pub(super) fn during_reception(&mut self) {
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

    pub(super) fn after_acknowledgement(&mut self) {
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

    /// Submits frames during another node's frame. The channel is idle in the turnaround after it,
    /// and then carries its acknowledgement.
    pub(super) fn after_another(&mut self) {
        let Filter { short, .. } = self.oracle.filter;
        // From the end of the destination until the assessment takes place before the end.
        for at in (1_200..3_000).step_by(50) {
            let frame = self.frame_from_peer(Kind::Data, true, To::Short(short ^ 1), 90);
            let end = self.put(us(400), CHANNEL, frame);
            let ack = Frame::from(&[2, 0, frame.sequence()]);
            let answered = end + TURNAROUND + OCTET * 5 - self.now();
            let ack_end = self.put(answered, CHANNEL, ack);
            self.run_for(us(at));
            let outgoing = Outgoing { access: Access::Cca, len: 20, ..PLAIN };
            let sfd = match self.send(outgoing) {
                Some(Event::Transmitted { sfd, .. }) => sfd,
                _ => Instant::MAX,
            };
            let collides = (end..ack_end).contains(&(sfd - OCTET * 5));
            self.require(!collides, Rule::Turnaround, "a frame met the acknowledgement of another");
            self.run_until(end + us(6_000));
        }
    }

    pub(super) fn overrun(&mut self) {
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
        // A frame that begins just before the previous one is read, or meanwhile.
        for offset in (1_200..1_800).step_by(3) {
            let frame = self.frame_from_peer(Kind::Data, true, OWN, MAX_FRAME);
            let end = self.put(us(400), CHANNEL, frame);
            let next = self.frame_from_peer(Kind::Data, true, OWN, 20);
            self.put(end + us(1_600) - self.now(), CHANNEL, next);
            self.oracle.lag = us(3_000);
            self.bench.pass(end + us(offset));
            self.pause();
            self.oracle.lag = Duration::ZERO;
            self.pause();
        }
    }

    pub(super) fn unread_frame(&mut self) {
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

    /// Listens between two instants, several times.
    pub(super) fn windows(&mut self) {
        for round in 0..6 {
            // A transmission that began at a time of its own may leave something armed.
            if self.has(Capabilities::SCHEDULED) {
                let access = if round % 2 == 0 { Access::Immediate } else { Access::Cca };
                let start = Start::At(self.now() + us(8_000));
                self.transmit(start, Outgoing { access, ..PLAIN });
                self.finish();
            }
            self.off();
            self.pause();
            self.pause();
            let from = self.now() + us(10_000);
            let until = from + us(20_000);
            self.receive_between(CHANNEL, from, until);
            // One frame just before or soon after the beginning, one later, one after the end.
            let early = if round % 3 == 0 { 9_900 } else { 10_400 };
            for delay in [early, 18_000, 45_000] {
                let frame = self.frame_from_peer(Kind::Data, true, OWN, 30);
                self.put(us(delay), CHANNEL, frame);
            }
            let before = self.received;
            self.run_until(until + us(40_000));
            let listened = self.received > before;
            self.require(listened, Rule::Schedule, "nothing was received in a window");
        }
    }

    /// Listens to nothing, and is off.
    pub(super) fn quiet(&mut self) {
        for is_off in [false, true] {
            if is_off {
                self.off();
                self.pause();
                self.pause();
            }
            let before = self.calls;
            self.run_for(Duration::from_secs(2));
            let calls = self.calls.saturating_sub(before);
            self.require(calls <= IDLE_CALLS, Rule::Calls, "an idle radio asks for many calls");
            self.require(!is_off || calls == 0, Rule::Calls, "a radio that is off asks for calls");
        }
    }
}

/// Calls in two seconds without frames: one in ten milliseconds.
const IDLE_CALLS: u32 = 200;
