//! Radios that secure frames in hardware: CCM* of IEEE 802.15.4-2015, 9.3, implemented
//! independently of the MAC's, so that each verifies the other.

use ccm::aead::AeadInPlace;
use ccm::consts::{U4, U13};
use ccm::{Ccm, KeyInit};
use kinglet::wire::ieee802154::{Address, Frame};
use kinglet_radio::LinkKey;
use std::ops::Range;

type CcmStar = Ccm<aes::Aes128, U4, U13>;

/// ENC-MIC-32, the only level of such a radio, and the length of its MIC.
const LEVEL: u8 = 5;
const MIC: usize = 4;

/// Nonce and secured part of a frame.
struct Layout {
    nonce: [u8; 13],
    message: Range<usize>,
}

/// Encrypts a frame that this key secures and writes its MIC; other frames stay unchanged.
pub(crate) fn seal(link_key: &LinkKey, frame: &mut [u8]) {
    let Some((Layout { nonce, .. }, open, message, mic)) = parts(link_key, frame) else { return };
    let cipher = CcmStar::new(&link_key.key.0.into());
    if let Ok(tag) = cipher.encrypt_in_place_detached(&nonce.into(), open, message) {
        mic.copy_from_slice(&tag);
    }
}

/// Decrypts a frame secured with this key; false if its MIC is wrong. Other frames stay unchanged.
pub(crate) fn open(link_key: &LinkKey, frame: &mut [u8]) -> bool {
    let Some((Layout { nonce, .. }, open, message, mic)) = parts(link_key, frame) else {
        return true;
    };
    let cipher = CcmStar::new(&link_key.key.0.into());
    let tag: [u8; MIC] = core::array::from_fn(|i| mic[i]);
    cipher.decrypt_in_place_detached(&nonce.into(), open, message, &tag.into()).is_ok()
}

type Parts<'a> = (Layout, &'a [u8], &'a mut [u8], &'a mut [u8]);

/// The part that is only authenticated, the part that is also encrypted, and the MIC.
fn parts<'a>(link_key: &LinkKey, frame: &'a mut [u8]) -> Option<Parts<'a>> {
    let layout = layout(link_key, frame)?;
    let (text, mic) = frame.split_at_mut(layout.message.end);
    let (open, message) = text.split_at_mut(layout.message.start);
    Some((layout, open, message, mic))
}

fn layout(link_key: &LinkKey, frame: &[u8]) -> Option<Layout> {
    let frame_len = frame.len();
    let frame = Frame::parse(frame).ok()?;
    let security = frame.security()?;
    let ours = security.level == LEVEL
        && security.key_id_mode == 1
        && security.key_identifier == [link_key.index];
    let mut eui64 = [0; 8];
    match frame.src() {
        _ if !ours => return None,
        Address::Extended(octets) => eui64 = octets,
        Address::Short(short) => {
            eui64[..6].copy_from_slice(&link_key.eui64_prefix);
            eui64[6..].copy_from_slice(&short.to_be_bytes());
        }
        Address::None => return None,
    }
    let mut nonce = [LEVEL; 13];
    nonce[..8].copy_from_slice(&eui64);
    nonce[8..12].copy_from_slice(&security.frame_counter?.to_be_bytes());
    let start = frame.payload_range().start + frame.open_payload_len();
    let end = frame_len.checked_sub(MIC).filter(|&end| end >= start)?;
    Some(Layout { nonce, message: start..end })
}
