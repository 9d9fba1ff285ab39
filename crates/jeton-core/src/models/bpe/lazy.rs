//! The tables of merges, made when it is worth it.
//!
//! A short text should not wait for the merges of a hundred thousand tokens. So the first words are
//! merged with structures that loading has made anyhow. By ranks this is the vocabulary, where any
//! pair merges whose concatenation is a token. With a list it is the list by left tokens. That
//! takes a few times as long for a word. By ranks, a filter of all tokens is made then, with which
//! it takes little longer than with the tables ([`Pieces`]). After [`FREE_WORDS`], or as many words
//! as there are tokens, the tables are made, once. From then on all is as if they had been there
//! from the start.
//!
//! No thread waits for another one that makes the tables: it goes on as before meanwhile. So a
//! process may fork at any time.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};

use once_cell::race::OnceBox;

use super::build;
use super::listed::Listed;
use super::merge::{BpeScratch, merge};
use super::merge_without_tables::{self, Pieces};
use super::pairs::{Merge, NO_MERGE, PairTable, Pairs};
use super::table::MergeTable;
use super::{NONE, merge_scalar};
use crate::cpu::dispatch::Kernel;
use crate::cpu::once_per_process::OncePerProcess;
use crate::vocab::Vocab;

/// Words that are merged without the tables where there is a list, in which pairs are searched for;
/// without a list, words that are merged before the filter is made. A quarter of it made the filter
/// too early (docs/log/2026-11-28-tuning-constants.md).
const FREE_WORDS: u32 = 2048;

/// Words that a thread takes at a time from the shared count of free words.
const WORDS_PER_CLAIM: u32 = 32;

/// Longest word that is merged without the tables, in bytes: each pair is looked up in the
/// vocabulary then.
const MAX_BYTES_WITHOUT: usize = 1024;

/// The table made of the merges, if they fit one.
#[derive(Debug)]
pub(super) struct Tables(Option<MergeTable>);

impl Tables {
    /// None of a vocabulary that is too large for it: then all pairs are used.
    #[inline]
    pub(super) fn table(&self) -> Option<&MergeTable> {
        self.0.as_ref()
    }
}

/// The merges of a model: pairs, ranks and merged tokens.
#[derive(Debug)]
pub(super) struct LazyTables {
    /// The merges; without a list any pair merges whose concatenation is a token, by the token's
    /// id.
    list: Option<Listed>,
    /// Symbol that each byte starts as.
    symbols: [u32; 256],
    /// True if a symbol stands for bytes that are not its own.
    every: bool,
    fits: bool,
    /// True if every byte has a symbol. It is asked for every word that is new.
    has_symbols: bool,
    tables: OnceBox<Tables>,
    /// Table and filter for merging by ranks before there are tables.
    pieces: OnceBox<Pieces>,
    /// True if words are merged by their pieces then.
    by_pieces: bool,
    /// All pairs, also the ones that the tables leave out; made when first needed.
    every_pair: OnceBox<PairTable>,
    free_words: AtomicU32,
    /// The filter is made when this number of free words is left.
    words_with_filter: u32,
    /// Elects the thread that makes the tables.
    maker: OncePerProcess,
    /// Level of vector instructions before there are tables.
    kernel: Kernel,
}

impl LazyTables {
    pub(super) fn new(
        vocab: &Vocab,
        list: Option<Listed>,
        made: Option<MergeTable>,
        symbols: &[u32; 256],
        every: bool,
    ) -> Self {
        let n_listed = list.as_ref().map_or(0, Listed::len);
        // The vocabulary finds only one of two tokens with the same bytes.
        let by_pieces = list.is_none() && !every && merge_without_tables::holds(vocab, symbols);
        let (words_without, words_with_filter) = match list {
            _ if by_pieces => (FREE_WORDS, vocab.n_tokens()),
            None if !vocab.is_unique() => (0, 0),
            _ => (FREE_WORDS, 0),
        };
        let made = made.map(|table| Box::new(Tables(Some(table))));
        Self {
            fits: build::fits(vocab, n_listed),
            list,
            symbols: *symbols,
            has_symbols: !symbols.contains(&NONE),
            every,
            tables: made.map_or_else(OnceBox::new, OnceBox::with_value),
            every_pair: OnceBox::new(),
            pieces: OnceBox::new(),
            by_pieces,
            free_words: AtomicU32::new(words_without.saturating_add(words_with_filter)),
            words_with_filter,
            maker: OncePerProcess::default(),
            kernel: Kernel::fastest(),
        }
    }

    /// The list of merges, if there is one.
    pub(super) fn list(&self) -> Option<&Listed> {
        self.list.as_ref()
    }

    /// True if there is, or will be, a table of merges, and every byte has a symbol.
    #[inline]
    pub(super) fn are_complete(&self) -> bool {
        self.fits && self.has_symbols
    }

