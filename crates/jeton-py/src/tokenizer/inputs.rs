//! Texts and ids to what a model takes.

use jeton_core::documents::token_batch::TokenBatch as CoreTokenBatch;
use jeton_core::error::ErrorKind;
use jeton_core::inputs::arrays::PerToken;
use jeton_core::inputs::template::Template;
use jeton_core::inputs::{InputOptions, Layout, Side};
use jeton_core::tokenizer::SpanBatch;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

use super::Tokenizer;
use super::input_options::{Asked, id_type, usage};
use crate::batch::{Texts, TokenBatch};
use crate::door::{enter, threads};
use crate::error::to_python;
use crate::model_inputs::{IdType, LazyArrays, ModelInputs, Places, ids_array, shaped};

impl Tokenizer {
    /// Ids of rows that a caller gives, each of them one that has a token.
    fn given_ids(&self, rows: &Bound<'_, PyAny>, name: &str) -> PyResult<CoreTokenBatch> {
        let py = rows.py();
        if let Ok(batch) = rows.cast::<TokenBatch>() {
            let batch = batch.get().to_core();
            self.check_ids(py, &batch.ids)?;
            return Ok(batch);
        }
        let mut batch = CoreTokenBatch::default();
        batch.offsets.push(0);
        for row in rows.try_iter()? {
            let row = row?;
            if row.is_instance_of::<PyInt>() {
                return Err(pyo3::exceptions::PyTypeError::new_err(format!(
                    "{name} must be several lists of ids, not one; put it into a list"
                )));
            }
            let ids = self.collect_ids(&row)?;
            self.check_ids(py, &ids)?;
            batch.ids.extend(ids);
            batch.offsets.push(batch.ids.len() as i64);
        }
        Ok(batch)
    }

    fn check_ids(&self, py: Python<'_>, ids: &[u32]) -> PyResult<()> {
        let vocab = self.core.vocab();
        let unknown = ids.iter().find(|&&id| vocab.id_to_bytes(id).is_none());
        match unknown {
            None => Ok(()),
            Some(&id) => {
                let vocab_size = u64::from(vocab.size());
                let id = u64::from(id);
                Err(to_python(
                    py,
                    &ErrorKind::UnknownId { id, vocab_size }.into(),
                ))
            }
        }
    }

    fn lay_out(
        &self,
        py: Python<'_>,
        options: &InputOptions,
        id_type: IdType,
        (first, second): (&CoreTokenBatch, Option<&CoreTokenBatch>),
        threads: usize,
    ) -> PyResult<ModelInputs> {
        let n_first = first.offsets.len() - 1;
        if let Some(second) = second
            && second.offsets.len() - 1 != n_first
        {
            let n_second = second.offsets.len() - 1;
            return Err(usage(
                py,
                format!(
                    "there are {n_first} first texts and {n_second} second ones; expected one for each"
                ),
            ));
        }
        let layout = enter(py, |_| {
            let lengths = |batch: &CoreTokenBatch| -> Vec<usize> {
                let pairs = batch.offsets.windows(2);
                let length = |pair: &[i64]| usize::try_from(pair[1] - pair[0]).unwrap_or(0);
                pairs.map(length).collect()
            };
            let second = second.map(lengths);
            let mut second = second.map(Vec::into_iter);
            let second: Option<&mut dyn Iterator<Item = usize>> = match &mut second {
                Some(second) => Some(second),
                None => None,
            };
            let first = lengths(first).into_iter();
            Layout::new(self.core.template(), options, first, second)
        })?;
        let largest = layout.largest_value().max(self.core.vocab().size());
        let input_ids = match id_type {
            IdType::Int64 => ids_array::<i64>(py, &layout, first, second, threads)?,
            IdType::Int32 if i32::try_from(largest).is_err() => {
                return Err(usage(
                    py,
                    format!(
                        "dtype is \"int32\", but ids or token types go up to {largest}\nhint: dtype=\"int64\""
                    ),
                ));
            }
            IdType::Int32 => ids_array::<i32>(py, &layout, first, second, threads)?,
        };
        let padding = options.padding.as_ref();
        Ok(ModelInputs {
            pads_left: padding.is_some_and(|padding| padding.direction == Side::Left),
            layout,
            id_type,
            threads,
            input_ids,
            places: None,
            made: LazyArrays::nothing(),
        })
    }
}

fn places(
    py: Python<'_>,
    inputs: &ModelInputs,
    (first, second): (&SpanBatch, Option<&SpanBatch>),
) -> PyResult<Places> {
    let both = [Some(first), second];
    let of = |values: fn(&SpanBatch) -> &[i64], missing: i64, opening: fn(&SpanBatch) -> &[i64]| {
        let with = |values: fn(&SpanBatch) -> &[i64]| {
            both.map(|batch| {
                let batch = batch?;
                let (values, offsets) = (values(batch), batch.tokens.offsets.as_slice());
                (values.len() == batch.tokens.ids.len()).then_some(PerToken { values, offsets })
            })
        };
        let (values, opening) = (with(values), with(opening));
        let numbers = enter(py, |_| {
            inputs
                .layout
                .per_token(values, opening, missing, inputs.threads)
        })?;
        shaped(py, &inputs.layout, numbers)
    };
    Ok(Places {
        starts: of(|batch| &batch.starts, 0, |batch| &batch.opening_starts)?,
        ends: of(|batch| &batch.ends, 0, |batch| &batch.opening_ends)?,
        word_ids: of(|batch| &batch.word_ids, -1, |batch| &batch.word_ids)?,
    })
}

