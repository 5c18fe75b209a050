//! Link security: every frame encrypted and authenticated with one key of the PAN.
//!
//! Security level 5 (ENC-MIC-32, IEEE 802.15.4-2015 Table 9-6), the key named by its index. A frame
//! gets its counter when it goes to the radio for the first time, not when it is queued, so that
//! counters grow in the order of transmission whatever overtakes whatever; its repetitions keep
//! it. Immediate acknowledgements cannot be secured.

use crate::ccm::{Ccm, Direction, NONCE};
use crate::cipher::BlockCipher;
use crate::mac::{Mac, Sizes};
use crate::receive::Discard;
use core::fmt;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::{self, Address, Frame};

/// ENC-MIC-32.
const LEVEL: u8 = 5;
/// Octets of the message integrity code.
const MIC: usize = 4;
/// Key identifier mode 1: an index alone.
const KEY_ID_MODE: u8 = 1;
/// The index of the one key.
const KEY_INDEX: u8 = 1;
/// The counter that no frame carries: with it a device's key is used up.
const EXHAUSTED: u32 = u32::MAX;
/// How far ahead of the counter the bound is that a device keeps for its next start. A restart
/// wastes that many counters at the most, of which there are enough for 260,000 restarts, and a
/// device that sends ten frames a second writes its flash every 14 minutes, when half are used.
const COUNTER_AHEAD: u32 = 1 << 14;

/// An AES-128 key. It is not shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// How frames are secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    /// The key of all devices of the PAN.
    pub key: Key,
    /// The first six octets of the EUI-64 that a device with a short address has for the nonce;
    /// the short address is the last two. So a receiver knows the sender's without having learnt
    /// it. Frames with an extended source address use that.
    pub eui64_prefix: [u8; 6],
    /// The frame counter of the first frame: what [`Mac::poll_counter_bound`] has last given,
    /// before whatever restart, and 0 with a key that this device has never used. **No device may
    /// use a counter twice with the same key**: who sees two frames with one nonce can read both
    /// and forge a third. Others take a device that begins below what it used for one that repeats
    /// old frames. At 4294967295 a device stops sending.
    pub first_counter: u32,
}

impl Security {
    /// The EUI-64 of a source, for the nonce.
    fn eui64(&self, source: Address) -> Option<[u8; 8]> {
        match source {
            Address::None => None,
            Address::Extended(octets) => Some(octets),
            Address::Short(short) => {
                let [a, b, c, d, e, f] = self.eui64_prefix;
                let [g, h] = short.to_be_bytes();
                Some([a, b, c, d, e, f, g, h])
            }
        }
    }
}

/// The key as AES wants it, and the next frame counter.
pub(crate) struct State<C> {
    ccm: Option<Ccm<C>>,
    next_counter: u32,
    /// Where the next start begins.
    counter_bound: u32,
}

impl<C: BlockCipher> State<C> {
    pub(crate) const fn new(security: Option<&Security>) -> Self {
        let next_counter = match security {
            Some(security) => security.first_counter,
            None => 0,
        };
        State { ccm: None, next_counter, counter_bound: next_counter }
    }

    fn ccm(&mut self, key: &Key) -> &mut Ccm<C> {
        self.ccm.get_or_insert_with(|| Ccm::new(&key.0))
    }
}

/// What it takes to open a frame whose header was found to fit.
pub(crate) struct Sealed {
    counter: u32,
    eui64: [u8; 8],
    /// It was accepted before.
    pub(crate) seen: bool,
    /// Where what is not encrypted ends.
    open_len: usize,
}

/// Why a frame was not sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CounterError;

