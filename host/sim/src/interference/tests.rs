//! Patterns compared with closed forms, and receivers of sources.

use super::*;
use std::sync::Arc;

const NODE: Position = Position { x_m: 0.0, y_m: 0.0 };

const SECOND_US: u64 = 1_000_000;
/// A noise floor below which no level is negligible.
const ALL_DBM: f64 = -300.0;

fn around(pattern: Pattern, hours: [f64; 24]) -> Interferer {
    let position = Position { x_m: 1.0, y_m: 0.0 };
    let heard = Heard::Around { position, power_dbm: 26.77, path: PathLoss::INDOOR_NLOS };
    Interferer { heard, pattern, hours, within_us: 0..u64::MAX, channels: 11..=26 }
}

fn one(pattern: Pattern, hours: [f64; 24]) -> Interference {
    Interference::new(7, &[around(pattern, hours)], 0, &[NODE], -105.0)
}

/// A source that only node 1 of three receives.
fn by_one(pattern: Pattern, mean_dbm: f64, range_db: f64) -> Interferer {
    let heard = Heard::By { node: 1, mean_dbm, range_db };
    Interferer { heard, pattern, hours: [1.0; 24], within_us: 0..u64::MAX, channels: 11..=26 }
}

fn of(interferer: &Interferer, noise_floor_dbm: f64) -> Interference {
    Interference::new(7, std::slice::from_ref(interferer), 0, &[NODE; 3], noise_floor_dbm)
}

fn recorded() -> Pattern {
    let text = "0,-95\n300,-40\n1000,-95\n1700,-60\n2000,-91\n";
    Pattern::Trace(Arc::new(Trace::parse(text, None).expect("valid")))
}

/// Every source, with the difference between its busy and idle level.
fn all() -> [(Pattern, f64); 7] {
    [
        (WIFI_FILE, WIFI_RANGE_DB),
        (WIFI_VIDEO, WIFI_RANGE_DB),
        (BLUETOOTH, BLUETOOTH_RANGE_DB),
        (MICROWAVE, MICROWAVE_RANGE_DB),
        (Pattern::Saturated(Cell::saturated(25)), WIFI_RANGE_DB),
        (WIFI_BURSTS, WIFI_RANGE_DB),
        (recorded(), WIFI_RANGE_DB),
    ]
}

#[test]
fn bursts_of_a_source_are_those_that_the_medium_has() {
    for (pattern, _) in all() {
        let mut source = around(pattern.clone(), [0.5; 24]);
        source.within_us = 3 * SECOND_US + 17..40 * SECOND_US + 5;
        let mut medium = Interference::new(7, std::slice::from_ref(&source), 0, &[NODE], ALL_DBM);
        let mut found: Vec<(u64, u64)> = Vec::new();
        super::bursts(7, (0, &source), 0, &(0..60 * SECOND_US), |from, to| {
            match found.last_mut().filter(|last| last.1 == from) {
                Some(last) => last.1 = to,
                None => found.push((from, to)),
            }
        });
        assert!(found.len() > 10, "{pattern:?}: {found:?}");
        if matches!(pattern, Pattern::Trace(_)) {
            // The medium also includes the weak samples.
            assert!(found.iter().all(|(from, to)| to - from <= 700), "{found:?}");
        } else {
            assert_eq!(found, bursts(&mut medium, 60), "{pattern:?}");
        }
    }
}

/// Bursts within `seconds`, queried frame by frame.
fn bursts(interference: &mut Interference, seconds: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for start in (0..seconds * SECOND_US).step_by(4_000) {
        interference.stretches(0, Channel::default(), start..start + 4_000, |from, to, mw| {
            if mw > 0.0 {
                match all.last_mut().filter(|last| last.1 == from) {
                    Some(last) => last.1 = to,
                    None => all.push((from, to)),
                }
            }
        });
    }
    all
}

fn duty(bursts: &[(u64, u64)], seconds: u64) -> f64 {
    bursts.iter().map(|b| b.1 - b.0).sum::<u64>() as f64 / (seconds * SECOND_US) as f64
}

