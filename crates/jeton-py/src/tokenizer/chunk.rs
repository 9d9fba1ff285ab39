//! Texts divided under a token budget.

use std::ops::Range;

use jeton_chunk::{
    Boundary, Chunk, Failure, Kind, Language, Settings, Source, cut, scan_outline, scan_sentences,
    scan_structure,
};
use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::special::Allow;
use jeton_core::text::code_points::code_point_ranges;
use jeton_core::tokenizer::{Excerpt, ExcerptRoom, Tokenizer as CoreTokenizer};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Tokenizer;
use crate::door::enter;
use crate::text::utf8;

type Boundaries<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>);
type Spans<'py> = (Bound<'py, PyArray1<i64>>, Option<(usize, usize)>);
type ManySpans<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Option<(usize, usize, usize)>,
);
type Scan = fn(&str, &Language) -> Vec<Boundary>;

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

/// Bytes of each token by its id. A table that fits a near cache: a text has a token for every few
/// bytes.
#[derive(Debug)]
pub(super) struct TokenBytes(Vec<u16>);

impl TokenBytes {
    fn of(core: &CoreTokenizer) -> Self {
        let bytes = |id| core.token_text(id).map_or(0, <[u8]>::len);
        // A token of 64 KiB counts too few: the ends do not reach the text's end then, and are
        // found another way.
        let bytes = (0..core.vocab().size()).map(|id| u16::try_from(bytes(id)).unwrap_or(0));
        Self(bytes.collect())
    }

    fn get(&self, id: u32, core: &CoreTokenizer) -> usize {
        match self.0.get(id as usize) {
            Some(&bytes) => usize::from(bytes),
            None => core.token_text(id).map_or(0, <[u8]>::len),
        }
    }
}

struct Counter<'a> {
    core: &'a CoreTokenizer,
    token_bytes: Option<&'a TokenBytes>,
    text: &'a str,
    frame: &'a Frame,
    /// True if the tokens of the text tell those of its chunks.
    knows_excerpts: bool,
    room: ExcerptRoom,
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

    /// Returns a text's tokens as it is sent, from the number of its ids.
    fn with_special(&self, core: &CoreTokenizer, n_ids: u64) -> usize {
        if self.add_special_tokens {
            core.template_size().with(n_ids) as usize
        } else {
            n_ids as usize
        }
    }

    /// Counts the heads once; chunks get at most what these leave.
    fn count_heads(&mut self, core: &CoreTokenizer) -> Result<()> {
        for head in &self.heads {
            let sent = format!("{head}{}", self.tail);
            let n_ids = core.count(&sent, &Allow::None)?;
            self.head_tokens.push(self.with_special(core, n_ids));
        }
        Ok(())
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
                if let Some(known) = self.token_bytes {
                    ends.extend(ids.iter().map(|&id| {
                        at += known.get(id, self.core);
                        at
                    }));
                } else {
                    ends.extend(ids.iter().map(|&id| {
                        at += self.core.token_text(id).map_or(0, <[u8]>::len);
                        at
                    }));
                }
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

    fn count(&mut self, chunk: Range<usize>, ends: &[usize]) -> Result<usize> {
        let head = self.frame.head(chunk.start);
        let excerpt = Excerpt {
            text: self.text,
            range: self.frame.kept(self.text, chunk),
            before: head.map_or("", |at| self.frame.heads[at].as_str()),
            behind: &self.frame.tail,
        };
        let known = if self.knows_excerpts { ends } else { &[] };
        let n_ids = self.core.count_excerpt(&excerpt, known, &mut self.room)?;
        Ok(self.frame.with_special(self.core, n_ids))
    }

    fn overhead(&mut self, start: usize) -> usize {
        let head = self.frame.head(start);
        head.map_or(0, |at| self.frame.head_tokens[at])
    }
}

/// Returns what finds the boundaries; None: every token is one.
fn scanner(by: &str) -> PyResult<Option<Scan>> {
    match by {
        "tokens" => Ok(None),
        "sentences" => Ok(Some(scan_sentences)),
        "structure" => Ok(Some(scan_structure)),
        _ => Err(PyValueError::new_err(format!("by is {by:?}"))),
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
    let scan = scanner(by)?;
    let found = enter(py, |_| {
        Ok(scan.map_or_else(Vec::new, |scan| scan(text, &Language::new(language, text))))
    })?;
    let places: Vec<i64> = found.iter().map(|boundary| boundary.at as i64).collect();
    let kinds: Vec<u8> = found.iter().map(|boundary| boundary.kind as u8).collect();
    Ok((places.into_pyarray(py), kinds.into_pyarray(py)))
}

/// Headings and tables, as `scan_markdown` lists them.
type Outline = (Vec<[usize; 4]>, Vec<[usize; 3]>);

/// Headings of Markdown (line, level, words from and to) and tables (head from and to, end of the
/// body), in bytes. Headings in lists and quotations come with `nested` alone.
#[pyfunction]
#[pyo3(signature = (text, *, nested = false))]
pub(super) fn scan_markdown(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    nested: bool,
) -> PyResult<Outline> {
    let text = utf8(text)?;
    let outline = enter(py, |_| Ok(scan_outline(text)))?;
    let headings = outline.headings.into_iter();
    let headings = headings
        .filter(|heading| nested || !heading.is_nested)
        .map(|heading| {
            [
                heading.at,
                heading.level,
                heading.words.start,
                heading.words.end,
            ]
        });
    let tables = outline.tables.into_iter();
    let tables = tables.map(|table| [table.head.start, table.head.end, table.body.end]);
    Ok((headings.collect(), tables.collect()))
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
        frame.count_heads(core)?;
        let mut flat = Vec::new();
        let cuts = (places.as_slice(), costs.as_slice());
        let stuck = divide(
            tokenizer, text, cuts, &settings, &frame, keep_going, &mut flat,
        )?;
        Ok((flat, stuck))
    })?;
    Ok((flat.into_pyarray(py), stuck))
}

