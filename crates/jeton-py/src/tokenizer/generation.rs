//! Ids that models may generate, and ids that no text gives.

use jeton_core::error::Error;
use jeton_core::tokenizer::NeverGenerated;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::Tokenizer;
use crate::door::enter;
use crate::error::to_python;

/// Most rows of an output layer: far above any model's, and a bound to what a wrong number
/// allocates.
const MAX_ROWS: u64 = 1 << 28;

/// First place at which ids differ from the ids that the tokenizer gives to their text.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct NoncanonicalIds {
    /// Index of the first id that differs.
    position: usize,
    /// The ids from there to the next place at which both spellings have written the same bytes (to
    /// the last difference, where decoding does not join bytes).
    ids: Vec<u32>,
    /// The ids that the tokenizer has there.
    canonical_ids: Vec<u32>,
}

#[pymethods]
impl NoncanonicalIds {
    fn __repr__(&self) -> String {
        format!(
            "<jeton.NoncanonicalIds at {}: {:?} instead of {:?}>",
            self.position, self.ids, self.canonical_ids
        )
    }
}

impl Tokenizer {
    fn forbidden(
        &self,
        py: Python<'_>,
        vocab_size: Option<&Bound<'_, PyAny>>,
        allow: Option<&Bound<'_, PyAny>>,
        allow_unknown: bool,
        allow_byte_tokens: bool,
    ) -> PyResult<Vec<bool>> {
        let own = u64::from(self.core.vocab().size());
        let size = match vocab_size {
            None => own,
            Some(value) => {
                let size = super::input_options::whole(value, "vocab_size", 1)?;
                if size > MAX_ROWS {
                    let reason = format!("vocab_size is {size}; expected at most {MAX_ROWS}");
                    return Err(to_python(py, &Error::usage(reason)));
                }
                size
            }
        };
        let allowed = match allow {
            None => self.end_ids(),
            Some(given) if given.is_instance_of::<PyString>() => {
                return Err(pyo3::exceptions::PyTypeError::new_err(
                    "allow must be several tokens; put a single one into a list",
                ));
            }
            Some(given) => given
                .try_iter()?
                .map(|token| self.token_id(&token?, "a token in allow"))
                .collect::<PyResult<_>>()?,
        };
        let how = NeverGenerated {
            allowed,
            unknown: allow_unknown,
            bytes: allow_byte_tokens,
        };
        enter(py, |_| {
            Ok(self
                .core
                .never_generated(usize::try_from(size).unwrap_or(usize::MAX), &how))
        })
    }
}

