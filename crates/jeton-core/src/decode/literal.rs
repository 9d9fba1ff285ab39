//! Replacing a text in a stream.

/// Replaces a text in a stream: The algorithm of Knuth, Morris and Pratt: each character costs
/// constant time on average. The text held back is as long as the part of the pattern seen so far.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    from: Vec<char>,
    to: String,
    /// For each beginning of `from` (by its length less 1), the longest shorter one that it ends
    /// with.
    borders: Vec<usize>,
    /// How much of `from` is held back.
    seen: usize,
}

impl Literal {
    /// None if there is nothing to look for.
    pub(super) fn new(from: &str, to: &str) -> Option<Self> {
        let from: Vec<char> = from.chars().collect();
        let mut borders = vec![0; from.len()];
        for at in 1..from.len() {
            let mut border: usize = borders[at - 1];
            while border > 0 && from[border] != from[at] {
                border = borders[border - 1];
            }
            borders[at] = border + usize::from(from[border] == from[at]);
        }
        (!from.is_empty()).then(|| Self {
            from,
            to: to.to_owned(),
            borders,
            seen: 0,
        })
    }

    pub(super) fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            while self.seen > 0 && self.from[self.seen] != c {
                let border = self.borders[self.seen - 1];
                out.extend(&self.from[..self.seen - border]);
                self.seen = border;
            }
            if self.from[self.seen] != c {
                out.push(c);
                continue;
            }
            self.seen += 1;
            if self.seen == self.from.len() {
                out.push_str(&self.to);
                self.seen = 0;
            }
        }
    }

    pub(super) fn finish(&mut self, out: &mut String) {
        out.extend(&self.from[..self.seen]);
        self.seen = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_the_standard_library(
            from in "[ab]{1,5}",
            to in "[abc]{0,2}",
            pieces in prop::collection::vec("[ab]{0,4}", 0..10),
        ) {
            let mut literal = Literal::new(&from, &to).unwrap();
            let mut out = String::new();
            for piece in &pieces {
                literal.push(piece, &mut out);
            }
            literal.finish(&mut out);
            prop_assert_eq!(out, pieces.concat().replace(&from, &to));
        }
    }
}
