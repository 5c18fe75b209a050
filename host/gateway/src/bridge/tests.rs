use super::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// A network that returns every packet after a while and has an event every `period`.
struct Echo {
    now: Instant,
    delay: Duration,
    period: Duration,
    /// Packets to be returned, with their times and senders.
    waiting: VecDeque<(Instant, End, Vec<u8>)>,
    /// True if packets go to the other end.
    crosses: bool,
    /// Time until which no packet is accepted at the border.
    closed_until: Instant,
    /// Times of the events run.
    events: Vec<Instant>,
    /// Real time that a millisecond of virtual time takes.
    cost: WallDuration,
}

impl Echo {
    fn new() -> Self {
        Echo {
            now: Instant::from_secs(5),
            delay: Duration::from_millis(10),
            period: Duration::from_secs(1),
            waiting: VecDeque::new(),
            crosses: false,
            closed_until: Instant::ZERO,
            events: Vec::new(),
            cost: WallDuration::ZERO,
        }
    }

    fn next_tick(&self) -> Instant {
        self.events.last().copied().unwrap_or(Instant::from_secs(5)) + self.period
    }
}

impl Network for Echo {
    fn now(&self) -> Instant {
        self.now
    }

    fn run_until(&mut self, until: Instant) {
        assert!(until >= self.now, "time never runs backwards");
        std::thread::sleep(self.cost * (until - self.now).as_millis() as u32);
        while self.next_tick() <= until {
            self.events.push(self.next_tick());
        }
        self.now = until;
    }

    fn next_event(&self) -> Option<Instant> {
        let packet = self.waiting.front().map(|(at, ..)| *at);
        Some(packet.map_or(self.next_tick(), |at| at.min(self.next_tick())))
    }

    fn takes(&self, end: End) -> bool {
        end == End::Far || self.now >= self.closed_until
    }

    fn handle_host_packet(&mut self, end: End, packet: &[u8]) {
        self.waiting.push_back((self.now + self.delay, end, packet.to_vec()));
    }

    fn exchange(&mut self) -> io::Result<()> {
        Ok(())
    }

    async fn outside(&self) {
        std::future::pending().await
    }

    fn poll_host_packet(&mut self, end: End, buf: &mut [u8]) -> Option<usize> {
        let (at, from, _) = self.waiting.front()?;
        // To the other one, if there is one.
        let to = if self.crosses && *from == End::Border { End::Far } else { End::Border };
        if *at > self.now || to != end {
            return None;
        }
        let (_, _, packet) = self.waiting.pop_front()?;
        buf[..packet.len()].copy_from_slice(&packet);
        Some(packet.len())
    }
}

/// A host that sends packets at given times, in milliseconds, and records when some come back.
struct Host {
    start: WallInstant,
    to_send: RefCell<VecDeque<(u64, Vec<u8>)>>,
    taken: RefCell<Vec<(u64, Vec<u8>)>>,
    refuses: Cell<bool>,
    /// True if the link fails instead of falling silent.
    breaks: bool,
}

impl Host {
    fn new(to_send: &[(u64, &[u8])]) -> Self {
        Host {
            start: WallInstant::now(),
            to_send: RefCell::new(to_send.iter().map(|(at, p)| (*at, p.to_vec())).collect()),
            taken: RefCell::default(),
            refuses: Cell::new(false),
            breaks: false,
        }
    }
}

impl HostLink for Host {
    async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(at) = self.to_send.borrow().front().map(|(at, _)| *at) else {
            if self.breaks {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe));
            }
            return std::future::pending().await;
        };
        tokio::time::sleep_until(self.start + WallDuration::from_millis(at)).await;
        let (_, packet) = self.to_send.borrow_mut().pop_front().unwrap();
        buf[..packet.len()].copy_from_slice(&packet);
        Ok(packet.len())
    }

    async fn send(&self, packet: &[u8]) -> io::Result<()> {
        if self.refuses.get() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let at = self.start.elapsed().as_millis() as u64;
        self.taken.borrow_mut().push((at, packet.to_vec()));
        Ok(())
    }
}

