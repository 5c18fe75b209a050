//! Fig. 4a: time to send one frame.

use super::nothing_to_simulate;
use crate::experiment::{InRust, readme};
use kinglet_network::radio;
use kinglet_scenario::{MAC, RadioProfile};
use kinglet_sweep::chart::{Bars, Figure, curves};
use kinglet_sweep::experiment::{ExperimentResult, Rows};

pub(super) const EXPERIMENT: InRust = InRust {
    id: "tcplp-frame-time",
    readme: readme!("tcplp-frame-time"),
    source: "TCPlp Fig. 4a, §6.3",
    main: "",
    plan: nothing_to_simulate,
    refine,
    figures,
};

const RADIOS: [(RadioProfile, &str); 2] =
    [(RadioProfile::At86rf233, ""), (RadioProfile::Nrf52840, " radio=nrf52840")];

fn refine(rows: &mut Rows) {
    let min_be = MAC.csma_params.min_be;
    for (profile, suffix) in RADIOS {
        let series = if suffix.is_empty() { "AT86RF233" } else { "nRF52840" };
        let parts = radio::parts(profile, 127, min_be);
        for (index, (name, time)) in parts.parts().into_iter().enumerate() {
            let label = format!("part={name}{suffix}");
            let ms = time.as_micros() as f64 / 1e3;
            rows.compute(&label, series, index as f64, ("time", "ms"), ms);
        }
        for psdu in (17..=127).step_by(10) {
            let ms = radio::frame_us(profile, psdu, min_be) / 1e3;
            let label = format!("psdu={psdu}{suffix}");
            rows.compute(&label, series, psdu as f64, ("frame_time", "ms"), ms);
        }
    }
    rows.paper("part=air", "time", 4.1);
    rows.paper("psdu=127", "frame_time", 7.2);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let of = |series: &str| -> Vec<f64> {
        let mine = result.rows.iter().filter(|r| r.metric == "time" && r.series == series);
        mine.map(|r| r.mean).collect()
    };
    let names = result.rows.iter().filter(|r| r.metric == "time" && r.series == "AT86RF233");
    let names = names.map(|r| r.label.trim_start_matches("part=").to_owned()).collect();
    let bars = Figure::Bars(Bars {
        title: "One unicast frame of 127 octets".to_owned(),
        unit: "ms".to_owned(),
        parts: names,
        bars: vec![
            ("AT86RF233".to_owned(), of("AT86RF233")),
            ("nRF52840".to_owned(), of("nRF52840")),
        ],
        marks: vec![("paper, measured".to_owned(), 7.2)],
    });
    let lines = curves(&result.rows, "frame_time", "Frame time by length", "PSDU, octets");
    [Some(bars), lines].into_iter().flatten().collect()
}
