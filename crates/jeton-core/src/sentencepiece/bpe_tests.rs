//! SentencePiece's BPE against its naive twin, and its dropout.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap as Splits;

fn piece(text: &str, score: f32, kind: PieceKind) -> Piece {
    Piece {
        bytes: text.into(),
        score,
        kind,
    }
}

/// The rules said plainly, on strings: (id or none, text) of each piece. Quadratic.
///
/// An unused piece is taken apart by the split seen last. Pairs are looked at in SentencePiece's
/// order: first all from the left, then the left and the right neighbour of each merge.
fn naive(pieces: &[Piece], text: &str) -> Vec<(Option<u32>, String)> {
    let find = |text: &str| {
        let mut all = pieces.iter().zip(0u32..);
        all.find(|(piece, _)| piece.bytes == text.as_bytes())
    };
    let mergeable = |text: &str| find(text).filter(|(piece, _)| piece.is_matched());
    // (text, frozen), and for each pair that was seen the round in which it was.
    let mut symbols: Vec<(String, bool)> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let user_defined = pieces
            .iter()
            .filter(|p| p.kind == PieceKind::UserDefined && rest.as_bytes().starts_with(&p.bytes))
            .map(|p| p.bytes.len())
            .max();
        let length = user_defined.unwrap_or(c.len_utf8());
        symbols.push((rest[..length].to_owned(), user_defined.is_some()));
        rest = &rest[length..];
    }
    let mut splits: Splits<String, (String, String)> = Splits::new();
    let mut look = |left: &(String, bool), right: &(String, bool)| {
        let both = format!("{}{}", left.0, right.0);
        if !left.1
            && !right.1
            && mergeable(&both).is_some_and(|(piece, _)| piece.kind == PieceKind::Unused)
        {
            splits.insert(both, (left.0.clone(), right.0.clone()));
        }
    };
    for pair in symbols.windows(2) {
        look(&pair[0], &pair[1]);
    }
    loop {
        let mut best: Option<(usize, f32)> = None;
        for (i, pair) in symbols.windows(2).enumerate() {
            if pair[0].1 || pair[1].1 {
                continue;
            }
            if let Some((piece, _)) = mergeable(&format!("{}{}", pair[0].0, pair[1].0))
                && best.is_none_or(|(_, score)| piece.score > score)
            {
                best = Some((i, piece.score));
            }
        }
        let Some((i, _)) = best else { break };
        let right = symbols.remove(i + 1);
        symbols[i].0.push_str(&right.0);
        if i > 0 {
            look(&symbols[i - 1], &symbols[i]);
        }
        if i + 1 < symbols.len() {
            look(&symbols[i], &symbols[i + 1]);
        }
    }
    let mut out = Vec::new();
    for (text, _) in &symbols {
        take_apart(
            text,
            &|text| find(text).map(|(p, id)| (p.kind, id)),
            &splits,
            &mut out,
        );
    }
    out
}

fn take_apart(
    text: &str,
    find: &dyn Fn(&str) -> Option<(PieceKind, u32)>,
    splits: &Splits<String, (String, String)>,
    out: &mut Vec<(Option<u32>, String)>,
) {
    match (find(text), splits.get(text)) {
        (Some((PieceKind::Unused, _)), Some((left, right))) => {
            take_apart(left, find, splits, out);
            take_apart(right, find, splits, out);
        }
        (Some((PieceKind::Normal | PieceKind::UserDefined, id)), _) => {
            out.push((Some(id), text.to_owned()));
        }
        _ => out.push((None, text.to_owned())),
    }
}

fn fused(pieces: Vec<(Option<u32>, String)>) -> Vec<SpannedId> {
    let mut out: Vec<SpannedId> = Vec::new();
    let mut at = 0;
    let mut after_unknown = false;
    for (id, text) in pieces {
        let end = at + text.len() as u32;
        match out.last_mut() {
            Some(last) if id.is_none() && after_unknown => last.end = end,
            _ => out.push(SpannedId {
                id: id.unwrap_or(0),
                start: at,
                end,
            }),
        }
        after_unknown = id.is_none();
        at = end;
    }
    out
}

fn encode(model: &SpmBpe, text: &str) -> Vec<SpannedId> {
    let mut out = Vec::new();
    let scratch = &mut SpmBpeScratch::default();
    model
        .encode_with_pieces(text.as_bytes(), scratch, &mut out)
        .unwrap();
    let mut ids = Vec::new();
    model.encode(text.as_bytes(), scratch, &mut ids).unwrap();
    assert!(ids.iter().eq(out.iter().map(|spanned| &spanned.id)));
    out
}

fn kind() -> impl Strategy<Value = PieceKind> {
    prop_oneof![
        12 => Just(PieceKind::Normal),
        1 => Just(PieceKind::Control),
        1 => Just(PieceKind::UserDefined),
        2 => Just(PieceKind::Unused),
    ]
}

