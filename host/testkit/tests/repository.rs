//! The rules for every file of the repository, checked by reading the repository.
//!
//! Each failure names file, line and rule, and a remedy. `repository-exceptions.txt` lists
//! exceptions; an entry that is no longer needed fails as well, so the list can only shrink.

mod rules;

use rules::{
    Repository, Violation, check, circles, compliance, dependencies, exceptions, prose, size, text,
};

#[test]
fn files_functions_and_lines_are_short() {
    check(&size::violations(&Repository::open()));
}

#[test]
fn crates_depend_downwards_only() {
    check(&dependencies::direction(&Repository::open()));
}

#[test]
fn modules_do_not_import_each_other_in_circles() {
    check(&circles::violations(&Repository::open()));
}

#[test]
fn every_crate_can_be_published_or_says_that_it_is_not() {
    check(&dependencies::metadata(&Repository::open()));
}

#[test]
fn no_manifest_names_an_address_that_does_not_exist() {
    check(&dependencies::addresses(&Repository::open()));
}

#[test]
fn stack_crates_declare_and_keep_their_restrictions() {
    check(&text::stack_crates(&Repository::open()));
}

#[test]
fn only_what_c_calls_is_unsafe() {
    check(&text::unsafe_on_the_host(&Repository::open()));
}

#[test]
fn no_collection_has_an_order_of_its_own() {
    check(&text::hashed_collections(&Repository::open()));
}

#[test]
fn nothing_is_unfinished_or_switched_off() {
    check(&text::unfinished(&Repository::open()));
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    check(&text::machine_paths(&Repository::open()));
}

#[test]
fn texts_are_plain_statements_in_the_terms_of_the_field() {
    check(&prose::violations(&Repository::open()));
}

#[test]
fn every_requirement_has_code_and_a_test_or_a_reason() {
    check(&compliance::gaps(&Repository::open()));
}

#[test]
fn the_tables_of_requirements_are_current() {
    let repository = Repository::open();
    for (path, table) in compliance::tables(&repository) {
        if std::env::var_os("KINGLET_BLESS").is_some() {
            compliance::bless(&path, &table);
        } else {
            let current = table == compliance::committed(&repository, &path);
            assert!(current, "{path}: set KINGLET_BLESS=1 to write it anew");
        }
    }
}

#[test]
fn every_exception_is_still_needed() {
    let repository = Repository::open();
    let mut found: Vec<Violation> = size::violations(&repository);
    found.extend(dependencies::direction(&repository));
    found.extend(circles::violations(&repository));
    found.extend(dependencies::metadata(&repository));
    found.extend(text::stack_crates(&repository));
    found.extend(text::unsafe_on_the_host(&repository));
    found.extend(text::hashed_collections(&repository));
    found.extend(text::unfinished(&repository));
    found.extend(text::machine_paths(&repository));
    let idle = exceptions::idle(&found);
    assert!(idle.is_empty(), "repository-exceptions.txt: remove what nothing needs:\n{idle:#?}");
}

#[test]
fn the_walk_finds_the_stack_and_the_host_crates() {
    let repository = Repository::open();
    let paths: Vec<&str> = repository.files.iter().map(|file| file.path.as_str()).collect();
    for expected in ["Cargo.toml", "crates/time/src/lib.rs", "host/testkit/tests/repository.rs"] {
        assert!(paths.contains(&expected), "{expected} is not among {} files", paths.len());
    }
    assert!(paths.iter().all(|path| !path.starts_with("target/")));
}
