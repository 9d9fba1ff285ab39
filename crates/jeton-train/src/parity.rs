//! Parity-aware BPE: each merge goes to the language that is worst off (arXiv:2508.04796).
//!
//! Plain BPE takes the pair that occurs most in all text, so that the languages with the most text
//! get the shortest texts. Here each step asks first which language pays most, in tokens for a unit
//! of content, and then takes the pair that occurs most in *its* text. The result is a plain list
//! of merges.
//!
//! # What is learned, exactly
//!
//! 1. The first `n_global_merges` merges equal [`super::bpe`] on the text of all languages (the
//!    paper's hybrid).
//! 2. Then each step takes the language with the highest cost: tokens of its measuring text, as the
//!    merges so far cut it, divided by its units. Among equals the one given first. A language that
//!    was chosen `max_in_window` times within the last `window` of these steps is passed over, as
//!    is one without a pair that may be merged. If that leaves none, the window does not count.
//! 3. Its pair with the most windows in its training text is merged in all languages.
//!
//! Units make languages comparable. If the measuring texts are translations of each other, any
//! number that is equal for all does. Otherwise they are characters or bytes of the text, which is
//! fair only if the scripts' characters say equally much.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use jeton_core::error::{Error, ErrorKind, Result};

use super::bpe::{BpeTrainOptions, TrainedBpe, complete, first_vocab, learner_of, settings_of};
use super::cells::Cells;
use super::counts::PretokenCounts;
use super::engine::{Learned, Merge, MergePolicy, Ties, make_token, rows_of_bytes};
use super::learner::Progress;
use super::rules::StopReason;
use super::state::{Context, Size, State};

/// The text of one language.
#[derive(Clone, Copy, Debug)]
pub struct Language<'a> {
    /// Counts to learn from.
    pub train: &'a PretokenCounts,
    /// Counts on which the cost is measured; None: the counts to learn from.
    pub measure: Option<&'a PretokenCounts>,
    /// Units of content in the text that is measured, at least 1.
    pub n_units: u64,
}

/// How to train with parity.
#[derive(Clone, Debug)]
pub struct ParityOptions {
    /// As for plain BPE.
    pub bpe: BpeTrainOptions,
    /// Merges learned from all text before languages are asked for.
    pub n_global_merges: usize,
    /// Steps that a choice of language is remembered; 0: none is.
    pub window: usize,
    /// Most choices of one language within the window, at least 1.
    pub max_in_window: usize,
}

/// Result of training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainedParity {
    /// Tokens and merges.
    pub bpe: TrainedBpe,
    /// Merges that went to each language.
    pub n_merges_of: Vec<usize>,
    /// Tokens of each language's measuring text in the end.
    pub n_tokens_of: Vec<u64>,
}

/// One language under merging.
struct Side {
    train: State,
    /// None: it is measured on `train`.
    measure: Option<State>,
    n_tokens: u64,
    n_units: u64,
    n_merges: usize,
    is_done: bool,
}

impl Side {
    /// True if it pays more for a unit than `other` does.
    fn pays_more_than(&self, other: &Self) -> bool {
        u128::from(self.n_tokens) * u128::from(other.n_units)
            > u128::from(other.n_tokens) * u128::from(self.n_units)
    }
}

