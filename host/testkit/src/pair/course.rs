//! Parameters of a run: settings of both ends, faults of the link, behaviour of the applications.

use super::source::Source;
use kinglet_tcp::{ConnectionConfig, KeepAlive, Rto};
use kinglet_time::{Duration, Instant};

/// Faults of segments in one direction; probabilities in 1/256.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    pub(super) loss: u32,
    pub(super) duplicate: u32,
    pub(super) reorder: u32,
    /// Probability of a congestion mark, for ECN-capable segments.
    pub(super) mark: u32,
    /// Probability of a changed octet, or of truncation.
    pub(super) damage: u32,
    /// Longest sequence of lost or damaged segments: a fuzzer is free to choose the faults that are
    /// random for a seed, and no connection survives a link without any delivery.
    pub(super) streak: u32,
    /// Probability of a loss report of the link; sometimes for a segment that was not lost, as on a
    /// link whose acknowledgement was lost.
    pub(super) reports: u32,
    pub(super) delay: Duration,
    /// Time that an octet occupies the link; a busy link accepts no segment.
    pub(super) per_octet: Duration,
}

/// The way to end an application's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It closes when all is sent, and continues to read.
    Close,
    /// It closes when the peer has closed.
    AfterEof,
    /// It aborts this long after its start.
    Abort(Duration),
}

/// Behaviour of an application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Octets that it sends.
    pub(super) total: usize,
    /// Octets that it reads and writes in a call.
    pub(super) chunk: usize,
    /// One in this number of writes is by reference; 0: none.
    pub(super) constant_every: usize,
    /// Pause after a read.
    pub(super) pause: Duration,
    pub(super) ending: Ending,
}

/// A connection to be opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub(super) at: Instant,
    pub(super) client: usize,
    /// True if it has the same local port as the previous connection; both ends may still know that
    /// one.
    pub(super) same_port: bool,
    /// The applications of the client and the server.
    pub(super) apps: [Part; 2],
}

/// A whole run.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// True if connections may time out by themselves.
    pub(super) harsh: bool,
    pub(super) faults: [Faults; 2],
    pub(super) configs: [ConnectionConfig; 2],
    /// Largest number of simultaneous connections with data in their SYN at a listener.
    pub(super) fast_open: u8,
    pub(super) openings: Vec<Opening>,
    /// Times at which an end loses its state.
    pub(super) reboots: Vec<(Instant, usize)>,
    /// Start and end of an outage.
    pub(super) outage: Option<(Instant, Instant)>,
}

impl Course {
    pub(super) fn draw(source: &mut dyn Source) -> Course {
        let harsh = source.chance(32);
        let reboots: Vec<_> = (0..if source.chance(64) { source.between(1, 2) } else { 0 })
            .map(|_| (millis(source.between(1000, 30_000)), source.below(2) as usize))
            .collect();
        let count = 1 + if source.chance(100) { source.below(3) } else { 0 };
        let mut openings: Vec<_> = (0..count).map(|_| opening(source)).collect();
        openings.sort_by_key(|opening| opening.at);
        openings[0].same_port = false;
        // A survivor can detect a lost peer only by probes.
        let aborts = openings.iter().flat_map(|o| o.apps);
        let aborts = aborts.into_iter().any(|app| matches!(app.ending, Ending::Abort(_)));
        let must_probe = harsh || aborts || !reboots.is_empty();
        // A path without any delay has a round-trip time of zero.
        let instant = source.chance(24);
        let rate = !instant && source.chance(128);
        let outage = source.chance(40).then(|| {
            let from = source.between(1000, 20_000);
            (millis(from), millis(from + source.below(40_000)))
        });
        let mut faults = [faults(source, rate, harsh), faults(source, rate, harsh)];
        if instant {
            faults.iter_mut().for_each(|faults| faults.delay = Duration::ZERO);
        }
        let configs = [config(source, harsh, must_probe), config(source, harsh, must_probe)];
        let fast_open = if source.chance(128) { source.between(1, 3) as u8 } else { 0 };
        let mss = usize::from(configs[0].mss.min(configs[1].mss));
        // No faults occur when the choices have been used up, so more segments than fill the
        // largest buffer would only cost time.
        let longest = source.segments().saturating_add(SEGMENTS).saturating_mul(mss);
        for app in openings.iter_mut().flat_map(|opening| &mut opening.apps) {
            app.total = app.total.min(longest);
        }
        Course { harsh, faults, configs, fast_open, openings, reboots, outage }
    }

    /// Returns whether the run lets this connection end regularly.
    pub(super) fn spares(&self, opening: &Opening) -> bool {
        let abort = |app: &Part| matches!(app.ending, Ending::Abort(_));
        !self.harsh && self.reboots.is_empty() && !opening.apps.iter().any(abort)
    }
}

fn millis(ms: u32) -> Instant {
    Instant::ZERO + Duration::from_millis(u64::from(ms))
}

fn opening(source: &mut dyn Source) -> Opening {
    let [client, mut server] = [app(source), app(source)];
    if source.chance(100) {
        server.ending = Ending::AfterEof;
    }
    Opening {
        at: millis(1000 + source.below(20_000)),
        client: source.below(2) as usize,
        same_port: source.chance(128),
        apps: [client, server],
    }
}

