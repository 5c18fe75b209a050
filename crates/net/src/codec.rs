//! Compression of headers in frames: a type of the plan
//! ([`Sizes::Headers`](crate::Sizes::Headers)).
//!
//! The headers of a datagram are compressed once, when its first frame is requested, and wait in
//! [`Ready`] until that is written.

use crate::frame::Token;
use core::fmt::Debug;
use core::marker::PhantomData;
use kinglet_mem::Array;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6;
use kinglet_wire::sixlowpan::routed::{self, Dodag, PAGE_1};
use kinglet_wire::sixlowpan::{
    self, Compressed, Context, Decompressed, ExtensionHeaders, Integrity, MAX_CHAIN,
    MAX_CHAIN_COMPRESSED, MAX_COMPRESSED, MAX_DECOMPRESSED, NextHeader, UdpHeader,
};
use kinglet_wire::{Error, Field};

/// Link addresses of a frame, and the contexts that both neighbours know.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    /// Link source.
    pub src: Address,
    /// Link destination.
    pub dst: Address,
    /// The 6LoWPAN contexts, by identifier.
    pub contexts: &'a [Option<Context>],
}

/// Compresses and expands the headers of datagrams.
pub trait HeaderCompression {
    /// The initial state.
    const NEW: Self;
    /// Storage for compressed headers, at most 255 octets, which replace at most 255 octets.
    type Compressed: Array<u8> + Debug;
    /// Storage for expanded headers.
    type Expanded: Array<u8>;

    /// Compresses the headers at the start of `packet`, of the datagram with this `token`, into
    /// `out`, as long as [`HeaderCompression::Compressed`]. Called once for a datagram, unless its
    /// first frame is repeated so much later that others were written in between.
    ///
    /// # Errors
    /// `packet` does not begin with an IPv6 header.
    fn compress(
        &mut self,
        token: Token,
        packet: &[u8],
        hop: Hop<'_>,
        out: &mut [u8],
    ) -> Result<Compressed, Error>;

    /// Expands the compressed headers at the start of `frame` into `out`. `datagram_size` is the
    /// size of the whole packet, if that is more than this frame.
    ///
    /// # Errors
    /// They cannot be expanded, or `out` is too short.
    fn expand(
        &mut self,
        frame: &[u8],
        hop: Hop<'_>,
        datagram_size: Option<u16>,
        out: &mut [u8],
    ) -> Result<Decompressed, Error>;

    /// Processes the result of a frame of the datagram with this `token`.
    fn handle_outcome(&mut self, token: Token, delivered: bool);

    /// Processes the DODAG that packets are routed in, before every compression and expansion. Not
    /// called if routing adds nothing ([`Routing::EXTENDS`](kinglet_routing::Routing::EXTENDS)).
    fn handle_dodag(&mut self, _dodag: Option<Dodag>) {}
}

/// LOWPAN_IPHC (RFC 6282), without state. `N` is the next header compression, in at most `C` octets
/// for at most `E` octets of headers; frames with a compression unknown to `N` are discarded.
#[derive(Debug)]
pub struct Iphc<N = UdpHeader, C = [u8; MAX_COMPRESSED], E = [u8; MAX_DECOMPRESSED]>(
    PhantomData<(N, C, E)>,
);

impl<N: NextHeader, C: Array<u8> + Debug, E: Array<u8>> HeaderCompression for Iphc<N, C, E> {
    const NEW: Self = Iphc(PhantomData);
    type Compressed = C;
    type Expanded = E;

    fn compress(
        &mut self,
        _: Token,
        packet: &[u8],
        hop: Hop<'_>,
        out: &mut [u8],
    ) -> Result<Compressed, Error> {
        sixlowpan::compress::<N>(packet, hop.src, hop.dst, hop.contexts, out)
    }

    fn expand(
        &mut self,
        frame: &[u8],
        hop: Hop<'_>,
        datagram_size: Option<u16>,
        out: &mut [u8],
    ) -> Result<Decompressed, Error> {
        let Hop { src, dst, contexts } = hop;
        let integrity = Integrity::None;
        sixlowpan::decompress::<N>(frame, src, dst, contexts, datagram_size, integrity, out)
    }

    fn handle_outcome(&mut self, _: Token, _: bool) {}
}

/// LOWPAN_IPHC, also of extension headers and of IPv6 in IPv6 (RFC 6282, 4.2), and of RPL's headers
/// as 6LoWPAN Routing Headers (RFC 8138). The latter are always read, and written if the DODAG
/// allows it ([`Dodag::compresses`]).
#[derive(Debug)]
pub struct ExtendedIphc {
    dodag: Option<Dodag>,
}

impl HeaderCompression for ExtendedIphc {
    const NEW: Self = ExtendedIphc { dodag: None };
    type Compressed = [u8; MAX_CHAIN_COMPRESSED];
    type Expanded = [u8; ipv6::HEADER_LEN + MAX_CHAIN];

    fn compress(
        &mut self,
        _: Token,
        packet: &[u8],
        hop: Hop<'_>,
        out: &mut [u8],
    ) -> Result<Compressed, Error> {
        let Hop { src, dst, contexts } = hop;
        if let Some(dodag) = self.dodag.filter(|dodag| dodag.compresses) {
            let links = (src, dst);
            let done = routed::compress::<ExtensionHeaders>(packet, links, contexts, &dodag, out);
            if let Some(done) = done {
                return Ok(done);
            }
        }
        sixlowpan::compress::<ExtensionHeaders>(packet, src, dst, contexts, out)
    }

    fn expand(
        &mut self,
        frame: &[u8],
        hop: Hop<'_>,
        datagram_size: Option<u16>,
        out: &mut [u8],
    ) -> Result<Decompressed, Error> {
        let Hop { src, dst, contexts } = hop;
        let integrity = Integrity::None;
        if frame.first() != Some(&PAGE_1) {
            return sixlowpan::decompress::<ExtensionHeaders>(
                frame,
                src,
                dst,
                contexts,
                datagram_size,
                integrity,
                out,
            );
        }
        let dodag = self.dodag.ok_or(Error::Unsupported(Field::LowpanRoutingHeader))?;
        let links = (src, dst);
        routed::decompress::<ExtensionHeaders>(
            frame,
            links,
            contexts,
            &dodag,
            datagram_size,
            integrity,
            out,
        )
    }

    fn handle_outcome(&mut self, _: Token, _: bool) {}

    fn handle_dodag(&mut self, dodag: Option<Dodag>) {
        self.dodag = dodag;
    }
}

/// The compressed headers of the datagram whose first frame is next.
#[derive(Debug)]
pub(crate) struct Ready<C> {
    /// Token of their datagram.
    pub(crate) token: Option<u32>,
    pub(crate) octets: C,
    pub(crate) written: u8,
    /// Octets of the packet that they replace.
    pub(crate) covered: u8,
}

impl<C: Array<u8>> Ready<C> {
    pub(crate) const NONE: Self = Ready { token: None, octets: C::EMPTY, written: 0, covered: 0 };

    pub(crate) fn octets(&self) -> &[u8] {
        self.octets.as_slice().get(..usize::from(self.written)).unwrap_or_default()
    }
}
