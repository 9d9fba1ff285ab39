//! SentencePiece's way from documents to pretokens: lines, its normalizer, words, scripts.
//!
//! `sentencepiece` 0.2.3 trains on lines, normalizes each, cuts them at U+2581, and refuses every
//! piece that mixes scripts or holds a digit beside something else. No piece may cross certain
//! places, whatever surrounds them. Cutting there changes neither the learnable pieces nor how
//! often they occur, but makes far fewer distinct pretokens of the text. Rules over more than two
//! neighbours (a mark takes over the script before it) are left to [`PieceRules`], which decides
//! about whole pieces.

use serde::{Deserialize, Serialize};

use jeton_core::codec::base64::Base64Bytes;
use jeton_core::error::{Error, Result};
use jeton_core::pretokenize::scripts::SCRIPTS;
use jeton_core::sentencepiece::normalizer::Matcher;
use jeton_core::sentencepiece::{NormalizerSpec, SpmNormalizer};
use jeton_core::text::unicode::{UnicodeVersion, parse_class};

/// Stands for a space.
pub(crate) const SPACE: char = '\u{2581}';
/// Character that `sentencepiece` 0.2.3 puts for characters outside the alphabet: no piece holds
/// it.
pub(crate) const RESERVED: char = '\u{2585}';
/// Separates chunks in its training data: no piece holds it either.
pub(crate) const BOUNDARY: char = '\u{1f}';

/// True for a character that neither counts as one of the text nor stands in a piece.
pub(crate) fn is_never_learned(c: char) -> bool {
    matches!(c, RESERVED | BOUNDARY | '\0' | ' ')
}

/// How lines become pretokens. The names are SentencePiece's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools)] // the settings of a published program
pub struct SentenceConfig {
    /// The compiled rules of normalization; empty: none.
    pub charsmap: Base64Bytes,
    /// A space is put before (or behind) each line.
    pub add_dummy_prefix: bool,
    /// Spaces at both ends go and runs of spaces become one.
    pub remove_extra_whitespaces: bool,
    /// The space belongs to the word before it.
    pub treat_whitespace_as_suffix: bool,
    /// No piece crosses a space.
    pub split_by_whitespace: bool,
    /// No piece mixes scripts.
    pub split_by_unicode_script: bool,
    /// Digits count as a script of their own (Common) when scripts are told apart.
    pub split_by_number: bool,
    /// A digit is a piece of its own.
    pub split_digits: bool,
    /// Runs of spaces may be pieces.
    pub allow_whitespace_only_pieces: bool,
    /// Strings that are pieces wherever they stand; nothing is learned from them.
    pub user_defined_symbols: Vec<String>,
    /// Strings at which text is cut: they are tokens already, and nothing is learned from them.
    pub control_symbols: Vec<String>,
    /// Pieces that the model has in any case (`<unk>`, `<s>`, `</s>`): text is cut where it spells
    /// them, too.
    pub own_pieces: Vec<String>,
    /// Pretokens are whole words, each beginning at a space, whatever the settings above say. A
    /// word that spells a symbol stays one pretoken, with [`BOUNDARY`] in the symbol's place.
    pub whole_words: bool,
}

impl Default for SentenceConfig {
    /// SentencePiece's defaults, without rules of normalization.
    fn default() -> Self {
        Self {
            charsmap: Base64Bytes(Vec::new()),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            treat_whitespace_as_suffix: false,
            split_by_whitespace: true,
            split_by_unicode_script: true,
            split_by_number: true,
            split_digits: false,
            allow_whitespace_only_pieces: false,
            user_defined_symbols: Vec::new(),
            control_symbols: Vec::new(),
            own_pieces: Vec::new(),
            whole_words: false,
        }
    }
}

impl SentenceConfig {
    /// The normalizer as a model keeps it.
    pub fn normalizer_spec(&self) -> NormalizerSpec {
        NormalizerSpec {
            name: String::new(),
            precompiled_charsmap: self.charsmap.0.clone(),
            add_dummy_prefix: self.add_dummy_prefix,
            remove_extra_whitespaces: self.remove_extra_whitespaces,
            escape_whitespaces: true,
        }
    }
}

/// Script codes: these two, any script from 2 on, and [`ANY`].
const COMMON: u8 = 0;
const INHERITED: u8 = 1;
/// Goes with every script.
const ANY: u8 = u8::MAX;

/// The script of every character, Hiragana and Katakana as Han, characters without one as Common.
#[derive(Clone, Debug)]
struct Scripts(Box<[u8]>);

