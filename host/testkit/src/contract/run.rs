//! One random call sequence.

use super::{Subject, Violation};
use kinglet_time::{Duration, Instant};
use rand_core::Rng;
use rand_pcg::Pcg32;

/// Number and name of a law.
pub(super) type Name = (u8, &'static str);

pub(super) struct Run<S> {
    pub(super) subject: S,
    pub(super) random: Pcg32,
    pub(super) now: Instant,
    pub(super) step: u32,
    seed: u64,
    law: Name,
}

impl<S: Subject> Run<S> {
    pub(super) fn new(law: Name, seed: u64) -> Self {
        Run {
            subject: S::fresh(seed),
            // Not the layer's own random numbers: any fixed other stream.
            random: Pcg32::new(seed, 0x6b69_6e67_6c65_7421),
            now: Instant::from_secs(1),
            step: 0,
            seed,
            law,
        }
    }

    /// Lets time pass, handles the deadline if it is due, makes one input and drains. Returns all
    /// that was observed.
    pub(super) fn step(&mut self) -> Result<Vec<String>, Violation> {
        self.step += 1;
        self.pass_time();
        let mut seen = vec![format!("at {:?}", self.now)];
        if self.subject.deadline().is_some_and(|at| at <= self.now) {
            self.subject.handle_deadline(self.now);
            seen.extend(self.drain()?);
        }
        seen.push(self.subject.operate(self.now, &mut self.random));
        seen.extend(self.drain()?);
        seen.push(format!("deadline {:?}", self.subject.deadline()));
        Ok(seen)
    }

    /// Lets no time pass, a little, exactly until the deadline, or well past it.
    fn pass_time(&mut self) {
        let dice = self.random.next_u32();
        let amount = u64::from(self.random.next_u32());
        let deadline = self.subject.deadline().filter(|&at| at > self.now);
        self.now = match (dice % 8, deadline) {
            (0..=2, Some(at)) => at,
            (3, Some(at)) => at + Duration::from_micros(amount % 2_000_000),
            (4, _) => self.now,
            (5, _) => self.now + Duration::from_micros(amount % 2_000_000),
            _ => self.now + Duration::from_micros(amount % 3_000),
        };
    }

    /// Returns all present outputs.
    pub(super) fn drain(&mut self) -> Result<Vec<String>, Violation> {
        let mut outputs = Vec::new();
        while let Some(output) = self.subject.poll(self.now) {
            outputs.push(output);
            if outputs.len() > S::DRAIN_BOUND {
                let what = format!("more than {} outputs, the last: {outputs:?}", S::DRAIN_BOUND);
                return Err(Violation { law: 2, name: "draining ends", ..self.violation(what) });
            }
        }
        Ok(outputs)
    }

    /// Returns a violation unless `kept`.
    pub(super) fn demand(
        &self,
        kept: bool,
        what: impl FnOnce() -> String,
    ) -> Result<(), Violation> {
        if kept { Ok(()) } else { Err(self.violation(what())) }
    }

    pub(super) fn violation(&self, what: String) -> Violation {
        let (law, name) = self.law;
        Violation { law, name, seed: self.seed, step: self.step, what }
    }
}
