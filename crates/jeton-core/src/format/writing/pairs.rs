//! When a list of merges and ranks do the same to every text.
//!
//! With ranks, two neighbours merge if their bytes together are a token: the lowest id first, of
//! equal ones the leftmost. A list names its pairs and their order.
//!
//! Take a stretch of text whose ends no merge crosses. Merging inside it does not depend on the
//! text outside: the steps of the whole that lie inside are the first steps that the stretch alone
//! would take. Let two neighbours l and r of any text merge to t. Then the bytes of t alone merge
//! to l and r, too, by the same steps. Merging alone has no choice: l and r are the only pair from
//! which t is ever made. Hence
//!
//! - The list of *every* pair, in the order of what they make, does what ranks do: at most one of
//!   the pairs that make a token is ever met, so their order does not matter.
//! - A shorter list in that order does what ranks do if and only if it merges the bytes of every
//!   token as ranks do. The first step at which the two would part on any text is a step at which
//!   they part on a token.

use std::collections::HashSet;

use crate::codec::base64::Base64Bytes;
use crate::error::Result;
use crate::models::Model as _;
use crate::models::bpe::{BpeModel, BpeScratch, Merges, Missing};
use crate::vocab::Vocab;

/// Token bytes and ids of a canonical form.
pub(crate) fn vocab(tokens: &[Option<Base64Bytes>], opaque: &[u32]) -> Result<Vocab> {
    let opaque: HashSet<u32> = opaque.iter().copied().collect();
    let mut vocab = Vocab::with_capacity(tokens.len());
    for (id, token) in (0..).zip(tokens) {
        match token {
            Some(Base64Bytes(bytes)) if opaque.contains(&id) => vocab.insert_opaque(id, bytes)?,
            Some(Base64Bytes(bytes)) => vocab.insert(id, bytes)?,
            None => {}
        }
    }
    Ok(vocab)
}

/// Parts of a byte-level BPE model that decide how it merges.
#[derive(Clone, Copy)]
pub(crate) struct Model<'m> {
    pub(crate) vocab: &'m Vocab,
    /// None: by rank.
    pub(crate) merges: Option<&'m [(u32, u32)]>,
    /// True if a pretoken that is a token is never cut.
    pub(crate) whole: bool,
}

/// Why a list is not the same as ranks.
pub(crate) const NOT_BY_RANK: &str = "its merges are not in the order of its ids";

impl Model<'_> {
    /// How two models over the same tokens differ, if they do.
    pub(crate) fn differs_from(&self, other: &Self) -> Option<String> {
        let unreached = match (self.merges, other.merges) {
            (one, two) if one == two => {
                if self.whole == other.whole {
                    return None;
                }
                let list = one.map_or_else(|| all_pairs(self.vocab), <[_]>::to_vec);
                unreached(self.vocab, &list)
            }
            (Some(list), None) | (None, Some(list)) => match by_rank(self.vocab, list) {
                Ok(unreached) => unreached,
                Err(reason) => return Some(reason),
            },
            _ => return Some("the order of its merges".to_owned()),
        };
        if self.whole == other.whole || unreached.is_empty() {
            return None;
        }
        let n = unreached.len();
        Some(format!(
            "{n} tokens that merges do not make are {} a pretoken as a whole",
            if self.whole {
                "found as"
            } else {
                "not found as"
            }
        ))
    }
}

/// Every pair that makes a token, by the tokens' ids: the list that does what ranks do.
pub(crate) fn all_pairs(vocab: &Vocab) -> Vec<(u32, u32)> {
    let mut pairs = Vec::with_capacity(vocab.n_tokens() as usize * 3);
    for (id, bytes) in vocab.iter().filter(|&(id, _)| vocab.is_findable(id)) {
        if vocab.bytes_to_id(bytes) != Some(id) {
            continue; // a token that another one of the same bytes hides
        }
        pairs.extend(pairs_of(vocab, bytes));
    }
    pairs
}

