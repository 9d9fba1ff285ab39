//! Byte-pair encoding on characters, by frequency: plain (Sennrich, Haddow and Birch 2016,
//! arXiv:1508.07909), with a prefix for continuations (what `tokenizers` trains as WordPiece), and
//! as SentencePiece learns it.
//!
//! # What is learned, exactly
//!
//! 1. First symbols: the alphabet, and where [`Spelling`] has marks, its characters as they are
//!    spelled.
//! 2. The count of a pair is the number of its windows, as in [`super::bpe`]. The pair with the
//!    highest count is merged; among equals the [`CharTieRule`] decides. A pair whose token would
//!    be too long is never counted. A pair is passed over if its token is refused (a special token,
//!    a known token, a piece against the rules).
//! 3. It is joined from left to right in each word.
//! 4. Learning ends when there are `n_tokens`, or no pair occurs `min_frequency` times.
//!
//! # Equal to other libraries
//!
//! `tokenizers` 0.23.3 gives spelled characters their ids in the order in which a hash map lists
//! the words, and ids decide its ties. So its merges equal these up to the first tie between pairs
//! with such a character. No two of its own runs need agree after it. `sentencepiece` 0.2.3 counts
//! and orders as [`CharTieRule::ShorterFirst`] does (older releases looked at the most frequent
//! twentieth of the pairs only, refreshed every hundred merges).

use std::ops::ControlFlow;

use hashbrown::HashMap;

use jeton_core::error::{Error, ErrorKind, Result};
use jeton_core::vocab::{MAX_IDS, MAX_TOKEN_BYTES, hasher};

use super::alphabet::{AlphabetOptions, choose_alphabet, count_characters};
use super::counts::PretokenCounts;
use super::learner::Progress;
use super::pairs::{Change, Pair, Pairs};
use super::queue::{Candidate, Order, Queue};
use super::rules::{StopReason, no_text};
use super::symbols::{Spelling, Symbols, Words, check_special_tokens, joined};

/// Order of pairs with equal counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CharTieRule {
    /// The one with the lower left id, then the lower right id, as `tokenizers` has it.
    #[default]
    LowerIds,
    /// The one whose token has fewer characters, then the one whose token has the lower bytes, then
    /// the lower ids: as `sentencepiece` has it.
    ShorterFirst,
}

/// How to train BPE on characters.
#[derive(Clone, Debug)]
pub struct CharBpeTrainOptions {
    /// Tokens wanted, special tokens and the alphabet included.
    pub vocab_size: usize,
    /// Pairs that occur less often are not merged. 0 and 1 mean the same.
    pub min_frequency: u64,
    /// Special tokens, with the ids 0, 1 ... in this order.
    pub special_tokens: Vec<String>,
    /// Longest token in characters, marks of spelling left out.
    pub max_token_chars: Option<usize>,
    /// Rule for the characters that become tokens.
    pub alphabet: AlphabetOptions,
    /// How symbols are spelled.
    pub spelling: Spelling,
    /// Order of pairs with the same count.
    pub tie_rule: CharTieRule,
}

/// Result of training on characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainedChars {
    /// Text of each token in id order; the special tokens first.
    pub tokens: Vec<String>,
    /// How many of the tokens are special.
    pub n_special: usize,
    /// (left, right, new id) in the order in which they apply; the new ids count up. Empty where a
    /// model has none.
    pub merges: Vec<(u32, u32, u32)>,
    /// Why it ended; anything but `VocabFull` means fewer tokens than were asked for.
    pub stop: StopReason,
}

