//! Vocabulary and merges of a model as the file has them, read without a tree of values in between:
//! a file of 128,000 tokens has a million of them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::bad;
use crate::error::Result;
use crate::vocab::{MAX_IDS, StringTable};

/// The four kinds of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bpe,
    WordPiece,
    WordLevel,
    Unigram,
}

/// A string of the file: borrowed unless it has escapes.
#[derive(Clone, Debug)]
pub(super) struct Text<'v>(pub(super) Cow<'v, str>);

impl<'de: 'v, 'v> Deserialize<'de> for Text<'v> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Reader;
        impl<'v> Visitor<'v> for Reader {
            type Value = Text<'v>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'v str) -> std::result::Result<Text<'v>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Text<'v>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Reader)
    }
}

/// The vocabulary of a model, as it is written.
pub(super) enum WrittenVocab<'v> {
    /// Tokens and ids; of equal tokens the last counts, in the place of the first.
    Tokens(Vec<(Cow<'v, str>, u32)>),
    /// Pieces and scores.
    Pieces(Vec<(Cow<'v, str>, f64)>),
    /// Id or score of a wrong kind, kept as it is for the error message.
    Other(Value),
}

impl WrittenVocab<'_> {
    pub(super) fn is_list(&self) -> bool {
        match self {
            Self::Tokens(_) => false,
            Self::Pieces(_) => true,
            Self::Other(value) => value.is_array(),
        }
    }
}

/// An id, or whatever stands there instead.
enum Id {
    Whole(u32),
    Other(Value),
}

impl<'v> Deserialize<'v> for Id {
    fn deserialize<D: Deserializer<'v>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Reader;
        impl<'v> Visitor<'v> for Reader {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id")
            }

            fn visit_u64<E>(self, id: u64) -> std::result::Result<Id, E> {
                let whole = u32::try_from(id).ok().filter(|&id| id < MAX_IDS);
                Ok(whole.map_or_else(|| Id::Other(id.into()), Id::Whole))
            }

            fn visit_i64<E>(self, id: i64) -> std::result::Result<Id, E> {
                Ok(Id::Other(id.into()))
            }

            fn visit_f64<E>(self, id: f64) -> std::result::Result<Id, E> {
                Ok(Id::Other(id.into()))
            }

            fn visit_bool<E>(self, id: bool) -> std::result::Result<Id, E> {
                Ok(Id::Other(id.into()))
            }

            fn visit_str<E>(self, id: &str) -> std::result::Result<Id, E> {
                Ok(Id::Other(id.into()))
            }

            fn visit_unit<E>(self) -> std::result::Result<Id, E> {
                Ok(Id::Other(Value::Null))
            }

            fn visit_seq<A: SeqAccess<'v>>(self, seq: A) -> std::result::Result<Id, A::Error> {
                let value = Value::deserialize(serde::de::value::SeqAccessDeserializer::new(seq))?;
                Ok(Id::Other(value))
            }

            fn visit_map<A: MapAccess<'v>>(self, map: A) -> std::result::Result<Id, A::Error> {
                let value = Value::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Id::Other(value))
            }
        }
        from.deserialize_any(Reader)
    }
}

/// A piece and its score, or whatever stands there instead.
enum Scored<'v> {
    Piece(Cow<'v, str>, f64),
    Other(Value),
}

impl<'de: 'v, 'v> Deserialize<'de> for Scored<'v> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Reader;
        impl<'v> Visitor<'v> for Reader {
            type Value = Scored<'v>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of a text and a score")
            }

            fn visit_seq<A: SeqAccess<'v>>(
                self,
                mut seq: A,
            ) -> std::result::Result<Scored<'v>, A::Error> {
                let text: Option<Text<'v>> = seq.next_element()?;
                let score: Option<f64> = seq.next_element()?;
                // Later entries are not read, as in the reference.
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(match (text, score) {
                    (Some(Text(text)), Some(score)) => Scored::Piece(text, score),
                    (Some(Text(text)), None) => Scored::Other(Value::from(vec![text.into_owned()])),
                    (None, _) => Scored::Other(Value::Array(Vec::new())),
                })
            }
        }
        from.deserialize_seq(Reader)
    }
}

