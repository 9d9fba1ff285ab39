//! Hand cases of the reference, random cases against the naive twin, and long texts.

use super::*;
use crate::models::unigram::SplitMix64;
use proptest::prelude::*;

fn vocab(tokens: &[String]) -> Vocab {
    let mut vocab = Vocab::default();
    for (id, token) in (0..).zip(tokens) {
        vocab.insert(id, token.as_bytes()).unwrap();
    }
    vocab
}

fn strings(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(|&token| token.to_owned()).collect()
}

fn model(
    tokens: &[&str],
    merges: &[(&str, &str)],
    options: CharacterBpeOptions,
) -> Result<CharacterBpeModel> {
    let id = |wanted: &str| tokens.iter().position(|&token| token == wanted).unwrap() as u32;
    let merges: Vec<(u32, u32)> = merges.iter().map(|(a, b)| (id(a), id(b))).collect();
    CharacterBpeModel::new(vocab(&strings(tokens)), &merges, options)
}

fn pieces(model: &CharacterBpeModel, text: &[u8]) -> Result<Vec<(u32, usize)>> {
    let mut scratch = CharacterBpeScratch::default();
    let mut pieces = Vec::new();
    let encoded =
        model.encode_with_pieces(text, &mut scratch, |id, bytes| pieces.push((id, bytes)));
    // Both ways to encode must agree, in what they answer and in what they refuse.
    let mut ids = vec![77];
    let plain = model.encode_pretoken(text, &mut scratch, &mut ids);
    assert_eq!(encoded.is_ok(), plain.is_ok());
    encoded?;
    assert_eq!(ids[0], 77);
    assert!(ids[1..].iter().eq(pieces.iter().map(|(id, _)| id)));
    Ok(pieces)
}

/// A case: text, and expected ids with lengths.
type Case<'a> = (&'a str, &'a [(u32, usize)]);

fn check(model: &CharacterBpeModel, cases: &[Case<'_>]) {
    for (text, expected) in cases {
        assert_eq!(pieces(model, text.as_bytes()).unwrap(), *expected, "{text}");
    }
}

// Expected values in these tests: BPE.tokenize of `tokenizers` 0.23.3 with the same vocabulary and
// options.

#[test]
fn bytes_come_before_an_unknown_token_that_waits() {
    let tokens = ["<unk>", "a", "b", "ab", "<0x78>", "<0xC3>"];
    let options = |fuse_unknown| CharacterBpeOptions {
        missing: Missing::Unknown(0),
        byte_fallback: true,
        fuse_unknown,
        ..CharacterBpeOptions::default()
    };
    let separate = model(&tokens, &[("a", "b")], options(false)).unwrap();
    check(
        &separate,
        &[
            ("éxa", &[(4, 1), (0, 2), (1, 1)]),
            (
                "axébéxz",
                &[(1, 1), (4, 1), (0, 2), (2, 1), (4, 1), (0, 2), (0, 1)],
            ),
        ],
    );
    let fused = model(&tokens, &[("a", "b")], options(true)).unwrap();
    check(
        &fused,
        &[
            ("éxa", &[(4, 1), (0, 2), (1, 1)]),
            (
                "axébéxzé",
                &[(1, 1), (4, 1), (0, 2), (2, 1), (4, 1), (0, 5)],
            ),
            ("éxyé", &[(4, 1), (0, 5)]),
        ],
    );
}

#[test]
fn neighbours_of_a_character_that_is_left_out_merge() {
    let skipping = model(
        &["a", "b", "ab"],
        &[("a", "b")],
        CharacterBpeOptions::default(),
    )
    .unwrap();
    check(
        &skipping,
        &[
            ("axb", &[(2, 2)]),
            ("xxab", &[(2, 2)]),
            ("", &[]),
            ("x", &[]),
        ],
    );
    // An unknown token that is named but missing is an error only where it is needed.
    let failing = CharacterBpeOptions {
        missing: Missing::Fail,
        ..CharacterBpeOptions::default()
    };
    let failing = model(&["a", "b", "ab"], &[("a", "b")], failing).unwrap();
    check(&failing, &[("ab", &[(2, 2)])]);
    let error = pieces(&failing, "aéb".as_bytes()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unencodable { piece } if piece == "é"));
}

