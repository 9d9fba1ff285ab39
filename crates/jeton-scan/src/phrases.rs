//! Words that are found in any case: a phrase of six bytes covers a whole block of four at one of
//! every three places, so only every third place is looked at.

use memchr::memmem::Finder;

use crate::codes::Code;

/// Bytes of the shortest phrase that is found by blocks; a shorter one has a search of its own.
const MIN_LONG: usize = 6;
/// Bytes of a block, and bytes from one place that is looked at to the next.
const BLOCK: usize = 4;
const STEP: usize = MIN_LONG - BLOCK + 1;
const NUMBER_BITS: u32 = 15;
/// An odd number with well mixed bits (2^32 divided by the golden ratio).
const MIX: u32 = 0x9e37_79b1;

/// Phrases, ready to be found.
#[derive(Debug)]
pub(crate) struct Phrases {
    /// One bit for each number of a block: some phrase begins with one, or has one a little later.
    blocks: Vec<u64>,
    /// Phrases of `MIN_LONG` bytes and more, in lower case.
    long: Vec<Vec<u8>>,
    short: Vec<Finder<'static>>,
}

/// The number of a block: five bits of each byte count, so that letters in either case are equal.
#[inline]
fn number(block: [u8; BLOCK]) -> usize {
    ((u32::from_le_bytes(block) & 0x1f1f_1f1f).wrapping_mul(MIX) >> (32 - NUMBER_BITS)) as usize
}

impl Phrases {
    pub(crate) fn new<T: AsRef<str>>(phrases: &[T]) -> Self {
        let mut made = Self {
            blocks: vec![0; 1 << NUMBER_BITS >> 6],
            long: Vec::new(),
            short: Vec::new(),
        };
        for phrase in phrases {
            let bytes = phrase.as_ref().to_ascii_lowercase().into_bytes();
            if bytes.len() < MIN_LONG {
                if !bytes.is_empty() {
                    made.short.push(Finder::new(&bytes).into_owned());
                }
                continue;
            }
            for part in bytes[..MIN_LONG].windows(BLOCK) {
                if let Ok(block) = part.try_into() {
                    let at = number(block);
                    made.blocks[at / 64] |= 1 << (at % 64);
                }
            }
            made.long.push(bytes);
        }
        made
    }

    pub(crate) fn find(&self, bytes: &[u8], out: &mut Vec<(usize, usize, Code)>) {
        for finder in &self.short {
            let length = finder.needle().len();
            let all = finder.find_iter(bytes);
            out.extend(all.map(|start| (start, start + length, Code::Phrase)));
        }
        if self.long.is_empty() {
            return;
        }
        // Matches do not overlap.
        let mut free = 0;
        for place in (0..bytes.len().saturating_sub(BLOCK - 1)).step_by(STEP) {
            let Ok(four) = bytes[place..place + BLOCK].try_into() else {
                break;
            };
            let block = number(four);
            if self.blocks[block / 64] >> (block % 64) & 1 == 0 {
                continue;
            }
            let mut start = free.max((place + 1).saturating_sub(STEP));
            while start <= place {
                if let Some(length) = self.begins(&bytes[start..]) {
                    out.push((start, start + length, Code::Phrase));
                    free = start + length;
                    start = free;
                } else {
                    start += 1;
                }
            }
        }
    }

    /// The length of the first phrase that stands at the beginning of some bytes.
    fn begins(&self, bytes: &[u8]) -> Option<usize> {
        let is_here = |phrase: &&Vec<u8>| {
            let part = bytes.get(..phrase.len());
            part.is_some_and(|part| part.eq_ignore_ascii_case(phrase))
        };
        self.long.iter().find(is_here).map(Vec::len)
    }
}