impl<'de: 'v, 'v> Deserialize<'de> for WrittenVocab<'v> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Reader;
        impl<'v> Visitor<'v> for Reader {
            type Value = WrittenVocab<'v>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tokens and ids, or a list of pieces and scores")
            }

            fn visit_map<A: MapAccess<'v>>(
                self,
                mut map: A,
            ) -> std::result::Result<WrittenVocab<'v>, A::Error> {
                let mut tokens = Vec::new();
                while let Some(Text(token)) = map.next_key()? {
                    match map.next_value()? {
                        Id::Whole(id) => tokens.push((token, id)),
                        Id::Other(value) => {
                            // One is enough to say what is wrong.
                            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                            let one = std::iter::once((token.into_owned(), value));
                            return Ok(WrittenVocab::Other(Value::Object(one.collect())));
                        }
                    }
                }
                Ok(WrittenVocab::Tokens(tokens))
            }

            fn visit_seq<A: SeqAccess<'v>>(
                self,
                mut seq: A,
            ) -> std::result::Result<WrittenVocab<'v>, A::Error> {
                let mut pieces: Vec<(Cow<'v, str>, f64)> = Vec::new();
                while let Some(piece) = seq.next_element()? {
                    match piece {
                        Scored::Piece(text, score) => pieces.push((text, score)),
                        Scored::Other(value) => {
                            return Err(A::Error::custom(format_args!(
                                "piece {} is not a text and a score: {value}",
                                pieces.len()
                            )));
                        }
                    }
                }
                Ok(WrittenVocab::Pieces(pieces))
            }

            fn visit_unit<E>(self) -> std::result::Result<WrittenVocab<'v>, E> {
                Ok(WrittenVocab::Other(Value::Null))
            }
        }
        from.deserialize_any(Reader)
    }
}

/// A merge, as it is written: two tokens, or one string with a space between.
pub(super) enum Pair<'v> {
    Joined(Cow<'v, str>),
    Parts(Cow<'v, str>, Cow<'v, str>),
}

/// How a merge can be read.
pub(super) enum Reading<'p> {
    /// As these two tokens.
    One(&'p str, &'p str),
    /// As tokens with spaces in them: the string, to be cut at one of its spaces.
    Several(&'p str),
    /// Not at all.
    None,
}

impl Pair<'_> {
    pub(super) fn reading(&self) -> Reading<'_> {
        match self {
            Self::Parts(left, right) => Reading::One(left, right),
            Self::Joined(joined) => match joined.split_once(' ') {
                Some((_, right)) if right.contains(' ') => Reading::Several(joined),
                Some((left, right)) => Reading::One(left, right),
                None => Reading::None,
            },
        }
    }

    /// All pairs of tokens that it may mean.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        let (one, several) = match self.reading() {
            Reading::One(left, right) => (Some((left, right)), ""),
            Reading::Several(joined) => (None, joined),
            Reading::None => (None, ""),
        };
        one.into_iter().chain(cuts_at_spaces(several))
    }
}

/// A string cut at each of its spaces.
pub(super) fn cuts_at_spaces(joined: &str) -> impl Iterator<Item = (&str, &str)> {
    let places = joined.match_indices(' ').map(|(at, _)| at);
    places.map(move |at| (&joined[..at], &joined[at + 1..]))
}

