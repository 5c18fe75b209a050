//! Known failures.

use kinglet_lab::claims::check;
use kinglet_report::verdict::Verdict;
use kinglet_sweep::experiment::ExperimentResult;

#[test]
fn a_known_failure_is_an_error_once_its_value_leaves_the_range_in_either_direction() {
    let (rows, samples) = (Vec::new(), Vec::new());
    let verdicts = check(&[ExperimentResult { id: "rpl-fairness", rows, samples, seeds: 1 }]);
    let any = verdicts.first().expect("it has claims");
    let known = |ours, holds| Verdict {
        ours,
        holds,
        expected: false,
        known: Some([1.0, 2.0].into()),
        ..any.clone()
    };
    for (ours, is_failure) in [(0.9, true), (1.0, false), (2.0, false), (2.1, true)] {
        assert_eq!(known(Some(ours), Some(false)).is_failure(), is_failure, "{ours}");
        assert_eq!(known(Some(ours), Some(true)).is_failure(), is_failure, "{ours}, passes");
    }
    assert!(!known(None, None).is_failure(), "it was not tested");
    let fails = Verdict { expected: true, known: None, ..known(Some(1.5), Some(false)) };
    assert!(fails.is_failure());
}
