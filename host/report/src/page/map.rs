//! Map of the nodes with their routes to the border router, scrubbed along the time axis.

use kinglet_network::run::Tree;
use kinglet_scenario::{NodeId, Role, Scenario};
use std::fmt::Write;

/// Largest number of nodes of a map with links: with more the lines would be indistinguishable.
const LINKED: usize = 100;

/// The data for the script, an empty canvas for it, and instructions for use; nothing without
/// trees. The script reloads the page every `refresh_s` seconds.
pub(super) fn draw(
    page: &mut String,
    scenario: &Scenario,
    links: &[(NodeId, NodeId)],
    trees: &[Tree],
    refresh_s: Option<u32>,
) {
    let Some(last) = trees.last() else { return };
    let refresh = refresh_s.map_or(String::new(), |s| format!(" data-refresh-s=\"{s}\""));
    let _ = writeln!(
        page,
        "<section id=\"ways\"><h2>Routes</h2>\n<figure class=\"wide map\"{refresh}>\
         <figcaption>Next hops of all nodes</figcaption>\n\
         <p class=\"hint\">The slider, or <kbd>←</kbd> <kbd>→</kbd> on it, moves along the time \
         axis. A node is the darker the more frames it sends, and is labelled with its number \
         and its hops to the root. A line leads to the next hop, a faint one to other nodes in \
         range. The root is large, and leaves are small.</p>\n\
         <p><input type=\"range\" min=\"0\" max=\"{}\" value=\"{0}\" autocomplete=\"off\" \
         aria-label=\"time\"> <output></output></p>\n\
         <svg class=\"places\" role=\"img\" aria-label=\"{} nodes at their places, at {:.1} s and \
         before\"></svg>",
        trees.len() - 1,
        last.nodes.len(),
        last.at_s
    );
    page.push_str("<script type=\"application/json\">{\"places\":[");
    for (index, place) in scenario.nodes.iter().enumerate() {
        let role = match place.role {
            Role::BorderRouter => "border router",
            Role::Router => "router",
            Role::Leaf => "leaf",
            Role::Host => "host",
            Role::Outside => "outside",
        };
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(page, "{comma}[{},{},\"{role}\"]", place.x_m, place.y_m);
    }
    page.push_str("],\"links\":[");
    let links = if scenario.nodes.len() > LINKED { &[] } else { links };
    for (index, (a, b)) in links.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(page, "{comma}[{a},{b}]");
    }
    page.push_str("],\"trees\":[");
    for (index, tree) in trees.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(page, "{comma}[{:.3},[", tree.at_s);
        for (index, node) in tree.nodes.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let number = |of: Option<u32>| of.map_or("null".to_owned(), |it| it.to_string());
            let (parent, hops) = (number(node.parent), number(node.hops));
            let _ = write!(page, "{comma}[{parent},{hops},{:.2}]", node.frames_per_s);
        }
        page.push_str("]]");
    }
    page.push_str("]}</script></figure>\n</section>\n");
}
