//! The page of a network that is being watched: its map, up to now.

use super::{begin, end, escape, map};
use crate::run::Tree;
use crate::scenario::Scenario;
use std::fmt::Write;

/// The page of a network that is at the last of these instants now. Opened in a browser it loads
/// itself anew every `refresh_s` seconds, unless somebody looks at an instant before.
pub fn live(scenario: &Scenario, trees: &[Tree], refresh_s: u32) -> String {
    let mut page = String::with_capacity(64 * 1024);
    begin(&mut page, &scenario.name);
    let _ = writeln!(
        page,
        "<header><div class=\"wrap\">\n<p class=\"eyebrow\">Kinglet gateway</p>\n<h1>{}</h1>\n\
         <p class=\"meta\">{} nodes, live: the page follows while the slider is at its \
         end</p></div></header>\n<main>",
        escape(&scenario.name),
        scenario.nodes.len()
    );
    map::draw(&mut page, scenario, trees, Some(refresh_s));
    end(&mut page);
    page
}