#[test]
fn unknown_tokens_merge_like_others() {
    let options = CharacterBpeOptions {
        missing: Missing::Unknown(2),
        ..CharacterBpeOptions::default()
    };
    let named = model(
        &["a", "b", "<unk>", "<unk>b"],
        &[("<unk>", "b")],
        options.clone(),
    )
    .unwrap();
    check(&named, &[("axb", &[(0, 1), (3, 2)])]);
    // An unknown token may even be empty, and merge to the token beside it.
    let empty = model(&["a", "b", "", "ab"], &[("a", "b"), ("", "b")], options).unwrap();
    check(&empty, &[("axb", &[(3, 3)]), ("xxb", &[(1, 3)])]);
}

#[test]
fn prefix_and_suffix() {
    let prefixed = CharacterBpeOptions {
        continuing_prefix: "##".to_owned(),
        ..CharacterBpeOptions::default()
    };
    let tokens = ["a", "##b", "ab", "#b", "##ba", "##a"];
    let continuing = model(&tokens, &[("a", "##b"), ("##b", "##a")], prefixed.clone()).unwrap();
    check(
        &continuing,
        &[("ab", &[(2, 2)]), ("aba", &[(2, 2), (5, 1)]), ("b", &[])],
    );
    // The prefix's length is cut off, not the prefix.
    assert!(model(&["a", "#xb", "ab"], &[("a", "#xb")], prefixed.clone()).is_ok());
    // Where there is less to cut, the reference panics.
    assert!(model(&["a", "b", "ab"], &[("a", "b")], prefixed).is_err());

    let suffixed = CharacterBpeOptions {
        end_of_word_suffix: "</w>".to_owned(),
        ..CharacterBpeOptions::default()
    };
    let tokens = ["a", "b</w>", "ab</w>", "b"];
    let ending = model(&tokens, &[("a", "b</w>")], suffixed).unwrap();
    check(
        &ending,
        &[
            ("ab", &[(2, 2)]),
            ("aab", &[(0, 1), (2, 2)]),
            ("b", &[(1, 1)]),
            ("ba", &[(3, 1)]),
        ],
    );
    let long = CharacterBpeOptions {
        end_of_word_suffix: "_".repeat(MAX_AFFIX_BYTES + 1),
        ..CharacterBpeOptions::default()
    };
    assert!(model(&["a"], &[], long).is_err());
}

#[test]
fn affixes_are_spelled_in_bytes_too() {
    let mut tokens = strings(&["a"]);
    tokens.extend((0..=255u8).map(|byte| format!("<0x{byte:02X}>")));
    let mut options = CharacterBpeOptions {
        byte_fallback: true,
        continuing_prefix: "#".to_owned(),
        end_of_word_suffix: "</w>".to_owned(),
        ..CharacterBpeOptions::default()
    };
    let model = CharacterBpeModel::new(vocab(&tokens), &[], options.clone()).unwrap();
    // The reference gives each byte a length of 1; here no more than the text has is given out.
    check(
        &model,
        &[
            (
                "ay",
                &[
                    (0, 1),
                    (0x24, 1),
                    (0x7A, 0),
                    (0x3D, 0),
                    (0x30, 0),
                    (0x78, 0),
                    (0x3F, 0),
                ],
            ),
            (
                "é",
                &[
                    (0xC4, 1),
                    (0xAA, 1),
                    (0x3D, 0),
                    (0x30, 0),
                    (0x78, 0),
                    (0x3F, 0),
                ],
            ),
        ],
    );
    // One byte of the suffix without a token is enough to leave the character out.
    tokens.retain(|token| token != "<0x77>");
    options.continuing_prefix.clear();
    let model = CharacterBpeModel::new(vocab(&tokens), &[], options).unwrap();
    check(&model, &[("yy", &[(0x79, 1)])]);
}

