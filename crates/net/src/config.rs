//! What a node's network layer is told at its start.

use crate::child::Indirect;
use crate::red::QueueDiscipline;
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::MIN_MTU;

/// Where packets from the host wait for the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BorderPolicy {
    /// With what the node relays, first come first served; the newest goes if there is no room.
    Shared,
    /// In a [`BorderQueue`](crate::BorderQueue), where each destination gets its share, if the plan
    /// has one.
    Fair,
}

/// Parameters; tables are filled by the `add_` methods of [`Net`](crate::Net).
//= rfc9293#MUST-49
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The link address that the MAC puts into frames as their source. IIDs are elided relative to
    /// it, so a wrong one makes every frame unreadable.
    pub link: Address,
    /// A second link address that the MAC also accepts frames for, or [`Address::None`].
    pub alias: Address,
    /// Whether packets for others are forwarded (RFC 8200, 2: a router).
    pub forward: bool,
    /// Hop limit of packets that originate here, 1 to 255.
    pub hop_limit: u8,
    /// Tag of the first datagram that is fragmented; each has the next one (RFC 4944, 5.3, leaves
    /// the first open). Should differ from boot to boot: a receiver that still waits for the
    /// rest of a datagram from before would take fragments with its tag for that rest.
    pub first_tag: u16,
    /// How long a datagram may take to arrive, from its first fragment; RFC 4944, 5.3 allows up to
    /// 60 s.
    pub reassembly_timeout: Duration,
    /// How many ICMPv6 errors may leave in a burst (RFC 4443, 2.4 (f): B).
    pub icmp_error_burst: u8,
    /// The time in which the right to one more error is earned (RFC 4443, 2.4 (f): 1/N).
    pub icmp_error_interval: Duration,
    /// What happens to packets that are to be relayed while others wait.
    pub queue: QueueDiscipline,
    /// How many packets may wait for the radio before one that is to be relayed is dropped. The
    /// table's length is a limit too.
    pub queue_limit: u8,
    /// Where packets from the host wait for the radio.
    pub border: BorderPolicy,
    /// Octets of the longest packet that the link takes, from 1280 (RFC 4944, 4); at most what a
    /// slot holds ([`Sizes::Storage`](crate::Sizes::Storage)). More only where all nodes of the
    /// network have it: then packets of a host's 1500 octets need no fragments of IPv6's own.
    pub mtu: u16,
    /// How many may wait in a [`BorderQueue`](crate::BorderQueue); its length is a limit too.
    pub border_limit: u8,
    /// How packets for neighbours that sleep are kept.
    pub indirect: Indirect,
}

impl Config {
    /// A host with these defaults:
    ///
    /// * hop limit 64 (IANA's recommended default, RFC 1700; LOWPAN_IPHC elides it),
    /// * datagram tags from 0; a node should begin elsewhere after every boot,
    /// * reassembly within 5 s: a packet of 1280 octets takes some 14 frames; with every frame sent
    ///   four times and a link-retry delay of up to 100 ms (TCPlp §7.1: 50 ms on average) that is
    ///   14 · 4 · 50 ms ≈ 2.8 s, and a sender that needs longer has lost the packet by its RTO,
    /// * ICMPv6 errors: 10 in a burst, 10 a second (RFC 4443, 2.4 (f), "a small/mid-size device"),
    /// * no random early detection: few packets wait where nobody relays,
    /// * packets of 1280 octets at most,
    /// * no limit to packets that are relayed but the table's,
    /// * [`Indirect::DEFAULT`] for children.
    pub const fn new(link: Address) -> Self {
        Config {
            link,
            alias: Address::None,
            forward: false,
            hop_limit: 64,
            first_tag: 0,
            reassembly_timeout: Duration::from_secs(5),
            icmp_error_burst: 10,
            icmp_error_interval: Duration::from_millis(100),
            queue: QueueDiscipline::TailDrop,
            queue_limit: u8::MAX,
            border: BorderPolicy::Fair,
            mtu: MIN_MTU as u16,
            border_limit: u8::MAX,
            indirect: Indirect::DEFAULT,
        }
    }
}
