//! The place of a coprocessor, as text.
//!
//! | form | coprocessor |
//! |---|---|
//! | `spinel+serial:/dev/ttyACM0?baud=460800` | at a serial port |
//! | `spinel+exec:PROGRAM ARGUMENT…` | a process, such as OpenThread's simulated `ot-rcp` |
//!
//! Options of a serial port are `baud` (bits a second, 460,800 unless given) and `flow`
//! (`hardware` for RTS and CTS, or `none`, which is usual).

use core::fmt;
use core::str::FromStr;
use std::path::PathBuf;

const SERIAL: &str = "spinel+serial:";
const EXEC: &str = "spinel+exec:";
/// Rate of most sticks.
const USUAL_BAUD: u32 = 460_800;
/// Rates of serial ports.
const BAUDS: core::ops::RangeInclusive<u32> = 9_600..=4_000_000;

/// The place of a coprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Url {
    /// At a serial port.
    Serial {
        /// The device.
        path: PathBuf,
        /// Bits a second, 9,600 to 4,000,000.
        baud: u32,
        /// Flow control by RTS and CTS.
        has_flow_control: bool,
    },
    /// A process; its standard input and output are the line.
    Exec {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
    },
}

impl Url {
    /// Returns the rate of the line in bits a second; `None` for a process.
    pub const fn baud(&self) -> Option<u32> {
        match self {
            Url::Serial { baud, .. } => Some(*baud),
            Url::Exec { .. } => None,
        }
    }
}

/// The text is no place of a coprocessor; with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlError(String);

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UrlError {}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Url::Serial { path, baud, has_flow_control } => {
                write!(f, "{SERIAL}{}?baud={baud}", path.display())?;
                if *has_flow_control { f.write_str("&flow=hardware") } else { Ok(()) }
            }
            Url::Exec { program, arguments } => {
                write!(f, "{EXEC}{}", program.display())?;
                arguments.iter().try_for_each(|it| write!(f, " {it}"))
            }
        }
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Url, UrlError> {
        let fail = |why: &str| {
            Err(UrlError(format!(
                "\"{text}\": {why}; a radio is {SERIAL}/dev/ttyACM0?baud=460800 or {EXEC}PROGRAM \
                 ARGUMENTS"
            )))
        };
        if let Some(rest) = text.strip_prefix(EXEC) {
            let mut words = rest.split_whitespace().map(str::to_owned);
            return match words.next() {
                Some(program) => {
                    Ok(Url::Exec { program: program.into(), arguments: words.collect() })
                }
                None => fail("it names no program"),
            };
        }
        let Some(rest) = text.strip_prefix(SERIAL) else {
            return fail("it is no radio");
        };
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        // Two slashes may precede the path, as in other addresses.
        let path = path.strip_prefix("//").filter(|it| it.starts_with('/')).unwrap_or(path);
        if !path.starts_with('/') {
            return fail("it names no device");
        }
        let (mut baud, mut has_flow_control) = (USUAL_BAUD, false);
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("baud", value)) => match value.parse().ok().filter(|it| BAUDS.contains(it)) {
                    Some(value) => baud = value,
                    None => {
                        let (least, most) = (BAUDS.start(), BAUDS.end());
                        return fail(&format!("baud={value} is no rate from {least} to {most}"));
                    }
                },
                Some(("flow", "hardware")) => has_flow_control = true,
                Some(("flow", "none")) => has_flow_control = false,
                Some(("flow", value)) => {
                    return fail(&format!("flow={value} is neither hardware nor none"));
                }
                _ => return fail(&format!("{option} is no option; there are baud and flow")),
            }
        }
        Ok(Url::Serial { path: path.into(), baud, has_flow_control })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serial(path: &str, baud: u32, has_flow_control: bool) -> Url {
        Url::Serial { path: path.into(), baud, has_flow_control }
    }

    #[test]
    fn each_form_is_read_and_written() {
        let acm = "/dev/ttyACM0";
        for (text, url) in [
            ("spinel+serial:/dev/ttyACM0?baud=115200", serial(acm, 115_200, false)),
            ("spinel+serial:///dev/ttyACM0?baud=115200", serial(acm, 115_200, false)),
            ("spinel+serial:/dev/ttyACM0", serial(acm, 460_800, false)),
            ("spinel+serial:/dev/ttyACM0?flow=hardware&baud=9600", serial(acm, 9_600, true)),
            ("spinel+serial:/dev/ttyACM0?flow=none", serial(acm, 460_800, false)),
        ] {
            assert_eq!(text.parse(), Ok(url.clone()), "{text}");
            assert_eq!(url.to_string().parse(), Ok(url));
        }
        let url: Url = "spinel+exec:/usr/bin/ot-rcp 1 --x".parse().unwrap();
        let arguments = vec!["1".to_owned(), "--x".to_owned()];
        assert_eq!(url, Url::Exec { program: "/usr/bin/ot-rcp".into(), arguments });
        assert_eq!((url.to_string().parse(), url.baud()), (Ok(url.clone()), None));
    }

    #[test]
    fn mistakes_are_named_with_what_would_be_right() {
        for (text, says) in [
            ("serial:/dev/ttyACM0", "it is no radio"),
            ("spinel+serial:ttyACM0", "it names no device"),
            ("spinel+serial:", "it names no device"),
            ("spinel+exec: ", "it names no program"),
            ("spinel+serial:/dev/x?baud=fast", "baud=fast is no rate from 9600 to 4000000"),
            ("spinel+serial:/dev/x?baud=9599", "baud=9599 is no rate"),
            ("spinel+serial:/dev/x?baud=4000001", "baud=4000001 is no rate"),
            ("spinel+serial:/dev/x?flow=soft", "flow=soft is neither hardware nor none"),
            ("spinel+serial:/dev/x?rate=1", "rate=1 is no option; there are baud and flow"),
        ] {
            let error = text.parse::<Url>().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert!(error.contains("a radio is spinel+serial:/dev/ttyACM0?baud=460800 or"));
        }
    }
}