/// Records the reported statistics.
#[derive(Default)]
struct Notes(Vec<BridgeStats>);

impl Observer<Echo> for Notes {
    fn report(&mut self, _: &mut Echo, stats: &BridgeStats) {
        self.0.push(*stats);
    }
}

const SECOND: WallDuration = WallDuration::from_secs(1);

async fn bridge_for(
    network: &mut Echo,
    host: &Host,
    notes: &mut Notes,
    millis: u64,
) -> io::Result<BridgeStats> {
    let stop = tokio::time::sleep(WallDuration::from_millis(millis));
    run(network, &Hosts::one(host), SECOND, notes, stop).await
}

#[tokio::test(start_paused = true)]
async fn packets_cross_in_both_directions_in_order_and_with_the_delay_of_the_network() {
    let (mut network, mut notes) = (Echo::new(), Notes::default());
    let host = Host::new(&[(100, b"first"), (100, b"second"), (250, b"third one")]);
    let stats = bridge_for(&mut network, &host, &mut notes, 400).await.unwrap();
    let taken = host.taken.into_inner();
    let packets: Vec<&[u8]> = taken.iter().map(|(_, packet)| packet.as_slice()).collect();
    assert_eq!(packets, [b"first".as_slice(), b"second", b"third one"]);
    for ((at, _), due) in taken.iter().zip([110, 110, 260]) {
        // Timers of the runtime have a granularity of a millisecond.
        assert!((due..=due + 2).contains(at), "came at {at} ms, due at {due} ms");
    }
    assert_eq!((stats.packets_in, stats.octets_in), (3, 20));
    assert_eq!((stats.packets_out, stats.octets_out), (3, 20));
    assert_eq!(stats.refused, 0);
}

#[tokio::test(start_paused = true)]
async fn virtual_time_follows_the_wall_clock_from_where_the_network_stands() {
    let (mut network, host, mut notes) = (Echo::new(), Host::new(&[]), Notes::default());
    network.period = Duration::from_millis(7);
    bridge_for(&mut network, &host, &mut notes, 1000).await.unwrap();
    let elapsed = (network.now - Instant::from_secs(5)).as_millis();
    assert!((992..=1000).contains(&elapsed), "{elapsed} ms");
    assert!((141..=142).contains(&network.events.len()), "one event every 7 ms");
}

#[tokio::test(start_paused = true)]
async fn a_network_without_events_is_brought_to_the_present_at_the_end() {
    let (mut network, host, mut notes) = (Echo::new(), Host::new(&[]), Notes::default());
    network.period = Duration::from_secs(1_000_000);
    let stop = tokio::time::sleep(7 * SECOND);
    run(&mut network, &Hosts::one(&host), 10 * SECOND, &mut notes, stop).await.unwrap();
    assert_eq!((network.now - Instant::from_secs(5)).as_millis() / 10, 700);
}

/// Records the network's time at each report, in tenths of a second.
struct Looks(Vec<u64>);

