//! Unicode normalization forms as of a given version.
//!
//! Reference libraries carry tables of different ages (`tokenizers` 0.23: Unicode 9, found by
//! asking which combining marks it reorders). A character unknown to a version is inert in it: a
//! starter that neither composes nor decomposes. So text can be cut at it, and the parts normalized
//! with newer tables.

use regex_syntax::hir::ClassUnicode;
use serde::{Deserialize, Serialize};
use unicode_normalization::char::{
    canonical_combining_class, compose, decompose_canonical, decompose_compatible,
};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};

use crate::error::{Error, Result};
use crate::text::alignment::Alignment;
use crate::text::rewrite::Takes;
use crate::text::unicode::{UnicodeVersion, assigned_in, contains};

/// A Unicode normalization form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    /// The form of a name, in upper or lower case.
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "nfc" => Some(Self::Nfc),
            "nfd" => Some(Self::Nfd),
            "nfkc" => Some(Self::Nfkc),
            "nfkd" => Some(Self::Nfkd),
            _ => None,
        }
    }

    fn apply(self, text: &str, out: &mut String) {
        match self {
            Self::Nfc => out.extend(text.nfc()),
            Self::Nfd => out.extend(text.nfd()),
            Self::Nfkc => out.extend(text.nfkc()),
            Self::Nfkd => out.extend(text.nfkd()),
        }
    }

    /// True if what a character decomposes to begins where nothing composes with what is before it.
    fn stands_apart(self, c: char) -> bool {
        let mut first = None;
        let part = |part| {
            first.get_or_insert(part);
        };
        match self {
            Self::Nfc | Self::Nfd => decompose_canonical(c, part),
            Self::Nfkc | Self::Nfkd => decompose_compatible(c, part),
        }
        first.is_some_and(is_boundary)
    }

    fn is_normalized(self, text: &str) -> bool {
        let quick = match self {
            Self::Nfc => is_nfc_quick(text.chars()),
            Self::Nfd => is_nfd_quick(text.chars()),
            Self::Nfkc => is_nfkc_quick(text.chars()),
            Self::Nfkd => is_nfkd_quick(text.chars()),
        };
        quick == IsNormalized::Yes
    }
}

/// A normalization form with the tables of a version.
#[derive(Debug)]
pub struct FormNormalizer {
    form: Form,
    /// Characters that the version knows. (Not those it does not know: the composition tables at
    /// hand may be newer than the tables that tell a character's age.)
    known: ClassUnicode,
}

impl FormNormalizer {
    /// The form as a version of Unicode defines it.
    pub fn new(form: Form, version: UnicodeVersion) -> Result<Self> {
        let known =
            assigned_in(version).map_err(|reason| Error::format("Unicode tables", reason))?;
        Ok(Self { form, known })
    }

    fn is_unknown(&self, c: char) -> bool {
        // Everything below U+0300 is old and inert under composition.
        c >= '\u{300}' && !contains(&self.known, c)
    }

    /// True if normalization never reaches across the place before a character.
    pub(super) fn stands_apart(&self, c: char) -> bool {
        c < '\u{80}' || self.is_unknown(c) || self.form.stands_apart(c)
    }

    /// The normalized text, or None if it already is.
    pub fn normalize(&self, text: &str) -> Option<String> {
        if text.is_ascii() || self.form.is_normalized(text) {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut start = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| self.is_unknown(*c)) {
            self.form.apply(&text[start..at], &mut out);
            out.push(c);
            start = at + c.len_utf8();
        }
        self.form.apply(&text[start..], &mut out);
        (out != text).then_some(out)
    }

    /// Where each character of the normalized text comes from.
    ///
    /// The sources are the reference's: a decomposition comes from its character, a composed
    /// character from the first of its parts. Marks that change places take the sources in the
    /// order of the text.
    pub fn align(&self, text: &str) -> Alignment {
        self.align_in_parts(text, LONG_LIST)
    }

    fn align_in_parts(&self, text: &str, long_list: usize) -> Alignment {
        let mut pass = Pass {
            form: self.form,
            takes: Takes::new(text),
            pending: Vec::new(),
            long_list,
        };
        for c in text.chars() {
            if self.is_unknown(c) {
                pass.flush();
                pass.takes.push(c, 0);
            } else {
                pass.character(c);
            }
        }
        pass.flush();
        pass.takes.finish()
    }
}

/// Characters that wait before every place is used at which nothing composes: 16 KB of them.
const LONG_LIST: usize = 1024;

/// One pass that notes sources. Nothing leaves it before a starter that nothing composes with.
struct Pass<'t> {
    form: Form,
    takes: Takes<'t>,
    /// Combining class, character, how many characters of the text it takes (see [`Takes`]).
    pending: Vec<(u8, char, isize)>,
    /// How many may wait while the text has no ASCII character; see [`LONG_LIST`].
    long_list: usize,
}

impl Pass<'_> {
    fn character(&mut self, c: char) {
        // Keeps the list short; longer ones are as right, but a text may be long and become longer.
        if c < '\u{80}' || self.pending.len() >= self.long_list && self.form.stands_apart(c) {
            self.flush();
        }
        let mut change = 0;
        let pending = &mut self.pending;
        let part = |part| {
            pending.push((canonical_combining_class(part), part, change));
            change = 1;
        };
        match self.form {
            Form::Nfc | Form::Nfd => decompose_canonical(c, part),
            Form::Nfkc | Form::Nfkd => decompose_compatible(c, part),
        }
    }

    fn flush(&mut self) {
        for run in self.pending.chunk_by_mut(|a, b| a.0 != 0 && b.0 != 0) {
            run.sort_by_key(|(class, ..)| *class); // stable: equal ones stay in order
        }
        if matches!(self.form, Form::Nfc | Form::Nfkc) {
            compose_all(&mut self.pending);
        }
        for (_, c, change) in self.pending.drain(..) {
            self.takes.push(c, change);
        }
    }
}