/// Chunks of several texts that are cut at their own boundaries and share a head.
#[pyfunction]
#[pyo3(signature = (tokenizer, texts, *, by, languages, kind_costs, max_tokens, overlap_tokens, overlap_parts, head, tail, add_special_tokens, trim, chunk_cost, clause_cost, word_cost))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // extracted from Python
pub(super) fn chunk_texts<'py>(
    py: Python<'py>,
    tokenizer: &Tokenizer,
    texts: Vec<Bound<'py, PyAny>>,
    by: &str,
    languages: Vec<String>,
    kind_costs: Vec<u32>,
    max_tokens: usize,
    overlap_tokens: usize,
    overlap_parts: usize,
    head: String,
    tail: String,
    add_special_tokens: bool,
    trim: bool,
    chunk_cost: u32,
    clause_cost: u32,
    word_cost: u32,
) -> PyResult<ManySpans<'py>> {
    let scan = scanner(by)?;
    if languages.len() != texts.len() {
        return Err(PyValueError::new_err("a language for each text is due"));
    }
    let views: Vec<&str> = texts.iter().map(utf8).collect::<PyResult<_>>()?;
    let settings = Settings {
        max_tokens,
        overlap_tokens,
        overlap_parts,
        chunk_cost,
        clause_cost,
        word_cost,
    };
    let core = tokenizer.core.as_ref();
    let (flat, offsets, stuck) = enter(py, |keep_going| {
        let mut frame = Frame {
            head_starts: vec![0],
            heads: vec![head],
            head_tokens: Vec::new(),
            tail,
            add_special_tokens,
            trim,
        };
        frame.count_heads(core)?;
        let (mut flat, mut offsets) = (Vec::new(), vec![0]);
        for (index, (text, language)) in views.iter().zip(&languages).enumerate() {
            let found =
                scan.map_or_else(Vec::new, |scan| scan(text, &Language::new(language, text)));
            let price = |kind: Kind| kind_costs.get(kind as usize).copied().unwrap_or(0);
            let (places, costs): (Vec<usize>, Vec<u32>) = found
                .iter()
                .map(|boundary| (boundary.at, price(boundary.kind)))
                .unzip();
            let cuts = (places.as_slice(), costs.as_slice());
            let stuck = divide(
                tokenizer, text, cuts, &settings, &frame, keep_going, &mut flat,
            )?;
            if let Some((at, n_tokens)) = stuck {
                return Ok((flat, offsets, Some((index, at, n_tokens))));
            }
            offsets.push((flat.len() / ROW) as i64);
        }
        Ok((flat, offsets, None))
    })?;
    Ok((flat.into_pyarray(py), offsets.into_pyarray(py), stuck))
}

/// Appends the rows of a text's chunks; returns the byte and the tokens of a character that exceeds
/// the budget alone.
fn divide(
    tokenizer: &Tokenizer,
    text: &str,
    (places, costs): (&[usize], &[u32]),
    settings: &Settings,
    frame: &Frame,
    keep_going: &mut dyn FnMut() -> bool,
    flat: &mut Vec<i64>,
) -> Result<Option<(usize, usize)>> {
    let core = tokenizer.core.as_ref();
    let table = || {
        tokenizer
            .token_bytes
            .get_or_init(|| Box::new(TokenBytes::of(core)))
    };
    let mut counter = Counter {
        core,
        token_bytes: (text.len() >= MIN_TABLE_BYTES).then(table),
        text,
        frame,
        knows_excerpts: core.knows_excerpts(),
        room: ExcerptRoom::default(),
        keep_going,
    };
    match cut(text, places, costs, settings, &mut counter) {
        Ok(chunks) => {
            append_rows(text, frame, &chunks, flat);
            Ok(None)
        }
        Err(Failure::Source(error)) => Err(error),
        Err(Failure::TooSmall { at, n_tokens }) => Ok(Some((at, n_tokens))),
    }
}

/// Bytes of a text that are worth a table of the tokens' bytes. Half and twice as many do the same;
/// for a short text, making the table takes longer (docs/log/2026-11-28-tuning-constants.md).
const MIN_TABLE_BYTES: usize = 1 << 18;
/// Numbers of each chunk that holds anything: bytes from and to, characters from and to, tokens.
const ROW: usize = 5;

fn append_rows(text: &str, frame: &Frame, chunks: &[Chunk], flat: &mut Vec<i64>) {
    let kept = chunks
        .iter()
        .map(|chunk| frame.kept(text, chunk.range.clone()));
    let pairs: Vec<(Range<usize>, usize)> = kept
        .zip(chunks.iter().map(|chunk| chunk.n_tokens))
        .filter(|(range, _)| !range.is_empty())
        .collect();
    let starts: Vec<usize> = pairs.iter().map(|(range, _)| range.start).collect();
    let ends: Vec<usize> = pairs.iter().map(|(range, _)| range.end).collect();
    let found = code_point_ranges(text, &starts, &ends);
    flat.reserve(pairs.len() * ROW);
    for (at, (range, n_tokens)) in pairs.iter().enumerate() {
        let bytes = [range.start as i64, range.end as i64];
        flat.extend([
            bytes[0],
            bytes[1],
            found.starts[at],
            found.ends[at],
            *n_tokens as i64,
        ]);
    }
}
