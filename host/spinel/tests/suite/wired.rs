//! A driver, a line and a coprocessor.

use kinglet_chips::{Board, Coprocessor, Hooks, SharedCoprocessor};
use kinglet_drivers::{Answer, Bench, Signal};
use kinglet_radio::{
    Access, Busy, Capabilities, Channel, Command, Driver, Event, Filter, MAX_FRAME, Start,
};
use kinglet_spinel::Rcp;
use kinglet_time::{Duration, Instant};

pub(crate) const FILTER: Filter =
    Filter { pan_id: 0x4b47, short: 0x0102, extended: [0x1a, 0, 0, 0, 0, 0, 1, 2] };
pub(crate) const CHANNEL: Channel = Channel::new(15).unwrap();
/// The other end acknowledges.
const ANSWER: Answer = Answer {
    pending: false,
    late: Duration::ZERO,
    is_strange: false,
    intact: true,
    is_second: false,
};

/// A data frame from 0x0304 that requests an acknowledgement.
pub(crate) fn to_us(sequence: u8) -> Vec<u8> {
    vec![0x61, 0x98, sequence, 0x47, 0x4b, 0x02, 0x01, 0x04, 0x03, 0x7e, 0x7d, 0x11]
}

/// The same in the other direction.
pub(crate) fn from_us(sequence: u8) -> Vec<u8> {
    vec![0x61, 0x98, sequence, 0x47, 0x4b, 0x04, 0x03, 0x02, 0x01, 0x7e, 0x7d, 0x11]
}

/// Returns the received frames.
pub(crate) fn heard(events: &[(Event, Vec<u8>)]) -> Vec<Vec<u8>> {
    let frames = events.iter().filter(|(event, _)| matches!(event, Event::Received { .. }));
    frames.map(|(_, frame)| frame.clone()).collect()
}

/// A driver whose octets are written to its line after each call.
pub(crate) struct Wired {
    pub(crate) rcp: Rcp,
    line: SharedCoprocessor,
}

impl Wired {
    fn flush(&mut self) {
        let octets = self.rcp.octets().to_vec();
        self.line.borrow_mut().write(&octets);
        self.rcp.consume(octets.len());
    }

    fn read(&mut self, now: Instant) {
        loop {
            let octets = self.line.borrow_mut().read();
            let Some(octets) = octets else { break };
            self.rcp.handle_octets(now, &octets);
        }
        self.flush();
    }
}

impl Driver for Wired {
    fn capabilities(&self) -> Capabilities {
        self.rcp.capabilities()
    }

    fn set_filter(&mut self, filter: Filter) {
        self.rcp.set_filter(filter);
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        let result = self.rcp.submit(now, command, frame);
        self.flush();
        result
    }

    fn can_prepare(&self) -> bool {
        self.rcp.can_prepare()
    }

    fn prepare(&mut self, now: Instant, command: Command, frame: &[u8]) {
        self.rcp.prepare(now, command, frame);
        self.flush();
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        let event = self.rcp.poll_event(now, frame);
        self.flush();
        event
    }
}

/// A bench with its coprocessor.
pub(crate) struct Wire {
    pub(crate) board: Board<Wired>,
    pub(crate) line: SharedCoprocessor,
}

impl Wire {
    /// Connects a driver with a coprocessor that has just been switched on.
    pub(crate) fn new(seed: u64, baud: Option<u32>) -> Wire {
        let line = Coprocessor::new(seed, baud);
        let rcp = Rcp::new(Instant::ZERO, baud);
        let driver = Wired { rcp, line: line.clone() };
        let hooks = Hooks { handle_interrupt: Wired::read, deadline: |it| it.rcp.deadline() };
        let mut board = Board::with_coprocessor(line.clone(), driver, hooks);
        board.radio().flush();
        Wire { board, line }
    }

    /// Lets time pass, with calls of the driver when it asks for them.
    pub(crate) fn run(&mut self, time: Duration) -> Vec<(Event, Vec<u8>)> {
        let until = self.board.now() + time;
        self.run_until(|wire| wire.board.now() >= until)
    }

