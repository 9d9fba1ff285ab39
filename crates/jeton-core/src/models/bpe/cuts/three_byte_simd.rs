//! Cuts between characters of three bytes, sixteen at a time. Nearly all characters of Chinese,
//! Japanese, Korean, Thai and Hindi have three bytes.
//!
//! One by one each boundary takes some ninety instructions, most of them for three hashes, and then
//! waits for what the filters say of it. With AVX-512 the characters are numbers of a vector, and
//! the pairs of alphabets, or else each filter, are read at sixteen places at once.

use super::Cuts;
use crate::cpu::dispatch::Kernel;

/// Boundaries that are looked at together.
pub(super) const BLOCK_CHARACTERS: usize = 16;

/// Boundaries behind the first characters of a text that are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Decided {
    /// Number of decided boundaries.
    pub(super) n_boundaries: usize,
    /// Number of cuts among them.
    pub(super) n_cuts: usize,
}

impl Cuts {
    /// Looks at the boundaries between the characters that a text begins with, as long as they have
    /// three bytes each, up to [`BLOCK_CHARACTERS`] of them. Puts the cuts first into `ends`,
    /// counted from `at`, which is where the text is in a longer one.
    #[inline]
    pub(super) fn of_triples(
        &self,
        text: &[u8],
        at: usize,
        ends: &mut [usize; BLOCK_CHARACTERS],
    ) -> Decided {
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            // Most words begin with a space.
            Kernel::Avx512(_)
                if text.first().is_some_and(|&byte| byte >> 4 == 0xE)
                    && self.whole.bits.len() <= x86::MAX_WORDS =>
            {
                x86::call_decide(self, text, at, ends)
            }
            _ => Decided::default(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Called only where `Kernel::of` found AVX-512. Nothing but that requirement and the reads
    //! makes a call unsafe. The text is read only at bytes that it has. A filter is read only at
    //! words with numbers below its word count.
    #![allow(unsafe_code)]

    use std::arch::x86_64::{
        __m512i, _mm_cvtsi64_si128, _mm_i32gather_epi32, _mm256_i32gather_epi32, _mm512_add_epi64,
        _mm512_and_si512, _mm512_castsi128_si512, _mm512_castsi256_si512, _mm512_castsi512_si128,
        _mm512_castsi512_si256, _mm512_cmpeq_epi32_mask, _mm512_cmplt_epu32_mask,
        _mm512_cvtepi64_epi32, _mm512_cvtepu32_epi64, _mm512_extracti64x4_epi64,
        _mm512_i32gather_epi32, _mm512_inserti64x4, _mm512_loadu_si512, _mm512_mask_mov_epi32,
        _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi8, _mm512_maskz_permutexvar_epi8,
        _mm512_mul_epu32, _mm512_or_si512, _mm512_permutex2var_epi16, _mm512_set1_epi32,
        _mm512_set1_epi64, _mm512_slli_epi32, _mm512_slli_epi64, _mm512_srl_epi64,
        _mm512_srli_epi32, _mm512_srli_epi64, _mm512_srlv_epi32, _mm512_storeu_si512,
        _mm512_test_epi32_mask, _mm512_xor_si512,
    };

    use super::super::script_bitmaps::WORDS_OF_ALL_E0;
    use super::super::{Cuts, FACTOR, FOLD, Filter};
    use super::{BLOCK_CHARACTERS, Decided};

    /// Most words of a filter: numbers of bits are numbers of 32 bits here, and may not be
    /// negative.
    pub(super) const MAX_WORDS: usize = 1 << 25;

    /// Bytes of a vector.
    const WIDTH: usize = 64;

    /// Index in the text of each byte of sixteen 4-byte numbers. Number `n` holds the three-byte
    /// character `first + n`, its last byte lowest. The highest byte of each number is left out.
    const fn triples(first: usize) -> [u8; WIDTH] {
        let mut bytes = [0; WIDTH];
        let mut n = 0;
        while n < BLOCK_CHARACTERS {
            let begin = (3 * (first + n)) as u8;
            bytes[4 * n] = begin + 2;
            bytes[4 * n + 1] = begin + 1;
            bytes[4 * n + 2] = begin;
            n += 1;
        }
        bytes
    }

    static LEFT: [u8; WIDTH] = triples(0);
    static RIGHT: [u8; WIDTH] = triples(1);
    const THREE_OF_FOUR: u64 = 0x7777_7777_7777_7777;

    /// Where sixteen characters of three bytes end.
    static ENDS: [u32; BLOCK_CHARACTERS] = {
        let mut ends = [0; BLOCK_CHARACTERS];
        let mut n = 0;
        while n < BLOCK_CHARACTERS {
            ends[n] = 3 * (n as u32 + 1);
            n += 1;
        }
        ends
    };

    #[inline]
    pub(super) fn call_decide(
        cuts: &Cuts,
        text: &[u8],
        at: usize,
        ends: &mut [usize; BLOCK_CHARACTERS],
    ) -> Decided {
        debug_assert!(is_x86_feature_detected!("avx512vbmi2"));
        // SAFETY: a `Kernel::Avx512` exists only where the machine has AVX-512 BW, VBMI and VBMI2.
        unsafe { decide(cuts, text, at, ends) }
    }

    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn decide(
        cuts: &Cuts,
        text: &[u8],
        at: usize,
        ends: &mut [usize; BLOCK_CHARACTERS],
    ) -> Decided {
        let Some(alphabets) = cuts.alphabets.of_e0().filter(|_| !text.is_empty()) else {
            return Decided::default();
        };
        let there = u64::MAX >> WIDTH.saturating_sub(text.len());
        // SAFETY: bytes that are not there are not read.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(there, text.as_ptr().cast()) };
        let characters =
            |which: &[u8; WIDTH]| _mm512_maskz_permutexvar_epi8(THREE_OF_FOUR, load(which), bytes);
        let (left, right) = (characters(&LEFT), characters(&RIGHT));
        let are_triples = |characters| {
            let marks = _mm512_and_si512(characters, _mm512_set1_epi32(0xF0_C0C0));
            _mm512_cmpeq_epi32_mask(marks, _mm512_set1_epi32(0xE0_8080))
        };
        let n_boundaries = (are_triples(left) & are_triples(right)).trailing_ones();
        let decided = ((1u32 << n_boundaries) - 1) as u16;
        if decided == 0 {
            return Decided::default();
        }
        let straddled = match n_boundaries {
            0..=4 => straddled::<4>(cuts, alphabets, left, right, decided),
            5..=8 => straddled::<8>(cuts, alphabets, left, right, decided),
            _ => straddled::<BLOCK_CHARACTERS>(cuts, alphabets, left, right, decided),
        };
        let are_cuts = !straddled & decided;
        let places = _mm512_maskz_compress_epi32(are_cuts, load(&ENDS));
        let begin = _mm512_set1_epi64(at.cast_signed() as i64);
        let places = halves(places).map(|places| _mm512_add_epi64(places, begin));
        let (rooms, _) = ends.as_chunks_mut::<8>();
        for (room, places) in rooms.iter_mut().zip(places) {
            // SAFETY: room for eight numbers of 64 bits.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), places) };
        }
        Decided {
            n_boundaries: n_boundaries as usize,
            n_cuts: are_cuts.count_ones() as usize,
        }
    }

    /// Mask of the first `N` pairs that a token straddles; only the decided pairs count.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn straddled<const N: usize>(
        cuts: &Cuts,
        alphabets: &[u64; WORDS_OF_ALL_E0],
        left: __m512i,
        right: __m512i,
        decided: u16,
    ) -> u16 {
        let are_of_one = are_of_an_alphabet(left, right) & decided;
        let straddled = if are_of_one == 0 {
            straddled_by_filters::<N>(cuts, left, right)
        } else {
            let straddled = of_alphabets::<N>(alphabets, left, right);
            if are_of_one == decided {
                straddled
            } else {
                _mm512_mask_mov_epi32(
                    straddled_by_filters::<N>(cuts, left, right),
                    are_of_one,
                    straddled,
                )
            }
        };
        _mm512_test_epi32_mask(straddled, _mm512_set1_epi32(1))
    }

    /// The words of 32 bits whose numbers the first `N` of sixteen are. Most words have few
    /// boundaries, and to read sixteen takes longer than to read four (docs/log/engine-2026-11.md).
    ///
    /// # Safety
    ///
    /// Each of the first `N` numbers is at least 0 and below the count of 32-bit words.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    unsafe fn gather<const N: usize>(words: &[u64], numbers: __m512i) -> __m512i {
        const { assert!(matches!(N, 4 | 8 | BLOCK_CHARACTERS)) };
        let words = words.as_ptr().cast();
        // SAFETY: what the caller says.
        unsafe {
            match N {
                4 => {
                    let numbers = _mm512_castsi512_si128(numbers);
                    _mm512_castsi128_si512(_mm_i32gather_epi32::<4>(words, numbers))
                }
                8 => {
                    let numbers = _mm512_castsi512_si256(numbers);
                    _mm512_castsi256_si512(_mm256_i32gather_epi32::<4>(words, numbers))
                }
                _ => _mm512_i32gather_epi32::<4>(numbers, words),
            }
        }
    }

