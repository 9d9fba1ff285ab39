//! Long pretokens, a window at a time: no queue, no list of links, nothing that leaves the first
//! cache.
//!
//! *Tokens are an encoding exactly if each two neighbours are the encoding of their own bytes.*
//!
//! One way: what happened inside two neighbours' bytes happened as if they stood alone (see
//! [`super::table`]), and they did not merge. The other way: let each two neighbours be the
//! encoding of their own bytes. Suppose that merging the whole text does a merge across a boundary
//! between two tokens. Look at the first such merge. All merges before it were inside tokens, so it
//! crosses only one boundary. All that happened in the two tokens beside it happened as if these
//! stood alone. Then that merge is also done when they stand alone, so they are not the encoding of
//! their own bytes: a contradiction. So no merge crosses, and inside each token the merges make the
//! token. Nothing here needs ranks that grow with length or ids that are ranks; it holds for each
//! table of ranked pairs, equal ranks merging from the left.
//!
//! So an encoding of the bytes up to some place is continued like this: a window that begins with
//! one of its last tokens is merged alone. Suppose that token comes out again as the first one.
//! Then the tokens up to it and the window's tokens after it are neighbours that are all proved,
//! and therefore the encoding. If not, the window begins further left. Bytes that are merged more
//! than once are counted; where a text makes them too many, all of it is merged at once, in time n
//! log n.
//!
//! For the same reason a run of one byte is known from its remainder. Where the encoding of a
//! shorter run begins with a token twice, that token can be put in front any number of times.

use super::merge::{BpeScratch, merge_long};
use super::merge_scalar;
use super::table::MergeTable;

/// Bytes before the end of what is encoded that a window takes in again at least, so that its first
/// token hardly ever changes (random letters: 1 of 2,000 windows).
const OVERLAP: usize = 8;
/// Fewest new bytes of a window of [`merge_scalar::MAX_SYMBOLS`] bytes.
const FEWEST_NEW: usize = 24;
/// New bytes of a window that a queue merges.
const WIDE_NEW: usize = 1024;
/// How many times the text's length is merged in such windows before all is merged at once ...
const MAX_TIMES_MERGED: usize = 4;
/// ... and bytes that do not count for this.
const FREE_BYTES: usize = 1 << 16;
/// Length of the run from which the tokens of longer ones are known; longer than two of any
/// published vocabulary's runs.
const RUN: usize = 2048;

/// Memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Where each token begins.
    starts: Vec<u32>,
    wide: Vec<u32>,
}

impl Windows {
    /// Appends the ids of a pretoken all of whose bytes have symbols.
    pub(super) fn merge(
        table: &MergeTable,
        pretoken: &[u8],
        scratch: &mut BpeScratch,
        out: &mut Vec<u32>,
    ) {
        if let Some(shorter) = run(table, pretoken, scratch) {
            let times = (pretoken.len() - shorter.n_bytes) / shorter.token_bytes;
            out.extend(std::iter::repeat_n(shorter.ids[0], times));
            out.extend_from_slice(&shorter.ids);
            return;
        }
        let mut windows = std::mem::take(&mut scratch.windows);
        let from = out.len();
        let spare = MAX_TIMES_MERGED * pretoken.len() + FREE_BYTES;
        if !windows.walk(table, pretoken, spare, scratch, out) {
            out.truncate(from);
            merge_at_once(table, pretoken, None, scratch, out);
        }
        scratch.windows = windows;
    }

    /// False if it has to be merged at once. `spare`: bytes that wide windows may merge.
    fn walk(
        &mut self,
        table: &MergeTable,
        pretoken: &[u8],
        mut spare: usize,
        scratch: &mut BpeScratch,
        out: &mut Vec<u32>,
    ) -> bool {
        let from = out.len();
        let n = pretoken.len();
        self.starts.clear();
        let mut done = 0;
        while done < n {
            let overlapping = self
                .starts
                .iter()
                .rposition(|&start| start as usize + OVERLAP <= done);
            let first = overlapping.unwrap_or_default();
            let start = self.starts.get(first).map_or(0, |&start| start as usize);
            let end = n.min(start + merge_scalar::MAX_SYMBOLS);
            if end >= n.min(done + FEWEST_NEW)
                && self.small_window(table, &pretoken[start..end], start, first, from, out)
            {
                done = end;
                continue;
            }
            let end = n.min(done + WIDE_NEW);
            let mut back = WIDE_NEW / 4;
            loop {
                let first = self
                    .starts
                    .partition_point(|&start| start as usize + back <= done)
                    .saturating_sub(1);
                let start = self.starts.get(first).map_or(0, |&start| start as usize);
                let Some(left) = spare.checked_sub(end - start) else {
                    return false;
                };
                spare = left;
                if self.wide_window(
                    table,
                    &pretoken[start..end],
                    start,
                    first,
                    from,
                    scratch,
                    out,
                ) {
                    break;
                }
                back *= 2;
            }
            done = end;
        }
        true
    }

