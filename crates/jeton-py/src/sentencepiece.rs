//! A SentencePiece model as its own library shows it: pieces with kinds, normalized text with the
//! way back, segmentations of the normalized text.

use std::sync::Arc;

use jeton_core::error::{Error, Result};
use jeton_core::format;
use jeton_core::models::unigram::{MAX_NBEST, SpannedId, SplitMix64};
use jeton_core::normalize::charsmap::Charsmap;
use jeton_core::normalize::charsmap_rules;
use jeton_core::sentencepiece::normalizer::Matcher;
use jeton_core::sentencepiece::{
    ModelType, NormalizerSpec, PieceKind, SpmEncoder, SpmModel, SpmNormalizer, SpmProcessor,
    SpmScratch,
};
use jeton_core::tokenizer::Tokenizer as CoreTokenizer;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::door::{enter, quick};
use crate::error::to_python_at;
use crate::text::utf8;
use crate::tokenizer::Tokenizer;

/// (id, start, end) in bytes of the normalized text.
type Spans = Vec<(u32, u32, u32)>;

/// A SentencePiece model as its own library shows it, for what stands in for that library.
///
/// Places are bytes. Spans are (id, start, end) in the normalized text; the bytes of one character
/// share its range.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct SentencePieceModel(Arc<CoreTokenizer>);

fn spans(found: &[SpannedId]) -> Spans {
    found
        .iter()
        .map(|span| (span.id, span.start, span.end))
        .collect()
}

impl SentencePieceModel {
    fn parts(&self) -> Result<(&SpmModel, &SpmProcessor)> {
        self.0
            .sentencepiece()
            .ok_or_else(|| Error::usage("this is no SentencePiece model".to_owned()))
    }
}

#[pymethods]
impl SentencePieceModel {
    #[new]
    #[pyo3(signature = (data, *, path=None))]
    fn new(py: Python<'_>, data: &[u8], path: Option<&str>) -> PyResult<Self> {
        let core = py
            .detach(|| format::from_sentencepiece(data))
            .map_err(|error| to_python_at(py, &error, path))?;
        Ok(Self(Arc::new(core)))
    }

    /// Model as a tokenizer; nothing is copied.
    #[getter]
    fn tokenizer(&self) -> Tokenizer {
        Tokenizer::share(Arc::clone(&self.0))
    }

    /// ``unigram``, ``bpe``, ``word`` or ``char``.
    #[getter]
    fn model_type(&self, py: Python<'_>) -> PyResult<&'static str> {
        let (model, _) = quick(py, self.parts())?;
        Ok(match model.trainer.model_type {
            ModelType::Unigram => "unigram",
            ModelType::Bpe => "bpe",
            ModelType::Word => "word",
            ModelType::Char => "char",
        })
    }

    /// Bytes, score and kind of each id; kinds are numbered as in the file, 1 (normal) to 6 (byte).
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyBytes>, f32, u8)>> {
        let (model, _) = quick(py, self.parts())?;
        let kind = |kind| match kind {
            PieceKind::Normal => 1,
            PieceKind::Unknown => 2,
            PieceKind::Control => 3,
            PieceKind::UserDefined => 4,
            PieceKind::Unused => 5,
            PieceKind::Byte => 6,
        };
        let pieces = model.pieces.iter();
        Ok(pieces
            .map(|piece| {
                (
                    PyBytes::new(py, &piece.bytes),
                    piece.score,
                    kind(piece.kind),
                )
            })
            .collect())
    }

    /// Text that the unknown id decodes to.
    #[getter]
    fn unk_surface(&self, py: Python<'_>) -> PyResult<String> {
        Ok(quick(py, self.parts())?.0.trainer.unk_surface.clone())
    }

    /// True if text without a piece becomes bytes.
    #[getter]
    fn byte_fallback(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(quick(py, self.parts())?.0.trainer.byte_fallback)
    }

    /// True if a space is put in front of texts.
    #[getter]
    fn add_dummy_prefix(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(quick(py, self.parts())?.0.normalizer.add_dummy_prefix)
    }

    /// True if runs of spaces become one, and those at the ends go.
    #[getter]
    fn remove_extra_whitespaces(&self, py: Python<'_>) -> PyResult<bool> {
        let (model, _) = quick(py, self.parts())?;
        Ok(model.normalizer.remove_extra_whitespaces)
    }

    /// The id of the beginning; -1 where there is none.
    #[getter]
    fn bos_id(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(quick(py, self.parts())?.1.bos())
    }

    /// The id of the end; -1 where there is none.
    #[getter]
    fn eos_id(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(quick(py, self.parts())?.1.eos())
    }

    /// The id that fills batches; -1 where there is none.
    #[getter]
    fn pad_id(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(quick(py, self.parts())?.1.pad())
    }

    /// The normalized text, and the byte that each of its bytes and its end come from.
    fn normalize<'py>(
        &self,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<(String, Bound<'py, PyArray1<i64>>)> {
        let py = text.py();
        let text = utf8(text)?;
        let (_, processor) = quick(py, self.parts())?;
        Ok(normalized(py, processor.normalizer(), text))
    }

    /// Returns decoded text after the denormalizer.
    fn denormalize(&self, text: &Bound<'_, PyAny>) -> PyResult<String> {
        let py = text.py();
        let text = utf8(text)?;
        let (model, _) = quick(py, self.parts())?;
        let rules = model.denormalizer.as_ref();
        let Some(rules) = rules.filter(|rules| !rules.precompiled_charsmap.is_empty()) else {
            return Ok(text.to_owned());
        };
        let normalizer = quick(py, SpmNormalizer::new(rules, false, None))?;
        Ok(py.detach(|| normalizer.normalize(text)))
    }