impl Observer<Echo> for Looks {
    fn report(&mut self, network: &mut Echo, _: &BridgeStats) {
        self.0.push((network.now - Instant::from_secs(5)).as_millis() / 100);
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_of_a_network_without_events_sees_the_present() {
    let (mut network, host, mut looks) = (Echo::new(), Host::new(&[]), Looks(Vec::new()));
    network.period = Duration::from_secs(1_000_000);
    let stop = tokio::time::sleep(WallDuration::from_millis(3_500));
    run(&mut network, &Hosts::one(&host), SECOND, &mut looks, stop).await.unwrap();
    assert_eq!(looks.0, [0, 10, 20, 30]);
}

#[tokio::test(start_paused = true)]
async fn packets_of_two_hosts_cross_to_the_other_one() {
    let (mut network, mut notes) = (Echo { crosses: true, ..Echo::new() }, Notes::default());
    let border = Host::new(&[(100, b"to the far end"), (300, b"again")]);
    let far = Host::new(&[(100, b"to the border"), (200, b"and more")]);
    let hosts = Hosts { border: &border, far: Some(&far) };
    let stop = tokio::time::sleep(WallDuration::from_millis(400));
    let stats = run(&mut network, &hosts, SECOND, &mut notes, stop).await.unwrap();
    let taken = |host: Host| -> Vec<Vec<u8>> {
        host.taken.into_inner().into_iter().map(|(_, packet)| packet).collect()
    };
    assert_eq!(taken(border), [b"to the border".to_vec(), b"and more".to_vec()]);
    assert_eq!(taken(far), [b"to the far end".to_vec(), b"again".to_vec()]);
    assert_eq!((stats.packets_in, stats.packets_out, stats.octets_in), (4, 4, 40));
}

#[tokio::test(start_paused = true)]
async fn packets_refused_by_the_network_wait_at_their_host_and_do_not_delay_the_other() {
    let mut network = Echo { crosses: true, ..Echo::new() };
    network.closed_until = network.now + Duration::from_millis(500);
    network.period = Duration::from_millis(50);
    let mut notes = Notes::default();
    let (border, far) = (Host::new(&[(100, b"waits")]), Host::new(&[(100, b"goes")]));
    let hosts = Hosts { border: &border, far: Some(&far) };
    let stop = tokio::time::sleep(SECOND);
    run(&mut network, &hosts, SECOND, &mut notes, stop).await.unwrap();
    let at = |host: Host| host.taken.into_inner().first().map(|(at, _)| *at);
    // Timers of the runtime have a granularity of a millisecond, and several pass in a row.
    let (early, late) = (at(border), at(far));
    assert!(early.is_some_and(|at| (110..=115).contains(&at)), "{early:?}");
    assert!(late.is_some_and(|at| (510..=515).contains(&at)), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn refused_packets_are_counted_and_the_bridge_goes_on() {
    let (mut network, mut notes) = (Echo::new(), Notes::default());
    let host = Host::new(&[(1, b"a"), (2, b"b")]);
    host.refuses.set(true);
    let stats = bridge_for(&mut network, &host, &mut notes, 100).await.unwrap();
    assert_eq!((stats.packets_in, stats.packets_out, stats.refused), (2, 0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_broken_link_ends_the_bridge_with_its_error() {
    let (mut network, mut notes) = (Echo::new(), Notes::default());
    let host = Host { breaks: true, ..Host::new(&[(1, b"a")]) };
    let error = bridge_for(&mut network, &host, &mut notes, 1000).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    // With two devices, the error names the failed one.
    let (border, far) = (Host::new(&[]), host);
    let hosts = Hosts { border: &border, far: Some(&far) };
    let stop = tokio::time::sleep(SECOND);
    let error = run(&mut network, &hosts, SECOND, &mut notes, stop).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    assert!(error.to_string().starts_with("the TUN device at the far end is gone"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn reports_come_once_per_interval_with_what_happened_since() {
    let (mut network, mut notes) = (Echo::new(), Notes::default());
    let host = Host::new(&[(500, b"a"), (1500, b"b")]);
    bridge_for(&mut network, &host, &mut notes, 2500).await.unwrap();
    let seen: Vec<u64> = notes.0.iter().map(|stats| stats.packets_in).collect();
    assert_eq!(seen, [0, 1, 2]);
}

#[tokio::test]
async fn a_network_too_slow_for_real_time_is_stopped_in_time_and_its_lag_shows() {
    let (mut network, host, mut notes) = (Echo::new(), Host::new(&[]), Notes::default());
    network.cost = WallDuration::from_millis(100);
    network.period = Duration::from_millis(1);
    let began = std::time::Instant::now();
    let stats = bridge_for(&mut network, &host, &mut notes, 300).await.unwrap();
    // Catching up with 300 ms would take half a minute; the bound has a margin for a busy machine.
    assert!(began.elapsed() < WallDuration::from_secs(10), "Ctrl-C must not wait");
    assert!(stats.lag_ms_max >= 100, "100 times too slow for 300 ms: {} ms", stats.lag_ms_max);
}
