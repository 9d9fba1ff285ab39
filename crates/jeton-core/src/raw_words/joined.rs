//! Pairs of characters that stand beside each other in a token, and the cuts between words that
//! they allow.

use hashbrown::HashSet;

use super::SPACE_CHAR as SPACE;
use super::scan::{BLANK, Edge, LETTER, LONE, Layout, OTHER, PLAIN, Scanner};
use crate::cpu::dispatch::Kernel;
use crate::normalize::Separate;

/// Characters that stand beside each other in some token, where they were joined.
#[derive(Debug, Default)]
pub(super) struct Joined {
    pairs: HashSet<(char, char), foldhash::fast::FixedState>,
    /// By code point: whether a pair begins, or ends, with the character. Most of Chinese is in
    /// none where a vocabulary was made for other scripts (Llama 2).
    sides: Vec<u8>,
    /// True if characters without a token are left out, so that what is on either side of them is
    /// joined as neighbours are.
    leaves_out: bool,
}

/// In [`Joined::sides`]: the character stands before another one in some pair, or behind one.
const BEFORE: u8 = 1;
const BEHIND: u8 = 1 << 1;

/// As many of the last pairs are remembered: 32 KiB of them.
const N_LAST: usize = 1 << 12;

impl Joined {
    /// Builds the pairs of all characters of texts that are neighbours.
    pub(super) fn of_texts<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut pairs = HashSet::with_hasher(crate::vocab::hasher());
        // Most pairs are among the last that came, and those need not be hashed again.
        let mut last = vec![('\0', '\0'); N_LAST];
        for text in texts {
            let text = String::from_utf8_lossy(text);
            for pair in text.chars().zip(text.chars().skip(1)) {
                let place = (pair.0 as usize).wrapping_mul(61) ^ pair.1 as usize;
                if let Some(last) = last.get_mut(place % N_LAST)
                    && (*last != pair || pair == ('\0', '\0'))
                {
                    *last = pair;
                    pairs.insert(pair);
                }
            }
        }
        Self::of_pairs(pairs)
    }

    fn of_pairs(pairs: HashSet<(char, char), foldhash::fast::FixedState>) -> Self {
        let mut sides: Vec<u8> = Vec::new();
        for &(before, after) in &pairs {
            for (c, side) in [(before, BEFORE), (after, BEHIND)] {
                let at = c as usize;
                if sides.len() <= at {
                    sides.resize(at + 1, 0);
                }
                sides[at] |= side;
            }
        }
        Self {
            pairs,
            sides,
            leaves_out: false,
        }
    }

    /// Sets the flag of a model that may leave out characters.
    pub(super) fn leaving_out(self, leaves_out: bool) -> Self {
        Self { leaves_out, ..self }
    }

    /// Builds the pairs of the last character of a token and the first of one that merges with it.
    pub(super) fn of_merges<'t>(merges: impl Iterator<Item = (&'t [u8], &'t [u8])>) -> Self {
        let mut pairs = HashSet::with_hasher(crate::vocab::hasher());
        for (left, right) in merges {
            let (left, right) = (
                String::from_utf8_lossy(left),
                String::from_utf8_lossy(right),
            );
            pairs.extend(left.chars().next_back().zip(right.chars().next()));
        }
        Self::of_pairs(pairs)
    }

    /// True if two characters stand beside each other.
    #[inline]
    pub(super) fn has(&self, before: char, after: char) -> bool {
        let is_on =
            |c: char, side: u8| self.sides.get(c as usize).copied().unwrap_or(0) & side != 0;
        is_on(before, BEFORE) && is_on(after, BEHIND) && self.pairs.contains(&(before, after))
    }

    /// How words are cut that follow one another. `has`: whether a character has a token.
    pub(super) fn touching(&self, known: &Separate, has: &dyn Fn(char) -> bool) -> Option<Scanner> {
        let mut barred = known.barred.clone();
        barred.push(SPACE);
        let crossing = self
            .pairs
            .iter()
            .filter(|pair| pair.1 == SPACE && pair.0 != SPACE);
        let before = barred.len();
        barred.extend(crossing.map(|&(left, _)| left));
        // A space never is before a cut, but it may be before what is left out there.
        let joins_spaces = self.pairs.contains(&(SPACE, SPACE));
        let crosses = barred.len() > before || self.leaves_out && joins_spaces;
        barred.sort_unstable();
        barred.dedup();
        let mut members = [0; 256];
        // Image of a byte; true if no text changed as one has it inside; true if no such text
        // begins with it either.
        let images = |byte: usize| {
            let image = known.images[byte]?;
            let is_apart = !known.inside[byte];
            Some((image, is_apart, is_apart && !known.leads[byte]))
        };
        // True if a byte always becomes its image, whatever ASCII stands before or behind it.
        let stays = |byte: usize| {
            !(known.inside[byte] || known.opens[byte] || known.clusters && known.leads[byte])
        };
        for (byte, member) in members[..128].iter_mut().enumerate() {
            match images(byte) {
                Some((SPACE, _, true)) => *member |= BLANK,
                Some((image, is_apart, _)) if image.is_ascii_graphic() => {
                    // Where something joins a space, what is there must be known, and not be left
                    // out.
                    if barred.binary_search(&image).is_err() && (!crosses || is_apart && has(image))
                    {
                        *member |= PLAIN;
                    }
                    if image.is_ascii_alphabetic() && has(image) && stays(byte) {
                        *member |= LETTER;
                    }
                }
                _ => {}
            }
        }
        if members.iter().all(|member| member & BLANK == 0) {
            return None;
        }
        let letters: Vec<char> = members
            .iter()
            .zip(known.images)
            .filter(|(member, _)| **member & LETTER != 0)
            .filter_map(|(_, image)| image)
            .collect();
        for (byte, member) in members[..128].iter_mut().enumerate() {
            let is_other = |c: &char| {
                c.is_ascii_graphic() && !c.is_ascii_alphabetic() && has(*c) && stays(byte)
            };
            let Some(image) = known.images[byte].filter(is_other) else {
                continue;
            };
            let joins = |letter: &char| {
                self.pairs.contains(&(*letter, image)) || self.pairs.contains(&(image, *letter))
            };
            if !letters.iter().any(joins) {
                *member |= OTHER;
            }
        }
        let is_lone = |c: char| {
            c.is_ascii()
                && !c.is_ascii_graphic()
                && c != ' '
                && has(c)
                && self.sides.get(c as usize).is_none_or(|&sides| sides == 0)
                && barred.binary_search(&c).is_err()
        };
        for (byte, member) in members[..128].iter_mut().enumerate() {
            // Where rules look at clusters, a line feed shares one with a carriage return.
            if let Some((image, _, true)) = images(byte)
                && is_lone(image)
                && !known.clusters
            {
                *member |= LONE;
            }
        }
        Some(Scanner {
            layout: Layout::Adjacent,
            members,
            leads: known.leads.contains(&true),
            may_touch: Some(Edge {
                clusters: known.clusters,
                // The image of a character of several bytes is not known here.
                nobody: crosses,
                barred,
            }),
            kernel: Kernel::fastest(),
        })
    }
}
