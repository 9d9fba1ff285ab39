//! The ids of many texts, one behind the other.

/// Ids of many texts: text `i` has `ids[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenBatch {
    /// All ids.
    pub ids: Vec<u32>,
    /// Where each text's ids start, and where the last one's end.
    pub offsets: Vec<i64>,
}

impl TokenBatch {
    /// Joins parts whose offsets lack the leading 0.
    pub(crate) fn concat(parts: Vec<Self>, n_texts: usize) -> Self {
        let mut whole = Self {
            ids: Vec::new(),
            offsets: Vec::with_capacity(n_texts + 1),
        };
        whole.offsets.push(0);
        whole
            .ids
            .reserve_exact(parts.iter().map(|part| part.ids.len()).sum());
        for part in parts {
            let base = whole.ids.len() as i64;
            whole
                .offsets
                .extend(part.offsets.iter().map(|offset| base + offset));
            whole.ids.extend_from_slice(&part.ids);
        }
        whole
    }

    /// Appends the ids of texts, and where each of those ends.
    pub(crate) fn append(&mut self, ids: &[u32], ends: &[i64]) {
        let base = self.ids.len() as i64;
        self.ids.extend_from_slice(ids);
        self.offsets.extend(ends.iter().map(|end| base + end));
    }
}
