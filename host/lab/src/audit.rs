//! Checks the trace of a run against the rules of the medium: interframe spacing, turnaround,
//! backoff grid, and the result of each clear channel assessment. The audience of each frame is
//! computed independently from the scenario, so that the simulator does not check itself.

use kinglet::mac::{Csma, TinyOs};
use kinglet::time::Instant;
use kinglet::wire::ieee802154::Address;
use kinglet_network::run::{self, RunError};
use kinglet_radio::{
    ACK_NOTICED, ACK_PSDU, ACK_WAIT, CCA, SIFS, SYMBOL, TURNAROUND, UNIT_BACKOFF, air_time,
    spacing_after,
};
use kinglet_scenario::simulated::radio_of;
use kinglet_scenario::{
    Cca, EitherBackoff, FlowKind, HostCost, NodeId, Propagation, RadioProfile, Role, Scenario,
};
use kinglet_sim::trace::{Event, Opening, To, Tracer, What};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Time for which a recipient awaits the next frame of a burst, in microseconds. A later frame
/// needs a channel assessment first (Contiki, `contikimac.c`: `INTER_PACKET_DEADLINE`, 1/32 s).
const BURST_WAIT_US: u64 = 31_250;

/// Number of checks, and the violations found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Frames whose spacing and turnaround were checked.
    pub frames: u64,
    /// Acknowledgements whose turnaround was checked.
    pub acks: u64,
    /// Assessments that were recomputed.
    pub assessments: u64,
    /// Backoffs after a busy assessment whose length was checked.
    pub backoffs: u64,
    /// Number of violations.
    pub violations: u64,
    /// Description of the first violation.
    pub first: Option<String>,
}

/// Simulates `scenario` with `seed` for `seconds` and checks every transmission. PIP slots follow
/// other rules, so PIP nodes are not checked.
///
/// # Errors
/// [`RunError`]
pub fn audit(scenario: &Scenario, seed: u64, seconds: f64) -> Result<Audit, RunError> {
    if scenario.flows.iter().any(|flow| matches!(flow.kind, FlowKind::Pip(_))) {
        return Ok(Audit::default());
    }
    let (mut world, _) = run::prepare(scenario, seed)?;
    let auditor = Arc::new(Mutex::new(Auditor::new(scenario)));
    let own = Arc::clone(&auditor);
    let sink = move |event: Event| {
        own.lock().unwrap_or_else(PoisonError::into_inner).event(&event);
    };
    world.set_trace(Some(Tracer::new(Opening::default(), Box::new(sink))));
    world.run_until(Instant::from_micros((seconds.min(scenario.duration_s) * 1e6) as u64));
    world.set_trace(None);
    let auditor = auditor.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(auditor.found.clone())
}

/// A frame or acknowledgement on the air.
#[derive(Clone, Copy)]
struct OnAir {
    node: usize,
    /// Short address of its destination, if it has one.
    to: Option<Address>,
    begin: u64,
    end: u64,
    power_dbm: f64,
}

/// State of a node.
#[derive(Clone, Copy, Default)]
struct Station {
    /// Octets of its last frame.
    psdu: usize,
    /// Earliest beginning of its next frame.
    spaced_until: u64,
    /// End of its last assessment, and true if that found the channel clear.
    assessed: Option<(u64, bool)>,
    /// Consecutive busy assessments of this attempt.
    busy: u32,
    /// True if another event came between the assessments, so that neither the time nor the count
    /// determines the next backoff.
    interrupted: bool,
    /// Transmit power of its last frame and of its acknowledgements.
    power_dbm: f64,
    /// Last frame: its end, its frame pending bit, and its outcome.
    sent_until: u64,
    said_more: bool,
    outcome: Outcome,
}

/// Outcome that the radio reported for its last frame.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Outcome {
    /// No report yet: a strobe may continue.
    Open,
    Acked,
    #[default]
    Other,
}

struct Auditor {
    scenario: Scenario,
    stations: Vec<Station>,
    /// Frames of the last few milliseconds.
    air: VecDeque<OnAir>,
    turnaround_us: u64,
    threshold_mw: f64,
    /// True if assessments can be recomputed from the scenario alone.
    can_assess: bool,
    /// True if the MAC times backoffs without interruption.
    can_time_backoffs: bool,
    found: Audit,
}

