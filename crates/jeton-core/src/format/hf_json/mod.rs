//! `tokenizer.json` of Hugging Face `tokenizers`: one file a component, its reading beside its
//! writing.
//!
//! Components that are not known are refused by name: a tokenizer either gives the reference's ids
//! or does not load. Old files leave out the `type` of components that can be told by their fields;
//! these are the ones that 0.23.3 accepts without it.

mod added_tokens;
mod decoder;
mod entries;
mod inputs;
mod model;
mod normalizer;
mod post_processor;
mod pre_tokenizer;
mod vocab;
mod write;

pub use write::to_hf_json;
pub(super) use write::write;

use serde::Deserialize;
use serde_json::Value;

use crate::assembly::Parts;
use crate::config::Reference;
use crate::error::{Error, ErrorKind, Result};
use crate::tokenizer::Tokenizer;

const FORMAT: &str = "tokenizer.json";

#[derive(Deserialize)]
struct File<'v> {
    #[serde(default)]
    truncation: Option<Value>,
    #[serde(default)]
    padding: Option<Value>,
    #[serde(default)]
    added_tokens: Vec<added_tokens::Written>,
    #[serde(default)]
    normalizer: Option<Value>,
    #[serde(default)]
    pre_tokenizer: Option<Value>,
    #[serde(default)]
    post_processor: Option<Value>,
    #[serde(default)]
    decoder: Option<Value>,
    #[serde(borrow)]
    model: model::Written<'v>,
}

/// Reads a `tokenizer.json`.
pub fn from_hf_json(bytes: &[u8]) -> Result<Tokenizer> {
    // Text that is looked through at once need not be looked at string by string.
    let file: serde_json::Result<File<'_>> = match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(bytes),
    };
    let file =
        file.map_err(|error| Error::format_line(FORMAT, error.line() as u64, error.to_string()))?;
    let kind = entries::Kind::of(&file.model)?;
    let entries = entries::Entries::read(&file.model.vocab, kind)?;
    let added_tokens = added_tokens::read(file.added_tokens, &entries)?;
    let normalizer = normalizer::read(file.normalizer.as_ref())?;
    // Where the model can work on bytes, GPT-2's alphabet is a detail of the file.
    let on_bytes = kind == entries::Kind::Bpe
        && model::works_on_bytes(&file.model, &entries)
        && pre_tokenizer::ends_in_byte_level(file.pre_tokenizer.as_ref());
    let pretokenizer = pre_tokenizer::read(file.pre_tokenizer.as_ref(), on_bytes)?;
    let template = post_processor::read(file.post_processor.as_ref())?;
    let decoder = decoder::read(file.decoder.as_ref())?;
    let model = model::read(&file.model, kind, &entries, &added_tokens, on_bytes)?;
    Tokenizer::from_parts(Parts {
        normalizer,
        added_tokens,
        pretokenizer,
        template,
        // Byte-level tokens are bytes already: joining them is what the decoder does.
        decoder: (!(on_bytes && decoder::is_byte_level(&decoder))).then_some(decoder),
        truncation: inputs::read_truncation(file.truncation.as_ref())?,
        padding: inputs::read_padding(file.padding.as_ref())?,
        dropout: file.model.dropout(),
        ..Parts::new(Reference::Hf, model)
    })
}

/// The `type` of a component; `None` where the file leaves it out.
fn kind<'v>(component: &'v Value, place: &'static str) -> Result<Option<&'v str>> {
    match &component["type"] {
        Value::String(kind) => Ok(Some(kind)),
        Value::Null if component.is_object() => Ok(None),
        _ => Err(Error::unsupported(
            FORMAT,
            place,
            "something without a type",
        )),
    }
}

fn untyped(place: &'static str) -> Error {
    Error::unsupported(FORMAT, place, "a component without a type")
}

fn members<'v>(component: &'v Value, field: &str) -> Result<&'v Vec<Value>> {
    component[field]
        .as_array()
        .ok_or_else(|| bad(format!("a Sequence has no list {field:?}")))
}

fn flag(component: &Value, field: &str, default: bool) -> Result<bool> {
    match &component[field] {
        Value::Null => Ok(default),
        Value::Bool(value) => Ok(*value),
        other => Err(bad(format!("{field:?} is {other}, not true or false"))),
    }
}

fn text<'v>(component: &'v Value, field: &str) -> Result<&'v str> {
    component[field]
        .as_str()
        .ok_or_else(|| bad(format!("{field:?} is missing or is no string")))
}

fn number(component: &Value, field: &str) -> Result<u64> {
    component[field]
        .as_u64()
        .ok_or_else(|| bad(format!("{field:?} is missing or is no whole number")))
}

fn one_char(component: &Value, field: &str) -> Result<char> {
    let text = text(component, field)?;
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(bad(format!("{field:?} is {text:?}, not one character"))),
    }
}

fn id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

fn bad(reason: impl Into<String>) -> Error {
    Error::format(FORMAT, reason.into())
}

fn inexpressible(reason: impl Into<String>) -> Error {
    ErrorKind::Inexpressible {
        format: FORMAT,
        reason: reason.into(),
    }
    .into()
}

/// A component, or a Sequence of several.
fn one_or_sequence(mut steps: Vec<Value>, field: &str) -> Value {
    match steps.len() {
        0 => Value::Null,
        1 => steps.remove(0),
        _ => {
            let mut sequence = serde_json::Map::new();
            sequence.insert("type".to_owned(), "Sequence".into());
            sequence.insert(field.to_owned(), steps.into());
            Value::Object(sequence)
        }
    }
}

#[cfg(test)]
mod tests;
