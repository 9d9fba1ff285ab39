//! Kinds of characters: script, letter, mark, digit, white space.
//!
//! One table for all code points, made once from the Unicode tables of `regex-syntax`, never
//! changes. Counting looks at every character of a corpus, and a binary search for each would cost
//! more than encoding does.

use std::cmp::Reverse;
use std::sync::LazyLock;

use jeton_core::pretokenize::scripts::SCRIPTS;
use jeton_core::text::unicode::{UnicodeVersion, parse_class};

/// Scripts that came after Unicode 9, whose list the pre-tokenizer has. Up to Unicode 16.
const NEWER_SCRIPTS: &[&str] = &[
    "Chorasmian",
    "Cypro_Minoan",
    "Dives_Akuru",
    "Dogra",
    "Elymaic",
    "Garay",
    "Gunjala_Gondi",
    "Gurung_Khema",
    "Hanifi_Rohingya",
    "Kawi",
    "Khitan_Small_Script",
    "Kirat_Rai",
    "Makasar",
    "Masaram_Gondi",
    "Medefaidrin",
    "Nag_Mundari",
    "Nandinagari",
    "Nushu",
    "Nyiakeng_Puachue_Hmong",
    "Ol_Onal",
    "Old_Sogdian",
    "Old_Uyghur",
    "Sogdian",
    "Soyombo",
    "Sunuwar",
    "Tangsa",
    "Todhri",
    "Toto",
    "Tulu_Tigalari",
    "Vithkuqi",
    "Wancho",
    "Yezidi",
    "Zanabazar_Square",
];

/// Scripts whose writers put no spaces between words, so that a run of letters is no word. They are
/// the line breaking class SA of Unicode 16 (UAX #14), the ideographs and syllables of class ID,
/// and Tibetan, which parts syllables.
const WITHOUT_SPACES: &[&str] = &[
    "Ahom",
    "Bopomofo",
    "Han",
    "Hiragana",
    "Katakana",
    "Khmer",
    "Khitan_Small_Script",
    "Lao",
    "Myanmar",
    "New_Tai_Lue",
    "Nushu",
    "Tai_Le",
    "Tai_Tham",
    "Tai_Viet",
    "Tangut",
    "Thai",
    "Tibetan",
    "Yi",
];

/// Characters of no script in particular (signs, digits, spaces), and all that are not assigned.
pub(crate) const COMMON: u8 = 0;
/// Marks that take the script of what they stand on.
const INHERITED: u8 = 1;

/// Names of the scripts by number: `Common`, `Inherited`, then the others by name.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let first = ["Common", "Inherited"];
    let all = SCRIPTS.iter().chain(NEWER_SCRIPTS).copied();
    let mut others: Vec<&str> = all.filter(|name| !first.contains(name)).collect();
    others.sort_unstable();
    first.into_iter().chain(others).collect()
});

static TABLE: LazyLock<Table> = LazyLock::new(Table::build);

/// Names of the scripts by number.
pub fn script_names() -> &'static [&'static str] {
    &NAMES
}

/// The script of ASCII letters.
pub(crate) fn latin() -> u8 {
    table().of_ascii(b'a').script
}

/// Kind of one character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Character {
    /// Number of the script.
    pub(crate) script: u8,
    flags: u8,
}

impl Character {
    const LETTER: u8 = 1;
    const MARK: u8 = 2;
    const DIGIT: u8 = 4;
    const SPACE: u8 = 8;
    const SPACED: u8 = 16;

    /// True if it begins or continues a word: a letter of a script that puts spaces between words.
    #[inline]
    pub(crate) fn is_word(self) -> bool {
        self.flags & (Self::LETTER | Self::SPACED) == Self::LETTER | Self::SPACED
    }

    /// True if it continues a word but begins none: a mark.
    #[inline]
    pub(crate) fn is_mark(self) -> bool {
        self.flags & Self::MARK != 0
    }

    /// True if it is a decimal digit of any script.
    #[inline]
    pub(crate) fn is_digit(self) -> bool {
        self.flags & Self::DIGIT != 0
    }