    /// Returns which of sixteen pairs are of one alphabet behind 0xE0.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn are_of_an_alphabet(left: __m512i, right: __m512i) -> u16 {
        let first = _mm512_srli_epi32::<16>(right);
        let differ = _mm512_xor_si512(left, right);
        _mm512_cmpeq_epi32_mask(first, _mm512_set1_epi32(0xE0))
            & _mm512_cmplt_epu32_mask(differ, _mm512_set1_epi32(0x200))
    }

    /// Looks the first `N` such pairs up in the bitmaps: the lowest bit of each. Other pairs get
    /// any bit.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn of_alphabets<const N: usize>(
        pairs: &[u64; WORDS_OF_ALL_E0],
        left: __m512i,
        right: __m512i,
    ) -> __m512i {
        const { assert!(WORDS_OF_ALL_E0 * 64 == 1 << (11 + 7)) };
        // Five bits of the second byte, six of the last one: four of these tell the alphabet.
        let index = |character| {
            let row = _mm512_and_si512(_mm512_srli_epi32::<2>(character), _mm512_set1_epi32(0x7C0));
            _mm512_or_si512(row, _mm512_and_si512(character, _mm512_set1_epi32(0x3F)))
        };
        let column = _mm512_and_si512(index(right), _mm512_set1_epi32(0x7F));
        let bit = _mm512_or_si512(_mm512_slli_epi32::<7>(index(left)), column);
        // SAFETY: a row index has 11 bits and a column 7, and `pairs` has 2^(11 + 7) bits.
        let words = unsafe { gather::<N>(pairs, _mm512_srli_epi32::<5>(bit)) };
        _mm512_srlv_epi32(words, _mm512_and_si512(bit, _mm512_set1_epi32(31)))
    }

    /// Looks the first `N` pairs up in the filters: the lowest bit of each.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn straddled_by_filters<const N: usize>(cuts: &Cuts, left: __m512i, right: __m512i) -> __m512i {
        let last = _mm512_and_si512(left, _mm512_set1_epi32(0xFF));
        let first = _mm512_srli_epi32::<16>(right);
        let mut straddled = has::<N>(&cuts.whole, left, right);
        straddled = _mm512_or_si512(straddled, has::<N>(&cuts.begins, left, first));
        straddled = _mm512_or_si512(straddled, has::<N>(&cuts.ends, last, right));
        let (rows, _) = cuts.both_of_triples.as_chunks::<32>();
        let [low_rows, high_rows] = rows else {
            return _mm512_set1_epi32(1);
        };
        // The number of a row in the lower half of each; what the upper halves get is not looked
        // at.
        let row = _mm512_and_si512(last, _mm512_set1_epi32(0x3F));
        let row = _mm512_permutex2var_epi16(load(low_rows), row, load(high_rows));
        let bit = _mm512_and_si512(first, _mm512_set1_epi32(0xF));
        _mm512_or_si512(straddled, _mm512_srlv_epi32(row, bit))
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn load<T, const N: usize>(table: &[T; N]) -> __m512i {
        const { assert!(size_of::<[T; N]>() == WIDTH) };
        // SAFETY: 64 bytes that are there.
        unsafe { _mm512_loadu_si512(table.as_ptr().cast()) }
    }

    /// Sixteen numbers of 32 bits as twice eight of 64 bits.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn halves(numbers: __m512i) -> [__m512i; 2] {
        [
            _mm512_cvtepu32_epi64(_mm512_castsi512_si256(numbers)),
            _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(numbers)),
        ]
    }

    /// Computes [`Filter::has`] of the first `N` pairs: the lowest bit of each.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn has<const N: usize>(filter: &Filter, left: __m512i, right: __m512i) -> __m512i {
        let (lefts, rights) = (halves(left), halves(right));
        let shift = _mm_cvtsi64_si128(i64::from(filter.shift));
        let bits = |half: usize| {
            let key = _mm512_or_si512(_mm512_slli_epi64::<32>(lefts[half]), rights[half]);
            let key = _mm512_xor_si512(key, _mm512_srli_epi64::<{ FOLD }>(key));
            _mm512_cvtepi64_epi32(_mm512_srl_epi64(product(key), shift))
        };
        let mut bit = _mm512_castsi256_si512(bits(0));
        if N > 8 {
            bit = _mm512_inserti64x4::<1>(bit, bits(1));
        }
        // SAFETY: a filter's shift leaves numbers below its count of bits. It has twice as many
        // 32-bit words as its own 64-bit words. Numbers of 32 bits suffice for `MAX_WORDS`; the
        // other two sets have fewer words.
        let words = unsafe { gather::<N>(&filter.bits, _mm512_srli_epi32::<5>(bit)) };
        _mm512_srlv_epi32(words, _mm512_and_si512(bit, _mm512_set1_epi32(31)))
    }

    /// The lower 64 bits of eight products with [`FACTOR`].
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    fn product(numbers: __m512i) -> __m512i {
        let factor = |factor: u64| _mm512_set1_epi64(factor.cast_signed());
        let (low, high) = (factor(FACTOR & 0xFFFF_FFFF), factor(FACTOR >> 32));
        let upper = _mm512_add_epi64(
            _mm512_mul_epu32(numbers, high),
            _mm512_mul_epu32(_mm512_srli_epi64::<32>(numbers), low),
        );
        _mm512_add_epi64(
            _mm512_mul_epu32(numbers, low),
            _mm512_slli_epi64::<32>(upper),
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::character;
    use super::*;
    use crate::cpu::dispatch::Level;
    use crate::vocab::Vocab;

    /// Letters of three bytes that coincide in part, and some of other lengths.
    const LETTERS: [&str; 20] = [
        "你", "佀", "侠", "日", "の", "ー", "한", "ก", "ข", "เ", "क", "你", "日", "ไ", "a", "é",
        "ê", "б", "ю", "😀",
    ];

    fn text(letters: &[usize]) -> String {
        let letters = letters
            .iter()
            .map(|&letter| LETTERS[letter % LETTERS.len()]);
        letters.collect()
    }

    /// Each boundary by itself.
    fn one_by_one(cuts: &Cuts, text: &[u8], from: usize) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut at = from;
        while let Some((left, place)) = character(text, at) {
            if let Some((right, _)) = character(text, place)
                && !cuts.straddled(left, right, text[place - 1], text[place])
            {
                ends.push(place);
            }
            at = place;
        }
        ends.push(text.len());
        ends
    }

    proptest! {
        #[test]
        fn all_kernels_cut_alike(
            tokens in prop::collection::vec((prop::collection::vec(0usize..20, 1..4), 0usize..3, 0usize..3), 0..60),
            letters in prop::collection::vec(0usize..20, 1..120),
            only_triples in any::<bool>(),
            room in 1usize..70,
            from in 0usize..120,
        ) {
            let mut vocab = Vocab::default();
            for (token, before, behind) in tokens {
                // Parts of characters at both ends.
                let token = text(&token).into_bytes();
                let token = &token[before.min(token.len() - 1)..];
                let token = &token[..token.len().saturating_sub(behind).max(1)];
                if vocab.bytes_to_id(token).is_none() {
                    vocab.insert(vocab.size(), token).unwrap();
                }
            }
            let mut cuts = Cuts::new(&vocab);
            let most = if only_triples { 14 } else { 20 };
            let letters: Vec<usize> = letters.into_iter().map(|letter| letter % most).collect();
            let from = text(&letters[..from % letters.len()]).len();
            let text = text(&letters);
            let expected = one_by_one(&cuts, text.as_bytes(), from);
            for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
                cuts.kernel = kernel;
                let (mut all, mut begin) = (Vec::new(), from);
                while begin < text.len() {
                    let mut ends = vec![0; room];
                    let n = cuts.ends(text.as_bytes(), begin, &mut ends);
                    prop_assert!((1..=room).contains(&n));
                    all.extend_from_slice(&ends[..n]);
                    begin = ends[n - 1];
                }
                prop_assert_eq!(&all, &expected);
            }
        }
    }

    #[test]
    fn sixteen_are_decided_together_where_there_are_vectors() {
        let mut cuts = Cuts::new(&Vocab::default());
        let Some(kernel) = Kernel::of(Level::Avx512) else {
            return;
        };
        cuts.kernel = kernel;
        let text = "日".repeat(17);
        let mut ends = [0; BLOCK_CHARACTERS];
        let decided = cuts.of_triples(text.as_bytes(), 5, &mut ends);
        let all = Decided {
            n_boundaries: BLOCK_CHARACTERS,
            n_cuts: BLOCK_CHARACTERS,
        };
        assert_eq!(decided, all);
        assert_eq!((ends[0], ends[15]), (8, 53));
        let decided = cuts.of_triples("日本a".as_bytes(), 0, &mut ends);
        assert_eq!((decided.n_boundaries, ends[0]), (1, 3));
        assert_eq!(cuts.of_triples(b"", 0, &mut ends), Decided::default());
        assert_eq!(
            cuts.of_triples("日\u{e9}".as_bytes(), 0, &mut ends)
                .n_boundaries,
            0
        );
    }
}
