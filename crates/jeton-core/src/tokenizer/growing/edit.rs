//! Changes in the middle of a text that grows.

use std::ops::{Deref, Range};

use super::{Growing, Growth, Mark, STEP_BYTES, Walk, boundary};
use crate::error::Result;
use crate::special::Allow;
use crate::tokenizer::{Scratch, Tokenizer};

/// Text behind an old cut that is read to find out whether it is one of the new text: what an
/// ordinary pretoken and what follows it take. If it is too little, the next one is tried. Half and
/// twice as many do the same (docs/log/2026-11-28-tuning-constants.md).
const LOOK_BYTES: usize = 256;
/// How far behind a change an old cut must be: the character before it may be looked at.
const APART_BYTES: usize = 4;

impl<T: Deref<Target = Tokenizer>> Growing<T> {
    /// Puts a text in the place of some bytes, which begin and end between characters. On an error
    /// nothing has changed.
    pub fn replace(&mut self, range: Range<usize>, with: &str) -> Result<Growth> {
        let (start, end) = (
            range.start.min(self.text.len()),
            range.end.min(self.text.len()),
        );
        let end = end.max(start);
        let n_before = self.ids.len();
        if start == self.text.len() {
            return self.append(with);
        }
        let mut text = String::with_capacity(self.text.len() + with.len() - (end - start));
        text.push_str(&self.text[..start]);
        text.push_str(with);
        text.push_str(&self.text[end..]);
        // The beginning is one whatever follows.
        let n_marks = self.marks.partition_point(|mark| mark.seen <= start).max(1);
        let mut marks = self.marks[..n_marks].to_vec();
        let n_stable = marks.last().map_or(0, |mark| mark.n_ids);
        let mut ids = self.ids[..n_stable].to_vec();
        let moved = |at: usize| at - end + start + with.len();
        let old: Vec<Mark> = self.marks[n_marks..]
            .iter()
            .filter(|mark| mark.cut.at >= end + APART_BYTES && mark.cut.paths.is_none())
            .map(|mark| {
                let mut mark = mark.clone();
                mark.cut.at = moved(mark.cut.at);
                mark.seen = moved(mark.seen);
                mark
            })
            .collect();
        let tokenizer: &Tokenizer = &self.tokenizer;
        let mut walk = Walk {
            tokenizer,
            allow: &self.allow,
            ids: &mut ids,
            marks: &mut marks,
        };
        tokenizer
            .pool
            .with(|scratch| walk.meet(&text, &old, &self.ids, scratch))?;
        let same = self.ids[n_stable..].iter().zip(&ids[n_stable..]);
        let n_same = same.take_while(|(before, now)| before == now).count();
        (self.text, self.ids, self.marks) = (text, ids, marks);
        Ok(Growth {
            n_kept: n_stable + n_same,
            n_before,
        })
    }

    /// Takes the text behind a byte off.
    pub fn truncate(&mut self, bytes: usize) -> Result<Growth> {
        self.replace(bytes..self.text.len(), "")
    }

    /// Returns the special tokens that text may contain.
    pub fn allow(&self) -> &Allow {
        &self.allow
    }
}

impl Walk<'_> {
    /// Goes on until a cut of the text as it was is one of the text as it is: from there on all is
    /// as it was.
    fn meet(
        &mut self,
        text: &str,
        old: &[Mark],
        old_ids: &[u32],
        scratch: &mut Scratch,
    ) -> Result<()> {
        for (index, goal) in old.iter().enumerate() {
            let mut mark = self.last();
            if goal.cut.at <= mark.cut.at {
                continue;
            }
            // Far text is gone through in steps, as when it is new.
            while goal.cut.at - mark.cut.at > 2 * STEP_BYTES {
                let end = boundary(text, mark.cut.at.max(mark.seen) + STEP_BYTES);
                if end >= goal.cut.at || !self.go_to(&text[..end], scratch) {
                    break;
                }
                mark = self.last();
            }
            let end = boundary(text, goal.cut.at + LOOK_BYTES);
            let step = self.step_inside(&text[..end], &mark.cut, Some(&goal.cut), scratch);
            let Some((cut, n_before)) = step.cut else {
                continue;
            };
            self.ids.extend_from_slice(&step.ids[..n_before]);
            let n_ids = mark.n_ids + n_before;
            let met = cut.at == goal.cut.at && cut.kind == goal.cut.kind;
            self.push(Mark {
                cut,
                n_ids,
                seen: end,
            });
            if met {
                self.ids.extend_from_slice(&old_ids[goal.n_ids..]);
                let rest = old[index + 1..].iter().cloned().map(|mut mark| {
                    mark.n_ids = mark.n_ids - goal.n_ids + n_ids;
                    mark
                });
                self.marks.extend(rest);
                return Ok(());
            }
        }
        self.run_on(text, scratch)
    }

    /// One step to the end of a text that goes on; false if it found no cut.
    fn go_to(&mut self, text: &str, scratch: &mut Scratch) -> bool {
        let mark = self.last();
        let step = self.step_inside(text, &mark.cut, None, scratch);
        let Some((cut, n_before)) = step.cut else {
            return false;
        };
        self.ids.extend_from_slice(&step.ids[..n_before]);
        self.push(Mark {
            cut,
            n_ids: mark.n_ids + n_before,
            seen: text.len(),
        });
        true
    }
}
