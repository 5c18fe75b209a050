//! Table sizes of a stack for scripts, and its congestion controls.

use kinglet_mem::Array;
use kinglet_tcp::congestion::{Acked, Controller, Cubic, NewReno};
use kinglet_tcp::{
    HalfOpen, KnownServer, Listener, Peer, Piece, SegmentRecord, Sizes, Slot, TimeWait,
};

/// Largest buffer that can be requested, in octets.
pub(super) const LARGEST_BUFFER: usize = 1 << 20;

/// A memory plan that suffices for every script.
pub(super) struct Ample;

impl Sizes for Ample {
    type Congestion = Chosen;
    type SendBuffer = Heap<LARGEST_BUFFER>;
    type Pieces = [Piece; 0];
    type ReceiveBuffer = Heap<LARGEST_BUFFER>;
    type ReceiveMap = Heap<{ LARGEST_BUFFER / 8 }>;
    type Features = kinglet_tcp::Full<u32>;
    type Segments = [SegmentRecord; 255];
    type Connections<K: Peer> = [Slot<K, Self>; 16];
    type Listeners = [Option<Listener>; 4];
    type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 8];
    type TimeWait<K: Peer> = [Option<TimeWait<K>>; 8];
    type Servers<K: Peer> = [Option<KnownServer<K>>; 4];
}

/// A table that is on the heap, and only if it is written: the endpoint itself is built on a
/// thread's stack.
pub(super) struct Heap<const N: usize>(Vec<u8>);

impl<const N: usize> Array<u8> for Heap<N> {
    const EMPTY: Self = Heap(Vec::new());
    const LEN: usize = N;

    fn as_slice(&self) -> &[u8] {
        &self.0
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        if self.0.is_empty() {
            self.0 = vec![0; N];
        }
        &mut self.0
    }
}

/// A congestion control that an application can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// RFC 5681 and RFC 6582.
    #[default]
    Reno,
    /// RFC 9438.
    Cubic,
}

impl Algorithm {
    const ALL: [Algorithm; 2] = [Algorithm::Reno, Algorithm::Cubic];

    /// Returns Linux's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Algorithm::Reno => "reno",
            Algorithm::Cubic => "cubic",
        }
    }

    /// Returns the control with this name in Linux.
    pub(super) fn named(name: &str) -> Option<Algorithm> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// One of them. A connection begins with the first; choosing another keeps its window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    mss: u32,
    control: Control,
}

#[derive(Clone, Copy, Debug)]
enum Control {
    Reno(NewReno),
    Cubic(Cubic),
}

impl Control {
    fn new(algorithm: Algorithm, mss: u32, window: u32) -> Control {
        match algorithm {
            Algorithm::Reno => Control::Reno(NewReno::new(mss, window)),
            Algorithm::Cubic => Control::Cubic(Cubic::new(mss, window)),
        }
    }
}

/// Calls the chosen control.
macro_rules! control {
    ($chosen:expr, $name:ident($($argument:expr),*)) => {
        match $chosen {
            Control::Reno(control) => control.$name($($argument),*),
            Control::Cubic(control) => control.$name($($argument),*),
        }
    };
}

impl Chosen {
    pub(super) fn choose(&mut self, algorithm: Algorithm) {
        let present = match self.control {
            Control::Reno(_) => Algorithm::Reno,
            Control::Cubic(_) => Algorithm::Cubic,
        };
        if present != algorithm {
            self.control = Control::new(algorithm, self.mss, self.window());
        }
    }
}

impl Controller for Chosen {
    fn new(mss: u32, initial_window: u32) -> Self {
        Chosen { mss, control: Control::new(Algorithm::default(), mss, initial_window) }
    }

    fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
        control!(&mut self.control, set_mss(mss));
    }

    fn window(&self) -> u32 {
        control!(&self.control, window())
    }

    fn slow_start_threshold(&self) -> u32 {
        control!(&self.control, slow_start_threshold())
    }

    fn on_ack(&mut self, acked: Acked) {
        control!(&mut self.control, on_ack(acked));
    }

    fn on_loss(&mut self, flight: u32) {
        control!(&mut self.control, on_loss(flight));
    }

    fn on_mark(&mut self, flight: u32) {
        control!(&mut self.control, on_mark(flight));
    }

    fn on_recovered(&mut self, flight: u32) {
        control!(&mut self.control, on_recovered(flight));
    }

    fn on_timeout(&mut self, flight: u32, first: bool) {
        control!(&mut self.control, on_timeout(flight, first));
    }

    fn on_spurious(&mut self, window: u32, threshold: u32) {
        control!(&mut self.control, on_spurious(window, threshold));
    }

    fn on_idle(&mut self) {
        control!(&mut self.control, on_idle());
    }
}
