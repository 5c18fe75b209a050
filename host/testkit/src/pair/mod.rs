//! Two TCP endpoints with applications, and a link between them that loses, delays, duplicates,
//! reorders and damages segments: one run from opening to silence, in virtual time, checked
//! throughout.
//!
//! Every choice comes from a [`Source`]: buffers of 1 to 16 segments, settings, faults, actions of
//! the applications and their times, reboots in which an end loses state and secret. A seed, a
//! property test and a fuzzer drive the same run.
//!
//! The checks: every octet read is the one written; both streams arrive completely unless an
//! application or the run ends the connection early; every connection ends; a damaged segment is
//! refused; no deadline lies in the past, and a call before it changes nothing; draining ends; at
//! the end no timer runs, nothing is left to send and every slot can be used again.

mod app;
mod course;
mod link;
mod source;
mod world;

pub use source::{Octets, Seeded, Source};

use core::hash::Hasher;
use core::marker::PhantomData;
use core::ops::AddAssign;
use kinglet_tcp::congestion::Controller;
use kinglet_tcp::{Endpoint, HalfOpen, KnownServer, Listener, Peer, Piece, Sizes, Slot, TimeWait};

/// An end: 0 or 1.
type Side = usize;

/// Both addresses from the view of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Host {
    own: u8,
    other: u8,
}

impl Host {
    fn seen_from(side: Side) -> Host {
        let (own, other) = if side == 0 { (1, 2) } else { (2, 1) };
        Host { own, other }
    }
}

impl Peer for Host {
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16 {
        u16::from(self.own) + u16::from(self.other) + tcp_len as u16 + 6
    }

    fn hash_into<H: Hasher>(&self, state: &mut H) {
        state.write(&[self.own, self.other]);
    }
}

const RING: usize = course::SEGMENTS * course::MSS as usize;
/// Three connections, and the remains of three more from before a reboot.
const SLOTS: usize = 6;

/// The memory of an end.
struct Memory<C>(PhantomData<C>);

impl<C: Controller> Sizes for Memory<C> {
    type Congestion = C;
    type SendBuffer = [u8; RING];
    type Pieces = [Piece; 2];
    type ReceiveBuffer = [u8; RING];
    type ReceiveMap = [u8; RING / 8];
    type Features = kinglet_tcp::WithPolicies;
    type Segments = [kinglet_tcp::SegmentRecord; 8];
    type Connections<K: Peer> = [Slot<K, Self>; SLOTS];
    type Listeners = [Option<Listener>; 1];
    /// One, so that a second client at the same time gets a cookie.
    type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 1];
    type TimeWait<K: Peer> = [Option<TimeWait<K>>; SLOTS];
    type Servers<K: Peer> = [Option<KnownServer<K>>; 1];
}

type End<C> = Endpoint<Host, Memory<C>>;

/// Sums over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Connections requested.
    pub connections: u64,
    /// Connections with both streams complete and both ends closed.
    pub whole: u64,
    /// Ends with an error after a fault, an abort or a reboot.
    pub errors: u64,
    /// Number of losses of an end's state.
    pub reboots: u64,
    /// Octets that applications have read.
    pub octets: u64,
    /// Segments sent.
    pub segments: u64,
    /// Segments lost or damaged among these.
    pub lost: u64,
    /// SYNs with data among these (RFC 7413).
    pub fast_opens: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Virtual time until silence, in milliseconds.
    pub virtual_ms: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        let Report {
            connections,
            whole,
            errors,
            reboots,
            octets,
            segments,
            lost,
            fast_opens,
            timeouts,
            virtual_ms,
        } = other;
        self.connections += connections;
        self.whole += whole;
        self.errors += errors;
        self.reboots += reboots;
        self.octets += octets;
        self.segments += segments;
        self.lost += lost;
        self.fast_opens += fast_opens;
        self.timeouts += timeouts;
        self.virtual_ms += virtual_ms;
    }
}

/// One run with congestion control `C`. With `trace`, every segment and event is printed to
/// standard error.
///
/// # Panics
/// With a description of the violation.
pub fn run<C: Controller>(source: &mut dyn Source, trace: bool) -> Report {
    world::World::<C>::new(source, trace).run()
}
