//! `[[interference]]`: other users of the band.

use super::error::{Result, ScenarioError};
use super::keys::INTERFERENCE;
use super::read::Reader;
use super::table::read;
use super::{Medium, NodeId, Overlap};
use kinglet_sim::interference::{BLUETOOTH_RANGE_DB, MICROWAVE_RANGE_DB, Trace, WIFI_RANGE_DB};
use std::path::Path;
use std::sync::Arc;

/// A source of interference.
#[derive(Clone, Debug, PartialEq)]
pub struct Interferer {
    /// Kind of source.
    pub source: Source,
    /// Metres east.
    pub x_m: f64,
    /// Metres north.
    pub y_m: f64,
    /// Power that it radiates into the network's channel of 2 MHz, in dBm.
    pub power_dbm: f64,
    /// The only node that receives it; place and power are then irrelevant.
    pub node: Option<NodeId>,
    /// Mean over time of the level at that node's radio, in dBm; `None` only for a trace, which
    /// then has its recorded level.
    pub mean_dbm: Option<f64>,
    /// Busy level minus idle level at that node, in dB, if it differs from that of the source
    /// ([`Source::range_db`]).
    pub range_db: Option<f64>,
    /// Stations of a saturated Wi-Fi cell.
    pub stations: u32,
    /// Recording of a trace source, which is silent without it; runs share it.
    pub trace: Option<Arc<Trace>>,
    /// Duration of a sample of the trace in microseconds, if its file has no times.
    pub step_us: Option<u32>,
    /// Gain added to all samples of a trace, in dB.
    pub gain_db: f64,
    /// Time at which it is switched on, in seconds from the start of the run.
    pub from_s: f64,
    /// Time at which it is switched off, if ever.
    pub until_s: Option<f64>,
    /// The lowest channel that it covers, 11 to 26.
    pub lowest_channel: u8,
    /// The highest one.
    pub highest_channel: u8,
    /// Share of the time in which it is active in its busiest hour, 0 to 1.
    pub share: f64,
    /// Dependence of that share on the hour of the day.
    pub hours: Hours,
}

/// Known sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A Wi-Fi file transfer.
    WifiFile,
    /// A Wi-Fi video stream.
    WifiVideo,
    /// A Bluetooth connection with all of its slots in use.
    Bluetooth,
    /// A microwave oven.
    Microwave,
    /// A Wi-Fi cell whose stations always have data to send.
    WifiSaturated,
    /// A Wi-Fi file transfer with heavy-tailed pauses.
    WifiBursts,
    /// A recorded trace.
    Trace,
}

impl Source {
    /// All sources.
    pub const ALL: [Source; 7] = [
        Source::WifiFile,
        Source::WifiVideo,
        Source::Bluetooth,
        Source::Microwave,
        Source::WifiSaturated,
        Source::WifiBursts,
        Source::Trace,
    ];

    /// Names in scenario files, in the same order.
    pub const NAMES: [&str; 7] = [
        "wifi-file",
        "wifi-video",
        "bluetooth",
        "microwave",
        "wifi-saturated",
        "wifi-bursts",
        "trace",
    ];

    /// Name in scenario files.
    pub fn name(self) -> &'static str {
        Source::ALL.iter().zip(Source::NAMES).find(|(it, _)| **it == self).map_or("", |it| it.1)
    }

    /// Power that it radiates into the network's channel unless a scenario sets it, in dBm.
    pub const fn usual_dbm(self) -> f64 {
        match self {
            Source::Bluetooth => BLUETOOTH_DBM,
            Source::Microwave => MICROWAVE_DBM,
            Source::WifiFile
            | Source::WifiVideo
            | Source::WifiSaturated
            | Source::WifiBursts
            | Source::Trace => WIFI_DBM,
        }
    }

    /// Busy level minus idle level of a recording of it, in dB: assumptions, see the constants. A
    /// trace has its own.
    pub const fn range_db(self) -> f64 {
        match self {
            Source::Bluetooth => BLUETOOTH_RANGE_DB,
            Source::Microwave => MICROWAVE_RANGE_DB,
            Source::WifiFile
            | Source::WifiVideo
            | Source::WifiSaturated
            | Source::WifiBursts
            | Source::Trace => WIFI_RANGE_DB,
        }
    }
}

