//! Ids that no text gives: `encode(decode(ids)) != ids`.
//!
//! A client that sends ids can send a spelling that the tokenizer itself never writes. A model has
//! hardly seen such ids, filters that look for ids miss them, and a cache by prefix does not know
//! them.

use std::collections::HashSet;

use super::Tokenizer;
use crate::engine::Engine;
use crate::error::Result;
use crate::special::Allow;

/// The first place where ids differ from the ids of their text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noncanonical {
    /// The index of the first id that differs.
    pub position: usize,
    /// The ids there, up to the next place at which both spellings have written the same bytes.
    pub ids: Vec<u32>,
    /// The ids that the tokenizer gives to the same text.
    pub canonical: Vec<u32>,
}

impl Tokenizer {
    /// The ids that the text of some ids gets. Special tokens among the ids stay what they are.
    pub fn canonical_ids(&self, ids: &[u32]) -> Result<Vec<u32>> {
        let special: HashSet<u32> = ids
            .iter()
            .copied()
            .filter(|&id| self.is_special(id))
            .collect();
        let allow = if special.is_empty() {
            Allow::None
        } else {
            Allow::Ids(special)
        };
        let whole = self.encoded_again(ids, &allow)?;
        if whole == ids || matches!(allow, Allow::None) || !self.decodes_by_joining() {
            return Ok(whole);
        }
        // Other ids may spell a special token as text: encode what stands between the special ones
        // by itself.
        let mut parts = Vec::with_capacity(ids.len());
        for part in ids.chunk_by(|&a, &b| !self.is_special(a) && !self.is_special(b)) {
            match part {
                [id] if self.is_special(*id) => parts.push(*id),
                text => parts.extend(self.encoded_again(text, &Allow::None)?),
            }
        }
        Ok(if parts == ids { parts } else { whole })
    }

    /// Returns the first place where ids differ from the ids of their text; None if they do not.
    pub fn first_noncanonical(&self, ids: &[u32]) -> Result<Option<Noncanonical>> {
        let canonical = self.canonical_ids(ids)?;
        if canonical == ids {
            return Ok(None);
        }
        let same = |(a, b): &(&u32, &u32)| a == b;
        let position = ids.iter().zip(&canonical).take_while(same).count();
        let (given, wanted) = (&ids[position..], &canonical[position..]);
        let (n_given, n_wanted) = self.same_bytes(given, wanted).unwrap_or_else(|| {
            let tail = given.iter().rev().zip(wanted.iter().rev()).take_while(same);
            let n = tail.count();
            (given.len() - n, wanted.len() - n)
        });
        Ok(Some(Noncanonical {
            position,
            ids: given[..n_given].to_vec(),
            canonical: wanted[..n_wanted].to_vec(),
        }))
    }

    fn encoded_again(&self, ids: &[u32], allow: &Allow) -> Result<Vec<u32>> {
        let mut bytes = Vec::new();
        self.decode_into(ids, false, &mut bytes)?;
        let mut again = Vec::with_capacity(ids.len());
        self.encode_into(&String::from_utf8_lossy(&bytes), allow, false, &mut again)?;
        Ok(again)
    }

    fn decodes_by_joining(&self) -> bool {
        self.decoder.is_none() && !matches!(self.engine, Engine::SentencePiece(_))
    }

    /// How many ids of each it takes until both have written equally many bytes, where bytes are
    /// all there is.
    fn same_bytes(&self, given: &[u32], wanted: &[u32]) -> Option<(usize, usize)> {
        if !self.decodes_by_joining() {
            return None;
        }
        let length = |id: &u32| self.decoded_bytes(*id).map(<[u8]>::len).ok();
        let (mut n_given, mut n_wanted, mut ahead) = (0, 0, 0_i64);
        loop {
            if ahead <= 0 {
                ahead += length(given.get(n_given)?)? as i64;
                n_given += 1;
            } else {
                ahead -= length(wanted.get(n_wanted)?)? as i64;
                n_wanted += 1;
            }
            if ahead == 0 && n_wanted > 0 {
                return Some((n_given, n_wanted));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::from_hf_json;

    /// Bytes "a", "b", "<", "s", ">", one merge "ab", and the special token "<s>".
    fn tokenizer() -> Tokenizer {
        let file = json!({
            "added_tokens": [{"id": 6, "content": "<s>", "special": true, "normalized": false}],
            "normalizer": null, "post_processor": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
            "decoder": {"type": "ByteLevel"},
            "model": {
                "type": "BPE", "merges": [["a", "b"]],
                "vocab": {"a": 0, "b": 1, "<": 2, "s": 3, ">": 4, "ab": 5},
            },
        });
        from_hf_json(&serde_json::to_vec(&file).unwrap()).unwrap()
    }

    #[test]
    fn the_first_difference_and_no_more_than_that() {
        let tokenizer = tokenizer();
        let found = |ids: &[u32]| tokenizer.first_noncanonical(ids).unwrap();
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[5, 6, 1, 0]), None);
        let expected = Noncanonical {
            position: 1,
            ids: vec![0, 1],
            canonical: vec![5],
        };
        assert_eq!(found(&[1, 0, 1, 3, 0, 1]), Some(expected));
        assert_eq!(
            tokenizer.canonical_ids(&[1, 0, 1, 3, 0, 1]).unwrap(),
            [1, 5, 3, 5]
        );
    }

    #[test]
    fn text_that_spells_a_special_token_stays_text() {
        let tokenizer = tokenizer();
        for ids in [&[2, 3, 4][..], &[6, 2, 3, 4], &[2, 3, 4, 6, 6, 5]] {
            assert_eq!(tokenizer.first_noncanonical(ids).unwrap(), None, "{ids:?}");
        }
        assert!(tokenizer.first_noncanonical(&[6, 0, 1]).unwrap().is_some());
    }
}
