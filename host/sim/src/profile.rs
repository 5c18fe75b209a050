//! Parameters of radios with the source of each figure.
//!
//! No figure is fitted to a published result, except those with `FITTED` in the name.

use kinglet_radio::{
    ACK_PSDU, CCA, Capabilities, MAX_PSDU, TURNAROUND, UNIT_BACKOFF, air_time, spacing_after,
};
use kinglet_time::Duration;

/// Transfer of frames between the host's memory and the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffering {
    /// One frame buffer for both directions, filled and emptied over SPI. The radio receives
    /// neither while a frame is loaded nor until a received frame has been read out.
    SingleOverSpi {
        /// SPI clock in hertz; one bit per cycle.
        hz: u32,
    },
    /// A FIFO per direction behind SPI: frames are received and acknowledged while another one is
    /// loaded or read out. The receive FIFO holds a frame under readout and one more.
    FifosOverSpi {
        /// SPI clock in hertz; one bit per cycle.
        hz: u32,
    },
    /// Frames are received into RAM and sent from RAM; no copy, no blocking.
    Ram,
}

/// Supply currents of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Currents {
    /// Lowest power, in nanoamperes.
    pub sleep_na: u64,
    /// Oscillator on, transceiver off, in microamperes.
    pub idle_ua: u64,
    /// Synthesiser on, neither receiving nor sending, in microamperes.
    pub ready_ua: u64,
    /// Listening or receiving, in microamperes.
    pub listen_ua: u64,
    /// Sending, in microamperes.
    pub transmit_ua: u64,
}

/// Condition for a busy channel (IEEE 802.15.4-2015, 10.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcaMode {
    /// Mode 1: energy at or above the threshold, averaged over the eight symbols.
    Energy,
    /// Mode 2: any frame on the air that could be received, however weak.
    Carrier,
    /// Mode 3 with OR: either condition.
    Either,
    /// Mode 3 with AND: both conditions.
    Both,
}

/// Channel assessment of a radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cca {
    /// Condition for a busy channel.
    pub mode: CcaMode,
    /// Energy threshold, in dBm.
    pub threshold_dbm: f64,
}

/// Basis of a radio's link quality indication, which IEEE 802.15.4 leaves to the manufacturer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkQuality {
    /// Signal strength: 0 at the sensitivity and 255 at 40 dB above.
    Strength,
    /// Correlation of the first eight symbols with their chip sequences; interference reduces it as
    /// noise does.
    Correlation,
}

/// Parameters of a radio in the simulator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioProfile {
    /// Name in reports.
    pub name: &'static str,
    /// Functions of the hardware; [`RadioProfile::capabilities`] combines them.
    pub abilities: &'static [Capabilities],
    /// Transfer of frames.
    pub buffering: Buffering,
    /// Time from `Off` until the oscillator runs, in microseconds; draws the idle current.
    pub oscillator_us: u64,
    /// Time from there until the radio can receive or prepare a frame, in microseconds; the
    /// synthesiser settles and draws the ready current.
    pub synthesiser_us: u64,
    /// Time from receiving to the state in which a frame is loaded, in microseconds.
    pub prepare_us: u64,
    /// Time from the loaded frame to the start of CCA or of the preamble, in microseconds.
    pub start_us: u64,
    /// Time from the end of a clear channel assessment to the preamble, in microseconds.
    pub cca_to_air_us: u64,
    /// Power at which one in a hundred frames of 20 octets is lost to noise (IEEE 802.15.4-2015,
    /// 10.1.7), in dBm.
    pub sensitivity_dbm: f64,
    /// Additional signal that the receiver needs compared with the ideal one of IEEE 802.15.4-2006,
    /// Annex E, in dB. The ideal one loses a hundredth of all frames of 26 octets (preamble, SFD,
    /// PHR and 20 of PSDU) at 0.51 dB above the noise; the data sheet's does at its sensitivity.
    pub implementation_loss_db: f64,
    /// If the filter rejects a frame, the receiver is free for another one at once instead of at
    /// the end of the rejected frame.
    pub searches_after_filter: bool,
    /// Channel assessment.
    pub cca: Cca,
    /// Basis of the link quality indication.
    pub link_quality: LinkQuality,
    /// Available output powers, in dBm.
    pub power_steps_dbm: &'static [i8],
    /// Supply currents.
    pub currents: Currents,
}

