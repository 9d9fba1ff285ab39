//! Many sorted sequences of counts as one: equal pretokens are added up.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::Read;

use super::blocks::{BadBlock, BlockReader};

/// The next entry of a sequence.
struct Head {
    key: Vec<u8>,
    count: u64,
    source: usize,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    /// The one that comes first is the greatest: that is what a heap gives.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// Reads several sequences in step.
pub(super) struct Merge<R> {
    readers: Vec<BlockReader<R>>,
    heads: BinaryHeap<Head>,
    key: Vec<u8>,
}

/// Index of a bad sequence, and its fault.
pub(super) type BadSource = (usize, BadBlock);

impl<R: Read> Merge<R> {
    pub(super) fn new(mut readers: Vec<BlockReader<R>>) -> Result<Self, BadSource> {
        let mut heads = BinaryHeap::with_capacity(readers.len());
        for (source, reader) in readers.iter_mut().enumerate() {
            if let Some((key, count)) = reader.next().map_err(|bad| (source, bad))? {
                heads.push(Head {
                    key: key.to_vec(),
                    count,
                    source,
                });
            }
        }
        Ok(Self {
            readers,
            heads,
            key: Vec::new(),
        })
    }

    /// The next pretoken and its count, modulo 2^64 and not 0; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], u64)>, BadSource> {
        loop {
            let Some(mut head) = self.heads.peek_mut() else {
                return Ok(None);
            };
            std::mem::swap(&mut self.key, &mut head.key);
            let mut count = head.count;
            advance(&mut self.readers, head)?;
            while let Some(head) = self.heads.peek_mut() {
                if head.key != self.key {
                    break;
                }
                count = count.wrapping_add(head.count);
                advance(&mut self.readers, head)?;
            }
            if count != 0 {
                return Ok(Some((&self.key, count)));
            }
        }
    }
}

fn advance<R: Read>(
    readers: &mut [BlockReader<R>],
    mut head: PeekMut<'_, Head>,
) -> Result<(), BadSource> {
    let source = head.source;
    match readers[source].next().map_err(|bad| (source, bad))? {
        Some((key, count)) => {
            head.key.clear();
            head.key.extend_from_slice(key);
            head.count = count;
        }
        None => {
            PeekMut::pop(head);
        }
    }
    Ok(())
}