impl Scripts {
    fn new() -> Result<Self> {
        let mut table = vec![COMMON; char::MAX as usize + 1].into_boxed_slice();
        let han = SCRIPTS.iter().position(|&name| name == "Han").unwrap_or(0) as u8 + 2;
        for (number, name) in (2u8..).zip(SCRIPTS) {
            let code = match *name {
                "Common" => COMMON,
                "Inherited" => INHERITED,
                "Hiragana" | "Katakana" => han,
                _ => number,
            };
            let expression = format!(r"\p{{Script={name}}}");
            let class = parse_class(&expression, false, UnicodeVersion::REFERENCES)
                .map_err(|reason| Error::format("Unicode tables", reason))?;
            for range in class.iter() {
                table[range.start() as usize..=range.end() as usize].fill(code);
            }
        }
        table[0x30FC] = han; // the long vowel mark, as the reference has it
        Ok(Self(table))
    }

    #[inline]
    fn of(&self, c: char) -> u8 {
        self.0[c as usize]
    }
}

fn is_digit(c: char) -> bool {
    matches!(c, '0'..='9' | '\u{ff10}'..='\u{ff19}')
}

/// Rules for strings that may be pieces, as in `sentencepiece` 0.2.3.
#[derive(Clone, Debug)]
pub struct PieceRules {
    scripts: Scripts,
    max_chars: usize,
    config: SentenceConfig,
    /// Only the length counts.
    any: bool,
}

impl PieceRules {
    /// Compiles the rules of `config` for pieces of up to `max_chars` characters.
    pub fn new(config: &SentenceConfig, max_chars: usize) -> Result<Self> {
        Ok(Self {
            scripts: Scripts::new()?,
            max_chars,
            config: config.clone(),
            any: false,
        })
    }

    /// Any string of up to `max_chars` characters, as `tokenizers` has it.
    pub fn any(max_chars: usize) -> Result<Self> {
        Ok(Self {
            any: true,
            ..Self::new(&SentenceConfig::default(), max_chars)?
        })
    }

    /// True if `piece` may be learned.
    pub fn allow(&self, piece: &[char]) -> bool {
        let config = &self.config;
        let n = piece.len();
        if n == 0 || n > self.max_chars {
            return false;
        }
        if self.any {
            return true;
        }
        let spaces_only = config.allow_whitespace_only_pieces && piece.iter().all(|&c| c == SPACE);
        let mut before = ANY;
        for (at, &c) in piece.iter().enumerate() {
            match c {
                _ if is_never_learned(c) => return false,
                SPACE if spaces_only => {}
                SPACE => {
                    // A space begins a piece (or ends it); it may stand inside only where pieces
                    // cross spaces.
                    let (edge, other) = if config.treat_whitespace_as_suffix {
                        (n - 1, 0)
                    } else {
                        (0, n - 1)
                    };
                    let wrong = if config.split_by_whitespace {
                        at != edge
                    } else {
                        at != edge && at == other
                    };
                    if wrong {
                        return false;
                    }
                }
                _ => {
                    if config.split_digits && n > 1 && is_digit(c) {
                        return false;
                    }
                    let script = match self.scripts.of(c) {
                        _ if !config.split_by_number && is_digit(c) => ANY,
                        INHERITED => before,
                        script => script,
                    };
                    if config.split_by_unicode_script
                        && script != ANY
                        && before != ANY
                        && script != before
                    {
                        return false;
                    }
                    before = script;
                }
            }
        }
        true
    }

    /// True if no piece may hold `left` and `right` side by side, whatever stands around them.
    fn parts(&self, left: char, right: char) -> bool {
        let config = &self.config;
        if config.split_digits && (is_digit(left) || is_digit(right)) {
            return true;
        }
        if !config.split_by_unicode_script || left == SPACE || right == SPACE {
            return false;
        }
        let definite = |c| {
            let script = self.scripts.of(c);
            (script != INHERITED && (config.split_by_number || !is_digit(c))).then_some(script)
        };
        match (definite(left), definite(right)) {
            (Some(left), Some(right)) => left != right,
            _ => false,
        }
    }
}

/// Cuts documents.
#[derive(Debug)]
pub struct SentenceCutter {
    normalizer: SpmNormalizer,
    symbols: Option<Matcher>,
    rules: PieceRules,
    /// For ASCII: whether the second of two characters begins a new pretoken, by both.
    parts: Box<[[bool; 128]; 128]>,
}

