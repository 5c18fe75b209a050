//! The MAC: radio events and calls in any order.

use crate::input::Input;
use kinglet_mac::{
    CcmStar, Class, Csl, Csma, Exponential, Indication, Indirect, Key, Mac, MacConfig, Neighbour,
    PeerCounter, Sampled, Samples, Security, Sizes, Sleeper, Sleepers, Slot, Tabled, Token,
    TxRequest,
};
use kinglet_radio::{Ack, Capabilities, Event};
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;

struct MacPlan;

impl Sizes for MacPlan {
    type Queue = [Slot; QUEUE];
    type Neighbours = [Neighbour; 3];
    type Listening = Sampled;
    type DeliveryMethod = Sleepers<[Sleeper<Samples>; SLEEPERS]>;
    type Security = CcmStar<Tabled, [PeerCounter; 2]>;
    type Backoff = Exponential;
}

const QUEUE: usize = 3;
const SLEEPERS: usize = 2;
/// A reset, a transmission or acknowledgement, a mode before and after it, an update of each
/// sleeper: more commands for the radio at once would be a busy loop.
const COMMANDS: usize = 4 + SLEEPERS;

/// The MAC: any events and calls in any order. Every accepted frame has at most one outcome.
pub fn mac_frames(data: &[u8]) {
    let mut input = Input::new(data);
    let (Some(setup), Some(more)) = (input.octet(), input.octet()) else { return };
    let mut mac = mac_of(setup, more);
    let (mut accepted, mut ended) = (0_usize, 0_usize);
    while let Some(call) = input.octet() {
        let now = input.now();
        match call % 8 {
            0 => {
                let mut frame = input.octets().to_vec();
                let len = if call & 8 == 0 { frame.len() as u8 } else { call };
                let event = Event::Received {
                    sfd: now,
                    len,
                    rssi_dbm: -70,
                    lqi: 200,
                    acked: call & 16 == 0,
                };
                let indication = mac.handle_radio(now, event, &mut frame);
                if let Ok(Some(Indication::Data { payload, .. })) = indication {
                    assert!(frame.get(payload).is_some());
                }
            }
            1 => {
                let ack = match call >> 3 & 3 {
                    0 => Ack::NotAwaited,
                    1 => Ack::Missing,
                    _ => Ack::Received { frame_pending: call & 32 != 0 },
                };
                let _ = mac.handle_radio(now, Event::Transmitted { sfd: now, ack }, &mut []);
            }
            2 => {
                let event = if call & 8 == 0 { Event::ChannelBusy } else { Event::Missed };
                let _ = mac.handle_radio(now, event, &mut []);
            }
            3 => accepted += usize::from(enqueue(&mut mac, &mut input, call)),
            4 => {
                let commands = (0..=COMMANDS).take_while(|_| mac.poll_radio(now).is_some());
                assert!(commands.count() <= COMMANDS, "draining ends");
            }
            5 => mac.handle_deadline(now),
            6 if call & 8 == 0 => mac.radio_refused(now),
            6 => {
                let at = mac.deadline().unwrap_or(now);
                let now = input.skip_to(at);
                mac.handle_deadline(now);
                assert!(mac.deadline().is_none_or(|next| next > now), "no stale deadline");
            }
            _ if call & 8 != 0 => {
                let short = u16::from(call >> 4);
                let _ = mac.set_pending(now, short, call & 128 != 0);
                let _ = mac.request_data(now, Address::Short(short));
                let _ = mac.poll_data_request(now);
                match call >> 4 & 7 {
                    0 => drop(mac.set_parent(now, Some(Address::Short(short)))),
                    1 => drop(mac.set_parent(now, None)),
                    2 => drop(mac.poll_listener(now)),
                    _ => {}
                }
            }
            _ => {
                input.later();
            }
        }
        if call & 0x80 != 0 {
            ended += (0..=QUEUE).take_while(|_| mac.poll_outcome(input.now()).is_some()).count();
        }
        assert!(ended <= accepted, "an outcome for a frame that was never accepted");
    }
}

/// A MAC and its radio, configured by the bits of two octets.
fn mac_of(setup: u8, more: u8) -> Mac<MacPlan> {
    let mut capabilities = Capabilities::NONE;
    let all = [
        Capabilities::AUTO_ACK,
        Capabilities::ACK_WAIT,
        Capabilities::CSMA,
        Capabilities::SCHEDULED,
        Capabilities::SOURCE_MATCH,
    ];
    for (bit, capability) in all.into_iter().enumerate() {
        // The next bits of the first octet have another meaning.
        let octet = if bit < 3 { setup } else { more };
        if octet >> bit & 1 == 1 {
            capabilities = capabilities | capability;
        }
    }
    let csma = if setup & 8 == 0 { Csma::Software } else { Csma::Hardware };
    let indirect =
        Indirect { max_retries: 2, preempt: setup & 16 != 0, burst: true, ..Indirect::DEFAULT };
    let config = MacConfig {
        short: 1,
        csma,
        reserved_security: setup >> 4,
        rx_on_when_idle: setup & 32 == 0,
        indirect,
        adaptive_retry_delay: more & 1 != 0,
        retry_delay_max: Duration::from_millis(u64::from(more & 2) * 20),
        security: (more & 0xc0 == 0x40).then_some(Security {
            key: Key([1; 16]),
            eui64_prefix: [0; 6],
            first_counter: u32::MAX - 9,
        }),
        csl: (more & 0x20 != 0).then_some(Csl {
            period: Duration::from_millis(100),
            drift_ppm: 40,
            sync_interval: Duration::from_secs(5),
        }),
        ..MacConfig::DEFAULT
    };
    Mac::new(config, capabilities, u64::from(setup))
}

/// Queues a frame; returns true if there was room.
fn enqueue(mac: &mut Mac<MacPlan>, input: &mut Input<'_>, call: u8) -> bool {
    let payload = input.octets();
    let dst = Address::Short(u16::from(call >> 5));
    let class = match call & 24 {
        0 => Class::Data,
        8 => Class::Control,
        _ => Class::Indirect,
    };
    let (ack, frame_pending) = (call & 16 == 0, call & 32 == 0);
    let request = TxRequest { dst, ack, token: Token(7), class, frame_pending };
    let filled = mac.enqueue(input.now(), request, |room| {
        let len = room.len().min(payload.len());
        room[..len].copy_from_slice(&payload[..len]);
        // A length beyond the room is a caller's error that must not be fatal.
        payload.len()
    });
    filled.is_ok()
}
