//! A vocabulary as flat lists, to be written and read as it lies in memory.

use super::table::Table;
use super::{HOLE, MAX_ARENA_BYTES, MAX_IDS, OPAQUE, Span, Tokens, Vocab};

/// The parts of a vocabulary.
pub(crate) struct RawVocab<'v> {
    pub(crate) arena: &'v [u8],
    pub(crate) starts: Vec<u32>,
    pub(crate) lengths: Vec<u32>,
    pub(crate) slots: &'v [u32],
    pub(crate) seed: u32,
}

impl Vocab {
    pub(crate) fn raw(&self) -> RawVocab<'_> {
        let Tokens { arena, spans } = &self.tokens;
        RawVocab {
            arena,
            starts: spans.iter().map(|span| span.start).collect(),
            lengths: spans.iter().map(|span| span.len).collect(),
            slots: self.table.slots(),
            seed: self.table.seed(),
        }
    }

    /// A vocabulary of parts, unless they do not fit together.
    ///
    /// Whether the table finds every token is not looked at: what it finds has the right bytes.
    pub(crate) fn from_raw(
        arena: Vec<u8>,
        starts: &[u32],
        lengths: &[u32],
        slots: Vec<u32>,
        seed: u32,
    ) -> Option<Self> {
        if starts.len() != lengths.len()
            || starts.len() > MAX_IDS as usize
            || arena.len() > MAX_ARENA_BYTES
        {
            return None;
        }
        let spans: Vec<Span> = starts
            .iter()
            .zip(lengths)
            .map(|(&start, &len)| Span { start, len })
            .collect();
        let (mut n_tokens, mut n_findable, mut longest) = (0, 0, 0);
        for span in spans.iter().filter(|span| span.len != HOLE) {
            if span.range()?.end > arena.len() {
                return None;
            }
            n_tokens += 1;
            n_findable += u32::from(span.len & OPAQUE == 0);
            longest = longest.max(span.len & !OPAQUE);
        }
        let table = Table::from_slots(slots, seed)?;
        let in_place = table.ids().all(|id| (id as usize) < spans.len());
        if !in_place || table.len() > n_findable as usize {
            return None;
        }
        Some(Self {
            tokens: Tokens { arena, spans },
            table,
            n_tokens,
            n_findable,
            longest,
        })
    }
}
