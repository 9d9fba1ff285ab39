//! The order of a row's windows, the most that rows may come to, and what is said of rows that
//! cannot be.

use super::windows::TooLong;
use super::{Truncation, TruncationStrategy};
use crate::error::{Error, ErrorKind, Result};

/// Most ids in all rows together, padding included: the range of `int32` offsets (`cu_seqlens` of
/// attention kernels). It also bounds windows that share nearly all of their tokens.
pub const MAX_IDS: u64 = i32::MAX as u64;

/// Most rows: each takes memory of its own, however few tokens it has.
pub const MAX_ROWS: usize = 1 << 27;

/// The windows of the next row: the kept ones come first, then all others in the order in which
/// `tokenizers` joins the parts of a template. There, what has overflowed meets every window of the
/// part that follows; then the kept beginning meets what overflows in that part. So the kept window
/// of a part comes last where only kept ones stand before it, and first elsewhere.
///
/// `digits` counts through all choices in that order. The last choice, the kept ones, was the first
/// row.
pub(super) fn next_windows(
    digits: &mut [usize],
    chosen: &mut [usize],
    segments: &[usize],
    counts: [usize; 2],
) -> bool {
    let were_first = chosen.iter().all(|&index| index == 0);
    if !were_first {
        // One up, the last part being the quickest.
        let mut all_through = true;
        for (digit, &which) in digits.iter_mut().zip(segments).rev() {
            *digit += 1;
            if *digit < counts[which] {
                all_through = false;
                break;
            }
            *digit = 0;
        }
        if all_through {
            return false;
        }
    }
    let mut only_kept = true;
    for ((index, &digit), &which) in chosen.iter_mut().zip(&*digits).zip(segments) {
        *index = if only_kept {
            (digit + 1) % counts[which]
        } else {
            digit
        };
        only_kept &= *index == 0;
    }
    !only_kept
}

pub(super) fn too_many_rows() -> Error {
    ErrorKind::TooLarge {
        what: "the number of rows, windows included,",
        limit: MAX_ROWS as u64,
    }
    .into()
}

pub(super) fn check_ids(n_ids: u64) -> Result<()> {
    if n_ids <= MAX_IDS {
        return Ok(());
    }
    Err(ErrorKind::TooLarge {
        what: "the number of ids in all rows, padding and overlaps included,",
        limit: MAX_IDS,
    }
    .into())
}

pub(super) fn fewer_seconds() -> Error {
    Error::usage("there are fewer second texts than first ones; expected one for each")
}

pub(super) fn no_room(index: usize, which: usize, room: usize, how: &Truncation) -> Error {
    let (first, second) = ("first", "second");
    let name = if which == 0 { first } else { second };
    Error::usage(format!(
        "only {room} tokens of the {name} text of input {index} fit into max_length {}, and windows share stride {}: \
         expected more room than that\n\
         hint: a larger max_length, a smaller stride, or overflow=False",
        how.max_length, how.stride
    ))
}

pub(super) fn too_long(
    why: TooLong,
    index: usize,
    lengths: (usize, Option<usize>),
    room: usize,
    how: &Truncation,
) -> Error {
    let name = how.strategy.name();
    let (first, second) = (lengths.0, lengths.1.unwrap_or(0));
    Error::usage(match why {
        TooLong::NoSecondText => format!(
            "input {index} has {first} tokens and there is room for {room}, but truncation is \"{name}\" and there is no \
             second text\n\
             hint: truncation=\"longest_first\" or \"only_first\""
        ),
        TooLong::OtherText => {
            let other = match how.strategy {
                TruncationStrategy::OnlyFirst => "second",
                _ => "first",
            };
            format!(
                "input {index} has {first} and {second} tokens and there is room for {room}: truncation \"{name}\" would \
                 leave nothing of its text, for the {other} one alone takes it all\n\
                 hint: truncation=\"longest_first\", or a larger max_length"
            )
        }
    })
}

pub(super) fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A place in an array, from offsets that are never negative.
pub(super) fn to_index(offset: i64) -> usize {
    usize::try_from(offset).unwrap_or(0)
}
