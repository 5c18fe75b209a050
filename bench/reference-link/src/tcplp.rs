//! TCPlp through the C glue in `tcplp/node.c`: its core alone, over Kinglet's 6LoWPAN layer,
//! because OpenThread's is not available without the rest of OpenThread.
//!
//! As in OpenThread, a segment leaves TCPlp when TCPlp sends it, and waits in a queue for the
//! radio's one frame buffer.

use crate::station::{Frame, MAX_FRAME, Role, Setup, Station};
use core::net::Ipv6Addr;
use kinglet::net::{Body, BodySource, NetConfig, FrameIn, FrameLimits, Net, Outgoing, Small, Stale};
use kinglet::time::Instant;
use kinglet::wire::ieee802154::{Address, Frame as MacFrame, FrameType, PanId, Repr, Version};
use kinglet::wire::ipv6::protocol;
use kinglet::wire::tcp::verify_checksum;
use kinglet::wire::{checksum, tcp::MIN_HEADER_LEN};
use std::collections::VecDeque;

/// The longest segment of the glue.
const SEGMENT: usize = 600;

/// The functions of one copy.
#[derive(Clone, Copy)]
struct Copy {
    init: unsafe extern "C" fn(is_source: u32, seed: u32, check: u32),
    start: unsafe extern "C" fn(ms: u32),
    run: unsafe extern "C" fn(ms: u32),
    sleep: unsafe extern "C" fn(ms: u32) -> u32,
    receive: unsafe extern "C" fn(ms: u32, octets: *const u8, len: u32),
    segment: unsafe extern "C" fn(out: *mut u8) -> u32,
    received: unsafe extern "C" fn() -> u64,
    faults: unsafe extern "C" fn() -> u64,
    info: unsafe extern "C" fn(which: u32) -> u32,
}

/// Declares and collects the functions of the copy with this prefix.
macro_rules! copy {
    ($prefix:literal) => {{
        unsafe extern "C" {
            #[link_name = concat!($prefix, "_init")]
            fn init(is_source: u32, seed: u32, check: u32);
            #[link_name = concat!($prefix, "_start")]
            fn start(ms: u32);
            #[link_name = concat!($prefix, "_run")]
            fn run(ms: u32);
            #[link_name = concat!($prefix, "_sleep")]
            fn sleep(ms: u32) -> u32;
            #[link_name = concat!($prefix, "_receive")]
            fn receive(ms: u32, octets: *const u8, len: u32);
            #[link_name = concat!($prefix, "_segment")]
            fn segment(out: *mut u8) -> u32;
            #[link_name = concat!($prefix, "_received")]
            fn received() -> u64;
            #[link_name = concat!($prefix, "_faults")]
            fn faults() -> u64;
            #[link_name = concat!($prefix, "_info")]
            fn info(which: u32) -> u32;
        }
        Copy { init, start, run, sleep, receive, segment, received, faults, info }
    }};
}

/// Segments that TCPlp has sent and the radio has not.
struct Waiting {
    /// Key of the first segment; keys count up.
    first: u32,
    segments: VecDeque<Vec<u8>>,
}

impl BodySource<u32> for Waiting {
    fn read(&self, key: u32, offset: usize, out: &mut [u8]) -> Result<(), Stale> {
        let segment = self.segments.get(key.wrapping_sub(self.first) as usize).ok_or(Stale)?;
        let body = &segment[header_len(segment)..];
        out.copy_from_slice(&body[offset..offset + out.len()]);
        Ok(())
    }
}

fn header_len(segment: &[u8]) -> usize {
    usize::from(segment[12] >> 4) * 4
}

struct TcplpStation {
    copy: Copy,
    role: Role,
    net: Net<Small, u32>,
    waiting: Waiting,
    /// True if the first segment of `waiting` was submitted to `net`.
    submitted: bool,
    sequence: u8,
}

/// The 16-bit link address.
fn number(role: Role) -> u16 {
    match role {
        Role::Source => 1,
        Role::Sink => 2,
    }
}

fn address(role: Role) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x00ff, 0xfe00, number(role))
}

fn other(role: Role) -> Role {
    match role {
        Role::Source => Role::Sink,
        Role::Sink => Role::Source,
    }
}

/// A station with TCPlp's own segment size: five frames with 16-bit addresses are its default.
pub fn station(role: Role, setup: Setup, seed: u64) -> Box<dyn Station> {
    let known = (setup.mss, setup.buffer, setup.short) == (474, 1848, true);
    assert!(known, "TCPlp was not built with {setup:?}");
    let copy = match role {
        Role::Source => copy!("tcplpa"),
        Role::Sink => copy!("tcplpb"),
    };
    let is_source = u32::from(role == Role::Source);
    // SAFETY: the glue's functions are called from one thread, and pointers are to live buffers.
    unsafe { (copy.init)(is_source, (seed as u32) << 1 | is_source, u32::from(setup.check)) };
    Box::new(TcplpStation {
        copy,
        role,
        net: Net::new(NetConfig::new(Address::Short(number(role)))),
        waiting: Waiting { first: 0, segments: VecDeque::new() },
        submitted: false,
        sequence: 0,
    })
}

