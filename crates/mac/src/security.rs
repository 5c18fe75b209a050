//! Link security: every frame is encrypted and authenticated with one key of the PAN, or none is.
//!
//! A type of the memory plan selects the security ([`Sizes::Security`]): `()` is none, and the
//! program then contains no security code; [`CcmStar`] is CCM* with a block cipher, or by the
//! radio.
//!
//! Security level 5 (ENC-MIC-32, IEEE 802.15.4-2015 Table 9-6), with a key index. A frame gets its
//! counter when it goes to the radio for the first time, not when it is queued, so that counters
//! grow in the order of transmission even if frames overtake each other; retransmissions keep it.
//! Immediate acknowledgements cannot be secured.
//!
//! [`Sizes::Security`]: crate::Sizes::Security

use crate::ccm::{Ccm, Direction, NONCE};
use crate::cipher::BlockCipher;
use crate::level::{EXHAUSTED, KEY_ID_MODE, KEY_INDEX, LEVEL, MIC, Sealed};
use crate::plain::Plain;
use crate::replay::{PeerCounter, Peers};
use crate::stats::Discard;
use kinglet_mem::Array;
use kinglet_radio::{Capabilities, Command, Key, LinkKey};
use kinglet_wire::ieee802154::{Address, Frame};

/// Distance of the bound that a device stores for its next start from its counter. A restart wastes
/// at most that many counters. There are enough for 260,000 restarts, and a device that sends ten
/// frames a second writes its flash every 14 minutes, when half are used.
const COUNTER_AHEAD: u32 = 1 << 14;

/// Configuration of link security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    /// The key of all devices of the PAN.
    pub key: Key,
    /// The first six octets of the EUI-64 that the nonce contains for a device with a short
    /// address; the short address is the last two. So a receiver knows the sender's EUI-64 without
    /// a message. For frames with an extended source address the nonce contains that address.
    pub eui64_prefix: [u8; 6],
    /// The frame counter of the first frame: the last result of [`Mac::poll_counter_bound`], before
    /// any number of restarts, and 0 with a key that this device has never used. **No device may
    /// use a counter twice with the same key**: an attacker with two frames of one nonce can read
    /// both and forge a third. If a device begins below a counter that it has used, other devices
    /// reject its frames as replays. At 4294967295 a device stops sending.
    ///
    /// [`Mac::poll_counter_bound`]: crate::Mac::poll_counter_bound
    pub first_counter: u32,
}

impl Security {
    /// Returns the EUI-64 of a source, for the nonce.
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

    /// Returns the parameters of a radio that secures frames.
    pub const fn link_key(&self) -> LinkKey {
        LinkKey { key: self.key, index: KEY_INDEX, eui64_prefix: self.eui64_prefix }
    }
}

/// Reason for which a frame was not sent.
#[derive(Debug, PartialEq, Eq)]
pub struct CounterError;

/// Link security: `()` or [`CcmStar`].
pub trait LinkSecurity {
    /// Type of [`MacConfig::security`](crate::MacConfig::security).
    type Key: Copy;

    /// State before the first frame.
    const NEW: Self;

    /// Returns whether frames are secured with this key.
    fn is_on(key: &Self::Key) -> bool;

    /// Returns the next command that the radio needs for security.
    fn poll_command(&mut self, key: &Self::Key, radio: Capabilities) -> Option<Command>;

    /// Secures a frame of `source` whose header has space for the counter.
    ///
    /// # Errors
    /// If the frame counter is used up, or the radio that is to do it cannot.
    fn secure(
        &mut self,
        key: &Self::Key,
        radio: Capabilities,
        source: Address,
        frame: &mut [u8],
    ) -> Result<(), CounterError>;