#[test]
fn the_last_of_equal_merges_counts() {
    let merges = [("a", "b"), ("b", "c"), ("a", "b")];
    let tokens = ["a", "b", "c", "ab", "bc"];
    let model = model(&tokens, &merges, CharacterBpeOptions::default()).unwrap();
    check(&model, &[("abc", &[(0, 1), (4, 2)])]);
    assert_eq!(model.merges(), [(1, 2), (0, 1)]);
}

#[test]
fn whole_pretokens() {
    let options = CharacterBpeOptions {
        whole_pretokens: true,
        ..CharacterBpeOptions::default()
    };
    let model = model(&["a", "b", "ab", "", "abab"], &[("a", "b")], options).unwrap();
    check(
        &model,
        &[
            ("abab", &[(4, 4)]),
            ("", &[]),
            ("ababa", &[(2, 2), (2, 2), (0, 1)]),
        ],
    );
}

#[test]
fn what_cannot_be_built() {
    let options = CharacterBpeOptions {
        missing: Missing::Unknown(9),
        ..CharacterBpeOptions::default()
    };
    assert!(model(&["a"], &[], options).is_err());
    let plain = CharacterBpeOptions::default;
    assert!(CharacterBpeModel::new(vocab(&strings(&["a"])), &[(0, 1)], plain()).is_err());
    assert!(model(&["a", "b"], &[("a", "b")], plain()).is_err());
}

#[test]
fn bytes_that_are_not_text_are_unknown_characters() {
    let options = CharacterBpeOptions {
        missing: Missing::Unknown(0),
        byte_fallback: true,
        ..CharacterBpeOptions::default()
    };
    let tokens = ["?", "a", "<0xFF>", "中"];
    let model = model(&tokens, &[], options).unwrap();
    assert_eq!(
        pieces(&model, b"a\xFF\xE4\xB8a\xE4\xB8\xAD\xE4").unwrap(),
        [(1, 1), (2, 1), (0, 1), (0, 1), (1, 1), (3, 3), (0, 1)]
    );
}

/// Tokens and merges over a small alphabet: every merge makes a token.
fn grow(
    first: &[String],
    choices: &[(usize, usize)],
    cut: usize,
) -> (Vec<String>, Vec<(u32, u32)>) {
    let mut tokens: Vec<String> = Vec::new();
    for token in first {
        if !tokens.contains(token) {
            tokens.push(token.clone());
        }
    }
    let mut merges = Vec::new();
    for &(left, right) in choices {
        let (left, right) = (left % tokens.len(), right % tokens.len());
        let Some(rest) = tokens[right].get(cut..) else {
            continue;
        };
        let merged = format!("{}{rest}", tokens[left]);
        if merged.len() > 24 {
            continue;
        }
        if !tokens.contains(&merged) {
            tokens.push(merged);
        }
        merges.push((left as u32, right as u32));
    }
    (tokens, merges)
}