fn milliwatts(dbm: f64) -> f64 {
    10f64.powf(dbm / 10.0)
}

impl Auditor {
    fn new(scenario: &Scenario) -> Self {
        let radio = radio_of(scenario);
        let shadowed = matches!(scenario.medium.propagation,
            Propagation::PathLoss { shadowing_db, .. } if shadowing_db > 0.0);
        let energy = scenario.radio.cca == Cca::Energy;
        let one = scenario.wake.is_none_or(|wake| wake.channels == 1);
        let awake =
            scenario.wake.is_none() && scenario.nodes.iter().all(|place| place.role != Role::Leaf);
        // Behind a slow bus a frame also waits for the readout of received frames, after its
        // backoff.
        let waits = scenario.radio.profile == RadioProfile::Cc2420;
        let exact = scenario.radio.drift_ppm == 0 && radio_is_exact(scenario) && !waits;
        let by_radio = EitherBackoff::EXPONENTIAL == scenario.backoff;
        let is_by_mac = scenario.mac.csma == Csma::Software || !by_radio;
        Auditor {
            stations: vec![Station::default(); scenario.nodes.len()],
            air: VecDeque::new(),
            turnaround_us: radio.cca_to_air_us,
            threshold_mw: milliwatts(radio.cca.threshold_dbm),
            can_assess: energy && !shadowed && one && scenario.interference.is_empty(),
            can_time_backoffs: awake && exact && is_by_mac,
            scenario: scenario.clone(),
            found: Audit::default(),
        }
    }

    fn event(&mut self, event: &Event) {
        let Some(node) = event.node else { return };
        let (now, node) = (event.at_us, node as usize);
        match &event.what {
            What::Air { is_ack: false, octets, to, pending, .. } => {
                let to = match *to {
                    To::Short(short) => Address::Short(short),
                    To::Extended(octets) => Address::Extended(octets),
                    To::Absent => Address::None,
                };
                let to = Some(to).filter(|to| to.is_unicast());
                self.frame(now, node, (*octets).into(), to, *pending);
            }
            What::Air { is_ack: true, .. } => self.ack(now, node),
            What::Load { .. } => self.loading(now, node),
            What::Assessed { busy } => self.assessment(now, node, *busy),
            What::Outcome { outcome, .. } => self.done(now, node, outcome),
            // A received frame for this node can delay its own transmission.
            What::Fate { mine: true, .. } => self.interrupt(node),
            _ => {}
        }
    }

    fn interrupt(&mut self, node: usize) {
        let station = &mut self.stations[node];
        station.interrupted |= station.busy > 0;
    }

    fn violation(&mut self, now: u64, node: usize, what: &str) {
        self.found.violations += 1;
        let at = || format!("{now} us, node {node}: {what}");
        self.found.first.get_or_insert_with(at);
    }

    fn put_on_air(&mut self, frame: OnAir) {
        // Assessments and turnarounds look back by at most a frame and an acknowledgement.
        while self.air.front().is_some_and(|old| old.end + 10_000 < frame.begin) {
            self.air.pop_front();
        }
        self.air.push_back(frame);
    }

    /// Returns true if a frame of `station` may begin without a channel assessment: it repeats the
    /// last one in a strobe, or it is the next one of a burst.
    fn may_follow(&self, now: u64, station: &Station) -> bool {
        let since = now.saturating_sub(station.sent_until);
        // From the time at which an acknowledgement would be noticed to the end of an
        // acknowledgement for another node, plus a turnaround.
        let noticed = (ACK_NOTICED + SYMBOL).as_micros()..=ACK_WAIT.as_micros();
        let repeats = since.checked_sub(self.turnaround_us).is_some_and(|us| noticed.contains(&us));
        let strobes = self.scenario.wake.is_some();
        strobes
            && match station.outcome {
                Outcome::Open => repeats,
                Outcome::Acked => station.said_more && since < BURST_WAIT_US,
                Outcome::Other => false,
            }
    }