#[test]
fn duties_are_those_of_the_sources() {
    // Documented by each source: file transfer 9 %, video 1.2 %, Bluetooth 2/79 * 366/625, oven
    // 49.5 %.
    for (pattern, expected) in
        [(WIFI_FILE, 0.09), (WIFI_VIDEO, 0.012), (BLUETOOTH, 0.0148), (MICROWAVE, 0.495)]
    {
        let closed = pattern.duty();
        let found = duty(&bursts(&mut one(pattern, [1.0; 24]), 200), 200);
        assert!((found / expected - 1.0).abs() < 0.15, "{found} {expected}");
        // If a second begins within a gap, that gap is slightly too short.
        assert!((found / closed - 1.0).abs() < 0.05, "{found} {closed}");
    }
}

#[test]
fn gaps_have_the_published_quantiles() {
    for (pattern, ones, p90, p99, mean) in
        [(WIFI_FILE, 0.96, 1.0, 7.0, 1.2), (WIFI_VIDEO, 0.36, 17.0, 63.0, 9.1)]
    {
        let found = bursts(&mut one(pattern, [1.0; 24]), 300);
        // Gaps across the end of a second are truncated; they are few.
        let mut gaps: Vec<f64> =
            found.windows(2).map(|w| ((w[1].0 - w[0].1) as f64 / 1e3).round()).collect();
        gaps.sort_by(f64::total_cmp);
        let at = |share: f64| gaps[(share * gaps.len() as f64) as usize];
        let one_slot = gaps.iter().filter(|g| **g <= 1.0).count() as f64 / gaps.len() as f64;
        assert!((one_slot - ones).abs() < 0.03, "{one_slot}");
        assert!((at(0.9) - p90).abs() <= 1.0 && (at(0.985) - p99).abs() <= 2.0, "{p90} {p99}");
        let average = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((average / mean - 1.0).abs() < 0.12, "{average}");
    }
}

#[test]
fn answers_do_not_depend_on_what_was_asked_before() {
    let mut forwards = one(WIFI_VIDEO, [0.5; 24]);
    let mut once = one(WIFI_VIDEO, [0.5; 24]);
    bursts(&mut forwards, 30);
    let at = 17 * SECOND_US + 123;
    assert_eq!(
        forwards.mean_mw(0, Channel::default(), at..at + 90_000).to_bits(),
        once.mean_mw(0, Channel::default(), at..at + 90_000).to_bits()
    );
}

#[test]
fn an_hour_without_activity_is_silent_and_others_have_their_share() {
    let mut hours = [0.0; 24];
    hours[1] = 0.4;
    let mut interference = one(MICROWAVE, hours);
    let mut active = 0;
    for session in 0..720 {
        let at = session * SESSION_US;
        let energy = interference.mean_mw(0, Channel::default(), at..at + 40_000);
        assert!(energy == 0.0 || session >= 360, "session {session} is at night");
        active += u32::from(energy > 0.0);
    }
    assert!((100..190).contains(&active), "{active} of 360 sessions");
}

#[test]
fn power_follows_path_loss_and_what_is_negligible_is_nothing() {
    let far = Position { x_m: 2_001.0, y_m: 0.0 };
    let mut interference =
        Interference::new(7, &[around(MICROWAVE, [1.0; 24])], 0, &[NODE, far], -105.0);
    // The path loss at one metre is 26.77 dB: 1 mW while on.
    assert!((interference.mean_mw(0, Channel::default(), 0..20_000) - 0.495).abs() < 1e-6);
    assert_eq!(interference.mean_mw(1, Channel::default(), 0..20_000), 0.0);
}

#[test]
fn a_saturated_cell_is_as_busy_as_its_closed_form_says() {
    for stations in [1, 5, 25, 50] {
        let cell = Cell::saturated(stations);
        let found = bursts(&mut one(Pattern::Saturated(cell), [1.0; 24]), 60);
        let busy = duty(&found, 60);
        assert!((busy / cell.duty() - 1.0).abs() < 0.005, "{stations}: {busy} {}", cell.duty());
        let lengths: Vec<u64> = found.iter().map(|b| b.1 - b.0).collect();
        let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
        assert!((mean / cell.mean_busy_us() - 1.0).abs() < 0.01, "{stations}: {mean}");
        // Every gap lasts at least the shortest space, except at the boundaries of seconds.
        let short = found.windows(2).filter(|w| w[1].0 - w[0].1 < 50).count();
        assert!(short <= 60, "{short}");
    }
}

