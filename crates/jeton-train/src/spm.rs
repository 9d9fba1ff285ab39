//! SentencePiece models from counts: pieces with their kinds and ids, as `sentencepiece` 0.2.3 lays
//! them out.
//!
//! Ids: unknown, beginning, end and padding where the settings say; control symbols, user-defined
//! symbols and the 256 bytes in the places left from 0 on; then what was learned.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hashbrown::HashSet;
use serde::Deserialize;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::models::unigram::piece::MAX_PIECE_BYTES;
use jeton_core::sentencepiece::{ModelType, Piece, PieceKind, SpmModel, TrainerSpec};
use jeton_core::vocab::{MAX_IDS, hasher};

use super::alphabet::{Alphabet, AlphabetOptions, choose_alphabet, count_characters, text_of};
use super::char_bpe::{CharBpe, CharTieRule, learn};
use super::counts::PretokenCounts;
use super::learner::Progress;
use super::rules::no_text;
use super::sentences::{PieceRules, SentenceConfig, is_never_learned};
use super::symbols::{Spelling, Symbols};
use super::unigram::{UnigramTrainOptions, train_unigram};

/// Options of a SentencePiece model. The names and defaults are SentencePiece's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpmTrainOptions {
    /// `unigram`, `bpe`, `word` or `char`.
    pub model_type: String,
    /// Pieces wanted, all kinds together.
    pub vocab_size: usize,
    /// Least frequency of a piece.
    pub min_frequency: u64,
    /// Share of the text that the alphabet covers.
    pub character_coverage: f64,
    /// Most characters of the alphabet.
    pub limit_alphabet: Option<usize>,
    /// Characters of the alphabet whatever the text has.
    pub required_chars: String,
    /// Characters outside the alphabet become bytes.
    pub byte_fallback: bool,
    /// Id of the unknown piece.
    pub unk_id: i64,
    /// Id of the piece at the beginning; -1: none.
    pub bos_id: i64,
    /// Id of the piece at the end; -1: none.
    pub eos_id: i64,
    /// Id of the padding; -1: none.
    pub pad_id: i64,
    /// Their texts.
    pub unk_piece: String,
    /// As `unk_piece`.
    pub bos_piece: String,
    /// As `unk_piece`.
    pub eos_piece: String,
    /// As `unk_piece`.
    pub pad_piece: String,
    /// Text that the unknown id decodes to.
    pub unk_surface: String,
    /// Longest piece in characters.
    pub max_sentencepiece_length: usize,
    /// Unigram: candidates besides the characters.
    pub seed_sentencepiece_size: usize,
    /// Unigram: share of the pieces that a pruning keeps.
    pub shrinking_factor: f64,
    /// Unigram: rounds of expectation and maximization before a pruning.
    pub num_sub_iterations: usize,
}

impl Default for SpmTrainOptions {
    fn default() -> Self {
        Self {
            model_type: "unigram".to_owned(),
            vocab_size: 8000,
            min_frequency: 1,
            character_coverage: 0.9995,
            limit_alphabet: None,
            required_chars: String::new(),
            byte_fallback: false,
            unk_id: 0,
            bos_id: 1,
            eos_id: 2,
            pad_id: -1,
            unk_piece: "<unk>".to_owned(),
            bos_piece: "<s>".to_owned(),
            eos_piece: "</s>".to_owned(),
            pad_piece: "<pad>".to_owned(),
            unk_surface: " \u{2047} ".to_owned(),
            max_sentencepiece_length: 16,
            seed_sentencepiece_size: 1_000_000,
            shrinking_factor: 0.75,
            num_sub_iterations: 2,
        }
    }
}

impl SpmTrainOptions {
    /// Reads options as JSON; what is left out has its default.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .map_err(|error| Error::usage(format!("the options cannot be read: {error}")))
    }
}

