//! Builds the table of merges: from ranks, from a list, or from what a compiled file keeps.

use super::compiled_merges::CompiledMerges;
use super::listed::Listed;
use super::low_ids::{LOW_IDS, LowIdPartition};
use super::scripts::Scripts;
use super::slots::{
    EMPTY, FILTER_BITS, GRID, MAX_ID, MAX_INDEX, NO_PAIR, PLACE_BITS, SLOTS_FOR_TWO, put, unpack,
};
use super::table::MergeTable;
use super::{NONE, merge_scalar};
use crate::cpu::dispatch::{Kernel, Work, run_wide};
use crate::vocab::Vocab;

/// Columns of a table that a compiled file keeps.
pub(super) struct Raw {
    pub(super) entries: Vec<u64>,
    pub(super) filter: Vec<u64>,
    pub(super) grid: Vec<u64>,
    /// As [`Scripts::raw`] gives them.
    pub(super) scripts: [Vec<u64>; 3],
}

/// True if a model is small enough.
pub(super) fn fits(vocab: &Vocab, n_listed: usize) -> bool {
    fits_sizes(vocab.size(), n_listed)
}

fn fits_sizes(n_ids: u32, n_ranks: usize) -> bool {
    n_ids < MAX_ID && n_ranks < MAX_INDEX
}

impl MergeTable {
    fn with_capacity(pairs: usize, symbols: &[u32; 256]) -> Self {
        Self {
            entries: vec![EMPTY; (pairs * SLOTS_FOR_TWO / 2).max(16)].into(),
            filter: vec![0; (pairs * FILTER_BITS / 64).max(16)].into(),
            low_ids: LowIdPartition::default(),
            grid: vec![NO_PAIR; GRID].into(),
            n_pairs: 0,
            n_ranks: 0,
            offset: 0,
            merged: Vec::new(),
            complete: symbols.iter().all(|&symbol| symbol != NONE),
            is_in_order: false,
            symbols: *symbols,
            scripts: Scripts::default(),
            kernel: Kernel::fastest(),
        }
    }

    /// Pairs whose concatenation is a token, ranked by its id. With `every` the table holds all
    /// pairs. Otherwise it holds only pairs that can occur where a pretoken starts as its bytes'
    /// tokens.
    pub(super) fn from_ranks(vocab: &Vocab, symbols: &[u32; 256], every: bool) -> Self {
        let mut table = Self::with_capacity(vocab.n_tokens() as usize, symbols);
        let mut parts = Vec::new();
        let tokens = vocab
            .iter()
            .filter(|&(id, bytes)| vocab.is_findable(id) && vocab.bytes_to_id(bytes) == Some(id));
        for (id, bytes) in tokens.filter(|(_, bytes)| bytes.len() > 1) {
            parts.clear();
            let known = bytes
                .iter()
                .all(|&byte| table.symbols[usize::from(byte)] != NONE);
            if known && !every {
                table.merge_token(bytes, &mut parts);
            }
            // Merges of a lower rank are all in the table, and come first. If they leave two parts
            // then these two are the only ones that are left to merge.
            if let [left, right] = parts[..] {
                table.insert(left, right, id);
                if let &[first, second] = bytes {
                    table.grid[usize::from(first) << 8 | usize::from(second)] = id << PLACE_BITS;
                }
                continue;
            }
            // This token is made, if at all, with merges of a higher rank than its own.
            for cut in 1..bytes.len() {
                if let Some(left) = vocab.bytes_to_id(&bytes[..cut])
                    && let Some(right) = vocab.bytes_to_id(&bytes[cut..])
                {
                    table.insert(left, right, id);
                }
            }
        }
        table.arrange(&table.pairs());
        table.fill_grid();
        table.note_order(table.survey(vocab.size()).excess);
        table.find_scripts(vocab);
        table
    }

    /// Inserts all pairs. Pairs of low ids, met most often, lie together.
    fn arrange(&mut self, pairs: &[(u32, u32, u32)]) {
        let is_low = |&&(left, right, _): &&(u32, u32, u32)| (left | right) < LOW_IDS;
        let n_low = pairs.iter().filter(is_low).count();
        self.low_ids =
            LowIdPartition::new(n_low, pairs.len(), self.entries.len(), self.filter.len());
        self.entries.fill(EMPTY);
        self.filter.fill(0);
        self.n_pairs = 0;
        for &(left, right, index) in pairs {
            self.insert(left, right, index);
        }
    }