/// Lengths of the intervals of at least `quiet_us` without a burst, and of those between them.
fn periods(bursts: &[(u64, u64)], quiet_us: u64) -> (Vec<f64>, Vec<f64>) {
    let (mut on, mut off) = (Vec::new(), Vec::new());
    let mut begin = bursts[0].0;
    for pair in bursts.windows(2) {
        if pair[1].0 - pair[0].1 >= quiet_us {
            on.push((pair[0].1 - begin) as f64);
            off.push((pair[1].0 - pair[0].1) as f64);
            begin = pair[1].0;
        }
    }
    (on, off)
}

#[test]
fn a_transfer_pauses_for_up_to_half_a_second() {
    let Pattern::OnOff { on, off, frames } = WIFI_BURSTS else { panic!("on and off") };
    let found = bursts(&mut one(WIFI_BURSTS, [1.0; 24]), 600);
    let busy = duty(&found, 600);
    assert!((busy / WIFI_BURSTS.duty() - 1.0).abs() < 0.06, "{busy} {}", WIFI_BURSTS.duty());
    assert!(WIFI_BURSTS.duty() < frames.duty());
    // A gap between frames is at most 9 ms and the rest of a slot; it extends the pause.
    let (ons, offs) = periods(&found, 10_000);
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    assert!((mean(&ons) / on.mean_us() - 1.0).abs() < 0.1, "{} {}", mean(&ons), on.mean_us());
    assert!((mean(&offs) / off.mean_us() - 1.0).abs() < 0.1, "{} {}", mean(&offs), off.mean_us());
    let longest = offs.iter().copied().fold(0.0, f64::max);
    assert!((200_000.0..520_000.0).contains(&longest), "{longest}");
    // The tail decreases by 2^-shape when the length doubles, less the truncated part.
    let above = |us: f64| offs.iter().filter(|off| **off > us).count() as f64;
    let ratio = above(80_000.0) / above(40_000.0);
    assert!((ratio - 0.33).abs() < 0.06, "{ratio}");
}

#[test]
fn the_mean_level_over_minutes_is_what_was_asked_for() {
    for (pattern, range_db) in all() {
        for mean_dbm in [-118.0, -96.0, -46.0] {
            let mut interference = of(&by_one(pattern.clone(), mean_dbm, range_db), ALL_DBM);
            let (mut sum, mut busiest, mut idlest) = (0.0, -1e9_f64, 1e9_f64);
            let seconds = 180;
            for second in 0..seconds {
                let begin = second * SECOND_US;
                interference.stretches(
                    1,
                    Channel::default(),
                    begin..begin + SECOND_US,
                    |from, to, mw| {
                        let dbm = 10.0 * libm::log10(mw);
                        sum += dbm * (to - from) as f64;
                        (busiest, idlest) = (busiest.max(dbm), idlest.min(dbm));
                    },
                );
            }
            let mean = sum / (seconds * SECOND_US) as f64;
            assert!((mean - mean_dbm).abs() < 0.3, "{mean} instead of {mean_dbm}: {pattern:?}");
            let range = if let Pattern::Trace(_) = pattern { 55.0 } else { range_db };
            assert!((busiest - idlest - range).abs() < 1e-6, "{busiest} {idlest}");
        }
    }
}

#[test]
fn a_source_of_one_node_is_heard_by_no_other() {
    for (pattern, range_db) in all() {
        let mut interference = of(&by_one(pattern, -50.0, range_db), -105.0);
        let mean =
            |i: &mut Interference, node| i.mean_mw(node, Channel::default(), 0..5 * SECOND_US);
        assert!(mean(&mut interference, 1) > 1e-7);
        assert_eq!([0, 2].map(|node| mean(&mut interference, node)), [0.0; 2]);
    }
}

#[test]
fn a_source_is_heard_on_the_channels_that_it_covers() {
    for (pattern, range_db) in all() {
        let some = Interferer { channels: 16..=19, ..by_one(pattern, -50.0, range_db) };
        let mut interference = of(&some, -105.0);
        for number in 11..=26 {
            let channel = Channel::new(number).expect("of the band");
            let mean = interference.mean_mw(1, channel, 0..5 * SECOND_US);
            assert_eq!(mean > 1e-7, some.channels.contains(&number), "{number}: {mean}");
        }
    }
}

