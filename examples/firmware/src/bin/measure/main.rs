//! Counts the instructions of frames, segments, datagrams and CoAP; sizes of records, depth of the
//! stack.
//!
//! It must run with `-icount shift=0`, so that an instruction takes a nanosecond of the emulated
//! clock: `tools/instructions` does so. Two nodes are joined by a loop only; every segment fills
//! five frames and is acknowledged at once. All work of a node counts, event by event as in the
//! canonical loop, including copies from and to the application. The link is neither lossy nor
//! slow, and the radio does channel access. Datagrams and CoAP follow (`messages.rs`), and segments
//! with link security: the additional cost is divided by the number of cipher runs.

#![no_std]
#![no_main]

mod messages;
mod station;
mod transfer;

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac::{self, Mac, Security};
use kinglet::net::{self, Net};
use kinglet::radio::Capabilities;
use kinglet::tcp::{self, Endpoint};
use kinglet::time::{Duration, Instant};
use kinglet::{AddressPair, BorderRouter, Mote, Node, Router};
use kinglet_firmware::Place;
use kinglet_firmware::app::{self, RECEIVER, SECURITY, SECURITY_OCTETS, SENDER};
use kinglet_firmware::board::Stack;
use kinglet_firmware::console::{self, Piece::Number, Piece::Text};
use station::{Frame, Station, with};
use transfer::{CLEAR, Ends, FRAMES, Load, PORT, SEGMENTS, per, report_count, transfer};

/// The longest payload of a segment.
const LONGEST: usize = CLEAR.len;

#[entry]
fn main() -> ! {
    console::end(measure())
}

fn measure() -> Result<(), &'static str> {
    transfer::start_clock()?;
    let receiver = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let stack = Stack::paint();
    let receiver = node(receiver, RECEIVER, None);
    report_size("start", stack.depth());
    let sender = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let sender = node(sender, SENDER, None);
    let mut clear = (Station::new(receiver, true), Station::new(sender, false));
    let (now, _) = transfer(&mut clear, &CLEAR)?;
    let security = Some(SECURITY);
    let receiver = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let receiver = node(receiver, RECEIVER, security);
    let sender = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let sender = node(sender, SENDER, security);
    let mut secured = (Station::new(receiver, true), Station::new(sender, false));
    let (_, depth) = transfer(&mut secured, &Load::prompt(FRAMES as u8, SECURITY_OCTETS))?;
    let (frame_received, frame_sent) = report(&clear, &secured);
    report_size("stack", depth);
    let (mut receiver, mut sender) = clear;
    // After any event a node examines all its layers, most on a sleepy leaf that expects a
    // response; it is idle if there was no work.
    let leaf = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let mut leaf = Station::new(sleeper(leaf, SENDER), false);
    leaf.node.set_parent(now, Some(RECEIVER)).map_err(|_| "no room for a parent")?;
    let expected = leaf.node.expect_response(now, PORT, now, now + Duration::from_secs(60));
    expected.map_err(|_| "nothing can be expected")?;
    report_count("rest", loop_passes(now, &mut leaf, false));
    report_count("wake_up", loop_passes(now, &mut leaf, true));
    messages::measure(now, (&mut receiver, &mut sender), frame_received, frame_sent)?;
    report_sizes();
    Ok(())
}

/// The node with this short address.
fn node(
    place: &'static mut Place<Mote>,
    short: u16,
    security: Option<Security>,
) -> &'static mut Node<Mote> {
    let mut config = app::config(short);
    config.mac.security = security;
    with(place, config, Capabilities::NONE)
}

/// A sleepy node.
fn sleeper(place: &'static mut Place<Mote>, short: u16) -> &'static mut Node<Mote> {
    let mut config = app::config(short);
    config.mac.rx_on_when_idle = false;
    with(place, config, Capabilities::NONE)
}

/// Cost of a turn of the loop without work; with `wakes` the node has to examine its layers to find
/// that out.
fn loop_passes(now: Instant, station: &mut Station<'_>, wakes: bool) -> u32 {
    station.step(now, None, &mut [], &mut Frame::new(0));
    station.restart();
    for step in 0..SEGMENTS {
        // The clock has steps of forty instructions: turns begin anywhere between two steps.
        cortex_m::asm::delay(1 + step % 40);
        // A compiler that knew the node from the previous turn would not load it again.
        core::hint::black_box(&mut *station.node);
        if wakes {
            let _ = station.node.interface();
        }
        station.timed(|node| node.handle_deadline(now));
        station.step(now, None, &mut [], &mut Frame::new(0));
    }
    per(station.ticks, SEGMENTS)
}

/// Reports the cost of segments without security, and its division between frames and the rest of a
/// segment. 5 × frame_received + frame_sent + segment_received is the total of the receiver, 5 ×
/// frame_sent + frame_received + segment_sent that of the sender. The additional cost of security
/// at both ends is reported per cipher run. Returns the cost of a received and of a sent frame.
fn report(clear: &Ends<'_>, secured: &Ends<'_>) -> (u32, u32) {
    let (receiver, sender) = clear;
    // The last frame of a segment has a response, and the first one does not follow another.
    let frame_received = per(receiver.taking, SEGMENTS * (FRAMES - 1));
    let frame_sent = per(sender.giving, SEGMENTS * (FRAMES - 1));
    let (received, sent) = (per(receiver.ticks, SEGMENTS), per(sender.ticks, SEGMENTS));
    report_count("receiver", received);
    report_count("sender", sent);
    report_count("frame_received", frame_received);
    report_count("frame_sent", frame_sent);
    report_count("segment_received", received - FRAMES * frame_received - frame_sent);
    report_count("segment_sent", sent - FRAMES * frame_sent - frame_received);
    let (to, from) = secured;
    report_count("receiver_secured", per(to.ticks, SEGMENTS));
    report_count("sender_secured", per(from.ticks, SEGMENTS));
    let added = to.ticks + from.ticks - receiver.ticks - sender.ticks;
    report_count("cipher_run", per(added, to.cipher_runs() + from.cipher_runs()));
    (frame_received, frame_sent)
}

fn report_size(name: &str, octets: u32) {
    console::line(&[Text("octets "), Text(name), Text(" "), Number(octets)]);
}

fn report_sizes() {
    type Tcp = Endpoint<AddressPair, Mote>;
    let sizes = [
        ("tcp::Slot<Mote>", size_of::<tcp::Slot<AddressPair, Mote>>()),
        ("tcp::Listener", size_of::<Option<tcp::Listener>>()),
        ("tcp::HalfOpen", size_of::<Option<tcp::HalfOpen<AddressPair>>>()),
        ("tcp::TimeWait", size_of::<Option<tcp::TimeWait<AddressPair>>>()),
        ("tcp::Endpoint<Mote>", size_of::<Tcp>()),
        ("mac::Slot", size_of::<mac::Slot>()),
        ("mac::Neighbour", size_of::<mac::Neighbour>()),
        ("mac::Sleeper", size_of::<mac::Sleeper<mac::Samples>>()),
        ("net::Child", size_of::<Option<net::Child>>()),
        ("net::Parked", size_of::<Option<net::Parked>>()),
        ("mac::Mac<Mote>", size_of::<Mac<Mote>>()),
        ("net::Net<Mote>", size_of::<Net<Mote, tcp::PayloadRef>>()),
        ("Node<Mote>", size_of::<Node<Mote>>()),
        ("Node<Router>", size_of::<Node<Router>>()),
        ("Node<BorderRouter>", size_of::<Node<BorderRouter>>()),
    ];
    for (name, octets) in sizes {
        report_size(name, octets as u32);
    }
}
