//! Where each part of a rewritten text came from.

/// Stretches of normalized text and where they came from, in order and without gaps.
///
/// Inside a stretch of equal lengths, bytes correspond one to one. In any other, every
/// normalized byte comes from the whole original stretch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    pub(crate) stretches: Vec<Mapping>,
}

/// One stretch: `source_bytes` of the original became `target_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Bytes of the original text.
    pub source_bytes: usize,
    /// Bytes of the normalized text.
    pub target_bytes: usize,
    /// True if the two are the same text.
    pub unchanged: bool,
}

impl Alignment {
    /// The alignment of a text with itself.
    pub fn identity(bytes: usize) -> Self {
        Self {
            stretches: vec![Mapping {
                source_bytes: bytes,
                target_bytes: bytes,
                unchanged: true,
            }],
        }
    }

    /// Ranges of the original for ranges of the normalized text, asked for in rising order.
    pub fn lookup(&self) -> Lookup<'_> {
        Lookup::new(self)
    }
}

/// Answers rising queries in time linear in the text altogether.
pub struct Lookup<'a> {
    stretches: &'a [Mapping],
    index: usize,
    source: usize,
    target: usize,
}

impl<'a> Lookup<'a> {
    fn new(alignment: &'a Alignment) -> Self {
        Self {
            stretches: &alignment.stretches,
            index: 0,
            source: 0,
            target: 0,
        }
    }

    /// The stretch that holds a byte of the normalized text, with where it starts in both texts.
    fn seek(&mut self, byte: usize) -> Option<(Mapping, usize, usize)> {
        while let Some(stretch) = self.stretches.get(self.index) {
            if byte < self.target + stretch.target_bytes {
                return Some((*stretch, self.source, self.target));
            }
            self.source += stretch.source_bytes;
            self.target += stretch.target_bytes;
            self.index += 1;
        }
        None
    }

    /// True if the stretch that holds a byte is unchanged, and how many of its bytes are left from
    /// there.
    pub(crate) fn stretch_at(&mut self, byte: usize) -> (bool, usize) {
        match self.seek(byte) {
            Some((stretch, _, target)) => (stretch.unchanged, target + stretch.target_bytes - byte),
            None => (false, usize::MAX),
        }
    }

    /// The bytes of the original that `start..end` of the normalized text came from.
    pub fn source_range(&mut self, start: usize, end: usize) -> (usize, usize) {
        let Some((stretch, source, target)) = self.seek(start) else {
            return (self.source, self.source);
        };
        let from = if stretch.unchanged {
            source + (start - target)
        } else {
            source
        };
        if end <= start {
            return (from, from);
        }
        // The last byte may lie in a later stretch; look without moving, since the next query may
        // begin earlier.
        let mut ahead = Lookup {
            stretches: self.stretches,
            ..*self
        };
        let to = match ahead.seek(end - 1) {
            Some((stretch, source, target)) if stretch.unchanged => source + (end - target),
            Some((stretch, source, _)) => source + stretch.source_bytes,
            None => ahead.source,
        };
        (from, to)
    }

    /// Returns all bytes of the original that had a part in `start..end` of the normalized text.
    /// For a composed character that is every part, unlike [`Self::source_range`]. Calls must have
    /// rising starts.
    pub(crate) fn covering_range(&mut self, start: usize, end: usize) -> (usize, usize) {
        let Some((stretch, source, target)) = self.seek(start) else {
            return (self.source, self.source);
        };
        let from = if stretch.unchanged {
            source + (start - target)
        } else {
            let before = self.stretches[..self.index].iter().rev();
            let lost: usize = before
                .take_while(|stretch| stretch.target_bytes == 0)
                .map(|stretch| stretch.source_bytes)
                .sum();
            source - lost
        };
        let mut ahead = Lookup {
            stretches: self.stretches,
            ..*self
        };
        let to = match ahead.seek(end.max(start + 1) - 1) {
            Some((stretch, source, target)) if stretch.unchanged => source + (end - target),
            Some((stretch, source, _)) => {
                let behind = ahead.stretches[ahead.index + 1..].iter();
                let lost: usize = behind
                    .take_while(|stretch| stretch.target_bytes == 0)
                    .map(|stretch| stretch.source_bytes)
                    .sum();
                source + stretch.source_bytes + lost
            }
            None => ahead.source,
        };
        (from, to)
    }
}

/// Stretches while they are found, as ranges of the source in rising order for bytes of the result.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    stretches: Vec<Mapping>,
    /// Where the source of the last stretch begins and ends.
    start: usize,
    end: usize,
}

impl Ranges {
    /// The next bytes of the result come from a range of the source. Ranges that overlap go
    /// together.
    pub(crate) fn push(&mut self, start: usize, end: usize, target_bytes: usize, unchanged: bool) {
        if target_bytes == 0 {
            return;
        }
        if let Some(last) = self.stretches.last_mut() {
            if last.unchanged && unchanged && start == self.end {
                last.source_bytes += end - start;
                last.target_bytes += target_bytes;
                self.end = end;
                return;
            }
            if start < self.end || start == end && end == self.end {
                if last.unchanged && !unchanged && end == self.end {
                    // The end of what stayed has more than one result after all.
                    let alone = end - start.max(self.start);
                    if alone < last.source_bytes {
                        last.source_bytes -= alone;
                        last.target_bytes -= alone;
                        self.start = start;
                        self.stretches.push(Mapping {
                            source_bytes: alone,
                            target_bytes: alone + target_bytes,
                            unchanged: false,
                        });
                        return;
                    }
                }
                last.source_bytes += end.saturating_sub(self.end);
                last.target_bytes += target_bytes;
                last.unchanged = false;
                self.end = self.end.max(end);
                return;
            }
        }
        self.omit(start);
        self.stretches.push(Mapping {
            source_bytes: end - start,
            target_bytes,
            unchanged,
        });
        (self.start, self.end) = (start, end);
    }

    /// Nothing comes from the source up to here.
    pub(crate) fn omit(&mut self, until: usize) {
        if until > self.end {
            self.stretches.push(Mapping {
                source_bytes: until - self.end,
                target_bytes: 0,
                unchanged: false,
            });
            self.end = until;
        }
    }

    pub(crate) fn finish(mut self, source_bytes: usize) -> Alignment {
        self.omit(source_bytes);
        Alignment {
            stretches: self.stretches,
        }
    }
}

/// One alignment followed by another that starts from its result.
///
/// Each byte of the second's result comes from the sources of all bytes that it comes from. If both
/// alignments are by single characters, as the reference's are, the result is, too.
pub fn compose(first: &Alignment, next: &Alignment) -> Alignment {
    let mut out = Ranges::default();
    let mut before = first.lookup();
    let mut middle = 0;
    for then in &next.stretches {
        let end = middle + then.source_bytes;
        if !then.unchanged && end == 0 {
            // A prefix of the whole text comes from the very start, whatever was removed there.
            out.push(0, 0, then.target_bytes, false);
        } else if !then.unchanged {
            let (start, stop) = before.source_range(middle, end);
            out.push(start, stop, then.target_bytes, false);
        } else {
            while middle < end {
                let (now, rest) = before.stretch_at(middle);
                let bytes = rest.min(end - middle);
                let (start, stop) = before.source_range(middle, middle + bytes);
                out.push(start, stop, bytes, now);
                middle += bytes;
            }
        }
        middle = end;
    }
    out.finish(first.stretches.iter().map(|s| s.source_bytes).sum())
}
