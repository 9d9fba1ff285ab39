//! The naive twin: the definition of WordPiece segmentation, written down.

/// Ids with the bytes of the word that each covers.
pub(super) fn encode(
    tokens: &[String],
    prefix: &str,
    max_chars: usize,
    unknown: u32,
    word: &str,
) -> Vec<(u32, usize)> {
    let whole = vec![(unknown, word.len())];
    if word.chars().count() > max_chars {
        return whole;
    }
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < word.len() {
        let ends = (start + 1..=word.len())
            .rev()
            .filter(|&end| word.is_char_boundary(end));
        let found = ends.into_iter().find_map(|end| {
            let mark = if start == 0 { "" } else { prefix };
            let candidate = format!("{mark}{}", &word[start..end]);
            let id = tokens.iter().position(|token| *token == candidate)?;
            Some((id as u32, end - start))
        });
        let Some((id, bytes)) = found else {
            return whole;
        };
        pieces.push((id, bytes));
        start += bytes;
    }
    pieces
}
