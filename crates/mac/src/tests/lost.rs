//! Neighbours whose clocks drift, that restart, or are (or seem to be) on another channel than
//! expected: they are found again, after a bounded number of failures.

use super::waking::{Plan, able, poll};
use super::*;
use crate::air::PREAMBLE_SFD;
use crate::wake::{CHECK, WakeUp, repetition};
use kinglet_radio::air_time;

const LEN: usize = 100;
const NEIGHBOUR: u16 = 2;
const PERIOD: Duration = Wake::DEFAULT.period;
/// After this number of failed strobes in a row the next one takes a whole period.
const FAILURES: u32 = 16;

/// A neighbour that wakes periodically, by a clock that runs too fast or too slow, and hops over
/// channels.
struct Sleeping {
    first: Instant,
    /// Parts per million.
    drift: i64,
    /// The set of channels, and the channel of its first wake-up.
    channels: u16,
    channel: Channel,
}

impl Sleeping {
    fn new(first: Instant, drift: i64) -> Self {
        Sleeping { first, drift, channels: 0, channel: Channel::default() }
    }

    /// Returns the first wake-up from `at` on.
    fn wakes(&self, at: Instant) -> Instant {
        // A million periods in microseconds, by the clock of the sender.
        let million = 1_000_000_u64.saturating_add_signed(self.drift);
        let period = u128::from(PERIOD.as_micros() * million);
        let since = u128::from((at - self.first).as_micros()) * 1_000_000;
        let until = since.div_ceil(period) * period / 1_000_000;
        self.first + Duration::from_micros(until.try_into().unwrap())
    }

    fn channel_at(&self, woke: Instant) -> Channel {
        let wake = Wake { channels: self.channels, ..Wake::DEFAULT };
        WakeUp { at: self.first, channel: self.channel }.moved_to(&wake, woke).channel
    }

    /// Returns the copy that it acknowledges, from 0, if the strobe lasts long enough: one of the
    /// samples notices a copy, and the next copy is received whole.
    fn hears(&self, strobe: &Sent) -> Option<u16> {
        let apart = repetition(LEN).as_micros();
        let mut woke = self.wakes(strobe.begin);
        // A search lasts a little longer than a period.
        if strobe.channel != self.channel_at(woke) {
            woke = self.wakes(woke + Duration::from_micros(1));
        }
        if strobe.channel != self.channel_at(woke) {
            return None;
        }
        // If it is awake before its samples have ended, it receives the copy that begins next.
        let next = (woke + CHECK - strobe.begin).as_micros().div_ceil(apart);
        let last = strobe.lasting.as_micros() / apart;
        (next <= last).then(|| u16::try_from(next).unwrap())
    }
}

/// A strobe: begin of its first preamble, and the time in which another one may begin.
struct Sent {
    begin: Instant,
    lasting: Duration,
    channel: Channel,
}

struct Sender {
    mac: Mac<Plan>,
    now: Instant,
}

impl Sender {
    fn new(wake: Wake) -> Self {
        let mut mac = Mac::new(config().unsecured(), able(), 1);
        mac.set_wake(Some(Wake { sleeps: false, ..wake })).unwrap();
        assert!(matches!(mac.poll_radio(T0).unwrap().command, Command::Receive { .. }));
        Sender { mac, now: T0 }
    }

    /// Queues a frame for the neighbour.
    fn put(&mut self) {
        let request = TxRequest { dst: Address::Short(NEIGHBOUR), ..request(1) };
        let fill = |room: &mut [u8]| room.len().min(LEN - 9);
        self.mac.enqueue(self.now, request, fill).unwrap();
    }

    /// Waits for the next strobe. A frame that was given up is followed by another one.
    fn strobe(&mut self) -> Sent {
        loop {
            while self.mac.poll_outcome(self.now).is_some() {}
            if self.mac.info().slots_used == 0 {
                self.now += PERIOD;
                self.put();
                continue;
            }
            if let Some(command) = poll(&mut self.mac, self.now) {
                let Command::Strobe { start, lasting, channel, .. } = command else {
                    self.idles(command);
                    continue;
                };
                let begin = match start {
                    Start::At(sfd) => sfd - PREAMBLE_SFD,
                    _ => self.now + Duration::from_millis(4),
                };
                return Sent { begin, lasting, channel };
            }
            self.now = self.mac.deadline().expect("something is due");
            self.mac.handle_deadline(self.now);
        }
    }

