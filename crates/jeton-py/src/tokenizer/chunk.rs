//! Texts divided under a token budget.

use std::ops::Range;

use jeton_chunk::{
    Chunk, Failure, Language, Settings, Source, cut, scan_sentences, scan_structure,
};
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::special::Allow;
use jeton_core::text::code_points::code_point_ranges;
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Tokenizer;
use crate::door::enter;
use crate::text::utf8;

type Boundaries<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>);
type Spans<'py> = (Bound<'py, PyArray1<i64>>, Option<(usize, usize)>);

/// Text around each chunk when it is sent.
struct Frame {
    /// First byte of the text at which a head stands before chunks, rising.
    head_starts: Vec<usize>,
    heads: Vec<String>,
    /// Tokens of each head with the tail alone.
    head_tokens: Vec<usize>,
    tail: String,
    add_special_tokens: bool,
    trim: bool,
}

struct Counter<'a> {
    core: &'a CoreTokenizer,
    text: &'a str,
    frame: &'a Frame,
    sent: String,
    keep_going: &'a mut dyn FnMut() -> bool,
}

impl Frame {
    fn head(&self, start: usize) -> Option<usize> {
        self.head_starts
            .partition_point(|&at| at <= start)
            .checked_sub(1)
    }

    /// Returns the part of a chunk that is sent: without the white space around it, if so wished.
    fn kept(&self, text: &str, range: Range<usize>) -> Range<usize> {
        if !self.trim {
            return range;
        }
        let part = &text[range.clone()];
        let start = range.start + (part.len() - part.trim_start().len());
        start..start.max(range.start + part.trim_end().len())
    }

    fn count(&self, core: &CoreTokenizer, sent: &str) -> Result<usize> {
        let n_ids = core.count(sent, &Allow::None)?;
        let n_ids = if self.add_special_tokens {
            core.template_size().with(n_ids)
        } else {
            n_ids
        };
        Ok(n_ids as usize)
    }
}

impl Source for Counter<'_> {
    type Error = Error;

    fn token_ends(&mut self, part: Range<usize>) -> Result<Vec<usize>> {
        if !(self.keep_going)() {
            return Err(ErrorKind::Interrupted.into());
        }
        let text = &self.text[part.clone()];
        if self.core.keeps_text() {
            let mut ends = Vec::new();
            self.core.with_ids(text, &Allow::None, false, |ids| {
                let mut at = part.start;
                ends.reserve(ids.len());
                ends.extend(ids.iter().map(|&id| {
                    at += self.core.token_text(id).map_or(0, <[u8]>::len);
                    at
                }));
            })?;
            if ends.last().copied().unwrap_or(part.start) == part.end {
                return Ok(ends);
            }
        }
        let encoding = self
            .core
            .encode_with_offsets(text, &Allow::None, false, false)?;
        let mut last = 0;
        let rising = encoding.ends.into_iter().map(|end| {
            last = last.max(end);
            part.start + last
        });
        Ok(rising.collect())
    }

    fn count(&mut self, chunk: Range<usize>) -> Result<usize> {
        let head = self.frame.head(chunk.start);
        let part = &self.text[self.frame.kept(self.text, chunk)];
        let head = head.map_or("", |at| self.frame.heads[at].as_str());
        if head.is_empty() && self.frame.tail.is_empty() {
            return self.frame.count(self.core, part);
        }
        self.sent.clear();
        self.sent.extend([head, part, self.frame.tail.as_str()]);
        self.frame.count(self.core, &self.sent)
    }

    fn overhead(&mut self, start: usize) -> usize {
        let head = self.frame.head(start);
        head.map_or(0, |at| self.frame.head_tokens[at])
    }
}

/// Where a text may be cut: bytes, and kinds of what begins there.
#[pyfunction]
#[pyo3(signature = (text, *, by, language))]
pub(super) fn scan_boundaries<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    by: &str,
    language: &str,
) -> PyResult<Boundaries<'py>> {
    let text = utf8(text)?;
    let scan = match by {
        "sentences" => scan_sentences,
        "structure" => scan_structure,
        _ => return Err(PyValueError::new_err(format!("by is {by:?}"))),
    };
    let found = enter(py, |_| Ok(scan(text, &Language::new(language, text))))?;
    let places: Vec<i64> = found.iter().map(|boundary| boundary.at as i64).collect();
    let kinds: Vec<u8> = found.iter().map(|boundary| boundary.kind as u8).collect();
    Ok((places.into_pyarray(py), kinds.into_pyarray(py)))
}

