//! Pre-tokenization of a text that may go on: the places at which it can be taken up again.
//!
//! A place is good if two things hold, whatever follows. The pretokens before it stay as they are,
//! and the pretokens after it are the ones of the text from there on by itself. Two kinds of place
//! are good. At one, some step begins a new piece, which later steps then see apart from all
//! before. The other lies inside a piece, and the step would go on in the same way if the text
//! began there; it is good as far as that step goes. A place of the second kind passes to the next
//! step, and after the last one to the model.
//!
//! Why it holds, step by step:
//! - A pattern's automaton looks from the start of a search to where it is dead, and never back. So
//!   all up to the first search that comes to the text's end is decided. A search from any place
//!   outside a match finds the same matches from there on. Joining matches and gaps needs one fact
//!   about the piece before, namely if it was a match; nothing passes a place where they were not
//!   joined. A piece without its beginning is still a piece, shorter on the left.
//! - A pattern on the backtracking engine may look anywhere: there is no good place in it.
//! - Scripts: a piece is known by its script alone, and any character with a script tells it.
//! - Pieces of fixed length can be taken up at their ends only.

use super::metaspace::MetaspaceConfig;
use super::rewriting::Rewrite;
use super::scripts::ScriptSplitter;
use super::splitter::{Behavior, Splitter};
use super::{Cut, PreTokenizer, Stage};
use crate::codec::gpt2_alphabet;

/// Decided pieces of a text that may go on.
#[derive(Debug, Default)]
pub(crate) struct OpenPieces {
    /// Places of the text at which it can be taken up again, rising: beginnings of pretokens.
    pub(crate) cuts: Vec<usize>,
    /// The beginning of the pretoken that still grows, as the model sees it; None if no place in
    /// it can be good.
    pub(crate) growing: Option<GrowingPiece>,
}

/// The part of the last pretoken that is there for certain. The model may find good places in it.
#[derive(Debug)]
pub(crate) struct GrowingPiece {
    /// Its bytes, as the model sees them.
    pub(crate) bytes: Vec<u8>,
    /// True if it begins where the text begins; otherwise it begins at a cut.
    pub(crate) from_the_beginning: bool,
    /// Where bytes of it come from: (place in `bytes`, place in the text), rising; only places that
    /// are good for all steps.
    pub(crate) places: Vec<(usize, usize)>,
}

/// Decided places of one step.
struct OpenSplit {
    /// Where pieces begin or end, rising, none of them 0.
    boundaries: Vec<usize>,
    /// Where the piece begins that still grows.
    open: usize,
    /// Up to where it is certain.
    decided: usize,
    /// Where in it the step can be taken up again.
    free: Free,
    /// True if what grows is left out of the result.
    dropped: bool,
}

enum Free {
    /// From here on.
    From(usize),
    Never,
}

/// One step as it sees a text that may go on.
enum Level<'a> {
    Cut(&'a Cut),
    Bytes(&'a Splitter),
    /// A piece begins at each such character.
    Marker(char),
}

impl Level<'_> {
    fn open_end(&self, text: &str) -> OpenSplit {
        match self {
            Self::Cut(Cut::Pattern(splitter)) => splitter.open_end(text.as_bytes()),
            Self::Bytes(splitter) => splitter.open_end(text.as_bytes()),
            Self::Cut(Cut::Scripts(_)) => OpenSplit::whole(text.len(), Free::From(0)),
            Self::Cut(Cut::FixedLength(length)) => {
                let mut boundaries = Vec::new();
                let mut open = 0;
                let chars = text.char_indices().map(|(at, c)| at + c.len_utf8());
                for (n, end) in (1..).zip(chars) {
                    if n % length.chars() == 0 {
                        boundaries.push(end);
                        open = end;
                    }
                }
                OpenSplit {
                    boundaries,
                    open,
                    ..OpenSplit::whole(text.len(), Free::Never)
                }
            }
            Self::Marker(marker) => {
                let boundaries: Vec<usize> = text
                    .match_indices(*marker)
                    .map(|(at, _)| at)
                    .filter(|&at| at > 0)
                    .collect();
                OpenSplit {
                    open: boundaries.last().copied().unwrap_or(0),
                    boundaries,
                    ..OpenSplit::whole(text.len(), Free::From(0))
                }
            }
        }
    }
}

impl OpenSplit {
    fn whole(decided: usize, free: Free) -> Self {
        Self {
            boundaries: Vec::new(),
            open: 0,
            decided,
            free,
            dropped: false,
        }
    }
}

