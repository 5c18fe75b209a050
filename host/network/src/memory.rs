//! Tables of simulated nodes, allocated on use.
//!
//! One node type plays every role in the lab, so its tables have the capacity that the most
//! demanding role needs. A device reserves that memory in any case; a machine that simulates twenty
//! thousand devices cannot. The capacity of a table, and so the behaviour of a node, is the same as
//! with an array of the same length.

use kinglet::mac::PeerCounter;
use kinglet::mem::{Array, Empty};

/// `N` octets of zero, allocated at the first write.
#[derive(Debug)]
pub struct Octets<const N: usize>(Option<Box<[u8; N]>>);

impl<const N: usize> Array<u8> for Octets<N> {
    const EMPTY: Self = Octets(None);
    const LEN: usize = N;

    fn as_slice(&self) -> &[u8] {
        self.0.as_deref().unwrap_or(const { &[0; N] })
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        self.0.get_or_insert_with(|| Box::new([0; N])).as_mut_slice()
    }
}

/// Frame counters of `N` devices, allocated when a frame is received from one of them.
pub struct Devices<const N: usize>(Option<Box<[PeerCounter; N]>>);

impl<const N: usize> Array<PeerCounter> for Devices<N> {
    const EMPTY: Self = Devices(None);
    const LEN: usize = N;

    fn as_slice(&self) -> &[PeerCounter] {
        self.0.as_deref().unwrap_or(const { &[PeerCounter::EMPTY; N] })
    }

    fn as_mut_slice(&mut self) -> &mut [PeerCounter] {
        self.0.get_or_insert_with(|| Box::new([PeerCounter::EMPTY; N])).as_mut_slice()
    }
}

/// `N` entries, allocated at the first mutable access. Shared access sees none until then.
#[derive(Debug)]
pub struct Later<T, const N: usize>(Option<Box<[T; N]>>);

impl<T: Empty, const N: usize> Array<T> for Later<T, N> {
    const EMPTY: Self = Later(None);
    const LEN: usize = N;

    fn as_slice(&self) -> &[T] {
        self.0.as_ref().map_or(&[], |places| places.as_slice())
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self.0.get_or_insert_with(|| Box::new([const { T::EMPTY }; N])).as_mut_slice()
    }
}

/// A table of at most `N` entries, for code that searches entries and free places from the start.
/// Mutable access sees a free place at the end, unless the table is full. Shared access sees the
/// entries, but not the whole capacity.
#[derive(Debug)]
pub struct Growing<T, const N: usize>(Vec<Option<T>>);

impl<T, const N: usize> Array<Option<T>> for Growing<T, N> {
    const EMPTY: Self = Growing(Vec::new());
    const LEN: usize = N;

    fn as_slice(&self) -> &[Option<T>] {
        &self.0
    }

    fn as_mut_slice(&mut self) -> &mut [Option<T>] {
        let places = &mut self.0;
        if places.last().is_none_or(Option::is_some) && places.len() < N {
            let more = places.len().clamp(1, N - places.len());
            places.reserve_exact(more);
            places.resize_with(places.len() + more, || None);
        }
        places
    }
}

/// Peak memory of this process in MiB, if the system reports it as Linux does.
pub fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_take_memory_when_they_are_written() {
        let mut octets = Octets::<4096>::EMPTY;
        assert_eq!((octets.as_slice(), octets.0.is_some()), (&[0; 4096][..], false));
        octets.as_mut_slice()[4095] = 7;
        assert_eq!((octets.as_slice().len(), octets.as_slice()[4095]), (4096, 7));
        assert_eq!(size_of_val(&octets), size_of::<usize>());
    }

    #[test]
    fn a_table_grows_with_its_entries_up_to_its_length() {
        let mut table = Growing::<u32, 5>::EMPTY;
        assert!(table.as_slice().is_empty());
        for n in 0..5 {
            let free = table.as_mut_slice().iter_mut().position(|place| place.is_none());
            assert_eq!(free, Some(n), "the first free place is where an array has it");
            table.as_mut_slice()[n] = Some(n as u32);
        }
        assert_eq!(table.as_mut_slice().len(), 5);
        assert!(table.as_slice().iter().flatten().copied().eq(0..5), "and it is full");
        table.as_mut_slice()[2] = None;
        assert_eq!(table.as_mut_slice().iter().position(Option::is_none), Some(2));
        assert_eq!(table.as_slice().len(), 5);
    }
}
