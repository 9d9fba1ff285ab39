//! Special and added tokens: found in text, allowed or left as text.
//!
//! A *special* token is never produced from ordinary text: text that merely looks like one stays
//! text unless the caller allows it by name. An *added* token that is not special (a run
//! of spaces, say) is always found.
//!
//! Finding follows `tokenizers`: first tokens that are matched before normalization, on the raw
//! text. Then, in each part that remains, tokens that are matched after it, on the part's
//! normalized text. If several tokens fit at one place, the longest wins.

mod resume;

use std::collections::HashSet;

use aho_corasick::{AhoCorasick, Match, MatchKind};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::normalize::Normalizer;
use crate::text::unicode::{UnicodeVersion, contains, parse_class};
use regex_syntax::hir::ClassUnicode;

pub(crate) use resume::OpenTokens;

/// How an added token is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it; see `AddedToken`
pub struct AddedFlags {
    pub special: bool,
    pub single_word: bool,
    pub lstrip: bool,
    pub rstrip: bool,
    pub normalized: bool,
}

/// One special or added token (the fields are `tokenizer.json`'s).
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

/// Special tokens that a caller allows.
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
    pub(crate) fn permits(&self, token: &AddedToken) -> bool {
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
pub struct FoundToken {
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
    /// True if any token is found without being allowed.
    any_always: bool,
}

/// The longest content of a token that is looked for. A text that keeps beginning a long token and
/// a short one is read once for each byte of the long one. So this bounds the cost of a hostile
/// file. The longest added token of sixty published vocabularies has 45.
const MAX_CONTENT_BYTES: usize = 4096;

#[derive(Debug)]
struct Finder {
    automaton: AhoCorasick,
    /// Indices into `tokens`, by pattern of the automaton.
    members: Vec<usize>,
    /// Contents of the tokens, sorted.
    contents: Vec<String>,
    /// Word characters, for `single_word`; made only if some token needs them.
    word: Option<ClassUnicode>,
    /// After a match that is not allowed, look again from the next byte (as `tiktoken` does)
    /// instead of after it (as `tokenizers` does).
    look_again: bool,
    /// By pattern: the longest other pattern that it begins with.
    shorter: Vec<Option<usize>>,
    /// By pattern: its bytes.
    lengths: Vec<usize>,
}

impl AddedTokens {
    /// Prepares tokens for finding. `look_again`: see the module's tests; it is what `tiktoken`
    /// does.
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
            let shorter = longest_prefixes(&contents);
            let lengths = contents.iter().map(String::len).collect();
            let automaton = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(&contents)
                .map_err(|error| Error::format("added tokens", error.to_string()))?;
            contents.sort_unstable();
            let word = members
                .iter()
                .any(|&i| tokens[i].single_word)
                .then(|| parse_class(r"\w", false, UnicodeVersion::REFERENCES))
                .transpose()
                .map_err(|reason| Error::format("added tokens", reason))?;
            Ok(Some(Finder {
                automaton,
                members,
                contents,
                word,
                look_again,
                shorter,
                lengths,
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

    /// True if text can be encoded without looking for tokens at all.
    pub fn nothing_to_find(&self, allow: &Allow) -> bool {
        self.tokens.is_empty() || (matches!(allow, Allow::None) && !self.any_always)
    }

    /// True if no token is ever looked for in normalized text.
    pub(crate) fn nothing_in_normalized_text(&self) -> bool {
        self.normalized.is_none()
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

    /// Tokens in the raw text, left to right. They overlap only where one begins in white space
    /// that the one before takes along.
    pub fn find_raw(&self, text: &str, allow: &Allow, out: &mut Vec<FoundToken>) {
        out.clear();
        if let Some(finder) = &self.raw {
            finder.find(text, &self.tokens, allow, out);
        }
    }

    /// Tokens in text that has been normalized.
    pub fn find_normalized(&self, text: &str, allow: &Allow, out: &mut Vec<FoundToken>) {
        out.clear();
        if let Some(finder) = &self.normalized {
            finder.find(text, &self.tokens, allow, out);
        }
    }

    /// Tokens in the raw text (`normalized`: in text that has been normalized) where they may
    /// stand: `permits` is asked about a token's id and place. At one place the longest permitted
    /// token wins; a token that is not permitted hides nothing.
    pub(crate) fn find_where(
        &self,
        text: &str,
        normalized: bool,
        permits: &mut dyn FnMut(u32, usize, usize) -> bool,
        out: &mut Vec<FoundToken>,
    ) {
        out.clear();
        let finder = if normalized {
            &self.normalized
        } else {
            &self.raw
        };
        if let Some(finder) = finder {
            finder.walk(
                text,
                0,
                &self.tokens,
                &mut |found| finder.longest_permitted(text, &self.tokens, found, permits),
                |_, _, _, taken| {
                    out.extend(taken);
                    true
                },
            );
        }
    }
}

/// Verdict on a match: the token that counts there (its place in the list, and its end), or the
/// place to look next.
enum Verdict {
    Take { member: usize, end: usize },
    LookFrom(usize),
}

/// Where the character ends that begins at a byte.
fn after_char(text: &str, start: usize) -> usize {
    start + text[start..].chars().next().map_or(1, char::len_utf8)
}

/// For each string the longest other one that it begins with.
fn longest_prefixes(contents: &[impl AsRef<str>]) -> Vec<Option<usize>> {
    let text = |index: usize| contents[index].as_ref();
    let mut order: Vec<usize> = (0..contents.len()).collect();
    order.sort_by_key(|&index| text(index));
    let mut shorter = vec![None; contents.len()];
    // Strings that the one at hand may begin with, each a prefix of the next.
    let mut open: Vec<usize> = Vec::new();
    for index in order {
        while open
            .pop_if(|&mut top| !text(index).starts_with(text(top)))
            .is_some()
        {}
        shorter[index] = match open.last() {
            Some(&top) if text(top) == text(index) => shorter[top],
            top => top.copied(),
        };
        open.push(index);
    }
    shorter
}

impl Finder {
    fn find(&self, text: &str, tokens: &[AddedToken], allow: &Allow, out: &mut Vec<FoundToken>) {
        self.walk(
            text,
            0,
            tokens,
            &mut |found| self.if_allowed(text, tokens, allow, found),
            |_, _, _, taken| {
                out.extend(taken);
                true
            },
        );
    }

    /// The token of a match, if it is allowed.
    fn if_allowed(
        &self,
        text: &str,
        tokens: &[AddedToken],
        allow: &Allow,
        found: &Match,
    ) -> Verdict {
        let member = self.members[found.pattern().as_usize()];
        if allow.permits(&tokens[member]) {
            let end = found.end();
            return Verdict::Take { member, end };
        }
        Verdict::LookFrom(if self.look_again {
            after_char(text, found.start())
        } else {
            found.end()
        })
    }

    /// The longest token at a match that may stand there.
    fn longest_permitted(
        &self,
        text: &str,
        tokens: &[AddedToken],
        found: &Match,
        permits: &mut dyn FnMut(u32, usize, usize) -> bool,
    ) -> Verdict {
        let start = found.start();
        let mut pattern = Some(found.pattern().as_usize());
        while let Some(index) = pattern {
            let member = self.members[index];
            let end = start + self.lengths[index];
            if permits(tokens[member].id, start, end) {
                return Verdict::Take { member, end };
            }
            pattern = self.shorter[index];
        }
        Verdict::LookFrom(after_char(text, start))
    }

    /// Walks over the matches of a text from a place on; `judge` says what becomes of each. Calls
    /// `each` with the bytes of a match, the token's index, and the token as it is found, if it is;
    /// until that says no.
    fn walk(
        &self,
        text: &str,
        from: usize,
        tokens: &[AddedToken],
        judge: &mut dyn FnMut(&Match) -> Verdict,
        mut each: impl FnMut(usize, usize, usize, Option<FoundToken>) -> bool,
    ) {
        // Where the search goes on. It does not know of white space that tokens take along: one
        // that begins inside such space is found all the same, and overlaps (as in `tokenizers`).
        let mut position = from;
        let mut free = from; // first byte that no found token has taken
        // The white space that a token took along last. Tokens that are white space themselves may
        // all take the same run: it is walked once.
        let mut white = 0..0;
        while let Some(found) = self
            .automaton
            .find(aho_corasick::Input::new(text).range(position..))
        {
            let (index, mut end) = match judge(&found) {
                Verdict::Take { member, end } => (member, end),
                Verdict::LookFrom(next) => {
                    position = next;
                    let index = self.members[found.pattern().as_usize()];
                    if each(found.start(), found.end(), index, None) {
                        continue;
                    }
                    return;
                }
            };
            let token = &tokens[index];
            let mut start = found.start();
            let (first, last) = (start, end);
            position = end;
            if token.single_word && self.touches_word(text, start, end) {
                if each(first, last, index, None) {
                    continue;
                }
                return;
            }
            if token.lstrip {
                // If another token's white space has swallowed this one, nothing may be left of it.
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
            let taken = (start < end).then_some(FoundToken {
                start,
                end,
                id: token.id,
            });
            if !each(first, last, index, taken) {
                return;
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
mod tests;
