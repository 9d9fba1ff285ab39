//! The models said plainly: all ways to cut a short text, by recursion.

use super::UnigramModel;

/// Every segmentation as (id, end) with the sum of its scores, added from left to right.
pub(super) fn all_paths(model: &UnigramModel, text: &[u8]) -> Vec<(Vec<(u32, u32)>, f64)> {
    fn go(
        model: &UnigramModel,
        text: &[u8],
        start: usize,
        path: &mut Vec<(u32, u32)>,
        score: f64,
        all: &mut Vec<(Vec<(u32, u32)>, f64)>,
    ) {
        if start == text.len() {
            all.push((path.clone(), score));
            return;
        }
        let mut found = Vec::new();
        model.candidates(text, start, |id, end, score| found.push((id, end, score)));
        for (id, end, more) in found {
            path.push((id, end as u32));
            go(model, text, end, path, score + more, all);
            path.pop();
        }
    }
    let mut all = Vec::new();
    go(model, text, 0, &mut Vec::new(), 0.0, &mut all);
    all
}
