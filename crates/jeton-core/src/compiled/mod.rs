//! A tokenizer as it lies in memory: the quickest to load, and a cache of what other files say.
//!
//! A compiled file belongs to the release that wrote it; every other one refuses it, and the file
//! that it was made from is read again. It is the same on every machine (little-endian, hashes of
//! our own). The file begins with [`MAGIC`], the version of the layout (`u32`) and a zero (`u32`).
//! The length of the rest (`u64`) and its checksum ([`checksum`]) follow. The rest is the length of
//! the head (`u64`), the head, and from the next page on the image. The head has the release, the
//! name, the canonical form without its bulk as JSON, and the bulk: lengths of tokens, merges,
//! pieces, and the automata of split patterns. The image has the lists that stay as they are: bytes
//! of tokens, the table that finds them, pairs that merge. It is all that takes long to read, and
//! is read in blocks, each with a digest of its own, by two threads.
//!
//! Nothing in a file is trusted. The checksum finds damage. Every length and id is checked, too: a
//! hostile file is an error or a tokenizer, and never more.

mod image;
mod model;
mod patterns;
mod source;
mod wire;

use self::model::{read_model, take_bulk};
use self::patterns::{read_automata, write_automata};
pub use self::source::Source;
use self::wire::{Reader, Writer, bad, checksum};
use crate::assembly::Parts;
use crate::config::{CANONICAL_VERSION, Config};
use crate::error::{Error, ErrorKind, Result};
use crate::pretokenize::PreTokenizer;
use crate::tokenizer::Tokenizer;

/// The first bytes of a compiled file: no text, and damaged by whatever changes line ends.
const MAGIC: [u8; 8] = [0x93, b'J', b'E', b'T', b'O', b'N', b'\n', 0x1A];

/// Version of the layout and of all that decides what the bulk means, such as the hash of tokens.
const VERSION: u32 = 16;

/// Seed of checksums.
const SEED: u64 = VERSION as u64;

const HEADER_BYTES: usize = 40;

/// Release of Jeton that wrote a file.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// True if bytes begin as a compiled file does.
fn is_compiled(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Writes a tokenizer, with its name.
///
/// Fails with `Inexpressible` for a SentencePiece model: its own file says everything, and is read
/// as quickly.
pub fn to_bytes(tokenizer: &Tokenizer, name: Option<&str>) -> Result<Vec<u8>> {
    let mut config = tokenizer.to_config();
    let mut bulk = Writer::default();
    take_bulk(&tokenizer.engine, &mut config.model, &mut bulk)?;
    let cut = tokenizer.engine.pretokenizer();
    write_automata(
        &cut.map_or_else(Vec::new, PreTokenizer::automata),
        &mut bulk,
    );
    let mut out = Writer::default();
    out.bytes(RELEASE.as_bytes());
    out.number(u64::from(name.is_some()));
    out.bytes(name.unwrap_or_default().as_bytes());
    out.bytes(&config.to_bytes()?);
    Ok(sealed(&bulk.behind(out).finish(HEADER_BYTES)))
}

/// A file with the header that belongs to what follows it: for whoever makes such files on purpose,
/// as tests do.
pub fn sealed(payload: &[u8]) -> Vec<u8> {
    let fields = [
        &MAGIC[..],
        &VERSION.to_le_bytes(),
        &[0; 4],
        &(payload.len() as u64).to_le_bytes(),
        &checksum(payload, SEED).to_le_bytes(),
        payload,
    ];
    fields.concat()
}

/// Reads a tokenizer and its name.
///
/// Fails with `Format` where the file is damaged, or another release wrote it.
pub fn from_bytes(bytes: &[u8]) -> Result<(Tokenizer, Option<String>)> {
    read(bytes, bytes.len() as u64)
}

/// Reads a compiled file from `source`, `n_bytes` long, wherever its bytes are.
pub fn read(source: &(impl Source + ?Sized), n_bytes: u64) -> Result<(Tokenizer, Option<String>)> {
    let checksum = read_header(source, n_bytes)?;
    let mut reader = Reader::read(source, HEADER_BYTES as u64, n_bytes, checksum, SEED)?;
    let release = String::from_utf8_lossy(reader.bytes()?).into_owned();
    if release != RELEASE {
        let release: String = release.chars().take(40).collect();
        return Err(stale(&format!(
            "release {release:?} wrote it, and this is {RELEASE:?}"
        )));
    }
    let is_named = reader.number()? != 0;
    let name =
        String::from_utf8(reader.bytes()?.to_vec()).map_err(|_| bad("its name is not UTF-8"))?;
    let config: Config = serde_json::from_slice(reader.bytes()?)
        .map_err(|error| bad(format!("its configuration: {error}")))?;
    if config.jeton != CANONICAL_VERSION {
        return Err(bad("its configuration has another version"));
    }
    let mut parts = Parts::from_config(config, |model| read_model(model, &mut reader))?;
    parts.automata = read_automata(&mut reader)?;
    let shelf = reader.finish()?;
    let tokenizer = Tokenizer::from_parts(parts)?;
    tokenizer.pool.budget().begin_on(shelf);
    Ok((tokenizer, is_named.then_some(name)))
}

/// Returns the checksum of the bytes behind the header.
fn read_header(source: &(impl Source + ?Sized), n_bytes: u64) -> Result<u128> {
    let mut header = [0; HEADER_BYTES];
    let there = n_bytes.min(HEADER_BYTES as u64) as usize;
    let read = source.read_at(0, header.get_mut(..there).unwrap_or_default());
    if !is_compiled(&header) {
        return Err(bad("it does not begin as one"));
    }
    if read.is_err() || there < HEADER_BYTES {
        return Err(bad("it breaks off"));
    }
    let version = u32::from_le_bytes(field(&header, 8));
    if version != VERSION {
        return Err(stale(&format!(
            "its layout is {version}, and this release reads {VERSION}"
        )));
    }
    let said = u64::from_le_bytes(field(&header, 16)).checked_add(HEADER_BYTES as u64);
    if said != Some(n_bytes) || field(&header, 12) != [0; 4] {
        return Err(bad("it is cut off, or something is behind it"));
    }
    Ok(u128::from_le_bytes(field(&header, 24)))
}

fn field<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
    let field = header
        .get(at..at + N)
        .and_then(|field| field.try_into().ok());
    field.unwrap_or([0; N])
}

fn stale(why: &str) -> Error {
    bad(format!("{why}: compile the original file again"))
}

fn inexpressible() -> Error {
    ErrorKind::Inexpressible {
        format: wire::FORMAT,
        reason: "a SentencePiece model is read from its own file as quickly".to_owned(),
    }
    .into()
}

#[cfg(test)]
mod tests;
