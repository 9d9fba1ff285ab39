//! The kinds of tokenizer behind one door, chosen once at load.
//!
//! Most tokenizers are a pre-tokenizer and a model over pretokens; SentencePiece is not.

mod nbest;
mod resume;
mod sample;
mod sentencepiece;

pub(crate) use nbest::Alternative;
pub(crate) use resume::{ResumePoint, Seams};
pub(crate) use sample::{Draw, SampleScratch};
pub use sample::{Sampling, SamplingMethod};
pub(crate) use sentencepiece::SentencePiece;

use crate::cpu::prefetch::ReadLater;
use crate::error::{Error, Result};
use crate::models::bpe::{BpeModel, BpeScratch, CharacterBpeModel, CharacterBpeScratch};
use crate::models::longest_match::PopStack;
use crate::models::rwkv::GreedyModel;
use crate::models::unigram::{PathsSoFar, UnigramModel, UnigramScratch};
use crate::models::word::{CharacterModel, MissingCharacter, RawBytesModel, WordModel};
use crate::models::wordpiece::{WordPieceModel, WordPieceScratch};
use crate::models::{Model, Sink};
use crate::pipeline::section::ThreadSpan;
use crate::pipeline::{EachSpan, Pipeline, WordScratch};
use crate::pretokenize::PreTokenizer;
use crate::pretokenize::rewriting::Origin;
use crate::sentencepiece::{ModelType, SpmEncoder, SpmScratch};
use crate::vocab::Vocab;

/// One kind of tokenizer.
#[derive(Debug)]
pub(crate) enum Engine {
    /// Byte-level BPE.
    Bpe(Box<Pipeline<BpeModel>>),
    /// BPE on characters.
    CharacterBpe(Box<Pipeline<CharacterBpeModel>>),
    /// `WordPiece`.
    WordPiece(Box<Pipeline<WordPieceModel>>),
    /// Whole words.
    Word(Box<Pipeline<WordModel>>),
    /// Characters.
    Character(Box<Pipeline<CharacterModel>>),
    /// Bytes.
    RawBytes(Box<Pipeline<RawBytesModel>>),
    /// The longest token that fits.
    Greedy(Box<Pipeline<GreedyModel>>),
    /// A unigram language model over pretokens, as `tokenizers` has it.
    Unigram(Box<Pipeline<UnigramModel>>),
    /// SentencePiece over sentences.
    SentencePiece(Box<SentencePiece>),
}

/// Does the same with the pipeline of whatever kind, or something else with SentencePiece.
macro_rules! of_kind {
    ($engine:expr, $pipeline:ident => $usual:expr, $spm:ident => $other:expr) => {
        match $engine {
            Engine::Bpe($pipeline) => $usual,
            Engine::CharacterBpe($pipeline) => $usual,
            Engine::WordPiece($pipeline) => $usual,
            Engine::Word($pipeline) => $usual,
            Engine::Character($pipeline) => $usual,
            Engine::RawBytes($pipeline) => $usual,
            Engine::Greedy($pipeline) => $usual,
            Engine::Unigram($pipeline) => $usual,
            Engine::SentencePiece($spm) => $other,
        }
    };
}

/// Memory that one thread reuses, whatever the kind; what a kind does not use stays empty.
#[derive(Debug, Default)]
pub(crate) struct EngineScratch {
    pub(crate) words: WordScratch,
    models: ModelScratch,
    spm: SpmScratch,
    ids: Vec<u32>,
    text: String,
}

/// Scratch memory for texts up to this many bytes is kept for the next text. A longer text would
/// leave 24 to 35 bytes for each of its bytes behind in every thread (docs/guides/memory.md).
const MAX_KEPT_TEXT_BYTES: usize = 1 << 20;

impl EngineScratch {
    /// After a text: gives back what only a long one needs. The cache of words, whose size does not
    /// depend on the text's, stays.
    pub(crate) fn after_text(&mut self, bytes: usize) {
        if bytes > MAX_KEPT_TEXT_BYTES {
            self.give_back();
        }
    }

