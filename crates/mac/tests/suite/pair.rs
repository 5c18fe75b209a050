//! Two MACs over a medium that loses frames and acknowledgements, with radios that have all
//! capabilities or none.

use kinglet_mac::{
    CcmStar, Class, Csma, Delivery, Exponential, Indication, Key, Mac, MacConfig, Neighbour,
    PeerCounter, Sampled, Samples, Security, Sizes, Sleeper, Sleepers, Sliced, Slot, Token,
    TxRequest,
};
use kinglet_radio::{
    ACK_PSDU, ACK_WAIT, Ack, Capabilities, Command, Event, FCS_LEN, OCTET, SHR_PHR, TURNAROUND,
    air_time,
};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use rand_core::Rng;
use rand_pcg::Pcg32;

struct Plan;
impl Sizes for Plan {
    type Queue = [Slot; 4];
    type Neighbours = [Neighbour; 2];
    type Listening = Sampled;
    type DeliveryMethod = Sleepers<[Sleeper<Samples>; 2]>;
    type Security = CcmStar<Sliced, [PeerCounter; 1]>;
    type Backoff = Exponential;
}

/// Sender 0 and receiver 1. One frame is on the air at a time, because only 0 has data to send.
struct Pair {
    macs: [Mac<Plan>; 2],
    capabilities: Capabilities,
    random: Pcg32,
    now: Instant,
    received: Vec<u32>,
    outcomes: Vec<(u32, Delivery)>,
}

impl Pair {
    fn new(capabilities: Capabilities, csma: Csma, secured: bool, seed: u64) -> Self {
        let security =
            Security { key: Key([9; 16]), eui64_prefix: [0; 6], first_counter: seed as u32 };
        let config = |short| MacConfig {
            short,
            csma,
            security: Some(security).filter(|_| secured),
            retry_delay_max: Duration::from_millis(40),
            ..MacConfig::DEFAULT
        };
        let macs = [1, 2].map(|n: u16| Mac::new(config(n), capabilities, seed + u64::from(n)));
        let (received, outcomes) = (Vec::new(), Vec::new());
        let random = Pcg32::new(seed, 1);
        Pair { macs, capabilities, random, now: Instant::ZERO, received, outcomes }
    }

    fn lost(&mut self) -> bool {
        self.random.next_u32().is_multiple_of(4)
    }

    /// Transmits the submission of `from`, if any.
    fn transmit(&mut self, from: usize) -> bool {
        let Some(submission) = self.macs[from].poll_radio(self.now) else {
            return false;
        };
        let frame = submission.frame.to_vec();
        let Command::Transmit { ack, .. } = submission.command else {
            return true;
        };
        let sfd = self.now + TURNAROUND + (SHR_PHR - OCTET);
        self.now = sfd + OCTET * (1 + frame.len() + FCS_LEN) as u32;
        let arrived = !self.lost();
        let mut result = Ack::NotAwaited;
        if ack {
            // Radios that wait for acknowledgements also send them, in this test.
            let acked = arrived && !self.lost();
            result = if acked { Ack::Received { frame_pending: false } } else { Ack::Missing };
        }
        if arrived {
            self.deliver(1 - from, sfd, frame);
        }
        self.now += if ack { ACK_WAIT } else { Duration::ZERO };
        let event = Event::Transmitted { sfd, ack: result };
        self.macs[from].handle_radio(self.now, event, &mut []).expect("submitted");
        true
    }

    fn deliver(&mut self, to: usize, sfd: Instant, mut frame: Vec<u8>) {
        let acked = self.capabilities.contains(Capabilities::AUTO_ACK);
        let event = Event::Received { sfd, len: frame.len() as u8, rssi_dbm: -70, lqi: 99, acked };
        let indication = self.macs[to].handle_radio(self.now, event, &mut frame);
        if let Ok(Some(Indication::Data { payload, .. })) = indication {
            let payload = frame[payload].try_into().expect("four octets");
            self.received.push(u32::from_be_bytes(payload));
        }
    }

    fn run(&mut self, frames: u32) {
        let mut next = 0;
        while (self.outcomes.len() as u32) < frames {
            if next < frames && self.macs[0].can_accept(Class::Data) {
                let (dst, token) = (Address::Short(2), Token(next));
                let class = Class::Data;
                let request = TxRequest { dst, ack: true, token, class, frame_pending: false };
                let write = |room: &mut [u8]| {
                    room[..4].copy_from_slice(&next.to_be_bytes());
                    4
                };
                self.macs[0].enqueue(self.now, request, write).expect("can_accept");
                next += 1;
            }
            // The receiver's acknowledgement cannot wait for the sender's next frame.
            let busy = self.transmit(1) || self.transmit(0);
            while let Some(outcome) = self.macs[0].poll_outcome(self.now) {
                self.outcomes.push((outcome.token.0, outcome.result));
            }
            if !busy && let Some(at) = self.macs[0].deadline() {
                self.now = self.now.max(at);
                self.macs[0].handle_deadline(self.now);
            }
        }
    }
}

#[test]
fn frames_reported_delivered_arrive_once_and_in_order() {
    let all = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA;
    for (capabilities, csma) in [
        (all, Csma::Software),
        (all, Csma::Hardware),
        (Capabilities::NONE, Csma::Software),
        (Capabilities::SCHEDULED, Csma::Software),
    ] {
        for seed in 0..20 {
            let mut pair = Pair::new(capabilities, csma, seed % 2 == 1, seed);
            pair.run(500);
            assert!(pair.received.windows(2).all(|w| w[0] < w[1]), "repeated or out of order");
            let tokens: Vec<u32> = pair.outcomes.iter().map(|outcome| outcome.0).collect();
            assert_eq!(tokens, (0..500).collect::<Vec<_>>());
            for (token, result) in &pair.outcomes {
                let arrived = pair.received.binary_search(token).is_ok();
                assert!(arrived || *result == Delivery::NoAck, "{token} was lost silently");
            }
            // One transmission in 1 / (0.75 * 0.75) works; four fail in 3.7 % of frames.
            let delivered = pair.macs[0].stats().delivered;
            assert!((450..500).contains(&delivered), "{delivered} of 500");
            let etx = pair.macs[0].link(Address::Short(2)).and_then(|link| link.etx_x128());
            assert!(etx.is_some_and(|etx| (128..=8 * 128).contains(&etx)), "{etx:?}");
        }
    }
}

#[test]
fn an_acknowledgement_fits_into_the_wait_for_it() {
    // The basis of acknowledgements in software: 12 symbols, then 352 us, within 864 us.
    assert!(TURNAROUND + air_time(ACK_PSDU) <= ACK_WAIT);
}
