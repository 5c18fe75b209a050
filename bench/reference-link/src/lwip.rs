//! lwIP through the C glue in `lwip/node.c`: two copies of it per variant, see `build.rs`.

use crate::station::{Frame, MAX_FRAME, Role, Setup, Station};

/// The functions of one copy.
#[derive(Clone, Copy)]
struct Copy {
    init: unsafe extern "C" fn(is_source: u32, seed: u32, check: u32),
    start: unsafe extern "C" fn(),
    run: unsafe extern "C" fn(ms: u32),
    sleep: unsafe extern "C" fn(ms: u32) -> u32,
    receive: unsafe extern "C" fn(ms: u32, octets: *const u8, len: u32),
    frame: unsafe extern "C" fn(out: *mut u8) -> u32,
    sent: unsafe extern "C" fn(),
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
            fn start();
            #[link_name = concat!($prefix, "_run")]
            fn run(ms: u32);
            #[link_name = concat!($prefix, "_sleep")]
            fn sleep(ms: u32) -> u32;
            #[link_name = concat!($prefix, "_receive")]
            fn receive(ms: u32, octets: *const u8, len: u32);
            #[link_name = concat!($prefix, "_frame")]
            fn frame(out: *mut u8) -> u32;
            #[link_name = concat!($prefix, "_sent")]
            fn sent();
            #[link_name = concat!($prefix, "_received")]
            fn received() -> u64;
            #[link_name = concat!($prefix, "_faults")]
            fn faults() -> u64;
            #[link_name = concat!($prefix, "_info")]
            fn info(which: u32) -> u32;
        }
        Copy { init, start, run, sleep, receive, frame, sent, received, faults, info }
    }};
}

/// A station with the MSS and the buffers of one of the variants. Each variant can be used for one
/// run in a process, because lwIP's state cannot be reset.
pub fn station(role: Role, setup: Setup, seed: u64) -> Box<dyn Station> {
    assert!(!setup.short, "lwIP receives frames with 64-bit addresses only");
    let copy = match (setup.mss, setup.buffer, setup.timestamps, role) {
        (460, 1840, false, Role::Source) => copy!("lwip460a"),
        (460, 1840, false, Role::Sink) => copy!("lwip460b"),
        (460, 1840, true, Role::Source) => copy!("lwip460ta"),
        (460, 1840, true, Role::Sink) => copy!("lwip460tb"),
        (268, 1840, false, Role::Source) => copy!("lwip268a"),
        (268, 1840, false, Role::Sink) => copy!("lwip268b"),
        _ => panic!("lwIP was not built with {setup:?}"),
    };
    let is_source = u32::from(role == Role::Source);
    // SAFETY: the glue's functions are called from one thread, and pointers are to live buffers.
    unsafe { (copy.init)(is_source, (seed as u32) << 1 | is_source, u32::from(setup.check)) };
    Box::new(LwipStation { copy, started: false })
}

struct LwipStation {
    copy: Copy,
    started: bool,
}

fn ms(now: u64) -> u32 {
    (now / 1_000) as u32
}

impl Station for LwipStation {
    fn start(&mut self, _now: u64) {
        self.started = true;
        // SAFETY: see `station`.
        unsafe { (self.copy.start)() }
    }

    fn deadline(&mut self, now: u64) -> Option<u64> {
        // SAFETY: see `station`.
        let sleep = unsafe { (self.copy.sleep)(ms(now)) };
        (sleep != u32::MAX).then(|| (u64::from(ms(now)) + u64::from(sleep)) * 1_000)
    }

    fn run(&mut self, now: u64) {
        // SAFETY: see `station`.
        unsafe { (self.copy.run)(ms(now)) }
    }

    fn poll_frame(&mut self, _now: u64, out: &mut Frame) -> bool {
        // SAFETY: the glue writes at most MAX_FRAME octets: it refuses longer frames.
        let len = unsafe { (self.copy.frame)(out.octets.as_mut_ptr()) } as usize;
        assert!(len <= MAX_FRAME, "a frame of {len} octets");
        out.len = len;
        len > 0
    }

    fn sent(&mut self, _now: u64, _delivered: bool) {
        // SAFETY: see `station`.
        unsafe { (self.copy.sent)() }
    }

    fn receive(&mut self, now: u64, frame: &[u8]) {
        // SAFETY: the glue reads `len` octets.
        unsafe { (self.copy.receive)(ms(now), frame.as_ptr(), frame.len() as u32) }
    }

    fn received(&self) -> u64 {
        // SAFETY: see `station`.
        let (received, faults) = unsafe { ((self.copy.received)(), (self.copy.faults)()) };
        assert_eq!(faults, 0, "wrong octets, or frames that found no room in the glue");
        received
    }

    fn state(&mut self) -> String {
        if !self.started {
            return String::new();
        }
        // SAFETY: see `station`.
        let [cwnd, ssthresh, rto] = [0, 1, 2].map(|which| unsafe { (self.copy.info)(which) });
        format!("cwnd {cwnd} ssthresh {ssthresh} rto {rto}")
    }
}