    /// All pairs by their index: left, right, index.
    fn pairs(&self) -> Vec<(u32, u32, u32)> {
        let there = self.entries.iter().filter(|&&entry| entry != EMPTY);
        let mut pairs: Vec<_> = there.map(|&entry| unpack(entry)).collect();
        pairs.sort_unstable_by_key(|&(left, right, index)| (index, left, right));
        pairs
    }

    /// Returns the smallest entries and filter, the grid's merging pairs (place and index), and the
    /// tables of scripts.
    pub(super) fn raw(&self) -> Raw {
        let pairs = self.pairs();
        let mut table = Self::with_capacity(pairs.len() + 1, &self.symbols);
        table.arrange(&pairs);
        let pairs = (0u64..)
            .zip(self.grid.iter())
            .filter(|&(_, &pair)| pair != NO_PAIR);
        let grid = pairs.map(|(place, &pair)| place << 24 | u64::from(pair >> PLACE_BITS));
        Raw {
            entries: table.entries.to_vec(),
            filter: table.filter.to_vec(),
            grid: grid.collect(),
            scripts: self.scripts.raw(),
        }
    }

    /// Builds the table from the columns of [`Self::raw`]. Returns None if they fit no table.
    pub(super) fn from_raw(
        known: CompiledMerges,
        symbols: &[u32; 256],
        n_ids: u32,
        list: Option<&Listed>,
    ) -> Option<Self> {
        let CompiledMerges {
            entries,
            filter,
            grid,
            grid_room,
            scripts: [script_entries, script_filter],
            script_pairs,
            ..
        } = known;
        let most_ranks = list.map_or(n_ids as usize, Listed::len);
        let entries_and_ids = Survey {
            entries: &entries,
            n_ids,
        };
        let Surveyed {
            n_pairs,
            n_ranks,
            n_there,
            n_low,
            excess,
        } = run_wide(Kernel::fastest(), entries_and_ids);
        let [n_pairs, n_ranks, n_there, n_low] =
            [n_pairs, n_ranks, n_there, n_low].map(|n| n as usize);
        // A search for an absent pair ends at an empty entry.
        let ends = n_pairs < entries.len() && !filter.is_empty();
        let counts = u32::try_from(entries.len().max(filter.len())).is_ok();
        let fits = fits_sizes(n_ids, most_ranks) && n_ranks <= most_ranks;
        if !ends || !counts || n_there < n_pairs || !fits || grid_room.len() != GRID {
            return None;
        }
        let scripts = Scripts::from_raw(script_entries, script_filter, &script_pairs)?;
        for (entries, _) in scripts.each() {
            let of_script = run_wide(Kernel::fastest(), Survey { entries, n_ids });
            let ends = of_script.n_pairs < entries.len() as u64;
            let is_there = of_script.n_there >= of_script.n_pairs;
            if !ends || !is_there || of_script.n_ranks > n_ranks as u64 {
                return None;
            }
        }
        let mut table = Self {
            low_ids: LowIdPartition::new(n_low, n_pairs, entries.len(), filter.len()),
            entries,
            filter,
            grid: grid_room,
            n_pairs,
            n_ranks,
            offset: 0,
            merged: Vec::new(),
            complete: symbols.iter().all(|&symbol| symbol != NONE),
            is_in_order: false,
            symbols: *symbols,
            scripts,
            kernel: Kernel::fastest(),
        };
        if let Some(list) = list {
            table.set_merged(&list.merges());
        }
        table.note_order(excess);
        table.grid.fill(NO_PAIR);
        for pair in grid {
            let index = pair & (MAX_INDEX as u64 - 1);
            if index as usize >= n_ranks {
                return None;
            }
            *table.grid.get_mut((pair >> 24) as usize)? = (index as u32) << PLACE_BITS;
        }
        Some(table)
    }

    /// Pairs and the tokens that they make; the place in the list is the rank.
    pub(super) fn from_list(vocab: &Vocab, list: &[(u32, u32, u32)], symbols: &[u32; 256]) -> Self {
        let mut table = Self::with_capacity(list.len(), symbols);
        let pairs = list.iter().zip(0..);
        let pairs: Vec<_> = pairs
            .map(|(&(left, right, _), index)| (left, right, index))
            .collect();
        table.arrange(&pairs);
        table.fill_grid();
        table.set_merged(list);
        table.note_order(table.survey(MAX_ID).excess);
        table.find_scripts(vocab);
        table
    }

