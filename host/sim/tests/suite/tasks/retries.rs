//! A leaf that sleeps whose broker fails for an hour: the errors, how often it tries, and what that
//! costs its radio.

use super::asleep::{self, radio_on_until};
use super::mqtt::{MQTT, READING, RESPONSE_TIME, broker, read_packet, session};
use super::network::{Plan, Sockets, address, network, pair, run_until};
use embassy_time::{Duration, Instant as Clock, Timer, with_deadline, with_timeout};
use kinglet_embassy::{Retry, TcpListener, TcpSocket};
use kinglet_time::Instant;
use minimq::{Publication, QoS, Session};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The hour.
const END_S: u64 = 3_600;
/// Time after which an attempt counts as failed.
const ATTEMPT: Duration = Duration::from_secs(30);
/// Pause after a success.
const PERIOD: Duration = Duration::from_secs(60);

const NO_ANSWER: &str = "the broker does not answer";
/// Time for which the radio may be on in the hour.
pub(super) const MOST_ON: kinglet_time::Duration = kinglet_time::Duration::from_millis(1_500);

/// Failure of a broker.
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// It does not listen.
    Refuses,
    /// It accepts the connection and closes it.
    Closes,
    /// It accepts the connection and resets it.
    Resets,
    /// It accepts the connection and says nothing.
    Silent,
    /// It refuses the client: not authorized (MQTT 5, section 3.2.2.2).
    Unauthorized,
    /// It accepts the client and acknowledges nothing.
    Forgets,
}

async fn fail(failure: Failure, mut socket: TcpSocket<'static, Plan>) {
    let answer: &[u8] = match failure {
        Failure::Refuses | Failure::Closes => return,
        Failure::Resets => return socket.abort(),
        Failure::Silent => &[],
        Failure::Unauthorized => &[0x20, 3, 0, 0x87, 0],
        Failure::Forgets => &[0x20, 3, 0, 0, 0],
    };
    if read_packet(&mut socket).await.is_some() {
        let _ = socket.write_all(answer).await;
    }
    while read_packet(&mut socket).await.is_some() {}
}

/// The broker that fails for an hour and works afterwards.
async fn failing(stack: Sockets, failure: Failure, received: Rc<Cell<u32>>) {
    let end = Clock::from_secs(END_S);
    match failure {
        Failure::Refuses => Timer::at(end).await,
        _ => {
            let listener = TcpListener::bind(stack, MQTT, Default::default()).expect("room");
            while let Ok((socket, _)) = with_deadline(end, listener.accept()).await {
                let _ = with_deadline(end, fail(failure, socket)).await;
            }
        }
    }
    broker(stack, received).await;
}

/// Ends of attempts.
type Log = Rc<RefCell<Vec<Result<(), String>>>>;

/// Publishes by a connection for each message.
async fn publish(stack: Sockets, session: &mut Session<'_>) -> Result<(), String> {
    let socket = TcpSocket::connect(stack, address(1), MQTT, Default::default()).await;
    let mut socket = socket.map_err(|error| error.to_string())?;
    socket.set_response_time(Some(RESPONSE_TIME));
    let connection = session.connect(socket).await;
    let mut connection = connection.map_err(|error| error.to_string())?;
    let message = Publication::text("leaf/temperature", READING).qos(QoS::AtLeastOnce);
    connection.publish(message).await.map_err(|error| error.to_string())?;
    while !connection.session().is_publish_quiescent() {
        connection.poll().await.map_err(|error| error.to_string())?;
    }
    connection.disconnect().await.map_err(|error| error.to_string())
}

async fn keep_publishing(stack: Sockets, log: Log) {
    let (mut rx, mut tx) = ([0; 128], [0; 512]);
    let (mut session, mut retry) = (session(&mut rx, &mut tx), Retry::new());
    loop {
        let attempt = with_timeout(ATTEMPT, publish(stack, &mut session)).await;
        let result = attempt.unwrap_or_else(|_| Err(NO_ANSWER.to_owned()));
        let pause = retry.pause(result.is_ok()).unwrap_or(PERIOD);
        log.borrow_mut().push(result);
        Timer::after(pause).await;
    }
}

#[test]
fn a_broker_that_fails_is_tried_rarely_and_used_at_the_next_attempt() {
    for (failure, error) in [
        (Failure::Refuses, "the peer has refused the connection"),
        (Failure::Closes, "session is disconnected"),
        (Failure::Resets, "transport error: Ended(Reset)"),
        (Failure::Silent, NO_ANSWER),
        (Failure::Unauthorized, "broker returned failure reason NotAuthorized"),
        (Failure::Forgets, NO_ANSWER),
    ] {
        let (one, mut parent) = asleep::parent_node();
        let received = Rc::new(Cell::new(0));
        parent.spawn(failing(one, failure, Rc::clone(&received)));
        let (two, mut leaf) = asleep::leaf_node();
        let log = Log::default();
        leaf.spawn(keep_publishing(two, Rc::clone(&log)));
        let mut world = network(1, vec![parent, leaf]);
        let on = radio_on_until(&mut world, Instant::from_secs(END_S));
        let attempts = log.borrow().len();
        println!("{failure:?}: {attempts} attempts in an hour, radio on for {on:?}");
        assert!((20..=35).contains(&attempts), "{failure:?}: {attempts}");
        assert!(log.borrow().iter().all(|it| it.as_ref().is_err_and(|it| it == error)), "{log:?}");
        // A message each minute over one connection takes 590 ms an hour.
        assert!(on < MOST_ON, "{failure:?}: {on:?}");
        // Two minutes, a quarter of them, and a poll.
        let recovered = run_until(&mut world, END_S + 160, || received.get() > 0);
        assert_eq!(log.borrow().len(), attempts, "{failure:?}: {recovered:?}");
    }
}

#[test]
fn pauses_after_failures_are_not_the_same_everywhere() {
    let task = |ms| {
        move |_: Sockets| async move {
            Timer::after(Duration::from_millis(ms)).await;
            let mut retry = Retry::new();
            let pauses = [4, 8, 16, 32, 64, 120, 120].map(|least| {
                let pause = retry.pause(false).expect("a failure");
                let least = Duration::from_secs(least);
                assert!((least..=least + least / 4).contains(&pause), "{pause:?}");
                pause
            });
            assert_eq!(retry.pause(true), None);
            assert!(retry.pause(false).is_some_and(|it| it <= Duration::from_secs(5)));
            pauses
        }
    };
    let nothing = |_: Sockets| async {};
    let pauses: Vec<_> = (1..=20).map(|ms| pair(nothing, task(ms))[6]).collect();
    let distinct = pauses.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(distinct > 15, "{pauses:?}");
}
