//! The bound on the frame counters, in flash.

use core::fmt;
use core::ops::Range;
use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

/// The key of the bound among the items of the storage.
const BOUND: u8 = 1;
/// Octets of the longest item, with its key.
const BUFFER: usize = 32;

/// Reason why the counters cannot be read or kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountersError<E> {
    /// The range does not have at least two whole pages of this flash.
    Range,
    /// The flash has failed.
    Flash(E),
    /// The content of the range is not that of counters, or is damaged beyond repair. A device
    /// with the same key must not start from 0: give it another key.
    Damaged,
    /// This bound is below the one in flash.
    Lower,
}

impl<E: fmt::Debug> fmt::Display for CountersError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CountersError::Range => f.write_str("the range is not two or more pages of the flash"),
            CountersError::Flash(error) => write!(f, "the flash fails: {error:?}"),
            CountersError::Damaged => f.write_str("the counters are damaged; use another key"),
            CountersError::Lower => f.write_str("the bound is below the one in flash"),
        }
    }
}

impl<E: fmt::Debug> core::error::Error for CountersError<E> {}

fn of<E>(error: sequential_storage::Error<E>) -> CountersError<E> {
    match error {
        sequential_storage::Error::Storage { value, .. } => CountersError::Flash(value),
        _ => CountersError::Damaged,
    }
}

/// Counters are read once and written seldom.
type NoCache = Cache<Uncached, Uncached, Uncached, u8>;

/// The bound on the frame counters of a device, in a range of its flash. Each bound takes a few
/// words of a page; a page is erased when all are full, so that the wear is spread.
pub struct Counters<F: NorFlash> {
    storage: MapStorage<u8, F, NoCache>,
}

impl<F: NorFlash> Counters<F> {
    /// Uses `range` of a flash, which has nothing else in it: two or more pages that are erased as
    /// a whole. Nothing is read yet.
    ///
    /// # Errors
    /// [`CountersError::Range`]
    pub fn new(flash: F, range: Range<u32>) -> Result<Self, CountersError<F::Error>> {
        if range.is_empty() || range.end as usize > flash.capacity() {
            return Err(CountersError::Range);
        }
        let config = MapConfig::try_new(range).map_err(|_| CountersError::Range)?;
        Ok(Counters { storage: MapStorage::new(flash, config, Cache::new_uncached()) })
    }

    /// Returns the counter of the first frame after this start; 0 if no bound was ever kept, as
    /// with a key that the device has never used.
    ///
    /// # Errors
    /// [`CountersError::Flash`], [`CountersError::Damaged`]
    pub async fn first(&mut self) -> Result<u32, CountersError<F::Error>> {
        let mut buffer = [0; BUFFER];
        let bound = self.storage.fetch_item::<u32>(&mut buffer, &BOUND).await.map_err(of)?;
        Ok(bound.unwrap_or(0))
    }

    /// Keeps a bound of [`Node::poll_counter_bound`](kinglet::Node::poll_counter_bound). When this
    /// has returned, a restart begins there; if power fails before, there or at the last one.
    ///
    /// # Errors
    /// [`CountersError::Lower`]: the device would use counters twice, so nothing has changed;
    /// [`CountersError::Flash`], [`CountersError::Damaged`]
    pub async fn keep(&mut self, bound: u32) -> Result<(), CountersError<F::Error>> {
        if bound < self.first().await? {
            return Err(CountersError::Lower);
        }
        let mut buffer = [0; BUFFER];
        self.storage.store_item(&mut buffer, &BOUND, &bound).await.map_err(of)
    }

    /// Returns the flash.
    pub fn into_flash(self) -> F {
        self.storage.destroy().0
    }
}
