//! Unigram segmentation against all paths, n-best order, and the distribution of samples.

use super::naive::all_paths;
use super::*;
use proptest::prelude::*;

fn piece(text: &str, score: f32, kind: PieceKind) -> Piece {
    Piece {
        bytes: text.into(),
        score,
        kind,
    }
}

/// Scores are multiples of 1/64, so that sums of a few are exact in both precisions.
fn spm(pieces: &[(String, i8)]) -> UnigramModel {
    let mut all = vec![piece("<unk>", 0.0, PieceKind::Unknown)];
    for (text, score) in pieces {
        if all.iter().all(|p| p.bytes != text.as_bytes()) {
            all.push(piece(text, f32::from(*score) / 64.0, PieceKind::Normal));
        }
    }
    UnigramModel::from_pieces(&all, false).unwrap()
}

fn hf(pieces: &[(String, i8)]) -> UnigramModel {
    let mut all = vec![("<unk>".to_owned(), 0.0)];
    for (text, score) in pieces {
        if all.iter().all(|p| p.0 != *text) {
            all.push((text.clone(), f64::from(*score) / 64.0));
        }
    }
    UnigramModel::from_scored(&all, Some(0), false).unwrap()
}

fn encode(model: &UnigramModel, text: &str) -> Vec<SpannedId> {
    let mut out = Vec::new();
    let scratch = &mut UnigramScratch::default();
    model
        .encode_with_pieces(text.as_bytes(), scratch, &mut out)
        .unwrap();
    let mut ids = Vec::new();
    model
        .encode_pretoken(text.as_bytes(), scratch, &mut ids)
        .unwrap();
    assert!(ids.iter().eq(out.iter().map(|spanned| &spanned.id)));
    out
}

fn spanned(id: u32, start: u32, end: u32) -> SpannedId {
    SpannedId { id, start, end }
}

#[test]
fn unknown_text_is_one_id() {
    for model in [spm(&[("a".into(), -1)]), hf(&[("a".into(), -1)])] {
        assert_eq!(
            encode(&model, "xéaz"),
            [spanned(0, 0, 3), spanned(1, 3, 4), spanned(0, 4, 5)]
        );
        assert_eq!(encode(&model, ""), []);
    }
}

#[test]
fn bytes_share_their_character() {
    let mut pieces = vec![piece("a", -1.0, PieceKind::Normal)];
    pieces.extend((0..256).map(|b| piece(&format!("<0x{b:02X}>"), 0.0, PieceKind::Byte)));
    // No unknown piece at all: allowed where there are bytes.
    let model = UnigramModel::from_pieces(&pieces, true).unwrap();
    assert_eq!(
        encode(&model, "éa"),
        [
            spanned(1 + 0xC3, 0, 2),
            spanned(1 + 0xA9, 0, 2),
            spanned(0, 2, 3)
        ]
    );
    let mut scored = vec![("<unk>".to_owned(), 0.0)];
    scored.extend((0..256).map(|b| (format!("<0x{b:02X}>"), -9.0)));
    let model = UnigramModel::from_scored(&scored, Some(0), true).unwrap();
    // In `tokenizers` the bytes share the whole unknown stretch.
    let stretch = |byte: u32| spanned(1 + byte, 0, 3);
    assert_eq!(
        encode(&model, "éz"),
        [stretch(0xC3), stretch(0xA9), stretch(0x7A)]
    );
}

#[test]
fn user_defined_pieces_win_and_unused_ones_do_not_exist() {
    let pieces = [
        piece("<unk>", 0.0, PieceKind::Unknown),
        piece("a", -1.0, PieceKind::Normal),
        piece("b", -1.0, PieceKind::Normal),
        piece("ab", -9.0, PieceKind::UserDefined),
        piece("bb", -0.5, PieceKind::Unused),
        piece("aa", -0.5, PieceKind::Control),
    ];
    let model = UnigramModel::from_pieces(&pieces, false).unwrap();
    let ids: Vec<u32> = encode(&model, "aabbb").iter().map(|s| s.id).collect();
    assert_eq!(ids, [1, 3, 2, 2]);
}

#[test]
fn hf_without_an_unknown_id_refuses_unknown_text() {
    let model = UnigramModel::from_scored(&[("a", -1.0)], None, false).unwrap();
    let mut ids = Vec::new();
    let scratch = &mut UnigramScratch::default();
    assert!(model.encode_pretoken(b"ab", scratch, &mut ids).is_err());
    assert!(
        model
            .sample(b"ab", 1.0, &mut SplitMix64::new(0), &mut ids)
            .is_err()
    );
    assert!(model.nbest(b"ab", 2).is_err());
    assert!(UnigramModel::from_scored(&[("a", 0.0)], Some(1), false).is_err());
}

#[test]
fn ties_go_to_the_segment_that_starts_first() {
    let pieces: Vec<(String, i8)> = [("a", -64), ("aa", -128), ("aaa", -127)]
        .map(|(text, score)| (text.to_owned(), score))
        .to_vec();
    for model in [spm(&pieces), hf(&pieces)] {
        assert_eq!(encode(&model, "aa"), [spanned(2, 0, 2)]);
        assert_eq!(encode(&model, "aaaa"), [spanned(1, 0, 1), spanned(3, 1, 4)]);
    }
}