    /// The tables, if they are made.
    #[inline]
    pub(super) fn made(&self) -> Option<&Tables> {
        self.tables.get()
    }

    /// The tables.
    pub(super) fn get(&self, vocab: &Vocab) -> &Tables {
        self.tables.get_or_init(|| {
            Box::new(Tables(self.fits.then(|| match &self.list {
                None => MergeTable::from_ranks(vocab, &self.symbols, self.every),
                Some(list) => MergeTable::from_list(vocab, &list.merges(), &self.symbols),
            })))
        })
    }

    /// Returns all pairs that may merge, also pairs that merge only when other merges are left out.
    pub(super) fn every_pair(&self, vocab: &Vocab) -> &PairTable {
        self.every_pair.get_or_init(|| {
            Box::new(match &self.list {
                None => PairTable::from_ranks(vocab),
                Some(list) => list.table(),
            })
        })
    }

    /// True if a thread without tables is to make them, for a word of `n_bytes` bytes. `free`:
    /// words that the thread has taken of the free ones.
    pub(super) fn are_wanted(&self, n_bytes: usize, free: &mut u32) -> bool {
        if n_bytes > MAX_BYTES_WITHOUT {
            return true;
        }
        // Words too long for the filter take longer.
        let price = if n_bytes > merge_scalar::MAX_SYMBOLS {
            n_bytes as u32
        } else {
            1
        };
        if *free < price {
            let left = self.free_words.load(Ordering::Relaxed);
            let taken = left.min(WORDS_PER_CLAIM.max(price));
            // Threads that count at once lose some: it need not be exact.
            self.free_words.store(left - taken, Ordering::Relaxed);
            *free += taken;
        }
        if *free > 0 {
            *free = free.saturating_sub(price);
            return false;
        }
        self.maker.claim()
    }

    /// True if a word may be a token, as far as can be said at once.
    #[inline]
    pub(super) fn may_be_token(&self, word: &[u8]) -> bool {
        let pieces = self.pieces.get();
        pieces.is_none_or(|pieces| pieces.filter.may_have(word))
    }

    /// Appends the ids of a word, without the tables. False if the word is too long, or if merging
    /// by pieces does not apply.
    #[inline]
    pub(super) fn merge_pieces(&self, vocab: &Vocab, word: &[u8], out: &mut Vec<u32>) -> bool {
        if !self.by_pieces || word.len() > merge_scalar::MAX_SYMBOLS {
            return false;
        }
        let pieces = self.pieces.get().or_else(|| self.make_pieces(vocab));
        merge_without_tables::merge(pieces, vocab, &self.symbols, self.kernel, word, out);
        true
    }

    #[cold]
    fn make_pieces(&self, vocab: &Vocab) -> Option<&Pieces> {
        let is_time = self.free_words.load(Ordering::Relaxed) <= self.words_with_filter;
        is_time.then(|| self.pieces.get_or_init(|| Box::new(Pieces::new(vocab))))
    }

    /// Merges the symbols of a word in place, without the tables; returns how many are left.
    pub(super) fn merge_without(
        &self,
        vocab: &Vocab,
        ids: &mut [u32],
        scratch: &mut BpeScratch,
    ) -> usize {
        match &self.list {
            None => {
                let bytes = RefCell::default();
                merge(&ByVocab { vocab, bytes }, ids, scratch)
            }
            Some(list) => merge(list, ids, scratch),
        }
    }
}

/// All pairs whose concatenation is a token.
struct ByVocab<'v> {
    vocab: &'v Vocab,
    /// Room for one.
    bytes: RefCell<Vec<u8>>,
}

impl Pairs for ByVocab<'_> {
    fn get(&self, left: u32, right: u32) -> Merge {
        by_vocab(self.vocab, left, right, &mut self.bytes.borrow_mut())
    }

    fn n_ranks(&self) -> usize {
        self.vocab.size() as usize
    }
}

impl Pairs for Listed {
    fn get(&self, left: u32, right: u32) -> Merge {
        self.get(left, right)
    }

    /// The last of a pair listed twice counts: there may be more ranks than pairs.
    fn n_ranks(&self) -> usize {
        u32::MAX as usize
    }
}

