//! BPE on characters and Unigram models of `tokenizer.json` as SentencePiece models.

use std::collections::HashMap;

use super::order::{Pieces, is_long};
use super::spaces::normalizer;
use super::{ARITHMETIC, ARITHMETIC_EFFECT, SPACE};
use crate::codec::base64::Base64Bytes;
use crate::config::{Config, MissingConfig, ModelConfig, Real};
use crate::decode::DecoderConfig;
use crate::format::writing::ledger::{Ledger, some_of};
use crate::inputs::template::{Part, Template};
use crate::normalize::replace::ReplacePattern;
use crate::sentencepiece::piece::byte_of;
use crate::sentencepiece::{ModelType, Piece, PieceKind, SpmModel, TrainerSpec};

/// A SentencePiece model that does the same; None if there is none.
pub(crate) fn to_sentencepiece(config: &Config, ledger: &mut Ledger) -> Option<SpmModel> {
    let mut trainer = TrainerSpec::default();
    let pieces = match &config.model {
        ModelConfig::CharacterBpe { .. } => {
            trainer.model_type = ModelType::Bpe;
            bpe(config, &mut trainer, ledger)?
        }
        ModelConfig::Unigram {
            pieces,
            unknown,
            byte_fallback,
        } => {
            trainer.byte_fallback = *byte_fallback;
            unigram(config, pieces, *unknown, *byte_fallback, ledger)?
        }
        _ => {
            ledger.refuse("SentencePiece has no such model");
            return None;
        }
    };
    let normalizer = normalizer(config, &pieces, ledger);
    decoder(config, &mut trainer, ledger);
    around(&config.template, &pieces, &mut trainer);
    Some(SpmModel {
        pieces,
        trainer,
        normalizer,
        denormalizer: None,
    })
}

/// Every id with its text, and what added tokens make of it. Ids without a token cannot be.
fn texts(
    config: &Config,
    tokens: &[Option<Base64Bytes>],
    ledger: &mut Ledger,
) -> Option<Vec<Piece>> {
    let mut pieces: Vec<Option<Piece>> = tokens
        .iter()
        .map(|token| {
            token.as_ref().map(|token| Piece {
                bytes: token.0.clone(),
                ..Piece::default()
            })
        })
        .collect();
    let mut found = Vec::new();
    let mut flagged = Vec::new();
    for token in &config.added_tokens {
        let at = token.id as usize;
        if at >= tokens.len() + config.added_tokens.len() {
            ledger.refuse(format!(
                "ids below that of {:?} have no token",
                token.content
            ));
            return None;
        }
        if at >= pieces.len() {
            pieces.resize(at + 1, None);
        }
        let kind = if token.special {
            PieceKind::Control
        } else {
            found.push(token.content.clone());
            PieceKind::UserDefined
        };
        if token.lstrip || token.rstrip || token.single_word {
            flagged.push(token.content.clone());
        }
        pieces[at] = Some(Piece {
            bytes: token.content.as_bytes().to_vec(),
            score: 0.0,
            kind,
        });
    }
    if !flagged.is_empty() {
        ledger.lose(
            "added_tokens",
            format!("how {} is found (white space, words)", some_of(&flagged)),
            "they are found in other places, or take other white space along",
        );
    }
    if !found.is_empty() {
        ledger.lose(
            "added_tokens",
            format!("that the text behind {} is encoded apart", some_of(&found)),
            "the text behind it goes on as a part of the sentence",
        );
    }
    let n = pieces.len();
    let all: Vec<Piece> = pieces.into_iter().flatten().collect();
    if all.len() != n {
        ledger.refuse(format!(
            "{} ids below its highest have no token",
            n - all.len()
        ));
        return None;
    }
    Some(all)
}

fn mark_bytes(pieces: &mut [Piece]) {
    for piece in pieces.iter_mut() {
        if piece.kind == PieceKind::Normal && byte_of(&piece.bytes).is_some() {
            piece.kind = PieceKind::Byte;
            piece.score = 0.0;
        }
    }
}

