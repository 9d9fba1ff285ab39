//! Raw bytes: an id is a byte plus an offset.
//!
//! Xue et al., "`ByT5`: Towards a Token-Free Future with Pre-trained Byte-to-Byte Models" (TACL
//! 2022): the offset is 3, below it stand `<pad>`, `</s>` and `<unk>`.

use crate::error::{Error, Result};
use crate::models::Model;
use crate::vocab::{MAX_IDS, Vocab};

/// `ByT5`'s offset: one more than its last special id.
pub const BYT5_OFFSET: u32 = 3;

/// Bytes as ids.
#[derive(Debug)]
pub struct RawBytesModel {
    vocab: Vocab,
    offset: u32,
}

impl RawBytesModel {
    /// Builds the model with room for special tokens below `offset`; they are added by whoever
    /// knows their names.
    pub fn new(offset: u32) -> Result<Self> {
        if offset > MAX_IDS - 256 {
            return Err(Error::format(
                "raw bytes",
                format!("the offset {offset} is beyond {}", MAX_IDS - 256),
            ));
        }
        let mut vocab = Vocab::with_capacity(256);
        for byte in 0..=255u8 {
            vocab.insert(offset + u32::from(byte), &[byte])?;
        }
        Ok(Self { vocab, offset })
    }

    /// Builds the model from a vocabulary that may have special tokens besides the bytes.
    pub fn from_vocab(vocab: Vocab, offset: u32) -> Result<Self> {
        let wrong = (0..=255u8)
            .find(|&byte| offset.checked_add(u32::from(byte)) != vocab.bytes_to_id(&[byte]));
        match wrong {
            None => Ok(Self { vocab, offset }),
            Some(byte) => Err(Error::format(
                "raw bytes",
                format!("the byte 0x{byte:02X} does not have the id {byte} + {offset}"),
            )),
        }
    }

    /// Returns the number that is added to a byte.
    pub fn offset(&self) -> u32 {
        self.offset
    }
}

impl Model for RawBytesModel {
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
        for (at, &byte) in pretoken.iter().enumerate() {
            each(self.offset + u32::from(byte), at, at + 1);
        }
        Ok(())
    }

    fn encode_pretoken(&self, pretoken: &[u8], (): &mut (), out: &mut Vec<u32>) -> Result<()> {
        out.extend(pretoken.iter().map(|&byte| self.offset + u32::from(byte)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_its_id_less_the_offset() {
        let model = RawBytesModel::new(BYT5_OFFSET).unwrap();
        let mut ids = Vec::new();
        model
            .encode_pretoken("aé".as_bytes(), &mut (), &mut ids)
            .unwrap();
        assert_eq!(ids, [100, 198, 172]);
        for id in ids {
            let bytes = model.vocab().id_to_bytes(id).unwrap();
            assert_eq!(u32::from(bytes[0]) + BYT5_OFFSET, id);
        }
        let vocab = model.vocab().clone();
        assert!(RawBytesModel::from_vocab(vocab.clone(), BYT5_OFFSET).is_ok());
        assert!(RawBytesModel::from_vocab(vocab, 4).is_err());
        assert!(RawBytesModel::new(u32::MAX).is_err());
    }
}
