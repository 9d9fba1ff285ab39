//! Batches in which long texts are cut into stretches, so that several threads share one text.

use std::ops::Range;

use super::stretches::{Piece, Plan};
use super::{Scratch, Tokenizer};
use crate::cache::pool::Lease;
use crate::cpu::prefetch::ReadLater;
use crate::documents::parallel::{Work, chunk_bytes, chunks, in_order};
use crate::documents::texts::Documents;
use crate::documents::token_batch::TokenBatch;
use crate::error::Result;
use crate::inputs::template::Part;
use crate::pipeline::section::ThreadSpan;
use crate::special::Allow;

/// Most bytes that become ids at once. Their ids are still in the processor's cache when they are
/// put where they belong.
pub(super) const MAX_TASK_BYTES: usize = 256 << 10;
/// Texts of fewer bytes are not cut.
pub(super) const MIN_LONG_BYTES: usize = 512 << 10;
/// A text is cut if it is longer than a thread's share divided by this.
const PARTS_OF_A_SHARE: usize = 4;

/// Task of a thread.
enum Task<'p> {
    /// Encodes whole texts.
    Texts(Range<usize>),
    /// Encodes parts of a long text.
    Pieces {
        text: &'p str,
        pieces: &'p [Piece],
        /// True if they are the text's first, and its last.
        first: bool,
        last: bool,
    },
}

/// Result of a task.
#[derive(Default)]
struct TaskResult {
    /// Ids, and the end of each text that ends here.
    tokens: TokenBatch,
    /// Ids of the next task's beginning that are here already; None if unknown.
    ahead: Option<usize>,
    /// Memory for texts that are not UTF-8 where they lie.
    room: Vec<u8>,
}

/// All ids together.
struct Whole<'t> {
    /// Gets the ids of a task, and where the texts in it end.
    take: &'t mut (dyn FnMut(&[u32], &[i64]) + Send),
    ahead: usize,
    /// True if some stretch did not meet the next one: then the ids may not be used.
    astray: bool,
}

