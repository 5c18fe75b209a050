//! Keys of the radio, of the medium and of interference.

use crate::table::{Bound, Key, Value, choice, flag, number, whole};
use crate::{
    Cca, DISC_RSSI_DBM, Fading, HostCost, Hours, Interferer, Link, Medium, Overlap, Propagation,
    Radio, RadioProfile, Source,
};
use kinglet_sim::profile::NOISE_FLOOR_DBM;

/// `[radio]`.
pub(crate) const RADIO: &[Key<Radio>] = &[
    Key::<Radio>::new(
        "profile",
        choice!(profile;
            "at86rf233" => RadioProfile::At86rf233,
            "nrf52840" => RadioProfile::Nrf52840,
            "cc2420" => RadioProfile::Cc2420,
            "cc2420-contiki" => RadioProfile::Cc2420Contiki,
            "standard" => RadioProfile::Standard),
        "timing, buffers and currents of the chip; `\"standard\"` has the values that IEEE \
         802.15.4 allows, with the ideal receiver",
    ),
    Key::<Radio>::new("channel", whole!(11..=26, channel: u8), "IEEE 802.15.4 channel"),
    Key::<Radio>::new("tx_power_dbm", number!(-30.0..=20.0, tx_power_dbm), "output power"),
    Key::<Radio>::new(
        "drift_ppm",
        whole!(0..=500, drift_ppm: u32),
        "maximum error of clocks; the seed draws that of each node",
    ),
    Key::<Radio>::new(
        "cca",
        choice!(cca;
            "energy" => Cca::Energy,
            "carrier" => Cca::Carrier,
            "either" => Cca::Either,
            "both" => Cca::Both),
        "condition for a busy channel: `\"energy\"` at or above the threshold, averaged over \
         eight symbols; `\"carrier\"`, a frame strong enough to be received",
    ),
    Key::<Radio>::new(
        "cca_threshold_dbm",
        Value::Number {
            range: -120.0..=0.0,
            bound: Bound::No,
            get: |t| t.cca_threshold_dbm,
            set: |t, dbm| t.cca_threshold_dbm = Some(dbm),
        },
        "energy threshold of CCA, dBm",
    )
    .default("−80 (at86rf233), −75 (nrf52840), −77 (cc2420), −94.5 (standard)"),
    Key::<Radio>::new(
        "chips",
        Value::Apart,
        "nodes whose radio is a register-level model of the chip in which its driver runs, \
         instead of the simulator's radio",
    )
    .allowed("a list of nodes, with the profiles `\"at86rf233\"` and `\"nrf52840\"`")
    .default("none"),
    Key::<Radio>::new(
        "host_cost_us_per_frame",
        Value::Whole {
            range: 0..=100_000,
            bound: Bound::No,
            get: |t| match t.host_cost {
                HostCost::Micros(us) => Some(us.into()),
                _ => None,
            },
            set: |t, us| t.host_cost = HostCost::Micros(us as u32),
        },
        "CPU time per frame sent or received, µs",
    ),
    Key::<Radio>::new(
        "host_cost",
        choice!(host_cost;
            "measured" => HostCost::Measured,
            "fitted_tcplp" => HostCost::FittedTcplp),
        "a named CPU time instead of a number; `\"fitted_tcplp\"` is 2000 µs per frame",
    )
    .default("none")
    .instead_of("host_cost_us_per_frame"),
];

/// Reception within a distance, by default.
pub(crate) const DISC: Propagation =
    Propagation::UnitDisc { range_m: 10.0, interference_range_m: 10.0, rssi_dbm: DISC_RSSI_DBM };

/// Office exponent and free-space loss at 1 m (2.45 GHz), unless the topology sets its own.
pub(crate) const OFFICE_LOSS: Propagation = Propagation::PathLoss {
    exponent: 3.0,
    reference_loss_db: 40.2,
    shadowing_db: 0.0,
    asymmetry_db: 0.0,
    fading: Fading::NONE,
    noise_floor_dbm: NOISE_FLOOR_DBM,
};

/// `[medium]`, for all models.
pub(crate) const MEDIUM: &[Key<Medium>] = &[
    Key::<Medium>::new(
        "model",
        Value::Choice {
            names: &["unit-disc", "link-matrix", "path-loss"],
            get: |t| Some(model(&t.propagation)),
            set: |t, place| {
                if place != model(&t.propagation) {
                    t.propagation = match place {
                        0 => DISC,
                        1 => Propagation::LinkMatrix { links: Vec::new() },
                        _ => OFFICE_LOSS,
                    };
                }
            },
        },
        "rule for reception between nodes",
    ),
    Key::<Medium>::new(
        "overlap",
        choice!(overlap;
            "strict" => Overlap::Strict,
            "sinr-ber" => Overlap::SinrBer,
            "capture" => Overlap::Capture),
        "reception of overlapping frames: all are lost; bit errors by signal to interference and \
         noise, from the preamble on; the stronger survives",
    ),
    Key::<Medium>::new(
        "hidden_terminals",
        flag!(hidden_terminals),
        "`false` lets every node's carrier sense detect every transmission; reception is unchanged",
    ),
    Key::<Medium>::new(
        "frame_loss",
        number!(0.0..=1.0, frame_loss),
        "additional loss per frame and receiver",
    ),
];

