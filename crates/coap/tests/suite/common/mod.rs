//! Two endpoints and a link that a test controls message by message.

use kinglet_coap::*;
use kinglet_time::{Duration, Instant};

pub(crate) struct Plan;

type Place<K> = Slot<K, [u8; 128]>;

impl Sizes for Plan {
    type Message = [u8; 128];
    type Requests<K: Copy + Eq> = [Place<K>; 3];
    type Served<K: Copy + Eq> = [Place<K>; 2];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 2];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 2];
}

pub(crate) type End = Endpoint<u8, Plan>;

pub(crate) const CLIENT: u8 = 1;
pub(crate) const SERVER: u8 = 2;

pub(crate) fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn end(seed: u64) -> End {
    Endpoint::new(CoapConfig::new(seed))
}

/// Returns the next message, as octets.
pub(crate) fn sent(end: &mut End, now: Instant) -> Option<(u8, Vec<u8>)> {
    let mut out = None;
    let result = end.poll_message(now, |peer, octets| {
        out = Some((peer, octets.to_vec()));
        Ok::<(), ()>(())
    });
    assert_eq!(result.is_some(), out.is_some());
    out
}

/// Returns the next message, which must exist.
pub(crate) fn must_send(end: &mut End, now: Instant) -> Vec<u8> {
    sent(end, now).expect("a message").1
}

pub(crate) fn header(octets: &[u8]) -> Header {
    Message::parse(octets).expect("well formed").header
}

pub(crate) fn get(end: &mut End, now: Instant) -> Handle {
    end.request(now, SERVER, Delivery::Confirmable, Code::GET, |w| w.path("a")).expect("room")
}

/// Returns a message made by hand.
pub(crate) fn message(kind: Kind, code: Code, message_id: u16, token: &[u8]) -> Vec<u8> {
    with(kind, code, message_id, token, |_| Ok(()))
}

pub(crate) fn with(
    kind: Kind,
    code: Code,
    message_id: u16,
    token: &[u8],
    build: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>,
) -> Vec<u8> {
    let mut octets = [0; 1200];
    let header = Header { kind, code, message_id, token: Token::new(token) };
    let mut writer = Writer::new(&mut octets, header).unwrap();
    build(&mut writer).unwrap();
    let len = writer.finish();
    octets[..len].to_vec()
}

/// Handles the deadline, which must exist; returns its time.
pub(crate) fn wait(end: &mut End) -> Instant {
    let due = end.deadline().expect("a deadline");
    end.handle_deadline(due);
    due
}
