//! A web server: one page, one connection at a time, others wait in the listener's backlog.

use kinglet::tcp::{Handle, ListenConfig, ListenError, RecvError};
use kinglet::time::{Duration, Instant};
use kinglet::{Mote, Node};

const PORT: u16 = 80;
/// Who takes longer than this makes room for others.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is before the page.
macro_rules! head {
    () => {
        "HTTP/1.1 200 OK\r\n\
        Content-Type: text/html; charset=utf-8\r\n\
        Connection: close\r\n\
        \r\n"
    };
}

const FOUND: &[u8] = concat!(
    head!(),
    "<!doctype html><title>Cortex-M mote</title><h1>Cortex-M mote</h1>\
    <p>This page comes from Arm machine code: 802.15.4, 6LoWPAN, IPv6 and TCP in one image, \
    with a serial line for a radio.</p>\n"
)
.as_bytes();
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nonly / is here\n";

const REQUEST: &[u8] = b"GET / ";
const HEAD_END: &[u8] = b"\r\n\r\n";

/// The page, for whoever serves it in another way.
pub fn page() -> &'static [u8] {
    FOUND.get(head!().len()..).unwrap_or_default()
}

/// A client.
struct Client {
    handle: Handle,
    until: Instant,
    /// Octets of [`REQUEST`] that the request starts with, while it still does.
    begun: Option<usize>,
    /// Octets of [`HEAD_END`] that the request ends with so far.
    ended: usize,
    /// What is still to be sent, once the request has been read.
    reply: Option<&'static [u8]>,
}

/// The server.
#[derive(Default)]
pub struct Web {
    client: Option<Client>,
}

impl Web {
    /// Listens on port 80.
    ///
    /// # Errors
    /// No listener is free.
    pub fn new(node: &mut Node<Mote>, connection: ListenConfig) -> Result<Self, ListenError> {
        node.streams().listen(PORT, connection).map(|()| Web::default())
    }

    /// When [`Web::step`] has to be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.client.as_ref().map(|client| client.until)
    }

    /// Does what can be done now.
    pub fn step(&mut self, now: Instant, node: &mut Node<Mote>) {
        if self.client.is_none() {
            let until = now + PATIENCE;
            self.client = node.streams().accept(PORT).map(|handle| Client {
                handle,
                until,
                begun: Some(0),
                ended: 0,
                reply: None,
            });
        }
        let Some(client) = &mut self.client else { return };
        let handle = client.handle;
        if client.read(node) && client.write(node) && now < client.until {
            return;
        }
        // What was written still leaves; who was too slow is cut off.
        let _ = match client.reply {
            Some([]) => node.streams().close(handle),
            _ => node.streams().abort(handle),
        };
        self.client = None;
    }
}

impl Client {
    /// Reads the request; false if it cannot come any more.
    fn read(&mut self, node: &mut Node<Mote>) -> bool {
        let mut chunk = [0; 64];
        while self.reply.is_none() {
            match node.streams().recv(self.handle, &mut chunk) {
                Ok(len @ 1..) => self.parse(chunk.get(..len).unwrap_or_default()),
                Err(RecvError::WouldBlock) => return true,
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    fn parse(&mut self, octets: &[u8]) {
        for &octet in octets {
            if let Some(at) = self.begun
                && let Some(&expected) = REQUEST.get(at)
            {
                self.begun = (octet == expected).then_some(at + 1);
            }
            // Only CR can begin the end anew.
            let next = HEAD_END.get(self.ended) == Some(&octet);
            self.ended = if next { self.ended + 1 } else { usize::from(octet == b'\r') };
            if self.ended == HEAD_END.len() {
                let found = self.begun == Some(REQUEST.len());
                self.reply = Some(if found { FOUND } else { NOT_FOUND });
                return;
            }
        }
    }

    /// Writes what there is room for; false when all is written.
    fn write(&mut self, node: &mut Node<Mote>) -> bool {
        let Some(rest) = &mut self.reply else { return true };
        let written = node.streams().send(self.handle, rest).unwrap_or(0);
        *rest = rest.get(written..).unwrap_or_default();
        !rest.is_empty()
    }
}
