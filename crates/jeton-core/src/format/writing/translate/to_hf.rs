//! Models that `tokenizers` does not have, in the words of `tokenizer.json`.
//!
//! SentencePiece's BPE becomes BPE on characters, as in transformers' converters (5.23.0,
//! `convert_slow_tokenizer.py`). The rules for spaces are SentencePiece's own: the converters'
//! steps differ in texts with white space at their ends.

use std::collections::{HashMap, HashSet};

use super::order::{Pieces, is_long};
use super::{
    ARITHMETIC, ARITHMETIC_EFFECT, MARKS_AT_END, SPACE, SPACES, SPACES_AT_END, SPACES_AT_START,
    characters,
};
use crate::codec::base64::Base64Bytes;
use crate::config::{Config, MissingConfig, ModelConfig, Real, Reference};
use crate::decode::DecoderConfig;
use crate::error::Result;
use crate::format::writing::ledger::{Ledger, some_of};
use crate::models::Model as _;
use crate::models::bpe::{CharacterBpeModel, CharacterBpeOptions, CharacterBpeScratch};
use crate::normalize::NormalizerConfig;
use crate::normalize::replace::{ReplaceConfig, ReplacePattern};
use crate::pretokenize::StepConfig;
use crate::pretokenize::metaspace::{MetaspaceConfig, PrependScheme};
use crate::sentencepiece::bpe::SpmBpeScratch;
use crate::sentencepiece::{ModelType, Piece, PieceKind, SpmBpe, SpmModel};
use crate::special::AddedToken;
use crate::vocab::Vocab;

/// A canonical form that `tokenizer.json` can hold; None if there is none, or nothing had to be
/// translated.
pub(crate) fn to_hf(config: &Config, ledger: &mut Ledger) -> Option<Config> {
    if let ModelConfig::SentencePiece(model) = &config.model {
        return sentencepiece(config, &model.clone().into(), ledger);
    }
    let model = characters::as_bpe(&config.model, ledger)?;
    Some(Config {
        reference: Reference::Hf,
        model,
        ..config.clone()
    })
}

fn sentencepiece(config: &Config, model: &SpmModel, ledger: &mut Ledger) -> Option<Config> {
    let texts = texts(&model.pieces, ledger)?;
    let trainer = &model.trainer;
    if trainer.treat_whitespace_as_suffix {
        ledger.refuse("its words end in the mark of a space, which no component does");
    }
    let unknown = model
        .pieces
        .iter()
        .position(|piece| piece.kind == PieceKind::Unknown);
    let Some(unknown) = unknown.map(|id| id as u32) else {
        ledger.refuse("it has no unknown piece");
        return None;
    };
    let mut added_tokens = config.added_tokens.clone();
    kinds(&model.pieces, &texts, &mut added_tokens, ledger);
    let parts = match trainer.model_type {
        ModelType::Bpe => (bpe(model, &texts, unknown, ledger), Vec::new()),
        ModelType::Char => (
            character_bpe(model, &texts, unknown, Vec::new()),
            Vec::new(),
        ),
        ModelType::Unigram => unigram(model, &texts, unknown, ledger),
        ModelType::Word => {
            ledger.refuse("SentencePiece's words are cut and joined as no component does it");
            return None;
        }
    };
    let (hf_model, pretokenizer) = parts;
    Some(Config {
        reference: Reference::Hf,
        normalizer: normalizer(model, ledger),
        added_tokens,
        pretokenizer,
        decoder: Some(decoder(model, texts[unknown as usize], ledger)),
        model: hf_model,
        ..config.clone()
    })
}

/// The pieces' texts, each of them there once.
fn texts<'m>(pieces: &'m [Piece], ledger: &mut Ledger) -> Option<Vec<&'m str>> {
    let mut seen = HashSet::with_capacity(pieces.len());
    let mut texts = Vec::with_capacity(pieces.len());
    for (id, piece) in pieces.iter().enumerate() {
        match std::str::from_utf8(&piece.bytes) {
            Ok(text) if !text.is_empty() && seen.insert(text) => texts.push(text),
            Ok("") => ledger.refuse(format!("piece {id} is empty")),
            Ok(text) => ledger.refuse(format!("the piece {text:?} is there twice")),
            Err(_) => ledger.refuse(format!("piece {id} is not UTF-8")),
        }
    }
    (texts.len() == pieces.len()).then_some(texts)
}

