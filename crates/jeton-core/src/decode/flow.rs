//! Data that goes from one decoder of a stream to the next.

/// Text on its way between two machines, with the places in it where tokens end.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) text: String,
    ends: Vec<usize>,
}

impl Flow {
    pub(super) fn token(&mut self, text: &str) {
        self.text.push_str(text);
        self.end();
    }

    pub(super) fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Pieces of text, each with whether a token ends behind it.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut start = 0;
        let ends = self.ends.iter().map(|&end| (end, true));
        ends.chain([(self.text.len(), false)])
            .map(move |(end, is_end)| {
                let piece = &self.text[start..end];
                start = end;
                (piece, is_end)
            })
    }
}
