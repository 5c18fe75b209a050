//! Page of a network that runs in real time: its map, up to the present.

use super::{begin, end, escape, map};
use kinglet_network::run::Tree;
use kinglet_scenario::{NodeId, Scenario};
use std::fmt::Write;

/// Page of the network of `scenario`, whose nodes have these `links`, up to the last of these
/// instants. An open browser reloads it every `refresh_s` seconds, unless the user views an earlier
/// instant. With `None` the network no longer runs.
pub fn live(
    scenario: &Scenario,
    links: &[(NodeId, NodeId)],
    trees: &[Tree],
    refresh_s: Option<u32>,
) -> String {
    let mut page = String::with_capacity(64 * 1024);
    begin(&mut page, &scenario.name);
    let state = match refresh_s {
        Some(_) => "live: this page follows while the slider is at its right end",
        None => "ended",
    };
    let _ = writeln!(
        page,
        "<header><div class=\"wrap\">\n<p class=\"eyebrow\">Kinglet gateway</p>\n<h1>{}</h1>\n\
         <p class=\"meta\">{} nodes · {:.0} s since the start · {state}</p></div></header>\n<main>",
        escape(&scenario.name),
        scenario.nodes.len(),
        trees.last().map_or(0.0, |tree| tree.at_s),
    );
    map::draw(&mut page, scenario, links, trees, refresh_s);
    end(&mut page);
    page
}
