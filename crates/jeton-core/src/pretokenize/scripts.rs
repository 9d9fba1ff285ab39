//! `UnicodeScripts`: a cut wherever the script changes.
//!
//! `tokenizers` 0.23.3 uses the Scripts property of Unicode 9 (found by asking it for every code
//! point). It counts Hiragana, Katakana and U+30FC as Han. Spaces and unassigned characters go with
//! the text before them. Text before the first character that has a script is dropped, as in the
//! reference: a text of spaces has no pieces.

use crate::error::{Error, Result};
use crate::text::unicode::{UnicodeVersion, parse_class};

/// The version of the reference's table.
const VERSION: UnicodeVersion = UnicodeVersion(9, 0);

/// Scripts of Unicode 9 but for Common and Inherited, which follow the others.
pub const SCRIPTS: &[&str] = &[
    "Adlam",
    "Ahom",
    "Anatolian_Hieroglyphs",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Bassa_Vah",
    "Batak",
    "Bengali",
    "Bhaiksuki",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "Canadian_Aboriginal",
    "Carian",
    "Caucasian_Albanian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Duployan",
    "Egyptian_Hieroglyphs",
    "Elbasan",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Grantha",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanunoo",
    "Hatran",
    "Hebrew",
    "Hiragana",
    "Imperial_Aramaic",
    "Inscriptional_Pahlavi",
    "Inscriptional_Parthian",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kayah_Li",
    "Kharoshthi",
    "Khmer",
    "Khojki",
    "Khudawadi",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Linear_A",
    "Linear_B",
    "Lisu",
    "Lycian",
    "Lydian",
    "Mahajani",
    "Malayalam",
    "Mandaic",
    "Manichaean",
    "Marchen",
    "Meetei_Mayek",
    "Mende_Kikakui",
    "Meroitic_Cursive",
    "Meroitic_Hieroglyphs",
    "Miao",
    "Modi",
    "Mongolian",
    "Mro",
    "Multani",
    "Myanmar",
    "Nabataean",
    "New_Tai_Lue",
    "Newa",
    "Nko",
    "Ogham",
    "Ol_Chiki",
    "Old_Hungarian",
    "Old_Italic",
    "Old_North_Arabian",
    "Old_Permic",
    "Old_Persian",
    "Old_South_Arabian",
    "Old_Turkic",
    "Oriya",
    "Osage",
    "Osmanya",
    "Pahawh_Hmong",
    "Palmyrene",
    "Pau_Cin_Hau",
    "Phags_Pa",
    "Phoenician",
    "Psalter_Pahlavi",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sharada",
    "Shavian",
    "Siddham",
    "SignWriting",
    "Sinhala",
    "Sora_Sompeng",
    "Sundanese",
    "Syloti_Nagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Tai_Le",
    "Tai_Tham",
    "Tai_Viet",
    "Takri",
    "Tamil",
    "Tangut",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Tirhuta",
    "Ugaritic",
    "Vai",
    "Warang_Citi",
    "Yi",
    "Common",
    "Inherited",
];

/// Characters whose script is another in Unicode 9 than in later versions.
const CHANGED_SINCE: &[(char, char, &str)] = &[
    ('\u{589}', '\u{589}', "Common"),     // Armenian since 10
    ('\u{61C}', '\u{61C}', "Common"),     // Arabic since 10
    ('\u{953}', '\u{954}', "Devanagari"), // Inherited since 10
];
/// Characters that the reference puts elsewhere than Unicode does.
const PUT_ELSEWHERE: &[(char, char, &str)] = &[('\u{30FC}', '\u{30FC}', "Han")];
/// Scripts that the reference takes for Han.
const TAKEN_FOR_HAN: &[&str] = &["Hiragana", "Katakana"];

/// Goes with whatever stands before it.
const ANY: u8 = u8::MAX;

