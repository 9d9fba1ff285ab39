//! Ends of matches by bit algebra: where the characters around a place tell whether one ends there.
//!
//! In ordinary text they nearly always do: a letter after a letter goes on, a space after a letter begins
//! something new. What the characters tell is worked out from the automaton itself, whatever the pattern: all
//! states are followed in which it can be after three given classes, and if every one of them ends its
//! match before a fourth class (or none does), these four classes decide. So it is exact by construction, and there
//! is nothing to recognise. Where they do not decide, the automaton walks from the last end, as ever.
//!
//! Three classes and the next are too many to look up for each character, so: few classes spoil what comes after
//! them (the apostrophe of English contractions); a place with one of them among the last three characters is *unsure*.
//! Elsewhere two classes and the next decide. Classes that behave alike are one *kind*; with at most eight kinds, 64
//! bytes of text become eight masks (a bit for each byte), and boundaries are a few dozen operations on those.

mod kinds;
mod possible;
mod rules;

use self::kinds::{MAX_UNIONS, Union, Unions};
use super::Automaton;
use super::classes::ClassMap;
use super::masks::{BLOCK, KINDS_AT_ONCE, Kernel};

/// Places for kinds: two bytes of bits. The last one stays empty.
pub(super) const MAX_KINDS: usize = 16;

/// One block's masks, a kind each.
pub(in super::super) type Masks = [u64; MAX_KINDS];

/// The kinds of a rule as places in the list of sets that are put together once for a block.
#[derive(Clone, Copy, Debug)]
struct Step {
    last_but_one: u8,
    last: u8,
    boundary: u8,
    unsure: u8,
}

/// Which places are boundaries, as masks tell it.
#[derive(Clone, Debug)]
pub(super) struct Boundaries {
    /// For each single-byte character its kind as a bit; zero for other bytes. The second table has the kinds from the
    /// ninth on.
    kinds: [[u8; 256]; 2],
    /// The kind of each class.
    class_kinds: Vec<u8>,
    n_kinds: usize,
    steps: Vec<Step>,
    /// The sets of next, last and last but one characters.
    next: Unions,
    last: Unions,
    last_but_one: Unions,
    /// Kinds that spoil what comes after them.
    spoiling: Union,
    /// Kinds of a last character that decide only together with the one before.
    needing_two: Union,
    kernel: Kernel,
}

/// How far the boundaries of a text are known.
#[derive(Default)]
pub(super) struct Progress {
    /// Where the next block begins.
    next_block: usize,
    /// Boundaries and unsure places of the block before it that have not been looked at.
    boundaries: u64,
    unsure: u64,
    /// Masks of that block, its bytes of longer characters and of those that spoil what comes next.
    masks: Masks,
    wide: u64,
    spoiling: u64,
}

impl Automaton {
    /// Puts the next ends there, as many as there are until the characters do not tell; says how many, and whether
    /// the automaton must walk from the last of them (or from `position`).
    #[inline]
    pub(super) fn tell_ends(
        &self,
        rules: &Boundaries,
        progress: &mut Progress,
        text: &[u8],
        position: usize,
        ends: &mut [usize],
    ) -> (usize, bool) {
        let mut n = 0;
        // What a walk has decided meanwhile.
        let block = progress.next_block.wrapping_sub(BLOCK);
        if progress.next_block > 0 && position >= block {
            let decided = position - block;
            let left = if decided >= BLOCK - 1 {
                0
            } else {
                u64::MAX << (decided + 1)
            };
            progress.boundaries &= left;
            progress.unsure &= left;
        }
        loop {
            let block = progress.next_block.wrapping_sub(BLOCK);
            let (boundaries, unsure) = (progress.boundaries, progress.unsure);
            // Boundaries before the first unsure place.
            let first_unsure = unsure & unsure.wrapping_neg();
            let mut sure = boundaries & first_unsure.wrapping_sub(1);
            let n_sure = sure.count_ones() as usize;
            if ends.len() - n < BLOCK {
                // A few of them, one by one.
                let n_fit = n_sure.min(ends.len() - n);
                for end in &mut ends[n..n + n_fit] {
                    *end = block.wrapping_add(sure.trailing_zeros() as usize);
                    sure &= sure.wrapping_sub(1);
                }
                n += n_fit;
                if n_fit < n_sure {
                    progress.boundaries = sure | boundaries & !first_unsure.wrapping_sub(1);
                    return (n, false);
                }
            } else {
                // Eight at a time, more than there are: a guess of how many often fails, and costs more.
                let mut eights = ends[n..].chunks_exact_mut(8);
                while sure != 0
                    && let Some(eight) = eights.next()
                {
                    for end in eight {
                        *end = block.wrapping_add(sure.trailing_zeros() as usize);
                        sure &= sure.wrapping_sub(1);
                    }
                }
                n += n_sure;
            }
            if unsure != 0 {
                progress.boundaries = boundaries & !first_unsure.wrapping_sub(1);
                return (n, true);
            }
            progress.boundaries = 0;
            if progress.next_block >= text.len() {
                // Nothing ends between the last end and that of the text.
                let last = if n > 0 { ends[n - 1] } else { position };
                if last < text.len() && n < ends.len() {
                    ends[n] = text.len();
                    n += 1;
                }
                return (n, false);
            }
            self.advance(rules, progress, text);
            let last = if n > 0 { ends[n - 1] } else { position };
            if last >= progress.next_block - BLOCK {
                let decided = last - (progress.next_block - BLOCK);
                let left = if decided >= BLOCK - 1 {
                    0
                } else {
                    u64::MAX << (decided + 1)
                };
                progress.boundaries &= left;
                progress.unsure &= left;
            }
        }
    }

