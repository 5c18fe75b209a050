//! Random scenarios: commands, frames and faults in any order.

use crate::bench::{Answer, Bench, Fault, Setup};
use crate::frame::{Frame, Header, Kind, To};
use crate::kit::{ACKNOWLEDGED, FILTER, Kit, Outgoing, PEER, RECOVERY};
use crate::oracle::Heard;
use crate::rules::Violation;
use kinglet_radio::{Access, Capabilities, Channel, CsmaParams, Driver, Filter, Start};
use kinglet_time::Duration;

/// Steps of a scenario.
const STEPS: u32 = 40;

/// Runs the random scenario of `seed` on a bench with a radio that has just been switched on.
///
/// # Errors
/// The first broken rule. The same seed gives the same scenario if the bench is deterministic.
pub fn scenario<B: Bench>(bench: &mut B, setup: Setup, seed: u64) -> Result<(), Violation> {
    // Half of all hosts serve their radio at once.
    let lag = match seed % 4 {
        0 | 1 => Duration::ZERO,
        2 => Duration::from_micros(200),
        _ => Duration::from_millis(1),
    };
    let mut kit = Kit::new(bench, setup, seed, lag);
    kit.set_filter(FILTER);
    let channel = kit.random_channel();
    kit.receive(channel);
    let first = kit.random.up_to(Duration::from_millis(5));
    kit.run_for(first);
    for _ in 0..STEPS {
        kit.step();
        kit.verdict()?;
    }
    kit.finish();
    kit.run_for(Duration::from_millis(20));
    kit.verdict()
}

