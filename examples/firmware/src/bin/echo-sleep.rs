//! `echo` as a leaf that sleeps: its parent keeps what is for it. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac;
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, echo, place};

kinglet::profile! {
    struct Echo {
        listening: mac::Sampled,
        packets: 5,
        reassemblies: 2,
        send_buffer: 2048,
        receive_buffer: 2048,
        segments: 6,
        sources: 2,
        applications: 1,
    }
}

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let mut config = place::unsecured();
    config.mac.rx_on_when_idle = false;
    echo::run(node, config, (), ListenConfig::default())
}
