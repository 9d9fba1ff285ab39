//! The merges of a byte-level model, small enough for a processor's second cache.
//!
//! Two things keep it small. An entry is one word: left id, right id and the *index* of the merge,
//! which is its rank, unique, and tells the merged token. And of a rank file only the pairs are
//! kept that a pretoken can ever show:
//!
//! *A token is only ever made by one pair.* Let merges be done in a text until a token stands on
//! some bytes. No merge done so far crosses the first or the last of these bytes, for what crosses
//! never comes apart. So all that happened inside happened as if the bytes stood alone: each time
//! the best candidate of the whole text was inside it was the best candidate inside. Hence the last
//! merge is the one that ends the encoding of the token's bytes alone. Of all cuts of a token into
//! two tokens (2.3 on average in cl100k) one is kept, none for a token that the merges never make.
//! With dropout merges are left out, so that the proof fails: that needs all pairs.
//!
//! Most pairs that are looked up cannot merge. A filter, an eighth of the table, says so of all but
//! a few percent of them without reading the table. What is met most often lies together in both
//! ([`LowIdPartition`]).

use super::known::Known;
use super::listed::Listed;
use super::lookups::Lookups;
use super::low_ids::{LOW_IDS, LowIdPartition};
use super::pairs::{Merge, NO_MERGE, Pairs};
use super::scripts::{ScriptSet, Scripts};
use super::{NONE, merge_scalar};
use crate::cpu::dispatch::{Kernel, Work, run_wide};
use crate::memory::arena::ArenaVec;
use crate::memory::bloom::filter_bits;
use crate::vocab::Vocab;

/// Ids must be below this for an entry to fit a word: five times those of the largest published
/// vocabulary.
pub(super) const MAX_ID: u32 = 1 << 20;
/// Indexes must be below this, for the same reason.
pub(super) const MAX_INDEX: usize = 1 << 24;
/// An empty entry: no index is that large.
pub(super) const EMPTY: u64 = u64::MAX;
/// No such pair, in the form that [`MergeTable::find`] gives: larger than all that exist, as a
/// signed number, too.
pub(super) const NO_PAIR: u32 = i32::MAX as u32;
/// Bits by which [`MergeTable::find`] shifts an index: room for a place among 64.
pub(super) const PLACE_BITS: u32 = 6;
/// Slots for two pairs: a third of the table is empty.
pub(super) const SLOTS_FOR_TWO: usize = 3;
/// Pairs of bytes.
pub(super) const GRID: usize = 1 << 16;
/// Bits of the filter for each pair. With three bits set for each, 3% of the pairs that are not
/// there pass.
pub(super) const FILTER_BITS: usize = 10;

/// All pairs that may merge.
#[derive(Debug)]
pub(super) struct MergeTable {
    /// `left << 44 | right << 24 | index`, open addressing.
    entries: ArenaVec<u64>,
    filter: ArenaVec<u64>,
    low_ids: LowIdPartition,
    /// For two bytes what [`Self::find`] says of their symbols.
    grid: ArenaVec<u32>,
    n_pairs: usize,
    n_ranks: usize,
    /// The id that a merge makes is its index and this, unless there is a list of them.
    offset: u32,
    merged: Vec<u32>,
    /// True if every byte has a symbol.
    complete: bool,
    /// True if every pair comes after those that make its sides.
    is_in_order: bool,
    symbols: [u32; 256],
    /// Those of each script once more; none of a table that is not in order.
    scripts: Scripts,
    kernel: Kernel,
}