/// Composes what is decomposed and in canonical order (UAX #15), with what each part takes.
fn compose_all(parts: &mut Vec<(u8, char, isize)>) {
    let mut kept = 0;
    let mut starter: Option<usize> = None;
    for index in 0..parts.len() {
        let (class, c, change) = parts[index];
        if let Some(at) = starter {
            // Blocked unless nothing lies between the two, or only marks of a lower class.
            let blocked = kept > at + 1 && (class == 0 || parts[kept - 1].0 >= class);
            if !blocked && let Some(composed) = compose(parts[at].1, c) {
                parts[at].1 = composed;
                parts[at].2 += change - 1;
                continue;
            }
        }
        parts[kept] = (class, c, change);
        if class == 0 {
            starter = Some(kept);
        }
        kept += 1;
    }
    parts.truncate(kept);
}

/// True if normalization never reaches across the position before a character: it is a starter and
/// combines with no character before it.
fn is_boundary(c: char) -> bool {
    // Hangul vowels and trailing consonants compose with the character before. So do the few other
    // starters that are second in a primary composite (found by asking for all that exist).
    canonical_combining_class(c) == 0
        && !matches!(c, '\u{1161}'..='\u{1175}' | '\u{11A8}'..='\u{11C2}')
        && !composes_backwards(c)
}

/// Starters that are the second character of a canonical composition.
fn composes_backwards(c: char) -> bool {
    matches!(
        c,
        '\u{9BE}'
            | '\u{9D7}'
            | '\u{B3E}'
            | '\u{B56}'
            | '\u{B57}'
            | '\u{BBE}'
            | '\u{BD7}'
            | '\u{CC2}'
            | '\u{CD5}'
            | '\u{CD6}'
            | '\u{D3E}'
            | '\u{D57}'
            | '\u{DCF}'
            | '\u{DDF}'
            | '\u{102E}'
            | '\u{1B35}'
            | '\u{11127}'
            | '\u{1133E}'
            | '\u{11357}'
            | '\u{113B8}'
            | '\u{113BB}'
            | '\u{113C2}'
            | '\u{113C9}'
            | '\u{114B0}'
            | '\u{114BA}'
            | '\u{114BD}'
            | '\u{115AF}'
            | '\u{11930}'
            | '\u{1611E}'..='\u{16129}' | '\u{16D67}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_normalization::char::compose;

    #[test]
    fn every_composing_starter_is_known() {
        // All primary composites whose second character is a starter, found by trying every pair of
        // a first character that occurs in some decomposition with every starter of one.
        for composite in '\0'..=char::MAX {
            let mut parts = Vec::new();
            unicode_normalization::char::decompose_canonical(composite, |c| parts.push(c));
            for pair in parts.windows(2) {
                if compose(pair[0], pair[1]).is_some() && canonical_combining_class(pair[1]) == 0 {
                    assert!(!is_boundary(pair[1]), "U+{:04X}", pair[1] as u32);
                }
            }
        }
    }

    #[test]
    fn a_version_leaves_later_characters_alone() {
        // U+1ABF (Unicode 13, below) is reordered before U+0345 only by versions that know it.
        let text = "a\u{345}\u{1ABF}";
        assert_eq!(
            FormNormalizer::new(Form::Nfc, UnicodeVersion(9, 0))
                .unwrap()
                .normalize(text),
            None
        );
        assert_eq!(
            FormNormalizer::new(Form::Nfc, UnicodeVersion(16, 0))
                .unwrap()
                .normalize(text)
                .as_deref(),
            Some("a\u{1ABF}\u{345}")
        );
    }

    #[test]
    fn what_waits_stays_short_without_ascii() {
        // 18 characters each; all of them together would be 16 bytes times 18 for 3 bytes of text.
        let mut pass = Pass {
            form: Form::Nfkc,
            takes: Takes::new(""),
            pending: Vec::new(),
            long_list: LONG_LIST,
        };
        for _ in 0..10_000 {
            pass.character('\u{FDFA}');
            assert!(pass.pending.len() < LONG_LIST + 18);
        }
    }

    proptest! {
        #[test]
        fn stretches_concatenate_to_the_whole(text in "[a-c\\u{300}-\\u{345}\\u{1100}-\\u{11ff}\\u{ac00}-\\u{ac20}\\u{9be}-\\u{9d7}éﬁ]{0,30}") {
            for form in [Form::Nfc, Form::Nfd, Form::Nfkc, Form::Nfkd] {
                let normalizer = FormNormalizer::new(form, UnicodeVersion(16, 0)).unwrap();
                let whole = normalizer.normalize(&text).unwrap_or_else(|| text.clone());
                let target: usize = normalizer.align(&text).stretches.iter().map(|s| s.target_bytes).sum();
                prop_assert_eq!(target, whole.len());
                // Handing over wherever it is possible changes nothing.
                prop_assert_eq!(normalizer.align_in_parts(&text, 0), normalizer.align_in_parts(&text, usize::MAX));
            }
        }
    }
}