#[pymethods]
impl Tokenizer {
    /// Returns the ids that a model must never generate: bool (vocab_size,), True where it must
    /// not.
    ///
    /// They are: special tokens; ids without a token, rows behind the vocabulary too; tokens
    /// reserved by name (``[unused1]``, ``<|reserved_special_token_1|>``); tokens marked unused in
    /// a SentencePiece model; the token for unknown text.
    ///
    /// Args:
    ///     vocab_size: Rows of the model's output layer; the tokenizer's own unless it is given.
    ///     allow: Tokens that may be generated in any case, as texts or ids; ``end_token_ids``
    ///         unless it is given. With ``allow=()`` no text ever ends.
    ///     allow_unknown: Lets the token for unknown text be generated.
    ///     allow_byte_tokens: Lets tokens of single bytes (``<0x0A>``) be generated.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.never_generated_mask(vocab_size=32_064).sum()
    ///     np.int64(64)
    ///     >>> tok.never_generated_mask(allow=()).sum()
    ///     np.int64(1)
    #[pyo3(signature = (vocab_size=None, *, allow=None, allow_unknown=false, allow_byte_tokens=true))]
    fn never_generated_mask<'py>(
        &self,
        py: Python<'py>,
        vocab_size: Option<&Bound<'_, PyAny>>,
        allow: Option<&Bound<'_, PyAny>>,
        allow_unknown: bool,
        allow_byte_tokens: bool,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mask = self.forbidden(py, vocab_size, allow, allow_unknown, allow_byte_tokens)?;
        Ok(mask.into_pyarray(py))
    }

    /// Returns ``never_generated_mask`` as numbers to add to logits: 0, and minus infinity where
    /// True.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.never_generated_bias(allow=())[:2].tolist()
    ///     [-inf, 0.0]
    #[pyo3(signature = (vocab_size=None, *, allow=None, allow_unknown=false, allow_byte_tokens=true, dtype="float32"))]
    fn never_generated_bias<'py>(
        &self,
        py: Python<'py>,
        vocab_size: Option<&Bound<'_, PyAny>>,
        allow: Option<&Bound<'_, PyAny>>,
        allow_unknown: bool,
        allow_byte_tokens: bool,
        dtype: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !["float16", "float32", "float64"].contains(&dtype) {
            let reason =
                format!("dtype is {dtype:?}; expected \"float16\", \"float32\" or \"float64\"");
            return Err(to_python(py, &Error::usage(reason)));
        }
        let mask = self.forbidden(py, vocab_size, allow, allow_unknown, allow_byte_tokens)?;
        let added = |&forbidden: &bool| if forbidden { f32::NEG_INFINITY } else { 0.0 };
        let bias: Vec<f32> = mask.iter().map(added).collect();
        let bias = bias.into_pyarray(py).into_any();
        match dtype {
            "float32" => Ok(bias),
            other => bias.call_method1("astype", (other,)),
        }
    }

    /// Ids of tokens that end a text or a turn.
    ///
    /// They are the end token and the ids in generation_config.json of the folder that the
    /// tokenizer was loaded from, special tokens of published names, and a SentencePiece model's
    /// end of sentence.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.end_token_ids
    ///     [0]
    #[getter]
    fn end_token_ids(&self) -> Vec<u32> {
        self.end_ids()
    }

    /// Returns the ids that the tokenizer gives to the text of some ids.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> ids = [tok.bytes_to_id(b"th"), tok.bytes_to_id(b"ere")]
    ///     >>> tok.canonical_ids(ids) == tok.encode("there")
    ///     True
    fn canonical_ids(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let given = self.collect_ids(ids)?;
        enter(ids.py(), |_| self.core.canonical_ids(&given))
    }

    /// Returns True if the tokenizer gives these ids to their text: ``encode(decode(ids)) == ids``.
    ///
    /// Special tokens among the ids stay special.
    ///
    /// Raises:
    ///     UnknownTokenIdError: An id has no token.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.is_canonical(tok.encode("there"))
    ///     True
    ///     >>> tok.is_canonical([tok.bytes_to_id(b"th"), tok.bytes_to_id(b"ere")])
    ///     False
    fn is_canonical(&self, ids: &Bound<'_, PyAny>) -> PyResult<bool> {
        let given = self.collect_ids(ids)?;
        let canonical = enter(ids.py(), |_| self.core.canonical_ids(&given))?;
        Ok(canonical == given)
    }

    /// Returns the first place at which ids are not canonical, with the ids that belong there.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> found = tok.first_noncanonical([tok.bytes_to_id(b"th"), tok.bytes_to_id(b"ere")])
    ///     >>> found.position, found.canonical_ids == tok.encode("there")
    ///     (0, True)
    ///     >>> tok.first_noncanonical(tok.encode("there")) is None
    ///     True
    fn first_noncanonical(&self, ids: &Bound<'_, PyAny>) -> PyResult<Option<NoncanonicalIds>> {
        let given = self.collect_ids(ids)?;
        let found = enter(ids.py(), |_| self.core.first_noncanonical(&given))?;
        Ok(found.map(|found| NoncanonicalIds {
            position: found.position,
            ids: found.ids,
            canonical_ids: found.canonical,
        }))
    }
}
