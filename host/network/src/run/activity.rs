//! Activity of radios and flashes over time.

use super::{Activity, ActivityKind};
use crate::build::Network;
use kinglet::time::Instant;
use kinglet_sim::timeline::{Interval, Kind, Timeline};

/// Largest number of intervals of a timeline. Half a second of four busy radios has some hundred,
/// and two minutes of the office ten thousand; a page with this number is still fast.
const MAX_INTERVALS: usize = 100_000;

/// Starts to record the activity of radios and flashes between two instants.
pub(super) fn begin(world: &mut Network, (from, until): (Instant, Instant)) {
    let timeline = Timeline::new(from, until, MAX_INTERVALS);
    for node in 0..world.nodes() {
        world.with_device(node, |station, _| {
            if let Some(part) = station.flash_mut() {
                part.set_timeline(Some(timeline.clone()));
            }
        });
    }
    world.set_timeline(Some(timeline));
}

/// Ends the recording and returns it.
pub(super) fn end(world: &mut Network) -> Option<Timeline> {
    for node in 0..world.nodes() {
        let beside = world
            .with_device(node, |station, _| station.flash_mut().and_then(|p| p.set_timeline(None)));
        if let Some(beside) = beside {
            world.join_timeline(node, &beside);
        }
    }
    world.set_timeline(None)
}

/// The part of a recording that a report shows.
pub(super) fn shown(timeline: &Timeline) -> Vec<Activity> {
    let full = timeline.full_at_us().unwrap_or(u64::MAX);
    let intervals = timeline.intervals().iter().filter(|interval| interval.start_us < full);
    intervals.filter_map(activity).collect()
}

fn activity(interval: &Interval) -> Option<Activity> {
    let (kind, count) = match interval.kind {
        Kind::Send => (ActivityKind::Transmit, None),
        Kind::SendAck => (ActivityKind::Ack, None),
        Kind::Receive => (ActivityKind::Receive, None),
        Kind::Collision => (ActivityKind::Collision, None),
        Kind::On => (ActivityKind::On, None),
        Kind::SenseBusy => (ActivityKind::Busy, None),
        Kind::Sample { busy: false } => (ActivityKind::Sample, None),
        Kind::Sample { busy: true } => (ActivityKind::Notice, None),
        Kind::Strobe { times, unheard: false } => (ActivityKind::Strobe, Some(times.into())),
        Kind::Strobe { times, unheard: true } => (ActivityKind::Unheard, Some(times.into())),
        Kind::Burst { frames } => (ActivityKind::Burst, Some(frames)),
        Kind::FlashRead => (ActivityKind::FlashRead, None),
        Kind::FlashWrite => (ActivityKind::FlashWrite, None),
        Kind::FlashErase => (ActivityKind::FlashErase, None),
        _ => return None,
    };
    let Interval { node, start_us, end_us, .. } = *interval;
    Some(Activity { node, from_us: start_us, to_us: end_us, kind, count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{NodeResult, Options, RunResult, run};
    use kinglet_scenario::Scenario;
    use std::path::Path;

    /// Bursts of datagrams over relays that sleep.
    const PLAN: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/bf-burst-length/plan.toml");

    #[test]
    fn wake_ups_strobes_bursts_and_flash_are_those_that_are_counted() {
        let mut scenario = Scenario::from_file(Path::new(PLAN)).expect("a scenario");
        scenario.duration_s = 12.0;
        let options = Options { timeline_s: Some((0.0, 12.0)), ..Options::default() };
        let result = run(&scenario, 1, &options).expect("it can be simulated");
        assert_eq!(result.timeline_full_at_s, None);
        for node in &result.nodes {
            assert_shown(&result, node);
        }
        // Node 0 sends no strobes: it is the destination of the datagrams.
        let samples = count(&result, 0, ActivityKind::Sample);
        assert!((50..=100).contains(&samples), "{samples} in 12 s at 8 Hz, but for bursts");
    }

    fn count(result: &RunResult, node: u32, kind: ActivityKind) -> usize {
        result.timeline.iter().filter(|a| (a.node, a.kind) == (node, kind)).count()
    }

    fn assert_shown(result: &RunResult, node: &NodeResult) {
        let of = |kind| result.timeline.iter().filter(move |a| (a.node, a.kind) == (node.id, kind));
        let (heard, unheard) = (of(ActivityKind::Strobe), of(ActivityKind::Unheard));
        let strobes = node.strobes.expect("all strobe");
        let all = heard.clone().count() + unheard.clone().count();
        // One may be under way, and those that found the channel busy have sent no frame.
        let expected = (strobes.all - strobes.busy) as usize;
        assert!(all == expected || all + 1 == expected, "{all} of {expected}: {node:?}");
        assert_eq!(unheard.clone().count(), strobes.failed as usize, "{node:?}");
        let once = heard.clone().filter(|a| a.count == Some(1)).count();
        assert_eq!(once, strobes.acked_at_first as usize, "{node:?}");
        let sent: u32 = heard.chain(unheard).filter_map(|a| a.count).sum();
        assert!(u64::from(sent) <= node.frames_sent, "{node:?}");
        let in_bursts: u32 = of(ActivityKind::Burst).filter_map(|a| a.count).sum();
        assert!(in_bursts >= strobes.in_bursts / 2 && in_bursts <= strobes.all, "{node:?}");
        let flash = node.flash.expect("each has one");
        assert!(of(ActivityKind::FlashRead).count() >= flash.read as usize, "{node:?}");
        assert!(of(ActivityKind::FlashWrite).count() >= flash.written as usize, "{node:?}");
        // The next sector is erased ahead of time.
        let erased = of(ActivityKind::FlashErase).count() as u32;
        assert!((flash.erased..=flash.erased + 1).contains(&erased), "{node:?}");
    }
}