/// Translates the kinds of pieces.
fn kinds(
    pieces: &[Piece],
    texts: &[&str],
    added_tokens: &mut Vec<AddedToken>,
    ledger: &mut Ledger,
) {
    let of = |kind: PieceKind| {
        let pieces = (0u32..).zip(pieces.iter().zip(texts));
        pieces
            .filter(move |(_, (piece, _))| piece.kind == kind)
            .map(|(id, (_, text))| (id, (*text).to_owned()))
    };
    let user_defined: Vec<(u32, String)> = of(PieceKind::UserDefined).collect();
    if !user_defined.is_empty() {
        let names: Vec<String> = user_defined.iter().map(|(_, text)| text.clone()).collect();
        ledger.lose(
            "added_tokens",
            format!("that {} is a part of its sentence", some_of(&names)),
            "the text behind it is encoded as if it began there",
        );
        for (id, text) in user_defined {
            if added_tokens.iter().all(|token| token.id != id) {
                added_tokens.push(AddedToken {
                    special: false,
                    ..AddedToken::special(id, text)
                });
            }
        }
        added_tokens.sort_by_key(|token| token.id);
    }
    let unused: Vec<String> = of(PieceKind::Unused).map(|(_, text)| text).collect();
    if !unused.is_empty() {
        ledger.lose(
            "model",
            format!("that {} is switched off", some_of(&unused)),
            "text that contains them may get other ids",
        );
    }
    // A model of characters looks every character up, whatever its piece is for.
    let short = [PieceKind::Control, PieceKind::Unknown, PieceKind::Byte];
    let short = short.into_iter().flat_map(of);
    let short: Vec<String> = short
        .map(|(_, text)| text)
        .filter(|text| !is_long(text))
        .collect();
    if !short.is_empty() {
        ledger.lose(
            "model",
            format!("that no text becomes {}", some_of(&short)),
            "the character becomes it",
        );
    }
}

fn normalizer(model: &SpmModel, ledger: &mut Ledger) -> Vec<NormalizerConfig> {
    let spec = &model.normalizer;
    let replace = |pattern, content: &str| {
        NormalizerConfig::Replace(ReplaceConfig {
            pattern,
            content: content.to_owned(),
        })
    };
    let regex =
        |pattern: &str, content: &str| replace(ReplacePattern::Regex(pattern.to_owned()), content);
    let mut steps = Vec::new();
    if !spec.precompiled_charsmap.is_empty() {
        ledger.lose(
            "normalizer",
            "its rules apply to whole graphemes there, and to any characters in SentencePiece",
            "characters with combining marks that the rules change may get other ids",
        );
        steps.push(NormalizerConfig::Precompiled {
            charsmap: Base64Bytes(spec.precompiled_charsmap.clone()),
        });
    }
    let space = if spec.escape_whitespaces { SPACE } else { " " };
    if spec.remove_extra_whitespaces {
        steps.push(regex(SPACES_AT_START, ""));
        steps.push(regex(SPACES, " "));
    }
    if spec.add_dummy_prefix {
        steps.push(NormalizerConfig::Prepend {
            prefix: space.to_owned(),
        });
    }
    if spec.escape_whitespaces {
        steps.push(replace(ReplacePattern::String(" ".to_owned()), SPACE));
    }
    if spec.remove_extra_whitespaces {
        let at_end = if spec.escape_whitespaces {
            MARKS_AT_END
        } else {
            SPACES_AT_END
        };
        steps.push(regex(at_end, ""));
    }
    steps
}

/// As good as all spaces: the library wants a number.
const MAX_STRIPPED: usize = 1 << 16;

