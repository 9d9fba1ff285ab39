//! Template: tokens around one text or two when special tokens are asked for.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The post-processing of a tokenizer, as the canonical form keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Parts around one text.
    pub single: Vec<Part>,
    /// Parts around two texts.
    pub pair: Vec<Part>,
    /// True if offsets leave out the white space at the ends of tokens.
    pub trim_offsets: Option<TrimOffsets>,
}

/// A part of what is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Part {
    /// A token.
    Token {
        /// Its id.
        id: u32,
        /// Its token-type id.
        type_id: u32,
    },
    /// A text.
    Text {
        /// Side of the pair: first or second.
        segment: Segment,
        /// Token-type id of its tokens.
        type_id: u32,
    },
}

/// One of the texts that a template puts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// The first or only one.
    First,
    /// The second.
    Second,
}

/// How offsets are trimmed (`trim_offsets` of `tokenizer.json`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrimOffsets {
    /// True if one space at the very beginning may be one that was put there, and counts as text.
    pub add_prefix_space: bool,
}

/// Parts that a template may have: what is put around each text is written for each of them.
pub(crate) const MAX_PARTS: usize = 4096;

/// Fails if a template has too many.
pub(crate) fn check_parts(n: usize) -> Result<()> {
    if n <= MAX_PARTS {
        return Ok(());
    }
    let limit = MAX_PARTS as u64;
    let what = "the number of ids that the template puts around a text";
    Err(ErrorKind::TooLarge { what, limit }.into())
}

impl Default for Template {
    fn default() -> Self {
        Self::around(&[], &[])
    }
}

/// The size of what stands around one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateSize {
    /// Special tokens.
    pub n_tokens: u64,
    /// Places of the text: one, as a rule.
    pub n_texts: u64,
}

impl TemplateSize {
    /// Ids of a text with the template around it, from its ids alone.
    pub fn with(self, n_ids: u64) -> u64 {
        self.n_tokens + self.n_texts * n_ids
    }
}

impl Template {
    /// Counts the special tokens around one text.
    pub fn single_size(&self) -> TemplateSize {
        let is_text = |part: &&Part| matches!(part, Part::Text { .. });
        let n_texts = self.single.iter().filter(is_text).count() as u64;
        TemplateSize {
            n_tokens: self.single.len() as u64 - n_texts,
            n_texts,
        }
    }

    /// Ids before and after each text; the second text has the token type 1 where nothing stands
    /// around it, as in `tokenizers` without a post-processor.
    pub fn around(before: &[u32], after: &[u32]) -> Self {
        let plain = u32::from(before.is_empty() && after.is_empty());
        let wrapped = |segment, type_id| {
            let token = move |&id: &u32| Part::Token { id, type_id };
            before
                .iter()
                .map(token)
                .chain([Part::Text { segment, type_id }])
                .chain(after.iter().map(token))
                .collect::<Vec<_>>()
        };
        let mut pair = wrapped(Segment::First, 0);
        pair.extend(wrapped(Segment::Second, plain));
        Self {
            single: wrapped(Segment::First, 0),
            pair,
            trim_offsets: None,
        }
    }

    /// BERT's: `[CLS] first [SEP]`, and `[CLS] first [SEP] second [SEP]` with the token type 1 for
    /// the second text and what ends it.
    pub fn bert(cls: u32, sep: u32) -> Self {
        let token = |id, type_id| Part::Token { id, type_id };
        let text = |segment, type_id| Part::Text { segment, type_id };
        let single = vec![token(cls, 0), text(Segment::First, 0), token(sep, 0)];
        let mut pair = single.clone();
        pair.extend([text(Segment::Second, 1), token(sep, 1)]);
        Self {
            single,
            pair,
            trim_offsets: None,
        }
    }

    /// From the parts as people write them: `[CLS] $A [SEP]` and `[CLS] $A [SEP] $B:1 [SEP]:1`, the
    /// notation of `tokenizers`. `$A` (or `$`) and `$B` are the texts; a number behind a colon is a
    /// token-type id, 0 unless it is given. Without `pair` the parts of `single` are put around the
    /// second text as around the first.
    ///
    /// `id_of` gives the id of a token, if it is one.
    pub fn parse(
        single: &[&str],
        pair: Option<&[&str]>,
        id_of: &dyn Fn(&str) -> Option<u32>,
    ) -> Result<Self> {
        let parse = |pieces: &[&str]| -> Result<Vec<Part>> {
            pieces
                .iter()
                .map(|piece| parse_part(piece, id_of))
                .collect()
        };
        let single = parse(single)?;
        expect_texts(
            &single,
            &[(Segment::First, "$A", 1), (Segment::Second, "$B", 0)],
        )?;
        let pair = match pair {
            Some(pieces) => parse(pieces)?,
            None => {
                let as_second = |part: &Part| match *part {
                    Part::Text { type_id, .. } => Part::Text {
                        segment: Segment::Second,
                        type_id,
                    },
                    token @ Part::Token { .. } => token,
                };
                single
                    .iter()
                    .copied()
                    .chain(single.iter().map(as_second))
                    .collect()
            }
        };
        expect_texts(
            &pair,
            &[(Segment::First, "$A", 1), (Segment::Second, "$B", 1)],
        )?;
        Ok(Self {
            single,
            pair,
            trim_offsets: None,
        })
    }

