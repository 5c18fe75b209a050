//! `echo` with one of two profiles, selected at run time: shows the code size of a second profile.
//! See `src/echo.rs`.

#![no_std]
#![no_main]

use core::hint::black_box;
use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo {});

kinglet::profile! {
    struct Larger {
        packets: 8,
        reassemblies: 3,
        connections: 2,
        send_buffer: 4096,
        receive_buffer: 4096,
        segments: 11,
    }
}

#[entry]
fn main() -> ! {
    let listen = ListenConfig::default();
    if black_box(true) {
        let node = singleton!(: Place<Echo> = Place::uninit());
        echo::run(node, place::unsecured(), (), listen)
    } else {
        let node = singleton!(: Place<Larger> = Place::uninit());
        echo::run(node, place::unsecured(), (), listen)
    }
}
