//! Byte-pair encoding of one pretoken.
//!
//! A pretoken starts as its bytes; again and again the adjacent pair of lowest rank (the leftmost
//! of equals) becomes one token, until no adjacent pair can merge. Sennrich, Haddow and Birch,
//! "Neural Machine Translation of Rare Words with Subword Units" (ACL 2016), on bytes.
//!
//! Two families write the ranks down differently. In *rank* files (`tiktoken`) any pair whose
//! concatenation is a token may merge, and its rank is that token's id. In *merge lists*
//! (`tokenizers`) a pair may merge only if it is listed, with its place as its rank. Both become
//! one table of pairs here.
//!
//! Cost: O(n^2) comparisons on a stack array for short pretokens, where that is fastest. Longer
//! ones are merged a window of that size at a time, in linear time. Where windows do not join, a
//! heap takes O(n log n), so a megabyte of anything is no attack.

mod build;
mod characters;
pub(crate) mod compiled_merges;
mod cuts;
mod dropout;
mod lazy;
pub(crate) mod listed;
mod low_ids;
pub(crate) mod merge;
mod merge_list;
mod merge_scalar;
mod merge_simd;
mod merge_without_tables;
#[cfg(test)]
mod naive;

mod neighbours;
pub(crate) mod pairs;
mod queue;
mod scripts;
mod segment_merger;
mod slots;
mod starts;
mod table;
mod token_filter;
mod windows;

pub use characters::{
    CharacterBpeModel, CharacterBpeOptions, CharacterBpeScratch, MAX_AFFIX_BYTES,
};
use compiled_merges::CompiledMerges;
use cuts::Cuts;
pub use dropout::DropoutScratch;
use lazy::{LazyTables, Tables};
use listed::Listed;
pub use merge::BpeScratch;
pub use merge_list::MergeList;
use pairs::PairTable;
use segment_merger::{ByBytes, SegmentMerger};
use starts::{ByCharacters, Starts};
use table::MergeTable;
use windows::Windows;

use once_cell::race::OnceBox;

use crate::codec::gpt2_alphabet;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::arena::HugeArena;
use crate::models::Model;
use crate::vocab::{Search, Vocab};

/// Stands for "no token" in tables of ids.
const NONE: u32 = u32::MAX;

/// Bytes of a pretoken for which all tokens are looked at, to find out where it may be cut.
const MIN_CUT_BYTES: usize = 16;

/// Pairs that may merge, and their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merges {
    /// Any pair whose concatenation is a token; its rank is the token's id.
    ByRank,
    /// The listed pairs of ids, in this order.
    List(Vec<(u32, u32)>),
}

/// Treatment of a byte that has no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is left out (as `tokenizers` does without an unknown token).
    Skip,
    /// It becomes this id.
    Unknown(u32),
    /// It is an error.
    Fail,
}

impl Missing {
    /// The id that stands for what has no token, if one does.
    pub fn id(self) -> Option<u32> {
        match self {
            Self::Unknown(id) => Some(id),
            Self::Skip | Self::Fail => None,
        }
    }
}

/// A byte-level BPE model.
#[derive(Debug)]
pub struct BpeModel {
    vocab: Vocab,
    /// Made when it is worth it.
    tables: LazyTables,
    /// Made when the first pretoken comes that is too long for caches.
    cuts: OnceBox<Cuts>,
    bytes: [u32; 256],
    whole_pretokens: bool,
    missing: Missing,
}

impl BpeModel {
    /// Builds the model. `whole_pretokens`: a pretoken that is a token is never cut, whatever the
    /// merges say (`ignore_merges`; rank files always do so).
    pub fn new(
        vocab: Vocab,
        merges: &Merges,
        whole_pretokens: bool,
        missing: Missing,
    ) -> Result<Self> {
        let list = match merges {
            Merges::ByRank => None,
            Merges::List(list) => Some(Listed::new(&vocab, list, 0)?),
        };
        Self::with_list(vocab, list, None, whole_pretokens, missing)
    }