/// Splits text by script.
#[derive(Debug)]
pub struct ScriptSplitter {
    /// First character, last character, script; sorted.
    ranges: Vec<(char, char, u8)>,
    ascii: [u8; 128],
}

impl ScriptSplitter {
    /// Prepares the table.
    pub fn new() -> Result<Self> {
        let number = |name: &str| {
            let name = if TAKEN_FOR_HAN.contains(&name) {
                "Han"
            } else {
                name
            };
            SCRIPTS
                .iter()
                .position(|&known| known == name)
                .map_or(ANY, |at| at as u8)
        };
        let special = || CHANGED_SINCE.iter().chain(PUT_ELSEWHERE);
        let mut ranges: Vec<(char, char, u8)> = special()
            .map(|&(first, last, name)| (first, last, number(name)))
            .collect();
        for name in SCRIPTS {
            let mut class = parse_class(&format!(r"\p{{Script={name}}}"), false, VERSION)
                .map_err(|reason| Error::format("Unicode tables", reason))?;
            for &(first, last, _) in special() {
                class.difference(&regex_syntax::hir::ClassUnicode::new([
                    regex_syntax::hir::ClassUnicodeRange::new(first, last),
                ]));
            }
            ranges.extend(
                class
                    .iter()
                    .map(|range| (range.start(), range.end(), number(name))),
            );
        }
        ranges.sort_unstable();
        let mut table = Self {
            ranges,
            ascii: [ANY; 128],
        };
        for byte in (0u8..128).filter(|&byte| byte != b' ') {
            table.ascii[byte as usize] = table.look_up(char::from(byte));
        }
        Ok(table)
    }

    fn look_up(&self, c: char) -> u8 {
        let after = self.ranges.partition_point(|(first, ..)| *first <= c);
        match after.checked_sub(1).map(|at| self.ranges[at]) {
            Some((_, last, script)) if c <= last => script,
            _ => ANY,
        }
    }

    fn script(&self, c: char) -> u8 {
        match self.ascii.get(c as usize) {
            Some(script) => *script,
            None => self.look_up(c),
        }
    }

    /// The script of a character; None if it goes with whatever stands before it.
    pub(super) fn script_of(&self, c: char) -> Option<u8> {
        Some(self.script(c)).filter(|&script| script != ANY)
    }

    /// Calls `emit` with the byte range of each piece, left to right.
    pub fn split(
        &self,
        text: &str,
        emit: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut piece: Option<(usize, u8)> = None;
        for (at, c) in text.char_indices() {
            let script = self.script(c);
            if script == ANY {
                continue;
            }
            match piece {
                Some((_, same)) if same == script => {}
                Some((start, _)) => {
                    emit(start, at)?;
                    piece = Some((at, script));
                }
                None => piece = Some((at, script)),
            }
        }
        match piece {
            Some((start, _)) => emit(start, text.len()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_those_of_the_reference() {
        let splitter = ScriptSplitter::new().unwrap();
        let split = |text: &str| {
            let mut pieces = Vec::new();
            splitter
                .split(text, &mut |start, end| {
                    pieces.push(text[start..end].to_owned());
                    Ok(())
                })
                .unwrap();
            pieces
        };
        assert_eq!(split("どこで生れ。Yes"), ["どこで生れ", "。", "Yes"]);
        assert_eq!(
            split("Apples are りんご 林檎"),
            ["Apples are ", "りんご 林檎"]
        );
        assert_eq!(split(" abc"), ["abc"]);
        assert!(split("  ").is_empty());
        assert_eq!(split("a\u{FDD0}b1"), ["a\u{FDD0}b", "1"]);
        // U+860 came with Unicode 10: without a script, it goes with the letters before it.
        assert_eq!(split("a\u{860}b"), ["a\u{860}b"]);
        assert_eq!(split("ա\u{589}"), ["ա", "\u{589}"]);
        assert_eq!(split("アー亜"), ["アー亜"]);
    }
}
