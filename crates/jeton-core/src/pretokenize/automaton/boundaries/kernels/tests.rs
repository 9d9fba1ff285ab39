//! All kernels against a loop over bytes, and against the characters themselves.

use super::super::digit_runs::Counted;
use super::super::multibyte::{AHEAD, BEFORE, code_of, next_character};
use super::super::repeated::Repeated;
use super::super::tables::{BLOCK, Codes, Table};
use super::super::{Boundaries, Progress};
use super::*;
use crate::cpu::dispatch::Level;
use crate::pretokenize::automaton::classes::Characters;
use proptest::prelude::*;

fn table() -> impl Strategy<Value = Table> {
    prop::collection::vec(any::<u8>(), 128).prop_map(|bytes| bytes.try_into().unwrap())
}

/// Any tables whose entries are such that they make an index.
fn tables() -> impl Strategy<Value = Tables> {
    (
        table(),
        table(),
        table(),
        table(),
        table(),
        table(),
        any::<u8>(),
    )
        .prop_map(
            |(kind, column, next, pairs, outcomes, depends, start_column)| Tables {
                kind: kind.map(|byte| byte & 0x0F),
                column: kind.map(|byte| column[usize::from(byte & 0x0F)] & 0x70),
                next: kind.map(|byte| next[usize::from(byte & 0x0F)] & 0xF0),
                pairs: pairs.map(|byte| byte & 0x0F),
                outcomes,
                depends: depends.map(|byte| byte & 0x0F),
                kind_column: std::array::from_fn(|kind| column[kind] & 0x70),
                kind_next: std::array::from_fn(|kind| next[kind] & 0xF0),
                start_column: start_column & 0x70,
                run_kinds: 0,
                after_run: [0; 256],
                repeats: [0; 16],
                n_slices: [8; 3],
            },
        )
}

proptest! {
    #[test]
    fn all_kernels_equal_a_loop_over_bytes(
        tables in tables(),
        window in prop::collection::vec(0..=0x7Fu8, WINDOW),
        wide in prop::option::of((0..WINDOW, 0x80..=0xFFu8)),
        at_start in any::<bool>(),
    ) {
        let mut window: [u8; WINDOW] = window.try_into().unwrap();
        if let Some((at, byte)) = wide {
            window[at] = byte;
        }
        let found = tables.find(&tables.codes(&window, at_start));
        for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
            let ascii = kernel.find_ascii(&tables, &window, at_start);
            prop_assert_eq!(ascii, wide.is_none().then_some(found), "{:?}", kernel);
        }
    }

    #[test]
    fn longer_characters_are_told_by_all_kernels(
        tables in tables(),
        text in prop::collection::vec(prop::sample::select(&LETTERS[..]), 1..120),
        block in 0usize..4,
    ) {
        let text: String = text.into_iter().collect();
        let start = block * BLOCK % (text.len().next_multiple_of(BLOCK));
        // Any kind for longer characters; single bytes have the table's kind.
        let kind = |letter: char| match u8::try_from(letter) {
            Ok(byte) if byte < 0x80 => tables.kind[usize::from(byte)],
            _ => ((u32::from(letter) * 7) >> 3) as u8 & 0x0F,
        };
        let mut around = [0; AROUND];
        // Bytes that are not of the text are 0.
        let mut kinds = [tables.kind[0]; AROUND];
        let mut expected = BlockBounds::default();
        let mut begins = 0;
        for (at, letter) in text.char_indices() {
            for (byte, n) in letter.to_string().bytes().zip(at..) {
                if let Some(index) = (n + BEFORE).checked_sub(start).filter(|&index| index < AROUND) {
                    around[index] = byte;
                    kinds[index] = kind(letter);
                }
            }
            let place = at.wrapping_sub(start);
            if place >= BLOCK || at == 0 {
                continue;
            }
            // The definition: what the characters before and behind are.
            let mut before = text[..at].chars().rev();
            let last = before.next().map_or(0, kind);
            let column = before.next().map_or(tables.start_column, |letter| {
                tables.kind_column[usize::from(kind(letter))]
            });
            let after = text[at..].chars().nth(1).map_or(tables.kind[0], kind);
            let mut codes = Codes { pair: [0; BLOCK], next: [0; BLOCK], after: [0; BLOCK] };
            codes.pair[place] = column | last;
            codes.next[place] = tables.kind_next[usize::from(kind(letter))];
            codes.after[place] = after;
            add(&mut expected, &tables.find(&codes), 1 << place);
            begins |= 1 << place;
        }
        let second = match text.chars().next() {
            Some(first) if start == 0 => 1 << first.len_utf8(),
            _ => 0,
        };
        for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
            let (single, bits) = kernel.single_kinds(&tables, &around);
            for at in 0..AROUND {
                prop_assert_eq!(bits >> at & 1 != 0, around[at] >= 0xC0, "{:?}", kernel);
                if around[at] < 0x80 {
                    prop_assert_eq!(single[at], tables.kind[usize::from(around[at])]);
                }
            }
            let mut codes = Codes::NONE;
            let there = kernel.wide_codes(&tables, &around, &kinds, second, &mut codes);
            let found = kernel.find(&tables, &codes);
            let mut here = BlockBounds::default();
            add(&mut here, &found, begins);
            prop_assert_eq!(here, expected, "{:?}", kernel);
            let rest = (text.len() - start).min(BLOCK);
            let inside = u64::MAX >> (BLOCK - rest) & !u64::from(start == 0);
            prop_assert_eq!(there & inside, begins, "{:?}", kernel);
        }
    }
}

