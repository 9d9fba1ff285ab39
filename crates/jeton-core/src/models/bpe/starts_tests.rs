//! Merging that begins with characters against merging by definition.

use super::super::cuts::tests::LETTERS;
use super::super::{BpeModel, BpeScratch, Merges, Missing, naive};
use super::*;
use crate::models::Model;
use crate::vocab::Vocab;
use proptest::prelude::*;

/// All bytes, and tokens that merges make of any bytes of the letters, halves of characters above
/// all. `backwards`: by falling ids, as no training would number them.
fn model(letters: &[&str], choices: &[(usize, usize)], by_rank: bool, backwards: bool) -> BpeModel {
    let mut bytes = Vocab::default();
    for byte in 0..=255u8 {
        bytes.insert(u32::from(byte), &[byte]).unwrap();
    }
    let used: Vec<u8> = letters.concat().into_bytes();
    let mut vocab = bytes.clone();
    let list = naive::drawn_merges(&mut vocab, &used, choices, 16);
    if backwards {
        let made = vocab.iter().filter(|&(id, _)| id >= 256);
        let tokens: Vec<Vec<u8>> = made.map(|(_, token)| token.to_vec()).collect();
        vocab = bytes;
        for (id, token) in (256..).zip(tokens.iter().rev()) {
            vocab.insert(id, token).unwrap();
        }
    }
    let merges = if by_rank || backwards {
        Merges::ByRank
    } else {
        Merges::List(list)
    };
    BpeModel::new(vocab, &merges, false, Missing::Fail).unwrap()
}

/// Ids of a segment by the definition of merging.
fn naively(model: &BpeModel, unit: &[u8]) -> Vec<u32> {
    match model.merges() {
        Merges::ByRank => naive::encode_by_rank(model.vocab(), unit),
        Merges::List(list) => naive::encode_by_list(model.vocab(), &list, unit),
    }
}

