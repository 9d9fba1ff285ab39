//! `Precompiled`: the rules of a SentencePiece model, as `tokenizers` applies them.
//!
//! Not as SentencePiece does (see [`super::charsmap`]): the text is cut into grapheme clusters (UAX
//! #29 with the tables of Unicode 17, which `tokenizers` 0.23.3 has as well). A cluster of fewer
//! than six bytes that begins with the left side of a rule is replaced as a whole, by the shortest
//! such rule. Any other cluster is replaced character by character. Sources are the reference's: a
//! removed character takes its place from the one before. So the sources behind a removed character
//! at the very start are one off.

use unicode_segmentation::UnicodeSegmentation;

use super::STAGE;
use super::charsmap::{Charsmap, Part};
use crate::codec::base64::Base64Bytes;
use crate::error::Result;
use crate::text::alignment::Alignment;
use crate::text::growth::Room;
use crate::text::rewrite::{Takes, rewritten};

/// Clusters of this many bytes and more are not looked up as a whole.
const LONG_CLUSTER_BYTES: usize = 6;

/// The rules, ready for use.
#[derive(Debug)]
pub(crate) struct Precompiled {
    map: Charsmap,
    /// ASCII bytes that stay when they are a cluster of their own.
    plain: [bool; 128],
}

impl Precompiled {
    pub(crate) fn new(charsmap: &Base64Bytes) -> Result<Self> {
        let map = Charsmap::new(&charsmap.0)?;
        let mut plain = [false; 128];
        for (byte, plain) in (0u8..).zip(&mut plain) {
            let text = char::from(byte);
            // A carriage return may share its cluster with a line feed.
            *plain = byte != b'\r' && map.shortest_prefix(text.encode_utf8(&mut [0; 4])).is_none();
        }
        Ok(Self { map, plain })
    }

    /// Passes each replaced sequence to `each`; returns true if all were passed.
    pub(crate) fn each_part_of_rules(&self, each: impl FnMut(Part<'_>)) -> bool {
        self.map.each_part(each)
    }

    /// Bytes of the longest replacement.
    pub(crate) fn longest_replacement(&self) -> usize {
        self.map.may_make(1)
    }

    /// True if some sequence begins as the whole text does and goes on, or may.
    pub(crate) fn is_cut_off(&self, text: &str) -> bool {
        self.map.is_cut_off(text)
    }

    /// The normalized text, or None if it is the same. `room`: bytes that it may have.
    pub(crate) fn normalize(&self, text: &str, room: Room) -> Result<Option<String>> {
        if self.plain_prefix(text) == text.len() {
            return Ok(None);
        }
        if self.map.may_make(text.len()) > room.limit() {
            let mut n_made = 0;
            self.each_part(text, |part, to| n_made += to.unwrap_or(part).len());
            room.check(STAGE, n_made)?;
        }
        Ok(rewritten(text, |out| {
            self.each_part(text, |part, to| out.push_str(to.unwrap_or(part)));
        }))
    }

    /// Where each character of the normalized text comes from.
    pub(crate) fn align(&self, text: &str) -> Alignment {
        // A character takes more than its own source only when the next part is known.
        let mut changes: Vec<(char, isize)> = Vec::with_capacity(text.len());
        self.each_part(text, |part, to| {
            let Some(to) = to else {
                return changes.extend(part.chars().map(|c| (c, 0)));
            };
            let n_from = part.chars().count();
            let n_to = to.chars().count();
            let shared = n_to.min(n_from);
            let change = |index| isize::from(index >= shared);
            changes.extend(to.chars().enumerate().map(|(i, c)| (c, change(i))));
            if let Some((_, last)) = changes.last_mut() {
                *last -= n_from.saturating_sub(n_to) as isize;
            }
        });
        let mut takes = Takes::new(text);
        for (c, change) in changes {
            takes.push(c, change);
        }
        takes.finish()
    }

    /// Bytes at the start that stay: ASCII, of which the last may belong to a cluster with what
    /// follows.
    fn plain_prefix(&self, text: &str) -> usize {
        let stays = |byte: u8| self.plain.get(byte as usize).is_some_and(|&plain| plain);
        let end = text.bytes().position(|byte| !stays(byte));
        match end {
            None => text.len(),
            Some(end) if text.as_bytes()[end].is_ascii() => end,
            Some(end) => end.saturating_sub(1),
        }
    }

    /// Calls `each` with the parts of the text, left to right, and what replaces them.
    fn each_part(&self, text: &str, mut each: impl FnMut(&str, Option<&str>)) {
        let mut rest = text;
        while !rest.is_empty() {
            let (plain, after) = rest.split_at(self.plain_prefix(rest));
            if !plain.is_empty() {
                each(plain, None);
            }
            rest = after;
            for cluster in after.graphemes(true) {
                rest = &rest[cluster.len()..];
                self.cluster(cluster, &mut each);
                if self.plain_prefix(rest) > 0 {
                    break;
                }
            }
        }
    }

    fn cluster(&self, cluster: &str, each: &mut impl FnMut(&str, Option<&str>)) {
        if cluster.len() < LONG_CLUSTER_BYTES
            && let Some(to) = self.map.shortest_prefix(cluster)
        {
            return each(cluster, Some(to));
        }
        for (at, c) in cluster.char_indices() {
            let part = &cluster[at..at + c.len_utf8()];
            each(part, self.map.shortest_prefix(part));
        }
    }
}

#[cfg(test)]
#[path = "precompiled_tests.rs"]
mod tests;
