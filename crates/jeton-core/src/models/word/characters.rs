//! Characters: each code point is a token, or becomes an unknown token or its bytes.

use super::whole::{check_id, unencodable};
use crate::error::{Error, Result};
use crate::models::{Model, spans_of_lengths};
use crate::vocab::Vocab;

/// Treatment of a character without a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingCharacter {
    /// It becomes this id.
    Unknown(u32),
    /// Each of its UTF-8 bytes becomes the id at that place (256 of them).
    Bytes(Box<[u32; 256]>),
    /// It is an error.
    Fail,
}

/// A vocabulary of characters.
#[derive(Debug)]
pub struct CharacterModel {
    vocab: Vocab,
    missing: MissingCharacter,
    /// Ids of ASCII characters.
    ascii: [Option<u32>; 128],
}

impl CharacterModel {
    /// Builds the model.
    pub fn new(vocab: Vocab, missing: MissingCharacter) -> Result<Self> {
        match &missing {
            MissingCharacter::Unknown(id) => check_id(&vocab, Some(*id))?,
            MissingCharacter::Bytes(ids) => {
                let lacking = (0..256usize).find(|&b| vocab.id_to_bytes(ids[b]).is_none());
                if let Some(byte) = lacking {
                    return Err(Error::format(
                        "vocabulary",
                        format!("the token for the byte 0x{byte:02X} does not exist"),
                    ));
                }
            }
            MissingCharacter::Fail => {}
        }
        let mut ascii = [None; 128];
        for (byte, id) in (0u8..).zip(&mut ascii) {
            *id = vocab.bytes_to_id(&[byte]);
        }
        Ok(Self {
            vocab,
            missing,
            ascii,
        })
    }

    /// Returns the treatment of a character without a token.
    pub fn missing(&self) -> &MissingCharacter {
        &self.missing
    }

    /// Calls `each` with the id of each token and the bytes of the pretoken that it covers.
    pub fn encode_with_pieces(
        &self,
        pretoken: &[u8],
        mut each: impl FnMut(u32, usize),
    ) -> Result<()> {
        for chunk in pretoken.utf8_chunks() {
            let valid = chunk.valid();
            let mut position = 0;
            while position < valid.len() {
                let byte = valid.as_bytes()[position];
                let width = match byte {
                    0..0x80 => 1,
                    0x80..0xE0 => 2,
                    0xE0..0xF0 => 3,
                    0xF0.. => 4,
                };
                let character = &valid.as_bytes()[position..position + width];
                let id = match self.ascii.get(byte as usize) {
                    Some(id) => *id,
                    None => self.vocab.bytes_to_id(character),
                };
                match id {
                    Some(id) => each(id, width),
                    None => self.miss(character, &mut each)?,
                }
                position += width;
            }
            // Bytes that are not a character (a split on bytes may leave them) have no token of
            // their own.
            for byte in chunk.invalid() {
                self.miss(&[*byte], &mut each)?;
            }
        }
        Ok(())
    }

    fn miss(&self, character: &[u8], each: &mut impl FnMut(u32, usize)) -> Result<()> {
        match &self.missing {
            MissingCharacter::Unknown(id) => each(*id, character.len()),
            MissingCharacter::Bytes(ids) => {
                character.iter().for_each(|&b| each(ids[b as usize], 1));
            }
            MissingCharacter::Fail => return Err(unencodable(character)),
        }
        Ok(())
    }
}

impl Model for CharacterModel {
    type Scratch = ();

    fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    fn encode_spans(
        &self,
        pretoken: &[u8],
        (): &mut (),
        each: &mut dyn FnMut(u32, usize, usize),
    ) -> Result<()> {
        self.encode_with_pieces(pretoken, spans_of_lengths(each))
    }

    fn encode_pretoken(&self, pretoken: &[u8], (): &mut (), out: &mut Vec<u32>) -> Result<()> {
        self.encode_with_pieces(pretoken, |id, _| out.push(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vocab() -> Vocab {
        let mut vocab = Vocab::default();
        for byte in 0..=255u8 {
            vocab
                .insert_opaque(u32::from(byte), format!("<0x{byte:02X}>").as_bytes())
                .unwrap();
        }
        for (id, c) in (256..).zip(["a", " ", "é", "中", "👍"]) {
            vocab.insert(id, c.as_bytes()).unwrap();
        }
        vocab
    }

    fn encode(missing: MissingCharacter, text: &[u8]) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        CharacterModel::new(vocab(), missing)?.encode_pretoken(text, &mut (), &mut ids)?;
        Ok(ids)
    }

    fn all_bytes() -> MissingCharacter {
        MissingCharacter::Bytes(Box::new(std::array::from_fn(|byte| byte as u32)))
    }

    #[test]
    fn missing_characters() {
        let text = "aé ñ👍".as_bytes();
        assert_eq!(
            encode(MissingCharacter::Unknown(0), text).unwrap(),
            [256, 258, 257, 0, 260]
        );
        assert_eq!(
            encode(all_bytes(), text).unwrap(),
            [256, 258, 257, 0xC3, 0xB1, 260]
        );
        assert!(encode(MissingCharacter::Fail, text).is_err());
        assert_eq!(
            encode(MissingCharacter::Unknown(0), b"a\xFF\xE4\xB8a").unwrap(),
            [256, 0, 0, 0, 256]
        );
        assert!(CharacterModel::new(vocab(), MissingCharacter::Unknown(999)).is_err());
        let missing_bytes = MissingCharacter::Bytes(Box::new([999; 256]));
        assert!(CharacterModel::new(vocab(), missing_bytes).is_err());
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin(text in "[aé 中👍ñ文x]{0,40}") {
            let vocab = vocab();
            let mut expected = Vec::new();
            for c in text.chars() {
                match vocab.bytes_to_id(c.to_string().as_bytes()) {
                    Some(id) => expected.push(id),
                    None => expected.extend(c.to_string().bytes().map(u32::from)),
                }
            }
            prop_assert_eq!(encode(all_bytes(), text.as_bytes()).unwrap(), expected);
        }
    }
}
