//! The radio of a border router: a type for each kind of link to one.

use core::fmt;
use core::str::FromStr;
use kinglet_lab::scenario::nearest;
use kinglet_radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet_time::{Duration, Instant};
use kinglet_zep::air::{Air, Ears, Ends, Heard, Identity};
use kinglet_zep::radio::Radio as Zep;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use tokio::sync::Notify;

/// The schemes of links.
const SCHEMES: [&str; 1] = ["zep"];

/// The link to a radio, as a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// `zep://[LOCAL,]REMOTE`: frames as UDP datagrams.
    Zep(Ends),
}

impl FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or((text, ""));
        match scheme {
            "zep" => Ok(Link::Zep(rest.trim_end_matches('/').parse()?)),
            _ => {
                let near = nearest(scheme, &SCHEMES).unwrap_or(SCHEMES[0]);
                Err(format!(
                    "\"{text}\" is not the link to a radio; did you mean \"{near}://{rest}\"?"
                ))
            }
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Link::Zep(Ends { local: Some(local), remote }) => write!(f, "zep://{local},{remote}"),
            Link::Zep(Ends { local: None, remote }) => write!(f, "zep://{remote}"),
        }
    }
}

/// A radio that is not simulated.
pub(crate) enum Radio {
    /// Frames as UDP datagrams.
    Zep { radio: Zep, air: Air, heard: Receiver<Heard>, news: Arc<Notify> },
}

impl Radio {
    /// Opens the link. The radio is off, and waits `ack_wait` for an acknowledgement after the end
    /// of its frame.
    ///
    /// # Errors
    /// The error of the system, with the address.
    pub(crate) fn open(link: &Link, filter: Filter, ack_wait: Duration) -> io::Result<Self> {
        match link {
            Link::Zep(ends) => {
                let (sender, heard) = channel();
                let news = Arc::new(Notify::new());
                let waker = Arc::clone(&news);
                let hear = move |heard| {
                    let wanted = sender.send(heard).is_ok();
                    waker.notify_one();
                    wanted
                };
                let ears = Ears { identity: Identity::Device(filter), channel: None };
                let air = Air::open(ends.local, ends.remote, ears, hear)?;
                let radio = Zep::new(air.clone(), ack_wait);
                Ok(Radio::Zep { radio, air, heard, news })
            }
        }
    }

    /// Announces the router, once its radio listens.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn greet(&self) -> io::Result<()> {
        match self {
            Radio::Zep { air, .. } => air.greet(),
        }
    }

    /// Sets the wait for acknowledgements.
    pub(crate) const fn set_ack_wait(&mut self, ack_wait: Duration) {
        match self {
            Radio::Zep { radio, .. } => radio.set_ack_wait(ack_wait),
        }
    }

    /// Takes what has arrived by `now`, without waiting. Returns whether there was anything.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn exchange(&mut self, now: Instant) -> io::Result<bool> {
        match self {
            Radio::Zep { radio, heard, .. } => {
                let mut any = false;
                loop {
                    match heard.try_recv() {
                        Ok(Heard::Deaf(kind)) => return Err(kind.into()),
                        // The clock of the link and that of the bridge began at different times.
                        Ok(Heard::Frame { frame, lqi, acked, .. }) => {
                            radio.hear(Heard::Frame { at: now, frame, lqi, acked });
                        }
                        Ok(heard) => radio.hear(heard),
                        Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Ok(any),
                    }
                    any = true;
                }
            }
        }
    }

    /// Waits until something has arrived.
    pub(crate) async fn arrival(&self) {
        match self {
            Radio::Zep { news, .. } => news.notified().await,
        }
    }

    /// Returns the time of the next event if nothing arrives.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Radio::Zep { radio, .. } => radio.deadline(),
        }
    }
}

impl Driver for Radio {
    fn capabilities(&self) -> Capabilities {
        match self {
            Radio::Zep { radio, .. } => radio.capabilities(),
        }
    }

    fn set_filter(&mut self, filter: Filter) {
        match self {
            Radio::Zep { radio, .. } => radio.set_filter(filter),
        }
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        match self {
            Radio::Zep { radio, .. } => radio.submit(now, command, frame),
        }
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        match self {
            Radio::Zep { radio, .. } => radio.poll_event(now, frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_urls() {
        for text in ["zep://127.0.0.1:1,127.0.0.1:2", "zep://[::1]:17754"] {
            assert_eq!(text.parse::<Link>().map(|link| link.to_string()).as_deref(), Ok(text));
        }
        let short: Link = "zep://::1/".parse().unwrap();
        assert_eq!(short.to_string(), "zep://[::1]:17754");
        for (wrong, says) in [
            ("zap://::1", "did you mean \"zep://::1\"?"),
            ("serial", "did you mean \"zep://\"?"),
            ("zep://here", "\"here\" is not an address"),
        ] {
            let error = wrong.parse::<Link>().unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
