use super::*;
use std::vec;
use std::vec::Vec;

/// A SYN of Linux: MSS 1460, SACK permitted, timestamps, NOP, window scale 7.
const SYN: [u8; 40] = [
    0xd9, 0x02, 0x00, 0x50, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 0xa0, 0x02, 0xfa, 0xf0, 0, 0, 0, 0,
    0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a, 0x00, 0x11, 0x22, 0x33, 0, 0, 0, 0, 0x01, 0x03,
    0x03, 0x07,
];

fn syn() -> Header {
    Header {
        src_port: 55554,
        dst_port: 80,
        seq: 0x1234_5678,
        ack: 0,
        flags: Flags::SYN,
        window: 64240,
        urgent: 0,
        options: Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { val: 0x0011_2233, ecr: 0 }),
            ..Options::NONE
        },
    }
}

/// Appends `options` to a bare header.
fn with_options(options: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; 20];
    octets[12] = (((20 + options.len()) / 4) << 4) as u8;
    octets.extend_from_slice(options);
    octets
}

//= rfc9293#MUST-4 rfc9293#MUST-14 type=test
#[test]
fn a_syn_of_linux_is_read_and_written_octet_by_octet() {
    let segment = Segment::parse(&SYN).unwrap();
    assert_eq!((segment.header, segment.payload), (syn(), &[][..]));
    assert_eq!(segment.seq_len(), 1);
    let mut out = [0; 60];
    assert_eq!(syn().emit(&mut out), Ok(40));
    assert_eq!(out[..40], SYN);
}

#[test]
fn a_buffer_that_is_too_short_is_left_alone() {
    let mut out = [7; 39];
    assert_eq!(syn().emit(&mut out), Err(Error::NoRoom(Field::TcpHeader)));
    assert_eq!(out, [7; 39]);
}

//= rfc9293#MUST-6 rfc9293#MUST-64 rfc9293#MUST-68 type=test
#[test]
fn unknown_options_are_skipped_and_an_end_ends() {
    let octets = with_options(&[254, 4, 9, 9, 1, 2, 4, 1, 0, 0, 3, 7]);
    let options = Segment::parse(&octets).unwrap().header.options;
    assert_eq!(options, Options { mss: Some(0x0100), ..Options::NONE });
}

#[test]
fn known_options_of_a_wrong_length_are_skipped() {
    let octets = with_options(&[2, 3, 5, 3, 4, 7, 7, 5, 9, 0, 0, 0, 0, 0, 0, 0, 3, 3, 2, 0]);
    let options = Segment::parse(&octets).unwrap().header.options;
    assert_eq!(options, Options { window_scale: Some(2), ..Options::NONE });
}

//= rfc9293#MUST-7 type=test
#[test]
fn an_option_length_that_cannot_be_refuses_the_segment() {
    for options in [[254, 0, 0, 0], [254, 1, 0, 0], [254, 5, 0, 0], [1, 1, 1, 2]] {
        let octets = with_options(&options);
        assert_eq!(Segment::parse(&octets), Err(Error::Invalid(Field::TcpOptionLength)));
    }
}

//= rfc7323#2.3-9
#[test]
fn window_scales_above_14_are_read_as_14() {
    let octets = with_options(&[3, 3, 200, 0]);
    assert_eq!(Segment::parse(&octets).unwrap().header.options.window_scale, Some(14));
}

#[test]
fn short_headers_are_refused() {
    assert_eq!(Segment::parse(&SYN[..19]), Err(Error::Truncated(Field::TcpHeader)));
    assert_eq!(Segment::parse(&SYN[..39]), Err(Error::Truncated(Field::TcpOptions)));
    let mut octets = SYN;
    octets[12] = 0x40;
    assert_eq!(Segment::parse(&octets), Err(Error::Invalid(Field::TcpDataOffset)));
}