fn ms(now: u64) -> u32 {
    (now / 1_000) as u32
}

impl TcplpStation {
    /// Collects the segments that TCPlp has sent since, and fills in their checksums.
    fn collect(&mut self) {
        let mut segment = [0; SEGMENT];
        loop {
            // SAFETY: the glue writes at most SEGMENT octets.
            let len = unsafe { (self.copy.segment)(segment.as_mut_ptr()) } as usize;
            if len < MIN_HEADER_LEN {
                return;
            }
            let segment = &mut segment[..len];
            segment[16..18].fill(0);
            let sum = checksum::add(self.sum(len), checksum::sum(segment));
            segment[16..18].copy_from_slice(&checksum::field(sum).to_be_bytes());
            self.waiting.segments.push_back(segment.to_vec());
        }
    }

    /// Sum of the pseudo-header, which is the same in both directions.
    fn sum(&self, len: usize) -> u16 {
        let (src, dst) = (address(self.role), address(other(self.role)));
        checksum::pseudo_header(src, dst, len as u32, protocol::TCP)
    }

    /// Submits the next segment to the 6LoWPAN layer when that has finished with the previous one.
    fn submit(&mut self, now: Instant) {
        if !self.net.can_submit() {
            return;
        }
        if self.submitted {
            self.waiting.segments.pop_front();
            self.waiting.first = self.waiting.first.wrapping_add(1);
            self.submitted = false;
        }
        let Some(segment) = self.waiting.segments.front() else { return };
        let (upper, body) = segment.split_at(header_len(segment));
        let body = match body.len() as u16 {
            0 => Body::None,
            len => Body::External { key: self.waiting.first, len },
        };
        let packet = Outgoing {
            src: address(self.role),
            dst: address(other(self.role)),
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
            protocol: protocol::TCP,
            upper,
            body,
        };
        self.net.submit(now, packet).expect("room for a segment");
        self.submitted = true;
    }
}

impl Station for TcplpStation {
    fn start(&mut self, now: u64) {
        // SAFETY: see `station`.
        unsafe { (self.copy.start)(ms(now)) };
        self.collect();
    }

    fn deadline(&mut self, now: u64) -> Option<u64> {
        // SAFETY: see `station`.
        let sleep = unsafe { (self.copy.sleep)(ms(now)) };
        let tcp = (sleep != u32::MAX).then(|| (u64::from(ms(now)) + u64::from(sleep)) * 1_000);
        let net = self.net.deadline().map(Instant::as_micros);
        [tcp, net].into_iter().flatten().min()
    }

    fn run(&mut self, now: u64) {
        self.net.handle_deadline(Instant::from_micros(now));
        // SAFETY: see `station`.
        unsafe { (self.copy.run)(ms(now)) };
        self.collect();
    }

    fn poll_frame(&mut self, now: u64, out: &mut Frame) -> bool {
        let now = Instant::from_micros(now);
        self.submit(now);
        let Some(pending) = self.net.pending() else { return false };
        let header = Repr {
            frame_type: FrameType::Data,
            version: Version::V2006,
            ack_request: pending.ack,
            frame_pending: false,
            sequence: self.sequence,
            pan_id: PanId(0xabcd),
            dst: pending.dst,
            src: Address::Short(number(self.role)),
            security: None,
            csl: None,
            filling: 0,
        };
        let start = header.emit(&mut out.octets).expect("room for a header");
        let limits = FrameLimits { max_payload: MAX_FRAME - start };
        let room = &mut out.octets[start..];
        let Some(frame) = self.net.poll_frame(now, limits, &self.waiting, room) else {
            return false;
        };
        self.sequence = self.sequence.wrapping_add(1);
        out.len = start + frame.len;
        true
    }

    fn sent(&mut self, _now: u64, _delivered: bool) {}

    fn receive(&mut self, now: u64, frame: &[u8]) {
        let mac = MacFrame::parse(frame).expect("a frame of the other station");
        let frame = FrameIn { src: mac.src(), dst: mac.dst(), payload: mac.payload() };
        let delivery = self.net.handle_frame(Instant::from_micros(now), frame);
        let Ok(Some(delivery)) = delivery else { return };
        let segment = &self.net.packet(delivery.packet)[delivery.upper.clone()];
        if verify_checksum(segment, self.sum(segment.len())) {
            // SAFETY: the glue reads `len` octets.
            unsafe { (self.copy.receive)(ms(now), segment.as_ptr(), segment.len() as u32) };
        }
        self.net.release(delivery.packet);
        self.collect();
    }

    fn received(&self) -> u64 {
        // SAFETY: see `station`.
        let (received, faults) = unsafe { ((self.copy.received)(), (self.copy.faults)()) };
        assert_eq!(faults, 0, "wrong octets");
        received
    }

    fn state(&mut self) -> String {
        // SAFETY: see `station`.
        let [cwnd, ssthresh, rto] = [0, 1, 2].map(|which| unsafe { (self.copy.info)(which) });
        format!("cwnd {cwnd} ssthresh {ssthresh} rto {rto} queued {}", self.waiting.segments.len())
    }
}