#[pymethods]
impl Tokenizer {
    /// Texts, or pairs of texts, as the arrays that a model takes: equal to ``transformers`` 5.23
    /// with the same settings.
    ///
    /// Args:
    ///     texts: The first or only texts.
    ///     pairs: The second texts, one for each first text.
    ///     add_special_tokens: Put the template's tokens around the texts (``with_template`` gives
    ///         one to a tokenizer whose file has none).
    ///     allow_special: Special tokens that may stand in the texts; others stay text.
    ///     padding: "longest" (or True) fills rows up to the longest of them, "max_length" to
    ///         ``max_length``; "file" does what the tokenizer's file says, which may be nothing;
    ///         else rows stay as long as they are.
    ///     truncation: "longest_first" (or True) takes tokens from the longer text of a pair,
    ///         "only_first" and "only_second" from that one alone; "file" does what the tokenizer's
    ///         file says, which may be nothing.
    ///     max_length: Most ids in a row, the template's included.
    ///     stride: Tokens that neighbouring windows share; 0 (with ``truncation="file"`` the
    ///         file's) unless it is given. No effect without ``overflow``.
    ///     overflow: Gives the rest of a cut text in rows of its own, behind the first row. Each
    ///         row has the template. Two cut texts give every window of one with every window
    ///         of the other.
    ///     pad_to_multiple_of: Round the number of columns up to a multiple of this.
    ///     padding_side: The side that is filled; the file's, or else "right".
    ///     truncation_side: The side that is cut; "right" (with ``truncation="file"`` the file's)
    ///         unless it is given.
    ///     pad_token: The token that fills, as text or id; the file's, or else the special token
    ///         that is called ``[PAD]``, ``<pad>`` or the like.
    ///     pad_type_id: The token type of padding; the file's, or else 0.
    ///     offsets: Tell where tokens come from: ``starts``, ``ends`` and ``word_ids``.
    ///     dtype: Type of the ids, the mask, the types and the positions.
    ///     num_threads: All that this process may use unless it is given. The result does not
    ///         depend on it.
    ///
    /// Raises:
    ///     UsageError: For settings that contradict one another, texts that cannot be cut as asked,
    ///         more than 2**31 - 1 ids with padding and overlaps (``LimitError``), and what
    ///         ``encode_batch`` raises.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> texts = ["Hello", "Hello there"]
    ///     >>> inputs = tok.model_inputs(texts, padding=True, pad_token="<|endoftext|>")
    ///     >>> inputs.input_ids.shape
    ///     (2, 2)
    ///     >>> inputs.attention_mask.tolist()
    ///     [[1, 0], [1, 1]]
    #[allow(clippy::too_many_arguments)] // those of the libraries that people come from
    #[pyo3(signature = (texts, pairs=None, *, add_special_tokens=true, allow_special=None, padding=None,
        truncation=None, max_length=None, stride=None, overflow=false, pad_to_multiple_of=None, padding_side=None,
        truncation_side=None, pad_token=None, pad_type_id=None, offsets=false, dtype="int64", num_threads=None))]
    fn model_inputs(
        &self,
        texts: &Bound<'_, PyAny>,
        pairs: Option<&Bound<'_, PyAny>>,
        add_special_tokens: bool,
        allow_special: Option<&Bound<'_, PyAny>>,
        padding: Option<&Bound<'_, PyAny>>,
        truncation: Option<&Bound<'_, PyAny>>,
        max_length: Option<&Bound<'_, PyAny>>,
        stride: Option<&Bound<'_, PyAny>>,
        overflow: bool,
        pad_to_multiple_of: Option<&Bound<'_, PyAny>>,
        padding_side: Option<&str>,
        truncation_side: Option<&str>,
        pad_token: Option<&Bound<'_, PyAny>>,
        pad_type_id: Option<&Bound<'_, PyAny>>,
        offsets: bool,
        dtype: &str,
        num_threads: Option<isize>,
    ) -> PyResult<ModelInputs> {
        let py = texts.py();
        let none = py.None().into_bound(py);
        let asked = Asked {
            add_special_tokens,
            padding: padding.unwrap_or(&none),
            truncation: truncation.unwrap_or(&none),
            max_length,
            stride,
            overflow,
            pad_to_multiple_of,
            padding_side,
            truncation_side,
            pad_token,
            pad_type_id,
        };
        let options = self.options(py, &asked)?;
        let id_type = id_type(py, dtype)?;
        let threads = threads(num_threads)?;
        let allow = self.allow(allow_special)?;
        let first = Texts::new(texts)?;
        let second = pairs.map(Texts::new).transpose()?;
        if offsets {
            let spans = |held: &Texts<'_>| {
                let documents = held.get();
                enter(py, |keep_going| {
                    self.core
                        .encode_spans_batch(documents, &allow, threads, keep_going)
                })
            };
            let first = spans(&first)?;
            let second = second.as_ref().map(spans).transpose()?;
            let tokens = (&first.tokens, second.as_ref().map(|second| &second.tokens));
            let mut inputs = self.lay_out(py, &options, id_type, tokens, threads)?;
            inputs.places = Some(places(py, &inputs, (&first, second.as_ref()))?);
            return Ok(inputs);
        }
        let tokens = |held: &Texts<'_>| {
            let documents = held.get();
            enter(py, |keep_going| {
                self.core
                    .encode_batch(documents, &allow, false, threads, keep_going)
            })
        };
        let first = tokens(&first)?;
        let second = second.as_ref().map(tokens).transpose()?;
        self.lay_out(py, &options, id_type, (&first, second.as_ref()), threads)
    }

    /// Returns ``model_inputs`` of texts that are ids already, a chat's for instance.
    ///
    /// Where the ids have all their special tokens, ``add_special_tokens=False`` adds no others.
    ///
    /// Raises:
    ///     UnknownTokenIdError: An id has no token.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> ids = [tok.encode("Hello"), tok.encode("Hello there")]
    ///     >>> tok.model_inputs_from_ids(ids).lengths.tolist()
    ///     [1, 2]
    #[allow(clippy::too_many_arguments)] // as above
    #[pyo3(signature = (ids, pair_ids=None, *, add_special_tokens=true, padding=None, truncation=None,
        max_length=None, stride=None, overflow=false, pad_to_multiple_of=None, padding_side=None,
        truncation_side=None, pad_token=None, pad_type_id=None, dtype="int64", num_threads=None))]
    fn model_inputs_from_ids(
        &self,
        ids: &Bound<'_, PyAny>,
        pair_ids: Option<&Bound<'_, PyAny>>,
        add_special_tokens: bool,
        padding: Option<&Bound<'_, PyAny>>,
        truncation: Option<&Bound<'_, PyAny>>,
        max_length: Option<&Bound<'_, PyAny>>,
        stride: Option<&Bound<'_, PyAny>>,
        overflow: bool,
        pad_to_multiple_of: Option<&Bound<'_, PyAny>>,
        padding_side: Option<&str>,
        truncation_side: Option<&str>,
        pad_token: Option<&Bound<'_, PyAny>>,
        pad_type_id: Option<&Bound<'_, PyAny>>,
        dtype: &str,
        num_threads: Option<isize>,
    ) -> PyResult<ModelInputs> {
        let py = ids.py();
        let none = py.None().into_bound(py);
        let asked = Asked {
            add_special_tokens,
            padding: padding.unwrap_or(&none),
            truncation: truncation.unwrap_or(&none),
            max_length,
            stride,
            overflow,
            pad_to_multiple_of,
            padding_side,
            truncation_side,
            pad_token,
            pad_type_id,
        };
        let options = self.options(py, &asked)?;
        let id_type = id_type(py, dtype)?;
        let threads = threads(num_threads)?;
        let first = self.given_ids(ids, "ids")?;
        let second = pair_ids
            .map(|ids| self.given_ids(ids, "pair_ids"))
            .transpose()?;
        self.lay_out(py, &options, id_type, (&first, second.as_ref()), threads)
    }

    /// Returns the tokenizer with other special tokens around texts.
    ///
    /// The notation comes from ``tokenizers``: ``"[CLS] $A [SEP]"`` and
    /// ``"[CLS] $A [SEP] $B:1 [SEP]:1"``. ``$A`` and ``$B`` are the texts, a number behind a colon
    /// is a token type. A list takes tokens that have spaces. Without ``pair`` both texts are
    /// wrapped as the single one is.
    ///
    /// The new tokenizer has no name and its own fingerprint.
    ///
    /// Raises:
    ///     UsageError: A part is neither a text nor a token of the vocabulary.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> framed = tok.with_template("$A <|endoftext|>")
    ///     >>> framed.encode("Hello", add_special_tokens=True)[-1]
    ///     0
    #[pyo3(signature = (single, pair=None))]
    fn with_template(
        &self,
        single: &Bound<'_, PyAny>,
        pair: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = single.py();
        let parts = |value: &Bound<'_, PyAny>| -> PyResult<Vec<String>> {
            match value.cast::<PyString>() {
                Ok(text) => Ok(text
                    .to_str()?
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect()),
                Err(_) => value
                    .try_iter()?
                    .map(|part| part?.extract::<String>())
                    .collect(),
            }
        };
        let single = parts(single)?;
        let pair = pair.map(parts).transpose()?;
        let core = enter(py, |_| {
            let single: Vec<&str> = single.iter().map(String::as_str).collect();
            let pair: Option<Vec<&str>> = pair
                .as_ref()
                .map(|parts| parts.iter().map(String::as_str).collect());
            let template = Template::parse(&single, pair.as_deref(), &|text| self.id_of(text))?;
            self.written().with_template(template)
        })?;
        self.derived(py, core)
    }
}
