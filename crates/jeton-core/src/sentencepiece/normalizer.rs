//! SentencePiece's normalizer: user-defined pieces are kept, the charsmap applies to the rest, and
//! spaces become U+2581.
//!
//! Follows `sentencepiece` 0.2.3. Cost: linear in the text.

use super::piece::SPACE;
use super::spec::NormalizerSpec;
use crate::error::Result;
use crate::models::unigram::trie::Trie;
use crate::normalize::Separate;
use crate::normalize::charsmap::{Charsmap, StretchList};
use crate::text::alignment::Alignment;
use crate::text::growth::{DEFAULT_MAX_GROWTH, GrowthLimit};

/// Matches looked at per position: `sentencepiece` 0.2.3 sees the shortest 64 and no more.
const MAX_MATCHES: usize = 64;

/// A compiled normalizer.
#[derive(Clone, Debug)]
pub struct SpmNormalizer {
    charsmap: Option<Charsmap>,
    kept: Option<Matcher>,
    add_dummy_prefix: bool,
    as_suffix: bool,
    remove_extra: bool,
    space: &'static str,
    growth: GrowthLimit,
}

/// Finds user-defined pieces.
#[derive(Clone, Debug)]
pub struct Matcher(Trie);

impl Matcher {
    /// Compiles the pieces; none if there are none.
    pub fn new(pieces: Vec<(&[u8], u32)>) -> Result<Option<Self>> {
        Ok(if pieces.is_empty() {
            None
        } else {
            Some(Self(Trie::new(pieces)?))
        })
    }

    /// True if some piece begins as the whole text does and goes on.
    fn is_cut_off(&self, text: &[u8]) -> bool {
        self.0.is_cut_off(text)
    }

    /// The longest piece that the text begins with: its bytes and id.
    #[inline]
    pub fn longest_prefix(&self, text: &[u8]) -> Option<(usize, u32)> {
        self.0.prefixes(text).take(MAX_MATCHES).last()
    }
}

/// Observer of the source while text is normalized.
trait Record {
    /// `source` bytes became the next `target` bytes.
    fn push(&mut self, source: usize, target: usize, unchanged: bool);
    /// The last `target` bytes are taken back.
    fn cut(&mut self, target: usize);
    /// `target` bytes that come from nowhere are put behind the text.
    fn suffix(&mut self, target: usize);
}

impl Record for () {
    fn push(&mut self, _: usize, _: usize, _: bool) {}
    fn cut(&mut self, _: usize) {}
    fn suffix(&mut self, _: usize) {}
}

impl Record for StretchList {
    fn push(&mut self, source: usize, target: usize, unchanged: bool) {
        StretchList::push(self, source, target, unchanged);
    }
    fn cut(&mut self, target: usize) {
        StretchList::cut(self, target);
    }
    fn suffix(&mut self, target: usize) {
        self.push_from_nowhere(target);
    }
}

/// For each byte of the result, the byte of the source at which what it came from begins; and the
/// place in the source at which the result ends. A piece's surface, by SentencePiece's own rule,
/// goes from the origin of its first byte to the origin of the byte after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    origins: Vec<usize>,
    consumed: usize,
}

impl Origins {
    /// The origin of a byte of the result, or of its end.
    pub fn of(&self, byte: usize) -> usize {
        self.origins.get(byte).copied().unwrap_or(self.consumed)
    }
}

impl Record for Origins {
    fn push(&mut self, source: usize, target: usize, _: bool) {
        self.origins
            .extend(std::iter::repeat_n(self.consumed, target));
        self.consumed += source;
    }
    fn cut(&mut self, target: usize) {
        let left = self.origins.len().saturating_sub(target);
        self.consumed = self.of(left);
        self.origins.truncate(left);
    }
    fn suffix(&mut self, target: usize) {
        self.push(0, target, false);
    }
}

/// Where pieces of the text begin: in the result, and in the text.
#[derive(Default)]
struct Pieces {
    places: Vec<(usize, usize)>,
    source: usize,
    target: usize,
}

impl Record for Pieces {
    fn push(&mut self, source: usize, target: usize, _: bool) {
        if source > 0 {
            self.places.push((self.target, self.source));
        }
        self.source += source;
        self.target += target;
    }
    fn cut(&mut self, _: usize) {}
    fn suffix(&mut self, _: usize) {}
}

