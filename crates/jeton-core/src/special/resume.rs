//! Special and added tokens in a text that may go on.

use aho_corasick::Match;

use super::{AddedToken, AddedTokens, Allow, Finder, FoundToken};
use crate::text::unicode::contains;

/// Decided tokens in a text that may go on.
#[derive(Debug, Default)]
pub(crate) struct OpenTokens {
    /// Tokens that nothing behind the text can change, left to right, each with whether the search
    /// goes on where it ends.
    pub(crate) found: Vec<(FoundToken, bool)>,
    /// Up to here it is decided that no other token begins or takes white space along.
    pub(crate) decided: usize,
    /// Matches that were passed over: the search cannot be taken up again inside them.
    passed: Vec<(usize, usize)>,
}

impl OpenTokens {
    /// True if the search can be taken up again at a place.
    pub(crate) fn is_good(&self, at: usize) -> bool {
        let next = self.passed.partition_point(|&(_, end)| end <= at);
        at <= self.decided && self.passed.get(next).is_none_or(|&(start, _)| start >= at)
    }

    /// Returns the result for a text in which no token is looked for.
    pub(crate) fn none(text: &str) -> Self {
        Self {
            decided: text.len(),
            ..Self::default()
        }
    }
}

impl AddedTokens {
    /// Tokens in the raw text from a place on at which the search can be taken up again.
    pub(crate) fn find_raw_from(
        &self,
        text: &str,
        from: usize,
        allow: &Allow,
        out: &mut Vec<FoundToken>,
    ) {
        out.clear();
        if let Some(finder) = &self.raw {
            finder.walk(
                text,
                from,
                &self.tokens,
                &mut |found| finder.if_allowed(text, &self.tokens, allow, found),
                |_, _, _, taken| {
                    out.extend(taken);
                    true
                },
            );
        }
    }

    /// Finds the decided tokens in the raw text from a place on.
    pub(crate) fn open_raw(&self, text: &str, from: usize, allow: &Allow) -> OpenTokens {
        match &self.raw {
            Some(finder) => finder.open_end(text, from, &self.tokens, allow),
            None => OpenTokens::none(text),
        }
    }

    /// Finds the decided tokens in a normalized text.
    pub(crate) fn open_normalized(&self, text: &str, allow: &Allow) -> OpenTokens {
        match &self.normalized {
            Some(finder) => finder.open_end(text, 0, &self.tokens, allow),
            None => OpenTokens::none(text),
        }
    }

    /// True if tokens are found in normalized text behind a character as they are at the beginning
    /// of a text.
    pub(crate) fn is_as_if_first(&self, before: Option<char>) -> bool {
        let word = self.normalized.as_ref().and_then(|f| f.word.as_ref());
        word.zip(before).is_none_or(|(word, c)| !contains(word, c))
    }
}

impl Finder {
    /// A match is decided if its text, whatever follows, is not the beginning of a longer token.
    /// The absence of a match is decided where the text is not the beginning of any token. The
    /// search, its white space and its neighbours are all to the left of such a place. Two parts
    /// lie to the right: the character behind a single word, and the white space that a token takes
    /// along.
    fn open_end(
        &self,
        text: &str,
        from: usize,
        tokens: &[AddedToken],
        allow: &Allow,
    ) -> OpenTokens {
        let beginnings = self.beginnings(text, from);
        let first_open = |position: usize| {
            let next = beginnings.partition_point(|&at| at < position);
            beginnings.get(next).copied().unwrap_or(text.len())
        };
        let mut out = OpenTokens {
            decided: first_open(from),
            ..OpenTokens::default()
        };
        let mut free = from;
        let mut judge = |found: &Match| self.if_allowed(text, tokens, allow, found);
        self.walk(
            text,
            from,
            tokens,
            &mut judge,
            |start, end, index, taken| {
                if start >= out.decided {
                    return false;
                }
                let token = &tokens[index];
                let permitted = allow.permits(token);
                if permitted
                    && (token.single_word && end == text.len()
                        || token.rstrip && text[end..].trim_start().is_empty())
                {
                    out.decided = start;
                    return false;
                }
                match taken {
                    Some(found) => {
                        free = found.end;
                        out.found.push((found, found.end == end));
                    }
                    // The search goes on behind it.
                    None if permitted || !self.look_again => out.passed.push((start, end)),
                    None => {}
                }
                out.decided = first_open(if !permitted && self.look_again {
                    start + text[start..].chars().next().map_or(1, char::len_utf8)
                } else {
                    end
                });
                true
            },
        );
        // A later token may take the white space before it along.
        let takes = |token: &AddedToken| token.lstrip && allow.permits(token);
        if free < out.decided && tokens.iter().any(takes) {
            out.decided = free + text[free..out.decided].trim_end().len();
        }
        out.decided = out.decided.max(free);
        out
    }

    /// Where in the text, from a place on, a token begins that the text's end cuts off; rising.
    fn beginnings(&self, text: &str, from: usize) -> Vec<usize> {
        let longest = self.contents.iter().map(String::len).max().unwrap_or(0);
        let mut first = text.len().saturating_sub(longest).max(from);
        while !text.is_char_boundary(first) {
            first += 1;
        }
        let places = text[first..].char_indices().map(|(at, _)| first + at);
        let begins = |at: &usize| {
            let rest = &text[*at..];
            let next = self
                .contents
                .partition_point(|content| content.as_str() <= rest);
            self.contents
                .get(next)
                .is_some_and(|content| content.starts_with(rest))
        };
        places.filter(begins).collect()
    }
}
