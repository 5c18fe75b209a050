//! Interface between the link and a stack.

/// The longest frame, without its two FCS octets.
pub const MAX_FRAME: usize = 125;

/// A frame without FCS.
pub struct Frame {
    pub len: usize,
    pub octets: [u8; MAX_FRAME],
}

impl Frame {
    pub const EMPTY: Frame = Frame { len: 0, octets: [0; MAX_FRAME] };

    pub fn get(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    /// Replaces the frame; longer ones are a fault of the glue.
    pub fn set(&mut self, octets: &[u8]) {
        assert!(octets.len() <= MAX_FRAME, "a frame of {} octets without FCS", octets.len());
        self.len = octets.len();
        self.octets[..self.len].copy_from_slice(octets);
    }
}

/// End of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Connects and sends for ever.
    Source,
    /// Accepts and reads at once.
    Sink,
}

/// Differences between rows of the same stack.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Octets of TCP payload and TCP options in a full segment.
    pub mss: u16,
    /// Octets of the send buffer, and of the receive buffer.
    pub buffer: usize,
    /// 16-bit MAC addresses instead of 64-bit ones.
    pub short: bool,
    /// Timestamps, if they can be configured in the stack.
    pub timestamps: bool,
    /// True if the sender's link layer knows that a frame was lost, as it does with acknowledged
    /// frames. The model of the table leaves it out.
    pub feedback: bool,
    /// Kinglet only: segments of fewer frames if many are lost.
    pub adaptive: bool,
    /// Kinglet only: `lossy_path`, and RTO at least 100 ms above SRTT instead of 200.
    pub lossy: bool,
    /// Kinglet only: segments per acknowledgment. smoltcp sends one for each.
    pub ack_every: u8,
    /// True if the stream has content and is checked; false when CPU work is measured.
    pub check: bool,
    /// smoltcp only: its reassembly timeout is 300 ms instead of 60 s.
    pub quick_reassembly: bool,
}

/// A node: a stack, an application and a radio with one frame buffer. Times are in microseconds.
pub trait Station {
    /// Starts the application: the source opens its connection.
    fn start(&mut self, now: u64);
    /// The next time at which `run` has work to do, if nothing arrives before.
    fn deadline(&mut self, now: u64) -> Option<u64>;
    /// Handles due timers, then the application.
    fn run(&mut self, now: u64);
    /// Puts the next frame into the radio's empty buffer; returns false if there is none.
    fn poll_frame(&mut self, now: u64, out: &mut Frame) -> bool;
    /// Reports that the frame of the last `poll_frame` has left the buffer.
    fn sent(&mut self, now: u64, delivered: bool);
    /// Receives a frame.
    fn receive(&mut self, now: u64, frame: &[u8]);
    /// Octets that the application has read and checked; the glue panics at a wrong one.
    fn received(&self) -> u64;
    /// A line about the connection, for traces.
    fn state(&mut self) -> String;
}

/// Octet of the stream at `offset`. No period could hide a lost or duplicated segment.
pub fn octet(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8
}

/// The source's application: writes as much as the stack has room for.
pub struct Writer {
    offset: u64,
    check: bool,
}

impl Writer {
    pub fn new(setup: &Setup) -> Self {
        Writer { offset: 0, check: setup.check }
    }

    /// Fills `out` with the next octets; `took` must report how many of them were accepted.
    pub fn peek(&self, out: &mut [u8]) {
        if !self.check {
            return;
        }
        for (i, o) in out.iter_mut().enumerate() {
            *o = octet(self.offset + i as u64);
        }
    }

    pub fn took(&mut self, count: usize) {
        self.offset += count as u64;
    }
}

/// The sink's application: checks the octets from the stack.
pub struct Reader {
    pub offset: u64,
    check: bool,
}

impl Reader {
    pub fn new(setup: &Setup) -> Self {
        Reader { offset: 0, check: setup.check }
    }

    pub fn check(&mut self, data: &[u8]) {
        if !self.check {
            self.offset += data.len() as u64;
            return;
        }
        for &got in data {
            assert_eq!(got, octet(self.offset), "octet {} of the stream", self.offset);
            self.offset += 1;
        }
    }
}
