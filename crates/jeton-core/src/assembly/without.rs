//! An engine like another one, but in which text never becomes certain tokens.
//!
//! On text that does not spell those tokens the two give equal ids; where the text does, this one
//! spells it in others.

use super::models::{ModelParts, to_config, unigram};
use crate::engine::Engine;
use crate::error::Result;
use crate::models::bpe::Merges;
use crate::pretokenize::{PreTokenizer, StepConfig};
use crate::sentencepiece::piece::byte_of;
use crate::sentencepiece::{Piece, PieceKind, SpmModel};
use crate::special::AddedToken;
use crate::vocab::Vocab;

impl Engine {
    /// False if the model makes none of these ids of text.
    pub(crate) fn may_match(&self, ids: &[u32]) -> bool {
        match self {
            Self::SentencePiece(engine) => {
                let pieces = &engine.model.pieces;
                let piece = |&id: &u32| pieces.get(id as usize);
                ids.iter().filter_map(piece).any(Piece::is_matched)
            }
            _ => ids.iter().any(|&id| self.vocab().is_findable(id)),
        }
    }

    /// The engine without the ids `unmatched` (rising). `inside`: for a part of a sentence that
    /// others come before, so that nothing is put in front of it or taken from its ends
    /// (SentencePiece only).
    pub(crate) fn without(
        &self,
        unmatched: &[u32],
        inside: bool,
        steps: &[StepConfig],
        added: &[AddedToken],
    ) -> Result<Self> {
        let cut = PreTokenizer::new(steps)?;
        let opaque = |vocab: &Vocab| without_tokens(vocab, unmatched);
        let parts = match ModelParts::from_config(to_config(self, added))? {
            ModelParts::Bpe {
                vocab,
                merges,
                whole_pretokens,
                missing,
            } => ModelParts::Bpe {
                merges: match merges {
                    Merges::ByRank => Merges::ByRank,
                    Merges::List(list) => Merges::List(without_merges(&vocab, list, 0, unmatched)),
                },
                vocab: opaque(&vocab)?,
                whole_pretokens,
                missing,
            },
            ModelParts::CharacterBpe {
                vocab,
                merges,
                options,
            } => {
                let prefix_bytes = options.continuing_prefix.len();
                // Tokens of bytes stand for bytes by their names, so that the vocabulary must go on
                // finding them.
                let is_byte =
                    |id: &u32| vocab.id_to_bytes(*id).is_some_and(|b| byte_of(b).is_some());
                let (bytes, others): (Vec<u32>, Vec<u32>) =
                    unmatched.iter().partition(|id| is_byte(id));
                let mut options = options;
                options.whole_pretokens &= bytes.is_empty();
                ModelParts::CharacterBpe {
                    merges: without_merges(&vocab, merges, prefix_bytes, unmatched),
                    vocab: without_tokens(&vocab, &others)?,
                    options,
                }
            }
            ModelParts::WordPiece {
                vocab,
                prefix,
                max_chars,
                unknown,
            } => ModelParts::WordPiece {
                vocab: opaque(&vocab)?,
                prefix,
                max_chars,
                unknown,
            },
            ModelParts::Word { vocab, unknown } => ModelParts::Word {
                vocab: opaque(&vocab)?,
                unknown,
            },
            ModelParts::Character { vocab, missing } => ModelParts::Character {
                vocab: opaque(&vocab)?,
                missing,
            },
            ModelParts::Greedy { vocab } => ModelParts::Greedy {
                vocab: opaque(&vocab)?,
            },
            ModelParts::Unigram {
                pieces,
                unknown,
                byte_fallback,
            } => return unigram(&pieces, unknown, byte_fallback, unmatched, cut, added),
            ModelParts::SentencePiece(model) => {
                ModelParts::SentencePiece(without_pieces(model, unmatched, inside))
            }
            // A byte is a token whatever it is part of; the canonical form has its merges as they
            // were given.
            parts @ (ModelParts::RawBytes { .. } | ModelParts::CompiledBpe { .. }) => parts,
        };
        parts.build(cut, added)
    }
}

fn without_tokens(vocab: &Vocab, unmatched: &[u32]) -> Result<Vocab> {
    let mut left = Vocab::with_capacity(vocab.n_tokens() as usize);
    for (id, bytes) in vocab.iter() {
        if vocab.is_findable(id) && unmatched.binary_search(&id).is_err() {
            left.insert(id, bytes)?;
        } else {
            left.insert_opaque(id, bytes)?;
        }
    }
    Ok(left)
}

/// Returns the merges whose result is no token of `unmatched`. `prefix_bytes`: length of the prefix
/// that the right token of a pair loses.
fn without_merges(
    vocab: &Vocab,
    merges: Vec<(u32, u32)>,
    prefix_bytes: usize,
    unmatched: &[u32],
) -> Vec<(u32, u32)> {
    let bytes = |id| vocab.id_to_bytes(id).unwrap_or_default();
    let makes = |&(left, right): &(u32, u32)| {
        let rest = bytes(right).get(prefix_bytes..).unwrap_or_default();
        vocab.bytes_to_id(&[bytes(left), rest].concat())
    };
    let stays =
        |pair: &(u32, u32)| makes(pair).is_none_or(|id| unmatched.binary_search(&id).is_err());
    merges.into_iter().filter(stays).collect()
}

fn without_pieces(mut model: SpmModel, unmatched: &[u32], inside: bool) -> SpmModel {
    for &id in unmatched {
        if let Some(piece) = model.pieces.get_mut(id as usize)
            && piece.is_matched()
        {
            piece.kind = PieceKind::Control;
        }
    }
    if inside {
        model.normalizer.add_dummy_prefix = false;
        model.normalizer.remove_extra_whitespaces = false;
    }
    model
}
