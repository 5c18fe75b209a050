//! 6LoWPAN as RIOT writes and reads it (RFC 4944, RFC 6282), with at most 64 bits of context 0.

/// Octets of a frame's payload: 127 less FCS and a header with two long addresses.
const ROOM: usize = 104;

pub(crate) type Ip = [u8; 16];
pub(crate) type Eui = [u8; 8];

pub(crate) fn iid(eui: Eui) -> [u8; 8] {
    let mut iid = eui;
    iid[0] ^= 2;
    iid
}

pub(crate) fn with_iid(prefix: &Ip, eui: Eui) -> Ip {
    let mut address = *prefix;
    address[8..].copy_from_slice(&iid(eui));
    address
}

pub(crate) fn link_local(eui: Eui) -> Ip {
    let mut prefix = [0; 16];
    prefix[..2].copy_from_slice(&[0xfe, 0x80]);
    with_iid(&prefix, eui)
}

/// Returns the payloads of the frames that carry an IPv6 packet.
pub(crate) fn frames(
    packet: &[u8],
    from: Eui,
    to: Option<Eui>,
    context: Option<Ip>,
    tag: u16,
) -> Vec<Vec<u8>> {
    let header = compressed(packet, from, to, context);
    if header.len() + packet.len() - 40 <= ROOM {
        return vec![[&header, &packet[40..]].concat()];
    }
    let size = packet.len() as u16;
    let start = |kind: u16| {
        let [a, b] = (kind << 11 | size).to_be_bytes();
        let [c, d] = tag.to_be_bytes();
        vec![a, b, c, d]
    };
    let mut end = 40 + (ROOM - 4 - header.len()) / 8 * 8;
    let mut all = vec![[start(0b11000), header, packet[40..end].to_vec()].concat()];
    while end < packet.len() {
        let next = (end + (ROOM - 5) / 8 * 8).min(packet.len());
        let offset = vec![(end / 8) as u8];
        all.push([start(0b11100), offset, packet[end..next].to_vec()].concat());
        end = next;
    }
    all
}

fn compressed(packet: &[u8], from: Eui, to: Option<Eui>, context: Option<Ip>) -> Vec<u8> {
    let hops = match packet[7] {
        64 => 0b10,
        255 => 0b11,
        _ => 0,
    };
    let mut inline = vec![packet[6]];
    if hops == 0 {
        inline.push(packet[7]);
    }
    let mut address = |at: usize, eui: Option<Eui>| {
        let octets = &packet[at..at + 16];
        let derived = eui.is_some_and(|eui| octets[8..] == iid(eui));
        let shared = context.filter(|it| it[..8] == octets[..8]).is_some();
        let local = octets[..8] == [0xfe, 0x80, 0, 0, 0, 0, 0, 0];
        if octets[0] == 0xff || !(shared || local) {
            inline.extend(octets);
            return 0;
        }
        if !derived {
            inline.extend(&octets[8..]);
        }
        u8::from(shared) << 2 | if derived { 3 } else { 1 }
    };
    let (src, dst) = (address(8, Some(from)), address(24, to));
    let multicast = u8::from(packet[24] == 0xff) << 3;
    [vec![0x78 | hops, src << 4 | multicast | dst], inline].concat()
}

/// A datagram that is being reassembled.
pub(crate) struct Partial {
    tag: u16,
    octets: Vec<Option<u8>>,
}

/// Returns the IPv6 packet that a frame's payload completes.
pub(crate) fn read(
    payload: &[u8],
    (from, to): (Eui, Option<Eui>),
    context: Option<Ip>,
    partial: &mut Option<Partial>,
) -> Option<Vec<u8>> {
    let (kind, size) = (payload[0] >> 3, u16::from_be_bytes([payload[0], payload[1]]) & 0x7ff);
    if kind != 0b11000 && kind != 0b11100 {
        let (mut packet, used) = expanded(payload, (from, to), context)?;
        packet.extend(&payload[used..]);
        return Some(with_lengths(packet));
    }
    let (size, tag) = (usize::from(size), u16::from_be_bytes([payload[2], payload[3]]));
    if partial.as_ref().is_none_or(|it| it.tag != tag || it.octets.len() != size) {
        *partial = Some(Partial { tag, octets: vec![None; size] });
    }
    let it = partial.as_mut()?;
    let (at, part) = if kind == 0b11000 {
        let (mut packet, used) = expanded(&payload[4..], (from, to), context)?;
        packet.extend(&payload[4 + used..]);
        (0, packet)
    } else {
        (usize::from(payload[4]) * 8, payload[5..].to_vec())
    };
    // A fragment whose acknowledgement was late comes again.
    let place = &mut it.octets[at..at + part.len()];
    place.copy_from_slice(&part.into_iter().map(Some).collect::<Vec<_>>());
    let whole: Vec<u8> = it.octets.iter().copied().collect::<Option<_>>()?;
    *partial = None;
    Some(with_lengths(whole))
}

