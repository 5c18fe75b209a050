//! The interfaces of `coap-message` 0.3 and `coap-handler` 0.2, so that handlers of other crates
//! answer requests.

use crate::message::{Code, Message, Options, WriteError, Writer};
use crate::{Endpoint, RespondError, Sizes, Ticket};
use coap_handler::Handler;
use coap_message::error::RenderableOnMinimal;
use coap_message::{
    MessageOption, MinimalWritableMessage, MutableWritableMessage, ReadableMessage,
    WithSortedOptions,
};
use core::convert::Infallible;
use core::hash::Hash;
use core::iter::Map;
use kinglet_time::Instant;

/// An option of a received message: number and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOption<'a>(u16, &'a [u8]);

impl<'a> From<(u16, &'a [u8])> for ReadOption<'a> {
    fn from((number, value): (u16, &'a [u8])) -> Self {
        ReadOption(number, value)
    }
}

impl MessageOption for ReadOption<'_> {
    fn number(&self) -> u16 {
        self.0
    }

    fn value(&self) -> &[u8] {
        self.1
    }
}

impl ReadableMessage for Message<'_> {
    type Code = u8;
    type MessageOption<'a>
        = ReadOption<'a>
    where
        Self: 'a;
    type OptionsIter<'a>
        = Map<Options<'a>, fn((u16, &'a [u8])) -> ReadOption<'a>>
    where
        Self: 'a;

    fn code(&self) -> u8 {
        self.header.code.0
    }

    fn options(&self) -> Self::OptionsIter<'_> {
        Message::options(self).map(ReadOption::from)
    }

    fn payload(&self) -> &[u8] {
        self.payload
    }
}

impl WithSortedOptions for Message<'_> {}

impl MinimalWritableMessage for Writer<'_> {
    type Code = u8;
    type OptionNumber = u16;
    type AddOptionError = WriteError;
    type SetPayloadError = WriteError;
    type UnionError = WriteError;

    fn set_code(&mut self, code: u8) {
        Writer::set_code(self, Code(code));
    }

    fn add_option(&mut self, number: u16, value: &[u8]) -> Result<(), WriteError> {
        self.option(number, value)
    }

    fn set_payload(&mut self, data: &[u8]) -> Result<(), WriteError> {
        self.payload(data)
    }
}

impl MutableWritableMessage for Writer<'_> {
    fn available_space(&self) -> usize {
        self.room()
    }

    /// The longest possible payload, if `len` octets do not fit.
    fn payload_mut_with_len(&mut self, len: usize) -> Result<&mut [u8], WriteError> {
        if self.payload_mut().is_empty() {
            // The marker takes an octet.
            let len = len.min(self.room().saturating_sub(1));
            return self.payload_space(len);
        }
        let payload = self.payload_mut();
        let len = len.min(payload.len());
        Ok(payload.get_mut(..len).unwrap_or_default())
    }

    fn truncate(&mut self, len: usize) -> Result<(), WriteError> {
        Writer::truncate(self, len);
        Ok(())
    }

    fn mutate_options<F: FnMut(u16, &mut [u8])>(&mut self, callback: F) {
        self.each_option(callback);
    }
}

impl From<Infallible> for WriteError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// A response that cannot be written is an error of the server.
impl RenderableOnMinimal for WriteError {
    type Error<E: RenderableOnMinimal + core::fmt::Debug> = E;

    fn render<M: MinimalWritableMessage>(self, message: &mut M) -> Result<(), M::UnionError> {
        let code = coap_message::Code::new(Code::INTERNAL_SERVER_ERROR.0);
        message.set_code(code.map_err(M::convert_code_error)?);
        Ok(())
    }
}

impl<K: Copy + Eq + Hash, S: Sizes> Endpoint<K, S> {
    /// Answers a request with the response of `handler`, or with that of its error. The endpoint
    /// has rejected requests with critical options that it does not recognise, OSCORE's among them.
    ///
    /// # Errors
    /// As [`Endpoint::respond`].
    pub fn respond_by<H: Handler>(
        &mut self,
        now: Instant,
        ticket: Ticket,
        request: &Message<'_>,
        handler: &mut H,
    ) -> Result<(), RespondError> {
        self.respond(now, ticket, Code::CONTENT, |response| {
            answer(response, request, handler);
            Ok(())
        })
    }
}

/// Writes the response of `handler`, or that of its error, or one without text.
fn answer<H: Handler>(response: &mut Writer<'_>, request: &Message<'_>, handler: &mut H) {
    let is_written = match handler.extract_request_data(request) {
        Err(error) => error.render(response).is_ok(),
        Ok(data) => match handler.build_response(response, data) {
            Ok(()) => true,
            Err(error) => {
                response.restart();
                error.render(response).is_ok()
            }
        },
    };
    if !is_written {
        response.restart();
        response.set_code(Code::INTERNAL_SERVER_ERROR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, Kind, Token};
    use core::fmt::Debug;

    /// A handler that fails at a request or at its response, with an error that has a text or none.
    struct Failing {
        at_request: bool,
        has_text: bool,
    }

    #[derive(Debug)]
    struct Failure {
        has_text: bool,
    }

    impl RenderableOnMinimal for Failure {
        type Error<E: RenderableOnMinimal + Debug> = Failure;

        fn render<M: MinimalWritableMessage>(self, message: &mut M) -> Result<(), Failure> {
            let code = coap_message::Code::new(Code::BAD_REQUEST.0);
            message.set_code(code.map_err(|_| Failure { has_text: false })?);
            message.set_payload(b"why").map_err(|_| Failure { has_text: false })?;
            if self.has_text { Ok(()) } else { Err(self) }
        }
    }

    impl Handler for Failing {
        type RequestData = ();
        type ExtractRequestError = Failure;
        type BuildResponseError<M: MinimalWritableMessage> = Failure;

        fn extract_request_data<M: ReadableMessage>(&mut self, _: &M) -> Result<(), Failure> {
            let Failing { at_request, has_text } = *self;
            if at_request { Err(Failure { has_text }) } else { Ok(()) }
        }

        fn estimate_length(&mut self, (): &()) -> usize {
            0
        }

        fn build_response<M: MutableWritableMessage>(
            &mut self,
            response: &mut M,
            (): (),
        ) -> Result<(), Failure> {
            response.set_payload(b"half of it").expect("room");
            Err(Failure { has_text: self.has_text })
        }
    }

    #[test]
    fn an_error_of_a_handler_is_a_whole_response() {
        let header =
            Header { kind: Kind::Confirmable, code: Code::GET, message_id: 1, token: Token::EMPTY };
        let request = Message::parse(&[0x40, 1, 0, 1]).expect("a header");
        for at_request in [true, false] {
            for (has_text, code, payload) in
                [(true, Code::BAD_REQUEST, &b"why"[..]), (false, Code::INTERNAL_SERVER_ERROR, b"")]
            {
                let mut octets = [0; 32];
                let mut response = Writer::new(&mut octets, header).expect("room");
                answer(&mut response, &request, &mut Failing { at_request, has_text });
                let len = response.finish();
                let message = Message::parse(&octets[..len]).expect("well formed");
                assert_eq!((message.header.code, message.payload), (code, payload));
            }
        }
    }
}
