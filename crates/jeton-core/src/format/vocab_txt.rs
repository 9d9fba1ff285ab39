//! `vocab.txt`: BERT's vocabulary, one token a line; the line's number, from 0, is the id.
//!
//! Lines are read as `tokenizers` 0.23.3 reads them: white space at the start of a line belongs to
//! the token, white space at its end does not. If lines are equal, the last counts and the earlier
//! ids have no token. So one empty line at the end of a file costs an id that no text becomes.
//!
//! The file says nothing else: whether text is put in lower case and which tokens are special comes
//! from the caller.

use std::collections::HashMap;

use crate::assembly::{ModelParts, Parts};
use crate::config::{Config, ModelConfig, Reference};
use crate::decode::DecoderConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::inputs::template::Template;
use crate::models::wordpiece::{DEFAULT_MAX_CHARS, DEFAULT_PREFIX};
use crate::normalize::NormalizerConfig;
use crate::normalize::bert::BertConfig;
use crate::pretokenize::components::bert_words;
use crate::special::AddedToken;
use crate::tokenizer::Tokenizer;
use crate::vocab::{MAX_IDS, Vocab};

use super::writing::draft::{Draft, ReadOptions};
use super::writing::ledger::Ledger;
use super::writing::pairs;

const FORMAT: &str = "vocab.txt";

/// Options that a vocabulary file does not hold. The defaults are BERT's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BertOptions {
    /// Maps text to lower case (`do_lower_case`): yes for `uncased` vocabularies.
    pub lowercase: bool,
    /// Takes accents off; None: as `lowercase`.
    pub strip_accents: Option<bool>,
    /// Makes each ideograph a word of its own.
    pub tokenize_chinese_chars: bool,
    /// Removes control characters.
    pub clean_text: bool,
    /// The unknown token.
    pub unk_token: String,
    /// The token before a text.
    pub cls_token: String,
    /// The token after a text.
    pub sep_token: String,
    /// The token that fills a batch.
    pub pad_token: String,
    /// The token that hides a word.
    pub mask_token: String,
    /// Prefix of a token that continues a word.
    pub prefix: String,
    /// Most characters of a word.
    pub max_chars: usize,
}

impl Default for BertOptions {
    fn default() -> Self {
        Self {
            lowercase: true,
            strip_accents: None,
            tokenize_chinese_chars: true,
            clean_text: true,
            unk_token: "[UNK]".to_owned(),
            cls_token: "[CLS]".to_owned(),
            sep_token: "[SEP]".to_owned(),
            pad_token: "[PAD]".to_owned(),
            mask_token: "[MASK]".to_owned(),
            prefix: DEFAULT_PREFIX.to_owned(),
            max_chars: DEFAULT_MAX_CHARS,
        }
    }
}

/// Reads a vocabulary.
///
/// A vocabulary without the unknown token is read: a word that no tokens spell is then an error
/// when it is met, as in the reference.
pub fn from_vocab_txt(bytes: &[u8], options: &BertOptions) -> Result<Tokenizer> {
    let vocab = parse(bytes)?;
    let id = |token: &str| {
        vocab
            .bytes_to_id(token.as_bytes())
            .filter(|_| !token.is_empty())
    };
    let mut added_tokens: Vec<AddedToken> = Vec::new();
    let names = [
        &options.unk_token,
        &options.cls_token,
        &options.sep_token,
        &options.pad_token,
        &options.mask_token,
    ];
    for name in names {
        if let Some(id) = id(name)
            && added_tokens.iter().all(|token| token.id != id)
        {
            added_tokens.push(AddedToken::special(id, name.as_str()));
        }
    }
    let template = match id(&options.cls_token).zip(id(&options.sep_token)) {
        Some((cls, sep)) => Template::bert(cls, sep),
        None => Template::default(),
    };
    let unknown = id(&options.unk_token);
    Tokenizer::from_parts(Parts {
        normalizer: vec![NormalizerConfig::Bert(BertConfig {
            clean_text: options.clean_text,
            handle_chinese_chars: options.tokenize_chinese_chars,
            strip_accents: options.strip_accents.unwrap_or(options.lowercase),
            lowercase: options.lowercase,
        })],
        added_tokens,
        pretokenizer: bert_words().into(),
        template,
        decoder: Some(vec![DecoderConfig::WordPiece {
            prefix: options.prefix.clone(),
            cleanup: true,
        }]),
        ..Parts::new(
            Reference::Hf,
            ModelParts::WordPiece {
                vocab,
                prefix: options.prefix.clone(),
                max_chars: options.max_chars,
                unknown,
            },
        )
    })
}

