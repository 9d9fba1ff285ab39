//! Putting tokens into a packed table, so that a file can say where each lies.

use super::Tokens;
use super::lengths::Lengths;
use super::order::ID_BITS;
use super::packed::{FILTER_BITS, MAX_LINES, RawPacked, SLOTS, filtered, home, lines_for};
use super::table::{Bytes, MAX_SEEDS, hash};

/// Most free slots between two tokens of a table that can be written.
const MOST_FREE: usize = 0xFF;

/// Slots that are filled one token after the other.
struct Filling {
    filter: Vec<u64>,
    /// Ids by slot.
    slots: Vec<Option<u32>>,
    seed: u32,
}

impl Filling {
    fn new(n_tokens: usize, seed: u32) -> Self {
        Self {
            filter: vec![0; n_tokens * FILTER_BITS / 64 + 1],
            slots: vec![None; lines_for(n_tokens) * SLOTS],
            seed,
        }
    }

    fn insert(&mut self, id: u32, tokens: &Tokens) -> bool {
        let hash = hash(self.seed, tokens.of(id));
        let (word, bits) = filtered(hash, self.filter.len());
        if let Some(word) = self.filter.get_mut(word) {
            *word |= bits;
        }
        let (lines, _) = self.slots.as_chunks_mut::<SLOTS>();
        let mut at = home(hash, lines.len());
        for _ in 0..MAX_LINES {
            let Some(line) = lines.get_mut(at) else {
                return false;
            };
            if let Some(slot) = line.iter_mut().find(|slot| slot.is_none()) {
                *slot = Some(id);
                return true;
            }
            at = if at + 1 == lines.len() { 0 } else { at + 1 };
        }
        false
    }

    /// What a file says of it, if it can be said.
    fn raw(self, tokens: &Tokens) -> Option<RawPacked> {
        let mut next = 0;
        let used = (0..).zip(&self.slots);
        let used = used.filter_map(|(at, slot)| Some((at, (*slot)?)));
        let order = used.map(|(at, id): (usize, u32)| {
            let n_free = at - next;
            next = at + 1;
            (n_free <= MOST_FREE).then_some((n_free as u32) << ID_BITS | id)
        });
        let order: Vec<u32> = order.collect::<Option<_>>()?;
        let in_slots = self.slots.iter().flatten();
        Some(RawPacked {
            order: order.into(),
            lengths: Lengths::of(in_slots.map(|&id| tokens.of(id))),
            filter: self.filter.into(),
            seed: self.seed,
        })
    }
}

impl RawPacked {
    /// A table of tokens with different bytes, if there is one.
    pub(super) fn new(ids: &[u32], tokens: &Tokens) -> Option<Self> {
        (0..MAX_SEEDS).find_map(|seed| {
            let mut filling = Filling::new(ids.len(), seed);
            let holds = ids.iter().all(|&id| filling.insert(id, tokens));
            holds.then(|| filling.raw(tokens)).flatten()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed::Packed;
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
        let raw = filling.raw(&collided.tokens).unwrap();
        let packed = Packed::from_raw(raw, &collided.tokens, n as u32).unwrap();
        // Often enough that the slots are made meanwhile.
        for _ in 0..20 {
            for (id, token) in (0..last).zip(&tokens) {
                assert_eq!(packed.find(token, &collided.tokens), Some(id));
            }
        }
    }
}
