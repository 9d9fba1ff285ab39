//! Counting no further than a limit.

use super::{Cut, Mark, STEP_BYTES, Walk, boundary};
use crate::error::Result;
use crate::special::Allow;
use crate::tokenizer::Tokenizer;

/// Bytes per id that a first step assumes, to read no more text than a limit needs: more than text in any script
/// takes on average (English: 4 to 5).
const BYTES_PER_ID: usize = 8;

impl Tokenizer {
    /// The number of ids of a text, or `limit + 1` if there are more than `limit`.
    ///
    /// Reads the text in steps and stops when the ids that no later text can change are too many already.
    pub fn count_up_to(&self, text: &str, allow: &Allow, limit: usize) -> Result<usize> {
        let (mut ids, mut marks) = (Vec::new(), Vec::new());
        let walk = Walk {
            tokenizer: self,
            allow,
            ids: &mut ids,
            marks: &mut marks,
        };
        let over = limit.saturating_add(1);
        self.pool.with(|scratch| {
            let mut size = limit
                .saturating_mul(BYTES_PER_ID)
                .saturating_add(64)
                .min(STEP_BYTES);
            loop {
                let mark = walk.last();
                let end = boundary(text, mark.cut.at.max(mark.seen).saturating_add(size));
                if end == text.len() {
                    let mut ids = Vec::new();
                    self.encode_from(text, &mark.cut, allow, scratch, &mut ids)?;
                    return Ok((mark.n_ids + ids.len()).min(over));
                }
                let step = walk.step_inside(&text[..end], &mark.cut, None, scratch);
                let Some((cut, n_before)) = step.cut else {
                    size = size.saturating_mul(2);
                    continue;
                };
                let n_ids = mark.n_ids + n_before;
                if n_ids > limit {
                    return Ok(over);
                }
                walk.marks.clear();
                walk.marks.push(Mark {
                    cut,
                    n_ids,
                    seen: end,
                });
                size = STEP_BYTES;
            }
        })
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self {
            cut: Cut::START,
            n_ids: 0,
            seen: 0,
        }
    }
}
