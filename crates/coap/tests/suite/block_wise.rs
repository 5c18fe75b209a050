//! Bodies in blocks (RFC 7959).

use crate::common::with;
use kinglet_coap::*;

const BODY: usize = 300;

fn octet(at: usize) -> u8 {
    (at % 251) as u8
}

fn body() -> Vec<u8> {
    (0..BODY).map(octet).collect()
}

fn request(download: &Download) -> Vec<u8> {
    with(Kind::Confirmable, Code::GET, 1, b"", |w| w.path("big").and(download.write(w)))
}

/// Returns the response of a server with blocks of at most 2^(`exponent` + 4) octets.
fn answer(request: &[u8], exponent: u8, etag: &[u8]) -> Vec<u8> {
    let request = Message::parse(request).unwrap();
    let part = match Part::of(&request, BODY, exponent) {
        Ok(part) => part,
        Err(code) => return with(Kind::Acknowledgement, code, 1, b"", |_| Ok(())),
    };
    let data = &body()[part.range()];
    with(Kind::Acknowledgement, Code::CONTENT, 1, b"", |w| {
        w.option(option::ETAG, etag)?;
        part.write(w)?;
        w.payload(data)
    })
}

fn download(client: u8, server: u8) -> (Vec<u8>, usize) {
    let (mut download, mut body, mut requests) = (Download::new(client), Vec::new(), 0);
    loop {
        requests += 1;
        let response = answer(&request(&download), server, b"e");
        let piece = download.handle(&Message::parse(&response).unwrap()).unwrap();
        assert_eq!(piece.offset, body.len());
        body.extend(piece.data);
        if piece.is_last {
            return (body, requests);
        }
    }
}

// RFC 7959, §2.2
#[test]
fn the_option_packs_number_more_and_size() {
    let block = Block { number: 9, more: true, exponent: 5 };
    assert_eq!((block.to_uint(), block.size(), block.offset()), (0x9D, 512, 4_608));
    assert_eq!(Block::from_uint(0x9D), Some(block));
    assert_eq!(Block::from_uint(0x97), None, "the reserved size");
    assert_eq!(Block::from_uint(1 << 24), None);
}

// RFC 7959, §2.4 and 3.1
#[test]
fn a_body_arrives_in_blocks_of_the_smaller_size_of_both() {
    assert_eq!(download(6, 6), (body(), 1));
    assert_eq!(download(6, 2), (body(), 5));
    assert_eq!(download(2, 6), (body(), 5), "early negotiation");
    assert_eq!(download(1, 0), (body(), 19));
    let first = request(&Download::new(2));
    assert_eq!(Message::parse(&first).unwrap().uint(option::BLOCK2), Some(2));
    assert_eq!(Message::parse(&request(&Download::new(6))).unwrap().uint(option::BLOCK2), None);
}

// RFC 7959, §4
#[test]
fn the_size_of_a_body_is_reported_on_request() {
    let asks = with(Kind::Confirmable, Code::GET, 1, b"", |w| {
        w.uint(option::BLOCK2, 2).and(w.uint(option::SIZE2, 0))
    });
    let response = answer(&asks, 6, b"");
    assert_eq!(Message::parse(&response).unwrap().uint(option::SIZE2), Some(300));
}

// RFC 7959, §2.2 and 2.4
#[test]
fn a_server_refuses_blocks_that_do_not_exist() {
    for value in [5 << 4 | 2, 7, u32::MAX] {
        let get = with(Kind::Confirmable, Code::GET, 1, b"", |w| w.uint(option::BLOCK2, value));
        let response = answer(&get, 6, b"");
        assert_eq!(Message::parse(&response).unwrap().header.code, Code::BAD_REQUEST);
    }
    let last = with(Kind::Confirmable, Code::GET, 1, b"", |w| w.uint(option::BLOCK2, 4 << 4 | 2));
    let response = answer(&last, 6, b"");
    assert_eq!(Message::parse(&response).unwrap().payload, &body()[256..]);
    let Ok(part) = Part::of(&Message::parse(&last[..4]).unwrap(), 0, 6) else { panic!("empty") };
    assert_eq!(part.range(), 0..0, "an empty body is a body");
}