fn parse(bytes: &[u8]) -> Result<Vocab> {
    let mut lines: Vec<&str> = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let line = std::str::from_utf8(line).map_err(|error| {
            let reason = format!("the line is not UTF-8 from byte {} on", error.valid_up_to());
            Error::format_line(FORMAT, number, reason)
        })?;
        lines.push(line.trim_end());
    }
    if bytes.last().is_none_or(|&byte| byte == b'\n') {
        lines.pop(); // what follows the last line's end is no line
    }
    if lines.len() > MAX_IDS as usize {
        return Err(ErrorKind::TooLarge {
            what: "vocabulary",
            limit: u64::from(MAX_IDS),
        }
        .into());
    }
    if lines.iter().all(|line| line.is_empty()) {
        return Err(Error::format(FORMAT, "it holds no tokens"));
    }
    let mut last: HashMap<&str, u32> = HashMap::with_capacity(lines.len());
    for (id, line) in (0..).zip(&lines) {
        last.insert(line, id);
    }
    let mut vocab = Vocab::with_capacity(lines.len());
    for (id, line) in (0..).zip(&lines) {
        if last.get(line) == Some(&id) {
            vocab.insert(id, line.as_bytes())?;
        }
    }
    Ok(vocab)
}

/// Writes a vocabulary; ids without a token become empty lines, which is what they are read as.
pub fn to_vocab_txt(vocab: &Vocab) -> Result<Vec<u8>> {
    let inexpressible = |reason: String| {
        Error::from(ErrorKind::Inexpressible {
            format: FORMAT,
            reason,
        })
    };
    let mut out = Vec::new();
    for id in 0..vocab.size() {
        let token = vocab.id_to_bytes(id).unwrap_or_default();
        let text = std::str::from_utf8(token)
            .map_err(|_| inexpressible(format!("the token of id {id} is not UTF-8")))?;
        if text.trim_end() != text || text.contains('\n') {
            return Err(inexpressible(format!(
                "the token {text:?} ends in white space or holds a line end"
            )));
        }
        if vocab.bytes_to_id(token).is_some_and(|other| other != id) {
            return Err(inexpressible(format!("the token {text:?} has two ids")));
        }
        out.extend_from_slice(token);
        out.push(b'\n');
    }
    Ok(out)
}

/// Writes a word list, and what stands in its way.
pub(super) fn write(config: &Config, ledger: &mut Ledger) -> Option<Draft> {
    let ModelConfig::WordPiece { tokens, opaque, .. } = &config.model else {
        ledger.refuse("only WordPiece has a list of words");
        return None;
    };
    let mut vocab = ledger.take(pairs::vocab(tokens, opaque))?;
    for token in &config.added_tokens {
        if vocab.id_to_bytes(token.id).is_none() {
            ledger.take(vocab.insert_opaque(token.id, token.content.as_bytes()))?;
        }
    }
    let lowercase = config.normalizer.iter().find_map(|step| match step {
        NormalizerConfig::Bert(bert) => Some(bert.lowercase),
        NormalizerConfig::Lowercase => Some(true),
        _ => None,
    });
    Some(Draft {
        options: ReadOptions {
            lowercase: Some(lowercase.unwrap_or(false)),
            ..ReadOptions::default()
        },
        ..Draft::of(ledger.take(to_vocab_txt(&vocab))?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(bytes: &[u8]) -> Vec<(u32, String)> {
        let vocab = parse(bytes).unwrap();
        vocab
            .iter()
            .map(|(id, token)| (id, String::from_utf8(token.to_vec()).unwrap()))
            .collect()
    }

    #[test]
    fn lines_are_read_as_the_reference_does() {
        // Expected: WordPiece.read_file of `tokenizers` 0.23.3 on these bytes.
        let found = tokens(b"[UNK]\r\na \n  b\na\n\n\nc\xc2\xa0\nx\n\n\n");
        let expected = [
            (0, "[UNK]"),
            (2, "  b"),
            (3, "a"),
            (6, "c"),
            (7, "x"),
            (9, ""),
        ];
        assert_eq!(found, expected.map(|(id, token)| (id, token.to_owned())));
        let found = tokens(b"\xef\xbb\xbfa\r\r\nb\rc\nd");
        let expected = [(0, "\u{feff}a"), (1, "b\rc"), (2, "d")];
        assert_eq!(found, expected.map(|(id, token)| (id, token.to_owned())));
    }

    #[test]
    fn special_tokens_are_those_that_exist() {
        let file = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\n";
        let tokenizer = from_vocab_txt(file, &BertOptions::default()).unwrap();
        assert_eq!(*tokenizer.template(), Template::bert(2, 3));
        assert_eq!(tokenizer.unknown(), Some(1));
        let names: Vec<&str> = tokenizer
            .added_tokens()
            .iter()
            .map(|t| t.content.as_str())
            .collect();
        assert_eq!(names, ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]);
        assert_eq!(to_vocab_txt(tokenizer.vocab()).unwrap(), file);
        let mut ids = Vec::new();
        tokenizer
            .encode_into("\u{c1}B x", &crate::special::Allow::None, true, &mut ids)
            .unwrap();
        assert_eq!(ids, [2, 4, 5, 1, 3]);
        let tokenizer = from_vocab_txt(b"a\nb\n", &BertOptions::default()).unwrap();
        assert_eq!(tokenizer.unknown(), None);
        assert_eq!(*tokenizer.template(), Template::default());
    }

    #[test]
    fn bad_files_are_refused() {
        let message = parse(b"a\n\xff\n").unwrap_err().to_string();
        assert!(
            message.contains("line 2: the line is not UTF-8"),
            "{message}"
        );
        assert!(parse(b"").is_err());
        assert!(parse(b"\n\n").is_err());
    }
}
