//! Formats (RFC 6775, 4; RFC 8505, 4): reserved bits, and the two forms of registrations.

use super::{asks, context, global};
use core::net::Ipv6Addr;
use kinglet_wire::nd::{self, Builder, ContextInformation, Duplicate, Kind};
use kinglet_wire::nd::{NdOption, Registration};

/// Reserved bits of a message: octet and mask.
type Reserved = &'static [(usize, u8)];

fn written(kind: &Kind, option: Option<NdOption<'_>>) -> Vec<u8> {
    let mut octets = [0xA5; 100];
    let mut builder = Builder::new(&mut octets, kind).unwrap();
    option.iter().for_each(|option| builder.option(option).unwrap());
    let len = builder.len();
    octets[..len].to_vec()
}

fn read(octets: &[u8]) -> String {
    let message = nd::Message::parse(octets).unwrap();
    format!("{:?} {:?}", message.kind(), message.options().collect::<Vec<_>>())
}

/// Checks that reserved bits are written as zero, and ignored on reception.
fn check(kind: Kind, option: Option<NdOption<'_>>, reserved: Reserved) {
    let octets = written(&kind, option);
    let mut other = octets.clone();
    for (at, mask) in reserved {
        assert_eq!(octets[*at] & mask, 0, "octet {at} of {kind:?} {option:?}");
        other[*at] |= mask;
    }
    assert_eq!(read(&octets), read(&other), "{kind:?} {option:?}");
}

fn duplicate(tid: Option<u8>) -> Kind {
    let (confirmation, status, lifetime_min, rovr) = (false, 0, 60, [7; 8]);
    let address = global(7);
    Kind::Duplicate(Duplicate { confirmation, status, tid, lifetime_min, rovr, address })
}

//= rfc6775#4.1-3 rfc6775#4.2-3 rfc6775#4.4-4 rfc6775#8.2.1-2 type=test
//= rfc8505#4.1-3 rfc8505#4.1-5 rfc8505#4.2-1 rfc8505#4.2-3 type=test
#[test]
fn reserved_bits_are_zero_and_ignored() {
    // After the eight octets of a Router Solicitation, and type and length.
    let with = |option, reserved| check(Kind::RouterSolicitation, Some(option), reserved);
    // Without the T flag there is no transaction.
    with(NdOption::Registration(asks(7, None, 60)), &[(12, 0xF0), (13, 0xFF)]);
    with(NdOption::Registration(asks(7, Some(9), 60)), &[(12, 0xF0)]);
    with(NdOption::Context(context(true, 60)), &[(11, 0xE0), (12, 0xFF), (13, 0xFF)]);
    // The code's prefix, and the octet that is a transaction in the other form.
    check(duplicate(None), None, &[(1, 0xF0), (5, 0xFF)]);
    check(duplicate(Some(9)), None, &[(1, 0xF0)]);
}

//= rfc6775#4.2-1 type=test
#[test]
fn a_context_of_more_than_64_bits_has_three_units() {
    for (len, units) in [(0, 2), (64, 2), (65, 3), (128, 3)] {
        let prefix = Ipv6Addr::UNSPECIFIED;
        let it = ContextInformation { prefix, len, ..context(true, 60) };
        let octets = written(&Kind::RouterSolicitation, Some(NdOption::Context(it)));
        assert_eq!((octets[9], octets.len()), (units, 8 + 8 * usize::from(units)), "{len}");
    }
}

//= rfc8505#4.1-4 rfc8505#4.1-7 type=test
#[test]
fn a_registration_has_a_verifier_of_64_bits_and_no_reserved_meaning() {
    let it: Registration = asks(7, Some(9), 60);
    let octets = written(&Kind::RouterSolicitation, Some(NdOption::Registration(it)));
    // Type and two units; status, opaque; I is 0, R and T are set; transaction.
    assert_eq!(octets[8..14], [33, 2, 0, 0, 3, 9]);
}

//= rfc6775#4.4-2 rfc8505#4.2-2 type=test
#[test]
fn the_code_of_a_duplicate_address_message_says_its_form() {
    for (tid, code) in [(None, 0), (Some(9), 1)] {
        let octets = written(&duplicate(tid), None);
        assert_eq!((octets[1], octets[5]), (code, tid.unwrap_or(0)));
    }
}
