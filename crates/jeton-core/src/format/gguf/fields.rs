//! The keys of GGUF's metadata that describe a tokenizer, with their types checked.

use super::wire::{FORMAT, Metadata, Value};
use crate::error::{Error, Result};
use crate::vocab::MAX_IDS;

/// Purpose of a token (`tokenizer.ggml.token_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text.
    Normal,
    /// Stands for text without a token.
    Unknown,
    /// Never made from text unless the caller allows it.
    Control,
    /// Found wherever its text stands.
    UserDefined,
    /// Switched off, or a filler without a meaning.
    Unused,
    /// One byte, `<0x41>`.
    Byte,
}

/// The vocabulary as the file has it; an id is a place in the lists.
#[derive(Debug)]
pub(super) struct Tokens {
    pub(super) texts: Vec<String>,
    pub(super) kinds: Vec<Kind>,
    pub(super) scores: Vec<f32>,
}

/// Typed access to the metadata.
pub(super) struct Fields<'a>(pub(super) Metadata<'a>);

pub(super) fn fail<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::format(FORMAT, reason))
}

impl<'a> Fields<'a> {
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Text(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => fail(format!("{key} is not UTF-8")),
            },
            Some(_) => fail(format!("{key} is not a string")),
        }
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool> {
        match self.0.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => fail(format!("{key} is not a truth value")),
        }
    }

    /// The id under a key. As in llama.cpp, an id beyond the vocabulary counts as not given, and so
    /// does a default beyond it.
    pub(super) fn id(
        &self,
        key: &str,
        default: Option<u32>,
        n_tokens: usize,
    ) -> Result<Option<u32>> {
        let in_range = |id: &u32| (*id as usize) < n_tokens;
        match self.0.get(key) {
            None => Ok(default.filter(in_range)),
            Some(Value::Integer(id)) => Ok(u32::try_from(id)
                .ok()
                .filter(in_range)
                .or(default.filter(in_range))),
            Some(_) => fail(format!("{key} is not a whole number")),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some()
    }

    /// An array of bytes; none if it is not there.
    pub(super) fn bytes(&self, key: &str) -> Result<Option<Vec<u8>>> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::Array(array)) if array.is_bytes() => Ok(Some(
                array
                    .items()
                    .map(|item| match item {
                        Value::Integer(byte) => u8::try_from(byte).unwrap_or(0),
                        _ => 0,
                    })
                    .collect(),
            )),
            Some(_) => fail(format!("{key} is not an array of bytes")),
        }
    }

    /// An array of strings; none if it is not there.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>> {
        let array = match self.0.get(key) {
            None => return Ok(None),
            Some(Value::Array(array)) => array,
            Some(_) => return fail(format!("{key} is not an array")),
        };
        let text = |(index, item)| match item {
            Value::Text(bytes) => std::str::from_utf8(bytes)
                .or_else(|_| fail(format!("item {index} of {key} is not UTF-8"))),
            _ => fail(format!("item {index} of {key} is not a string")),
        };
        array
            .items()
            .enumerate()
            .map(text)
            .collect::<Result<_>>()
            .map(Some)
    }

    /// An array of numbers, one for each token or more (which llama.cpp allows and ignores); none
    /// if it is not there.
    fn numbers(&self, key: &str, n_tokens: usize) -> Result<Option<Vec<f64>>> {
        let array = match self.0.get(key) {
            None => return Ok(None),
            Some(Value::Array(array)) => array,
            Some(_) => return fail(format!("{key} is not an array")),
        };
        if array.len() < n_tokens {
            let len = array.len();
            return fail(format!("{key} has {len} items for {n_tokens} tokens"));
        }
        let number = |(index, item)| match item {
            Value::Integer(number) => Ok(number as f64),
            Value::Float(number) => Ok(number),
            _ => fail(format!("item {index} of {key} is not a number")),
        };
        let items = array.items().enumerate().take(n_tokens);
        items.map(number).collect::<Result<_>>().map(Some)
    }

    /// The vocabulary.
    pub(super) fn tokens(&self) -> Result<Tokens> {
        let key = "tokenizer.ggml.tokens";
        let Some(texts) = self.texts(key)? else {
            return fail(format!("it has no {key}"));
        };
        let n = texts.len();
        if n == 0 || n >= MAX_IDS as usize {
            return fail(format!("{key} has {n} items; expected 1 to {MAX_IDS}"));
        }
        let mut sorted: Vec<(&str, usize)> = texts.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let twice = sorted
            .windows(2)
            .find(|pair| pair[0].0 == pair[1].0 && !pair[0].0.is_empty());
        if let Some(pair) = twice {
            let ((text, first), (_, second)) = (pair[0], pair[1]);
            return fail(format!(
                "the token {text:?} has the ids {first} and {second}"
            ));
        }
        // llama.cpp gives tokens without a text this one.
        let named = |(text, id): (&str, usize)| match text {
            "" => format!("[EMPTY_{id}]"),
            text => text.to_owned(),
        };
        let kinds = match self.numbers("tokenizer.ggml.token_type", n)? {
            None => vec![Kind::Normal; n],
            Some(numbers) => numbers.into_iter().map(kind).collect(),
        };
        let scores = match self.numbers("tokenizer.ggml.scores", n)? {
            None => vec![0.0; n],
            Some(numbers) => numbers.into_iter().map(|score| score as f32).collect(),
        };
        Ok(Tokens {
            texts: texts.into_iter().zip(0..).map(named).collect(),
            kinds,
            scores,
        })
    }
}

fn kind(number: f64) -> Kind {
    match number as i64 {
        2 => Kind::Unknown,
        3 => Kind::Control,
        4 => Kind::UserDefined,
        5 => Kind::Unused,
        6 => Kind::Byte,
        _ => Kind::Normal,
    }
}
