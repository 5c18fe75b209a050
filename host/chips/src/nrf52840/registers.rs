//! Registers of the peripherals that a driver of the radio uses, and their times.
//!
//! *PS*: nRF52840 product specification, in the chapter of the peripheral. Its whole text was not
//! available: addresses, bits and states are those of published headers of the chip (RIOT,
//! nrf-802154). *nrf-802154*: Nordic's driver, version 1 (`nrf_802154_trx.c`,
//! `nrf_802154_peripherals.h`, `nrf_802154_const.h`).

/// CLOCK (PS, CLOCK).
pub(crate) mod clock {
    pub(crate) const HFCLKSTART: u32 = 0x4000_0000;
    pub(crate) const HFCLKSTOP: u32 = 0x4000_0004;
    pub(crate) const HFCLKSTARTED: u32 = 0x4000_0100;
    pub(crate) const INTENSET: u32 = 0x4000_0304;
    pub(crate) const INTENCLR: u32 = 0x4000_0308;
    /// Start-up of the crystal oscillator: 360 us (PS, tSTART_HFXO).
    pub(crate) const START_US: u64 = 360;
}

/// RADIO (PS, RADIO).
pub(crate) mod radio {
    pub(crate) const BASE: u32 = 0x4000_1000;
    pub(crate) const TXEN: u32 = BASE;
    pub(crate) const RXEN: u32 = BASE + 0x004;
    pub(crate) const START: u32 = BASE + 0x008;
    pub(crate) const DISABLE: u32 = BASE + 0x010;
    pub(crate) const RSSISTART: u32 = BASE + 0x014;
    pub(crate) const CCASTART: u32 = BASE + 0x02c;
    pub(crate) const READY: u32 = BASE + 0x100;
    pub(crate) const ADDRESS: u32 = BASE + 0x104;
    pub(crate) const END: u32 = BASE + 0x10c;
    pub(crate) const DISABLED: u32 = BASE + 0x110;
    pub(crate) const CRCOK: u32 = BASE + 0x130;
    pub(crate) const CRCERROR: u32 = BASE + 0x134;
    pub(crate) const FRAMESTART: u32 = BASE + 0x138;
    pub(crate) const CCAIDLE: u32 = BASE + 0x144;
    pub(crate) const CCABUSY: u32 = BASE + 0x148;
    pub(crate) const TXREADY: u32 = BASE + 0x154;
    pub(crate) const RXREADY: u32 = BASE + 0x158;
    pub(crate) const PHYEND: u32 = BASE + 0x16c;
    pub(crate) const SHORTS: u32 = BASE + 0x200;
    pub(crate) const INTENSET: u32 = BASE + 0x304;
    pub(crate) const INTENCLR: u32 = BASE + 0x308;
    pub(crate) const CRCSTATUS: u32 = BASE + 0x400;
    pub(crate) const PACKETPTR: u32 = BASE + 0x504;
    pub(crate) const FREQUENCY: u32 = BASE + 0x508;
    pub(crate) const TXPOWER: u32 = BASE + 0x50c;
    pub(crate) const MODE: u32 = BASE + 0x510;
    pub(crate) const PCNF0: u32 = BASE + 0x514;
    pub(crate) const PCNF1: u32 = BASE + 0x518;
    pub(crate) const CRCCNF: u32 = BASE + 0x534;
    pub(crate) const CRCPOLY: u32 = BASE + 0x538;
    pub(crate) const RSSISAMPLE: u32 = BASE + 0x548;
    pub(crate) const STATE: u32 = BASE + 0x550;
    pub(crate) const MODECNF0: u32 = BASE + 0x650;
    pub(crate) const CCACTRL: u32 = BASE + 0x66c;
    pub(crate) const POWER: u32 = BASE + 0xffc;

    /// Shortcuts: the event, the task, and the bit (PS, SHORTS).
    pub(crate) const SHORTCUTS: [(u32, u32, u32); 8] = [
        (READY, START, 0),
        (END, DISABLE, 1),
        (ADDRESS, RSSISTART, 4),
        (RXREADY, CCASTART, 11),
        (CCAIDLE, TXEN, 12),
        (CCABUSY, DISABLE, 13),
        (TXREADY, START, 18),
        (RXREADY, START, 19),
    ];
    /// The one of the end of a frame on the air.
    pub(crate) const PHYEND_DISABLE: (u32, u32, u32) = (PHYEND, DISABLE, 20);

    /// Configuration for IEEE 802.15.4 (PS, "IEEE 802.15.4 operation"): MODE; the 32-bit preamble,
    /// the length of 8 bits and the FCS in the length of PCNF0; the FCS of 16 bits over the PSDU.
    pub(crate) const IEEE_802_15_4: [(u32, u32); 4] =
        [(MODE, 15), (PCNF0, 8 | 3 << 24 | 1 << 26), (CRCCNF, 2 | 2 << 8), (CRCPOLY, 0x0001_1021)];
    /// Ramp-up with and without fast ramp-up (PS, tTXEN and tRXEN; nrf-802154, TXRU_TIME).
    pub(crate) const RAMP_US: (u64, u64) = (40, 130);
    /// Ramp-down of receiver and transmitter: up to 6 us in nrf-802154, and 21 us as the worse case
    /// for the transmitter.
    pub(crate) const RAMP_DOWN_US: (u64, u64) = (1, 21);
    /// Delay of the END event of a received frame (nrf-802154, EVENT_LAT).
    pub(crate) const END_LATENCY_US: u64 = 23;
    /// A channel assessment: eight symbols.
    pub(crate) const CCA_US: u64 = 128;
    /// ED level zero (PS, ED_RSSIOFFS), in dBm.
    pub(crate) const ED_OFFSET_DBM: i16 = -93;
    /// Sensitivity (OTNS; the sheet's text was not available).
    pub(crate) const SENSITIVITY_DBM: i8 = -100;
    /// Spacing of the channels.
    pub(crate) const CHANNEL_MHZ: u32 = 5;
}

/// TIMER0 (PS, TIMER).
pub(crate) mod timer {
    pub(crate) const BASE: u32 = 0x4000_8000;
    pub(crate) const START: u32 = BASE;
    pub(crate) const STOP: u32 = BASE + 0x004;
    pub(crate) const CLEAR: u32 = BASE + 0x00c;
    pub(crate) const CAPTURE: u32 = BASE + 0x040;
    pub(crate) const COMPARE: u32 = BASE + 0x140;
    pub(crate) const INTENSET: u32 = BASE + 0x304;
    pub(crate) const INTENCLR: u32 = BASE + 0x308;
    pub(crate) const BITMODE: u32 = BASE + 0x508;
    pub(crate) const PRESCALER: u32 = BASE + 0x510;
    pub(crate) const CC: u32 = BASE + 0x540;
    pub(crate) const CHANNELS: u32 = 6;
}

/// PPI (PS, PPI).
pub(crate) mod ppi {
    use super::{radio, timer};

    pub(crate) const CHENSET: u32 = 0x4001_f504;
    pub(crate) const CHENCLR: u32 = 0x4001_f508;
    /// Channels that are fixed in hardware: number, event, task (PS, "Pre-programmed channels").
    pub(crate) const FIXED: [(u32, u32, u32); 5] = [
        (20, timer::COMPARE, radio::TXEN),
        (21, timer::COMPARE, radio::RXEN),
        (22, timer::COMPARE + 4, radio::DISABLE),
        (26, radio::ADDRESS, timer::CAPTURE + 4),
        (27, radio::END, timer::CAPTURE + 8),
    ];
}

/// Start of the RAM.
pub(crate) const RAM: u32 = 0x2000_0000;
