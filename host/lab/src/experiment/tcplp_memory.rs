//! Tables 1, 2, 3 and 8: memory, by the sizes of the stack's own types and images.

use super::nothing_to_simulate;
use crate::experiment::{InRust, readme};
use kinglet::{Mote, net, tcp};
use kinglet_network::layout::{DEFAULT_MSS, IPV6, TCP, TIMESTAMPS};
use kinglet_scenario::RadioProfile;
use kinglet_sim::profile::RadioProfile as Radio;
use kinglet_sweep::chart::{Bars, Figure};
use kinglet_sweep::experiment::{ExperimentResult, Rows};

pub(super) const EXPERIMENT: InRust = InRust {
    id: "tcplp-memory",
    readme: readme!("tcplp-memory"),
    source: "TCPlp Tables 1, 2, 3 and 8, §2.1, §5.1, §5.2",
    main: "",
    plan: nothing_to_simulate,
    refine,
    figures,
};

/// Output of `tools/size-table --note`.
const SIZES: &str = include_str!("../../../../examples/firmware/sizes.txt");
const TARGETS: [(&str, &str); 2] =
    [("m0plus", "thumbv6m-none-eabi"), ("m4", "thumbv7em-none-eabi")];
/// Window in segments.
const WINDOW: usize = 4;

/// Value on the line of [`SIZES`] that begins with `name`.
fn noted(name: &str) -> Option<f64> {
    let line = SIZES.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

fn refine(rows: &mut Rows) {
    buffers(rows);
    TARGETS.into_iter().for_each(|target| connections(rows, target));
    TARGETS.into_iter().for_each(|target| images(rows, target));
    rows.paper("connection m0plus", "ram", 500.0);
    rows.paper("listener m0plus", "ram", 148.0);
    currents(rows);
}

const OCTETS: (&str, &str) = ("ram", "B");

/// Table 1: memory of a window at its sender and at its receiver.
fn buffers(rows: &mut Rows) {
    let window = WINDOW * DEFAULT_MSS;
    let packet = |payload: usize| {
        // The pool has packets of one size, here the smallest that holds such a segment.
        let storage = size_of::<net::Slot<[u8; 0]>>() + payload + IPV6 + TCP + TIMESTAMPS;
        storage.next_multiple_of(align_of::<net::Slot<[u8; 0]>>())
    };
    let zero_copy = window + WINDOW * size_of::<tcp::SegmentRecord>();
    let copying = zero_copy + WINDOW * packet(DEFAULT_MSS);
    let in_place = window + window.div_ceil(8);
    let apart = window + (WINDOW - 1) * packet(DEFAULT_MSS);
    for (label, saving, mine, baseline, paper) in [
        ("send zero-copy", "send", zero_copy, copying, 50.0),
        ("receive in-place", "receive", in_place, apart, 38.0),
    ] {
        let series = "buffers";
        rows.compute(label, series, 0.0, OCTETS, mine as f64);
        rows.compute(&format!("{saving} baseline"), series, 0.0, OCTETS, baseline as f64);
        let saved = (1.0 - mine as f64 / baseline as f64) * 100.0;
        rows.compute(label, series, 0.0, ("saved", "%"), saved).paper = Some(paper);
    }
}

/// Tables 3 and 8: memory of another connection or listening port, without buffers.
fn connections(rows: &mut Rows, (target, triple): (&str, &str)) {
    let of = |what: &str| noted(&format!("{triple} size_of {what}"));
    let buffers = size_of::<<Mote as tcp::Sizes>::SendBuffer>()
        + size_of::<<Mote as tcp::Sizes>::ReceiveBuffer>()
        + size_of::<<Mote as tcp::Sizes>::ReceiveMap>();
    for (label, octets) in [
        ("connection", of("tcp::Slot<Mote>").map(|all| all - buffers as f64)),
        ("listener", of("tcp::Listener")),
        ("half-open", of("tcp::HalfOpen")),
        ("time-wait", of("tcp::TimeWait")),
    ] {
        let Some(octets) = octets else { continue };
        rows.compute(&format!("{label} {target}"), "TCP's records", 0.0, OCTETS, octets);
    }
}

/// Table 2: complete images. RAM is initialised data, zeroed data and the deepest stack.
fn images(rows: &mut Rows, (target, triple): (&str, &str)) {
    let stack = noted(&format!("{triple} measure stack"));
    for image in ["echo-small", "echo", "sensor", "mote"] {
        let of = |part: &str| noted(&format!("{triple} {image} {part}"));
        let (Some(text), Some(data), Some(bss), Some(stack)) =
            (of("text"), of("data"), of("bss"), stack)
        else {
            continue;
        };
        let label = format!("image={image} {target}");
        rows.compute(&label, "images", 0.0, ("flash", "B"), text + data);
        rows.compute(&label, "images", 0.0, OCTETS, data + bss + stack);
    }
}

/// §2.1: current of listening compared with sending, by data sheets.
fn currents(rows: &mut Rows) {
    for profile in [RadioProfile::At86rf233, RadioProfile::Nrf52840] {
        let Radio { currents, .. } = kinglet_scenario::simulated::profile_of(profile);
        let label = format!("radio={}", profile.name());
        for (metric, ua) in [("listening", currents.listen_ua), ("sending", currents.transmit_ua)] {
            rows.compute(&label, "radios", 0.0, (metric, "uA"), ua as f64);
        }
        let ratio = currents.listen_ua as f64 / currents.transmit_ua as f64;
        rows.compute(&label, "radios", 0.0, ("listening_by_sending", "1"), ratio);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = result.rows.iter().filter(|row| row.series == "buffers" && row.metric == "ram");
    vec![Figure::Bars(Bars {
        title: "Memory of a window of four segments".to_owned(),
        unit: "octets".to_owned(),
        parts: vec!["RAM".to_owned()],
        bars: rows.map(|row| (row.label.clone(), vec![row.mean])).collect(),
        marks: Vec::new(),
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_the_images_is_found() {
        let mut rows = Rows::default();
        refine(&mut rows);
        for (target, _) in TARGETS {
            for label in ["connection", "listener", "half-open", "time-wait", "image=mote"] {
                let ram = rows.mean(&format!("{label} {target}"), "ram");
                assert!(ram.is_some_and(|octets| octets > 0.0), "{label} {target}");
            }
        }
        assert_eq!(noted("thumbv6m-none-eabi no-such-image text"), None);
    }

    #[test]
    fn a_noted_size_is_read_by_its_whole_name() {
        // `echo` is also a prefix of other names.
        let (echo, small) = ("thumbv6m-none-eabi echo text", "thumbv6m-none-eabi echo-small text");
        assert!(noted(echo) > noted(small));
    }
}
