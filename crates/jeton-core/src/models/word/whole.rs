//! Whole words: a pretoken is a token, or it is unknown.

use crate::error::{Error, ErrorKind, Result};
use crate::models::Model;
use crate::vocab::Vocab;

/// A vocabulary of whole words (`WordLevel` of `tokenizer.json`).
#[derive(Debug)]
pub struct WordModel {
    vocab: Vocab,
    unknown: Option<u32>,
}

impl WordModel {
    /// Builds the model. Without an unknown token, a word that is not in the vocabulary is an
    /// error.
    pub fn new(vocab: Vocab, unknown: Option<u32>) -> Result<Self> {
        check_id(&vocab, unknown)?;
        Ok(Self { vocab, unknown })
    }

    /// The unknown token's id.
    pub fn unknown(&self) -> Option<u32> {
        self.unknown
    }
}

impl Model for WordModel {
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
        let mut ids = Vec::with_capacity(1);
        self.encode_pretoken(pretoken, &mut (), &mut ids)?;
        ids.iter().for_each(|&id| each(id, 0, pretoken.len()));
        Ok(())
    }

    fn encode_pretoken(&self, pretoken: &[u8], (): &mut (), out: &mut Vec<u32>) -> Result<()> {
        if pretoken.is_empty() {
            return Ok(());
        }
        let id = self.vocab.bytes_to_id(pretoken).or(self.unknown);
        out.push(id.ok_or_else(|| unencodable(pretoken))?);
        Ok(())
    }
}

/// That a token named by id exists.
pub(super) fn check_id(vocab: &Vocab, unknown: Option<u32>) -> Result<()> {
    match unknown {
        Some(id) if vocab.id_to_bytes(id).is_none() => Err(Error::format(
            "vocabulary",
            format!("the unknown token's id {id} has no token"),
        )),
        _ => Ok(()),
    }
}

pub(super) fn unencodable(piece: &[u8]) -> Error {
    let piece = String::from_utf8_lossy(piece).into_owned();
    ErrorKind::Unencodable { piece }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_token_or_unknown() {
        let mut vocab = Vocab::default();
        vocab.insert(0, b"[UNK]").unwrap();
        vocab.insert(1, "été".as_bytes()).unwrap();
        let mut ids = Vec::new();
        let model = WordModel::new(vocab.clone(), Some(0)).unwrap();
        for word in ["été", "ét", ""] {
            model
                .encode_pretoken(word.as_bytes(), &mut (), &mut ids)
                .unwrap();
        }
        assert_eq!(ids, [1, 0]);
        let model = WordModel::new(vocab.clone(), None).unwrap();
        assert!(model.encode_pretoken(b"x", &mut (), &mut ids).is_err());
        assert!(WordModel::new(vocab, Some(2)).is_err());
    }
}