#[test]
fn sack_blocks_that_do_not_fit_with_other_options_are_left_out() {
    let mut options = Options::NONE;
    for i in 0..5 {
        let pushed = options.sack.push(SackBlock { left: i * 10, right: i * 10 + 5 });
        assert_eq!(pushed, i < 4);
    }
    assert_eq!(options.len(), 36);
    options.timestamps = Some(Timestamps { val: 1, ecr: 2 });
    assert_eq!(options.len(), 40);
    let header = Header { options, ..Header::default() };
    let mut out = [0; 60];
    let len = header.emit(&mut out).unwrap();
    let read = Segment::parse(&out[..len]).unwrap().header.options;
    assert_eq!(read.sack.as_slice(), &options.sack.as_slice()[..3]);
}

//= rfc7413#4.1.1-1 rfc7413#4.1.1-2
#[test]
fn a_fast_open_cookie_has_no_octets_or_4_to_16() {
    // RFC 7413 §4.1.1: other lengths are ignored.
    for len in 0..=17 {
        let mut options = vec![34, 2 + len];
        options.extend((0..len).map(|i| i + 1));
        options.resize(options.len().next_multiple_of(4), 1);
        let read = Segment::parse(&with_options(&options)).unwrap().header.options.fast_open;
        let valid = matches!(len, 0 | 4 | 6 | 8 | 10 | 12 | 14 | 16);
        assert_eq!(read.is_some(), valid, "{len}");
        if let Some(cookie) = read {
            assert_eq!(cookie.as_slice(), &options[2..2 + usize::from(len)]);
            assert_eq!(cookie.is_request(), len == 0);
        }
    }
}

#[test]
fn the_longest_cookie_fits_with_all_options_of_a_syn() {
    let mut header = syn();
    header.options.fast_open = Cookie::new(&[0xc0; 16]);
    let mut out = [0; MAX_HEADER_LEN];
    assert_eq!(header.emit(&mut out), Ok(60));
    assert_eq!(out[20..40], SYN[20..]);
    assert_eq!(out[40..60], [[34, 18].as_slice(), &[0xc0; 16], &[1, 1]].concat());
    header.options.fast_open = Some(Cookie::REQUEST);
    assert_eq!(header.emit(&mut out), Ok(44));
    assert_eq!(out[40..44], [34, 2, 1, 1]);
}

//= rfc9293#MUST-2 rfc9293#MUST-3 type=test
#[test]
fn a_checksum_over_pieces_verifies_over_the_whole() {
    let mut octets = SYN.to_vec();
    set_checksum(&mut octets, 0x1234);
    assert!(verify_checksum(&octets, 0x1234));
    assert!(!verify_checksum(&octets, 0x1235));
    octets[5] ^= 0x10;
    assert!(!verify_checksum(&octets, 0x1234));
}

#[test]
fn reserved_bits_are_ignored_and_ae_is_read() {
    let mut octets = SYN;
    octets[12] |= 0x0f;
    let flags = Segment::parse(&octets).unwrap().header.flags;
    assert_eq!(flags, Flags::SYN | Flags::AE);
    assert_eq!(std::format!("{flags:?}"), "Se");
}

mod properties {
    use super::*;
    use proptest::prelude::*;
    use smoltcp::wire as smol;

