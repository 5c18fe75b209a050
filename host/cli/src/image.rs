//! Images of a page of flash: Intel HEX, as programmers and `probe-rs` take, and UF2, as a
//! bootloader's USB drive takes.

use ihex::Record;

/// Octets of a HEX record; most programmers expect so many.
const RECORD: usize = 16;
/// A UF2 block and its payload (Microsoft's UF2 specification).
const BLOCK: usize = 512;
const PAYLOAD: usize = 256;
const MAGICS: [u32; 3] = [0x0A32_4655, 0x9E5D_5157, 0x0AB1_6F30];
/// The block names a family.
const HAS_FAMILY: u32 = 0x2000;
/// An erased octet.
const ERASED: u8 = 0xff;

/// Returns octets at an address as Intel HEX.
pub(crate) fn hex(address: u32, octets: &[u8]) -> Result<String, String> {
    let mut records = Vec::new();
    let mut upper = None;
    for (at, value) in (address..).step_by(RECORD).zip(octets.chunks(RECORD)) {
        let [low, high] = [at as u16, (at >> 16) as u16];
        if upper.replace(high) != Some(high) {
            records.push(Record::ExtendedLinearAddress(high));
        }
        records.push(Record::Data { offset: low, value: value.to_vec() });
    }
    records.push(Record::EndOfFile);
    let text = ihex::create_object_file_representation(&records);
    text.map(|text| text.trim_end().to_owned() + "\n")
        .map_err(|error| format!("no HEX file: {error}"))
}

/// Returns octets at an address, at most [`PAYLOAD`], as a UF2 file of one block. The rest of the
/// payload is erased.
pub(crate) fn uf2(address: u32, family: u32, octets: &[u8]) -> Vec<u8> {
    let [first, second, last] = MAGICS;
    let head = [first, second, HAS_FAMILY, address, PAYLOAD as u32, 0, 1, family];
    let mut block: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
    let payload = block.len() + PAYLOAD;
    block.extend(octets.iter().take(PAYLOAD));
    block.resize(payload, ERASED);
    block.resize(BLOCK - size_of::<u32>(), 0);
    block.extend(last.to_le_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use ihex::Reader;

    /// The octets of a HEX file by address.
    fn read(text: &str) -> Vec<(u32, u8)> {
        let (mut upper, mut octets) = (0, Vec::new());
        for record in Reader::new(text) {
            match record.expect("a record") {
                Record::ExtendedLinearAddress(high) => upper = u32::from(high) << 16,
                Record::Data { offset, value } => {
                    octets.extend((upper + u32::from(offset)..).zip(value));
                }
                Record::EndOfFile => {}
                other => panic!("{other:?}"),
            }
        }
        octets
    }

    #[test]
    fn a_hex_file_has_all_octets_at_their_addresses() {
        let octets: Vec<u8> = (0..40).collect();
        for address in [0, 0xF_3000, 0xFFFF_FF00, 0xF_FFF0] {
            let text = hex(address, &octets).unwrap();
            let expected: Vec<_> = (address..).zip(octets.iter().copied()).collect();
            assert_eq!(read(&text), expected, "{address:#x}");
            assert!(text.ends_with(":00000001FF\n"));
        }
    }

    #[test]
    fn a_uf2_file_is_one_block_with_address_and_family() {
        let block = uf2(0xF_3000, 0xADA5_2840, &[1, 2, 3]);
        assert_eq!(block.len(), 512);
        assert_eq!(block[..8], *b"UF2\nWQ]\x9e");
        let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        assert_eq!([word(8), word(12), word(16), word(20)], [0x2000, 0xF_3000, 256, 0]);
        assert_eq!((word(24), word(28), word(508)), (1, 0xADA5_2840, 0x0AB1_6F30));
        assert_eq!(block[32..36], [1, 2, 3, 0xff]);
        assert!(block[36..288].iter().all(|octet| *octet == 0xff));
        assert!(block[288..508].iter().all(|octet| *octet == 0));
    }
}
