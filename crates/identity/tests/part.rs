//! Pages and counters of a device whose power fails at any octet.
#![allow(clippy::unwrap_used, reason = "tests")]

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use kinglet::radio::{Channel, Key};
use kinglet::wire::ieee802154::PanId;
use kinglet_identity::{Counters, CountersError, Identity, LEN, PageError};
use proptest::prelude::*;

const PAGE: usize = 256;
const PAGES: usize = 3;

/// A flash of three small pages and words of four octets. Its power fails after so many octets
/// were programmed or erased.
#[derive(Clone)]
struct Part {
    octets: Vec<u8>,
    left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PowerFailed;

impl NorFlashError for PowerFailed {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl Part {
    fn erased() -> Part {
        Part { octets: vec![0xff; PAGES * PAGE], left: usize::MAX }
    }

    fn spend(&mut self) -> Result<(), PowerFailed> {
        self.left = self.left.checked_sub(1).ok_or(PowerFailed)?;
        Ok(())
    }
}

impl ErrorType for Part {
    type Error = PowerFailed;
}

impl ReadNorFlash for Part {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), PowerFailed> {
        let offset = offset as usize;
        bytes.copy_from_slice(&self.octets[offset..offset + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.octets.len()
    }
}

impl NorFlash for Part {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), PowerFailed> {
        for at in from..to {
            self.spend()?;
            self.octets[at as usize] = 0xff;
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), PowerFailed> {
        assert!((offset as usize).is_multiple_of(4) && bytes.len().is_multiple_of(4));
        for (at, octet) in (offset as usize..).zip(bytes) {
            self.spend()?;
            // Programming clears bits.
            self.octets[at] &= octet;
        }
        Ok(())
    }
}

/// Returns the result of a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the flash of these tests never waits"),
    }
}

fn counters(part: Part) -> Counters<Part> {
    Counters::new(part, 0..(PAGES * PAGE) as u32).unwrap()
}

#[test]
fn a_restart_begins_at_the_last_bound() {
    let mut device = counters(Part::erased());
    assert_eq!(now(device.first()), Ok(0));
    for bound in (1..1_000).map(|n| n * 8_192) {
        now(device.keep(bound)).unwrap();
        device = counters(device.into_flash());
        assert_eq!(now(device.first()), Ok(bound));
    }
    assert_eq!(now(device.keep(1)), Err(CountersError::Lower));
    assert_eq!(now(device.first()), Ok(999 * 8_192));
}

#[test]
fn a_range_that_is_not_of_whole_pages_is_refused() {
    let page = PAGE as u32;
    for range in [0..page, 1..2 * page, 0..2 * page + 4, page..page, 0..9 * page] {
        assert_eq!(Counters::new(Part::erased(), range).err(), Some(CountersError::Range));
    }
    let range = 2 * page..0;
    assert_eq!(Counters::new(Part::erased(), range).err(), Some(CountersError::Range));
}

proptest! {
    /// A device reserves counters, uses some of them and loses its power, again and again.
    #[test]
    fn no_counter_is_used_twice_wherever_power_fails(
        lives in prop::collection::vec((0..400_usize, 1..5_u32), 1..60),
    ) {
        let (mut part, mut unused) = (Part::erased(), 0);
        for (left, blocks) in lives {
            part.left = left;
            let mut device = counters(part.clone());
            // A device that cannot read its flash does not start.
            let first = now(device.first());
            if let Ok(first) = first {
                prop_assert!(first >= unused, "{first} was used before {unused}");
                let mut bound = first;
                for _ in 0..blocks {
                    if now(device.keep(bound + 100)).is_err() {
                        break;
                    }
                    bound += 100;
                    unused = bound;
                }
            } else {
                prop_assert_eq!(first, Err(CountersError::Flash(PowerFailed)));
            }
            part = device.into_flash();
        }
    }

    #[test]
    fn a_page_is_read_as_it_was_written(
        eui64 in any::<[u8; 8]>(), short in prop::option::of(0..0xfffe_u16), pan in 0..0xffff_u16,
        channel in 11..=26_u8, key in any::<[u8; 16]>(),
    ) {
        prop_assume!(eui64 != [0; 8] && eui64 != [0xff; 8]);
        let channel = Channel::new(channel).unwrap();
        let identity = Identity { eui64, short, pan_id: PanId(pan), channel, key: Key(key) };
        let page = identity.write().unwrap();
        prop_assert_eq!(Identity::read(&page), Ok(identity));
    }

    #[test]
    fn no_octets_make_the_reader_panic(page in any::<[u8; LEN]>()) {
        let _ = Identity::read(&page);
    }
}

const IDENTITY: Identity = Identity {
    eui64: [2, 0x12, 0x4b, 0, 0, 0, 0, 7],
    short: Some(0x17),
    pan_id: PanId(0x23),
    channel: match Channel::new(26) {
        Some(channel) => channel,
        None => panic!("a channel"),
    },
    key: Key(*b"0123456789abcdef"),
};

/// The layout of version 1, octet by octet.
#[test]
fn the_page_has_its_documented_layout() {
    let page = IDENTITY.write().unwrap();
    let head = [b'K', b'N', b'G', b'L', 1, 26, 0x23, 0, 2, 0x12, 0x4b, 0, 0, 0, 0, 7, 0x17, 0];
    assert_eq!(page[..18], head);
    assert_eq!(page[18..20], [0; 2]);
    assert_eq!(page[20..36], *b"0123456789abcdef");
}

#[test]
fn a_page_with_any_bit_changed_is_refused() {
    let page = IDENTITY.write().unwrap();
    for bit in 0..8 * LEN {
        let mut page = page;
        page[bit / 8] ^= 1 << (bit % 8);
        let expected = match bit / 8 {
            0..4 => PageError::Foreign,
            4 => PageError::Version(1 ^ 1 << (bit % 8)),
            _ => PageError::Damaged,
        };
        assert_eq!(Identity::read(&page), Err(expected), "bit {bit}");
    }
    assert_eq!(Identity::read(&[0xff; LEN]), Err(PageError::Erased));
}

#[test]
fn values_that_no_device_can_have_are_refused() {
    let wrong = [
        (Identity { eui64: [0; 8], ..IDENTITY }, "EUI-64"),
        (Identity { eui64: [0xff; 8], ..IDENTITY }, "EUI-64"),
        (Identity { short: Some(0xfffe), ..IDENTITY }, "short address"),
        (Identity { pan_id: PanId::BROADCAST, ..IDENTITY }, "PAN"),
    ];
    for (identity, name) in wrong {
        assert_eq!(identity.write(), Err(PageError::Value(name)));
    }
    assert!(Identity { short: None, ..IDENTITY }.write().is_ok());
}

#[test]
fn the_configuration_has_the_identity_and_the_numbers_that_were_drawn() {
    let mut last = 0_u8;
    let config = IDENTITY.config(
        |octets| {
            octets.iter_mut().for_each(|octet| {
                last += 1;
                *octet = last;
            });
        },
        77,
    );
    assert_eq!((config.mac.short, config.mac.extended), (0x17, IDENTITY.eui64));
    assert_eq!((config.mac.pan_id, config.mac.channel), (IDENTITY.pan_id, IDENTITY.channel));
    let security = config.mac.security.unwrap();
    assert_eq!((security.key, security.first_counter), (IDENTITY.key, 77));
    assert_eq!(config.seed, 0x0807_0605_0403_0201);
    assert_eq!(config.tcp.secret, core::array::from_fn(|at| 9 + at as u8));
}