fn bpe(config: &Config, trainer: &mut TrainerSpec, ledger: &mut Ledger) -> Option<Vec<Piece>> {
    let ModelConfig::CharacterBpe {
        tokens,
        merges,
        missing,
        fuse_unknown,
        byte_fallback,
        continuing_prefix,
        end_of_word_suffix,
        whole_pretokens,
        ..
    } = &config.model
    else {
        return None;
    };
    if !continuing_prefix.is_empty() || !end_of_word_suffix.is_empty() {
        ledger.refuse("its tokens mark where words go on or end");
    }
    let MissingConfig::Unknown(unknown) = missing else {
        ledger.refuse("it has no unknown token");
        return None;
    };
    if !fuse_unknown && !byte_fallback {
        ledger.lose(
            "model",
            "that each unknown character is a token of its own",
            "unknown characters in a row become one token",
        );
    }
    if *whole_pretokens {
        ledger.lose(
            "model",
            "that a pretoken which is a token is never cut",
            "such pretokens may be cut",
        );
    }
    trainer.byte_fallback = *byte_fallback;
    let mut pieces = texts(config, tokens, ledger)?;
    if *byte_fallback {
        mark_bytes(&mut pieces);
    }
    pieces.get_mut(*unknown as usize)?.kind = PieceKind::Unknown;
    let scores = scores(&pieces, merges, ledger);
    for (piece, (score, is_made)) in pieces.iter_mut().zip(scores) {
        piece.score = score;
        if piece.kind == PieceKind::Normal && !is_made {
            piece.kind = PieceKind::Unused;
        }
    }
    Some(pieces)
}

/// A score for each piece that makes merging by score the same as by list, and whether text becomes
/// the piece.
fn scores(pieces: &[Piece], merges: &[(u32, u32)], ledger: &mut Ledger) -> Vec<(f32, bool)> {
    let text = |piece: &Piece| String::from_utf8_lossy(&piece.bytes).into_owned();
    let all: Vec<String> = pieces.iter().map(text).collect();
    let normal = (0u32..).zip(pieces.iter().zip(&all));
    let normal = normal.filter(|(_, (piece, _))| piece.kind == PieceKind::Normal);
    let table = Pieces::new(normal.map(|(id, (_, text))| (id, text.as_str())).collect());
    let by_text = table.texts();
    let made = |pair| table.made(&by_text, pair);
    let mut place: HashMap<u32, u32> = HashMap::new();
    let mut last = None;
    let mut scattered = 0;
    let mut foreign = 0;
    for &pair in merges {
        let Some(id) = made(pair) else {
            foreign += 1;
            continue;
        };
        let next = place.len() as u32 + 1;
        if last != Some(id) && place.contains_key(&id) {
            scattered += 1;
        }
        place.entry(id).or_insert(next);
        last = Some(id);
    }
    if foreign > 0 {
        ledger.lose(
            "model",
            format!("{foreign} merges of special or added tokens"),
            "text that they merge gets other ids",
        );
    }
    // Pairs that scores merge: every pair that makes a piece, in the order of the pieces.
    let mut order: Vec<(u32, u32)> = place.iter().map(|(&id, &place)| (place, id)).collect();
    order.sort_unstable();
    let text_of = |id: u32| by_text.get(&id).copied().unwrap_or_default();
    let by_score = order
        .iter()
        .flat_map(|&(_, id)| table.pairs_of(text_of(id)))
        .collect::<Vec<_>>();
    let unlike = table.cut_differently(merges, &by_score);
    let unmade: Vec<String> = table
        .matched
        .iter()
        .filter(|(id, text)| is_long(text) && !place.contains_key(id))
        .map(|(_, text)| (*text).to_owned())
        .collect();
    if !unmade.is_empty() {
        ledger.lose(
            "model",
            format!("{} is made by no merge", some_of(&unmade)),
            "text that spells it is merged to it first and cut again, or cut elsewhere",
        );
    }
    if scattered > 0 {
        ledger.lose(
            "model",
            format!("{scattered} merges that scores cannot order"),
            "texts that need them may get other ids",
        );
    }
    if !unlike.is_empty() {
        ledger.lose(
            "model",
            format!("scores merge {} otherwise", some_of(&unlike)),
            "text that contains them may get other ids",
        );
    }
    let strange = table.with_strange_characters();
    if !strange.is_empty() {
        ledger.lose(
            "model",
            format!("{} has characters that are no tokens", some_of(&strange)),
            "text that spells it becomes it, which it did not",
        );
    }
    let n = place.len() as u32;
    let score = |id: u32, text: &str| match place.get(&id) {
        // Characters come after everything that is merged, as SentencePiece numbers them.
        Some(&place) => (-(f64::from(place) - 1.0) as f32, true),
        None => (-f64::from(n) as f32, !is_long(text)),
    };
    (0u32..)
        .zip(&all)
        .map(|(id, text)| score(id, text))
        .collect()
}

