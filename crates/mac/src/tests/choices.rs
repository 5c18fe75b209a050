//! Functions that a memory plan omits take no memory.

use super::*;

/// Always on, no sleepy neighbours, no security.
struct Plain;
impl Sizes for Plain {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 3];
    type Listening = AlwaysOn;
    type DeliveryMethod = ();
    type Security = ();
    type Backoff = Exponential;
}

/// A leaf that polls, and has leaves of its own that poll.
struct Asking;
impl Sizes for Asking {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 3];
    type Listening = Polled;
    type DeliveryMethod = Sleepers<[Sleeper; 2]>;
    type Security = ();
    type Backoff = Exponential;
}

const SLEEPY: MacConfig = MacConfig {
    short: 1,
    rx_on_when_idle: false,
    csl: Some(Csl {
        period: Duration::from_millis(500),
        drift_ppm: 40,
        sync_interval: Duration::from_secs(20),
    }),
    ..MacConfig::DEFAULT
};

fn first_command<S: Sizes>(mac: &mut Mac<S>) -> Command {
    mac.poll_radio(T0).unwrap().command
}

#[test]
fn an_always_on_device_listens_and_polls_no_parent() {
    let mut mac: Mac<Plain> = Mac::new(SLEEPY.unsecured(), all(), 1);
    assert!(matches!(first_command(&mut mac), Command::Receive { until: None, .. }));
    assert_eq!(mac.request_data(T0, PEER), Err(QueueFull));
    assert!(!mac.set_parent(T0, Some(PEER)));
    assert_eq!(
        (mac.set_pending(T0, 2, true), mac.set_pending(T0, 2, false)),
        (Err(TableFull), Ok(()))
    );
    assert_eq!(mac.poll_radio(T0), None);
    assert_eq!((mac.deadline(), mac.is_idle()), (None, true));
}

#[test]
fn one_that_asks_is_off_and_does_not_sample() {
    let mut mac: Mac<Asking> = Mac::new(SLEEPY.unsecured(), all(), 1);
    assert_eq!(first_command(&mut mac), Command::Off);
    assert!(!mac.set_parent(T0, Some(PEER)));
    assert_eq!(mac.deadline(), None);
    mac.request_data(T0, PEER).unwrap();
    let now = mac.deadline().unwrap();
    mac.handle_deadline(now);
    assert!(matches!(first_command(&mut mac), Command::Transmit { .. }));
    let ack = Ack::Received { frame_pending: true };
    mac.handle_radio(now, Event::Transmitted { sfd: now, ack }, &mut []).unwrap();
    assert_eq!(mac.info().radio, RadioUse::Window);
    assert!(matches!(first_command(&mut mac), Command::Receive { until: None, .. }));
    let end = mac.deadline().unwrap();
    mac.handle_deadline(end);
    assert_eq!(mac.poll_data_request(end), Some(DataRequestOutcome::TimedOut));
}

#[test]
fn one_that_knows_no_samples_sends_when_it_is_asked() {
    let mut mac: Mac<Asking> = Mac::new(SLEEPY.unsecured(), all(), 1);
    assert_eq!(first_command(&mut mac), Command::Off);
    let csl = Some(kinglet_wire::ieee802154::Csl { phase: 1, period: 100 });
    let header = Repr {
        frame_type: FrameType::Data,
        version: Version::V2015,
        ack_request: true,
        frame_pending: false,
        sequence: 1,
        pan_id: PanId(0xabcd),
        dst: Address::Short(1),
        src: PEER,
        security: None,
        csl,
        filling: 0,
    };
    let mut frame = [0; MAX_FRAME];
    let len = header.emit(&mut frame).unwrap();
    let event = Event::Received { sfd: T0, len: len as u8, rssi_dbm: -60, lqi: 200, acked: true };
    assert_eq!(mac.handle_radio(T0, event, &mut frame[..len]), Ok(None));
    mac.set_pending(T0, 2, true).unwrap();
    assert_eq!((mac.poll_listener(T0), mac.deadline()), (None, None));
}

#[test]
fn omitted_functions_take_no_memory() {
    struct Secured;
    impl Sizes for Secured {
        type Queue = [Slot; 4];
        type Neighbours = [Neighbour; 3];
        type Listening = AlwaysOn;
        type DeliveryMethod = ();
        type Security = CcmStar<Tabled, [PeerCounter; 4]>;
        type Backoff = Exponential;
    }
    assert_eq!(size_of::<AlwaysOn>(), 0);
    let [plain, asking, secured] =
        [size_of::<Mac<Plain>>(), size_of::<Mac<Asking>>(), size_of::<Mac<Secured>>()];
    // Four counters of peers, eleven round keys, the key itself.
    let least = 4 * size_of::<PeerCounter>() + size_of::<Tabled>() + size_of::<Security>();
    assert!(plain + least <= secured, "{plain} + {least}, {secured}");
    assert!(plain < asking && secured < size_of::<TestMac>(), "{plain} {asking} {secured}");
}
