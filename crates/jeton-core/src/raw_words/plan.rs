//! Which tokenizers can be cut into raw words, and how.
//!
//! What has to hold at a cut, and why it does:
//! - *Normalization* starts afresh there: see [`Separate`].
//! - *Pre-tokenization* does: either white space that it drops lies there, before anything else looks at the text (and
//!   a punctuation mark that it sets apart before anything else does is a word by itself); or spaces become U+2581,
//!   and each piece begins with one, or there is only one piece.
//! - *The model* does: it sees a pretoken at a time; or, where the whole text is one, no token that merges make has
//!   the two characters of the cut beside each other, so that none is made across it, and what merges on one side
//!   does not look at the other. Characters at a cut have tokens, so that no unknown text is joined across it.

use hashbrown::HashSet;

use super::scan::{ALONE, BLANK, Edge, LETTER, Lie, ODD, OTHER, PLAIN, Scanner, WORD};
use super::{Inside, NEVER, Prefix, RawWords, SPACE_CHAR as SPACE, SPACED};
use crate::engine::Engine;
use crate::error::Result;
use crate::normalize::{Normalizer, NormalizerConfig, Separate};
use crate::pipeline::Model as _;
use crate::pretokenize::components::{PUNCTUATION, WHITE_SPACE, WORDS};
use crate::pretokenize::metaspace::{MetaspaceConfig, PrependScheme};
use crate::pretokenize::{Behavior, Dialect, SplitConfig, StepConfig};
use crate::simd::Kernel;
use crate::spm::SpmEncoder;
use crate::unicode::{UnicodeVersion, contains, parse_class};
use crate::vocab::Vocab;

impl RawWords {
    /// The plan for a tokenizer; None if its text cannot be cut.
    pub(crate) fn new(
        normalizer: &Normalizer,
        configs: &[NormalizerConfig],
        steps: &[StepConfig],
        engine: &Engine,
    ) -> Result<Option<Self>> {
        if let Engine::SentencePiece(engine) = engine {
            let kept = engine.model.matched_pieces(true);
            let Some(mut known) = engine.processor.normalizer().separate(kept) else {
                return Ok(None);
            };
            spell_spaces(&mut known);
            let joined = Joined::of_texts(engine.model.matched_pieces(false));
            let scanner = match engine.processor.encoder() {
                SpmEncoder::Bpe(model) if model.merges_in_stretches() && model.is_known(SPACE) => {
                    joined.touching(&known, &|c| model.is_known(c))
                }
                SpmEncoder::Unigram(model) if model.has_piece("\u{2581}") => {
                    let has = |c: char| model.has_piece(c.encode_utf8(&mut [0; 4]));
                    joined.touching(&known, &has)
                }
                _ => None,
            };
            let Some(scanner) = scanner else {
                return Ok(None);
            };
            let first = known.prefix.as_ref().map(|_| Prefix::Always);
            let mut plan = Self::touching(scanner, &known, first);
            let spec = &engine.model.normalizer;
            match engine.processor.encoder() {
                SpmEncoder::Unigram(model) => plan.largest = model.largest_score(),
                // Spaces are taken off an end, and rules look further than a character.
                _ if engine.model.trainer.byte_fallback
                    && !spec.remove_extra_whitespaces
                    && spec.precompiled_charsmap.is_empty() =>
                {
                    plan.inside = Inside::Unjoined(joined);
                }
                _ => {}
            }
            return Ok(Some(plan));
        }
        let Some(mut known) = normalizer.separate(configs)? else {
            return Ok(None);
        };
        if let [StepConfig::Split(split), rest @ ..] = steps
            && drops_white_space(split)
        {
            let plan = apart(&known, rest, steps, engine)?;
            return plan
                .map(|plan| plan.with_ideographs(normalizer, configs, rest))
                .transpose();
        }
        if known.hides_spaces {
            return Ok(None);
        }
        let metaspace = match steps {
            [] => None,
            [StepConfig::Metaspace(metaspace)] if metaspace.replacement == SPACE => {
                Some(*metaspace)
            }
            _ => return Ok(None),
        };
        let first = match (known.prefix.as_deref(), metaspace.map(|m| m.prepend_scheme)) {
            (Some("\u{2581}"), None) | (None, Some(PrependScheme::Always)) => Some(Prefix::Always),
            // Where a piece comes from is not told here, which matters if normalization moves it.
            (None, Some(PrependScheme::First)) if configs.is_empty() => {
                Some(Prefix::AtTheBeginning)
            }
            (None, Some(PrependScheme::First)) | (Some(_), _) => return Ok(None),
            (None, _) => None,
        };
        if metaspace.is_some() {
            spell_spaces(&mut known);
        }
        let mut inside = Inside::Nowhere;
        let scanner = match (engine, metaspace) {
            // Each piece is a pretoken.
            (
                Engine::Unigram(_)
                | Engine::CharacterBpe(_)
                | Engine::WordPiece(_)
                | Engine::Word(_),
                Some(MetaspaceConfig { split: true, .. }),
            ) => Joined::default().touching(&known, &|_| false),
            (Engine::CharacterBpe(pipeline), _) => {
                let model = pipeline.model();
                let options = model.options();
                if options.whole_pretokens
                    || !options.continuing_prefix.is_empty()
                    || !options.end_of_word_suffix.is_empty()
                {
                    return Ok(None);
                }
                let vocab = model.vocab();
                let texts = model.merges();
                let texts = texts.iter().filter_map(|&(left, right)| {
                    Some((vocab.id_to_bytes(left)?, vocab.id_to_bytes(right)?))
                });
                let has = |c: char| {
                    vocab
                        .bytes_to_id(c.encode_utf8(&mut [0; 4]).as_bytes())
                        .is_some()
                };
                if !has(SPACE) {
                    return Ok(None);
                }
                let joined = Joined::of_merges(texts);
                let scanner = joined.touching(&known, &has);
                if options.byte_fallback && has_all_bytes(vocab) && known.only_spaces {
                    inside = Inside::Unjoined(joined);
                }
                scanner
            }
            _ => None,
        };
        Ok(scanner.map(|scanner| Self {
            inside,
            ..Self::touching(scanner, &known, first)
        }))
    }

