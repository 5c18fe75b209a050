//! Boolean state of a connection, one bit each.

/// Flags of a connection, in one octet.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnFlags(u8);

impl ConnFlags {
    pub(super) const NONE: ConnFlags = ConnFlags(0);
    /// The application has closed its side: a FIN follows the last octet of the send ring.
    pub(super) const FIN_QUEUED: u8 = 1;
    /// An RST is to be sent; only in CLOSED.
    pub(super) const RESET_PENDING: u8 = 2;
    /// An acknowledgment of each segment was requested from the peer.
    pub(super) const EACH_ACK: u8 = 4;
    /// The data in flight beyond a closed window was sent as a probe.
    pub(super) const PROBING: u8 = 8;
    /// A keep-alive probe is to be sent.
    pub(super) const KEEP_PROBE: u8 = 16;
    /// The peer's SYN has had the window scale option, so ours has it too, whatever the shifts.
    pub(super) const SCALES: u8 = 32;
    /// The peer's FIN was received, perhaps out of order.
    pub(super) const FIN_KNOWN: u8 = 64;
    /// The persist timer has expired: a zero-window probe is due.
    pub(super) const PROBE_DUE: u8 = 128;

    pub(super) const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub(super) const fn put(&mut self, bit: u8, to: bool) {
        self.0 = if to { self.0 | bit } else { self.0 & !bit };
    }

    /// Clears a flag and returns whether it was set.
    pub(super) const fn take(&mut self, bit: u8) -> bool {
        let had = self.has(bit);
        self.put(bit, false);
        had
    }
}