    /// True if the token that a window begins with is what it was, so that the rest of the window's
    /// can follow. `first`: its number, `from`: where the ids of the pretoken begin.
    fn small_window(
        &mut self,
        table: &MergeTable,
        window: &[u8],
        start: usize,
        first: usize,
        from: usize,
        out: &mut Vec<u32>,
    ) -> bool {
        let mut ids = [0; merge_scalar::MAX_SYMBOLS];
        let mut left = merge_scalar::merge_in_place(&table.lookups(), window, &mut ids);
        if start > 0 && out[from + first] != ids[0] {
            return false;
        }
        out.truncate(from + first);
        self.starts.truncate(first);
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            out.push(ids[place % merge_scalar::MAX_SYMBOLS]);
            self.starts.push((start + place) as u32);
            left &= left - 1;
        }
        true
    }

    #[allow(clippy::too_many_arguments)] // those of `small_window`, and memory
    fn wide_window(
        &mut self,
        table: &MergeTable,
        window: &[u8],
        start: usize,
        first: usize,
        from: usize,
        scratch: &mut BpeScratch,
        out: &mut Vec<u32>,
    ) -> bool {
        let at = out.len();
        self.wide.clear();
        merge_at_once(table, window, Some(&mut self.wide), scratch, out);
        if start > 0 && out[from + first] != out[at] {
            out.truncate(at);
            return false;
        }
        out.drain(from + first..at);
        self.starts.truncate(first);
        let mut place = start;
        for &bytes in &self.wide {
            self.starts.push(place as u32);
            place += bytes as usize;
        }
        true
    }
}

/// Appends the ids of a text, and the bytes of each if that is asked for.
fn merge_at_once(
    table: &MergeTable,
    text: &[u8],
    lengths: Option<&mut Vec<u32>>,
    scratch: &mut BpeScratch,
    out: &mut Vec<u32>,
) {
    let from = out.len();
    out.extend(text.iter().map(|&byte| table.symbol(byte)));
    let ids = &mut out[from..];
    let left = match lengths {
        Some(lengths) => {
            lengths.resize(text.len(), 1);
            let left = merge_long(table, ids, lengths.as_mut_slice(), &mut (), scratch);
            lengths.truncate(left);
            left
        }
        None => merge_long(table, ids, &mut (), &mut (), scratch),
    };
    out.truncate(from + left);
}

/// The encoding of a run of one byte that begins with one token twice.
struct Run {
    ids: Vec<u32>,
    n_bytes: usize,
    token_bytes: usize,
}

