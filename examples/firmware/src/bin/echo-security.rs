//! `echo` with link security. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac;
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, echo, place};

kinglet::profile! {
    struct Echo {
        security: mac::CcmStar<mac::Tabled, [mac::Peer; 16]>,
        packets: 5,
        reassemblies: 2,
        send_buffer: 2048,
        receive_buffer: 2048,
        segments: 6,
    }
}

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    echo::run(node, place::config(), (), ListenConfig::default())
}