impl ScriptSplitter {
    fn open_end(&self, text: &str) -> (OpenSplit, Vec<bool>) {
        let mut out = OpenSplit::whole(text.len(), Free::From(0));
        // True for each byte at which the text can be taken up again.
        let mut good = vec![false; text.len() + 1];
        let mut piece = None;
        for (at, c) in text.char_indices() {
            let Some(script) = self.script_of(c) else {
                continue;
            };
            good[at] = true;
            // Text before the first character with a script is in no piece.
            if piece.replace(script) != Some(script) {
                if at > 0 {
                    out.boundaries.push(at);
                }
                out.open = at;
            }
        }
        out.dropped = piece.is_none();
        (out, good)
    }
}

impl Splitter {
    /// Splits a text that may go on.
    fn open_end(&self, text: &[u8]) -> OpenSplit {
        let Some(automaton) = self.automaton() else {
            return OpenSplit::whole(text.len(), Free::Never);
        };
        let (behavior, invert) = self.arrangement();
        // True if the pending piece is a match (as the behaviour sees it); None if no piece is
        // pending.
        let mut pending: Option<bool> = None;
        let mut boundaries = Vec::new();
        let mut open = 0;
        let mut piece = |start: usize, is_match: bool| {
            let joined = pending.is_some_and(|before| match behavior {
                Behavior::Isolated | Behavior::Removed => false,
                Behavior::Contiguous => before == is_match,
                Behavior::MergedWithPrevious => is_match && !before,
                Behavior::MergedWithNext => before && !is_match,
            });
            pending = Some(is_match);
            if !joined {
                if start > 0 {
                    boundaries.push(start);
                }
                open = start;
            }
        };
        let mut position = 0;
        let decided = automaton.decided_matches(text, |start, end| {
            if start > position {
                piece(position, invert);
            }
            piece(start, !invert);
            position = end;
        });
        if decided > position {
            piece(position, invert);
        }
        let apart = matches!(behavior, Behavior::Isolated | Behavior::Removed);
        if decided == position && apart && position > 0 {
            boundaries.push(position);
            open = position;
        }
        let dropped = behavior == Behavior::Removed && invert;
        if dropped && decided > position {
            // Dropped text can be taken up anywhere.
            boundaries.push(decided);
            open = decided;
        }
        OpenSplit {
            boundaries,
            open,
            decided,
            free: Free::From(position),
            dropped,
        }
    }
}

/// Steps one after the other on a text that may go on.
struct Levels<'t> {
    text: &'t str,
    begin: usize,
    end: usize,
    /// Where all steps so far can be taken up again.
    floor: usize,
    never: bool,
    dropped: bool,
    /// Masks by script: true for each byte of the text that is a place for its cuts.
    masks: Vec<(usize, Vec<bool>)>,
    cuts: Vec<usize>,
}

impl<'t> Levels<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            begin: 0,
            end: text.len(),
            floor: 0,
            never: false,
            dropped: false,
            masks: Vec::new(),
            cuts: Vec::new(),
        }
    }

    fn is_good(&self, at: usize) -> bool {
        let masked = |(from, mask): &(usize, Vec<bool>)| at < *from || mask[at - from];
        !self.never && at >= self.floor && self.masks.iter().all(masked)
    }

    fn apply(&mut self, level: &Level<'_>) {
        if self.never || self.dropped {
            return;
        }
        let begin = self.begin;
        let Some(text) = self.text.get(begin..self.end) else {
            self.never = true; // a step on bytes stopped inside a character
            return;
        };
        let (split, mask) = match level {
            Level::Cut(Cut::Scripts(scripts)) => {
                let (split, mask) = scripts.open_end(text);
                (split, Some(mask))
            }
            level => (level.open_end(text), None),
        };
        let boundaries = split.boundaries.iter().map(|at| begin + at);
        let good: Vec<usize> = boundaries.filter(|&at| self.is_good(at)).collect();
        self.cuts.extend(good);
        self.begin = begin + split.open;
        self.end = begin + split.decided;
        self.dropped = split.dropped;
        match split.free {
            Free::From(at) => self.floor = self.floor.max(begin + at),
            Free::Never => self.never = true,
        }
        self.masks.extend(mask.map(|mask| (begin, mask)));
    }

    /// Returns the piece that the model may look at. `place`: the origin of a byte of the text, if
    /// any.
    fn growing(&self, place: impl Fn(usize) -> Option<usize>) -> Option<GrowingPiece> {
        if self.never || self.dropped {
            return None;
        }
        let bytes = self.text.as_bytes().get(self.begin..self.end)?.to_vec();
        let good = (self.begin..self.end).filter(|&at| at > 0 && self.is_good(at));
        let places = good.filter_map(|at| Some((at - self.begin, place(at)?)));
        Some(GrowingPiece {
            bytes,
            from_the_beginning: self.begin == 0,
            places: places.collect(),
        })
    }
}