/// Activity over a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hours {
    /// The same at every hour.
    Always,
    /// People at work from eight to seven.
    Office,
    /// Mealtimes: noon to two, and a little around.
    Meals,
}

impl Hours {
    /// Activity of each hour relative to the busiest one. Assumed: there is no published profile of
    /// the testbed's building. The paper reports much interference in working hours and much less
    /// when there are few people (TCPlp §5, §8.2.3).
    pub const fn profile(self) -> [f64; 24] {
        match self {
            Hours::Always => [1.0; 24],
            Hours::Office => [
                0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.05, 0.15, 0.4, 0.8, 1.0, 1.0, //
                0.7, 0.9, 1.0, 1.0, 1.0, 0.8, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02,
            ],
            Hours::Meals => [
                0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.1, 0.1, 0.1, 0.3, //
                1.0, 0.8, 0.2, 0.2, 0.2, 0.1, 0.2, 0.2, 0.05, 0.0, 0.0, 0.0,
            ],
        }
    }
}

/// Power that a Wi-Fi station on channel 11 (2462 MHz) radiates into IEEE 802.15.4 channel 26 (2480
/// MHz): 20 dBm over 20 MHz, minus 10 dB for a tenth of that width, minus 26 dB required by IEEE
/// 802.11g's spectral mask at 18 MHz from the centre (-20 dBr at 11 MHz, -28 dBr at 20 MHz).
const WIFI_DBM: f64 = -16.0;
/// Bluetooth, class 2: 4 dBm at most, usually 0; channel 26 lies entirely in its band.
const BLUETOOTH_DBM: f64 = 0.0;
/// A microwave oven. 802.15.4 channel 26 is above its centre; -98 dBm at a receiver was enough to
/// lose 52 % of frames in JamLab's trace. Assumed: 10 dBm in 2 MHz at this end of the band.
const MICROWAVE_DBM: f64 = 10.0;

/// Activity in the busiest hour. Fitted to the paper's envelope, packet loss of up to about 15 % in
/// working hours (TCPlp §8.2.2, "we have not observed the loss rate exceed 15 % for an extended
/// time"). At the time of the fit, packets of five frames lost 9 to 12 % over five hops in one
/// direction, with d = 40 ms. Since a correction of the medium those of one frame lose 11 %, those
/// of three 20 (`tcplp-context`).
const FITTED_SHARE: f64 = 0.2;

/// Stations of a saturated cell: JamLab's, as in the paper on burst forwarding (section 6.1.2, "a
/// router with 25 hosts").
const STATIONS: u32 = 25;

impl Interferer {
    /// The lowest channel of the band.
    pub const FIRST_CHANNEL: u8 = 11;

    /// Defaults of a source: always active.
    pub(super) const USUAL: Interferer = Interferer {
        source: Source::WifiFile,
        x_m: 0.0,
        y_m: 0.0,
        power_dbm: Source::WifiFile.usual_dbm(),
        node: None,
        mean_dbm: None,
        range_db: None,
        stations: STATIONS,
        trace: None,
        step_us: None,
        gain_db: 0.0,
        from_s: 0.0,
        until_s: None,
        lowest_channel: Self::FIRST_CHANNEL,
        highest_channel: 26,
        share: 1.0,
        hours: Hours::Always,
    };

    /// A source that `node` alone receives, always active, at a mean level of `mean_dbm`.
    pub fn heard_by(node: NodeId, source: Source, mean_dbm: f64) -> Interferer {
        Interferer {
            source,
            power_dbm: source.usual_dbm(),
            node: Some(node),
            mean_dbm: Some(mean_dbm),
            ..Self::USUAL
        }
    }

