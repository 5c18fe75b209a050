//! A sleepy sensor: it opens a TCP connection to a host, sends a reading every few seconds, and
//! lets its radio be off in between. It has all that an application needs around a `Node`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::Mote;
use kinglet::radio::Driver;
use kinglet::tcp::ConnectionConfig;
use kinglet::time::{Duration, Instant, earliest};
use kinglet_apps::App;
use kinglet_apps::sense::{Probe, Readings, Sampling, StreamSensor, Waiting};
use kinglet_firmware::board::{Board, Line};
use kinglet_firmware::place::{HOST, leaf};
use kinglet_firmware::serial_radio::SerialRadio;
use kinglet_firmware::{Place, console};

const PORT: u16 = 4242;
const INTERVAL: Duration = Duration::from_secs(1);

/// Readings that wait while there is no connection.
const QUEUE: usize = 8;
type Queue = [Option<Waiting<()>>; QUEUE];

/// A thermometer in a room with a constant temperature.
struct Thermometer;

const READING: &[u8] = b"21.5 degrees\n";

impl Probe for Thermometer {
    type Reading = ();
    const LEN: usize = READING.len();
    const HEAD: usize = 0;

    fn sample(&mut self, _now: Instant) {}

    fn write(&self, _number: u32, (): (), at: usize, out: &mut [u8]) {
        let rest = READING.get(at..).unwrap_or_default();
        for (octet, reading) in out.iter_mut().zip(rest) {
            *octet = *reading;
        }
    }
}

#[entry]
fn main() -> ! {
    let peripherals = cortex_m::Peripherals::take();
    let board = peripherals.map(|all| Board::new(all.SYST));
    console::end(board.ok_or("no peripherals").and_then(sense))
}

fn sense((mut board, line): (Board, Line)) -> Result<(), &'static str> {
    let mut radio = SerialRadio::new(line);
    let place = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let node = leaf(place, radio.capabilities())?;
    radio.set_filter(node.filter());
    let start = board.now();
    let sampling = Sampling { start, period: INTERVAL, batch: 1, queue: QUEUE };
    let readings = Readings::<Thermometer, Queue>::new(sampling, Thermometer);
    let config = ConnectionConfig::DEFAULT;
    let mut sensor = StreamSensor::new(readings, (HOST, PORT), start, config);
    loop {
        let now = board.now();
        if sensor.poll(now, node) {
            continue;
        }
        let wake_up_at = earliest(node.drive(now, &mut radio), sensor.deadline());
        board.sleep(wake_up_at.unwrap_or(Instant::MAX) - now);
    }
}
