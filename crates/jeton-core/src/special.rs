//! Special and added tokens: found in text, allowed or left as text.
//!
//! A *special* token is never produced from ordinary text: text that merely looks like one stays
//! text unless the caller allows it by name. An *added* token that is not special (a run
//! of spaces, say) is always found.
//!
//! Finding follows `tokenizers`: tokens that are matched before normalization first, on the raw text;
//! then, in each part that remains, on its normalized text, those matched after it. Of several
//! tokens at one place the longest wins.

use std::collections::HashSet;

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::normalize::Normalizer;
use crate::unicode::{UnicodeVersion, contains, parse_class};
use regex_syntax::hir::ClassUnicode;

/// One special or added token (the fields are those of `tokenizer.json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedToken {
    /// Its id.
    pub id: u32,
    /// Its text.
    pub content: String,
    /// Never found unless allowed; left out of a decoding that skips special tokens.
    pub special: bool,
    /// Found only where no word character touches it.
    pub single_word: bool,
    /// Takes the white space before it along.
    pub lstrip: bool,
    /// Takes the white space after it along.
    pub rstrip: bool,
    /// Found in the normalized text instead of the raw one.
    pub normalized: bool,
}

impl AddedToken {
    /// A special token as `tiktoken` has them: found in raw text, nothing around it matters.
    pub fn special(id: u32, content: impl Into<String>) -> Self {
        Self {
            id,
            content: content.into(),
            special: true,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
        }
    }
}

/// Which special tokens a caller allows.
#[derive(Clone, Debug, Default)]
pub enum Allow {
    /// None: look-alikes stay text.
    #[default]
    None,
    /// Every one.
    All,
    /// These ids.
    Ids(HashSet<u32>),
}

impl Allow {
    fn permits(&self, token: &AddedToken) -> bool {
        !token.special
            || match self {
                Self::None => false,
                Self::All => true,
                Self::Ids(ids) => ids.contains(&token.id),
            }
    }
}

/// A token found in a text, as byte range and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The token's id.
    pub id: u32,
}

/// The added tokens of a tokenizer, ready to be found.
#[derive(Debug, Default)]
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    raw: Option<Finder>,
    normalized: Option<Finder>,
    /// Whether any token is found without being allowed.
    any_always: bool,
}

/// The longest content of a token that is looked for. A text that keeps beginning a long token and a short one is
/// read as often as the long one has bytes, so this bounds what a hostile file can cost. The longest added
/// token of sixty published vocabularies has 45.
const MAX_CONTENT_BYTES: usize = 4096;

#[derive(Debug)]
struct Finder {
    automaton: AhoCorasick,
    /// Indices into `tokens`, by pattern of the automaton.
    members: Vec<usize>,
    /// Word characters, for `single_word`; made only if some token needs them.
    word: Option<ClassUnicode>,
    /// After a match that is not allowed, look again from the next byte (as `tiktoken` does) instead of
    /// after it (as `tokenizers` does).
    look_again: bool,
}

impl AddedTokens {
    /// Prepares tokens for finding. `look_again`: see the module's tests; it is what `tiktoken` does.
    pub fn new(tokens: Vec<AddedToken>, normalizer: &Normalizer, look_again: bool) -> Result<Self> {
        let finder = |normalized: bool| -> Result<Option<Finder>> {
            let mut members = Vec::new();
            let mut contents = Vec::new();
            for (index, token) in tokens.iter().enumerate() {
                if token.normalized != normalized {
                    continue;
                }
                let content = match token.content.as_str() {
                    content if normalized => normalizer.normalize(content)?.into_owned(),
                    content => content.to_owned(),
                };
                if content.len() > MAX_CONTENT_BYTES {
                    return Err(ErrorKind::TooLarge {
                        what: "bytes of an added token",
                        limit: MAX_CONTENT_BYTES as u64,
                    }
                    .into());
                }
                // Nothing is found nowhere, whatever normalization left of a token.
                if !content.is_empty() {
                    members.push(index);
                    contents.push(content);
                }
            }
            if members.is_empty() {
                return Ok(None);
            }
            let automaton = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(contents)
                .map_err(|error| Error::format("added tokens", error.to_string()))?;
            let word = members
                .iter()
                .any(|&i| tokens[i].single_word)
                .then(|| parse_class(r"\w", false, UnicodeVersion::REFERENCES))
                .transpose()
                .map_err(|reason| Error::format("added tokens", reason))?;
            Ok(Some(Finder {
                automaton,
                members,
                word,
                look_again,
            }))
        };
        let (raw, normalized) = (finder(false)?, finder(true)?);
        let any_always = tokens.iter().any(|token| !token.special);
        Ok(Self {
            tokens,
            raw,
            normalized,
            any_always,
        })
    }