    /// Room for a text.
    pub(crate) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Memory of SentencePiece's Unigram model.
    pub(crate) fn unigram_of_sentence(&mut self) -> &mut UnigramScratch {
        self.spm.unigram()
    }

    /// Gives back all but the cache of words.
    pub(crate) fn give_back(&mut self) {
        let mut words = std::mem::take(&mut self.words);
        words.give_back();
        *self = Self {
            words,
            ..Self::default()
        };
    }
}

#[derive(Debug, Default)]
struct ModelScratch {
    bpe: BpeScratch,
    character_bpe: CharacterBpeScratch,
    wordpiece: WordPieceScratch,
    greedy: PopStack,
    unigram: UnigramScratch,
    nothing: (),
}

/// A model that knows its place in the common scratch.
trait Scratched: Model {
    fn scratch(all: &mut ModelScratch) -> &mut Self::Scratch;
}

impl Scratched for BpeModel {
    fn scratch(all: &mut ModelScratch) -> &mut BpeScratch {
        &mut all.bpe
    }
}

impl Scratched for CharacterBpeModel {
    fn scratch(all: &mut ModelScratch) -> &mut CharacterBpeScratch {
        &mut all.character_bpe
    }
}

impl Scratched for WordPieceModel {
    fn scratch(all: &mut ModelScratch) -> &mut WordPieceScratch {
        &mut all.wordpiece
    }
}

impl Scratched for GreedyModel {
    fn scratch(all: &mut ModelScratch) -> &mut PopStack {
        &mut all.greedy
    }
}

impl Scratched for UnigramModel {
    fn scratch(all: &mut ModelScratch) -> &mut UnigramScratch {
        &mut all.unigram
    }
}

impl Scratched for WordModel {
    fn scratch(all: &mut ModelScratch) -> &mut () {
        &mut all.nothing
    }
}

impl Scratched for CharacterModel {
    fn scratch(all: &mut ModelScratch) -> &mut () {
        &mut all.nothing
    }
}

impl Scratched for RawBytesModel {
    fn scratch(all: &mut ModelScratch) -> &mut () {
        &mut all.nothing
    }
}

fn encode_with<M: Scratched, K: Sink>(
    pipeline: &Pipeline<M>,
    text: &str,
    origin: Origin<'_>,
    scratch: &mut EngineScratch,
    sink: &mut K,
) -> Result<()> {
    let EngineScratch { words, models, .. } = scratch;
    pipeline.encode(text, origin, words, M::scratch(models), sink)
}

impl Engine {
    /// Token bytes and ids.
    pub(crate) fn vocab(&self) -> &Vocab {
        of_kind!(self, pipeline => pipeline.model().vocab(), engine => &engine.bytes)
    }

    /// The pre-tokenizer; SentencePiece has none.
    pub(crate) fn pretokenizer(&self) -> Option<&PreTokenizer> {
        of_kind!(self, pipeline => Some(pipeline.pretokenizer()), _engine => None)
    }