    /// The spans of a text that is normalized.
    fn encode_normalized(&self, text: &Bound<'_, PyAny>) -> PyResult<Spans> {
        let py = text.py();
        let text = utf8(text)?;
        let (_, processor) = quick(py, self.parts())?;
        let mut found = Vec::new();
        enter(py, |_| {
            let encoder = processor.encoder();
            encoder.encode_with_pieces(text.as_bytes(), &mut SpmScratch::default(), &mut found)
        })?;
        Ok(spans(&found))
    }

    /// The ``n`` best segmentations (1 to 1024) of a text that is normalized, with their scores.
    fn nbest_normalized(&self, text: &Bound<'_, PyAny>, n: usize) -> PyResult<Vec<(Spans, f64)>> {
        let py = text.py();
        let text = utf8(text)?;
        let (_, processor) = quick(py, self.parts())?;
        let found = enter(py, |_| match processor.encoder() {
            SpmEncoder::Unigram(_) if !(1..=MAX_NBEST).contains(&n) => {
                Err(Error::usage(format!("n is {n}; expected 1 to {MAX_NBEST}")))
            }
            SpmEncoder::Unigram(model) => model.nbest(text.as_bytes(), n),
            _ => Err(Error::usage(
                "the best segmentations are known of unigram models only".to_owned(),
            )),
        })?;
        let lists = found.iter();
        Ok(lists.map(|(list, score)| (spans(list), *score)).collect())
    }

    /// A drawn segmentation of a text that is normalized: among the ``nbest_size`` best, or among
    /// all.
    #[pyo3(signature = (text, *, seed, nbest_size, alpha))]
    fn sample_normalized(
        &self,
        text: &Bound<'_, PyAny>,
        seed: u64,
        nbest_size: Option<usize>,
        alpha: f64,
    ) -> PyResult<Spans> {
        let py = text.py();
        let text = utf8(text)?;
        let (_, processor) = quick(py, self.parts())?;
        let mut found = Vec::new();
        enter(py, |_| {
            if !(alpha.is_finite() && alpha >= 0.0) || nbest_size.is_some_and(|n| n > MAX_NBEST) {
                return Err(Error::usage(format!(
                    "alpha is {alpha} and nbest_size {nbest_size:?}; expected a finite alpha of 0 or more, \
                     and {MAX_NBEST} at most"
                )));
            }
            processor.encoder().sample(
                text.as_bytes(),
                nbest_size,
                alpha,
                &mut SplitMix64::stream(seed, 0),
                &mut SpmScratch::default(),
                &mut found,
            )
        })?;
        Ok(spans(&found))
    }
}

fn normalized<'py>(
    py: Python<'py>,
    normalizer: &SpmNormalizer,
    text: &str,
) -> (String, Bound<'py, PyArray1<i64>>) {
    let (normalized, origins) = py.detach(|| {
        let (normalized, origins) = normalizer.normalize_with_origins(text);
        let origins: Vec<i64> = (0..=normalized.len())
            .map(|byte| origins.of(byte) as i64)
            .collect();
        (normalized, origins)
    });
    (normalized, origins.into_pyarray(py))
}

/// SentencePiece's normalizer by itself.
#[pyclass(frozen, module = "jeton._core")]
pub(crate) struct SentencePieceRules {
    normalizer: SpmNormalizer,
    charsmap: Option<Charsmap>,
}

#[pymethods]
impl SentencePieceRules {
    #[new]
    #[pyo3(signature = (
        *, charsmap, add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, kept=None,
        whitespace_as_suffix=false
    ))]
    #[expect(clippy::fn_params_excessive_bools, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        charsmap: &[u8],
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        escape_whitespaces: bool,
        kept: Option<Vec<Vec<u8>>>,
        whitespace_as_suffix: bool,
    ) -> PyResult<Self> {
        let spec = NormalizerSpec {
            name: String::new(),
            precompiled_charsmap: charsmap.to_vec(),
            add_dummy_prefix,
            remove_extra_whitespaces,
            escape_whitespaces,
        };
        let build = || {
            let kept = kept.unwrap_or_default();
            let kept = (0..).zip(&kept).map(|(id, piece)| (piece.as_slice(), id));
            let kept = Matcher::new(kept.filter(|(piece, _)| !piece.is_empty()).collect())?;
            Ok(Self {
                normalizer: SpmNormalizer::new(&spec, whitespace_as_suffix, kept)?,
                charsmap: if charsmap.is_empty() {
                    None
                } else {
                    Some(Charsmap::new(charsmap)?)
                },
            })
        };
        quick(py, build())
    }

    /// The normalized text, and the byte that each of its bytes and its end come from.
    fn normalize<'py>(
        &self,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<(String, Bound<'py, PyArray1<i64>>)> {
        Ok(normalized(text.py(), &self.normalizer, utf8(text)?))
    }

    /// Rules of the normalizer (text, replacement), sorted.
    fn rules(&self, py: Python<'_>) -> Vec<(String, String)> {
        py.detach(|| {
            self.charsmap
                .as_ref()
                .map(Charsmap::rules)
                .unwrap_or_default()
        })
    }
}

/// Rules as a precompiled charsmap, as a SentencePiece model holds it; empty for none.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Python's list is converted to it"
)]
pub(crate) fn compile_charsmap(
    py: Python<'_>,
    rules: Vec<(String, String)>,
) -> PyResult<Bound<'_, PyBytes>> {
    let blob = enter(py, |_| {
        let pairs = rules.iter();
        charsmap_rules::compile(pairs.map(|(from, to)| (from.as_str(), to.as_str())))
    })?;
    Ok(PyBytes::new(py, &blob))
}
