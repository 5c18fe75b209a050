//! Queries and responses, octet by octet.

use super::*;
use std::string::String;
use std::vec::Vec;

fn query(host: &str) -> Result<Vec<u8>, Error> {
    let mut out = [0; MAX_QUERY];
    let len = write_query(0x1234, host, &mut out)?;
    Ok(out[..len].to_vec())
}

const ADDRESS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0x53);

/// The response with these records: type and data each.
fn response(query: &[u8], rcode: u8, records: &[([u8; 2], &[u8])]) -> Vec<u8> {
    let mut octets = query.to_vec();
    octets[2] |= 0x80;
    octets[3] = 0x80 | rcode;
    octets[7] = records.len() as u8;
    for (kind, data) in records {
        // A pointer to the question, and a time to live of 60 s.
        octets.extend([0xC0, 12, kind[0], kind[1], 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
        octets.extend_from_slice(data);
    }
    octets
}

#[test]
fn a_query_asks_for_the_ipv6_address_of_a_name() {
    let expected = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x02eu\x07example\0\0\x1c\0\x01";
    assert_eq!(query("eu.example").as_deref(), Ok(&expected[..]));
    assert_eq!(query("eu.example."), query("eu.example"));
}

#[test]
fn names_that_no_message_can_carry_are_refused() {
    let label = "a".repeat(63);
    let longest = [&label[..], &label, &label, &"b".repeat(61)].join(".");
    assert_eq!(longest.len(), 253);
    assert_eq!(query(&longest).map(|it| it.len()), Ok(MAX_QUERY));
    let names: [String; 6] = [
        String::new(),
        ".".into(),
        "a..b".into(),
        ".a".into(),
        "a".repeat(64),
        [&label[..], &label, &label, &"b".repeat(62)].join("."),
    ];
    for name in names {
        assert_eq!(query(&name), Err(Error::BadName), "{name}");
    }
}

#[test]
fn the_address_is_found_behind_other_records() {
    let asked = query("broker.example").unwrap();
    let cname = (&[0u8, 5], &b"\x03www\xC0\x0C"[..]);
    let (aaaa, octets) = ([0, 28], ADDRESS.octets());
    let alone = response(&asked, 0, &[(aaaa, &octets)]);
    assert_eq!(read_response(&asked, &alone), Some(Ok(ADDRESS)));
    let behind = response(&asked, 0, &[(*cname.0, cname.1), (aaaa, &octets), (aaaa, &[1; 16])]);
    assert_eq!(read_response(&asked, &behind), Some(Ok(ADDRESS)));
    let mut other_case = alone;
    other_case[13] = b'B';
    assert_eq!(read_response(&asked, &other_case), Some(Ok(ADDRESS)));
}

#[test]
fn failures_are_told_apart() {
    let asked = query("broker.example").unwrap();
    let result = |rcode, records: &[([u8; 2], &[u8])]| {
        read_response(&asked, &response(&asked, rcode, records)).unwrap()
    };
    assert_eq!(result(3, &[]), Err(Error::NoSuchName));
    assert_eq!(result(2, &[]), Err(Error::ServerFailure));
    assert_eq!(result(0, &[]), Err(Error::NoSuchName), "it has other records only");
    assert_eq!(result(0, &[([0, 28], &[1; 4])]), Err(Error::NoSuchName), "no address");
}

#[test]
fn what_is_no_response_to_the_query_is_passed_over() {
    let asked = query("broker.example").unwrap();
    let right = response(&asked, 0, &[([0, 28], &ADDRESS.octets())]);
    assert_eq!(read_response(&asked, &asked), None, "a query");
    for (at, what) in [(0, "identifier"), (1, "identifier"), (14, "name"), (5, "questions")] {
        let mut wrong = right.clone();
        wrong[at] ^= 1;
        assert_eq!(read_response(&asked, &wrong), None, "{what}");
    }
    let mut opcode = right.clone();
    opcode[2] |= 8;
    assert_eq!(read_response(&asked, &opcode), None);
    // Cut short, it has no address; whatever octet changes, nothing panics.
    for len in 0..right.len() {
        assert!(!matches!(read_response(&asked, &right[..len]), Some(Ok(_))), "{len} octets");
    }
    for at in 0..right.len() {
        for octet in 0..=255 {
            let mut changed = right.clone();
            changed[at] = octet;
            let _ = read_response(&asked, &changed);
        }
    }
}