/// Boundaries of any tables, where blocks of 128 characters are of one kind or of many.
fn boundaries() -> impl Strategy<Value = Boundaries> {
    let blocks = prop::collection::vec(prop::collection::vec(0u8..16, 128), 1..4);
    let repeated = (0u8..15, any::<[u8; 16]>());
    let all = (tables(), blocks, any::<u64>(), repeated);
    all.prop_map(|(mut tables, some, seed, (repeated, columns))| {
        // No single byte has the repeated kind, above all not the byte that pads the start of a
        // text.
        let kind = (tables.kind[0] + 1 + repeated) % 16;
        let columns = columns.map(|column| column & 0x70);
        let usual = tables.kind[0];
        tables.kind = tables
            .kind
            .map(|other| if other == kind { usual } else { other });
        let mut table: Vec<u8> = (0..3u8).flat_map(|kind| [kind; 128]).collect();
        table.extend(some.concat());
        let n_blocks = table.len() as u64 / 128;
        // Long stretches of blocks that are alike, as in Unicode.
        let block = |n: u64| {
            ((seed ^ n >> (n / 0x20 % 8)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % n_blocks
        };
        let blocks = (0..0x11_0000 / 128).map(|n| block(n) as u16).collect();
        let counted = Counted::from_bytes(&[0; 257]).unwrap();
        let mut boundaries = Boundaries::of(tables, counted, Characters::from_parts(blocks, table));
        boundaries.repeated = Repeated { kind, columns };
        boundaries
    })
}

proptest! {
    #[test]
    fn every_kernel_says_where_bits_are(bits in any::<u64>(), fewer in any::<u64>(), base in 0usize..1 << 40) {
        for bits in [0, bits, bits & fewer, bits & fewer & bits.rotate_left(7), u64::MAX] {
            let expected: Vec<usize> =
                (0..64).filter(|&at| bits >> at & 1 != 0).map(|at| base + at).collect();
            for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
                for few in [false, true] {
                    let mut places = [0; 64];
                    kernel.places(bits, few, base, &mut places);
                    prop_assert_eq!(&places[..expected.len()], &expected[..], "{:?}", kernel);
                }
            }
        }
    }

    #[test]
    fn a_text_is_told_block_by_block_as_byte_by_byte(
        mut boundaries in boundaries(),
        text in prop::collection::vec((prop_oneof![
            prop::sample::select(&LETTERS[..]),
            any::<char>(),
            prop::char::range('\0', '\u{FF}'),
            prop::char::range('\u{430}', '\u{450}'),
            prop::char::range('\u{600}', '\u{6FF}'),
            prop::char::range('\u{E01}', '\u{E4E}'),
            prop::char::range('\u{3000}', '\u{30FF}'),
            prop::char::range('\u{4E00}', '\u{9FFF}'),
            prop::char::range('\u{AC00}', '\u{D7A3}'),
        ], prop_oneof![8 => Just(1), 4 => 2usize..5, 1 => 40usize..200]), 1..100),
    ) {
        let runs = text.into_iter().flat_map(|(letter, n)| std::iter::repeat_n(letter, n));
        let text: String = runs.collect();
        for level in Level::ALL {
            boundaries.use_level(level);
            let mut progress = Progress::default();
            let mut same = Progress::default();
            for start in (0..text.len()).step_by(BLOCK) {
                let rest = (text.len() - start).min(BLOCK);
                let inside = u64::MAX >> (BLOCK - rest);
                let find = |boundaries: &Boundaries, progress: &mut Progress| {
                    let mut found = BlockBounds::default();
                    let text = text.as_bytes();
                    let begins = boundaries.find_wide(progress, text, start, &mut found);
                    progress.is_wide = true;
                    progress.taints = found.taints & begins & inside;
                    (found, begins)
                };
                let taints_before = progress.taints != 0;
                let (found, begins) = find(&boundaries, &mut progress);
                let kernel = std::mem::replace(&mut boundaries.kernel, Kernel::Portable);
                let (expected, expected_begins) = find(&boundaries, &mut same);
                boundaries.kernel = kernel;
                prop_assert_eq!(begins, expected_begins, "{:?}", level);
                let there = begins & inside & !u64::from(start == 0);
                // Where nothing taints, nobody asks what would be tainted.
                let is_tainted = taints_before || expected.taints & begins & inside != 0;
                let masked = |found: BlockBounds| {
                    let mut masked = BlockBounds::default();
                    add(&mut masked, &found, there);
                    if !is_tainted {
                        (masked.tainted_boundaries, masked.tainted_unsure) = (0, 0);
                    }
                    masked
                };
                prop_assert_eq!(masked(found), masked(expected), "{:?} {}", level, start);
                prop_assert_eq!(progress.last, same.last, "{:?} {}", level, start);
            }
        }
    }

    #[test]
    fn a_code_point_is_that_of_its_bytes(letter in any::<char>(), behind in any::<[char; 3]>(), inside in 0usize..4) {
        let mut bytes = letter.to_string().into_bytes();
        bytes.extend(String::from_iter(behind).bytes());
        bytes.resize(8, 0);
        prop_assert_eq!(code_of(*bytes.first_chunk().unwrap()), u32::from(letter));
        let mut ahead = [0x80; AHEAD];
        ahead[BLOCK + inside..].copy_from_slice(&bytes[..AHEAD - BLOCK - inside]);
        prop_assert_eq!(next_character(&ahead), u32::from(letter));
    }
}

/// Letters of one to four bytes.
const LETTERS: [char; 10] = [
    'a',
    ' ',
    '1',
    'é',
    'я',
    '你',
    'か',
    '\u{10FFFF}',
    '😀',
    '\u{800}',
];

/// Adds what is known of the places of a mask.
fn add(to: &mut BlockBounds, found: &BlockBounds, mask: u64) {
    to.boundaries |= found.boundaries & mask;
    to.unsure |= found.unsure & mask;
    to.tainted_boundaries |= found.tainted_boundaries & mask;
    to.tainted_unsure |= found.tainted_unsure & mask;
    to.depends |= found.depends & mask;
    to.runs |= found.runs & mask;
    to.taints |= found.taints & mask;
}
