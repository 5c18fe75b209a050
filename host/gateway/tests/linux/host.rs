//! The applications on Linux: each sends, closes its side and reads to the end.

use crate::bridge::{HOST, KINGLET, KINGLET_PORT};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn6, connect as connect_socket, setsockopt, socket,
    sockopt::TcpFastOpenConnect,
};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV6, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread::{self, JoinHandle};

/// Directions of a stream; their contents differ.
pub(crate) const TO_LINUX: u8 = 0x55;
pub(crate) const TO_KINGLET: u8 = 0xaa;

pub(crate) type Hash = [u8; 32];

/// Octet `i` of a stream, without a period in which a lost or duplicated segment could hide.
pub(crate) fn octet(i: usize, direction: u8) -> u8 {
    ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8 ^ direction
}

pub(crate) fn digest(total: usize, direction: u8) -> Hash {
    let octets: Vec<u8> = (0..total).map(|i| octet(i, direction)).collect();
    Sha256::digest(&octets).into()
}

/// Serves one connection to `port`. Returns the hash of the octets read.
pub(crate) fn listen(port: u16, total: usize) -> JoinHandle<Hash> {
    let listener = TcpListener::bind((HOST, port)).unwrap();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        converse(stream, total)
    })
}

/// Opens a connection to Kinglet, with data in the SYN if there is a cookie.
pub(crate) fn connect(fast_open: bool, total: usize) -> JoinHandle<Hash> {
    thread::spawn(move || {
        let to = SockaddrIn6::from(SocketAddrV6::new(KINGLET, KINGLET_PORT, 0, 0));
        let flags = SockFlag::SOCK_CLOEXEC;
        let fd = socket(AddressFamily::Inet6, SockType::Stream, flags, None).unwrap();
        if fast_open {
            setsockopt(&fd, TcpFastOpenConnect, &true).unwrap();
        }
        connect_socket(fd.as_raw_fd(), &to).unwrap();
        converse(TcpStream::from(fd), total)
    })
}

fn converse(stream: TcpStream, total: usize) -> Hash {
    let mut writing = stream.try_clone().unwrap();
    let writer = thread::spawn(move || {
        let octets: Vec<u8> = (0..total).map(|i| octet(i, TO_KINGLET)).collect();
        writing.write_all(&octets).unwrap();
        writing.shutdown(Shutdown::Write).unwrap();
    });
    // With Fast Open, the first write must precede the first read.
    let (mut hash, mut reading, mut buffer) = (Sha256::new(), stream, vec![0; 65_536]);
    loop {
        match reading.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::NotConnected => thread::yield_now(),
            Err(error) => panic!("Linux reads: {error}"),
        }
    }
    writer.join().unwrap();
    hash.finalize().into()
}
