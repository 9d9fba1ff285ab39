//! Words as sequences of character symbols, and what a merge does to them: what all merge-based
//! trainers on characters share.
//!
//! A symbol is a character as it is spelled in a vocabulary: with a prefix where it continues a
//! word, with a suffix where it ends one. Characters outside the alphabet cut words in two: nothing
//! is learned across them.

use hashbrown::HashMap;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::hasher;

use super::alphabet::text_of;
use super::cells::{BOUNDARY, Cells};
use super::counts::PretokenCounts;
use super::pairs::Side;

/// How symbols are spelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spelling {
    /// Stands before every symbol of a word but the first (`##`).
    pub continuing_prefix: String,
    /// Stands behind the last symbol of a word (`</w>`).
    pub end_of_word_suffix: String,
}

impl Spelling {
    /// True if symbols are bare characters.
    fn is_plain(&self) -> bool {
        self.continuing_prefix.is_empty() && self.end_of_word_suffix.is_empty()
    }
}

/// The symbols of a vocabulary while it grows: texts by id, and back.
#[derive(Debug)]
pub(crate) struct Symbols {
    texts: Vec<String>,
    ids: HashMap<String, u32, foldhash::fast::FixedState>,
    /// Characters of each, marks of spelling left out: the cells it takes in a word.
    n_chars: Vec<u32>,
}

