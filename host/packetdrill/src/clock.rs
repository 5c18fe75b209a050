//! Virtual time, and packets.

use crate::shared::Shared;
use kinglet_time::Duration;
use libc::{c_int, c_longlong, c_uint, c_void, size_t, timeval};
use std::sync::Arc;

/// The instance that packetdrill calls.
///
/// # Safety
/// `userdata` comes from `packetdrill_interface_init` and has not been freed.
pub(crate) unsafe fn instance<'a>(userdata: *mut c_void) -> &'a Shared {
    // SAFETY: it points to the `Shared` of an `Arc` that lives until `free`.
    unsafe { &*userdata.cast::<Shared>() }
}

/// Offset of the flags of a TCP header in a packet, and the bit of RST.
const FLAGS: usize = 53;
const RST: u8 = 4;

fn is_reset(packet: &[u8]) -> bool {
    packet.get(FLAGS).is_some_and(|flags| flags & RST != 0)
}

/// Ends the instance. Reports packets that were sent without a line in the script.
pub(crate) unsafe extern "C" fn free(userdata: *mut c_void) {
    // SAFETY: the pointer is from `Arc::into_raw`, and packetdrill frees it once.
    let shared = unsafe { Arc::from_raw(userdata.cast::<Shared>().cast_const()) };
    crate::instances().retain(|other| !Arc::ptr_eq(other, &shared));
    let mut unexpected = 0;
    for packet in shared.leftovers() {
        if !is_reset(&packet.octets) {
            unexpected += 1;
            let micros = packet.at.as_micros();
            eprintln!("kinglet: not expected by the script: a packet sent at {micros} us");
        }
    }
    if unexpected > 0 && shared.strict {
        std::process::exit(1);
    }
}

/// Delivers a packet.
pub(crate) unsafe extern "C" fn netdev_send(
    userdata: *mut c_void,
    octets: *const c_void,
    count: size_t,
) -> c_int {
    // SAFETY: packetdrill's promises of its interface.
    let (shared, octets) =
        unsafe { (instance(userdata), std::slice::from_raw_parts(octets.cast(), count)) };
    if is_reset(octets) {
        shared.clean_up(|stack| stack.deliver(octets));
    } else {
        shared.with(|stack| stack.deliver(octets));
    }
    0
}

/// The next packet that was sent, with its time. Without one time jumps to the next timer.
pub(crate) unsafe extern "C" fn netdev_receive(
    userdata: *mut c_void,
    out: *mut c_void,
    count: *mut size_t,
    micros: *mut c_longlong,
) -> c_int {
    // SAFETY: packetdrill's promises of its interface.
    let shared = unsafe { instance(userdata) };
    loop {
        let (packet, deadline) = shared.with(|stack| (stack.take_emitted(), stack.deadline()));
        if let Some(packet) = packet {
            // SAFETY: `out` has room for `count` octets, and all three pointers are packetdrill's.
            unsafe {
                let len = packet.octets.len().min(*count);
                std::ptr::copy_nonoverlapping(packet.octets.as_ptr(), out.cast(), len);
                count.write(len);
                micros.write(i64::try_from(packet.at.as_micros()).unwrap_or(i64::MAX));
            }
            return 0;
        }
        let Some(deadline) = deadline else {
            // packetdrill would poll for ever.
            eprintln!(
                "kinglet: the script expects a packet, but no timer runs that could send one"
            );
            std::process::exit(1);
        };
        shared.step(deadline);
    }
}

/// Advances the time.
pub(crate) unsafe extern "C" fn usleep(userdata: *mut c_void, micros: c_uint) -> c_int {
    // SAFETY: packetdrill's promises of its interface.
    let shared = unsafe { instance(userdata) };
    let now = shared.with(|stack| stack.now());
    shared.advance(now + Duration::from_micros(u64::from(micros)));
    0
}

/// The time.
pub(crate) unsafe extern "C" fn gettimeofday(
    userdata: *mut c_void,
    out: *mut timeval,
    _: *mut c_void,
) -> c_int {
    // SAFETY: packetdrill's promises of its interface.
    let now = unsafe { instance(userdata) }.time();
    let micros = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    let time = timeval { tv_sec: micros / 1_000_000, tv_usec: micros % 1_000_000 };
    // SAFETY: `out` is packetdrill's structure.
    unsafe { out.write(time) };
    0
}
