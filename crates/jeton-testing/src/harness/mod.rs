//! Fuzz targets: one function a parser, shared by `fuzz/` and the replay of its findings.
//!
//! A target takes any bytes and says whether the parser read them. It panics, and so finds
//! something, in two cases. The parser panics, or the result breaks a promise (ids in the
//! vocabulary, count equal to length, the canonical form stable ...). An `Err` is a fine answer.
//! Nothing here depends on anything but the bytes.

// A harness fails by panicking, and says with what.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod boundaries;
mod charsmap;
mod compiled;
mod convert;
mod counts;
mod formats;
mod patterns;
mod readers;
mod seeds;
mod streams;
mod tokenizer;

pub use boundaries::boundaries;
pub use charsmap::charsmap;
pub use compiled::compiled;
pub use convert::convert;
pub use counts::counts;
pub use formats::{canonical, hf_json, rwkv, sentencepiece, tiktoken, vocab_txt};
pub use patterns::patterns;
pub use readers::{claude, clip, gguf, merges, tekken};
pub use seeds::{Seed, seeds};
pub use streams::{compression, jsonl};

/// A parser of untrusted bytes with all that is promised of what it reads.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target, of its binary in `fuzz/` and of its folder of regressions.
    pub name: &'static str,
    /// Feeds it bytes; whether they were read. Panics where a promise is broken.
    pub run: fn(&[u8]) -> bool,
}

/// Every target, in the order in which `make fuzz` runs them.
pub const TARGETS: &[Target] = &[
    target("tiktoken", tiktoken),
    target("sentencepiece", sentencepiece),
    target("charsmap", charsmap),
    target("hf_json", hf_json),
    target("canonical", canonical),
    target("compiled", compiled),
    target("convert", convert),
    target("vocab_txt", vocab_txt),
    target("rwkv", rwkv),
    target("patterns", patterns),
    target("boundaries", boundaries),
    target("gguf", gguf),
    target("merges", merges),
    target("tekken", tekken),
    target("claude", claude),
    target("clip", clip),
    target("compression", compression),
    target("jsonl", jsonl),
    target("counts", counts),
];

const fn target(name: &'static str, run: fn(&[u8]) -> bool) -> Target {
    Target { name, run }
}

/// The target of a name.
pub fn by_name(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

/// Text that every tokenizer which loads has to encode: ordinary, and as hostile as short text
/// gets.
const TEXTS: [&str; 2] = [
    "Hello, world! It's 2026: the patient received 12.5 mg.\n\n  def f(x):\r\n\treturn x",
    " \u{2581}<|endoftext|>\u{fb01}e\u{301}\u{323} \u{1112}\u{1161}\u{11ab}中文\u{3000}👩\u{200d}👧\0aaaaaaaaaaaaaaaa\u{2028}<s>[MASK]1234567\u{e000}'S",
];

/// The end of an input as text: so that what is encoded is fuzzed, too.
fn tail(data: &[u8]) -> String {
    const BYTES: usize = 200;
    String::from_utf8_lossy(&data[data.len().saturating_sub(BYTES)..]).into_owned()
}
