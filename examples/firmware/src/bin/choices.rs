//! Cost of the segments of `measure` on nodes with fewer features or more hardware support: the
//! small TCP, a cipher in hardware, a radio that secures frames by itself; and the cost of
//! congestion controllers other than New Reno. It is a separate image, because each further profile
//! changes inlining.

#![no_std]
#![no_main]

#[path = "measure/station.rs"]
mod station;
#[path = "measure/transfer.rs"]
mod transfer;

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac::{self, Block, BlockCipher};
use kinglet::radio::Capabilities;
use kinglet::tcp;
use kinglet::tcp::congestion::{RateSampled, Westwood};
use kinglet_firmware::Place;
use kinglet_firmware::app::{self, RECEIVER, SECURITY, SECURITY_OCTETS, SENDER};
use kinglet_firmware::console;
use station::{Station, with};
use transfer::{CLEAR, Ends, FRAMES, Load, SEGMENTS, per, report_count, transfer};

kinglet_firmware::echo_profile!(Small { features: tcp::Small, recovery: () });

kinglet_firmware::echo_profile!(NewReno {});

kinglet_firmware::echo_profile!(ByWestwood { congestion: Westwood });

kinglet_firmware::echo_profile!(ByRates { congestion: RateSampled });

kinglet_firmware::echo_profile!(Engine {
    security: mac::CcmStar<EncryptBlock, [mac::PeerCounter; 16]>,
});

kinglet_firmware::echo_profile!(ByRadio {
    security: mac::CcmStar<mac::ByRadio, [mac::PeerCounter; 16]>,
});

/// A peripheral that encrypts a block, such as ECB of the nRF52: a driver writes the block, and
/// reads it when it is encrypted. This one mixes in the key and takes no time; a real one takes
/// time, for which its driver waits.
struct EncryptBlock(Block);

impl BlockCipher for EncryptBlock {
    fn new(key: &[u8; 16]) -> Self {
        let (words, _) = key.as_chunks();
        let word = |at: usize| words.get(at).copied().map_or(0, u32::from_be_bytes);
        EncryptBlock(core::array::from_fn(word))
    }

    fn encrypt<const N: usize>(&mut self, blocks: &mut [Block; N]) {
        for block in blocks {
            // The compiler has no knowledge of a register.
            let register = core::hint::black_box(*block);
            for ((word, read), key) in block.iter_mut().zip(register).zip(self.0) {
                *word = read ^ key;
            }
        }
    }
}

/// Two nodes with this profile.
macro_rules! ends {
    ($profile:ty, $config:expr, $radio:expr) => {{
        let receiver = singleton!(: Place<$profile> = Place::uninit()).ok_or("run twice")?;
        let sender = singleton!(: Place<$profile> = Place::uninit()).ok_or("run twice")?;
        (
            Station::new(with(receiver, $config(RECEIVER), $radio), true),
            Station::new(with(sender, $config(SENDER), $radio), false),
        )
    }};
}

/// Moves the segments of `measure` between two nodes with this profile, in the clear.
macro_rules! clear {
    ($profile:ty, $received:literal, $sent:literal) => {{
        let unsecured = |short| app::config(short).unsecured();
        let mut ends: Ends<'_, $profile> = ends!($profile, unsecured, Capabilities::NONE);
        transfer(&mut ends, &CLEAR)?;
        report_count($received, per(ends.0.ticks, SEGMENTS));
        report_count($sent, per(ends.1.ticks, SEGMENTS));
    }};
}

/// The longest payload of a segment.
const LONGEST: usize = CLEAR.len;

#[entry]
fn main() -> ! {
    console::end(measure())
}

fn measure() -> Result<(), &'static str> {
    transfer::start_clock()?;
    let secured = |short| {
        let mut config = app::config(short);
        config.mac.security = Some(SECURITY);
        config
    };
    clear!(Small, "receiver_small", "sender_small");
    clear!(NewReno, "receiver_new_reno", "sender_new_reno");
    clear!(ByWestwood, "receiver_westwood", "sender_westwood");
    clear!(ByRates, "receiver_rate_samples", "sender_rate_samples");
    let secured_load = Load::prompt(FRAMES as u8, SECURITY_OCTETS);
    let mut engine: Ends<'_, Engine> = ends!(Engine, secured, Capabilities::NONE);
    transfer(&mut engine, &secured_load)?;
    if engine.0.cipher_runs() == 0 {
        return Err("nothing was secured");
    }
    report_count("receiver_engine", per(engine.0.ticks, SEGMENTS));
    report_count("sender_engine", per(engine.1.ticks, SEGMENTS));
    let mut by_radio: Ends<'_, ByRadio> = ends!(ByRadio, secured, Capabilities::SECURES);
    transfer(&mut by_radio, &secured_load)?;
    if by_radio.0.cipher_runs() > 0 {
        return Err("the radio did not secure");
    }
    report_count("receiver_by_radio", per(by_radio.0.ticks, SEGMENTS));
    report_count("sender_by_radio", per(by_radio.1.ticks, SEGMENTS));
    Ok(())
}
