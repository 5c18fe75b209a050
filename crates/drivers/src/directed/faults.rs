//! Faults of the chip and of the lines to it.

use super::{CHANNEL, OWN, PLAIN, us};
use crate::bench::{Bench, Fault};
use crate::frame::Kind;
use crate::kit::{Kit, RECOVERY};
use crate::rules::Rule;
use kinglet_radio::{Event, Start};
use kinglet_time::Duration;

impl<B: Bench> Kit<'_, B> {
    pub(super) fn lost_interrupts(&mut self) {
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

    pub(super) fn faults(&mut self, fault: Fault) {
        // A listening radio notices it by itself, unless the chip keeps its state.
        if fault != Fault::Stuck {
            let until = self.now() + RECOVERY;
            if !self.cause(fault, until) {
                return;
            }
            self.run_until(until + us(1_000));
            let before = self.received;
            self.hear_data(OWN);
            let works = self.received > before;
            self.require(works, Rule::Recovery, "a fault during reception was not noticed");
        }
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
