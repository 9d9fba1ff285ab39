//! Words as they are counted, against a plain twin.

use super::*;
use proptest::prelude::*;

fn count(text: &str, cuts: &[usize]) -> WordCounts {
    let mut edges: Vec<usize> = cuts.iter().map(|&cut| cut % (text.len() + 1)).collect();
    edges.extend([0, text.len()]);
    edges.sort_unstable();
    edges.dedup();
    let spans: Vec<(u32, u32)> = edges
        .windows(2)
        .map(|e| (e[0] as u32, e[1] as u32))
        .collect();
    let mut counts = WordCounts::default();
    counts.add_document(text, &spans);
    counts
}

/// Counts from the outlines of the pieces; each is an id of its own.
fn joined(text: &str, cuts: &[usize]) -> WordCounts {
    let mut edges: Vec<usize> = cuts.iter().map(|&cut| cut % (text.len() + 1)).collect();
    edges.extend([0, text.len()]);
    edges.sort_unstable();
    edges.dedup();
    let pieces = edges.windows(2).map(|e| &text.as_bytes()[e[0]..e[1]]);
    let outlines = Outlines::of_texts(pieces);
    let vocab_size = outlines.all.len();
    let ids: Vec<u32> = (0..vocab_size as u32).collect();
    let mut joined = Joined::new(vocab_size);
    let (mut id_counts, mut counts) = (vec![0; vocab_size], WordCounts::default());
    // Twice, so that nothing of a text is left over for the next.
    for _ in 0..2 {
        assert!(joined.add(text, &ids, &outlines).is_ok());
    }
    assert!(joined.add(text, &[vocab_size as u32], &outlines).is_err());
    joined.n_documents -= 1;
    joined.flush(Some(&outlines), &mut id_counts, &mut counts);
    assert_eq!(id_counts, vec![2; vocab_size]);
    counts
}

#[test]
fn words_kept_and_cut() {
    // |The| qu|ick| füchs|e| are 中文|.
    let text = "The quick füchse are 中文.";
    let counts = count(text, &[3, 6, 9, 16, 17]);
    assert_eq!(
        (counts.n_words, counts.n_words_kept, counts.n_word_tokens),
        (4, 2, 6)
    );
    assert_eq!(counts.script_tokens.named(), [("Latin", 6)]);
    // A token that begins inside é belongs to the word and to Latin.
    let counts = count("é1", &[1, 2]);
    assert_eq!(
        (counts.n_words, counts.n_words_kept, counts.n_word_tokens),
        (1, 0, 2)
    );
    assert_eq!((counts.n_digits, counts.n_digit_tokens), (1, 1));
    assert_eq!(counts.script_tokens.named(), [("Common", 1), ("Latin", 2)]);
}

#[test]
fn tokens_are_found_with_and_without_their_spaces() {
    let found = |text: &str, at, token: &str| fit(text.as_bytes(), at, token.as_bytes());
    assert_eq!(found("Hello", 0, " Hello"), Some((0, 5)));
    assert_eq!(found("a  b", 1, " b"), Some((1, 4)));
    assert_eq!(found("a  b", 1, " "), Some((1, 2)));
    assert_eq!(found("\n\na", 0, " "), Some((0, 0)));
    assert_eq!(found("\n\na", 0, "\n"), Some((0, 1)));
    assert_eq!(found("a\tb", 1, " b"), Some((2, 3)));
    assert_eq!(found("a  b", 1, "  b"), Some((1, 4)));
    assert_eq!(found("The end", 3, "end "), Some((4, 7)));
    assert_eq!(found("The ends", 3, "end "), Some((4, 7)));
    assert_eq!(fit("é".as_bytes(), 0, b"\xC3"), Some((0, 1)));
    assert_eq!(found("The", 0, "the"), Some((0, 3)));
    assert_eq!(found("a", 0, "b"), None);
    assert_eq!(found("a", 1, "a"), None);
}

proptest! {
    /// The naive twin asks for each word which tokens overlap it.
    #[test]
    fn equals_the_naive_twin(
        text in "[a-c ,.é中\u{301}д1٣\u{1F600}]{0,24}", cuts in prop::collection::vec(0usize..99, 0..12),
    ) {
        let counts = count(&text, &cuts);
        let mut twice = counts.clone();
        twice.merge(&counts);
        prop_assert_eq!(&joined(&text, &cuts), &twice);
        let mut edges: Vec<usize> = cuts.iter().map(|&cut| cut % (text.len() + 1)).collect();
        edges.extend([0, text.len()]);
        edges.sort_unstable();
        edges.dedup();
        let mut words: Vec<(usize, usize)> = Vec::new();
        for (at, c) in text.char_indices() {
            let known = table().of(c);
            let follows = words.last().is_some_and(|word| word.1 == at);
            if follows && (known.is_word() || known.is_mark()) {
                words.last_mut().unwrap().1 = at + c.len_utf8();
            } else if known.is_word() {
                words.push((at, at + c.len_utf8()));
            }
        }
        let tokens = |word: &(usize, usize)| {
            edges.windows(2).filter(|e| e[0] < word.1 && e[1] > word.0).count() as u64
        };
        prop_assert_eq!(counts.n_words, words.len() as u64);
        prop_assert_eq!(counts.n_word_tokens, words.iter().map(tokens).sum::<u64>());
        prop_assert_eq!(counts.n_words_kept, words.iter().filter(|w| tokens(w) == 1).count() as u64);
        prop_assert_eq!(counts.n_digits, text.chars().filter(|&c| table().of(c).is_digit()).count() as u64);
        let all: u64 = counts.script_tokens.named().iter().map(|&(_, n)| n).sum();
        prop_assert_eq!(all, edges.len() as u64 - 1);
        let bytes: u64 = counts.script_bytes.named().iter().map(|&(_, n)| n).sum();
        prop_assert_eq!(bytes, text.len() as u64);
    }
}
