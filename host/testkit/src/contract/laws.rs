//! The laws, one function each. All have as arguments the seed of the call sequence and its number
//! of steps.

use super::run::Run;
use super::{Subject, Violation};
use kinglet_time::{Duration, Instant};
use rand_core::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the functions")]
pub enum Law {
    TimeIsMonotone,
    DrainingEnds,
    NoStaleDeadline,
    EarlyIsANoOp,
    LateIsSafe,
    Deterministic,
    NothingIsLostByRefusal,
    Bounded,
    ControlProceeds,
    NothingPanics,
    RestIsFree,
    OutsideChangesNothing,
}

/// All laws, in order.
pub const ALL: [Law; 12] = [
    Law::TimeIsMonotone,
    Law::DrainingEnds,
    Law::NoStaleDeadline,
    Law::EarlyIsANoOp,
    Law::LateIsSafe,
    Law::Deterministic,
    Law::NothingIsLostByRefusal,
    Law::Bounded,
    Law::ControlProceeds,
    Law::NothingPanics,
    Law::RestIsFree,
    Law::OutsideChangesNothing,
];

/// Checks one law. A panic of the layer counts as a violation of law 10.
///
/// # Errors
/// The violation.
pub fn without_panic<S: Subject>(law: Law, seed: u64, steps: u32) -> Result<(), Violation> {
    let checked = catch_unwind(AssertUnwindSafe(|| match law {
        Law::TimeIsMonotone => time_is_monotone::<S>(seed, steps),
        Law::DrainingEnds => draining_ends::<S>(seed, steps),
        Law::NoStaleDeadline => no_stale_deadline::<S>(seed, steps),
        Law::EarlyIsANoOp => early_is_a_no_op::<S>(seed, steps),
        Law::LateIsSafe => late_is_safe::<S>(seed, steps),
        Law::Deterministic => deterministic::<S>(seed, steps),
        Law::NothingIsLostByRefusal => nothing_is_lost_by_refusal::<S>(seed, steps),
        Law::Bounded => bounded::<S>(seed, steps),
        Law::ControlProceeds => control_proceeds::<S>(seed, steps),
        Law::NothingPanics => nothing_panics::<S>(seed, steps),
        Law::RestIsFree => rest_is_free::<S>(seed, steps),
        Law::OutsideChangesNothing => outside_changes_nothing::<S>(seed, steps),
    }));
    checked.unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
        let what = format!("panic while checking {law:?}: {}", text.unwrap_or_default());
        Err(Violation { law: 10, name: "nothing panics", seed, step: 0, what })
    })
}

/// Number of deadlines that are followed without any other input to the layer.
const FOLLOWED: usize = 8;

/// Law 1: without inputs, each deadline of a layer is later than the one before.
///
/// # Errors
/// The violation.
pub fn time_is_monotone<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((1, "time is monotone"), seed);
    for _ in 0..steps {
        run.step()?;
        if run.random.next_u32().is_multiple_of(4) {
            for _ in 0..FOLLOWED {
                let Some(at) = run.subject.deadline() else { break };
                // An overdue deadline counts as the present.
                run.now = run.now.max(at);
                run.subject.handle_deadline(run.now);
                run.drain()?;
                let next = run.subject.deadline();
                run.demand(next.is_none_or(|next| next > at), || {
                    format!("the deadline after {at:?} is {next:?}")
                })?;
            }
        }
    }
    Ok(())
}

/// Law 2: after any call at most [`Subject::DRAIN_BOUND`] outputs follow.
///
/// # Errors
/// The violation.
pub fn draining_ends<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((2, "draining ends"), seed);
    for _ in 0..steps {
        run.step()?;
        let again = run.drain()?;
        run.demand(again.is_empty(), || format!("drained, and then there was {again:?}"))?;
    }
    Ok(())
}

/// Law 3: after `handle_deadline(now)` the next deadline is after `now`.
///
/// # Errors
/// The violation.
pub fn no_stale_deadline<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((3, "no stale deadline"), seed);
    for _ in 0..steps {
        run.step()?;
        if run.subject.deadline().is_some_and(|at| at <= run.now) {
            run.subject.handle_deadline(run.now);
            run.drain()?;
            let next = run.subject.deadline();
            run.demand(next.is_none_or(|at| at > run.now), || {
                format!("after handle_deadline({:?}) the deadline is {next:?}", run.now)
            })?;
        }
        let Some(at) = run.subject.deadline() else { continue };
        if run.random.next_u32().is_multiple_of(4) {
            run.now = run.now.max(at);
            run.subject.handle_deadline(run.now);
            run.drain()?;
            let next = run.subject.deadline();
            run.demand(next.is_none_or(|next| next > run.now), || {
                format!("after handle_deadline({:?}) the deadline is {next:?}", run.now)
            })?;
        }
    }
    Ok(())
}

