//! Bins of lengths: exact up to 16 tokens, then sixteenths of octaves, at most 4.4% wide.
//!
//! Lengths up to 100 million tokens fall in 378 bins. So a history has bounded memory however long
//! it grows, and a quantile costs one pass over the bins.

/// Bins of an octave, and lengths that have a bin of their own.
const PER_OCTAVE: i64 = 16;

/// Returns the bin of a length.
pub(crate) fn bin_of(tokens: i64) -> usize {
    if tokens <= PER_OCTAVE {
        return tokens.max(0) as usize;
    }
    let octaves = (tokens as f64 / PER_OCTAVE as f64).log2();
    PER_OCTAVE as usize + (octaves * PER_OCTAVE as f64 - 1e-9).ceil() as usize
}

/// Returns the longest length of a bin.
pub(crate) fn longest_of(bin: usize) -> i64 {
    let bin = bin as i64;
    if bin <= PER_OCTAVE {
        return bin;
    }
    let octaves = (bin - PER_OCTAVE) as f64 / PER_OCTAVE as f64;
    (PER_OCTAVE as f64 * octaves.exp2() + 1e-9).floor() as i64
}

/// Returns the shortest length of a bin.
pub(crate) fn shortest_of(bin: usize) -> i64 {
    if bin as i64 <= PER_OCTAVE {
        return bin as i64;
    }
    longest_of(bin - 1) + 1
}

/// Counts by bin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Vec<u32>);

impl Counts {
    /// Counts one more length of a bin.
    pub(crate) fn add(&mut self, bin: usize) {
        self.add_many(bin, 1);
    }

    /// Adds the counts of others.
    pub(crate) fn join(&mut self, others: &Self) {
        for (bin, &count) in others.0.iter().enumerate() {
            if count > 0 {
                self.add_many(bin, count);
            }
        }
    }

    /// Bins that occur, the shortest first, each with its count.
    pub(crate) fn ordered(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let counted = self.0.iter().enumerate();
        counted.filter_map(|(bin, &count)| (count > 0).then_some((bin, u64::from(count))))
    }

    /// Returns the bin of the smallest length that `rank` lengths do not exceed; else the last.
    pub(crate) fn ranked(&self, rank: f64) -> usize {
        let (mut seen, mut last) = (0, 0);
        for (bin, count) in self.ordered() {
            seen += count;
            last = bin;
            if seen as f64 >= rank - 1e-9 {
                break;
            }
        }
        last
    }

    fn add_many(&mut self, bin: usize, count: u32) {
        if self.0.len() <= bin {
            self.0.resize(bin + 1, 0);
        }
        self.0[bin] += count;
    }
}

#[cfg(test)]
mod tests {
    use super::{bin_of, longest_of, shortest_of};

    #[test]
    fn a_length_lies_in_its_bin() {
        for tokens in (0..5000).chain([99_999, 1 << 20, 100_000_000, 1 << 40]) {
            let bin = bin_of(tokens);
            assert!(shortest_of(bin) <= tokens && tokens <= longest_of(bin));
        }
        assert_eq!(longest_of(bin_of(1000)), 1024);
        assert_eq!(shortest_of(bin_of(1000)), 981);
    }
}
