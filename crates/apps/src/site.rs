//! What a server shows: resources by path, for the web and for CoAP alike.

use kinglet_mem::copy;
use kinglet_time::Instant;

/// What a resource is asked for with.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// When.
    pub now: Instant,
    /// Its path, beginning with `/`.
    pub path: &'a [u8],
    /// Requests that this server has answered before this one.
    pub served: u32,
    /// Connections of the server that are open, with this one; 0 without connections.
    pub open: usize,
}

/// The type of a body (RFC 9110 §8.3, RFC 7252 §12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A page in HTML, which CoAP has no number for.
    Html,
    /// Text in UTF-8.
    Text,
    /// Octets of no known type.
    Octets,
}

impl Format {
    /// The media type. What is not known HTTP leaves out (RFC 9110 §8.3), which saves octets.
    pub const fn media_type(self) -> &'static str {
        match self {
            Format::Html => "text/html",
            Format::Text => "text/plain",
            Format::Octets => "",
        }
    }
}

/// The number by which CoAP knows a format (RFC 7252 §12.3), if it does.
pub(crate) const fn number_of(format: Format) -> Option<u32> {
    match format {
        Format::Html => None,
        Format::Text => Some(0),
        Format::Octets => Some(42),
    }
}

/// A resource that others may find in `/.well-known/core` (RFC 6690).
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Its path, beginning with `/`.
    pub path: &'static str,
    /// What it holds, if it is to be read.
    pub format: Option<Format>,
    /// Octets of it; 0 says nothing.
    pub size: u32,
    /// Its resource types, `rt`, parted by spaces; may be empty.
    pub kind: &'static str,
    /// Whether it can be observed.
    pub observable: bool,
}

/// What a resource holds: `len` octets, which [`Site::read`] copies from where they are.
#[derive(Clone, Copy, Debug)]
pub struct Content<B> {
    /// Its type.
    pub format: Format,
    /// Its octets.
    pub len: u32,
    /// Which octets these are. They stay the same while they are being sent.
    pub body: B,
}

/// How new what a resource holds is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// Another one whenever it holds something else.
    pub version: u32,
    /// It holds the same until then, if nobody changes it.
    pub until: Instant,
}

/// What is at a path.
#[derive(Clone, Copy, Debug)]
pub enum Resource<B, I> {
    /// Something to be read: GET.
    Content(Content<B>),
    /// Somewhere to send to: PUT and POST.
    Inbox(I),
}

/// What a server shows.
pub trait Site {
    /// Names octets that are being sent.
    type Body: Copy;
    /// What is kept of a body that is being received; [`Never`] where none is.
    type Inbox;

    /// What is at the path, if anything is.
    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<Self::Body, Self::Inbox>>;

    /// How new what the path has to read is, if it can be observed (RFC 7641): whoever observes it
    /// is told when that changes.
    fn fresh(&self, _now: Instant, _path: &[u8]) -> Option<Fresh> {
        None
    }

    /// What `/.well-known/core` lists.
    fn links(&self) -> &'static [Link] {
        &[]
    }

    /// Fills `out` with octets of `body`, from octet `at` of it on.
    fn read(&self, body: Self::Body, at: u32, out: &mut [u8]);

    /// Takes the next octets of a body.
    fn take(&mut self, inbox: &mut Self::Inbox, octets: &[u8]);

    /// The body had `len` octets, which have all been taken: what is answered.
    fn finish(&mut self, inbox: &mut Self::Inbox, len: u32) -> Content<Self::Body>;
}

/// What a site that receives nothing keeps of what it receives.
#[derive(Clone, Copy, Debug)]
pub enum Never {}

/// One page in HTML at `/`.
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