    fn frame(&mut self, now: u64, node: usize, psdu: usize, to: Option<Address>, more: bool) {
        self.found.frames += 1;
        let station = self.stations[node];
        if now < station.spaced_until {
            let early = station.spaced_until - now;
            self.violation(now, node, &format!("a frame {early} us too early after the last one"));
        }
        let assessed = station.assessed == Some((now.saturating_sub(self.turnaround_us), true));
        if !assessed && !self.may_follow(now, &station) {
            self.violation(now, node, "a frame without a clear channel a turnaround before it");
        }
        let end = now + air_time(psdu).as_micros();
        let power_dbm = nearest(&self.scenario);
        let (sent_until, outcome) = (end, Outcome::Open);
        self.stations[node] =
            Station { psdu, power_dbm, sent_until, said_more: more, outcome, ..station };
        self.put_on_air(OnAir { node, to, begin: now, end, power_dbm });
    }

    fn ack(&mut self, now: u64, node: usize) {
        self.found.acks += 1;
        let own = self.scenario.addressing().link(node as NodeId);
        let asked =
            |frame: &OnAir| frame.to == Some(own) && frame.end + TURNAROUND.as_micros() == now;
        if !self.air.iter().any(asked) {
            self.violation(now, node, "an acknowledgement not 192 us after a frame");
        }
        let end = now + air_time(ACK_PSDU).as_micros();
        let station = &mut self.stations[node];
        station.spaced_until = station.spaced_until.max(end + SIFS.as_micros());
        let power_dbm = station.power_dbm;
        self.interrupt(node);
        self.put_on_air(OnAir { node, to: None, begin: now, end, power_dbm });
    }

    /// Handles the loading of a frame into the radio: its backoff is over.
    fn loading(&mut self, now: u64, node: usize) {
        let Station { assessed, busy, interrupted, .. } = self.stations[node];
        let (Some((since, false)), 1..) = (assessed, busy) else { return };
        if !self.can_time_backoffs || interrupted {
            return;
        }
        self.found.backoffs += 1;
        let mac = &self.scenario.mac.csma_params;
        let waited = now - since;
        if let EitherBackoff::TinyOs(_) = self.scenario.backoff {
            let symbol = SYMBOL.as_micros();
            if !waited.is_multiple_of(symbol) || !(20..=140).contains(&(waited / symbol)) {
                self.violation(now, node, &format!("a backoff of {waited} us after a busy one"));
            }
            return;
        }
        let exponent = (u32::from(mac.min_be) + busy).min(mac.max_be.into());
        let unit = UNIT_BACKOFF.as_micros();
        if !waited.is_multiple_of(unit) || waited / unit >= 1 << exponent {
            self.violation(now, node, &format!("a backoff of {waited} us with BE {exponent}"));
        }
    }

    fn assessment(&mut self, now: u64, node: usize, busy: bool) {
        let most = match self.scenario.backoff {
            EitherBackoff::Exponential(_) => self.scenario.mac.csma_params.max_backoffs,
            EitherBackoff::TinyOs(_) => TinyOs::MOST_BUSY - 1,
        };
        let most = u32::from(most);
        let station = &mut self.stations[node];
        station.assessed = Some((now, !busy));
        // One more ends the attempt, and the next attempt follows at once.
        station.busy = if busy && station.busy < most { station.busy + 1 } else { 0 };
        if !self.can_assess {
            return;
        }
        self.found.assessments += 1;
        let energy = self.energy(now, node);
        // Rounding depends on the order of the summands.
        let close = (energy / self.threshold_mw - 1.0).abs() < 1e-6;
        if !close && (energy >= self.threshold_mw) != busy {
            let found = if busy { "busy" } else { "clear" };
            self.violation(now, node, &format!("{found} with {energy:e} mW on the air"));
        }
    }

    /// Mean power at `node` over the assessment that ends now, in mW.
    fn energy(&self, now: u64, node: usize) -> f64 {
        let since = now - CCA.as_micros();
        let mut energy = 0.0;
        for frame in &self.air {
            let common = frame.end.min(now).saturating_sub(frame.begin.max(since));
            if common > 0 && frame.node != node {
                let dbm = self.strength(frame.node, node, frame.power_dbm);
                energy += dbm.map_or(0.0, milliwatts) * common as f64;
            }
        }
        energy / CCA.as_micros() as f64
    }

