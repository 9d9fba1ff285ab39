//! A text made UTF-8 part by part has the ids of the text, wherever its parts meet.

use proptest::prelude::*;

use super::{SIZES, Sizes};
use crate::documents::transcode::Kept;
use crate::error::ErrorKind;
use crate::special::Allow;
use crate::tokenizer::Tokenizer;
use crate::tokenizer::stretches::tests::{TOKENIZERS, ids};

/// Parts as short as they may be for places to be found between them.
const SHORT: Sizes = Sizes {
    part: 320,
    look: 290,
};

/// Joins the ids of all parts; None if two of them do not meet.
fn in_parts(
    tokenizer: &Tokenizer,
    text: Kept<'_>,
    sizes: Sizes,
    threads: usize,
) -> Option<Vec<u32>> {
    let mut whole = Vec::new();
    let mut take = |ids: &[u32]| whole.extend_from_slice(ids);
    let met = tokenizer
        .encode_parts(text, sizes, &Allow::None, threads, &mut || true, &mut take)
        .unwrap();
    met.then_some(whole)
}

#[test]
fn parts_of_prose_meet() {
    let text =
        "The cat's 11 aa\n\n  ab é中中 the (end), “they've” said 1234567 times.   ".repeat(40);
    let wide: Vec<u32> = text.chars().map(u32::from).collect();
    let pairs: Vec<u16> = text.encode_utf16().collect();
    for tokenizer in &TOKENIZERS[..3] {
        let expected = ids(tokenizer, &text);
        for more in 0..70 {
            let sizes = Sizes {
                part: SHORT.part + more,
                ..SHORT
            };
            for text in [Kept::Four(&wide), Kept::Two(&pairs)] {
                assert_eq!(
                    in_parts(tokenizer, text, sizes, 1).as_ref(),
                    Some(&expected)
                );
            }
        }
        assert_eq!(
            in_parts(tokenizer, Kept::Four(&wide), SHORT, 3),
            Some(expected)
        );
    }
}

#[test]
fn long_texts_are_encoded_and_counted_as_any() {
    let prose = "the cat's 11 aa<a>\n\n  ab é中中 the <end>ab ".repeat(9_000);
    let one_piece = "é".repeat(300_000);
    for text in [&prose, &one_piece] {
        let pairs: Vec<u16> = text.encode_utf16().collect();
        assert!(pairs.len() > 2 * SIZES.part);
        for tokenizer in &TOKENIZERS[..3] {
            for allow in [Allow::None, Allow::All] {
                let mut expected = Vec::new();
                tokenizer
                    .encode_into(text, &allow, true, &mut expected)
                    .unwrap();
                for threads in [1, 2, 5] {
                    let pairs = Kept::Two(&pairs);
                    let found =
                        tokenizer.encode_characters(pairs, &allow, true, threads, &mut || true);
                    assert!(found.unwrap() == expected);
                    let n = tokenizer.count_characters(pairs, &allow, threads, &mut || true);
                    assert_eq!(n.unwrap(), tokenizer.count(text, &allow).unwrap());
                }
            }
        }
    }
}

#[test]
fn what_is_no_text_is_said_where_it_is_and_long_work_can_be_stopped() {
    let text = "the cat's 11 中 ".repeat(30_000);
    let mut pairs: Vec<u16> = text.encode_utf16().collect();
    let tokenizer = &TOKENIZERS[0];
    let characters = Kept::Two(&pairs);
    let stopped = tokenizer.encode_characters(characters, &Allow::None, false, 1, &mut || false);
    assert!(matches!(
        stopped.unwrap_err().kind(),
        ErrorKind::Interrupted
    ));
    let at = pairs.len() - 14;
    pairs[at] = 0xD800;
    let expected = text.char_indices().nth(at).unwrap().0 as u64;
    for threads in [1, 2] {
        let pairs = Kept::Two(&pairs);
        let found = tokenizer.encode_characters(pairs, &Allow::None, false, threads, &mut || true);
        match found.unwrap_err().kind() {
            ErrorKind::InvalidUtf8 { byte_offset } => assert_eq!(*byte_offset, expected),
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    /// The naive twin is the text in one piece. Long runs are those whose ends may lie far away.
    #[test]
    fn parts_together_are_the_text(
        which in 0..TOKENIZERS.len(),
        pieces in prop::collection::vec(
            ("([ab]{0,6}|[ \n]{0,5}|[a-z' ]{0,12}|\\PC{0,4}|[0-9]{0,5}|[é中ł]{0,4}){1,6}", 1usize..90), 10..40),
        part in SHORT.part..700,
        threads in 1usize..3,
    ) {
        let tokenizer = &TOKENIZERS[which];
        let text: String = pieces.iter().map(|(piece, times)| piece.repeat(*times)).collect();
        let wide: Vec<u32> = text.chars().map(u32::from).collect();
        let sizes = Sizes { part, ..SHORT };
        if let Some(found) = in_parts(tokenizer, Kept::Four(&wide), sizes, threads) {
            prop_assert_eq!(found, ids(tokenizer, &text));
        }
    }
}
