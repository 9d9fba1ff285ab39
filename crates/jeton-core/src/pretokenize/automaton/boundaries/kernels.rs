//! Looking the characters of a block up in the tables, with the widest instructions that the machine has.

use super::tables::{Codes, Found, Tables, WINDOW};
use crate::simd::Kernel;

impl Kernel {
    /// What is known of the places of a block of single-byte characters; None where there are others. `at_start`: the
    /// block is the text's first.
    #[inline]
    pub(super) fn find_ascii(
        self,
        tables: &Tables,
        window: &[u8; WINDOW],
        at_start: bool,
    ) -> Option<Found> {
        match self {
            Self::Portable => window
                .is_ascii()
                .then(|| tables.find(&tables.codes(window, at_start))),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::call_find_ascii(tables, window, at_start),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::call_find_ascii(tables, window, at_start),
        }
    }

    /// The codes of the single-byte characters of a block.
    #[inline]
    pub(super) fn codes(self, tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Codes {
        match self {
            Self::Portable => tables.codes(window, at_start),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::call_codes(tables, window, at_start),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::call_codes(tables, window, at_start),
        }
    }

    /// What is known of places by their codes.
    #[inline]
    pub(super) fn find(self, tables: &Tables, codes: &Codes) -> Found {
        match self {
            Self::Portable => tables.find(codes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => avx2::call_find(tables, codes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => avx512::call_find(tables, codes),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! The same with AVX-512 BW and VBMI, which look 64 bytes up in a table of 128 at once. Called only where
    //! `Kernel::of` found them, which is all that makes the calls unsafe; memory is read and written through
    //! references to arrays.
    #![allow(unsafe_code)]

    use std::arch::x86_64::{
        __m512i, _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_movepi8_mask,
        _mm512_or_si512, _mm512_permutex2var_epi8, _mm512_set1_epi8, _mm512_storeu_si512,
        _mm512_test_epi8_mask,
    };

    use super::super::tables::{
        BLOCK, BOUNDARY, Codes, DEPENDS, Found, SPOILED_BOUNDARY, SPOILED_UNSURE, Table, Tables,
        UNSURE, WINDOW,
    };

    #[inline]
    pub(super) fn call_find_ascii(
        tables: &Tables,
        window: &[u8; WINDOW],
        at_start: bool,
    ) -> Option<Found> {
        // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW and VBMI.
        unsafe { find_ascii(tables, window, at_start) }
    }

    #[inline]
    pub(super) fn call_codes(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Codes {
        // SAFETY: as above.
        unsafe { codes(tables, window, at_start) }
    }

    #[inline]
    pub(super) fn call_find(tables: &Tables, codes: &Codes) -> Found {
        // SAFETY: as above.
        unsafe { find(tables, codes) }
    }

    /// The 64 bytes of a window from `AT` on.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn load<const AT: usize>(window: &[u8; WINDOW]) -> __m512i {
        const { assert!(AT + BLOCK <= WINDOW) };
        // SAFETY: 64 bytes from `AT` on are within the window, as was just said.
        unsafe { _mm512_loadu_si512(window.as_ptr().add(AT).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn load_block(block: &[u8; BLOCK]) -> __m512i {
        // SAFETY: 64 bytes that are there.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn store(bytes: __m512i) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        // SAFETY: room for 64 bytes.
        unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), bytes) };
        block
    }

    /// The top bit of an index is not looked at.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn look_up(table: &Table, index: __m512i) -> __m512i {
        let (halves, _) = table.as_chunks::<BLOCK>();
        _mm512_permutex2var_epi8(load_block(&halves[0]), index, load_block(&halves[1]))
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn vectors(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> [__m512i; 3] {
        let last = look_up(&tables.kind, load::<1>(window));
        let mut column = look_up(&tables.column, load::<0>(window));
        if at_start {
            let start = _mm512_set1_epi8(tables.start_column.cast_signed());
            column = _mm512_mask_blend_epi8(0b10, column, start);
        }
        [
            _mm512_or_si512(column, last),
            look_up(&tables.next, load::<2>(window)),
            look_up(&tables.kind, load::<3>(window)),
        ]
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn find_ascii(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Option<Found> {
        let all = _mm512_or_si512(load::<0>(window), load::<3>(window));
        if _mm512_movepi8_mask(all) != 0 {
            return None;
        }
        Some(find_vectors(tables, vectors(tables, window, at_start)))
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn codes(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Codes {
        let [pair, next, after] = vectors(tables, window, at_start).map(|bytes| store(bytes));
        Codes { pair, next, after }
    }

    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn find(tables: &Tables, codes: &Codes) -> Found {
        let vectors = [&codes.pair, &codes.next, &codes.after].map(|block| load_block(block));
        find_vectors(tables, vectors)
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi")]
    fn find_vectors(tables: &Tables, [pair, next, after]: [__m512i; 3]) -> Found {
        let all = |flag: u8| _mm512_set1_epi8(flag.cast_signed());
        let rule = look_up(&tables.pairs, pair);
        let outcome = look_up(&tables.outcomes, _mm512_or_si512(next, rule));
        let depends = _mm512_and_si512(outcome, all(DEPENDS));
        let more = look_up(&tables.depends, _mm512_or_si512(depends, after));
        let flags = _mm512_or_si512(outcome, more);
        Found {
            boundaries: _mm512_test_epi8_mask(flags, all(BOUNDARY)),
            unsure: _mm512_test_epi8_mask(flags, all(UNSURE)),
            spoiled_boundaries: _mm512_test_epi8_mask(flags, all(SPOILED_BOUNDARY)),
            spoiled_unsure: _mm512_test_epi8_mask(flags, all(SPOILED_UNSURE)),
            depends: _mm512_test_epi8_mask(depends, depends),
            runs: _mm512_movepi8_mask(outcome),
            spoils: _mm512_movepi8_mask(next),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! The same with AVX2, which looks 32 bytes up in a slice of sixteen at once. Called only where `Kernel::of`
    //! found it, which is all that makes the calls unsafe; memory is read and written through references to arrays.
    #![allow(unsafe_code)]

    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_adds_epu8, _mm256_and_si256,
        _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
        _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16,
        _mm256_storeu_si256, _mm256_xor_si256,
    };

    use super::super::tables::{
        BLOCK, Codes, DEPENDS, Found, MAX_KINDS, MAX_SLICES, Table, Tables, WINDOW,
    };

    /// Bytes of a register.
    const HALF: usize = 32;
    /// Room for the kinds of a window, a whole number of registers.
    const ROOM: usize = 3 * HALF;

    #[inline]
    pub(super) fn call_find_ascii(
        tables: &Tables,
        window: &[u8; WINDOW],
        at_start: bool,
    ) -> Option<Found> {
        // SAFETY: a `Kernel::Avx2` exists only where the machine has AVX2.
        unsafe { find_ascii(tables, window, at_start) }
    }

    #[inline]
    pub(super) fn call_codes(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Codes {
        // SAFETY: as above.
        unsafe { codes(tables, window, at_start) }
    }

    #[inline]
    pub(super) fn call_find(tables: &Tables, codes: &Codes) -> Found {
        // SAFETY: as above.
        unsafe { find(tables, codes) }
    }

    /// 32 of the bytes from a place on; the place is where so many are left, or else nothing is read.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8], at: usize) -> __m256i {
        let there: Option<&[u8; HALF]> = bytes.get(at..).and_then(<[u8]>::first_chunk);
        there.map_or(_mm256_setzero_si256(), |there| {
            // SAFETY: an unaligned load of 32 bytes that are there.
            unsafe { _mm256_loadu_si256(there.as_ptr().cast()) }
        })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(bytes: &mut [u8], at: usize, vector: __m256i) {
        let there: Option<&mut [u8; HALF]> = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        if let Some(there) = there {
            // SAFETY: an unaligned store to 32 bytes that are there.
            unsafe { _mm256_storeu_si256(there.as_mut_ptr().cast(), vector) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn slice(bytes: &[u8; MAX_KINDS]) -> __m256i {
        // SAFETY: an unaligned load of 16 bytes that are there.
        let bytes: __m128i = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
        _mm256_broadcastsi128_si256(bytes)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(byte: u8) -> __m256i {
        _mm256_set1_epi8(byte.cast_signed())
    }

    /// Looks indices below 128 up in the first slices of a table.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn look_up(table: &Table, n_slices: usize, index: __m256i) -> __m256i {
        let mut found = _mm256_setzero_si256();
        let (slices, _) = table.as_chunks::<MAX_KINDS>();
        for (high, bytes) in (0u8..).zip(slices).take(n_slices) {
            // 0x70 to 0x7F where the index is in this slice; elsewhere the top bit, which the shuffle makes a zero of.
            let here = _mm256_xor_si256(index, all(high << 4));
            let here = _mm256_adds_epu8(here, all(0x70));
            found = _mm256_or_si256(found, _mm256_shuffle_epi8(slice(bytes), here));
        }
        found
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn codes(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Codes {
        let mut padded = [0; ROOM];
        padded[..WINDOW].copy_from_slice(window);
        let mut kinds = [0; ROOM];
        for at in [0, HALF, 2 * HALF] {
            // The bytes of longer characters have any kind.
            let index = _mm256_and_si256(load(&padded, at), all(0x7F));
            store(&mut kinds, at, look_up(&tables.kind, MAX_SLICES, index));
        }
        let mut codes = Codes {
            pair: [0; BLOCK],
            next: [0; BLOCK],
            after: [0; BLOCK],
        };
        let (column, next) = (slice(&tables.kind_column), slice(&tables.kind_next));
        for at in [0, HALF] {
            let columns = _mm256_shuffle_epi8(column, load(&kinds, at));
            store(
                &mut codes.pair,
                at,
                _mm256_or_si256(columns, load(&kinds, at + 1)),
            );
            store(
                &mut codes.next,
                at,
                _mm256_shuffle_epi8(next, load(&kinds, at + 2)),
            );
            store(&mut codes.after, at, load(&kinds, at + 3));
        }
        if at_start {
            codes.pair[1] = tables.start_column | codes.pair[1] & 0x0F;
        }
        codes
    }

    #[target_feature(enable = "avx2")]
    fn find_ascii(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Option<Found> {
        let all = _mm256_or_si256(load(window, 0), load(window, HALF));
        let all = _mm256_or_si256(all, load(window, WINDOW - HALF));
        if _mm256_movemask_epi8(all) != 0 {
            return None;
        }
        Some(find(tables, &codes(tables, window, at_start)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn find(tables: &Tables, codes: &Codes) -> Found {
        let low = find_half(tables, codes, 0);
        let high = find_half(tables, codes, HALF);
        let [
            boundaries,
            unsure,
            spoiled_boundaries,
            spoiled_unsure,
            depends,
            runs,
            spoils,
        ] = std::array::from_fn(|which| u64::from(low[which]) | u64::from(high[which]) << HALF);
        Found {
            boundaries,
            unsure,
            spoiled_boundaries,
            spoiled_unsure,
            depends,
            runs,
            spoils,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn find_half(tables: &Tables, codes: &Codes, at: usize) -> [u32; 7] {
        let [n_columns, n_nexts, n_depends] = tables.n_slices;
        let next = load(&codes.next, at);
        let rule = look_up(&tables.pairs, n_columns, load(&codes.pair, at));
        let next_and_rule = _mm256_or_si256(_mm256_and_si256(next, all(DEPENDS)), rule);
        let outcome = look_up(&tables.outcomes, n_nexts, next_and_rule);
        let depends = _mm256_and_si256(outcome, all(DEPENDS));
        let index = _mm256_or_si256(depends, load(&codes.after, at));
        let flags = _mm256_or_si256(outcome, look_up(&tables.depends, n_depends, index));
        let tops = |bytes: __m256i| _mm256_movemask_epi8(bytes).cast_unsigned();
        // A flag below the top comes there by shifts; what comes in from the byte beside it stays below.
        let depends = _mm256_adds_epu8(depends, all(0x70));
        [
            tops(_mm256_slli_epi16::<7>(flags)),
            tops(_mm256_slli_epi16::<6>(flags)),
            tops(_mm256_slli_epi16::<5>(flags)),
            tops(_mm256_slli_epi16::<4>(flags)),
            tops(depends),
            tops(outcome),
            tops(next),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::{BLOCK, Table};
    use super::*;
    use crate::simd::Level;
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
            let codes = tables.codes(&window, at_start);
            let found = tables.find(&codes);
            for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
                let ascii = kernel.find_ascii(&tables, &window, at_start);
                prop_assert_eq!(ascii, wide.is_none().then_some(found), "{:?}", kernel);
                prop_assert_eq!(kernel.find(&tables, &codes), found, "{:?}", kernel);
                let theirs = kernel.codes(&tables, &window, at_start);
                for place in 0..BLOCK {
                    // What is near a longer character means nothing.
                    if (place..place + 4).all(|at| window[at] < 0x80) {
                        prop_assert_eq!(theirs.pair[place], codes.pair[place], "{:?}", kernel);
                        prop_assert_eq!(theirs.next[place], codes.next[place], "{:?}", kernel);
                        prop_assert_eq!(theirs.after[place], codes.after[place], "{:?}", kernel);
                    }
                }
            }
        }
    }
}
