//! The MAC: radio events and calls in any order.

use crate::input::Input;
use kinglet_mac::{Class, Config, Csma, Mac, Neighbour, Sizes, Slot, Token, TxRequest};
use kinglet_radio::{Ack, Capabilities, Event};
use kinglet_wire::ieee802154::Address;

struct MacPlan;

impl Sizes for MacPlan {
    type Queue = [Slot; 3];
    type Neighbours = [Neighbour; 3];
}

const QUEUE: usize = 3;

/// The MAC: any events and calls in any order. Every accepted frame has one outcome at most.
pub fn mac_frames(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(setup) = input.octet() else { return };
    let mut capabilities = Capabilities::NONE;
    let all = [Capabilities::AUTO_ACK, Capabilities::ACK_WAIT, Capabilities::CSMA];
    for (bit, capability) in all.into_iter().enumerate() {
        if setup >> bit & 1 == 1 {
            capabilities = capabilities | capability;
        }
    }
    let csma = if setup & 8 == 0 { Csma::Software } else { Csma::Hardware };
    let config = Config { short: 1, csma, reserved_security: setup >> 4, ..Config::DEFAULT };
    let mut mac: Mac<MacPlan> = Mac::new(config, capabilities, u64::from(setup));
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
                if let Ok(Some(indication)) = mac.handle_radio(now, event, &mut frame) {
                    assert!(frame.get(indication.payload).is_some());
                }
            }
            1 => {
                let ack = match call >> 3 & 3 {
                    0 => Ack::NotAwaited,
                    1 => Ack::Missing,
                    _ => Ack::Received { frame_pending: false },
                };
                let _ = mac.handle_radio(now, Event::Transmitted { sfd: now, ack }, &mut []);
            }
            2 => {
                let event = if call & 8 == 0 { Event::ChannelBusy } else { Event::Missed };
                let _ = mac.handle_radio(now, event, &mut []);
            }
            3 => accepted += usize::from(enqueue(&mut mac, &mut input, call)),
            4 => {
                // One transmission or acknowledgement, one mode: more would be a busy loop.
                let submissions = (0..4).take_while(|_| mac.poll_radio(now).is_some()).count();
                assert!(submissions < 4, "draining ends");
            }
            5 => mac.handle_deadline(now),
            6 if call & 8 == 0 => mac.radio_refused(now),
            6 => {
                let at = mac.deadline().unwrap_or(now);
                let now = input.skip_to(at);
                mac.handle_deadline(now);
                assert!(mac.deadline().is_none_or(|next| next > now), "no stale deadline");
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

/// Queues a frame; whether there was room.
fn enqueue(mac: &mut Mac<MacPlan>, input: &mut Input<'_>, call: u8) -> bool {
    let payload = input.octets();
    let dst = Address::Short(u16::from(call >> 5));
    let class = if call & 8 == 0 { Class::Data } else { Class::Control };
    let request = TxRequest { dst, ack: call & 16 == 0, token: Token(7), class };
    let filled = mac.enqueue(input.now(), request, |room| {
        let len = room.len().min(payload.len());
        room[..len].copy_from_slice(&payload[..len]);
        // A length beyond the room is a caller's mistake that must not be fatal.
        payload.len()
    });
    filled.is_ok()
}
