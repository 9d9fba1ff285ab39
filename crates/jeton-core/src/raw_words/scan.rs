//! Where raw words begin and end, found 64 bytes at a time.
//!
//! Kinds of bytes come from a table of ASCII, for a whole block at once (`masks`). The cuts are
//! then a few operations on masks of 64 bits. Characters of several bytes are read one by one, and
//! only where they touch a place that may be a cut.

use super::masks::BLOCK;
use crate::cpu::dispatch::Kernel;

/// Kind of a byte that is part of a word, where words lie apart.
pub(super) const WORD: u8 = 1;
/// A word by itself.
pub(super) const ALONE: u8 = 1 << 1;
/// Part of a word, and joined with what is beside it, whatever that is.
pub(super) const ODD: u8 = 1 << 2;

/// Kind of a byte with which a word may begin after one that ends, where words are adjacent.
pub(super) const BLANK: u8 = 1;
/// A word may end with it where the next one begins with a blank.
pub(super) const PLAIN: u8 = 1 << 1;
/// Nothing joins these ...
pub(super) const LETTER: u8 = 1 << 2;
/// ... with these.
pub(super) const OTHER: u8 = 1 << 3;
/// Nothing joins these with anything.
pub(super) const LONE: u8 = 1 << 4;

/// Sets of bytes in a table.
const KINDS: usize = 5;
/// Words that are handed over at once, and the most that a block can add to them.
const BATCH_WORDS: usize = 128;
const ROOM: usize = BATCH_WORDS + BLOCK + 1;

/// How words lie in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Bytes between the words belong to none.
    Separated,
    /// Each begins where the one before ends.
    Adjacent,
}

/// The rules by which words are found.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) layout: Layout,
    pub(super) members: [u8; 256],
    /// True if letters and others may become something else together with a character of several
    /// bytes behind them.
    pub(super) leads: bool,
    /// True if a character of several bytes may stand beside a cut; None: every one may.
    pub(super) may_touch: Option<Edge>,
    pub(super) kernel: Kernel,
}

/// Says whether a character may stand beside a cut.
#[derive(Debug)]
pub(super) struct Edge {
    /// True if it must be one that never joins a cluster.
    pub(super) clusters: bool,
    /// True if none may.
    pub(super) nobody: bool,
    /// Characters that may not be beside a cut, sorted.
    pub(super) barred: Vec<char>,
}

impl Edge {
    fn permits(&self, c: char) -> bool {
        let is_barred = self.barred.binary_search(&c).is_ok();
        let is_other = self.clusters && !crate::normalize::is_cluster(c);
        !(self.nobody || is_other || is_barred)
    }
}

impl Scanner {
    fn permits(&self, c: Option<char>) -> bool {
        match (&self.may_touch, c) {
            (Some(edge), Some(c)) => edge.permits(c),
            _ => true,
        }
    }
}

/// Words that were found: from `starts[i]` to `ends[i]`.
pub(super) struct WordBounds {
    pub(super) starts: [usize; ROOM],
    pub(super) ends: [usize; ROOM],
    n_starts: usize,
    n_ends: usize,
}

impl Default for WordBounds {
    fn default() -> Self {
        Self {
            starts: [0; ROOM],
            ends: [0; ROOM],
            n_starts: 0,
            n_ends: 0,
        }
    }
}

#[inline]
fn spread(mut mask: u64, base: usize, places: &mut [usize; ROOM], n: &mut usize) {
    while mask != 0 {
        places[*n] = base + mask.trailing_zeros() as usize;
        *n += 1;
        mask &= mask - 1;
    }
}

/// A text that is being cut.
pub(super) struct Scan<'s, 't> {
    scanner: &'s Scanner,
    text: &'t str,
    /// Where the next block begins.
    at: usize,
    /// The last bits of the block before: of words, those by themselves, odd ones; of blanks,
    /// plain, letters, others, lone, wide.
    last: [u64; 6],
    done: bool,
}

impl<'s, 't> Scan<'s, 't> {
    pub(super) fn new(scanner: &'s Scanner, text: &'t str, found: &mut WordBounds) -> Self {
        (found.n_starts, found.n_ends) = (0, 0);
        if scanner.layout == Layout::Adjacent && !text.is_empty() {
            found.starts[0] = 0;
            found.n_starts = 1;
        }
        Self {
            scanner,
            text,
            at: 0,
            last: [0; 6],
            done: false,
        }
    }

