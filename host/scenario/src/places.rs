//! `[topology]` and `[[node]]`: position and role of the nodes.

use super::error::Result;
use super::read::Reader;
use super::{Building, LINE_SPACING_M, NodeId, NodePlace, Role, Scenario, topology};

/// More nodes than the largest benchmark (5,000), with a margin.
const MAX_NODES: u64 = 20_000;

/// A scenario with the nodes of `[topology]` or `[[node]]`, and otherwise the defaults of that
/// topology.
pub(super) fn base(root: &mut Reader<'_>, seed: u64) -> Result<Scenario> {
    let topology = root.table_opt("topology")?;
    let explicit = root.tables("node")?;
    match (topology, explicit.is_empty()) {
        (Some(_), false) => {
            let message = "give either [topology] or [[node]] entries, not both".to_owned();
            Err(root.error_at("topology", message))
        }
        (Some(table), true) => shorthand(table, seed),
        (None, false) => Ok(on(explicit_nodes(explicit)?)),
        (None, true) => {
            root.refuse_sections(&["topology", "node"])?;
            let message = "no nodes: add `[topology]` with `line = { hops = 3 }` or \
                           `grid = { columns = 5, rows = 3 }` or `office = {}` or \
                           `building = {}` or `street = { meters = 500 }` or `ceiling = {}`, or \
                           [[node]] entries";
            Err(root.error(message.to_owned()))
        }
    }
}

fn on(nodes: Vec<NodePlace>) -> Scenario {
    Scenario { nodes, ..Scenario::default() }
}

fn shorthand(mut t: Reader<'_>, seed: u64) -> Result<Scenario> {
    let spacing = 0.01..=10_000.0;
    let line = match t.table_opt("line")? {
        Some(mut line) => {
            let hops = required_integer(&mut line, "hops", 1, MAX_NODES - 1)?;
            let spacing_m = line.number("spacing_m", spacing.clone(), LINE_SPACING_M)?;
            let leaves = line.integers("leaves", hops)?;
            line.finish()?;
            Some(with_leaves(topology::line(hops as u32, spacing_m), &leaves))
        }
        None => None,
    };
    let grid = match t.table_opt("grid")? {
        Some(mut grid) => {
            let columns = required_integer(&mut grid, "columns", 1, 1_000)?;
            let rows = required_integer(&mut grid, "rows", 1, 1_000)?;
            if !(2..=MAX_NODES).contains(&(columns * rows)) {
                let message = format!("columns × rows must be 2 to {MAX_NODES}");
                return Err(grid.error(message));
            }
            let spacing_m = grid.number("spacing_m", spacing, LINE_SPACING_M)?;
            let leaves = grid.integers("leaves", columns * rows - 1)?;
            grid.finish()?;
            Some(with_leaves(topology::grid(columns as u32, rows as u32, spacing_m), &leaves))
        }
        None => None,
    };
    let given = [line.map(on), grid.map(on)].into_iter().chain(ready_made(&mut t, seed)?);
    let mut given = given.flatten();
    let message = "needs exactly one of `line = { hops = … }`, `grid = { columns = …, rows = … }`, \
                   `office = {}`, `building = {}`, `street = { meters = … }` and `ceiling = {}`";
    match (given.next(), given.next()) {
        (Some(scenario), None) => {
            t.finish()?;
            Ok(scenario)
        }
        (None, _) => {
            // An unknown key is the more helpful message, if it is the reason that both are
            // missing.
            let error = t.error(message.to_owned());
            t.finish()?;
            Err(error)
        }
        (Some(_), Some(_)) => Err(t.error(message.to_owned())),
    }
}

/// The same nodes, with these as leaves.
fn with_leaves(mut nodes: Vec<NodePlace>, leaves: &[u64]) -> Vec<NodePlace> {
    for leaf in leaves {
        nodes[*leaf as usize].role = Role::Leaf;
    }
    nodes
}

