//! Pieces of a SentencePiece model, whatever file it came from.

use crate::error::{Error, Result};
use crate::vocab::{MAX_IDS, Vocab};

/// Name of the format in messages.
pub(crate) const FORMAT: &str = "SentencePiece model";
/// The character that stands for a space: U+2581.
pub const SPACE: &str = "\u{2581}";
/// Longest piece in bytes, exclusive, that `sentencepiece` 0.2.3 loads.
const MAX_PIECE_BYTES: usize = 8000;

/// Purpose of a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PieceKind {
    /// A piece of text.
    #[default]
    Normal,
    /// Stands for text without a piece.
    Unknown,
    /// Never made from text, invisible when decoded (`<s>`).
    Control,
    /// Always one piece wherever it occurs in a text.
    UserDefined,
    /// Switched off.
    Unused,
    /// One byte, `<0x41>`, for characters without a piece.
    Byte,
}

/// One entry of the vocabulary; its id is its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// The text, with U+2581 for a space.
    pub bytes: Vec<u8>,
    /// Log probability (Unigram) or merge priority (BPE).
    pub score: f32,
    /// Purpose of the piece.
    pub kind: PieceKind,
}

impl Piece {
    /// True if text can become this piece by matching.
    pub fn is_matched(&self) -> bool {
        matches!(
            self.kind,
            PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused
        )
    }

    /// A piece that is a lone NUL: files made by third-party converters have it; it stands for
    /// nothing.
    pub fn is_null(&self) -> bool {
        self.bytes == [0]
    }
}

/// The byte that a piece such as `<0x41>` stands for.
pub fn byte_of(piece: &[u8]) -> Option<u8> {
    let digits = piece.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let digit = |d: u8| match d {
        b'0'..=b'9' => Some(d - b'0'),
        b'A'..=b'F' => Some(d - b'A' + 10),
        _ => None,
    };
    match digits {
        &[high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    }
}

/// Facts about a vocabulary that all models need, found while it is checked.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Pieces and ids. Only pieces that text can become are found by their bytes.
    pub vocab: Vocab,
    /// The id of the unknown piece.
    pub unknown: Option<u32>,
    /// Ids of the 256 bytes, if the model falls back to them.
    pub bytes: Option<Box<[u32; 256]>>,
}

/// Checks a vocabulary as `sentencepiece` 0.2.3 does when it loads one.
///
/// `one_table`: whether a control piece may not have the text of a normal one (BPE), or may (all
/// others).
pub fn check(pieces: &[Piece], byte_fallback: bool, one_table: bool) -> Result<Checked> {
    let fail = |id: usize, reason: &str| {
        let text = String::from_utf8_lossy(&pieces[id].bytes).into_owned();
        Err(Error::format(
            FORMAT,
            format!("piece {id} ({text:?}) {reason}"),
        ))
    };
    if pieces.is_empty() {
        return Err(Error::format(FORMAT, "it has no pieces"));
    }
    if pieces.len() >= MAX_IDS as usize {
        return Err(Error::format(
            FORMAT,
            format!("it has {} pieces; the limit is {MAX_IDS}", pieces.len()),
        ));
    }
    let mut vocab = Vocab::with_capacity(pieces.len());
    // Reserved pieces have their own name space; a set of their texts finds duplicates among them.
    let mut reserved = Vocab::default();
    let mut unknown = None;
    let mut bytes = Box::new([u32::MAX; 256]);
    for (id, piece) in pieces.iter().enumerate() {
        if piece.bytes.len() >= MAX_PIECE_BYTES {
            return Err(Error::format(
                FORMAT,
                format!(
                    "piece {id} has {} bytes; the limit is {MAX_PIECE_BYTES}",
                    piece.bytes.len()
                ),
            ));
        }
        if piece.bytes.is_empty() {
            return fail(id, "is empty");
        }
        if piece.is_null() && (byte_fallback || piece.kind == PieceKind::Unused) {
            vocab.insert_opaque(id as u32, &piece.bytes)?;
            continue;
        }
        if piece.bytes.contains(&0) {
            return fail(id, "contains a NUL character");
        }
        let own = if piece.is_matched() {
            &vocab
        } else {
            &reserved
        };
        let other = if one_table && !piece.is_matched() {
            &vocab
        } else {
            &reserved
        };
        if own.bytes_to_id(&piece.bytes).is_some()
            || one_table && other.bytes_to_id(&piece.bytes).is_some()
        {
            return fail(id, "is there twice");
        }
        if piece.is_matched() {
            vocab.insert(id as u32, &piece.bytes)?;
        } else {
            vocab.insert_opaque(id as u32, &piece.bytes)?;
            reserved.insert(id as u32, &piece.bytes)?;
        }
        match piece.kind {
            PieceKind::Unknown if unknown.is_some() => {
                return fail(id, "is a second unknown piece; there can be one");
            }
            PieceKind::Unknown => unknown = Some(id as u32),
            PieceKind::Byte => match byte_of(&piece.bytes) {
                Some(byte) => bytes[usize::from(byte)] = id as u32,
                None => {
                    return fail(id, "is of type BYTE; such a piece is written as <0x41> is");
                }
            },
            _ => {}
        }
    }
    if unknown.is_none() && !byte_fallback {
        return Err(Error::format(
            FORMAT,
            "it has no unknown piece and byte_fallback is off",
        ));
    }
    if byte_fallback && let Some(missing) = bytes.iter().position(|&id| id == u32::MAX) {
        return Err(Error::format(
            FORMAT,
            format!("byte_fallback is on but there is no piece <0x{missing:02X}>"),
        ));
    }
    Ok(Checked {
        vocab,
        unknown,
        bytes: byte_fallback.then_some(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, kind: PieceKind) -> Piece {
        Piece {
            bytes: text.into(),
            score: 0.0,
            kind,
        }
    }

    #[test]
    fn byte_pieces_are_upper_case_hexadecimal() {
        assert_eq!(byte_of(b"<0x00>"), Some(0));
        assert_eq!(byte_of(b"<0xFE>"), Some(0xFE));
        assert_eq!(byte_of(b"<0xfe>"), None);
        assert_eq!(byte_of(b"<0x100>"), None);
    }

    #[test]
    fn vocabularies_that_the_reference_refuses() {
        let unk = || piece("<unk>", PieceKind::Unknown);
        let normal = |text| piece(text, PieceKind::Normal);
        let twice = [unk(), normal("a"), normal("a")];
        assert!(check(&twice, false, false).is_err());
        let control = [unk(), piece("a", PieceKind::Control), normal("a")];
        assert!(check(&control, false, false).is_ok());
        assert!(check(&control, false, true).is_err());
        assert!(check(&[normal("a")], false, false).is_err());
        assert!(check(&[unk(), unk()], false, false).is_err());
        assert!(check(&[unk(), normal("")], false, false).is_err());
        assert!(check(&[unk(), normal("a\0")], false, false).is_err());
        assert!(check(&[unk(), piece("<41>", PieceKind::Byte)], false, false).is_err());
        let error = check(&[unk()], true, false).unwrap_err();
        assert!(error.to_string().contains("<0x00>"), "{error}");
        let long = "a".repeat(8000);
        assert!(check(&[unk(), normal(&long)], false, false).is_err());
    }
}