    /// True if it is neither a mark nor a digit nor white space.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        self.flags & (Self::MARK | Self::DIGIT | Self::SPACE) == 0
    }

    /// True if it is Unicode `White_Space`.
    #[inline]
    pub(crate) fn is_space(self) -> bool {
        self.flags & Self::SPACE != 0
    }

    /// True if its script says something: neither Common nor Inherited.
    #[inline]
    pub(crate) fn has_script(self) -> bool {
        self.script > INHERITED
    }

    /// Its script if that says something, else Common.
    #[inline]
    pub(crate) fn script_or_common(self) -> u8 {
        if self.has_script() {
            self.script
        } else {
            COMMON
        }
    }
}

/// Characters on a page of the table.
const PAGE: usize = 256;

/// All characters in two steps: most pages of code points are alike.
pub(crate) struct Table {
    ascii: [Character; 128],
    index: Vec<u16>,
    pages: Vec<[Character; PAGE]>,
}

/// The one table.
pub(crate) fn table() -> &'static Table {
    &TABLE
}

impl Table {
    fn build() -> Self {
        let mut flat = vec![Character::default(); char::MAX as usize + 1];
        let mut mark = |class: &str, change: &dyn Fn(&mut Character)| {
            // The names are constants, and a test parses each: a class that failed would be empty
            // there.
            let Ok(class) = parse_class(class, false, UnicodeVersion::REFERENCES) else {
                return;
            };
            for range in class.ranges() {
                flat[range.start() as usize..=range.end() as usize]
                    .iter_mut()
                    .for_each(change);
            }
        };
        for (script, name) in (0..).zip(NAMES.iter()).skip(1) {
            let spaced = if WITHOUT_SPACES.contains(name) {
                0
            } else {
                Character::SPACED
            };
            mark(&format!("\\p{{Script={name}}}"), &|c| {
                c.script = script;
                c.flags |= spaced;
            });
        }
        mark(r"\p{Script=Common}", &|c| c.flags |= Character::SPACED);
        for (class, flag) in [
            (r"\p{L}", Character::LETTER),
            (r"\p{M}", Character::MARK),
            (r"\p{Nd}", Character::DIGIT),
            (r"\p{White_Space}", Character::SPACE),
        ] {
            mark(class, &|c| c.flags |= flag);
        }
        let mut ascii = [Character::default(); 128];
        ascii.copy_from_slice(&flat[..128]);
        let (mut index, mut pages) = (Vec::new(), Vec::<[Character; PAGE]>::new());
        for chunk in flat.chunks_exact(PAGE) {
            let known = pages.iter().position(|page| page == chunk);
            index.push(known.unwrap_or(pages.len()) as u16);
            if known.is_none() {
                let mut page = [Character::default(); PAGE];
                page.copy_from_slice(chunk);
                pages.push(page);
            }
        }
        Self {
            ascii,
            index,
            pages,
        }
    }

    #[inline]
    pub(crate) fn of(&self, c: char) -> Character {
        let code = c as usize;
        match self.ascii.get(code) {
            Some(&known) => known,
            None => self.pages[usize::from(self.index[code / PAGE])][code % PAGE],
        }
    }

    /// Returns the kind of a byte below 128; for any other byte the kind of U+0000.
    #[inline]
    pub(crate) fn of_ascii(&self, byte: u8) -> Character {
        self.ascii[usize::from(byte & 127)]
    }
}

/// The character that begins here, and its bytes. The bytes are valid UTF-8 from here on.
#[inline]
pub(crate) fn character(bytes: &[u8]) -> (char, usize) {
    let byte = |i: usize| u32::from(bytes.get(i).copied().unwrap_or(0) & 0x3F);
    let first = u32::from(bytes.first().copied().unwrap_or(0));
    let (code, length) = match first {
        0xF0.. => (
            (first & 7) << 18 | byte(1) << 12 | byte(2) << 6 | byte(3),
            4,
        ),
        0xE0.. => ((first & 15) << 12 | byte(1) << 6 | byte(2), 3),
        0xC0.. => ((first & 31) << 6 | byte(1), 2),
        _ => (first, 1),
    };
    (char::from_u32(code).unwrap_or_default(), length)
}

/// One character of a text with its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharacterCount {
    /// The character.
    pub character: char,
    /// Its occurrences.
    pub count: u64,
    /// Number of its script in [`script_names`].
    pub script: u8,
}

/// How often each character occurs.
#[derive(Clone, Debug, Default)]
pub struct CharacterCounts {
    /// Blocks of [`PAGE`] characters, by number; most texts have few.
    pages: Vec<Option<Box<[u64; PAGE]>>>,
    /// Bytes that are no text.
    n_bad_bytes: u64,
}

