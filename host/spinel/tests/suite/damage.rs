//! A line on which one octet of a hundred is wrong, in each direction.

use crate::wired::{CHANNEL, Wire, heard};
use kinglet_chips::LineFaults;
use kinglet_drivers::Bench;
use kinglet_radio::{Access, Ack, Command, CsmaParams, Event, MAX_FRAME};
use kinglet_time::Duration;

const DAMAGED: LineFaults =
    LineFaults { damaged_permille: 10, lost_permille: 0, is_stalled: false };
const CSMA: Access = Access::Csma(CsmaParams { min_be: 3, max_be: 5, max_backoffs: 4 });

/// Returns a data frame to this device with `len` octets that depend on its number.
fn numbered(number: u32, len: usize) -> Vec<u8> {
    let [sequence, ..] = number.to_le_bytes();
    let mut frame = vec![0x61, 0x98, sequence, 0x47, 0x4b, 0x02, 0x01, 0x04, 0x03];
    frame.extend(number.to_le_bytes());
    frame.resize(len, sequence ^ 0x55);
    frame
}

#[test]
fn no_wrong_frame_is_reported() {
    let mut wire = Wire::listening(3);
    wire.line.borrow_mut().set_faults(DAMAGED);
    let mut received = 0;
    for number in 0..3_000 {
        let frame = numbered(number, 20 + number as usize % (MAX_FRAME - 20));
        wire.put(&frame);
        let frames = heard(&wire.run(Duration::from_millis(12)));
        assert!(frames.iter().all(|it| *it == frame), "{number}: {frames:?}");
        received += frames.len();
    }
    // A report has 30 octets more than its frame: of all lengths, a third survives.
    assert!((750..1_250).contains(&received), "{received} of 3000");
    assert!(wire.rcp().stats().damaged > 1_500);
}

#[test]
fn lost_commands_and_results_are_repeated() {
    let mut wire = Wire::listening(3);
    wire.line.borrow_mut().set_faults(DAMAGED);
    let (mut sent, mut slow) = (0, 0);
    for _ in 0..200 {
        let begin = wire.board.now();
        match wire.transmit_on(CHANNEL, CSMA) {
            Event::Transmitted { ack: Ack::Received { .. }, .. } => sent += 1,
            event => panic!("{event:?}"),
        }
        slow += u32::from(wire.board.now() - begin > Duration::from_secs(1));
        // As the other end, which has the same copies.
        while wire.board.sent(&mut [0; MAX_FRAME]).is_some() {}
    }
    let stats = *wire.rcp().stats();
    assert_eq!(sent, 200);
    // The MAC waits for a second, and then resets the radio.
    assert!(slow < 4, "{slow} of 200 took longer than the MAC waits");
    assert!(stats.repeated_transmissions > 20, "{stats:?}");
    assert_eq!(wire.board.misuse(), None, "no transmission was given before the end of another");
}

#[test]
fn a_damaged_line_heals_within_five_seconds() {
    let mut wire = Wire::listening(3);
    wire.line.borrow_mut().set_faults(LineFaults { damaged_permille: 1_000, ..DAMAGED });
    wire.submit_frame(CSMA, CHANNEL);
    wire.run(Duration::from_secs(2));
    wire.submit(Command::Reset);
    wire.listen();
    wire.run(Duration::from_secs(2));
    wire.line.borrow_mut().set_faults(DAMAGED);
    let begin = wire.board.now();
    wire.run_until(|wire| wire.rcp().identity().is_some() && wire.line.borrow().is_listening());
    let time = wire.board.now() - begin;
    assert!(time < Duration::from_secs(5), "{} ms with 1 % of octets wrong", time.as_millis());
}

#[test]
fn lost_reports_of_results_cost_repetitions_and_no_result() {
    let mut wire = Wire::listening(3);
    let faults = LineFaults { lost_permille: 300, ..LineFaults::default() };
    wire.line.borrow_mut().set_faults(faults);
    for _ in 0..100 {
        let event = wire.transmit_on(CHANNEL, Access::Immediate);
        assert!(matches!(event, Event::Transmitted { ack: Ack::Received { .. }, .. }), "{event:?}");
    }
    let repeated = wire.rcp().stats().repeated_transmissions;
    assert!((20..80).contains(&repeated), "{repeated}: 3 of 7 on average");
    assert_eq!(wire.board.misuse(), None);
}