impl<S: Sizes> Mac<S> {
    /// A bound on the frame counters, to be written to flash, for [`Security::first_counter`] after
    /// the next start: once right after a start, and from then on when half of the way to the last
    /// one is used. Call this before [`Mac::poll_radio`]. The first one must be in flash before
    /// the first frame is on the air; for each later one there is time for 8192 frames.
    pub fn poll_counter_bound(&mut self, _now: Instant) -> Option<u32> {
        self.config.security?;
        let State { next_counter, counter_bound, .. } = self.security;
        let bound = next_counter.saturating_add(COUNTER_AHEAD);
        let is_due = bound.saturating_sub(counter_bound) >= COUNTER_AHEAD / 2;
        // The last bound of all may be nearer.
        if !is_due && (bound != EXHAUSTED || counter_bound == EXHAUSTED) {
            return None;
        }
        self.security.counter_bound = bound;
        Some(bound)
    }

    /// The security header of a frame that is queued; its counter comes with the transmission.
    pub(crate) fn security_header(&self) -> Option<ieee802154::Security> {
        self.config.security.map(|_| ieee802154::Security {
            level: LEVEL,
            frame_counter: EXHAUSTED,
            key_index: KEY_INDEX,
        })
    }

    /// Octets to be kept at the end of a frame.
    pub(crate) const fn mic_len(&self) -> usize {
        if self.config.security.is_some() { MIC } else { 0 }
    }

    /// Secures the head of the queue, unless that is done or not wanted.
    pub(crate) fn secure_head(&mut self) -> Result<(), CounterError> {
        let Some(security) = &self.config.security else { return Ok(()) };
        let Some(slot) = self.queue.head_mut().filter(|slot| !slot.secured) else { return Ok(()) };
        let counter = self.security.next_counter;
        let eui64 = security.eui64(self.config.source());
        let (Some(eui64), true) = (eui64, counter != EXHAUSTED) else { return Err(CounterError) };
        let frame = slot.frame.get_mut(..usize::from(slot.len)).ok_or(CounterError)?;
        let ccm = self.security.ccm(&security.key);
        seal(ccm, frame, &eui64, counter).ok_or(CounterError)?;
        self.stats.cipher_runs = ccm.runs();
        slot.secured = true;
        self.security.next_counter = counter.saturating_add(1);
        Ok(())
    }

    /// Whether the frame's header says what this device wants of it. `None` where nothing is
    /// secured.
    pub(crate) fn check_security(&self, frame: &Frame<'_>) -> Result<Option<Sealed>, Discard> {
        let (security, header) = match (&self.config.security, frame.security()) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Err(Discard::Secured),
            (Some(_), None) => return Err(Discard::Unsecured),
            (Some(security), Some(header)) => (security, header),
        };
        let ours = header.level == LEVEL
            && header.key_id_mode == KEY_ID_MODE
            && header.key_identifier == [KEY_INDEX];
        let counter = header.frame_counter.filter(|&counter| ours && counter != EXHAUSTED);
        let (Some(counter), Some(eui64)) = (counter, security.eui64(frame.src())) else {
            return Err(Discard::Secured);
        };
        let seen = self.peers.has_seen(eui64, counter)?;
        let open_len = frame.payload_range().start.saturating_add(frame.open_payload_len());
        Ok(Some(Sealed { counter, eui64, seen, open_len }))
    }

    /// Decrypts a frame where it is, and gives its length without the integrity code. From then on
    /// older ones of its sender are refused.
    pub(crate) fn open(&mut self, frame: &mut [u8], sealed: &Sealed) -> Result<usize, Discard> {
        let Some(security) = &self.config.security else { return Err(Discard::Secured) };
        let nonce = nonce(&sealed.eui64, sealed.counter, LEVEL);
        let ccm = self.security.ccm(&security.key);
        let opened = unseal::<_, MIC>(ccm, frame, &nonce, sealed.open_len);
        self.stats.cipher_runs = ccm.runs();
        let len = opened.ok_or(Discard::BadMic)?;
        self.peers.accept(sealed.eui64, sealed.counter);
        Ok(len)
    }
}

/// The nonce of 9.3.2: the sender's EUI-64, the frame counter and the level, most significant
/// octets first.
fn nonce(eui64: &[u8; 8], counter: u32, level: u8) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    let octets = eui64.iter().copied().chain(counter.to_be_bytes()).chain([level]);
    nonce.iter_mut().zip(octets).for_each(|(to, from)| *to = from);
    nonce
}

