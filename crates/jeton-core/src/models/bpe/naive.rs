//! The naive twin: the definition of byte-pair encoding, written down.

use crate::vocab::Vocab;

/// Merges that were drawn at random, in order, for tests: each joins two of the tokens that there
/// are so far, by their places among them. Tokens of more than `most` bytes are left out.
pub(super) fn drawn_merges(
    vocab: &mut Vocab,
    symbols: &[u8],
    choices: &[(usize, usize)],
    most: usize,
) -> Vec<(u32, u32)> {
    let mut pool: Vec<u32> = symbols.iter().map(|&byte| u32::from(byte)).collect();
    let mut list = Vec::new();
    for &(left, right) in choices {
        let pair @ (left, right) = (pool[left % pool.len()], pool[right % pool.len()]);
        let token = [left, right]
            .map(|id| vocab.id_to_bytes(id).unwrap())
            .concat();
        if token.len() > most || list.contains(&pair) {
            continue;
        }
        if vocab.bytes_to_id(&token).is_none() {
            pool.push(vocab.size());
            vocab.insert(vocab.size(), &token).unwrap();
        }
        list.push(pair);
    }
    list
}

/// Merges the leftmost adjacent pair whose concatenation has the lowest id, until none is a token.
pub(super) fn encode_by_rank(vocab: &Vocab, text: &[u8]) -> Vec<u32> {
    let mut parts: Vec<Vec<u8>> = text.iter().map(|&byte| vec![byte]).collect();
    loop {
        let candidates = parts.windows(2).enumerate();
        let best = candidates
            .filter_map(|(i, pair)| vocab.bytes_to_id(&pair.concat()).map(|rank| (rank, i)))
            .min();
        let Some((_, at)) = best else { break };
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
    parts
        .iter()
        .map(|part| vocab.bytes_to_id(part).unwrap())
        .collect()
}

/// Merges the leftmost adjacent pair that stands first in the list, until none is listed.
pub(super) fn encode_by_list(vocab: &Vocab, list: &[(u32, u32)], text: &[u8]) -> Vec<u32> {
    let mut ids: Vec<u32> = text
        .iter()
        .map(|&byte| vocab.bytes_to_id(&[byte]).unwrap())
        .collect();
    loop {
        let candidates = ids.windows(2).enumerate();
        let best = candidates
            .filter_map(|(i, pair)| {
                list.iter()
                    .position(|&listed| listed == (pair[0], pair[1]))
                    .map(|rank| (rank, i))
            })
            .min();
        let Some((_, at)) = best else { break };
        let merged = [
            vocab.id_to_bytes(ids[at]).unwrap(),
            vocab.id_to_bytes(ids[at + 1]).unwrap(),
        ]
        .concat();
        ids[at] = vocab.bytes_to_id(&merged).unwrap();
        ids.remove(at + 1);
    }
    ids
}