    /// Handles the commands of a device to which no frame is sent.
    fn idles(&mut self, command: Command) {
        if let Command::Sense { .. } = command {
            let sensed = Event::Sensed { busy: false };
            assert_eq!(self.mac.handle_radio(self.now, sensed, &mut []), Ok(None));
        }
    }

    /// Reports the result of a strobe.
    fn end(&mut self, sent: &Sent, heard: Option<u16>) {
        let (sfd, ack, times) = match heard {
            Some(n) => {
                let sfd = sent.begin + PREAMBLE_SFD + repetition(LEN) * u32::from(n);
                (sfd, Ack::Received { frame_pending: false }, n + 1)
            }
            None => (sent.begin + sent.lasting, Ack::Missing, 9),
        };
        self.now = sfd + air_time(LEN + 2) + Duration::from_millis(1);
        let event = Event::Strobed { sfd, ack, times };
        assert_eq!(self.mac.handle_radio(self.now, event, &mut []), Ok(None));
        while self.mac.poll_outcome(self.now).is_some() {}
    }

    /// Sends a frame until `neighbour` receives it. Returns the number of failed strobes, and the
    /// number of copies in the last one.
    fn send(&mut self, neighbour: &Sleeping) -> (u32, u16) {
        self.put();
        for failures in 0..1_000 {
            let sent = self.strobe();
            let heard = neighbour.hears(&sent);
            self.end(&sent, heard);
            if let Some(n) = heard {
                return (failures, n + 1);
            }
        }
        panic!("it is never found")
    }
}

#[test]
fn clocks_that_drift_by_100_ppm_are_hit_as_well_after_an_hour_as_at_first() {
    for drift in [-100, -37, 100] {
        // The drift that the configuration allows for.
        let mut sender = Sender::new(Wake { drift_ppm: 100, ..Wake::DEFAULT });
        let neighbour = Sleeping::new(T0 + Duration::from_millis(41), drift);
        sender.send(&neighbour);
        let mut times = Vec::new();
        let hour = T0 + Duration::from_secs(3_600);
        let pauses = [200, 3_000, 700, 20_000, 1_100].map(Duration::from_millis);
        while sender.now < hour {
            sender.now += pauses[times.len() % pauses.len()];
            let (failed, on_air) = sender.send(&neighbour);
            assert_eq!(failed, 0, "{drift} ppm, frame {}", times.len());
            times.push(u32::from(on_air));
        }
        // In hundredths.
        let mean = |part: &[u32]| part.iter().sum::<u32>() * 100 / part.len() as u32;
        let (early, late) = times.split_at(times.len() / 2);
        assert!(mean(late) < mean(early) + 20, "{} and {}", mean(early), mean(late));
        assert!(times.iter().all(|n| *n <= 4), "{drift} ppm: {times:?}");
        assert_eq!(sender.mac.strobe_stats().unwrap().searching, 1);
    }
}

#[test]
fn a_clock_that_drifts_by_more_than_is_reckoned_with_is_lost_and_found_again() {
    let mut sender = Sender::new(Wake { drift_ppm: 20, ..Wake::DEFAULT });
    let neighbour = Sleeping::new(T0, 400);
    sender.send(&neighbour);
    for _ in 0..50 {
        sender.now += Duration::from_secs(60);
        let (failed, _) = sender.send(&neighbour);
        assert!(failed <= FAILURES, "{failed}");
    }
}

/// Returns the cost of the second frame after a neighbour was found: an acknowledgement that is too
/// early is accepted as evidence when it has happened twice.
fn settled(sender: &mut Sender, neighbour: &Sleeping) -> (u32, u16) {
    sender.now += Duration::from_secs(1);
    let (failed, _) = sender.send(neighbour);
    assert!(failed <= 3, "it is tried earlier and earlier: {failed}");
    sender.now += Duration::from_secs(1);
    sender.send(neighbour)
}

