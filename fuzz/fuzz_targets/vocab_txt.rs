//! The target `vocab_txt` of `jeton_testing::harness`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    jeton_testing::harness::vocab_txt(data);
});