    /// Looks at the next block.
    #[inline]
    fn advance(&self, rules: &Boundaries, progress: &mut Progress, text: &[u8]) {
        let start = progress.next_block;
        let mut masks = [0; MAX_KINDS];
        let wide = rules.single_bytes(text, start, &mut masks);
        let mut begins = u64::MAX;
        if wide != 0 {
            begins = !wide | rules.add_wide(&self.classes, text, start, wide, &mut masks);
        }
        let mut last = [0; MAX_KINDS];
        let mut last_but_one = [0; MAX_KINDS];
        for kind in 0..rules.n_kinds.min(MAX_KINDS) {
            let (now, before) = (masks[kind], progress.masks[kind]);
            last[kind] = now << 1 | before >> 63;
            last_but_one[kind] = now << 2 | before >> 62;
        }
        // The first three characters have fewer than three before them.
        let mut unsure = match (start, wide) {
            (0, 0) => 0b111,
            (0, _) => 0x1FF,
            _ => 0,
        };
        let spoiling = rules.spoiling.of(&masks);
        if spoiling | progress.spoiling != 0 {
            let both = u128::from(spoiling) << 64 | u128::from(progress.spoiling);
            // Three characters; where some are longer, as many bytes as they may have.
            let mut after = both << 1 | both << 2 | both << 3;
            if wide | progress.wide != 0 {
                after |= after << 3 | after << 6 | after << 9;
            }
            unsure |= (after >> 64) as u64;
        }
        if wide | progress.wide != 0 {
            // What comes before a longer character is not at the byte but one.
            unsure |= (wide << 1 | progress.wide >> 63) & rules.needing_two.of(&last);
        }
        let nexts = rules.next.of(&masks);
        let lasts = rules.last.of(&last);
        let lasts_but_one = rules.last_but_one.of(&last_but_one);
        let mut boundaries = 0;
        for step in &rules.steps {
            let here = lasts[step.last as usize % MAX_UNIONS]
                & lasts_but_one[step.last_but_one as usize % MAX_UNIONS];
            boundaries |= here & nexts[step.boundary as usize % MAX_UNIONS];
            unsure |= here & nexts[step.unsure as usize % MAX_UNIONS];
        }
        let rest = text.len() - start;
        let there = if rest >= BLOCK {
            u64::MAX
        } else {
            (1 << rest) - 1
        };
        progress.unsure = unsure & begins & there;
        progress.boundaries = boundaries & begins & there & !progress.unsure;
        progress.masks = masks;
        progress.wide = wide;
        progress.spoiling = spoiling;
        progress.next_block = start + BLOCK;
    }
}

impl Boundaries {
    /// Makes the masks of the single-byte characters of a block; returns the mask of the other bytes.
    #[inline]
    fn single_bytes(&self, text: &[u8], start: usize, masks: &mut Masks) -> u64 {
        let (low, high) = masks.split_at_mut(KINDS_AT_ONCE);
        let (Some(low), Some(high)) = (low.first_chunk_mut(), high.first_chunk_mut()) else {
            return 0;
        };
        let n_low = self.n_kinds.min(KINDS_AT_ONCE);
        let wide = self
            .kernel
            .single_bytes(&self.kinds[0], n_low, text, start, low);
        if self.n_kinds > KINDS_AT_ONCE {
            let n_high = self.n_kinds - KINDS_AT_ONCE;
            self.kernel
                .single_bytes(&self.kinds[1], n_high, text, start, high);
        }
        wide
    }

    /// Adds the characters of more than one byte. `wide`: the bytes of them. Returns those that begin one.
    #[inline(never)]
    fn add_wide(
        &self,
        classes: &ClassMap,
        text: &[u8],
        start: usize,
        mut wide: u64,
        masks: &mut Masks,
    ) -> u64 {
        let mut begins = 0;
        // A character that began in the block before.
        if wide & 1 != 0 && text[start] & 0xC0 == 0x80 {
            let lead = (1..=3).find(|&back| text[start - back] & 0xC0 != 0x80);
            let back = lead.unwrap_or(1);
            let (class, width) = classes.wide(text, start - back);
            let left = width.saturating_sub(back).max(1);
            masks[self.class_kinds[class as usize] as usize % MAX_KINDS] |= (1 << left) - 1;
            wide &= u64::MAX << left;
        }
        while wide != 0 {
            let from = wide.trailing_zeros();
            let (class, width) = classes.wide(text, start + from as usize);
            // Bits of bytes beyond the block fall off.
            masks[self.class_kinds[class as usize] as usize % MAX_KINDS] |=
                ((1 << width) - 1) << from;
            begins |= 1 << from;
            wide &= u64::MAX.checked_shl(from + width as u32).unwrap_or(0);
        }
        begins
    }
}
