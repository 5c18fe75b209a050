//! Properties that a coprocessor reports of itself, and the check that it can be used.

use crate::message::{Property, Reader, Status};
use core::fmt;
use kinglet_radio::Channel;

/// Version of the protocol; minor versions are compatible.
const PROTOCOL_MAJOR: u32 = 4;
/// Oldest interface of a coprocessor that is supported: frames are sent with the flags of
/// [`crate::raw`].
const OLDEST_API: u32 = 4;
/// Version of the interface that this host implements.
const HOST_API: u32 = 11;
/// Capabilities of the firmware: it is a radio without a stack, and has raw frames.
const CONFIG_RADIO: u32 = 34;
const MAC_RAW: u32 = 513;
/// Functions of the radio, as bits: it notices missing acknowledgements, and does CSMA-CA.
const ACK_TIMEOUT: u32 = 1;
const CSMA_BACKOFF: u32 = 1 << 3;

/// Properties that are queried, in this order.
pub(crate) const QUERIES: [Property; 8] = [
    Property::PROTOCOL_VERSION,
    Property::NCP_VERSION,
    Property::CAPS,
    Property::RCP_API_VERSION,
    Property::RCP_MIN_HOST_API_VERSION,
    Property::HWADDR,
    Property::PHY_CHAN_SUPPORTED,
    Property::RADIO_CAPS,
];

/// Properties of a coprocessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Name and version of its firmware.
    pub version: String,
    /// Version of its interface.
    pub api: u32,
    /// Its EUI-64, most significant octet first.
    pub eui64: [u8; 8],
    /// Its channels.
    pub channels: Vec<Channel>,
}

/// Reason for which a coprocessor cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has another major version of spinel.
    Protocol {
        /// Its major and minor version.
        version: (u32, u32),
    },
    /// It is no radio coprocessor: it has a network stack of its own, or no raw frames.
    NoRadio {
        /// Name and version of its firmware.
        version: String,
    },
    /// Its interface is older than 4, or it reports none.
    TooOld {
        /// Name and version of its firmware.
        version: String,
        /// Version of its interface.
        api: Option<u32>,
    },
    /// It needs a host with an interface newer than 11.
    TooNew {
        /// Name and version of its firmware.
        version: String,
        /// Lowest version of a host.
        needs: u32,
    },
    /// It lacks a function of the radio.
    Lacks {
        /// Name and version of its firmware.
        version: String,
        /// The function.
        function: &'static str,
    },
    /// It does not report this property, or not in its form.
    Unreadable {
        /// The property.
        property: Property,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Protocol { version: (major, minor) } => write!(
                f,
                "it speaks version {major}.{minor} of spinel; needed is {PROTOCOL_MAJOR}.x"
            ),
            Refusal::NoRadio { version } => write!(
                f,
                "its firmware \"{version}\" is no radio coprocessor (RCP); needed is ot-rcp or a \
                 firmware with its interface"
            ),
            Refusal::TooOld { version, api: Some(api) } => write!(
                f,
                "its firmware \"{version}\" has RCP interface {api}; needed is {OLDEST_API} or \
                 newer"
            ),
            Refusal::TooOld { version, api: None } => write!(
                f,
                "its firmware \"{version}\" reports no version of the RCP interface; needed is \
                 {OLDEST_API} or newer"
            ),
            Refusal::TooNew { version, needs } => write!(
                f,
                "its firmware \"{version}\" needs a host with RCP interface {needs} or newer; this \
                 one has {HOST_API}"
            ),
            Refusal::Lacks { version, function } => {
                write!(f, "its firmware \"{version}\" lacks {function}")
            }
            Refusal::Unreadable { property } => {
                write!(f, "its property {property:?} cannot be read")
            }
        }
    }
}

impl Identity {
    /// Notes the answer to a query.
    pub(crate) fn note(&mut self, property: Property, value: &[u8]) -> Result<(), Refusal> {
        let mut reader = Reader(value);
        let read = self.read(property, &mut reader);
        read.ok_or(Refusal::Unreadable { property }).flatten()
    }