const fn model(of: &Propagation) -> usize {
    match of {
        Propagation::UnitDisc { .. } => 0,
        Propagation::LinkMatrix { .. } => 1,
        Propagation::PathLoss { .. } => 2,
    }
}

/// A number of a propagation model, or of a part of it.
macro_rules! part {
    ($range:expr, $model:ident, $field:ident $(. $inner:ident)?, $bound:expr) => {
        Value::Number {
            range: $range,
            bound: $bound,
            get: |t| match t {
                Propagation::$model { $field, .. } => Some((*$field)$(.$inner)?),
                _ => None,
            },
            set: |t, number| {
                if let Propagation::$model { $field, .. } = t {
                    (*$field)$(.$inner)? = number;
                }
            },
        }
    };
}

/// `[medium]` with `model = "unit-disc"`.
pub(crate) const UNIT_DISC: &[Key<Propagation>] = &[
    Key::<Propagation>::new(
        "range_m",
        Value::Number {
            range: 0.01..=100_000.0,
            bound: Bound::No,
            get: |t| Some(range_of(t)),
            set: |t, number| {
                if let Propagation::UnitDisc { range_m, interference_range_m, .. } = t {
                    (*range_m, *interference_range_m) = (number, number);
                }
            },
        },
        "range of reception, and of carrier sense if the signal is strong enough, m",
    ),
    Key::<Propagation>::new(
        "interference_range_m",
        part!(0.0..=100_000.0, UnitDisc, interference_range_m, Bound::Least("range_m", range_of)),
        "range of interference without reception or carrier sense, m",
    )
    .default("`range_m`"),
    Key::<Propagation>::new(
        "rssi_dbm",
        part!(-120.0..=10.0, UnitDisc, rssi_dbm, Bound::No),
        "strength of every signal, dBm; below the radio's `cca_threshold_dbm` no node senses \
         another one",
    ),
];

const fn range_of(of: &Propagation) -> f64 {
    match of {
        Propagation::UnitDisc { range_m, .. } => *range_m,
        _ => 0.0,
    }
}

/// `[[medium.link]]`.
pub(crate) const LINK: &[Key<Link>] = &[
    Key::<Link>::new("from", Value::Apart, "the sender").allowed("an existing node").required(),
    Key::<Link>::new("to", Value::Apart, "the receiver").allowed("an existing node").required(),
    Key::<Link>::new("loss", number!(0.0..=1.0, loss), "probability that a frame is lost"),
    Key::<Link>::new(
        "rssi_dbm",
        number!(-120.0..=10.0, rssi_dbm),
        "signal strength at the receiver",
    ),
    Key::<Link>::new(
        "symmetric",
        flag!(symmetric),
        "the opposite direction has the same loss and strength",
    ),
];

/// `[medium]` with `model = "path-loss"`.
pub(crate) const PATH_LOSS: &[Key<Propagation>] = &[
    Key::<Propagation>::new(
        "exponent",
        part!(1.0..=8.0, PathLoss, exponent, Bound::No),
        "loss grows by 10 × this per decade of distance, dB",
    ),
    Key::<Propagation>::new(
        "reference_loss_db",
        part!(0.0..=100.0, PathLoss, reference_loss_db, Bound::No),
        "loss at 1 m; 40.2 dB in free space at 2.45 GHz",
    ),
    Key::<Propagation>::new(
        "shadowing_db",
        part!(0.0..=20.0, PathLoss, shadowing_db, Bound::No),
        "standard deviation per link",
    ),
    Key::<Propagation>::new(
        "asymmetry_db",
        part!(0.0..=10.0, PathLoss, asymmetry_db, Bound::No),
        "standard deviation of the differences between nodes in transmit power and in receiver \
         sensitivity; 1 dB in TOSSIM's quieter setting",
    ),
    Key::<Propagation>::new(
        "fading_db",
        part!(0.0..=20.0, PathLoss, fading.sigma_db, Bound::No),
        "standard deviation of a link's variation in time, the same in both directions",
    ),
    Key::<Propagation>::new(
        "fading_s",
        part!(0.01..=86_400.0, PathLoss, fading.period_s, Bound::No),
        "shortest period of the four waves that the variation is made of; the longest is four \
         times as long",
    ),
    Key::<Propagation>::new(
        "noise_floor_dbm",
        part!(-150.0..=-50.0, PathLoss, noise_floor_dbm, Bound::No),
        "noise floor: thermal noise of −111 dBm in 2 MHz, and a noise figure of 6 dB",
    ),
];

