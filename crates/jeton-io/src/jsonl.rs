//! One text out of a JSON object, without building the object.
//!
//! A visitor descends only into the wanted field; everything else is checked for being JSON and
//! skipped. Strings are taken as bytes: `serde_json` guarantees (documentation of
//! `Deserializer::deserialize_bytes`, 1.0) that bytes which are not UTF-8 come through as they are,
//! and that a lone surrogate escape comes as its three bytes of WTF-8. So both can be replaced and
//! counted here, where a `&str` would have been an error.
//!
//! Cost: O(bytes of the line); a string without escapes is borrowed, one with escapes is copied
//! once.

use std::borrow::Cow;
use std::fmt;

use jeton_core::documents::batch::{DocumentBatch, REPLACEMENT};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;

/// How much of an explanation is shown: it may quote the record.
const MAX_REASON_CHARS: usize = 300;
/// How many fields are named where the wanted one is missing.
const MAX_NAMED_FIELDS: usize = 20;
/// The first byte of a surrogate written in three bytes, as UTF-8 would if it allowed them.
const SURROGATE_LEAD: u8 = 0xed;

/// A line that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadLine {
    /// Value found and value expected.
    Reason(String),
    /// Under strict reading: the text is not valid from this byte of it on.
    InvalidText(u64),
}

/// The place of the text in a record: keys from the outside in.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    name: String,
    keys: Vec<String>,
    /// Other readings of the name, in which a key has dots itself: the ones to try first. Each with
    /// such a key as JSON spells it.
    dotted: Vec<(Vec<String>, Vec<u8>)>,
}

/// Dots of a name up to which every reading of it is tried; beyond, the whole as one key alone.
const MAX_READ_DOTS: usize = 4;

impl Field {
    /// Dots descend: `message.content`. A key that has the dots itself goes first.
    pub(crate) fn new(name: &str) -> Self {
        let keys: Vec<String> = name.split('.').map(str::to_owned).collect();
        let n_dots = keys.len() - 1;
        let tried = if n_dots <= MAX_READ_DOTS { n_dots } else { 0 };
        let mut readings = vec![vec![name.to_owned()]];
        // A set bit joins two keys by their dot; the longest first key goes first.
        for bits in (1..(1_u32 << tried).saturating_sub(1)).rev() {
            let mut reading = vec![keys[0].clone()];
            for (at, key) in keys[1..].iter().enumerate() {
                if bits >> (n_dots - 1 - at) & 1 == 1 {
                    let last = reading.len() - 1;
                    reading[last] = format!("{}.{key}", reading[last]);
                } else {
                    reading.push(key.clone());
                }
            }
            readings.push(reading);
        }
        readings.truncate(if n_dots == 0 { 0 } else { readings.len() });
        let dotted = readings.into_iter().filter_map(|reading| {
            let key = reading.iter().find(|key| key.contains('.'))?;
            let spelled = serde_json::to_vec(key).ok()?;
            Some((reading, spelled))
        });
        Self {
            name: name.to_owned(),
            dotted: dotted.collect(),
            keys,
        }
    }

    /// Append the text of one line; false: the text, or an object on the way to it, is null.
    /// `scratch` is reused from line to line.
    pub(crate) fn push_text(
        &self,
        line: &[u8],
        strict: bool,
        scratch: &mut Vec<u8>,
        batch: &mut DocumentBatch,
    ) -> Result<bool, BadLine> {
        let Some(text) = self.find(line, scratch).map_err(BadLine::Reason)? else {
            return Ok(false);
        };
        match simdutf8::compat::from_utf8(text) {
            Ok(text) => batch.push_str(text),
            Err(error) if strict => return Err(BadLine::InvalidText(error.valid_up_to() as u64)),
            Err(_) => {
                let (text, n_replacements) =
                    self.replace_invalid(line, text).map_err(BadLine::Reason)?;
                batch.push_replaced(&text, n_replacements);
            }
        }
        Ok(true)
    }

