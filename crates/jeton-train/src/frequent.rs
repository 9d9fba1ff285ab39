//! Learning from frequent characters only: the others stay bytes.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};

use jeton_core::error::Result;
use jeton_core::vocab::hasher;

use super::counts::PretokenCounts;

/// The pieces of all pretokens between characters that are not among the `n_chars` most frequent;
/// those characters themselves are left out. Bytes that are not UTF-8 are no characters and stay.
pub(crate) fn limited(counts: &PretokenCounts, n_chars: usize) -> Result<PretokenCounts> {
    let mut count_of: HashMap<char, u128, _> = HashMap::with_hasher(hasher());
    for (pretoken, count) in counts.iter() {
        for chunk in pretoken.utf8_chunks() {
            for char in chunk.valid().chars() {
                *count_of.entry(char).or_default() += u128::from(count);
            }
        }
    }
    let mut chars: Vec<(char, u128)> = count_of.into_iter().collect();
    chars.sort_unstable_by_key(|&(char, count)| (Reverse(count), char));
    let rare: HashSet<char, foldhash::fast::FixedState> = chars
        .into_iter()
        .skip(n_chars)
        .map(|(char, _)| char)
        .collect();

    let mut kept = PretokenCounts::new();
    for (pretoken, count) in counts.iter() {
        let mut piece_start = 0;
        let mut at = 0;
        for chunk in pretoken.utf8_chunks() {
            for (offset, char) in chunk.valid().char_indices() {
                if rare.contains(&char) {
                    kept.add(&pretoken[piece_start..at + offset], count)?;
                    piece_start = at + offset + char.len_utf8();
                }
            }
            at += chunk.valid().len() + chunk.invalid().len();
        }
        kept.add(&pretoken[piece_start..], count)?;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_characters_cut() {
        let mut counts = PretokenCounts::new();
        counts.add("aéb".as_bytes(), 2).unwrap();
        counts.add(b"ab\xffa", 1).unwrap();
        counts.add("ééb".as_bytes(), 1).unwrap();
        // a: 4, b: 4, é: 4 (two of them in one word); among equals the lower code points are kept.
        let kept = limited(&counts, 2).unwrap();
        let found: Vec<_> = kept.iter_sorted().map(|(w, n)| (w.to_vec(), n)).collect();
        let expected: [(&[u8], u64); 3] = [(b"b", 3), (b"a", 2), (b"ab\xffa", 1)];
        assert_eq!(found, expected.map(|(w, n)| (w.to_vec(), n)));
        assert_eq!(limited(&counts, 3).unwrap().len(), 3);
        assert_eq!(limited(&counts, 0).unwrap().get(b"\xff"), 1);
    }
}
