//! How rare a token is, in whole numbers: the same on every machine, whatever its logarithm does.

/// Steps of an octave.
const STEPS_BITS: u32 = 8;

/// `256 * log2(n)`, rounded down, for n of 1 and more; 0 for 0.
///
/// The bits behind the point come one at a time: squaring doubles a logarithm, and where the square
/// is 2 or more, the bit is 1.
fn log2_steps(n: u64) -> u64 {
    let Some(whole) = n.checked_ilog2() else {
        return 0;
    };
    // 1 <= mantissa < 2 with 63 bits behind the point.
    let mut mantissa = u128::from(n) << (63 - whole);
    let mut steps = u64::from(whole);
    for _ in 0..STEPS_BITS {
        mantissa = (mantissa * mantissa) >> 63;
        steps <<= 1;
        if mantissa >> 64 > 0 {
            steps |= 1;
            mantissa >>= 1;
        }
    }
    steps
}

/// The greatest rarity, of one use in 2^32. Rarer tokens get the same rarity, so that the rarities
/// of 2^19 tokens together are less than the cost of one.
pub(super) const MAX_RARITY: u64 = (1 << 13) - 1;

/// `256 * log2(total / uses)`, at most [`MAX_RARITY`]; a token that was never used counts as used
/// half a time.
pub(super) fn rarity(uses: u64, total: u64) -> u64 {
    let octaves = match uses {
        0 => log2_steps(total) + (1 << STEPS_BITS),
        _ => log2_steps(total).saturating_sub(log2_steps(uses)),
    };
    octaves.min(MAX_RARITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn octaves_are_256_steps() {
        assert_eq!(log2_steps(0), 0);
        assert_eq!(log2_steps(1), 0);
        assert_eq!(log2_steps(2), 256);
        assert_eq!(log2_steps(1 << 40), 40 * 256);
        // log2(3) = 1.58496: 405.75 steps.
        assert_eq!(log2_steps(3), 405);
        assert_eq!(rarity(1, 1 << 30), 30 * 256);
        assert_eq!(rarity(0, 1 << 30), 31 * 256);
        assert_eq!(rarity(1, 1 << 40), MAX_RARITY);
        assert_eq!(rarity(7, 7), 0);
        assert_eq!(log2_steps(u64::MAX), 64 * 256 - 1);
    }

    proptest! {
        #[test]
        fn is_the_logarithm(n in 1_u64..u64::MAX) {
            let exact = 256.0 * (n as f64).log2();
            let steps = log2_steps(n) as f64;
            prop_assert!(steps <= exact + 1e-6 && exact < steps + 1.0 + 1e-6, "{steps} {exact}");
        }
    }
}