impl Symbols {
    pub(crate) fn new() -> Self {
        Self {
            texts: Vec::new(),
            ids: HashMap::with_hasher(hasher()),
            n_chars: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn text(&self, id: u32) -> &str {
        &self.texts[id as usize]
    }

    pub(crate) fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub(crate) fn n_chars(&self, id: u32) -> usize {
        self.n_chars[id as usize] as usize
    }

    /// The id of a text, a new one if it has none.
    pub(crate) fn insert(&mut self, text: String, n_chars: usize) -> u32 {
        if let Some(id) = self.id(&text) {
            return id;
        }
        let id = self.texts.len() as u32;
        self.ids.insert(text.clone(), id);
        self.texts.push(text);
        self.n_chars.push(n_chars as u32);
        id
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

/// All words as symbols.
pub(crate) struct Words {
    pub(crate) cells: Cells,
    pub(crate) left_side: Side,
    pub(crate) right_side: Side,
}

impl Words {
    /// Spell all words. Bare characters have their ids already, by `id_of`. Spelled ones are added
    /// in three groups, each in the order of the characters: symbols that continue a word, then
    /// symbols that end it, then symbols that do both.
    ///
    /// Errors: `TooLarge` if there are more words or pairs than the loop can count.
    pub(crate) fn new(
        counts: &PretokenCounts,
        spelling: &Spelling,
        symbols: &mut Symbols,
    ) -> Result<Self> {
        if !spelling.is_plain() {
            add_spelled(counts, spelling, symbols)?;
        }
        let table = SpelledIds::new(symbols, spelling);
        let mut words: Vec<u32> = Vec::with_capacity(counts.n_distinct_bytes());
        let mut spans: Vec<(u32, u64)> = Vec::with_capacity(counts.len());
        for (word, weight) in counts.iter() {
            let mut from = words.len();
            for (c, place) in places(text_of(word)?) {
                if let Some(id) = table.get(c, place) {
                    words.push(id);
                } else if words.len() > from {
                    spans.push((end(&words)?, weight));
                    from = words.len();
                }
            }
            if words.len() > from {
                spans.push((end(&words)?, weight));
            }
        }
        let mut start = 0;
        let mut cells = Cells::with_capacity(words.len(), spans.len());
        for &(end, weight) in &spans {
            let word = &words[start as usize..end as usize];
            start = end;
            if word.len() > 1 {
                cells.push(word, weight)?; // one symbol alone has no pair
            }
        }
        Ok(Self {
            cells,
            left_side: Side::default(),
            right_side: Side::default(),
        })
    }

    /// How often each symbol stands in the words, by id.
    pub(crate) fn frequencies(
        counts: &PretokenCounts,
        spelling: &Spelling,
        symbols: &mut Symbols,
    ) -> Result<Vec<u64>> {
        if !spelling.is_plain() {
            add_spelled(counts, spelling, symbols)?;
        }
        let table = SpelledIds::new(symbols, spelling);
        let mut frequencies = vec![0; symbols.len()];
        for (word, weight) in counts.iter() {
            for (c, place) in places(text_of(word)?) {
                if let Some(id) = table.get(c, place) {
                    frequencies[id as usize] += weight;
                }
            }
        }
        Ok(frequencies)
    }

    /// Join a pair in all its places, from left to right, and note what that changes on either
    /// side. Returns how often it was joined, with weights.
    ///
    /// `max_chars`: characters of the longest token.
    pub(crate) fn join_everywhere(
        &mut self,
        (left, right, new): (u32, u32, u32),
        places: &[u32],
        symbols: &Symbols,
        max_chars: usize,
    ) -> i64 {
        let (left_len, right_len) = (symbols.n_chars(left), symbols.n_chars(right));
        let new_len = left_len + right_len;
        let room = max_chars.saturating_sub(new_len);
        let (cells, on_left, on_right) =
            (&mut self.cells, &mut self.left_side, &mut self.right_side);
        on_left.reset(symbols.len());
        on_right.reset(symbols.len());
        let mut joined = 0;
        for &place in places {
            let at = place as usize;
            if cells.get(at) != left || cells.get(at + left_len) != right {
                continue; // out of date: another merge, or the place before, took one of the two
            }
            let weight = cells.weight_at(at);
            joined += weight;
            if let Some((start, neighbour)) = cells.before(at) {
                let fits = symbols.n_chars(neighbour) <= room;
                if neighbour == new {
                    // Made at the place before: its pair with `left` is on the right side's list,
                    // and so goes (new, new).
                    on_right.undo(left, weight);
                    if fits {
                        on_right.gain(new, weight, start as u32);
                    }
                } else {
                    on_left.lose(neighbour, weight);
                    if fits {
                        on_left.gain(neighbour, weight, start as u32);
                    }
                }
            }
            let neighbour = cells.get(at + new_len);
            if neighbour != BOUNDARY {
                on_right.lose(neighbour, weight);
                if symbols.n_chars(neighbour) <= room {
                    on_right.gain(neighbour, weight, place);
                }
            }
            cells.join(at, left_len, right_len, new);
        }
        joined
    }
}

fn end(words: &[u32]) -> Result<u32> {
    u32::try_from(words.len()).map_err(|_| {
        ErrorKind::TooLarge {
            what: "the characters of all distinct pretokens",
            limit: u64::from(u32::MAX),
        }
        .into()
    })
}

/// Where in a word a character stands: two bits, continuing and ending.
type Position = usize;
const CONTINUES: Position = 1;
const ENDS: Position = 2;

fn places(word: &str) -> impl Iterator<Item = (char, Position)> {
    word.char_indices().map(|(at, c)| {
        let continues = if at > 0 { CONTINUES } else { 0 };
        let ends = if at + c.len_utf8() == word.len() {
            ENDS
        } else {
            0
        };
        (c, continues | ends)
    })
}

fn spell(c: char, place: Position, spelling: &Spelling) -> String {
    let mut text = String::new();
    if place & CONTINUES != 0 {
        text.push_str(&spelling.continuing_prefix);
    }
    text.push(c);
    if place & ENDS != 0 {
        text.push_str(&spelling.end_of_word_suffix);
    }
    text
}

/// Give ids to the spelled characters that occur, in a fixed order.
fn add_spelled(counts: &PretokenCounts, spelling: &Spelling, symbols: &mut Symbols) -> Result<()> {
    let mut seen: HashMap<char, [bool; 4], _> = HashMap::with_hasher(hasher());
    for (word, _) in counts.iter() {
        for (c, place) in places(text_of(word)?) {
            seen.entry(c).or_default()[place] = true;
        }
    }
    let mut wanted: Vec<(Position, char)> = seen
        .iter()
        .flat_map(|(&c, places)| {
            (0..4)
                .filter(|&place| places[place])
                .map(move |place| (place, c))
        })
        .collect();
    wanted.sort_unstable();
    let mut text = [0; 4];
    for (place, c) in wanted {
        if symbols.id(c.encode_utf8(&mut text)).is_some() {
            symbols.insert(spell(c, place, spelling), 1);
        }
    }
    Ok(())
}

/// Ids of spelled characters, found without building strings.
struct SpelledIds {
    ascii: Box<[[Option<u32>; 4]; 128]>,
    others: HashMap<char, [Option<u32>; 4], foldhash::fast::FixedState>,
}

impl SpelledIds {
    fn new(symbols: &Symbols, spelling: &Spelling) -> Self {
        let mut table = Self {
            ascii: Box::new([[None; 4]; 128]),
            others: HashMap::with_hasher(hasher()),
        };
        for text in &symbols.texts {
            let mut chars = text.chars();
            let (Some(c), None) = (chars.next(), chars.next()) else {
                continue;
            };
            let ids = std::array::from_fn(|place| symbols.id(&spell(c, place, spelling)));
            match table.ascii.get_mut(c as usize) {
                Some(entry) => *entry = ids,
                None => {
                    table.others.insert(c, ids);
                }
            }
        }
        table
    }

    #[inline]
    fn get(&self, c: char, place: Position) -> Option<u32> {
        match self.ascii.get(c as usize) {
            Some(ids) => ids[place],
            None => self.others.get(&c).and_then(|ids| ids[place]),
        }
    }
}

/// The text of a token made of two.
pub(crate) fn joined(left: &str, right: &str, spelling: &Spelling) -> String {
    let right = right
        .strip_prefix(spelling.continuing_prefix.as_str())
        .unwrap_or(right);
    [left, right].concat()
}

/// Special tokens must be there once each, and have some text.
pub(crate) fn check_special_tokens(tokens: &[String]) -> Result<()> {
    for (at, token) in tokens.iter().enumerate() {
        if token.is_empty() {
            return Err(Error::training(format!(
                "special token number {} is empty",
                at + 1
            )));
        }
        if tokens[..at].contains(token) {
            return Err(Error::training(format!(
                "the special token {token:?} is given twice"
            )));
        }
    }
    Ok(())
}
