//! Texts that grow: encoded again only from the last place on that later text cannot change.
//!
//! At every moment the ids equal a full encoding of the whole text. A list of *cuts* makes that
//! cheap: places of the text from which encoding can go on as if it had never stopped. Each cut
//! keeps the number of ids before it, which no later text changes (`cuts.rs` says why). Growing
//! encodes from the last cut on, and then looks for a later one. A change in the middle goes back
//! to the last cut that did not depend on the changed text. It stops where a cut of the old text
//! turns out to be a cut of the new text as well.
//!
//! A cut is never taken on trust alone: it counts only if encoding from it gives the last ids of
//! encoding from the cut before.

mod cuts;
mod edit;
mod limit;
mod resume;
#[cfg(test)]
mod tests;

use std::ops::Deref;

use self::resume::Cut;
use crate::error::Result;
use crate::special::Allow;
use crate::tokenizer::{Scratch, Tokenizer};

/// Bytes that are encoded at once when a lot of text comes; also what a change in the middle goes
/// back at most where cuts are easily found.
const STEP_BYTES: usize = 4096;
/// Cuts that are nearer to each other than this are not both kept.
const SPACING_BYTES: usize = 1024;

/// A cut with what is known of it.
#[derive(Clone, Debug)]
struct Mark {
    cut: Cut,
    /// Ids before it.
    n_ids: usize,
    /// Bytes of the text that say that it is a cut.
    seen: usize,
}

/// How ids changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Ids at the beginning that are what they were before.
    pub n_kept: usize,
    /// Ids there were before.
    pub n_before: usize,
}

/// A text that grows, with its ids. `T` leads to the tokenizer.
#[derive(Clone, Debug)]
pub struct Growing<T> {
    tokenizer: T,
    allow: Allow,
    text: String,
    ids: Vec<u32>,
    /// The first is the beginning, or what is left of it.
    marks: Vec<Mark>,
}

impl<T: Deref<Target = Tokenizer>> Growing<T> {
    /// An empty text.
    pub fn new(tokenizer: T, allow: Allow) -> Self {
        Self {
            tokenizer,
            allow,
            text: String::new(),
            ids: Vec::new(),
            marks: vec![Mark::default()],
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ids of the text, equal to a full encoding.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// How many ids at the beginning no later text can change, and how many bytes of the text they
    /// stand for.
    pub fn stable(&self) -> (usize, usize) {
        self.marks
            .last()
            .map_or((0, 0), |mark| (mark.n_ids, mark.cut.at))
    }

    /// Puts more text behind the text. On an error nothing has changed.
    pub fn append(&mut self, more: &str) -> Result<Growth> {
        let n_before = self.ids.len();
        if more.is_empty() {
            return Ok(Growth {
                n_kept: n_before,
                n_before,
            });
        }
        let tokenizer: &Tokenizer = &self.tokenizer;
        let (bytes, n_marks) = (self.text.len(), self.marks.len());
        let last = self.marks.last().cloned();
        self.text.push_str(more);
        let n_stable = self.stable().0;
        let old = self.ids.split_off(n_stable);
        let mut walk = Walk {
            tokenizer,
            allow: &self.allow,
            ids: &mut self.ids,
            marks: &mut self.marks,
        };
        let done = tokenizer
            .pool
            .with(|scratch| walk.run_on(&self.text, scratch));
        if let Err(error) = done {
            self.text.truncate(bytes);
            self.ids.truncate(n_stable);
            self.ids.extend(old);
            self.marks.truncate(n_marks);
            if let (Some(mark), Some(last)) = (self.marks.last_mut(), last) {
                *mark = last;
            }
            return Err(error);
        }
        let same = old.iter().zip(&self.ids[n_stable..]);
        let n_same = same.take_while(|(before, now)| before == now).count();
        Ok(Growth {
            n_kept: n_stable + n_same,
            n_before,
        })
    }

    /// Hands over the ids that no later text can change, and forgets the text that they stand for.
    /// The rest is a text that grows as before; its places and numbers count from there.
    pub fn take_stable(&mut self) -> Vec<u32> {
        let (n_ids, at) = self.stable();
        let Some(mut mark) = self.marks.last().filter(|_| at > 0).cloned() else {
            return Vec::new();
        };
        // The character before may still be looked at, to tell whether a word ends there.
        let context = self.text[..at]
            .chars()
            .next_back()
            .map_or(0, char::len_utf8);
        self.text.drain(..at - context);
        mark.seen -= at - context;
        mark.cut.at = context;
        mark.n_ids = 0;
        self.marks.clear();
        self.marks.push(mark);
        let rest = self.ids.split_off(n_ids);
        std::mem::replace(&mut self.ids, rest)
    }
}

/// The first place between characters from a byte on.
fn boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at.min(text.len())
}

/// Encodes a text from the last mark on; all ids before it are there.
struct Walk<'a> {
    tokenizer: &'a Tokenizer,
    allow: &'a Allow,
    ids: &'a mut Vec<u32>,
    marks: &'a mut Vec<Mark>,
}

