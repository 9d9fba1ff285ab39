//! Naive twin that tries all ways to cut a word: tests only.

use super::super::PretokenCounts;
use super::super::bpe::{BpeTrainOptions, train_bpe};
use super::rarity::rarity;
use super::{FewestOptions, LAST_ROUNDS, SPECIAL_COST, TOKEN_COST, TrainedFewest};
use crate::StopReason;

type Token = (Vec<u8>, u64);

/// All ways to cut a word, as places in the list of tokens.
fn ways(tokens: &[Token], word: &[u8]) -> Vec<Vec<usize>> {
    if word.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (id, (token, _)) in tokens.iter().enumerate() {
        if let Some(rest) = word.strip_prefix(token.as_slice()) {
            for mut way in ways(tokens, rest) {
                way.insert(0, id);
                all.push(way);
            }
        }
    }
    all
}

/// The cheapest way; of equals the one whose last token is longest, then the one before it, and so
/// on.
pub(super) fn cut(tokens: &[Token], word: &[u8]) -> Vec<usize> {
    let cost = |way: &[usize]| way.iter().map(|&id| tokens[id].1).sum::<u64>();
    let lengths_from_the_end = |way: &[usize]| -> Vec<usize> {
        let lengths = way.iter().rev().map(|&id| tokens[id].0.len());
        lengths.collect()
    };
    ways(tokens, word)
        .into_iter()
        .min_by(|a, b| {
            cost(a)
                .cmp(&cost(b))
                .then_with(|| lengths_from_the_end(b).cmp(&lengths_from_the_end(a)))
        })
        .unwrap()
}

fn starts(tokens: &[Token], way: &[usize]) -> Vec<(usize, usize)> {
    let mut at = 0;
    way.iter()
        .map(|&id| {
            let start = at;
            at += tokens[id].0.len();
            (id, start)
        })
        .collect()
}

/// For every place of more than a byte: (token, how many tokens more the word needs without it
/// there).
pub(super) fn losses(tokens: &[Token], word: &[u8]) -> Vec<(usize, u64)> {
    let all = ways(tokens, word);
    let best = cut(tokens, word);
    starts(tokens, &best)
        .into_iter()
        .filter(|&(id, _)| tokens[id].0.len() > 1)
        .map(|place| {
            let others = all
                .iter()
                .filter(|way| !starts(tokens, way).contains(&place))
                .map(Vec::len);
            (place.0, (others.min().unwrap() - best.len()) as u64)
        })
        .collect()
}

fn find(words: &[(Vec<u8>, u64)], tokens: &[Token]) -> (Vec<u64>, Vec<u64>) {
    let mut uses = vec![0; tokens.len()];
    let mut lost = vec![0; tokens.len()];
    for (word, weight) in words {
        cut(tokens, word).iter().for_each(|&id| uses[id] += weight);
        for (id, loss) in losses(tokens, word) {
            lost[id] += loss * weight;
        }
    }
    (uses, lost)
}

fn set_rarities(tokens: &mut [Token], uses: &[u64]) {
    let total = uses.iter().sum();
    for ((_, cost), &uses) in tokens.iter_mut().zip(uses) {
        *cost = TOKEN_COST + rarity(uses, total);
    }
}

/// [`super::train_fewest`] without forced tokens.
pub(super) fn train(counts: &PretokenCounts, options: &FewestOptions) -> TrainedFewest {
    let n_special = options.bpe.special_tokens.len();
    let wanted = options.bpe.vocab_size - n_special;
    let n_seeds = (wanted - 256) as u64 * options.seed_per_mille / 1000;
    let seeds = BpeTrainOptions {
        vocab_size: n_seeds as usize + 256 + n_special,
        ..options.bpe.clone()
    };
    let large = train_bpe(counts, &seeds, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let words: Vec<(Vec<u8>, u64)> = counts.iter().map(|(w, n)| (w.to_vec(), n)).collect();
    let mut tokens: Vec<Token> = large.tokens[n_special..]
        .iter()
        .map(|token| (token.clone(), TOKEN_COST))
        .collect();
    let mut stop = large.stop;
    loop {
        let (uses, lost) = find(&words, &tokens);
        set_rarities(&mut tokens, &uses);
        let mut ids: Vec<usize> = (256..tokens.len()).collect();
        ids.sort_by_key(|&id| (lost[id], uses[id], usize::MAX - id));
        let n_cheap = ids
            .iter()
            .filter(|&&id| lost[id] < options.min_saving)
            .count();
        let most = tokens.len() as u64 * (1000 - options.shrinking_per_mille) / 1000;
        let n_go = tokens
            .len()
            .saturating_sub(wanted)
            .max(n_cheap)
            .min((most as usize).max(1))
            .min(ids.len());
        if n_go == 0 {
            break;
        }
        let gone = &ids[..n_go];
        tokens = (0..tokens.len())
            .filter(|id| !gone.contains(id))
            .map(|id| tokens[id].clone())
            .collect();
        stop = StopReason::VocabFull;
    }
    let mut uses = find(&words, &tokens).0;
    for _ in 0..LAST_ROUNDS {
        set_rarities(&mut tokens, &uses);
        uses = find(&words, &tokens).0;
    }
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order[256..].sort_by_key(|&id| u64::MAX - uses[id]);
    let special = &large.tokens[..n_special];
    TrainedFewest {
        tokens: special
            .iter()
            .cloned()
            .chain(order.iter().map(|&id| tokens[id].0.clone()))
            .collect(),
        n_special,
        costs: special
            .iter()
            .map(|_| SPECIAL_COST)
            .chain(order.iter().map(|&id| tokens[id].1))
            .collect(),
        n_tokens: uses.iter().sum(),
        uses: special
            .iter()
            .map(|_| 0)
            .chain(order.iter().map(|&id| uses[id]))
            .collect(),
        stop,
    }
}