    /// The name of the model's algorithm.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Bpe(_) | Self::CharacterBpe(_) => "bpe",
            Self::WordPiece(_) => "wordpiece",
            Self::Word(_) => "word",
            Self::Character(_) => "char",
            Self::RawBytes(_) => "bytes",
            Self::Greedy(_) => "greedy",
            Self::Unigram(_) => "unigram",
            Self::SentencePiece(engine) => match engine.model.trainer.model_type {
                ModelType::Unigram => "unigram",
                ModelType::Bpe => "bpe",
                ModelType::Word => "word",
                ModelType::Char => "char",
            },
        }
    }

    /// The id that stands for text without a token, if the model has one.
    pub(crate) fn unknown(&self) -> Option<u32> {
        match self {
            Self::Bpe(pipeline) => pipeline.model().missing().id(),
            Self::CharacterBpe(pipeline) => pipeline.model().options().missing.id(),
            Self::WordPiece(pipeline) => pipeline.model().unknown(),
            Self::Word(pipeline) => pipeline.model().unknown(),
            Self::Character(pipeline) => match pipeline.model().missing() {
                MissingCharacter::Unknown(id) => Some(*id),
                MissingCharacter::Bytes(_) | MissingCharacter::Fail => None,
            },
            Self::RawBytes(_) | Self::Greedy(_) => None,
            Self::Unigram(pipeline) => pipeline.model().unknown(),
            Self::SentencePiece(engine) => engine.unknown(),
        }
    }

    /// Encodes text in which nothing special is left, and which is normalized where the tokenizer's
    /// own steps do it.
    pub(crate) fn encode<K: Sink>(
        &self,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        of_kind!(self,
            pipeline => encode_with(pipeline, text, origin, scratch, sink),
            engine => {
                let EngineScratch { spm, ids, .. } = scratch;
                ids.clear();
                engine.processor.encode(text, spm, ids)?;
                sink.take(ids);
                Ok(())
            }
        )
    }

    /// Encodes a stretch of a section; see [`Pipeline::encode_stretch`].
    pub(crate) fn encode_stretch(
        &self,
        section: &str,
        stretch: &ThreadSpan,
        later: ReadLater,
        scratch: &mut EngineScratch,
        ids: &mut Vec<u32>,
    ) -> Result<Option<usize>> {
        fn with<M: Scratched>(
            pipeline: &Pipeline<M>,
            section: &str,
            stretch: &ThreadSpan,
            later: ReadLater,
            scratch: &mut EngineScratch,
            ids: &mut Vec<u32>,
        ) -> Result<Option<usize>> {
            let EngineScratch { words, models, .. } = scratch;
            pipeline.encode_stretch(section, stretch, later, words, M::scratch(models), ids)
        }
        of_kind!(self,
            pipeline => with(pipeline, section, stretch, later, scratch, ids),
            _engine => Ok(None)
        )
    }

    /// Encodes text whose beginning is elsewhere. `from`: the model's state before the text.
    pub(crate) fn go_on<K: Sink>(
        &self,
        text: &str,
        origin: Origin<'_>,
        from: Option<&PathsSoFar>,
        scratch: &mut EngineScratch,
        sink: &mut K,
    ) -> Result<()> {
        match (self, from) {
            (Self::SentencePiece(engine), _) => {
                let EngineScratch { spm, ids, .. } = scratch;
                ids.clear();
                engine.processor.go_on(text, from, spm, ids)?;
                sink.take(ids);
                Ok(())
            }
            (Self::Unigram(pipeline), Some(from)) => {
                let EngineScratch { words, models, .. } = scratch;
                let mut first = Some(from);
                pipeline.each_pretoken(text, origin, |bytes, start, end| {
                    let Some(from) = first.take() else {
                        return pipeline.word(bytes, start, end, words, &mut models.unigram, sink);
                    };
                    let mut ids = Vec::new();
                    let pretoken = &bytes[start..end];
                    pipeline
                        .model()
                        .go_on(pretoken, from, &mut models.unigram, &mut ids)?;
                    sink.take(&ids);
                    Ok(())
                })
            }
            _ => self.encode(text, origin, scratch, sink),
        }
    }

    /// As [`Self::encode_spans`], with the cache of words: for the engine that the scratch belongs
    /// to.
    pub(crate) fn encode_known_spans(
        &self,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
        each: &mut EachSpan<'_>,
    ) -> Result<i64> {
        match self {
            Self::Bpe(pipeline)
                if !pipeline.pretokenizer().rewrites() && pipeline.model().keeps_bytes() =>
            {
                let EngineScratch { words, models, .. } = scratch;
                pipeline.encode_known_spans(text, words, &mut models.bpe, each)
            }
            _ => self.encode_spans(text, origin, scratch, each),
        }
    }

    /// The ids of a text with the bytes of it that each id stands for, the word it belongs to, and
    /// what the model saw there: `each(id, start, end, word, surface)`. Returns the number of
    /// words.
    pub(crate) fn encode_spans(
        &self,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
        each: &mut EachSpan<'_>,
    ) -> Result<i64> {
        fn with<M: Scratched>(
            pipeline: &Pipeline<M>,
            text: &str,
            origin: Origin<'_>,
            scratch: &mut EngineScratch,
            each: &mut EachSpan<'_>,
        ) -> Result<i64> {
            pipeline.encode_spans(text, origin, M::scratch(&mut scratch.models), each)
        }
        of_kind!(self,
            pipeline => with(pipeline, text, origin, scratch, each),
            engine => engine.encode_spans(text, &mut scratch.spm, each)
        )
    }
}

