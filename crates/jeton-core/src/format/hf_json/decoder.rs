//! `decoder`.

use serde_json::{Value, json};

use super::normalizer::{read_pattern, write_pattern};
use super::pre_tokenizer::{read_metaspace, scheme_name};
use super::{FORMAT, flag, kind, members, number, one_char, one_or_sequence, text, untyped};
use crate::decode::DecoderConfig;
use crate::error::{Error, Result};

const PLACE: &str = "decoder";

/// Reads the steps; none where the file has no decoder, which joins tokens by spaces.
pub(super) fn read(component: Option<&Value>) -> Result<Vec<DecoderConfig>> {
    let mut steps = Vec::new();
    if let Some(component) = component.filter(|component| !component.is_null()) {
        read_into(component, &mut steps)?;
        if steps.is_empty() {
            steps.push(DecoderConfig::Fuse); // an empty Sequence joins without spaces
        }
    }
    Ok(steps)
}

/// True if the steps only turn GPT-2's alphabet back into bytes.
pub(super) fn is_byte_level(steps: &[DecoderConfig]) -> bool {
    steps == [DecoderConfig::ByteLevel]
}

fn read_into(component: &Value, steps: &mut Vec<DecoderConfig>) -> Result<()> {
    let kind = match kind(component, PLACE)? {
        Some(kind) => kind,
        None if !component["suffix"].is_null() => "BPEDecoder",
        None if !component["prefix"].is_null() => "WordPiece",
        None if !component["pad_token"].is_null() => "CTC",
        None if !component["pattern"].is_null() => "Replace",
        None if !component["start"].is_null() => "Strip",
        None => return Err(untyped(PLACE)),
    };
    let count = |field: &str| -> Result<usize> {
        Ok(usize::try_from(number(component, field)?).unwrap_or(usize::MAX))
    };
    steps.push(match kind {
        "Sequence" => {
            return members(component, "decoders")?
                .iter()
                .try_for_each(|step| read_into(step, steps));
        }
        "ByteLevel" => DecoderConfig::ByteLevel,
        "WordPiece" => DecoderConfig::WordPiece {
            prefix: text(component, "prefix")?.to_owned(),
            cleanup: flag(component, "cleanup", true)?,
        },
        "Metaspace" => {
            let metaspace = read_metaspace(component)?;
            DecoderConfig::Metaspace {
                replacement: metaspace.replacement,
                prepend: metaspace.prepend_scheme,
            }
        }
        "ByteFallback" => DecoderConfig::ByteFallback,
        "Fuse" => DecoderConfig::Fuse,
        "Strip" => DecoderConfig::Strip {
            content: one_char(component, "content")?,
            start: count("start")?,
            stop: count("stop")?,
        },
        "Replace" => DecoderConfig::Replace {
            pattern: read_pattern(&component["pattern"])?,
            content: text(component, "content")?.to_owned(),
        },
        "BPEDecoder" => DecoderConfig::Bpe {
            suffix: text(component, "suffix")?.to_owned(),
        },
        "CTC" => DecoderConfig::Ctc {
            pad_token: text(component, "pad_token")?.to_owned(),
            word_delimiter_token: text(component, "word_delimiter_token")?.to_owned(),
            cleanup: flag(component, "cleanup", true)?,
        },
        name => return Err(Error::unsupported(FORMAT, PLACE, name)),
    });
    Ok(())
}

pub(super) fn write(steps: &[DecoderConfig]) -> Value {
    let written = steps.iter().map(|step| match step {
        DecoderConfig::ByteLevel => byte_level(),
        DecoderConfig::WordPiece { prefix, cleanup } => {
            json!({"type": "WordPiece", "prefix": prefix, "cleanup": cleanup})
        }
        DecoderConfig::Metaspace {
            replacement,
            prepend,
        } => json!({
            "type": "Metaspace",
            "replacement": replacement,
            "prepend_scheme": scheme_name(*prepend),
            "split": true,
        }),
        DecoderConfig::ByteFallback => json!({"type": "ByteFallback"}),
        DecoderConfig::Fuse => json!({"type": "Fuse"}),
        DecoderConfig::Strip {
            content,
            start,
            stop,
        } => json!({"type": "Strip", "content": content, "start": start, "stop": stop}),
        DecoderConfig::Replace { pattern, content } => {
            json!({"type": "Replace", "pattern": write_pattern(pattern), "content": content})
        }
        DecoderConfig::Bpe { suffix } => json!({"type": "BPEDecoder", "suffix": suffix}),
        DecoderConfig::Ctc {
            pad_token,
            word_delimiter_token,
            cleanup,
        } => json!({
            "type": "CTC",
            "pad_token": pad_token,
            "word_delimiter_token": word_delimiter_token,
            "cleanup": cleanup,
        }),
    });
    one_or_sequence(written.collect(), "decoders")
}

/// The decoder of a byte-level model.
pub(super) fn byte_level() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})
}