#[test]
fn a_neighbour_that_restarts_is_found_after_at_most_sixteen_failures() {
    for later in (1..125).step_by(3).map(Duration::from_millis) {
        let mut sender = Sender::new(Wake::DEFAULT);
        let mut neighbour = Sleeping::new(T0 + Duration::from_millis(10), 0);
        for _ in 0..3 {
            sender.send(&neighbour);
            sender.now += Duration::from_secs(1);
        }
        neighbour.first += later;
        let (failed, _) = sender.send(&neighbour);
        assert!(failed <= FAILURES, "{later:?}: {failed}");
        // Then its phase is known. A neighbour that is a little later than before may have been
        // reached by chance, by a copy after the one that is due; that is no evidence.
        let by_chance = if failed == 0 { Wake::DEFAULT.repeats } else { 0 };
        let (failed, on_air) = settled(&mut sender, &neighbour);
        assert!(failed == 0 && on_air <= 4 + u16::from(by_chance), "{later:?}: {failed}, {on_air}");
    }
}

const CHANNELS: [u8; 4] = [11, 15, 20, 26];

/// Returns a device whose neighbours hop over these channels, and such a neighbour.
fn on_channels(first: Duration, drift: i64) -> (Sender, Sleeping) {
    let channels = CHANNELS.iter().fold(0, |set, channel| set | 1 << (channel - 11));
    let mut mac = Mac::new(MacConfig { channel: channel(26), ..config() }.unsecured(), able(), 1);
    mac.set_wake(Some(Wake { sleeps: true, channels, ..Wake::DEFAULT })).unwrap();
    let neighbour = Sleeping { channels, channel: channel(15), ..Sleeping::new(T0 + first, drift) };
    (Sender { mac, now: T0 }, neighbour)
}

fn channel(number: u8) -> Channel {
    Channel::new(number).unwrap()
}

#[test]
fn a_neighbour_that_goes_round_channels_is_found_in_two_rounds_and_then_hit_on_each() {
    for (first, drift) in [(1, 0), (40, 80), (77, -80), (124, 20)] {
        let (mut sender, neighbour) = on_channels(Duration::from_millis(first), drift);
        // The search is on one channel, on which the neighbour is once in as many periods as there
        // are channels: during a strobe, or between two of them, and then on another one.
        let (failed, _) = sender.send(&neighbour);
        assert!(failed < 2 * CHANNELS.len() as u32, "{first}: {failed}");
        sender.now += Duration::from_secs(1);
        sender.send(&neighbour);
        let mut seen = Vec::new();
        for n in 0..40 {
            sender.now += PERIOD * (n % 7) + Duration::from_millis(3);
            sender.put();
            let sent = sender.strobe();
            seen.push(sent.channel.number());
            let heard = neighbour.hears(&sent);
            assert!(heard.is_some(), "{first}: on {} at {:?}", sent.channel.number(), sent.begin);
            sender.end(&sent, heard);
        }
        assert!(CHANNELS.iter().all(|number| seen.contains(number)), "{seen:?}");
    }
}

#[test]
fn after_hours_without_a_word_a_neighbour_is_looked_for_on_one_channel() {
    let (mut sender, neighbour) = on_channels(Duration::from_millis(40), 80);
    sender.send(&neighbour);
    // Its clock may be off by more than half a period, and would indicate another channel.
    sender.now += Duration::from_secs(3 * 3_600);
    let (failed, _) = sender.send(&neighbour);
    assert!(failed < 2 * CHANNELS.len() as u32, "{failed}");
}

#[test]
fn a_neighbour_that_restarts_on_another_channel_is_found_within_a_minute() {
    for to in [11, 20, 26] {
        let (mut sender, mut neighbour) = on_channels(Duration::ZERO, 0);
        sender.send(&neighbour);
        sender.now += Duration::from_secs(5);
        neighbour.channel = channel(to);
        neighbour.first += Duration::from_millis(70);
        let began = sender.now;
        let (failed, _) = sender.send(&neighbour);
        let took = sender.now - began;
        // It may only have been busy, so it is not discarded before it was silent for a minute.
        assert!(took < Duration::from_secs(70), "channel {to}: {failed} failures, {took:?}");
        sender.now += Duration::from_secs(1);
        assert_eq!(sender.send(&neighbour).0, 0);
    }
}

