//! Registers, commands and times of the chip, named as in its data sheet (8351).

/// TRX_STATUS: the state.
pub(crate) const TRX_STATUS: u8 = 0x01;
/// TRX_STATE: a command when written, the result of the last transaction when read.
pub(crate) const TRX_STATE: u8 = 0x02;
pub(crate) const TRX_CTRL_1: u8 = 0x04;
pub(crate) const PHY_TX_PWR: u8 = 0x05;
pub(crate) const PHY_CC_CCA: u8 = 0x08;
pub(crate) const TRX_CTRL_2: u8 = 0x0c;
pub(crate) const IRQ_MASK: u8 = 0x0e;
pub(crate) const IRQ_STATUS: u8 = 0x0f;
pub(crate) const PART_NUM: u8 = 0x1c;
pub(crate) const SHORT_ADDR_0: u8 = 0x20;
pub(crate) const PAN_ID_0: u8 = 0x22;
pub(crate) const IEEE_ADDR_0: u8 = 0x24;
pub(crate) const XAH_CTRL_0: u8 = 0x2c;
pub(crate) const CSMA_SEED_0: u8 = 0x2d;
pub(crate) const CSMA_SEED_1: u8 = 0x2e;
pub(crate) const CSMA_BE: u8 = 0x2f;

/// First octets of an access: register, frame buffer, SRAM.
pub(crate) const REGISTER_READ: u8 = 0x80;
pub(crate) const REGISTER_WRITE: u8 = 0xc0;
pub(crate) const FRAME_READ: u8 = 0x20;
pub(crate) const FRAME_WRITE: u8 = 0x60;
pub(crate) const SRAM_READ: u8 = 0x00;

/// States in TRX_STATUS.
pub(crate) mod state {
    pub(crate) const P_ON: u8 = 0x00;
    pub(crate) const TRX_OFF: u8 = 0x08;
    pub(crate) const PLL_ON: u8 = 0x09;
    pub(crate) const BUSY_RX_AACK: u8 = 0x11;
    pub(crate) const BUSY_TX_ARET: u8 = 0x12;
    pub(crate) const RX_AACK_ON: u8 = 0x16;
    pub(crate) const TX_ARET_ON: u8 = 0x19;
    pub(crate) const IN_TRANSITION: u8 = 0x1f;
    /// The bits of the state.
    pub(crate) const MASK: u8 = 0x1f;
}

/// Commands in TRX_STATE.
pub(crate) mod command {
    pub(crate) const TX_START: u8 = 0x02;
    pub(crate) const TRX_OFF: u8 = 0x08;
    pub(crate) const PLL_ON: u8 = 0x09;
    pub(crate) const RX_AACK_ON: u8 = 0x16;
    pub(crate) const TX_ARET_ON: u8 = 0x19;
}

/// Results in the upper three bits of TRX_STATE.
pub(crate) mod trac {
    pub(crate) const SUCCESS: u8 = 0;
    pub(crate) const SUCCESS_DATA_PENDING: u8 = 1;
    pub(crate) const CHANNEL_ACCESS_FAILURE: u8 = 3;
    pub(crate) const NO_ACK: u8 = 5;
}

/// PART_NUM of the AT86RF233.
pub(crate) const AT86RF233: u8 = 0x0b;
/// IRQ_3 in IRQ_MASK and IRQ_STATUS: the end of a transaction.
pub(crate) const TRX_END: u8 = 1 << 3;
/// TRX_CTRL_1: the chip appends the FCS.
pub(crate) const TX_AUTO_CRC_ON: u8 = 1 << 5;
/// TRX_CTRL_2: a received frame is protected until it has been read.
pub(crate) const RX_SAFE_MODE: u8 = 1 << 7;
/// CSMA_SEED_1: frame-pending bit of the acknowledgements of data requests.
pub(crate) const AACK_SET_PD: u8 = 1 << 5;
/// CSMA_SEED_1: frames of the versions 0, 1 and 2 pass the filter.
pub(crate) const AACK_FVN_MODE: u8 = 2 << 6;
/// PHY_CC_CCA: energy above the threshold, CCA mode 1.
pub(crate) const CCA_MODE: u8 = 1 << 5;
/// RX_STATUS, the last octet of a read frame: its FCS is right.
pub(crate) const RX_CRC_VALID: u8 = 1 << 7;
/// MAX_CSMA_RETRIES for a transmission without CSMA-CA.
pub(crate) const NO_CSMA: u8 = 7;
/// RSSI_BASE_VAL: the ED level counts decibels above this.
pub(crate) const RSSI_BASE_DBM: i8 = -94;

/// Output powers in dBm with their values of TX_PWR.
pub(crate) const POWERS: [(i8, u8); 13] = [
    (-17, 0x0f),
    (-12, 0x0e),
    (-8, 0x0d),
    (-6, 0x0c),
    (-4, 0x0b),
    (-3, 0x0a),
    (-2, 0x09),
    (-1, 0x08),
    (0, 0x07),
    (1, 0x06),
    (2, 0x05),
    (3, 0x03),
    (4, 0x00),
];
