use super::*;
use crate::ieee802154::Address;
use proptest::prelude::*;
use std::vec::Vec;

fn addresses() -> impl Strategy<Value = Ipv6Addr> {
    any::<[u8; 16]>().prop_map(Ipv6Addr::from)
}

fn links() -> impl Strategy<Value = Address> {
    prop_oneof![any::<u16>().prop_map(Address::Short), any::<[u8; 8]>().prop_map(Address::Extended)]
}

fn kinds() -> impl Strategy<Value = Kind> {
    let router = any::<(u8, bool, bool, u16, u32, u32)>();
    let flags = (any::<(bool, bool, bool)>(), addresses());
    let duplicate = (any::<(bool, u8, Option<u8>, u16, [u8; 8])>(), addresses());
    prop_oneof![
        Just(Kind::RouterSolicitation),
        router.prop_map(|(hop_limit, managed, other, lifetime_s, reachable_ms, retrans_ms)| {
            Kind::RouterAdvertisement(RouterAdvertisement {
                hop_limit,
                managed,
                other,
                lifetime_s,
                reachable_ms,
                retrans_ms,
            })
        }),
        addresses().prop_map(Kind::NeighbourSolicitation),
        flags.prop_map(|((router, solicited, overriding), target)| {
            Kind::NeighbourAdvertisement(Advertisement { router, solicited, overriding, target })
        }),
        (addresses(), addresses())
            .prop_map(|(target, destination)| Kind::Redirect { target, destination }),
        duplicate.prop_map(|((confirmation, status, tid, lifetime_min, rovr), address)| {
            Kind::Duplicate(Duplicate { confirmation, status, tid, lifetime_min, rovr, address })
        }),
    ]
}

/// Returns the first bits of a prefix: bits that a short form does not contain must be zero.
fn cut(prefix: Ipv6Addr, len: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
    Ipv6Addr::from(u128::from(prefix) & mask)
}

fn options() -> impl Strategy<Value = NdOption<'static>> {
    let prefix = (addresses(), 0..=128u8, any::<(bool, bool, u32, u32)>());
    let registration = any::<(u8, u8, u8, bool, Option<u8>, u16, [u8; 8])>();
    let context = (0..16u8, any::<bool>(), addresses(), 0..=128u8, any::<u16>());
    let servers = prop::collection::vec(any::<u8>(), 1..4);
    prop_oneof![
        links().prop_map(NdOption::SourceLinkAddress),
        links().prop_map(NdOption::TargetLinkAddress),
        prefix.prop_map(|(prefix, len, (on_link, autonomous, valid_s, preferred_s))| {
            let info = PrefixInformation { prefix, len, on_link, autonomous, valid_s, preferred_s };
            NdOption::Prefix(info)
        }),
        any::<u32>().prop_map(NdOption::Mtu),
        (any::<u32>(), servers).prop_map(|(lifetime_s, seeds)| {
            let octets: Vec<u8> = seeds.iter().flat_map(|seed| [*seed; 16]).collect();
            NdOption::RecursiveDns { lifetime_s, servers: Servers::new(octets.leak()) }
        }),
        registration.prop_map(|(status, opaque, topology, routed, tid, lifetime_min, rovr)| {
            let opaque = (opaque, topology & 3);
            NdOption::Registration(Registration { status, opaque, routed, tid, lifetime_min, rovr })
        }),
        context.prop_map(|(id, compress, prefix, len, valid_min)| {
            let prefix = cut(prefix, len);
            NdOption::Context(ContextInformation { id, compress, prefix, len, valid_min })
        }),
        (any::<(u32, u16)>(), addresses()).prop_map(|((version, valid_min), address)| {
            NdOption::BorderRouter(BorderRouter { version, valid_min, address })
        }),
        any::<u16>().prop_map(|bits| NdOption::Capabilities(Capabilities(bits))),
        (40..=255u8, 0..4usize).prop_map(|(kind, units)| {
            NdOption::Other { kind, body: &[7; 30][..units * 8 + 6] }
        }),
    ]
}