#[test]
fn a_neighbour_that_was_awake_for_another_node_is_found_where_it_wakes() {
    for (before, first) in (1..=3).flat_map(|n| [1, 40, 77, 124].map(|first| (n, first))) {
        let (mut sender, neighbour) = on_channels(Duration::from_millis(first), 0);
        // It receives a search on the channel of an earlier wake-up, where it still is.
        sender.put();
        sender.now += Duration::from_secs(1);
        loop {
            let sent = sender.strobe();
            let woke = neighbour.wakes(sent.begin - PERIOD * before);
            let heard = (sent.channel == neighbour.channel_at(woke)).then_some(5);
            sender.end(&sent, heard);
            if heard.is_some() {
                break;
            }
        }
        sender.now += Duration::from_secs(1);
        let (failed, _) = sender.send(&neighbour);
        assert!((1..=3 * (before + 2)).contains(&failed), "{before}, {first}: {failed}");
        assert_eq!(settled(&mut sender, &neighbour).0, 0);
    }
}

/// A relay that itself searches for its neighbours sends without pause, and is as deaf as one that
/// was met on the channel of an earlier wake-up.
#[test]
fn a_neighbour_that_was_deaf_is_expected_on_its_own_channel_every_other_time() {
    for deaf in 16..32 {
        let (mut sender, neighbour) = on_channels(Duration::from_millis(40), 0);
        sender.send(&neighbour);
        for _ in 0..deaf {
            let sent = sender.strobe();
            sender.end(&sent, None);
        }
        let (failed, _) = sender.send(&neighbour);
        assert!(failed <= 1, "after {deaf}: {failed}");
    }
}

/// A forged acknowledgement cannot be recognised: it has only a sequence number. Its frame is lost
/// on this hop. But the false wake-up phase is discarded later.
#[test]
fn a_neighbour_is_found_again_after_forged_acknowledgements() {
    let mut most = 0;
    for (forged, from) in (1..12).flat_map(|n| [0, 30, 60, 90].map(|from| (n, from))) {
        let mut sender = Sender::new(Wake::DEFAULT);
        let neighbour = Sleeping::new(T0 + Duration::from_millis(from), 0);
        for n in 0..forged {
            sender.put();
            let sent = sender.strobe();
            // For one of the first copies, wherever they are, before the neighbour can have
            // received one. The first strobe takes a whole period, in which the error is largest.
            sender.end(&sent, Some(1 + (n % 3) as u16));
            sender.now += Duration::from_millis(1_700 + 13 * n);
        }
        let (failed, _) = sender.send(&neighbour);
        assert!(failed <= FAILURES, "{forged}, {from}: {failed}");
        most = most.max(failed);
        assert_eq!(settled(&mut sender, &neighbour).0, 0, "it is known again");
    }
    assert_eq!(most, FAILURES, "some were led astray");
}

#[test]
fn a_neighbour_without_traffic_for_a_year_is_searched_for_in_one_period() {
    for days in [1, 365] {
        let mut sender = Sender::new(Wake::DEFAULT);
        let neighbour = Sleeping::new(T0, 37);
        sender.send(&neighbour);
        sender.now += Duration::from_secs(days * 86_400);
        sender.put();
        let sent = sender.strobe();
        let most = PERIOD + CHECK + repetition(LEN) + Wake::DEFAULT.stubborn(LEN);
        assert!(sent.lasting <= most, "{:?}", sent.lasting);
        assert!(sent.begin < sender.now + PERIOD * 2, "and soon");
        let heard = neighbour.hears(&sent);
        assert!(heard.is_some());
        sender.end(&sent, heard);
        sender.now += Duration::from_secs(1);
        let (failed, on_air) = sender.send(&neighbour);
        assert!(failed == 0 && on_air <= 4, "{failed}, {on_air}");
    }
}

/// Instants count microseconds in 64 bits and end after half a million years. At the end nothing
/// wraps.
#[test]
fn at_the_end_of_time_nothing_panics() {
    let mut sender = Sender::new(Wake::DEFAULT);
    let neighbour = Sleeping::new(T0, 0);
    sender.send(&neighbour);
    for left in [3_000_000, 300_000, 60_000, 1_000, 1, 0] {
        sender.now = Instant::from_micros(u64::MAX - left);
        let request = TxRequest { dst: Address::Short(NEIGHBOUR), ..request(1) };
        let _ = sender.mac.enqueue(sender.now, request, |room| room.len().min(50));
        sender.mac.handle_deadline(sender.now);
        while sender.mac.poll_radio(sender.now).is_some() {}
        let event = Event::Strobed { sfd: sender.now, ack: Ack::Missing, times: u16::MAX };
        let _ = sender.mac.handle_radio(sender.now, event, &mut []);
    }
}
