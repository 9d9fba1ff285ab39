//! SentencePiece's way from ids to text for ids that come one by one.
//!
//! Held back are a run of bytes that may become a character, and, if the model has a charsmap for
//! decoding, all text: that one is applied to the whole. The twin is [`SpmDecoder::decode`].

use super::{Shown, SpmDecoder};
use crate::error::Result;
use crate::text::utf8_stream::{LossyUtf8, Marks};

/// Decoding between two ids.
#[derive(Clone, Debug)]
pub(crate) struct SpmStream {
    run: LossyUtf8,
    at_start: bool,
    is_empty: bool,
    /// All text so far, if it is to be changed as a whole.
    whole: Vec<u8>,
}

impl SpmStream {
    pub(crate) fn new() -> Self {
        Self {
            run: LossyUtf8::new(Marks::EachByte),
            at_start: true,
            is_empty: true,
            whole: Vec::new(),
        }
    }

    /// Appends the bytes that are final with this id.
    pub(crate) fn push(&mut self, decoder: &SpmDecoder, id: u32, out: &mut Vec<u8>) -> Result<()> {
        let shown = decoder.shown(id)?;
        let mut text = String::new();
        if let Shown::Byte(byte) = shown {
            self.run.push(&[*byte], &mut text);
            // Bytes that wait are text too, whatever they become.
            self.is_empty = false;
        } else {
            self.run.finish(&mut text);
        }
        let mut made = text.into_bytes();
        self.at_start &= self.is_empty;
        match shown {
            Shown::Nothing | Shown::Byte(_) => {}
            Shown::Unknown => made.extend_from_slice(decoder.unk_surface.as_bytes()),
            Shown::Text(text, with_space) => {
                let strip = self.at_start && decoder.strip_first && *with_space;
                made.extend_from_slice(&text[usize::from(strip)..]);
                if strip && !decoder.strip_all {
                    self.at_start = false;
                }
            }
        }
        self.is_empty &= made.is_empty();
        match decoder.denormalizer {
            Some(_) => self.whole.extend(made),
            None => out.extend(made),
        }
        Ok(())
    }

    /// Appends what has been held back.
    pub(crate) fn finish(&mut self, decoder: &SpmDecoder, out: &mut Vec<u8>) -> Result<()> {
        let mut text = String::new();
        self.run.finish(&mut text);
        if decoder.denormalizer.is_some() {
            self.whole.extend(text.into_bytes());
            let whole = std::mem::take(&mut self.whole);
            out.extend(decoder.denormalized(whole)?);
        } else {
            out.extend(text.into_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::piece::{Piece, PieceKind};
    use super::super::super::spec::SpmModel;
    use super::*;

    fn model(dummy: bool, extra: bool) -> SpmModel {
        let mut model = SpmModel::default();
        model.trainer.byte_fallback = true;
        model.normalizer.add_dummy_prefix = dummy;
        model.normalizer.remove_extra_whitespaces = extra;
        let bytes = [0x41, 0xC3, 0xA9, 0xE4, 0xB8, 0xAD, 0xF0, 0xFF];
        let texts = ["▁", "▁a", "a▁", "b", "▁▁", "中"];
        let bytes = bytes.map(|byte| (format!("<0x{byte:02X}>").into_bytes(), PieceKind::Byte));
        let texts = texts.map(|text| (text.as_bytes().to_vec(), PieceKind::Normal));
        let others = [
            (b"<unk>".to_vec(), PieceKind::Unknown),
            (b"<s>".to_vec(), PieceKind::Control),
            (vec![0xE4, 0xB8], PieceKind::Normal), // a damaged one
        ];
        let all = others.into_iter().chain(texts).chain(bytes);
        model.pieces = all
            .map(|(bytes, kind)| Piece {
                bytes,
                score: 0.0,
                kind,
            })
            .collect();
        model
    }

    proptest! {
        #[test]
        fn a_stream_gives_the_whole(
            dummy in any::<bool>(),
            extra in any::<bool>(),
            ids in prop::collection::vec(0..17u32, 0..20),
        ) {
            let decoder = SpmDecoder::new(&model(dummy, extra)).unwrap();
            let whole = decoder.decode(&ids).unwrap();
            let mut stream = SpmStream::new();
            let mut out = Vec::new();
            for &id in &ids {
                stream.push(&decoder, id, &mut out).unwrap();
                prop_assert!(whole.starts_with(&out));
            }
            stream.finish(&decoder, &mut out).unwrap();
            prop_assert_eq!(out, whole);
            prop_assert!(stream.push(&decoder, 17, &mut Vec::new()).is_err());
        }
    }
}
