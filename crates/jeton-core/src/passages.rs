//! Passages that come again: in a script without spaces between its words, what lies between two spaces is a phrase or a sentence.
//!
//! Some split patterns cut it at every mark: of Thai under `cl100k_base` a pretoken has nine bytes, in the mean, and most
//! have several ids. Where a text comes again, whole or in part, to find its passages takes a third of the time that its
//! pretokens take. Where it comes once, passages are not worth looking for, so it is the first one of a text that tells
//! whether they are: it is looked for in each text that begins in such a script, and the others only if it came before.

use std::sync::Arc;

use crate::cache_budget::CacheBudget;
use crate::error::Result;
use crate::kept_ids::KeptIds;
use crate::phrases::{MAX_KEPT, Phrases};
use crate::pipeline::{Model, Pipeline, Sink, WordScratch};
use crate::pretokenize::Automaton;
use crate::word_key::Role;

/// Bytes of a text that tell whether it begins in such a script.
const BEGIN: usize = 128;
/// Most spaces among them: where a script has spaces between words, there are twice as many.
const MOST_SPACES: usize = 5;

/// Of so many passages that came before one may be new, and a few more at first: where more are, it takes less time to cut what is left
/// of a text as one part (docs/engine.md).
const NEW_OF_KNOWN: usize = 4;
const PATIENCE: usize = 12;

/// What one thread remembers of passages.
#[derive(Debug, Default)]
pub(crate) struct Passages {
    known: Phrases,
    /// Room for the ids of one.
    ids: Vec<u32>,
}

impl Passages {
    pub(crate) fn set_budget(&mut self, budget: &Arc<CacheBudget>) {
        self.known.set_budget(budget);
    }

    pub(crate) fn fit(&mut self) {
        self.known.fit();
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    /// The ids of one, if it is kept.
    #[inline]
    pub(crate) fn get(&self, passage: &[u8]) -> Option<KeptIds<'_>> {
        self.known.kept(passage, Role::Pretoken)
    }

    /// Whether one that is not kept came before, not long ago.
    fn comes_again(&mut self, passage: &[u8]) -> bool {
        passage.len() <= MAX_KEPT && self.known.comes_again(passage)
    }
}

/// Whether a text begins with longer characters, most of them, and few spaces.
#[inline(always)]
pub(crate) fn may_have_passages(text: &[u8]) -> bool {
    // Most texts end here.
    let begins_longer = |begin: &[u8; 8]| u64::from_ne_bytes(*begin) & 0x8080_8080_8080_8080 != 0;
    text.first_chunk().is_some_and(begins_longer) && begins_without_spaces(text)
}

#[inline(never)]
fn begins_without_spaces(text: &[u8]) -> bool {
    let Some(begin) = text.first_chunk::<BEGIN>() else {
        return false;
    };
    let count = |is: fn(u8) -> bool| begin.iter().map(|&byte| u8::from(is(byte))).sum::<u8>();
    let (n_longer, n_spaces) = (count(|byte| !byte.is_ascii()), count(|byte| byte == b' '));
    usize::from(n_longer) * 2 > BEGIN && usize::from(n_spaces) <= MOST_SPACES
}

impl<M: Model> Pipeline<M> {
    /// Encodes a text by its passages, if the first of them came before; says whether it has.
    pub(crate) fn encode_passages<K: Sink>(
        &self,
        automaton: &Automaton,
        text: &[u8],
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<bool> {
        let first = &text[..automaton.passage_end(text, 0)];
        let mut passages = words.take_passages();
        let again = first.len() < text.len()
            && (passages.get(first).is_some() || passages.comes_again(first));
        let result = if again {
            self.each_passage(automaton, text, &mut passages, words, scratch, sink)
        } else {
            Ok(())
        };
        words.give_passages(passages);
        result.map(|()| again)
    }

    fn each_passage<K: Sink>(
        &self,
        automaton: &Automaton,
        text: &[u8],
        passages: &mut Passages,
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<()> {
        // Where what begins has no ids yet, and where the next passage does. Those that are new are cut together.
        let (mut from, mut start) = (0, 0);
        let (mut n_known, mut n_new) = (0, 0);
        while start < text.len() {
            let end = automaton.passage_end(text, start);
            let passage = &text[start..end];
            if let Some(ids) = passages.get(passage) {
                self.encode_part(automaton, &text[from..start], words, scratch, sink)?;
                sink.take_kept(ids);
                (from, n_known) = (end, n_known + 1);
            } else if passages.comes_again(passage) {
                self.encode_part(automaton, &text[from..start], words, scratch, sink)?;
                let Passages { known, ids } = passages;
                ids.clear();
                self.encode_part(automaton, passage, words, scratch, ids)?;
                known.put(passage, ids, Role::Pretoken);
                sink.take(ids);
                (from, n_known) = (end, n_known + 1);
            } else {
                n_new += 1;
                if n_new * NEW_OF_KNOWN > n_known + PATIENCE {
                    break;
                }
            }
            start = end;
        }
        self.encode_part(automaton, &text[from..], words, scratch, sink)
    }

    fn encode_part<K: Sink>(
        &self,
        automaton: &Automaton,
        part: &[u8],
        words: &mut WordScratch,
        scratch: &mut M::Scratch,
        sink: &mut K,
    ) -> Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        self.encode_pieces(part, &mut automaton.pieces(part), words, scratch, sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_scripts_without_spaces_may_have_passages() {
        for text in ["กขค", "ກຂຄງຈສຊຍດຕຖທ ", "កខ", "漢字、"] {
            assert!(may_have_passages(text.repeat(30).as_bytes()), "{text}");
        }
        for text in ["a b ", "слово ", "단어 ", "शब्द ", "mañana ", "ก    "] {
            assert!(!may_have_passages(text.repeat(30).as_bytes()), "{text}");
        }
        assert!(!may_have_passages("กขค".repeat(14).as_bytes()));
        assert!(!may_have_passages(b""));
    }
}