/// Chunks of a text.
#[pyfunction]
#[pyo3(signature = (tokenizer, text, places, costs, *, max_tokens, overlap_tokens, overlap_parts, heads, head_starts, tail, add_special_tokens, trim, chunk_cost, clause_cost, word_cost))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // extracted from Python
pub(super) fn chunk_spans<'py>(
    py: Python<'py>,
    tokenizer: &Tokenizer,
    text: &Bound<'py, PyAny>,
    places: PyReadonlyArray1<'py, i64>,
    costs: PyReadonlyArray1<'py, u32>,
    max_tokens: usize,
    overlap_tokens: usize,
    overlap_parts: usize,
    heads: Vec<String>,
    head_starts: Vec<usize>,
    tail: String,
    add_special_tokens: bool,
    trim: bool,
    chunk_cost: u32,
    clause_cost: u32,
    word_cost: u32,
) -> PyResult<Spans<'py>> {
    let text = utf8(text)?;
    // A negative place becomes a huge one, which lies outside the text.
    let places: Vec<usize> = places
        .as_array()
        .iter()
        .map(|&at| usize::try_from(at).unwrap_or(usize::MAX))
        .collect();
    let costs: Vec<u32> = costs.as_array().to_vec();
    let rising = places.windows(2).all(|pair| pair[0] < pair[1]);
    let inside = places
        .iter()
        .all(|&at| at > 0 && at < text.len() && text.is_char_boundary(at));
    if !rising || !inside || places.len() != costs.len() || heads.len() != head_starts.len() {
        return Err(PyValueError::new_err(
            "places must rise, begin characters and have a cost each",
        ));
    }
    let settings = Settings {
        max_tokens,
        overlap_tokens,
        overlap_parts,
        chunk_cost,
        clause_cost,
        word_cost,
    };
    let core = tokenizer.core.as_ref();
    let (flat, stuck) = enter(py, |keep_going| {
        let mut frame = Frame {
            head_starts,
            heads,
            head_tokens: Vec::new(),
            tail,
            add_special_tokens,
            trim,
        };
        for head in &frame.heads {
            let sent = format!("{head}{}", frame.tail);
            let n_tokens = frame.count(core, &sent)?;
            frame.head_tokens.push(n_tokens);
        }
        let mut counter = Counter {
            core,
            text,
            frame: &frame,
            sent: String::new(),
            keep_going,
        };
        match cut(text, &places, &costs, &settings, &mut counter) {
            Ok(chunks) => Ok((flat(text, &frame, &chunks), None)),
            Err(Failure::Source(error)) => Err(error),
            Err(Failure::TooSmall { at, n_tokens }) => Ok((Vec::new(), Some((at, n_tokens)))),
        }
    })?;
    Ok((flat.into_pyarray(py), stuck))
}

/// Five numbers of each chunk that holds anything: bytes from and to, characters from and to,
/// tokens.
fn flat(text: &str, frame: &Frame, chunks: &[Chunk]) -> Vec<i64> {
    let kept = chunks
        .iter()
        .map(|chunk| frame.kept(text, chunk.range.clone()));
    let pairs: Vec<(Range<usize>, usize)> = kept
        .zip(chunks.iter().map(|chunk| chunk.n_tokens))
        .filter(|(range, _)| !range.is_empty())
        .collect();
    let starts: Vec<usize> = pairs.iter().map(|(range, _)| range.start).collect();
    let ends: Vec<usize> = pairs.iter().map(|(range, _)| range.end).collect();
    let (first, last) = code_point_ranges(text, &starts, &ends);
    let mut flat = Vec::with_capacity(pairs.len() * 5);
    for (at, (range, n_tokens)) in pairs.iter().enumerate() {
        let bytes = [range.start as i64, range.end as i64];
        flat.extend([bytes[0], bytes[1], first[at], last[at], *n_tokens as i64]);
    }
    flat
}
