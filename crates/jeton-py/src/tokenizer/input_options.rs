//! Settings of model inputs as the caller asks: checked, and completed by the file's own.

use jeton_core::error::Error;
use jeton_core::inputs::{InputOptions, Padding, Side, Truncation, TruncationStrategy};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

use super::Tokenizer;
use crate::error::{to_python, unknown_id};
use crate::model_inputs::IdType;

/// Special tokens that fill, as published tokenizers name them (BERT; T5 and Gemma; Falcon 3;
/// GPT-NeoX; Llama 3; Llama 4; Command R), as of 2026-11. One that also ends texts is never taken
/// unasked.
const PAD_TOKENS: [&str; 7] = [
    "[PAD]",
    "<pad>",
    "<|pad|>",
    "<|padding|>",
    "<|finetune_right_pad_id|>",
    "<|finetune_right_pad|>",
    "<PAD>",
];

/// The arguments that say how texts are cut and filled up.
pub(super) struct Asked<'a, 'py> {
    pub(super) add_special_tokens: bool,
    pub(super) padding: &'a Bound<'py, PyAny>,
    pub(super) truncation: &'a Bound<'py, PyAny>,
    pub(super) max_length: Option<&'a Bound<'py, PyAny>>,
    pub(super) stride: Option<&'a Bound<'py, PyAny>>,
    pub(super) overflow: bool,
    pub(super) pad_to_multiple_of: Option<&'a Bound<'py, PyAny>>,
    pub(super) padding_side: Option<&'a str>,
    pub(super) truncation_side: Option<&'a str>,
    pub(super) pad_token: Option<&'a Bound<'py, PyAny>>,
    pub(super) pad_type_id: Option<&'a Bound<'py, PyAny>>,
}

pub(super) fn usage(py: Python<'_>, reason: impl Into<String>) -> PyErr {
    to_python(py, &Error::usage(reason))
}

/// A whole number of at least so much.
pub(super) fn whole(value: &Bound<'_, PyAny>, name: &str, least: u64) -> PyResult<u64> {
    let number = match value.extract::<u64>() {
        Ok(number) => Some(number),
        Err(error) if !value.is_instance_of::<PyInt>() => return Err(error),
        Err(_) => None,
    };
    number.filter(|&number| number >= least).ok_or_else(|| {
        usage(
            value.py(),
            format!("{name} is {value}; expected {least} or more"),
        )
    })
}

fn side(py: Python<'_>, name: &str, value: &str) -> PyResult<Side> {
    match value {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        _ => Err(usage(
            py,
            format!("{name} is {value:?}; expected \"left\" or \"right\""),
        )),
    }
}

pub(super) fn id_type(py: Python<'_>, dtype: &str) -> PyResult<IdType> {
    match dtype {
        "int32" => Ok(IdType::Int32),
        "int64" => Ok(IdType::Int64),
        _ => Err(usage(
            py,
            format!("dtype is {dtype:?}; expected \"int64\" or \"int32\""),
        )),
    }
}

/// A switch or the name of a way: None, True or the name.
enum Way {
    Off,
    On,
    Named(String),
}

