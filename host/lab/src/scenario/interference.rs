//! `[[interference]]`: who else uses the band.

use super::error::Result;
use super::keys::INTERFERENCE;
use super::read::Reader;
use super::table::read;
use super::{Medium, Overlap};

/// A source of interference.
#[derive(Clone, Debug, PartialEq)]
pub struct Interferer {
    /// What it is.
    pub source: Source,
    /// Metres east.
    pub x_m: f64,
    /// Metres north.
    pub y_m: f64,
    /// Power that it radiates into the network's channel of 2 MHz, in dBm.
    pub power_dbm: f64,
    /// Share of the time in which it is active in its busiest hour, 0 to 1.
    pub share: f64,
    /// How that share goes with the hour of the day.
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
}

impl Source {
    /// All of them.
    pub const ALL: [Source; 4] =
        [Source::WifiFile, Source::WifiVideo, Source::Bluetooth, Source::Microwave];

    /// What it radiates into the network's channel unless a scenario says otherwise, in dBm.
    pub const fn usual_dbm(self) -> f64 {
        match self {
            Source::WifiFile | Source::WifiVideo => WIFI_DBM,
            Source::Bluetooth => BLUETOOTH_DBM,
            Source::Microwave => MICROWAVE_DBM,
        }
    }
}

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hours {
    /// The same at every hour.
    Always,
    /// People at work from eight to seven.
    Office,
    /// People at table: noon to two, and a little around.
    Meals,
}

impl Hours {
    /// The share of each hour in that of the busiest one. Assumed: there is no published profile of
    /// the testbed's building, of which the paper says that there is much interference in working
    /// hours and much less when there are few people (TCPlp §5, §8.2.3).
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

/// What a Wi-Fi station on channel 11 (2462 MHz) radiates into IEEE 802.15.4 channel 26 (2480 MHz):
/// 20 dBm over 20 MHz, less 10 dB for a tenth of that width, less 26 dB that IEEE 802.11g's
/// spectral mask asks for at 18 MHz from the centre (-20 dBr at 11 MHz, -28 dBr at 20 MHz).
const WIFI_DBM: f64 = -16.0;
/// Bluetooth, class 2: 4 dBm at most, usually 0; channel 26 lies in its band as a whole.
const BLUETOOTH_DBM: f64 = 0.0;
/// A microwave oven. 802.15.4 channel 26 is above its centre; -98 dBm at a receiver was enough to
/// lose 52 % of frames in JamLab's trace. Assumed: 10 dBm in 2 MHz at this end of the band.
const MICROWAVE_DBM: f64 = 10.0;

/// How busy the busiest hour is. Fitted to the paper's envelope, packet loss of up to about 15 % in
/// working hours (TCPlp §8.2.2, "we have not observed the loss rate exceed 15 % for an extended
/// time"): one way, with d = 40 ms, packets of five frames lost 9 to 12 % over five hops then.
/// Since the air was corrected those of one frame lose 11 %, those of three 20 (`tcplp-context`).
const FITTED_SHARE: f64 = 0.2;

impl Interferer {
    /// One that is always active; what a file does not say of a source.
    pub(super) const USUAL: Interferer = Interferer {
        source: Source::WifiFile,
        x_m: 0.0,
        y_m: 0.0,
        power_dbm: Source::WifiFile.usual_dbm(),
        share: 1.0,
        hours: Hours::Always,
    };

    /// Those of the office: two access points under the ceiling of the corridor, somebody with a
    /// headset near each pair of leaves and in the middle, and an oven in the kitchen at the
    /// northern wall.
    pub(super) fn office() -> Vec<Interferer> {
        let of = |source, x_m, y_m, power_dbm, hours| Interferer {
            source,
            x_m,
            y_m,
            power_dbm,
            share: FITTED_SHARE,
            hours,
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
    tables.into_iter().map(table).collect()
}

fn table(mut t: Reader<'_>) -> Result<Interferer> {
    let mut one = Interferer::USUAL;
    read(&mut t, INTERFERENCE, &mut one)?;
    t.finish()?;
    Ok(one)
}
