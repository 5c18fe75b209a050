//! The model: one half-duplex channel, one frame at a time.

use crate::loss::{Losses, Model};
use crate::station::{Frame, Station};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Time of a frame in addition to its time on the air, in microseconds: with it, a frame of 127
/// octets takes 7.2 ms.
pub const FIXED_US: u64 = 2_944;
/// Time on the air of an octet, in microseconds: 250 kb/s.
pub const OCTET_US: u64 = 32;
/// Preamble, SFD and PHR, in octets.
pub const SHR_PHR: u64 = 6;
/// Octets of the FCS, which are on the air but not in a [`Frame`].
pub const FCS: u64 = 2;
/// Time at which the source opens its connection: addresses are no longer tentative then.
pub const START_US: u64 = 5_000_000;

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Distribution of losses.
    pub model: Model,
    pub seed: u64,
    /// Duration from [`START_US`] on.
    pub duration_us: u64,
    /// Time of every frame; `None`: that of the model.
    pub frame_us: Option<u64>,
    /// True if the stream has content and is checked.
    pub check: bool,
    /// Prints every frame and the source's state to standard error.
    pub trace: bool,
}

/// Results of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub received: u64,
    pub frames: [u64; 2],
    pub lost: [u64; 2],
    /// Time in which the channel was in use, in microseconds.
    pub busy_us: u64,
}

/// Request to a station in one turn.
pub enum Call<'a> {
    Run,
    Poll(&'a mut Frame),
    Sent(bool),
    Receive(&'a [u8]),
}

/// Does all work of the source's CPU.
#[inline(never)]
pub fn source_call(station: &mut dyn Station, now: u64, call: Call<'_>) -> bool {
    make_call(station, now, call)
}

/// Does all work of the sink's CPU: an instruction counter looks for this name.
#[inline(never)]
pub fn sink_call(station: &mut dyn Station, now: u64, call: Call<'_>) -> bool {
    // Different from `source_call`, or the compiler would merge both functions.
    std::hint::black_box(make_call(station, now, call))
}

#[inline(always)]
fn make_call(station: &mut dyn Station, now: u64, call: Call<'_>) -> bool {
    match call {
        Call::Run => station.run(now),
        Call::Poll(frame) => return station.poll_frame(now, frame),
        Call::Sent(delivered) => station.sent(now, delivered),
        Call::Receive(frame) => station.receive(now, frame),
    }
    false
}

/// Time for which a frame of this length without FCS occupies the channel.
pub fn frame_us(len: usize) -> u64 {
    FIXED_US + OCTET_US * (SHR_PHR + FCS + len as u64)
}

/// The frame on the channel.
struct OnAir {
    from: usize,
    end: u64,
    lost: bool,
}

/// [`source_call`] or [`sink_call`].
type MakeCall = fn(&mut dyn Station, u64, Call<'_>) -> bool;

/// Runs source (0) and sink (1) against each other.
pub fn run(stations: &mut [Box<dyn Station>; 2], conditions: Conditions) -> Outcome {
    const CALLS: [MakeCall; 2] = [source_call, sink_call];
    let mut random = Pcg64Mcg::seed_from_u64(conditions.seed);
    let mut outcome = Outcome::default();
    let mut buffers = [Frame::EMPTY, Frame::EMPTY];
    let mut waiting = [false; 2];
    let mut on_air: Option<OnAir> = None;
    let mut started = false;
    let (mut now, end) = (0, START_US + conditions.duration_us);
    let mut losses = Losses::new(conditions.model, conditions.loss, conditions.seed);
    while now < end {
        if !started && now >= START_US {
            started = true;
            stations.iter_mut().for_each(|station| station.start(now));
        }
        if let Some(OnAir { from, lost, .. }) = on_air.take_if(|frame| frame.end <= now) {
            waiting[from] = false;
            let (to, octets) = (1 - from, buffers[from].get());
            if !lost {
                CALLS[to](stations[to].as_mut(), now, Call::Receive(octets));
            }
            CALLS[from](stations[from].as_mut(), now, Call::Sent(!lost));
        }
        for (i, station) in stations.iter_mut().enumerate() {
            CALLS[i](station.as_mut(), now, Call::Run);
            if !waiting[i] {
                waiting[i] = CALLS[i](station.as_mut(), now, Call::Poll(&mut buffers[i]));
            }
        }
        if on_air.is_none() && (waiting[0] || waiting[1]) {
            let from = match waiting {
                [true, true] => (random.next_u32() & 1) as usize,
                [source, _] => usize::from(!source),
            };
            let lost = losses.is_lost(now, &mut random);
            let takes = conditions.frame_us.unwrap_or_else(|| frame_us(buffers[from].len));
            outcome.frames[from] += 1;
            outcome.lost[from] += u64::from(lost);
            outcome.busy_us += takes;
            if conditions.trace {
                let mark = if lost { "lost" } else { "" };
                let state = stations[0].state();
                let (at, end, len) = (now as f64 / 1e6, ["A", "B"][from], buffers[from].len + 2);
                eprintln!("{at:11.6} {end} {len:3} {mark:4} {state}");
            }
            on_air = Some(OnAir { from, end: now + takes, lost });
        }
        let mut next = on_air.as_ref().map_or(end, |frame| frame.end);
        if !started {
            next = next.min(START_US);
        }
        for station in stations.iter_mut() {
            next = station.deadline(now).map_or(next, |at| next.min(at));
        }
        // A stack that requests an immediate call gets its turn a microsecond later.
        now = next.max(now + 1);
    }
    outcome.received = stations[1].received();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Row;
    use crate::station::Role;

    #[test]
    fn a_full_frame_takes_7_2_ms() {
        assert_eq!(frame_us(125), 7_200);
    }

    fn ten_seconds(loss: f64, seed: u64) -> Outcome {
        let row = Row::named("kinglet").unwrap();
        let mut stations = [Role::Source, Role::Sink].map(|role| row.station(role, seed, true));
        let duration_us = 10_000_000;
        let (model, frame_us) = (Model::Independent, None);
        let conditions =
            Conditions { loss, model, seed, duration_us, frame_us, check: true, trace: false };
        run(&mut stations, conditions)
    }

    #[test]
    fn without_loss_the_channel_is_never_idle_and_nothing_is_sent_twice() {
        let Outcome { received, frames, lost, busy_us } = ten_seconds(0.0, 1);
        assert_eq!(lost, [0, 0]);
        assert!((9_950_000..=10_010_000).contains(&busy_us), "{busy_us}");
        // Segments of 448 octets in five frames; SYN, its ACK, and segments in flight at the end.
        assert!(frames[0] * 448 / 5 - received < 4 * 448, "{received} {frames:?}");
    }

    #[test]
    fn the_share_of_lost_frames_is_the_one_asked_for_and_the_seed_decides_which() {
        let Outcome { frames, lost, .. } = ten_seconds(0.05, 1);
        let share = (lost[0] + lost[1]) as f64 / (frames[0] + frames[1]) as f64;
        assert!((0.02..0.08).contains(&share), "{share}");
        assert_eq!(ten_seconds(0.05, 1).lost, lost);
        assert_ne!(ten_seconds(0.05, 2).frames, frames);
    }
}