/// AT86RF233 as on TCPlp's Hamilton: extended operating mode, SPI at 8 MHz. A single bit announces
/// a pending frame to every polling node (AACK_SET_PD in register CSMA_SEED_1, data sheet 8351B).
pub const AT86RF233: RadioProfile = RadioProfile {
    name: "at86rf233",
    abilities: &[
        Capabilities::AUTO_ACK,
        Capabilities::ACK_WAIT,
        Capabilities::CSMA,
        Capabilities::SCHEDULED,
    ],
    // Data sheet 8351B: one 128-octet frame buffer shared by both directions. 8 MHz is the clock of
    // the TCPlp code base for Hamilton (samkumar/RIOT-OS, tcp-ot-paper, board.h).
    buffering: Buffering::SingleOverSpi { hz: 8_000_000 },
    // SLEEP to TRX_OFF 330 us typical, TRX_OFF to RX_AACK_ON 80 us (Linux at86rf230.c).
    oscillator_us: 330,
    synthesiser_us: 80,
    // RX_AACK_ON to PLL_ON, 1 us (AT86RF231 data sheet, same family).
    prepare_us: 1,
    // PLL_ON to BUSY_TX, 16 us = 1 symbol (same).
    start_us: 16,
    // aTurnaroundTime, 12 symbols (IEEE 802.15.4-2006, 6.4.1).
    cca_to_air_us: TURNAROUND.as_micros(),
    // Data sheet 8351B, features page.
    sensitivity_dbm: -101.0,
    // 4 dB above the noise, less the 0.51 dB of the ideal receiver.
    implementation_loss_db: 3.49,
    // Unknown: the sheet's text on rejected frames was not available. This is the worse case.
    searches_after_filter: false,
    // PHY_CC_CCA: CCA_MODE 1, the reset value and the setting of the TCPlp code base's driver
    // (samkumar/RIOT-OS, drivers/at86rf2xx). CCA_THRES: reset value 7, two dB each above an RSSI
    // base of -94 dBm (Linux at86rf230.c, at86rf233_ed_levels).
    cca: Cca { mode: CcaMode::Energy, threshold_dbm: -80.0 },
    link_quality: LinkQuality::Strength,
    // TX_PWR 0x0f to 0x00 (RIOT, at86rf2xx_getset.c).
    power_steps_dbm: &[-17, -12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4],
    // Data sheet 8351B: DEEP_SLEEP 0.02 uA, TRX_OFF 300 uA, RX_ON 11.8 mA, BUSY_TX 13.8 mA at +4
    // dBm, applied to every power (as Energest does). PLL_ON: the sheet's figure was not available;
    // RX_ON is an upper bound.
    currents: Currents {
        sleep_na: 20,
        idle_ua: 300,
        ready_ua: 11_800,
        listen_ua: 11_800,
        transmit_ua: 13_800,
    },
};

