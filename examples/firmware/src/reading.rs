//! The exchange of the images of TLS: a reading, which the server sends back in reverse, as
//! `openssl s_server -rev` does.

use crate::console::{self, Piece::Number, Piece::Text};
use crate::place;
use embassy_time::{Instant, Timer};
use embedded_tls::{Aes128GcmSha256, CryptoProvider, TlsConnection, TlsContext, TlsError};
use kinglet::Profile;
use kinglet::time::Duration;
use kinglet_embassy::{Stack, TcpSocket};

const PORT: u16 = 4433;
const READING: &[u8] = b"21.5 degrees";
/// Time in which the server answers.
const RESPONSE_TIME: Duration = Duration::from_secs(5);

/// Sends the reading and checks what comes back. `refused` is the error if there is no TLS, and
/// `rooms` hold a record that is received and one that is sent.
///
/// # Errors
/// Why there was no answer.
pub async fn exchange<P: Profile, const RECORD: usize>(
    stack: Stack<'_, P>,
    context: TlsContext<'_, impl CryptoProvider<CipherSuite = Aes128GcmSha256>>,
    [received, sent]: &mut [[u8; RECORD]; 2],
    refused: &'static str,
) -> Result<(), &'static str> {
    let mut socket = loop {
        match TcpSocket::connect(stack, place::HOST, PORT, Default::default()).await {
            Ok(socket) => break socket,
            // The server has not started yet.
            Err(_) => Timer::after_secs(1).await,
        }
    };
    socket.set_response_time(Some(RESPONSE_TIME));
    let begin = Instant::now();
    let mut tls = TlsConnection::new(socket, received, sent);
    tls.open(context).await.map_err(|_| refused)?;
    let opened = Instant::now();
    let mut back = [0; READING.len()];
    let result: Result<(), TlsError> = async {
        tls.write(READING).await?;
        tls.write(b"\n").await?;
        tls.flush().await?;
        let mut len = 0;
        while let Some(rest) = back.get_mut(len..).filter(|rest| !rest.is_empty()) {
            len += tls.read(rest).await?;
        }
        Ok(())
    }
    .await;
    result.map_err(|_| "the server has closed")?;
    let (handshake, answer) = (opened - begin, opened.elapsed());
    console::line(&[
        Text("handshake ms "),
        Number(handshake.as_millis() as u32),
        Text(", answer ms "),
        Number(answer.as_millis() as u32),
    ]);
    let is_reverse = back.iter().rev().eq(READING);
    if is_reverse { Ok(()) } else { Err("the answer is not the reading") }
}