    /// Builds the model with a list of merges that is made already. Without a list any pair merges
    /// whose concatenation is a token. `compiled`: the tables of [`Self::compiled`].
    pub(crate) fn with_list(
        vocab: Vocab,
        list: Option<Listed>,
        compiled: Option<CompiledMerges>,
        whole_pretokens: bool,
        missing: Missing,
    ) -> Result<Self> {
        let mut bytes = [NONE; 256];
        for (byte, id) in bytes.iter_mut().enumerate() {
            *id = vocab.bytes_to_id(&[byte as u8]).unwrap_or(NONE);
        }
        if let Missing::Unknown(id) = missing
            && vocab.id_to_bytes(id).is_none()
        {
            return Err(Error::format(
                "BPE model",
                format!("the unknown token's id {id} has no token"),
            ));
        }
        let mut symbols = bytes;
        if let Missing::Unknown(id) = missing {
            for symbol in symbols.iter_mut().filter(|symbol| **symbol == NONE) {
                *symbol = id;
            }
        }
        // An unknown token is a symbol that stands for bytes which are not its own.
        let every = symbols != bytes;
        let (mut cuts, mut table) = (OnceBox::new(), None);
        if let Some(compiled) = compiled {
            let of_others = || Error::format("BPE model", "the tables are those of no such model");
            let compiled_cuts = Cuts::from_raw(&compiled.cuts).ok_or_else(of_others)?;
            cuts = OnceBox::with_value(Box::new(compiled_cuts));
            let read = MergeTable::from_raw(compiled, &symbols, vocab.size(), list.as_ref());
            table = Some(read.ok_or_else(of_others)?);
        }
        Ok(Self {
            tables: LazyTables::new(&vocab, list, table, &symbols, every),
            vocab,
            cuts,
            bytes,
            whole_pretokens,
            missing,
        })
    }

    /// The list of merges, if the file has one.
    pub(crate) fn list(&self) -> Option<&Listed> {
        self.tables.list()
    }

    /// Returns the tables for a compiled file; None of a vocabulary too large for tables.
    pub(crate) fn compiled(&self) -> Option<CompiledMerges> {
        let raw = self.tables.get(&self.vocab).table()?.raw();
        let cuts = self.cuts().raw();
        let [script_entries, script_filter, script_pairs] = raw.scripts;
        let lasting = [raw.entries, raw.filter, script_entries, script_filter];
        let mut shelf = HugeArena::with_room(0);
        Some(CompiledMerges::new(
            lasting.map(Into::into),
            [raw.grid, cuts, script_pairs],
            &mut shelf,
        ))
    }

    fn cuts(&self) -> &Cuts {
        self.cuts.get_or_init(|| Box::new(Cuts::new(&self.vocab)))
    }

    /// The merges, as they were given.
    pub fn merges(&self) -> Merges {
        match self.list() {
            None => Merges::ByRank,
            Some(list) => Merges::List(list.by_rank()),
        }
    }

    /// Returns all pairs that may merge, also pairs that merge only when other merges are left out.
    fn every_pair(&self) -> &PairTable {
        self.tables.every_pair(&self.vocab)
    }

    /// The table of merges; none of a vocabulary that is too large for it.
    #[cfg(test)]
    fn table(&self) -> Option<&MergeTable> {
        self.tables.get(&self.vocab).table()
    }

    /// True if a pretoken that is a token is never cut.
    pub fn whole_pretokens(&self) -> bool {
        self.whole_pretokens
    }

    /// True if a byte has a token.
    pub(crate) fn knows_byte(&self, byte: u8) -> bool {
        self.bytes[usize::from(byte)] != NONE
    }

    /// Treatment of a byte that has no token.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// True if every token stands for its own bytes, no more and no fewer: none is left out, and
    /// none becomes an unknown token.
    pub(crate) fn keeps_bytes(&self) -> bool {
        self.missing.id().is_none() && !self.bytes.contains(&NONE)
    }

    /// Calls `each` with a token and the bytes it covers where some byte is left out. `tokenizers`
    /// counts the bytes in GPT-2's alphabet as UTF-8, where a byte takes one or two. It does not
    /// count bytes that are left out, so later tokens cover bytes too far left.
    fn count_off(&self, pretoken: &[u8], ids: &[u32], each: &mut dyn FnMut(u32, usize, usize)) {
        let width = |byte: u8| gpt2_alphabet::byte_to_char(byte).len_utf8();
        let owners: Vec<usize> = pretoken
            .iter()
            .enumerate()
            .flat_map(|(at, &byte)| std::iter::repeat_n(at, width(byte)))
            .collect();
        let place = |position: usize| owners.get(position).copied();
        let mut position = 0;
        for &id in ids {
            let token = self.vocab.id_to_bytes(id).unwrap_or_default();
            let after = position + token.iter().map(|&byte| width(byte)).sum::<usize>();
            let start = place(position).unwrap_or(pretoken.len());
            let end = place(after.saturating_sub(1)).map_or(pretoken.len(), |at| at + 1);
            each(id, start, end.max(start));
            position = after;
        }
    }

    /// Puts the ids of a pretoken's bytes into `out`.
    fn byte_ids(&self, pretoken: &[u8], out: &mut Vec<u32>) -> Result<()> {
        for &byte in pretoken {
            let id = self.bytes[byte as usize];
            if id != NONE {
                out.push(id);
                continue;
            }
            match self.missing {
                Missing::Skip => {}
                Missing::Unknown(id) => out.push(id),
                Missing::Fail => {
                    let piece = String::from_utf8_lossy(pretoken).into_owned();
                    return Err(ErrorKind::Unencodable { piece }.into());
                }
            }
        }
        Ok(())
    }