    /// Checks the security header of a frame against the configuration of this device. `None` if
    /// nothing is secured.
    ///
    /// # Errors
    /// [`Discard::Secured`], [`Discard::Unsecured`]
    fn check(&self, key: &Self::Key, frame: &Frame<'_>) -> Result<Option<Sealed>, Discard>;

    /// Decrypts a frame of `source` in place. Returns its length without the MIC, and whether it
    /// was accepted before. From then on, older frames of its sender are refused.
    ///
    /// # Errors
    /// [`Discard::Secured`], [`Discard::Replay`], [`Discard::TooManyPeers`], [`Discard::BadMic`]
    fn open(
        &mut self,
        key: &Self::Key,
        radio: Capabilities,
        source: Address,
        frame: &mut [u8],
        sealed: Sealed,
    ) -> Result<(usize, bool), Discard>;

    /// See [`Mac::poll_counter_bound`](crate::Mac::poll_counter_bound).
    fn poll_counter_bound(&mut self, key: &Self::Key) -> Option<u32>;

    /// Returns the number of runs of the block cipher, wrapping.
    fn cipher_runs(&self) -> u32;
}

/// No security; a key cannot be set.
impl LinkSecurity for () {
    type Key = ();

    const NEW: Self = ();

    fn is_on(&(): &()) -> bool {
        false
    }

    fn poll_command(&mut self, &(): &(), _radio: Capabilities) -> Option<Command> {
        None
    }

    fn secure(
        &mut self,
        &(): &(),
        _radio: Capabilities,
        _source: Address,
        _frame: &mut [u8],
    ) -> Result<(), CounterError> {
        Ok(())
    }

    fn check(&self, &(): &(), frame: &Frame<'_>) -> Result<Option<Sealed>, Discard> {
        if frame.security().is_some() { Err(Discard::Secured) } else { Ok(None) }
    }

    fn open(
        &mut self,
        &(): &(),
        _radio: Capabilities,
        _source: Address,
        _frame: &mut [u8],
        _sealed: Sealed,
    ) -> Result<(usize, bool), Discard> {
        Err(Discard::Secured)
    }

    fn poll_counter_bound(&mut self, &(): &()) -> Option<u32> {
        None
    }

    fn cipher_runs(&self) -> u32 {
        0
    }
}

/// Implementation of CCM*: a [`BlockCipher`], which may be hardware for single blocks, or
/// [`ByRadio`].
pub trait Runs {
    /// Its state.
    type State;

    /// State before the first frame.
    const NEW: Self::State;

    /// Returns whether it works with this radio.
    fn is_able(radio: Capabilities) -> bool;

    /// Returns the next command that the radio needs for security.
    fn poll_command(state: &mut Self::State, security: &Security) -> Option<Command>;

    /// Encrypts the message in place, and writes the MIC that authenticates `open` and the message.
    fn seal(
        state: &mut Self::State,
        key: &Key,
        nonce: &Nonce,
        open: &[u8],
        message: &mut [u8],
        mic: &mut [u8; MIC],
    );

    /// Decrypts the message in place, and returns whether the MIC is correct.
    fn open(
        state: &mut Self::State,
        key: &Key,
        nonce: &Nonce,
        open: &[u8],
        message: &mut [u8],
        mic: &[u8; MIC],
    ) -> bool;

    /// Returns the number of runs of the block cipher, wrapping.
    fn cipher_runs(state: &Self::State) -> u32;
}

/// See [`nonce`].
type Nonce = [u8; NONCE];

impl<C: BlockCipher> Runs for C {
    /// The expanded key.
    type State = Option<Ccm<C>>;

    const NEW: Self::State = None;

    fn is_able(_radio: Capabilities) -> bool {
        true
    }

    fn poll_command(_state: &mut Self::State, _security: &Security) -> Option<Command> {
        None
    }

    fn seal(
        state: &mut Self::State,
        key: &Key,
        nonce: &Nonce,
        open: &[u8],
        message: &mut [u8],
        mic: &mut [u8; MIC],
    ) {
        let ccm = state.get_or_insert_with(|| Ccm::new(&key.0));
        *mic = ccm.run(Direction::Seal, nonce, open, message);
    }

