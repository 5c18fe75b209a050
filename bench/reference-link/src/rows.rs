//! The rows of the table.

use crate::station::{Role, Setup, Station};
use crate::{kinglet, smoltcp};

/// A stack in one setting.
pub struct Row {
    /// Name on the command line.
    pub name: &'static str,
    /// Name in the table.
    pub title: &'static str,
    pub stack: Stack,
    pub setup: Setup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    Kinglet,
    /// smoltcp with its default number of reassembly slots.
    Smoltcp,
    /// smoltcp with four: another executable.
    SmoltcpFourSlots,
    Lwip,
    Tcplp,
}

/// Five frames with 64-bit addresses carry 480 octets of TCP without timestamps.
const FIVE: Setup = Setup {
    mss: 460,
    buffer: 1840,
    short: false,
    timestamps: true,
    feedback: false,
    adaptive: false,
    lossy: false,
    ack_every: 2,
    check: true,
    quick_reassembly: false,
};
/// TCPlp's setting (§6.3): 462 octets of payload and 12 of timestamps in five frames with 16-bit
/// addresses, and a buffer of four segments.
const SHORT: Setup = Setup { mss: 462 + 12, buffer: 1848, short: true, ..FIVE };
/// Three frames with 64-bit addresses.
const THREE: Setup = Setup { mss: 268, ..FIVE };
/// Two frames with 64-bit addresses.
const TWO: Setup = Setup { mss: 172, ..FIVE };
/// One frame with 64-bit addresses.
const ONE: Setup = Setup { mss: 80, ..FIVE };

pub const ROWS: &[Row] = &[
    Row {
        name: "kinglet",
        title: "Kinglet, 64-bit addresses, five frames",
        stack: Stack::Kinglet,
        setup: FIVE,
    },
    Row {
        name: "kinglet-no-timestamps",
        title: "the same without timestamps",
        stack: Stack::Kinglet,
        setup: Setup { timestamps: false, ..FIVE },
    },
    Row {
        name: "kinglet-ack-each",
        title: "the same, with an acknowledgment for each segment, as the peers send",
        stack: Stack::Kinglet,
        setup: Setup { timestamps: false, ack_every: 1, ..FIVE },
    },
    Row {
        name: "kinglet-feedback",
        title: "Kinglet, 64-bit addresses, five frames, loss reports",
        stack: Stack::Kinglet,
        setup: Setup { feedback: true, ..FIVE },
    },
    Row {
        name: "kinglet-adaptive",
        title: "Kinglet, 64-bit addresses, adaptive segments of up to five frames",
        stack: Stack::Kinglet,
        setup: Setup { adaptive: true, ..FIVE },
    },
    Row {
        name: "kinglet-adaptive-feedback",
        title: "adaptive segments, loss reports",
        stack: Stack::Kinglet,
        setup: Setup { adaptive: true, feedback: true, ..FIVE },
    },
    Row {
        name: "kinglet-lossy",
        title: "Kinglet, set for a lossy path, five frames",
        stack: Stack::Kinglet,
        setup: Setup { lossy: true, ..FIVE },
    },
    Row {
        name: "kinglet-lossy-adaptive",
        title: "set for a lossy path, adaptive segments",
        stack: Stack::Kinglet,
        setup: Setup { lossy: true, adaptive: true, ..FIVE },
    },
    Row {
        name: "kinglet-lossy-feedback",
        title: "set for a lossy path, loss reports",
        stack: Stack::Kinglet,
        setup: Setup { lossy: true, feedback: true, ..FIVE },
    },
    Row {
        name: "smoltcp",
        title: "smoltcp 0.14 as shipped, five frames",
        stack: Stack::Smoltcp,
        setup: FIVE,
    },
    Row {
        name: "smoltcp-4x300ms",
        title: "smoltcp 0.14, reassembly 4 x 300 ms, five frames",
        stack: Stack::SmoltcpFourSlots,
        setup: Setup { quick_reassembly: true, ..FIVE },
    },
    Row {
        name: "lwip",
        title: "lwIP 2.1.3, five frames, as shipped without timestamps",
        stack: Stack::Lwip,
        setup: Setup { timestamps: false, ..FIVE },
    },
    Row {
        name: "lwip-timestamps",
        title: "lwIP 2.1.3, five frames, timestamps",
        stack: Stack::Lwip,
        setup: FIVE,
    },
    Row {
        name: "kinglet-short",
        title: "Kinglet, 16-bit addresses, 462 octets and timestamps",
        stack: Stack::Kinglet,
        setup: SHORT,
    },
    Row {
        name: "tcplp",
        title: "TCPlp (OpenThread of 2026), 16-bit addresses, 462 octets and timestamps",
        stack: Stack::Tcplp,
        setup: SHORT,
    },
    Row {
        name: "kinglet-short-feedback",
        title: "Kinglet, 16-bit addresses, loss reports",
        stack: Stack::Kinglet,
        setup: Setup { feedback: true, ..SHORT },
    },
    Row {
        name: "kinglet-three",
        title: "Kinglet, 64-bit addresses, three frames",
        stack: Stack::Kinglet,
        setup: THREE,
    },
    Row {
        name: "kinglet-three-feedback",
        title: "Kinglet, three frames, loss reports",
        stack: Stack::Kinglet,
        setup: Setup { feedback: true, ..THREE },
    },
    Row {
        name: "kinglet-two",
        title: "Kinglet, 64-bit addresses, two frames",
        stack: Stack::Kinglet,
        setup: TWO,
    },
    Row {
        name: "kinglet-one",
        title: "Kinglet, 64-bit addresses, one frame",
        stack: Stack::Kinglet,
        setup: ONE,
    },
    Row {
        name: "smoltcp-4x300ms-three",
        title: "smoltcp 0.14, reassembly 4 x 300 ms, three frames",
        stack: Stack::SmoltcpFourSlots,
        setup: Setup { quick_reassembly: true, ..THREE },
    },
    Row {
        name: "lwip-three",
        title: "lwIP 2.1.3, three frames",
        stack: Stack::Lwip,
        setup: Setup { timestamps: false, ..THREE },
    },
];

impl Row {
    pub fn named(name: &str) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.name == name)
    }

    /// Returns true if this executable contains the row's stack.
    pub fn is_built(&self) -> bool {
        let four_slots = cfg!(feature = "smoltcp-four-slots");
        match self.stack {
            Stack::Kinglet => true,
            Stack::Smoltcp => !four_slots,
            Stack::SmoltcpFourSlots => four_slots,
            Stack::Lwip => cfg!(lwip),
            Stack::Tcplp => cfg!(tcplp),
        }
    }

    pub fn station(&self, role: Role, seed: u64, check: bool) -> Box<dyn Station> {
        let setup = Setup { check, ..self.setup };
        match self.stack {
            Stack::Kinglet => kinglet::station(role, setup, seed),
            Stack::Smoltcp | Stack::SmoltcpFourSlots => smoltcp::station(role, setup, seed),
            #[cfg(lwip)]
            Stack::Lwip => crate::lwip::station(role, setup, seed),
            #[cfg(not(lwip))]
            Stack::Lwip => panic!("built without lwIP"),
            #[cfg(tcplp)]
            Stack::Tcplp => crate::tcplp::station(role, setup, seed),
            #[cfg(not(tcplp))]
            Stack::Tcplp => panic!("built without TCPlp"),
        }
    }
}