// RFC 7959, §2.4
#[test]
fn a_download_notices_what_does_not_belong_together() {
    let parse = |octets: &[u8]| Message::parse(octets).map(|_| ()).unwrap();
    let mut client = Download::new(2);
    let first = answer(&request(&client), 6, b"1");
    parse(&first);
    client.handle(&Message::parse(&first).unwrap()).unwrap();
    let before = client;
    assert_eq!(
        client.handle(&Message::parse(&first).unwrap()),
        Err(TransferError::OutOfStep),
        "the first block again"
    );
    let changed = answer(&request(&client), 6, b"2");
    assert_eq!(client.handle(&Message::parse(&changed).unwrap()), Err(TransferError::Changed));
    let gone = with(Kind::Acknowledgement, Code::NOT_FOUND, 1, b"", |_| Ok(()));
    let refused = TransferError::Refused(Code::NOT_FOUND);
    assert_eq!(client.handle(&Message::parse(&gone).unwrap()), Err(refused));
    let short = with(Kind::Acknowledgement, Code::CONTENT, 1, b"", |w| {
        w.option(option::ETAG, b"1")?;
        w.uint(option::BLOCK2, 1 << 4 | 8 | 2)?;
        w.payload(b"not sixty-four octets")
    });
    assert_eq!(client.handle(&Message::parse(&short).unwrap()), Err(TransferError::OutOfStep));
    assert_eq!((client, client.received()), (before, 64));
}

fn block_of(upload: &Upload) -> Vec<u8> {
    with(Kind::Confirmable, Code::PUT, 1, b"", |w| {
        w.path("up")?;
        upload.write(w)?;
        w.payload(&body()[upload.range()])
    })
}

fn take(
    reception: &mut Reception<u8>,
    from: u8,
    request: &[u8],
    exponent: u8,
    body: &mut Vec<u8>,
) -> Vec<u8> {
    let request = Message::parse(request).unwrap();
    match reception.handle(from, &request, BODY, exponent) {
        Ok(accepted) => {
            body.truncate(accepted.piece.offset);
            body.extend(accepted.piece.data);
            let code = accepted.code(Code::CHANGED);
            with(Kind::Acknowledgement, code, 1, b"", |w| accepted.write(w))
        }
        Err(code) => with(Kind::Acknowledgement, code, 1, b"", |_| Ok(())),
    }
}

// RFC 7959, §2.3 and 3.2
#[test]
fn a_body_is_put_in_blocks_of_the_size_that_the_server_wants() {
    for (client, server, requests) in [(6, 6, 1), (3, 6, 3), (3, 1, 1 + 6), (2, 6, 5)] {
        let (mut upload, mut reception) = (Upload::new(BODY, client), Reception::NEW);
        let (mut received, mut count) = (Vec::new(), 0);
        loop {
            count += 1;
            let request = block_of(&upload);
            let size = Message::parse(&request).unwrap().uint(option::SIZE1);
            assert_eq!(size, (count == 1 && requests > 1).then_some(300));
            let response = take(&mut reception, 1, &request, server, &mut received);
            if upload.handle(&Message::parse(&response).unwrap()) == Ok(UploadStep::Done) {
                break;
            }
        }
        assert_eq!((received, count), (body(), requests), "{client} {server}");
    }
}

// RFC 7959, §3.2, figure 8
#[test]
fn a_server_may_answer_each_block_as_if_it_were_all() {
    let (mut upload, mut count) = (Upload::new(BODY, 3), 0);
    loop {
        count += 1;
        let block = Message::parse(&block_of(&upload)).unwrap().uint(option::BLOCK1).unwrap();
        let response = with(Kind::Acknowledgement, Code::CHANGED, 1, b"", |w| {
            w.uint(option::BLOCK1, block & !8)
        });
        match upload.handle(&Message::parse(&response).unwrap()) {
            Ok(UploadStep::Next) => {}
            other => break assert_eq!((other, count), (Ok(UploadStep::Done), 3)),
        }
    }
    // A response without the Block1 option shows that the server has not understood it.
    let mut upload = Upload::new(BODY, 3);
    let response = with(Kind::Acknowledgement, Code::CHANGED, 1, b"", |_| Ok(()));
    let result = upload.handle(&Message::parse(&response).unwrap());
    assert_eq!(result, Err(TransferError::OutOfStep));
}

