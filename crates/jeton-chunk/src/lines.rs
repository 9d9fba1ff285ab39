//! Lines of a text, with their ends.

use std::ops::Range;

use memchr::memchr2;

/// Iterator over the lines of a text as byte ranges that include the line end.
pub(crate) struct Lines<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            bytes: text.as_bytes(),
            at: 0,
        }
    }
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let start = self.at;
        let rest = &self.bytes[start..];
        let length = memchr2(b'\n', b'\r', rest);
        let end = match length {
            None => self.bytes.len(),
            Some(at) if rest[at] == b'\r' && rest.get(at + 1) == Some(&b'\n') => start + at + 2,
            Some(at) => start + at + 1,
        };
        self.at = end;
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn every_line_end_counts_once() {
        let text = "a\nb\r\nc\r\rd";
        let lines: Vec<&str> = Lines::new(text).map(|range| &text[range]).collect();
        assert_eq!(lines, ["a\n", "b\r\n", "c\r", "\r", "d"]);
    }
}
