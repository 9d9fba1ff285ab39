//! The characters of counted text, and which of them a vocabulary is to have.

use hashbrown::HashMap;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::hasher;

use super::counts::PretokenCounts;

/// Rule for the characters that become tokens. The rules apply together.
#[derive(Clone, Debug, PartialEq)]
pub struct AlphabetOptions {
    /// Frequent characters are taken until this share of the text is covered; 1: all of them.
    pub coverage: f64,
    /// Most characters, required ones included.
    pub limit: Option<usize>,
    /// Characters that are there even if the text does not have them.
    pub required: String,
}

impl Default for AlphabetOptions {
    /// Every character of the text.
    fn default() -> Self {
        Self {
            coverage: 1.0,
            limit: None,
            required: String::new(),
        }
    }
}

/// Characters with how often they occur: required ones first, then by falling count, then by code
/// point.
pub type Alphabet = Vec<(char, u64)>;

/// Count the characters of all pretokens.
///
/// Errors: `Training` if a pretoken is not UTF-8, which byte-level splits make; `TooLarge` if a
/// count passes u64.
pub fn count_characters(counts: &PretokenCounts) -> Result<Alphabet> {
    // ASCII in an array: most text, and no hashing.
    let mut ascii = [0u64; 128];
    let mut others: HashMap<char, u64, _> = HashMap::with_hasher(hasher());
    for (pretoken, weight) in counts.iter() {
        for c in text_of(pretoken)?.chars() {
            let count = match ascii.get_mut(c as usize) {
                Some(count) => count,
                None => others.entry(c).or_default(),
            };
            *count = count.checked_add(weight).ok_or_else(|| {
                Error::from(ErrorKind::TooLarge {
                    what: "the number of characters counted",
                    limit: u64::MAX,
                })
            })?;
        }
    }
    let low = (0u8..128).zip(ascii).filter(|(_, count)| *count > 0);
    let mut all: Alphabet = low
        .map(|(byte, count)| (char::from(byte), count))
        .chain(others)
        .collect();
    sort(&mut all);
    Ok(all)
}

/// Choose the characters of a vocabulary from the result of [`count_characters`].
///
/// Coverage follows `sentencepiece` 0.2.3. A character is taken while the characters before it
/// cover less than the share wanted (compared in single precision, as there).
pub fn choose_alphabet(counted: &Alphabet, options: &AlphabetOptions) -> Alphabet {
    let total: u64 = counted.iter().map(|&(_, count)| count).sum();
    let count_of = |wanted: char| {
        let found = counted.iter().find(|&&(c, _)| c == wanted);
        found.map_or(0, |&(_, count)| count)
    };
    let mut required: Alphabet = Vec::new();
    for c in options.required.chars().filter(|&c| c != '\0') {
        if required.iter().all(|&(known, _)| known != c) {
            required.push((c, count_of(c)));
        }
    }
    sort(&mut required);
    let n_required = required.len();
    let mut chosen = required;
    let mut covered: u64 = chosen.iter().map(|&(_, count)| count).sum();
    let limit = options.limit.unwrap_or(usize::MAX);
    for &(c, count) in counted {
        #[allow(clippy::cast_possible_truncation)] // single precision, as the reference compares
        let share = (covered as f64 / total.max(1) as f64) as f32;
        #[allow(clippy::cast_possible_truncation)]
        let wanted = options.coverage as f32;
        if chosen.len() >= limit || share >= wanted {
            break;
        }
        if chosen[..n_required].iter().any(|&(known, _)| known == c) {
            continue;
        }
        covered = covered.saturating_add(count);
        chosen.push((c, count));
    }
    chosen
}

/// A pretoken as text.
pub(crate) fn text_of(pretoken: &[u8]) -> Result<&str> {
    std::str::from_utf8(pretoken).map_err(|_| {
        Error::training(
            "a pretoken is not valid UTF-8; an algorithm on characters needs a split that keeps them whole",
        )
    })
}

fn sort(characters: &mut Alphabet) {
    characters.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted() -> Alphabet {
        let mut counts = PretokenCounts::new();
        counts.add("aab".as_bytes(), 4).unwrap();
        counts.add("é漢".as_bytes(), 2).unwrap();
        count_characters(&counts).unwrap()
    }

    #[test]
    fn characters_by_count_and_code_point() {
        assert_eq!(counted(), [('a', 8), ('b', 4), ('é', 2), ('漢', 2)]);
        let mut counts = PretokenCounts::new();
        counts.add(b"\xc3", 1).unwrap();
        assert!(count_characters(&counts).is_err());
    }

    #[test]
    fn the_rules_of_choice() {
        let choose = |coverage, limit, required: &str| {
            let options = AlphabetOptions {
                coverage,
                limit,
                required: required.into(),
            };
            choose_alphabet(&counted(), &options)
                .into_iter()
                .map(|(c, _)| c)
                .collect::<String>()
        };
        assert_eq!(choose(1.0, None, ""), "abé漢");
        assert_eq!(choose(0.75, None, ""), "ab");
        assert_eq!(choose(0.76, None, ""), "abé");
        assert_eq!(choose(1.0, Some(1), ""), "a");
        assert_eq!(choose(1.0, Some(2), "漢z"), "漢z");
        assert_eq!(choose(0.75, None, "漢"), "漢ab");
    }
}
