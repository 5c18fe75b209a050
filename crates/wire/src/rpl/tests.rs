use super::*;
use crate::Error;
use crate::Field;
use proptest::prelude::*;
use std::vec::Vec;

fn address() -> impl Strategy<Value = Ipv6Addr> {
    any::<u128>().prop_map(Ipv6Addr::from_bits)
}

fn messages() -> impl Strategy<Value = Message> {
    let dio = (any::<[u8; 4]>(), any::<u16>(), any::<bool>(), address());
    let dao = || (any::<[u8; 3]>(), any::<bool>(), proptest::option::of(address()));
    prop_oneof![
        Just(Message::Dis(Dis)),
        dio.prop_map(|([instance, version, flags, dtsn], rank, grounded, dodag_id)| {
            let (mode, preference) = (flags >> 3 & 7, flags & 7);
            Message::Dio(Dio {
                instance,
                version,
                rank,
                grounded,
                mode,
                preference,
                dtsn,
                dodag_id,
            })
        }),
        dao().prop_map(|([instance, sequence, _], acknowledge, dodag_id)| {
            Message::Dao(Dao { instance, acknowledge, sequence, dodag_id })
        }),
        dao().prop_map(|([instance, sequence, status], _, dodag_id)| {
            Message::DaoAck(DaoAck { instance, sequence, status, dodag_id })
        }),
    ]
}

fn configurations() -> impl Strategy<Value = ControlOption<'static>> {
    (any::<[u8; 5]>(), any::<[u16; 4]>(), any::<[bool; 3]>()).prop_map(|(octets, words, flags)| {
        ControlOption::Configuration(Configuration {
            authentication: flags[0],
            skips_unknown: flags[1],
            compressed: flags[2],
            path_control_size: octets[0] & 7,
            interval_doublings: octets[1],
            interval_min: octets[2],
            redundancy: octets[3],
            max_rank_increase: words[0],
            min_hop_rank_increase: words[1],
            objective: words[2],
            default_lifetime: octets[4],
            lifetime_unit_secs: words[3],
        })
    })
}

fn options() -> impl Strategy<Value = ControlOption<'static>> {
    let prefix = || (address(), 0..=128u8).prop_map(|(prefix, len)| (masked(prefix, len), len));
    let optional = || (any::<Option<u8>>(), proptest::option::of(address()), any::<Option<u8>>());
    prop_oneof![
        (prefix(), 0..4u8, any::<u32>()).prop_map(|((prefix, prefix_len), preference, n)| {
            let lifetime_secs = n;
            ControlOption::Route(RouteInformation { prefix, prefix_len, preference, lifetime_secs })
        }),
        configurations(),
        prefix()
            .prop_map(|(prefix, prefix_len)| ControlOption::Target(Target { prefix, prefix_len })),
        (any::<[u8; 3]>(), any::<bool>(), proptest::option::of(address())).prop_map(
            |([path_control, path_sequence, path_lifetime], external, parent)| {
                let transit =
                    Transit { external, path_control, path_sequence, path_lifetime, parent };
                ControlOption::Transit(transit)
            }
        ),
        optional().prop_map(|(instance, dodag_id, version)| {
            ControlOption::Solicited(Solicited { instance, dodag_id, version })
        }),
        (address(), 0..=128u8, any::<[u32; 2]>(), any::<[bool; 3]>()).prop_map(
            |(prefix, prefix_len, secs, flags)| {
                ControlOption::Prefix(PrefixInformation {
                    prefix_len,
                    on_link: flags[0],
                    autonomous: flags[1],
                    router_address: flags[2],
                    valid_secs: secs[0],
                    preferred_secs: secs[1],
                    prefix,
                })
            }
        ),
        any::<u32>().prop_map(ControlOption::Descriptor),
        (10..=255u8, any::<u8>()).prop_map(|(kind, len)| {
            static DATA: [u8; 255] = [0xA5; 255];
            ControlOption::Other { kind, data: &DATA[..usize::from(len)] }
        }),
    ]
}