    /// The same with cuts around ideographs, and around marks of their scripts, where BERT's steps are all there is.
    fn with_ideographs(
        mut self,
        normalizer: &Normalizer,
        configs: &[NormalizerConfig],
        rest: &[StepConfig],
    ) -> Result<Self> {
        let ([NormalizerConfig::Bert(bert)], [StepConfig::Split(split), ..]) = (configs, rest)
        else {
            return Ok(self);
        };
        if bert.handle_chinese_chars
            && split.pattern == PUNCTUATION
            && split.behavior == Behavior::Isolated
        {
            let is_mark = parse_class(PUNCTUATION, false, split.unicode)
                .map_err(|reason| crate::error::Error::format("Unicode tables", reason))?;
            let mut marks = Vec::new();
            for c in ('\u{3001}'..='\u{301f}')
                .chain('\u{ff01}'..='\u{ff0f}')
                .chain('\u{ff1a}'..='\u{ff20}')
            {
                let mut buffer = [0; 4];
                let text: &str = c.encode_utf8(&mut buffer);
                if contains(&is_mark, c) && normalizer.normalize(text)? == text {
                    marks.push(c);
                }
            }
            self.inside = Inside::Around(marks);
        }
        Ok(self)
    }

    fn touching(scanner: Scanner, known: &Separate, first: Option<Prefix>) -> Self {
        let mut quick = [NEVER; 128];
        let images = known.images.iter().zip(known.opens);
        for (quick, (&image, opens)) in quick.iter_mut().zip(images) {
            *quick = match image.filter(|_| !opens) {
                Some(SPACE) => SPACED,
                Some(c) if c.is_ascii_graphic() => c as u8,
                _ => NEVER,
            };
        }
        Self {
            // Only a space is as good as what is put in front.
            first: first.filter(|_| quick[usize::from(b' ')] == SPACED),
            scanner,
            quick,
            spaced: false,
            inside: Inside::Nowhere,
            largest: None,
        }
    }
}

