//! Power is lost in the middle of any command, and the node restarts: the content of the store is
//! lost, none of it comes out, and frames put from then on come out unchanged.

use super::sim::Sim;
use super::tests::{SMALL, Whole};
use super::{Place, Record, Spilling};
use crate::{Label, MAX_PAYLOAD, Store};
use kinglet_flash::Command;
use kinglet_time::Duration;
use std::vec::Vec;

type Few = Whole<[Place; 4], [Record; 64]>;

const FRAMES: u16 = 120;

/// Returns the frame with this number, which differs from one life to the next.
fn payload(life: u8, n: u16) -> Vec<u8> {
    let mut payload = n.to_le_bytes().to_vec();
    payload.resize(3 + usize::from(n) * 7 % (MAX_PAYLOAD - 3), life);
    payload
}

/// Puts and takes frames, more puts than takes, until power is lost or all frames were taken.
/// Returns whether all were taken.
fn live(whole: &mut Few, life: u8) -> bool {
    let (mut put, mut taken) = (0, 0);
    let mut out = [0; MAX_PAYLOAD];
    for round in 0..10_000 {
        if whole.store.room() > 0 && put < FRAMES {
            let label = Label { to: 1, tag: put };
            whole.store.put(whole.now, label, &payload(life, put)).unwrap();
            put += 1;
        }
        if round % 3 == 0
            && let Some(len) = whole.store.take(whole.now, 1, &mut out)
        {
            assert_eq!(out[..len], payload(life, taken), "life {life}, frame {taken}");
            taken += 1;
        }
        whole.pass(Duration::from_millis(6));
        if taken == FRAMES || whole.flash.lost_power.is_some() {
            break;
        }
    }
    taken == FRAMES
}

#[test]
fn whenever_power_is_lost_nothing_that_comes_out_later_is_of_before() {
    let (mut programs, mut erasures) = (0, 0);
    for commands in 0..150 {
        for first_sector in [0, 1, 7] {
            let mut whole = Few::attached(Sim::new(SMALL, commands as u64));
            whole.flash.power_for = Some(commands);
            let done = live(&mut whole, 1);
            match whole.flash.lost_power {
                Some(Command::Program { .. }) => programs += 1,
                Some(Command::Erase { .. }) => erasures += 1,
                lost => assert!(lost.is_some() || done),
            }
            // A store that starts at the same sector as the former one uses the same slots with the
            // same numbers.
            whole.flash.restart();
            whole.store = Spilling::NEW;
            assert!(whole.store.attach(whole.now, SMALL, first_sector));
            assert!(whole.store.is_empty() && whole.store.first(|_| true).is_none());
            assert!(live(&mut whole, 2), "everything that was put comes out");
            let stats = whole.store.stats();
            assert_eq!((stats.lost, stats.failed_reads, stats.failed_writes), (0, 0, 0));
            assert!(stats.read > 50, "{stats:?}");
        }
    }
    assert!(programs > 100 && erasures > 9, "{programs} and {erasures}");
}
