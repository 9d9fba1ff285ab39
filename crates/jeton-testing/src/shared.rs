//! The published vocabularies and golden cases, where they are at hand: a folder `shared` beside
//! the project. Tests that need them are skipped, with a line that says so, where there is none.

use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;

/// One text and the ids that a reference library gave for it.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// The text.
    pub text: String,
    /// Its ids, special tokens off.
    pub ids: Vec<u32>,
    /// Its ids with special tokens on, where they differ.
    pub ids_special_on: Option<Vec<u32>>,
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"))
}

/// True if the folder is there; says so on standard error if it is not.
#[allow(clippy::print_stderr)] // the reason why a test did nothing
pub fn is_there() -> bool {
    let there = folder().is_dir();
    if !there {
        eprintln!("skipped: needs the folder `shared` beside the project");
    }
    there
}

/// A file by its path in `shared/data`, decompressed; the name may leave `.zst` and `.gz` out.
///
/// # Errors
///
/// Fails if it is not there or damaged.
pub fn read(path: &str) -> std::io::Result<Vec<u8>> {
    let plain = folder().join(path);
    let with = |suffix: &str| folder().join(format!("{path}{suffix}"));
    let mut out = Vec::new();
    if plain.exists() {
        return std::fs::read(plain);
    } else if with(".gz").exists() {
        flate2::read::GzDecoder::new(std::fs::File::open(with(".gz"))?).read_to_end(&mut out)?;
    } else {
        zstd::Decoder::new(std::fs::File::open(with(".zst"))?)?.read_to_end(&mut out)?;
    }
    Ok(out)
}

/// The cases of a golden set.
///
/// # Errors
///
/// Fails if the set is not there or not what it should be.
pub fn golden(name: &str) -> std::io::Result<Vec<Case>> {
    let bytes = read(&format!("golden/{name}.jsonl"))?;
    bytes
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).map_err(std::io::Error::from))
        .collect()
}

/// A member of a tar archive by its name's end, such as `gpt-2.gguf.inp`.
pub fn member<'a>(archive: &'a [u8], name_end: &str) -> Option<&'a [u8]> {
    const BLOCK: usize = 512;
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
    };
    let mut rest = archive;
    while let Some(header) = rest.get(..BLOCK).filter(|header| header[0] != 0) {
        let size = usize::from_str_radix(&text(&header[124..136]), 8).ok()?;
        if text(&header[..100]).ends_with(name_end) {
            return rest.get(BLOCK..BLOCK + size);
        }
        rest = rest.get(BLOCK + size.div_ceil(BLOCK) * BLOCK..)?;
    }
    None
}
