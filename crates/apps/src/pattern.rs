//! The known stream: one end sends it and the other checks it.

/// Octets after which the stream repeats. A prime: it divides no segment, frame or buffer size, so
/// that data at a wrong position is detected.
const PERIOD: usize = 251;
/// Octets that are written or compared at a time.
const STRETCH: usize = 1_024;

/// The stream from its beginning: it contains a stretch from any position in the first period.
static STREAM: [u8; PERIOD + STRETCH] = {
    let mut stream = [0; PERIOD + STRETCH];
    let (mut rest, mut octet): (&mut [u8], u8) = (&mut stream, 0);
    while let [first, after @ ..] = rest {
        *first = octet;
        octet = if octet as usize == PERIOD - 1 { 0 } else { octet.wrapping_add(1) };
        rest = after;
    }
    stream
};

/// Returns octet `at` of the known stream.
pub fn pattern(at: u64) -> u8 {
    u8::try_from(at.rem_euclid(PERIOD as u64)).unwrap_or(0)
}

/// Returns `len` octets of the stream from octet `at` on, at most [`STRETCH`].
fn stretch(at: u64, len: usize) -> &'static [u8] {
    let begin = usize::from(pattern(at));
    STREAM.get(begin..begin.saturating_add(len)).unwrap_or_default()
}

/// Fills `out` with the stream from octet `at` on.
pub fn fill(at: u64, out: &mut [u8]) {
    let mut at = at;
    for out in out.chunks_mut(STRETCH) {
        at = at.wrapping_add(kinglet_mem::copy(out, stretch(at, out.len())) as u64);
    }
}

/// Returns whether `octets` equal the stream from octet `at` on.
pub fn is_intact(at: u64, octets: &[u8]) -> bool {
    let mut at = at;
    octets.chunks(STRETCH).all(|octets| {
        let right = stretch(at, octets.len());
        at = at.wrapping_add(octets.len() as u64);
        octets == right
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_stream_is_noticed() {
        let mut octets = [0; 3_000];
        fill(1_000, &mut octets);
        assert!(is_intact(1_000, &octets));
        assert!(!is_intact(1_001, &octets));
        assert!((0..3_000).all(|i| octets[i as usize] == pattern(1_000 + i)));
    }
}
