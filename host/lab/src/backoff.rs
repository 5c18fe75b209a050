//! How long simulated nodes leave the channel alone before they assess it, as the scenario says:
//! one type of node has both ways.

use kinglet::mac::{Backoff, Exponential, Random, TinyOs};
use kinglet::radio::CsmaParams;
use kinglet::time::Duration;

/// That of IEEE 802.15.4 or TinyOS's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EitherBackoff {
    /// The standard's.
    Exponential(Exponential),
    /// TinyOS's for the CC2420.
    TinyOs(TinyOs),
}

impl EitherBackoff {
    /// The standard's, before its first attempt.
    pub const EXPONENTIAL: Self = EitherBackoff::Exponential(Exponential::NEW);
    /// TinyOS's, before its first attempt.
    pub const TINYOS: Self = EitherBackoff::TinyOs(TinyOs::NEW);
}

/// Does it with the one that there is.
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
