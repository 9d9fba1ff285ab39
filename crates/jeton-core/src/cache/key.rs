//! A short pretoken as a number, which is compared at once and hashed in a few operations.

/// Masks of the first 0 to 16 bytes: one of eight bytes, one of the next eight.
static FIRST_BYTES: [[u64; 2]; 17] = {
    let mut masks = [[u64::MAX; 2]; 17];
    let mut n = 0;
    while n < 16 {
        let both = (1u128 << (n * 8)) - 1;
        masks[n] = [both as u64, (both >> 64) as u64];
        n += 1;
    }
    masks
};

/// Role of bytes for the model. Where a pretoken may be a token that merging its bytes does not
/// make, a part of a longer pretoken with equal bytes has other ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    Pretoken = 0,
    /// A bit that no length of a short pretoken has, as the next.
    Unit = 0x80,
    /// The first pretoken of a text, which stands for itself where a model puts something in front
    /// of it or takes something off.
    First = 0x40,
}

/// A short pretoken as a number of `W` times 16 bytes: its bytes, zeros, in the last byte its
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Key<const W: usize>([u128; W]);

impl<const W: usize> Key<W> {
    /// The length must fit behind the bytes.
    pub(crate) const MAX_PRETOKEN_BYTES: usize = W * 16 - 1;
    /// Key that neither a pretoken nor an empty entry has.
    pub const NONE: Self = Self([u128::MAX; W]);

    /// Key of an empty entry.
    pub(crate) const EMPTY: Self = Self([0; W]);

    /// Takes bytes of a text from a place to another; None if the number has no room for them.
    #[inline(always)]
    pub fn new(text: &[u8], start: usize, end: usize) -> Option<Self> {
        let length = end - start;
        if length > Self::MAX_PRETOKEN_BYTES {
            return None;
        }
        let mut key = [0; W];
        // Inside a text, a load of 16 bytes and a mask. At its end, the last 16 bytes. A shorter
        // text is copied.
        if let Some((_, rest)) = text.split_at_checked(start)
            && let Some(bytes) = rest.get(..W * 16)
        {
            for (index, (word, bytes)) in key.iter_mut().zip(bytes.as_chunks().0).enumerate() {
                let left = length.saturating_sub(index * 16).min(16);
                let [low, high] = FIRST_BYTES[left];
                let both = u128::from_le_bytes(*bytes);
                *word =
                    u128::from((both >> 64) as u64 & high) << 64 | u128::from(both as u64 & low);
            }
        } else if W == 1
            && let Some(last) = text.last_chunk()
        {
            let before = start + last.len() - text.len();
            let rest = u128::from_le_bytes(*last).checked_shr(before as u32 * 8);
            let [low, high] = FIRST_BYTES[length];
            key[0] = rest.unwrap_or(0) & (u128::from(high) << 64 | u128::from(low));
        } else {
            let word = &text[start..end];
            for (key, bytes) in key.iter_mut().zip(word.chunks(16)) {
                let mut padded = [0; 16];
                padded[..bytes.len()].copy_from_slice(bytes);
                *key = u128::from_le_bytes(padded);
            }
        }
        key[W - 1] |= (length as u128) << 120;
        Some(Self(key))
    }

    /// Returns the key of these bytes in a role.
    #[inline(always)]
    pub(crate) fn of(mut self, role: Role) -> Self {
        self.0[W - 1] |= (role as u128) << 120;
        self
    }

    /// Its first eight bytes.
    #[inline(always)]
    pub(crate) fn beginning(self) -> u64 {
        self.0[0] as u64
    }

    /// 0 if it equals another.
    #[inline(always)]
    pub(crate) fn differs(self, other: Self) -> u64 {
        let both = self.0.iter().zip(other.0);
        let bits = both.fold(0, |bits, (one, other)| bits | one ^ other);
        bits as u64 | (bits >> 64) as u64
    }

    /// Its numbers.
    #[inline(always)]
    pub fn numbers(self) -> [u128; W] {
        self.0
    }
}

/// Keys that tell where a pretoken is kept.
pub(crate) trait Hashed {
    /// Hash that tells the set of a pretoken, however many sets there are. An attacker can make
    /// keys that share a set; they push each other out, no more.
    fn hash(self) -> usize;
}

/// Odd factors of 32 bits for the halves of a short key's hash; their bits are as good as random.
pub(crate) const LOW_FACTOR: u32 = 0x9E37_79B1;
pub(crate) const HIGH_FACTOR: u32 = 0x85EB_CA77;

impl Hashed for Key<1> {
    /// Two products of 32 bits each, which vectors have too ([`crate::cache::key_simd`]), and both
    /// halves of them, so that the lowest bits depend on all of the key.
    #[inline(always)]
    fn hash(self) -> usize {
        let [both] = self.0;
        let folded = both as u64 ^ ((both >> 64) as u64).rotate_left(32);
        let low = (folded & u64::from(u32::MAX)) * u64::from(LOW_FACTOR);
        let products = low ^ ((folded >> 32) * u64::from(HIGH_FACTOR));
        (products ^ (products >> 32)) as usize
    }
}

impl Hashed for Key<2> {
    #[inline(always)]
    fn hash(self) -> usize {
        let [first, second] = self.0;
        mix(mix(0, first), second) as usize
    }
}

/// Mixes sixteen bytes into a hash.
#[inline(always)]
pub(crate) fn mix(hash: u64, bytes: u128) -> u64 {
    let (low, high) = (bytes as u64 ^ hash, (bytes >> 64) as u64);
    let product =
        u128::from(low ^ 0x9E37_79B9_7F4A_7C15) * u128::from(high ^ 0xD6E8_FEB8_6659_FD93);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_one_to_one(text in "\\PC{0,12}", other in "\\PC{0,12}") {
            let key = |text: &str| Key::<1>::new(text.as_bytes(), 0, text.len());
            // A longer text around the pretoken does not change the key.
            let inside = format!("{text}{other}");
            prop_assert_eq!(key(&text), Key::<1>::new(inside.as_bytes(), 0, text.len()));
            // And at the end of one.
            let behind = format!("{other}{text}");
            prop_assert_eq!(key(&text), Key::<1>::new(behind.as_bytes(), other.len(), behind.len()));
            prop_assert_eq!(key(&text) == key(&other) && key(&text).is_some(), text == other && text.len() <= 15);
        }

        #[test]
        fn long_keys_are_one_to_one(text in "\\PC{0,24}", other in "\\PC{0,24}") {
            let key = |text: &str| Key::<2>::new(text.as_bytes(), 0, text.len());
            let inside = format!("{text}{other}");
            prop_assert_eq!(key(&text), Key::<2>::new(inside.as_bytes(), 0, text.len()));
            prop_assert_eq!(key(&text) == key(&other) && key(&text).is_some(), text == other && text.len() <= 31);
        }
    }
}