proptest! {
    #[test]
    fn every_message_round_trips_with_all_its_options(
        kind in kinds(), options in prop::collection::vec(options(), 0..6),
    ) {
        let mut buf = [0xA5; 512];
        let mut builder = Builder::new(&mut buf, &kind).unwrap();
        for option in &options {
            builder.option(option).unwrap();
        }
        let len = builder.len();
        let message = Message::parse(&buf[..len]).unwrap();
        prop_assert_eq!(message.kind(), kind);
        prop_assert_eq!(message.options().collect::<Vec<_>>(), options.clone());
        // A message that is cut anywhere but between options is refused.
        for cut in 0..len {
            if let Ok(message) = Message::parse(&buf[..cut]) {
                prop_assert_eq!(message.kind(), kind);
                prop_assert!(options.starts_with(&message.options().collect::<Vec<_>>()));
            }
        }
    }

    #[test]
    fn a_buffer_that_is_too_short_is_refused_and_stays(kind in kinds(), option in options()) {
        let mut buf = [0; 512];
        let mut builder = Builder::new(&mut buf, &kind).unwrap();
        builder.option(&option).unwrap();
        let len = builder.len();
        let mut short = std::vec![0; len - 1];
        if let Ok(mut builder) = Builder::new(&mut short, &kind) {
            let before = builder.len();
            prop_assert_eq!(builder.option(&option), Err(Error::NoRoom(Field::NdOption)));
            prop_assert_eq!(builder.len(), before);
        }
    }

    #[test]
    fn no_octets_panic_and_what_is_read_can_be_written(
        mut octets in prop::collection::vec(any::<u8>(), 0..120),
        kind in 0..TYPES.len(), units in prop::collection::vec((0..40u8, 0..6u8), 0..5),
    ) {
        let _ = Message::parse(&octets);
        if octets.len() > 1 {
            (octets[0], octets[1]) = (TYPES[kind], 0);
            let len = fixed_len(TYPES[kind]).unwrap();
            octets.resize(octets.len().max(len), 0);
            octets.truncate(len);
            for (kind, units) in units {
                octets.extend([kind, units]);
                octets.resize(octets.len() + usize::from(units * 8).saturating_sub(2), kind);
            }
            if let Ok(message) = Message::parse(&octets) {
                let mut buf = [0; 512];
                let mut builder = Builder::new(&mut buf, &message.kind()).unwrap();
                for option in message.options() {
                    builder.option(&option).unwrap();
                }
                prop_assert!(builder.len() <= octets.len());
            }
        }
    }
}

#[test]
fn malformed_messages_are_refused() {
    let solicitation = |options: &[u8]| {
        let mut octets = std::vec![NEIGHBOUR_SOLICITATION, 0, 0, 0];
        octets.resize(24, 0);
        octets.extend(options);
        octets
    };
    assert!(Message::parse(&solicitation(&[])).is_ok());
    let option = Err(Error::Invalid(Field::NdOption));
    assert_eq!(Message::parse(&solicitation(&[1, 0, 0, 0, 0, 0, 0, 0])), option);
    assert_eq!(Message::parse(&solicitation(&[1, 2, 0, 0, 0, 0, 0, 0])), option);
    assert_eq!(Message::parse(&solicitation(&[1])), option);
    let mut coded = solicitation(&[]);
    coded[1] = 1;
    assert_eq!(Message::parse(&coded), Err(Error::Invalid(Field::Icmpv6Code)));
    let other = Message::parse(&[130, 0, 0, 0]);
    assert_eq!(other, Err(Error::Unsupported(Field::Icmpv6Type)));
}

#[test]
fn options_of_lengths_that_they_do_not_have_are_others() {
    let read = |octets: &[u8]| {
        let mut message = [0; 8].to_vec();
        message[0] = ROUTER_SOLICITATION;
        message.extend(octets);
        matches!(Message::parse(&message).unwrap().options().next(), Some(NdOption::Other { .. }))
    };
    // The lengths of each type, in units of eight octets.
    for (kind, lengths) in [
        (1, &[1, 2][..]),
        (2, &[1, 2]),
        (3, &[4]),
        (5, &[1]),
        (25, &[3, 5]),
        (33, &[2]),
        (34, &[2, 3]),
        (35, &[3]),
        (36, &[1]),
    ] {
        for len in 1..=6u8 {
            let mut octets = std::vec![0; usize::from(len) * 8];
            (octets[0], octets[1]) = (kind, len);
            assert_eq!(read(&octets), !lengths.contains(&len), "type {kind}, length {len}");
        }
    }
    // A context of more than 64 bits in the short form.
    assert!(read(&[34, 2, 65].iter().chain(&[0; 13]).copied().collect::<Vec<u8>>()));
}

#[test]
fn the_octets_are_those_of_the_rfcs() {
    // RFC 4944, 8: 16-bit addresses have length 1, EUI-64s length 2.
    let mut buf = [0; 40];
    let short = NdOption::SourceLinkAddress(Address::Short(0x1234));
    assert_eq!(short.emit(&mut buf), Ok(8));
    assert_eq!(buf[..8], [1, 1, 0x12, 0x34, 0, 0, 0, 0]);
    let extended = NdOption::TargetLinkAddress(Address::Extended([1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(extended.emit(&mut buf), Ok(16));
    assert_eq!(buf[..16], [2, 2, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0]);
    let address = "fe80::ff:fe00:1234".parse().unwrap();
    let group: Ipv6Addr = "ff02::1:ff00:1234".parse().unwrap();
    assert_eq!(solicited_node(address), group);
}

#[test]
fn duplicate_address_messages_have_two_forms() {
    // RFC 6775, 4.4, and RFC 8505, 4.2, whose code prefix is ignored.
    let mut octets = [0; 32];
    octets[..8].copy_from_slice(&[DUPLICATE_ADDRESS_REQUEST, 0, 0, 0, 1, 0xF1, 0, 60]);
    let read = |octets: &[u8]| match Message::parse(octets)?.kind() {
        Kind::Duplicate(it) => Ok((it.status, it.tid, it.lifetime_min)),
        other => panic!("{other:?}"),
    };
    assert_eq!(read(&octets), Ok((1, None, 60)));
    octets[1] = 0xA1;
    assert_eq!(read(&octets), Ok((1, Some(0xF1), 60)));
    octets[1] = 2;
    assert_eq!(read(&octets), Err(Error::Unsupported(Field::Icmpv6Type)));
}