/// What a compiled file keeps of a table.
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

    /// Pairs whose concatenation is a token, ranked by its id. `every`: all of them, not only those
    /// that can show where a pretoken starts as its bytes' tokens.
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

    /// Puts all pairs where they belong, those that are met often together.
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

    /// The entries and the filter, as small as they can be; what the grid has of pairs that merge:
    /// the place of each and its index; and what there is of scripts.
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

    /// What [`Self::raw`] gave of a table of merges by rank, or of a list; None if it can be of
    /// none.
    pub(super) fn from_raw(
        known: Known,
        symbols: &[u32; 256],
        n_ids: u32,
        list: Option<&Listed>,
    ) -> Option<Self> {
        let Known {
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
        // Who looks for a pair that is not there comes to an empty entry.
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

    /// Where merges make ids in their order a side of a pair that has a lower id than what the pair
    /// makes is made before it, if it is made at all. Of other lists this is not found out.
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

    #[inline(always)]
    pub(super) fn hash(left: u32, right: u32) -> u64 {
        // Fibonacci hashing: the high bits of the product depend on all bits of the pair.
        (u64::from(left) << 20 | u64::from(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// The bits of a pair in its word of the filter.
    #[inline(always)]
    pub(super) fn filter_bits(hash: u64) -> u64 {
        filter_bits(hash ^ hash >> 32)
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

    /// What words are merged with.
    #[inline]
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// True if every byte has a symbol.
    pub(super) fn complete(&self) -> bool {
        self.complete
    }

    /// True if every pair comes after those that make its two sides.
    pub(super) fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    /// The symbol of a byte, if it has one.
    #[inline]
    pub(super) fn symbol(&self, byte: u8) -> u32 {
        self.symbols[usize::from(byte)]
    }

    /// What [`Self::find`] says of the symbols of two bytes.
    #[inline]
    pub(super) fn find_bytes(&self, first: u8, second: u8) -> u32 {
        self.grid[usize::from(first) << 8 | usize::from(second)]
    }

    /// The index of a pair's merge, shifted by [`PLACE_BITS`]; [`NO_PAIR`] if it does not merge.
    #[inline(always)]
    pub(super) fn find(&self, left: u32, right: u32) -> u32 {
        self.lookups().find(left, right)
    }

    /// To look for many pairs of what is merged in a text of these scripts, with a space before it
    /// or not.
    #[inline(always)]
    pub(super) fn lookups_of(&self, scripts: ScriptSet) -> Lookups<'_> {
        let of_script = scripts.only().and_then(|script| self.scripts.get(script));
        match of_script {
            Some((entries, filter)) => {
                Lookups::new(entries, filter, LowIdPartition::default(), self)
            }
            None => self.lookups(),
        }
    }

    /// Asks for all that will be looked at in texts of a script.
    pub(super) fn ask_for(&self, script: usize) {
        self.scripts.ask_for(script);
    }

    /// To look for many pairs.
    #[inline(always)]
    pub(super) fn lookups(&self) -> Lookups<'_> {
        Lookups::new(&self.entries, &self.filter, self.low_ids, self)
    }

    /// The token that a merge makes.
    #[inline]
    pub(super) fn merged(&self, index: u32) -> u32 {
        if self.merged.is_empty() {
            return self.offset + index;
        }
        self.merged[index as usize]
    }
}

/// Puts a pair among entries of which one at least is empty; a pair that is there already gets the
/// new index. Says whether it is new.
pub(super) fn put(
    entries: &mut [u64],
    filter: &mut [u64],
    low_ids: LowIdPartition,
    left: u32,
    right: u32,
    index: u32,
) -> bool {
    let (hash, is_low) = (MergeTable::hash(left, right), low_ids.has(left, right));
    filter[low_ids.word(hash, is_low, filter.len())] |= MergeTable::filter_bits(hash);
    let key = u64::from(left) << 20 | u64::from(right);
    let mut slot = low_ids.slot(hash, is_low, entries.len());
    while entries[slot] != EMPTY && entries[slot] >> 24 != key {
        slot = (slot + 1) % entries.len();
    }
    let is_new = entries[slot] == EMPTY;
    entries[slot] = key << 24 | u64::from(index);
    is_new
}

/// What can be said of entries by looking at each of them by itself.
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

fn unpack(entry: u64) -> (u32, u32, u32) {
    let low = |bits: u64| (bits & u64::from(MAX_ID - 1)) as u32;
    let index = entry as u32 & (MAX_INDEX as u32 - 1);
    (low(entry >> 44), low(entry >> 24), index)
}

impl Pairs for MergeTable {
    fn get(&self, left: u32, right: u32) -> Merge {
        match self.find(left, right) {
            NO_PAIR => NO_MERGE,
            found => {
                let index = found >> PLACE_BITS;
                u64::from(index) << 32 | u64::from(self.merged(index))
            }
        }
    }

    fn n_ranks(&self) -> usize {
        self.n_ranks
    }
}