fn unigram(
    config: &Config,
    scored: &[(String, Real)],
    unknown: Option<u32>,
    byte_fallback: bool,
    ledger: &mut Ledger,
) -> Option<Vec<Piece>> {
    ledger.lose(
        "model",
        ARITHMETIC
            .replace("there", "by sentencepiece")
            .replace("here", "by tokenizers"),
        ARITHMETIC_EFFECT,
    );
    let tokens: Vec<Option<Base64Bytes>> = scored
        .iter()
        .map(|(text, _)| Some(Base64Bytes(text.as_bytes().to_vec())))
        .collect();
    let mut pieces = texts(config, &tokens, ledger)?;
    if byte_fallback {
        mark_bytes(&mut pieces);
    }
    let mut rounded = 0;
    for (piece, (_, score)) in pieces.iter_mut().zip(scored) {
        let score = f64::from(*score);
        piece.score = score as f32;
        rounded += usize::from(f64::from(piece.score).to_bits() != score.to_bits());
    }
    if rounded > 0 {
        ledger.lose(
            "model",
            format!("{rounded} scores lose digits in 32 bits"),
            ARITHMETIC_EFFECT,
        );
    }
    let Some(piece) = unknown.and_then(|id| pieces.get_mut(id as usize)) else {
        ledger.refuse("it has no unknown piece");
        return None;
    };
    piece.kind = PieceKind::Unknown;
    Some(pieces)
}

fn decoder(config: &Config, trainer: &mut TrainerSpec, ledger: &mut Ledger) {
    let mut marks = false;
    for step in config.decoder.iter().flatten() {
        match step {
            DecoderConfig::Replace {
                pattern: ReplacePattern::String(text),
                ..
            } if text == SPACE => marks = true,
            DecoderConfig::Metaspace { .. } => marks = true,
            DecoderConfig::Replace {
                pattern: ReplacePattern::Regex(regex),
                content,
            } if regex.starts_with(r"\A") && regex.ends_with(r"\z") => {
                trainer.unk_surface.clone_from(content);
            }
            DecoderConfig::ByteFallback | DecoderConfig::Fuse | DecoderConfig::Strip { .. } => {}
            _ => marks = false,
        }
    }
    if !marks {
        ledger.lose(
            "decoder",
            "how ids become text",
            "decode does what SentencePiece does",
        );
    }
}

/// The pieces of beginning and end, which a template names or which have their usual texts.
fn around(template: &Template, pieces: &[Piece], trainer: &mut TrainerSpec) {
    let text = |part: Option<&Part>| match part {
        Some(Part::Token { id, .. }) => pieces
            .get(*id as usize)
            .and_then(|piece| String::from_utf8(piece.bytes.clone()).ok()),
        _ => None,
    };
    if let Some(bos) = text(template.single.first()) {
        trainer.bos_piece = bos;
    }
    if let Some(eos) = text(template.single.last()) {
        trainer.eos_piece = eos;
    }
}