/// Networks with predefined nodes and medium.
fn ready_made(t: &mut Reader<'_>, seed: u64) -> Result<[Option<Scenario>; 4]> {
    let office = match t.table_opt("office")? {
        Some(mut office) => {
            let day = office.boolean("day", false)?;
            let leaves = office.boolean("leaves", true)?;
            let mut scenario = Scenario::office();
            if !leaves {
                scenario = scenario.without_leaves();
            }
            for node in office.integers("awake", scenario.nodes.len() as u64 - 1)? {
                let place = &mut scenario.nodes[node as usize];
                if place.role != Role::Leaf {
                    let message = format!("node {node} is no leaf");
                    return Err(office.error_at("awake", message));
                }
                place.role = Role::Router;
            }
            office.finish()?;
            Some(if day { scenario.by_day() } else { scenario })
        }
        None => None,
    };
    let building = match t.table_opt("building")? {
        Some(mut building) => {
            let roots = [("middle", Building::Middle), ("end", Building::End)];
            let root = building.choice("root", &roots, Building::Middle)?;
            building.finish()?;
            Some(Scenario::building(root, seed))
        }
        None => None,
    };
    let street = match t.table_opt("street")? {
        Some(mut street) => {
            let meters = required_integer(&mut street, "meters", 1, MAX_NODES - 1)?;
            street.finish()?;
            Some(Scenario::street(meters as u32, seed))
        }
        None => None,
    };
    let ceiling = match t.table_opt("ceiling")? {
        Some(ceiling) => {
            ceiling.finish()?;
            Some(Scenario::ceiling())
        }
        None => None,
    };
    Ok([office, building, street, ceiling])
}

fn explicit_nodes(tables: Vec<Reader<'_>>) -> Result<Vec<NodePlace>> {
    let roles = [
        ("router", Role::Router),
        ("leaf", Role::Leaf),
        ("host", Role::Host),
        ("outside", Role::Outside),
        ("border-router", Role::BorderRouter),
    ];
    let count = tables.len();
    let mut places = Vec::with_capacity(count);
    let mut border_routers = 0;
    for (index, mut t) in tables.into_iter().enumerate() {
        if index as u64 >= MAX_NODES {
            return Err(t.error(format!("too many nodes; at most {MAX_NODES} are allowed")));
        }
        if let Some(id) = t.integer_opt("id", 0..=MAX_NODES)?
            && id != index as u64
        {
            let message = format!("nodes are numbered in order; this one is {index}");
            return Err(t.error_at("id", message));
        }
        let x_m = t.number("x_m", -1e6..=1e6, 0.0)?;
        let y_m = t.number("y_m", -1e6..=1e6, 0.0)?;
        let role = t.choice("role", &roles, Role::Router)?;
        border_routers += u32::from(role == Role::BorderRouter);
        if border_routers > 1 {
            let message = "there is a border router already; at most one is allowed".to_owned();
            return Err(t.error_at("role", message));
        }
        let parent = match (t.has("parent"), role) {
            (false, _) => t.integer_opt("parent", 0..=0)?.map(|_| 0),
            (true, Role::Leaf) => Some(t.node("parent", count)?),
            (true, _) => {
                let message = "only a leaf has a parent".to_owned();
                return Err(t.error_at("parent", message));
            }
        };
        if parent == Some(index as NodeId) {
            return Err(t.error_at("parent", "a node is not its own parent".to_owned()));
        }
        t.finish()?;
        places.push(NodePlace { x_m, y_m, role, parent });
    }
    Ok(places)
}

fn required_integer(t: &mut Reader<'_>, key: &'static str, low: u64, high: u64) -> Result<u64> {
    match t.integer_opt(key, low..=high)? {
        Some(number) => Ok(number),
        None => {
            let message = format!("missing; give a whole number, {low} to {high}");
            Err(t.error_at(key, message))
        }
    }
}
