//! Windows of a text that is too long.
//!
//! Windows are half-open ranges of tokens. The first window is kept, the others overflow, and
//! neighbours share `stride` tokens. All of it equals `tokenizers` 0.23.3. Property tests here
//! compare it with a definition that takes tokens away one by one, tests in Python with the library
//! itself.

use std::ops::Range;

use super::{Side, TruncationStrategy};

/// Why two texts cannot be brought down to a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLong {
    /// The second text was to be cut, and there is none.
    NoSecondText,
    /// The text that was to be cut has no more tokens than must go.
    OtherText,
}

/// How many tokens of each of two texts are kept (0 of a second that is not there), given their
/// lengths and the room for both.
///
/// `longest_first` takes tokens from the longer text, and of two of equal length from the one that
/// was the shorter in the beginning, the first if neither was.
pub fn kept(
    first: usize,
    second: Option<usize>,
    room: usize,
    strategy: TruncationStrategy,
) -> Result<(usize, usize), TooLong> {
    let other = second.unwrap_or(0);
    let total = first.saturating_add(other);
    if total <= room {
        return Ok((first, other));
    }
    if room == 0 {
        return Ok((0, 0)); // whatever the strategy
    }
    let cut = |length: usize| {
        let rest = length.checked_sub(total - room).filter(|&rest| rest > 0);
        rest.ok_or(TooLong::OtherText)
    };
    match (strategy, second) {
        (TruncationStrategy::OnlyFirst, _) => Ok((cut(first)?, other)),
        (TruncationStrategy::OnlySecond, None) => Err(TooLong::NoSecondText),
        (TruncationStrategy::OnlySecond, Some(other)) => Ok((first, cut(other)?)),
        (TruncationStrategy::LongestFirst, None) => Ok((room, 0)),
        (TruncationStrategy::LongestFirst, Some(other)) => {
            let shorter = first.min(other).min(room / 2);
            let longer = room - shorter;
            Ok(if first <= other {
                (shorter, longer)
            } else {
                (longer, shorter)
            })
        }
    }
}

/// A window of a text, as a range of its tokens; `stride` must be below `room` for all but the
/// first.
///
/// Cutting on the right goes from the beginning to the end, on the left from the end to the
/// beginning: the last window is the one that may be shorter.
pub fn window(length: usize, room: usize, stride: usize, side: Side, index: usize) -> Range<usize> {
    let far = index.saturating_mul(room.saturating_sub(stride));
    match side {
        Side::Right => {
            let start = far.min(length);
            start..length.min(start.saturating_add(room))
        }
        Side::Left => {
            let end = length.saturating_sub(far);
            end.saturating_sub(room)..end
        }
    }
}

/// How many windows a text has.
pub fn count(length: usize, room: usize, stride: usize) -> usize {
    let step = room.saturating_sub(stride).max(1);
    1 + length.saturating_sub(room).div_ceil(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By its definition: one token after the other is taken away.
    fn naive_kept(
        first: usize,
        second: Option<usize>,
        room: usize,
        strategy: TruncationStrategy,
    ) -> Result<(usize, usize), TooLong> {
        let (mut a, mut b) = (first, second.unwrap_or(0));
        while a + b > room {
            let from_first = match strategy {
                _ if room == 0 => a > 0,
                TruncationStrategy::OnlyFirst => true,
                TruncationStrategy::OnlySecond if second.is_none() => {
                    return Err(TooLong::NoSecondText);
                }
                TruncationStrategy::OnlySecond => false,
                TruncationStrategy::LongestFirst if a == b => first <= second.unwrap_or(0),
                TruncationStrategy::LongestFirst => a > b,
            };
            let cut = if from_first { &mut a } else { &mut b };
            // One token must be left of a text that alone is cut.
            if *cut <= 1 && room > 0 && strategy != TruncationStrategy::LongestFirst {
                return Err(TooLong::OtherText);
            }
            *cut -= 1;
        }
        Ok((a, b))
    }

    /// By its definition: the first `room` tokens; then again, `stride` tokens before where that
    /// ended. On the left the same of the reversed text.
    fn naive_windows(length: usize, room: usize, stride: usize, side: Side) -> Vec<Vec<usize>> {
        let mut tokens: Vec<usize> = (0..length).collect();
        if side == Side::Left {
            tokens.reverse();
        }
        let mut found = Vec::new();
        loop {
            let mut window: Vec<usize> = tokens.iter().copied().take(room).collect();
            if side == Side::Left {
                window.reverse();
            }
            found.push(window);
            if tokens.len() <= room {
                return found;
            }
            tokens.drain(..room - stride);
        }
    }

    fn strategies() -> impl Strategy<Value = TruncationStrategy> {
        use TruncationStrategy::{LongestFirst, OnlyFirst, OnlySecond};
        prop::sample::select(vec![LongestFirst, OnlyFirst, OnlySecond])
    }

    proptest! {
        #[test]
        fn kept_equals_taking_away_one_by_one(
            first in 0..30_usize, second in prop::option::of(0..30_usize), room in 0..40_usize, strategy in strategies(),
        ) {
            prop_assert_eq!(
                kept(first, second, room, strategy),
                naive_kept(first, second, room, strategy)
            );
        }

        #[test]
        fn windows_equal_their_definition(
            length in 0..60_usize, room in 1..20_usize, stride in 0..19_usize, left: bool,
        ) {
            prop_assume!(stride < room);
            let side = if left { Side::Left } else { Side::Right };
            let fast: Vec<Vec<usize>> = (0..count(length, room, stride))
                .map(|index| window(length, room, stride, side, index))
                .map(Iterator::collect)
                .collect();
            prop_assert_eq!(fast, naive_windows(length, room, stride, side));
        }
    }

    #[test]
    fn an_odd_room_goes_to_the_longer_text_and_to_the_second_of_equals() {
        let longest = |a, b| kept(a, Some(b), 5, TruncationStrategy::LongestFirst).unwrap();
        assert_eq!(longest(9, 9), (2, 3));
        assert_eq!(longest(8, 9), (2, 3));
        assert_eq!(longest(9, 8), (3, 2));
        assert_eq!(longest(9, 1), (4, 1));
        assert_eq!(longest(0, 9), (0, 5));
    }
}
