//! Pretokens that still grow: the places in them that no token crosses, whatever follows.
//!
//! A pretoken is usually a word, and then nothing is gained. But there are tokenizers that see a
//! whole text as one pretoken, and for these it matters. Limits of a token's reach, by model:
//! - Merges join neighbours, so a token is a piece of text that stands in the vocabulary. Where no
//!   token has the two characters (bytes) beside each other, none crosses. Merges on one side do
//!   not look at the other side.
//! - The longest token that fits is known where no token reaches to the end of the text so far.
//! - Characters and bytes are tokens by themselves.
//! - Most probable paths: see [`crate::models::unigram`].
//! - Words (`WordPiece`, whole words) are known when they end.

use hashbrown::HashSet;

use super::{Engine, EngineScratch, ModelScratch};
use crate::error::Result;
use crate::models::Model;
use crate::models::bpe::{BpeModel, CharacterBpeModel};
use crate::models::rwkv::GreedyModel;
use crate::models::unigram::{PathsSoFar, UnigramModel};
use crate::pretokenize::GrowingPiece;
use crate::sentencepiece::SpmEncoder;
use crate::vocab::{Vocab, hasher};

/// Characters or bytes of a vocabulary that stand beside each other in a token.
#[derive(Debug)]
pub(crate) enum Seams {
    /// Nothing crosses between any two characters.
    Everywhere,
    /// Nothing is known.
    Nowhere,
    /// Pairs of bytes that stand beside each other: bit `left * 256 + right`.
    Bytes(Box<[u64; 1024]>),
    /// Pairs of characters that do.
    Characters(HashSet<(char, char), foldhash::fast::FixedState>),
    /// The longest token in bytes.
    Longest(usize),
}

impl Seams {
    fn of_bytes(vocab: &Vocab) -> Self {
        let mut pairs = Box::new([0u64; 1024]);
        for (_, token) in vocab.iter() {
            for pair in token.windows(2) {
                let at = usize::from(pair[0]) << 8 | usize::from(pair[1]);
                pairs[at >> 6] |= 1 << (at & 63);
            }
        }
        Self::Bytes(pairs)
    }

    fn of_characters<'v>(tokens: impl Iterator<Item = &'v [u8]>) -> Self {
        let mut pairs = HashSet::with_hasher(hasher());
        for token in tokens {
            let mut before = None;
            for chunk in token.utf8_chunks() {
                for c in chunk.valid().chars() {
                    pairs.extend(before.replace(c).map(|before| (before, c)));
                }
                if !chunk.invalid().is_empty() {
                    before = None;
                }
            }
        }
        Self::Characters(pairs)
    }

    /// Works out what is known of an engine's vocabulary.
    pub(crate) fn new(engine: &Engine) -> Self {
        match engine {
            // A pretoken that is a token is taken whole: the rest of one might be a token, too.
            Engine::Bpe(pipeline) if !pipeline.model().whole_pretokens() => {
                Self::of_bytes(pipeline.model().vocab())
            }
            Engine::CharacterBpe(pipeline) => {
                let options = pipeline.model().options();
                let plain =
                    options.continuing_prefix.is_empty() && options.end_of_word_suffix.is_empty();
                if plain && !options.whole_pretokens {
                    let vocab = pipeline.model().vocab();
                    Self::of_characters(vocab.iter().map(|(_, token)| token))
                } else {
                    Self::Nowhere
                }
            }
            Engine::Greedy(pipeline) => Self::Longest(pipeline.model().vocab().longest()),
            Engine::Character(_) | Engine::RawBytes(_) => Self::Everywhere,
            Engine::SentencePiece(engine) => match engine.processor.encoder() {
                SpmEncoder::Bpe(model) if model.merges_in_stretches() => {
                    Self::of_characters(engine.model.matched_pieces(false))
                }
                SpmEncoder::Chars(_) => Self::of_characters(engine.model.matched_pieces(true)),
                SpmEncoder::Words(_) => Self::Everywhere,
                SpmEncoder::Bpe(_) | SpmEncoder::Unigram(_) => Self::Nowhere,
            },
            Engine::Bpe(_) | Engine::WordPiece(_) | Engine::Word(_) | Engine::Unigram(_) => {
                Self::Nowhere
            }
        }
    }
}

/// A place at which a text can be taken up again, and what the model has to know there.
pub(crate) type ResumePoint = (usize, Option<PathsSoFar>);

