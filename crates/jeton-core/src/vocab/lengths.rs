//! Lengths of tokens by their beginning: most long words are no tokens by their length alone.
//!
//! A script's words are as long in any vocabulary. Its tokens are long only where the vocabulary
//! knows much of it: words of Hindi have a dozen bytes and more, cl100k's tokens of it four at
//! most. The second byte of a word tells the script; the first is a space nearly always.

/// For each second byte the length of the longest token that has it; the largest number for all
/// that are as long or longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lengths(Box<[u8; 256]>);

impl Lengths {
    /// Builds the lengths of some tokens.
    pub(super) fn of<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut longest = Box::new([0; 256]);
        for token in tokens {
            if let Some(&second) = token.get(1) {
                let longest = &mut longest[usize::from(second)];
                *longest = length(token).max(*longest);
            }
        }
        Self(longest)
    }

    /// As they are written.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0[..]
    }

    /// Reads the lengths that [`Self::bytes`] gave; None of anything else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(Box::new(bytes.try_into().ok()?)))
    }

    /// True if a word is no longer than some token that has its second byte. One of a byte may be
    /// any.
    #[inline(always)]
    pub(super) fn may_have(&self, word: &[u8]) -> bool {
        word.get(1)
            .is_none_or(|&second| length(word) <= self.0[usize::from(second)])
    }
}

#[inline(always)]
fn length(bytes: &[u8]) -> u8 {
    bytes.len().min(255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn longer_than_all_tokens_of_a_second_byte_is_none(
            tokens in prop::collection::vec(prop::collection::vec(0u8..4, 0..9), 0..20),
            word in prop::collection::vec(0u8..4, 0..9),
        ) {
            let lengths = Lengths::of(tokens.iter().map(Vec::as_slice));
            let of_same = tokens.iter().filter(|token| token.get(1) == word.get(1));
            let longest = of_same.map(Vec::len).max();
            let expected = word.len() < 2 || longest.is_some_and(|longest| word.len() <= longest);
            prop_assert_eq!(lengths.may_have(&word), expected);
            prop_assert_eq!(Lengths::from_bytes(lengths.bytes()), Some(lengths));
        }
    }

    #[test]
    fn very_long_ones_are_alike() {
        let lengths = Lengths::of([&[7; 300][..], &[8; 254]].into_iter());
        assert!(lengths.may_have(&[7; 255]) && lengths.may_have(&[7; 4000]));
        assert!(lengths.may_have(&[8; 254]) && !lengths.may_have(&[8; 255]));
        assert!(Lengths::from_bytes(&[0; 255]).is_none());
    }
}
