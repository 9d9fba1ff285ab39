//! Conditions under which a tokenizer can be cut into raw words.
//!
//! Conditions at a cut, and why they hold:
//! - *Normalization* starts afresh there. Texts that are changed as one do not go across a place
//!   before a character that is inside of none of them (see [`Separate`]). The text in front of the
//!   place does not end in a space or in a part that is removed. So spaces that are taken off an
//!   end, or made one, are on one side.
//! - *Pre-tokenization* does, in one of two ways. Either its first step drops white space there
//!   (and a punctuation mark that the first step sets apart is a word by itself). Or spaces become
//!   U+2581, and each piece begins with one, or there is only one piece.
//! - *The model* does. It sees a pretoken at a time, or the whole text is one pretoken. Then no
//!   token that merges make has the two characters of the cut beside each other. So no token is
//!   made across the cut, and merges on one side do not look at the other side. These are the
//!   characters *after* normalization. The image of the one behind is known if no longer text that
//!   is changed begins with it, or with it and the text that follows. The image of the one in front
//!   is known if it is inside of no such text. A character that only its own token has (the end of
//!   a line in Llama 2) is joined with nothing, so the character beside it may be any. On one side
//!   of a cut at least the character has tokens, so that no unknown text is joined across it; and
//!   unknown tokens merge with nothing. Where unknown characters are left out and spaces merge with
//!   spaces, the character in front of the cut must have a token. Without one, the space before it
//!   would merge with the space behind the cut.

use super::joined::Joined;
use super::scan::{ALONE, Edge, Layout, ODD, Scanner, WORD};
use super::{Inside, NEVER, Prefix, RawWords, SPACE_CHAR as SPACE, SPACED};
use crate::cpu::dispatch::Kernel;
use crate::engine::Engine;
use crate::error::Result;
use crate::models::Model as _;
use crate::models::bpe::Missing;
use crate::normalize::{Normalizer, NormalizerConfig, Separate};
use crate::pretokenize::components::{PUNCTUATION, WHITE_SPACE, WORDS};
use crate::pretokenize::metaspace::{MetaspaceConfig, PrependScheme};
use crate::pretokenize::{Behavior, Dialect, StepConfig};
use crate::sentencepiece::SpmEncoder;
use crate::text::unicode::{UnicodeVersion, contains, parse_class};
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
        if is_cut_at_white_space(steps) {
            return Self::apart(normalizer, configs, &known, steps);
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
                // Unknown characters that merge, or their bytes: what these join is not told by
                // their texts.
                let unknown = match options.missing {
                    Missing::Unknown(id) => vocab.id_to_bytes(id),
                    Missing::Skip | Missing::Fail => None,
                };
                let stands_for_others = |text: &[u8]| {
                    options.byte_fallback && is_byte_token(text) || Some(text) == unknown
                };
                let mut sides = texts.clone().flat_map(|(left, right)| [left, right]);
                if !has(SPACE) || sides.any(stands_for_others) {
                    return Ok(None);
                }
                let is_spelled = options.byte_fallback && has_all_bytes(vocab);
                let leaves_out = options.missing == Missing::Skip && !is_spelled;
                let joined = Joined::of_merges(texts).leaving_out(leaves_out);
                let scanner = joined.touching(&known, &has);
                if is_spelled && known.only_spaces {
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

    /// Words with white space between them, which is dropped: see [`is_cut_at_white_space`]. The
    /// model may be any.
    pub(super) fn apart(
        normalizer: &Normalizer,
        configs: &[NormalizerConfig],
        known: &Separate,
        steps: &[StepConfig],
    ) -> Result<Option<Self>> {
        let rest = steps.get(1..).unwrap_or_default();
        let plan = apart(known, rest, steps)?;
        plan.map(|plan| plan.with_ideographs(normalizer, configs, steps))
            .transpose()
    }

    /// Adds cuts around ideographs, and around marks of their scripts, where BERT's steps are all
    /// there is.
    fn with_ideographs(
        mut self,
        normalizer: &Normalizer,
        configs: &[NormalizerConfig],
        steps: &[StepConfig],
    ) -> Result<Self> {
        let ([NormalizerConfig::Bert(bert)], [_, StepConfig::Split(split), ..]) = (configs, steps)
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

/// True if a token is written as one for a byte that no other token covers.
fn is_byte_token(text: &[u8]) -> bool {
    matches!(text, [b'<', b'0', b'x', high, low, b'>'] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// True if each byte has a token, so that no character is unknown.
fn has_all_bytes(vocab: &Vocab) -> bool {
    (0..=255u8).all(|byte| {
        vocab
            .bytes_to_id(format!("<0x{byte:02X}>").as_bytes())
            .is_some()
    })
}

/// True if the first step is the one of `BertPreTokenizer`, `WhitespaceSplit` or `Whitespace`: no
/// pretoken has white space in it.
pub(super) fn is_cut_at_white_space(steps: &[StepConfig]) -> bool {
    let [StepConfig::Split(split), ..] = steps else {
        return false;
    };
    let removes = |pattern: &str, invert: bool| split.pattern == pattern && split.invert == invert;
    split.behavior == Behavior::Removed
        && split.dialect == Dialect::FancyRegex
        && !split.in_byte_alphabet
        && (removes(WHITE_SPACE, false) || removes(WORDS, true))
}

/// Words with white space between them, which is dropped. `rest`: the steps after the first.
fn apart(known: &Separate, rest: &[StepConfig], steps: &[StepConfig]) -> Result<Option<RawWords>> {
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
            layout: Layout::Separated,
            members,
            leads: false,
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
