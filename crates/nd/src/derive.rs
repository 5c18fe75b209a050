//! Addresses whose interface identifier contains the link address, so that no resolution is needed.

use core::net::Ipv6Addr;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::is_link_local;
use kinglet_wire::sixlowpan::{derived_iid, link_address_of};

/// The universal/local bit of an identifier.
const UNIVERSAL: u8 = 2;

/// Returns the link address that follows from an address in the PAN `pan`:
///
/// * a short one if the identifier is 0000:00ff:fe00:XXXX (RFC 6282, 3.2.2) or, as on Linux,
///   PPPP:00ff:fe00:XXXX with the PAN, less the universal/local bit (RFC 4944, 6);
/// * an extended one if the address is link-local: those of a LoWPAN are formed from the EUI-64
///   (RFC 6775, 5.2). This is a guess, as other nodes use unpredictable identifiers (RFC 7217).
///
/// `None` for other addresses: any other identifier looks like an EUI-64, and most are not.
pub const fn derived(address: Ipv6Addr, pan: u16) -> Option<Address> {
    if let Some(short) = short(address, pan) {
        return Some(short);
    }
    if is_link_local(address) { Some(link_address_of(address)) } else { None }
}

/// Returns the link address if it is a short one, which is no guess.
pub(crate) const fn short(address: Ipv6Addr, pan: u16) -> Option<Address> {
    match address.octets() {
        [_, _, _, _, _, _, _, _, p, q, 0, 0xFF, 0xFE, 0, a, b] => {
            let [first, second] = pan.to_be_bytes();
            let of_pan = p == first & !UNIVERSAL && q == second;
            if of_pan || p | q == 0 {
                Some(Address::Short(u16::from_be_bytes([a, b])))
            } else {
                None
            }
        }
        _ => None,
    }
}

/// Returns the link-local address that follows from a link address (RFC 4944, 7).
pub(crate) fn link_local(link: Address) -> Option<Ipv6Addr> {
    let [a, b, c, d, e, f, g, h] = derived_iid(link)?;
    Some(Ipv6Addr::from([0xFE, 0x80, 0, 0, 0, 0, 0, 0, a, b, c, d, e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    #[test]
    fn short_addresses_are_recognised_in_both_forms_under_every_prefix() {
        let short = Some(Address::Short(0x1234));
        for prefix in ["fe80::", "2001:db8::"] {
            assert_eq!(derived(ip(&std::format!("{prefix}ff:fe00:1234")), 0xABCD), short);
            // For the PAN 0xabcd the universal/local bit, 0x0200, is cleared.
            assert_eq!(derived(ip(&std::format!("{prefix}a9cd:ff:fe00:1234")), 0xABCD), short);
        }
        assert_eq!(derived(ip("2001:db8::a9cd:ff:fe00:1234"), 0xABCE), None);
    }

    #[test]
    fn extended_addresses_are_guessed_on_the_link_only() {
        let extended = Address::Extended([2, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(derived(ip("fe80::9"), 0), Some(extended));
        assert_eq!(derived(ip("2001:db8::9"), 0), None);
    }
}
