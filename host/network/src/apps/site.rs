//! Content of the scenarios' web and CoAP servers: information about a node, a sensor, and two
//! resources for measurements.
//!
//! | request | response |
//! |---|---|
//! | `GET /` | a page, or a text, about the node |
//! | `GET /sensor` | a reading, another one every ten seconds; by CoAP it can be observed |
//! | `GET /bytes/N` | N octets of the known stream |
//! | `PUT` or `POST /upload` | length and SHA-256 of the body |
//!
//! CoAP transfers bodies block by block, and `/.well-known/core` lists the resources.

use super::tcp::Socket;
use crate::profile::CONNECTIONS;
use kinglet_apps::{
    Asked, Content, Format, Fresh, Link, Place, Resource, Site, fill, http, number, pattern,
};
use kinglet_time::{Duration, Instant};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Largest `/bytes/N`.
const MAX_BYTES: u32 = 100_000_000;
/// Interval between readings of the sensor.
const SAMPLING: Duration = Duration::from_secs(10);

/// The web server of a node.
pub type WebServer = http::Server<MoteSite, Plan, Socket>;

/// Memory plan of a simulated node's servers.
pub struct Plan;

impl http::Sizes for Plan {
    type Line = [u8; 256];
    type Connections<C> = [Place<C>; CONNECTIONS];
}

/// Presentation of the node's information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// A page for browsers.
    Page,
    /// A line of text.
    Line,
}

/// The site of a node.
pub struct MoteSite {
    name: String,
    manner: Manner,
}

/// Content of a response.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Information about the node: seconds since its start, requests served, connections open.
    About(u64, u32, usize),
    /// The known stream.
    Stream,
    /// A reading with this number.
    Reading(u32),
    /// Length and SHA-256 of a body.
    Digest(u32, [u8; 32]),
}

impl MoteSite {
    /// Site of the node with this name.
    pub fn new(name: String, manner: Manner) -> Self {
        MoteSite { name, manner }
    }

    fn text(&self, body: Body) -> String {
        let name = &self.name;
        match (body, self.manner) {
            (Body::About(up, served, open), Manner::Page) => format!(
                "<!doctype html><title>{name}</title><h1>{name}</h1>\
                 <p>This page comes from a mote, over TCP end to end.\
                 <ul><li>up for {up} s<li>{served} requests served before this one\
                 <li>{open} connections open</ul>\
                 <p>Try <a href=/bytes/10000>/bytes/10000</a>, or PUT something to /upload.\n"
            ),
            (Body::About(up, served, _), Manner::Line) => {
                format!("{name}, up for {up} s, {served} requests served\n")
            }
            (Body::Reading(number), _) => {
                let tenths = 200 + u64::from(pattern(u64::from(number) * 37));
                format!("{}.{} degrees\n", tenths / 10, tenths % 10)
            }
            (Body::Digest(len, hash), _) => digest_line(len, hash),
            (Body::Stream, _) => String::new(),
        }
    }

    fn content(&self, format: Format, body: Body) -> Content<Body> {
        Content { format, len: self.text(body).len() as u32, body }
    }
}

/// Number of the sensor's reading at an instant.
fn reading_at(now: Instant) -> u32 {
    (now.as_micros() / SAMPLING.as_micros()) as u32
}

/// Response to an upload of `len` octets: length and SHA-256.
pub(super) fn digest_line(len: u32, hash: [u8; 32]) -> String {
    let mut text = format!("{len} ");
    for octet in hash {
        // Writing to a String cannot fail.
        let _ = write!(text, "{octet:02x}");
    }
    text.push('\n');
    text
}

impl Site for MoteSite {
    type Body = Body;
    type Inbox = Sha256;

    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<Body, Sha256>> {
        let format = if self.manner == Manner::Page { Format::Html } else { Format::Text };
        Some(match asked.path {
            b"/" => {
                let up = asked.now.as_micros() / 1_000_000;
                let body = Body::About(up, asked.served, asked.open);
                Resource::Content(self.content(format, body))
            }
            b"/sensor" => {
                let body = Body::Reading(reading_at(asked.now));
                Resource::Content(self.content(Format::Text, body))
            }
            b"/upload" => Resource::Inbox(Sha256::new()),
            path => {
                let len = path.strip_prefix(b"/bytes/").and_then(number);
                let len = len.filter(|len| *len <= MAX_BYTES)?;
                Resource::Content(Content { format: Format::Octets, len, body: Body::Stream })
            }
        })
    }

    fn fresh(&self, now: Instant, path: &[u8]) -> Option<Fresh> {
        let version = reading_at(now);
        let until = Instant::ZERO + SAMPLING * (version + 1);
        (path == b"/sensor").then_some(Fresh { version, until })
    }

    fn links(&self) -> &'static [Link] {
        const LINKS: [Link; 4] = [
            Link { path: "/", format: Some(Format::Text), size: 0, kind: "", observable: false },
            Link {
                path: "/bytes/10000",
                format: Some(Format::Octets),
                size: 10_000,
                kind: "",
                observable: false,
            },
            Link { path: "/upload", format: None, size: 0, kind: "", observable: false },
            Link {
                path: "/sensor",
                format: Some(Format::Text),
                size: 0,
                kind: "temperature",
                observable: true,
            },
        ];
        &LINKS
    }

    fn read(&self, body: Body, at: u32, out: &mut [u8]) {
        if let Body::Stream = body {
            return fill(at.into(), out);
        }
        out.copy_from_slice(&self.text(body).as_bytes()[at as usize..][..out.len()]);
    }

    fn take(&mut self, inbox: &mut Sha256, octets: &[u8]) {
        inbox.update(octets);
    }

    fn finish(&mut self, inbox: &mut Sha256, len: u32) -> Content<Body> {
        self.content(Format::Text, Body::Digest(len, inbox.finalize_reset().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_in_pieces_and_the_stream_from_anywhere() {
        let site = MoteSite::new("mote 7".to_owned(), Manner::Page);
        let about = site.content(Format::Text, Body::About(61, 5, 2));
        let mut whole = vec![0; about.len as usize];
        for (piece, at) in whole.chunks_mut(50).zip((0..).step_by(50)) {
            site.read(about.body, at, piece);
        }
        let whole = String::from_utf8(whole).expect("text");
        for part in ["<title>mote 7</title>", "up for 61 s", "<li>5 requests", "<li>2 connections"]
        {
            assert!(whole.contains(part), "{part}: {whole}");
        }
        let (mut all, mut rest) = ([0; 30], [0; 20]);
        site.read(Body::Stream, 0, &mut all);
        site.read(Body::Stream, 10, &mut rest);
        assert_eq!(all[10..], rest);
    }
}
