//! The content of `/.well-known/core` of a site (RFC 6690).

use crate::site::{Link, number_of};
use crate::text::{Text, number};
use kinglet_coap::Message;
use kinglet_coap::option::URI_QUERY;

impl Link {
    /// Returns whether it matches a filter: `name=value`, where a `*` at the end matches anything
    /// (RFC 6690 §4.1).
    fn passes(&self, filter: &[u8]) -> bool {
        let mut parts = filter.splitn(2, |octet| *octet == b'=');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let is = |own: &[u8]| match value.strip_suffix(b"*") {
            Some(start) => own.starts_with(start),
            None => own == value,
        };
        match name {
            b"href" => is(self.path.as_bytes()),
            b"rt" => !self.kind.is_empty() && self.kind.as_bytes().split(|it| *it == b' ').any(is),
            b"ct" => self.format.and_then(number_of).is_some_and(|own| number(value) == Some(own)),
            _ => false,
        }
    }

    fn write(&self, text: &mut Text<'_>) {
        text.put(b"<");
        text.put(self.path.as_bytes());
        text.put(b">");
        if !self.kind.is_empty() {
            text.put(b";rt=\"");
            text.put(self.kind.as_bytes());
            text.put(b"\"");
        }
        let format = self.format.and_then(number_of);
        let size = (self.size > 0).then_some(self.size);
        for (name, value) in [(b";ct=", format), (b";sz=", size)] {
            if let Some(value) = value {
                text.put(name);
                text.number(value);
            }
        }
        if self.observable {
            text.put(b";obs");
        }
    }
}

/// Writes the links that match `request`, starting at octet `at`. Returns the number of octets of
/// all of them.
pub(super) fn write(links: &[Link], request: &Message<'_>, at: usize, out: &mut [u8]) -> usize {
    let mut text = Text::new(at, out);
    let mut separator: &[u8] = b"";
    let passes = |link: &&Link| request.values(URI_QUERY).all(|filter| link.passes(filter));
    for link in links.iter().filter(passes) {
        text.put(separator);
        link.write(&mut text);
        separator = b",";
    }
    text.finish().1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Format;
    use kinglet_coap::{Code, Header, Kind, Token, Writer};
    use std::string::String;

    const LINKS: [Link; 3] = [
        Link { path: "/", format: Some(Format::Text), size: 0, kind: "", observable: false },
        Link {
            path: "/t",
            format: Some(Format::Text),
            size: 9,
            kind: "temperature core.s",
            observable: true,
        },
        Link { path: "/page", format: Some(Format::Html), size: 0, kind: "", observable: false },
    ];

    #[test]
    fn filters_choose_among_links() {
        let all = "</>;ct=0,</t>;rt=\"temperature core.s\";ct=0;sz=9;obs,</page>";
        let second = "</t>;rt=\"temperature core.s\";ct=0;sz=9;obs";
        for (filters, text) in [
            (&[][..], all),
            (&["href=/t"], second),
            (&["href=/*"], all),
            (&["rt=temperature"], second),
            (&["rt=core.s"], second),
            (&["rt=temp*"], second),
            (&["rt=temp"], ""),
            (&["rt=*"], second),
            (&["ct=0"], "</>;ct=0,</t>;rt=\"temperature core.s\";ct=0;sz=9;obs"),
            (&["ct=40"], ""),
            (&["ct=0", "href=/"], "</>;ct=0"),
            (&["title=x"], ""),
            (&["href"], ""),
        ] {
            let header = Header {
                kind: Kind::Confirmable,
                code: Code::GET,
                message_id: 1,
                token: Token::EMPTY,
            };
            let (mut octets, mut out) = ([0; 60], [0; 100]);
            let mut writer = Writer::new(&mut octets, header).unwrap();
            for filter in filters {
                writer.option(URI_QUERY, filter.as_bytes()).unwrap();
            }
            let len = writer.finish();
            let request = Message::parse(&octets[..len]).unwrap();
            let len = write(&LINKS, &request, 0, &mut out);
            assert_eq!(core::str::from_utf8(&out[..len]), Ok(text));
            let mut pieces = String::new();
            for at in (0..len).step_by(7) {
                let mut piece = [0; 7];
                write(&LINKS, &request, at, &mut piece);
                pieces.push_str(core::str::from_utf8(&piece[..7.min(len - at)]).unwrap());
            }
            assert_eq!(pieces, text, "in blocks");
        }
    }
}
