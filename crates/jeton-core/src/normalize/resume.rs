//! Normalization of a text that may go on: where it can be taken up again.
//!
//! A place is good if normalizing what is before it and what is behind it gives the whole's result,
//! whatever follows the text. Each step says which places are good for it. The next step sees such
//! a place in the text that the step makes. Only the part of it up to the step's own last good
//! place is certain.

use std::borrow::Cow;
use std::ops::Range;

use super::strip::Strip;
use super::{Normalizer, STAGE, Step};
use crate::error::Result;
use crate::text::alignment::Alignment;
use crate::text::alignment::compose;
use crate::text::growth::Room;

/// Where a step can take a text up again.
pub(super) enum Apart<'a> {
    /// It looks at one character at a time.
    Anywhere,
    /// It may look anywhere.
    Nowhere,
    /// Before characters that it does not join with what stands before them.
    Before(Box<dyn Fn(char) -> bool + 'a>),
    /// Behind characters that are not white space, which it may take off an end.
    BehindText,
    /// Between characters that are clusters of their own.
    BetweenClusters,
    /// Where this text does not go across.
    Literal(&'a [u8]),
    /// Outside of matches, as far as they are decided.
    Matches {
        ranges: Vec<(usize, usize)>,
        decided: usize,
        /// Replacement.
        content: &'a str,
    },
}

impl Apart<'_> {
    /// True if a place is good, given the text that is certain.
    fn at(&self, text: &str, at: usize) -> bool {
        let Some((before, after)) = text.split_at_checked(at) else {
            return false;
        };
        let (Some(last), Some(first)) = (before.chars().next_back(), after.chars().next()) else {
            return false;
        };
        match self {
            Self::Anywhere => true,
            Self::Nowhere => false,
            Self::Before(good) => good(first),
            Self::BehindText => !last.is_whitespace(),
            Self::BetweenClusters => is_cluster(last) && is_cluster(first),
            Self::Literal(needle) => !(1..needle.len()).any(|n| {
                let (head, tail) = needle.split_at(n);
                let common = tail.len().min(after.len());
                before.as_bytes().ends_with(head) && after.as_bytes()[..common] == tail[..common]
            }),
            Self::Matches {
                ranges, decided, ..
            } => {
                let next = ranges.partition_point(|&(_, end)| end <= at);
                at <= *decided && ranges.get(next).is_none_or(|&(start, _)| start >= at)
            }
        }
    }

    /// The last good place.
    fn last(&self, text: &str) -> Option<usize> {
        let mut places = text.char_indices().rev().map(|(at, _)| at);
        places.find(|&at| self.at(text, at))
    }
}

/// True if a cluster boundary lies between this character and any other for which it is true. (UAX
/// #29: they are neither extending, prepended, joining nor regional indicators. No line feed
/// follows a carriage return among them.)
pub(crate) fn is_cluster(c: char) -> bool {
    matches!(c,
        ' '..='~' | '\n' | '\t' | '\u{a1}'..='\u{a8}' | '\u{aa}'..='\u{ac}' | '\u{af}'..='\u{2ff}'
        | '\u{370}'..='\u{377}' | '\u{391}'..='\u{3a1}' | '\u{3a3}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{3001}'..='\u{3003}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

impl Step {
    /// Where the step can take up a text again of which this is certain.
    fn apart(&self, text: &str) -> Apart<'_> {
        match self {
            Self::Form(form) => Apart::Before(Box::new(|c| form.stands_apart(c))),
            Self::Bert(bert) => Apart::Before(Box::new(|c| bert.stands_apart(c))),
            Self::Strip(_) => Apart::BehindText,
            Self::StripAccents(_)
            | Self::Lowercase
            | Self::Nmt
            | Self::Prepend(_)
            | Self::ByteLevel => Apart::Anywhere,
            Self::Replace(replace) => replace.apart(text),
            Self::Precompiled(_) => Apart::BetweenClusters,
            Self::Clip(_) => Apart::Nowhere,
        }
    }

    /// Normalizes a part of a text between good places. `continues`: the beginning of the text is
    /// elsewhere.
    ///
    /// A match may depend on the character behind it, so the part is not to be seen as if it ended.
    fn of_part(
        &self,
        apart: &Apart<'_>,
        text: &str,
        part: Range<usize>,
        continues: bool,
        room: Room,
    ) -> Result<String> {
        let Apart::Matches {
            ranges, content, ..
        } = apart
        else {
            let part = Cow::Borrowed(&text[part]);
            return Ok(self.go_on(part, continues, room)?.into_owned());
        };
        let mut out = String::new();
        let mut position = part.start;
        let inside = |&&(start, end): &&(usize, usize)| part.start <= start && end <= part.end;
        for &(start, end) in ranges.iter().filter(inside) {
            out.push_str(&text[position..start]);
            out.push_str(content);
            room.check(STAGE, out.len())?;
            position = end;
        }
        out.push_str(&text[position..part.end]);
        Ok(out)
    }

    /// Normalizes a text. `continues`: its beginning is elsewhere.
    fn go_on<'t>(&self, text: Cow<'t, str>, continues: bool, room: Room) -> Result<Cow<'t, str>> {
        let changed = match self {
            Self::Prepend(_) if continues => None,
            Self::Strip(strip) if continues => strip.without_left().normalize(&text),
            step => step.normalize(&text, room)?,
        };
        Ok(changed.map_or(text, Cow::Owned))
    }
}