    /// The bytes of the text, in which lone surrogates are three bytes; none for a null. The last
    /// of repeated keys counts.
    fn find<'a>(
        &self,
        line: &'a [u8],
        scratch: &'a mut Vec<u8>,
    ) -> Result<Option<&'a [u8]>, String> {
        // Strings taken as bytes are not checked for raw control characters, which JSON forbids.
        if line.iter().copied().min().is_some_and(|byte| byte < b' ') {
            serde_json::from_slice::<IgnoredAny>(line).map_err(|error| not_json(&error))?;
        }
        let mut sink = Sink {
            borrowed: None,
            scratch,
            found: Found::Nothing,
        };
        let there = |spelled: &[u8]| memchr::memmem::find(line, spelled).is_some();
        let dotted = self.dotted.iter().filter(|(_, spelled)| there(spelled));
        for keys in dotted.map(|(keys, _)| keys).chain([&self.keys]) {
            let mut deserializer = serde_json::Deserializer::from_slice(line);
            TextSeed {
                field: self,
                keys,
                is_record: true,
                sink: &mut sink,
            }
            .deserialize(&mut deserializer)
            .and_then(|()| deserializer.end())
            .map_err(|error| not_json(&error))?;
            if !matches!(sink.found, Found::Nothing) {
                break;
            }
        }
        match sink.found {
            Found::Nothing => Err(self.missing(line)),
            Found::Null => Ok(None),
            Found::Text => Ok(Some(sink.borrowed.unwrap_or(sink.scratch))),
        }
    }

    /// The slow path: the text with U+FFFD for each maximal subpart of invalid bytes and for each
    /// lone surrogate.
    ///
    /// Surrogates come as invalid bytes too. To tell the two kinds apart, the invalid bytes in the
    /// line are replaced before parsing. They are never ASCII, so the line's structure stays, and
    /// any bytes invalid afterwards are surrogates.
    fn replace_invalid(&self, line: &[u8], first: &[u8]) -> Result<(String, u64), String> {
        let mut scratch = Vec::new();
        let valid_line = String::from_utf8_lossy(line);
        let (bytes, mut n_replacements) = match &valid_line {
            Cow::Borrowed(_) => (first, 0),
            Cow::Owned(valid_line) => {
                let second = self
                    .find(valid_line.as_bytes(), &mut scratch)?
                    .unwrap_or_default();
                (
                    second,
                    n_replacement_characters(second) - n_replacement_characters(first),
                )
            }
        };
        let mut text = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            // Each of a surrogate's three bytes is a chunk of its own.
            if chunk.invalid().first() == Some(&SURROGATE_LEAD) {
                text.push(REPLACEMENT);
                n_replacements += 1;
            }
        }
        Ok((text, n_replacements))
    }

    fn missing(&self, line: &[u8]) -> String {
        let mut names = Names {
            names: Vec::new(),
            n_more: 0,
        };
        // The line has been parsed before, so this cannot fail; if it did, there would be no names
        // to show.
        let _ = NamesSeed {
            keys: &self.keys,
            names: &mut names,
        }
        .deserialize(&mut serde_json::Deserializer::from_slice(line));
        if names.names.is_empty() {
            return format!("no field {:?}: the object is empty", self.name);
        }
        let shown: Vec<_> = names.names.iter().map(|name| format!("{name:?}")).collect();
        let more = if names.n_more > 0 {
            format!(" and {} more", names.n_more)
        } else {
            String::new()
        };
        shorten(&format!(
            "no field {:?}; the fields there are {}{more}",
            self.name,
            shown.join(", ")
        ))
    }
}

fn n_replacement_characters(bytes: &[u8]) -> u64 {
    let mut encoded = [0; 4];
    memchr::memmem::find_iter(bytes, REPLACEMENT.encode_utf8(&mut encoded).as_bytes()).count()
        as u64
}