fn decoder(model: &SpmModel, unknown: &str, ledger: &mut Ledger) -> Vec<DecoderConfig> {
    let spec = &model.normalizer;
    if model
        .denormalizer
        .as_ref()
        .is_some_and(|spec| !spec.precompiled_charsmap.is_empty())
    {
        ledger.lose(
            "decoder",
            "the rules that change decoded text",
            "decode leaves out its last step",
        );
    }
    // The text for unknown tokens may begin with spaces. At the beginning of a text, the library
    // cannot tell these spaces from the ones that normalization put there.
    let marked = model
        .pieces
        .iter()
        .any(|piece| piece.kind == PieceKind::Normal && piece.bytes == SPACE.as_bytes());
    let strips = spec.remove_extra_whitespaces || (spec.add_dummy_prefix && !marked);
    if strips && !model.trainer.byte_fallback && model.trainer.unk_surface.starts_with(' ') {
        ledger.lose(
            "decoder",
            "spaces before what stands for unknown text",
            "decoded texts that begin with unknown characters begin without a space",
        );
    }
    // Each piece at the beginning loses one space; the library takes all of them.
    let many = SPACE.repeat(2);
    let begins_with_many = |piece: &Piece| {
        matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined)
            && piece.bytes.starts_with(many.as_bytes())
    };
    if spec.remove_extra_whitespaces && model.pieces.iter().any(begins_with_many) {
        ledger.lose(
            "decoder",
            "that a first piece of several spaces loses only one",
            "decoded texts that begin with such a piece begin without spaces",
        );
    }
    let mut steps = vec![
        DecoderConfig::Replace {
            pattern: ReplacePattern::Regex(format!(r"\A{}\z", regex_syntax::escape(unknown))),
            content: model.trainer.unk_surface.clone(),
        },
        DecoderConfig::Replace {
            pattern: ReplacePattern::String(SPACE.to_owned()),
            content: " ".to_owned(),
        },
    ];
    if model.trainer.byte_fallback {
        steps.push(DecoderConfig::ByteFallback);
    }
    steps.push(DecoderConfig::Fuse);
    if spec.add_dummy_prefix || spec.remove_extra_whitespaces {
        steps.push(DecoderConfig::Strip {
            content: ' ',
            // Where extra spaces go, all of them do, until text comes.
            start: if spec.remove_extra_whitespaces {
                MAX_STRIPPED
            } else {
                1
            },
            stop: 0,
        });
    }
    steps
}

fn character_bpe(
    model: &SpmModel,
    texts: &[&str],
    unknown: u32,
    merges: Vec<(u32, u32)>,
) -> ModelConfig {
    let token = |text: &&str| Some(Base64Bytes(text.as_bytes().to_vec()));
    ModelConfig::CharacterBpe {
        tokens: texts.iter().map(token).collect(),
        opaque: Vec::new(),
        merges,
        missing: MissingConfig::Unknown(unknown),
        fuse_unknown: true,
        byte_fallback: model.trainer.byte_fallback,
        continuing_prefix: String::new(),
        end_of_word_suffix: String::new(),
        whole_pretokens: false,
    }
}

/// BPE: every pair that makes a piece, in the order of scores.
fn bpe(model: &SpmModel, texts: &[&str], unknown: u32, ledger: &mut Ledger) -> ModelConfig {
    let ids = (0u32..).zip(model.pieces.iter().zip(texts));
    let matched = ids.filter(|(_, (piece, _))| piece.kind == PieceKind::Normal);
    let pieces = Pieces::new(matched.map(|(id, (_, text))| (id, *text)).collect());
    let strange = pieces.with_strange_characters();
    if !strange.is_empty() {
        ledger.lose(
            "model",
            format!(
                "that {} is made of characters that are no pieces",
                some_of(&strange)
            ),
            "text that contains them may get other ids",
        );
    }
    let score = |id: u32| model.pieces[id as usize].score;
    let mut order: Vec<(u32, Vec<(u32, u32)>)> = pieces
        .matched
        .iter()
        .filter(|(_, text)| is_long(text))
        .map(|&(id, text)| (id, pieces.pairs_of(text)))
        .filter(|(_, pairs)| !pairs.is_empty())
        .collect();
    order.sort_by(|(one, _), (two, _)| score(*two).total_cmp(&score(*one)).then(one.cmp(two)));
    if order.iter().any(|(id, _)| score(*id).is_nan()) {
        ledger.refuse("some scores are no numbers");
    }
    let merges: Vec<(u32, u32)> = order.iter().flat_map(|(_, pairs)| pairs.clone()).collect();
    let made = character_bpe(model, texts, unknown, merges.clone());
    let tied = order.chunk_by(|(one, _), (two, _)| score(*one).total_cmp(&score(*two)).is_eq());
    let tied = tied.filter(|group| group.len() > 1);
    let unlike: usize = tied
        .filter(|group| !ties_agree(group, model, texts, &merges))
        .map(<[_]>::len)
        .sum();
    if unlike > 0 {
        ledger.lose(
            "model",
            format!("{unlike} pieces have the score of another"),
            "where both can be merged in a text, the first in the text is, and there the first in the list",
        );
    }
    made
}

/// A piece and every pair that makes it.
type PieceMerges = (u32, Vec<(u32, u32)>);

/// Runs of one character up to this length are tried.
const MAX_RUN: usize = 1024;

