//! The tables of keys in `SCENARIO.md`.

use super::interference::Interferer;
use super::keys::{self, Buffers};
use super::table::markdown;
use super::{Link, Medium, Pairs, Radio, Scenario, Tcp, Tunnel, Wake, Wire};

/// The first lines of each table.
const HEAD: &str = "| key | meaning | allowed | default |\n|---|---|---|---|\n";

/// The tables of keys in the order of `SCENARIO.md`, each after the name of its section.
pub fn reference() -> Vec<(&'static str, String)> {
    let all = Scenario::default();
    let tcp = Tcp::default();
    let (send, receive) = (Some(tcp.send_buffer), Some(tcp.receive_buffer));
    let links = "| `link` | the links; others do not exist | one or more tables | required |\n";
    [
        ("top level", markdown(keys::TOP, &all)),
        ("[radio]", markdown(keys::RADIO, &Radio::default())),
        ("[medium]", markdown(keys::MEDIUM, &Medium::default())),
        ("unit-disc", markdown(keys::UNIT_DISC, &keys::DISC)),
        ("link-matrix", links.to_owned() + &markdown(keys::LINK, &Link::USUAL)),
        ("path-loss", markdown(keys::PATH_LOSS, &keys::OFFICE_LOSS)),
        ("[[interference]]", markdown(keys::INTERFERENCE, &Interferer::USUAL)),
        ("[mac]", markdown(keys::MAC, &all)),
        ("[mac.indirect]", markdown(keys::INDIRECT, &all)),
        ("[leaf]", markdown(keys::LEAF, &all)),
        ("[wake]", markdown(keys::WAKE, &Wake::DEFAULT)),
        ("[net]", markdown(keys::NET, &all)),
        ("[tcp]", markdown(keys::TCP, &tcp) + &markdown(keys::BUFFERS, &Buffers { send, receive })),
        ("[wire]", markdown(keys::WIRE, &Wire::PERFECT)),
        ("[pairs]", markdown(keys::PAIRS, &Pairs::USUAL)),
        ("[tunnel]", markdown(keys::TUNNEL, &Tunnel::to(0))),
    ]
    .map(|(section, rows)| (section, format!("{HEAD}{rows}")))
    .into()
}
