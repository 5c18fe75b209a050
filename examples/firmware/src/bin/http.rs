//! A web server by `edge-http`, unmodified, over the sockets of `kinglet-embassy`.

#![no_std]
#![no_main]

use core::fmt::{Debug, Display};
use core::net::{Ipv6Addr, SocketAddr};
use cortex_m::singleton;
use edge_http::Method;
use edge_http::io::Error;
use edge_http::io::server::{Connection, Handler, Server};
use edge_nal::TcpBind;
use embassy_executor::task;
use embedded_io_async::{Read, Write};
use kinglet_embassy::Stack;
use kinglet_firmware::run_tasks;

kinglet_firmware::echo_profile!(Web { udp_sockets: 0 });

/// Clients at a time, octets of the head of a request, and header fields.
type Pages = Server<1, 256, 12>;
const PORT: u16 = 80;
const PAGE: &[u8] = b"<!doctype html><title>Cortex-M mote</title><h1>Cortex-M mote</h1>\
    <p>This page comes from edge-http over Kinglet's TCP.</p>\n";

run_tasks!(Web, server, 2 => serve);

#[task]
async fn serve(stack: Stack<'static, Web>) {
    let Some(server) = singleton!(: Pages = Server::new()) else { return };
    let any = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT);
    let Ok(listener) = TcpBind::bind(&stack, any).await else { return };
    let _ = server.run(None, listener, OnePage).await;
}

struct OnePage;

impl Handler for OnePage {
    type Error<E: Debug> = Error<E>;

    async fn handle<T: Read + Write, const N: usize>(
        &self,
        _: impl Display + Copy,
        connection: &mut Connection<'_, T, N>,
    ) -> Result<(), Error<T::Error>> {
        let request = connection.headers()?;
        let (is_get, is_root) = (request.method == Method::Get, request.path == "/");
        let (status, text) = match (is_get, is_root) {
            (true, true) => (200, PAGE),
            (true, false) => (404, &b"no such page\n"[..]),
            (false, _) => (405, &b"only GET\n"[..]),
        };
        connection.initiate_response(status, None, &[("Content-Type", "text/html")]).await?;
        connection.write_all(text).await
    }
}