/// Writes the counter, encrypts the payload and fills the last [`MIC`] octets.
fn seal<C: BlockCipher>(
    ccm: &mut Ccm<C>,
    frame: &mut [u8],
    eui64: &[u8; 8],
    counter: u32,
) -> Option<()> {
    let (header, open_len) = {
        let parsed = Frame::parse(frame).ok()?;
        let open_len = parsed.payload_range().start.checked_add(parsed.open_payload_len())?;
        (parsed.security()?.frame_counter_at, open_len)
    };
    let at = frame.get_mut(header..)?.first_chunk_mut::<4>()?;
    *at = counter.to_le_bytes();
    let (text, mic) = frame.split_last_chunk_mut::<MIC>()?;
    let (open, message) = text.split_at_mut_checked(open_len)?;
    *mic = ccm.run(Direction::Seal, &nonce(eui64, counter, LEVEL), open, message);
    Some(())
}

/// Decrypts the message behind the first `open_len` octets. The length without the code, or `None`
/// if the code is wrong; the message is then rubbish.
fn unseal<C: BlockCipher, const M: usize>(
    ccm: &mut Ccm<C>,
    frame: &mut [u8],
    nonce: &[u8; NONCE],
    open_len: usize,
) -> Option<usize> {
    let (text, mic) = frame.split_last_chunk_mut::<M>()?;
    let len = text.len();
    let (open, message) = text.split_at_mut_checked(open_len)?;
    let expected: [u8; M] = ccm.run(Direction::Open, nonce, open, message);
    // Every octet is looked at, so that the time does not tell how many were right.
    let difference = mic.iter().zip(expected).fold(0, |all, (a, b)| all | (a ^ b));
    (core::hint::black_box(difference) == 0).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 16] = [
        0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce,
        0xcf,
    ];

    /// IEEE 802.15.4-2006 Annex C.2.3: an association request, level 6, key named implicitly, the
    /// command identifier in the clear.
    #[test]
    fn the_secured_command_of_annex_c_is_opened() {
        let mut frame = [
            0x2b, 0xdc, 0x84, 0x21, 0x43, 0x02, 0x00, 0x00, 0x00, 0x00, 0x48, 0xde, 0xac, 0xff,
            0xff, 0x01, 0x00, 0x00, 0x00, 0x00, 0x48, 0xde, 0xac, 0x06, 0x05, 0x00, 0x00, 0x00,
            0x01, 0xd8, 0x4f, 0xde, 0x52, 0x90, 0x61, 0xf9, 0xc6, 0xf1,
        ];
        let parsed = Frame::parse(&frame).unwrap();
        let open_len = parsed.payload_range().start + parsed.open_payload_len();
        let header = parsed.security().unwrap();
        let security = Security { key: Key(KEY), eui64_prefix: [0; 6], first_counter: 0 };
        let eui64 = security.eui64(parsed.src()).unwrap();
        assert_eq!(eui64, [0xac, 0xde, 0x48, 0, 0, 0, 0, 1]);
        let nonce = nonce(&eui64, header.frame_counter.unwrap(), header.level);
        assert_eq!(nonce[8..], [0, 0, 0, 5, 6]);
        let mut ccm = Ccm::<crate::Tabled>::new(&KEY);
        let sealed = frame;
        assert_eq!(unseal::<_, 8>(&mut ccm, &mut frame, &nonce, open_len), Some(30));
        assert_eq!(frame[28..30], [0x01, 0xce]);
        for octet in 0..frame.len() {
            let mut damaged = sealed;
            damaged[octet] ^= 0x10;
            assert_eq!(
                unseal::<_, 8>(&mut ccm, &mut damaged, &nonce, open_len),
                None,
                "octet {octet}"
            );
        }
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(std::format!("{:?}", Key(KEY)), "Key(..)");
    }
}
