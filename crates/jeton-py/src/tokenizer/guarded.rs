//! Text to ids where only some parts of the text may hold control tokens.

use std::sync::Arc;

use jeton_core::error::ErrorKind;
use jeton_core::text::code_points::{CodePointRanges, code_point_ranges};
use jeton_core::tokenizer::{Tokenizer as CoreTokenizer, Trusted};
use pyo3::prelude::*;

use super::{SpecialToken, Tokenizer, Unguarded};
use crate::door::{SHORT_BYTES, enter, quick};
use crate::encoding::Encoding;
use crate::text::utf8;

/// The ids of a text in which only trusted parts may hold control tokens.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct GuardedEncoding {
    /// The ids with the range of text that each comes from.
    encoding: Py<Encoding>,
    /// Control tokens outside of the trusted parts, which stayed text.
    refused: Vec<Py<RefusedToken>>,
}

/// A control token that stayed text.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct RefusedToken {
    /// Its first code point in the text.
    start: i64,
    /// One past its last code point.
    end: i64,
    /// The id that it would have had.
    id: u32,
}

/// Ranges in code points as ranges in bytes; those beyond the text become ones that no text has.
fn in_bytes(text: &str, spans: &[(usize, usize)]) -> Vec<(usize, usize)> {
    if text.is_ascii() {
        return spans.to_vec();
    }
    let mut asked: Vec<usize> = spans
        .iter()
        .flat_map(|&(start, end)| [start, end])
        .collect();
    asked.sort_unstable();
    asked.dedup();
    let mut places = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .enumerate();
    let mut place = places.next();
    let mut found = Vec::with_capacity(asked.len());
    for &position in &asked {
        while place.is_some_and(|(index, _)| index < position) {
            place = places.next();
        }
        found.push(place.map_or(usize::MAX, |(_, at)| at));
    }
    let byte = |position: usize| {
        asked
            .binary_search(&position)
            .map_or(usize::MAX, |at| found[at])
    };
    spans
        .iter()
        .map(|&(start, end)| (byte(start), byte(end)))
        .collect()
}

impl Tokenizer {
    /// The tokenizer as it is written: without the guard, which is no part of a file.
    pub(super) fn written(&self) -> &CoreTokenizer {
        self.unguarded
            .as_ref()
            .map_or(&*self.core, |plain| &*plain.core)
    }

    /// A tokenizer derived from this one, guarded where this one is.
    pub(super) fn derived(&self, py: Python<'_>, core: CoreTokenizer) -> PyResult<Self> {
        match &self.unguarded {
            None => Ok(Self::wrap(core, None)),
            Some(plain) => Self::wrap(core, None).guard(py, plain.control.clone()),
        }
    }

    pub(super) fn guard(&self, py: Python<'_>, control: Vec<u32>) -> PyResult<Self> {
        match enter(py, |_| self.core.guarded(&control))? {
            None => Ok(self.again()),
            Some(core) => {
                let plain = Arc::clone(&self.core);
                Ok(Self {
                    name: self.name.clone(),
                    ends: self.ends.clone(),
                    fingerprint: Arc::clone(&self.fingerprint),
                    unguarded: Some(Unguarded {
                        core: plain,
                        control,
                    }),
                    ..Self::share(Arc::new(core))
                })
            }
        }
    }

    fn control_ids(&self, py: Python<'_>, tokens: Vec<String>) -> PyResult<Vec<u32>> {
        let mut control = Vec::with_capacity(tokens.len());
        for token in tokens {
            let known = self.core.fixed_token(&token);
            match known.or_else(|| self.core.name_to_token(&token)) {
                Some(id) => control.push(id),
                None => quick(py, Err(ErrorKind::UnknownSpecial { token }.into()))?,
            }
        }
        Ok(control)
    }
}