impl Strip {
    fn without_left(self) -> Self {
        Self {
            left: false,
            ..self
        }
    }
}

impl Normalizer {
    /// The normalized text; `continues`: of one of which the beginning is not there.
    pub(crate) fn go_on<'t>(&self, text: &'t str, continues: bool) -> Result<Cow<'t, str>> {
        let room = self.growth().room(text.len());
        let mut steps = self.steps.iter();
        steps.try_fold(Cow::Borrowed(text), |text, step| {
            step.go_on(text, continues, room)
        })
    }

    /// Normalizes a text and returns where each stretch of the result came from.
    pub(crate) fn go_on_aligned<'t>(
        &self,
        text: &'t str,
        continues: bool,
    ) -> Result<(Cow<'t, str>, Alignment)> {
        if !continues {
            return self.normalize_aligned(text);
        }
        let room = self.growth().room(text.len());
        let mut result = Cow::Borrowed(text);
        let mut alignment = Alignment::identity(text.len());
        for step in &self.steps {
            let align = match step {
                Step::Prepend(_) => continue,
                Step::Strip(strip) => strip.without_left().align(&result),
                step => step.align(&result)?,
            };
            alignment = compose(&alignment, &align);
            result = step.go_on(result, true, room)?;
        }
        Ok((result, alignment))
    }

    /// The part of the normalized text that nothing behind this text can change.
    pub(crate) fn certain<'t>(&self, text: &'t str, continues: bool) -> Result<Cow<'t, str>> {
        let room = self.growth().room(text.len());
        let mut seen = Cow::Borrowed(text);
        for step in &self.steps {
            let apart = step.apart(&seen);
            let Some(place) = apart.last(&seen) else {
                return Ok(Cow::Borrowed(""));
            };
            let made = step.of_part(&apart, &seen, 0..place, continues, room)?;
            drop(apart);
            seen = Cow::Owned(made);
        }
        Ok(seen)
    }

    /// Where a place of the text is in the normalized text, if the text can be taken up again
    /// there.
    pub(crate) fn cut(&self, text: &str, at: usize, continues: bool) -> Result<Option<usize>> {
        let Some((before, after)) = text.split_at_checked(at) else {
            return Ok(None);
        };
        let room = self.growth().room(text.len());
        let (mut before, mut after) = (before.to_owned(), after.to_owned());
        for (index, step) in self.steps.iter().enumerate() {
            let place = before.len();
            let whole = format!("{before}{after}");
            let apart = step.apart(&whole);
            if !apart.at(&whole, place) {
                return Ok(None);
            }
            before = step.of_part(&apart, &whole, 0..place, continues, room)?;
            if index + 1 == self.steps.len() {
                break;
            }
            match apart.last(&whole).filter(|&last| last > place) {
                Some(last) => after = step.of_part(&apart, &whole, place..last, true, room)?,
                None => return Ok(None),
            }
        }
        Ok(Some(before.len()))
    }
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;