/// Law 4: a twin that is also woken before its deadlines behaves the same.
///
/// # Errors
/// The violation.
pub fn early_is_a_no_op<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let name = (4, "early is a no-op");
    let (mut run, mut twin) = (Run::<S>::new(name, seed), Run::<S>::new(name, seed));
    for _ in 0..steps {
        let (seen, by_twin) = (run.step()?, twin.step()?);
        run.demand(seen == by_twin, || format!("{seen:?} became {by_twin:?} after an early call"))?;
        if twin.subject.deadline().is_none_or(|at| at > twin.now) {
            let before = (twin.subject.observe(), twin.subject.deadline());
            twin.subject.handle_deadline(twin.now);
            let outputs = twin.drain()?;
            let after = (twin.subject.observe(), twin.subject.deadline());
            run.demand(outputs.is_empty() && before == after, || {
                format!("an early call gave {outputs:?} and turned {before:?} into {after:?}")
            })?;
        }
    }
    Ok(())
}

/// Law 5: after a call an hour late, one ordinary burst follows, and nothing is left over.
///
/// # Errors
/// The violation.
pub fn late_is_safe<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((5, "late is safe"), seed);
    for _ in 0..steps {
        run.step()?;
        let Some(at) = run.subject.deadline() else { continue };
        if !run.random.next_u32().is_multiple_of(4) {
            continue;
        }
        run.now = run.now.max(at + Duration::from_secs(3_600));
        run.subject.handle_deadline(run.now);
        run.drain()?;
        let before = run.subject.observe();
        run.subject.handle_deadline(run.now);
        let more = run.drain()?;
        let after = run.subject.observe();
        run.demand(more.is_empty() && before == after, || {
            format!("the second call at {:?} still gave {more:?}: {before} -> {after}", run.now)
        })?;
    }
    Ok(())
}

/// Law 6: the same seed and calls give the same outputs and deadlines.
///
/// # Errors
/// The violation.
pub fn deterministic<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let name = (6, "deterministic");
    let (mut run, mut twin) = (Run::<S>::new(name, seed), Run::<S>::new(name, seed));
    for _ in 0..steps {
        let (seen, by_twin) = (run.step()?, twin.step()?);
        run.demand(seen == by_twin, || format!("once {seen:?}, once {by_twin:?}"))?;
        // `deadline` and `observe` are pure: reading one twin twice must not make the twins differ.
        let read = (run.subject.observe(), run.subject.deadline());
        let again = (run.subject.observe(), run.subject.deadline());
        run.demand(read == again, || format!("{read:?} is {again:?} when read again"))?;
    }
    Ok(())
}

/// Number of deadlines within which a refused output must be offered again.
const OFFERED_WITHIN: usize = 16;

/// Law 7: the work that a layer owes is the same before and after a refusal, and is offered again.
///
/// # Errors
/// The violation.
pub fn nothing_is_lost_by_refusal<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((7, "nothing is lost by refusal"), seed);
    for _ in 0..steps {
        run.step()?;
        // Brings the layer to a state in which it may have an output, without draining it.
        run.subject.operate(run.now, &mut run.random);
        if let Some(at) = run.subject.deadline() {
            run.now = run.now.max(at);
            run.subject.handle_deadline(run.now);
        }
        let before = run.subject.owed();
        if !run.subject.refuse(run.now) {
            continue;
        }
        let after = run.subject.owed();
        run.demand(after == before, || format!("{before} owed before, {after} after"))?;
        let mut offered = !run.drain()?.is_empty();
        for _ in 0..OFFERED_WITHIN {
            let Some(at) = run.subject.deadline().filter(|_| !offered) else { break };
            run.now = run.now.max(at);
            run.subject.handle_deadline(run.now);
            offered = !run.drain()?.is_empty();
        }
        run.demand(offered, || "a refused frame is not offered again".to_owned())?;
    }
    Ok(())
}

/// Law 8: no table ever holds more than its size.
///
/// # Errors
/// The violation.
pub fn bounded<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((8, "bounded"), seed);
    for _ in 0..steps {
        run.step()?;
        let tables = run.subject.occupancy();
        run.demand(tables.iter().all(|(used, size)| used <= size), || {
            format!("used and size of the tables: {tables:?}")
        })?;
    }
    Ok(())
}