fn pairs_of(vocab: &Vocab, bytes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    (1..bytes.len()).filter_map(|cut| {
        let left = vocab.bytes_to_id(&bytes[..cut])?;
        Some((left, vocab.bytes_to_id(&bytes[cut..])?))
    })
}

/// The token that a pair makes.
fn made(vocab: &Vocab, (left, right): (u32, u32)) -> Option<u32> {
    let (left, right) = (vocab.id_to_bytes(left)?, vocab.id_to_bytes(right)?);
    vocab.bytes_to_id(&[left, right].concat())
}

/// True if a list does what ranks do: the tokens that merges do not make, or why it does not.
pub(crate) fn by_rank(vocab: &Vocab, list: &[(u32, u32)]) -> std::result::Result<Vec<u32>, String> {
    let mut last = 0;
    for &pair in list {
        match made(vocab, pair) {
            Some(id) if id >= last => last = id,
            _ => return Err(NOT_BY_RANK.to_owned()),
        }
    }
    let model = |merges: &Merges| {
        BpeModel::new(vocab.clone(), merges, false, Missing::Skip)
            .map_err(|error| error.to_string())
    };
    let ranks = model(&Merges::ByRank)?;
    let merges = model(&Merges::List(list.to_vec()))?;
    let mut scratches = [BpeScratch::default(), BpeScratch::default()];
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let mut unreached = Vec::new();
    for (id, bytes) in tokens(vocab) {
        one.clear();
        two.clear();
        let encoded = ranks
            .encode_pretoken(bytes, &mut scratches[0], &mut one)
            .and_then(|()| merges.encode_pretoken(bytes, &mut scratches[1], &mut two));
        encoded.map_err(|error| error.to_string())?;
        if one != two {
            let text = String::from_utf8_lossy(bytes);
            return Err(format!(
                "ranks would merge {text:?} otherwise than its merges do"
            ));
        }
        if one != [id] {
            unreached.push(id);
        }
    }
    Ok(unreached)
}

/// Tokens of several bytes that a list of merges does not make from their own bytes.
pub(crate) fn unreached(vocab: &Vocab, list: &[(u32, u32)]) -> Vec<u32> {
    let merges = Merges::List(list.to_vec());
    let Ok(model) = BpeModel::new(vocab.clone(), &merges, false, Missing::Skip) else {
        return Vec::new();
    };
    let mut scratch = BpeScratch::default();
    let mut ids = Vec::new();
    let missed = tokens(vocab).filter(|&(id, bytes)| {
        ids.clear();
        let done = model.encode_pretoken(bytes, &mut scratch, &mut ids);
        done.is_err() || ids != [id]
    });
    missed.map(|(id, _)| id).collect()
}