impl SentenceCutter {
    /// Compiles.
    pub fn new(config: &SentenceConfig) -> Result<Self> {
        // `sentencepiece` 0.2.3 normalizes the text it trains on without regard to symbols, and
        // then looks for them as they were given. A symbol that its rules or U+2581 change is found
        // nowhere, and its text is learned like other text.
        // A model of words has each symbol of the user with a space before it, too.
        let with_space = config
            .user_defined_symbols
            .iter()
            .filter(|symbol| config.whole_words && !symbol.is_empty())
            .map(|symbol| format!("{SPACE}{symbol}"))
            .collect::<Vec<_>>();
        let symbols = config
            .user_defined_symbols
            .iter()
            .chain(&config.control_symbols)
            .chain(&config.own_pieces)
            .chain(&with_space)
            .filter(|symbol| !symbol.is_empty());
        let symbols = Matcher::new(symbols.map(|symbol| (symbol.as_bytes(), 0)).collect())?;
        let rules = PieceRules::new(config, usize::MAX)?;
        let mut parts = Box::new([[false; 128]; 128]);
        for left in 0..128u8 {
            for right in 0..128u8 {
                parts[usize::from(left)][usize::from(right)] =
                    rules.parts(char::from(left), char::from(right));
            }
        }
        Ok(Self {
            normalizer: SpmNormalizer::new(
                &config.normalizer_spec(),
                config.treat_whitespace_as_suffix,
                None,
            )?,
            symbols,
            rules,
            parts,
        })
    }

    /// Calls `each` with every pretoken of a document, in order.
    pub fn cut(&self, document: &str, each: &mut dyn FnMut(&[u8])) {
        for line in document.lines() {
            if line.is_empty() {
                continue;
            }
            let text = self.normalizer.normalize(line);
            if self.rules.config.whole_words {
                self.cut_whole_words(&text, each);
            } else {
                self.split_at_symbols(&text, &mut |part| self.cut_words(part, each));
            }
        }
    }