prop_compose! {
    fn options()(
        missing in prop_oneof![
            Just(Missing::Skip), Just(Missing::Fail), Just(Missing::Unknown(0)), Just(Missing::Unknown(1)),
        ],
        fuse_unknown: bool,
        byte_fallback: bool,
        continuing_prefix in "#{0,2}",
        end_of_word_suffix in "(_|</w>)?",
        whole_pretokens: bool,
    ) -> CharacterBpeOptions {
        CharacterBpeOptions {
            missing,
            fuse_unknown,
            byte_fallback,
            continuing_prefix,
            end_of_word_suffix,
            whole_pretokens,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn equals_the_naive_twin(
        options in options(),
        first in prop::collection::vec("#{0,2}[abcé中](_|</w>)?|<unk>||<0x(61|C3|A9|FF|23|5F)>", 2..16),
        choices in prop::collection::vec((any::<usize>(), any::<usize>()), 0..30),
        texts in prop::collection::vec(
            prop::collection::vec(
                prop_oneof!["[abc]".prop_map(String::into_bytes), "[é中#x]".prop_map(String::into_bytes), Just(vec![0xFF])],
                0..90,
            ),
            1..6,
        ),
    ) {
        let (tokens, merges) = grow(&first, &choices, options.continuing_prefix.len());
        let options = CharacterBpeOptions {
            missing: match options.missing {
                Missing::Unknown(id) => Missing::Unknown(id % tokens.len() as u32),
                other => other,
            },
            ..options
        };
        let model = CharacterBpeModel::new(vocab(&tokens), &merges, options.clone()).unwrap();
        prop_assert_eq!(model.options(), &options);
        // Given back: the merges without all but the last of equal ones.
        let mut kept = merges.clone();
        let mut place = 0;
        kept.retain(|pair| {
            place += 1;
            !merges[place..].contains(pair)
        });
        prop_assert_eq!(model.merges(), kept);
        for text in texts {
            let text = text.concat();
            let expected = naive::encode(&tokens, &merges, &options, &text).map(|all| {
                let mut left = text.len();
                let covered = |(id, bytes): (u32, usize)| {
                    let bytes = bytes.min(left);
                    left -= bytes;
                    (id, bytes)
                };
                all.into_iter().map(covered).collect::<Vec<_>>()
            });
            prop_assert_eq!(pieces(&model, &text).ok(), expected, "{:?}", text);
        }
    }
}

/// Documents without any pre-tokenization: a quadratic merge would take hours here.
#[test]
fn a_megabyte_as_one_pretoken() {
    let mut tokens = strings(&["<unk>", "a", "b", "中", "文"]);
    for n in 1..6 {
        tokens.push("a".repeat(1 << n));
        tokens.push("ab".repeat(1 << (n - 1)));
        tokens.push("中文".repeat(1 << (n - 1)));
    }
    let id = |wanted: &str| tokens.iter().position(|token| token == wanted).unwrap() as u32;
    let mut merges = vec![(id("a"), id("b")), (id("中"), id("文"))];
    for n in 0..5 {
        let unit = "a".repeat(1 << n);
        merges.push((id(&unit), id(&unit)));
    }
    for n in 0..4 {
        for unit in ["ab", "中文"] {
            let unit = unit.repeat(1 << n);
            merges.push((id(&unit), id(&unit)));
        }
    }
    let options = CharacterBpeOptions {
        missing: Missing::Unknown(0),
        fuse_unknown: true,
        ..CharacterBpeOptions::default()
    };
    let model = CharacterBpeModel::new(vocab(&tokens), &merges, options).unwrap();
    let n = 1 << 20;
    let same = |unit: &str, times: usize| {
        let found = pieces(&model, unit.repeat(times).as_bytes()).unwrap();
        let (first, bytes) = found[0];
        assert!(found.iter().all(|&piece| piece == (first, bytes)), "{unit}");
        (tokens[first as usize].clone(), found.len())
    };
    assert_eq!(same("a", n), ("a".repeat(32), n / 32));
    assert_eq!(same("ab", n / 2), ("ab".repeat(16), n / 32));
    assert_eq!(same("中文", n / 8), ("中文".repeat(16), n / 128));
    assert_eq!(same("z", n), ("<unk>".to_owned(), 1));

    let mut random = SplitMix64::new(1);
    let letters = ["a", "b", "中", "文"];
    let text: String = (0..n / 2)
        .map(|_| letters[random.next_u64() as usize % letters.len()])
        .collect();
    let found = pieces(&model, text.as_bytes()).unwrap();
    let spelled: String = found
        .iter()
        .map(|piece| &*tokens[piece.0 as usize])
        .collect();
    assert!(spelled == text);
    assert!(
        found
            .iter()
            .all(|&(id, bytes)| tokens[id as usize].len() == bytes)
    );
    // Nothing is left that could merge.
    let mergeable = |pair: &[(u32, usize)]| merges.contains(&(pair[0].0, pair[1].0));
    assert!(!found.windows(2).any(mergeable));
}
