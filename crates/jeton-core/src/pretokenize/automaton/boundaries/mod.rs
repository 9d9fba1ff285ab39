//! Ends of matches, told from the characters around them where these decide.
//!
//! In ordinary text they nearly always do: a letter after a letter goes on, a space after a letter
//! begins something new. The rules come from the automaton itself, whatever the pattern. All states
//! are followed in which it can be behind three given classes. If every one of them ends its match
//! before the next two (or none does), these five classes decide. So it is exact by construction,
//! and there is nothing to recognise. Elsewhere the automaton walks from the last end, as ever.
//!
//! Five classes are too many to look up for each character, so classes that behave alike are one
//! *kind*. The first of the five has one use only: few classes *taint* the characters behind them
//! (the apostrophe of English contractions). The rules for the other four are in tables that fit
//! vector registers. The two before a place choose a *rule*; rule and next character choose an
//! outcome, which may depend on the one after. And since indented lines begin with runs of spaces
//! of any length, the character that ends a run of one kind is looked at too.

mod build;
mod digit_runs;
mod kernels;
mod multibyte;
mod possible;
mod raw;
mod repeated;
mod rows;
mod rules;
mod table_reduction;
mod tables;

use self::digit_runs::Counted;
use self::multibyte::{code_of, width};
use self::repeated::Repeated;
use self::rows::{Recent, Rows};
use self::tables::{
    BLOCK, BOUNDARY, BlockBounds, DEPENDS, RUN, TAINTED_BOUNDARY, TAINTED_UNSURE, TAINTS, Tables,
    UNSURE, WINDOW,
};
use super::Automaton;
use super::classes::Characters;
use crate::cpu::dispatch::Kernel;
use crate::cpu::prefetch::{ReadLater, TEXT_AHEAD, prefetch};

/// How far behind a block the end of a run is looked for.
const FAR: usize = 64;
/// Bytes from the last end to an unsure place that are better not walked.
const LONG_WALK: usize = 32;
/// Most characters of a run that are looked at to find what is before it.
const MAX_REPEATS: usize = 8;

/// Rules by which characters tell boundaries.
#[derive(Clone, Debug)]
pub(super) struct Boundaries {
    tables: Tables,
    repeated: Repeated,
    counted: Counted,
    /// The kind of each character.
    kinds: Characters,
    rows: Rows,
    kernel: Kernel,
}

/// How far the boundaries of a text are known.
#[derive(Default)]
pub(super) struct Progress {
    /// Where the next block begins.
    next_block: usize,
    /// Boundaries and unsure places of the block before it that are still to be looked at.
    boundaries: u64,
    unsure: u64,
    /// Characters of that block that taint what comes next, and whether it has longer ones.
    taints: u64,
    is_wide: bool,
    /// Context of the next block, if it has longer characters: see [`BlockContext::kinds`].
    last: [u8; 3],
    /// The rows of longer characters that came last.
    recent: Recent,
    /// Addresses that are read after this text. They are fetched while blocks are looked at,
    /// because blocks need not wait for memory.
    pub(super) later: ReadLater,
}

impl Automaton {
    /// Writes the next ends up to the first place that the characters do not decide. Returns how
    /// many, and true if the automaton must walk from the last of them (or from `position`).
    #[allow(clippy::unused_self)] // a step of this automaton, as the walk is
    #[inline(always)]
    pub(super) fn tell_ends(
        &self,
        rules: &Boundaries,
        progress: &mut Progress,
        text: &[u8],
        position: usize,
        ends: &mut [usize],
    ) -> (usize, bool) {
        let mut n = 0;
        // Drops places that a walk has decided meanwhile.
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
                // A block may have more than there is room for: the caller comes back with more
                // room.
                if n > 0 {
                    return (n, false);
                }
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
                let (places, _) = ends[n..].as_chunks_mut::<BLOCK>();
                if let Some(places) = places.first_mut() {
                    // Characters of three bytes are no more than 22.
                    rules.kernel.places(sure, progress.is_wide, block, places);
                }
                n += n_sure;
            }
            if unsure != 0 {
                progress.boundaries = boundaries & !first_unsure.wrapping_sub(1);
                let last = if n > 0 { ends[n - 1] } else { position };
                let place = block.wrapping_add(unsure.trailing_zeros() as usize);
                let (mut decided, mut ends_there) = rules.counted.decide(text, block, last, place);
                if decided == 0 && place - last > LONG_WALK {
                    (decided, ends_there) = match rules.behind_repeats(text, place) {
                        Some(ends) => (first_unsure, if ends { first_unsure } else { 0 }),
                        None => (0, 0),
                    };
                }
                if decided == 0 {
                    return (n, true);
                }
                progress.unsure = unsure & !decided;
                progress.boundaries = progress.boundaries & !decided | ends_there;
                continue;
            }
            progress.boundaries = 0;
            if progress.next_block >= text.len() {
                // Nothing ends between the last end and the end of the text.
                let last = if n > 0 { ends[n - 1] } else { position };
                if last < text.len() && n < ends.len() {
                    ends[n] = text.len();
                    n += 1;
                }
                return (n, false);
            }
            rules.advance(progress, text);
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
            if progress.unsure != 0 {
                rules.count_runs(progress, text);
            }
        }
    }
}