    /// Sources of the office: two access points under the ceiling of the corridor, a headset near
    /// each pair of leaves and in the middle, and an oven in the kitchen at the northern wall.
    pub(super) fn office() -> Vec<Interferer> {
        let of = |source, x_m, y_m, power_dbm, hours| Interferer {
            source,
            x_m,
            y_m,
            power_dbm,
            share: FITTED_SHARE,
            hours,
            ..Self::USUAL
        };
        vec![
            of(Source::WifiFile, 19.0, 9.0, WIFI_DBM, Hours::Office),
            of(Source::WifiVideo, 19.0, 9.0, WIFI_DBM, Hours::Office),
            of(Source::WifiFile, 50.0, 9.0, WIFI_DBM, Hours::Office),
            of(Source::WifiVideo, 50.0, 9.0, WIFI_DBM, Hours::Office),
            of(Source::Bluetooth, 22.0, 16.0, BLUETOOTH_DBM, Hours::Office),
            of(Source::Bluetooth, 36.0, 6.0, BLUETOOTH_DBM, Hours::Office),
            of(Source::Bluetooth, 52.0, 3.0, BLUETOOTH_DBM, Hours::Office),
            of(Source::Microwave, 41.0, 19.0, MICROWAVE_DBM, Hours::Meals),
        ]
    }
}

/// All `[[interference]]` tables, or `default` if there is none.
pub(super) fn tables(
    root: &mut Reader<'_>,
    medium: &Medium,
    nodes: usize,
    default: Vec<Interferer>,
) -> Result<Vec<Interferer>> {
    let tables = root.tables("interference")?;
    if tables.is_empty() {
        return Ok(default);
    }
    if medium.overlap != Overlap::SinrBer {
        let message = "needs `overlap = \"sinr-ber\"` under [medium]".to_owned();
        return Err(root.error_at("interference", message));
    }
    tables.into_iter().map(|table| one(table, nodes)).collect()
}

fn one(mut t: Reader<'_>, nodes: usize) -> Result<Interferer> {
    let mut one = Interferer::USUAL;
    read(&mut t, INTERFERENCE, &mut one)?;
    let last = nodes.saturating_sub(1);
    one.node = t.integer_opt("node", 0..=last as u64)?.map(|node| node as NodeId);
    let file = t.string_opt("file")?;
    only_of(&t, one.source, Source::WifiSaturated, "wifi-saturated", &["stations"])?;
    only_of(&t, one.source, Source::Trace, "trace", &["file", "step_us", "gain_db"])?;
    let missing = |key, what: String| Err(t.error_at(key, format!("missing; {what}")));
    match (one.source, file, one.node) {
        (Source::Trace, None, _) => return missing("file", "give the path of a trace".to_owned()),
        (Source::Trace, _, None) => {
            let what = format!("a trace is what one node received: give its number, 0 to {last}");
            return missing("node", what);
        }
        (Source::Trace, Some(file), Some(_)) if !t.has("range_db") => {
            one.trace = Some(Arc::new(trace(&t, file, one.step_us)?));
        }
        (Source::Trace, ..) => {
            let message = "a trace has its own difference of levels".to_owned();
            return Err(t.error_at("range_db", message));
        }
        (_, _, Some(_)) if one.mean_dbm.is_none() => {
            let what = "give the mean level at that node, -130 to -30".to_owned();
            return missing("mean_dbm", what);
        }
        _ => {}
    }
    t.finish()?;
    Ok(one)
}

/// Refuses `keys` unless the source is the one that they belong to.
fn only_of(t: &Reader<'_>, is: Source, of: Source, name: &str, keys: &[&str]) -> Result<()> {
    match keys.iter().find(|key| is != of && t.has(key)) {
        Some(key) => Err(t.error_at(key, format!("has no meaning without source = \"{name}\""))),
        None => Ok(()),
    }
}

/// Reads the trace in `written`, a path relative to the scenario file.
fn trace(t: &Reader<'_>, written: &str, step_us: Option<u32>) -> Result<Trace> {
    let scenario = t.error(String::new()).file;
    let file = scenario.parent().unwrap_or(Path::new("")).join(written);
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let message = format!(
            "{} cannot be read: {error}; give a path relative to this file",
            file.display()
        );
        t.error_at("file", message)
    })?;
    Trace::parse(&text, step_us.map(u64::from)).map_err(|error| ScenarioError {
        file,
        position: Some((error.line, error.column)),
        field: t.field("file"),
        message: error.message,
        nearest: None,
        io: false,
    })
}

#[cfg(test)]
mod tests;
