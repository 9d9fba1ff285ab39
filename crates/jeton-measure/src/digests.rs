//! Documents by a 128-bit digest of their bytes, and their beginnings by a key each.
//!
//! XXH3 of 128 bits (Collet 2021, xxHash 0.8), without a seed, so that a digest is the same on
//! every machine and run. It is no cryptographic hash: whoever writes two texts for that purpose
//! can give them one digest, and gains that they are counted as copies.

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use jeton_core::documents::batch::BatchRef;
use jeton_core::documents::parallel::map_documents;
use jeton_core::error::{Error, Result};

/// The digest of a text.
#[inline]
pub(crate) fn digest(text: &[u8]) -> u128 {
    xxh3_128(text)
}

/// The digest of every document of a batch, in order.
pub fn digests(
    batch: BatchRef<'_>,
    threads: usize,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<Vec<u128>> {
    let parts = map_documents(batch, threads, keep_going, &|range| {
        let documents = batch.slice(range.start, range.end);
        Ok(documents.iter().map(digest).collect::<Vec<_>>())
    })?;
    Ok(parts.concat())
}

/// Digests each document's digest together with its companion's, big-endian, one after the other.
/// There must be one companion for each document.
pub fn pair_digests(digests: &[u128], companions: &[u128]) -> Result<Vec<u128>> {
    if digests.len() != companions.len() {
        let (n, m) = (digests.len(), companions.len());
        return Err(Error::usage(format!(
            "{n} digests and {m} companions; expected as many"
        )));
    }
    let pairs = digests.iter().zip(companions);
    Ok(pairs
        .map(|(first, second)| {
            let mut both = [0; 32];
            both[..16].copy_from_slice(&first.to_be_bytes());
            both[16..].copy_from_slice(&second.to_be_bytes());
            digest(&both)
        })
        .collect())
}

/// Appends a key of all text up to the end of each whole block, at most `max_blocks`: each block is
/// hashed with the key before it as the seed. `block_bytes` must not be 0.
pub(crate) fn push_block_keys(
    text: &[u8],
    block_bytes: usize,
    max_blocks: usize,
    keys: &mut Vec<u64>,
) {
    let mut key = 0;
    for block in text.chunks_exact(block_bytes).take(max_blocks) {
        key = xxh3_64_with_seed(block, key);
        keys.push(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::documents::batch::DocumentBatch;

    #[test]
    fn digests_are_those_of_the_reference() {
        // XXH3_128bits of xxHash 0.8 without a seed: of nothing, and of "abc".
        assert_eq!(digest(b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
        assert_eq!(digest(b"abc"), 0x06b0_5ab6_733a_6185_78af_5f94_892f_3950);
    }

    #[test]
    fn pairs_differ_where_one_of_the_two_does() {
        let of = |texts: &[&str]| {
            let batch = DocumentBatch::from_texts(texts);
            digests(batch.as_ref(), 2, &mut || true).unwrap()
        };
        let (texts, answers) = (of(&["a", "a", "b", "a"]), of(&["", "x", "", ""]));
        let pairs = pair_digests(&texts, &answers).unwrap();
        assert_eq!(pairs[0], pairs[3]);
        assert!(pairs[0] != pairs[1] && pairs[0] != pairs[2] && pairs[1] != pairs[2]);
        assert!(pair_digests(&texts, &answers[1..]).is_err());
    }

    #[test]
    fn keys_are_of_whole_beginnings() {
        let keys = |text: &str| {
            let mut keys = Vec::new();
            push_block_keys(text.as_bytes(), 4, 3, &mut keys);
            keys
        };
        assert!(keys("abc").is_empty());
        assert_eq!(keys("abcdabcdabcdabcd").len(), 3);
        let (one, other) = (keys("abcdefghijkl"), keys("abcdXfghijkl"));
        assert_eq!(one[0], other[0]);
        assert!(one[1] != other[1] && one[2] != other[2]);
        assert_eq!(keys("abcdefghij"), one[..2]);
    }
}
