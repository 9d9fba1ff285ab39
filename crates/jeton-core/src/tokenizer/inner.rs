//! Inner doors: one pretoken by itself, and a SentencePiece model by itself. Stand-ins for other
//! libraries need them; usual encoding does not.

use super::Tokenizer;
use crate::engine::Engine;
use crate::error::Result;
use crate::sentencepiece::{SpmModel, SpmProcessor};

impl Tokenizer {
    /// Appends the ids of bytes that are taken as one pretoken: no special tokens, no
    /// normalization, no split. They need not be UTF-8 where the model works on bytes.
    ///
    /// Fails with `Usage` for SentencePiece models, which have no pretokens, and as the model does.
    pub fn encode_pretoken(&self, pretoken: &[u8], out: &mut Vec<u32>) -> Result<()> {
        if pretoken.is_empty() {
            return Ok(());
        }
        self.pool.with(|scratch| {
            let result = self
                .engine
                .encode_pretoken(pretoken, &mut scratch.engine, out);
            scratch.after_text(pretoken.len());
            result
        })
    }

    /// The SentencePiece model that this tokenizer is, if it is one.
    pub fn sentencepiece(&self) -> Option<(&SpmModel, &SpmProcessor)> {
        match &self.engine {
            Engine::SentencePiece(engine) => Some((&engine.model, &engine.processor)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::format::{TiktokenOptions, from_tiktoken};
    use crate::tokenizer::Tokenizer;
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    use proptest::prelude::*;

    fn tokenizer() -> Tokenizer {
        let tokens = (0..=255u8).map(|byte| vec![byte]);
        let merged = ["ab", "abab", "\u{e9}", " ab", "a a"].map(|token| token.as_bytes().to_vec());
        let lines: Vec<String> = tokens
            .chain(merged)
            .enumerate()
            .map(|(rank, token)| format!("{} {rank}\n", BASE64_STANDARD.encode(token)))
            .collect();
        let options = TiktokenOptions {
            pattern: r"\w+| ?\w+|\s+|.".to_owned(),
            special_tokens: vec![("<ab>".to_owned(), 300)],
            normalizer: Vec::new(),
            reference: crate::config::Reference::Tiktoken,
        };
        from_tiktoken(lines.concat().as_bytes(), options).unwrap()
    }

    #[test]
    fn bytes_that_are_no_text() {
        let mut ids = Vec::new();
        tokenizer()
            .encode_pretoken(b"\xffabab\xc3", &mut ids)
            .unwrap();
        assert_eq!(ids, [255, 257, 195]);
        assert!(tokenizer().sentencepiece().is_none());
    }

    proptest! {
        /// The pretokens of a text by themselves give the ids of the text.
        #[test]
        fn pretokens_together_are_the_text(text in "[ab é<>]{0,12}") {
            let tokenizer = tokenizer();
            let mut expected = Vec::new();
            tokenizer
                .encode_into(&text, &crate::special::Allow::None, false, &mut expected)
                .unwrap();
            let mut ids = Vec::new();
            for pretoken in tokenizer.pretokenize(&text).unwrap() {
                tokenizer.encode_pretoken(&pretoken, &mut ids).unwrap();
            }
            prop_assert_eq!(ids, expected);
        }
    }
}
