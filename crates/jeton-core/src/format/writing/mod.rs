//! Tokenizers to files: every format behind one door, which says what a format cannot hold.
//!
//! A writer takes the canonical form. A [`Ledger`] lists all that a format cannot express:
//! obstacles, where nothing sensible can be written, and losses, where the file does less. The file
//! is then read again, with the options that a reader needs. A part of the canonical form that did
//! not come back is a loss, too, or a [`Rewording`] that is shown to do the same ([`account`]). So
//! nothing is lost without being named, whatever a writer forgets.
//!
//! Some formats hold another kind of model. The model is then translated first ([`translate`]); the
//! translation is exact or named as a loss, and the ids are compared.
//!
//! A written file follows the rules of its library. They say how `decode` shows special tokens, and
//! which of two overlapping special tokens is found.

mod account;
mod bpe;
mod compare;
pub(crate) mod draft;
pub(crate) mod ledger;
pub(crate) mod pairs;
pub(crate) mod translate;

pub use draft::{FileFormat, ReadOptions, WrittenFile};
pub use ledger::{Ledger, Loss, Rewording};

use draft::{Draft, MERGES, Words};

use super::gguf::to_gguf;
use super::{
    BertOptions, Gpt2Options, TiktokenOptions, claude, clip, from_canonical, from_claude,
    from_clip, from_gguf, from_gpt2_files, from_hf_json, from_rwkv, from_sentencepiece,
    from_tekken, from_tiktoken, from_vocab_txt, gpt2_files, hf_json, rwkv, sentencepiece, tekken,
    tiktoken, to_canonical, vocab_txt,
};
use crate::config::{Config, Reference};
use crate::error::{Error, Result};
use crate::special::{AddedToken, Allow};
use crate::tokenizer::Tokenizer;

/// A tokenizer as it is written.
#[derive(Debug)]
pub struct Written {
    /// The files, the one to read first.
    pub files: Vec<WrittenFile>,
    /// Losses of the files.
    pub losses: Vec<Loss>,
    /// Rewordings of the files. The tokenizer that is read differs from the one that was written
    /// only in what losses and rewordings name.
    pub rewordings: Vec<Rewording>,
    /// Options with which the files are read.
    pub options: ReadOptions,
    /// Tokenizer that is read back from the files.
    pub read: Tokenizer,
}

/// Writes a tokenizer in a format, and reads it again.
///
/// `Err`: what makes it impossible, and what would be lost besides.
pub fn write(tokenizer: &Tokenizer, format: FileFormat) -> std::result::Result<Written, Ledger> {
    let config = tokenizer.to_config();
    let mut ledger = Ledger::default();
    let Some(draft) = draft(tokenizer, &config, format, &mut ledger) else {
        if ledger.obstacles.is_empty() {
            ledger.refuse("it cannot be written");
        }
        return Err(ledger);
    };
    if !ledger.obstacles.is_empty() {
        return Err(ledger);
    }
    let read = match read(&draft, format) {
        Ok(read) => read,
        Err(error) => {
            ledger.refuse(format!("what is written cannot be read: {error}"));
            return Err(ledger);
        }
    };
    let after = read.to_config();
    let reached = |token: &AddedToken| {
        token.special && [tokenizer, &read].into_iter().any(|one| makes(one, token))
    };
    let stays = |text: &str| tokenizer.normalize(text).is_ok_and(|other| other == text);
    match &draft.words {
        Words::Own => compare::losses(&config, &after, &reached, &stays, &mut ledger),
        Words::All(words) => compare::losses(words, &after, &reached, &stays, &mut ledger),
        Words::Model => {}
    }
    compare::settings(&config, &after, &mut ledger);
    account::check(&config, &after, &draft.words, &mut ledger);
    if ledger.losses.is_empty() && !same_ids(tokenizer, &read) {
        ledger.lose(
            "model",
            "a text on which both were tried gets other ids",
            "ids differ",
        );
    }
    Ok(Written {
        files: draft.files,
        losses: ledger.losses,
        rewordings: ledger.rewordings,
        options: draft.options,
        read,
    })
}