#[pymethods]
impl Tokenizer {
    /// Returns this tokenizer, but text never becomes a control token.
    ///
    /// Of a text it makes the ids of ``encode_guarded(text, [])``, as quickly as the tokenizer.
    /// Files, pickles and fingerprints are those of the tokenizer itself.
    ///
    /// Args:
    ///     control_tokens: Further tokens that count as control tokens.
    ///
    /// Raises:
    ///     UnknownSpecialTokenError: A control token is none of ``fixed_tokens()``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> tok.guarded().encode("a<|endoftext|>") == tok.encode("a<|endoftext|>")
    ///     True
    #[pyo3(signature = (*, control_tokens=Vec::new()))]
    fn guarded(&self, py: Python<'_>, control_tokens: Vec<String>) -> PyResult<Self> {
        let mut control = self.control_ids(py, control_tokens)?;
        if let Some(plain) = &self.unguarded {
            control.extend(&plain.control);
            let plain = Self {
                core: Arc::clone(&plain.core),
                unguarded: None,
                ..self.again()
            };
            return plain.guard(py, control);
        }
        self.guard(py, control)
    }

    /// Returns the ids of a text in which control tokens may stand only inside ``trusted_spans``.
    ///
    /// Control tokens are the special tokens and the tokens in ``control_tokens``. Where no other
    /// part of the text spells a control token, the ids equal
    /// ``encode(text, allow_special="all")``. A look-alike elsewhere is encoded as text at any
    /// cost: only the unknown token may stand for text that has no token.
    ///
    /// Args:
    ///     text: ``str``, or UTF-8 as ``bytes``.
    ///     trusted_spans: (start, end) of each part that may hold control tokens, in code points.
    ///     control_tokens: Further tokens that count as control tokens.
    ///
    /// Raises:
    ///     UsageError: A span does not fit the text.
    ///     UnknownSpecialTokenError: A control token is none of ``fixed_tokens()``.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> guarded = tok.encode_guarded("hi<|endoftext|>", [])
    ///     >>> 0 in guarded.encoding.ids
    ///     False
    ///     >>> [(token.start, token.end, token.id) for token in guarded.refused]
    ///     [(2, 15, 0)]
    #[pyo3(signature = (text, trusted_spans, *, control_tokens=Vec::new()))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python's list is converted to it"
    )]
    fn encode_guarded(
        &self,
        text: &Bound<'_, PyAny>,
        trusted_spans: Vec<(usize, usize)>,
        control_tokens: Vec<String>,
    ) -> PyResult<GuardedEncoding> {
        let py = text.py();
        let text = utf8(text)?;
        let control = self.control_ids(py, control_tokens)?;
        let encode = || {
            let trusted = Trusted::new(text, in_bytes(text, &trusted_spans))?;
            self.core.encode_guarded(text, &trusted, &control)
        };
        let guarded = if text.len() <= SHORT_BYTES {
            quick(py, encode())?
        } else {
            enter(py, |_| encode())?
        };
        let starts: Vec<usize> = guarded.refused.iter().map(|found| found.start).collect();
        let ends: Vec<usize> = guarded.refused.iter().map(|found| found.end).collect();
        let CodePointRanges { starts, ends } = code_point_ranges(text, &starts, &ends);
        let ids = guarded.refused.iter().map(|found| found.id);
        let refused = starts.into_iter().zip(ends).zip(ids);
        let refused = refused
            .map(|((start, end), id)| Py::new(py, RefusedToken { start, end, id }))
            .collect::<PyResult<_>>()?;
        Ok(GuardedEncoding {
            encoding: Py::new(py, Encoding::new(guarded.encoding, text))?,
            refused,
        })
    }

    /// Returns tokens that are one wherever a text has them, by id.
    ///
    /// They are ``added_tokens`` and a SentencePiece model's user-defined pieces.
    ///
    /// Example:
    ///     >>> import jeton
    ///     >>> tok = jeton.load("jeton-general-32k")
    ///     >>> [token.content for token in tok.fixed_tokens()]
    ///     ['<|endoftext|>']
    fn fixed_tokens(&self) -> Vec<SpecialToken> {
        let fixed = self.core.fixed_tokens();
        fixed.iter().map(SpecialToken::of).collect()
    }
}