impl Engine {
    /// The places in a pretoken that still grows, rising; as places of the text that it comes from.
    ///
    /// `from`: what the model knows at its beginning, if that is not a pretoken's.
    pub(crate) fn growing_places(
        &self,
        piece: &GrowingPiece,
        from: Option<&PathsSoFar>,
        seams: &Seams,
        scratch: &mut EngineScratch,
    ) -> Result<Vec<ResumePoint>> {
        match self {
            Self::Unigram(pipeline) => paths(pipeline.model(), piece, from),
            Self::SentencePiece(engine) => match engine.processor.encoder() {
                SpmEncoder::Unigram(model) => paths(model, piece, from),
                encoder => Ok(crossed(piece, seams, |before, at| match encoder {
                    SpmEncoder::Bpe(model) => model.is_known(before),
                    SpmEncoder::Chars(model) => model.is_known(before),
                    SpmEncoder::Words(model) => model.is_known_word(&piece.bytes, at),
                    SpmEncoder::Unigram(_) => false,
                })),
            },
            Self::Bpe(pipeline) => {
                let model: &BpeModel = pipeline.model();
                Ok(byte_places(piece, seams, |byte| model.knows_byte(byte)))
            }
            Self::CharacterBpe(pipeline) => {
                let model: &CharacterBpeModel = pipeline.model();
                let mut found = crossed(piece, seams, |before, _| knows(model.vocab(), before));
                let text = &piece.bytes;
                let at = |place: usize| {
                    let found = piece.places.binary_search_by_key(&place, |p| p.1).ok()?;
                    text.get(piece.places[found].0..)
                };
                // The text behind has a token of its own as well.
                found.retain(|(place, _)| {
                    at(*place).is_some_and(|rest| {
                        first_char(rest).is_some_and(|c| knows(model.vocab(), c))
                    })
                });
                Ok(found)
            }
            Self::Greedy(pipeline) => {
                Ok(longest(pipeline.model(), piece, seams, &mut scratch.models))
            }
            Self::Character(_) | Self::RawBytes(_) => Ok(crossed(piece, seams, |_, _| true)),
            Self::WordPiece(_) | Self::Word(_) => Ok(Vec::new()),
        }
    }
}

fn knows(vocab: &Vocab, c: char) -> bool {
    vocab
        .bytes_to_id(c.encode_utf8(&mut [0; 4]).as_bytes())
        .is_some()
}

/// The character that bytes begin with.
fn first_char(bytes: &[u8]) -> Option<char> {
    // No more than a character may have: a look at all that is valid would be one at all that
    // follows.
    let few = bytes.get(..bytes.len().min(4))?;
    few.utf8_chunks().next()?.valid().chars().next()
}

fn paths(
    model: &UnigramModel,
    piece: &GrowingPiece,
    from: Option<&PathsSoFar>,
) -> Result<Vec<ResumePoint>> {
    let Some(open) = model.open_end(&piece.bytes, from)? else {
        return Ok(Vec::new());
    };
    let place = |end: &usize| {
        let found = piece
            .places
            .binary_search_by_key(end, |place| place.0)
            .ok()?;
        Some((piece.places[found].1, Some(open.starting_at(*end))))
    };
    // One is enough: what it has to know costs memory.
    Ok(open.ends.iter().find_map(place).into_iter().collect())
}

/// Places between characters that no token has beside each other; `good(before, at)`: what else
/// must hold.
fn crossed(
    piece: &GrowingPiece,
    seams: &Seams,
    good: impl Fn(char, usize) -> bool,
) -> Vec<ResumePoint> {
    let mut out = Vec::new();
    let Ok(text) = std::str::from_utf8(&piece.bytes) else {
        return out;
    };
    let mut before = None;
    let mut places = piece.places.iter().peekable();
    for (at, c) in text.char_indices() {
        let last = before.replace(c);
        let Some(&(_, place)) = places.next_if(|(place, _)| *place == at) else {
            continue;
        };
        let Some(last) = last else { continue };
        let crosses = match seams {
            Seams::Everywhere => false,
            Seams::Characters(pairs) => pairs.contains(&(last, c)),
            Seams::Nowhere | Seams::Bytes(_) | Seams::Longest(_) => true,
        };
        if !crosses && good(last, at) {
            out.push((place, None));
        }
    }
    out
}

fn byte_places(
    piece: &GrowingPiece,
    seams: &Seams,
    knows: impl Fn(u8) -> bool,
) -> Vec<ResumePoint> {
    let Seams::Bytes(pairs) = seams else {
        return Vec::new();
    };
    let is_seam = |&&(at, _): &&(usize, usize)| {
        let [left, right] = [at.wrapping_sub(1), at].map(|at| piece.bytes.get(at).copied());
        let (Some(left), Some(right)) = (left, right) else {
            return false;
        };
        let pair = usize::from(left) << 8 | usize::from(right);
        knows(left) && knows(right) && pairs[pair >> 6] >> (pair & 63) & 1 == 0
    };
    let places = piece.places.iter().filter(is_seam);
    places.map(|&(_, place)| (place, None)).collect()
}

/// Ends of tokens that begin so far from the text's end that no token reaches it.
fn longest(
    model: &GreedyModel,
    piece: &GrowingPiece,
    seams: &Seams,
    scratch: &mut ModelScratch,
) -> Vec<ResumePoint> {
    let Seams::Longest(longest) = seams else {
        return Vec::new();
    };
    let mut ends = Vec::new();
    let mut each = |_: u32, start: usize, end: usize| {
        if start + longest <= piece.bytes.len() {
            ends.push(end);
        }
    };
    if model
        .encode_spans(&piece.bytes, &mut scratch.greedy, &mut each)
        .is_err()
    {
        return Vec::new();
    }
    let mut ends = ends.into_iter().peekable();
    let mut out = Vec::new();
    for &(at, place) in &piece.places {
        while ends.next_if(|&end| end < at).is_some() {}
        if ends.peek() == Some(&at) {
            out.push((place, None));
        }
    }
    out
}
