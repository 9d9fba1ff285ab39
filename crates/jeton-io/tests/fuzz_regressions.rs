//! Replays what fuzzing has found, in the core and here: every file of `fuzz/regressions/TARGET/`.
// Printing: the runner shows which file failed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::path::Path;

use jeton_testing::harness::{TARGETS, by_name, seeds};

#[test]
fn nothing_that_fuzzing_found_breaks_again() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions");
    let mut n_replayed = 0;
    for folder in root.read_dir().unwrap().map(Result::unwrap) {
        let name = folder.file_name().into_string().unwrap();
        let target = by_name(&name).unwrap_or_else(|| panic!("no target {name}"));
        for file in folder.path().read_dir().unwrap().map(Result::unwrap) {
            println!("{}", file.path().display());
            (target.run)(&std::fs::read(file.path()).unwrap());
            n_replayed += 1;
        }
    }
    assert!(n_replayed > 0, "nothing to replay in {}", root.display());
}

#[test]
fn seeds_reach_what_they_are_for() {
    for target in TARGETS {
        let seeds = seeds(target.name);
        assert!(seeds.iter().any(|seed| seed.is_read), "{}", target.name);
        for seed in seeds {
            let is_read = (target.run)(&seed.bytes);
            assert_eq!(is_read, seed.is_read, "{} {}", target.name, seed.name);
        }
    }
}

#[test]
fn every_target_holds_on_cut_and_bent_seeds() {
    for target in TARGETS {
        for seed in seeds(target.name) {
            let bytes = &seed.bytes;
            for part in 1..8 {
                let at = bytes.len() * part / 8;
                (target.run)(&bytes[..at]);
                let mut bent = bytes.clone();
                if let Some(byte) = bent.get_mut(at) {
                    *byte ^= 1 << part;
                }
                (target.run)(&bent);
            }
        }
    }
}
