//! SentencePiece's two simplest models: whole words, and single characters.

use super::normalizer::Matcher;
use super::piece::{Checked, Piece, PieceKind, SPACE, check};
use crate::error::Result;
use crate::models::unigram::check_length;
use crate::models::unigram::emit::{Emit, Fuse, NO_ID, SpannedId, char_bytes};
use crate::vocab::Vocab;

/// A list of texts with ids.
#[derive(Debug)]
struct Table {
    vocab: Vocab,
    /// True if a piece is unused, by id.
    unused: Vec<bool>,
    unknown: u32,
    bytes: Option<Box<[u32; 256]>>,
}

impl Table {
    fn new(pieces: &[Piece], byte_fallback: bool) -> Result<Self> {
        let Checked {
            vocab,
            unknown,
            bytes,
        } = check(pieces, byte_fallback, false)?;
        Ok(Self {
            vocab,
            unused: pieces
                .iter()
                .map(|piece| piece.kind == PieceKind::Unused)
                .collect(),
            unknown: unknown.unwrap_or(NO_ID),
            bytes,
        })
    }

    /// True if what follows a text is never joined to it: it has an id, or becomes bytes.
    fn is_known(&self, text: &[u8]) -> bool {
        self.bytes.is_some() || self.id(text) != self.unknown
    }

    fn id(&self, text: &[u8]) -> u32 {
        self.vocab
            .bytes_to_id(text)
            .filter(|&id| !self.unused[id as usize])
            .unwrap_or(self.unknown)
    }
}

/// One id for each word; a word begins with its space.
#[derive(Debug)]
pub struct SpmWords(Table);

impl SpmWords {
    /// Builds the model. Fails where SentencePiece refuses the vocabulary.
    pub fn new(pieces: &[Piece], byte_fallback: bool) -> Result<Self> {
        Table::new(pieces, byte_fallback).map(Self)
    }

    /// Pieces and ids.
    pub fn vocab(&self) -> &Vocab {
        &self.0.vocab
    }

    /// The ids, each with the bytes of the text it stands for.
    pub fn encode_with_pieces(&self, text: &[u8], out: &mut Vec<SpannedId>) -> Result<()> {
        self.encode_to(text, out)
    }

    fn encode_to(&self, text: &[u8], out: &mut impl Emit) -> Result<()> {
        check_length(text)?;
        let mut fuse = Fuse::new(self.0.unknown, self.0.bytes.as_deref(), out);
        let mut start = 0;
        let spaces = memchr::memmem::find_iter(text, SPACE).filter(|&at| at > 0);
        for end in spaces.chain((!text.is_empty()).then_some(text.len())) {
            fuse.segment(text, self.0.id(&text[start..end]), start, end);
            start = end;
        }
        Ok(())
    }
}

/// One id for each character; user-defined pieces are kept whole.
#[derive(Debug)]
pub struct SpmChars {
    table: Table,
    user_defined: Option<Matcher>,
}

impl SpmChars {
    /// Builds the model. Fails where SentencePiece refuses the vocabulary.
    pub fn new(pieces: &[Piece], byte_fallback: bool) -> Result<Self> {
        let user_defined = pieces
            .iter()
            .zip(0..)
            .filter(|(piece, _)| piece.kind == PieceKind::UserDefined && !piece.is_null())
            .map(|(piece, id)| (piece.bytes.as_slice(), id))
            .collect();
        Ok(Self {
            table: Table::new(pieces, byte_fallback)?,
            user_defined: Matcher::new(user_defined)?,
        })
    }

    /// Pieces and ids.
    pub fn vocab(&self) -> &Vocab {
        &self.table.vocab
    }

    /// The ids, each with the bytes of the text it stands for.
    pub fn encode_with_pieces(&self, text: &[u8], out: &mut Vec<SpannedId>) -> Result<()> {
        self.encode_to(text, out)
    }

    fn encode_to(&self, text: &[u8], out: &mut impl Emit) -> Result<()> {
        check_length(text)?;
        let mut fuse = Fuse::new(self.table.unknown, self.table.bytes.as_deref(), out);
        let mut at = 0;
        while let Some(&first) = text.get(at) {
            let rest = &text[at..];
            let found = self.user_defined.as_ref();
            let length = found
                .and_then(|matcher| matcher.longest_prefix(rest))
                .map_or(char_bytes(first).min(rest.len()), |(length, _)| length);
            fuse.segment(text, self.table.id(&rest[..length]), at, at + length);
            at += length;
        }
        Ok(())
    }
}

impl SpmWords {
    /// True if a word begins at a place, and the one before it is not unknown.
    pub(crate) fn is_known_word(&self, text: &[u8], at: usize) -> bool {
        let Some((before, after)) = text.split_at_checked(at) else {
            return false;
        };
        let start = memchr::memmem::rfind(before, SPACE.as_bytes()).unwrap_or(0);
        after.starts_with(SPACE.as_bytes()) && self.0.is_known(&before[start..])
    }

    /// Appends the ids of a normalized text.
    pub fn encode(&self, text: &[u8], out: &mut Vec<u32>) -> Result<()> {
        self.encode_to(text, out)
    }
}

impl SpmChars {
    /// True if a character is not unknown.
    pub(crate) fn is_known(&self, c: char) -> bool {
        self.table.is_known(c.encode_utf8(&mut [0; 4]).as_bytes())
    }

    /// Appends the ids of a normalized text.
    pub fn encode(&self, text: &[u8], out: &mut Vec<u32>) -> Result<()> {
        self.encode_to(text, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> Vec<Piece> {
        [
            ("<unk>", PieceKind::Unknown),
            ("▁a", PieceKind::Normal),
            ("▁", PieceKind::Normal),
            ("a", PieceKind::Normal),
            ("bc", PieceKind::UserDefined),
            ("d", PieceKind::Unused),
        ]
        .map(|(text, kind)| Piece {
            bytes: text.into(),
            score: 0.0,
            kind,
        })
        .to_vec()
    }

    #[test]
    fn words_and_characters() {
        let text = "a▁a▁b▁c▁".as_bytes();
        let mut ids = Vec::new();
        let words = SpmWords::new(&pieces(), false).unwrap();
        words.encode(text, &mut ids).unwrap();
        assert_eq!(ids, [3, 1, 0, 2]); // two unknown words in a row are one
        let characters = SpmChars::new(&pieces(), false).unwrap();
        let mut spans = Vec::new();
        let text = "▁abcdé".as_bytes();
        characters.encode_with_pieces(text, &mut spans).unwrap();
        let ids: Vec<_> = spans.iter().map(|s| (s.id, s.start, s.end)).collect();
        assert_eq!(ids, [(2, 0, 3), (3, 3, 4), (4, 4, 6), (0, 6, 9)]);
        ids_of_nothing(&words);
    }

    fn ids_of_nothing(words: &SpmWords) {
        let mut ids = Vec::new();
        words.encode(b"", &mut ids).unwrap();
        assert!(ids.is_empty());
    }
}