fn metrics() -> impl Strategy<Value = Metric<'static>> {
    let kind = prop_oneof![
        any::<[bool; 2]>()
            .prop_map(|[aggregates, overloaded]| MetricKind::NodeState { aggregates, overloaded }),
        any::<u8>().prop_map(MetricKind::HopCount),
        any::<u16>().prop_map(MetricKind::Etx),
        (8..=255u8).prop_map(|kind| MetricKind::Other { kind, body: &[1, 2, 3] }),
    ];
    (kind, any::<[bool; 4]>(), 0..8u8, 0..16u8).prop_map(
        |(kind, [partial, constraint, optional, recorded], aggregation, precedence)| Metric {
            kind,
            partial,
            constraint,
            optional,
            recorded,
            aggregation,
            precedence,
        },
    )
}

proptest! {
    #[test]
    fn messages_round_trip_with_all_their_options(
        message in messages(),
        options in prop::collection::vec((options(), 0..5usize), 0..6),
    ) {
        let mut octets = [0; 2048];
        let mut writer = Writer::new(&mut octets, &message).unwrap();
        for (option, padding) in &options {
            writer.pad(*padding).unwrap();
            writer.option(option).unwrap();
        }
        let len = writer.len();
        let (read, back) = Message::parse(message.code(), &octets[..len]).unwrap();
        prop_assert_eq!(read, message);
        let options: Vec<_> = options.into_iter().map(|(option, _)| option).collect();
        prop_assert_eq!(back.collect::<Vec<_>>(), options);
        if len > message.buffer_len() {
            prop_assert!(Message::parse(message.code(), &octets[..len - 1]).is_err());
        }
    }

    #[test]
    fn metrics_round_trip(metrics in prop::collection::vec(metrics(), 0..5)) {
        let (mut room, mut octets) = ([0; 64], [0; 80]);
        let container = MetricContainer::build(&metrics, &mut room).unwrap();
        let mut writer = Writer::new(&mut octets, &Message::Dis(Dis)).unwrap();
        writer.option(&ControlOption::Metrics(container)).unwrap();
        let len = writer.len();
        let (_, mut options) = Message::parse(0, &octets[..len]).unwrap();
        let Some(ControlOption::Metrics(back)) = options.next() else { panic!() };
        prop_assert_eq!(back.collect::<Vec<_>>(), metrics);
    }

    #[test]
    fn no_octets_panic(octets in prop::collection::vec(any::<u8>(), 0..80), code in 0..6u8) {
        if let Ok((_, options)) = Message::parse(code, &octets) {
            prop_assert!(options.count() <= octets.len());
        }
        let _ = PacketInformation::read(&octets);
        if let Ok(route) = SourceRoute::parse(&octets) {
            for index in 0..=route.len() {
                let address = route.address(index, Ipv6Addr::LOCALHOST);
                prop_assert_eq!(address.is_some(), index < route.len());
            }
        }
        let mut octets = octets;
        let _ = SourceRoute::advance(&mut octets, Ipv6Addr::LOCALHOST, |_| false);
    }

    #[test]
    fn a_source_route_visits_all_hops_in_order(
        hops in prop::collection::btree_set(any::<u16>(), 2..12), shared in any::<u64>(), far: bool,
    ) {
        let address = |hop: &u16| {
            let apart = if far { u128::from(*hop) << 100 } else { 0 };
            Ipv6Addr::from_bits(u128::from(shared) << 64 >> 4 ^ apart ^ u128::from(*hop))
        };
        let hops: Vec<_> = hops.iter().map(address).collect();
        let (first, rest) = (hops[0], &hops[1..]);
        let mut octets = [0; 300];
        let len = SourceRoute::emit(58, first, rest, &mut octets).unwrap();
        prop_assert_eq!(len, SourceRoute::buffer_len(first, rest));
        let header = &mut octets[..len];
        let route = SourceRoute::parse(header).unwrap();
        prop_assert_eq!((route.next_header(), usize::from(route.len())), (58, rest.len()));
        let mut at = first;
        for &hop in rest {
            prop_assert_eq!(SourceRoute::advance(header, at, |own| own == at), Ok(Some(hop)));
            at = hop;
        }
        prop_assert_eq!(SourceRoute::advance(header, at, |own| own == at), Ok(None));
    }

    #[test]
    fn packet_information_round_trips(flags: [bool; 3], instance: u8, sender_rank: u16) {
        let [down, rank_error, forwarding_error] = flags;
        let it = PacketInformation { down, rank_error, forwarding_error, instance, sender_rank };
        let header = it.hop_by_hop(6, PacketInformation::SKIPPED_IF_UNKNOWN);
        prop_assert_eq!(&header[..4], &[6, 0, 0x23, 4]);
        prop_assert_eq!(PacketInformation::read(&header[4..]), Ok(it));
    }
}

