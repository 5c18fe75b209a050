//! `echo` with TCP Fast Open, as server and as client, and with SYN cookies. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::{self, ListenConfig};
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo { features: tcp::Full, servers: 1 });

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let listen = ListenConfig { fast_open: 1, ..ListenConfig::default() };
    echo::run(node, place::unsecured(), (), listen)
}
