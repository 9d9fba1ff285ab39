//! Ids to text as they come.
//!
//! For any tokenizer, the text of all pushes and of the end equals the decoding of all ids at once.
//! No push breaks a character.

use std::ops::Deref;

use super::Tokenizer;
use crate::decode::DecoderStream;
use crate::engine::Engine;
use crate::error::Result;
use crate::sentencepiece::decode::SpmStream;
use crate::text::utf8_stream::LossyUtf8;

/// Decodes ids as they come. `T` holds the tokenizer: a reference, or shared ownership.
#[derive(Clone, Debug)]
pub struct DecodeStream<T> {
    tokenizer: T,
    skip_special_tokens: bool,
    way: Way,
    text: LossyUtf8,
}

/// How a tokenizer decodes, between two ids.
#[derive(Clone, Debug)]
enum Way {
    /// The tokens' bytes follow one another.
    Bytes,
    /// A chain of decoders on token strings.
    Strings(DecoderStream),
    SentencePiece(SpmStream),
}

impl Way {
    fn of(tokenizer: &Tokenizer) -> Self {
        match (&tokenizer.engine, &tokenizer.decoder) {
            (Engine::SentencePiece(_), _) => Self::SentencePiece(SpmStream::new()),
            (_, Some(decoder)) => Self::Strings(DecoderStream::new(decoder)),
            (_, None) => Self::Bytes,
        }
    }
}

impl<T: Deref<Target = Tokenizer>> DecodeStream<T> {
    /// At the beginning of a text.
    pub fn new(tokenizer: T, skip_special_tokens: bool) -> Self {
        Self {
            way: Way::of(&tokenizer),
            tokenizer,
            skip_special_tokens,
            text: LossyUtf8::default(),
        }
    }

    /// Appends the text that is final with these ids. If one of them has no token, none is taken.
    pub fn push(&mut self, ids: &[u32], out: &mut String) -> Result<()> {
        let tokenizer = &*self.tokenizer;
        for &id in ids {
            tokenizer.decoded_bytes(id)?;
        }
        let mut bytes = Vec::new();
        for &id in ids {
            if self.skip_special_tokens && tokenizer.is_special(id) {
                continue;
            }
            if let (Way::SentencePiece(stream), Engine::SentencePiece(engine)) =
                (&mut self.way, &tokenizer.engine)
            {
                stream.push(engine.processor.decoder(), id, &mut bytes)?;
                continue;
            }
            match (&mut self.way, &tokenizer.decoder) {
                (Way::Strings(stream), Some(decoder)) => {
                    stream.push(decoder, &tokenizer.token_string(id), out)?;
                }
                _ => bytes.extend_from_slice(tokenizer.decoded_bytes(id)?),
            }
        }
        self.text.push(&bytes, out);
        Ok(())
    }

    /// Appends what has been held back, as it is if no more ids come. A new text may begin then.
    pub fn finish(&mut self, out: &mut String) -> Result<()> {
        let tokenizer = &*self.tokenizer;
        let ended = std::mem::replace(&mut self.way, Way::of(tokenizer));
        let mut text = std::mem::take(&mut self.text);
        let mut bytes = Vec::new();
        match (ended, &tokenizer.engine, &tokenizer.decoder) {
            (Way::SentencePiece(mut stream), Engine::SentencePiece(engine), _) => {
                stream.finish(engine.processor.decoder(), &mut bytes)?;
            }
            (Way::Strings(mut stream), _, Some(decoder)) => stream.finish(decoder, out)?,
            _ => {}
        }
        text.push(&bytes, out);
        text.finish(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::codec::gpt2_alphabet;
    use crate::format::from_hf_json;

    const SPECIAL: u32 = 258;

    /// All bytes, two pieces of characters, and a special token.
    static BYTES: LazyLock<Tokenizer> = LazyLock::new(|| {
        let tokens = (0..=255u8).map(|byte| vec![byte]);
        let tokens = tokens.chain([vec![0xE4, 0xB8], vec![0xAD, 0xF0]]);
        let vocab: BTreeMap<String, usize> = tokens
            .enumerate()
            .map(|(id, token)| (gpt2_alphabet::write(&token), id))
            .collect();
        let file = json!({
            "added_tokens": [{"id": SPECIAL, "content": "<s>", "special": true, "normalized": false}],
            "normalizer": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
            "post_processor": null,
            "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": vocab, "merges": []},
        });
        from_hf_json(&serde_json::to_vec(&file).unwrap()).unwrap()
    });

    proptest! {
        #[test]
        fn a_stream_gives_the_whole(
            pushes in prop::collection::vec(
                prop::collection::vec(prop_oneof![0x20..0x30u32, 0x80..=SPECIAL], 0..4), 0..12),
            skip: bool,
        ) {
            let mut whole = Vec::new();
            BYTES.decode_into(&pushes.concat(), skip, &mut whole).unwrap();
            let whole = String::from_utf8_lossy(&whole);
            let mut stream = DecodeStream::new(&*BYTES, skip);
            // The second time a new text begins.
            for _ in 0..2 {
                let mut out = String::new();
                for ids in &pushes {
                    stream.push(ids, &mut out).unwrap();
                    prop_assert!(whole.starts_with(&out));
                }
                stream.finish(&mut out).unwrap();
                prop_assert_eq!(&out, &whole);
            }
        }
    }

    #[test]
    fn an_unknown_id_takes_no_other_with_it() {
        let mut stream = DecodeStream::new(&*BYTES, false);
        let mut out = String::new();
        assert!(stream.push(&[0x61, SPECIAL + 1], &mut out).is_err());
        stream.push(&[0x62], &mut out).unwrap();
        stream.finish(&mut out).unwrap();
        assert_eq!(out, "b");
    }
}
