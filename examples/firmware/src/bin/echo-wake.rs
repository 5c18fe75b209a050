//! `echo` as a duty-cycled relay among others: it wakes eight times a second, strobes, and forwards
//! fragments, up to sixteen of which fit into memory. See `src/echo.rs`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::ListenConfig;
use kinglet::{mac, net, store};
use kinglet_firmware::{Place, echo, place};

kinglet_firmware::echo_profile!(Echo {
    forwards: true,
    listening: mac::Waking<mac::AlwaysOn>,
    delivery_method: mac::Strobing<(), [mac::Strobed; 4], 1>,
    fragmentation: net::Rfc8930<[Option<net::Virtual>; 4], store::Ram<[store::Frame; 16]>>,
});

#[entry]
fn main() -> ! {
    let node = singleton!(: Place<Echo> = Place::uninit());
    let mut config = place::unsecured();
    config.net.forward = true;
    echo::run(node, config, (), ListenConfig::default())
}