    /// Appends the ids of a unit.
    #[inline]
    fn encode_with(
        &self,
        tables: &Tables,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(table) = tables.table()
            && table.complete()
        {
            let is_merged = self
                .by_characters(table, pretoken, &mut scratch.starts)
                .is_some_and(|mut way| way.merge_segment(table, pretoken, out))
                || ByBytes.merge_segment(table, pretoken, out);
            if !is_merged {
                Windows::merge(table, pretoken, scratch, out);
            }
            return Ok(());
        }
        let start = out.len();
        self.byte_ids(pretoken, out)?;
        let symbols = &mut out[start..];
        let merged = match tables.table() {
            Some(table) => merge::merge(table, symbols, scratch),
            None => merge::merge(self.every_pair(), symbols, scratch),
        };
        out.truncate(start + merged);
        Ok(())
    }

    /// Returns the way that begins with characters, if a segment has longer ones.
    #[inline]
    fn by_characters<'m>(
        &'m self,
        table: &MergeTable,
        segment: &[u8],
        starts: &'m mut Starts,
    ) -> Option<ByCharacters<'m>> {
        // The unknown token stands for bytes that may merge with anything.
        if !table.is_in_order() || self.missing.id().is_some() || segment.is_ascii() {
            return None;
        }
        // Cuts are made for the first longer word with such characters.
        let cuts = match self.cuts.get() {
            None if segment.len() >= MIN_CUT_BYTES => self.cuts(),
            made => made?,
        };
        Some(ByCharacters { starts, cuts })
    }

    /// Appends the ids of a segment as long as there are no tables.
    #[cold]
    fn encode_first(
        &self,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if self
            .tables
            .are_wanted(pretoken.len(), &mut scratch.free_words)
        {
            return self.encode_with(self.tables.get(&self.vocab), pretoken, scratch, out);
        }
        if self.tables.merge_pieces(&self.vocab, pretoken, out) {
            return Ok(());
        }
        let start = out.len();
        self.byte_ids(pretoken, out)?;
        let merged = self
            .tables
            .merge_without(&self.vocab, &mut out[start..], scratch);
        out.truncate(start + merged);
        Ok(())
    }
}

impl Model for BpeModel {
    type Scratch = BpeScratch;

    fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    fn encode_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(id) = self.lookup_whole(pretoken, Search::NotBegun) {
            out.push(id);
            return Ok(());
        }
        self.encode_segment(pretoken, scratch, out)
    }

    fn encode_segment(
        &self,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        match self.tables.made() {
            Some(tables) => self.encode_with(tables, pretoken, scratch, out),
            None => self.encode_first(pretoken, scratch, out),
        }
    }

    #[inline]
    fn prefetch_whole(&self, pretoken: &[u8]) -> Search {
        if self.whole_pretokens {
            self.vocab.begin_search(pretoken)
        } else {
            Search::InVain
        }
    }

    #[inline]
    fn lookup_whole(&self, pretoken: &[u8], search: Search) -> Option<u32> {
        if !self.whole_pretokens || !self.tables.may_be_token(pretoken) {
            return None;
        }
        // Most of these are what merging makes, too; looking them up takes less time.
        self.vocab.end_search(pretoken, search)
    }

    fn has_whole(&self) -> bool {
        self.whole_pretokens
    }

    #[inline]
    fn can_cut(&self, n_bytes: usize) -> bool {
        let is_ready = n_bytes >= MIN_CUT_BYTES || self.cuts.get().is_some();
        is_ready && self.tables.are_complete()
    }

    fn safe_cuts(&self, pretoken: &[u8], from: usize, ends: &mut [usize]) -> usize {
        self.cuts().ends(pretoken, from, ends)
    }

    fn encode_spans(
        &self,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        each: &mut dyn FnMut(u32, usize, usize),
    ) -> Result<()> {
        let mut ids = Vec::new();
        self.encode_pretoken(pretoken, scratch, &mut ids)?;
        let skips = self.missing == Missing::Skip
            && pretoken
                .iter()
                .any(|&byte| self.bytes[usize::from(byte)] == NONE);
        if skips {
            self.count_off(pretoken, &ids, each);
            return Ok(());
        }
        let mut start = 0;
        for id in ids {
            // The unknown token stands for one byte, whatever its own text.
            let bytes = match self.missing {
                Missing::Unknown(unknown) if unknown == id => 1,
                _ => self.vocab.id_to_bytes(id).map_or(0, <[u8]>::len),
            };
            let end = (start + bytes).min(pretoken.len());
            each(id, start, end);
            start = end;
        }
        Ok(())
    }
}
