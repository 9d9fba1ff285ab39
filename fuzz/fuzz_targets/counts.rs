//! The target `counts` of `jeton_testing::harness`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    jeton_testing::harness::counts(data);
});