/// Learn merges of characters from counts. The result depends on the counts and the options only.
///
/// # Errors
///
/// `Training`: no text, pretokens that are not UTF-8, special tokens that are empty or given twice,
/// or a vocabulary without room for them and the alphabet. `TooLarge`: more text than the loop can
/// count. `Interrupted`: `on_progress` said so.
pub fn train_char_bpe(
    counts: &PretokenCounts,
    options: &CharBpeTrainOptions,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedChars> {
    let symbols = first_symbols(
        counts,
        options.vocab_size,
        &options.special_tokens,
        &options.alphabet,
    )?;
    let n_special = options.special_tokens.len();
    let learned = learn(
        counts,
        symbols,
        &CharBpe {
            n_tokens: options.vocab_size,
            min_frequency: options.min_frequency,
            max_chars: options
                .max_token_chars
                .unwrap_or(MAX_TOKEN_BYTES / 4)
                .min(MAX_TOKEN_BYTES / 4),
            spelling: &options.spelling,
            tie_rule: options.tie_rule,
            allow: &|_| true,
            n_others: 0,
        },
        on_progress,
    )?;
    Ok(TrainedChars {
        tokens: learned.symbols.into_texts(),
        n_special,
        merges: learned.merges,
        stop: learned.stop,
    })
}

/// Special tokens, then the alphabet by rising code point, as `tokenizers` orders it.
pub(crate) fn first_symbols(
    counts: &PretokenCounts,
    vocab_size: usize,
    special_tokens: &[String],
    alphabet: &AlphabetOptions,
) -> Result<Symbols> {
    check_special_tokens(special_tokens)?;
    if counts.is_empty() {
        return Err(no_text());
    }
    if vocab_size > MAX_IDS as usize {
        return Err(ErrorKind::TooLarge {
            what: "vocab_size",
            limit: u64::from(MAX_IDS),
        }
        .into());
    }
    let mut symbols = Symbols::new();
    for token in special_tokens {
        symbols.insert(token.clone(), token.chars().count());
    }
    let mut characters: Vec<char> = choose_alphabet(&count_characters(counts)?, alphabet)
        .into_iter()
        .map(|(c, _)| c)
        .collect();
    characters.sort_unstable();
    for &c in &characters {
        if symbols.id(c.encode_utf8(&mut [0; 4])).is_some() {
            return Err(Error::training(format!(
                "the special token {:?} is a character of the text, which would become it",
                c.to_string()
            )));
        }
        symbols.insert(c.to_string(), 1);
    }
    if symbols.len() > vocab_size {
        return Err(Error::training(format!(
            "vocab_size {vocab_size} is too small: {} special tokens and {} characters need {} tokens\nhint: ask for \
             more, or limit the alphabet",
            special_tokens.len(),
            characters.len(),
            symbols.len()
        )));
    }
    Ok(symbols)
}

/// Inputs of the loop.
pub(crate) struct CharBpe<'a> {
    pub(crate) n_tokens: usize,
    pub(crate) min_frequency: u64,
    /// Longest token in characters.
    pub(crate) max_chars: usize,
    pub(crate) spelling: &'a Spelling,
    pub(crate) tie_rule: CharTieRule,
    /// True if a token may be; asked once of each, when its pair is the best.
    pub(crate) allow: &'a dyn Fn(&str) -> bool,
    /// Tokens that count besides the symbols, for what is reported.
    pub(crate) n_others: usize,
}

/// Result of the loop.
pub(crate) struct LearnedChars {
    pub(crate) symbols: Symbols,
    /// (left, right, new id).
    pub(crate) merges: Vec<(u32, u32, u32)>,
    pub(crate) stop: StopReason,
}

struct Ties<'a> {
    rule: CharTieRule,
    symbols: &'a Symbols,
    prefix: &'a str,
}

impl Order for Ties<'_> {
    #[inline]
    fn wins_tie(&self, a: (u32, u32), b: (u32, u32)) -> bool {
        match self.rule {
            CharTieRule::LowerIds => a < b,
            CharTieRule::ShorterFirst => {
                let symbols = self.symbols;
                let n_chars = |pair: (u32, u32)| symbols.n_chars(pair.0) + symbols.n_chars(pair.1);
                // The text of the token: the right one's mark of continuation is not in it.
                let bytes = |pair: (u32, u32)| {
                    let (left, right) = (symbols.text(pair.0), symbols.text(pair.1));
                    let right = right.strip_prefix(self.prefix).unwrap_or(right);
                    left.bytes().chain(right.bytes())
                };
                n_chars(a)
                    .cmp(&n_chars(b))
                    .then_with(|| bytes(a).cmp(bytes(b)))
                    .then_with(|| a.cmp(&b))
                    .is_lt()
            }
        }
    }
}

/// Merges between two reports.
const MERGES_PER_REPORT: usize = 256;

