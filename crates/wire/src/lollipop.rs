//! Sequence counters that distinguish a restart from a wrap (RFC 6550, 7.2; RFC 8505, 5.2).

use core::cmp::Ordering;

/// SEQUENCE_WINDOW: counters farther apart cannot be compared.
const WINDOW: u8 = 16;
/// The first number of the linear region; the circular region is below.
const STRAIGHT: u8 = 128;

/// A sequence counter: a linear region of 128 to 255 after a restart, then a circular one of 0 to
/// 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter(u8);

impl Counter {
    /// The initial value, far enough from the circular region that a restart is detected.
    pub const FIRST: Counter = Counter(0u8.wrapping_sub(WINDOW));

    /// Returns the counter with this value in a message.
    pub const fn new(value: u8) -> Self {
        Counter(value)
    }

    /// Returns its value in messages.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// Returns the next counter.
    //= rfc6550#7.2-1
    //= rfc8505#5.2.1-1
    #[must_use]
    pub const fn next(self) -> Self {
        let Counter(value) = self;
        Counter(if value < STRAIGHT {
            value.wrapping_add(1) % STRAIGHT
        } else {
            value.wrapping_add(1)
        })
    }

    /// Compares two counters; `None` if they cannot be compared.
    //= rfc6550#7.2-2
    //= rfc8505#5.2.1-2
    pub fn compare(self, other: Counter) -> Option<Ordering> {
        let (Counter(a), Counter(b)) = (self, other);
        match (a < STRAIGHT, b < STRAIGHT) {
            // From the linear region into the circular one, which is at most a window away.
            (false, true) if b.wrapping_sub(a) <= WINDOW => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (true, false) => other.compare(self).map(Ordering::reverse),
            (true, true) => {
                let ahead = a.wrapping_sub(b) % STRAIGHT;
                let behind = b.wrapping_sub(a) % STRAIGHT;
                match (ahead, behind) {
                    (0, _) => Some(Ordering::Equal),
                    (1..=WINDOW, _) => Some(Ordering::Greater),
                    (_, 1..=WINDOW) => Some(Ordering::Less),
                    _ => None,
                }
            }
            (false, false) => (a.abs_diff(b) <= WINDOW).then(|| a.cmp(&b)),
        }
    }

    /// Returns whether it is later; false for counters that cannot be compared.
    pub fn is_after(self, other: Counter) -> bool {
        self.compare(other) == Some(Ordering::Greater)
    }

    /// Returns whether it is earlier.
    pub fn is_before(self, other: Counter) -> bool {
        self.compare(other) == Some(Ordering::Less)
    }

    /// Returns whether it is certainly earlier. If this one is circular and `other` linear, `other`
    /// may be outdated, from before the circular region.
    pub fn is_surely_before(self, other: Counter) -> bool {
        self.is_before(other) && (other.0 < STRAIGHT || self.0 >= STRAIGHT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(a: u8, b: u8) -> Option<Ordering> {
        Counter(a).compare(Counter(b))
    }

    //= rfc6550#7.2-2 type=test
    #[test]
    fn counters_compare_as_the_examples_of_the_rfc_say() {
        use Ordering::{Greater, Less};
        // RFC 6550, 7.2: 240 against 5, 250 against 5.
        assert_eq!(compare(240, 5), Some(Greater));
        assert_eq!(compare(250, 5), Some(Less));
        assert_eq!(compare(5, 250), Some(Greater));
        assert_eq!(compare(127, 0), Some(Less));
        assert_eq!(compare(3, 120), Some(Greater));
        assert_eq!(compare(0, 64), None);
        assert_eq!(compare(130, 160), None);
    }

    #[test]
    fn a_circular_counter_is_not_surely_before_a_linear_one() {
        for (a, b, surely) in [
            (240, 5, false), // It is later.
            (250, 5, true),
            (5, 240, false), // It is earlier, unless 240 is outdated.
            (5, 6, true),
            (6, 5, false),
            (127, 0, true),
            (250, 251, true),
            (251, 250, false),
            (5, 5, false),
        ] {
            assert_eq!(Counter(a).is_surely_before(Counter(b)), surely, "{a} {b}");
        }
        assert!(Counter(5).is_before(Counter(240)));
    }

    #[test]
    fn the_next_is_later_all_the_way_round() {
        let mut counter = Counter::FIRST;
        assert_eq!(counter.value(), 240);
        for _ in 0..600 {
            assert!(counter.next().is_after(counter) && counter.is_before(counter.next()));
            assert_eq!(counter.compare(counter), Some(Ordering::Equal));
            counter = counter.next();
        }
        assert!(counter.value() < STRAIGHT);
    }

    #[test]
    fn comparing_in_reverse_gives_the_opposite() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(compare(a, b), compare(b, a).map(Ordering::reverse), "{a} {b}");
            }
        }
    }
}
