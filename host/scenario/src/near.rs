//! Search for nearby nodes by position: nodes are sorted into square cells, so that only those of
//! adjacent cells are compared.

use super::{NodeId, NodePlace};

/// Nodes by cell.
pub(super) struct Cells<'a> {
    nodes: &'a [NodePlace],
    /// Side of a cell in metres.
    side: f64,
    /// Sorted by column, row and number.
    cells: Vec<((i64, i64), NodeId)>,
}

impl<'a> Cells<'a> {
    /// Creates cells with sides of `side` metres, a positive length.
    pub(super) fn new(nodes: &'a [NodePlace], side: f64) -> Self {
        let mut cells: Vec<_> =
            nodes.iter().zip(0..).map(|(place, number)| (cell(place, side), number)).collect();
        cells.sort_unstable();
        Cells { nodes, side, cells }
    }

    /// Cells of about one node each.
    pub(super) fn of_one(nodes: &'a [NodePlace]) -> Self {
        let extent = |of: fn(&NodePlace) -> f64| {
            let low = nodes.iter().map(of).fold(f64::INFINITY, f64::min);
            nodes.iter().map(of).fold(f64::NEG_INFINITY, f64::max) - low
        };
        let (width, height) = (extent(|place| place.x_m), extent(|place| place.y_m));
        let count = nodes.len().max(1) as f64;
        let side = (width * height / count).sqrt().max(width.max(height) / count);
        Cells::new(nodes, if side > 0.0 { side } else { 1.0 })
    }

    /// The nodes in the cell of `place` and in those up to `far` cells around it, by number. They
    /// include all nodes within `far` sides, and some others.
    pub(super) fn around(&self, place: &NodePlace, far: i64) -> Vec<NodeId> {
        let (x, y) = cell(place, self.side);
        let mut found = Vec::new();
        for column in x.saturating_sub(far)..=x.saturating_add(far) {
            // The cells of a column are adjacent.
            let (low, high) = ((column, y.saturating_sub(far)), (column, y.saturating_add(far)));
            let begin = self.cells.partition_point(|(cell, _)| *cell < low);
            let rest = self.cells.get(begin..).unwrap_or_default();
            let len = rest.partition_point(|(cell, _)| *cell <= high);
            found.extend(rest.iter().take(len).map(|(_, number)| *number));
        }
        found.sort_unstable();
        found
    }

    /// The node closest to `from`, of several the one with the lowest number; `from` itself if it
    /// is alone.
    pub(super) fn nearest(&self, from: NodeId) -> NodeId {
        let Some(here) = self.nodes.get(from as usize) else { return from };
        let distance = |number: &NodeId| {
            self.nodes
                .get(*number as usize)
                .map_or(f64::INFINITY, |n| (n.x_m - here.x_m).hypot(n.y_m - here.y_m))
        };
        let mut far = 1;
        loop {
            let around = self.around(here, far);
            let others = around.iter().filter(|number| **number != from);
            let best = others.min_by(|a, b| distance(a).total_cmp(&distance(b)));
            // Nodes outside these cells are farther than `far` sides; half a side is a margin for
            // rounding.
            let sure = (far as f64 - 0.5) * self.side;
            if let Some(best) = best.filter(|best| distance(best) < sure) {
                return *best;
            }
            if around.len() == self.nodes.len() {
                return best.map_or(from, |best| *best);
            }
            far *= 2;
        }
    }
}

fn cell(place: &NodePlace, side: f64) -> (i64, i64) {
    ((place.x_m / side).floor() as i64, (place.y_m / side).floor() as i64)
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;
    use kinglet_sim::rng::{Purpose, stream};

    /// The expected result, by comparison of all nodes.
    fn nearest_of_all(nodes: &[NodePlace], from: usize) -> usize {
        let distance = |n: &NodePlace| (n.x_m - nodes[from].x_m).hypot(n.y_m - nodes[from].y_m);
        let others = nodes.iter().enumerate().filter(|(i, _)| *i != from);
        let nearest = others.min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
        nearest.map_or(from, |(index, _)| index)
    }

    fn nodes(places: impl Iterator<Item = (f64, f64)>) -> Vec<NodePlace> {
        places.map(|(x_m, y_m)| NodePlace { x_m, y_m, role: Role::Router, parent: None }).collect()
    }

    #[test]
    fn the_nearest_by_cells_is_the_nearest_of_all() {
        let mut random = stream(7, 0, Purpose::Application);
        let mut scattered = |count, width: f64, height: f64| {
            let mut place = || (random.unit() * width - 30.0, random.unit() * height);
            nodes((0..count).map(|_| place()).collect::<Vec<_>>().into_iter())
        };
        let mut outlier = scattered(60, 5.0, 5.0);
        outlier.extend(nodes([(1e6, -1e6), (0.0, 0.0), (0.0, 0.0)].into_iter()));
        let grid = nodes((0..200).map(|i| (f64::from(i % 20) * 8.0, f64::from(i / 20) * 8.0)));
        let line = nodes((0..50).map(|i| (f64::from(i) * 8.0, 0.0)));
        let same = nodes((0..9).map(|_| (3.0, 3.0)));
        let layouts =
            [scattered(300, 100.0, 60.0), outlier, grid, line, same, scattered(1, 1.0, 1.0)];
        for layout in layouts {
            let cells = Cells::of_one(&layout);
            for from in 0..layout.len() {
                let expected = nearest_of_all(&layout, from);
                assert_eq!(cells.nearest(from as NodeId) as usize, expected, "{from}");
            }
        }
    }

    #[test]
    fn all_nodes_within_a_side_are_neighbours() {
        let mut random = stream(8, 0, Purpose::Application);
        let mut place = || (random.unit() * 90.0 - 45.0, random.unit() * 90.0 - 45.0);
        let nodes = nodes((0..300).map(|_| place()).collect::<Vec<_>>().into_iter());
        let cells = Cells::new(&nodes, 10.0);
        for here in &nodes {
            let around = cells.around(here, 1);
            assert!(around.is_sorted());
            for (number, there) in (0..).zip(&nodes) {
                let near = (there.x_m - here.x_m).hypot(there.y_m - here.y_m) <= 10.0;
                assert!(!near || around.contains(&number));
            }
        }
    }
}
