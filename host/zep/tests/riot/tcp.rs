//! TCP like gnrc_tcp: MSS and window of 1220 octets, one segment at a time, no other option.

const MSS: u16 = 1220;
const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// One connection.
pub(crate) struct Tcp {
    ports: (u16, u16),
    /// SND.NXT and RCV.NXT.
    next: (u32, u32),
    /// The segment in flight: its flags and octets.
    flight: Option<(u8, Vec<u8>)>,
    waiting: Vec<u8>,
    echoes: bool,
    peer_is_done: bool,
    is_done: bool,
    pub(crate) received: Vec<u8>,
    /// True if both ends have closed.
    pub(crate) over: bool,
}

impl Tcp {
    /// Creates an echo server from a received SYN.
    pub(crate) fn accept(segment: &[u8]) -> Option<Tcp> {
        (segment[13] & (SYN | ACK) == SYN).then(|| {
            let ports = (u16::from_be_bytes([segment[2], segment[3]]), port(segment));
            let mut tcp = Tcp::new(ports, true);
            tcp.flight = Some((SYN | ACK, Vec::new()));
            tcp.next.1 = number(segment, 4).wrapping_add(1);
            tcp
        })
    }

    /// Creates a client that sends this text, and closes.
    pub(crate) fn connect(ports: (u16, u16), text: &[u8]) -> Tcp {
        let mut tcp = Tcp::new(ports, false);
        tcp.flight = Some((SYN, Vec::new()));
        tcp.waiting = text.to_vec();
        tcp
    }

    fn new(ports: (u16, u16), echoes: bool) -> Tcp {
        let (flight, waiting, received) = (None, Vec::new(), Vec::new());
        let (peer_is_done, is_done, over) = (false, false, false);
        Tcp {
            ports,
            next: (1_000, 0),
            flight,
            waiting,
            echoes,
            peer_is_done,
            is_done,
            received,
            over,
        }
    }

    pub(crate) fn is_for(&self, segment: &[u8]) -> bool {
        self.ports == (u16::from_be_bytes([segment[2], segment[3]]), port(segment))
    }

    /// Returns the segment to be retransmitted.
    pub(crate) fn repeat(&self) -> Option<Vec<u8>> {
        let (flags, octets) = self.flight.as_ref()?;
        Some(self.segment(*flags, octets))
    }

    /// Handles a segment. Returns the segments sent in response.
    pub(crate) fn take(&mut self, segment: &[u8]) -> Vec<Vec<u8>> {
        let (flags, header) = (segment[13], usize::from(segment[12] >> 4) * 4);
        assert_eq!(flags & 4, 0, "no reset");
        let (seq, text) = (number(segment, 4), &segment[header..]);
        if flags & ACK != 0
            && let Some((sent, octets)) = &self.flight
        {
            let len = octets.len() as u32 + u32::from(sent & (SYN | FIN) != 0);
            if number(segment, 8) == self.next.0.wrapping_add(len) {
                self.next.0 = self.next.0.wrapping_add(len);
                self.is_done |= sent & FIN != 0;
                self.flight = None;
            }
        }
        let mut owes = !text.is_empty() || flags & (SYN | FIN) != 0;
        if flags & SYN != 0 && self.next.1 == 0 {
            self.next.1 = seq.wrapping_add(1);
        } else if seq == self.next.1 {
            self.received.extend(text);
            if self.echoes {
                self.waiting.extend(text);
            }
            self.peer_is_done |= flags & FIN != 0;
            let len = text.len() as u32 + u32::from(flags & FIN != 0);
            self.next.1 = self.next.1.wrapping_add(len);
        }
        let mut out = Vec::new();
        if self.flight.is_none() && !self.is_done {
            let len = self.waiting.len().min(usize::from(MSS));
            let text: Vec<u8> = self.waiting.drain(..len).collect();
            let ends = text.is_empty() && (self.peer_is_done || !self.echoes);
            if ends || !text.is_empty() {
                self.flight = Some((ACK | u8::from(ends), text));
                out.extend(self.repeat());
                owes = false;
            }
        }
        if owes {
            out.push(self.segment(ACK, &[]));
        }
        self.over = self.is_done && self.peer_is_done;
        out
    }

    /// Its checksum is zero.
    fn segment(&self, flags: u8, text: &[u8]) -> Vec<u8> {
        let options =
            if flags & SYN != 0 { [&[2, 4], &MSS.to_be_bytes()[..]].concat() } else { vec![] };
        let (from, to) = (self.ports.0.to_be_bytes(), self.ports.1.to_be_bytes());
        let acks = if self.next.1 == 0 { 0 } else { ACK };
        let mut out = [from, to].concat();
        out.extend(self.next.0.to_be_bytes());
        out.extend(self.next.1.to_be_bytes());
        out.extend([(5 + options.len() as u8 / 4) << 4, flags | acks]);
        out.extend(MSS.to_be_bytes());
        out.extend([0; 4]);
        [out, options, text.to_vec()].concat()
    }
}

/// Returns the source port.
pub(crate) fn port(segment: &[u8]) -> u16 {
    u16::from_be_bytes([segment[0], segment[1]])
}

fn number(segment: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(segment[at..at + 4].try_into().unwrap())
}
