//! RWKV's World tokenizer: the longest token that fits, on bytes, over the whole text.
//!
//! There is no pre-tokenization, so the "pretoken" is a whole document; linear time matters here
//! more than anywhere (see `longest_match`).

use crate::error::{ErrorKind, Result};
use crate::models::longest_match::{LongestMatch, PopStack};
use crate::models::{Model, spans_of_lengths};
use crate::vocab::Vocab;

/// A greedy longest-match model over bytes.
#[derive(Debug)]
pub struct GreedyModel {
    vocab: Vocab,
    matcher: LongestMatch,
}

impl GreedyModel {
    /// Builds the model. Text that no tokens can spell is an error when it is met; with a token for
    /// each of the 256 bytes there is none.
    pub fn new(vocab: Vocab) -> Result<Self> {
        let tokens = vocab
            .iter()
            .filter(|&(id, _)| vocab.is_findable(id))
            .map(|(id, token)| (token, id));
        let matcher = LongestMatch::new(tokens, None)?;
        Ok(Self { vocab, matcher })
    }
}

impl Model for GreedyModel {
    type Scratch = PopStack;

    fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    fn encode_spans(
        &self,
        pretoken: &[u8],
        scratch: &mut PopStack,
        each: &mut dyn FnMut(u32, usize, usize),
    ) -> Result<()> {
        let mut ids = Vec::new();
        self.encode_pretoken(pretoken, scratch, &mut ids)?;
        let mut position = spans_of_lengths(each);
        for id in ids {
            position(id, self.vocab.id_to_bytes(id).map_or(0, <[u8]>::len));
        }
        Ok(())
    }

    fn encode_pretoken(
        &self,
        pretoken: &[u8],
        scratch: &mut PopStack,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let start = out.len();
        if self
            .matcher
            .segment(pretoken, scratch, |piece| out.push(piece.id))
        {
            return Ok(());
        }
        // The place where it stopped: what the tokens before it spell.
        let spelled: usize = out[start..]
            .iter()
            .map(|&id| self.vocab.id_to_bytes(id).map_or(0, <[u8]>::len))
            .sum();
        out.truncate(start);
        let rest = &pretoken[spelled..];
        let piece = String::from_utf8_lossy(&rest[..rest.len().min(MAX_SHOWN_BYTES)]).into_owned();
        Err(ErrorKind::Unencodable { piece }.into())
    }
}

/// Bytes of the text that an error shows.
const MAX_SHOWN_BYTES: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_token_wins_even_if_the_rest_then_costs_more() {
        let mut vocab = Vocab::default();
        for (id, token) in (1..).zip(["a", "b", "c", "ab", "bcbc", "abcb"]) {
            vocab.insert(id, token.as_bytes()).unwrap();
        }
        let model = GreedyModel::new(vocab).unwrap();
        let encode = |text: &str| {
            let mut ids = vec![99];
            model
                .encode_pretoken(text.as_bytes(), &mut PopStack::new(), &mut ids)
                .map(|()| ids)
        };
        assert_eq!(encode("abcbc").unwrap(), [99, 6, 3]);
        assert_eq!(encode("bcbcbab").unwrap(), [99, 5, 2, 4]);
        let error = encode("abxc").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unencodable { piece } if piece == "xc"));
    }
}