/// nRF52840 with its 802.15.4 driver, which acknowledges, waits for acknowledgements and schedules;
/// frames go to and from RAM by DMA. No hardware backoff: the radio listens during it.
pub const NRF52840: RadioProfile = RadioProfile {
    name: "nrf52840",
    abilities: &[
        Capabilities::AUTO_ACK,
        Capabilities::ACK_WAIT,
        Capabilities::SCHEDULED,
        // The driver's table of pending short addresses (nrf_802154_pending_bit_for_addr_set).
        Capabilities::SOURCE_MATCH,
        // nrf_802154_cca; its timer starts repetitions, as a frame stays in RAM.
        Capabilities::SENSES,
        Capabilities::STROBES,
    ],
    // EasyDMA (product specification).
    buffering: Buffering::Ram,
    // Fast ramp-up, 40 us (nrf_802154_procedures_duration.h).
    oscillator_us: 0,
    synthesiser_us: 40,
    prepare_us: 0,
    start_us: 0,
    // RX to TX ramp, 40 us (same file; Contiki-NG's nrf-ieee-driver and OTNS use the same figure).
    cca_to_air_us: 40,
    // OTNS's figure; the sheet's text was not available.
    sensitivity_dbm: -100.0,
    // 5 dB above the noise, less the 0.51 dB of the ideal receiver.
    implementation_loss_db: 4.49,
    // The driver filters during reception and restarts its receiver if the destination does not
    // match (nrf_802154_core.c, irq_bcmatch_state_rx).
    searches_after_filter: true,
    // NRF_802154_CCA_MODE_DEFAULT and NRF_802154_CCA_ED_THRESHOLD_DBM_DEFAULT
    // (nrf_802154_config.h).
    cca: Cca { mode: CcaMode::Energy, threshold_dbm: -75.0 },
    link_quality: LinkQuality::Strength,
    // TXPOWER register (product specification, RADIO).
    power_steps_dbm: &[-40, -20, -16, -12, -8, -4, 0, 2, 3, 4, 5, 6, 7, 8],
    // Product specification, DC/DC at 3 V: RX 6.53 mA, TX 0 dBm 6.40 mA. A disabled radio draws no
    // current of its own; the ramp counts as RX.
    currents: Currents {
        sleep_na: 0,
        idle_ua: 6_530,
        ready_ua: 6_530,
        listen_ua: 6_530,
        transmit_ua: 6_400,
    },
};

/// CC2420 as on a TelosB under TinyOS: the nodes of Kim et al., "TCP over RPL" (III-A). Its
/// driver waits for acknowledgements.
pub const CC2420: RadioProfile = RadioProfile {
    name: "cc2420",
    abilities: &[Capabilities::AUTO_ACK, Capabilities::ACK_WAIT],
    // Data sheet SWRS041B: FIFOs of 128 octets. The CPU copies each octet: TinyOS clocks the
    // Telos's SPI at 500 kHz (SMCLK of 1 MHz, divided by two).
    buffering: Buffering::FifosOverSpi { hz: 500_000 },
    // The regulator starts within 0.6 ms, the crystal in about 1 ms (sheet, as MSPSim cites it).
    oscillator_us: 1_600,
    // 12 symbols from command to air or to listening (sheet, p. 50).
    synthesiser_us: TURNAROUND.as_micros(),
    prepare_us: 0,
    start_us: 0,
    cca_to_air_us: TURNAROUND.as_micros(),
    // Data sheet, typical.
    sensitivity_dbm: -95.0,
    // 5 dB above a noise floor of -100 dBm (Castalia's figure for this radio), less the 0.51 dB of
    // the ideal receiver. TOSSIM's law, measured with this radio, has half of all frames at 4.6 dB.
    implementation_loss_db: 4.49,
    // Unknown, as with the AT86RF233.
    searches_after_filter: false,
    // CCA_THR after reset: -32, and an offset of -45 dB.
    cca: Cca { mode: CcaMode::Energy, threshold_dbm: -77.0 },
    // Data sheet SWRS041B, section 24: the average correlation over eight symbols.
    link_quality: LinkQuality::Correlation,
    // PA_LEVEL 3 to 31 (sheet, table 9), and two values between them that Kim et al. used: -22 and
    // -17 dBm.
    power_steps_dbm: &[-25, -22, -17, -15, -10, -7, -5, -3, -1, 0],
    // Data sheet: RX 18.8 mA, TX 17.4 mA at 0 dBm, applied to every power (as Energest does). Idle
    // 426 uA and power-down 20 uA are second-hand figures of the same sheet.
    currents: Currents {
        sleep_na: 20_000,
        idle_ua: 426,
        ready_ua: 18_800,
        listen_ua: 18_800,
        transmit_ua: 17_400,
    },
};