    /// Ids of all tokens in it.
    pub fn token_ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.single
            .iter()
            .chain(&self.pair)
            .filter_map(|part| match part {
                Part::Token { id, .. } => Some(*id),
                Part::Text { .. } => None,
            })
    }
}

/// One part as people write it.
fn parse_part(piece: &str, id_of: &dyn Fn(&str) -> Option<u32>) -> Result<Part> {
    let (name, type_id) = match piece.rsplit_once(':') {
        Some((name, number)) => (name, number.parse().ok()),
        None => (piece, None),
    };
    let segment = match name {
        "$" | "$A" => Some(Segment::First),
        "$B" => Some(Segment::Second),
        _ => None,
    };
    let written_with_type = piece != name;
    if let Some(segment) = segment
        && written_with_type == type_id.is_some()
    {
        let type_id = type_id.unwrap_or(0);
        return Ok(Part::Text { segment, type_id });
    }
    // A token may have a colon and a number of its own.
    if let Some(id) = id_of(piece) {
        return Ok(Part::Token { id, type_id: 0 });
    }
    if let (Some(id), Some(type_id)) = (id_of(name), type_id) {
        return Ok(Part::Token { id, type_id });
    }
    Err(Error::usage(format!(
        "{piece:?} in the template is neither a text ($A, $B) nor a token of this tokenizer\n\
         hint: parts are separated by spaces; give a list of parts where a token has one; a token type follows a \
         colon, as in $B:1"
    )))
}

/// Holds a template to the texts that it must have.
fn expect_texts(parts: &[Part], expected: &[(Segment, &str, usize)]) -> Result<()> {
    for (wanted, name, n) in expected {
        let is = |part: &&Part| matches!(part, Part::Text { segment, .. } if segment == wanted);
        let found = parts.iter().filter(is).count();
        if found != *n {
            return Err(Error::usage(format!(
                "the template has {name} {found} times; expected {n}\n\
                 hint: $A is the first or only text, $B the second of a pair"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_one_text_and_two() {
        let template = Template::around(&[1], &[2]);
        assert_eq!(template.single.len(), 3);
        assert_eq!(template.token_ids().collect::<Vec<_>>(), [1, 2, 1, 2, 1, 2]);
        let plain = Template::default();
        let expected = [Segment::First, Segment::Second];
        for (number, (part, segment)) in (0..).zip(plain.pair.iter().zip(expected)) {
            let type_id = number;
            assert_eq!(*part, Part::Text { segment, type_id });
        }
    }

    #[test]
    fn parsed_as_people_write_it() {
        let id_of = |name: &str| {
            let tokens = ["[CLS]", "[SEP]", "a b", "x:1"];
            tokens
                .iter()
                .position(|token| *token == name)
                .map(|id| id as u32)
        };
        let parse = |single: &[&str], pair: Option<&[&str]>| Template::parse(single, pair, &id_of);
        let single = ["[CLS]", "$A", "[SEP]"];
        let pair = ["[CLS]", "$A:0", "[SEP]", "$B:1", "[SEP]:1"];
        let bert = parse(&single, Some(&pair)).unwrap();
        assert_eq!(bert, Template::bert(0, 1));
        assert_eq!(parse(&single, None).unwrap(), Template::around(&[0], &[1]));
        let token = |id, type_id| Part::Token { id, type_id };
        let odd = parse(&["a b", "x:1", "x:1:2", "$"], None).unwrap();
        assert_eq!(odd.single[..3], [token(2, 0), token(3, 0), token(3, 2)]);
        for wrong in [
            &["$A", "$C"][..],
            &["[CLS]"],
            &["$A", "$A"],
            &["$B"],
            &["$A:x"],
            &["[SEP]:-1", "$A"],
            &["$A", "$B"],
        ] {
            assert!(parse(wrong, None).is_err(), "{wrong:?}");
        }
        assert!(parse(&single, Some(&single)).is_err());
    }

    #[test]
    fn written_and_read() {
        let mut template = Template::around(&[7], &[]);
        template.trim_offsets = Some(TrimOffsets {
            add_prefix_space: true,
        });
        let written = serde_json::to_string(&template).unwrap();
        assert!(written.starts_with(
            r#"{"single":[{"token":{"id":7,"type_id":0}},{"text":{"segment":"first","#
        ));
        assert_eq!(
            serde_json::from_str::<Template>(&written).unwrap(),
            template
        );
    }
}
