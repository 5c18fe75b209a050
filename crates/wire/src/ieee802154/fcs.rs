//! The frame check sequence, 7.2.11: ITU-T CRC-16 with x^16 + x^12 + x^5 + 1.

/// Returns the 16-bit FCS of the octets of a frame that precede it; it is sent least significant
/// octet first. Bits are processed in the order of transmission (least significant first), so the
/// polynomial 0x1021 appears reflected, as 0x8408; the register starts at zero.
pub fn fcs(frame: &[u8]) -> u16 {
    let mut register = 0u16;
    for &octet in frame {
        register ^= u16::from(octet);
        for _ in 0..8 {
            let carry = register & 1 != 0;
            register >>= 1;
            if carry {
                register ^= 0x8408;
            }
        }
    }
    register
}

/// Returns whether the last two octets of `psdu` are the FCS of those before them.
pub fn fcs_is_right(psdu: &[u8]) -> bool {
    match psdu.split_last_chunk::<2>() {
        Some((frame, sent)) => fcs(frame) == u16::from_le_bytes(*sent),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_has_the_published_fcs() {
        // 7.2.11 gives the bits of an acknowledgement in the order of transmission, 0100 0000
        // 0000 0000 0101 0110, and of its FCS, 0010 0111 1001 1110; least significant bit first.
        assert_eq!(fcs(&[0x02, 0x00, 0x6a]).to_le_bytes(), [0xe4, 0x79]);
    }

    #[test]
    fn the_check_value_of_this_crc_is_right() {
        // CRC-16/KERMIT over "123456789" in the usual catalogue of CRC parameters.
        assert_eq!(fcs(b"123456789"), 0x2189);
    }

    #[test]
    fn one_flipped_bit_is_noticed() {
        let mut psdu = [0x02, 0x00, 0x6a, 0xe4, 0x79];
        assert!(fcs_is_right(&psdu));
        for bit in 0..40 {
            psdu[bit / 8] ^= 1 << (bit % 8);
            assert!(!fcs_is_right(&psdu), "bit {bit}");
            psdu[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(!fcs_is_right(&[0]));
    }
}