fn with_lengths(mut packet: Vec<u8>) -> Vec<u8> {
    let len = (packet.len() - 40) as u16;
    packet[4..6].copy_from_slice(&len.to_be_bytes());
    if packet[6] == 17 {
        packet[44..46].copy_from_slice(&len.to_be_bytes());
    }
    packet
}

/// Returns the decompressed headers, and the number of octets that they took.
fn expanded(
    octets: &[u8],
    (from, to): (Eui, Option<Eui>),
    context: Option<Ip>,
) -> Option<(Vec<u8>, usize)> {
    if octets[0] == 0x41 {
        return Some((octets[1..41].to_vec(), 41));
    }
    assert_eq!(octets[0] >> 5, 0b011, "a dispatch of RFC 6282: {octets:02x?}");
    let (first, second) = (octets[0], octets[1]);
    let mut at = 2 + usize::from(second >> 7);
    assert!(second >> 7 == 0 || octets[2] == 0, "context 0 alone");
    let mut take = |len: usize| {
        at += len;
        octets[at - len..at].to_vec()
    };
    let mut header = vec![0x60, 0, 0, 0, 0, 0, 0, 0];
    match first >> 3 & 3 {
        0 => drop(take(4)),
        1 => drop(take(3)),
        2 => {
            let class = take(1)[0].rotate_left(2);
            (header[0], header[1]) = (0x60 | class >> 4, class << 4);
        }
        _ => {}
    }
    let compressed = first & 4 != 0;
    header[6] = if compressed { 17 } else { take(1)[0] };
    header[7] = match first & 3 {
        0 => take(1)[0],
        1 => 1,
        2 => 64,
        _ => 255,
    };
    let unicast = |mode: u8, eui: Option<Eui>, take: &mut dyn FnMut(usize) -> Vec<u8>| {
        let mut address = if mode & 4 != 0 { context? } else { link_local([0; 8]) };
        match mode {
            0 => address.copy_from_slice(&take(16)),
            4 => address = [0; 16],
            1 | 5 => address[8..].copy_from_slice(&take(8)),
            3 | 7 => address = with_iid(&address, eui?),
            _ => {
                address[8..14].copy_from_slice(&[0, 0, 0, 0xff, 0xfe, 0]);
                address[14..].copy_from_slice(&take(2));
            }
        }
        Some(address)
    };
    let src = unicast(second >> 4 & 7, Some(from), &mut take)?;
    let dst = if second & 8 == 0 {
        unicast(second & 7, to, &mut take)?
    } else {
        group(second, &mut take)
    };
    header.extend([src, dst].concat());
    if compressed {
        header.extend(udp(&mut take));
    }
    Some((header, at))
}

fn group(second: u8, take: &mut dyn FnMut(usize) -> Vec<u8>) -> Ip {
    let mut address = [0; 16];
    (address[0], address[1]) = (0xff, 2);
    let tail = match second & 7 {
        0 => 16,
        1 => 6,
        2 => 4,
        3 => 1,
        other => panic!("{other} of RFC 6282, 3.1.1"),
    };
    let octets = take(tail);
    match tail {
        16 => address.copy_from_slice(&octets),
        1 => address[15] = octets[0],
        _ => {
            address[1] = octets[0];
            address[17 - tail..].copy_from_slice(&octets[1..]);
        }
    }
    address
}

/// Returns a UDP header of RFC 6282, 4.3, without its length.
fn udp(take: &mut dyn FnMut(usize) -> Vec<u8>) -> Vec<u8> {
    let kind = take(1)[0];
    assert_eq!(kind >> 2, 0b111100, "UDP with its checksum");
    let ports = match kind & 3 {
        0 => take(4),
        1 => [take(2), vec![0xf0], take(1)].concat(),
        2 => {
            let octets = take(3);
            vec![0xf0, octets[0], octets[1], octets[2]]
        }
        _ => {
            let both = take(1)[0];
            vec![0xf0, 0xb0 | both >> 4, 0xf0, 0xb0 | both & 15]
        }
    };
    [ports, vec![0, 0], take(2)].concat()
}

#[test]
fn a_fragment_that_comes_again_completes_no_datagram() {
    let (from, to, mut partial) = ([2, 0, 0, 0, 0, 0, 0, 1], Some([2, 0, 0, 0, 0, 0, 0, 2]), None);
    let ends = [link_local(from), link_local([2, 0, 0, 0, 0, 0, 0, 2])];
    let packet = [&[0x60, 0, 0, 0, 0, 200, 58, 64], &ends.concat()[..], &[1; 200]].concat();
    let frames = frames(&packet, from, to, None, 7);
    let mut hear = |at: usize| read(&frames[at], (from, to), None, &mut partial);
    assert_eq!([0, 1, 1, 1, 0].map(&mut hear), [const { None }; 5]);
    assert_eq!(hear(2), Some(packet));
}
