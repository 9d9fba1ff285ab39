//! Encodes the documents of a file several times. `benches/instructions.py` counts its instructions
//! under callgrind; `benches/core_alone.py` times it.
//!
//! Arguments: rank file, pattern (a published name or a regular expression), file of documents that
//! U+0000 separates, passes. Prints the number of ids of one pass, a hash of them, and the seconds
//! of each pass.

#![allow(clippy::print_stdout)] // A program: what it prints is its result.

use std::error::Error;
use std::time::Instant;
use std::{env, fs};

use jeton_core::config::Reference;
use jeton_core::format::{TiktokenOptions, from_tiktoken};
use jeton_core::pretokenize::published;
use jeton_core::special::Allow;

/// The multiplier of FNV-1, 64 bits (Fowler, Noll, Vo, 1991).
const PRIME: u64 = 0x0100_0000_01B3;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [ranks, pattern, documents, passes] = arguments.as_slice() else {
        return Err("expected: RANK_FILE PATTERN DOCUMENTS PASSES".into());
    };
    let ranks = fs::read(ranks)?;
    let documents = fs::read_to_string(documents)?;
    let passes: usize = passes.parse()?;
    let tokenizer = from_tiktoken(
        &ranks,
        TiktokenOptions {
            pattern: published::by_name(pattern).unwrap_or(pattern).to_owned(),
            special_tokens: Vec::new(),
            normalizer: Vec::new(),
            reference: Reference::Tiktoken,
        },
    )?;
    let documents: Vec<&str> = documents.split('\u{0}').collect();
    let mut ids = Vec::new();
    let mut n_ids = 0;
    let mut hash = 0u64;
    let mut seconds = Vec::new();
    for pass in 0..passes {
        n_ids = 0;
        let mut elapsed = 0.0;
        let mut begin = Instant::now();
        for document in &documents {
            ids.clear();
            tokenizer.encode_into(document, &Allow::None, false, &mut ids)?;
            n_ids += ids.len();
            // All passes give the same ids; hashing the first pass's ids is not timed.
            if pass == 0 {
                elapsed += begin.elapsed().as_secs_f64();
                hash = ids
                    .iter()
                    .fold(hash, |hash, &id| hash.wrapping_mul(PRIME) ^ u64::from(id));
                begin = Instant::now();
            }
        }
        elapsed += begin.elapsed().as_secs_f64();
        seconds.push(format!("{elapsed:.9}"));
    }
    println!("{n_ids} {hash:016x} {}", seconds.join(" "));
    Ok(())
}