impl Stage {
    /// True if pieces come out of it that did not go in.
    pub(super) fn cuts_pieces(&self) -> bool {
        let splits = matches!(
            self.rewrite,
            Rewrite::Metaspace(MetaspaceConfig { split: true, .. })
        );
        splits || !self.cuts.is_empty()
    }
}

impl PreTokenizer {
    /// Splits a text that may go on. `begins`: the given text begins with it. `continues`: the
    /// beginning of its first piece is elsewhere.
    pub(crate) fn open_end(&self, text: &str, begins: bool, continues: bool) -> OpenPieces {
        let mut levels = Levels::new(text);
        for cut in &self.text {
            levels.apply(&Level::Cut(cut));
        }
        if self.stages.is_empty() {
            for splitter in &self.bytes {
                levels.apply(&Level::Bytes(splitter));
            }
            levels.cuts.retain(|&at| text.is_char_boundary(at));
            let growing = levels.growing(|at| text.is_char_boundary(at).then_some(at));
            return OpenPieces {
                cuts: levels.cuts,
                growing,
            };
        }
        if !self.text.is_empty() {
            // Each piece is rewritten by itself, so decided pieces stay.
            return OpenPieces {
                cuts: levels.cuts,
                growing: None,
            };
        }
        self.open_rewritten(text, begins, continues)
    }

    /// Splits a text that is rewritten as a whole, up to the first stage that cuts.
    fn open_rewritten(&self, text: &str, begins: bool, continues: bool) -> OpenPieces {
        let mut seen = text.to_owned();
        // Source of each character that the stages see.
        let mut places: Vec<(usize, usize)> = text.char_indices().map(|(at, _)| (at, at)).collect();
        for (index, stage) in self.stages.iter().enumerate() {
            let whole = [(0, seen.len(), begins)];
            let rewritten = stage.rewrite.apply(&seen, &whole, continues).text;
            let width = |c: char| stage.rewrite.width(c);
            let kept: usize = seen.chars().map(width).sum();
            let mut at = rewritten.len() - kept; // behind the prefix
            let mut moved = Vec::with_capacity(places.len());
            let mut wanted = places.iter().peekable();
            for (before, c) in seen.char_indices() {
                if let Some((_, source)) = wanted.next_if(|(place, _)| *place == before) {
                    moved.push((at, *source));
                }
                at += width(c);
            }
            places = moved;
            seen = rewritten;
            let last = index + 1 == self.stages.len();
            if !stage.cuts_pieces() && !last {
                continue;
            }
            let mut levels = Levels::new(&seen);
            if let Rewrite::Metaspace(MetaspaceConfig {
                split: true,
                replacement,
                ..
            }) = stage.rewrite
            {
                levels.apply(&Level::Marker(replacement));
            }
            for cut in &stage.cuts {
                levels.apply(&Level::Cut(cut));
            }
            if last {
                for splitter in &self.bytes {
                    levels.apply(&Level::Bytes(splitter));
                }
            }
            // The first place is the beginning of the text, whatever stands before it.
            let source = |at: usize| {
                let found = places.binary_search_by_key(&at, |place| place.0).ok()?;
                Some(places[found].1).filter(|&source| source > 0)
            };
            return OpenPieces {
                cuts: levels.cuts.iter().filter_map(|&at| source(at)).collect(),
                growing: if last { levels.growing(source) } else { None },
            };
        }
        OpenPieces::default()
    }
}

impl Rewrite {
    /// Bytes that a character becomes.
    fn width(self, c: char) -> usize {
        match self {
            Self::Metaspace(metaspace) if c == ' ' => metaspace.replacement.len_utf8(),
            Self::Metaspace(_) | Self::PrefixSpace => c.len_utf8(),
            Self::ByteLevel => c
                .encode_utf8(&mut [0; 4])
                .bytes()
                .map(|byte| gpt2_alphabet::byte_to_char(byte).len_utf8())
                .sum(),
        }
    }
}
