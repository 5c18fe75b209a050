//! The content of a server: resources by path, for the web and for CoAP alike.

use kinglet_mem::copy;
use kinglet_time::Instant;

/// A request for a resource.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Time of the request.
    pub now: Instant,
    /// Its path, beginning with `/`.
    pub path: &'a [u8],
    /// Number of requests that this server has answered before.
    pub served: u32,
    /// Number of open connections of the server, including this one; 0 without connections.
    pub open: usize,
}

/// The type of a body (RFC 9110 §8.3, RFC 7252 §12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An HTML page, for which CoAP has no number.
    Html,
    /// Text in UTF-8.
    Text,
    /// Octets of unknown type.
    Octets,
}

impl Format {
    /// Returns the media type. HTTP omits an unknown one (RFC 9110 §8.3), which saves octets.
    pub const fn media_type(self) -> &'static str {
        match self {
            Format::Html => "text/html",
            Format::Text => "text/plain",
            Format::Octets => "",
        }
    }
}

/// Returns the CoAP number of a format (RFC 7252 §12.3), if it has one.
pub(crate) const fn number_of(format: Format) -> Option<u32> {
    match format {
        Format::Html => None,
        Format::Text => Some(0),
        Format::Octets => Some(42),
    }
}

/// A resource that clients can find in `/.well-known/core` (RFC 6690).
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Its path, beginning with `/`.
    pub path: &'static str,
    /// Its format, if it can be read.
    pub format: Option<Format>,
    /// Its size in octets; 0 if unknown.
    pub size: u32,
    /// Its resource types, `rt`, separated by spaces; may be empty.
    pub kind: &'static str,
    /// True if it can be observed.
    pub observable: bool,
}

/// Content of a resource: `len` octets, which [`Site::read`] copies from their source.
#[derive(Clone, Copy, Debug)]
pub struct Content<B> {
    /// Its type.
    pub format: Format,
    /// Its length in octets.
    pub len: u32,
    /// Identifies the octets. They stay the same while they are being sent.
    pub body: B,
}

/// Freshness of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// Changes whenever the content changes.
    pub version: u32,
    /// Time until which the content stays the same unless a client changes it.
    pub until: Instant,
}

/// A resource.
#[derive(Clone, Copy, Debug)]
pub enum Resource<B, I> {
    /// Content to be read: GET.
    Content(Content<B>),
    /// Destination for bodies: PUT and POST.
    Inbox(I),
}

/// The content of a server.
pub trait Site {
    /// Identifies octets that are being sent.
    type Body: Copy;
    /// State of a body that is being received; [`Never`] if none is.
    type Inbox;

    /// Returns the resource at the path, if there is one.
    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<Self::Body, Self::Inbox>>;

    /// Returns the freshness of the content at the path, if it can be observed (RFC 7641):
    /// observers are notified when the version changes.
    fn fresh(&self, _now: Instant, _path: &[u8]) -> Option<Fresh> {
        None
    }

    /// Returns the links of `/.well-known/core`.
    fn links(&self) -> &'static [Link] {
        &[]
    }

    /// Fills `out` with octets of `body`, starting at octet `at`.
    fn read(&self, body: Self::Body, at: u32, out: &mut [u8]);

    /// Receives the next octets of a body.
    fn take(&mut self, inbox: &mut Self::Inbox, octets: &[u8]);

    /// Handles the end of a body of `len` octets, all of them received. Returns the content of the
    /// response.
    fn finish(&mut self, inbox: &mut Self::Inbox, len: u32) -> Content<Self::Body>;
}

/// State of received bodies for a site that receives none.
#[derive(Clone, Copy, Debug)]
pub enum Never {}

/// One HTML page at `/`.
#[derive(Clone, Copy, Debug)]
pub struct Page(pub &'static [u8]);

impl Site for Page {
    type Body = ();
    type Inbox = Never;

    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<(), Never>> {
        let len = u32::try_from(self.0.len()).ok().filter(|_| asked.path == b"/")?;
        Some(Resource::Content(Content { format: Format::Html, len, body: () }))
    }

    fn read(&self, (): (), at: u32, out: &mut [u8]) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        copy(out, self.0.get(at..).unwrap_or_default());
    }

    fn take(&mut self, inbox: &mut Never, _octets: &[u8]) {
        match *inbox {}
    }

    fn finish(&mut self, inbox: &mut Never, _len: u32) -> Content<()> {
        match *inbox {}
    }
}
