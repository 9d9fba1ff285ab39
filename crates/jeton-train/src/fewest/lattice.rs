//! All ways to cut a word into tokens: the cheapest of them, and what it would cost to do without a
//! token.

use super::TOKEN_COST;
use super::rarity::rarity;
use jeton_core::error::Result;
use jeton_core::models::unigram::trie::Trie;

/// Tokens ready to cut words with. The first of them are the 256 bytes, so that every word can be
/// cut.
pub(super) struct Tokens {
    bytes: Vec<Vec<u8>>,
    /// Number of tokens that come first and stay.
    n_fixed: usize,
    costs: Vec<u64>,
    trie: Trie,
}

impl Tokens {
    pub(super) fn new(bytes: Vec<Vec<u8>>, n_fixed: usize) -> Result<Self> {
        let keys = (0..).zip(&bytes).map(|(id, token)| (token.as_slice(), id));
        Ok(Self {
            trie: Trie::new(keys.collect())?,
            costs: vec![TOKEN_COST; bytes.len()],
            bytes,
            n_fixed,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn n_fixed(&self) -> usize {
        self.n_fixed
    }

    pub(super) fn bytes(&self, id: usize) -> &[u8] {
        &self.bytes[id]
    }

    pub(super) fn cost(&self, id: usize) -> u64 {
        self.costs[id]
    }

    /// From now on tokens cost what such uses make of them.
    pub(super) fn set_rarities(&mut self, uses: &[u64]) {
        let total = uses.iter().sum();
        for (cost, &uses) in self.costs.iter_mut().zip(uses) {
            *cost = TOKEN_COST + rarity(uses, total);
        }
    }

    #[cfg(test)]
    pub(super) fn set_costs(&mut self, costs: &[u64]) {
        self.costs = costs[..self.bytes.len()].to_vec();
    }

    /// Returns the tokens that stay, with their costs.
    pub(super) fn filtered(&self, is_kept: &[bool]) -> Result<Self> {
        let kept = || (0..self.len()).filter(|&id| is_kept[id]);
        let mut new = Self::new(
            kept().map(|id| self.bytes[id].clone()).collect(),
            self.n_fixed,
        )?;
        new.costs = kept().map(|id| self.costs[id]).collect();
        Ok(new)
    }
}

/// A token of a word: (id, start, end).
pub(super) type TokenSpan = (u32, u32, u32);

/// Cost of a place that cannot be reached: more than any cost.
const FAR: u64 = u64::MAX;

/// Memory that is used again from word to word.
#[derive(Default)]
pub(super) struct Lattice {
    /// All tokens of the word, by where they begin, the shorter ones first.
    places: Vec<TokenSpan>,
    /// Where the places of each start begin, and where the last ones end.
    starts: Vec<u32>,
    /// By place in the word: the least cost from its beginning.
    costs: Vec<u64>,
    /// The last place of the cheapest way there.
    last: Vec<u32>,
    /// Fewest tokens from the beginning, and to the end.
    forward: Vec<u32>,
    backward: Vec<u32>,
    path: Vec<TokenSpan>,
    longest: usize,
}

impl Lattice {
    /// Cut a word in the cheapest way. Among equals, that whose last token begins first, and so on
    /// from the end: starts are looked at in order, and only what is better replaces what was found
    /// before.
    pub(super) fn cut(&mut self, tokens: &Tokens, word: &[u8]) {
        let n = word.len();
        self.places.clear();
        self.starts.clear();
        self.longest = 0;
        self.costs.clear();
        self.costs.resize(n + 1, FAR);
        self.costs[0] = 0;
        self.last.clear();
        self.last.resize(n + 1, 0);
        for start in 0..n {
            self.starts.push(self.places.len() as u32);
            let before = self.costs[start];
            for (len, id) in tokens.trie.prefixes(&word[start..]) {
                let cost = before.saturating_add(tokens.costs[id as usize]);
                let end = start + len;
                if cost < self.costs[end] {
                    self.costs[end] = cost;
                    self.last[end] = self.places.len() as u32;
                }
                self.longest = self.longest.max(len);
                self.places.push((id, start as u32, end as u32));
            }
        }
        self.starts.push(self.places.len() as u32);
        self.path.clear();
        let mut end = n;
        while end > 0 {
            let place = self.places[self.last[end] as usize];
            self.path.push(place);
            end = place.1 as usize;
        }
        self.path.reverse();
    }

    /// The tokens of the word that was cut last, in order.
    pub(super) fn path(&self) -> &[TokenSpan] {
        &self.path
    }

    /// For every token of more than a byte in the word that was cut last: how many tokens more the
    /// word needs if this place is cut in another way.
    pub(super) fn each_loss(&mut self, mut each: impl FnMut(u32, u64)) {
        let n = self.starts.len() - 1;
        self.count_both_ways(n);
        let fewest = self.path.len() as u32;
        for &(id, start, end) in &self.path {
            if end - start < 2 {
                continue;
            }
            let (start, end) = (start as usize, end as usize);
            // With a cut inside of it ...
            let inside = (start + 1..end).map(|at| self.forward[at] + self.backward[at]);
            // ... or within a longer token.
            let from = end.saturating_sub(self.longest);
            let first = self.starts[from] as usize;
            let after = self.starts[start + 1] as usize;
            let around = self.places[first..after]
                .iter()
                .filter(|&&(other, _, other_end)| other != id && other_end as usize >= end)
                .map(|&(_, start, end)| {
                    self.forward[start as usize] + 1 + self.backward[end as usize]
                });
            let other_way = inside.chain(around).min().unwrap_or(fewest);
            each(id, u64::from(other_way.saturating_sub(fewest)));
        }
    }

    fn count_both_ways(&mut self, n: usize) {
        self.forward.clear();
        self.forward.resize(n + 1, u32::MAX / 4);
        self.forward[0] = 0;
        for &(_, start, end) in &self.places {
            let so_far = self.forward[start as usize] + 1;
            let known = &mut self.forward[end as usize];
            *known = so_far.min(*known);
        }
        self.backward.clear();
        self.backward.resize(n + 1, u32::MAX / 4);
        self.backward[n] = 0;
        for &(_, start, end) in self.places.iter().rev() {
            let so_far = self.backward[end as usize] + 1;
            let known = &mut self.backward[start as usize];
            *known = so_far.min(*known);
        }
    }
}