    /// All tokens, in the order given.
    pub fn tokens(&self) -> &[AddedToken] {
        &self.tokens
    }

    /// Whether text can be encoded without looking for tokens at all.
    pub fn nothing_to_find(&self, allow: &Allow) -> bool {
        self.tokens.is_empty() || (matches!(allow, Allow::None) && !self.any_always)
    }

    /// Turns names into what `find` takes; an unknown name is an error.
    pub fn allow<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Allow> {
        let mut ids = HashSet::new();
        for name in names {
            let token = self
                .tokens
                .iter()
                .find(|token| token.special && token.content == name);
            ids.insert(
                token
                    .ok_or_else(|| {
                        Error::from(ErrorKind::UnknownSpecial {
                            token: name.to_owned(),
                        })
                    })?
                    .id,
            );
        }
        Ok(if ids.is_empty() {
            Allow::None
        } else {
            Allow::Ids(ids)
        })
    }

    /// Tokens in the raw text, left to right. They overlap only where one begins in white space that
    /// the one before takes along.
    pub fn find_raw(&self, text: &str, allow: &Allow, out: &mut Vec<Found>) {
        out.clear();
        if let Some(finder) = &self.raw {
            finder.find(text, &self.tokens, allow, out);
        }
    }

    /// Tokens in text that has been normalized.
    pub fn find_normalized(&self, text: &str, allow: &Allow, out: &mut Vec<Found>) {
        out.clear();
        if let Some(finder) = &self.normalized {
            finder.find(text, &self.tokens, allow, out);
        }
    }
}

impl Finder {
    fn find(&self, text: &str, tokens: &[AddedToken], allow: &Allow, out: &mut Vec<Found>) {
        // Where the search goes on. It does not know of white space that tokens take along: one that begins
        // inside such space is found all the same, and overlaps (as in `tokenizers`).
        let mut position = 0;
        let mut free = 0; // first byte that no found token has taken
        // The white space that a token took along last. Tokens that are white space themselves may all take
        // the same run: it is walked once.
        let mut white = 0..0;
        while let Some(found) = self
            .automaton
            .find(aho_corasick::Input::new(text).range(position..))
        {
            let token = &tokens[self.members[found.pattern().as_usize()]];
            let (mut start, mut end) = (found.start(), found.end());
            position = end;
            if !allow.permits(token) {
                if self.look_again {
                    position = start + text[start..].chars().next().map_or(1, char::len_utf8);
                }
                continue;
            }
            if token.single_word && self.touches_word(text, start, end) {
                continue;
            }
            if token.lstrip {
                // What is left of a token that another one's white space has swallowed may be nothing.
                start = match text.get(free..start) {
                    Some(before) => free + before.trim_end().len(),
                    None => free,
                };
            }
            if token.rstrip {
                if !(white.start..=white.end).contains(&end) {
                    white = end..text.len() - text[end..].trim_start().len();
                }
                end = white.end;
            }
            if start < end {
                out.push(Found {
                    start,
                    end,
                    id: token.id,
                });
            }
            free = end;
        }
    }

