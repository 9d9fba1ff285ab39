//! The parts of a `.model` file that the model does not have, kept to write the file again as it
//! was.

/// Raw fields of a file, beside the pieces and settings of [`SpmModel`](super::SpmModel).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UnreadFields {
    /// Raw fields of pieces that have some: (piece, fields).
    pub(crate) pieces: Vec<(u32, Vec<u8>)>,
    /// All fields of the trainer's settings, as they stand.
    pub(crate) trainer: Option<Vec<u8>>,
    /// All fields of the normalizer's settings.
    pub(crate) normalizer: Option<Vec<u8>>,
    /// All fields of the denormalizer's settings.
    pub(crate) denormalizer: Option<Vec<u8>>,
    /// Raw fields of the whole file.
    pub(crate) file: Vec<u8>,
    /// For each piece, whether the file states its score and its type.
    pub(crate) stated: Vec<(bool, bool)>,
    /// The whole file, where the parts above would not give it back in order.
    pub(crate) verbatim: Option<Vec<u8>>,
}
