//! The one thing that all models are: a pretoken goes in, ids come out.

use crate::error::Result;
use crate::vocab::{Search, Vocab};

/// A tokenization model: turns one pretoken into ids, and knows nothing of other models.
pub trait Model: Send + Sync {
    /// Memory it reuses between pretokens.
    type Scratch: Default + Send;

    /// Token bytes and ids.
    fn vocab(&self) -> &Vocab;

    /// Appends the ids of one pretoken.
    fn encode_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut Self::Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()>;

    /// Returns the id of a pretoken that is a token, where that counts whatever its parts make. Its
    /// bytes may become other tokens inside another pretoken. `search`: the answer of
    /// [`Self::prefetch_whole`], if it was asked.
    fn lookup_whole(&self, _pretoken: &[u8], _search: Search) -> Option<u32> {
        None
    }

    /// Prefetches the memory that [`Self::lookup_whole`] reads, where its place is known before.
    fn prefetch_whole(&self, _pretoken: &[u8]) -> Search {
        Search::NotBegun
    }

    /// True if there may be such tokens: what caches know of units is then not what they know of
    /// pretokens.
    fn has_whole(&self) -> bool {
        false
    }

    /// True if [`Self::safe_cuts`] may find more than one unit in a pretoken of `n_bytes` bytes.
    /// The model must be ready to look for cuts, or getting ready must be worth it.
    fn can_cut(&self, _n_bytes: usize) -> bool {
        false
    }

    /// Cuts a pretoken that is no token as a whole into units. The ids of its units, each encoded
    /// by [`Self::encode_segment`], are its own ids. Fills `ends` with the ends of the next units
    /// and returns their number. The first unit begins at `from`, which is 0 or an end that was
    /// given before; the last one of all ends where the pretoken ends.
    fn safe_cuts(&self, pretoken: &[u8], _from: usize, ends: &mut [usize]) -> usize {
        ends[0] = pretoken.len();
        1
    }

    /// Appends the ids of a unit, or of a pretoken that is no token as a whole.
    fn encode_segment(
        &self,
        unit: &[u8],
        scratch: &mut Self::Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.encode_pretoken(unit, scratch, out)
    }

    /// Encodes a pretoken and tells the bytes that each id stands for: `each(id, start, end)`.
    fn encode_spans(
        &self,
        pretoken: &[u8],
        scratch: &mut Self::Scratch,
        each: &mut dyn FnMut(u32, usize, usize),
    ) -> Result<()>;
}

/// Spans from the lengths of pieces that follow one another without gaps: what most models have.
pub(crate) fn spans_of_lengths(
    each: &mut dyn FnMut(u32, usize, usize),
) -> impl FnMut(u32, usize) + '_ {
    let mut start = 0;
    move |id, bytes| {
        each(id, start, start + bytes);
        start += bytes;
    }
}

/// Where ids go: a vector, or a mere count.
pub trait Sink {
    /// Takes the ids of one pretoken.
    fn take(&mut self, ids: &[u32]);
}

impl Sink for Vec<u32> {
    #[inline]
    fn take(&mut self, ids: &[u32]) {
        self.extend_from_slice(ids);
    }
}

/// A sink that only counts.
#[derive(Debug, Default)]
pub struct Counter(pub u64);

impl Sink for Counter {
    #[inline]
    fn take(&mut self, ids: &[u32]) {
        self.0 += ids.len() as u64;
    }
}
