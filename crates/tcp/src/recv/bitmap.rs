//! A bitmap over ring positions: bit `i` of octet `i / 8` is set if position `i` holds a received
//! octet that is not yet in order. Works octet-wise; only the edges are handled bit by bit.

/// Sets or clears the bits `from..to`.
pub(crate) fn fill(map: &mut [u8], from: usize, to: usize, value: bool) {
    if from >= to {
        return;
    }
    let (first, last) = (from / 8, to / 8);
    let head = 0xff_u8 << (from % 8);
    // The bits below `to` in its octet; none if `to` is a multiple of eight.
    let tail = !(0xff_u8 << (to % 8));
    if first == last {
        apply(map, first, head & tail, value);
        return;
    }
    apply(map, first, head, value);
    if let Some(middle) = map.get_mut(first.saturating_add(1)..last) {
        middle.fill(if value { 0xff } else { 0 });
    }
    apply(map, last, tail, value);
}

fn apply(map: &mut [u8], octet: usize, mask: u8, value: bool) {
    if let Some(octet) = map.get_mut(octet) {
        if value {
            *octet |= mask;
        } else {
            *octet &= !mask;
        }
    }
}

/// The first position in `from..to` whose bit is `value`, or `to`.
pub(crate) fn find(map: &[u8], from: usize, to: usize, value: bool) -> usize {
    let invert = if value { 0 } else { 0xff };
    let mut at = from;
    // Each round moves to the next octet.
    while at < to {
        let Some(&octet) = map.get(at / 8) else { return to };
        let bits = (octet ^ invert) & (0xff_u8 << (at % 8));
        let base = at & !7;
        if bits != 0 {
            return base.saturating_add(bits.trailing_zeros() as usize).min(to);
        }
        at = base.saturating_add(8);
    }
    to
}

/// The start of the run of set bits that ends before `to`, not before `from`.
pub(crate) fn run_start(map: &[u8], from: usize, to: usize) -> usize {
    let mut end = to;
    // Each round moves to the previous octet.
    while end > from {
        let last = end.saturating_sub(1);
        let Some(&octet) = map.get(last / 8) else { return end };
        // The octet's bits up to `last`, moved to the top.
        let bits = octet << (7_usize.saturating_sub(last % 8));
        let ones = (bits.leading_ones() as usize).min((last % 8).saturating_add(1));
        let start = end.saturating_sub(ones);
        if ones <= last % 8 || start <= from {
            return start.max(from);
        }
        end = start;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const BITS: usize = 83;

    fn as_bools(map: &[u8]) -> Vec<bool> {
        (0..map.len() * 8).map(|i| map[i / 8] >> (i % 8) & 1 == 1).collect()
    }

    proptest! {
        #[test]
        fn runs_agree_with_a_vector_of_bools(
            fills in proptest::collection::vec((0..BITS, 0..BITS, any::<bool>()), 0..20),
            from in 0..BITS, len in 0..BITS,
        ) {
            let mut map = [0_u8; BITS.div_ceil(8)];
            let mut naive = [false; BITS];
            for (a, b, value) in fills {
                let (a, b) = (a.min(b), a.max(b));
                fill(&mut map, a, b, value);
                naive[a..b].fill(value);
            }
            prop_assert_eq!(&as_bools(&map)[..BITS], &naive[..]);
            let to = (from + len).min(BITS);
            for value in [true, false] {
                let want = (from..to).find(|i| naive[*i] == value).unwrap_or(to);
                prop_assert_eq!(find(&map, from, to, value), want);
            }
            let want = (from..to).rev().find(|i| !naive[*i]).map_or(from, |i| i + 1);
            prop_assert_eq!(run_start(&map, from, to), want.min(to));
        }
    }
}
