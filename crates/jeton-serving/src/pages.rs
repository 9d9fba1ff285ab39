//! Memory of sequences in pages.

/// Memory that sequences of one model take in pages, in bytes or in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// Tokens of a page.
    pub page_tokens: i64,
    /// Memory of a page in the layers that keep pages for all tokens.
    pub full: i64,
    /// Memory of a page in the layers with a sliding window.
    pub window: i64,
    /// Pages that layers with a window hold at most.
    pub window_pages: i64,
    /// Memory that a sequence keeps whatever its length.
    pub state: i64,
}

impl Pages {
    /// Returns memory that is counted in tokens.
    pub fn of_tokens(page_tokens: i64) -> Self {
        Self {
            page_tokens,
            full: page_tokens,
            window: 0,
            window_pages: 0,
            state: 0,
        }
    }

    /// Memory of a sequence of so many tokens.
    pub(crate) fn of(&self, context: i64) -> i64 {
        let pages = self.pages(context);
        pages * self.full + pages.min(self.window_pages) * self.window + self.state
    }

    /// Memory of the next page of such a sequence.
    pub(crate) fn growth(&self, context: i64) -> i64 {
        let has_window = self.pages(context) < self.window_pages;
        self.full + if has_window { self.window } else { 0 }
    }

    /// Tokens of the whole pages of a sequence.
    pub(crate) fn whole_tokens(&self, context: i64) -> i64 {
        self.pages(context) * self.page_tokens
    }

    fn pages(&self, context: i64) -> i64 {
        (context + self.page_tokens - 1).div_euclid(self.page_tokens)
    }
}
