//! `normalizer`.

use serde_json::{Value, json};

use super::{FORMAT, bad, flag, inexpressible, kind, members, one_or_sequence, text, untyped};
use crate::error::{Error, Result};
use crate::normalize::bert::BertConfig;
use crate::normalize::replace::{ReplaceConfig, ReplacePattern};
use crate::normalize::{Form, NormalizerConfig};
use crate::text::unicode::UnicodeVersion;

const PLACE: &str = "normalizer";

pub(super) fn read(component: Option<&Value>) -> Result<Vec<NormalizerConfig>> {
    let mut steps = Vec::new();
    if let Some(component) = component.filter(|component| !component.is_null()) {
        read_into(component, &mut steps)?;
    }
    Ok(steps)
}

fn read_into(component: &Value, steps: &mut Vec<NormalizerConfig>) -> Result<()> {
    let kind = match kind(component, PLACE)? {
        Some(kind) => kind,
        None if component["normalizers"].is_array() => "Sequence",
        None if !component["clean_text"].is_null() => "BertNormalizer",
        None if !component["strip_left"].is_null() => "Strip",
        None if !component["pattern"].is_null() => "Replace",
        None if !component["prepend"].is_null() => "Prepend",
        None => return Err(untyped(PLACE)),
    };
    steps.push(match kind {
        "Sequence" => {
            return members(component, "normalizers")?
                .iter()
                .try_for_each(|step| read_into(step, steps));
        }
        "BertNormalizer" => {
            let lowercase = flag(component, "lowercase", true)?;
            NormalizerConfig::Bert(BertConfig {
                clean_text: flag(component, "clean_text", true)?,
                handle_chinese_chars: flag(component, "handle_chinese_chars", true)?,
                strip_accents: flag(component, "strip_accents", lowercase)?,
                lowercase,
            })
        }
        "Strip" => NormalizerConfig::Strip {
            left: flag(component, "strip_left", true)?,
            right: flag(component, "strip_right", true)?,
        },
        "StripAccents" => NormalizerConfig::StripAccents,
        "Lowercase" => NormalizerConfig::Lowercase,
        "Nmt" => NormalizerConfig::Nmt,
        "Precompiled" => NormalizerConfig::Precompiled {
            charsmap: text(component, "precompiled_charsmap")?
                .to_owned()
                .try_into()
                .map_err(|reason: String| bad(format!("precompiled_charsmap: {reason}")))?,
        },
        "Replace" => NormalizerConfig::Replace(ReplaceConfig {
            pattern: read_pattern(&component["pattern"])?,
            content: text(component, "content")?.to_owned(),
        }),
        "Prepend" => NormalizerConfig::Prepend {
            prefix: text(component, "prepend")?.to_owned(),
        },
        "ByteLevel" => NormalizerConfig::ByteLevel,
        name => NormalizerConfig::Form {
            form: Form::parse(name).ok_or_else(|| Error::unsupported(FORMAT, PLACE, name))?,
            unicode: UnicodeVersion::HF_NORMALIZATION,
        },
    });
    Ok(())
}

/// A pattern: `{"String": ...}` or `{"Regex": ...}`.
pub(super) fn read_pattern(pattern: &Value) -> Result<ReplacePattern> {
    match (&pattern["Regex"], &pattern["String"]) {
        (Value::String(regex), _) => Ok(ReplacePattern::Regex(regex.clone())),
        (_, Value::String(literal)) => Ok(ReplacePattern::String(literal.clone())),
        _ => Err(bad("a pattern is neither a Regex nor a String")),
    }
}

pub(super) fn write_pattern(pattern: &ReplacePattern) -> Value {
    match pattern {
        ReplacePattern::String(literal) => json!({"String": literal}),
        ReplacePattern::Regex(regex) => json!({"Regex": regex}),
    }
}

pub(super) fn write(steps: &[NormalizerConfig]) -> Result<Value> {
    let written = steps.iter().map(|step| {
        Ok(match step {
            NormalizerConfig::Form { form, .. } => json!({"type": match form {
                Form::Nfc => "NFC",
                Form::Nfd => "NFD",
                Form::Nfkc => "NFKC",
                Form::Nfkd => "NFKD",
            }}),
            NormalizerConfig::Bert(bert) => json!({
                "type": "BertNormalizer",
                "clean_text": bert.clean_text,
                "handle_chinese_chars": bert.handle_chinese_chars,
                "strip_accents": bert.strip_accents,
                "lowercase": bert.lowercase,
            }),
            NormalizerConfig::Strip { left, right } => {
                json!({"type": "Strip", "strip_left": left, "strip_right": right})
            }
            NormalizerConfig::StripAccents => json!({"type": "StripAccents"}),
            NormalizerConfig::Lowercase => json!({"type": "Lowercase"}),
            NormalizerConfig::Nmt => json!({"type": "Nmt"}),
            NormalizerConfig::Precompiled { charsmap } => json!({
                "type": "Precompiled",
                "precompiled_charsmap": String::from(charsmap.clone()),
            }),
            NormalizerConfig::Replace(replace) => json!({
                "type": "Replace",
                "pattern": write_pattern(&replace.pattern),
                "content": replace.content,
            }),
            NormalizerConfig::Prepend { prefix } => json!({"type": "Prepend", "prepend": prefix}),
            NormalizerConfig::ByteLevel => json!({"type": "ByteLevel"}),
            NormalizerConfig::Clip => {
                return Err(inexpressible(
                    "the library has nothing like CLIP's cleaning of texts",
                ));
            }
        })
    });
    let written = written.collect::<Result<Vec<_>>>()?;
    Ok(one_or_sequence(written, "normalizers"))
}
