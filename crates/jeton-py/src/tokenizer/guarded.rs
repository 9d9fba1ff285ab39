//! Text to ids where only some parts of the text may hold control tokens.

use jeton_core::error::ErrorKind;
use jeton_core::text::code_points::code_point_ranges;
use jeton_core::tokenizer::Trusted;
use pyo3::prelude::*;

use super::{SpecialToken, Tokenizer};
use crate::door::{SHORT_BYTES, enter, quick};
use crate::encoding::Encoding;
use crate::text::utf8;

/// The ids of a text in which only some parts may hold control tokens.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct GuardedEncoding {
    /// The ids.
    encoding: Py<Encoding>,
    /// Control tokens outside.
    refused: Vec<Py<RefusedToken>>,
}

/// A control token that stayed text.
#[pyclass(frozen, get_all, module = "jeton._core")]
pub(crate) struct RefusedToken {
    /// Its start.
    start: i64,
    /// Its end.
    end: i64,
    /// Its id.
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

#[pymethods]
impl Tokenizer {
    /// Ids of a text in which control tokens may stand only inside ``trusted_spans``.
    ///
    /// Control tokens are the special tokens and those of ``control_tokens``. Spans are (start, end) in code
    /// points. Where no other part of the text spells a control token, ids are those of
    /// ``encode(text, allow_special="all")``. What looks like one elsewhere is encoded as text whatever it takes: the
    /// unknown token alone may stand for any text that has no token. Also returned: (start, end, id)
    /// of each control token that stayed text. Raises ``UsageError`` for spans that do not fit the text,
    /// ``UnknownSpecialTokenError`` for a control token that is none of ``fixed_tokens()``.
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
        let mut control = Vec::with_capacity(control_tokens.len());
        for token in control_tokens {
            let known = self.core.fixed_token(&token);
            match known.or_else(|| self.core.name_to_token(&token)) {
                Some(id) => control.push(id),
                None => quick(py, Err(ErrorKind::UnknownSpecial { token }.into()))?,
            }
        }
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
        let (starts, ends) = code_point_ranges(text, &starts, &ends);
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

    /// Tokens that are one wherever a text has them: ``added_tokens``, and a SentencePiece model's
    /// user-defined pieces; by id.
    fn fixed_tokens(&self) -> Vec<SpecialToken> {
        let fixed = self.core.fixed_tokens();
        fixed.iter().map(SpecialToken::of).collect()
    }
}
