//! Configuration of a node's network layer.

use crate::child::Indirect;
use crate::red::QueueDiscipline;
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::MIN_MTU;

/// Queue of packets from the host that wait for the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BorderPolicy {
    /// The queue of forwarded packets, first come first served; a full queue drops the newest.
    Shared,
    /// A [`BorderQueue`](crate::BorderQueue) with fair shares for all destinations, if the plan has
    /// one.
    Fair,
}

/// Parameters; the `add_` methods of [`Net`](crate::Net) fill the tables.
//= rfc9293#MUST-49
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetConfig {
    /// The link address that the MAC puts into frames as their source. IIDs are elided relative to
    /// it, so a wrong one makes every frame unreadable.
    pub link: Address,
    /// A second link address that the MAC also accepts frames for, or [`Address::None`].
    pub alias: Address,
    /// Forwards packets of other nodes (RFC 8200, 2: a router).
    pub forward: bool,
    /// Hop limit of packets that originate here, 1 to 255.
    pub hop_limit: u8,
    /// Tag of the first datagram that is fragmented; each has the next one (RFC 4944, 5.3, leaves
    /// the first open). Should differ from boot to boot: otherwise a receiver with an incomplete
    /// datagram from before the boot would add fragments with the same tag to it.
    pub first_tag: u16,
    /// Longest time from the first fragment of a datagram to its completion; RFC 4944, 5.3 allows
    /// up to 60 s.
    pub reassembly_timeout: Duration,
    /// Largest burst of ICMPv6 errors (RFC 4443, 2.4 (f): B).
    pub icmp_error_burst: u8,
    /// Time in which the rate limit allows one more error (RFC 4443, 2.4 (f): 1/N).
    pub icmp_error_interval: Duration,
    /// Queue discipline for forwarded packets.
    pub queue: QueueDiscipline,
    /// Number of packets waiting for the radio from which on a forwarded packet is dropped. The
    /// table's length is a limit too.
    pub queue_limit: u8,
    /// Queue of packets from the host that wait for the radio.
    pub border: BorderPolicy,
    /// Octets of the longest packet on the link, from 1280 (RFC 4944, 4); at most the size of a
    /// slot ([`Sizes::Storage`](crate::Sizes::Storage)). Larger values only if all nodes of the
    /// network have them: packets of a host's 1500 octets then need no IPv6 fragments.
    pub mtu: u16,
    /// Packets that may wait in a [`BorderQueue`](crate::BorderQueue); its length is a limit too.
    pub border_limit: u8,
    /// Parameters of the queue for sleeping children.
    pub indirect: Indirect,
}

impl NetConfig {
    /// Returns the defaults of a host:
    ///
    /// * hop limit 64 (IANA's recommended default, RFC 1700; LOWPAN_IPHC elides it),
    /// * datagram tags from 0; a node should start with another tag after every boot,
    /// * reassembly within 5 s: a packet of 1280 octets takes some 14 frames; with every frame sent
    ///   four times and a link-retry delay of up to 100 ms (TCPlp §7.1: 50 ms on average) that is
    ///   14 · 4 · 50 ms ≈ 2.8 s, and the RTO of a slower sender has expired by then,
    /// * ICMPv6 errors: 10 in a burst, 10 a second (RFC 4443, 2.4 (f), "a small/mid-size device"),
    /// * no random early detection: few packets wait at a node that does not forward,
    /// * packets of 1280 octets at most,
    /// * no limit on forwarded packets but the table's,
    /// * [`Indirect::DEFAULT`] for children.
    pub const fn new(link: Address) -> Self {
        NetConfig {
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