fn vocabulary(all_kinds: bool) -> impl Strategy<Value = Vec<Piece>> {
    let text = prop_oneof![3 => "[ab▁]{1,2}", 3 => "[abé▁]{2,5}", 1 => "▁?[abé]{1,4}"];
    prop::collection::vec((text, -6i8..2, kind()), 1..30).prop_map(move |all| {
        let mut pieces = vec![piece("<unk>", 0.0, PieceKind::Unknown)];
        for (text, score, kind) in all {
            let kind = if all_kinds { kind } else { PieceKind::Normal };
            // Distinct scores in one mode, so that the fast path is taken, and ties in the other.
            let score = if all_kinds {
                f32::from(score)
            } else {
                f32::from(score) * 64.0 - pieces.len() as f32
            };
            if pieces.iter().all(|p| p.bytes != text.as_bytes()) {
                pieces.push(piece(&text, score, kind));
            }
        }
        pieces
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn equals_the_naive_twin(
        pieces in prop_oneof![vocabulary(true), vocabulary(false)], text in "[abé▁c]{0,40}",
    ) {
        let model = SpmBpe::new(&pieces, false).unwrap();
        prop_assert_eq!(encode(&model, &text), fused(naive(&pieces, &text)));
    }

    #[test]
    fn dropout_keeps_the_text(pieces in vocabulary(true), text in "[abé▁c]{0,40}", p in 0.0..1.0f64) {
        let model = SpmBpe::new(&pieces, false).unwrap();
        let mut out: Vec<SpannedId> = Vec::new();
        let scratch = &mut SpmBpeScratch::default();
        let random = &mut SplitMix64::new(3);
        model.sample(text.as_bytes(), p, random, scratch, &mut out).unwrap();
        let mut at = 0;
        for spanned in &out {
            prop_assert_eq!(spanned.start, at);
            at = spanned.end;
        }
        prop_assert_eq!(at as usize, text.len());
        out.clear();
        model.sample(text.as_bytes(), 0.0, random, scratch, &mut out).unwrap();
        prop_assert_eq!(&out, &encode(&model, &text));
    }

    #[test]
    fn any_bytes_are_encoded(
        pieces in prop::collection::vec((prop::collection::vec(prop_oneof![Just(0xE2u8), Just(0x96), Just(b'a')], 1..4), kind()), 1..12),
        text in prop::collection::vec(prop_oneof![Just(0xE2u8), Just(0x96), Just(b'a')], 0..30),
    ) {
        let mut all = vec![piece("<unk>", 0.0, PieceKind::Unknown)];
        for (index, (bytes, kind)) in pieces.into_iter().enumerate() {
            if all.iter().all(|p| p.bytes != bytes) {
                all.push(Piece { bytes, score: -(index as f32), kind });
            }
        }
        let model = SpmBpe::new(&all, false).unwrap();
        let mut out = Vec::new();
        model.encode_with_pieces(&text, &mut SpmBpeScratch::default(), &mut out).unwrap();
        prop_assert_eq!(out.last().map_or(0, |last| last.end as usize), text.len());
    }
}

#[test]
fn without_dropout_everything_merges_and_with_all_of_it_nothing() {
    let pieces = [
        piece("<unk>", 0.0, PieceKind::Unknown),
        piece("a", -1.0, PieceKind::Normal),
        piece("aa", -0.5, PieceKind::Normal),
    ];
    let model = SpmBpe::new(&pieces, false).unwrap();
    let mut counts = [0; 2];
    let random = &mut SplitMix64::new(5);
    let scratch = &mut SpmBpeScratch::default();
    for _ in 0..10_000 {
        let mut ids: Vec<u32> = Vec::new();
        model
            .sample(b"aa", 0.25, random, scratch, &mut ids)
            .unwrap();
        counts[ids.len() - 1] += 1;
    }
    // Six standard deviations (43.3) around the mean.
    assert!((counts[1] - 2500i32).abs() < 260, "{counts:?}");
    let mut ids: Vec<u32> = Vec::new();
    model
        .sample(b"aaaa", 1.0, random, scratch, &mut ids)
        .unwrap();
    assert_eq!(ids, [1, 1, 1, 1]);
}

proptest! {
    /// Looking halves up finds the halves that tries find, in text: pieces are whole characters.
    #[test]
    fn halves_are_the_same_however_they_are_found(
        texts in prop::collection::btree_set("[ab\u{e9}\u{4e2d}]{1,7}", 1..60), kinds in prop::collection::vec(0..6usize, 60),
    ) {
        let kinds = kinds.iter().map(|&kind| match kind {
            0 => PieceKind::Unused,
            1 => PieceKind::UserDefined,
            2 => PieceKind::Control,
            _ => PieceKind::Normal,
        });
        let mut pieces = vec![piece("<unk>", 0.0, PieceKind::Unknown)];
        pieces.extend(texts.iter().zip(kinds).map(|(text, kind)| piece(text, 0.0, kind)));
        let checked = check(&pieces, false, true).unwrap();
        let model = SpmBpe::new(&pieces, false).unwrap();
        let mut strangers: Vec<&[u8]> = pieces
            .iter()
            .filter(|piece| piece.is_matched())
            .flat_map(|piece| characters(&piece.bytes))
            .filter(|c| checked.vocab.bytes_to_id(c).is_none())
            .collect();
        strangers.sort_unstable();
        strangers.dedup();
        prop_assert_eq!(model.lengths.len(), pieces.len() + strangers.len());
        let symbols = Symbols { pieces: &pieces, vocab: &checked.vocab, strangers: &strangers };
        let (mut looked_up, mut walked) = (Vec::new(), Vec::new());
        symbols.halves_of_short(usize::MAX, &mut looked_up);
        symbols.halves_of_long(0, &mut walked).unwrap();
        looked_up.sort_unstable();
        walked.sort_unstable();
        prop_assert_eq!(looked_up, walked);
    }
}