/// Where the next step makes U+2581 of spaces.
fn spell_spaces(known: &mut Separate) {
    for image in &mut known.images {
        *image = image.map(|c| if c == ' ' { SPACE } else { c });
    }
}

/// Whether each byte has a token, so that no character is unknown.
fn has_all_bytes(vocab: &Vocab) -> bool {
    (0..=255u8).all(|byte| {
        vocab
            .bytes_to_id(format!("<0x{byte:02X}>").as_bytes())
            .is_some()
    })
}

/// The first step of `BertPreTokenizer`, `WhitespaceSplit` and `Whitespace`: no pretoken has white space in it.
fn drops_white_space(split: &SplitConfig) -> bool {
    let removes = |pattern: &str, invert: bool| split.pattern == pattern && split.invert == invert;
    split.behavior == Behavior::Removed
        && split.dialect == Dialect::FancyRegex
        && !split.in_byte_alphabet
        && (removes(WHITE_SPACE, false) || removes(WORDS, true))
}

/// Words with white space between them, which is dropped. `rest`: the steps after the first.
fn apart(
    known: &Separate,
    rest: &[StepConfig],
    steps: &[StepConfig],
    engine: &Engine,
) -> Result<Option<RawWords>> {
    let begins_anew = |step: &StepConfig| match step {
        StepConfig::Metaspace(metaspace) => metaspace.prepend_scheme == PrependScheme::Always,
        _ => true,
    };
    if known.prefix.is_some() || !rest.iter().all(begins_anew) {
        return Ok(None);
    }
    let class = |pattern: &str, unicode| {
        parse_class(pattern, false, unicode)
            .map_err(|reason| crate::error::Error::format("Unicode tables", reason))
    };
    let white = class(WHITE_SPACE, UnicodeVersion::REFERENCES)?;
    let (marks, after_marks) = match rest {
        [StepConfig::Split(split), after @ ..]
            if split.pattern == PUNCTUATION
                && split.behavior == Behavior::Isolated
                && !known.composes =>
        {
            (Some(class(PUNCTUATION, split.unicode)?), after)
        }
        _ => (None, rest),
    };
    let only_words = matches!(steps, [StepConfig::Split(split), ..] if split.pattern == WORDS);
    // One pretoken, with or without a space in front: what a word without punctuation is then.
    let (spaced, is_one) = match after_marks {
        [] => (false, true),
        [StepConfig::Metaspace(metaspace)] => (true, metaspace.replacement == SPACE),
        _ => (false, false),
    };
    let is_one = is_one && !matches!(engine, Engine::SentencePiece(_));
    let mut members = [0; 256];
    let mut quick = [NEVER; 128];
    for (c, (member, quick)) in ('\0'..).zip(members.iter_mut().zip(&mut quick)) {
        let image = known.images[c as usize];
        let is_mark = |c| marks.as_ref().is_some_and(|marks| contains(marks, c));
        *member = match image {
            Some(image) if contains(&white, image) => 0,
            Some(image) if is_mark(image) && !known.clusters => ALONE,
            Some(_) => WORD,
            None => WORD | ODD,
        };
        let is_plain = |image: char| {
            image.is_ascii_graphic()
                && (!only_words || image.is_ascii_alphanumeric() || image == '_')
        };
        if let Some(image) = image
            && is_one
            && is_plain(image)
        {
            *quick = image as u8;
        }
    }
    if marks.is_some() {
        // A mark by itself is a pretoken; among other characters it is not.
        for (c, quick) in ('\0'..).zip(&mut quick) {
            let image = known.images[c as usize];
            let is_mark = |image| marks.as_ref().is_some_and(|marks| contains(marks, image));
            if members[c as usize] & ALONE == 0 && image.is_some_and(is_mark) {
                *quick = NEVER;
            }
        }
    }
    Ok(Some(RawWords {
        scanner: Scanner {
            lie: Lie::Apart,
            members,
            may_touch: known.clusters.then(|| Edge {
                clusters: true,
                nobody: false,
                barred: Vec::new(),
            }),
            kernel: Kernel::fastest(),
        },
        quick,
        spaced,
        first: None,
        inside: Inside::Nowhere,
        largest: None,
    }))
}

