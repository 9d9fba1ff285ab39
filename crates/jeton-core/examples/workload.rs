//! Encodes the documents of a file so many times: what is counted under callgrind, see `benches/instructions.py`.
//!
//! Arguments: rank file, pattern (a published name or a regular expression), file of documents that
//! U+0000 separates, passes. Prints the number of ids of one pass.

#![allow(clippy::print_stdout)] // A program: what it prints is its result.

use std::error::Error;
use std::{env, fs};

use jeton_core::config::Reference;
use jeton_core::format::{TiktokenOptions, from_tiktoken};
use jeton_core::pretokenize::published;
use jeton_core::special::Allow;

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
    let mut ids = Vec::new();
    let mut n_ids = 0;
    for _ in 0..passes {
        n_ids = 0;
        for document in documents.split('\u{0}') {
            ids.clear();
            tokenizer.encode_into(document, &Allow::None, false, &mut ids)?;
            n_ids += ids.len();
        }
    }
    println!("{n_ids}");
    Ok(())
}