/// Learn merges. `symbols` holds what has ids already: special tokens, the alphabet.
pub(crate) fn learn(
    counts: &PretokenCounts,
    mut symbols: Symbols,
    options: &CharBpe<'_>,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<LearnedChars> {
    let mut words = Words::new(counts, options.spelling, &mut symbols)?;
    let mut merges = Vec::new();
    let min_count = options.min_frequency.max(1);
    let floor = i64::try_from(min_count).unwrap_or(i64::MAX);
    let (mut pairs, mut postings, candidates) = if options.max_chars >= 2 {
        first_pairs(&words, min_count)
    } else {
        (Pairs::new(), Vec::new(), Vec::new())
    };
    let mut queue = Queue::new(candidates);
    let mut report = |symbols: &Symbols| -> Result<()> {
        let progress = Progress {
            n_tokens: symbols.len() + options.n_others,
            vocab_size: options.n_tokens + options.n_others,
        };
        match on_progress(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ErrorKind::Interrupted.into()),
        }
    };
    report(&symbols)?;
    let stop = 'learning: loop {
        if symbols.len() >= options.n_tokens {
            break StopReason::VocabFull;
        }
        let order = Ties {
            rule: options.tie_rule,
            symbols: &symbols,
            prefix: &options.spelling.continuing_prefix,
        };
        let (best, facts, text) = loop {
            let Some(best) = queue.peek(&order) else {
                break 'learning StopReason::NoPairLeft;
            };
            let pair = (best.left, best.right);
            let count = pairs.count(pair);
            if count < min_count {
                queue.remove_first(&order);
                continue;
            }
            if count != best.score {
                queue.rescore_first(count, &order);
                continue;
            }
            queue.remove_first(&order);
            let Some(facts) = pairs.remove(pair) else {
                continue;
            };
            let text = joined(symbols.text(pair.0), symbols.text(pair.1), options.spelling);
            if symbols.id(&text).is_none() && (options.allow)(&text) {
                break (best, facts, text);
            }
        };
        let (left, right) = (best.left, best.right);
        let n_chars = symbols.n_chars(left) + symbols.n_chars(right);
        let new = symbols.insert(text, n_chars);
        merges.push((left, right, new));
        let places = facts.start as usize..facts.start as usize + facts.len as usize;
        words.join_everywhere(
            (left, right, new),
            &postings[places],
            &symbols,
            options.max_chars,
        );
        let lowered = |change: &&Change| change.lost > 0;
        for change in words.left_side.changes().iter().filter(lowered) {
            pairs.lower((change.neighbour, left), change.lost);
        }
        for change in words.right_side.changes().iter().filter(lowered) {
            pairs.lower((right, change.neighbour), change.lost);
        }
        let order = Ties {
            rule: options.tie_rule,
            symbols: &symbols,
            prefix: &options.spelling.continuing_prefix,
        };
        for (side, is_left) in [(&mut words.left_side, true), (&mut words.right_side, false)] {
            let wanted = |change: &Change| change.gained >= floor;
            let mut start = side.write_positions(&mut postings, wanted);
            for change in side.changes().iter().filter(|&change| wanted(change)) {
                let (left, right) = if is_left {
                    (change.neighbour, new)
                } else {
                    (new, change.neighbour)
                };
                let (count, len) = (change.gained, change.n_positions);
                pairs.insert((left, right), Pair { count, start, len });
                let candidate = Candidate {
                    score: count.cast_unsigned(),
                    left,
                    right,
                };
                queue.push(candidate, &order);
                start += change.n_positions;
            }
        }
        if merges.len().is_multiple_of(MERGES_PER_REPORT) {
            report(&symbols)?;
        }
    };
    report(&symbols)?;
    Ok(LearnedChars {
        symbols,
        merges,
        stop,
    })
}

/// Count the pairs of first symbols and list their places.
pub(crate) fn first_pairs(words: &Words, min_count: u64) -> (Pairs, Vec<u32>, Vec<Candidate>) {
    #[derive(Default)]
    struct First {
        pair: (u32, u32),
        count: i64,
        n_places: u32,
        cursor: u32,
    }
    let mut slots: HashMap<(u32, u32), u32, _> = HashMap::with_hasher(hasher());
    let mut firsts: Vec<First> = Vec::new();
    let windows =
        || (0..words.cells.len()).filter_map(|at| Some((at, words.cells.first_pair(at)?)));
    for (at, (left, right)) in windows() {
        let slot = *slots.entry((left, right)).or_insert_with(|| {
            firsts.push(First {
                pair: (left, right),
                ..First::default()
            });
            firsts.len() as u32 - 1
        });
        let first = &mut firsts[slot as usize];
        first.count += words.cells.weight_at(at);
        first.n_places += 1;
    }
    let mut pairs = Pairs::new();
    let mut candidates = Vec::new();
    let mut cursor = 0;
    for first in &mut firsts {
        first.cursor = cursor;
        cursor += first.n_places;
        if first.count.cast_unsigned() >= min_count {
            let facts = Pair {
                count: first.count,
                start: first.cursor,
                len: first.n_places,
            };
            pairs.insert(first.pair, facts);
            candidates.push(Candidate {
                score: first.count.cast_unsigned(),
                left: first.pair.0,
                right: first.pair.1,
            });
        }
    }
    let mut postings = vec![0; cursor as usize];
    for (at, pair) in windows() {
        let first = &mut firsts[slots[&pair] as usize];
        postings[first.cursor as usize] = at as u32;
        first.cursor += 1;
    }
    (pairs, postings, candidates)
}
