//! Level of vector instructions: the widest of the machine, or the one that `JETON_SIMD` names.
#![allow(unsafe_code)] // calls of functions that are compiled for more than every machine has

use std::sync::atomic::{AtomicU8, Ordering};

/// Instruction sets that loops are compiled for, the narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Instructions that every machine of this architecture has.
    Portable,
    /// x86-64 with AVX2 and BMI (x86-64-v3): most machines since 2013.
    Avx2,
    /// x86-64 with AVX-512 BW, VBMI and VBMI2 as well: servers since Ice Lake and Zen 4.
    Avx512,
}

impl Level {
    /// All of them, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

static LIMIT: AtomicU8 = AtomicU8::new(Level::Avx512 as u8);

/// Uses nothing wider from now on, in tokenizers that are made later. For tests and measurements:
/// the widest is the fastest.
pub fn set_limit(level: Level) {
    LIMIT.store(level as u8, Ordering::Relaxed);
}

/// The widest that the machine has.
fn detected() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let has_v3 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let has_v4 = is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        if has_v3 && has_v4 {
            return Level::Avx512;
        }
        if has_v3 {
            return Level::Avx2;
        }
    }
    Level::Portable
}

/// Returns the level to use.
#[inline]
pub fn level() -> Level {
    let limit = LIMIT.load(Ordering::Relaxed);
    let detected = detected();
    Level::ALL[usize::from(limit.min(detected as u8))]
}

/// The vector code that loops may use: only [`Kernel::of`] and [`Kernel::fastest`] make one, so
/// that who holds one may call what is compiled for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// With the instructions that every machine has.
    Portable,
    /// With AVX2 and the instructions on bits that come with it.
    #[cfg(target_arch = "x86_64")]
    Avx2(Detected),
    /// With AVX-512 on bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512(Detected),
}

/// Shows that the machine has the instructions: nothing but [`Kernel::of`] makes one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected(());

impl Kernel {
    /// Returns the kernel for `wanted`, if the CPU has it.
    pub fn of(wanted: Level) -> Option<Self> {
        if wanted > level() {
            return None;
        }
        match wanted {
            Level::Portable => Some(Self::Portable),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Some(Self::Avx2(Detected(()))),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Some(Self::Avx512(Detected(()))),
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => None,
        }
    }

    /// Returns the fastest level that may be used.
    pub fn fastest() -> Self {
        Self::of(level()).unwrap_or(Self::Portable)
    }
}

/// Gathers the lowest bit of each of eight bytes into one byte.
#[inline]
pub(crate) fn gather_bits(bytes: u64) -> u64 {
    // Bit 8i goes to bit 56 + i; no two of them meet below.
    (bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Work that is compiled more than once: for every machine, and for machines that count bits in one
/// instruction or have wide vectors.
pub trait Work {
    /// Result of the work.
    type Output;

    /// Does it. To be `#[inline(always)]`, and so must be all that it calls and that shall gain
    /// from the instructions: what is not inlined is compiled for every machine.
    fn run(self) -> Self::Output;
}

/// Does work, with instructions on bits where the kernel may use them. Not with wider vectors: the
/// compiler would use them for loops over the bits of one number, and those become slower.
#[inline]
pub fn run_at<W: Work>(kernel: Kernel, work: W) -> W::Output {
    match kernel {
        Kernel::Portable => work.run(),
        // SAFETY: this kernel exists only where the machine has what the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2(_) | Kernel::Avx512(_) => unsafe { with_bits(work) },
    }
}

/// Does work whose loops over bits are written with vectors: with all instructions that the kernel
/// may use.
#[inline]
pub(crate) fn run_wide<W: Work>(kernel: Kernel, work: W) -> W::Output {
    match kernel {
        // SAFETY: this kernel exists only where the machine has what the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512(_) => unsafe { with_vectors(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2(_) => unsafe { with_avx2(work) },
        Kernel::Portable => work.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt,avx512bw,avx512vbmi,avx512vbmi2")]
fn with_vectors<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt,avx2")]
fn with_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn with_bits<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct CountOnes(u64);

    impl Work for CountOnes {
        type Output = u32;

        #[inline(always)]
        fn run(self) -> u32 {
            self.0.count_ones()
        }
    }

    #[test]
    fn a_kernel_is_within_the_level() {
        for wanted in Level::ALL {
            assert_eq!(Kernel::of(wanted).is_some(), wanted <= level());
        }
        assert_eq!(Some(Kernel::fastest()), Kernel::of(level()));
    }

    #[test]
    fn bits_are_gathered_from_any_bytes() {
        for expected in 0..=u8::MAX {
            for others in [0, 0x2A, 0xFE] {
                let bytes = std::array::from_fn(|i| others | expected >> i & 1);
                assert_eq!(gather_bits(u64::from_le_bytes(bytes)), u64::from(expected));
            }
        }
    }

    #[test]
    fn every_level_runs() {
        for kernel in Level::ALL.into_iter().filter_map(Kernel::of) {
            assert_eq!(run_at(kernel, CountOnes(0b1011)), 3);
        }
    }
}