/// Ids of one step.
struct Step {
    ids: Vec<u32>,
    /// The last cut, and how many of the ids are before it.
    cut: Option<(Cut, usize)>,
}

impl Walk<'_> {
    fn last(&self) -> Mark {
        self.marks.last().cloned().unwrap_or_default()
    }

    /// Encodes from a cut to the end of a text that goes on, and looks for a later cut. It takes
    /// the `wanted` one if that is a cut, else the last. Text that cannot be encoded so far may
    /// well be once it goes on.
    fn step_inside(
        &self,
        text: &str,
        from: &Cut,
        wanted: Option<&Cut>,
        scratch: &mut Scratch,
    ) -> Step {
        let nothing = |_| Step {
            ids: Vec::new(),
            cut: None,
        };
        self.step(text, from, wanted, scratch)
            .unwrap_or_else(nothing)
    }

    /// Encodes up to the end of the text.
    fn step(
        &self,
        text: &str,
        from: &Cut,
        wanted: Option<&Cut>,
        scratch: &mut Scratch,
    ) -> Result<Step> {
        let mut ids = Vec::new();
        self.tokenizer
            .encode_from(text, from, self.allow, scratch, &mut ids)?;
        let is_wanted = |at: usize| wanted.is_some_and(|wanted| wanted.at == at);
        let cuts = self
            .tokenizer
            .cuts(text, from, self.allow, &is_wanted, scratch)?;
        let matches = |cut: &&Cut| {
            wanted.is_some_and(|w| w.at == cut.at && w.kind == cut.kind) && cut.paths.is_none()
        };
        let chosen = cuts.iter().find(matches).or(cuts.last());
        let Some(cut) = chosen.filter(|cut| cut.at > from.at) else {
            return Ok(Step { ids, cut: None });
        };
        let mut rest = Vec::new();
        self.tokenizer
            .encode_from(text, cut, self.allow, scratch, &mut rest)?;
        let holds = ids.ends_with(&rest);
        debug_assert!(
            holds,
            "a cut that is none: {cut:?} behind {from:?} in {text:?}"
        );
        let n_before = ids.len() - rest.len().min(ids.len());
        Ok(Step {
            cut: holds.then(|| (cut.clone(), n_before)),
            ids,
        })
    }

    /// Keeps a mark, in place of the last one if the two before are near.
    fn push(&mut self, mark: Mark) {
        if let [.., before, last] = self.marks.as_slice()
            && last.cut.at - before.cut.at < SPACING_BYTES
        {
            self.marks.pop();
        }
        self.marks.push(mark);
    }

    /// Goes on to the text's end.
    fn run_on(&mut self, text: &str, scratch: &mut Scratch) -> Result<()> {
        let mut size = STEP_BYTES;
        loop {
            let mark = self.last();
            let mut end = boundary(text, mark.cut.at.max(mark.seen) + size);
            if text.len() - end < size / 4 {
                end = text.len();
            }
            let is_last = end == text.len();
            let step = if is_last {
                self.step(text, &mark.cut, None, scratch)?
            } else {
                self.step_inside(&text[..end], &mark.cut, None, scratch)
            };
            match step.cut {
                Some((cut, n_before)) => {
                    self.ids.extend_from_slice(if is_last {
                        &step.ids
                    } else {
                        &step.ids[..n_before]
                    });
                    self.push(Mark {
                        cut,
                        n_ids: mark.n_ids + n_before,
                        seen: end,
                    });
                    size = STEP_BYTES;
                }
                None if is_last => self.ids.extend_from_slice(&step.ids),
                // Several times as much each time, so that all steps together cost little more than
                // the last one.
                None => size = size.saturating_mul(4),
            }
            if is_last {
                return Ok(());
            }
        }
    }
}