    /// Finds more words, in place of those found before; returns how many. None: all were found.
    #[inline]
    pub(super) fn more(&mut self, found: &mut WordBounds) -> usize {
        // The word that has begun and not ended is the first of the next turn.
        if found.n_starts > found.n_ends {
            found.starts[0] = found.starts[found.n_ends];
        }
        found.n_starts -= found.n_ends;
        found.n_ends = 0;
        let layout = self.scanner.layout;
        while found.n_ends < BATCH_WORDS && self.at < self.text.len() {
            match layout {
                Layout::Separated => self.apart(found),
                Layout::Adjacent => self.touching(found),
            }
            self.at += BLOCK;
        }
        if found.n_ends < BATCH_WORDS && !self.done {
            self.done = true;
            if found.n_starts > found.n_ends {
                found.ends[found.n_ends] = self.text.len();
                found.n_ends += 1;
            }
        }
        found.n_ends
    }

    /// The masks of the next block, and the mask of the bytes of longer characters.
    #[inline]
    fn masks(&self) -> ([u64; 8], u64) {
        let mut masks = [0; 8];
        let scanner = self.scanner;
        let bytes = self.text.as_bytes();
        let wide = scanner
            .kernel
            .single_bytes(&scanner.members, KINDS, bytes, self.at, &mut masks);
        (masks, wide)
    }

    #[inline]
    fn apart(&mut self, found: &mut WordBounds) {
        let ([mut word, alone, odd, ..], wide) = self.masks();
        let (scanner, bytes) = (self.scanner, self.text.as_bytes());
        let odd = odd | wide;
        word |= odd;
        let [last_word, last_alone, last_odd, ..] = self.last;
        if scanner.may_touch.is_some() {
            let is_odd = |byte: &u8| *byte >= 0x80 || scanner.members[*byte as usize] & ODD != 0;
            let next_odd = u64::from(bytes.get(self.at + BLOCK).is_some_and(is_odd));
            let beside = odd << 1 | last_odd | odd >> 1 | next_odd << 63;
            if beside & !(word | alone) != 0 {
                word |= self.glued(beside & !(word | alone));
            }
        }
        let before = word << 1 | last_word;
        spread(
            alone | word & !before,
            self.at,
            &mut found.starts,
            &mut found.n_starts,
        );
        spread(
            !word & before | alone << 1 | last_alone,
            self.at,
            &mut found.ends,
            &mut found.n_ends,
        );
        self.last = [word >> 63, alone >> 63, odd >> 63, 0, 0, 0];
    }

    /// Returns the bytes between words that do not cut: a character beside them may join them.
    #[cold]
    fn glued(&self, between: u64) -> u64 {
        let mut glued = 0;
        let mut left = between;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let at = self.at + bit.trailing_zeros() as usize;
            let Some((before, after)) = self.text.split_at_checked(at) else {
                continue; // behind the text
            };
            let mut after = after.chars();
            let is_there = after.next().is_some();
            let (before, after) = (before.chars().next_back(), after.next());
            if is_there && !(self.permits_ascii(before) && self.permits_ascii(after)) {
                glued |= bit;
            }
        }
        glued
    }

    /// True if a neighbour, of ASCII too, may stand beside a cut.
    fn permits_ascii(&self, c: Option<char>) -> bool {
        match c {
            Some(c) if c.is_ascii() => self.scanner.members[c as usize] & ODD == 0,
            c => self.scanner.permits(c),
        }
    }

    #[inline]
    fn touching(&mut self, found: &mut WordBounds) {
        let ([blank, plain, letter, other, lone, ..], wide) = self.masks();
        let scanner = self.scanner;
        let [
            last_blank,
            last_plain,
            last_letter,
            last_other,
            last_lone,
            last_wide,
        ] = self.last;
        let first_blank = blank & !(blank << 1 | last_blank);
        // Blanks before a lone one stay with it: a word of blanks is one at the end of the text.
        let mut cuts = (first_blank | lone) & (plain << 1 | last_plain)
            | (blank | letter | other | lone) & (lone << 1 | last_lone);
        let unjoined = other & (letter << 1 | last_letter) | letter & (other << 1 | last_other);
        cuts |= if scanner.leads {
            let next = self.text.as_bytes().get(self.at + BLOCK);
            let next_wide = u64::from(next.is_some_and(|byte| *byte >= 0x80));
            unjoined & !(wide >> 1 | next_wide << 63)
        } else {
            unjoined
        };
        let mut left = (first_blank | lone) & (wide << 1 | last_wide);
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let at = self.at + bit.trailing_zeros() as usize;
            let before = self
                .text
                .get(..at)
                .and_then(|text| text.chars().next_back());
            if scanner.permits(before) {
                cuts |= bit;
            }
        }
        spread(cuts, self.at, &mut found.ends, &mut found.n_ends);
        spread(cuts, self.at, &mut found.starts, &mut found.n_starts);
        self.last = [blank, plain, letter, other, lone, wide].map(|mask| mask >> 63);
    }
}