/// For a long run of one byte a shorter one, by a multiple of the length of the token that both
/// begin with.
fn run(table: &MergeTable, pretoken: &[u8], scratch: &mut BpeScratch) -> Option<Run> {
    let n = pretoken.len();
    if n <= 2 * RUN || pretoken[1..] != pretoken[..n - 1] {
        return None;
    }
    let mut ids = Vec::new();
    let mut lengths = Vec::new();
    merge_at_once(
        table,
        &pretoken[..RUN],
        Some(&mut lengths),
        scratch,
        &mut ids,
    );
    let token_bytes = lengths[0] as usize;
    let n_bytes = RUN + (n - RUN) % token_bytes;
    let token = ids[0];
    ids.clear();
    lengths.clear();
    merge_at_once(
        table,
        &pretoken[..n_bytes],
        Some(&mut lengths),
        scratch,
        &mut ids,
    );
    (ids.get(..2) == Some(&[token; 2]) && lengths[0] as usize == token_bytes).then_some(Run {
        ids,
        n_bytes,
        token_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::super::pairs::PairTable;
    use super::super::{BpeModel, Merges, Missing, naive};
    use super::*;
    use crate::models::Model;
    use crate::vocab::Vocab;
    use proptest::prelude::*;

    /// All bytes, so that nothing stands in the way of windows, and tokens of few letters.
    fn vocab(tokens: &[String]) -> Vocab {
        let mut vocab = Vocab::default();
        for byte in 0..=255 {
            vocab.insert(u32::from(byte), &[byte]).unwrap();
        }
        for token in tokens {
            if vocab.bytes_to_id(token.as_bytes()).is_none() {
                vocab.insert(vocab.size(), token.as_bytes()).unwrap();
            }
        }
        vocab
    }

    fn encode(model: &BpeModel, pretoken: &[u8]) -> Vec<u32> {
        let mut ids = Vec::new();
        model
            .encode_pretoken(pretoken, &mut BpeScratch::default(), &mut ids)
            .unwrap();
        ids
    }

    /// Merges all at once, with all pairs.
    fn at_once(pairs: &PairTable, pretoken: &[u8]) -> Vec<u32> {
        let mut ids: Vec<u32> = pretoken.iter().map(|&byte| u32::from(byte)).collect();
        let left = merge_long(
            pairs,
            &mut ids,
            &mut (),
            &mut (),
            &mut BpeScratch::default(),
        );
        ids.truncate(left);
        ids
    }

    proptest! {
        #[test]
        fn ranks_of_all_bytes_equal_the_naive_twin(
            tokens in prop::collection::vec("[abc]{2,7}", 1..60),
            text in "[abc]{1,150}",
        ) {
            let vocab = vocab(&tokens);
            let expected = naive::encode_by_rank(&vocab, text.as_bytes());
            let whole = vocab.bytes_to_id(text.as_bytes()).map(|id| vec![id]);
            let model = |whole| BpeModel::new(vocab.clone(), &Merges::ByRank, whole, Missing::Fail).unwrap();
            prop_assert_eq!(encode(&model(false), text.as_bytes()), &expected[..]);
            prop_assert_eq!(encode(&model(true), text.as_bytes()), whole.unwrap_or(expected));
        }

        #[test]
        fn every_token_is_itself_as_a_whole(tokens in prop::collection::vec("[ab]{2,9}", 1..60)) {
            let vocab = vocab(&tokens);
            let model = BpeModel::new(vocab.clone(), &Merges::ByRank, true, Missing::Fail).unwrap();
            prop_assert!(model.table().is_some());
            for (id, token) in vocab.iter() {
                prop_assert_eq!(encode(&model, token), [id]);
            }
        }

        /// Long texts of few letters, with tokens up to longer than a window and runs.
        #[test]
        fn windows_equal_all_at_once(
            tokens in prop::collection::vec("[abc]{2,6}|a{2,90}|(ab){1,40}", 1..60),
            pieces in prop::collection::vec("[abc]{1,90}|a{1,300}|(ab){1,150}|(abcab){1,60}", 1..20),
        ) {
            let vocab = vocab(&tokens);
            let pairs = PairTable::from_ranks(&vocab);
            let model = BpeModel::new(vocab, &Merges::ByRank, false, Missing::Fail).unwrap();
            let text = pieces.concat();
            prop_assert_eq!(encode(&model, text.as_bytes()), at_once(&pairs, text.as_bytes()));
        }

        #[test]
        fn runs_equal_all_at_once(
            tokens in prop::collection::vec("a{2,100}", 0..12),
            n in 2 * RUN..3 * RUN,
        ) {
            let vocab = vocab(&tokens);
            let pairs = PairTable::from_ranks(&vocab);
            let model = BpeModel::new(vocab, &Merges::ByRank, false, Missing::Fail).unwrap();
            let text = vec![b'a'; n];
            prop_assert_eq!(encode(&model, &text), at_once(&pairs, &text));
        }

        #[test]
        fn lists_of_all_bytes_equal_the_naive_twin(
            choices in prop::collection::vec((any::<usize>(), any::<usize>()), 1..40),
            text in "[abc]{1,150}",
            shuffled in any::<bool>(),
        ) {
            let mut vocab = vocab(&[]);
            let mut list = naive::drawn_merges(&mut vocab, b"abc", &choices, 12);
            if shuffled {
                list.reverse();
            }
            let expected = naive::encode_by_list(&vocab, &list, text.as_bytes());
            let whole = vocab.bytes_to_id(text.as_bytes()).map(|id| vec![id]);
            let model = |whole| BpeModel::new(vocab.clone(), &Merges::List(list.clone()), whole, Missing::Fail).unwrap();
            prop_assert_eq!(model(false).merges(), Merges::List(list.clone()));
            prop_assert_eq!(encode(&model(false), text.as_bytes()), &expected[..]);
            prop_assert_eq!(encode(&model(true), text.as_bytes()), whole.unwrap_or(expected));
        }
    }

    #[test]
    fn what_follows_may_change_all_that_was_before() {
        // In this chain neighbours further right merge first: one more letter, and all pairs
        // change.
        let chain: Vec<u8> = (0..=250).collect();
        let mut vocab = vocab(&[]);
        for pair in chain.windows(2).rev() {
            vocab.insert(vocab.size(), pair).unwrap();
        }
        let pairs = PairTable::from_ranks(&vocab);
        let model = BpeModel::new(vocab, &Merges::ByRank, false, Missing::Fail).unwrap();
        for n in (0..8).chain([99, 120, 121, 250, 251]) {
            let text = [&chain[..n], &chain, &chain[n..], &chain].concat();
            let expected = at_once(&pairs, &text);
            assert_eq!(encode(&model, &text), expected);
            // Small windows do not join here, and wide ones are not allowed.
            let mut ids = Vec::new();
            let table = model.table().unwrap();
            let mut scratch = BpeScratch::default();
            assert!(!Windows::default().walk(table, &text, 0, &mut scratch, &mut ids));
        }
    }
}