/// Units of data after which a layer counts as impossible to fill.
const MUCH_DATA: usize = 10_000;

/// Law 9: data alone can never fill a layer so that control traffic is refused.
///
/// # Errors
/// The violation.
pub fn control_proceeds<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((9, "control proceeds"), seed);
    // The random operations of the other laws are not used, because they may be control traffic.
    for _ in 0..steps {
        match run.random.next_u32() % 4 {
            0 => drop(run.drain()?),
            1 => {
                run.now = run.subject.deadline().unwrap_or(run.now).max(run.now);
                run.subject.handle_deadline(run.now);
            }
            _ => drop(run.subject.offer_data(run.now)),
        }
    }
    for offered in 0.. {
        match run.subject.offer_data(run.now) {
            None => return Ok(()),
            Some(false) => break,
            Some(true) => {}
        }
        run.demand(offered < MUCH_DATA, || "data is never refused".to_owned())?;
    }
    let accepted = run.subject.offer_control(run.now);
    run.demand(accepted == Some(true), || "control is refused after data".to_owned())
}

/// Law 10: arbitrary inputs in arbitrary order at arbitrary times, even backwards.
///
/// # Errors
/// None of its own: a panic is the violation, see [`without_panic`].
pub fn nothing_panics<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((10, "nothing panics"), seed);
    for _ in 0..steps {
        let dice = run.random.next_u32();
        let wild = match dice >> 8 & 7 {
            0 => Instant::ZERO,
            1 => Instant::MAX,
            2 => Instant::from_micros(run.random.next_u64()),
            _ => run.now,
        };
        match dice & 7 {
            0 => run.subject.handle_deadline(wild),
            1 => drop(run.subject.poll(wild)),
            2 => drop(run.subject.refuse(wild)),
            3 => drop(run.subject.offer_data(wild)),
            4 => drop(run.subject.offer_control(wild)),
            5 => drop((run.subject.observe(), run.subject.deadline(), run.subject.owed())),
            _ => drop(run.subject.operate(wild, &mut run.random)),
        }
        run.now += Duration::from_micros(u64::from(run.random.next_u32() % 5_000));
    }
    Ok(())
}

/// Number of calls to an idle layer at one time.
const ASKED: usize = 3;

/// Law 11: drained and before its deadline, a layer returns nothing and changes nothing, however
/// often and at whatever time it is called; and after one such call, it calls none of its inner
/// layers again ([`Subject::work`]) until something happens or is due.
///
/// # Errors
/// The violation.
pub fn rest_is_free<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((11, "rest is free"), seed);
    for _ in 0..steps {
        run.step()?;
        let deadline = run.subject.deadline();
        let later = Duration::from_micros(u64::from(run.random.next_u32() % 2_000_000));
        let mut worked = None;
        for at in [run.now, run.now + later] {
            if deadline.is_some_and(|deadline| deadline <= at) {
                break;
            }
            run.now = at;
            for _ in 0..ASKED {
                let before = run.subject.observe();
                let given = run.subject.poll(at);
                run.subject.handle_deadline(at);
                let next = run.subject.deadline();
                run.demand(given.is_none() && next == deadline, || {
                    format!("with nothing to do it gave {given:?}; {deadline:?} became {next:?}")
                })?;
                let after = run.subject.observe();
                run.demand(before == after, || {
                    format!(
                        "after a call without effect, {before} \
                                                        became {after}"
                    )
                })?;
                let work = run.subject.work();
                let before = *worked.get_or_insert(work);
                run.demand(work == before, || {
                    format!("a call without effect asked its layers {} times", work - before)
                })?;
            }
        }
    }
    Ok(())
}

/// Law 12: input from the host interface or from a tunnel changes no table of discovery, routing,
/// contexts or groups, neither at once nor after the layer has processed it completely.
///
/// # Errors
/// The violation.
pub fn outside_changes_nothing<S: Subject>(seed: u64, steps: u32) -> Result<(), Violation> {
    let mut run = Run::<S>::new((12, "outside changes nothing"), seed);
    for _ in 0..steps {
        run.step()?;
        let before = run.subject.tables();
        let Some(input) = run.subject.intrude(run.now, &mut run.random) else { return Ok(()) };
        let after = run.subject.tables();
        run.demand(before == after, || format!("{input} turned {before} into {after}"))?;
        run.drain()?;
        let after = run.subject.tables();
        run.demand(before == after, || format!("{input} turned {before} into {after}, later"))?;
    }
    Ok(())
}
