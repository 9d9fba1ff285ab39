//! The generator behind every sampled segmentation: SplitMix64.
//!
//! Small, seeded and the same on every machine, so that a sampled encoding can be repeated. It
//! follows Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
//! The reference libraries draw from unseeded or differently seeded generators: distributions
//! agree, draws do not.

/// A seeded stream of random numbers.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A stream that depends on the seed alone.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns stream number `index` of a seed. Its numbers depend on `seed` and `index` alone, so
    /// documents can be drawn in any order and on any number of threads.
    pub fn stream(seed: u64, index: u64) -> Self {
        // The state itself, without the mixing, would make a stream the next one, a number late.
        let mut of_seed = Self::new(seed.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        Self::new(of_seed.next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        // The odd integer nearest to 2^64 / golden ratio, and the mixing constants of the paper's
        // reference implementation.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in `[0, 1)` with 53 random bits.
    pub fn next_unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// An index drawn with probability in proportion to its weight; none if no weight is positive.
    pub fn choose(&mut self, weights: &[f64]) -> Option<usize> {
        let positive = |weight: f64| if weight > 0.0 { weight } else { 0.0 };
        let total: f64 = weights.iter().map(|&weight| positive(weight)).sum();
        if !(total > 0.0 && total.is_finite()) {
            return None;
        }
        let mut left = self.next_unit() * total;
        let mut last = None;
        for (index, &weight) in weights.iter().enumerate() {
            if weight > 0.0 {
                last = Some(index);
                if left < weight {
                    break;
                }
                left -= weight;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // First outputs for seed 1234567, as listed with the reference implementation
        // (https://prng.di.unimi.it/splitmix64.c, in Rosetta Code's test vector).
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn choices_follow_the_weights() {
        let mut random = SplitMix64::new(7);
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[random.choose(&[1.0, 0.0, 2.0]).unwrap()] += 1;
        }
        assert_eq!(counts[1], 0);
        // Ten standard deviations of the binomial (81.6) around its mean.
        assert!(counts[0].abs_diff(10_000) < 816, "{counts:?}");
        assert_eq!(random.choose(&[]), None);
        assert_eq!(random.choose(&[f64::NAN, 0.0]), None);
    }
}
