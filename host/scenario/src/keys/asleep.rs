//! Keys of sleepy and duty-cycled nodes.

use crate::presets::{base_of, csl_every, polling_every};
use crate::table::{Bound, Key, Value, flag, millis, whole};
use crate::{Scenario, Wake};
use kinglet::Polling;
use kinglet::time::Duration;

/// `[leaf]`.
pub(crate) const LEAF: &[Key<Scenario>] = &[
    Key::<Scenario>::new(
        "sleep_interval_s",
        Value::Time {
            range: 0.01..=86_400.0,
            per_second: 1.0,
            whole: false,
            get: |t| Some(base_of(t.polling)),
            set: |t, time| t.polling = polling_every(t.polling, time),
        },
        "seconds between data requests while no response is expected",
    ),
    Key::<Scenario>::new(
        "polling",
        Value::Choice {
            names: &["predictive", "fixed"],
            get: |t| Some(usize::from(matches!(t.polling, Polling::Fixed { .. }))),
            set: |t, place| {
                let base = base_of(t.polling);
                t.polling = match place {
                    0 => Polling::Predictive { base },
                    _ => polling_every(Polling::TCPLP, base),
                };
            },
        },
        "data requests while a response is expected: at its predicted time, or every \
         `fast_poll_ms`",
    ),
    Key::<Scenario>::new(
        "fast_poll_ms",
        Value::Time {
            range: 1.0..=60_000.0,
            per_second: 1e3,
            whole: true,
            get: |t| match t.polling {
                Polling::Fixed { fast_poll, .. } => Some(fast_poll),
                Polling::Predictive { .. } => None,
            },
            set: |t, time| {
                if let Polling::Fixed { fast_poll, .. } = &mut t.polling {
                    *fast_poll = time;
                }
            },
        },
        "milliseconds between data requests with `\"fixed\"`",
    )
    .default("100"),
    Key::<Scenario>::new(
        "data_request_timeout_ms",
        millis!(1.0..=1_000.0, mac.data_request_timeout),
        "maximum wait with the radio on for a frame that the parent has announced",
    ),
    Key::<Scenario>::new(
        "csl_period_ms",
        Value::Time {
            range: 10.0..=10_000.0,
            per_second: 1e3,
            whole: true,
            get: |t| t.mac.csl.map(|csl| csl.period),
            set: |t, period| t.mac.csl = Some(kinglet::mac::Csl { period, ..csl_every(0) }),
        },
        "in addition, CSL (coordinated sampled listening): milliseconds between two samples of \
         the channel",
    )
    .default("no samples"),
    Key::<Scenario>::new(
        "csl_drift_ppm",
        Value::Whole {
            range: 0..=500,
            bound: Bound::No,
            get: |t| t.mac.csl.map(|csl| csl.drift_ppm.into()),
            set: |t, ppm| {
                if let Some(csl) = &mut t.mac.csl {
                    csl.drift_ppm = ppm as u16;
                }
            },
        },
        "assumed drift between the clocks of leaf and parent until it has been measured",
    )
    .default("40")
    .needs("csl_period_ms"),
    Key::<Scenario>::new(
        "csl_sync_s",
        Value::Time {
            range: 1.0..=50.0,
            per_second: 1.0,
            whole: false,
            get: |t| t.mac.csl.map(|csl| csl.sync_interval),
            set: |t, time| {
                if let Some(csl) = &mut t.mac.csl {
                    csl.sync_interval = time;
                }
            },
        },
        "seconds after which a leaf reports its CSL phase to its parent again",
    )
    .default("50")
    .needs("csl_period_ms"),
];

/// `[wake]`.
pub(crate) const WAKE: &[Key<Wake>] = &[
    Key::<Wake>::new(
        "rate_hz",
        Value::Time {
            range: 2.0..=32.0,
            per_second: 1.0,
            whole: false,
            get: |t| Some(hertz(t.settings.period)),
            set: |t, rate| t.settings.period = hertz(rate),
        },
        "wake-ups per second, the same for all nodes",
    ),
    Key::<Wake>::new(
        "drift_ppm",
        whole!(0..=500, settings.drift_ppm: u16),
        "assumed drift between two clocks",
    ),
    Key::<Wake>::new(
        "repeats",
        whole!(1..=16, settings.repeats: u8),
        "transmissions in a row of the first frame of a burst, to a neighbour that should be awake",
    ),
    Key::<Wake>::new(
        "burst_repeats",
        whole!(1..=16, settings.burst_repeats: u8),
        "transmissions in a row of later frames; the paper has 4",
    ),
    Key::<Wake>::new(
        "burst_ms",
        millis!(0.0..=60_000.0, settings.burst),
        "maximum length of a burst; 0 is one frame for each wake-up",
    ),
    Key::<Wake>::new(
        "sleep_in_gaps",
        flag!(settings.sleeps_in_gaps),
        "radios are off between two frames of a burst",
    ),
    Key::<Wake>::new(
        "max_attempts",
        Value::Whole {
            range: 1..=255,
            bound: Bound::No,
            get: |t| t.settings.max_attempts.map(Into::into),
            set: |t, most| t.settings.max_attempts = Some(most as u8),
        },
        "failed strobes before a frame is given up",
    )
    .default("only for a silent recipient"),
    Key::<Wake>::new(
        "channels",
        whole!(1..=16, channels: u8),
        "number of channels that nodes listen on, one at each wake-up: node *n* starts with the \
         *n*th after the radio's",
    ),
    Key::<Wake>::new(
        "border_duty_cycled",
        flag!(border_duty_cycled),
        "the border router is duty-cycled as well, and so is the far end of a `[tunnel]`",
    ),
];

/// Converts between a period and a rate per second, in either direction.
fn hertz(time: Duration) -> Duration {
    Duration::from_micros(1_000_000_000_000 / time.as_micros().max(1))
}
