//! Counters, and the reasons for which a layer discards, evicts, refuses or gives up.

/// Makes an enumeration of discard reasons: its variants, and the name and the index of the counter
/// of each. A variant may carry one value, which does not change the counter.
///
/// ```
/// kinglet_mem::reasons! {
///     /// The reasons of a layer.
///     pub enum Discard {
///         /// The header ends early, at this octet.
///         Malformed(u8),
///         /// The queue is full.
///         QueueFull,
///     }
/// }
/// assert_eq!(Discard::NAMES, ["Malformed", "QueueFull"]);
/// assert_eq!(Discard::Malformed(7).index(), 0);
/// ```
#[macro_export]
macro_rules! reasons {
    (
        $(#[$about:meta])*
        pub enum $Name:ident {
            $( $(#[$doc:meta])* $Reason:ident $(($Value:ty))? ),* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            $( $(#[$doc])* $Reason $(($Value))? ),*
        }

        impl $Name {
            /// The names of the reasons, as they are declared.
            pub const NAMES: [&'static str; Self::KINDS] = [$(stringify!($Reason)),*];
            /// The number of reasons.
            pub const KINDS: usize = [$(stringify!($Reason)),*].len();

            /// The index of the reason's name and counter.
            #[inline]
            pub const fn index(self) -> usize {
                enum Place { $($Reason),* }
                match self {
                    $( $Name::$Reason { .. } => Place::$Reason as usize ),*
                }
            }
        }
    };
}

/// Makes the counters of a layer: those of successes, and those of the reasons for which it
/// evicted, refused or gave up something; with those of its [`reasons!`] for discards, if it has
/// some.
///
/// ```
/// # kinglet_mem::reasons! { pub enum Discard { Malformed, QueueFull } }
/// kinglet_mem::counters! {
///     /// The counters of a layer.
///     pub struct Stats {
///         /// Packets received.
///         received,
///     }
///     reasons {
///         /// Entries replaced by newer ones.
///         evicted,
///     }
///     discards Discard
/// }
/// let mut stats = Stats::ZERO;
/// stats.discard(Discard::QueueFull);
/// assert_eq!(stats.discarded(Discard::QueueFull), 1);
/// let reasons: Vec<_> = stats.reasons().collect();
/// assert_eq!(reasons, [("evicted", 0), ("Malformed", 0), ("QueueFull", 1)]);
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[$about:meta])*
        pub struct $Stats:ident { $( $(#[$doc:meta])* $count:ident ),* $(,)? }
        reasons { $( $(#[$why:meta])* $reason:ident ),* $(,)? }
        $( discards $Discard:ident )?
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Stats {
            $( $(#[$doc])* pub $count: u32, )*
            $( $(#[$why])* pub $reason: u32, )*
            $( discards: [u32; $Discard::KINDS], )?
        }

        impl Default for $Stats {
            fn default() -> Self {
                $Stats::ZERO
            }
        }

        impl $Stats {
            pub(crate) const ZERO: $Stats = $Stats {
                $( $count: 0, )*
                $( $reason: 0, )*
                $( discards: [0; $Discard::KINDS], )?
            };

            /// Returns the count of each reason for which something was discarded, evicted, refused
            /// or given up, with the name of its counter or variant.
            pub fn reasons(&self) -> impl Iterator<Item = (&'static str, u32)> {
                let counters = [$( (stringify!($reason), self.$reason) ),*].into_iter();
                $( let names = $Discard::NAMES.iter().copied();
                   let counters = counters.chain(names.zip(self.discards.iter().copied())); )?
                counters
            }
        }

        $( $crate::counters!(@discards $Stats $Discard); )?
    };
    (@discards $Stats:ident $Discard:ident) => {
        impl $Stats {
            /// The number of discards for this reason.
            pub fn discarded(&self, reason: $Discard) -> u32 {
                self.discards.get(reason.index()).copied().unwrap_or(0)
            }

            /// Counts a discard.
            pub(crate) fn discard(&mut self, reason: $Discard) {
                if let Some(counter) = self.discards.get_mut(reason.index()) {
                    *counter = counter.saturating_add(1);
                }
            }
        }
    };
}
