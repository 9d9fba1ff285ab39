//! The target of conversions: a canonical form is written in every format, and each file read
//! again.

use std::sync::LazyLock;

use jeton_core::config::Config;
use jeton_core::format::writing::{FileFormat, write};
use jeton_core::format::{from_canonical, from_hf_json, from_sentencepiece};
use jeton_core::special::Allow;
use jeton_core::tokenizer::Tokenizer;

use super::{TEXTS, tail};

/// Vocabularies with more ids take too long to be written eleven times.
const MAX_IDS: u32 = 1 << 14;

/// Reads any of the formats that hold most kinds of tokenizers.
fn read(data: &[u8]) -> Option<Tokenizer> {
    let read = match data.first() {
        Some(b'{') if data.starts_with(b"{\"jeton\"") => from_canonical(data),
        Some(b'{') => from_hf_json(data),
        _ => from_sentencepiece(data),
    };
    read.ok()
}

/// More text than a loss could hide behind: what a writer that names no loss has to get right.
static MORE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let parts = ["a", " ", "b", "\u{2581}", "ab", "\u{e9}", "\n", "<s>", "1"];
    let mut texts = Vec::new();
    for one in parts {
        for two in parts {
            for three in parts {
                texts.push(format!("{one}{two}{three}{one}"));
            }
        }
    }
    texts
});

/// Conversions. A tokenizer that a writer neither refuses nor names losses of comes back equal.
pub fn convert(data: &[u8]) -> bool {
    let Some(tokenizer) = read(data) else {
        return false;
    };
    if tokenizer.vocab().size() > MAX_IDS {
        return false;
    }
    let tail = tail(data);
    let mut texts = vec![TEXTS[0], TEXTS[1], tail.as_str(), ""];
    texts.extend(MORE.iter().map(String::as_str));
    let before: Vec<_> = texts.iter().map(|text| outcome(&tokenizer, text)).collect();
    let fingerprint = |config: Config| config.fingerprint().expect("there is one");
    for format in FileFormat::ALL {
        let written = match write(&tokenizer, format) {
            Ok(written) => written,
            Err(ledger) => {
                assert!(
                    !ledger.obstacles.is_empty(),
                    "{format:?} is refused without a reason"
                );
                continue;
            }
        };
        assert!(!written.files.is_empty(), "{format:?} has no file");
        let changed = fingerprint(tokenizer.to_config()) != fingerprint(written.read.to_config());
        assert!(
            !changed || !written.losses.is_empty() || !written.rewordings.is_empty(),
            "{format:?} reads as another tokenizer, and nothing says why"
        );
        if !written.losses.is_empty() {
            continue;
        }
        for (text, before) in texts.iter().zip(&before) {
            let after = outcome(&written.read, text);
            assert!(
                after == *before,
                "{format:?} names no loss, and {text:?} becomes {after:?} and not {before:?}"
            );
        }
        if format == FileFormat::Canonical {
            assert!(!changed, "the canonical form is not what it was");
        }
    }
    true
}

/// The ids of a text, and what they decode to; None where it has none.
fn outcome(tokenizer: &Tokenizer, text: &str) -> Option<(Vec<u32>, Vec<u8>)> {
    let mut ids = Vec::new();
    tokenizer
        .encode_into(text, &Allow::None, false, &mut ids)
        .ok()?;
    let mut bytes = Vec::new();
    tokenizer.decode_into(&ids, false, &mut bytes).ok()?;
    Some((ids, bytes))
}