    fn open(
        state: &mut Self::State,
        key: &Key,
        nonce: &Nonce,
        open: &[u8],
        message: &mut [u8],
        mic: &[u8; MIC],
    ) -> bool {
        let ccm = state.get_or_insert_with(|| Ccm::new(&key.0));
        same(&ccm.run(Direction::Open, nonce, open, message), mic)
    }

    fn cipher_runs(state: &Self::State) -> u32 {
        state.as_ref().map_or(0, Ccm::runs)
    }
}

/// A radio with [`Capabilities::SECURES`] runs CCM*; with another one no frame is sent, and no
/// secured frame is received.
pub enum ByRadio {}

impl Runs for ByRadio {
    /// True if the radio has the key.
    type State = bool;

    const NEW: bool = false;

    fn is_able(radio: Capabilities) -> bool {
        radio.contains(Capabilities::SECURES)
    }

    fn poll_command(configured: &mut bool, security: &Security) -> Option<Command> {
        let before = core::mem::replace(configured, true);
        (!before).then(|| Command::Secure(security.link_key()))
    }

    fn seal(
        _configured: &mut bool,
        _key: &Key,
        _nonce: &Nonce,
        _open: &[u8],
        _message: &mut [u8],
        _mic: &mut [u8; MIC],
    ) {
    }

    /// Frames that the radio reports were opened already.
    fn open(
        _configured: &mut bool,
        _key: &Key,
        _nonce: &Nonce,
        _open: &[u8],
        _message: &mut [u8],
        _mic: &[u8; MIC],
    ) -> bool {
        true
    }

    fn cipher_runs(_configured: &bool) -> u32 {
        0
    }
}

/// CCM*, run by `R`, with frame counters. `P` has an entry for each device from which a frame with
/// the key has been received since the start; frames of further devices are refused. Without a key
/// in [`MacConfig::security`](crate::MacConfig::security) nothing is secured.
pub struct CcmStar<R: Runs, P: Array<PeerCounter>> {
    state: R::State,
    /// Number of counters that this device has used since its start.
    used: u32,
    /// Distance from the first counter to the last bound, at which the next start begins.
    kept: u32,
    peers: Peers<P>,
}

impl<R: Runs, P: Array<PeerCounter>> LinkSecurity for CcmStar<R, P> {
    type Key = Option<Security>;

    const NEW: Self = CcmStar { state: R::NEW, used: 0, kept: 0, peers: Peers::new() };

    fn is_on(key: &Option<Security>) -> bool {
        key.is_some()
    }

    fn poll_command(&mut self, key: &Option<Security>, radio: Capabilities) -> Option<Command> {
        let security = key.as_ref().filter(|_| R::is_able(radio))?;
        R::poll_command(&mut self.state, security)
    }

    fn secure(
        &mut self,
        key: &Option<Security>,
        radio: Capabilities,
        source: Address,
        frame: &mut [u8],
    ) -> Result<(), CounterError> {
        let Some(security) = key else { return Ok(()) };
        let counter = security.first_counter.saturating_add(self.used);
        let eui64 = security.eui64(source).ok_or(CounterError)?;
        if counter == EXHAUSTED || !R::is_able(radio) {
            return Err(CounterError);
        }
        self.seal(&security.key, frame, &eui64, counter).ok_or(CounterError)?;
        self.used = self.used.saturating_add(1);
        Ok(())
    }

    fn check(&self, key: &Option<Security>, frame: &Frame<'_>) -> Result<Option<Sealed>, Discard> {
        let header = match (key, frame.security()) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Err(Discard::Secured),
            (Some(_), None) => return Err(Discard::Unsecured),
            (Some(_), Some(header)) => header,
        };
        let ours = header.level == LEVEL
            && header.key_id_mode == KEY_ID_MODE
            && header.key_identifier == [KEY_INDEX];
        let counter = header.frame_counter.filter(|_| ours).ok_or(Discard::Secured)?;
        let open_len = frame.payload_range().start.saturating_add(frame.open_payload_len());
        Ok(Some(Sealed { counter, open_len }))
    }