/// Upper limit of the length of a stream, exclusive.
pub(super) const MAX_STREAM: usize = 40_000;

fn app(source: &mut dyn Source) -> Part {
    let total = match source.below(8) {
        0 => 0,
        1..=3 => source.below(1500),
        4..=6 => source.below(8000),
        _ => source.below(MAX_STREAM as u32),
    };
    let pause = if source.chance(64) { u64::from(source.below(3000)) } else { 0 };
    let ending = if source.chance(24) {
        Ending::Abort(Duration::from_millis(u64::from(source.below(20_000))))
    } else {
        Ending::Close
    };
    // Single octets are expensive: each costs a call.
    let least = if pause > 0 { 500 } else { 1 };
    let chunk = (least + 1499 - source.below(1500)) as usize;
    let constant_every = if source.chance(80) { source.between(1, 3) as usize } else { 0 };
    let (total, pause) = (total as usize, Duration::from_millis(pause));
    Part { total, chunk, constant_every, pause, ending }
}

fn faults(source: &mut dyn Source, rate: bool, harsh: bool) -> Faults {
    let mut some = |share: u32, most: u32| match source.chance(share) {
        true => source.below(most + 1),
        false => 0,
    };
    Faults {
        // 77 / 256 are 30 %.
        loss: some(180, 77),
        duplicate: some(100, 40),
        reorder: some(100, 77),
        mark: some(100, 256),
        damage: some(64, 20),
        streak: if harsh { u32::MAX } else { 5 },
        reports: some(64, 255),
        delay: Duration::from_millis(u64::from(some(230, 400))),
        // A 250 kb/s radio takes 32 µs an octet, and with its overheads some 57 µs.
        per_octet: Duration::from_micros(if rate { 57 } else { 0 }),
    }
}

/// The largest MSS, which determines the largest buffer.
pub(super) const MSS: u16 = 1220;
/// Segments in the largest buffer.
pub(super) const SEGMENTS: usize = 16;

fn config(source: &mut dyn Source, harsh: bool, must_probe: bool) -> ConnectionConfig {
    let mss = 64 + source.below(u32::from(MSS) - 63) as u16;
    let mut ring = || {
        let segments = 1 + source.below(SEGMENTS as u32) as usize;
        let odd = if source.chance(64) { source.below(300) as usize } else { 0 };
        (segments * usize::from(mss) + odd).min(SEGMENTS * usize::from(MSS))
    };
    let (send_buffer, receive_buffer) = (ring(), ring());
    let mut ms = |low, high| Duration::from_millis(u64::from(source.between(low, high)));
    let times = [ms(0, 500), ms(500, 3000), ms(0, 1000), ms(2000, 60_000), ms(4000, 60_000)];
    let [delayed_ack, rto_initial, rto_min, rto_max, idle] = times;
    let keepalive = KeepAlive { idle, interval: ms(3000, 10_000), probes: 0 };
    let (patience, probes) = match harsh {
        true => (source.between(3, 12), source.between(1, 5)),
        // Outlasts the longest outage and the worst luck: with at most five losses in a row in each
        // direction, one exchange in 36 succeeds.
        false => (60, source.between(45, 60)),
    };
    let keepalive = KeepAlive { probes: probes as u8, ..keepalive };
    let config = ConnectionConfig {
        mss,
        // The owner of the endpoints here never changes it.
        adaptive_mss: false,
        send_buffer,
        receive_buffer,
        timestamps: !source.chance(80),
        sack: !source.chance(80),
        ecn: source.chance(128),
        nagle: !source.chance(80),
        delayed_ack,
        ack_every: source.below(5) as u8,
        rto_initial,
        rto_min,
        rto_max,
        max_retransmits: patience as u8,
        syn_retries: patience as u8,
        syn_ack_retries: patience as u8,
        user_timeout: (harsh && source.chance(64)).then_some(rto_max),
        keepalive: (must_probe || source.chance(64)).then_some(keepalive),
        initial_window: source.below(11) as u8,
        link_losses: !source.chance(40),
        diffserv: 0,
        // 36 exchanges at the largest RTO take 36 minutes.
        fin_wait_2: match source.chance(64) {
            true => Duration::ZERO,
            false => Duration::from_secs(if harsh { 600 } else { 3600 }),
        },
        fast_open: source.chance(100),
        random_backoff: source.chance(80),
        pacing: source.chance(80),
        lossy_path: source.chance(80),
        ack_rate_request: source.chance(80),
        ..ConnectionConfig::DEFAULT
    };
    if source.chance(60) { with_policies(config, source) } else { config }
}

/// Applies the policies of simpler TCPs.
fn with_policies(config: ConnectionConfig, source: &mut dyn Source) -> ConnectionConfig {
    let rules = [Rto::RoundTrips, Rto::AtLeast, Rto::Static, Rto::FirstRoundTrip];
    ConnectionConfig {
        positive_acks: source.chance(128),
        rto: rules[source.below(rules.len() as u32) as usize],
        window_limit: source.below(9) as u8,
        fast_recovery: source.chance(128),
        ..config
    }
}