impl SpmNormalizer {
    /// Compiles a normalizer. `kept`: finds user-defined pieces, which no rule touches.
    pub fn new(spec: &NormalizerSpec, as_suffix: bool, kept: Option<Matcher>) -> Result<Self> {
        let charsmap = &spec.precompiled_charsmap;
        Ok(Self {
            charsmap: if charsmap.is_empty() {
                None
            } else {
                Some(Charsmap::new(charsmap)?)
            },
            kept,
            add_dummy_prefix: spec.add_dummy_prefix,
            as_suffix,
            remove_extra: spec.remove_extra_whitespaces,
            space: if spec.escape_whitespaces { SPACE } else { " " },
            growth: GrowthLimit::default(),
        })
    }

    /// How much longer texts may become.
    pub(crate) fn growth(&self) -> &GrowthLimit {
        &self.growth
    }

    /// Fails if a text becomes longer than it may. Rules rarely make much of a byte; then the text
    /// need not be looked through.
    pub(crate) fn check(&self, text: &str) -> Result<()> {
        let Some(charsmap) = &self.charsmap else {
            return Ok(());
        };
        let room = self.growth.room(text.len());
        if charsmap.may_make(text.len()) <= room.limit() {
            return Ok(());
        }
        room.check("normalization", charsmap.length(text))
    }

    /// The normalized text.
    pub fn normalize(&self, text: &str) -> String {
        self.run(text, false, &mut ())
    }

    /// The normalized text of the rest of a text. The beginning, which is missing, did not end in a
    /// space.
    pub(crate) fn go_on(&self, text: &str) -> String {
        self.run(text, true, &mut ())
    }

    /// Returns the part of the normalization that nothing behind the text can change. With it come
    /// the places from which `go_on` makes the rest: (in the normalized text, in the text), rising.
    /// `continues`: the beginning is elsewhere.
    ///
    /// A piece of the text is decided where no key goes on behind the text's end; then so are those
    /// before. At a place behind one that does not end in a space, nothing is left to be known:
    /// spaces at the end are taken off up to there at most.
    pub(crate) fn open_end(&self, text: &str, continues: bool) -> (String, Vec<(usize, usize)>) {
        let mut pieces = Pieces::default();
        let mut decided = 0;
        while let Some(first) = text[decided..].chars().next() {
            let rest = &text[decided..];
            let is_open = |cut_off: Option<bool>| cut_off.unwrap_or(false);
            if is_open(
                self.kept
                    .as_ref()
                    .map(|kept| kept.is_cut_off(rest.as_bytes())),
            ) || is_open(self.charsmap.as_ref().map(|map| map.is_cut_off(rest)))
            {
                break;
            }
            decided += self.prefix(rest, first).0;
        }
        let mut out = self.run(&text[..decided], continues, &mut pieces);
        if self.add_dummy_prefix && self.as_suffix && out.ends_with(self.space) {
            out.truncate(out.len() - self.space.len());
        }
        let mut places = pieces.places;
        let is_good = |&(at, _): &(usize, usize)| {
            at > 0 && at < out.len() && !(self.remove_extra && out[..at].ends_with(self.space))
        };
        places.retain(is_good);
        (out, places)
    }

