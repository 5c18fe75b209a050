//! Cost of the segments of `measure` under other conditions: shorter and longer ones, with a length
//! that is not a multiple of a word, in frames that begin at an odd address, acknowledged as others
//! would.

#![no_std]
#![no_main]

#[path = "measure/station.rs"]
mod station;
#[path = "measure/transfer.rs"]
mod transfer;

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::Mote;
use kinglet::radio::Capabilities;
use kinglet::tcp::ConnectionConfig;
use kinglet_firmware::Place;
use kinglet_firmware::app::{self, RECEIVER, SENDER};
use kinglet_firmware::console;
use station::{Station, with};
use transfer::{CLEAR, Ends, Load, SEGMENTS, TIMESTAMPS, per, report_count, transfer};

/// Measures a segment between two nodes whose radios place received frames at this offset from a
/// halfword.
macro_rules! measure {
    ($what:literal, $load:expr, $shift:expr) => {{
        let receiver = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
        let sender = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
        let receiver = with(receiver, app::config(RECEIVER), Capabilities::NONE);
        let sender = with(sender, app::config(SENDER), Capabilities::NONE);
        report(
            (concat!("receiver_", $what), concat!("sender_", $what)),
            (Station::new(receiver, true), Station::new(sender, false)),
            &$load,
            $shift,
        )?;
    }};
}

/// The longest payload of a segment.
const LONGEST: usize = Load::prompt(8, 0).len;

#[entry]
fn main() -> ! {
    console::end(measure())
}

fn measure() -> Result<(), &'static str> {
    transfer::start_clock()?;
    measure!("1_frame", Load::prompt(1, 0), 0);
    measure!("2_frames", Load::prompt(2, 0), 0);
    measure!("3_frames", Load::prompt(3, 0), 0);
    measure!("4_frames", Load::prompt(4, 0), 0);
    measure!("5_frames", CLEAR, 0);
    measure!("6_frames", Load::prompt(6, 0), 0);
    measure!("8_frames", Load::prompt(8, 0), 0);
    measure!("1_octet_less", Load { len: CLEAR.len - 1, ..CLEAR }, 0);
    measure!("2_octets_less", Load { len: CLEAR.len - 2, ..CLEAR }, 0);
    measure!("3_octets_less", Load { len: CLEAR.len - 3, ..CLEAR }, 0);
    measure!("odd_address", CLEAR, 1);
    let timestamps = ConnectionConfig { timestamps: true, ..CLEAR.connection };
    measure!("timestamps", Load { connection: timestamps, ..CLEAR }, 0);
    let full = Load { len: CLEAR.len + TIMESTAMPS, ..CLEAR };
    measure!("full", full, 0);
    let usual = ConnectionConfig { mss: CLEAR.connection.mss, ..ConnectionConfig::DEFAULT };
    let ack_every = u32::from(usual.ack_every);
    measure!("usual_acks", Load { connection: usual, ack_every, ..full }, 0);
    Ok(())
}

#[inline(never)]
fn report(
    (receiver, sender): (&str, &str),
    mut ends: Ends<'static>,
    load: &Load,
    shift: u16,
) -> Result<(), &'static str> {
    ends.0.shift = shift;
    ends.1.shift = shift;
    transfer(&mut ends, load)?;
    if ends.0.cipher_runs() > 0 {
        return Err("a frame to be sent in the clear was secured");
    }
    report_count(receiver, per(ends.0.ticks, SEGMENTS));
    report_count(sender, per(ends.1.ticks, SEGMENTS));
    Ok(())
}