impl Engine {
    /// Appends the ids of a part of a text, normalized unless SentencePiece does it, without the
    /// cache of words.
    pub(crate) fn encode_part(
        &self,
        text: &str,
        origin: Origin<'_>,
        scratch: &mut EngineScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        fn with<M: Scratched>(
            pipeline: &Pipeline<M>,
            text: &str,
            origin: Origin<'_>,
            scratch: &mut EngineScratch,
            out: &mut Vec<u32>,
        ) -> Result<()> {
            let scratch = M::scratch(&mut scratch.models);
            let model = pipeline.model();
            pipeline.each_pretoken(text, origin, |bytes, start, end| {
                model.encode_pretoken(&bytes[start..end], scratch, out)
            })
        }
        of_kind!(self,
            pipeline => with(pipeline, text, origin, scratch, out),
            engine => if origin.continues {
                engine.processor.go_on(text, None, &mut scratch.spm, out)
            } else {
                engine.processor.encode(text, &mut scratch.spm, out)
            }
        )
    }

    /// The Unigram model that sees whole sentences, if this is one.
    pub(crate) fn unigram_of_sentences(&self) -> Option<&UnigramModel> {
        match self {
            Self::SentencePiece(engine) => match engine.processor.encoder() {
                SpmEncoder::Unigram(model) => Some(model),
                _ => None,
            },
            _ => None,
        }
    }

    /// Appends the ids of a pretoken, or for SentencePiece of a normalized text.
    pub(crate) fn encode_normalized(
        &self,
        text: &[u8],
        scratch: &mut EngineScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        match self {
            Self::SentencePiece(engine) => {
                engine
                    .processor
                    .encoder()
                    .encode(text, &mut scratch.spm, out)
            }
            _ => self.encode_pretoken(text, scratch, out),
        }
    }

    /// Appends the ids of one pretoken. SentencePiece has none.
    pub(crate) fn encode_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut EngineScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        fn with<M: Scratched>(
            pipeline: &Pipeline<M>,
            pretoken: &[u8],
            scratch: &mut EngineScratch,
            out: &mut Vec<u32>,
        ) -> Result<()> {
            let scratch = M::scratch(&mut scratch.models);
            pipeline.model().encode_pretoken(pretoken, scratch, out)
        }
        of_kind!(self,
            pipeline => with(pipeline, pretoken, scratch, out),
            _engine => Err(Error::usage(
                "a SentencePiece model has no pretokens: it sees whole texts".to_owned(),
            ))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_long_texts_is_given_back() {
        let mut scratch = EngineScratch::default();
        for (bytes, kept) in [
            (1000, true),
            (MAX_KEPT_TEXT_BYTES, true),
            (MAX_KEPT_TEXT_BYTES + 1, false),
        ] {
            scratch.ids = vec![0; 1000];
            scratch.models.greedy = vec![0; 1000];
            scratch.after_text(bytes);
            assert_eq!(scratch.ids.capacity() > 0, kept);
            assert_eq!(scratch.models.greedy.capacity() > 0, kept);
        }
    }
}
