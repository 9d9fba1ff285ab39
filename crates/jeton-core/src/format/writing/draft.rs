//! Drafts of writers: files of a format, and the options with which they are read.

use crate::config::Config;

/// A format in which tokenizers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// The canonical form.
    Canonical,
    /// `tokenizer.json`.
    HfJson,
    /// `.tiktoken` ranks.
    Tiktoken,
    /// A SentencePiece `.model`.
    SentencePiece,
    /// BERT's `vocab.txt`.
    VocabTxt,
    /// GPT-2's `vocab.json` and `merges.txt`.
    Gpt2Files,
    /// Mistral's `tekken.json`.
    Tekken,
    /// A GGUF file without tensors.
    Gguf,
    /// RWKV's list.
    Rwkv,
    /// CLIP's merges.
    Clip,
    /// Anthropic's old JSON.
    Claude,
}

impl FileFormat {
    /// Every format, in the order in which people look for them.
    pub const ALL: [Self; 11] = [
        Self::Canonical,
        Self::HfJson,
        Self::Tiktoken,
        Self::SentencePiece,
        Self::VocabTxt,
        Self::Gpt2Files,
        Self::Tekken,
        Self::Gguf,
        Self::Rwkv,
        Self::Clip,
        Self::Claude,
    ];

    /// The name by which a caller chooses it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Canonical => "jeton",
            Self::HfJson => "tokenizer.json",
            Self::Tiktoken => "tiktoken",
            Self::SentencePiece => "sentencepiece",
            Self::VocabTxt => "vocab.txt",
            Self::Gpt2Files => "vocab.json",
            Self::Tekken => "tekken.json",
            Self::Gguf => "gguf",
            Self::Rwkv => "rwkv",
            Self::Clip => "clip",
            Self::Claude => "claude",
        }
    }

    /// The format of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Options that a caller gives to read a file, because the file does not hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The split pattern of ranks.
    pub pattern: Option<String>,
    /// The special tokens of ranks.
    pub special_tokens: Option<Vec<(String, u32)>>,
    /// True if a word list wants lower case.
    pub lowercase: Option<bool>,
    /// True if GPT-2's two files want a space put before the text.
    pub add_prefix_space: Option<bool>,
}

/// A file's role in its format, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Empty for the first file, `merges` for the second of GPT-2's.
    pub role: &'static str,
    /// Contents of the file.
    pub bytes: Vec<u8>,
}

/// Files that a writer made, before they are read again.
pub(crate) struct Draft {
    pub(crate) files: Vec<WrittenFile>,
    pub(crate) options: ReadOptions,
    pub(crate) words: Words,
}

/// Form of the tokenizer that a draft holds.
pub(crate) enum Words {
    /// The canonical form, unchanged.
    Own,
    /// A translated canonical form, which reading the draft has to give back.
    All(Box<Config>),
    /// A translated model, so that canonical forms cannot be compared.
    Model,
}

impl Draft {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self {
            files: vec![WrittenFile { role: "", bytes }],
            options: ReadOptions::default(),
            words: Words::Own,
        }
    }
}

/// The role of the second of GPT-2's two files.
pub(crate) const MERGES: &str = "merges";