/// How a pair merges by the vocabulary: the naive twin of a table of ranks, for tokens that are all
/// different.
fn by_vocab(vocab: &Vocab, left: u32, right: u32, bytes: &mut Vec<u8>) -> Merge {
    let (Some(first), Some(second)) = (vocab.id_to_bytes(left), vocab.id_to_bytes(right)) else {
        return NO_MERGE;
    };
    if first.len() + second.len() > vocab.longest()
        || first.is_empty()
        || second.is_empty()
        || !vocab.is_findable(left)
        || !vocab.is_findable(right)
    {
        return NO_MERGE;
    }
    bytes.clear();
    bytes.extend_from_slice(first);
    bytes.extend_from_slice(second);
    match vocab.bytes_to_id(bytes) {
        Some(id) => u64::from(id) << 32 | u64::from(id),
        None => NO_MERGE,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::compiled_merges::CompiledMerges;
    use super::super::pairs::Pairs;
    use super::super::{BpeModel, BpeScratch, Merges, Missing};
    use super::*;
    use crate::memory::arena::HugeArena;
    use crate::models::Model;

    fn vocab(tokens: &[Vec<u8>]) -> Vocab {
        let mut vocab = Vocab::default();
        for byte in 0..=255u8 {
            vocab.insert(u32::from(byte), &[byte]).unwrap();
        }
        for token in tokens {
            if vocab.bytes_to_id(token).is_none() {
                vocab.insert(vocab.size(), token).unwrap();
            }
        }
        vocab
    }

    fn encode(model: &BpeModel, scratch: &mut BpeScratch, word: &[u8]) -> Vec<u32> {
        let mut ids = Vec::new();
        model.encode_pretoken(word, scratch, &mut ids).unwrap();
        ids
    }

    /// Words of any length, but few of them long.
    fn words() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let of = |n| prop::collection::vec(0..4u8, n);
        let long = MAX_BYTES_WITHOUT - 2..MAX_BYTES_WITHOUT + 3;
        prop::collection::vec(prop_oneof![9 => of(1..99), 1 => of(long)], 1..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Words are the same with and without tables, of ranks and of lists; and a list says of
        /// every pair what the table of all pairs says.
        #[test]
        fn words_are_the_same_without_tables(
            tokens in prop::collection::vec(prop::collection::vec(0..4u8, 2..6), 0..30),
            words in words(),
            picks in prop::collection::vec((0..40u32, 0..40u32), 0..40),
            whole_pretokens in any::<bool>(),
        ) {
            let vocab = vocab(&tokens);
            // Four bytes, and the tokens made of them.
            let id = |n: u32| if n < 4 { n } else { n + 252 };
            let bytes = |id| vocab.id_to_bytes(id).unwrap_or_default();
            let list: Vec<(u32, u32)> = picks
                .into_iter()
                .map(|(left, right)| (id(left), id(right)))
                .filter(|&(left, right)| {
                    let both = [bytes(left), bytes(right)];
                    both.iter().all(|b| !b.is_empty()) && vocab.bytes_to_id(&both.concat()).is_some()
                })
                .collect();
            let naive = PairTable::from_list(&vocab, &list).unwrap();
            let listed = Listed::new(&vocab, &list, 0).unwrap();
            for left in (0..40).map(id) {
                for right in (0..40).map(id) {
                    prop_assert_eq!(listed.get(left, right), naive.get(left, right));
                    prop_assert_eq!(listed.table().get(left, right), naive.get(left, right));
                }
            }
            prop_assert_eq!(listed.by_rank(), naive.by_rank());
            let (starts, pairs) = listed.raw();
            let again = Listed::from_raw(starts.to_vec(), pairs.to_vec(), &vocab);
            prop_assert_eq!(again.as_ref(), Some(&listed));
            for merges in [Merges::ByRank, Merges::List(list)] {
                let model = |missing| {
                    BpeModel::new(vocab.clone(), &merges, whole_pretokens, missing).unwrap()
                };
                let (first, then) = (model(Missing::Fail), model(Missing::Fail));
                let _ = then.tables.get(&then.vocab);
                let known = then.compiled().unwrap();
                let read = known_of(known.columns());
                prop_assert_eq!(read.columns(), known.columns());
                let third = BpeModel::with_list(
                    vocab.clone(),
                    then.list().cloned(),
                    Some(read),
                    whole_pretokens,
                    Missing::Fail,
                )
                .unwrap();
                prop_assert!(third.tables.made().is_some());
                let again = third.compiled().unwrap();
                prop_assert_eq!(again.columns(), known.columns());
                let [scratch, scratch_then, scratch_third] = &mut [(); 3].map(|()| BpeScratch::default());
                let mut free = first.tables.free_words.load(Ordering::Relaxed);
                for (n, word) in words.iter().enumerate() {
                    if n == words.len() / 2 {
                        // From now on with the filter, where there is one, whatever came before.
                        first.tables.free_words.fetch_min(first.tables.words_with_filter, Ordering::Relaxed);
                        free = free.min(scratch.free_words + first.tables.free_words.load(Ordering::Relaxed));
                    }
                    let is_long = word.len() > MAX_BYTES_WITHOUT;
                    let was_made = first.tables.made().is_some();
                    let expected = encode(&then, scratch_then, word);
                    prop_assert_eq!(encode(&first, scratch, word), &expected[..]);
                    prop_assert_eq!(encode(&third, scratch_third, word), expected);
                    let whole = whole_pretokens && first.vocab.bytes_to_id(word).is_some();
                    let is_made = first.tables.made().is_some();
                    let is_wanted = !whole && (is_long || free == 0);
                    prop_assert_eq!(is_made, was_made || is_wanted);
                    if !whole && !is_made {
                        free = free.saturating_sub(if word.len() > merge_scalar::MAX_SYMBOLS { word.len() as u32 } else { 1 });
                    }
                }
            }
        }
    }

    /// As a file has them.
    fn known_of((lasting, others): ([&[u64]; 4], [&[u64]; 3])) -> CompiledMerges {
        let mut shelf = HugeArena::with_room(0);
        let lasting = lasting.map(|column| column.to_vec().into());
        CompiledMerges::new(lasting, others.map(<[u64]>::to_vec), &mut shelf)
    }

    #[test]
    fn tables_of_no_such_model_are_refused() {
        let vocab = vocab(&[vec![0, 1]]);
        let model = BpeModel::new(vocab.clone(), &Merges::ByRank, true, Missing::Fail).unwrap();
        let known = model.compiled().unwrap();
        let ([entries, filter, script_entries, script_filter], [grid, cuts, counts]) =
            known.columns();
        let read = |[entries, filter, cuts]: [&[u64]; 3], grid: &[u64]| {
            let lasting = [entries, filter, script_entries, script_filter];
            let known = known_of((lasting, [grid, cuts, counts]));
            let vocab = vocab.clone();
            BpeModel::with_list(vocab, None, Some(known), true, Missing::Fail).is_ok()
        };
        assert!(read([entries, filter, cuts], grid));
        assert!(!read([entries, filter, &cuts[1..]], grid));
        assert!(!read([entries, filter, &[]], grid));
        assert!(!read([entries, &[], cuts], grid));
        assert!(!read([&[], filter, cuts], grid));
        // No empty entry; a token that is not there on the left, on the right, and of a merge.
        let full: Vec<u64> = entries
            .iter()
            .copied()
            .filter(|&entry| entry != u64::MAX)
            .collect();
        assert!(read([entries, filter, cuts], &[]));
        assert!(!read([&full, filter, cuts], &[]));
        for entry in [257 << 44, 257 << 24, 257] {
            assert!(!read([&[entry, u64::MAX], filter, cuts], &[]));
        }
        // A merge that there is not, and no two bytes.
        assert_eq!(grid, [1 << 24 | 0x100]);
        for pair in [1 << 24 | 0x101, 1 << 40 | 0x100] {
            assert!(!read([entries, filter, cuts], &[pair]));
        }
        // Scripts: one too few, of more pairs than there is room for, or with such entries.
        let read = |script_entries: &[u64], script_filter: &[u64], counts: &[u64]| {
            let lasting = [entries, filter, script_entries, script_filter];
            let known = known_of((lasting, [grid, cuts, counts]));
            let vocab = vocab.clone();
            BpeModel::with_list(vocab, None, Some(known), true, Missing::Fail).is_ok()
        };
        assert!(read(script_entries, script_filter, counts));
        assert!(read(&[], &[], &[]));
        assert!(!read(script_entries, script_filter, &[]));
        assert!(!read(script_entries, script_filter, &counts[1..]));
        assert!(!read(&script_entries[1..], script_filter, counts));
        assert!(!read(script_entries, &script_filter[1..], counts));
        let mut more = counts.to_vec();
        for n in [1, u64::MAX] {
            more[0] = n;
            assert!(!read(script_entries, script_filter, &more));
        }
        for entry in [0, 257 << 44, 257 << 24, 257] {
            let mut other = script_entries.to_vec();
            other[0] = entry;
            assert!(!read(&other, script_filter, counts));
        }
    }

    #[test]
    fn the_tables_are_made_after_some_words() {
        let vocab = vocab(&[vec![0, 1]]);
        let model = BpeModel::new(vocab, &Merges::ByRank, true, Missing::Fail).unwrap();
        let scratch = &mut BpeScratch::default();
        for n in 0..FREE_WORDS + model.vocab.n_tokens() {
            assert_eq!(encode(&model, scratch, &[0, 1, 2]), [256, 2]);
            let has_filter = model.tables.pieces.get().is_some();
            // Some words are taken at once, so that the last of the first ones have it already.
            assert!(has_filter || n < FREE_WORDS);
            assert!(!has_filter || n >= FREE_WORDS - WORDS_PER_CLAIM);
        }
        assert!(model.tables.made().is_none());
        // A thread of a process that was forked away makes them no more.
        let other = std::process::id().wrapping_add(1);
        model.tables.maker.set(other);
        assert_eq!(encode(&model, scratch, &[0, 1, 2]), [256, 2]);
        assert!(model.tables.made().is_some());
    }
}
