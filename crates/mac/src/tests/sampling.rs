//! A leaf that samples the channel, with a parent whose clock differs.

use super::*;

/// From the first symbol to the end of the SFD.
const SFD: Duration = Duration::from_micros(160);
const PERIOD: Duration = Duration::from_secs(1);

struct Leaf {
    mac: TestMac,
    now: Instant,
    /// First sample after the last synchronisation as the parent knows it, by the leaf's clock, and
    /// the time of that synchronisation.
    announced: Instant,
    synced: Instant,
    /// Times between synchronisations.
    intervals: Vec<Duration>,
    /// Longest time of listening for a sample.
    longest: Duration,
}

impl Leaf {
    fn new(drift_ppm: u16) -> Self {
        let csl = Some(Csl { period: PERIOD, drift_ppm, sync_interval: Duration::from_secs(50) });
        let mut mac = TestMac::new(
            MacConfig { csl, rx_on_when_idle: false, ..config() },
            all(),
            drift_ppm.into(),
        );
        assert_eq!(mac.poll_radio(T0).map(|submission| submission.command), Some(Command::Off));
        assert!(mac.set_parent(T0, Some(PEER)));
        let (intervals, longest) = (Vec::new(), Duration::ZERO);
        Leaf { mac, now: T0, announced: T0, synced: T0, intervals, longest }
    }

    /// Returns the arrival, by the leaf's clock, of a frame that the parent sends at the sample
    /// after `at`, if its clock is late by `late_ppm` parts per million.
    fn arrival(&self, at: Instant, late_ppm: i64) -> Instant {
        let sample = csl_after(self.announced, at);
        let age = (sample - self.synced).as_micros() as i64;
        let late = age * late_ppm / 1_000_000;
        Instant::from_micros((sample.as_micros() as i64 + late) as u64)
    }