    fn open(
        &mut self,
        key: &Option<Security>,
        radio: Capabilities,
        source: Address,
        frame: &mut [u8],
        Sealed { counter, open_len }: Sealed,
    ) -> Result<(usize, bool), Discard> {
        let usable = counter != EXHAUSTED && R::is_able(radio);
        let security = key.as_ref().filter(|_| usable).ok_or(Discard::Secured)?;
        let eui64 = security.eui64(source).ok_or(Discard::Secured)?;
        let seen = self.peers.has_seen(eui64, counter)?;
        let (text, mic) = frame.split_last_chunk_mut().ok_or(Discard::BadMic)?;
        let len = text.len();
        let (open, message) = text.split_at_mut_checked(open_len).ok_or(Discard::BadMic)?;
        let nonce = nonce(&eui64, counter, LEVEL);
        if !R::open(&mut self.state, &security.key, &nonce, open, message, mic) {
            return Err(Discard::BadMic);
        }
        self.peers.accept(eui64, counter);
        Ok((len, seen))
    }

    fn poll_counter_bound(&mut self, key: &Option<Security>) -> Option<u32> {
        let first = key.as_ref()?.first_counter;
        let bound = first.saturating_add(self.used).saturating_add(COUNTER_AHEAD);
        let kept = first.saturating_add(self.kept);
        let is_due = bound.saturating_sub(kept) >= COUNTER_AHEAD / 2;
        // The very last bound may be nearer.
        if !is_due && (bound != EXHAUSTED || kept == EXHAUSTED) {
            return None;
        }
        self.kept = bound.saturating_sub(first);
        Some(bound)
    }

    fn cipher_runs(&self) -> u32 {
        R::cipher_runs(&self.state)
    }
}

impl<R: Runs, P: Array<PeerCounter>> CcmStar<R, P> {
    /// Writes the counter, encrypts the payload and fills the last [`MIC`] octets.
    fn seal(&mut self, key: &Key, frame: &mut [u8], eui64: &[u8; 8], counter: u32) -> Option<()> {
        let (at, open_len) = match Plain::has_counter(frame) {
            true => (Plain::COUNTER_AT, Plain::SECURED_LEN),
            false => {
                let parsed = Frame::parse(frame).ok()?;
                let open = parsed.payload_range().start.checked_add(parsed.open_payload_len())?;
                (parsed.security()?.frame_counter_at, open)
            }
        };
        let at = frame.get_mut(at..)?.first_chunk_mut::<4>()?;
        *at = counter.to_le_bytes();
        let (text, mic) = frame.split_last_chunk_mut()?;
        let (open, message) = text.split_at_mut_checked(open_len)?;
        let nonce = nonce(eui64, counter, LEVEL);
        R::seal(&mut self.state, key, &nonce, open, message, mic);
        Some(())
    }
}

/// Returns the nonce of 9.3.2: the sender's EUI-64, the frame counter and the level, most
/// significant octets first.
fn nonce(eui64: &[u8; 8], counter: u32, level: u8) -> Nonce {
    let &[a, b, c, d, e, f, g, h] = eui64;
    let [i, j, k, l] = counter.to_be_bytes();
    [a, b, c, d, e, f, g, h, i, j, k, l, level]
}

/// Returns whether two MICs are equal. It compares every octet, so that the run time does not
/// reveal the number of equal ones.
fn same<const M: usize>(one: &[u8; M], other: &[u8; M]) -> bool {
    let difference = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    core::hint::black_box(difference) == 0
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
        let mut opens = |frame: &mut [u8]| {
            let (text, mic) = frame.split_last_chunk_mut::<8>().unwrap();
            let (open, message) = text.split_at_mut(open_len);
            same(&ccm.run(Direction::Open, &nonce, open, message), mic)
        };
        let sealed = frame;
        assert!(opens(&mut frame));
        assert_eq!(frame[28..30], [0x01, 0xce]);
        for octet in 0..frame.len() {
            let mut damaged = sealed;
            damaged[octet] ^= 0x10;
            assert!(!opens(&mut damaged), "octet {octet}");
        }
    }
}
