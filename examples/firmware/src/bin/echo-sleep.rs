//! `echo` as a sleepy leaf: its parent buffers its frames. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac;
use kinglet::tcp::ListenConfig;
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo {
    listening: mac::Sampled,
    pending_requests: 2,
    applications: 1
});

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let mut config = place::unsecured();
    config.mac.rx_on_when_idle = false;
    echo::run(node, config, (), ListenConfig::default())
}
