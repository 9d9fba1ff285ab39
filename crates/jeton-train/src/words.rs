//! Work on every distinct word: on all threads, with sums that do not depend on their number.

use jeton_core::error::Result;

use super::counts::PretokenCounts;

/// Distinct words with their weights.
pub(crate) type Words<'a> = Vec<(&'a [u8], u64)>;

/// The distinct words of counts.
pub(crate) fn words_of(counts: &PretokenCounts) -> Words<'_> {
    counts.iter().collect()
}

/// Add up what `each` says of all words: every thread takes a part of them with a sum of its own,
/// and the sums are put together. The number of threads does not matter if adding up does not
/// depend on the order.
pub(crate) fn sum_over<S: Send>(
    words: &[(&[u8], u64)],
    num_threads: usize,
    new: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, &[u8], u64) -> Result<()> + Sync,
    mut add: impl FnMut(&mut S, S),
) -> Result<S> {
    let n_each = words.len().div_ceil(num_threads.max(1)).max(1);
    let work = |part: &[(&[u8], u64)]| -> Result<S> {
        let mut sum = new();
        for &(word, weight) in part {
            each(&mut sum, word, weight)?;
        }
        Ok(sum)
    };
    let mut parts = words.chunks(n_each);
    let first = parts.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let helpers: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let mut sum = work(first)?;
        for helper in helpers {
            match helper.join() {
                Ok(part) => add(&mut sum, part?),
                Err(payload) => std::panic::resume_unwind(payload),
            }
        }
        Ok(sum)
    })
}