    /// Takes the pairs of each script.
    fn find_scripts(&mut self, vocab: &Vocab) {
        if !self.is_in_order {
            return;
        }
        let pairs = self.pairs();
        let made = |index| vocab.id_to_bytes(self.merged(index));
        let with_bytes = |pair: (u32, u32, u32)| Some((pair, made(pair.2)?));
        self.scripts = Scripts::new(pairs.into_iter().filter_map(with_bytes));
    }

    fn survey(&self, n_ids: u32) -> Surveyed {
        let entries = &self.entries;
        run_wide(Kernel::fastest(), Survey { entries, n_ids })
    }

    /// Sets `is_in_order`. Where merges make ids in ascending order, a side with a lower id than
    /// the merged token is made first, if ever. Lists in any other order count as out of order.
    fn note_order(&mut self, excess: u64) {
        self.is_in_order = self.merged.is_empty() && excess <= u64::from(self.offset);
    }

    /// The tokens that a list makes.
    fn set_merged(&mut self, list: &[(u32, u32, u32)]) {
        let offset = list.first().map_or(0, |&(.., merged)| merged);
        if (offset..).zip(list).all(|(id, &(.., merged))| id == merged) {
            self.offset = offset;
        } else {
            self.merged = list.iter().map(|&(.., merged)| merged).collect();
        }
    }

    /// Merges a token's bytes, all of which have symbols: quickly if they are few.
    fn merge_token(&self, bytes: &[u8], parts: &mut Vec<u32>) {
        if merge_scalar::merge(self, bytes, parts) {
            return;
        }
        parts.extend(bytes.iter().map(|&byte| self.symbols[usize::from(byte)]));
        let left = super::merge::merge(self, parts, &mut super::BpeScratch::default());
        parts.truncate(left);
    }

    /// A pair that is there already gets the new index.
    fn insert(&mut self, left: u32, right: u32, index: u32) {
        if self.n_pairs * SLOTS_FOR_TWO / 2 >= self.entries.len() {
            self.grow();
        }
        let is_new = put(
            &mut self.entries,
            &mut self.filter,
            self.low_ids,
            left,
            right,
            index,
        );
        self.n_pairs += usize::from(is_new);
        self.n_ranks = self.n_ranks.max(index as usize + 1);
    }

    /// Twice the slots. The filter stays: it lets more pass, none that it should not.
    fn grow(&mut self) {
        let slots = self.entries.len() * 2;
        let old = std::mem::replace(&mut self.entries, vec![EMPTY; slots].into());
        self.low_ids.grow();
        self.n_pairs = 0;
        for &entry in old.iter().filter(|&&entry| entry != EMPTY) {
            let (left, right, index) = unpack(entry);
            self.insert(left, right, index);
        }
    }

    fn fill_grid(&mut self) {
        for first in 0..256 {
            for second in 0..256 {
                let (left, right) = (self.symbols[first], self.symbols[second]);
                if left != NONE && right != NONE {
                    self.grid[first << 8 | second] = self.find(left, right);
                }
            }
        }
    }
}

/// Counts over entries, each looked at by itself.
struct Survey<'e> {
    entries: &'e [u64],
    n_ids: u32,
}

struct Surveyed {
    n_pairs: u64,
    /// How many ranks there must be.
    n_ranks: u64,
    /// How many pairs are of ids that there are.
    n_there: u64,
    /// How many pairs are of two ids below [`LOW_IDS`].
    n_low: u64,
    /// By how much an id of a pair reaches its index, at most; one more for being equal.
    excess: u64,
}

impl Work for Survey<'_> {
    type Output = Surveyed;

    #[inline(always)]
    fn run(self) -> Surveyed {
        let n_ids = u64::from(self.n_ids);
        let low = |bits: u64| bits & u64::from(MAX_ID - 1);
        let [mut n_pairs, mut n_ranks, mut n_there, mut n_low, mut excess] = [0; 5];
        for &entry in self.entries {
            // Without branches: a third of the entries is empty, here and there.
            let is_pair = u64::from(entry != EMPTY);
            let rank = (entry & (MAX_INDEX as u64 - 1)) + 1;
            let id = low(entry >> 44).max(low(entry >> 24));
            n_pairs += is_pair;
            n_ranks = n_ranks.max(if entry == EMPTY { 0 } else { rank });
            n_there += is_pair & u64::from(id < n_ids);
            n_low += is_pair & u64::from(id < u64::from(LOW_IDS));
            excess = excess.max(if entry == EMPTY {
                0
            } else {
                (id + 2).saturating_sub(rank)
            });
        }
        Surveyed {
            n_pairs,
            n_ranks,
            n_there,
            n_low,
            excess,
        }
    }
}
