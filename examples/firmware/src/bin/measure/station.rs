//! A node whose work is timed, and the loop that joins two of them.

use core::sync::atomic::{Ordering, compiler_fence};
use cortex_m::peripheral::SYST;
use kinglet::mac::{Csma, KeyOf};
use kinglet::radio::{Ack, Capabilities, Command, Event, MAX_FRAME};
use kinglet::time::{Duration, Instant};
use kinglet::{Config, Mote, Node, Profile};
use kinglet_firmware::{Place, make};

/// A node with its cost so far, and the number of frames that it has sent.
pub struct Station<'a, P: Profile = Mote> {
    pub node: &'a mut Node<P>,
    pub ticks: u32,
    pub frames: u32,
    /// Cipher runs before the count began.
    cipher_runs: u32,
    receives: bool,
    /// Offset from a halfword at which its radio places received frames, 0 or 1.
    pub shift: u16,
    /// Ticks of the turns with a received frame and without a sent one.
    pub taking: u32,
    /// Ticks of the turns in which one frame was finished and the next one was sent.
    pub giving: u32,
}

/// A frame in transit. It begins two octets after a word, so that the octets of a fragment begin at
/// a word and are copied as words; `shift` moves it.
#[repr(C, align(4))]
pub struct Frame {
    len: u16,
    shift: u16,
    at_a_halfword: u16,
    octets: [u8; MAX_FRAME + 1],
}

impl Frame {
    /// A frame for a receiver whose radio places frames at this offset from a halfword.
    pub const fn new(shift: u16) -> Self {
        Frame { len: 0, shift, at_a_halfword: 0, octets: [0; MAX_FRAME + 1] }
    }

    /// Replaces the octets.
    pub fn take(&mut self, frame: &[u8]) {
        self.len = frame.len() as u16;
        let room = self.octets.iter_mut().skip(usize::from(self.shift));
        room.zip(frame).for_each(|(to, from)| *to = *from);
    }

    /// The octets.
    pub fn octets(&mut self) -> &mut [u8] {
        let (from, len) = (usize::from(self.shift), usize::from(self.len));
        self.octets.get_mut(from..from + len).unwrap_or_default()
    }
}

impl<'a, P: Profile> Station<'a, P> {
    pub const fn new(node: &'a mut Node<P>, receives: bool) -> Self {
        Station {
            node,
            ticks: 0,
            frames: 0,
            cipher_runs: 0,
            receives,
            shift: 0,
            taking: 0,
            giving: 0,
        }
    }

    /// Restarts the count.
    pub fn restart(&mut self) {
        (self.ticks, self.frames, self.taking, self.giving) = (0, 0, 0, 0);
        self.cipher_runs = self.node.mac().stats().cipher_runs;
    }

    /// Cipher runs since the count began.
    pub fn cipher_runs(&self) -> u32 {
        self.node.mac().stats().cipher_runs - self.cipher_runs
    }

    /// Times `work`.
    pub fn timed<T>(&mut self, work: impl FnOnce(&mut Node<P>) -> T) -> T {
        let before = self.start();
        let result = work(self.node);
        self.ticks += ticks_since(before);
        result
    }

    /// Marks the node whose work is timed from now on; returns the clock.
    fn start(&self) -> u32 {
        if self.receives {
            receiver_works()
        } else {
            sender_works()
        }
        let before = SYST::get_current();
        compiler_fence(Ordering::SeqCst);
        before
    }

    /// One turn of the canonical loop after `event`; returns true with a frame in `out` if it sends
    /// one.
    pub fn step(
        &mut self,
        now: Instant,
        event: Option<Event>,
        frame: &mut [u8],
        out: &mut Frame,
    ) -> bool {
        let start = self.ticks;
        if let Some(event) = event {
            self.timed(|node| node.handle_radio(now, event, frame));
        }
        let mut sent = false;
        loop {
            let before = self.start();
            let submission = self.node.poll_radio(now);
            self.ticks += ticks_since(before);
            let Some(submission) = submission else { break };
            if let Command::Transmit { .. } = submission.command {
                // A radio reads the frame in place; this copy is the test's.
                out.take(submission.frame);
                sent = true;
            }
        }
        self.timed(|node| core::hint::black_box(node.deadline()));
        self.frames += u32::from(sent);
        match (event, sent) {
            (Some(Event::Received { .. }), false) => self.taking += self.ticks - start,
            (Some(Event::Transmitted { .. }), true) => self.giving += self.ticks - start,
            _ => {}
        }
        sent
    }
}

/// Ticks since `before`; the clock counts down and has 24 bits.
pub fn ticks_since(before: u32) -> u32 {
    compiler_fence(Ordering::SeqCst);
    let ticks = before.wrapping_sub(SYST::get_current()) & 0xFF_FFFF;
    all_idle();
    ticks
}

/// Marker for `tools/instructions --profile`: the last called of these three functions names the
/// node whose instructions follow. Their bodies differ, so that the compiler does not merge them.
#[inline(never)]
fn receiver_works() {
    core::hint::black_box(1);
}

#[inline(never)]
fn sender_works() {
    core::hint::black_box(2);
}

#[inline(never)]
fn all_idle() {
    core::hint::black_box(3);
}

/// Age of the beginning of a reported frame: a full frame, its acknowledgement and the spacing
/// after it are over, so that the next one follows without a wait.
pub const PASSED: Duration = Duration::from_millis(10);

/// Carries frames in both directions until neither node has any to send.
pub fn settle<P: Profile>(now: Instant, from: &mut Station<'_, P>, to: &mut Station<'_, P>) {
    let mut frame = Frame::new(to.shift);
    let mut other = Frame::new(from.shift);
    let (sfd, ack) = (now - PASSED, Ack::Received { frame_pending: false });
    let mut sent = from.step(now, None, &mut [], &mut frame);
    while sent {
        let len = frame.len as u8;
        let event = Event::Received { sfd, len, rssi_dbm: -60, lqi: 255, acked: true };
        let octets = frame.octets();
        if to.step(now, Some(event), octets, &mut other) {
            reply(now, to, from, &mut other);
        }
        sent = from.step(now, Some(Event::Transmitted { sfd, ack }), &mut [], &mut frame);
    }
}

/// Carries the frame that `from` sends in response, and those that follow it.
fn reply<P: Profile>(
    now: Instant,
    from: &mut Station<'_, P>,
    to: &mut Station<'_, P>,
    frame: &mut Frame,
) {
    let (sfd, ack) = (now - PASSED, Ack::Received { frame_pending: false });
    let mut unused = Frame::new(0);
    loop {
        let len = frame.len as u8;
        let event = Event::Received { sfd, len, rssi_dbm: -60, lqi: 255, acked: true };
        // The other radio is still busy with its own frame, so nothing comes back.
        let octets = frame.octets();
        to.step(now, Some(event), octets, &mut unused);
        let event = Event::Transmitted { sfd, ack };
        if !from.step(now, Some(event), &mut [], frame) {
            return;
        }
    }
}

/// A node with these settings, whose radio has these capabilities in addition to the usual ones.
pub fn with<P: Profile>(
    place: &'static mut Place<P>,
    mut config: Config<KeyOf<P>>,
    radio: Capabilities,
) -> &'static mut Node<P> {
    config.mac.csma = Csma::Hardware;
    let usual = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA;
    make(place, config, usual | radio)
}
