//! Configuration of a node, made of the configurations of its layers.

use crate::polling::Polling;
use kinglet_mac as mac;
use kinglet_net as net;
use kinglet_routing::Identity;
use kinglet_tcp as tcp;
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;

/// IPv6's minimum MTU, which is the only one here, less the headers of IPv6 and TCP.
const MAX_MSS: u16 = 1280 - 40 - 20;

/// Configuration of a node. `K` is the type of the key in its memory plan ([`mac::KeyOf`]).
#[derive(Clone, Copy, Debug)]
pub struct Config<K = Option<mac::Security>> {
    /// Configuration of the MAC.
    pub mac: mac::MacConfig<K>,
    /// Configuration of the network layer, except for its `link`, `alias` and `indirect.burst`,
    /// which [`Node::new`](crate::Node::new) takes from that of the MAC.
    pub net: net::NetConfig,
    /// Configuration of TCP.
    pub tcp: tcp::TcpConfig,
    /// True if own segments leave room for relayed packets: see `docs/decisions/0024`. Default
    /// true.
    pub yields: bool,
    /// Policy for data requests to the parent, if `mac.rx_on_when_idle` is false.
    pub polling: Polling,
    /// Seed of the MAC's random numbers: backoffs, retry delays, the first sequence number. It must
    /// differ from node to node, so that two do not back off in step, and should differ from boot
    /// to boot.
    pub seed: u64,
}

impl Config {
    /// Returns the defaults of all layers for a node with these addresses (a `short` of 0xFFFF is
    /// none). Link retries differ from the standard: 15, with an adaptive delay of up to 60 ms.
    /// Where many nodes share the channel, this carried most and starved no node. `draw` fills
    /// octets with random numbers of the chip, for [`Config::seed`] and the secret of TCP.
    pub fn new(short: u16, extended: [u8; 8], mut draw: impl FnMut(&mut [u8])) -> Self {
        let (mut seed, mut secret) = ([0; 8], [0; 16]);
        draw(&mut seed);
        draw(&mut secret);
        Config::repeatable(short, extended, u64::from_le_bytes(seed), secret)
    }

    /// Returns the same for tests and simulations, which have to repeat. A product must not use it:
    /// `seed` and `secret` have to differ from node to node and from boot to boot. The seed also
    /// chooses the first 6LoWPAN datagram tag.
    pub const fn repeatable(short: u16, extended: [u8; 8], seed: u64, secret: [u8; 16]) -> Self {
        let mac = mac::MacConfig {
            short,
            extended,
            max_frame_retries: 15,
            retry_delay_max: Duration::from_millis(60),
            adaptive_retry_delay: true,
            ..mac::MacConfig::DEFAULT
        };
        // The top octets, mixed by multiplication with the golden ratio.
        let [.., second, first] = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        let first_tag = u16::from_be_bytes([first, second]);
        let net = net::NetConfig { first_tag, ..net::NetConfig::new(mac.source()) };
        let tcp = tcp::TcpConfig { max_mss: MAX_MSS, ..tcp::TcpConfig::new(secret) };
        let polling = Polling::DEFAULT;
        Config { mac, net, tcp, yields: true, polling, seed }
    }
}

impl<K: Copy> Config<K> {
    /// Returns the identity of the node, from which its routing protocol is made.
    // Inlined, it splits a constant configuration into fields: 560 octets of copies (ARMv6-M).
    #[inline(never)]
    pub const fn identity(&self) -> Identity {
        Identity {
            link: self.mac.source(),
            short: self.mac.short,
            sleeps: !self.mac.rx_on_when_idle,
            seed: self.seed,
        }
    }

    /// Returns the same without a key, for a plan whose `mac::Sizes::Security` is `()`.
    pub const fn unsecured(self) -> Config<()> {
        let Config { net, tcp, yields, polling, seed, .. } = self;
        Config { mac: self.mac.unsecured(), net, tcp, yields, polling, seed }
    }
}

/// Returns the network layer's settings with those that it must share with the MAC: the addresses
/// with which the MAC sends and receives, and how children fetch their frames.
pub(crate) const fn with_addresses<K: Copy>(
    mut net: net::NetConfig,
    mac: &mac::MacConfig<K>,
) -> net::NetConfig {
    net.link = mac.source();
    net.alias = match net.link {
        Address::Short(_) => Address::Extended(mac.extended),
        _ => Address::None,
    };
    net.indirect.burst = mac.indirect.burst;
    net
}