/// Returns the message of `serde_json`, with its position as a column: every record is its line 1.
fn not_json(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(&*message, |(message, _)| message);
    let kind = if error.classify() == Category::Data {
        ""
    } else {
        "not valid JSON: "
    };
    format!("{kind}{} (column {})", shorten(message), error.column())
}

fn shorten(message: &str) -> String {
    match message.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}...", &message[..end]),
        None => message.to_owned(),
    }
}

/// Where the text goes.
struct Sink<'de, 's> {
    borrowed: Option<&'de [u8]>,
    scratch: &'s mut Vec<u8>,
    found: Found,
}

/// Content of the wanted field.
enum Found {
    Nothing,
    Null,
    Text,
}

/// Visits the value that has `keys` below it; with no keys left, the text.
struct TextSeed<'f, 'x, 'de, 's> {
    field: &'f Field,
    keys: &'f [String],
    /// True for the record, false for a text inside it.
    is_record: bool,
    sink: &'x mut Sink<'de, 's>,
}

impl<'de> DeserializeSeed<'de> for TextSeed<'_, '_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.is_record {
            // A record that is null itself is no record.
            deserializer.deserialize_map(self)
        } else {
            deserializer.deserialize_option(self)
        }
    }
}

impl<'de> Visitor<'de> for TextSeed<'_, '_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.keys.is_empty() {
            "a string in"
        } else {
            "an object with"
        };
        write!(f, "{what} the field {:?}", self.field.name)
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.sink.found = Found::Null;
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.keys.is_empty() {
            deserializer.deserialize_bytes(self)
        } else {
            deserializer.deserialize_map(self)
        }
    }

    fn visit_borrowed_bytes<E>(self, text: &'de [u8]) -> Result<(), E> {
        self.sink.borrowed = Some(text);
        self.sink.found = Found::Text;
        Ok(())
    }

    fn visit_bytes<E>(self, text: &[u8]) -> Result<(), E> {
        self.sink.borrowed = None;
        self.sink.scratch.clear();
        self.sink.scratch.extend_from_slice(text);
        self.sink.found = Found::Text;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((key, keys)) = self.keys.split_first() else {
            return Err(A::Error::invalid_type(serde::de::Unexpected::Map, &self));
        };
        while let Some(is_wanted) = map.next_key_seed(KeySeed(key))? {
            if is_wanted {
                self.sink.found = Found::Nothing;
                map.next_value_seed(TextSeed {
                    field: self.field,
                    keys,
                    is_record: false,
                    sink: self.sink,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// True if a key is the wanted one.
struct KeySeed<'f>(&'f str);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<bool, E> {
        Ok(key == self.0.as_bytes())
    }
}

/// The fields that there are, for the message about the one that there is not.
struct Names {
    names: Vec<String>,
    n_more: usize,
}

/// Descends as far as the wanted keys go and names the fields of the last object reached.
struct NamesSeed<'f, 'x> {
    keys: &'f [String],
    names: &'x mut Names,
}

impl<'de> DeserializeSeed<'de> for NamesSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NamesSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        *self.names = Names {
            names: Vec::new(),
            n_more: 0,
        };
        let mut inner = None;
        while let Some(name) = map.next_key_seed(NameSeed)? {
            if self.keys.len() > 1 && name == self.keys[0] {
                let mut names = Names {
                    names: Vec::new(),
                    n_more: 0,
                };
                map.next_value_seed(NamesSeed {
                    keys: &self.keys[1..],
                    names: &mut names,
                })?;
                inner = Some(names);
            } else {
                map.next_value::<IgnoredAny>()?;
                if self.names.names.len() < MAX_NAMED_FIELDS {
                    self.names.names.push(name);
                } else {
                    self.names.n_more += 1;
                }
            }
        }
        if let Some(inner) = inner {
            *self.names = inner;
        }
        Ok(())
    }
}

struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for NameSeed {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<String, E> {
        Ok(String::from_utf8_lossy(key).into_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