    /// Returns the images of single characters where neighbours do not matter; `kept` are the
    /// pieces that no rule touches. None where U+2581 does not stand for spaces before words.
    ///
    /// A rule goes across a place only if it has the character behind it, further on than at its
    /// beginning. The image of the character behind is known if no longer rule begins with it.
    pub(crate) fn separate<'p>(&self, kept: impl Iterator<Item = &'p [u8]>) -> Option<Separate> {
        // Words apart from one another are not held to what the whole text may become.
        let times = self.charsmap.as_ref().map_or(1, |map| map.may_make(1));
        if self.as_suffix || self.space != SPACE || times > DEFAULT_MAX_GROWTH as usize {
            return None;
        }
        let mut known = Separate::identity();
        known.prefix = self.add_dummy_prefix.then(|| " ".to_owned());
        if let Some(charsmap) = &self.charsmap
            && !charsmap.each_part(|part| known.join(part))
        {
            return None;
        }
        for piece in kept {
            known.join_text(piece);
        }
        for (c, image) in ('\0'..).zip(&mut known.images) {
            let mut buffer = [0; 4];
            let text: &str = c.encode_utf8(&mut buffer);
            let mut to = self.prefix(text, c).1.chars();
            *image = to.next().filter(|_| to.next().is_none());
        }
        known.finish();
        Some(known)
    }

    /// The normalized text, and where each stretch of it came from.
    pub fn normalize_aligned(&self, text: &str) -> (String, Alignment) {
        let mut stretches = StretchList::default();
        let out = self.run(text, false, &mut stretches);
        (out, stretches.finish())
    }

    /// The normalized text, and the origin of each byte by SentencePiece's own rule.
    pub fn normalize_with_origins(&self, text: &str) -> (String, Origins) {
        let mut origins = Origins::default();
        let out = self.run(text, false, &mut origins);
        (out, origins)
    }

    /// Normalizes the beginning of a text: bytes consumed, and the result.
    #[inline]
    fn prefix<'t>(&'t self, text: &'t str, first: char) -> (usize, &'t str) {
        if let Some(kept) = &self.kept
            && let Some((length, _)) = kept.longest_prefix(text.as_bytes())
            && let Some(same) = text.get(..length)
        {
            return (length, same);
        }
        if let Some(charsmap) = &self.charsmap
            && let Some(found) = charsmap.longest_prefix(text)
        {
            return found;
        }
        (first.len_utf8(), &text[..first.len_utf8()])
    }

    fn run(&self, text: &str, continues: bool, record: &mut impl Record) -> String {
        let mut rest = text;
        if self.remove_extra && !continues {
            while let Some(first) = rest.chars().next()
                && let (length, " ") = self.prefix(rest, first)
            {
                record.push(length, 0, false);
                rest = &rest[length..];
            }
        }
        if rest.is_empty() && !continues {
            return String::new();
        }
        // Escaped spaces make text grow: room for one in five characters being one.
        let mut out = String::with_capacity(rest.len() + rest.len() / 2 + SPACE.len());
        if self.add_dummy_prefix && !self.as_suffix && !continues {
            out.push_str(self.space);
            record.push(0, self.space.len(), false);
        }
        let mut after_space = self.remove_extra && !continues;
        while let Some(first) = rest.chars().next() {
            let (length, to) = self.prefix(rest, first);
            let from = &rest[..length];
            let kept = if after_space {
                to.trim_start_matches(' ')
            } else {
                to
            };
            let start = out.len();
            for part in kept.split_inclusive(' ') {
                match part.strip_suffix(' ') {
                    Some(word) => {
                        out.push_str(word);
                        out.push_str(self.space);
                    }
                    None => out.push_str(part),
                }
            }
            record.push(length, out.len() - start, &out[start..] == from);
            if !kept.is_empty() {
                after_space = self.remove_extra && kept.ends_with(' ');
            }
            rest = &rest[length..];
        }
        if self.remove_extra {
            let end = out.trim_end_matches(self.space).len();
            if end < out.len() {
                record.cut(out.len() - end);
                out.truncate(end);
            }
        }
        if self.add_dummy_prefix && self.as_suffix {
            out.push_str(self.space);
            record.suffix(self.space.len());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normalizer(spec: &NormalizerSpec, as_suffix: bool, kept: &[&str]) -> SpmNormalizer {
        let kept = kept.iter().map(|piece| (piece.as_bytes(), 0)).collect();
        SpmNormalizer::new(spec, as_suffix, Matcher::new(kept).unwrap()).unwrap()
    }

    #[test]
    fn spaces() {
        let usual = normalizer(&NormalizerSpec::default(), false, &[]);
        assert_eq!(usual.normalize("  a  b "), "▁a▁b");
        assert_eq!(usual.normalize(""), "");
        assert_eq!(usual.normalize("  "), "");
        let suffix = normalizer(&NormalizerSpec::default(), true, &[]);
        assert_eq!(suffix.normalize(" a b "), "a▁b▁");
        let plain = NormalizerSpec {
            remove_extra_whitespaces: false,
            ..NormalizerSpec::default()
        };
        let plain = normalizer(&plain, false, &["a "]);
        assert_eq!(plain.normalize(" a  b "), "▁▁a▁▁b▁");
        assert_eq!(plain.normalize(" "), "▁▁");
    }

    #[test]
    fn origins_and_alignment() {
        let usual = normalizer(&NormalizerSpec::default(), false, &[]);
        let (text, origins) = usual.normalize_with_origins(" é  b ");
        assert_eq!(text, "▁é▁b");
        assert_eq!((origins.of(0), origins.of(3)), (1, 1)); // dummy prefix, é
        assert_eq!((origins.of(5), origins.of(8), origins.of(9)), (3, 5, 6));
        let (text, alignment) = usual.normalize_aligned(" é  b ");
        assert_eq!(text, "▁é▁b");
        assert_eq!(alignment.lookup().source_range(3, 5), (1, 3));
        assert_eq!(alignment.lookup().source_range(8, 9), (5, 6));
    }

    /// The rules said once more, without regard to cost: one list of characters with their sources.
    fn naive(
        text: &str,
        remove: bool,
        prefix: bool,
        as_suffix: bool,
        kept: &[&str],
    ) -> (String, Vec<usize>) {
        let mut units: Vec<(String, usize)> = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let symbol = kept
                .iter()
                .filter(|k| text[at..].starts_with(**k))
                .max_by_key(|k| k.len());
            let c = text[at..].chars().next().unwrap().to_string();
            let unit = symbol.map_or(c, |k| (*k).to_owned());
            units.push((unit.clone(), at));
            at += unit.len();
        }
        let mut end = text.len();
        if remove {
            while units.first().is_some_and(|u| u.0 == " ") {
                units.remove(0);
            }
        }
        if units.is_empty() {
            return (String::new(), Vec::new());
        }
        let start = units[0].1;
        let mut out: Vec<(char, usize)> = Vec::new();
        let mut previous_space = remove;
        for (unit, source) in units {
            let unit = if previous_space {
                unit.trim_start_matches(' ').to_owned()
            } else {
                unit
            };
            out.extend(unit.chars().map(|c| (c, source)));
            if !unit.is_empty() {
                previous_space = remove && unit.ends_with(' ');
            }
        }
        for c in &mut out {
            if c.0 == ' ' {
                c.0 = '\u{2581}';
            }
        }
        if prefix && !as_suffix {
            out.insert(0, ('\u{2581}', start));
        }
        if remove {
            while out.last().is_some_and(|c| c.0 == '\u{2581}') {
                end = out.pop().unwrap().1;
            }
        }
        if prefix && as_suffix {
            out.push(('\u{2581}', end));
        }
        let mut origins = Vec::new();
        for &(c, source) in &out {
            origins.extend(vec![source; c.len_utf8()]);
        }
        origins.push(end);
        (out.iter().map(|c| c.0).collect(), origins)
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin(text in "[ ab▁é]{0,12}", remove: bool, prefix: bool, as_suffix: bool) {
            let kept = ["a ", " b", "▁", "ab"];
            let spec = NormalizerSpec {
                remove_extra_whitespaces: remove,
                add_dummy_prefix: prefix,
                ..NormalizerSpec::default()
            };
            let normalizer = normalizer(&spec, as_suffix, &kept);
            let (out, origins) = normalizer.normalize_with_origins(&text);
            let (expected, expected_origins) = naive(&text, remove, prefix, as_suffix, &kept);
            prop_assert_eq!(&out, &expected);
            if !out.is_empty() {
                let found: Vec<_> = (0..=out.len()).map(|byte| origins.of(byte)).collect();
                prop_assert_eq!(found, expected_origins);
            }
            let (aligned, alignment) = normalizer.normalize_aligned(&text);
            prop_assert_eq!(&aligned, &out);
            let mut lookup = alignment.lookup();
            for (start, c) in out.char_indices() {
                let (from, to) = lookup.source_range(start, start + c.len_utf8());
                prop_assert!(from <= to && to <= text.len());
                if c != '\u{2581}' {
                    prop_assert!(text[from..to].contains(c));
                }
            }
        }
    }
}
