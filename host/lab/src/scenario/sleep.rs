//! How leaves sleep, how their parents answer them, and how relays queue: values and their reading.

use super::RadioProfile;
use super::parse::Result;
use super::read::Reader;

/// How leaves sleep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaf {
    /// Time between data requests while nothing is expected, in seconds.
    pub sleep_interval_s: f64,
    /// When to ask while something is.
    pub polling: Polling,
    /// Time between data requests while something is expected, with [`Polling::Fixed`], in
    /// milliseconds.
    pub expecting_ms: u32,
    /// How long a leaf listens for the frame that was promised, in milliseconds.
    pub data_request_timeout_ms: u32,
    /// How it samples the channel, if it does, besides.
    pub csl: Option<Csl>,
}

/// How a leaf samples the channel (IEEE 802.15.4-2015, 6.12.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Csl {
    /// From one sample to the next, in milliseconds.
    pub period_ms: u32,
    /// How far its clock and its parent's may drift apart, in parts per million.
    pub drift_ppm: u32,
    /// After what time it tells its parent when it listens, in seconds.
    pub sync_s: f64,
}

impl Csl {
    /// Between crystals of 20 ppm, at the longest interval that OpenThread's CSL timeout of 100 s
    /// lets fail once.
    pub const fn every(period_ms: u32) -> Self {
        Csl { period_ms, drift_ppm: 40, sync_s: 50.0 }
    }
}

/// When a leaf that expects something asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polling {
    /// At fixed intervals.
    Fixed,
    /// When it is due.
    Predictive,
}

impl Default for Leaf {
    /// The longest sleep of a Thread child, and OpenThread's time-out.
    fn default() -> Self {
        Leaf {
            sleep_interval_s: 240.0,
            polling: Polling::Predictive,
            expecting_ms: 100,
            data_request_timeout_ms: 100,
            csl: None,
        }
    }
}

impl Leaf {
    /// TCPlp §8.1.1 and §8.2: 100 ms while anything is expected.
    pub fn tcplp() -> Self {
        Leaf { polling: Polling::Fixed, ..Leaf::default() }
    }
}

/// How parents send to leaves that have asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indirect {
    /// Retransmissions after the first attempt.
    pub retries: u8,
    /// A retransmission waits a random time between 0 and this, in milliseconds.
    pub retry_delay_ms: u32,
    /// macMinBE of these frames.
    pub min_be: u8,
    /// Whether they go between two attempts of the frame being sent.
    pub preempt: bool,
    /// Whether one data request fetches all that waits.
    pub burst: bool,
}

impl Default for Indirect {
    /// As [`Indirect::tcplp`], and in bursts.
    fn default() -> Self {
        Indirect { burst: true, ..Indirect::tcplp() }
    }
}

impl Indirect {
    /// What TCPlp §8.4 has made of OpenThread: five attempts (its authors' `platform_config.h`),
    /// with up to 20 ms between them, before the frame in progress.
    pub fn tcplp() -> Self {
        Indirect { retries: 4, retry_delay_ms: 20, preempt: true, ..Indirect::openthread() }
    }

    /// What TCPlp's authors found in OpenThread: one attempt for a data request.
    pub fn openthread() -> Self {
        Indirect { retries: 0, retry_delay_ms: 0, min_be: 3, preempt: false, burst: false }
    }
}

/// Network layer parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    /// What relays do while packets wait.
    pub queue: Queue,
    /// So many may wait at a router before it drops what it is to relay.
    pub queue_packets: u8,
    /// Who decides on routes.
    pub routing: Routing,
    /// Own segments of a relay leave room for what it relays.
    pub relays_yield: bool,
}

/// Who decides on routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// They are computed from the links and never change.
    Static,
    /// The nodes, by what they hear of each other.
    Mesh,
}

/// What happens to packets that are to be relayed while others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// They wait too, unless the queue is full.
    TailDrop,
    /// Random early detection with marking.
    Red,
}

impl Default for Net {
    /// The length of the queue that the stack's plan for routers has ([`kinglet::Router`]).
    fn default() -> Self {
        Net {
            queue: Queue::TailDrop,
            queue_packets: 10,
            routing: Routing::Static,
            relays_yield: true,
        }
    }
}

pub(super) fn leaf(table: Option<Reader<'_>>, radio: RadioProfile) -> Result<Leaf> {
    let d = Leaf::default();
    let Some(mut t) = table else { return Ok(d) };
    let choices = [("predictive", Polling::Predictive), ("fixed", Polling::Fixed)];
    let timeout = d.data_request_timeout_ms.into();
    let leaf = Leaf {
        sleep_interval_s: t.number("sleep_interval_s", 0.01..=86_400.0, d.sleep_interval_s)?,
        polling: t.choice("polling", &choices, d.polling)?,
        expecting_ms: t.integer("expecting_ms", 1..=60_000, d.expecting_ms.into())? as u32,
        data_request_timeout_ms: t.integer("data_request_timeout_ms", 1..=1000, timeout)? as u32,
        csl: csl(&mut t, radio)?,
    };
    t.finish()?;
    Ok(leaf)
}

fn csl(t: &mut Reader<'_>, radio: RadioProfile) -> Result<Option<Csl>> {
    let Some(period_ms) = t.integer_opt("csl_period_ms", 10..=10_000)? else { return Ok(None) };
    if radio == RadioProfile::At86rf233 {
        let message = "the radio cannot listen at a given time; profile = \"nrf52840\" can";
        return Err(t.error_at("csl_period_ms", message.to_owned()));
    }
    let d = Csl::every(period_ms as u32);
    Ok(Some(Csl {
        drift_ppm: t.integer("csl_drift_ppm", 0..=500, d.drift_ppm.into())? as u32,
        sync_s: t.number("csl_sync_s", 1.0..=50.0, d.sync_s)?,
        ..d
    }))
}

/// `max_be` bounds `min_be`.
pub(super) fn indirect(table: Option<Reader<'_>>, max_be: u8) -> Result<Indirect> {
    let d = Indirect::default();
    let Some(mut t) = table else { return Ok(Indirect { min_be: d.min_be.min(max_be), ..d }) };
    let indirect = Indirect {
        retries: t.integer("retries", 0..=7, d.retries.into())? as u8,
        retry_delay_ms: t.integer("retry_delay_ms", 0..=10_000, d.retry_delay_ms.into())? as u32,
        min_be: t.integer("min_be", 0..=max_be.into(), d.min_be.min(max_be).into())? as u8,
        preempt: t.boolean("preempt", d.preempt)?,
        burst: t.boolean("burst", d.burst)?,
    };
    t.finish()?;
    Ok(indirect)
}

pub(super) fn net(table: Option<Reader<'_>>) -> Result<Net> {
    let d = Net::default();
    let Some(mut t) = table else { return Ok(d) };
    let queues = [("tail-drop", Queue::TailDrop), ("red", Queue::Red)];
    let routings = [("static", Routing::Static), ("mesh", Routing::Mesh)];
    let net = Net {
        queue: t.choice("queue", &queues, d.queue)?,
        queue_packets: t.integer("queue_packets", 1..=20, d.queue_packets.into())? as u8,
        routing: t.choice("routing", &routings, d.routing)?,
        relays_yield: t.boolean("relays_yield", d.relays_yield)?,
    };
    t.finish()?;
    Ok(net)
}
