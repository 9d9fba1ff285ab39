//! Counting no further than a limit.

use super::{Cut, Mark, STEP_BYTES, Walk, boundary};
use crate::engine::Engine;
use crate::error::Result;
use crate::models::Model;
use crate::models::bpe::Missing;
use crate::normalize::NormalizerConfig;
use crate::normalize::replace::ReplacePattern;
use crate::special::{AddedToken, Allow};
use crate::tokenizer::Tokenizer;

/// Bytes per id that a first step assumes, to read no more text than a limit needs: more than text
/// in any script takes on average (English: 4 to 5).
const BYTES_PER_ID: usize = 8;
/// Bytes that are looked through for a place at which the text can be cut; if there is none, all of
/// it is counted at once.
const MAX_TRIED: usize = 1 << 15;

impl Tokenizer {
    /// The number of ids of a text, or `limit + 1` if there are more than `limit`.
    ///
    /// Reads the text in steps and stops when the ids that no later text can change are too many
    /// already.
    pub fn count_up_to(&self, text: &str, allow: &Allow, limit: usize) -> Result<usize> {
        let (mut ids, mut marks) = (Vec::new(), Vec::new());
        let walk = Walk {
            tokenizer: self,
            allow,
            ids: &mut ids,
            marks: &mut marks,
        };
        let over = limit.saturating_add(1);
        if let Some(most) = self.most_bytes_per_token(allow)
            && text.len() / most > limit
        {
            return Ok(over);
        }
        let budget = limit
            .saturating_mul(8 * BYTES_PER_ID)
            .saturating_add(MAX_TRIED);
        let found: Result<Option<usize>> = self.pool.with(|scratch| {
            let mut size = limit
                .saturating_mul(BYTES_PER_ID)
                .saturating_add(64)
                .min(STEP_BYTES);
            loop {
                let mark = walk.last();
                let end = boundary(text, mark.cut.at.max(mark.seen).saturating_add(size));
                // Step by step costs several times what all at once does: text that has few ids is
                // counted so.
                if end > budget {
                    return Ok(None);
                }
                if end == text.len() {
                    let mut ids = Vec::new();
                    self.encode_from(text, &mark.cut, allow, scratch, &mut ids)?;
                    return Ok(Some((mark.n_ids + ids.len()).min(over)));
                }
                let step = walk.step_inside(&text[..end], &mark.cut, None, scratch);
                let Some((cut, n_before)) = step.cut else {
                    if size >= MAX_TRIED {
                        return Ok(None);
                    }
                    size = size.saturating_mul(2);
                    continue;
                };
                let n_ids = mark.n_ids + n_before;
                if n_ids > limit {
                    return Ok(Some(over));
                }
                walk.marks.clear();
                walk.marks.push(Mark {
                    cut,
                    n_ids,
                    seen: end,
                });
                size = STEP_BYTES;
            }
        });
        match found? {
            Some(n) => Ok(n),
            None => Ok(usize::try_from(self.count(text, allow)?).map_or(over, |n| n.min(over))),
        }
    }

    /// Most bytes of a text that one id stands for; None where that is not bounded (text that is
    /// left out, unknown text that becomes one token, white space that goes along with a token) or
    /// not known.
    fn most_bytes_per_token(&self, allow: &Allow) -> Option<usize> {
        let longest = match &self.engine {
            Engine::Bpe(pipeline) if pipeline.pretokenizer().keeps_all() => {
                let vocab = pipeline.model().vocab();
                let knows = |byte: u8| vocab.bytes_to_id(&[byte]).is_some();
                (0..=255).all(knows).then(|| vocab.longest())?
            }
            Engine::CharacterBpe(pipeline) if pipeline.pretokenizer().keeps_all() => {
                let (model, options) = (pipeline.model(), pipeline.model().options());
                let byte = |byte: u8| {
                    model
                        .vocab()
                        .bytes_to_id(format!("<0x{byte:02X}>").as_bytes())
                };
                let has_bytes = options.byte_fallback && (0..=255).all(|b| byte(b).is_some());
                let splits =
                    matches!(options.missing, Missing::Unknown(_)) && !options.fuse_unknown;
                (has_bytes || splits).then(|| model.vocab().longest())?
            }
            _ => return None,
        };
        let grows = |step: &NormalizerConfig| match step {
            NormalizerConfig::Prepend { .. } => true,
            NormalizerConfig::Replace(replace) => {
                matches!(&replace.pattern, ReplacePattern::String(text) if text.len() <= replace.content.len())
            }
            _ => false,
        };
        let found = |token: &&AddedToken| allow.permits(token);
        let added = self.added.tokens().iter().filter(found);
        let takes = |token: &AddedToken| token.lstrip || token.rstrip || token.normalized;
        let is_bounded = self.normalizer_config.iter().all(grows) && !added.clone().any(takes);
        let longest = added
            .map(|token| token.content.len())
            .fold(longest, usize::max);
        is_bounded.then_some(longest.max(4))
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