    /// Runs until `end`, with a parent that acknowledges; no sample may miss a frame that it would
    /// send.
    fn run(&mut self, end: Instant, late_ppm: i64) {
        while self.now < end {
            self.now = self.mac.deadline().map_or(self.now, |at| at.max(self.now));
            self.mac.handle_deadline(self.now);
            while let Some(submission) = self.mac.poll_radio(self.now) {
                let frame = submission.frame.to_vec();
                match submission.command {
                    Command::Transmit { start: Start::At(sfd), .. } => self.hear(sfd, &frame),
                    Command::Receive { start: Start::At(from), until: Some(until), .. } => {
                        let comes = self.arrival(from - PERIOD / 2, late_ppm);
                        assert!(from <= comes && comes + SFD <= until, "{from:?} {comes:?}");
                        self.longest = self.longest.max(until - from);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Handles a synchronisation of the leaf.
    fn hear(&mut self, sfd: Instant, frame: &[u8]) {
        let csl = Frame::parse(frame).unwrap().csl().unwrap();
        if self.mac.is_sampling() {
            self.intervals.push(sfd - self.synced);
        }
        self.synced = sfd - SFD;
        self.announced = self.synced + Duration::from_micros(u64::from(csl.phase) * 160);
        self.now = sfd;
        transmitted(&mut self.mac, sfd, Ack::Received { frame_pending: false });
    }

    /// Sends the leaf a frame at a sample some seconds after its last synchronisation.
    fn frame(&mut self, late_ppm: i64) {
        while !(4..7).contains(&((self.now - self.synced).as_micros() / 1_000_000)) {
            self.run(self.now + PERIOD, late_ppm);
        }
        let comes = self.arrival(self.now + PERIOD, late_ppm);
        self.run(comes - Duration::from_millis(1), late_ppm);
        self.now = comes + SFD;
        let sequence = self.intervals.len() as u8;
        let frame = data_frame(PEER, Address::Short(1), sequence, true);
        assert!(receive(&mut self.mac, self.now, &frame).is_ok());
    }
}

fn csl_after(first: Instant, at: Instant) -> Instant {
    let periods = (at - first).as_micros().div_ceil(PERIOD.as_micros());
    first + PERIOD * u32::try_from(periods).unwrap()
}

#[test]
fn a_replaced_parent_is_not_notified() {
    let mut leaf = Leaf::new(40);
    assert!(!leaf.mac.set_parent(T0, None));
    assert!(leaf.mac.set_parent(T0, Some(Address::Short(3))));
    while leaf.mac.info().slots_used > 0 {
        leaf.now = leaf.mac.deadline().map_or(leaf.now, |at| at.max(leaf.now));
        leaf.mac.handle_deadline(leaf.now);
        let Some(submission) = leaf.mac.poll_radio(leaf.now) else { continue };
        if let Command::Transmit { start: Start::At(sfd), .. } = submission.command {
            let frame = submission.frame.to_vec();
            assert_eq!(Frame::parse(&frame).unwrap().dst(), Address::Short(3));
            leaf.hear(sfd, &frame);
        }
    }
    assert!(leaf.mac.is_sampling());
}

/// Longest listening of a leaf: a symbol of each end and 0.4 ms, before and after.
const MOST: Duration = Duration::from_micros(160 + 2 * (32 + 400) + 2);

#[test]
fn an_idle_leaf_synchronises_before_it_has_to_listen_for_long() {
    for (drift_ppm, seconds) in [(4_i64, 50), (10, 40), (20, 20), (40, 10), (100, 4), (200, 2)] {
        for late_ppm in [drift_ppm, -drift_ppm, 0] {
            let mut leaf = Leaf::new(drift_ppm.unsigned_abs() as u16);
            leaf.run(T0 + Duration::from_secs(600), late_ppm);
            // The time is rounded to a period, and the frame needs time to leave.
            let expected = Duration::from_secs(seconds);
            for &interval in &leaf.intervals {
                let late = interval - expected;
                assert!(interval >= expected && late < PERIOD, "{drift_ppm} {interval:?}");
            }
            assert!(!leaf.intervals.is_empty());
            let slack = Duration::from_micros(2 * drift_ppm.unsigned_abs());
            assert!(leaf.longest <= MOST + slack, "{drift_ppm}: {:?}", leaf.longest);
        }
    }
}

#[test]
fn a_leaf_that_has_heard_frames_at_samples_listens_shorter_and_says_less() {
    for late_ppm in [40, -40, 13, 0] {
        let mut leaf = Leaf::new(40);
        leaf.run(T0 + Duration::from_secs(2), late_ppm);
        assert!(leaf.mac.is_learning_drift());
        leaf.frame(late_ppm);
        assert!(!leaf.mac.is_learning_drift());
        let end = leaf.now + Duration::from_secs(20);
        leaf.run(end, late_ppm);
        leaf.longest = Duration::ZERO;
        leaf.intervals.clear();
        let end = leaf.now + Duration::from_secs(300);
        leaf.run(end, late_ppm);
        assert!(leaf.longest < MOST, "{late_ppm}: {:?}", leaf.longest);
        let shortest = leaf.intervals.iter().min().unwrap();
        assert!(*shortest >= Duration::from_secs(48), "{late_ppm}: {shortest:?}");
    }
}

#[test]
fn old_measurements_have_less_weight() {
    for warms in [-1, 1] {
        let mut leaf = Leaf::new(40);
        leaf.run(T0 + Duration::from_secs(2), 20);
        leaf.frame(20);
        // It warms up or cools down by 10 ppm in each of two hours, and receives nothing.
        for minute in 1..=120 {
            let end = leaf.now + Duration::from_secs(60);
            leaf.run(end, 20 + warms * minute / 6);
        }
        let often = leaf.intervals.last().unwrap();
        assert!(*often < Duration::from_secs(16), "{often:?}");
        leaf.frame(20 + warms * 20);
        leaf.run(leaf.now + Duration::from_secs(120), 20 + warms * 20);
        let seldom = leaf.intervals.last().unwrap();
        assert!(*seldom > Duration::from_secs(36), "{seldom:?}");
    }
}

#[test]
fn a_frame_that_comes_near_a_sample_by_chance_does_not_mislead_a_leaf() {
    let mut leaf = Leaf::new(40);
    leaf.run(T0 + Duration::from_secs(2), 0);
    leaf.frame(0);
    while leaf.now - leaf.synced < Duration::from_secs(40) {
        leaf.run(leaf.now + PERIOD, 0);
    }
    let comes = leaf.arrival(leaf.now + PERIOD, 0) - Duration::from_millis(1);
    leaf.run(comes - Duration::from_millis(1), 0);
    leaf.now = comes + SFD;
    let frame = data_frame(PEER, Address::Short(1), 200, true);
    assert!(receive(&mut leaf.mac, leaf.now, &frame).is_ok());
    // It continues to listen at every sample, and derives the drift from the next frame.
    leaf.run(leaf.now + Duration::from_secs(100), 0);
    leaf.frame(0);
    assert!(!leaf.mac.is_learning_drift());
}