impl Tokenizer {
    /// Encodes texts and cuts long ones. True if all stretches have met and long texts are valid.
    /// If false, the ids given to `take` are of no use.
    pub(super) fn encode_cut(
        &self,
        (documents, n_bytes): (&dyn Documents, usize),
        (allow, add_special_tokens): (&Allow, bool),
        threads: usize,
        keep_going: &mut dyn FnMut() -> bool,
        take: &mut (dyn FnMut(&[u32], &[i64]) + Send),
    ) -> Result<bool> {
        let size = |index| documents.size(index);
        let long_bytes = long_bytes(n_bytes, threads);
        let long: Vec<usize> = (0..documents.len())
            .filter(|&index| size(index) >= long_bytes)
            .collect();
        let target = chunk_bytes(n_bytes, threads).min(MAX_TASK_BYTES);
        // Their texts must be there before the plans that point into them.
        let mut rooms = vec![Vec::new(); long.len()];
        let mut plans = Vec::with_capacity(long.len());
        for (&index, room) in long.iter().zip(&mut rooms) {
            // An invalid text is reported when it is its turn: an earlier one may be invalid, too.
            let Ok(text) = documents.text(index, room) else {
                return Ok(false);
            };
            plans.push(self.plan(text, allow, target));
        }
        let mut tasks = Vec::new();
        let mut next = 0;
        for (&index, plan) in long.iter().zip(&plans) {
            tasks.extend(
                chunks(next..index, &size, target)
                    .into_iter()
                    .map(Task::Texts),
            );
            next = index + 1;
            plan.tasks(target, &mut tasks);
        }
        let rest = chunks(next..documents.len(), &size, target);
        tasks.extend(rest.into_iter().map(Task::Texts));
        let work = Work {
            worker: &|| self.pool.lend(),
            task: &|scratch: &mut Lease<'_, Scratch>, index, made: &mut TaskResult| {
                let Some(task) = tasks.get(index) else {
                    return Ok(());
                };
                self.task(
                    (documents, task),
                    (allow, add_special_tokens),
                    scratch.get(),
                    made,
                )
            },
        };
        let mut whole = Whole {
            take,
            ahead: 0,
            astray: false,
        };
        let mut take = |_, made: &mut TaskResult| whole.put(made);
        in_order(tasks.len(), threads, keep_going, &work, &mut take)?;
        Ok(!whole.astray)
    }

    fn task(
        &self,
        (documents, task): (&dyn Documents, &Task<'_>),
        (allow, add_special_tokens): (&Allow, bool),
        scratch: &mut Scratch,
        made: &mut TaskResult,
    ) -> Result<()> {
        let TaskResult {
            tokens,
            ahead,
            room,
        } = made;
        tokens.ids.clear();
        tokens.offsets.clear();
        *ahead = Some(0);
        match task {
            Task::Texts(range) => {
                for index in range.clone() {
                    let text = documents.text(index, room)?;
                    self.encode_with(text, allow, add_special_tokens, scratch, &mut tokens.ids)?;
                    tokens.offsets.push(tokens.ids.len() as i64);
                }
            }
            Task::Pieces {
                text,
                pieces,
                first,
                last,
            } => {
                if *first {
                    tokens
                        .ids
                        .extend(self.tokens_around(true, add_special_tokens));
                }
                for piece in *pieces {
                    match piece {
                        Piece::Token(id) => tokens.ids.push(*id),
                        Piece::ThreadSpan(stretch) => {
                            *ahead = self.stretch(
                                text,
                                stretch,
                                ReadLater::default(),
                                scratch,
                                &mut tokens.ids,
                            )?;
                            if ahead.is_none() {
                                return Ok(());
                            }
                        }
                    }
                }
                if *last {
                    tokens
                        .ids
                        .extend(self.tokens_around(false, add_special_tokens));
                    tokens.offsets.push(tokens.ids.len() as i64);
                }
            }
        }
        Ok(())
    }

    /// Returns the tokens before a text, or behind it, if special tokens are added.
    pub(super) fn tokens_around(
        &self,
        before: bool,
        add_special_tokens: bool,
    ) -> impl Iterator<Item = u32> {
        let template = if add_special_tokens {
            self.template.single.as_slice()
        } else {
            &[]
        };
        let at = template
            .iter()
            .position(|part| matches!(part, Part::Text { .. }));
        let (head, tail) = template.split_at(at.unwrap_or(template.len()));
        let parts = if before { head } else { tail };
        parts.iter().filter_map(|part| match part {
            Part::Token { id, .. } => Some(*id),
            Part::Text { .. } => None,
        })
    }

    /// Encodes a stretch of a text. `later` is what will be read next.
    pub(super) fn stretch(
        &self,
        text: &str,
        stretch: &ThreadSpan,
        later: ReadLater,
        scratch: &mut Scratch,
        ids: &mut Vec<u32>,
    ) -> Result<Option<usize>> {
        let section = text.get(stretch.section.clone()).unwrap_or_default();
        let ahead = self
            .engine
            .encode_stretch(section, stretch, later, &mut scratch.engine, ids);
        scratch.after_text(stretch.until - stretch.from);
        ahead
    }
}

impl Plan<'_> {
    /// Gathers the pieces to tasks of about `target` bytes. A stretch that another one follows ends
    /// its task.
    fn tasks<'p>(&'p self, target: usize, tasks: &mut Vec<Task<'p>>) {
        let mut start = 0;
        let mut bytes = 0;
        for (index, piece) in self.pieces.iter().enumerate() {
            let mut ends = index + 1 == self.pieces.len();
            if let Piece::ThreadSpan(stretch) = piece {
                bytes += stretch.until - stretch.from;
                ends |= stretch.until < stretch.section.len() || bytes >= target;
            }
            if ends {
                tasks.push(Task::Pieces {
                    text: self.text,
                    pieces: &self.pieces[start..=index],
                    first: start == 0,
                    last: index + 1 == self.pieces.len(),
                });
                (start, bytes) = (index + 1, 0);
            }
        }
    }
}

impl Whole<'_> {
    fn put(&mut self, made: &TaskResult) {
        let Some(ahead) = made.ahead else {
            self.astray = true;
            return;
        };
        let here = self.ahead.min(made.tokens.ids.len());
        let ends: &[i64] = &made.tokens.offsets;
        if here == 0 {
            (self.take)(&made.tokens.ids, ends);
        } else {
            let ends: Vec<i64> = ends.iter().map(|end| end - here as i64).collect();
            (self.take)(&made.tokens.ids[here..], &ends);
        }
        self.ahead = ahead;
    }
}

/// From how many bytes on a text is cut.
fn long_bytes(n_bytes: usize, threads: usize) -> usize {
    (n_bytes / threads.saturating_mul(PARTS_OF_A_SHARE)).max(MIN_LONG_BYTES)
}

pub(super) fn has_long(documents: &dyn Documents, n_bytes: usize, threads: usize) -> bool {
    let long = long_bytes(n_bytes, threads);
    (0..documents.len()).any(|index| documents.size(index) >= long)
}
