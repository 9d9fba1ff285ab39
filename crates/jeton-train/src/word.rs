//! Vocabularies that need no merges: whole words, and single characters. The most frequent ones are
//! taken; equal counts go by bytes.

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::MAX_IDS;

use super::alphabet::{AlphabetOptions, choose_alphabet, count_characters, text_of};
use super::char_bpe::TrainedChars;
use super::counts::PretokenCounts;
use super::rules::{StopReason, no_text};
use super::symbols::check_special_tokens;

/// How to choose words or characters.
#[derive(Clone, Debug)]
pub struct WordTrainOptions {
    /// Tokens wanted, special tokens included.
    pub vocab_size: usize,
    /// Least frequency of a word. 0 and 1 mean the same.
    pub min_frequency: u64,
    /// Special tokens, with the ids 0, 1 ... in this order.
    pub special_tokens: Vec<String>,
    /// Longest word in characters.
    pub max_token_chars: Option<usize>,
    /// Longest word in bytes.
    pub max_token_bytes: Option<usize>,
}

/// The most frequent words.
///
/// Errors: `Training`: no text, pretokens that are not UTF-8, special tokens that are empty, given
/// twice or more than `vocab_size`.
pub fn train_words(counts: &PretokenCounts, options: &WordTrainOptions) -> Result<TrainedChars> {
    let mut tokens = first_tokens(counts, options)?;
    let most_chars = options.max_token_chars.unwrap_or(usize::MAX);
    let most_bytes = options.max_token_bytes.unwrap_or(usize::MAX);
    let fits = |text: &str| text.len() <= most_bytes && text.chars().count() <= most_chars;
    let mut stop = StopReason::NoPairLeft;
    for (word, count) in counts.iter_sorted() {
        let text = text_of(word)?;
        if tokens.len() >= options.vocab_size {
            stop = StopReason::VocabFull;
            break;
        }
        if count < options.min_frequency {
            break;
        }
        if fits(text) && !options.special_tokens.iter().any(|t| t == text) {
            tokens.push(text.to_owned());
        }
    }
    if tokens.len() >= options.vocab_size {
        stop = StopReason::VocabFull;
    }
    Ok(found(tokens, options, stop))
}

/// The most frequent characters, as far as `alphabet` and the vocabulary's size allow.
///
/// Errors: as [`train_words`].
pub fn train_characters(
    counts: &PretokenCounts,
    options: &WordTrainOptions,
    alphabet: &AlphabetOptions,
) -> Result<TrainedChars> {
    let mut tokens = first_tokens(counts, options)?;
    let chosen = choose_alphabet(&count_characters(counts)?, alphabet);
    for (c, count) in chosen {
        let is_required = alphabet.required.contains(c);
        if tokens.len() < options.vocab_size && (is_required || count >= options.min_frequency) {
            let text = c.to_string();
            if !options.special_tokens.contains(&text) {
                tokens.push(text);
            }
        }
    }
    let stop = if tokens.len() >= options.vocab_size {
        StopReason::VocabFull
    } else {
        StopReason::NoPairLeft
    };
    Ok(found(tokens, options, stop))
}

fn first_tokens(counts: &PretokenCounts, options: &WordTrainOptions) -> Result<Vec<String>> {
    check_special_tokens(&options.special_tokens)?;
    if counts.is_empty() {
        return Err(no_text());
    }
    if options.vocab_size > MAX_IDS as usize {
        return Err(ErrorKind::TooLarge {
            what: "vocab_size",
            limit: u64::from(MAX_IDS),
        }
        .into());
    }
    if options.special_tokens.len() >= options.vocab_size {
        return Err(Error::training(format!(
            "vocab_size {} is too small: {} special tokens leave no room for others",
            options.vocab_size,
            options.special_tokens.len()
        )));
    }
    Ok(options.special_tokens.clone())
}

fn found(tokens: Vec<String>, options: &WordTrainOptions, stop: StopReason) -> TrainedChars {
    TrainedChars {
        tokens,
        n_special: options.special_tokens.len(),
        merges: Vec::new(),
        stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> PretokenCounts {
        let mut counts = PretokenCounts::new();
        for (word, weight) in [("b", 5), ("a", 5), ("long", 3), ("<s>", 2), ("rare", 1)] {
            counts.add(word.as_bytes(), weight).unwrap();
        }
        counts
    }

    fn options(vocab_size: usize) -> WordTrainOptions {
        WordTrainOptions {
            vocab_size,
            min_frequency: 2,
            special_tokens: vec!["<s>".into()],
            max_token_chars: None,
            max_token_bytes: None,
        }
    }

    #[test]
    fn the_most_frequent_words() {
        let trained = train_words(&counts(), &options(3)).unwrap();
        assert_eq!(trained.tokens, ["<s>", "a", "b"]);
        assert_eq!(trained.stop, StopReason::VocabFull);
        let trained = train_words(&counts(), &options(9)).unwrap();
        assert_eq!(trained.tokens, ["<s>", "a", "b", "long"]);
        assert_eq!(trained.stop, StopReason::NoPairLeft);
        let short = WordTrainOptions {
            max_token_chars: Some(2),
            ..options(9)
        };
        assert_eq!(
            train_words(&counts(), &short).unwrap().tokens,
            ["<s>", "a", "b"]
        );
        let mut umlauts = counts();
        umlauts.add("öö".as_bytes(), 9).unwrap();
        for (max_token_bytes, first) in [(3, "a"), (4, "öö")] {
            let narrow = WordTrainOptions {
                max_token_bytes: Some(max_token_bytes),
                ..options(9)
            };
            assert_eq!(train_words(&umlauts, &narrow).unwrap().tokens[1], first);
        }
    }

    #[test]
    fn the_most_frequent_characters() {
        let alphabet = AlphabetOptions {
            required: "é".into(),
            ..AlphabetOptions::default()
        };
        let trained = train_characters(&counts(), &options(4), &alphabet).unwrap();
        assert_eq!(trained.tokens, ["<s>", "é", "a", "b"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let twice = WordTrainOptions {
            special_tokens: vec!["x".into(), "x".into()],
            ..options(9)
        };
        assert!(train_words(&counts(), &twice).is_err());
        assert!(train_words(&counts(), &options(1)).is_err());
        assert!(train_words(&PretokenCounts::new(), &options(9)).is_err());
    }
}
