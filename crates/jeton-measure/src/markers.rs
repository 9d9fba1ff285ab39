//! Texts of control tokens inside ordinary documents.

use memchr::{memchr_iter, memchr2_iter, memchr3_iter};

use jeton_core::error::{Error, Result};

/// Bytes by which markers are told apart before they are compared.
const START: usize = 3;

/// Finds given markers in text, byte by byte as they are written. Markers that begin with the same
/// three bytes do not overlap. The longer of two at one place counts; a marker inside it is a part
/// of it.
#[derive(Clone, Debug)]
pub struct Markers {
    texts: Vec<Vec<u8>>,
    /// Markers by their start, ascending; the longest first.
    groups: Vec<([u8; START], Vec<usize>)>,
    first_bytes: Vec<u8>,
}

/// How often each marker was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkerCounts {
    /// Occurrences, in the order in which the markers were given.
    pub counts: Vec<u64>,
    /// Documents with any.
    pub n_documents: u64,
}

impl MarkerCounts {
    /// Adds counts of the same markers.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n_documents += other.n_documents;
        let counts = self.counts.iter_mut().zip(&other.counts);
        counts.for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Markers {
    /// Markers of at least three bytes: shorter ones would be found everywhere.
    pub fn new<T: AsRef<str>>(markers: &[T]) -> Result<Self> {
        let markers: Vec<Vec<u8>> = markers.iter().map(|m| m.as_ref().into()).collect();
        let mut groups = std::collections::BTreeMap::<[u8; START], Vec<usize>>::new();
        for (index, marker) in markers.iter().enumerate() {
            let Some(start) = marker.first_chunk::<START>() else {
                let reason = format!(
                    "marker {index} is {:?}; expected at least {START} bytes",
                    String::from_utf8_lossy(marker)
                );
                return Err(Error::format("list of markers", reason));
            };
            groups.entry(*start).or_default().push(index);
        }
        for group in groups.values_mut() {
            group.sort_by_key(|&index| (std::cmp::Reverse(markers[index].len()), index));
        }
        let mut first_bytes: Vec<u8> = groups.keys().map(|start| start[0]).collect();
        first_bytes.dedup();
        Ok(Self {
            texts: markers,
            groups: groups.into_iter().collect(),
            first_bytes,
        })
    }

    /// Nothing found yet.
    pub(crate) fn no_counts(&self) -> MarkerCounts {
        MarkerCounts {
            counts: vec![0; self.texts.len()],
            n_documents: 0,
        }
    }

    /// Counts the markers of one document.
    pub(crate) fn count(&self, text: &[u8], counts: &mut MarkerCounts) {
        let mut ends = Vec::new();
        let mut found = |at: usize| self.at(text, at, &mut ends, counts);
        match self.first_bytes[..] {
            [] => {}
            [a] => memchr_iter(a, text).for_each(&mut found),
            [a, b] => memchr2_iter(a, b, text).for_each(&mut found),
            [a, b, c] => memchr3_iter(a, b, c, text).for_each(&mut found),
            _ => {
                let mut wanted = [false; 256];
                for &byte in &self.first_bytes {
                    wanted[usize::from(byte)] = true;
                }
                let places = text.iter().enumerate();
                places
                    .filter(|&(_, &byte)| wanted[usize::from(byte)])
                    .for_each(|(at, _)| found(at));
            }
        }
        counts.n_documents += u64::from(!ends.is_empty());
    }

    /// Counts the marker that begins here, if one does. `ends`: where the last one of each group
    /// ended.
    #[inline]
    fn at(&self, text: &[u8], at: usize, ends: &mut Vec<usize>, counts: &mut MarkerCounts) {
        let Some(start) = text[at..].first_chunk::<START>() else {
            return;
        };
        let Ok(group) = self.groups.binary_search_by_key(start, |(start, _)| *start) else {
            return;
        };
        if ends.get(group).is_some_and(|&end| at < end) {
            return;
        }
        let longest = self.groups[group].1.iter();
        let Some(&marker) = longest
            .clone()
            .find(|&&marker| text[at..].starts_with(&self.texts[marker]))
        else {
            return;
        };
        if ends.is_empty() {
            ends.resize(self.groups.len(), 0);
        }
        ends[group] = at + self.texts[marker].len();
        counts.counts[marker] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(markers: &[&str], text: &str) -> MarkerCounts {
        let markers = Markers::new(markers).unwrap();
        let mut counts = markers.no_counts();
        markers.count(text.as_bytes(), &mut counts);
        counts
    }

    #[test]
    fn the_longest_counts_and_what_is_inside_does_not() {
        let markers = ["<|a", "<|a|>", "[X]"];
        let counts = counted(&markers, "<|a|><|a[X][X <|");
        assert_eq!((counts.counts, counts.n_documents), (vec![1, 1, 1], 1));
        assert_eq!(counted(&["aaa"], "aaaaa").counts, [1]);
        assert_eq!(counted(&[], "<|a|>").n_documents, 0);
        assert!(Markers::new(&["<|"]).is_err());
    }

    proptest! {
        /// The naive twin tries every marker at every place.
        #[test]
        fn equals_the_naive_twin(
            text in "[<|ab\\[]{0,60}",
            markers in prop::sample::subsequence(vec!["<|a", "<|ab", "<|b|", "[ab", "|<b", "abab", "bbb", "[[["], 0..8),
        ) {
            let mut expected = vec![0; markers.len()];
            let mut ends = std::collections::BTreeMap::new();
            for at in 0..text.len() {
                let longest = (0..markers.len())
                    .filter(|&m| text[at..].starts_with(markers[m]))
                    .max_by_key(|&m| markers[m].len());
                if let Some(marker) = longest {
                    let end = ends.entry(&markers[marker][..3]).or_insert(0);
                    if at >= *end {
                        *end = at + markers[marker].len();
                        expected[marker] += 1;
                    }
                }
            }
            let any = expected.iter().any(|&n| n > 0);
            let found = counted(&markers, &text);
            prop_assert_eq!(found.counts, expected);
            prop_assert_eq!(found.n_documents, u64::from(any));
        }
    }
}
