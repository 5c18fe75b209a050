//! HDLC-lite, and the driver of a coprocessor that answers anything.

use crate::input::Input;
use kinglet_radio::{
    Access, Channel, Command, CsmaParams, Driver, Event, Filter, MAX_FRAME, Start,
};
use kinglet_spinel::Rcp;
use kinglet_spinel::hdlc::{self, Decoder};
use kinglet_spinel::message::{Message, Reader};
use kinglet_spinel::raw::{Incoming, Outcome};
use kinglet_time::{Duration, Instant};

/// HDLC-lite: messages of any line are inside of it; any message arrives as it was sent, whatever
/// came before.
pub fn hdlc(data: &[u8]) {
    let mut decoder = Decoder::new();
    for octet in data {
        if let Some(Ok(message)) = decoder.push(*octet) {
            assert!(message.len() < data.len());
            if let Some(Message { value, .. }) = Message::parse(message) {
                std::hint::black_box((Incoming::parse(value), Outcome::parse(value)));
                std::hint::black_box(Reader(value).packed());
            }
        }
    }
    if data.is_empty() || data.len() + 2 > hdlc::MAX_MESSAGE {
        return;
    }
    let mut line = Vec::new();
    hdlc::encode(data, &mut line);
    // The first flag ends the message before.
    let mut octets = line.iter();
    let _ = octets.next().map(|octet| decoder.push(*octet).is_some());
    let arrived = octets.find_map(|octet| Some(decoder.push(*octet)?.map(|it| it == data)));
    assert_eq!(arrived, Some(Ok(true)));
}

/// A coprocessor that sends any messages, at any times, between any commands of the MAC. Each
/// transmission ends at most once, and a driver without work asks for no call.
pub fn rcp(data: &[u8]) {
    let mut input = Input::new(data);
    let mut now = Instant::ZERO;
    let mut rcp = Rcp::new(now, Some(460_800));
    let mut is_outstanding = false;
    while let Some(step) = input.octet() {
        match step % 8 {
            0 => now += Duration::from_millis(u64::from(input.octet().unwrap_or(0))),
            1 => rcp.handle_octets(now, input.octets()),
            2..=5 => {
                let mut line = Vec::new();
                hdlc::encode(input.octets(), &mut line);
                rcp.handle_octets(now, &line);
            }
            6 => rcp.consume(usize::from(input.octet().unwrap_or(0))),
            _ => is_outstanding = submit(now, &mut rcp, &mut input, is_outstanding),
        }
        let mut frame = [0; MAX_FRAME];
        while let Some(event) = rcp.poll_event(now, &mut frame) {
            match event {
                Event::Received { len, .. } => assert!(usize::from(len) <= MAX_FRAME),
                _ => assert!(core::mem::take(&mut is_outstanding), "{event:?} without a frame"),
            }
        }
        assert!(rcp.deadline().is_none_or(|at| at > now), "it asks for a call without end");
        // The line takes octets sooner or later.
        if rcp.octets().len() > 4_096 {
            rcp.consume(usize::MAX);
        }
    }
}

/// Submits a command; returns whether a transmission is outstanding then.
fn submit(now: Instant, rcp: &mut Rcp, input: &mut Input<'_>, is_outstanding: bool) -> bool {
    let number = input.octet().unwrap_or(0);
    let channel = Channel::new(11 + number % 16).unwrap_or_default();
    let (start, power_dbm) = (Start::Asap, number.cast_signed() / 8);
    let command = match number % 7 {
        0 => Command::Off,
        1 => Command::Receive { start, until: None, channel },
        2 => Command::Receive { start, until: Some(now + Duration::from_millis(9)), channel },
        3 => Command::Pending { short: number.into(), pending: number & 64 != 0 },
        4 => Command::Reset,
        5 => {
            let filter = Filter { pan_id: 1, short: number.into(), extended: [number; 8] };
            rcp.set_filter(filter);
            return is_outstanding;
        }
        _ => {
            let access = match number / 7 % 3 {
                0 => Access::Immediate,
                1 => Access::Cca,
                _ => Access::Csma(CsmaParams::default()),
            };
            let len = 1 + usize::from(number) % MAX_FRAME;
            let (frame, ack) = (vec![number; len], number & 1 == 0);
            let command = Command::Transmit { start, access, channel, power_dbm, ack };
            assert_eq!(rcp.submit(now, command, &frame).is_err(), is_outstanding);
            return true;
        }
    };
    assert!(rcp.submit(now, command, &[]).is_ok());
    is_outstanding && command != Command::Reset
}