/// True if pieces of one score are merged alike by a list, which has an order for them, and by
/// SentencePiece, which takes the first in the text. They agree where no two of the pairs can
/// overlap. Runs of one character (Llama's spaces) can be tried: the cuts of a run repeat from the
/// longest piece on.
fn ties_agree(
    group: &[PieceMerges],
    model: &SpmModel,
    texts: &[&str],
    merges: &[(u32, u32)],
) -> bool {
    let text = |id: u32| texts.get(id as usize).copied().unwrap_or_default();
    let first = group.first().and_then(|(id, _)| text(*id).chars().next());
    let runs = |c: char| {
        group
            .iter()
            .all(|(id, _)| text(*id).chars().all(|d| c == d))
    };
    if let Some(c) = first.filter(|&c| runs(c)) {
        return runs_agree(c, model, texts, merges).unwrap_or(false);
    }
    let mut lefts: HashMap<u32, HashSet<u32>> = HashMap::new();
    for (id, pairs) in group {
        for (left, _) in pairs {
            lefts.entry(*left).or_default().insert(*id);
        }
    }
    let overlaps = |id: u32, right: u32| {
        let others = lefts.get(&right);
        others.is_some_and(|others| others.iter().any(|&other| other != id))
    };
    !group
        .iter()
        .any(|(id, pairs)| pairs.iter().any(|&(_, right)| overlaps(*id, right)))
}

fn runs_agree(c: char, model: &SpmModel, texts: &[&str], merges: &[(u32, u32)]) -> Result<bool> {
    let theirs = SpmBpe::new(&model.pieces, model.trainer.byte_fallback)?;
    let mut vocab = Vocab::default();
    for (id, text) in (0..).zip(texts) {
        vocab.insert(id, text.as_bytes())?;
    }
    let ours = CharacterBpeModel::new(vocab, merges, CharacterBpeOptions::default())?;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let (mut spm, mut hf) = (SpmBpeScratch::default(), CharacterBpeScratch::default());
    let run = String::from(c).repeat(MAX_RUN);
    for length in 1..=MAX_RUN {
        one.clear();
        two.clear();
        let text = &run.as_bytes()[..length * c.len_utf8()];
        theirs.encode(text, &mut spm, &mut one)?;
        ours.encode_pretoken(text, &mut hf, &mut two)?;
        if one != two {
            return Ok(false);
        }
    }
    Ok(true)
}

fn unigram(
    model: &SpmModel,
    texts: &[&str],
    unknown: u32,
    ledger: &mut Ledger,
) -> (ModelConfig, Vec<StepConfig>) {
    ledger.lose("model", ARITHMETIC, ARITHMETIC_EFFECT);
    let never = |kind| {
        matches!(
            kind,
            PieceKind::Control | PieceKind::Unknown | PieceKind::Byte | PieceKind::Unused
        )
    };
    let pieces = model.pieces.iter().zip(texts);
    let apart: Vec<String> = pieces
        .clone()
        .filter(|(piece, _)| never(piece.kind))
        .map(|(_, text)| (*text).to_owned())
        .collect();
    if !apart.is_empty() {
        ledger.lose(
            "model",
            format!("that no text becomes {}", some_of(&apart)),
            "text that spells such a piece may become it",
        );
    }
    // Score that sentencepiece 0.2.3 gives a user-defined piece, by its bytes.
    let bonus = |text: &str| (0.1 * (text.len() as f64 - 1.0)) as f32;
    let scored = pieces.clone().map(|(piece, text)| {
        let score = match piece.kind {
            PieceKind::UserDefined => bonus(text),
            _ => piece.score,
        };
        ((*text).to_owned(), Real::from(f64::from(score)))
    });
    // Where no piece goes on behind a space, words can be cut one by one.
    let goes_on = |text: &str| text.chars().skip(1).any(|c| SPACE.starts_with(c));
    let by_words = model.normalizer.escape_whitespaces
        && texts.contains(&SPACE)
        && !texts.iter().any(|text| goes_on(text));
    let metaspace = StepConfig::Metaspace(MetaspaceConfig {
        replacement: '\u{2581}',
        prepend_scheme: PrependScheme::Never,
        split: true,
    });
    let steps = if by_words {
        vec![metaspace]
    } else {
        Vec::new()
    };
    let unigram = ModelConfig::Unigram {
        pieces: scored.collect(),
        unknown: Some(unknown),
        byte_fallback: model.trainer.byte_fallback,
    };
    (unigram, steps)
}
