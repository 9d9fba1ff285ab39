//! Drawing a segmentation with its own probability: filtering in one direction, sampling in the
//! other.
//!
//! The filter runs from the end of the text to its beginning, so that the draws run forwards over
//! the same trie and no lattice need be kept. The distribution equals the one of forward filtering
//! and backward sampling, as in the libraries.

use super::random::SplitMix64;
use super::{UnigramModel, unencodable};
use crate::error::Result;

/// `ln(exp(a) + exp(b))` without overflow.
fn log_add(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY {
        large
    } else {
        large + (small - large).exp().ln_1p()
    }
}

/// Segments (id, end) of a drawn path.
pub(super) fn sample(
    model: &UnigramModel,
    text: &[u8],
    alpha: f64,
    random: &mut SplitMix64,
) -> Result<Vec<(u32, u32)>> {
    // Logarithm of the weight of all ways to cut the text from here on.
    let mut rest = vec![f64::NEG_INFINITY; text.len() + 1];
    rest[text.len()] = 0.0;
    for start in (0..text.len()).rev() {
        if is_inside_character(text[start]) {
            continue;
        }
        let mut sum = f64::NEG_INFINITY;
        model.candidates(text, start, |_, end, score| {
            sum = log_add(sum, alpha * score + rest[end]);
        });
        rest[start] = sum;
    }
    let mut segments = Vec::new();
    let mut weights = Vec::new();
    let mut choices = Vec::new();
    let mut start = 0;
    while start < text.len() {
        weights.clear();
        choices.clear();
        let total = rest[start];
        model.candidates(text, start, |id, end, score| {
            weights.push((alpha * score + rest[end] - total).exp());
            choices.push((id, end as u32));
        });
        let Some(choice) = random.choose(&weights) else {
            return Err(unencodable(&text[start..]));
        };
        segments.push(choices[choice]);
        start = choices[choice].1 as usize;
    }
    Ok(segments)
}

fn is_inside_character(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