/// Tokens of several bytes that text can become.
fn tokens(vocab: &Vocab) -> impl Iterator<Item = (u32, &[u8])> {
    vocab.iter().filter(|&(id, bytes)| {
        bytes.len() > 1 && vocab.is_findable(id) && vocab.bytes_to_id(bytes) == Some(id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vocab_of(tokens: &[&str]) -> Vocab {
        let mut vocab = Vocab::default();
        for (id, token) in (0..).zip(tokens) {
            if vocab.bytes_to_id(token.as_bytes()).is_none() {
                vocab.insert(id, token.as_bytes()).unwrap();
            }
        }
        vocab
    }

    #[test]
    fn what_is_found_out_of_one_model_is_not_used_for_the_other() {
        let mut vocab = Vocab::default();
        for byte in 0..=255u8 {
            vocab.insert(u32::from(byte), &[byte]).unwrap();
        }
        let mut list = Vec::new();
        let mut add = |left: &[u8], right: &[u8]| {
            let pair = [left, right].map(|side| vocab.bytes_to_id(side).unwrap());
            vocab.insert(vocab.size(), &[left, right].concat()).unwrap();
            list.push(pair.into());
        };
        let letters: Vec<String> = ('\u{3041}'..='\u{3090}').map(String::from).collect();
        // So long a token has the tables made that others are merged with.
        for n in (0..13).map(|doublings| 1 << doublings) {
            add(&b"a".repeat(n), &b"a".repeat(n));
        }
        for second in [b"\x81", b"\x82"] {
            add(b"\xE3", second);
        }
        for letter in &letters {
            add(&letter.as_bytes()[..2], &letter.as_bytes()[2..]);
        }
        for (left, right) in letters
            .iter()
            .flat_map(|left| letters.iter().map(move |right| (left, right)))
        {
            add(left.as_bytes(), right.as_bytes());
        }
        for letter in &letters {
            let [two, four] = [2, 4].map(|n| letter.repeat(n));
            add(two.as_bytes(), two.as_bytes());
            add(four.as_bytes(), two.as_bytes());
        }
        assert_eq!(by_rank(&vocab, &list), Ok(Vec::new()));
    }

    fn encode(vocab: &Vocab, merges: &Merges, whole: bool, text: &str) -> Vec<u32> {
        let model = BpeModel::new(vocab.clone(), merges, whole, Missing::Skip).unwrap();
        let mut ids = Vec::new();
        let mut scratch = BpeScratch::default();
        model
            .encode_pretoken(text.as_bytes(), &mut scratch, &mut ids)
            .unwrap();
        ids
    }

    #[test]
    fn an_order_that_is_not_that_of_ids_is_found() {
        let vocab = vocab_of(&["a", "b", "c", "ab", "bc"]);
        assert_eq!(by_rank(&vocab, &[(0, 1), (1, 2)]), Ok(vec![]));
        assert_eq!(
            by_rank(&vocab, &[(1, 2), (0, 1)]),
            Err(NOT_BY_RANK.to_owned())
        );
        // Without its merge a token is only found whole.
        assert!(by_rank(&vocab, &[(0, 1)]).is_err());
        let vocab = vocab_of(&["a", "b", "c", "abc"]);
        assert_eq!(by_rank(&vocab, &[]), Ok(vec![3]));
    }

    proptest! {
        // Small alphabets, so that pairs overlap and tokens are made in several ways.
        #[test]
        fn ranks_and_their_list_agree(
            tokens in prop::collection::vec("[ab]{2,5}", 0..12),
            texts in prop::collection::vec("[ab]{0,12}", 1..8),
        ) {
            let mut all = vec!["a", "b"];
            all.extend(tokens.iter().map(String::as_str));
            let vocab = vocab_of(&all);
            let list = all_pairs(&vocab);
            for text in &texts {
                for whole in [false, true] {
                    let ranks = encode(&vocab, &Merges::ByRank, whole, text);
                    let merges = encode(&vocab, &Merges::List(list.clone()), whole, text);
                    prop_assert_eq!(ranks, merges);
                }
            }
        }

        #[test]
        fn lists_that_pass_for_ranks_are_ranks(
            tokens in prop::collection::vec("[ab]{2,5}", 0..12),
            kept in prop::collection::vec(any::<bool>(), 32),
            texts in prop::collection::vec("[ab]{0,12}", 1..8),
        ) {
            let mut all = vec!["a", "b"];
            all.extend(tokens.iter().map(String::as_str));
            let vocab = vocab_of(&all);
            let pairs = all_pairs(&vocab).into_iter().zip(kept.into_iter().cycle());
            let list: Vec<_> = pairs.filter(|(_, kept)| *kept).map(|(pair, _)| pair).collect();
            let passes = by_rank(&vocab, &list).is_ok();
            for text in &texts {
                let ranks = encode(&vocab, &Merges::ByRank, false, text);
                let merges = encode(&vocab, &Merges::List(list.clone()), false, text);
                // Some other text may show what these do not; that one does is enough to fail.
                prop_assert!(ranks == merges || !passes);
            }
        }
    }
}
