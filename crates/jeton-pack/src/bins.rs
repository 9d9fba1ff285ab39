//! Bins as two flat arrays.

use crate::PackError;
use crate::table::{filled, with_room};

/// Documents of each bin: bin `b` holds `documents[offsets[b]..offsets[b + 1]]`, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bins {
    /// Ends of the bins, with a leading 0.
    pub offsets: Vec<u64>,
    /// Places of the documents in the input.
    pub documents: Vec<u32>,
}

impl Bins {
    /// Gathers the documents of each bin; a counting sort keeps them ascending.
    pub(crate) fn from_places(bin_of: &[u32], bins: usize) -> Result<Self, PackError> {
        let mut offsets = filled(0u64, bins + 1)?;
        for &bin in bin_of {
            offsets[bin as usize + 1] += 1;
        }
        for bin in 0..bins {
            offsets[bin + 1] += offsets[bin];
        }
        let mut documents = filled(0u32, bin_of.len())?;
        let mut next = with_room(offsets.len())?;
        next.extend_from_slice(&offsets);
        for (document, &bin) in bin_of.iter().enumerate() {
            let slot = &mut next[bin as usize];
            documents[*slot as usize] = document as u32;
            *slot += 1;
        }
        Ok(Self { offsets, documents })
    }

    /// Gathers the documents of each bin: `order[i]` lies in bin `bin_of[i]`.
    ///
    /// Neighbours in `order` lie in neighbouring bins, so the scatter is nearly sequential.
    pub(crate) fn gather(order: &[u32], bin_of: &[u32], bins: usize) -> Result<Self, PackError> {
        let mut offsets = with_room(bins + 2)?;
        offsets.resize(bins + 1, 0u64);
        for &bin in bin_of {
            offsets[bin as usize + 1] += 1;
        }
        for bin in 0..bins {
            offsets[bin + 1] += offsets[bin];
        }
        let mut documents = filled(0u32, order.len())?;
        // The end of a bin's slots moves to its start, which is the end of the bin before.
        for (&document, &bin) in order.iter().zip(bin_of) {
            let slot = &mut offsets[bin as usize + 1];
            *slot -= 1;
            documents[*slot as usize] = document;
        }
        offsets.push(order.len() as u64);
        offsets.remove(0);
        for bin in 0..bins {
            documents[offsets[bin] as usize..offsets[bin + 1] as usize].sort_unstable();
        }
        Ok(Self { offsets, documents })
    }

    /// Returns the number of bins.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Tells whether there is no bin.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the documents of one bin.
    pub fn bin(&self, bin: usize) -> &[u32] {
        &self.documents[self.offsets[bin] as usize..self.offsets[bin + 1] as usize]
    }
}
