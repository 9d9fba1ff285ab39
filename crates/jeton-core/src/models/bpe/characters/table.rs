//! The token of a character by its place in the pretoken.
//!
//! The place alone decides if a character bears the prefix or the suffix. So each place has a table
//! of its own, and no string is put together while encoding. A table is pages of 256
//! characters; those without any token share one page. A page needs a token, so a table has 4 MB at
//! most.

use super::NONE;
use crate::vocab::Vocab;

/// Pages that cover Unicode: code points end at U+10FFFF.
const PAGES: usize = 0x1100;

/// True if a character is the first or the last of its pretoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u8);

impl Place {
    pub(super) const ALL: [Self; 4] = [Self(0), Self(1), Self(2), Self(3)];

    #[inline]
    pub(super) fn new(first: bool, last: bool) -> Self {
        Self(u8::from(first) | u8::from(last) << 1)
    }

    pub(super) fn is_first(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) fn is_last(self) -> bool {
        self.0 & 2 != 0
    }
}

/// The tables of all places; places where characters bear the same affixes share one.
#[derive(Debug)]
pub(super) struct Tables {
    tables: Vec<Table>,
    by_place: [u8; 4],
}

impl Tables {
    pub(super) fn new(vocab: &Vocab, prefix: &[u8], suffix: &[u8]) -> Self {
        let mut affixes = Vec::with_capacity(4);
        let by_place = Place::ALL.map(|place| {
            let before = if place.is_first() { &[] } else { prefix };
            let after = if place.is_last() { suffix } else { &[] };
            let known = affixes.iter().position(|&known| known == (before, after));
            known.unwrap_or_else(|| {
                affixes.push((before, after));
                affixes.len() - 1
            }) as u8
        });
        let tables = affixes
            .iter()
            .map(|(before, after)| Table::new(vocab, before, after))
            .collect();
        Self { tables, by_place }
    }

    /// The id of a character, or `NONE`.
    #[inline]
    pub(super) fn get(&self, place: Place, c: char) -> u32 {
        self.tables[self.by_place[place.0 as usize] as usize].get(c)
    }
}

#[derive(Debug)]
struct Table {
    page_of: Box<[u16; PAGES]>,
    /// The first page holds characters without tokens.
    pages: Vec<[u32; 256]>,
}

impl Table {
    /// The tokens that are one character between two affixes.
    fn new(vocab: &Vocab, before: &[u8], after: &[u8]) -> Self {
        let mut table = Self {
            page_of: Box::new([0; PAGES]),
            pages: vec![[NONE; 256]],
        };
        for (_, token) in vocab.iter() {
            let inner = token
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after));
            // The lookup decides which of equal tokens counts, and leaves out what cannot be found.
            if let Some(c) = inner.and_then(single)
                && let Some(id) = vocab.bytes_to_id(token)
            {
                table.put(c, id);
            }
        }
        table
    }

    fn put(&mut self, c: char, id: u32) {
        let page = &mut self.page_of[c as usize >> 8];
        if *page == 0 {
            *page = self.pages.len() as u16;
            self.pages.push([NONE; 256]);
        }
        self.pages[*page as usize][c as usize & 0xFF] = id;
    }

    #[inline]
    fn get(&self, c: char) -> u32 {
        self.pages[self.page_of[c as usize >> 8] as usize][c as usize & 0xFF]
    }
}

/// The one character of a text of one character.
fn single(text: &[u8]) -> Option<char> {
    // No character has more than four bytes: longer tokens need not be looked at.
    let text = str::from_utf8(text.get(..text.len().min(5))?).ok()?;
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}