impl<B: Bench> Kit<'_, B> {
    /// Returns true in one of `n` cases.
    fn one_in(&mut self, n: u32) -> bool {
        self.random.next_u32().checked_rem(n) == Some(0)
    }

    fn random_channel(&mut self) -> Channel {
        let number = if self.one_in(2) { 11 } else { 26 };
        Channel::new(number).unwrap_or_default()
    }

    fn step(&mut self) {
        match self.random.bits(5) {
            0..8 => self.let_peer_send(),
            8..17 => self.transmit_something(),
            17 | 18 => {
                let channel = self.random_channel();
                self.receive(channel);
            }
            19 => self.off(),
            20..23 => {
                let pending = self.one_in(2);
                self.set_pending(pending);
            }
            23 => self.change_filter(),
            24 => self.reset_something(),
            25 => self.disturb_something(),
            26 => self.break_something(),
            27 => {
                self.finish();
                self.off();
            }
            _ => {}
        }
        let pause = if self.one_in(3) { 9_000 } else { 1_500 };
        let pause = self.random.up_to(Duration::from_micros(pause));
        self.run_for(pause);
    }

    /// Lets the other end send one to three frames.
    fn let_peer_send(&mut self) {
        let channel = self.random_channel();
        let mut sfd = self.now() + Duration::from_micros(300);
        for _ in 0..=self.random.bits(1) {
            sfd += self.random.up_to(Duration::from_millis(4));
            let frame = self.random_frame();
            let intact = !self.one_in(8);
            let rssi_dbm = i8::saturating_sub(-40, self.random.bits(5) as i8);
            let heard = Heard::new(sfd, channel, frame, intact, rssi_dbm);
            sfd = heard.end() + Duration::from_micros(400);
            self.put_signal(heard);
        }
    }

    fn random_frame(&mut self) -> Frame {
        let filter = self.oracle.filter;
        let kind = match self.random.bits(2) {
            0 => Kind::DataRequest,
            1 if self.one_in(2) => Kind::Command,
            _ => Kind::Data,
        };
        let to = match self.random.bits(3) {
            0 => To::Short(0xffff),
            1 => To::Short(filter.short ^ 1),
            2 => To::Extended(filter.extended),
            3 => To::Extended(FILTER.extended),
            4 => To::Short(FILTER.short),
            _ => To::Short(filter.short),
        };
        let header = Header {
            kind,
            ack: !self.one_in(3),
            sequence: self.random.bits(8) as u8,
            pan: if self.one_in(8) { filter.pan_id ^ 1 } else { filter.pan_id },
            to,
            from: PEER,
            is_compressed: !self.one_in(4),
            key_mode: self.one_in(2).then(|| self.random.bits(2) as u8),
        };
        let len = self.random_len();
        Frame::new(&header, len, &mut self.random)
    }

    fn random_len(&mut self) -> usize {
        match self.one_in(4) {
            true => kinglet_radio::MAX_FRAME,
            false => self.random.bits(7) as usize,
        }
    }

    fn transmit_something(&mut self) {
        let outgoing = self.random_outgoing();
        self.transmit(Start::Asap, outgoing);
        self.prepare_something();
    }

    /// Lets a radio prepare a frame that is submitted afterwards, or is not.
    fn prepare_something(&mut self) {
        if !self.bench.radio().can_prepare() || self.one_in(2) {
            return;
        }
        let outgoing = self.random_outgoing();
        let pause = self.random.up_to(Duration::from_millis(4));
        self.run_for(pause);
        self.prepare(outgoing);
        if !self.one_in(3) {
            self.finish();
        }
        if !self.one_in(3) {
            self.transmit_prepared();
        }
    }

    fn random_outgoing(&mut self) -> Outgoing {
        if self.oracle.job.is_none() {
            let answer = match self.random.bits(2) {
                0 => None,
                1 => Some(Answer { pending: true, ..ACKNOWLEDGED }),
                2 => Some(ACKNOWLEDGED),
                _ => Some(Answer { late: Duration::from_millis(1), ..ACKNOWLEDGED }),
            };
            self.set_answer(answer);
        }
        let access = match self.random.bits(2) {
            0 => Access::Immediate,
            1 | 2 if self.has(Capabilities::CSMA) => Access::Csma(CsmaParams {
                min_be: self.random.bits(2) as u8,
                max_be: 5,
                max_backoffs: self.random.bits(2) as u8,
            }),
            _ => Access::Cca,
        };
        Outgoing {
            access,
            channel: self.random_channel(),
            power_dbm: (self.random.bits(5) as i8).saturating_sub(22),
            ack: self.has(Capabilities::ACK_WAIT) && !self.one_in(3),
            len: self.random_len(),
        }
    }

    fn change_filter(&mut self) {
        let filter = match self.one_in(2) {
            true => FILTER,
            false => Filter {
                pan_id: 0x0a0b,
                short: self.random.bits(12) as u16,
                extended: [0x1a, 0, 0, 0, 0, 0, 7, self.random.bits(8) as u8],
            },
        };
        self.set_filter(filter);
    }

    fn reset_something(&mut self) {
        self.reset();
        if !self.one_in(3) {
            let channel = self.random_channel();
            self.receive(channel);
        }
    }

    fn disturb_something(&mut self) {
        let channel = self.random_channel();
        let from = self.now() + self.random.up_to(Duration::from_millis(1));
        let until = from + self.random.up_to(Duration::from_millis(20));
        self.disturb(channel, from, until);
    }

    /// Causes a fault while the radio is idle, and lets a transmission notice it.
    fn break_something(&mut self) {
        self.finish();
        let fault = match self.random.bits(2) {
            0 => Fault::LostInterrupt,
            1 => Fault::Transfer,
            2 => Fault::Stuck,
            _ => Fault::PowerLoss,
        };
        let excused = self.now() + Duration::from_secs(2);
        if self.cause(fault, excused) {
            let pause = self.random.up_to(Duration::from_millis(5));
            self.run_for(pause);
            self.transmit_something();
            self.finish();
            self.oracle.end_excuse(self.bench.now() + RECOVERY);
            self.run_for(RECOVERY);
        }
    }
}