/// CC2420 as on a Tmote Sky under Contiki: the nodes of Duquennoy et al., "Lossy Links, Low Power,
/// High Throughput" (5.1, 6.1.1). ContikiMAC turns the radio off with its crystal running, uses the
/// CPU's timer for samples and repetitions, and repeats a frame from the FIFO.
pub const CC2420_CONTIKI: RadioProfile = RadioProfile {
    name: "cc2420-contiki",
    abilities: &[
        Capabilities::AUTO_ACK,
        Capabilities::ACK_WAIT,
        Capabilities::SCHEDULED,
        Capabilities::SENSES,
        Capabilities::STROBES,
    ],
    // The paper's 1.2 ms to build and copy a full frame are due to the CPU's loop: at 3.9 MHz it
    // takes 37 cycles per octet, while the SPI at half that clock would take 16.
    buffering: Buffering::FifosOverSpi { hz: 860_000 },
    oscillator_us: 0,
    // Typical value of the sheet: idle mode.
    currents: Currents { sleep_na: 426_000, ..CC2420.currents },
    ..CC2420
};

/// Thermal noise in 2 MHz at 290 K, -111 dBm, and a noise figure of 6 dB (AT86RF231 data sheet), in
/// dBm: the default noise floor of a medium.
pub const NOISE_FLOOR_DBM: f64 = -105.0;

/// A radio that meets the standard in the maximum times and has the ideal receiver of its Annex E,
/// for comparison with other simulators and with formulas. Currents are those of the nRF52840.
pub const STANDARD: RadioProfile = RadioProfile {
    name: "standard",
    cca_to_air_us: TURNAROUND.as_micros(),
    sensitivity_dbm: NOISE_FLOOR_DBM + 0.51,
    implementation_loss_db: 0.0,
    searches_after_filter: false,
    // The maximum of 10.2.7: 10 dB above the sensitivity.
    cca: Cca { mode: CcaMode::Energy, threshold_dbm: NOISE_FLOOR_DBM + 10.51 },
    link_quality: LinkQuality::Strength,
    ..NRF52840
};

impl RadioProfile {
    /// Time from `Off` until the radio can receive or prepare a frame, in microseconds.
    pub const fn wake_us(&self) -> u64 {
        self.oscillator_us + self.synthesiser_us
    }

    /// Functions of the hardware.
    pub fn capabilities(&self) -> Capabilities {
        self.abilities.iter().fold(Capabilities::NONE, |all, &one| all | one)
    }

    /// Time to write a PSDU of `psdu_len` octets into the frame buffer: a command octet, the length
    /// octet and the PSDU (AT86RF231 data sheet, frame buffer write access).
    pub const fn load_time(&self, psdu_len: usize) -> Duration {
        self.spi_time(2 + psdu_len)
    }

    /// Time to read a PSDU of `psdu_len` octets out: command, length, PSDU and LQI.
    pub const fn readout_time(&self, psdu_len: usize) -> Duration {
        self.spi_time(3 + psdu_len)
    }

    /// The step closest to `power_dbm`, the lower one of two; 0 dBm if there are no steps.
    pub fn nearest_power(&self, power_dbm: i8) -> i8 {
        let steps = self.power_steps_dbm.iter().copied();
        steps.min_by_key(|step| step.abs_diff(power_dbm)).unwrap_or(0)
    }

    /// The highest output power, in dBm.
    pub fn max_power_dbm(&self) -> i8 {
        self.power_steps_dbm.iter().copied().max().unwrap_or(0)
    }

    /// True if the buffer holds only one frame, received or to be sent.
    pub(crate) const fn single_buffer(&self) -> bool {
        matches!(self.buffering, Buffering::SingleOverSpi { .. })
    }

    /// True if the radio listens while a frame is loaded.
    pub(crate) const fn listens_while_loading(&self) -> bool {
        matches!(self.buffering, Buffering::FifosOverSpi { .. })
    }

    const fn spi_time(&self, octets: usize) -> Duration {
        match self.buffering {
            Buffering::SingleOverSpi { hz } | Buffering::FifosOverSpi { hz } => {
                Duration::from_micros((octets as u64 * 8_000_000).div_ceil(hz as u64))
            }
            Buffering::Ram => Duration::ZERO,
        }
    }
}

