//! Wake-up periods that a device leaves to others while it strobes without pause.
//!
//! Bursts that follow one another in step with the wake-ups of their recipient leave other devices
//! no chance. Those that do not hear the sender lose their copies in collisions, or find the
//! recipient busy, for as long as the transfer lasts. The recipient cannot end that, as it receives
//! nothing from them. So a device that has sent in each of eight periods sends nothing in the
//! next two. If a packet of another node comes through, the network layer reports it
//! ([`Mac::share_until`](crate::Mac::share_until)), and the device leaves half of the periods free.

use crate::wake::Wake;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// Periods that are used before some are left free, if no other device is known to need them. A
/// transfer over one hop loses 19 % by that. With 16 periods a device that has never met its
/// neighbour missed every free one for minutes.
const ALONE: u32 = 8;
/// The same if others need them.
const SHARED: u32 = 2;
/// Periods that are left free. A device that backs off often misses a single one, and a flood needs
/// more than one to pass a relay.
const FREE: u32 = 2;

/// The use of the periods by this device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharing {
    /// Begin of the first strobe since the last period without one, or since another device was
    /// heard.
    since: Instant,
    /// Its recipient.
    dst: Address,
    /// End of the last strobe; [`Instant::ZERO`] if another device was heard later.
    sent: Instant,
    free_until: Instant,
    shared_until: Instant,
}

impl Sharing {
    pub(crate) const NEW: Sharing = Sharing {
        since: Instant::ZERO,
        dst: Address::None,
        sent: Instant::ZERO,
        free_until: Instant::ZERO,
        shared_until: Instant::ZERO,
    };

    /// Notes that other devices need the channel until then.
    pub(crate) fn share_until(&mut self, until: Instant) {
        self.shared_until = until;
    }

    /// Returns the end of the free periods, in which no burst begins.
    pub(crate) const fn free_until(&self) -> Instant {
        self.free_until
    }

    /// Returns whether other devices are known to need the channel. Their packets travel in answers
    /// to bursts too, so that answers are neither counted nor held back then. Otherwise an answer
    /// may be as long as a burst, and would fill a free period.
    pub(crate) fn is_shared(&self, now: Instant) -> bool {
        now < self.shared_until
    }

    /// Notes a received frame. If it is not from the recipient of the bursts, another device has
    /// found room between them, as a relay hears its neighbours on both sides.
    pub(crate) fn heard(&mut self, src: Address) {
        if src != self.dst {
            self.sent = Instant::ZERO;
        }
    }

    /// Notes a strobe that has just ended. If its burst goes on, no period can be left free yet.
    pub(crate) fn sent(
        &mut self,
        wake: &Wake,
        dst: Address,
        (begin, now): (Instant, Instant),
        goes_on: bool,
    ) {
        if begin >= self.sent + wake.period {
            (self.since, self.dst) = (begin, dst);
        }
        self.sent = now;
        let used = if self.is_shared(now) { SHARED } else { ALONE };
        if !goes_on && now - self.since >= wake.period * used {
            // The next strobe begins so late that it is the first one again.
            self.free_until = now + wake.period * FREE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_time::Duration;

    const A: Address = Address::Short(2);
    const B: Address = Address::Short(3);
    const WAKE: Wake = Wake::DEFAULT;
    const STROBE: Duration = Duration::from_millis(20);

    /// Sends a strobe in each period from `now` on that is not left free. Returns the numbers of
    /// the first `periods` periods in which one is sent.
    fn send(sharing: &mut Sharing, start: Instant, periods: u32) -> impl Iterator<Item = u32> {
        let mut used = [false; 64];
        for period in 0..periods {
            let begin = start + WAKE.period * period;
            if begin >= sharing.free_until() {
                used[period as usize] = true;
                sharing.sent(&WAKE, A, (begin, begin + STROBE), false);
            }
        }
        (0..64).filter(move |period| used[*period as usize])
    }

    #[test]
    fn a_device_that_sends_in_every_period_leaves_two_of_ten_free() {
        let mut sharing = Sharing::NEW;
        let start = Instant::from_millis(1_000);
        // The strobe that begins eight periods after the first is the last.
        let sent: u32 = send(&mut sharing, start, 11).sum();
        assert_eq!(sent, (0..=8).sum::<u32>(), "two more are free");
        let next = start + WAKE.period * 11 + STROBE;
        assert!(next > sharing.free_until());
        assert_eq!(send(&mut sharing, next, 9).count(), 9);
    }

    #[test]
    fn while_others_need_the_channel_they_get_half_of_the_periods() {
        let mut sharing = Sharing::NEW;
        let start = Instant::from_millis(1_000);
        sharing.share_until(start + WAKE.period * 40);
        let sent = send(&mut sharing, start, 40).count();
        assert!((20..=24).contains(&sent), "{sent} of 40");
        assert!(send(&mut sharing, start + WAKE.period * 40, 20).count() >= 16, "alone again");
    }

    #[test]
    fn a_device_that_pauses_by_itself_is_not_held_back() {
        let mut sharing = Sharing::NEW;
        for n in 1..100 {
            let begin = Instant::ZERO + (WAKE.period * 2) * n;
            assert!(begin > sharing.free_until());
            sharing.sent(&WAKE, A, (begin, begin + WAKE.period), false);
        }
    }

    #[test]
    fn a_device_that_hears_another_between_its_bursts_has_left_room_for_it() {
        let mut sharing = Sharing::NEW;
        let start = Instant::from_millis(1_000);
        let mut once = |src, n: u32| {
            let begin = start + WAKE.period * n;
            sharing.heard(src);
            sharing.sent(&WAKE, A, (begin, begin + STROBE), false);
            sharing.free_until() > begin
        };
        assert!(!(0..100).any(|n| once(B, n)), "a relay");
        assert!(!(100..102).any(|n| once(A, n)));
        assert!((102..120).any(|n| once(A, n)), "answers of the recipient");
    }

    #[test]
    fn a_burst_is_not_interrupted() {
        let mut sharing = Sharing::NEW;
        let start = Instant::from_millis(1_000);
        let at = |n: u32| start + WAKE.period / 8 * n;
        (0..200).for_each(|n| sharing.sent(&WAKE, A, (at(n), at(n + 1)), true));
        assert!(sharing.free_until() < at(200));
        sharing.sent(&WAKE, A, (at(200), at(201)), false);
        assert_eq!(sharing.free_until(), at(201) + WAKE.period * 2);
    }
}