impl<'de: 'v, 'v> Deserialize<'de> for Pair<'v> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Reader;
        impl<'v> Visitor<'v> for Reader {
            type Value = Pair<'v>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a merge: a string with a space, or a list of two strings")
            }

            fn visit_borrowed_str<E>(self, text: &'v str) -> std::result::Result<Pair<'v>, E> {
                Ok(Pair::Joined(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Pair<'v>, E> {
                Ok(Pair::Joined(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'v>>(
                self,
                mut seq: A,
            ) -> std::result::Result<Pair<'v>, A::Error> {
                let left = seq.next_element()?;
                let right = seq.next_element()?;
                match (left, right, seq.next_element::<IgnoredAny>()?) {
                    (Some(Text(left)), Some(Text(right)), None) => Ok(Pair::Parts(left, right)),
                    _ => Err(A::Error::custom("a merge is a list of two strings")),
                }
            }
        }
        from.deserialize_any(Reader)
    }
}

/// The vocabulary, whichever way it is written.
pub(super) struct Entries<'v> {
    /// In the order of the file.
    pub(super) listed: Vec<(&'v str, u32)>,
    /// The id of each text, by the place of its first entry: of equal pieces the last counts.
    ids: Vec<u32>,
    /// The texts once more, near each other: in the file they are spread over megabytes, and merges
    /// ask for each.
    texts: String,
    /// Where each of them begins, and where the last one ends.
    starts: Vec<u32>,
    table: StringTable,
    /// Scores by id, if the model has some.
    pub(super) scores: Vec<f64>,
}

impl<'v> Entries<'v> {
    pub(super) fn read(vocab: &'v WrittenVocab<'_>, kind: Kind) -> Result<Self> {
        let mut entries = Self {
            listed: Vec::new(),
            ids: Vec::new(),
            texts: String::new(),
            starts: vec![0],
            table: StringTable::default(),
            scores: Vec::new(),
        };
        match (vocab, kind) {
            (WrittenVocab::Pieces(pieces), Kind::Unigram) => {
                if pieces.len() > MAX_IDS as usize {
                    return Err(bad(format!("more than {MAX_IDS} pieces")));
                }
                entries.reserve(pieces.len());
                entries.scores = pieces.iter().map(|&(_, score)| score).collect();
                for (id, (text, _)) in (0..).zip(pieces) {
                    entries.add(text, id, true)?;
                }
            }
            (WrittenVocab::Tokens(tokens), Kind::Bpe | Kind::WordPiece | Kind::WordLevel) => {
                entries.reserve(tokens.len());
                for (token, id) in tokens {
                    entries.add(token, *id, false)?;
                }
            }
            (
                WrittenVocab::Other(Value::Object(tokens)),
                Kind::Bpe | Kind::WordPiece | Kind::WordLevel,
            ) => {
                let (token, id) = tokens.iter().next().unzip();
                let (token, id) = (token.map_or("", String::as_str), id.unwrap_or(&Value::Null));
                return Err(bad(format!(
                    "the token {token:?} has the id {id}, not a whole number below {MAX_IDS}"
                )));
            }
            (_, Kind::Unigram) => return Err(bad("the vocabulary is not a list")),
            _ => return Err(bad("the vocabulary is not an object")),
        }
        Ok(entries)
    }

    fn reserve(&mut self, n: usize) {
        self.listed.reserve(n);
        self.ids.reserve(n);
        self.texts.reserve(n * 8);
        self.starts.reserve(n);
        self.table = StringTable::with_capacity(n);
    }

    /// Adds an entry. Where the text has one already, its id changes; whether both stay listed is
    /// for the caller to say.
    fn add(&mut self, text: &'v str, id: u32, keeps_both: bool) -> Result<()> {
        let listed = &mut self.listed;
        if listed.len() >= MAX_IDS as usize {
            return Err(bad(format!("more than {MAX_IDS} tokens")));
        }
        let end = u32::try_from(self.texts.len() + text.len());
        let end = end.map_err(|_| bad("its tokens have more than 4 GB"))?;
        listed.push((text, id));
        self.ids.push(id);
        self.texts.push_str(text);
        self.starts.push(end);
        let place = listed.len() as u32 - 1;
        let (texts, starts) = (&self.texts, &self.starts);
        let text_at = |place: u32| text_of(texts, starts, place);
        if let Some(first) = self.table.insert(place, &text_at)? {
            self.ids[first as usize] = id;
            if !keeps_both {
                listed.pop();
                self.ids.pop();
                self.starts.pop();
                self.texts.truncate(self.texts.len() - text.len());
                listed[first as usize].1 = id;
            }
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.listed.len()
    }

    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.id_prepared(self.table.prepare(token), token)
    }

    /// Hash of a token; asks memory for the entry that [`id_prepared`](Self::id_prepared) will
    /// need.
    pub(super) fn prepare(&self, token: &str) -> u64 {
        self.table.prepare(token)
    }

    pub(super) fn id_prepared(&self, prepared: u64, token: &str) -> Option<u32> {
        let text_at = |place: u32| text_of(&self.texts, &self.starts, place);
        let place = self.table.find_prepared(prepared, token, &text_at)?;
        self.ids.get(place as usize).copied()
    }
}

#[inline]
fn text_of<'t>(texts: &'t str, starts: &[u32], place: u32) -> &'t str {
    let range = starts
        .get(place as usize..)
        .and_then(<[u32]>::first_chunk)
        .and_then(|&[start, end]| texts.get(start as usize..end as usize));
    range.unwrap_or("")
}
