//! The canonical form of a model.

use serde::{Deserialize, Serialize};

use super::{Real, SentencePieceConfig};
use crate::codec::base64::Base64Bytes;
use crate::models::bpe::Missing;

/// A model's parameters. Tokens are listed by id, null where an id has none; *opaque* ids are only
/// decoded, never made from text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ModelConfig {
    /// Byte-level BPE.
    Bpe {
        /// Token bytes.
        tokens: Vec<Option<Base64Bytes>>,
        /// Opaque ids.
        opaque: Vec<u32>,
        /// Pairs of ids in merge order; null: any pair whose concatenation is a token, lowest id
        /// first.
        merges: Option<Vec<(u32, u32)>>,
        /// True if a pretoken that is a token is never cut.
        whole_pretokens: bool,
        /// Treatment of a byte or character without a token.
        missing: MissingConfig,
    },
    /// BPE on characters.
    CharacterBpe {
        /// Token strings.
        tokens: Vec<Option<Base64Bytes>>,
        /// Opaque ids.
        opaque: Vec<u32>,
        /// Pairs of ids in merge order.
        merges: Vec<(u32, u32)>,
        /// Treatment of a character without a token.
        missing: MissingConfig,
        /// True if unknown characters in a row become one token.
        fuse_unknown: bool,
        /// True if a character without a token is spelled in tokens of bytes.
        byte_fallback: bool,
        /// Prefix of each character but the first.
        continuing_prefix: String,
        /// Suffix of the last character.
        end_of_word_suffix: String,
        /// True if a pretoken that is a token is never cut.
        whole_pretokens: bool,
    },
    /// `WordPiece`.
    #[serde(rename = "wordpiece")]
    WordPiece {
        /// Token strings.
        tokens: Vec<Option<Base64Bytes>>,
        /// Opaque ids.
        opaque: Vec<u32>,
        /// Prefix of a token that continues a word.
        prefix: String,
        /// Most characters of a word that is not unknown.
        max_chars: u64,
        /// The unknown token.
        unknown: Option<u32>,
    },
    /// Whole words.
    Word {
        /// Words.
        tokens: Vec<Option<Base64Bytes>>,
        /// Opaque ids.
        opaque: Vec<u32>,
        /// The unknown token.
        unknown: Option<u32>,
    },
    /// Characters.
    Character {
        /// Characters.
        tokens: Vec<Option<Base64Bytes>>,
        /// Opaque ids.
        opaque: Vec<u32>,
        /// Treatment of a character without a token.
        missing: MissingCharacterConfig,
    },
    /// Bytes.
    RawBytes {
        /// Bytes, and what else has an id.
        tokens: Vec<Option<Base64Bytes>>,
        /// Opaque ids.
        opaque: Vec<u32>,
        /// The id of the byte 0.
        offset: u32,
    },
    /// The longest token that fits, on bytes.
    Greedy {
        /// Token bytes.
        tokens: Vec<Option<Base64Bytes>>,
        /// Opaque ids.
        opaque: Vec<u32>,
    },
    /// A unigram language model, as `tokenizers` has it.
    Unigram {
        /// Pieces and their scores; an id is a place in the list.
        pieces: Vec<(String, Real)>,
        /// The id of unknown text.
        unknown: Option<u32>,
        /// True if unknown characters become bytes.
        byte_fallback: bool,
    },
    /// SentencePiece.
    #[serde(rename = "sentencepiece")]
    SentencePiece(SentencePieceConfig),
}

/// Treatment of a byte or character without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingConfig {
    /// It is left out.
    Skip,
    /// It becomes this id.
    Unknown(u32),
    /// It is an error.
    Fail,
}

impl From<MissingConfig> for Missing {
    fn from(config: MissingConfig) -> Self {
        match config {
            MissingConfig::Skip => Self::Skip,
            MissingConfig::Unknown(id) => Self::Unknown(id),
            MissingConfig::Fail => Self::Fail,
        }
    }
}

impl From<Missing> for MissingConfig {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Skip => Self::Skip,
            Missing::Unknown(id) => Self::Unknown(id),
            Missing::Fail => Self::Fail,
        }
    }
}

/// Treatment of a character without a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingCharacterConfig {
    /// It becomes this id.
    Unknown(u32),
    /// Its bytes become these ids (256 of them).
    Bytes(Vec<u32>),
    /// It is an error.
    Fail,
}
