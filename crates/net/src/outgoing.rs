//! Outgoing packets: submissions of upper layers, and the datagram that is being fragmented.

use crate::frame::{Class, Pending, Token};
use crate::pool::PacketHandle;
use crate::tables::Egress;
use core::net::Ipv6Addr;
use kinglet_mem::{Array, copy};
use kinglet_routing::MAX_HEAD;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6;

/// Maximum header octets that an upper layer may submit: a TCP header with all its options.
pub(crate) const MAX_UPPER: usize = 60;

const _: () = assert!(MAX_HEAD == ipv6::HEADER_LEN + MAX_UPPER);

/// Payload behind the header octets of an [`Outgoing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<X> {
    /// None.
    None,
    /// It stays with its owner, which finds it by `key` when a frame needs it.
    External {
        /// Key of the payload at its owner.
        key: X,
        /// Its length in octets.
        len: u16,
    },
}

/// A packet of an upper layer.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a, X> {
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Hop limit.
    pub hop_limit: u8,
    /// Traffic Class: DSCP and ECN.
    pub traffic_class: u8,
    /// Flow Label, 20 bits.
    pub flow_label: u32,
    /// Protocol number of the upper layer.
    pub protocol: u8,
    /// The upper layer's header, at most 60 octets; it is copied.
    pub upper: &'a [u8],
    /// Payload.
    pub body: Body<X>,
}

/// Reason why a packet was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// More than 60 header octets, or more than 1280 octets in all.
    TooLong,
    /// No route, or no source address of the right scope.
    NoRoute,
    /// The previous packet with external payload is still waiting or in progress
    /// ([`Net::can_submit`](crate::Net::can_submit)).
    Busy,
    /// No packet slot free for this use.
    NoBuffer,
    /// The output queue is full.
    QueueFull,
    /// The socket is not bound.
    NotBound,
}

/// External payload that no longer exists: its connection is closed, or the octets were
/// acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

/// The owner of external payload.
pub trait BodySource<X> {
    /// Fills `out` with the payload's octets from `offset` on, which are never beyond the submitted
    /// length.
    ///
    /// # Errors
    /// [`Stale`]: the rest of the packet is not sent.
    fn read(&self, key: X, offset: usize, out: &mut [u8]) -> Result<(), Stale>;
}

/// The source of layers that submit no external payload.
#[derive(Clone, Copy, Debug)]
pub struct NoBody;

impl<X> BodySource<X> for NoBody {
    fn read(&self, _: X, _: usize, _: &mut [u8]) -> Result<(), Stale> {
        Err(Stale)
    }
}

/// Datagrams that are remembered after their last frame was written: as many as can have frames in
/// a MAC of the usual two or three slots.
pub const FINISHED: usize = 2;

/// A packet in a slot that waits for transmission.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    pub(crate) packet: PacketHandle,
    pub(crate) next_hop: Address,
}

impl Queued {
    pub(crate) const fn new(packet: PacketHandle, next_hop: Address) -> Self {
        Queued { packet, next_hop }
    }
}

/// A packet whose header is stored here and whose payload stays with its owner.
#[derive(Debug)]
pub(crate) struct External<X, H> {
    pub(crate) head: H,
    pub(crate) head_len: u8,
    pub(crate) body: Body<X>,
    pub(crate) total: u16,
    pub(crate) egress: Egress,
}

impl<X: Copy, H: Array<u8>> External<X, H> {
    pub(crate) fn head(&self) -> &[u8] {
        self.head.as_slice().get(..usize::from(self.head_len)).unwrap_or_default()
    }

    /// Fills `out` with the packet's octets from `from` on.
    pub(crate) fn read(
        &self,
        source: &impl BodySource<X>,
        from: usize,
        out: &mut [u8],
    ) -> Result<(), Stale> {
        if let (Some(at), Body::External { key, .. }) =
            (from.checked_sub(usize::from(self.head_len)), self.body)
        {
            return source.read(key, at, out);
        }
        let head = self.head().get(from..).unwrap_or_default();
        let own = head.len().min(out.len());
        let (Some(head), Some((first, rest))) = (head.get(..own), out.split_at_mut_checked(own))
        else {
            return Err(Stale);
        };
        copy(first, head);
        match self.body {
            _ if rest.is_empty() => Ok(()),
            Body::None => Err(Stale),
            Body::External { key, .. } => source.read(key, 0, rest),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Slot(PacketHandle),
    External,
}

/// The datagram that is being fragmented.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    pub(crate) origin: Origin,
    pub(crate) next_hop: Address,
    pub(crate) class: Class,
    pub(crate) total: u16,
    /// Octets of the uncompressed packet that are in written frames.
    pub(crate) sent: u16,
    pub(crate) token: u32,
}

impl Current {
    /// Returns whether its frames request an acknowledgement.
    pub(crate) fn ack(&self) -> bool {
        self.next_hop != Address::BROADCAST
    }

    /// Returns its next frame.
    pub(crate) fn pending(&self) -> Pending {
        let Current { next_hop: dst, class, token, .. } = *self;
        Pending { dst, ack: self.ack(), token: Token(token), class }
    }
}
