//! Whole records of TLS (RFC 8446, section 5.1), for futures that are dropped.

use core::fmt;
use core::mem::replace;
use embedded_io_async::{Error, ErrorKind, ErrorType, Read, Write};

/// Octets of a record's header: type, version and length.
const HEADER: usize = 5;

/// The transport of a TLS connection whose futures may be dropped.
///
/// A client of MQTT drops a read whenever something else is due, such as the next message or a
/// keep-alive. `embedded-tls` loses what it has read of a record if its read is dropped then. So
/// this transport hands out the octets of a record only when all of them have arrived: a read
/// inside a record ends at once. A dropped write cannot be saved, because the rest of its record
/// is lost. It makes every later call fail, so that the application opens another connection.
///
/// The reads of `T` must lose nothing if they are dropped, as those of
/// [`TcpSocket`](crate::TcpSocket).
pub struct Records<'b, T> {
    transport: T,
    record: &'b mut [u8],
    /// Octets of the record that have arrived.
    arrived: usize,
    /// Octets of them that were handed out.
    taken: usize,
    /// True while octets are written, and for ever if that was dropped.
    is_writing: bool,
}

impl<'b, T> Records<'b, T> {
    /// Returns a transport over `transport`. `record` holds the longest record with its header: 261
    /// octets more than the longest plaintext are always enough (RFC 8446, section 5.2).
    pub const fn new(transport: T, record: &'b mut [u8]) -> Self {
        Records { transport, record, arrived: 0, taken: 0, is_writing: false }
    }

    /// Returns the octets of the record that arrives, or of its header if that is incomplete.
    fn len(&self) -> usize {
        match self.record.get(..self.arrived) {
            Some(&[_, _, _, high, low, ..]) => {
                HEADER.saturating_add(u16::from_be_bytes([high, low]).into())
            }
            _ => HEADER,
        }
    }
}

impl<T: Read> Records<'_, T> {
    /// Waits for the rest of the record. Returns false if the stream ends before.
    async fn fill(&mut self) -> Result<bool, RecordError<T::Error>> {
        while self.arrived < self.len() {
            let end = self.len();
            let rest = self.record.get_mut(self.arrived..end).ok_or(RecordError::TooLong)?;
            match self.transport.read(rest).await.map_err(RecordError::Transport)? {
                0 => return Ok(false),
                count => self.arrived = self.arrived.saturating_add(count),
            }
        }
        Ok(true)
    }
}

impl<T: ErrorType> ErrorType for Records<'_, T> {
    type Error = RecordError<T::Error>;
}

impl<T: Read> Read for Records<'_, T> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        if self.is_writing {
            return Err(RecordError::CutShort);
        }
        if buf.is_empty() || !self.fill().await? {
            return Ok(0);
        }
        let octets = self.record.get(self.taken..self.arrived).unwrap_or_default();
        let count = octets.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), octets.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken = self.taken.saturating_add(count);
        if self.taken == self.arrived {
            (self.taken, self.arrived) = (0, 0);
        }
        Ok(count)
    }
}

impl<T: Write> Write for Records<'_, T> {
    async fn write(&mut self, octets: &[u8]) -> Result<usize, Self::Error> {
        if replace(&mut self.is_writing, true) {
            return Err(RecordError::CutShort);
        }
        let result = self.transport.write(octets).await;
        self.is_writing = false;
        result.map_err(RecordError::Transport)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.transport.flush().await.map_err(RecordError::Transport)
    }
}

/// Reason for which a record cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum RecordError<E> {
    /// The transport has failed.
    Transport(E),
    /// The peer's record is longer than the buffer.
    TooLong,
    /// A write was dropped after a part of its record: the connection cannot go on.
    CutShort,
}

