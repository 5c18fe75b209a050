//! `echo` with a small TCP: New Reno, without pacing, ECN, Fast Open and SYN cookies. See
//! `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::{self, ListenConfig};
use kinglet_firmware::{Place, echo, place};

kinglet::profile! {
    struct Echo {
        features: tcp::Small,
        recovery: (),
        packets: 5,
        reassemblies: 2,
        send_buffer: 2048,
        receive_buffer: 2048,
    }
}

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    echo::run(node, place::unsecured(), (), ListenConfig::default())
}