/// Learn a SentencePiece model from counts that were cut as `sentences` says.
///
/// # Errors
///
/// `Training`: no text; ids or symbols that collide; a vocabulary without room for symbols and
/// alphabet. `TooLarge`, `Interrupted`: as [`train_char_bpe`](super::train_char_bpe).
pub fn train_sentencepiece(
    counts: &PretokenCounts,
    sentences: &SentenceConfig,
    options: &SpmTrainOptions,
    num_threads: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<SpmModel> {
    if options.vocab_size > MAX_IDS as usize {
        return Err(ErrorKind::TooLarge {
            what: "vocab_size",
            limit: u64::from(MAX_IDS),
        }
        .into());
    }
    let model_type = match options.model_type.as_str() {
        "unigram" => ModelType::Unigram,
        "bpe" => ModelType::Bpe,
        "word" => ModelType::Word,
        "char" => ModelType::Char,
        other => {
            return Err(Error::usage(format!(
                "model_type is {other:?}; expected \"unigram\", \"bpe\", \"word\" or \"char\""
            )));
        }
    };
    let meta = meta_pieces(sentences, options, model_type)?;
    if counts.is_empty() {
        return Err(no_text());
    }
    let n_pieces = options
        .vocab_size
        .checked_sub(meta.len())
        .filter(|&n| n > 0)
        .ok_or_else(|| {
            Error::training(format!(
                "vocab_size {} is too small: {} symbols leave no room for pieces\nhint: ask for more",
                options.vocab_size,
                meta.len()
            ))
        })?;
    let learned = learn_pieces(
        counts,
        sentences,
        options,
        model_type,
        n_pieces,
        &meta,
        num_threads,
        on_progress,
    )?;
    let mut meta = meta;
    let mut learned = learned.into_iter();
    let mut pieces = Vec::with_capacity(options.vocab_size);
    while pieces.len() < options.vocab_size {
        if let Some((text, kind)) = meta.remove(&pieces.len()) {
            pieces.push(Piece {
                bytes: text.into_bytes(),
                score: 0.0,
                kind,
            });
            continue;
        }
        match learned.next() {
            Some((text, score)) => {
                #[allow(clippy::cast_possible_truncation)] // the format has single precision
                let score = score as f32;
                pieces.push(Piece {
                    bytes: text.into_bytes(),
                    score,
                    kind: PieceKind::Normal,
                });
            }
            None if meta.is_empty() => break,
            None => {
                let id = meta.keys().next().copied().unwrap_or_default();
                return Err(Error::training(format!(
                    "the text is enough for {} pieces only, and a symbol is to have the id {id}\nhint: ask for lower ids",
                    pieces.len()
                )));
            }
        }
    }
    #[allow(clippy::cast_possible_truncation)] // checked: below the size of the vocabulary
    let id = |id: i64| id as i32;
    Ok(SpmModel {
        pieces,
        trainer: TrainerSpec {
            model_type,
            byte_fallback: options.byte_fallback,
            treat_whitespace_as_suffix: sentences.treat_whitespace_as_suffix,
            unk_piece: options.unk_piece.clone(),
            bos_piece: options.bos_piece.clone(),
            eos_piece: options.eos_piece.clone(),
            pad_piece: options.pad_piece.clone(),
            unk_id: id(options.unk_id),
            bos_id: id(options.bos_id),
            eos_id: id(options.eos_id),
            pad_id: id(options.pad_id),
            unk_surface: options.unk_surface.clone(),
        },
        normalizer: sentences.normalizer_spec(),
        denormalizer: None,
    })
}

type Meta = BTreeMap<usize, (String, PieceKind)>;

/// Symbols by id.
fn meta_pieces(
    sentences: &SentenceConfig,
    options: &SpmTrainOptions,
    model_type: ModelType,
) -> Result<Meta> {
    let mut meta = Meta::new();
    let named = [
        ("unk", options.unk_id, &options.unk_piece),
        ("bos", options.bos_id, &options.bos_piece),
        ("eos", options.eos_id, &options.eos_piece),
        ("pad", options.pad_id, &options.pad_piece),
    ];
    for (at, &(name, id, text)) in named.iter().enumerate() {
        if text.is_empty() {
            return Err(Error::training(format!(
                "{name}_piece is empty\nhint: give it a text, or {name}_id=-1 for none"
            )));
        }
        let Ok(id) = usize::try_from(id) else {
            continue; // -1: none
        };
        if id >= options.vocab_size {
            return Err(Error::training(format!(
                "{name}_id is {id}; it should be below vocab_size, {}\nhint: ask for a lower id, or for more tokens",
                options.vocab_size
            )));
        }
        let others = named[..at].iter().filter(|other| other.1 >= 0);
        if others.clone().any(|other| other.2 == text) {
            return Err(Error::training(format!(
                "{name}_piece {text:?} is the text of two symbols\nhint: give each its own"
            )));
        }
        let kind = if at == 0 {
            PieceKind::Unknown
        } else {
            PieceKind::Control
        };
        if meta.insert(id, (text.clone(), kind)).is_some() {
            return Err(Error::training(format!(
                "{name}_id {id} is the id of two symbols\nhint: give each its own"
            )));
        }
    }
    if options.unk_id < 0 && !options.byte_fallback {
        return Err(Error::training(
            "unk_id is -1 and byte_fallback is off: characters outside the alphabet would have no id\nhint: give unk_id=0, or byte_fallback=True",
        ));
    }
    let mut seen: Vec<String> = Vec::new();
    let mut next = 0;
    let mut insert = |text: String, kind: PieceKind| -> Result<()> {
        if text.is_empty() {
            return Err(Error::training("a symbol is empty"));
        }
        if seen.contains(&text) {
            return Err(Error::training(format!(
                "the symbol {text:?} is given twice"
            )));
        }
        if options.unk_id >= 0 && text == options.unk_piece {
            return Err(Error::training(format!(
                "{text:?} is the unknown piece; it cannot be another symbol too"
            )));
        }
        // A symbol that is named twice, as the end and as user-defined, keeps its id.
        if let Some(known) = meta.values_mut().find(|(known, _)| *known == text) {
            known.1 = kind;
        } else {
            while meta.contains_key(&next) {
                next += 1;
            }
            meta.insert(next, (text.clone(), kind));
        }
        seen.push(text);
        Ok(())
    };
    for symbol in &sentences.control_symbols {
        insert(symbol.clone(), PieceKind::Control)?;
    }
    for symbol in &sentences.user_defined_symbols {
        insert(symbol.clone(), PieceKind::UserDefined)?;
        if model_type == ModelType::Word && !symbol.starts_with('\u{2581}') {
            insert(format!("\u{2581}{symbol}"), PieceKind::UserDefined)?;
        }
    }
    if options.byte_fallback {
        for byte in 0..=u8::MAX {
            insert(format!("<0x{byte:02X}>"), PieceKind::Byte)?;
        }
    }
    Ok(meta)
}

#[allow(clippy::too_many_arguments)] // one call, split off for its length
fn learn_pieces(
    counts: &PretokenCounts,
    sentences: &SentenceConfig,
    options: &SpmTrainOptions,
    model_type: ModelType,
    n_pieces: usize,
    meta: &Meta,
    num_threads: usize,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Vec<(String, f64)>> {
    let mut symbol_texts: HashSet<&str, _> = HashSet::with_hasher(hasher());
    symbol_texts.extend(meta.values().map(|(symbol, _)| symbol.as_str()));
    let is_symbol = |text: &str| symbol_texts.contains(text);
    let alphabet_options = AlphabetOptions {
        coverage: options.character_coverage,
        limit: options.limit_alphabet,
        required: options.required_chars.clone(),
    };
    let alphabet = || -> Result<Alphabet> {
        let mut counted = count_characters(counts)?;
        counted.retain(|&(c, _)| !is_never_learned(c));
        let mut chosen = choose_alphabet(&counted, &alphabet_options);
        chosen.retain(|(c, _)| !is_symbol(&c.to_string()));
        Ok(chosen)
    };
    let room = |alphabet: &Alphabet| {
        if alphabet.len() <= n_pieces {
            return Ok(());
        }
        Err(Error::training(format!(
            "vocab_size {} is too small: {} symbols and {} characters need {} pieces\nhint: ask for more, or lower \
             character_coverage",
            options.vocab_size,
            meta.len(),
            alphabet.len(),
            meta.len() + alphabet.len()
        )))
    };
    match model_type {
        ModelType::Unigram => {
            let alphabet = alphabet()?;
            room(&alphabet)?;
            let rules = PieceRules::new(sentences, options.max_sentencepiece_length)?;
            let unigram = UnigramTrainOptions {
                n_pieces,
                seed_sentencepiece_size: options.seed_sentencepiece_size,
                shrinking_factor: options.shrinking_factor,
                num_sub_iterations: options.num_sub_iterations,
                max_sentencepiece_length: options.max_sentencepiece_length,
                min_frequency: options.min_frequency,
            };
            let trained = train_unigram(
                counts,
                &alphabet,
                &rules,
                &is_symbol,
                &unigram,
                num_threads,
                on_progress,
            )?;
            Ok(trained.pieces)
        }
        ModelType::Bpe => {
            let mut alphabet = alphabet()?;
            room(&alphabet)?;
            let rules = PieceRules::new(sentences, options.max_sentencepiece_length)?;
            let mut symbols = Symbols::new();
            for &(c, _) in &alphabet {
                symbols.insert(c.to_string(), 1);
            }
            let n_characters = symbols.len();
            let allow =
                |text: &str| !is_symbol(text) && rules.allow(&text.chars().collect::<Vec<_>>());
            let learned = learn(
                counts,
                symbols,
                &CharBpe {
                    n_tokens: n_pieces,
                    min_frequency: options.min_frequency,
                    max_chars: options.max_sentencepiece_length,
                    spelling: &Spelling::default(),
                    tie_rule: CharTieRule::ShorterFirst,
                    allow: &allow,
                    n_others: meta.len(),
                },
                on_progress,
            )?;
            // Merges first, then characters, each a step less likely than the one before.
            alphabet.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            let merged = learned.symbols.into_texts().into_iter().skip(n_characters);
            let texts = merged.chain(alphabet.into_iter().map(|(c, _)| c.to_string()));
            Ok(texts
                .zip(0u32..)
                .map(|(text, rank)| (text, -f64::from(rank)))
                .collect())
        }
        ModelType::Word => {
            let n_too_long = counts.longer_than(MAX_PIECE_BYTES - 1).n_pretokens;
            let n_words = counts.n_pretokens() - n_too_long;
            if n_words == 0 {
                return Err(Error::training(format!(
                    "every word of the text has {MAX_PIECE_BYTES} bytes or more, which no piece may have\n\
                     hint: train on text that has white space"
                )));
            }
            let total = (n_words as f64).ln();
            // A word with a character outside the alphabet counts in the total, but is no piece.
            let mut known: HashSet<char, _> = HashSet::with_hasher(hasher());
            known.extend(alphabet()?.into_iter().map(|(c, _)| c));
            let mut pieces = Vec::new();
            for (word, count) in counts.iter_sorted() {
                if pieces.len() == n_pieces || count < options.min_frequency {
                    break;
                }
                let text = text_of(word)?;
                if text.len() < MAX_PIECE_BYTES
                    && !is_symbol(text)
                    && text.chars().all(|c| known.contains(&c))
                {
                    pieces.push((text.to_owned(), (count as f64).ln() - total));
                }
            }
            Ok(pieces)
        }
        ModelType::Char => {
            let mut alphabet = alphabet()?;
            alphabet.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            let total = alphabet.iter().map(|&(_, count)| count).sum::<u64>() as f64;
            alphabet.truncate(n_pieces);
            Ok(alphabet
                .into_iter()
                .map(|(c, count)| (c.to_string(), (count.max(1) as f64).ln() - total.ln()))
                .collect())
        }
    }
}