impl<E: fmt::Display> fmt::Display for RecordError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Transport(error) => error.fmt(f),
            RecordError::TooLong => f.write_str("a record of the peer is longer than the buffer"),
            RecordError::CutShort => f.write_str("a record was written in part"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for RecordError<E> {}

impl<E: Error> Error for RecordError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            RecordError::Transport(error) => error.kind(),
            RecordError::TooLong => ErrorKind::OutOfMemory,
            RecordError::CutShort => ErrorKind::BrokenPipe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use core::future::{Future, poll_fn};
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use std::collections::VecDeque;
    use std::vec;
    use std::vec::Vec;

    /// A stream that gives or takes an octet in every second poll.
    #[derive(Default)]
    struct Slow {
        octets: VecDeque<u8>,
        taken: Vec<u8>,
        has_waited: bool,
    }

    impl Slow {
        async fn wait(&mut self) {
            poll_fn(|_| {
                self.has_waited = !self.has_waited;
                if self.has_waited { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
        }
    }

    impl ErrorType for Slow {
        type Error = Infallible;
    }

    impl Read for Slow {
        async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Infallible> {
            if self.octets.is_empty() {
                return Ok(0);
            }
            self.wait().await;
            Ok(self.octets.pop_front().into_iter().zip(buf).map(|(octet, to)| *to = octet).count())
        }
    }

    impl Write for Slow {
        async fn write(&mut self, octets: &[u8]) -> Result<usize, Infallible> {
            self.wait().await;
            self.taken.push(octets[0]);
            Ok(1)
        }

        async fn flush(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    fn poll_once<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    /// Records of 7, none and 300 octets.
    fn stream() -> Vec<u8> {
        let record = |len: usize| {
            let [high, low] = (len as u16).to_be_bytes();
            let header = [23, 3, 3, high, low];
            header.into_iter().chain((0..len).map(|octet| octet as u8)).collect::<Vec<_>>()
        };
        [record(7), record(0), record(300)].concat()
    }

    #[test]
    fn a_read_inside_a_record_never_waits_and_a_dropped_one_loses_nothing() {
        let mut buf = [0; 305];
        let octets = stream();
        let slow = Slow { octets: octets.clone().into(), ..Slow::default() };
        let mut records = Records::new(slow, &mut buf);
        assert_eq!(poll_once(records.read(&mut [])), Some(Ok(0)), "nothing is asked for");
        let (mut received, mut waits) = (vec![], 0_usize);
        for (len, body) in [(HEADER, 7), (HEADER, 0), (HEADER, 300)] {
            let mut header = [0; HEADER];
            // Each poll is of another future, which is dropped.
            let count = loop {
                match poll_once(records.read(&mut header)) {
                    Some(count) => break count,
                    None => waits = waits.saturating_add(1),
                }
            };
            assert_eq!(count, Ok(len));
            received.extend(header);
            let mut rest = vec![0; body];
            for part in rest.chunks_mut(100) {
                let count = poll_once(records.read(part)).expect("it has arrived");
                assert_eq!(count, Ok(part.len()));
            }
            received.extend(rest);
        }
        assert_eq!(received, octets);
        assert!(waits >= octets.len(), "{waits}");
        assert_eq!(poll_once(records.read(&mut [0])), Some(Ok(0)), "the end of the stream");
    }

    #[test]
    fn the_end_of_the_stream_inside_a_record_is_its_end() {
        let mut octets = stream();
        octets.truncate(HEADER + 6);
        let mut buf = [0; 305];
        let mut records = Records::new(Slow { octets: octets.into(), ..Slow::default() }, &mut buf);
        let mut header = [0; HEADER];
        let count = (0..50).find_map(|_| poll_once(records.read(&mut header)));
        assert_eq!(count, Some(Ok(0)));
    }

    #[test]
    fn a_record_that_does_not_fit_is_an_error() {
        let mut buf = [0; 304];
        let slow = Slow { octets: stream().into(), ..Slow::default() };
        let mut records = Records::new(slow, &mut buf);
        let mut octets = [0; 305];
        let ends = (0..2_000).find_map(|_| poll_once(records.read(&mut octets))?.err());
        assert_eq!(ends, Some(RecordError::TooLong));
        assert_eq!(ends.map(|error| error.kind()), Some(ErrorKind::OutOfMemory));
    }

    #[test]
    fn after_a_dropped_write_the_connection_has_ended() {
        let mut buf = [0; 305];
        let mut records = Records::new(Slow::default(), &mut buf);
        {
            let mut whole = pin!(records.write_all(&[1, 2, 3]));
            let ends = (0..6).find_map(|_| poll_once(whole.as_mut()));
            assert_eq!(ends, Some(Ok(())), "a write that is not dropped");
        }
        assert_eq!(poll_once(records.flush()), Some(Ok(())));
        assert_eq!(poll_once(records.write_all(&[4, 5, 6])), None);
        assert_eq!(poll_once(records.write(&[7])), Some(Err(RecordError::CutShort)));
        assert_eq!(poll_once(records.read(&mut [0])), Some(Err(RecordError::CutShort)));
        assert_eq!(records.transport.taken, [1, 2, 3]);
        let error = RecordError::<Infallible>::CutShort;
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}