    /// Lets time pass until `condition` is true.
    pub(crate) fn run_until(
        &mut self,
        condition: impl Fn(&mut Wire) -> bool,
    ) -> Vec<(Event, Vec<u8>)> {
        let mut events = Vec::new();
        let limit = self.board.now() + Duration::from_secs(60);
        while !condition(self) {
            assert!(self.board.now() < limit, "the condition does not come true in a minute");
            let until = self.board.now() + Duration::from_micros(500);
            self.board.wait(until);
            let mut frame = [0; MAX_FRAME];
            while let Some(event) = {
                let now = self.board.now();
                self.board.radio().poll_event(now, &mut frame)
            } {
                let len = if let Event::Received { len, .. } = event { len } else { 0 };
                events.push((event, frame[..len.into()].to_vec()));
            }
        }
        events
    }

    /// Lets time pass until the coprocessor is ready.
    pub(crate) fn until_ready(&mut self) {
        self.run_until(|wire| wire.board.radio().rcp.identity().is_some());
    }

    /// Returns a wire whose radio listens, and whose other end acknowledges.
    pub(crate) fn listening(seed: u64) -> Wire {
        Wire::listening_at(seed, Some(460_800))
    }

    pub(crate) fn listening_at(seed: u64, baud: Option<u32>) -> Wire {
        let mut wire = Wire::new(seed, baud);
        wire.board.radio().set_filter(FILTER);
        wire.listen();
        wire.board.set_answer(Some(ANSWER));
        wire.run_until(|wire| wire.line.borrow().is_listening());
        wire.run(Duration::from_millis(5));
        wire
    }

    pub(crate) fn listen(&mut self) {
        self.submit(Command::Receive { start: Start::Asap, until: None, channel: CHANNEL });
    }

    pub(crate) fn rcp(&mut self) -> &Rcp {
        &self.board.radio().rcp
    }

    pub(crate) fn submit(&mut self, command: Command) {
        let now = self.board.now();
        self.board.radio().submit(now, command, &[]).unwrap();
    }

    /// Lets the other end send a frame.
    pub(crate) fn put(&mut self, frame: &[u8]) {
        let sfd = self.board.now() + Duration::from_micros(500);
        let (channel, intact, rssi_dbm) = (CHANNEL, true, -50);
        self.board.put_on_air(Signal { sfd, channel, frame, intact, rssi_dbm });
    }

    /// Lets a child request its data.
    pub(crate) fn put_request(&mut self, short: u16) {
        let [low, high] = short.to_le_bytes();
        self.put(&[0x63, 0x98, 9, 0x47, 0x4b, 0x02, 0x01, low, high, 4]);
    }

    /// Lets time pass, and returns the frame-pending bits of the acknowledgements on the air.
    pub(crate) fn acks_of(&mut self, time: Duration) -> Vec<bool> {
        self.run(time);
        let mut frame = [0; MAX_FRAME];
        let mut bits = Vec::new();
        while let Some(sent) = self.board.sent(&mut frame) {
            if sent.len == 3 {
                bits.push(frame[0] & 0x10 != 0);
            }
        }
        bits
    }

    pub(crate) fn submit_frame(&mut self, access: Access, channel: Channel) {
        self.submit_with(access, channel, 0);
    }

    fn submit_with(&mut self, access: Access, channel: Channel, power_dbm: i8) {
        let (start, ack) = (Start::Asap, true);
        let command = Command::Transmit { start, access, channel, power_dbm, ack };
        let now = self.board.now();
        self.board.radio().submit(now, command, &from_us(1)).unwrap();
    }

    /// Lets time pass until the outstanding transmission has ended, and returns its event.
    pub(crate) fn finish(&mut self) -> Event {
        let limit = self.board.now() + Duration::from_secs(60);
        loop {
            assert!(self.board.now() < limit, "a transmission does not end in a minute");
            let events = self.run(Duration::from_micros(500));
            let ends = |event: &Event| !matches!(event, Event::Received { .. });
            if let Some(event) = events.into_iter().map(|(event, _)| event).find(ends) {
                return event;
            }
        }
    }

    /// Sends a frame, and returns the event that ends it.
    pub(crate) fn transmit_on(&mut self, channel: Channel, access: Access) -> Event {
        self.submit_frame(access, channel);
        self.finish()
    }

    pub(crate) fn transmit_with_power(&mut self, power_dbm: i8) -> Event {
        self.submit_with(Access::Immediate, CHANNEL, power_dbm);
        self.finish()
    }
}
