//! The codes of candidates.

/// The reason why a place is a candidate. The guard knows them by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// A run of characters without ink, not all of which have a reason to be there.
    Hidden = 0,
    /// A run of control characters.
    Control = 1,
    /// Many combining marks on one base.
    Marks = 2,
    /// A word with letters of two scripts that have look-alike letters.
    MixedWord = 3,
    /// A run of compatibility forms of ASCII letters and digits.
    Compatible = 4,
    /// The text of a marker, perhaps disguised.
    Marker = 5,
    /// A text in angle brackets and bars that is no known marker.
    UnknownMarker = 6,
    /// A run of base64, base32, hexadecimal or base85 digits that decodes to text.
    Encoded = 7,
    /// A run of escapes: percent, quoted-printable, backslash, entities.
    Escaped = 8,
    /// A run of zeros and ones.
    Bits = 9,
    /// A run of dots and dashes.
    Morse = 10,
    /// A run of braille cells.
    Braille = 11,
    /// A word with letters beyond ASCII in front of a domain's last label.
    Domain = 12,
    /// A run that may be UTF-8 read as Windows-1252.
    Mojibake = 13,
    /// A run of private-use characters.
    Private = 14,
    /// A run of noncharacters.
    Noncharacter = 15,
    /// A run of unassigned code points.
    Unassigned = 16,
    /// A line or paragraph separator.
    LineEnd = 17,
    /// One of the phrases.
    Phrase = 18,
}
