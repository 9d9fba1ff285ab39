//! What is put around one text or two when special tokens are asked for.

use serde::{Deserialize, Serialize};

/// The post-processing of a tokenizer, as the canonical form keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// What becomes of one text.
    pub single: Vec<Part>,
    /// What becomes of two.
    pub pair: Vec<Part>,
    /// Whether offsets leave out the white space at the ends of tokens.
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
        /// Which of the two.
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
    /// Whether one space at the very beginning may be one that was put there, and counts as text.
    pub add_prefix_space: bool,
}

impl Default for Template {
    fn default() -> Self {
        Self::around(&[], &[])
    }
}

impl Template {
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

    /// BERT's: `[CLS] first [SEP]`, and `[CLS] first [SEP] second [SEP]` with the token type 1 for the second
    /// text and what ends it.
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
