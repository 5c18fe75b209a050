//! Start, restarts, refusals, and settings that a coprocessor cannot have.

use crate::wired::{CHANNEL, Wire, heard, to_us};
use kinglet_chips::LineFaults;
use kinglet_drivers::{Bench, Fault};
use kinglet_radio::{Access, Ack, Channel, Command, CsmaParams, Driver, Event, MAX_FRAME, Start};
use kinglet_spinel::Trouble;
use kinglet_spinel::message::Property;
use kinglet_time::{Duration, Instant};

fn trouble_with(property: u32, value: &[u8]) -> String {
    let mut wire = Wire::new(1, Some(460_800));
    wire.line.borrow_mut().set_value(property, value);
    wire.run(Duration::from_millis(500));
    assert!(wire.rcp().identity().is_none());
    wire.rcp().trouble().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn a_coprocessor_identifies_itself_and_then_listens() {
    let mut wire = Wire::listening(1);
    let identity = wire.rcp().identity().unwrap();
    assert_eq!((identity.version.as_str(), identity.api), ("KINGLET-MODEL/1", 11));
    assert_eq!((identity.eui64, identity.channels.len()), ([0x18, 0xb4, 0x30, 0, 0, 0, 0, 1], 16));
    wire.put(&to_us(1));
    assert_eq!(heard(&wire.run(Duration::from_millis(10))), [to_us(1)]);
    assert_eq!(wire.rcp().trouble(), None);
}

#[test]
fn an_idle_coprocessor_is_left_alone() {
    let mut wire = Wire::listening(1);
    wire.run(Duration::from_millis(20));
    assert_eq!((wire.rcp().deadline(), wire.rcp().octets().len()), (None, 0));
}

#[test]
fn coprocessors_of_other_versions_are_refused_with_the_reason() {
    for (property, value, says) in [
        (0x01, &[3, 0][..], "it speaks version 3.0 of spinel; needed is 4.x"),
        (0x05, &[5, 33, 0x81, 4], "is no radio coprocessor (RCP)"),
        (0xb0, &[3], "has RCP interface 3; needed is 4 or newer"),
        (0xb0, &[], "reports no version of the RCP interface"),
        (0xb1, &[12], "needs a host with RCP interface 12 or newer; this one has 11"),
        (0x120b, &[0x02], "lacks the timeout of acknowledgements"),
        (0x22, &[1, 2, 3], "lacks channels of the 2.4 GHz band"),
        (0x08, &[1, 2], "0x08 cannot be read"),
    ] {
        let trouble = trouble_with(property, value);
        assert!(trouble.contains(says), "{property:#x}: {trouble}");
        assert!(trouble.starts_with("the coprocessor cannot be used: "), "{trouble}");
    }
}

#[test]
fn a_limit_of_the_host_that_is_not_known_is_none() {
    assert_eq!(trouble_without_limit(), None);
}

fn trouble_without_limit() -> Option<Trouble> {
    let mut wire = Wire::new(1, None);
    wire.line.borrow_mut().set_value(0xb1, &[]);
    wire.until_ready();
    wire.rcp().trouble().cloned()
}

#[test]
fn a_refused_coprocessor_that_restarts_with_another_firmware_is_accepted() {
    let mut wire = Wire::new(1, None);
    wire.line.borrow_mut().set_value(0xb0, &[3]);
    wire.run(Duration::from_millis(100));
    assert!(matches!(wire.rcp().trouble(), Some(Trouble::Refused(_))));
    wire.line.borrow_mut().set_value(0xb0, &[11]);
    wire.board.cause(Fault::PowerLoss);
    wire.until_ready();
    assert_eq!(wire.rcp().trouble(), None);
}

#[test]
fn a_channel_that_the_coprocessor_lacks_is_trouble_although_it_confirms_it() {
    let mut wire = Wire::new(1, None);
    wire.line.borrow_mut().set_value(0x22, &(11..=25).collect::<Vec<u8>>());
    wire.until_ready();
    wire.submit(Command::Receive { start: Start::Asap, until: None, channel: Channel::default() });
    wire.run(Duration::from_millis(20));
    assert!(!wire.line.borrow().is_listening());
    let trouble = wire.rcp().trouble().unwrap().to_string();
    assert!(trouble.starts_with("the coprocessor lacks channel 26; it has 11 12 "), "{trouble}");
    // A frame is not sent there.
    let event = wire.transmit_on(Channel::default(), Access::Csma(Default::default()));
    assert_eq!(event, Event::Missed);
    wire.submit(Command::Receive { start: Start::Asap, until: None, channel: CHANNEL });
    wire.run(Duration::from_millis(20));
    assert!(wire.line.borrow().is_listening());
    assert_eq!(wire.rcp().trouble(), None, "it has that one");
}

#[test]
fn a_restart_that_nothing_asked_for_is_followed_by_all_settings() {
    let mut wire = Wire::listening(1);
    wire.submit(Command::Pending { short: 0x0304, pending: true });
    wire.run(Duration::from_millis(20));
    wire.board.cause(Fault::PowerLoss);
    wire.run(Duration::from_millis(50));
    assert_eq!(wire.rcp().stats().restarts, 1);
    wire.put(&to_us(1));
    assert_eq!(heard(&wire.run(Duration::from_millis(20))), [to_us(1)]);
    wire.put_request(0x0304);
    let acks = wire.acks_of(Duration::from_millis(20));
    assert_eq!(acks, [false, true], "the frame-pending bit is set again");
}

#[test]
fn a_restart_during_a_transmission_repeats_it() {
    let mut wire = Wire::listening(1);
    wire.submit_frame(Access::Immediate, CHANNEL);
    wire.run(Duration::from_millis(1));
    wire.board.cause(Fault::PowerLoss);
    let event = wire.finish();
    assert!(matches!(event, Event::Transmitted { ack: Ack::Received { .. }, .. }), "{event:?}");
    assert_eq!(wire.rcp().stats().repeated_transmissions, 1);
}

#[test]
fn a_coprocessor_that_answers_nothing_is_reported_and_found_again() {
    let mut wire = Wire::listening(1);
    wire.line.borrow_mut().set_faults(LineFaults { is_stalled: true, ..LineFaults::default() });
    wire.submit_frame(Access::Immediate, CHANNEL);
    wire.run(Duration::from_secs(1));
    // The MAC resets a radio that is silent for so long.
    wire.submit(Command::Reset);
    wire.listen();
    wire.run(Duration::from_secs(3));
    let trouble = wire.rcp().trouble().unwrap().to_string();
    assert!(trouble.starts_with("the coprocessor does not answer"), "{trouble}");
    wire.line.borrow_mut().set_faults(LineFaults::default());
    let begin = wire.board.now();
    wire.run_until(|wire| wire.line.borrow().is_listening() && wire.rcp().identity().is_some());
    assert!(wire.board.now() - begin < Duration::from_secs(5));
    assert_eq!(wire.rcp().trouble(), None);
    wire.put(&to_us(1));
    assert_eq!(heard(&wire.run(Duration::from_millis(20))), [to_us(1)]);
}

#[test]
fn octets_that_are_no_messages_are_named_as_such() {
    let mut wire = Wire::listening(1);
    wire.line.borrow_mut().set_faults(LineFaults { damaged_permille: 1_000, ..Default::default() });
    wire.submit_frame(Access::Immediate, CHANNEL);
    wire.run(Duration::from_secs(1));
    wire.submit(Command::Reset);
    for _ in 0..40 {
        wire.line.borrow_mut().babble(b"another program's text\n");
        wire.run(Duration::from_millis(100));
    }
    let trouble = wire.rcp().trouble().unwrap().to_string();
    assert!(trouble.contains("octets that are no spinel messages"), "{trouble}");
}

#[test]
fn more_children_than_the_coprocessor_has_places_for_set_the_bit_for_all() {
    let mut wire = Wire::listening(1);
    for short in 1..=12 {
        wire.submit(Command::Pending { short, pending: true });
    }
    wire.run(Duration::from_millis(50));
    for short in [1, 12, 0x0999] {
        wire.put_request(short);
        assert_eq!(wire.acks_of(Duration::from_millis(20)), [true], "{short}");
    }
    // With fewer, there is a bit for each again.
    for short in 1..=4 {
        wire.submit(Command::Pending { short, pending: false });
    }
    wire.run(Duration::from_millis(50));
    for (short, pending) in [(1, false), (12, true), (0x0999, false)] {
        wire.put_request(short);
        assert_eq!(wire.acks_of(Duration::from_millis(20)), [pending], "{short}");
    }
    assert_eq!(wire.rcp().trouble(), None);
}

#[test]
fn a_refused_setting_is_reported_and_does_not_stop_the_radio() {
    let mut wire = Wire::listening(1);
    wire.line.borrow_mut().refuse(0x25, 23);
    let event = wire.transmit_with_power(7);
    assert!(matches!(event, Event::Transmitted { .. }), "{event:?}");
    let trouble = wire.rcp().trouble().unwrap();
    let Trouble::Setting { property: Property::PHY_TX_POWER, status } = trouble else {
        panic!("{trouble:?}");
    };
    assert_eq!(status.0, 23);
    let text = trouble.to_string();
    assert_eq!(text, "the coprocessor has refused property 0x25 with status 23");
}

#[test]
fn a_schedule_is_missed_and_a_second_transmission_refused() {
    let mut wire = Wire::listening(1);
    let at = Start::At(Instant::from_secs(5));
    let (channel, power_dbm) = (CHANNEL, 0);
    let command =
        Command::Transmit { start: at, access: Access::Immediate, channel, power_dbm, ack: false };
    let now = wire.board.now();
    assert!(wire.board.radio().submit(now, command, &to_us(1)).is_ok());
    assert!(wire.board.radio().submit(now, command, &to_us(1)).is_err(), "its event is to come");
    assert_eq!(wire.run(Duration::from_millis(1)), [(Event::Missed, Vec::new())]);
    let now = wire.board.now();
    assert!(wire.board.radio().submit(now, command, &to_us(1)).is_ok());
}

#[test]
fn a_window_opens_at_its_time_and_closes() {
    let mut wire = Wire::listening(1);
    let begin = wire.board.now();
    let (from, until) = (begin + Duration::from_millis(20), begin + Duration::from_millis(40));
    let command = Command::Receive { start: Start::At(from), until: Some(until), channel: CHANNEL };
    wire.submit(command);
    for listens in [false, true, false] {
        wire.run(Duration::from_millis(15));
        assert_eq!(wire.line.borrow().is_listening(), listens);
    }
}

#[test]
fn a_setting_without_an_answer_restarts_the_coprocessor() {
    let mut wire = Wire::listening(1);
    wire.line.borrow_mut().set_faults(LineFaults { is_stalled: true, ..LineFaults::default() });
    wire.submit(Command::Pending { short: 3, pending: true });
    wire.run(Duration::from_secs(3));
    assert_eq!(wire.rcp().trouble(), Some(&Trouble::Silent));
}

#[test]
fn commands_during_a_transmission_have_other_identifiers() {
    let mut wire = Wire::listening(1);
    let (begin, noise) = (wire.board.now(), Duration::from_millis(100));
    wire.board.disturb(CHANNEL, begin, begin + noise, -50);
    let patient = CsmaParams { max_backoffs: 7, ..CsmaParams::default() };
    wire.submit_frame(Access::Csma(patient), CHANNEL);
    let mut events = Vec::new();
    for round in 0..40 {
        wire.submit(Command::Pending { short: 3, pending: round % 2 == 0 });
        events.extend(wire.run(Duration::from_micros(900)));
    }
    events.extend(wire.run(Duration::from_millis(300)));
    assert_eq!(events, [(Event::ChannelBusy, Vec::new())]);
    assert_eq!(wire.rcp().stats().repeated_commands, 0);
    assert_eq!(wire.rcp().stats().repeated_transmissions, 0);
}

#[test]
fn a_report_about_another_command_repeats_no_transmission() {
    let mut wire = Wire::listening(1);
    let (begin, noise) = (wire.board.now(), Duration::from_millis(100));
    wire.board.disturb(CHANNEL, begin, begin + noise, -50);
    wire.submit_frame(Access::Csma(Default::default()), CHANNEL);
    wire.run(Duration::from_millis(2));
    wire.board.cause(Fault::Transfer);
    wire.submit(Command::Pending { short: 3, pending: true });
    assert_eq!(wire.finish(), Event::ChannelBusy);
    wire.run(Duration::from_millis(300));
    assert_eq!((wire.board.misuse(), wire.rcp().stats().repeated_transmissions), (None, 0));
    assert_eq!(wire.rcp().stats().repeated_commands, 1);
}

#[test]
fn a_withdrawn_beginning_that_is_damaged_repeats_no_transmission() {
    let mut wire = Wire::listening(1);
    wire.submit_frame(Access::Immediate, CHANNEL);
    wire.run(Duration::from_micros(600));
    wire.board.cause(Fault::Transfer);
    let command = Command::Transmit {
        start: Start::Asap,
        access: Access::Immediate,
        channel: CHANNEL,
        power_dbm: 0,
        ack: true,
    };
    let now = wire.board.now();
    wire.board.radio().prepare(now, command, &to_us(9));
    wire.finish();
    // The frame that follows is another one, and is still on the air when the report comes.
    let begin = wire.board.now();
    wire.board.disturb(CHANNEL, begin, begin + Duration::from_millis(20), -50);
    wire.submit_frame(Access::Csma(Default::default()), CHANNEL);
    wire.finish();
    assert_eq!((wire.board.misuse(), wire.rcp().stats().repeated_transmissions), (None, 0));
}

#[test]
fn a_source_that_may_be_in_the_list_twice_is_removed_for_good() {
    let mut wire = Wire::listening(1);
    // The answer to the command is lost, so it is repeated.
    wire.line.borrow_mut().set_faults(LineFaults { lost_permille: 1_000, ..Default::default() });
    wire.submit(Command::Pending { short: 0x0304, pending: true });
    wire.run(Duration::from_millis(50));
    wire.line.borrow_mut().set_faults(LineFaults::default());
    wire.run(Duration::from_millis(300));
    wire.submit(Command::Pending { short: 0x0304, pending: false });
    wire.run(Duration::from_millis(50));
    wire.put_request(0x0304);
    assert_eq!(wire.acks_of(Duration::from_millis(20)), [false]);
}

#[test]
fn a_damaged_transmission_is_repeated_as_soon_as_it_is_reported() {
    let mut wire = Wire::listening(1);
    let begin = wire.board.now();
    wire.board.cause(Fault::Transfer);
    wire.submit_frame(Access::Immediate, CHANNEL);
    let event = wire.finish();
    assert!(matches!(event, Event::Transmitted { ack: Ack::Received { .. }, .. }), "{event:?}");
    assert!(wire.board.now() - begin < Duration::from_millis(40), "not after its time limit");
    assert_eq!(wire.rcp().stats().repeated_transmissions, 1);
}

/// Returns a wire whose coprocessor has restarted, and has not been able to report it.
fn restarted_unnoticed() -> Wire {
    let mut wire = Wire::listening(1);
    wire.line.borrow_mut().set_faults(LineFaults { lost_permille: 1_000, ..Default::default() });
    wire.board.cause(Fault::PowerLoss);
    wire.run(Duration::from_millis(20));
    wire.line.borrow_mut().set_faults(LineFaults::default());
    assert!(!wire.line.borrow().is_listening());
    wire
}

#[test]
fn a_restart_that_was_not_reported_is_noticed_by_the_next_command() {
    let mut wire = restarted_unnoticed();
    let event = wire.transmit_on(CHANNEL, Access::Immediate);
    assert!(matches!(event, Event::Transmitted { ack: Ack::Received { .. }, .. }), "{event:?}");
    wire.run(Duration::from_millis(20));
    assert!(wire.line.borrow().is_listening());
    let mut wire = restarted_unnoticed();
    wire.submit(Command::Pending { short: 3, pending: true });
    wire.run(Duration::from_millis(50));
    assert!(wire.line.borrow().is_listening());
    assert_eq!(wire.rcp().trouble(), None);
}

#[test]
fn frames_that_nothing_fetches_are_counted_and_bounded() {
    let mut wire = Wire::listening(1);
    for _ in 0..80 {
        wire.put(&to_us(1));
        let until = wire.board.now() + Duration::from_millis(4);
        wire.board.pass(until);
    }
    assert_eq!(wire.rcp().stats().overruns, 16);
    assert_eq!(heard(&wire.run(Duration::from_millis(5))).len(), 64);
}

#[test]
fn a_receiver_that_is_set_when_a_transmission_ends_is_not_switched_off_before() {
    for then_listens in [true, false] {
        let mut wire = Wire::listening(1);
        wire.submit(Command::Off);
        wire.run(Duration::from_millis(50));
        assert!(!wire.line.borrow().is_listening());
        wire.submit_frame(Access::Cca, CHANNEL);
        let end = loop {
            let until = wire.board.now() + Duration::from_millis(100);
            wire.board.wait(until);
            let (now, mut frame) = (wire.board.now(), [0; MAX_FRAME]);
            if let Some(event) = wire.board.radio().poll_event(now, &mut frame) {
                assert_eq!(wire.board.radio().poll_event(now, &mut frame), None);
                break event;
            }
        };
        assert!(matches!(end, Event::Transmitted { .. }), "{end:?}");
        // The coprocessor listens after a transmission, whatever it did before.
        assert!(wire.line.borrow().is_listening());
        if then_listens {
            wire.listen();
        }
        for _ in 0..100 {
            wire.run(Duration::from_micros(100));
            assert!(wire.line.borrow().is_listening() || !then_listens);
        }
        assert_eq!(wire.line.borrow().is_listening(), then_listens);
    }
}