proptest! {
    #[test]
    fn beginning_with_characters_ends_as_beginning_with_bytes(
        choices in prop::collection::vec((any::<usize>(), any::<usize>()), 0..80),
        texts in prop::collection::vec(
            prop::collection::vec(prop::sample::select(&LETTERS[..]), 1..30), 1..20),
        by_rank in any::<bool>(),
        backwards in prop::bool::weighted(0.2),
    ) {
        let model = model(&LETTERS, &choices, by_rank, backwards);
        let table = model.table().unwrap();
        // Its cuts are made, as they are when texts with such letters come.
        let cuts = model.cuts();
        let (mut starts, mut scratch) = (Starts::default(), BpeScratch::default());
        for text in texts {
            let unit = text.concat().into_bytes();
            let expected = naively(&model, &unit);
            if table.is_in_order() {
                let mut ids = Vec::new();
                if starts.merge(table, cuts, &unit, &mut ids) {
                    prop_assert_eq!(&ids, &expected);
                } else {
                    prop_assert!(unit.len() > merge_scalar::MAX_SYMBOLS);
                    prop_assert!(ids.is_empty());
                }
            }
            let mut ids = Vec::new();
            model.encode_segment(&unit, &mut scratch, &mut ids).unwrap();
            prop_assert_eq!(ids, expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Few letters: tokens with halves of them come early and late, and segments begin with all.
    #[test]
    fn characters_begin_whole_where_nothing_comes_before(
        choices in prop::collection::vec((any::<usize>(), any::<usize>()), 0..24),
        texts in prop::collection::vec(
            prop::collection::vec(prop::sample::select(&["a", "b", "é", "ê"][..]), 1..7), 1..40),
        by_rank in any::<bool>(),
    ) {
        let model = model(&["a", "b", "é", "ê"], &choices, by_rank, false);
        let (table, cuts) = (model.table().unwrap(), model.cuts());
        let mut starts = Starts::default();
        for text in texts.iter().filter(|_| table.is_in_order()) {
            let unit = text.concat().into_bytes();
            let mut ids = Vec::new();
            prop_assert!(starts.merge(table, cuts, &unit, &mut ids));
            prop_assert_eq!(ids, naively(&model, &unit));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Few letters again, and most words of one alphabet. The second pass uses pairs of the first.
    #[test]
    fn words_of_letters_end_as_beginning_with_bytes(
        choices in prop::collection::vec((any::<usize>(), any::<usize>()), 0..24),
        words in prop::collection::vec((
            any::<bool>(),
            prop::collection::vec(prop::sample::select(&[0, 1, 2, 0, 1, 2, 3][..]), 1..40),
        ), 1..20),
        by_rank in any::<bool>(),
    ) {
        let letters = ["б", "ю", "ш", "ب"];
        let model = model(&[&letters[..3], &[" "]].concat(), &choices, by_rank, false);
        let (table, cuts) = (model.table().unwrap(), model.cuts());
        let mut starts = Starts::default();
        for (has_space, word) in words.iter().filter(|_| table.is_in_order()) {
            let word: String = word.iter().map(|&letter| letters[letter]).collect();
            let unit = [if *has_space { " " } else { "" }, &word].concat().into_bytes();
            let expected = naively(&model, &unit);
            for _ in 0..2 {
                let mut ids = vec![7];
                if starts.merge(table, cuts, &unit, &mut ids) {
                    prop_assert_eq!(&ids[1..], &expected);
                } else {
                    prop_assert!(unit.len() > merge_scalar::MAX_SYMBOLS);
                    prop_assert_eq!(ids, [7]);
                }
            }
        }
    }
}

/// The tokens of these pairs of bytes or of tokens that there are by then.
fn with_tokens(tokens: &[&[u8]]) -> BpeModel {
    let mut vocab = Vocab::default();
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let tokens = tokens.iter().map(|token| token.to_vec());
    for (id, token) in (0..).zip(bytes.chain(tokens)) {
        vocab.insert(id, &token).unwrap();
    }
    BpeModel::new(vocab, &Merges::ByRank, false, Missing::Fail).unwrap()
}

fn seeded(model: &BpeModel, text: &str) -> Vec<u32> {
    let mut seeded = MergeSeed::default();
    let (table, cuts) = (model.table().unwrap(), Cuts::new(model.vocab()));
    assert!(table.is_in_order());
    assert!(Starts::default().begin(table, &cuts, text.as_bytes(), &mut seeded));
    seeded.symbols().to_vec()
}

#[test]
fn characters_begin_as_what_they_are_alone() {
    // 256: half of 你 and of 佀; 257: 你; 258: 你你.
    let model = with_tokens(&[b"\xE4\xBD", "你".as_bytes(), "你你".as_bytes()]);
    assert_eq!(seeded(&model, "a你佀é"), [97, 257, 256, 0x80, 0xC3, 0xA9]);
    // With a token of 你 and the first byte of é, é begins as its bytes, if that token comes before
    // é.
    let half: [&[u8]; 2] = [b"\xE4\xBD", "你".as_bytes()];
    let (token, letter): (&[u8], _) = (b"\xE4\xBD\xA0\xC3", "é".as_bytes());
    let model = with_tokens(&[half[0], half[1], token, letter]);
    assert_eq!(seeded(&model, "你é佀é"), [257, 0xC3, 0xA9, 256, 0x80, 259]);
    let model = with_tokens(&[half[0], half[1], letter, token]);
    assert_eq!(seeded(&model, "你é佀é"), [257, 258, 256, 0x80, 258]);
    // And with one of the last byte of 你 and é, 你 does.
    let token: &[u8] = b"\xA0\xC3\xA9";
    let model = with_tokens(&[half[0], letter, token, half[1]]);
    assert_eq!(
        seeded(&model, "你é佀é"),
        [0xE4, 0xBD, 0xA0, 257, 256, 0x80, 257]
    );
    let model = with_tokens(&[half[0], half[1], letter, token]);
    assert_eq!(seeded(&model, "你é佀é"), [257, 258, 256, 0x80, 258]);
}

#[test]
fn what_is_not_in_order_is_said_to_be_so() {
    let is_in_order = |tokens: &[&[u8]]| with_tokens(tokens).table().unwrap().is_in_order();
    assert!(is_in_order(&[b"ab", b"abc"]));
    assert!(!is_in_order(&[b"abc", b"ab"]));
}
