//! Transfer of timed segments, and report of their cost.

use crate::LONGEST;
use crate::station::{Station, settle};
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig, State};
use kinglet::time::{Duration, Instant};
use kinglet::{Mote, Profile};
use kinglet_firmware::app::{RECEIVER_ADDRESS, mss};
use kinglet_firmware::board::Stack;
pub use kinglet_firmware::counting::{per, report_count, start_clock};

/// Warm-up segments: slow start is over, and every table has its entries.
pub const WARM_UP: u32 = 20;
/// Segments that count.
pub const SEGMENTS: u32 = 200;
/// Octets of the MSS that timestamps take; the payload leaves room for them.
pub const TIMESTAMPS: usize = 12;
pub const FRAMES: u32 = 5;
pub const PORT: u16 = 7;
pub const CLEAR: Load = Load::prompt(FRAMES as u8, 0);

/// Segments of a transfer.
pub struct Load {
    pub connection: ConnectionConfig,
    /// Payload of each segment, at most the image's `LONGEST`.
    pub len: usize,
    /// Frames per segment.
    pub frames: u32,
    /// Segments per acknowledgement.
    pub ack_every: u32,
}

impl Load {
    /// Segments of `frames` frames, each of them acknowledged at once.
    pub const fn prompt(frames: u8, security_octets: usize) -> Load {
        let mss = mss(frames, security_octets);
        let (delayed_ack, ack_every) = (Duration::ZERO, 1);
        let connection =
            ConnectionConfig { mss, delayed_ack, ack_every, ..ConnectionConfig::DEFAULT };
        Load { connection, len: mss as usize - TIMESTAMPS, frames: frames as u32, ack_every: 1 }
    }
}

/// Receiver and sender.
pub type Ends<'a, P = Mote> = (Station<'a, P>, Station<'a, P>);

/// Moves the segments; returns the time of the next one, and the depth of the stack.
pub fn transfer<P: Profile>(
    (receiver, sender): &mut Ends<'_, P>,
    load: &Load,
) -> Result<(Instant, u32), &'static str> {
    let Load { connection, len, frames, ack_every } = *load;
    let listen = ListenConfig { connection, ..ListenConfig::default() };
    receiver.node.streams().listen(PORT, listen).map_err(|_| "cannot listen")?;
    let mut now = Instant::from_secs(1);
    let up = sender.node.streams().connect(now, RECEIVER_ADDRESS, PORT, connection);
    let up = up.map_err(|_| "cannot connect")?;
    settle(now, sender, receiver);
    settle(now, sender, receiver);
    let down = receiver.node.streams().accept(PORT).ok_or("no connection")?;
    if sender.node.tcp().state(up) != Some(State::Established) {
        return Err("the connection does not stand");
    }
    for _ in 0..WARM_UP {
        now = segment(now, len, (sender, up), (receiver, down))?;
    }
    sender.restart();
    receiver.restart();
    let stack = Stack::paint();
    for _ in 0..SEGMENTS {
        now = segment(now, len, (sender, up), (receiver, down))?;
    }
    let depth = stack.depth();
    // Segments that are a large part of the window also cause window updates.
    if sender.frames != frames * SEGMENTS || receiver.frames * ack_every < SEGMENTS {
        return Err("segments do not take the frames and acknowledgements that they should");
    }
    Ok((now, depth))
}

/// Moves one segment and its acknowledgement; returns the time of the next one.
fn segment<P: Profile>(
    now: Instant,
    len: usize,
    (sender, up): (&mut Station<'_, P>, Handle),
    (receiver, down): (&mut Station<'_, P>, Handle),
) -> Result<Instant, &'static str> {
    static DATA: [u8; LONGEST] = [0x5a; LONGEST];
    let data = DATA.get(..len).unwrap_or_default();
    let written = sender.timed(|node| node.streams().send(up, data));
    if written != Ok(len) {
        return Err("a segment does not fit into the buffer");
    }
    settle(now, sender, receiver);
    let mut octets = [0; LONGEST];
    let read = receiver.timed(|node| node.streams().recv(down, &mut octets));
    if read != Ok(len) || !octets.starts_with(data) {
        return Err("a segment did not arrive as it was sent");
    }
    // Reading may have opened the window enough for an update.
    settle(now, receiver, sender);
    let now = now + Duration::from_millis(40);
    for node in [&mut *sender.node, &mut *receiver.node] {
        if node.deadline().is_some_and(|at| at <= now) {
            node.handle_deadline(now);
        }
    }
    Ok(now)
}