    fn touches_word(&self, text: &str, start: usize, end: usize) -> bool {
        let Some(word) = &self.word else { return false };
        text[..start]
            .chars()
            .next_back()
            .is_some_and(|c| contains(word, c))
            || text[end..]
                .chars()
                .next()
                .is_some_and(|c| contains(word, c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Vec<AddedToken> {
        let mut mask = AddedToken::special(1, "<mask>");
        mask.lstrip = true;
        let mut word = AddedToken::special(2, "ab");
        word.special = false;
        word.single_word = true;
        vec![
            AddedToken::special(0, "<s>"),
            mask,
            word,
            AddedToken::special(3, "<s><s>"),
        ]
    }

    fn found(text: &str, allow: &Allow) -> Vec<(usize, usize, u32)> {
        let added = AddedTokens::new(tokens(), &Normalizer::default(), false).unwrap();
        let mut out = Vec::new();
        added.find_raw(text, allow, &mut out);
        out.iter().map(|f| (f.start, f.end, f.id)).collect()
    }

    #[test]
    fn look_alikes_stay_text_unless_allowed() {
        assert_eq!(found("a<s>b", &Allow::None), []);
        assert_eq!(found("a<s>b", &Allow::All), [(1, 4, 0)]);
        assert_eq!(found("a<s>b", &Allow::Ids(HashSet::from([1]))), []);
    }

    #[test]
    fn longest_wins_and_white_space_goes_along() {
        assert_eq!(found("<s><s>", &Allow::All), [(0, 6, 3)]);
        assert_eq!(found("x  <mask> y", &Allow::All), [(1, 9, 1)]);
        assert_eq!(found("<s> <mask>", &Allow::All), [(0, 3, 0), (3, 10, 1)]);
    }

    #[test]
    fn a_token_that_normalization_makes_nothing_of_is_not_found() {
        let line = AddedToken {
            normalized: true,
            ..AddedToken::special(0, "\n")
        };
        let strip = crate::normalize::NormalizerConfig::Strip {
            left: true,
            right: true,
        };
        let normalizer = Normalizer::new(&[strip]).unwrap();
        let added = AddedTokens::new(vec![line], &normalizer, false).unwrap();
        let mut out = Vec::new();
        added.find_normalized("ab", &Allow::All, &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn a_token_inside_the_white_space_of_another_is_found() {
        let mut line = AddedToken::special(0, "\n");
        line.rstrip = true;
        let added = AddedTokens::new(vec![line], &Normalizer::default(), false).unwrap();
        let mut out = Vec::new();
        added.find_raw("\n\na", &Allow::All, &mut out);
        let ranges: Vec<_> = out.iter().map(|f| (f.start, f.end)).collect();
        assert_eq!(ranges, [(0, 2), (1, 2)]);
    }

    #[test]
    fn tokens_that_all_take_the_same_white_space_are_found_in_one_walk() {
        let strips = |id, content: &str| AddedToken {
            rstrip: true,
            lstrip: true,
            ..AddedToken::special(id, content)
        };
        let tokens = vec![strips(0, "\n"), strips(1, "a")];
        let added = AddedTokens::new(tokens, &Normalizer::default(), false).unwrap();
        // Walking the rest of the run for each token would be 10^11 steps.
        let run = "\n".repeat(500_000);
        let text = format!("{run}a{run}\u{3000}b\n");
        let mut out = Vec::new();
        added.find_raw(&text, &Allow::All, &mut out);
        // The first takes the whole run; with `lstrip` the others begin where it ends, and are nothing.
        let last = text.len() - 2;
        let ranges: Vec<_> = out.iter().map(|f| (f.start, f.end)).collect();
        assert_eq!(
            ranges,
            [(0, 500_000), (500_000, last), (last + 1, last + 2)]
        );
        let strips_right = AddedToken {
            lstrip: false,
            ..strips(0, "\n")
        };
        let added = AddedTokens::new(vec![strips_right], &Normalizer::default(), false).unwrap();
        added.find_raw(&text, &Allow::All, &mut out);
        assert_eq!(out.len(), 1_000_001);
        assert!(out[..500_000].iter().all(|found| found.end == 500_000));
        assert!(
            out[500_000..1_000_000]
                .iter()
                .all(|found| found.end == last)
        );
    }

    #[test]
    fn single_words_touch_no_word() {
        assert_eq!(found("ab cab ab.", &Allow::None), [(0, 2, 2), (7, 9, 2)]);
    }

    #[test]
    fn a_token_without_end_is_refused() {
        let make = |n: usize| {
            let token = AddedToken::special(0, "a".repeat(n));
            AddedTokens::new(vec![token], &Normalizer::default(), false)
        };
        assert!(make(MAX_CONTENT_BYTES).is_ok());
        assert!(make(MAX_CONTENT_BYTES + 1).is_err());
    }

    #[test]
    fn unknown_names_are_refused() {
        let added = AddedTokens::new(tokens(), &Normalizer::default(), false).unwrap();
        assert!(matches!(
            added.allow(["ab"]).unwrap_err().kind(),
            ErrorKind::UnknownSpecial { .. }
        ));
    }

    #[test]
    fn a_disallowed_match_hides_what_it_covers_or_not() {
        let tokens = vec![
            AddedToken::special(0, "<a><b"),
            AddedToken::special(1, "<b>"),
        ];
        for (look_again, expected) in [(false, 0), (true, 1)] {
            let added =
                AddedTokens::new(tokens.clone(), &Normalizer::default(), look_again).unwrap();
            let mut out = Vec::new();
            added.find_raw("<a><b>", &Allow::Ids(HashSet::from([1])), &mut out);
            assert_eq!(out.len(), expected);
        }
    }
}