#[test]
fn nothing_is_heard_before_a_source_is_switched_on_and_after_it_is_off() {
    let within_us = 1_234_567..3_500_001;
    for (pattern, range_db) in all() {
        let always = by_one(pattern, -60.0, range_db);
        let limited = Interferer { within_us: within_us.clone(), ..always };
        let mut interference = of(&limited, ALL_DBM);
        let (mut begin, mut end, mut covered) = (u64::MAX, 0, 0);
        interference.stretches(1, Channel::default(), 0..5 * SECOND_US, |from, to, mw| {
            if mw > 0.0 {
                (begin, end) = (begin.min(from), end.max(to));
                covered += to - from;
            }
        });
        // The idle level is always present.
        assert_eq!((begin, end), (within_us.start, within_us.end));
        assert_eq!(covered, end - begin);
    }
}

#[test]
fn a_trace_begins_when_its_source_does() {
    let from = 2_000_777;
    let limited = Interferer { within_us: from..u64::MAX, ..by_one(recorded(), -60.0, 0.0) };
    let mut interference = of(&limited, ALL_DBM);
    let mut all = Vec::new();
    interference.stretches(1, Channel::default(), from - 100..from + 1_100, |begin, end, mw| {
        all.push((begin + 100 - from, end + 100 - from, libm::round(10.0 * libm::log10(mw))));
    });
    let Pattern::Trace(trace) = recorded() else { panic!("a trace") };
    let high = libm::round(-60.0 - trace.mean_dbm() - 40.0);
    let expected = [
        (0, 100, f64::NEG_INFINITY),
        (100, 400, high - 55.0),
        (400, 1_100, high),
        (1_100, 1_200, high - 55.0),
    ];
    assert_eq!(all, expected);
}

#[test]
fn all_sources_answer_alike_in_any_order_and_by_any_parts() {
    let sources: Vec<Interferer> =
        all().into_iter().map(|(pattern, range_db)| by_one(pattern, -60.0, range_db)).collect();
    let new = || Interference::new(9, &sources, 0, &[NODE; 2], -105.0);
    let ask = |i: &mut Interference, at: u64| {
        let mut answer = Vec::new();
        i.stretches(1, Channel::default(), at..at + 4_300, |from, to, mw| {
            answer.push((from, to, mw.to_bits()))
        });
        answer
    };
    // Includes boundaries of seconds and of minutes.
    let times: Vec<u64> = (0..200).map(|k| 59_000_000 + k * 10_007).collect();
    let mut forwards = new();
    let first: Vec<_> = times.iter().map(|at| ask(&mut forwards, *at)).collect();
    let mut backwards = new();
    for (at, answer) in times.iter().zip(&first).rev() {
        assert_eq!(&ask(&mut backwards, *at), answer);
        assert_eq!(&ask(&mut new(), *at), answer);
    }
    let whole = forwards.mean_mw(1, Channel::default(), 59_990_000..60_010_000);
    let parts = (0..20).map(|k| 59_990_000 + k * 1_000);
    let sum: f64 = parts.map(|at| forwards.mean_mw(1, Channel::default(), at..at + 1_000)).sum();
    assert!((sum / 20.0 / whole - 1.0).abs() < 1e-9);
}

#[test]
fn a_register_that_averages_over_eight_symbols_reads_more_than_the_level_at_each_instant() {
    // The register is raised by a burst of 110 us for up to 238 us, and hardly lowered by the gaps
    // of a cell. The difference of the mean of such readings from ours, in dB.
    for (pattern, above_db) in [
        (MICROWAVE, 0.4),
        (WIFI_FILE, 6.0),
        (WIFI_BURSTS, 3.8),
        (Pattern::Saturated(Cell::saturated(25)), 3.3),
    ] {
        let mut interference = of(&by_one(pattern, -60.0, WIFI_RANGE_DB), ALL_DBM);
        let readings = 400_000;
        let mean = (0..readings).map(|k| {
            let at = k * 128;
            10.0 * libm::log10(interference.mean_mw(1, Channel::default(), at..at + 128))
        });
        let found = mean.sum::<f64>() / readings as f64 + 60.0;
        assert!((found - above_db).abs() < 0.3, "{found} instead of {above_db}");
    }
}