fn draft(
    tokenizer: &Tokenizer,
    config: &Config,
    format: FileFormat,
    ledger: &mut Ledger,
) -> Option<Draft> {
    match format {
        FileFormat::Canonical => ledger.take(to_canonical(tokenizer)).map(Draft::of),
        FileFormat::HfJson => hf_json::write(config, ledger),
        FileFormat::Tiktoken => tiktoken::write(config, ledger),
        FileFormat::SentencePiece => sentencepiece::write(tokenizer, config, ledger),
        FileFormat::VocabTxt => vocab_txt::write(config, ledger),
        FileFormat::Gpt2Files => gpt2_files::write(config, ledger),
        FileFormat::Tekken => tekken::write(config, ledger),
        FileFormat::Gguf => to_gguf(config, ledger),
        FileFormat::Rwkv => rwkv::write(config, ledger),
        FileFormat::Clip => clip::write(config, ledger),
        FileFormat::Claude => claude::write(config, ledger),
    }
}

fn read(draft: &Draft, format: FileFormat) -> Result<Tokenizer> {
    let Draft { files, options, .. } = draft;
    let bytes = |role: &str| {
        let file = files.iter().find(|file| file.role == role);
        file.map(|file| file.bytes.as_slice()).unwrap_or_default()
    };
    let main = bytes("");
    match format {
        FileFormat::Canonical => from_canonical(main),
        FileFormat::HfJson => from_hf_json(main),
        FileFormat::Tiktoken => {
            let Some(pattern) = options.pattern.clone() else {
                return Err(Error::format(
                    "tiktoken",
                    "there is no pattern to read it with",
                ));
            };
            from_tiktoken(
                main,
                TiktokenOptions {
                    pattern,
                    special_tokens: options.special_tokens.clone().unwrap_or_default(),
                    normalizer: Vec::new(),
                    reference: Reference::Tiktoken,
                },
            )
        }
        FileFormat::SentencePiece => from_sentencepiece(main),
        FileFormat::VocabTxt => from_vocab_txt(
            main,
            &BertOptions {
                lowercase: options.lowercase.unwrap_or(true),
                ..BertOptions::default()
            },
        ),
        FileFormat::Gpt2Files => from_gpt2_files(
            main,
            bytes(MERGES),
            &Gpt2Options {
                add_prefix_space: options.add_prefix_space.unwrap_or(false),
                ..Gpt2Options::default()
            },
        ),
        FileFormat::Tekken => from_tekken(main),
        FileFormat::Gguf => from_gguf(main),
        FileFormat::Rwkv => from_rwkv(main),
        FileFormat::Clip => from_clip(main),
        FileFormat::Claude => from_claude(main),
    }
}

/// A text with something of everything that normalizers, patterns and models treat differently.
/// Callers try more; this one is there so that a gross mistake does not leave the core.
const TRIED: &str = "Hello, world! It's 2026: x=\"y\"\t\u{e9}e\u{301} \u{fb01} \u{4e2d}\u{6587}\u{3000}\
    \u{1f469}\u{200d}\u{1f467}  two\r\n\n three 1234567 don't DON'T \u{2581} \u{130}\u{df} \u{e000} ";

/// True if text becomes an added token that is not allowed, because the model has it too.
fn makes(tokenizer: &Tokenizer, token: &AddedToken) -> bool {
    let mut ids = Vec::new();
    let done = tokenizer.encode_into(&token.content, &Allow::None, false, &mut ids);
    done.is_ok() && ids.contains(&token.id)
}

/// True if two tokenizers give one text the same ids.
fn same_ids(one: &Tokenizer, two: &Tokenizer) -> bool {
    let ids = |tokenizer: &Tokenizer| {
        let mut ids = Vec::new();
        let done = tokenizer.encode_into(TRIED, &Allow::None, true, &mut ids);
        done.is_ok().then_some(ids)
    };
    ids(one) == ids(two)
}

#[cfg(test)]
mod losses_tests;
#[cfg(test)]
mod tests;
