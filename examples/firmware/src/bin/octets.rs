//! Compares the routines of `kinglet-octets`, as linked into this image, with plain loops, at every
//! length up to several iterations of their longest loop and at every alignment; and its divisions,
//! of numbers of every length in bits.
//!
//! The last line says `ok` and the emulator exits with 0, or the difference and with 1. Unlike the
//! other images this one has the language's bounds checks linked: a failed check would stop it.

#![no_std]
#![no_main]

use core::hint::black_box;
use cortex_m_rt::entry;
use kinglet_firmware::console;

/// The longest run: the longest loops move 16 octets per iteration.
const LONGEST: usize = 72;
/// Octets before and after a run, which must not change.
const MARGIN: usize = 12;
const AREA: usize = LONGEST + 2 * MARGIN;

/// Aligned to a word.
#[repr(align(4))]
#[derive(Clone, Copy, PartialEq)]
struct Area([u8; AREA]);

#[entry]
fn main() -> ! {
    console::end(compare())
}

fn compare() -> Result<(), &'static str> {
    for len in 0..=LONGEST {
        for to in MARGIN - 4..MARGIN {
            clear(to, len).ok_or("clearing")?;
            fill(to, len).ok_or("filling")?;
            sum(to, len).ok_or("the sum")?;
            for from in MARGIN - 4..MARGIN {
                copy(to, from, len).ok_or("copying")?;
            }
            // As far apart as possible, in either direction.
            for from in 0..=2 * MARGIN {
                move_within(to, from, len).ok_or("moving")?;
            }
        }
    }
    for words in 0..=LONGEST / 4 {
        copy_words(words).ok_or("copying words")?;
    }
    for n in numbers() {
        for d in numbers() {
            divide(n, d).ok_or("a division")?;
            divide_long(n, d).ok_or("a long division")?;
        }
    }
    Ok(())
}

/// An area whose nearby octets all differ. `black_box` keeps the compiler from replacing plain
/// loops by library calls.
fn area(seed: u8) -> Area {
    let mut area = Area([0; AREA]);
    let mut octet = seed;
    for place in &mut area.0 {
        octet = octet.wrapping_mul(109).wrapping_add(89);
        *place = black_box(octet);
    }
    area
}

/// The expected `area` after `octets` have been written from `to` on, one by one.
fn written(area: &Area, to: usize, octets: impl Iterator<Item = u8>) -> Option<Area> {
    let mut expected = *area;
    for (place, octet) in expected.0.get_mut(to..)?.iter_mut().zip(octets) {
        *place = black_box(octet);
    }
    Some(expected)
}

/// `Some` if each octet is the expected one.
fn same(area: &Area, expected: &Area) -> Option<()> {
    let mut pairs = area.0.iter().zip(&expected.0);
    pairs.all(|(is, expected)| black_box(is) == expected).then_some(())
}

fn clear(to: usize, len: usize) -> Option<()> {
    let mut area = area(1);
    let expected = written(&area, to, (0..len).map(|_| 0))?;
    black_box(area.0.get_mut(to..to + len)?).fill(0);
    same(&area, &expected)
}

fn fill(to: usize, len: usize) -> Option<()> {
    let mut area = area(2);
    let octet = black_box(0xa5);
    let expected = written(&area, to, (0..len).map(|_| octet))?;
    black_box(area.0.get_mut(to..to + len)?).fill(octet);
    same(&area, &expected)
}

fn copy(to: usize, from: usize, len: usize) -> Option<()> {
    let (mut area, source) = (area(3), self::area(4));
    let source = source.0.get(from..from + len)?;
    let expected = written(&area, to, source.iter().copied())?;
    black_box(area.0.get_mut(to..to + len)?).copy_from_slice(source);
    same(&area, &expected)
}

fn move_within(to: usize, from: usize, len: usize) -> Option<()> {
    let mut area = area(5);
    let before = area;
    let source = before.0.get(from..from + len)?;
    let expected = written(&area, to, source.iter().copied())?;
    let octets: &mut [u8] = black_box(&mut area.0);
    octets.copy_within(from..from + len, to);
    same(&area, &expected)
}

/// Uses the entry point for ends that are known to be aligned to words.
fn copy_words(len: usize) -> Option<()> {
    let source: [u32; LONGEST / 4] = core::array::from_fn(|i| black_box(i as u32 * 0x0102_0305));
    let mut words = [0xdead_beef; LONGEST / 4];
    black_box(words.get_mut(..len)?).copy_from_slice(source.get(..len)?);
    let mut places = words.iter().zip(&source).enumerate();
    let right =
        |(i, (&is, &from)): (usize, (&u32, &u32))| is == if i < len { from } else { 0xdead_beef };
    places.all(right).then_some(())
}

/// Numbers of every length in bits: powers of two, their neighbours, and others.
fn numbers() -> impl Iterator<Item = u64> {
    let mut any = 1_u64;
    (0..64).flat_map(move |bit| {
        any = any.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let power = 1 << bit;
        [power, power - 1, power + 1, any >> bit]
    })
}

fn divide(n: u64, d: u64) -> Option<()> {
    let (n, d) = (black_box(n as u32), black_box(d as u32));
    let (Some(quotient), Some(rest)) = (n.checked_div(d), n.checked_rem(d)) else {
        return (d == 0).then_some(());
    };
    let expected = slow_division(n.into(), d.into());
    ((u64::from(quotient), u64::from(rest)) == expected).then_some(())
}

fn divide_long(n: u64, d: u64) -> Option<()> {
    let (n, d) = (black_box(n), black_box(d));
    let (Some(quotient), Some(rest)) = (n.checked_div(d), n.checked_rem(d)) else {
        return (d == 0).then_some(());
    };
    ((quotient, rest) == slow_division(n, d)).then_some(())
}

/// Quotient and remainder, bit by bit.
fn slow_division(n: u64, d: u64) -> (u64, u64) {
    let (mut quotient, mut rest) = (0, 0);
    for bit in (0..64).rev() {
        let over = rest >> 63 == 1;
        rest = black_box(rest << 1 | (n >> bit & 1));
        if over || rest >= d {
            rest = rest.wrapping_sub(d);
            quotient |= 1 << bit;
        }
    }
    (quotient, rest)
}

/// Data with many ones, so that there are carries.
fn sum(from: usize, len: usize) -> Option<()> {
    let mut area = area(6);
    area.0.iter_mut().step_by(3).for_each(|octet| *octet = black_box(0xff));
    let octets = area.0.get(from..from + len)?;
    let mut expected = 0_u16;
    for pair in octets.chunks(2) {
        let word = u16::from_be_bytes([*pair.first()?, *pair.get(1).unwrap_or(&0)]);
        let (sum, carry) = expected.overflowing_add(word);
        expected = black_box(sum + u16::from(carry));
    }
    (kinglet_octets::sum(black_box(octets)) == expected).then_some(())
}