    /// Power that `to` receives from `from`, in dBm.
    fn strength(&self, from: usize, to: usize, power_dbm: f64) -> Option<f64> {
        if !self.scenario.medium.hidden_terminals {
            return Some(0.0);
        }
        let place = |node: usize| &self.scenario.nodes[node];
        let (a, b) = (place(from), place(to));
        let distance = (a.x_m - b.x_m).hypot(a.y_m - b.y_m);
        match &self.scenario.medium.propagation {
            Propagation::UnitDisc { range_m, rssi_dbm, .. } => {
                (distance <= *range_m).then_some(*rssi_dbm)
            }
            Propagation::LinkMatrix { links } => links
                .iter()
                .find(|l| {
                    let (x, y) = (l.from as usize, l.to as usize);
                    (x, y) == (from, to) || l.symmetric && (y, x) == (from, to)
                })
                .map(|l| l.rssi_dbm),
            Propagation::PathLoss { exponent, reference_loss_db, .. } => {
                let loss = reference_loss_db + 10.0 * exponent * distance.max(1.0).log10();
                Some(power_dbm - loss)
            }
        }
    }

    fn done(&mut self, now: u64, node: usize, result: &str) {
        let station = &mut self.stations[node];
        if result != "channel-busy" {
            station.interrupted = false;
        }
        station.outcome = if result == "acked" { Outcome::Acked } else { Outcome::Other };
        if matches!(result, "acked" | "sent") {
            // Frames of a burst follow after SIFS, in violation of the standard (decision 43).
            let bursts = self.scenario.wake.is_some() && result == "acked" && station.said_more;
            let spacing = if bursts { SIFS } else { spacing_after(station.psdu) };
            let until = now + spacing.as_micros();
            station.spaced_until = station.spaced_until.max(until);
        }
    }
}

/// Returns true if processing takes no time.
fn radio_is_exact(scenario: &Scenario) -> bool {
    scenario.radio.host_cost == HostCost::Micros(0)
}