/// Learn merges in the interest of the language that is worst off. The result depends on texts,
/// their order, and the options only.
///
/// # Errors
///
/// As [`super::train_bpe`]; `Training` for no language, one without text or without units, and a
/// window in which no choice is allowed. `resume` and `max_alphabet` have to be as by default.
pub fn train_parity(
    languages: &[Language<'_>],
    options: &ParityOptions,
    on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<TrainedParity> {
    check(languages, options)?;
    let bpe = &options.bpe;
    let mut vocab = first_vocab(bpe)?;
    let mut learner = learner_of(bpe, &vocab, on_progress)?;
    if learner.report(vocab.size() as usize).is_break() {
        return Err(ErrorKind::Interrupted.into());
    }
    let settings = settings_of(bpe);
    let mut sizes: Vec<Size> = (0..vocab.size())
        .map(|id| Size {
            width: 1,
            n_bytes: vocab.id_to_bytes(id).map_or(0, <[u8]>::len) as u32,
        })
        .collect();
    // The states' view of the loop, made anew where it is used since merges change the vocabulary.
    // Another language may choose a pair that is rare in this one, so all pairs are remembered.
    macro_rules! context {
        () => {
            &Context {
                sizes: &sizes,
                max_token_bytes: settings.max_token_bytes,
                min_count: 1,
                order: &Ties {
                    rule: settings.tie_rule,
                    vocab: &vocab,
                },
                score: |_: (u32, u32), count: u64| count,
            }
        };
    }
    let mut sides = Vec::with_capacity(languages.len());
    for language in languages {
        let state = |counts| -> Result<State> {
            Ok(State::new(rows_of_bytes(counts, &vocab)?, context!()))
        };
        sides.push(Side {
            train: state(language.train)?,
            measure: language.measure.map(state).transpose()?,
            n_tokens: language.measure.unwrap_or(language.train).n_bytes(),
            n_units: language.n_units,
            n_merges: 0,
            is_done: false,
        });
    }
    let mut global = match options.n_global_merges {
        0 => None,
        _ => {
            let mut all = PretokenCounts::new();
            for language in languages {
                all.merge(language.train)?;
            }
            Some(State::new(rows_of_bytes(&all, &vocab)?, context!()))
        }
    };
    let mut chosen: VecDeque<usize> = VecDeque::new();
    let mut merges = Vec::new();
    let min_count = bpe.min_frequency.max(1);
    let stop = loop {
        if merges.len() >= options.n_global_merges {
            global = None;
        }
        let (language, best) = match &mut global {
            Some(state) => (None, state.best(context!())),
            None => {
                let Some(language) = worst_off(&sides, &chosen, options) else {
                    break StopReason::NoPairLeft;
                };
                (Some(language), sides[language].train.best(context!()))
            }
        };
        let Some((pair, count)) = best.filter(|&(_, count)| count >= min_count) else {
            match language {
                Some(language) => sides[language].is_done = true,
                None => global = None,
            }
            continue;
        };
        if let Some(reason) = learner.stop(vocab.size() as usize, count) {
            break reason;
        }
        if !learner.may_merge(&vocab, pair) {
            global.iter_mut().for_each(|state| state.forget(pair));
            sides.iter_mut().for_each(|side| side.train.forget(pair));
            continue;
        }
        let new = make_token(&mut vocab, &mut sizes, pair)?;
        merges.push((pair.0, pair.1, new));
        let mut n_places = 0;
        if let Some(state) = &mut global {
            n_places += state.merge(pair, new, context!()).n_places;
        }
        for side in &mut sides {
            let merged = side.train.merge(pair, new, context!());
            n_places += merged.n_places;
            let measured = match &mut side.measure {
                None => merged,
                Some(state) => state.merge(pair, new, context!()),
            };
            side.n_tokens -= measured.n_joined;
        }
        if let Some(language) = language {
            sides[language].n_merges += 1;
            if options.window > 0 {
                chosen.push_back(language);
                if chosen.len() > options.window {
                    chosen.pop_front();
                }
            }
        }
        let merge = Merge {
            left: pair.0,
            right: pair.1,
            new,
            count,
            n_places,
        };
        if learner.on_merge(&vocab, &merge).is_break() {
            return Err(ErrorKind::Interrupted.into());
        }
    };
    let learned = Learned {
        vocab,
        merges,
        stop,
        cells: Cells::with_capacity(0, 0),
        sizes,
        n_resumed: 0,
    };
    let bpe = complete(learned, &mut learner, bpe)?;
    if bpe.stop == StopReason::Interrupted {
        return Err(ErrorKind::Interrupted.into());
    }
    Ok(TrainedParity {
        bpe,
        n_merges_of: sides.iter().map(|side| side.n_merges).collect(),
        n_tokens_of: sides.iter().map(|side| side.n_tokens).collect(),
    })
}

fn check(languages: &[Language<'_>], options: &ParityOptions) -> Result<()> {
    if languages.is_empty() {
        return Err(Error::training("there is no language to train on"));
    }
    for (index, language) in languages.iter().enumerate() {
        let number = index + 1;
        if language.train.is_empty() || language.measure.is_some_and(PretokenCounts::is_empty) {
            return Err(Error::training(format!(
                "language number {number} has no text"
            )));
        }
        if language.n_units == 0 {
            return Err(Error::training(format!(
                "language number {number} has no units"
            )));
        }
    }
    if options.max_in_window == 0 {
        return Err(Error::training(
            "max_in_window is 0; it should be at least 1",
        ));
    }
    Ok(())
}

/// The language whose turn it is.
fn worst_off(sides: &[Side], chosen: &VecDeque<usize>, options: &ParityOptions) -> Option<usize> {
    let worst = |may: &dyn Fn(usize) -> bool| {
        let mut worst: Option<usize> = None;
        for (index, side) in sides.iter().enumerate() {
            let is_worse = worst.is_none_or(|known| side.pays_more_than(&sides[known]));
            if !side.is_done && may(index) && is_worse {
                worst = Some(index);
            }
        }
        worst
    };
    let mut n_chosen = vec![0; sides.len()];
    chosen.iter().for_each(|&index| n_chosen[index] += 1);
    worst(&|index| n_chosen[index] < options.max_in_window).or_else(|| worst(&|_| true))
}
