//! packetdrill's userspace plug-in interface over [`kinglet_testkit::socket`]: with it an
//! unmodified packetdrill drives Kinglet's TCP over IPv6, in virtual time (see this crate's
//! `README.md`).
//!
//! * `interface.rs`: the table of functions that packetdrill wants, as C lays it out;
//! * `calls.rs`: system calls, from C's arguments to a [`kinglet_testkit::socket::Request`] and
//!   back;
//! * `clock.rs`: time and packets;
//! * `shared.rs`: the stack between packetdrill's two threads.
//!
//! This is the one crate of the workspace with `unsafe`: C calls it with pointers.

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

/// packetdrill's entry: fills `interface` with a new stack, set up as `flags` says:
/// `name=value` with commas between, names being those of
/// [`kinglet_testkit::socket::Settings::set`], or `strict=1`.
///
/// # Safety
/// `flags` is null or a string of C, and `interface` is packetdrill's structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(
    flags: *const c_char,
    interface: *mut Interface,
) {
    let flags = if flags.is_null() {
        String::new()
    } else {
        // SAFETY: not null, so a string of C, as the caller promises.
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
    // SAFETY: the caller promises a structure of this layout to write to.
    unsafe { interface.write(Interface::new(Arc::into_raw(shared).cast_mut().cast())) };
}

/// libc's call for all descriptors but the stack's: packetdrill asks libc, not the table, for the
/// `tcp_info` of its `%{ }%` blocks, so this library has to be preloaded as well.
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
            // SAFETY: the caller's promises are those that the table's call wants.
            unsafe { calls::get_option(&shared, fd, level, name, value, len) }
        }
        None => {
            // SAFETY: the arguments are handed on as they came.
            let result =
                unsafe { libc::syscall(libc::SYS_getsockopt, fd, level, name, value, len) };
            c_int::try_from(result).unwrap_or(-1)
        }
    }
}