#[test]
fn malformed_messages_are_refused_with_the_wrong_field() {
    let invalid = |field| Err(Error::Invalid(field));
    for (octets, error) in [
        (&[0, 0, 5][..], Err(Error::Truncated(Field::RplOption))),
        (&[0, 0, 5, 3, 0, 129, 0], invalid(Field::RplPrefixLength)),
        (&[0, 0, 5, 3, 0, 16, 0], invalid(Field::RplPrefixLength)),
        (&[0, 0, 4, 1, 0], invalid(Field::RplOption)),
        (&[0, 0, 6, 5, 0, 0, 0, 0, 0], invalid(Field::RplOption)),
        (&[0, 0, 2, 3, 7, 0, 0], Err(Error::Truncated(Field::RplDagMetric))),
        (&[0, 0, 2, 5, 7, 0, 0, 1, 1], invalid(Field::RplDagMetric)),
    ] {
        assert_eq!(Message::parse(0, octets).map(|_| ()), error, "{octets:x?}");
    }
    assert_eq!(Message::parse(1, &[0; 23]).map(|_| ()), Err(Error::Truncated(Field::RplMessage)));
    assert_eq!(Message::parse(0x81, &[0; 24]).map(|_| ()), Err(Error::Unsupported(Field::RplCode)));
}

#[test]
fn a_source_route_of_neighbours_elides_what_they_share() {
    let hop = |n| Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0xFF, 0xFE00, n);
    // Two octets each, four of padding.
    assert_eq!(SourceRoute::buffer_len(hop(1), &[hop(0x102), hop(0x203)]), 16);
    assert_eq!(SourceRoute::buffer_len(hop(1), &[hop(2), hop(3)]), 16);
    let mut octets = [0; 16];
    SourceRoute::emit(6, hop(1), &[hop(2), hop(3)], &mut octets).unwrap();
    assert_eq!(octets, [6, 1, 3, 2, 0xFF, 0x60, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_source_route_ends_where_it_would_return_or_is_forged() {
    let hop = |n| Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, n);
    let mut octets = [0; 64];
    let len = SourceRoute::emit(6, hop(1), &[hop(2), hop(1), hop(3)], &mut octets).unwrap();
    let advance = |octets: &mut [u8], at| SourceRoute::advance(octets, at, |own| own == at);
    assert_eq!(advance(&mut octets[..len], hop(1)), Err(SourceRouteFault::Loop));
    octets[3] = 4;
    assert_eq!(advance(&mut octets[..len], hop(9)), Err(SourceRouteFault::SegmentsLeft));
    assert_eq!(advance(&mut octets[..7], hop(9)), Err(SourceRouteFault::Malformed));
    let group = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
    let len = SourceRoute::emit(6, hop(1), &[group], &mut octets).unwrap();
    assert_eq!(advance(&mut octets[..len], hop(1)), Err(SourceRouteFault::Multicast));
}
