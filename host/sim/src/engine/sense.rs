//! Clear channel assessment (IEEE 802.15.4-2015, 10.2.7) in the radio's mode.

use super::Core;
use crate::profile::CcaMode;
use crate::radio::Phase;

impl Core {
    /// Adds the energy at `node` since the last change of signals to the assessment in progress, if
    /// any. A receiver that can assess the past stores the power instead.
    #[inline]
    pub(super) fn measure(&mut self, node: usize) {
        let now = self.now;
        let radio = &mut self.radios[node];
        if radio.phase == Phase::Access && now > radio.measured_until {
            radio.measured += radio.energy_mw() * (now - radio.measured_until) as f64;
            radio.measured_until = now;
        } else if radio.senses && radio.phase == Phase::Listen && now > radio.changed_at {
            (radio.mw_before, radio.changed_at) = (radio.energy_mw(), now);
        }
    }

    /// Returns whether the channel was busy at `node` in the assessment that began at `since` and
    /// ends now.
    pub(super) fn channel_busy(&mut self, node: usize, since: u64) -> bool {
        self.measure(node);
        let others_mw = match self.interference.exists() {
            true => self.interference.mean_mw(node, self.radios[node].channel, since..self.now),
            false => 0.0,
        };
        let radio = &self.radios[node];
        if !self.hidden_terminals {
            let (frames, last) = self.on_air[usize::from(radio.channel.number())];
            return frames > 0 || last > since || others_mw >= radio.cca_threshold_mw;
        }
        let length = self.now.saturating_sub(since).max(1) as f64;
        let energy = || radio.measured / length + others_mw >= radio.cca_threshold_mw;
        let carrier = || {
            let heard = |s: &crate::radio::Signal| s.carrier && s.channel == radio.channel;
            radio.last_carrier > since || radio.signals.iter().any(heard)
        };
        match radio.profile.cca.mode {
            CcaMode::Energy => energy(),
            CcaMode::Carrier => carrier(),
            CcaMode::Either => carrier() || energy(),
            CcaMode::Both => carrier() && energy(),
        }
    }
}
