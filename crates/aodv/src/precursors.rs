//! Precursors: the neighbours that send packets through this node to a destination (RFC 3561, 6.2).

/// Precursors of a route, as far as errors differ: a single one is notified by unicast, several
/// ones by broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precursors {
    None,
    One(u16),
    Many,
}

impl Precursors {
    pub(crate) fn add(&mut self, short: u16) {
        *self = match *self {
            Precursors::None => Precursors::One(short),
            Precursors::One(one) if one == short => return,
            Precursors::One(_) | Precursors::Many => Precursors::Many,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_known_by_name() {
        let mut precursors = Precursors::None;
        let then = [7, 7, 8, 7].map(|short| {
            precursors.add(short);
            precursors
        });
        let (one, many) = (Precursors::One(7), Precursors::Many);
        assert_eq!(then, [one, one, many, many]);
    }
}