/// Characters that stand beside each other in some token, where they were joined.
#[derive(Debug, Default)]
pub(super) struct Joined(HashSet<(char, char), foldhash::fast::FixedState>);

impl Joined {
    /// Of all characters of texts that are neighbours.
    fn of_texts<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut pairs = HashSet::with_hasher(crate::vocab::hasher());
        for text in texts {
            let text = String::from_utf8_lossy(text);
            pairs.extend(text.chars().zip(text.chars().skip(1)));
        }
        Self(pairs)
    }

    /// Of the last character of a token and the first of one that merges with it.
    fn of_merges<'t>(merges: impl Iterator<Item = (&'t [u8], &'t [u8])>) -> Self {
        let mut pairs = HashSet::with_hasher(crate::vocab::hasher());
        for (left, right) in merges {
            let (left, right) = (
                String::from_utf8_lossy(left),
                String::from_utf8_lossy(right),
            );
            pairs.extend(left.chars().next_back().zip(right.chars().next()));
        }
        Self(pairs)
    }

    /// Whether two characters stand beside each other.
    #[inline]
    pub(super) fn has(&self, before: char, after: char) -> bool {
        self.0.contains(&(before, after))
    }

    /// How words are cut that follow one another. `has`: whether a character has a token.
    fn touching(&self, known: &Separate, has: &dyn Fn(char) -> bool) -> Option<Scanner> {
        let mut barred = known.barred.clone();
        barred.push(SPACE);
        let crossing = self
            .0
            .iter()
            .filter(|pair| pair.1 == SPACE && pair.0 != SPACE);
        let before = barred.len();
        barred.extend(crossing.map(|&(left, _)| left));
        let crosses = barred.len() > before;
        barred.sort_unstable();
        barred.dedup();
        let mut members = [0; 256];
        let graphic = |image: Option<char>| image.filter(char::is_ascii_graphic);
        let images = || known.images.into_iter().zip(known.inside);
        for (member, (image, inside)) in members.iter_mut().zip(images()) {
            match image {
                // Nothing goes across a place before a character that is inside of nothing.
                Some(SPACE) if !inside => *member |= BLANK,
                Some(image) if image.is_ascii_graphic() => {
                    if barred.binary_search(&image).is_err() {
                        *member |= PLAIN;
                    }
                    if image.is_ascii_alphabetic() && has(image) && !inside {
                        *member |= LETTER;
                    }
                }
                _ => {}
            }
        }
        if members.iter().all(|member| member & BLANK == 0) {
            return None;
        }
        let letters: Vec<char> = members
            .iter()
            .zip(known.images)
            .filter(|(member, _)| **member & LETTER != 0)
            .filter_map(|(_, image)| image)
            .collect();
        for (member, (image, inside)) in members.iter_mut().zip(images()) {
            let is_other = |c: &char| !c.is_ascii_alphabetic() && has(*c) && !inside;
            let Some(image) = graphic(image).filter(is_other) else {
                continue;
            };
            let joins = |letter: &char| {
                self.0.contains(&(*letter, image)) || self.0.contains(&(image, *letter))
            };
            if !letters.iter().any(joins) {
                *member |= OTHER;
            }
        }
        Some(Scanner {
            lie: Lie::Touching,
            members,
            may_touch: Some(Edge {
                clusters: known.clusters,
                // What a character of several bytes becomes is not known here.
                nobody: crosses,
                barred,
            }),
            kernel: Kernel::fastest(),
        })
    }
}
