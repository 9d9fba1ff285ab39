//! The wire format of GGUF's metadata, written: what [`super::wire`] reads.

use crate::inputs::template::{Part, Template};

/// Types of values (`gguf_metadata_value_type`).
const UINT8: u32 = 0;
const UINT32: u32 = 4;
const INT32: u32 = 5;
const FLOAT32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// The version of the format.
const VERSION: u32 = 3;

/// Pairs of key and value.
#[derive(Default)]
pub(super) struct Pairs {
    bytes: Vec<u8>,
    n: u64,
}

impl Pairs {
    fn text(out: &mut Vec<u8>, text: &[u8]) {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text);
    }

    fn key(&mut self, key: &str, kind: u32) {
        self.n += 1;
        Self::text(&mut self.bytes, key.as_bytes());
        self.bytes.extend_from_slice(&kind.to_le_bytes());
    }

    pub(super) fn put_text(&mut self, key: &str, text: &str) {
        self.key(key, STRING);
        Self::text(&mut self.bytes, text.as_bytes());
    }

    pub(super) fn put_flag(&mut self, key: &str, flag: bool) {
        self.key(key, BOOL);
        self.bytes.push(u8::from(flag));
    }

    pub(super) fn put_id(&mut self, key: &str, id: u32) {
        self.key(key, UINT32);
        self.bytes.extend_from_slice(&id.to_le_bytes());
    }

    fn array(&mut self, key: &str, kind: u32, n: usize) {
        self.key(key, ARRAY);
        self.bytes.extend_from_slice(&kind.to_le_bytes());
        self.bytes.extend_from_slice(&(n as u64).to_le_bytes());
    }

    pub(super) fn put_texts(&mut self, key: &str, texts: &[Vec<u8>]) {
        self.array(key, STRING, texts.len());
        for text in texts {
            Self::text(&mut self.bytes, text);
        }
    }

    pub(super) fn put_bytes(&mut self, key: &str, bytes: &[u8]) {
        self.array(key, UINT8, bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn put_kinds(&mut self, kinds: &[i32]) {
        self.array("tokenizer.ggml.token_type", INT32, kinds.len());
        for kind in kinds {
            self.bytes.extend_from_slice(&kind.to_le_bytes());
        }
    }

    pub(super) fn put_scores(&mut self, scores: &[f32]) {
        self.array("tokenizer.ggml.scores", FLOAT32, scores.len());
        for score in scores {
            self.bytes.extend_from_slice(&score.to_le_bytes());
        }
    }

    pub(super) fn begin(&mut self, architecture: &str, model: &str) {
        self.put_text("general.architecture", architecture);
        self.put_text("tokenizer.ggml.model", model);
    }

    /// Writes the tokens around a text: one before and one behind, as far as a template is no more
    /// than that.
    pub(super) fn around(&mut self, template: &Template) {
        let id = |part: Option<&Part>| match part {
            Some(Part::Token { id, .. }) => Some(*id),
            _ => None,
        };
        let ends = [
            (template.single.first(), "bos_token_id", "add_bos_token"),
            (template.single.last(), "eos_token_id", "add_eos_token"),
        ];
        for (part, id_key, add_key) in ends {
            let found = id(part);
            if let Some(id) = found {
                self.put_id(&format!("tokenizer.ggml.{id_key}"), id);
            }
            self.put_flag(&format!("tokenizer.ggml.{add_key}"), found.is_some());
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&0u64.to_le_bytes()); // tensors
        out.extend_from_slice(&self.n.to_le_bytes());
        out.extend_from_slice(&self.bytes);
        out
    }
}
