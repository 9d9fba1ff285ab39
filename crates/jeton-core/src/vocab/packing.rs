//! Putting tokens into a packed table, so that a file has each where it lies.

use super::Tokens;
use super::lengths::Lengths;
use super::packed::{
    FILTER_BITS, KIND, MAX_LINES, RawPacked, WORDS, filtered, home, key, lines_for, put,
};
use super::table::{Bytes, MAX_SEEDS, hash};

/// Slots that are filled one token after the other.
struct Filling {
    filter: Vec<u64>,
    slots: Vec<u64>,
    seed: u32,
}

impl Filling {
    fn new(n_tokens: usize, seed: u32) -> Self {
        Self {
            filter: vec![0; n_tokens * FILTER_BITS / 64 + 1],
            slots: vec![0; lines_for(n_tokens) * WORDS],
            seed,
        }
    }

    fn insert(&mut self, id: u32, tokens: &Tokens) -> bool {
        let bytes = tokens.of(id);
        let hash = hash(self.seed, bytes);
        let (word, bits) = filtered(hash, self.filter.len());
        if let Some(word) = self.filter.get_mut(word) {
            *word |= bits;
        }
        let (lines, _) = self.slots.as_chunks_mut::<WORDS>();
        let mut at = home(hash, lines.len());
        for _ in 0..MAX_LINES {
            let Some(line) = lines.get_mut(at) else {
                return false;
            };
            let (slots, _) = line.as_chunks_mut::<2>();
            if let Some(slot) = slots.iter_mut().find(|[_, second]| *second & KIND == 0) {
                put(slot, key(bytes), id);
                return true;
            }
            at = if at + 1 == lines.len() { 0 } else { at + 1 };
        }
        false
    }

    /// Returns the table as a file holds it.
    fn raw(self, ids: &[u32], tokens: &Tokens) -> RawPacked {
        RawPacked {
            slots: self.slots.into(),
            filter: self.filter.into(),
            lengths: Lengths::of(ids.iter().map(|&id| tokens.of(id))),
            n_tokens: ids.len(),
            seed: self.seed,
        }
    }
}

impl RawPacked {
    /// A table of tokens with different bytes, if there is one.
    pub(super) fn new(ids: &[u32], tokens: &Tokens) -> Option<Self> {
        (0..MAX_SEEDS).find_map(|seed| {
            let mut filling = Filling::new(ids.len(), seed);
            let holds = ids.iter().all(|&id| filling.insert(id, tokens));
            holds.then(|| filling.raw(ids, tokens))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed::{Packed, SLOTS};
    use super::super::{RawIndex, Vocab};
    use super::*;

    /// Tokens of equal hashes: another seed is taken.
    #[test]
    fn tokens_made_to_collide() {
        let n = MAX_LINES * SLOTS + 1;
        let n_lines = lines_for(n);
        assert_eq!(n_lines, lines_for(n - 1));
        let all = (0u32..).map(|n| n.to_le_bytes().to_vec());
        let same = |token: &Vec<u8>| home(hash(0, token), n_lines) == n_lines - 1;
        let tokens: Vec<_> = all.filter(same).take(n).collect();
        let mut collided = Vocab::default();
        for (id, token) in (0..).zip(&tokens) {
            collided.insert(id, token).unwrap();
        }
        let RawIndex::Packed(raw) = collided.raw().index else {
            panic!("it cannot be packed");
        };
        assert_eq!(raw.seed, 1);
        let again = collided.read_again();
        for (id, token) in (0..).zip(&tokens) {
            assert_eq!(again.bytes_to_id(token), Some(id));
        }
        // One less can be found under the first, on from the last line to the first ones.
        let last = n as u32 - 1;
        let mut filling = Filling::new(n - 1, 0);
        assert!((0..last).all(|id| filling.insert(id, &collided.tokens)));
        assert!(!filling.insert(last, &collided.tokens));
        let ids: Vec<u32> = (0..last).collect();
        let raw = filling.raw(&ids, &collided.tokens);
        let packed = Packed::from_raw(raw, n as u32).unwrap();
        for (id, token) in (0..last).zip(&tokens) {
            assert_eq!(packed.find(token, &collided.tokens), Some(id));
        }
        assert_eq!(packed.ids(&collided.tokens), ids);
    }
}
