//! `echo` with TCP Fast Open, as server and as client, and with SYN cookies. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::{self, ListenConfig};
use kinglet_firmware::{Place, echo, place};

kinglet::profile! {
    struct Echo {
        features: tcp::Full,
        packets: 5,
        reassemblies: 2,
        send_buffer: 2048,
        receive_buffer: 2048,
        segments: 6,
        servers: 1,
    }
}

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let listen = ListenConfig { fast_open: 1, ..ListenConfig::default() };
    echo::run(node, place::unsecured(), (), listen)
}