#[test]
fn precision_does_not_run_out_on_long_texts() {
    // Unknown characters cost 12 each: the sum reaches -1.2 million, where `f32` has steps of 1/8
    // and scores here are multiples of 1/64. Sums taken anew from zero stay exact.
    let pieces: Vec<(String, i8)> = [
        ("a", -127),
        ("b", -113),
        ("ab", -121),
        ("ba", -126),
        ("aab", -125),
        ("bb", -128),
    ]
    .map(|(text, score)| (text.to_owned(), score))
    .to_vec();
    let mut random = SplitMix64::new(1);
    let text: String = (0..200_000)
        .map(|_| ['x', 'y', 'a', 'b'][(random.next_u64() >> 62) as usize])
        .collect();
    assert_eq!(encode(&spm(&pieces), &text), encode(&hf(&pieces), &text));
}

#[test]
fn draws_follow_the_probabilities() {
    let pieces: Vec<(String, i8)> = [
        ("a", -20),
        ("b", -60),
        ("ab", -70),
        ("ba", -90),
        ("aba", -120),
    ]
    .map(|(text, score)| (text.to_owned(), score))
    .to_vec();
    for (model, alpha) in [(spm(&pieces), 1.0), (hf(&pieces), 0.3), (spm(&pieces), 0.0)] {
        let text = b"abab";
        let paths = all_paths(&model, text);
        let total: f64 = paths.iter().map(|(_, score)| (alpha * score).exp()).sum();
        let n = 20_000.0;
        let mut random = SplitMix64::new(11);
        let mut random_nbest = SplitMix64::new(12);
        let mut counts = vec![[0.0; 2]; paths.len()];
        for _ in 0..20_000 {
            let (mut ids, mut best_ids) = (Vec::<u32>::new(), Vec::<u32>::new());
            model.sample(text, alpha, &mut random, &mut ids).unwrap();
            model
                .sample_nbest(text, 1000, alpha, &mut random_nbest, &mut best_ids)
                .unwrap();
            for (which, ids) in [ids, best_ids].iter().enumerate() {
                let path = paths
                    .iter()
                    .position(|(path, _)| path.iter().map(|s| s.0).eq(ids.iter().copied()));
                counts[path.unwrap()][which] += 1.0;
            }
        }
        for ((_, score), counts) in paths.iter().zip(counts) {
            let p = (alpha * score).exp() / total;
            for count in counts {
                // Six standard deviations of a binomial count.
                let tolerance = 6.0 * (n * p * (1.0 - p)).sqrt();
                assert!((count - n * p).abs() < tolerance, "{count} {}", n * p);
            }
        }
    }
}

#[test]
fn a_long_text_has_n_best_paths_too() {
    let pieces: Vec<(String, i8)> = ["a", "aa", "aaa", "aaaa"]
        .iter()
        .map(|text| ((*text).to_owned(), -64))
        .collect();
    let text = "a".repeat(3000);
    for model in [spm(&pieces), hf(&pieces)] {
        let best = model.nbest(text.as_bytes(), 16).unwrap();
        assert_eq!(best[0].0.len(), 750);
        assert!(best.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    }
}

fn vocabulary() -> impl Strategy<Value = Vec<(String, i8)>> {
    prop::collection::vec(("[abé▁]{1,4}", -128i8..0), 1..20)
}

proptest! {
    #[test]
    fn the_best_path_is_the_best(pieces in vocabulary(), text in "[abé▁x]{0,9}") {
        for model in [spm(&pieces), hf(&pieces)] {
            let paths = all_paths(&model, text.as_bytes());
            let best = paths.iter().map(|path| path.1).fold(f64::NEG_INFINITY, f64::max);
            let mut expected: Vec<Vec<SpannedId>> = Vec::new();
            for (path, score) in &paths {
                if score.total_cmp(&best).is_eq() {
                    let mut ids = Vec::new();
                    model.emit_segments(text.as_bytes(), path.iter().copied(), &mut ids).unwrap();
                    expected.push(ids);
                }
            }
            prop_assert!(expected.contains(&encode(&model, &text)));
            // Every candidate for the last segment that starts later scores less: ties go to the
            // left.
            if let [first, ..] = &expected[..] && expected.len() == 1 {
                prop_assert_eq!(&encode(&model, &text), first);
            }
        }
    }

    #[test]
    fn n_best_are_the_n_best(pieces in vocabulary(), text in "[abé▁x]{1,8}", n in 1..30usize) {
        for model in [spm(&pieces), hf(&pieces)] {
            let mut expected: Vec<f64> =
                all_paths(&model, text.as_bytes()).iter().map(|path| path.1).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            expected.truncate(n);
            let found = model.nbest(text.as_bytes(), n).unwrap();
            let scores: Vec<f64> = found.iter().map(|path| path.1).collect();
            prop_assert_eq!(scores, expected);
            prop_assert!(found.iter().all(|path| path.0.last().unwrap().end as usize == text.len()));
        }
    }

    #[test]
    fn both_flavors_agree_where_sums_are_exact(pieces in vocabulary(), text in "[abé▁x]{0,40}") {
        // The unknown piece has a score of its own in `tokenizers`; below all others it does not
        // count.
        let least = pieces.iter().map(|piece| piece.1).min().unwrap();
        prop_assume!(least < 0);
        prop_assert_eq!(encode(&spm(&pieces), &text), encode(&hf(&pieces), &text));
    }

    #[test]
    fn any_bytes_are_encoded(pieces in vocabulary(), text in prop::collection::vec(any::<u8>(), 0..60)) {
        let model = spm(&pieces);
        let mut out = Vec::new();
        model.encode_with_pieces(&text, &mut UnigramScratch::default(), &mut out).unwrap();
        let mut at = 0;
        for spanned in out {
            prop_assert_eq!(spanned.start, at);
            at = spanned.end;
        }
        prop_assert_eq!(at as usize, text.len());
    }
}
