//! The naive twin: the definition in strings, one step after the other.

use super::CharacterBpeOptions;
use crate::models::bpe::Missing;

/// Ids and lengths in bytes; None where the text cannot be encoded. Lengths are not cut off at the
/// text's end.
pub(super) fn encode(
    tokens: &[String],
    merges: &[(u32, u32)],
    options: &CharacterBpeOptions,
    text: &[u8],
) -> Option<Vec<(u32, usize)>> {
    let find = |wanted: &[u8]| {
        let at = tokens.iter().position(|token| token.as_bytes() == wanted);
        at.map(|id| id as u32)
    };
    if text.is_empty() {
        return Some(Vec::new());
    }
    if options.whole_pretokens
        && let Some(id) = find(text)
    {
        return Some(vec![(id, text.len())]);
    }
    let mut characters: Vec<Vec<u8>> = Vec::new();
    for chunk in text.utf8_chunks() {
        characters.extend(chunk.valid().chars().map(|c| c.to_string().into_bytes()));
        characters.extend(chunk.invalid().iter().map(|&byte| vec![byte]));
    }

    let mut symbols: Vec<(u32, usize)> = Vec::new();
    let mut pending: Option<(u32, usize)> = None;
    for (i, character) in characters.iter().enumerate() {
        let mut written = Vec::new();
        if i > 0 {
            written.extend_from_slice(options.continuing_prefix.as_bytes());
        }
        written.extend_from_slice(character);
        if i + 1 == characters.len() {
            written.extend_from_slice(options.end_of_word_suffix.as_bytes());
        }
        if let Some(id) = find(&written).filter(|_| str::from_utf8(character).is_ok()) {
            symbols.extend(pending.take());
            symbols.push((id, character.len()));
            continue;
        }
        let bytes: Option<Vec<u32>> = written
            .iter()
            .map(|byte| find(format!("<0x{byte:02X}>").as_bytes()))
            .collect();
        if let Some(ids) = bytes.filter(|_| options.byte_fallback) {
            symbols.extend(ids.into_iter().map(|id| (id, 1)));
            continue;
        }
        match (options.missing, pending) {
            (Missing::Skip, _) => {}
            (Missing::Fail, _) => return None,
            (Missing::Unknown(id), Some((_, length))) if options.fuse_unknown => {
                pending = Some((id, length + character.len()));
            }
            (Missing::Unknown(id), before) => {
                symbols.extend(before);
                pending = Some((id, character.len()));
            }
        }
    }
    symbols.extend(pending);

    loop {
        let candidates = symbols.windows(2).enumerate();
        let best = candidates
            .filter_map(|(i, pair)| {
                let wanted = (pair[0].0, pair[1].0);
                merges
                    .iter()
                    .rposition(|&merge| merge == wanted)
                    .map(|rank| (rank, i))
            })
            .min();
        let Some((_, at)) = best else { break };
        let right = symbols.remove(at + 1);
        let left = &mut symbols[at];
        let merged = [
            tokens[left.0 as usize].as_bytes(),
            &tokens[right.0 as usize].as_bytes()[options.continuing_prefix.len()..],
        ]
        .concat();
        *left = (find(&merged).unwrap(), left.1 + right.1);
    }
    Some(symbols)
}
