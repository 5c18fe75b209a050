//! Registers, states and times of the chip, each with its source.
//!
//! *233*: data sheet 8351. *231*: data sheet 8111C of the AT86RF231. *212B*: data sheet 42002 of
//! the AT86RF212B. The three parts have the same digital core; the text of a sibling is the source
//! of what the text of the AT86RF233 was not available for.

/// Addresses (233, register summary; the same in 231 and 212B but for `XAH_CTRL_2`).
pub(crate) const TRX_STATUS: u8 = 0x01;
pub(crate) const TRX_STATE: u8 = 0x02;
pub(crate) const TRX_CTRL_1: u8 = 0x04;
pub(crate) const PHY_TX_PWR: u8 = 0x05;
pub(crate) const PHY_CC_CCA: u8 = 0x08;
pub(crate) const CCA_THRES: u8 = 0x09;
pub(crate) const TRX_CTRL_2: u8 = 0x0c;
pub(crate) const IRQ_MASK: u8 = 0x0e;
pub(crate) const IRQ_STATUS: u8 = 0x0f;
pub(crate) const XAH_CTRL_1: u8 = 0x17;
pub(crate) const PART_NUM: u8 = 0x1c;
pub(crate) const SHORT_ADDR_0: u8 = 0x20;
pub(crate) const PAN_ID_0: u8 = 0x22;
pub(crate) const IEEE_ADDR_0: u8 = 0x24;
pub(crate) const XAH_CTRL_0: u8 = 0x2c;
pub(crate) const CSMA_SEED_0: u8 = 0x2d;
pub(crate) const CSMA_SEED_1: u8 = 0x2e;
pub(crate) const CSMA_BE: u8 = 0x2f;

/// Values after a reset (231, section 12 and the descriptions of the registers; `PART_NUM`: 233).
pub(crate) const RESET: [(u8, u8); 12] = [
    (TRX_CTRL_1, 0x20),
    (PHY_CC_CCA, 0x2b),
    (CCA_THRES, 0xc7),
    (TRX_CTRL_2, 0x20),
    (PART_NUM, 0x0b),
    (SHORT_ADDR_0, 0xff),
    (SHORT_ADDR_0 + 1, 0xff),
    (PAN_ID_0, 0xff),
    (PAN_ID_0 + 1, 0xff),
    (XAH_CTRL_0, 0x38),
    (CSMA_SEED_0, 0xea),
    (CSMA_SEED_1, 0x42),
];
/// The rest of them: MAX_BE 5, MIN_BE 3.
pub(crate) const RESET_CSMA_BE: u8 = 0x53;

/// Bits of `IRQ_STATUS` and `IRQ_MASK` (231, 6.6).
pub(crate) const IRQ_RX_START: u8 = 1 << 2;
pub(crate) const IRQ_TRX_END: u8 = 1 << 3;
pub(crate) const IRQ_AMI: u8 = 1 << 5;
/// `TRX_CTRL_1`: the chip appends the FCS (231, 8.2).
pub(crate) const TX_AUTO_CRC_ON: u8 = 1 << 5;
/// `TRX_CTRL_1`: `IRQ_STATUS` shows masked interrupts too (231, 6.6).
pub(crate) const IRQ_MASK_MODE: u8 = 1 << 1;
/// `TRX_CTRL_2`: dynamic frame buffer protection (231, 11.8).
pub(crate) const RX_SAFE_MODE: u8 = 1 << 7;
/// `XAH_CTRL_1`: acknowledgements after 32 us (231, 7.2.7).
pub(crate) const AACK_ACK_TIME: u8 = 1 << 2;
/// `XAH_CTRL_1`: promiscuous mode.
pub(crate) const AACK_PROM_MODE: u8 = 1 << 1;
/// `CSMA_SEED_1` (231, 7.2.7).
pub(crate) const AACK_SET_PD: u8 = 1 << 5;
pub(crate) const AACK_DIS_ACK: u8 = 1 << 4;
pub(crate) const AACK_I_AM_COORD: u8 = 1 << 3;

/// Commands of `TRX_STATE` (231, Table 7-17).
pub(crate) mod command {
    pub(crate) const NOP: u8 = 0x00;
    pub(crate) const TX_START: u8 = 0x02;
    pub(crate) const FORCE_TRX_OFF: u8 = 0x03;
    pub(crate) const FORCE_PLL_ON: u8 = 0x04;
    pub(crate) const TRX_OFF: u8 = 0x08;
    pub(crate) const PLL_ON: u8 = 0x09;
    pub(crate) const RX_AACK_ON: u8 = 0x16;
    pub(crate) const TX_ARET_ON: u8 = 0x19;
}

/// Results of an extended transaction, in the upper three bits of `TRX_STATE` (231, Table 7-16).
pub(crate) mod trac {
    pub(crate) const SUCCESS: u8 = 0;
    pub(crate) const SUCCESS_DATA_PENDING: u8 = 1;
    pub(crate) const CHANNEL_ACCESS_FAILURE: u8 = 3;
    pub(crate) const NO_ACK: u8 = 5;
    pub(crate) const INVALID: u8 = 7;
}

/// Value of `TRX_STATUS` during a state transition.
pub(crate) const IN_TRANSITION: u8 = 0x1f;

/// Times in microseconds.
pub(crate) mod time {
    /// TRX_OFF to PLL_ON: 80 us typical (Linux, at86rf230.c, for the AT86RF233); 155 at most (231,
    /// Table 7-2).
    pub(crate) const PLL_LOCK: (u32, u32) = (80, 155);
    /// SLEEP to TRX_OFF: 330 us typical, 1000 at most (Linux, at86rf230.c).
    pub(crate) const WAKE: (u32, u32) = (330, 1_000);
    /// RESET to TRX_OFF: 26 us (212B, tTR13) to 37 us (231, tTR13).
    pub(crate) const RESET: (u32, u32) = (26, 37);
    /// Between two states with a locked PLL, and to TRX_OFF (231, Table 7-1).
    pub(crate) const STATE: u64 = 1;
    /// PLL_ON to BUSY_TX: one symbol (231, tTR10).
    pub(crate) const TX_START: u64 = 16;
    /// PLL from transmission to reception (231, tTR24).
    pub(crate) const TX_TO_RX: u64 = 32;
    /// PLL after a change of channel: 11 us typical, 24 at most (231, tTR20).
    pub(crate) const CHANNEL: (u32, u32) = (11, 24);
    /// Interrupt latency tIRQ (231, 12.4).
    pub(crate) const IRQ: u64 = 9;
    /// Channel assessment: eight symbols.
    pub(crate) const CCA: u64 = 128;
    /// Wait for an acknowledgement: 54 symbols (231, 7.2.4).
    pub(crate) const ACK_WAIT: u64 = 864;
    /// aUnitBackoffPeriod.
    pub(crate) const BACKOFF: u64 = 320;
}

/// RSSI_BASE_VAL: the ED level is the power above this (RIOT, at86rf2xx; Linux, at86rf230.c).
pub(crate) const RSSI_BASE_DBM: i16 = -94;
/// Weakest frame: the sensitivity (233, features).
pub(crate) const SENSITIVITY_DBM: i8 = -101;
/// Output power of each value of TX_PWR in whole dBm (233; RIOT, at86rf2xx_rf_power.c).
pub(crate) const POWER_DBM: [i8; 16] = [4, 4, 3, 3, 2, 2, 1, 0, -1, -2, -3, -4, -6, -8, -12, -17];