/// Output power that the radio uses.
fn nearest(scenario: &Scenario) -> f64 {
    match scenario.medium.propagation {
        Propagation::PathLoss { .. } => {
            f64::from(radio_of(scenario).nearest_power(scenario.radio.tx_power_dbm as i8))
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_scenario::Flow;

    fn three_hops() -> Scenario {
        let mut scenario = Scenario::default().on_line(3, 8.0).as_tcplp();
        scenario.flows = vec![Flow::bulk(3, 0)];
        scenario
    }

    /// Audits these lines of a node 1 with a neighbour 0.
    fn verdict(profile: RadioProfile, lines: &[&str]) -> Audit {
        let mut scenario = Scenario::default().on_line(1, 8.0).as_tcplp();
        scenario.radio.profile = profile;
        let mut auditor = Auditor::new(&scenario);
        lines.iter().filter_map(|line| event(line)).for_each(|it| auditor.event(&it));
        auditor.found
    }

    #[test]
    fn a_transfer_over_three_hops_breaks_no_rule() {
        for profile in RadioProfile::CLOSED {
            let mut scenario = three_hops();
            scenario.radio.profile = profile;
            let found = audit(&scenario, 3, 20.0).expect("it can be simulated");
            assert_eq!(found.first, None);
            let seen = [found.frames, found.acks, found.assessments, found.backoffs];
            assert!(seen.into_iter().all(|count| count > 100), "{found:?}");
        }
    }

    /// Parses an event: seconds, node, event.
    fn event(line: &str) -> Option<Event> {
        let mut words = line.split(' ');
        let (s, us) = words.next()?.split_once('.')?;
        let at_us = s.parse::<u64>().ok()? * 1_000_000 + us.parse::<u64>().ok()?;
        let node = Some(words.next()?.parse().ok()?);
        let what = match (words.next()?, words.next()?) {
            ("air", kind) => What::Air {
                frame: 1,
                is_ack: kind == "ack",
                octets: words.next()?.parse().ok()?,
                sequence: Some(1),
                to: if kind == "ack" { To::Absent } else { To::Short(1) },
                pending: line.ends_with(" pending"),
                channel: 26,
                until_us: 0,
            },
            ("cca", result) => What::Assessed { busy: result == "busy" },
            ("load", _) => What::Load { until_us: 0 },
            ("done", "acked") => What::Outcome { frame: 1, packet: None, outcome: "acked" },
            ("done", _) => What::Outcome { frame: 1, packet: None, outcome: "no-ack" },
            _ => return None,
        };
        Some(Event { at_us, node, what })
    }

    const FRAME: &str = "air frame 127 to 1";

    #[test]
    fn a_frame_right_after_an_acknowledgement_is_seen() {
        let of = |next: u64| {
            let next =
                [format!("0.{:06} 1 cca clear", next - 192), format!("0.{next:06} 1 {FRAME}")];
            let begin = format!("0.010192 1 {FRAME}");
            let lines = [
                "0.010000 1 cca clear",
                &begin,
                "0.014640 0 air ack 5",
                "0.014992 1 done acked",
                &next[0],
                &next[1],
            ];
            verdict(RadioProfile::Standard, &lines)
        };
        assert_eq!(of(14_992 + 640).violations, 0);
        let early = of(14_992 + 639);
        assert!(early.violations == 1 && early.first.expect("one").contains("1 us too early"));
    }

    #[test]
    fn a_late_acknowledgement_and_a_wrong_turnaround_are_seen() {
        let frame = format!("0.010192 1 {FRAME}");
        let late = format!("0.010193 1 {FRAME}");
        let ack = |us: u64| format!("0.{us:06} 0 air ack 5");
        let of = |frame: &str, ack: &str| {
            verdict(RadioProfile::Standard, &["0.010000 1 cca clear", frame, ack]).violations
        };
        assert_eq!(of(&frame, &ack(10_192 + 4_256 + 192)), 0);
        assert_eq!(of(&frame, &ack(10_192 + 4_256 + 193)), 1);
        assert_eq!(of(&late, &ack(10_193 + 4_256 + 192)), 1);
    }

    #[test]
    fn a_wrong_assessment_and_a_broken_backoff_are_seen() {
        let frame = format!("0.010000 0 {FRAME}");
        let of = |assessed: &str, loaded: &str| {
            let lines = ["0.009808 0 cca clear", &frame, assessed, loaded];
            verdict(RadioProfile::Standard, &lines).violations
        };
        assert_eq!(of("0.011000 1 cca busy", "0.011640 1 load until 11640"), 0);
        assert_eq!(of("0.011000 1 cca clear", ""), 1);
        assert_eq!(of("0.011000 1 cca busy", "0.011641 1 load until 11641"), 1);
        // 16 units are more than BE 4 allows.
        assert_eq!(of("0.011000 1 cca busy", "0.016120 1 load until 16120"), 1);
    }

    #[test]
    fn only_a_repetition_or_a_burst_may_follow_without_an_assessment() {
        let of = |first: &str, outcome: &str, next_us: u64| {
            let mut scenario = Scenario::default().on_line(1, 8.0).as_tcplp();
            scenario.wake = Some(kinglet_scenario::Wake::DEFAULT);
            let mut auditor = Auditor::new(&scenario);
            let next = format!("0.{next_us:06} 1 {FRAME}");
            for line in ["0.010000 1 cca clear", first, outcome, &next] {
                event(line).into_iter().for_each(|it| auditor.event(&it));
            }
            auditor.found.violations
        };
        // It ends at 14,448 us; 368 us and a turnaround of 192 follow, at the most 864 and 192.
        let first = format!("0.010192 1 {FRAME}");
        let pending = format!("{first} pending");
        assert_eq!(of(&first, "", 14_448 + 560), 0);
        assert_eq!(of(&first, "", 14_448 + 559), 1);
        assert_eq!(of(&first, "", 14_448 + 1_057), 1);
        let acked = "0.014992 1 done acked";
        assert_eq!(of(&pending, acked, 20_000), 0);
        assert_eq!(of(&first, acked, 20_000), 1);
        assert_eq!(of(&pending, "0.014992 1 done no-ack", 20_000), 1);
        assert_eq!(of(&pending, acked, 14_448 + BURST_WAIT_US), 1);
    }
}
