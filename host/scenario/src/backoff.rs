//! CSMA-CA backoff of simulated nodes, selected by the scenario: one node type supports both
//! variants.

use kinglet::mac::{Backoff, Exponential, Random, TinyOs};
use kinglet::radio::CsmaParams;
use kinglet::time::Duration;

/// Backoff of IEEE 802.15.4 or of TinyOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EitherBackoff {
    /// Backoff of IEEE 802.15.4.
    Exponential(Exponential),
    /// Backoff of TinyOS for the CC2420.
    TinyOs(TinyOs),
}

impl EitherBackoff {
    /// IEEE 802.15.4 before the first attempt.
    pub const EXPONENTIAL: Self = EitherBackoff::Exponential(Exponential::NEW);
    /// TinyOS before the first attempt.
    pub const TINYOS: Self = EitherBackoff::TinyOs(TinyOs::NEW);
}

/// Applies `$done` to the selected variant.
macro_rules! with {
    ($either:expr, $it:ident => $done:expr) => {
        match $either {
            EitherBackoff::Exponential($it) => $done,
            EitherBackoff::TinyOs($it) => $done,
        }
    };
}

impl Backoff for EitherBackoff {
    const NEW: Self = EitherBackoff::EXPONENTIAL;

    fn is_by_radios(&self) -> bool {
        with!(self, it => it.is_by_radios())
    }

    fn begin(&mut self, params: &CsmaParams) {
        with!(self, it => it.begin(params));
    }

    fn wait(&self, random: &mut Random) -> Duration {
        with!(self, it => it.wait(random))
    }

    fn handle_busy(&mut self, params: &CsmaParams) -> bool {
        with!(self, it => it.handle_busy(params))
    }
}