impl CharacterCounts {
    /// Adds every character of `bytes` `count` times, modulo 2^64.
    pub fn add(&mut self, bytes: &[u8], count: u64) {
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                let (page, place) = (c as usize / PAGE, c as usize % PAGE);
                if self.pages.len() <= page {
                    self.pages.resize(page + 1, None);
                }
                let page = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]));
                page[place] = page[place].wrapping_add(count);
            }
            let n_bad = chunk.invalid().len() as u64;
            self.n_bad_bytes = self.n_bad_bytes.wrapping_add(n_bad.wrapping_mul(count));
        }
    }

    /// Bytes that are no text, with their counts.
    pub fn n_bad_bytes(&self) -> u64 {
        self.n_bad_bytes
    }

    /// Returns all characters by falling count, then by rising code point.
    pub fn sorted(&self) -> Vec<CharacterCount> {
        let mut found = Vec::new();
        for (page, counts) in (0_u32..).zip(&self.pages) {
            let counts = counts.iter().flat_map(|counts| counts.iter());
            for (place, &count) in (page * PAGE as u32..).zip(counts) {
                if count > 0
                    && let Some(character) = char::from_u32(place)
                {
                    found.push(CharacterCount {
                        character,
                        count,
                        script: table().of(character).script,
                    });
                }
            }
        }
        found.sort_unstable_by_key(|one| (Reverse(one.count), one.character));
        found
    }
}

/// A count for each script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptCounts(Vec<u64>);

impl Default for ScriptCounts {
    fn default() -> Self {
        Self(vec![0; NAMES.len()])
    }
}

impl ScriptCounts {
    #[inline]
    pub(crate) fn add(&mut self, script: u8, n: u64) {
        if let Some(count) = self.0.get_mut(usize::from(script)) {
            *count += n;
        }
    }

    /// The first script with a count.
    pub(crate) fn first(&self) -> Option<u8> {
        self.0
            .iter()
            .position(|&n| n > 0)
            .map(|script| script as u8)
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a += b);
    }

    /// Scripts with a count, by name in the order of [`script_names`].
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        let all = NAMES.iter().copied().zip(self.0.iter().copied());
        all.filter(|&(_, n)| n > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::text::unicode::contains;

    #[test]
    fn every_script_is_known_and_every_letter_has_one() {
        assert!(NAMES.len() < 256);
        for name in NAMES.iter() {
            let class = format!("\\p{{Script={name}}}");
            let class = parse_class(&class, false, UnicodeVersion::REFERENCES).unwrap();
            assert!(!class.ranges().is_empty(), "{name}");
        }
        let common = parse_class(r"\p{Script=Common}", false, UnicodeVersion::REFERENCES).unwrap();
        for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let found = table().of(c);
            assert_eq!(found.is_space(), c.is_whitespace(), "{c:?}");
            if found.flags & Character::LETTER != 0 && !found.has_script() {
                assert!(contains(&common, c), "{c:?} has no script");
            }
        }
    }

    #[test]
    fn characters_are_counted() {
        let mut counts = CharacterCounts::default();
        counts.add("aé中a".as_bytes(), 3);
        counts.add(b"a\xff\xfe", 2);
        let found: Vec<(char, u64)> = counts
            .sorted()
            .iter()
            .map(|one| (one.character, one.count))
            .collect();
        assert_eq!(found, [('a', 8), ('é', 3), ('中', 3)]);
        assert_eq!(counts.n_bad_bytes(), 4);
        assert_eq!(NAMES[usize::from(counts.sorted()[2].script)], "Han");
    }

    #[test]
    fn some_characters() {
        let script = |c| NAMES[usize::from(table().of(c).script)];
        let scripts: Vec<&str> = "aé1 中のдक़\u{301}\u{10D4A}".chars().map(script).collect();
        let expected = [
            "Latin",
            "Latin",
            "Common",
            "Common",
            "Han",
            "Hiragana",
            "Cyrillic",
            "Devanagari",
            "Devanagari",
            "Inherited",
            "Garay",
        ];
        assert_eq!(scripts, expected);
        assert!(table().of('é').is_word() && !table().of('中').is_word());
        assert!(table().of('\u{301}').is_mark() && table().of('٣').is_digit());
    }
}