/// Time for which a unicast frame occupies its sender, with its acknowledgement and the spacing
/// before the next frame, by parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTime {
    /// Radio state changes before loading and before CCA.
    pub state_change: Duration,
    /// Copying the frame to the radio.
    pub load: Duration,
    /// Mean of the first CSMA-CA backoff: (2^BE - 1) / 2 unit backoff periods.
    pub backoff: Duration,
    /// Clear channel assessment.
    pub cca: Duration,
    /// Time from the assessment to the preamble.
    pub turnaround: Duration,
    /// The frame on the air.
    pub air: Duration,
    /// Time from the frame's end to the acknowledgement's start.
    pub ack_turnaround: Duration,
    /// The acknowledgement on the air.
    pub ack_air: Duration,
    /// Interframe spacing until CSMA-CA for the next frame begins.
    pub spacing: Duration,
}

impl FrameTime {
    /// Sum of the parts.
    pub fn total(&self) -> Duration {
        self.parts().iter().fold(Duration::ZERO, |sum, part| sum + part.1)
    }

    /// Parts with their names, in order of time.
    pub fn parts(&self) -> [(&'static str, Duration); 9] {
        let Self {
            state_change,
            load,
            backoff,
            cca,
            turnaround,
            air,
            ack_turnaround,
            ack_air,
            spacing,
        } = *self;
        [
            ("state change", state_change),
            ("load", load),
            ("mean backoff", backoff),
            ("CCA", cca),
            ("turnaround", turnaround),
            ("air", air),
            ("ACK turnaround", ack_turnaround),
            ("ACK air", ack_air),
            ("spacing", spacing),
        ]
    }
}

/// Parts of the time to send one unicast frame of `psdu_len` octets (FCS included, at most 127)
/// with software backoff at `min_be` (macMinBE, 3 by default) and one hardware CCA on a clear
/// channel.
///
/// The figures are those of data sheet and standard. TCPlp measured 7.2 ms for 127 octets (§6.3);
/// the difference is software on that board.
pub fn frame_time(profile: &RadioProfile, psdu_len: usize, min_be: u8) -> FrameTime {
    let mean_units = (1u64 << min_be.min(8)) - 1;
    FrameTime {
        state_change: Duration::from_micros(profile.prepare_us + profile.start_us),
        load: profile.load_time(psdu_len.min(MAX_PSDU)),
        backoff: Duration::from_micros(mean_units * UNIT_BACKOFF.as_micros() / 2),
        cca: CCA,
        turnaround: Duration::from_micros(profile.cca_to_air_us),
        air: air_time(psdu_len.min(MAX_PSDU)),
        ack_turnaround: TURNAROUND,
        ack_air: air_time(ACK_PSDU),
        spacing: spacing_after(psdu_len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_on_the_at86rf233_takes_7026_us() {
        let time = frame_time(&AT86RF233, 127, 3);
        assert_eq!(time.load.as_micros(), 129);
        assert_eq!(time.backoff.as_micros(), 1_120);
        assert_eq!(time.air.as_micros(), 4_256);
        // 17 + 129 + 1120 + 128 + 192 + 4256 + 192 + 352 + 640
        assert_eq!(time.total().as_micros(), 7_026);
    }

    #[test]
    fn ram_radios_copy_nothing() {
        assert_eq!(frame_time(&NRF52840, 127, 3).load, Duration::ZERO);
        assert_eq!(NRF52840.readout_time(127), Duration::ZERO);
    }

    #[test]
    fn power_is_rounded_to_the_nearest_step() {
        assert_eq!(AT86RF233.nearest_power(-9), -8);
        assert_eq!(AT86RF233.nearest_power(-22), -17);
        assert_eq!(AT86RF233.nearest_power(20), 4);
        assert_eq!(AT86RF233.max_power_dbm(), 4);
    }

    #[test]
    fn spi_time_rounds_up_to_whole_microseconds() {
        let slow =
            RadioProfile { buffering: Buffering::SingleOverSpi { hz: 4_800_000 }, ..AT86RF233 };
        assert_eq!(slow.load_time(127).as_micros(), 215);
    }
}