/// An optional number.
macro_rules! optional {
    ($range:expr, $field:ident, $bound:expr) => {
        Value::Number {
            range: $range,
            bound: $bound,
            get: |t| t.$field,
            set: |t, number| t.$field = Some(number),
        }
    };
}

/// `[[interference]]`.
pub(crate) const INTERFERENCE: &[Key<Interferer>] = &[
    Key::<Interferer>::new(
        "source",
        Value::Choice {
            names: &Source::NAMES,
            get: |t| Source::ALL.iter().position(|source| *source == t.source),
            set: |t, place| {
                if let Some(source) = Source::ALL.get(place) {
                    (t.source, t.power_dbm) = (*source, source.usual_dbm());
                }
            },
        },
        "the pattern of bursts",
    )
    .required(),
    Key::<Interferer>::new("x_m", number!(-1e6..=1e6, x_m), "position, m east")
        .allowed("−10⁶ to 10⁶")
        .instead_of("node"),
    Key::<Interferer>::new("y_m", number!(-1e6..=1e6, y_m), "position, m north")
        .allowed("−10⁶ to 10⁶")
        .instead_of("node"),
    Key::<Interferer>::new(
        "power_dbm",
        number!(-60.0..=40.0, power_dbm),
        "power radiated into the 2 MHz of the network's channel",
    )
    .default("−16 for Wi-Fi, 0 for Bluetooth, 10 for an oven")
    .instead_of("node"),
    Key::<Interferer>::new("node", Value::Apart, "the only affected node, without path loss")
        .allowed("an existing node")
        .default("all nodes"),
    Key::<Interferer>::new(
        "mean_dbm",
        optional!(-130.0..=-30.0, mean_dbm, Bound::No),
        "mean level at that node while the interferer is active, dBm, as in a recording of RSSI; \
         for a trace in place of `gain_db`",
    )
    .default("required with `node`, but for a trace")
    .needs("node"),
    Key::<Interferer>::new(
        "range_db",
        optional!(0.0..=120.0, range_db, Bound::No),
        "difference between its busy and idle levels at that node, dB",
    )
    .default("69.8, 59.8 for Bluetooth")
    .needs("mean_dbm"),
    Key::<Interferer>::new(
        "stations",
        whole!(1..=50, stations: u32),
        "stations of `\"wifi-saturated\"`",
    ),
    Key::<Interferer>::new(
        "file",
        Value::Apart,
        "file of the recorded `\"trace\"`; the path is relative to the scenario file",
    )
    .allowed("text")
    .default("required of a trace"),
    Key::<Interferer>::new(
        "step_us",
        Value::Whole {
            range: 1..=1_000_000_000,
            bound: Bound::No,
            get: |t| t.step_us.map(u64::from),
            set: |t, us| t.step_us = Some(us as u32),
        },
        "time between samples, µs, for a trace whose file has no times",
    )
    .default("times in the file"),
    Key::<Interferer>::new(
        "gain_db",
        number!(-150.0..=150.0, gain_db),
        "offset of all samples of a trace, dB",
    )
    .instead_of("mean_dbm"),
    Key::<Interferer>::new(
        "from_s",
        number!(0.0..=31_536_000.0, from_s),
        "time of switching on, s from the start of the run",
    ),
    Key::<Interferer>::new(
        "until_s",
        optional!(0.0..=31_536_000.0, until_s, Bound::Least("from_s", |t: &Interferer| t.from_s)),
        "time of switching off, s",
    )
    .default("never"),
    Key::<Interferer>::new(
        "lowest_channel",
        whole!(11..=26, lowest_channel: u8),
        "lowest affected channel",
    ),
    Key::<Interferer>::new(
        "highest_channel",
        whole!(11..=26, highest_channel: u8, Bound::Least("lowest_channel", |t: &Interferer| {
            t.lowest_channel.into()
        })),
        "highest affected channel",
    ),
    Key::<Interferer>::new(
        "share",
        number!(0.0..=1.0, share),
        "share of time with activity in the busiest hour, in periods of 10 s",
    ),
    Key::<Interferer>::new(
        "hours",
        choice!(hours;
            "always" => Hours::Always, "office" => Hours::Office, "meals" => Hours::Meals),
        "variation of the activity with the hour of the day",
    ),
];
