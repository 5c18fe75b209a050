//! The link to a radio, as a URL.

use crate::air::Ends;
use core::fmt;
use core::str::FromStr;
use kinglet_spinel::Url;

const ZEP: &str = "zep://";
const SPINEL: &str = "spinel+";

/// The link to a radio, as a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// `zep://[LOCAL,]REMOTE`: frames as UDP datagrams.
    Zep(Ends),
    /// `spinel+serial:DEVICE?baud=460800` or `spinel+exec:PROGRAM ARGUMENTS`: a radio coprocessor.
    Spinel(Url),
}

impl FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(ends) = text.strip_prefix(ZEP) {
            return Ok(Link::Zep(ends.trim_end_matches('/').parse()?));
        }
        if text.starts_with(SPINEL) {
            return text
                .parse()
                .map(Link::Spinel)
                .map_err(|error: kinglet_spinel::UrlError| error.to_string());
        }
        Err(format!(
            "\"{text}\" is not the link to a radio; that is \
             \"spinel+serial:/dev/ttyACM0?baud=460800\", \"spinel+exec:PROGRAM ARGUMENTS\" or \
             \"zep://[::1]:17754\""
        ))
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Link::Zep(Ends { local: Some(local), remote }) => write!(f, "{ZEP}{local},{remote}"),
            Link::Zep(Ends { local: None, remote }) => write!(f, "{ZEP}{remote}"),
            Link::Spinel(url) => url.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_urls() {
        for text in [
            "zep://127.0.0.1:1,127.0.0.1:2",
            "zep://[::1]:17754",
            "spinel+serial:/dev/ttyACM0?baud=115200",
            "spinel+exec:/bin/rcp 1",
        ] {
            assert_eq!(text.parse::<Link>().map(|link| link.to_string()).as_deref(), Ok(text));
        }
        let short: Link = "zep://::1/".parse().unwrap();
        assert_eq!(short.to_string(), "zep://[::1]:17754");
        for (wrong, says) in [
            ("zap://::1", "\"zap://::1\" is not the link to a radio; that is \"spinel+serial:"),
            ("serial", "\"zep://[::1]:17754\""),
            ("zep://here", "\"here\" is not an address"),
            ("spinel+serial:/dev/x?baud=1", "baud=1 is no rate from 9600 to 4000000"),
        ] {
            let error = wrong.parse::<Link>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