    fn options() -> impl Strategy<Value = Options> {
        let sack = proptest::collection::vec((any::<u32>(), any::<u32>()), 0..4);
        let timestamps = proptest::option::of((any::<u32>(), any::<u32>()));
        let scale = proptest::option::of(0u8..15);
        let cookie = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20));
        let rate = proptest::option::of(proptest::option::of(0u8..128));
        (any::<Option<u16>>(), scale, any::<bool>(), timestamps, sack, cookie, rate).prop_map(
            |(mss, window_scale, sack_permitted, timestamps, blocks, cookie, rate)| {
                let timestamps = timestamps.map(|(val, ecr)| Timestamps { val, ecr });
                let fast_open = cookie.and_then(|cookie| Cookie::new(&cookie));
                let mut options = Options {
                    mss,
                    window_scale,
                    sack_permitted,
                    timestamps,
                    fast_open,
                    ack_rate: None,
                    sack: SackBlocks::EMPTY,
                };
                let rate = rate.map(|rate| rate.map_or(AckRate::Supported, AckRate::Request));
                let with = Options { ack_rate: rate, ..options };
                if with.len() > options.len() {
                    options = with;
                }
                for (left, right) in blocks {
                    options.sack.push(SackBlock { left, right });
                }
                let fit = options.emitted_blocks();
                options.sack.truncate(fit);
                options
            },
        )
    }

    fn header() -> impl Strategy<Value = Header> {
        let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u16>());
        (1u16.., 1u16.., numbers, 0u16..512, options()).prop_map(
            |(src_port, dst_port, (seq, ack, window, urgent), flags, options)| Header {
                src_port,
                dst_port,
                seq,
                ack,
                flags: Flags::from_bits(flags),
                window,
                urgent,
                options,
            },
        )
    }

    proptest! {
        #[test]
        fn a_header_survives_being_written_and_read(
            header in header(),
            payload in proptest::collection::vec(any::<u8>(), 0..50),
        ) {
            let mut octets = vec![0xee; header.header_len()];
            prop_assert_eq!(header.emit(&mut octets), Ok(header.header_len()));
            octets.extend_from_slice(&payload);
            let segment = Segment::parse(&octets).unwrap();
            prop_assert_eq!(segment.header, header);
            prop_assert_eq!(segment.payload, &payload[..]);
        }

        #[test]
        fn no_octets_panic(octets in proptest::collection::vec(any::<u8>(), 0..120), sum: u16) {
            let _ = verify_checksum(&octets, sum);
            if let Ok(segment) = Segment::parse(&octets) {
                let mut out = [0; MAX_HEADER_LEN];
                prop_assert!(segment.header.emit(&mut out).is_ok());
            }
        }

        /// The header as smoltcp reads it.
        #[test]
        fn smoltcp_reads_the_same(header in header()) {
            let mut octets = vec![0; header.header_len()];
            header.emit(&mut octets).unwrap();
            let packet = smol::TcpPacket::new_checked(&octets[..]).unwrap();
            prop_assert_eq!(packet.src_port(), header.src_port);
            prop_assert_eq!(packet.dst_port(), header.dst_port);
            prop_assert_eq!(packet.seq_number().0 as u32, header.seq);
            prop_assert_eq!(packet.ack_number().0 as u32, header.ack);
            prop_assert_eq!(packet.window_len(), header.window);
            prop_assert_eq!(packet.urgent_at(), header.urgent);
            prop_assert_eq!(packet.syn(), header.flags.contains(Flags::SYN));
            prop_assert_eq!(packet.fin(), header.flags.contains(Flags::FIN));
            prop_assert_eq!(packet.cwr(), header.flags.contains(Flags::CWR));
            let mut rest = packet.options();
            let mut read = Options::NONE;
            while !rest.is_empty() {
                let (next, option) = smol::TcpOption::parse(rest).unwrap();
                match option {
                    smol::TcpOption::EndOfList => break,
                    smol::TcpOption::MaxSegmentSize(mss) => read.mss = Some(mss),
                    smol::TcpOption::WindowScale(shift) => read.window_scale = Some(shift),
                    smol::TcpOption::SackPermitted => read.sack_permitted = true,
                    smol::TcpOption::SackRange(blocks) => {
                        for (left, right) in blocks.into_iter().flatten() {
                            read.sack.push(SackBlock { left, right });
                        }
                    }
                    smol::TcpOption::TimeStamp { tsval, tsecr } => {
                        read.timestamps = Some(Timestamps { val: tsval, ecr: tsecr });
                    }
                    smol::TcpOption::Unknown { kind: 34, data } => {
                        read.fast_open = Cookie::new(data);
                    }
                    smol::TcpOption::Unknown { kind: 254, data: [0, 0xac] } => {
                        read.ack_rate = Some(AckRate::Supported);
                    }
                    smol::TcpOption::Unknown { kind: 254, data: [0, 0xac, rate] } => {
                        read.ack_rate = Some(AckRate::Request(rate / 2));
                    }
                    _ => {}
                }
                rest = next;
            }
            // smoltcp reads three blocks at most.
            let mut want = header.options;
            want.sack.truncate(3);
            prop_assert_eq!(read, want);
        }
    }
}
