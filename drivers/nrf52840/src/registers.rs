//! Registers, named as in the product specification of the nRF52840.

pub(crate) const HFCLKSTART: u32 = 0x4000_0000;
pub(crate) const HFCLKSTOP: u32 = 0x4000_0004;
pub(crate) const HFCLKSTARTED: u32 = 0x4000_0100;
pub(crate) const CLOCK_INTENSET: u32 = 0x4000_0304;
/// Bit of HFCLKSTARTED among the interrupts of CLOCK.
pub(crate) const INT_HFCLKSTARTED: u32 = 1;

pub(crate) const TXEN: u32 = 0x4000_1000;
pub(crate) const RXEN: u32 = 0x4000_1004;
pub(crate) const DISABLE: u32 = 0x4000_1010;
pub(crate) const ADDRESS: u32 = 0x4000_1104;
pub(crate) const END: u32 = 0x4000_110c;
pub(crate) const DISABLED: u32 = 0x4000_1110;
pub(crate) const CRCOK: u32 = 0x4000_1130;
pub(crate) const CCABUSY: u32 = 0x4000_1148;
pub(crate) const SHORTS: u32 = 0x4000_1200;
pub(crate) const RADIO_INTENSET: u32 = 0x4000_1304;
pub(crate) const PACKETPTR: u32 = 0x4000_1504;
pub(crate) const FREQUENCY: u32 = 0x4000_1508;
pub(crate) const TXPOWER: u32 = 0x4000_150c;
pub(crate) const RSSISAMPLE: u32 = 0x4000_1548;
pub(crate) const POWER: u32 = 0x4000_1ffc;

/// Bit of DISABLED among the interrupts of RADIO.
pub(crate) const INT_DISABLED: u32 = 1 << 4;

/// Bits of SHORTS.
pub(crate) mod short {
    pub(crate) const END_DISABLE: u32 = 1 << 1;
    pub(crate) const ADDRESS_RSSISTART: u32 = 1 << 4;
    pub(crate) const RXREADY_CCASTART: u32 = 1 << 11;
    pub(crate) const CCAIDLE_TXEN: u32 = 1 << 12;
    pub(crate) const CCABUSY_DISABLE: u32 = 1 << 13;
    pub(crate) const TXREADY_START: u32 = 1 << 18;
    pub(crate) const RXREADY_START: u32 = 1 << 19;
    pub(crate) const PHYEND_DISABLE: u32 = 1 << 20;
}

/// Registers of RADIO that stay as they are until a reset, with their values.
pub(crate) const SETUP: [(u32, u32); 8] = [
    // MODE: IEEE 802.15.4 at 250 kb/s.
    (0x4000_1510, 15),
    // PCNF0: a length of eight bits that counts the FCS, a preamble of 32 zero bits.
    (0x4000_1514, 8 | 3 << 24 | 1 << 26),
    // PCNF1: the longest PSDU.
    (0x4000_1518, 127),
    // CRCCNF: two octets, without the address that IEEE 802.15.4 does not have.
    (0x4000_1534, 2 | 2 << 8),
    // CRCPOLY and CRCINIT: ITU-T CRC-16.
    (0x4000_1538, 0x0001_1021),
    (0x4000_153c, 0),
    // MODECNF0: fast ramp-up.
    (0x4000_1650, 1),
    // CCACTRL: energy above the threshold, which is -75 dBm: 18 above ED level zero, -93 dBm
    // (nrf_802154_config.h has the same threshold).
    (0x4000_166c, 18 << 8),
];

pub(crate) const TIMER_START: u32 = 0x4000_8000;
pub(crate) const TIMER_STOP: u32 = 0x4000_8004;
pub(crate) const TIMER_CLEAR: u32 = 0x4000_800c;
/// CAPTURE of the channel that holds the time.
pub(crate) const CAPTURE_NOW: u32 = 0x4000_8054;
pub(crate) const COMPARE_TIMEOUT: u32 = 0x4000_814c;
pub(crate) const TIMER_INTENSET: u32 = 0x4000_8304;
pub(crate) const TIMER_BITMODE: u32 = 0x4000_8508;
pub(crate) const TIMER_PRESCALER: u32 = 0x4000_8510;
/// Channels of TIMER0: start of a ramp, end of an SFD, end of a frame, timeout, and the time.
pub(crate) const CC_START: u32 = 0x4000_8540;
pub(crate) const CC_ADDRESS: u32 = 0x4000_8544;
pub(crate) const CC_END: u32 = 0x4000_8548;
pub(crate) const CC_TIMEOUT: u32 = 0x4000_854c;
pub(crate) const CC_NOW: u32 = 0x4000_8554;
/// Bit of COMPARE[3] among the interrupts of TIMER0.
pub(crate) const INT_TIMEOUT: u32 = 1 << 19;

pub(crate) const CHENSET: u32 = 0x4001_f504;
pub(crate) const CHENCLR: u32 = 0x4001_f508;
/// Fixed channels of the PPI: COMPARE[0] to TXEN, COMPARE[0] to RXEN, ADDRESS to CAPTURE[1], END to
/// CAPTURE[2].
pub(crate) const START_TO_TXEN: u32 = 1 << 20;
pub(crate) const START_TO_RXEN: u32 = 1 << 21;
pub(crate) const TIMES: u32 = 1 << 26 | 1 << 27;

/// Output powers of TXPOWER in dBm.
pub(crate) const POWERS_DBM: [i8; 14] = [-40, -20, -16, -12, -8, -4, 0, 2, 3, 4, 5, 6, 7, 8];
