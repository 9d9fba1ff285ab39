//! Models without merges: whole words, single characters, raw bytes.

mod bytes;
mod characters;
mod whole;

pub use bytes::{BYT5_OFFSET, RawBytesModel};
pub use characters::{CharacterModel, MissingCharacter};
pub use whole::WordModel;
