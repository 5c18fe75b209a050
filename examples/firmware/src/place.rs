//! The node's place in the network of `kinglet gateway --serial`: node 2 of a line, with node 1
//! between it and the border router.

use crate::{Place, make};
use core::net::Ipv6Addr;
use kinglet::mac::{Csma, Key, LinkSecurity, Security};
use kinglet::nd::{self, RouterSizes, Serving, TableFull};
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::radio::Capabilities;
use kinglet::time::Instant;
use kinglet::wire::ieee802154::Address;
use kinglet::wire::nd::{BorderRouter, ContextInformation, PrefixInformation};
use kinglet::wire::sixlowpan::Context;
use kinglet::{Config, Node, Profile};

/// Short addresses of this node and of its next hop.
pub const SHORT: u16 = 3;
pub const ROUTER: u16 = 2;
/// The prefix of the network, 6LoWPAN context 0, and the host behind it, context 1.
pub const PREFIX: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7400, 0, 0, 0, 0);
pub const HOST: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7401, 0, 0, 0, 1);
/// The address derived from the short address, so that it takes no octets on the air.
const ADDRESS: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7400, 0, 0xff, 0xfe00, SHORT);

/// The key of the scenarios of the simulator and the gateway. A product has its own key, and keeps
/// its first frame counter in flash; this board has no flash, so its counters begin at 0 each time.
const SECURITY: Security = Security {
    key: Key(*b"Kinglet scenario"),
    eui64_prefix: [0x02, 0x00, 0x00, 0xff, 0xfe, 0x00],
    first_counter: 0,
};

/// The border router of neighbour discovery, if this node is one.
pub const BORDER: BorderRouter = BorderRouter { version: 1, valid_min: 1_440, address: ADDRESS };

/// Makes it offer the network's prefix and context, for a day.
///
/// # Errors
/// A table is full.
pub fn offer(role: &mut Serving<impl RouterSizes>) -> Result<(), TableFull> {
    let (prefix, len, on_link, autonomous) = (PREFIX, 64, false, true);
    let (valid_s, preferred_s) = (86_400, 86_400);
    let it = PrefixInformation { prefix, len, on_link, autonomous, valid_s, preferred_s };
    role.offer_prefix(Instant::ZERO, it)?;
    let (id, compress, valid_min) = (0, true, 1_440);
    role.offer_context(Instant::ZERO, ContextInformation { id, compress, prefix, len, valid_min })
}

/// The settings of neighbour discovery.
pub const fn nd<K: Copy>(config: &Config<K>) -> nd::NdConfig {
    nd::NdConfig::new(config.mac.source(), config.mac.extended, config.mac.pan_id.0, config.seed)
}

/// The node's settings.
pub fn config() -> Config {
    const SECURED: Config = settings(Some(SECURITY));
    SECURED
}

/// The same for a network without link security, and a profile without it.
pub fn unsecured() -> Config<()> {
    const UNSECURED: Config<()> = settings(None).unsecured();
    UNSECURED
}

/// All of it is known at build time. A product takes seed and secret from its source of entropy
/// when it starts; this board has none.
const fn settings(security: Option<Security>) -> Config {
    let mut config = Config::repeatable(SHORT, [0; 8], SHORT as u64, [SHORT as u8; 16]);
    config.mac.csma = Csma::Hardware;
    config.mac.security = security;
    config
}

/// Makes a leaf that sleeps, with link security, in its storage.
///
/// # Errors
/// A table is full.
pub fn leaf<P: Profile<Security: LinkSecurity<Key = Option<Security>>>>(
    place: &'static mut Place<P>,
    radio: Capabilities,
) -> Result<&'static mut Node<P>, &'static str> {
    let mut config = config();
    config.mac.rx_on_when_idle = false;
    let node = make(place, config, radio);
    commission(node)?;
    node.set_parent(Instant::ZERO, Some(ROUTER)).map_err(|_| "no room for a parent")?;
    Ok(node)
}

/// Makes a node that is always on, without link security, in its storage.
///
/// # Errors
/// A table is full.
pub fn server<P: Profile<Security: LinkSecurity<Key = ()>>>(
    place: &'static mut Place<P>,
    radio: Capabilities,
) -> Result<&'static mut Node<P>, &'static str> {
    let node = make(place, unsecured(), radio);
    commission(node)?;
    Ok(node)
}

/// Addresses, contexts and routes of the network plan.
///
/// # Errors
/// A table is full.
pub fn commission(node: &mut Node<impl Profile>) -> Result<(), &'static str> {
    let mut interface = node.interface();
    let contexts = [(0, PREFIX, 64), (1, HOST, 128)];
    let contexts = contexts
        .into_iter()
        .all(|(id, prefix, len)| interface.set_context(id, Some(Context { prefix, len })).is_ok());
    let address = interface.add_address(InterfaceAddress { address: ADDRESS, prefix_len: 64 });
    let via = NextHop::Link(Address::Short(ROUTER));
    let route = interface.add_route(Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via });
    let done = contexts && address.is_ok() && route.is_ok();
    if done { Ok(()) } else { Err("a table is full") }
}