    fn read(&mut self, property: Property, reader: &mut Reader<'_>) -> Option<Result<(), Refusal>> {
        let version = || self.version.clone();
        Some(match property {
            Property::PROTOCOL_VERSION => match (reader.packed()?, reader.packed()?) {
                (PROTOCOL_MAJOR, _) => Ok(()),
                version => Err(Refusal::Protocol { version }),
            },
            Property::NCP_VERSION => {
                let text = reader.0.split(|octet| *octet == 0).next().unwrap_or_default();
                self.version = String::from_utf8_lossy(text).into_owned();
                Ok(())
            }
            Property::CAPS => {
                let caps: Vec<u32> = core::iter::from_fn(|| reader.packed()).collect();
                match [CONFIG_RADIO, MAC_RAW].iter().all(|needed| caps.contains(needed)) {
                    true => Ok(()),
                    false => Err(Refusal::NoRadio { version: version() }),
                }
            }
            Property::RCP_API_VERSION => {
                self.api = reader.packed()?;
                match self.api {
                    OLDEST_API.. => Ok(()),
                    api => Err(Refusal::TooOld { version: self.version.clone(), api: Some(api) }),
                }
            }
            Property::RCP_MIN_HOST_API_VERSION => match reader.packed()? {
                0..=HOST_API => Ok(()),
                needs => Err(Refusal::TooNew { version: version(), needs }),
            },
            Property::HWADDR => {
                self.eui64 = reader.eui64()?;
                Ok(())
            }
            Property::PHY_CHAN_SUPPORTED => {
                self.channels = reader.0.iter().filter_map(|it| Channel::new(*it)).collect();
                match self.channels.is_empty() {
                    false => Ok(()),
                    true => {
                        let function = "channels of the 2.4 GHz band (11 to 26)";
                        Err(Refusal::Lacks { version: self.version.clone(), function })
                    }
                }
            }
            Property::RADIO_CAPS => {
                let caps = reader.packed()?;
                let lacks = |function| Err(Refusal::Lacks { version: version(), function });
                match (caps & ACK_TIMEOUT, caps & CSMA_BACKOFF) {
                    (0, _) => lacks("the timeout of acknowledgements"),
                    (_, 0) => lacks("CSMA-CA"),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        })
    }

    /// Notes that a query was answered by a status.
    pub(crate) fn note_status(&self, property: Property, status: Status) -> Result<(), Refusal> {
        match property {
            Property::RCP_API_VERSION if status == Status::PROP_NOT_FOUND => {
                Err(Refusal::TooOld { version: self.version.clone(), api: None })
            }
            // Before version 5 of the interface there was no such limit.
            Property::RCP_MIN_HOST_API_VERSION => Ok(()),
            _ => Err(Refusal::Unreadable { property }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(answers: &[(Property, &[u8])]) -> Result<Identity, String> {
        let mut identity = Identity { version: "fw".to_owned(), ..Identity::default() };
        for (property, value) in answers {
            identity.note(*property, value).map_err(|refusal| refusal.to_string())?;
        }
        Ok(identity)
    }

    #[test]
    fn the_simulated_coprocessor_of_openthread_is_accepted() {
        let identity = noted(&[
            (Property::PROTOCOL_VERSION, &[4, 3]),
            (Property::NCP_VERSION, b"OPENTHREAD/1.4; SIMULATION\0"),
            (Property::CAPS, &[5, 12, 24, 34, 0x81, 4, 64, 65]),
            (Property::RCP_API_VERSION, &[11]),
            (Property::RCP_MIN_HOST_API_VERSION, &[4]),
            (Property::HWADDR, &[0x18, 0xb4, 0x30, 0, 0, 0, 0, 1]),
            (Property::PHY_CHAN_SUPPORTED, &[0, 11, 26, 27]),
            (Property::RADIO_CAPS, &[0x7f]),
        ])
        .unwrap();
        assert_eq!(identity.version, "OPENTHREAD/1.4; SIMULATION");
        assert_eq!((identity.api, identity.eui64[7]), (11, 1));
        let channels: Vec<u8> = identity.channels.iter().map(|it| it.number()).collect();
        assert_eq!(channels, [11, 26], "of the 2.4 GHz band");
    }

    #[test]
    fn others_are_refused_with_the_reason() {
        let cases: [(Property, &[u8], &str); 9] = [
            (Property::PROTOCOL_VERSION, &[5, 0], "version 5.0 of spinel; needed is 4.x"),
            (Property::PROTOCOL_VERSION, &[4], "0x01 cannot be read"),
            (Property::CAPS, &[5, 12, 33, 0x81, 4], "\"fw\" is no radio coprocessor (RCP)"),
            (Property::CAPS, &[34], "is no radio coprocessor"),
            (Property::RCP_API_VERSION, &[3], "has RCP interface 3; needed is 4 or newer"),
            (Property::RCP_MIN_HOST_API_VERSION, &[12], "needs a host with RCP interface 12"),
            (Property::PHY_CHAN_SUPPORTED, &[1, 2, 10], "lacks channels of the 2.4 GHz band"),
            (Property::RADIO_CAPS, &[0x7e], "lacks the timeout of acknowledgements"),
            (Property::RADIO_CAPS, &[0x77], "lacks CSMA-CA"),
        ];
        for (property, value, says) in cases {
            let error = noted(&[(property, value)]).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_property_that_is_not_known_is_a_reason_as_well() {
        let identity = Identity::default();
        let of = |property| identity.note_status(property, Status::PROP_NOT_FOUND);
        assert!(matches!(of(Property::RCP_API_VERSION), Err(Refusal::TooOld { api: None, .. })));
        assert!(matches!(of(Property::CAPS), Err(Refusal::Unreadable { .. })));
        assert_eq!(of(Property::RCP_MIN_HOST_API_VERSION), Ok(()));
    }
}