#[test]
fn an_upload_is_not_ended_by_what_another_client_sends_too_much_of() {
    let whole = with(Kind::Confirmable, Code::PUT, 1, b"", |w| w.payload(&[0; BODY + 1]));
    for (stranger, code) in [(2, Code::CONTINUE), (1, Code::REQUEST_ENTITY_INCOMPLETE)] {
        let (mut upload, mut reception) = (Upload::new(BODY, 2), Reception::NEW);
        let mut body = Vec::new();
        let response = take(&mut reception, 1, &block_of(&upload), 6, &mut body);
        upload.handle(&Message::parse(&response).unwrap()).unwrap();
        let refused = take(&mut reception, stranger, &whole, 6, &mut Vec::new());
        let too_large = Code::REQUEST_ENTITY_TOO_LARGE;
        assert_eq!(Message::parse(&refused).unwrap().header.code, too_large);
        let next = take(&mut reception, 1, &block_of(&upload), 6, &mut body);
        assert_eq!(Message::parse(&next).unwrap().header.code, code);
    }
}

// RFC 7959, §2.9.2 and 2.9.3
#[test]
fn a_block_out_of_order_is_incomplete_and_a_long_body_too_large() {
    let mut reception = Reception::NEW;
    let code = |octets: Vec<u8>| Message::parse(&octets).unwrap().header.code;
    let mut body = Vec::new();
    let mut upload = Upload::new(BODY, 2);
    let first = block_of(&upload);
    let response = take(&mut reception, 1, &first, 6, &mut body);
    upload.handle(&Message::parse(&response).unwrap()).unwrap();
    let second = block_of(&upload);
    let incomplete = Code::REQUEST_ENTITY_INCOMPLETE;
    assert_eq!(code(take(&mut reception, 2, &second, 6, &mut body)), incomplete, "of another peer");
    assert_eq!(code(take(&mut reception, 1, &second, 6, &mut body)), Code::CONTINUE);
    assert_eq!(code(take(&mut reception, 1, &second, 6, &mut body)), incomplete, "twice");
    let refused = with(Kind::Acknowledgement, incomplete, 1, b"", |_| Ok(()));
    let result = upload.handle(&Message::parse(&refused).unwrap());
    assert_eq!(result, Err(TransferError::Refused(incomplete)));

    let large = with(Kind::Confirmable, Code::PUT, 1, b"", |w| {
        w.uint(option::BLOCK1, 8)?;
        w.uint(option::SIZE1, 301)?;
        w.payload(&[0; 16])
    });
    let too_large = Code::REQUEST_ENTITY_TOO_LARGE;
    assert_eq!(code(take(&mut reception, 1, &large, 6, &mut body)), too_large);
    let whole = with(Kind::Confirmable, Code::PUT, 1, b"", |w| w.payload(&[0; 301]));
    assert_eq!(code(take(&mut reception, 1, &whole, 6, &mut body)), too_large);
}

// RFC 7959, §2.9.3
#[test]
fn an_upload_begins_again_in_smaller_blocks_if_the_first_was_too_large() {
    let mut upload = Upload::new(BODY, 6);
    let response = with(Kind::Acknowledgement, Code::REQUEST_ENTITY_TOO_LARGE, 1, b"", |w| {
        w.uint(option::BLOCK1, 8 | 2)
    });
    let response = Message::parse(&response).unwrap();
    assert_eq!(upload.handle(&response), Ok(UploadStep::Next));
    assert_eq!(upload.range(), 0..64);
    let refused = TransferError::Refused(Code::REQUEST_ENTITY_TOO_LARGE);
    assert_eq!(upload.handle(&response), Err(refused), "once");
}