fn way(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<Way> {
    if value.is_none() {
        return Ok(Way::Off);
    }
    if let Ok(switch) = value.cast::<PyBool>() {
        return Ok(if switch.is_true() { Way::On } else { Way::Off });
    }
    match value.cast::<PyString>() {
        Ok(name) => Ok(Way::Named(name.to_string())),
        Err(_) => Err(wrong_way(value, name, expected)),
    }
}

fn wrong_way(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let shown = value
        .repr()
        .map_or_else(|_| "?".to_owned(), |shown| shown.to_string());
    usage(
        value.py(),
        format!("{name} is {shown}; expected {expected}"),
    )
}

const TRUNCATIONS: &str =
    "False, True, \"longest_first\", \"only_first\", \"only_second\" or \"file\"";
const PADDINGS: &str = "False, True, \"longest\", \"max_length\" or \"file\"";

impl Tokenizer {
    pub(super) fn options(&self, py: Python<'_>, asked: &Asked<'_, '_>) -> PyResult<InputOptions> {
        let max_length = asked.max_length.map(|value| whole(value, "max_length", 0));
        let max_length = max_length.transpose()?;
        let truncation = self.truncation(py, asked, max_length)?;
        let padding = self.padding(py, asked, max_length)?;
        let fixed = padding.as_ref().and_then(|padding| padding.fixed_length);
        if let Some(length) = max_length
            && truncation.is_none()
            && fixed != Some(length)
        {
            return Err(usage(
                py,
                format!(
                    "max_length is {length}, but nothing is to be done with it\n\
                     hint: truncation=\"longest_first\" cuts longer texts, padding=\"max_length\" fills shorter ones"
                ),
            ));
        }
        if let (Some(how), Some(padding)) = (&truncation, &padding)
            && let Some(multiple) = padding.pad_to_multiple_of.filter(|&multiple| multiple > 0)
            && how.max_length % multiple != 0
            && max_length.is_some()
        {
            return Err(usage(
                py,
                format!(
                    "max_length is {}, which is no multiple of pad_to_multiple_of {multiple}: rows would become longer \
                     than the model may take\n\
                     hint: a max_length of {} or {}",
                    how.max_length,
                    how.max_length / multiple * multiple,
                    how.max_length.div_ceil(multiple).saturating_mul(multiple),
                ),
            ));
        }
        Ok(InputOptions {
            add_special_tokens: asked.add_special_tokens,
            truncation,
            overflow: asked.overflow,
            padding,
        })
    }

    fn truncation(
        &self,
        py: Python<'_>,
        asked: &Asked<'_, '_>,
        max_length: Option<u64>,
    ) -> PyResult<Option<Truncation>> {
        let stride = asked
            .stride
            .map(|value| whole(value, "stride", 0))
            .transpose()?;
        let direction = asked
            .truncation_side
            .map(|value| side(py, "truncation_side", value));
        let direction = direction.transpose()?;
        let strategy = match way(asked.truncation, "truncation", TRUNCATIONS)? {
            Way::Off => return Ok(None),
            Way::On => TruncationStrategy::LongestFirst,
            Way::Named(name) => match name.as_str() {
                "longest_first" => TruncationStrategy::LongestFirst,
                "only_first" => TruncationStrategy::OnlyFirst,
                "only_second" => TruncationStrategy::OnlySecond,
                "file" => {
                    return Ok(self.core.truncation().map(|file| Truncation {
                        max_length: max_length.unwrap_or(file.max_length),
                        stride: stride.unwrap_or(file.stride),
                        strategy: file.strategy,
                        direction: direction.unwrap_or(file.direction),
                    }));
                }
                _ => return Err(wrong_way(asked.truncation, "truncation", TRUNCATIONS)),
            },
        };
        let Some(max_length) = max_length else {
            let hint = match self.core.truncation() {
                Some(file) => format!(
                    "truncation=\"file\" takes the file's own, {} tokens",
                    file.max_length
                ),
                None => "max_length=512, say; the context length of the model bounds it".to_owned(),
            };
            return Err(usage(
                py,
                format!(
                    "truncation is \"{}\", but max_length is not given\nhint: {hint}",
                    strategy.name()
                ),
            ));
        };
        Ok(Some(Truncation {
            max_length,
            stride: stride.unwrap_or(0),
            strategy,
            direction: direction.unwrap_or(Side::Right),
        }))
    }

    fn padding(
        &self,
        py: Python<'_>,
        asked: &Asked<'_, '_>,
        max_length: Option<u64>,
    ) -> PyResult<Option<Padding>> {
        let direction = asked
            .padding_side
            .map(|value| side(py, "padding_side", value));
        let direction = direction.transpose()?;
        let multiple = asked.pad_to_multiple_of;
        let multiple = multiple
            .map(|value| whole(value, "pad_to_multiple_of", 1))
            .transpose()?;
        let type_id = asked
            .pad_type_id
            .map(|value| whole(value, "pad_type_id", 0))
            .transpose()?;
        let type_id = type_id.map(|type_id| {
            u32::try_from(type_id).map_err(|_| {
                usage(
                    py,
                    format!("pad_type_id is {type_id}; expected less than 2**32"),
                )
            })
        });
        let type_id = type_id.transpose()?;
        let file = self.core.padding();
        let mut from_file = false;
        let fixed_length = match way(asked.padding, "padding", PADDINGS)? {
            Way::Off => return Ok(None),
            Way::On => None,
            Way::Named(name) => match name.as_str() {
                "longest" => None,
                "max_length" => Some(max_length.ok_or_else(|| {
                    usage(
                        py,
                        "padding is \"max_length\", but max_length is not given\n\
                         hint: padding=\"longest\" makes rows as long as the longest of the batch",
                    )
                })?),
                "file" => {
                    let Some(file) = file else {
                        return Ok(None);
                    };
                    from_file = true;
                    file.fixed_length
                }
                _ => return Err(wrong_way(asked.padding, "padding", PADDINGS)),
            },
        };
        // The token that fills is a fact about the tokenizer; how long rows become is asked for.
        let pad_id = match (asked.pad_token, file) {
            (Some(given), _) => self.token_id(given, "pad_token")?,
            (None, Some(file)) => file.pad_id,
            (None, None) => self.usual_pad_id(py)?,
        };
        Ok(Some(Padding {
            fixed_length,
            direction: direction
                .or(file.map(|file| file.direction))
                .unwrap_or(Side::Right),
            pad_to_multiple_of: multiple.or(file
                .filter(|_| from_file)
                .and_then(|file| file.pad_to_multiple_of)),
            pad_id,
            pad_type_id: type_id.or(file.map(|file| file.pad_type_id)).unwrap_or(0),
            pad_token: String::new(), // only its id is written
        }))
    }

    fn usual_pad_id(&self, py: Python<'_>) -> PyResult<u32> {
        let tokens = self.core.added_tokens();
        let found = PAD_TOKENS
            .iter()
            .find_map(|name| tokens.iter().find(|token| token.content == *name));
        found.map(|token| token.id).ok_or_else(|| {
            usage(
                py,
                "rows are to be padded, but this tokenizer has no token for it\n\
                 hint: pad_token=\"<|endoftext|>\" takes that one; any will do, for the attention mask leaves it out",
            )
        })
    }

    /// The id of a token that is given as its text or its id.
    pub(super) fn token_id(&self, token: &Bound<'_, PyAny>, name: &str) -> PyResult<u32> {
        let py = token.py();
        let vocab = self.core.vocab();
        if let Ok(text) = token.cast::<PyString>() {
            let text = text.to_str()?;
            return self.id_of(text).ok_or_else(|| {
                usage(
                    py,
                    format!("{name} is {text:?}, which is no token of this tokenizer\nhint: `special_tokens` lists the special ones"),
                )
            });
        }
        let Ok(number) = token.extract::<i128>() else {
            if token.is_instance_of::<PyInt>() {
                return Err(unknown_id(token, vocab.size()));
            }
            return Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "{name} must be a token's text or its id, not {token:?}"
            )));
        };
        let id = u32::try_from(number).ok();
        id.filter(|&id| vocab.id_to_bytes(id).is_some())
            .ok_or_else(|| unknown_id(token, vocab.size()))
    }

    /// The id of a special or added token, or of any other, by its text.
    pub(super) fn id_of(&self, text: &str) -> Option<u32> {
        let mut tokens = self.core.added_tokens().iter();
        let added = tokens.find(|token| token.content == text);
        added
            .map(|token| token.id)
            .or_else(|| self.core.vocab().bytes_to_id(text.as_bytes()))
    }
}