/// Returns the end of a run of bytes equal to the one at `at`. The result stays below `limit`, if
/// that is less than the text's length; the run may go on behind it.
#[inline]
fn same_until(text: &[u8], at: usize, limit: usize) -> usize {
    let run = &text[at..text.len().min(limit)];
    let (eights, _) = run.as_chunks::<8>();
    let mut end = at;
    for eight in eights {
        let differs = u64::from_le_bytes(*eight) ^ u64::from_le_bytes([run[0]; 8]);
        if differs != 0 {
            return end + differs.trailing_zeros() as usize / 8;
        }
        end += 8;
    }
    end.max(at + 1)
}

/// Where the last character of a text begins.
#[inline]
fn last_begin(text: &[u8]) -> usize {
    let mut last = text.len().saturating_sub(1);
    while last > 0 && text[last] & 0xC0 == 0x80 {
        last -= 1;
    }
    last
}

impl Boundaries {
    fn of(tables: Tables, counted: Counted, kinds: Characters) -> Self {
        Self {
            repeated: Repeated::new(&tables),
            tables,
            counted,
            rows: Rows::new(&kinds),
            kinds,
            kernel: Kernel::fastest(),
        }
    }

    /// The first place of a part of a text, behind its first block, where a match ends whatever
    /// comes before the part or behind it. No match that begins before that place looks further
    /// than this part: where it ends was decided by what is in it.
    pub(super) fn sure_end(&self, part: &[u8]) -> Option<usize> {
        let mut progress = Progress::default();
        // The end of a run may be looked for behind a block.
        while progress.next_block + 2 * BLOCK + FAR <= part.len() {
            self.advance(&mut progress, part);
            // In the first block, characters are missing that tell what comes after them.
            let block = progress.next_block - BLOCK;
            if block > 0 && progress.boundaries != 0 {
                return Some(block + progress.boundaries.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Looks at the next block.
    #[inline(always)]
    fn advance(&self, progress: &mut Progress, text: &[u8]) {
        let (tables, kernel) = (&self.tables, self.kernel);
        let start = progress.next_block;
        if let Some(later) = text.get(start + TEXT_AHEAD) {
            prefetch(later);
        }
        progress.later.ask();
        let mut padded = [0; WINDOW];
        let inside = start.checked_sub(2).and_then(|from| text.get(from..));
        let window = inside.and_then(<[u8]>::first_chunk).unwrap_or_else(|| {
            let from = start.saturating_sub(2);
            let there = &text[from..text.len().min(start + BLOCK + 1)];
            padded[from + 2 - start..][..there.len()].copy_from_slice(there);
            &padded
        });
        // Two calls, so that `found` stays in registers or is read as it was written. A copy would
        // read more at once than a store has written, and wait for memory.
        match kernel.find_ascii(tables, window, start == 0) {
            Some(found) => self.note::<false>(progress, text, &found, u64::MAX),
            None => {
                let mut found = BlockBounds::default();
                let begins = self.find_wide(progress, text, start, &mut found);
                self.note::<true>(progress, text, &found, begins);
            }
        }
    }

    /// Notes what is known of a block. `WIDE`: it has longer characters, which begin where `begins`
    /// has bits.
    #[inline(always)]
    fn note<const WIDE: bool>(
        &self,
        progress: &mut Progress,
        text: &[u8],
        found: &BlockBounds,
        begins: u64,
    ) {
        let start = progress.next_block;
        let rest = text.len() - start;
        let mut there = begins;
        let (mut boundaries, mut unsure) = (found.boundaries, found.unsure);
        if rest <= BLOCK {
            there &= u64::MAX >> (BLOCK - rest);
        }
        let taints = found.taints & there;
        let mut tainted = 0;
        if taints | progress.taints != 0 {
            let both = u128::from(taints) << 64 | u128::from(progress.taints);
            // Three characters; where some are longer, as many bytes as they may have.
            let mut after = both << 1 | both << 2 | both << 3;
            if WIDE | progress.is_wide {
                after |= after << 3 | after << 6 | after << 9;
            }
            tainted = (after >> 64) as u64;
            boundaries = boundaries & !tainted | found.tainted_boundaries & tainted;
            unsure = unsure & !tainted | found.tainted_unsure & tainted;
        }
        // The padding behind the last character is no character. That one may reach into the next
        // block.
        if rest < BLOCK + 4
            && let Some(place) = last_begin(text).checked_sub(start)
            && place < BLOCK
        {
            unsure |= found.depends & 1 << place;
        }
        let runs = found.runs & there;
        if runs != 0 {
            if WIDE {
                unsure |= runs;
            } else {
                let (ends, not_sure) = self.before_runs(text, start, runs, tainted);
                boundaries |= ends;
                unsure |= not_sure;
            }
        }
        progress.unsure = unsure & there;
        progress.boundaries = boundaries & there & !progress.unsure;
        progress.taints = taints;
        progress.is_wide = WIDE;
        progress.next_block = start + BLOCK;
    }

    /// Decides the places where runs of single-byte characters begin, by the characters that end
    /// the runs: boundaries and unsure places.
    fn before_runs(&self, text: &[u8], start: usize, mut runs: u64, tainted: u64) -> (u64, u64) {
        let tables = &self.tables;
        let kind = |at: usize| -> Option<u8> {
            let byte = usize::from(*text.get(at)?);
            tables.kind.get(byte).copied()
        };
        let (mut boundaries, mut unsure) = (0, 0);
        while runs != 0 {
            let place = runs.trailing_zeros() as usize;
            runs &= runs - 1;
            let at = start + place;
            let mut end = same_until(text, at, start + BLOCK + FAR);
            let runs_on = |kind: u8| tables.run_kinds >> kind & 1 != 0;
            while end < start + BLOCK + FAR && kind(end).is_some_and(runs_on) {
                end += 1;
            }
            let ascii = |back: usize| Some(usize::from(*text.get(at.checked_sub(back)?)? & 0x7F));
            let column = ascii(2).map_or(tables.start_column, |byte| tables.column[byte]);
            let rule = ascii(1).map_or(0, |byte| {
                tables.pairs[usize::from(column | tables.kind[byte])]
            });
            let outcome = match kind(end) {
                Some(kind) if !runs_on(kind) => tables.after_run[usize::from(rule << 4 | kind)],
                _ => UNSURE | TAINTED_UNSURE,
            };
            let (boundary, not_sure) = if tainted >> place & 1 != 0 {
                (TAINTED_BOUNDARY, TAINTED_UNSURE)
            } else {
                (BOUNDARY, UNSURE)
            };
            boundaries |= u64::from(outcome & boundary != 0) << place;
            unsure |= u64::from(outcome & not_sure != 0) << place;
        }
        (boundaries, unsure)
    }

    /// Decides places of the block that was looked at last by counting.
    #[inline(always)]
    fn count_runs(&self, progress: &mut Progress, text: &[u8]) {
        let there = text.get(progress.next_block - BLOCK..);
        // At the end of a text there may be less than a block: places there are decided one run
        // after the other.
        let Some(block) = there.and_then(<[u8]>::first_chunk) else {
            return;
        };
        let (boundaries, unsure) = (progress.boundaries, progress.unsure);
        let (decided, ends) = self
            .counted
            .decide_runs(self.kernel, block, boundaries, unsure);
        progress.unsure = unsure & !decided;
        progress.boundaries = boundaries | ends;
    }

    /// True if a match ends at a place, told from the character before a run of one kind. The run
    /// must tell as much as one of its characters, so the character before it stands for the last
    /// but one: Thai has two marks on many letters. None if there is no such run, or if it does not
    /// decide.
    #[inline(never)]
    pub(super) fn behind_repeats(&self, text: &[u8], place: usize) -> Option<bool> {
        let tables = &self.tables;
        let (mut before, behind) = text.split_at(place);
        let mut kind_before = || {
            let character;
            (before, character) = before.split_at(last_begin(before));
            self.kind_of(character)
        };
        let last = kind_before()?;
        if tables.repeats[last] == 0 || kind_before()? != last {
            return None;
        }
        let mut others = (0..MAX_REPEATS).map_while(|_| kind_before());
        let first = others.find(|&kind| kind != last)?;
        // Nothing that taints may be among the three that the rule is about.
        let taints = |kind: usize| tables.kind_next[kind] & TAINTS != 0;
        if tables.repeats[last] >> first & 1 == 0 || taints(kind_before()?) {
            return None;
        }
        let next = self.kind_of(behind)?;
        let after = self.kind_of(&behind[width(behind[0])..])?;
        let rule = tables.pairs[usize::from(tables.kind_column[first]) | last];
        let outcome = tables.outcomes[usize::from(tables.kind_next[next] & DEPENDS | rule)];
        let flags = outcome | tables.depends[usize::from(outcome & DEPENDS) | after];
        (flags & (UNSURE | RUN) == 0).then_some(flags & BOUNDARY != 0)
    }

    /// The kind of the character that a text begins with.
    #[inline]
    fn kind_of(&self, text: &[u8]) -> Option<usize> {
        let first = *text.first()?;
        if first < 0x80 {
            return Some(usize::from(self.tables.kind[usize::from(first)]));
        }
        let mut bytes = [0; 4];
        let n = text.len().min(4);
        bytes[..n].copy_from_slice(&text[..n]);
        Some(usize::from(self.kinds.get(code_of(bytes))))
    }

    /// Uses the instructions of a level from now on, if the machine has it.
    #[cfg(test)]
    pub(super) fn use_level(&mut self, level: crate::cpu::dispatch::Level) {
        self.kernel = Kernel::of(level).unwrap_or(self.kernel);
    }
}
