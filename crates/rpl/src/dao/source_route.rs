//! Source routes of a root in non-storing mode (RFC 6550, 9.7): from a target to its parent, to the
//! parent's parent, up to the root.

use super::{Route, Targets};
use core::net::Ipv6Addr;

/// Writes the nodes on the route to `destination`, which is the last, to the front of `out`.
/// Returns their number; `None` if the route is unknown, has a loop, or has more hops than `out`
/// has room for. The limit of `out` ends a loop.
pub(crate) fn compute(
    table: &[Option<Route>],
    root: Ipv6Addr,
    destination: Ipv6Addr,
    out: &mut [Ipv6Addr],
) -> Option<usize> {
    let mut len: usize = 0;
    let mut at = destination;
    // Written from the end; moved to the front when the length is known.
    for place in out.iter_mut().rev() {
        if at == root {
            break;
        }
        *place = at;
        len = len.saturating_add(1);
        at = Targets::find(table, at)?.via;
    }
    if at != root {
        return None;
    }
    // `copy_within` can panic, unless the compiler inlines it and proves that it does not.
    let begin = out.len().saturating_sub(len);
    for index in 0..len {
        let node = *out.get(begin.saturating_add(index))?;
        *out.get_mut(index)? = node;
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::super::Advertised;
    use super::*;
    use crate::lollipop::Counter;
    use kinglet_wire::rpl::Target;

    fn node(n: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, n)
    }

    fn link(child: u16, parent: u16) -> Option<Route> {
        Some(Route {
            target: Target { prefix: node(child), prefix_len: 128 },
            via: node(parent),
            sequence: Counter::FIRST,
            lifetime: 1,
            external: false,
            local: false,
            other: None,
            expires: None,
            advertised: Advertised::No,
        })
    }

    #[test]
    fn a_route_is_listed_from_the_root_on_and_a_loop_is_none() {
        let table = [link(2, 1), link(4, 3), link(3, 2), link(8, 9), link(9, 8), link(7, 6)];
        let mut out = [Ipv6Addr::UNSPECIFIED; 4];
        let mut next_hop =
            |to| compute(&table, node(1), node(to), &mut out).map(|n| out[..n].to_vec());
        assert_eq!(next_hop(4), Some(std::vec![node(2), node(3), node(4)]));
        assert_eq!(next_hop(2), Some(std::vec![node(2)]));
        assert_eq!([next_hop(8), next_hop(7), next_hop(5)], [None, None, None]);
        let mut short = [Ipv6Addr::UNSPECIFIED; 2];
        assert_eq!(compute(&table, node(1), node(4), &mut short), None);
        assert_eq!(compute(&table, node(1), node(3), &mut short), Some(2));
    }
}
