//! Sentences that lean on the one before them, and text that announces what follows.
//!
//! A cut there tears what belongs together, though a sentence ends. The signs are words: English
//! connectives, pronouns and demonstratives, and the colon.

use memchr::memmem;
use memchr::memrchr2;

/// Words that begin a sentence which leans on the one before, sorted.
const LINKS: [&str; 43] = [
    "accordingly",
    "additionally",
    "also",
    "alternatively",
    "and",
    "both",
    "but",
    "consequently",
    "finally",
    "furthermore",
    "he",
    "hence",
    "her",
    "his",
    "however",
    "instead",
    "it",
    "it's",
    "its",
    "likewise",
    "meanwhile",
    "moreover",
    "nevertheless",
    "nonetheless",
    "or",
    "otherwise",
    "she",
    "similarly",
    "so",
    "such",
    "that",
    "their",
    "then",
    "there",
    "therefore",
    "these",
    "they",
    "this",
    "those",
    "thus",
    "we",
    "whereas",
    "yet",
];
/// Phrases that do.
const LINK_PHRASES: [&[u8]; 5] = [
    b"for example",
    b"for instance",
    b"in addition",
    b"in contrast",
    b"as a result",
];
/// Words early in a sentence that point at the one before.
const POINTERS: [&[u8]; 3] = [b"this", b"these", b"such"];
/// Bytes of a sentence in which a pointer counts.
const EARLY_BYTES: usize = 60;
/// Longest of [`LINKS`].
const LONGEST_LINK: usize = 14;

/// Phrases of a sentence that announces a table or a list.
const ANNOUNCEMENTS: [&[u8]; 2] = [b"as follows", b"the following"];
/// Bytes from such a phrase to the end of its sentence, at most.
const ANNOUNCED_BYTES: usize = 74;

/// True if an English sentence leans on the one before it.
pub(crate) fn leans(sentence: &str) -> bool {
    let bytes = sentence.as_bytes();
    let opened = bytes
        .iter()
        .take_while(|byte| matches!(byte, b'"' | b'\'' | b'(' | b'[' | b'*' | b'_'))
        .count();
    let bytes = &bytes[opened..];
    let word = &bytes[..word_bytes(bytes)];
    if word.len() <= LONGEST_LINK {
        let mut lower = [0; LONGEST_LINK];
        let lower = &mut lower[..word.len()];
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        if LINKS
            .binary_search_by(|link| link.as_bytes().cmp(lower))
            .is_ok()
        {
            return true;
        }
    }
    // All phrases begin with one of these words.
    if matches!(word.len(), 2 | 3) && matches!(word[0] | 0x20, b'f' | b'i' | b'a') {
        let begins = |phrase: &[u8]| {
            bytes
                .get(..phrase.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(phrase))
        };
        if LINK_PHRASES.iter().any(|phrase| begins(phrase)) {
            return true;
        }
    }
    points_back(bytes)
}

/// True if one of [`POINTERS`] stands early in a sentence.
fn points_back(bytes: &[u8]) -> bool {
    let early = &bytes[..bytes.len().min(EARLY_BYTES)];
    early.windows(3).enumerate().any(|(at, near)| {
        matches!(near[0], b' ' | b'\n')
            && matches!(near[1..], [b't', b'h'] | [b's', b'u'])
            && POINTERS.contains(&&bytes[at + 1..at + 1 + word_bytes(&bytes[at + 1..])])
    })
}

/// Returns the bytes of the ASCII word that a text begins with.
fn word_bytes(text: &[u8]) -> usize {
    let is_inside = |byte: &&u8| byte.is_ascii_alphabetic() || **byte == b'\'';
    text.iter().take_while(is_inside).count()
}

/// True if the text before a place announces what begins there: it ends with a colon, or its last
/// sentence says so.
pub(crate) fn announces(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end();
    let bytes = before.as_bytes();
    match bytes {
        [.., b':'] => true,
        [sentence @ .., b'.'] => {
            let sentence = &sentence[sentence.len().saturating_sub(ANNOUNCED_BYTES)..];
            let start = memrchr2(b'.', b'\n', sentence).map_or(0, |stop| stop + 1);
            let said = |phrase: &[u8]| memmem::find(&sentence[start..], phrase).is_some();
            ANNOUNCEMENTS.iter().any(|phrase| said(phrase))
        }
        _ => before.ends_with('\u{FF1A}'),
    }
}

#[cfg(test)]
mod tests {
    use super::{LINKS, LONGEST_LINK, announces, leans};

    #[test]
    fn words_are_sorted_and_fit() {
        assert!(LINKS.is_sorted());
        assert!(LINKS.iter().all(|link| link.len() < LONGEST_LINK));
    }

    #[test]
    fn connectives_and_pronouns_lean() {
        for text in [
            "However, it rained.",
            "\"It's mine,\" she said.",
            "For example, a cat.",
            "THEY left.",
            "The city met this challenge.",
            "So",
            "In addition to that",
        ] {
            assert!(leans(text), "{text}");
        }
        for text in [
            "Howeverly",
            "The ferry left.",
            "",
            "For examples",
            "\u{e9}t\u{e9} this",
            "Thisbe slept.",
            "Item",
        ] {
            let expected = text == "For examples" || text.ends_with("this");
            assert_eq!(leans(text), expected, "{text}");
        }
        assert!(!leans(&format!("The {} saw this.", "very ".repeat(20))));
    }

    #[test]
    fn colons_and_phrases_announce() {
        let ends = |text: &str| announces(text, text.len());
        assert!(ends("The steps:\n\n"));
        assert!(ends("\u{5982}\u{4e0b}\u{FF1A}\n"));
        assert!(ends("Payments are as follows (in thousands).\n\n"));
        assert!(ends("See the following table."));
        assert!(!ends("As it follows. Then it ends.\n\n"));
        assert!(!ends("The following is old. This is new.\n"));
        assert!(!ends(""));
    }
}
