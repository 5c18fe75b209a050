//! Rows that together contain each possible pair of values of two axes.

use std::collections::BTreeSet;

/// Two axes with a value of each: (axis, value, axis, value), the smaller axis first.
type Pair = (usize, usize, usize, usize);

/// A row with values for some of the axes.
type Partial = Vec<Option<usize>>;

/// Returns rows for axes with these numbers of values. `is_possible` decides whether the values of
/// a row are compatible; some axes may have no value yet. The other axes must then have a
/// compatible value. Another `variant` combines the same pairs in other rows.
pub(super) fn rows(
    sizes: &[usize],
    variant: usize,
    is_possible: impl Fn(&Partial) -> bool,
) -> Vec<Vec<usize>> {
    let mut missing = all_pairs(sizes);
    missing.retain(|&(a, x, b, y)| {
        let mut row = vec![None; sizes.len()];
        (row[a], row[b]) = (Some(x), Some(y));
        is_possible(&row)
    });
    let mut rows = Vec::new();
    while let Some(&(a, x, b, y)) = missing.first() {
        let mut row = vec![None; sizes.len()];
        (row[a], row[b]) = (Some(x), Some(y));
        // Axes are filled first in round robin, as are values with equal gain.
        let offset = rows.len() + variant;
        for axis in (0..sizes.len()).map(|n| (n + offset) % sizes.len()) {
            if row[axis].is_none() {
                row[axis] = best(&row, axis, sizes[axis], offset, &missing, &is_possible);
            }
        }
        let row: Vec<usize> = row.into_iter().map(|value| value.expect("a value")).collect();
        missing.retain(|&(a, x, b, y)| (row[a], row[b]) != (x, y));
        rows.push(row);
    }
    rows
}

/// Returns the possible value of an axis that adds most pairs to a row.
fn best(
    row: &Partial,
    axis: usize,
    size: usize,
    offset: usize,
    missing: &BTreeSet<Pair>,
    is_possible: &impl Fn(&Partial) -> bool,
) -> Option<usize> {
    let with = |value| {
        let mut row = row.clone();
        row[axis] = Some(value);
        row
    };
    let gain = |value: &usize| {
        let others = row.iter().enumerate().filter_map(|(other, it)| Some((other, (*it)?)));
        let pairs = others.map(|(other, it)| match other < axis {
            true => (other, it, axis, *value),
            false => (axis, *value, other, it),
        });
        pairs.filter(|pair| missing.contains(pair)).count()
    };
    let values = (0..size).map(|n| (n + offset) % size);
    values.filter(|value| is_possible(&with(*value))).max_by_key(gain)
}

fn all_pairs(sizes: &[usize]) -> BTreeSet<Pair> {
    let axes = (0..sizes.len()).flat_map(|a| (a + 1..sizes.len()).map(move |b| (a, b)));
    let of = |(a, b): (usize, usize)| {
        (0..sizes[a]).flat_map(move |x| (0..sizes[b]).map(move |y| (a, x, b, y)))
    };
    axes.flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_that_is_possible_is_in_a_row() {
        let sizes = [3, 2, 4, 2];
        let is_possible = |row: &Partial| (row[0], row[2]) != (Some(1), Some(3));
        let rows = rows(&sizes, 1, is_possible);
        assert!(rows.len() <= 14, "{} rows for 12 pairs of the largest axes", rows.len());
        for (a, x, b, y) in all_pairs(&sizes) {
            let is_there = rows.iter().any(|row| (row[a], row[b]) == (x, y));
            assert_eq!(is_there, (a, x, b, y) != (0, 1, 2, 3), "{a}: {x}, {b}: {y}");
        }
    }
}
