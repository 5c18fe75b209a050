//! The rules of the MAC against a scripted radio.

mod acknowledging;
mod channel_access;
mod choices;
mod hostile;
mod leaf;
mod lost;
mod parent;
mod queueing;
mod receiving;
mod replaying;
mod retrying;
mod rhythm;
mod sampling;
mod securing;
mod silence;
mod spacing;
mod strobing;
mod waking;

use crate::*;
use kinglet_radio::{Access, Ack, Capabilities, Channel, Command, Event, MAX_FRAME, Start};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{Address, Frame, FrameType, PanId, Repr, Version};
use std::vec::Vec;

pub(crate) struct Plan;
impl Sizes for Plan {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 3];
    type Listening = crate::Sampled;
    type DeliveryMethod = crate::Sleepers<[crate::Sleeper<crate::Samples>; 2]>;
    type Security = crate::CcmStar<crate::Tabled, [PeerCounter; 4]>;
    type Backoff = crate::Exponential;
}

type TestMac = Mac<Plan>;

const PEER: Address = Address::Short(2);
const T0: Instant = Instant::from_secs(1);

fn all() -> Capabilities {
    Capabilities::NONE
        | Capabilities::AUTO_ACK
        | Capabilities::ACK_WAIT
        | Capabilities::CSMA
        | Capabilities::SCHEDULED
}

fn config() -> MacConfig {
    MacConfig { short: 1, extended: [2, 0, 0, 0, 0, 0, 0, 1], ..MacConfig::DEFAULT }
}

/// Returns the position of the payload of a data frame.
fn payload(indication: Option<Indication>) -> core::ops::Range<usize> {
    match indication {
        Some(Indication::Data { payload, .. }) => payload,
        other => panic!("no data: {other:?}"),
    }
}

/// Returns a MAC whose radio listens already.
fn mac(config: MacConfig, capabilities: Capabilities, seed: u64) -> TestMac {
    let mut mac = Mac::new(config, capabilities, seed);
    let first = mac.poll_radio(T0).map(|submission| submission.command);
    assert!(matches!(first, Some(Command::Receive { start: Start::Asap, until: None, .. })));
    mac
}

fn request(token: u32) -> TxRequest {
    let (token, class) = (Token(token), Class::Data);
    TxRequest { dst: PEER, ack: true, token, class, frame_pending: false }
}

fn put(mac: &mut TestMac, now: Instant, request: TxRequest) -> Result<(), QueueFull> {
    mac.enqueue(now, request, |room| {
        room[..4].copy_from_slice(b"data");
        4
    })
}

/// Waits for the end of the backoff, if there is one, and returns the submission of the MAC.
fn submitted(mac: &mut TestMac, now: &mut Instant) -> (Command, Vec<u8>) {
    if let Some(at) = mac.deadline() {
        *now = at;
        mac.handle_deadline(at);
    }
    let submission = mac.poll_radio(*now).expect("a submission");
    (submission.command, submission.frame.to_vec())
}

fn transmitted(mac: &mut TestMac, now: Instant, ack: Ack) {
    assert_eq!(mac.handle_radio(now, Event::Transmitted { sfd: now, ack }, &mut []), Ok(None));
}

/// Returns a data frame from `src`.
fn data_frame(src: Address, dst: Address, sequence: u8, ack_request: bool) -> Vec<u8> {
    let repr = Repr {
        frame_type: FrameType::Data,
        version: Version::V2006,
        ack_request,
        frame_pending: false,
        sequence,
        pan_id: PanId(0xabcd),
        dst,
        src,
        security: None,
        csl: None,
        filling: 0,
    };
    let mut frame = [0; MAX_FRAME];
    let len = repr.emit(&mut frame).unwrap();
    frame[len..len + 3].copy_from_slice(b"abc");
    frame[..len + 3].to_vec()
}

fn receive(mac: &mut TestMac, now: Instant, frame: &[u8]) -> Result<Option<Indication>, Discard> {
    let len = u8::try_from(frame.len()).unwrap();
    let event = Event::Received { sfd: now, len, rssi_dbm: -60, lqi: 200, acked: false };
    mac.handle_radio(now, event, &mut frame.to_vec())
}

fn ack_frame(sequence: u8, frame_pending: bool) -> [u8; 3] {
    let mut frame = [0; 3];
    Repr::ack(sequence, frame_pending).emit(&mut frame).unwrap();
    frame
}

fn sequence_of(frame: &[u8]) -> u8 {
    Frame::parse(frame).unwrap().sequence().unwrap()
}

/// Chi-square test with 7 degrees of freedom, where 24.3 is exceeded once in a thousand.
fn assert_uniform(counts: &[u32; 8]) {
    let expected = counts.iter().sum::<u32>() / 8;
    let squares: u32 = counts.iter().map(|&count| count.abs_diff(expected).pow(2)).sum();
    assert!(squares < expected * 24, "{counts:?}");
}
