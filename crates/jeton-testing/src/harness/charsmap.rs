//! The target of SentencePiece's compiled normalization rules.

use jeton_core::normalize::charsmap::Charsmap;

use super::{TEXTS, tail};

/// Bytes of the smallest trie: one block of 256 units.
const BLOCK_BYTES: usize = 1024;

/// A blob as it stands, and the same bytes as trie and replacements of a blob with a valid frame.
pub fn charsmap(data: &[u8]) -> bool {
    let trie = data
        .len()
        .clamp(1, 4 * BLOCK_BYTES)
        .next_multiple_of(BLOCK_BYTES);
    let mut framed = u32::try_from(trie)
        .unwrap_or_default()
        .to_le_bytes()
        .to_vec();
    framed.extend_from_slice(&data[..data.len().min(trie)]);
    framed.resize(4 + trie, 0);
    // A root that leads into the trie, or nothing else would be looked at.
    let root = u32::from(data.first().copied().unwrap_or_default()) << 2 | 1;
    framed[4..8].copy_from_slice(&((root % (trie as u32 / 4)) << 10).to_le_bytes());
    framed.extend_from_slice(b"a\0\xc3\xa9\0\0");
    let mut is_read = false;
    for blob in [data, &framed] {
        let Ok(map) = Charsmap::new(blob) else {
            continue;
        };
        is_read = true;
        for text in [TEXTS[0], TEXTS[1], &tail(data)] {
            check(&map, text);
        }
    }
    is_read
}

fn check(map: &Charsmap, text: &str) {
    if let Some((length, _)) = map.longest_prefix(text) {
        assert!(
            length > 0 && text.is_char_boundary(length),
            "{length} of {text:?}"
        );
    }
    let normalized = map.normalize(text);
    let (aligned, alignment) = map.normalize_aligned(text);
    assert_eq!(
        normalized, aligned,
        "text with and without its source differs"
    );
    let mut lookup = alignment.lookup();
    let mut before = 0;
    for (at, c) in aligned.char_indices() {
        let (start, end) = lookup.source_range(at, at + c.len_utf8());
        assert!(
            before <= start && start <= end && end <= text.len(),
            "{start}..{end}"
        );
        before = start;
    }
}
