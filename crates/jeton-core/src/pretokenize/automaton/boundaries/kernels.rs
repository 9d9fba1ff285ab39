//! Looking the characters of a block up in the tables, with the widest instructions that the machine has.

use super::tables::{Codes, Found, Tables, WINDOW};

/// How it is done on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kernel {
    /// With the instructions that every machine has.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// All that this machine can run, the fastest first.
    pub(in super::super) fn available() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi") {
                kernels.push(Self::Avx512);
            }
        }
        kernels.push(Self::Portable);
        kernels
    }

    pub(super) fn fastest() -> Self {
        Self::available()[0]
    }

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
            Self::Avx512 => x86::avx512_find_ascii(tables, window, at_start),
        }
    }

    /// The codes of the single-byte characters of a block.
    #[inline]
    pub(super) fn codes(self, tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Codes {
        match self {
            Self::Portable => tables.codes(window, at_start),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => x86::avx512_codes(tables, window, at_start),
        }
    }

    /// What is known of places by their codes.
    #[inline]
    pub(super) fn find(self, tables: &Tables, codes: &Codes) -> Found {
        match self {
            Self::Portable => tables.find(codes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => x86::avx512_find(tables, codes),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The same with vector instructions. They are called only where `Kernel::available` found them, which is all
    //! that makes the calls unsafe; memory is read and written through references to arrays.
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
    pub(super) fn avx512_find_ascii(
        tables: &Tables,
        window: &[u8; WINDOW],
        at_start: bool,
    ) -> Option<Found> {
        // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW and VBMI.
        unsafe { find_ascii(tables, window, at_start) }
    }

    #[inline]
    pub(super) fn avx512_codes(tables: &Tables, window: &[u8; WINDOW], at_start: bool) -> Codes {
        // SAFETY: as above.
        unsafe { codes(tables, window, at_start) }
    }

    #[inline]
    pub(super) fn avx512_find(tables: &Tables, codes: &Codes) -> Found {
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

#[cfg(test)]
mod tests {
    use super::super::tables::{BLOCK, MAX_KINDS, Table};
    use super::*;
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
                    column: column.map(|byte| byte & 0x70),
                    next: next.map(|byte| byte & 0xF0),
                    pairs: pairs.map(|byte| byte & 0x0F),
                    outcomes,
                    depends: depends.map(|byte| byte & 0x0F),
                    kind_column: [0; MAX_KINDS],
                    kind_next: [0; MAX_KINDS],
                    start_column: start_column & 0x70,
                    run_kinds: 0,
                    after_run: [0; 256],
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
            for kernel in Kernel::available() {
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
