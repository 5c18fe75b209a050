//! Prefix of the addresses of a network.

use core::net::Ipv6Addr;
use core::str::FromStr;
use std::fmt;

/// Length of the site prefix in bits.
const LEN: u8 = 48;
/// The subnet of the mesh.
const MESH: u16 = 0x7400;
/// The subnet of the host: outside the mesh's /64, so that motes send to it through the border
/// router.
const HOST: u16 = 0x7401;

/// The prefix of a mesh, and the address of the host behind its border router. Unless given, both
/// follow from a site prefix of 48 bits (RFC 4291 §2.5.4, RFC 4193 §3): its subnet 7400 is the
/// mesh, and its subnet 7401 has the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    mesh: Ipv6Addr,
    host: Ipv6Addr,
    /// Bits of the prefix of the host's address.
    len: u8,
}

impl Prefix {
    /// A unique local prefix (RFC 4193) that spells "kingl"; with the mesh's subnet, "kinglt".
    pub const DEFAULT: Prefix = Prefix::site([0xfd6b, 0x696e, 0x676c]);
    /// Length of a site prefix in bits.
    pub const LEN: u8 = LEN;

    const fn site([a, b, c]: [u16; 3]) -> Prefix {
        let mesh = Ipv6Addr::new(a, b, c, MESH, 0, 0, 0, 0);
        Prefix { mesh, host: Ipv6Addr::new(a, b, c, HOST, 0, 0, 0, 1), len: LEN }
    }

    /// The first 64 bits of `mesh` for the mesh; the host has the address `host` with a prefix of
    /// `len` bits.
    pub const fn given(mesh: Ipv6Addr, host: Ipv6Addr, len: u8) -> Prefix {
        let [a, b, c, d, ..] = mesh.segments();
        Prefix { mesh: Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), host, len }
    }

    /// The mesh's prefix, 64 bits.
    pub const fn mesh(self) -> Ipv6Addr {
        self.mesh
    }

    /// The host's address: the end of the gateway's TUN device.
    pub const fn host(self) -> Ipv6Addr {
        self.host
    }

    /// The length of the prefix of the host's address, in bits.
    pub const fn host_len(self) -> u8 {
        self.len
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// Parses `fd00:1:2::/48`, or the same without its length.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, len) = text.split_once('/').unwrap_or((text, "48"));
        if len != "48" {
            return Err(format!("/{len} is not possible; a network takes a prefix of 48 bits"));
        }
        let address: Ipv6Addr = address
            .parse()
            .map_err(|_| format!("\"{address}\" is not an IPv6 prefix, such as fd00:1:2::/48"))?;
        let [a, b, c, rest @ ..] = address.segments();
        if rest != [0; 5] {
            return Err(format!("{address} has bits beyond its first 48"));
        }
        // Unique local (RFC 4193) or global unicast (RFC 4291 §2.4).
        if a & 0xfe00 != 0xfc00 && a & 0xe000 != 0x2000 {
            let message = "is not for this; unique local ones begin with fd (RFC 4193)";
            return Err(format!("{address} {message}"));
        }
        Ok(Prefix::site([a, b, c]))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Prefix { host, len, .. } = *self;
        let rest = u128::MAX.checked_shr(len.into()).unwrap_or(0);
        write!(f, "{}/{len}", Ipv6Addr::from_bits(host.to_bits() & !rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_read_with_and_without_its_length() {
        for text in ["fd00:1:2::/48", "fd00:1:2::"] {
            let prefix: Prefix = text.parse().expect(text);
            assert_eq!(prefix.to_string(), "fd00:1:2::/48");
            assert_eq!(prefix.mesh().to_string(), "fd00:1:2:7400::");
            assert_eq!(prefix.host().to_string(), "fd00:1:2:7401::1");
        }
        assert_eq!(
            "2001:db8:5::/48".parse::<Prefix>().map(|p| p.to_string()).ok().as_deref(),
            Some("2001:db8:5::/48")
        );
        assert_eq!(Prefix::DEFAULT.to_string().parse(), Ok(Prefix::DEFAULT));
    }

    #[test]
    fn mesh_and_host_may_be_given() {
        let [mesh, host] = ["2001:db8::7", "fd00:5::9"].map(|text| text.parse().unwrap());
        let given = Prefix::given(mesh, host, 64);
        assert_eq!((given.mesh().to_string(), given.host()), ("2001:db8::".to_owned(), host));
        assert_eq!((given.to_string(), given.host_len()), ("fd00:5::/64".to_owned(), 64));
        assert_eq!(Prefix::given(mesh, host, 0).to_string(), "::/0");
    }

    #[test]
    fn a_prefix_of_another_length_or_kind_is_refused() {
        for (text, why) in [
            ("fd00:1:2::/64", "/64 is not possible"),
            ("fd00:1:2:3::", "bits beyond its first 48"),
            ("fd00:1:2::1/48", "bits beyond its first 48"),
            ("fe80::/48", "is not for this"),
            ("ff02::/48", "is not for this"),
            ("::/48", "is not for this"),
            ("10.0.0.0/48", "is not an IPv6 prefix"),
        ] {
            let error = text.parse::<Prefix>().expect_err(text);
            assert!(error.contains(why), "{error}");
        }
    }
}