    /// Calls `each` with the parts of a text between its symbols; a part may be empty.
    fn split_at_symbols<'a>(&self, text: &'a str, each: &mut dyn FnMut(&'a str)) {
        let Some(symbols) = &self.symbols else {
            return each(text);
        };
        let (mut start, mut at) = (0, 0);
        while at < text.len() {
            if let Some((len, _)) = symbols.longest_prefix(&text.as_bytes()[at..]) {
                each(&text[start..at]);
                at += len;
                start = at;
            } else {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        each(&text[start..]);
    }

    /// Cut a normalized text before each space, symbols being part of their word.
    fn cut_whole_words(&self, text: &str, each: &mut dyn FnMut(&[u8])) {
        let mut marked = String::with_capacity(text.len());
        let mut is_first = true;
        self.split_at_symbols(text, &mut |part| {
            if !is_first {
                marked.push(BOUNDARY);
            }
            is_first = false;
            marked.push_str(part);
        });
        let mut start = 0;
        for (at, _) in marked.match_indices(SPACE) {
            if at > start {
                each(&marked.as_bytes()[start..at]);
                start = at;
            }
        }
        if start < marked.len() {
            each(&marked.as_bytes()[start..]);
        }
    }

    /// Cut a normalized text at spaces, and where no piece may cross.
    fn cut_words(&self, text: &str, each: &mut dyn FnMut(&[u8])) {
        let config = &self.rules.config;
        let bytes = text.as_bytes();
        let mut emit = |start: usize, end: usize| {
            if start < end {
                each(&bytes[start..end]);
            }
        };
        let mut start = 0;
        let mut before = '\0';
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            let (c, len) = if byte < 128 {
                (char::from(byte), 1)
            } else {
                let c = text[at..].chars().next().unwrap_or('\0');
                (c, c.len_utf8())
            };
            if at > start {
                let is_cut = if (before as u32) < 128 && byte < 128 {
                    self.parts[before as usize][usize::from(byte)]
                } else if config.split_by_whitespace && (c == SPACE || before == SPACE) {
                    let begins = if config.treat_whitespace_as_suffix {
                        before == SPACE
                    } else {
                        c == SPACE
                    };
                    let in_run = config.allow_whitespace_only_pieces && c == before;
                    begins && !in_run || self.rules.parts(before, c)
                } else {
                    self.rules.parts(before, c)
                };
                if is_cut {
                    emit(start, at);
                    start = at;
                }
            }
            if is_never_learned(c) {
                emit(start, at);
                start = at + len;
            }
            before = c;
            at += len;
        }
        emit(start, bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(config: &SentenceConfig, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        SentenceCutter::new(config)
            .unwrap()
            .cut(text, &mut |piece| {
                found.push(String::from_utf8(piece.to_vec()).unwrap());
            });
        found
    }

    #[test]
    fn lines_become_words_and_scripts() {
        let config = SentenceConfig::default();
        let found = cut(&config, "Hello,  world 12a\r\n\n漢字かな жизнь\n");
        let expected = ["▁Hello", ",", "▁world", "▁12", "a", "▁漢字かな", "▁жизнь"];
        assert_eq!(found, expected);
    }

    #[test]
    fn settings_move_the_cuts() {
        let base = SentenceConfig::default();
        let digits = SentenceConfig {
            split_digits: true,
            ..base.clone()
        };
        assert_eq!(cut(&digits, "a12"), ["▁a", "1", "2"]);
        let numbers = SentenceConfig {
            split_by_number: false,
            ..base.clone()
        };
        assert_eq!(cut(&numbers, "a12b,"), ["▁a12b", ","]);
        let whole = SentenceConfig {
            split_by_unicode_script: false,
            ..base.clone()
        };
        assert_eq!(cut(&whole, "a1,ж b"), ["▁a1,ж", "▁b"]);
        let suffix = SentenceConfig {
            treat_whitespace_as_suffix: true,
            ..base.clone()
        };
        assert_eq!(cut(&suffix, "ab cd"), ["ab▁", "cd▁"]);
        let across = SentenceConfig {
            split_by_whitespace: false,
            ..base.clone()
        };
        assert_eq!(cut(&across, "ab cd, e"), ["▁ab▁cd", ",▁e"]);
        let symbols = SentenceConfig {
            user_defined_symbols: vec!["<x\u{2581}y>".into(), "<z z>".into()],
            control_symbols: vec!["<s>".into()],
            own_pieces: vec!["<unk>".into()],
            ..base
        };
        assert_eq!(cut(&symbols, "a<x y>b<s>c<unk>d"), ["▁a", "b", "c", "d"]);
        assert_eq!(cut(&symbols, "<z z>"), ["▁<", "z", "▁z", ">"]);
    }

    #[test]
    fn whole_words_keep_their_symbols() {
        let words = SentenceConfig {
            own_pieces: vec!["<s>".into()],
            whole_words: true,
            ..SentenceConfig::default()
        };
        let found = cut(&words, "a1<s>b <s>c d<s><s> ж,e");
        let expected = ["▁a1\u{1f}b", "▁\u{1f}c", "▁d\u{1f}\u{1f}", "▁ж,e"];
        assert_eq!(found, expected);
        let symbols = SentenceConfig {
            user_defined_symbols: vec!["<u>".into()],
            ..words.clone()
        };
        assert_eq!(cut(&symbols, "a <u>b<u> c"), ["▁a\u{1f}b\u{1f}", "▁c"]);
        let spaces = SentenceConfig {
            remove_extra_whitespaces: false,
            treat_whitespace_as_suffix: true,
            split_by_whitespace: false,
            allow_whitespace_only_pieces: true,
            ..words
        };
        assert_eq!(cut(&spaces, "a  b"), ["a", "▁", "▁b", "▁"]);
    }

    #[test]
    fn which_pieces_are_allowed() {
        let rules = PieceRules::new(&SentenceConfig::default(), 4).unwrap();
        let allow = |text: &str| rules.allow(&text.chars().collect::<Vec<_>>());
        for good in ["▁", "▁ab", "ab", "12", "e\u{301}a", "かな漢", "\u{301}a"] {
            assert!(allow(good), "{good}");
        }
        for bad in ["", "a▁", "▁▁", "abcde", "a1", "aж", "a\u{2585}", "a,"] {
            assert!(!allow(bad), "{bad}");
        }
        let suffix = SentenceConfig {
            treat_whitespace_as_suffix: true,
            ..SentenceConfig::default()
        };
        let rules = PieceRules::new(&suffix, 4).unwrap();
        assert!(rules.allow(&['a', SPACE]) && !rules.allow(&[SPACE, 'a']));
    }

    proptest! {
        /// Text across a cut may never be one piece: so cutting loses nothing.
        #[test]
        fn no_allowed_piece_crosses_a_cut(
            text in "[ab1ж漢\u{301},\u{2581}]{1,12}",
            flags in proptest::collection::vec(any::<bool>(), 6),
        ) {
            let config = SentenceConfig {
                add_dummy_prefix: false,
                remove_extra_whitespaces: false,
                treat_whitespace_as_suffix: flags[0],
                split_by_whitespace: flags[1],
                split_by_unicode_script: flags[2],
                split_by_number: flags[3],
                split_digits: flags[4],
                allow_whitespace_only_pieces: flags[5],
                ..SentenceConfig::default()
            };
            let pieces = cut(&config, &text);
            prop_assert_eq!(pieces.concat(), text.clone());
            let rules = PieceRules::new(&config, usize::MAX).unwrap();
            let chars: Vec<char> = text.chars().collect();
            let mut at = 0;
            let mut cuts = Vec::new();
            for piece in &pieces {
                at += piece.chars().count();
                cuts.push(at);
            }
            for start in 0..chars.len() {
                for end in start + 1..=chars.len() {
                    if rules.allow(&chars[start..end]) {
                        prop_assert!(!cuts.iter().any(|&cut| start < cut && cut < end));
                    }
                }
            }
        }
    }
}
