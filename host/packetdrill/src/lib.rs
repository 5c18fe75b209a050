//! packetdrill's userspace plug-in interface over [`kinglet_testkit::socket`]. With it an
//! unmodified packetdrill drives Kinglet's TCP over IPv6, in virtual time (see this crate's
//! `README.md`).
//!
//! * `interface.rs`: the function table of packetdrill in C's layout;
//! * `calls.rs`: system calls, from C's arguments to a [`kinglet_testkit::socket::Request`] and
//!   back;
//! * `clock.rs`: time and packets;
//! * `shared.rs`: the stack, shared by packetdrill's two threads.
//!
//! The crate has `unsafe` code because C calls it with pointers.

#![cfg(target_os = "linux")]
#![deny(clippy::undocumented_unsafe_blocks)]

mod calls;
mod clock;
mod interface;
mod shared;

use interface::Interface;
use shared::Shared;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All instances, for [`getsockopt`].
static INSTANCES: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());

fn instances() -> MutexGuard<'static, Vec<Arc<Shared>>> {
    INSTANCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Entry point for packetdrill: fills `interface` with a new stack, configured by `flags`. These
/// are comma-separated `name=value` pairs with the names of
/// [`kinglet_testkit::socket::Settings::set`], or `strict=1`.
///
/// # Safety
/// `flags` is null or a C string, and `interface` is packetdrill's structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(
    flags: *const c_char,
    interface: *mut Interface,
) {
    let flags = if flags.is_null() {
        String::new()
    } else {
        // SAFETY: not null, so it is a C string, as the caller promises.
        unsafe { CStr::from_ptr(flags) }.to_string_lossy().into_owned()
    };
    let shared = match Shared::new(&flags) {
        Ok(shared) => Arc::new(shared),
        Err(what) => {
            eprintln!("kinglet: --so_flags: {what}");
            std::process::exit(1);
        }
    };
    instances().push(Arc::clone(&shared));
    // SAFETY: the caller promises a writable structure of this layout.
    unsafe { interface.write(Interface::new(Arc::into_raw(shared).cast_mut().cast())) };
}

/// Replaces libc's call for the descriptors of the stack. packetdrill calls libc, not the table,
/// for the `tcp_info` of its `%{ }%` blocks, so this library has to be preloaded as well.
///
/// # Safety
/// As of libc's call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut libc::socklen_t,
) -> c_int {
    let owner = instances().iter().find(|shared| shared.owns(fd)).cloned();
    match owner {
        Some(shared) => {
            // SAFETY: the caller's promises include those of the table's call.
            unsafe { calls::get_option(&shared, fd, level, name, value, len) }
        }
        None => {
            // SAFETY: the arguments are passed on unchanged.
            let result =
                unsafe { libc::syscall(libc::SYS_getsockopt, fd, level, name, value, len) };
            c_int::try_from(result).unwrap_or(-1)
        }
    }
}
