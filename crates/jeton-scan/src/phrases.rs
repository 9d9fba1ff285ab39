//! Words that are found in any case: a phrase of six bytes covers a whole block of four at one of
//! every three places, so only every third place is looked at.

use memchr::memmem::Finder;

use crate::codes::Code;

/// Bytes of the shortest phrase that is found by blocks; a shorter one has a search of its own.
const MIN_LONG: usize = 6;
/// Bytes of a block, and bytes from one place that is looked at to the next.
const BLOCK: usize = 4;
const STEP: usize = MIN_LONG - BLOCK + 1;
/// Bytes of eight places together.
const SPAN: usize = 8 * STEP;
/// Bytes that are loaded at once; they have two blocks.
const LOAD: usize = 8;
const NUMBER_BITS: u32 = 14;
const N_BLOCKS: usize = 1 << NUMBER_BITS;
/// An odd number with well mixed bits (2^32 divided by the golden ratio).
const MIX: u32 = 0x9e37_79b1;

/// Phrases, ready to be found.
#[derive(Debug)]
pub(crate) struct Phrases {
    /// 1 for each number of a block with which some phrase begins, or which it has a little later.
    /// A byte each: a table of bits fits the cache better and takes twice the instructions.
    blocks: Box<[u8; N_BLOCKS]>,
    /// Phrases of `MIN_LONG` bytes and more, in lower case, by five bits of their first byte.
    long: [Vec<Vec<u8>>; 32],
    has_long: bool,
    short: Vec<Finder<'static>>,
}

/// The number of a block: five bits of each byte count, so that letters in either case are equal.
#[inline]
fn number(block: [u8; BLOCK]) -> usize {
    mixed(u32::from_le_bytes(block) & FOLD as u32)
}

/// The five bits of each byte that count.
const FOLD: u64 = 0x1f1f_1f1f_1f1f_1f1f;

#[inline]
fn mixed(folded: u32) -> usize {
    (folded.wrapping_mul(MIX) >> (32 - NUMBER_BITS)) as usize
}

impl Phrases {
    pub(crate) fn new<T: AsRef<str>>(phrases: &[T]) -> Self {
        let mut made = Self {
            blocks: Box::new([0; N_BLOCKS]),
            long: Default::default(),
            has_long: false,
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
                    made.blocks[number(block)] = 1;
                }
            }
            made.has_long = true;
            made.long[usize::from(bytes[0] & 31)].push(bytes);
        }
        made
    }

    pub(crate) fn find(&self, bytes: &[u8], out: &mut Vec<(usize, usize, Code)>) {
        for finder in &self.short {
            let length = finder.needle().len();
            let all = finder.find_iter(bytes);
            out.extend(all.map(|start| (start, start + length, Code::Phrase)));
        }
        if !self.has_long {
            return;
        }
        // Matches do not overlap.
        let mut free = 0;
        let mut place = 0;
        // Several places at a time: hits are rare, so one branch serves them all.
        while let Some(part) = bytes.get(place..place + SPAN + LOAD) {
            let mut any = 0;
            for at in (0..SPAN).step_by(2 * STEP) {
                any |= self.two(&part[at..at + LOAD]);
            }
            if any != 0 {
                for at in (0..SPAN).step_by(STEP) {
                    self.look(bytes, place + at, &mut free, out);
                }
            }
            place += SPAN;
        }
        while place + BLOCK <= bytes.len() {
            self.look(bytes, place, &mut free, out);
            place += STEP;
        }
    }

    /// Not 0 if one of two blocks, the second `STEP` bytes behind the first, is of a phrase.
    #[inline]
    fn two(&self, part: &[u8]) -> u8 {
        let folded = part.try_into().map_or(0, u64::from_le_bytes) & FOLD;
        self.blocks[mixed(folded as u32)] | self.blocks[mixed((folded >> (8 * STEP)) as u32)]
    }

    /// Finds the phrases that have their block at a place.
    fn look(
        &self,
        bytes: &[u8],
        place: usize,
        free: &mut usize,
        out: &mut Vec<(usize, usize, Code)>,
    ) {
        let block = bytes.get(place..place + BLOCK).map(<[u8; BLOCK]>::try_from);
        let Some(Ok(block)) = block else {
            return;
        };
        if self.blocks[number(block)] == 0 {
            return;
        }
        let mut start = (*free).max((place + 1).saturating_sub(STEP));
        while start <= place {
            if let Some(length) = self.begins(&bytes[start..]) {
                out.push((start, start + length, Code::Phrase));
                start += length;
                *free = start;
            } else {
                start += 1;
            }
        }
    }

    /// The length of the first phrase that stands at the beginning of some bytes.
    fn begins(&self, bytes: &[u8]) -> Option<usize> {
        let is_here = |phrase: &&Vec<u8>| {
            let part = bytes.get(..phrase.len());
            part.is_some_and(|part| part.eq_ignore_ascii_case(phrase))
        };
        let near = &self.long[usize::from(bytes.first()? & 31)];
        near.iter().find(is_here).map(Vec::len)
    }
}
