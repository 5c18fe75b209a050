//! Captures are read by an independent program.

use crate::common::*;
use kinglet_radio::Access;
use kinglet_sim::pcap::Pcap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// A writer whose contents can be read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn capture() -> Vec<u8> {
    let sender = Script::listening()
        .send(1_500_000, transmit(Access::Cca, true), data(1, 0, 0x42, 127))
        .send(1_600_000, transmit(Access::Cca, false), data(0xFFFF, 0, 0x43, 20));
    let mut world = line(&disc(), vec![sender, Script::listening()]);
    let shared = Shared::default();
    world.set_pcap(Some(Pcap::new(Box::new(shared.clone())).unwrap()));
    run(&mut world, 2_000_000);
    world.set_pcap(None);
    Arc::into_inner(shared.0).unwrap().into_inner().unwrap()
}

#[test]
fn a_capture_holds_every_frame_with_its_acknowledgement() {
    let octets = capture();
    // File header, then per frame: record header, TAP header and TLVs, PSDU.
    assert_eq!(octets.len(), 24 + 3 * (16 + 28) + 127 + 5 + 20);
    assert_eq!(octets[20..24], 283u32.to_le_bytes());
}

#[test]
fn tshark_decodes_a_capture_without_complaint() {
    // Without 6LoWPAN content, tshark would take the payload for ZigBee.
    let arguments = [
        "--disable-protocol",
        "zbee_nwk",
        "-r",
        "-",
        "-o",
        "wpan.fcs_format:ITU-T CRC-16",
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "wpan.frame_type",
        "-e",
        "wpan.seq_no",
        "-e",
        "wpan.fcs_ok",
        "-e",
        "wpan-tap.ch_num",
        "-e",
        "_ws.malformed",
        "-E",
        "separator=,",
    ];
    let child = Command::new("tshark")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("SKIPPED: tshark is not installed");
        return;
    };
    child.stdin.take().unwrap().write_all(&capture()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 3, "{text} {}", String::from_utf8_lossy(&output.stderr));
    for (row, (kind, sequence)) in rows.iter().zip([("1", "66"), ("2", "66"), ("1", "67")]) {
        assert!(row[1].ends_with(kind) && row[2] == sequence, "{row:?}");
        assert!(row[3] == "1" || row[3] == "True", "FCS: {row:?}");
        assert_eq!(row[4], "26");
        assert_eq!(row[5], "");
    }
    // Loading 146 us, sensing 128 us, turnaround 192 us.
    assert!(rows[0][0].ends_with("1.500466000"), "{}", rows[0][0]);
}
