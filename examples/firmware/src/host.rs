//! Files and the time of the host, by semihosting: what a product has in its flash and its clock.

use core::ffi::CStr;
use cortex_m_semihosting::{nr, syscall};

/// Mode of a file that is opened: binary, to be read.
const READ_BINARY: usize = 1;

/// Reads a file of the host into `buf`. Returns its octets; `None` without such a file, or without
/// room for an octet more than it has.
pub fn file<'a>(path: &CStr, buf: &'a mut [u8]) -> Option<&'a [u8]> {
    let open = [path.as_ptr() as usize, READ_BINARY, path.count_bytes()];
    // SAFETY: the host reads the path, which lives as long as this call.
    let file = unsafe { syscall(nr::OPEN, &open) };
    if file as isize == -1 {
        return None;
    }
    let read = [file, buf.as_mut_ptr() as usize, buf.len()];
    // SAFETY: the host writes into `buf`, at most as many octets as it has.
    let missing = unsafe { syscall(nr::READ, &read) };
    // SAFETY: the file is open, and is used no more.
    unsafe { syscall(nr::CLOSE, &[file]) };
    let len = buf.len().checked_sub(missing).filter(|_| missing > 0)?;
    buf.get(..len)
}

/// The seconds since 1970, of the host's clock.
pub fn seconds() -> u64 {
    // SAFETY: it takes no argument and returns a number.
    unsafe { syscall(nr::TIME, &0) as u64 }
}
